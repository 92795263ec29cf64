"""Docstrings as Markdown, for the reference of the site: examples become code, lists of arguments become lists.

`Markdown` is the extension of mkdocstrings that `mkdocs.yml` names. It also drops private fields from the signatures
of dataclasses, and private base classes, so `mkdocs.yml` names it after the extension that makes these signatures.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

try:
    from griffe import Extension
except ImportError:  # the tests need only the functions
    Extension = object

NAME = r"\*{0,2}(?![A-Z][A-Za-z])[^\W\d]\w*"  # a word with a capital is a surname or begins a sentence
ARGUMENT = re.compile(rf"({NAME}(?:, {NAME})*): (?=\S)")
ANOTHER = re.compile(rf"(?<=[.…]) (?={ARGUMENT.pattern})")  # arguments that share a line


def as_markdown(text: str) -> str:
    """The docstring with its paragraphs turned into Markdown, without those about imports between folders."""
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if not part.startswith("May import: ")]
    return "\n\n".join(map(_paragraph, paragraphs))


def _paragraph(text: str) -> str:
    lines = text.splitlines()
    if lines and lines[0].lstrip().startswith(">>> "):
        indent = len(lines[0]) - len(lines[0].lstrip())
        shown = (line[indent:].removesuffix("  # doctest: +SKIP") for line in lines)
        return "\n".join(["```pycon", *shown, "```"])
    if lines and ARGUMENT.match(lines[0]):
        ended = [True, *(line.endswith((".", "…", ":")) for line in lines)]
        parts = [(part, i or ended[row]) for row, line in enumerate(lines) for i, part in enumerate(_parts(line))]
        return "\n".join(_argument(part, begins=bool(begins)) for part, begins in parts)
    return text


def _parts(line: str) -> list[str]:
    return ANOTHER.split(line)[::2]


def with_arguments(summary: str, names: Collection[str]) -> str:
    """A summary in which sentences about arguments, such as "n: how many.", follow as a list."""
    text = " ".join(summary.split())
    for found in re.finditer(rf"(?:^|(?<=\.) ){ARGUMENT.pattern}", text):
        if set(found[1].split(", ")) <= set(names):
            return "\n\n".join(filter(None, [text[: found.start()], _paragraph(text[found.start() :].lstrip())]))
    return summary


def _argument(line: str, *, begins: bool) -> str:
    """A line of a list of arguments; those that continue the one above are indented."""
    found = ARGUMENT.match(line) if begins else None
    if not found:
        return f"  {line.strip()}"
    names = ", ".join(f"`{name}`" for name in found[1].split(", "))
    return f"- {names}: {line[found.end() :]}"


class Markdown(Extension):  # type: ignore[misc]
    def on_object(self, *, obj: Any, **others: Any) -> None:
        if obj.docstring:
            summary, gap, rest = obj.docstring.value.partition("\n\n")
            obj.docstring.value = with_arguments(summary, _names(obj)) + gap + as_markdown(rest)

    def on_package(self, *, pkg: Any, **others: Any) -> None:
        _hide_private(pkg)


def _hide_private(obj: Any) -> None:
    """Fields that hold state between calls, which nobody passes, and base classes."""
    for member in obj.members.values():
        if not member.is_alias and (member.is_module or member.is_class):
            _hide_private(member)
    if obj.is_class:
        obj.bases = [base for base in obj.bases if not str(base).rpartition(".")[2].startswith("_")]
    if obj.is_class and "__init__" in obj.members and "dataclass" in obj.labels:
        made = obj.members["__init__"]
        for name in [one.name for one in made.parameters if one.name.startswith("_")]:
            del made.parameters[name]


def _names(obj: Any) -> set[str]:
    """The names of a function's arguments, or of a class's arguments and attributes."""
    if obj.is_function:
        return {one.name for one in obj.parameters}
    own = {name: member for name, member in obj.members.items() if obj.is_class and not member.is_alias}
    made = _names(own["__init__"]) if "__init__" in own else set()
    return made | {name for name, member in own.items() if member.is_attribute}
