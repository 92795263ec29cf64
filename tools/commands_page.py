"""docs/commands.md, from what the commands say of themselves: python tools/commands_page.py [--write]"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from headstart.cli.main import parser
from headstart.cli.options import KINDS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "commands.md"
READING = "how to read the history"  # the group of options that every command with a HISTORY has

INTRODUCTION = f"""# Command line

*This page is generated: `python tools/commands_page.py --write`. Every command says the same with `--help`.*

HISTORY is {KINDS}. What a file leaves open is said by these options; one that would change nothing is refused:

{{reading}}

| exit code | means |
| --- | --- |
| 0 | done |
| 1 | done, and the answer is no: the past does not help (`check`), or a study's start did not run |
| 2 | bad input, or something missing: one line on standard error |
| 130 | interrupted; `build` and `reproduce` go on where they stopped |
| 141 | whoever read the output through a pipe has gone |

`--json` prints what a program would read, `--seed` makes a result the same again, `headstart --version` and `headstart
--completion bash|zsh|tcsh` do what they say. Methods are those of the [method pages](methods/auto.md), by name, and
`random`."""


def page() -> str:
    top = parser()
    commands = next(a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    parts, reading = [], ""
    for name, command in commands.choices.items():
        groups = {group.title: group._group_actions for group in command._action_groups}
        reading = _table(groups.pop(READING, ())) or reading
        own = [action for actions in groups.values() for action in actions if action.dest != "help"]
        example = (command.epilog or "").removeprefix("example:\n").replace("\n  ", "\n").strip()
        parts.append(f"## {name}\n\n{command.description}\n\n```text\n{example}\n```\n\n{_table(own)}")
    return "\n\n".join([INTRODUCTION.format(reading=reading), *parts]) + "\n"


def _table(actions: list[argparse.Action] | tuple[()]) -> str:
    rows = [f"| {_name(action)} | {(action.help or '').replace(KINDS, 'a HISTORY')} |" for action in actions]
    return "\n".join(["| option | is |", "| --- | --- |", *rows]) if rows else ""


def _name(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else str(action.metavar or "\\|".join(map(str, action.choices or ())))
    value += " …" if action.nargs == "+" else ""
    if not action.option_strings:
        return f"`{action.dest}`" + (f" ({value})" if value else "")
    return ", ".join(f"`{flag}`" for flag in action.option_strings) + (f" {value}" if value else "")


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
