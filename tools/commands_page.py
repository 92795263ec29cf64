"""Writes docs/commands.md from the help of the commands: python tools/commands_page.py [--write]"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from headstart.cli.main import parser
from headstart.cli.options import KINDS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "commands.md"
NBSP = "\u00a0"  # an option and its value stay on one line
PAST_RUNS = "past runs (see above)"
READING = "how to read the history"  # the group of options that every command with a HISTORY has

INTRODUCTION = f"""---
hide: [navigation]
---

# Command line

*Every command prints the same with `--help`. `python tools/commands_page.py --write` generates this page.*

HISTORY stands for past runs: {KINDS}. These options tell headstart how to read it; options that the source already
settles are rejected:

{{reading}}

| exit code | meaning |
| --- | --- |
| 0 | success |
| 1 | success, and the answer is no: the past runs do not help, or the start of the study did not run (`check`) |
| 2 | bad input or a missing package, explained in one line on standard error; no command at all prints the help |
| 130 | interrupted; `check` answers for the tasks done so far, `build` and `reproduce` resume when run again |
| 141 | output pipe closed |

`--json` prints output for programs. `--seed` makes a run reproducible. `--method` and `--methods` take the names on
the [method pages](methods/auto.md). `headstart --version` prints the version, and `headstart --completion bash` (or
zsh, tcsh) prints a completion script for the shell. `python -m headstart` is the same program."""


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
    rows = [f"| {_name(action)} | {(action.help or '').replace(KINDS, PAST_RUNS)} |" for action in actions]
    return "\n".join(["| option | meaning |", "| --- | --- |", *rows]) if rows else ""


def _name(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else str(action.metavar or " \\| ".join(map(str, action.choices or ())))
    value += f"{NBSP}…" if action.nargs == "+" else ""
    if not action.option_strings:
        return f"`{action.metavar}`" if action.metavar else f"`{action.dest}` ({value})"
    return ", ".join(f"`{flag}`" for flag in action.option_strings) + (f"{NBSP}{value}" if value else "")


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
