"""Docstrings as Markdown, for the reference of the site: examples become code, lists of arguments become lists.

`Markdown` is the extension of mkdocstrings that `mkdocs.yml` names.
"""

from __future__ import annotations

import re
from typing import Any

try:
    from griffe import Extension
except ImportError:  # the tests need only the functions
    Extension = object

NAME = r"\*{0,2}(?![A-Z][A-Za-z])\w+"  # a word with a capital is a surname or begins a sentence
ARGUMENT = re.compile(rf"({NAME}(?:, {NAME})*): (?=\S)")
ANOTHER = re.compile(rf"(?<=\.) (?={ARGUMENT.pattern})")  # arguments that share a line


def as_markdown(text: str) -> str:
    """The docstring with its paragraphs turned into Markdown."""
    return "\n\n".join(map(_paragraph, re.split(r"\n\s*\n", text)))


def _paragraph(text: str) -> str:
    lines = text.splitlines()
    if lines and lines[0].lstrip().startswith(">>> "):
        indent = len(lines[0]) - len(lines[0].lstrip())
        return "\n".join(["```pycon", *(line[indent:] for line in lines), "```"])
    if lines and ARGUMENT.match(lines[0]):
        return "\n".join(_argument(part) for line in lines for part in ANOTHER.split(line)[::2])
    return text


def _argument(line: str) -> str:
    """A line of a list of arguments; those that continue the one above are indented."""
    found = ARGUMENT.match(line)
    if not found:
        return f"  {line.strip()}"
    names = ", ".join(f"`{name}`" for name in found[1].split(", "))
    return f"- {names}: {line[found.end() :]}"


class Markdown(Extension):  # type: ignore[misc]
    def on_object(self, *, obj: Any, **others: Any) -> None:
        if obj.docstring:
            # The summary is no list of arguments, whatever it begins with.
            summary, gap, rest = obj.docstring.value.partition("\n\n")
            obj.docstring.value = summary + gap + as_markdown(rest)
