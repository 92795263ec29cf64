"""The command line: parse, call the command, turn errors into one line. The commands are in `commands` and `research`.

Exit codes: 0 success; 1 success, and the answer is no; 2 bad input or a missing package, explained in one line on
standard error; 130 interrupted; 141 output pipe closed. Without a command, the help goes to standard error, with 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, cast

from headstart import __version__
from headstart._support.wording import closest, counted, printable
from headstart.cli import commands, research, shipped
from headstart.cli.options import option_names
from headstart.cli.terminal import Escaped
from headstart.errors import HeadstartError

if TYPE_CHECKING:
    from headstart.cli.options import Commands
COMMANDS: tuple[Callable[[Commands], None], ...] = (
    commands.learn,
    commands.suggest,
    shipped.list_,
    commands.check,
    commands.report,
    commands.import_,
    commands.export,
    research.build,
    research.reproduce,
    research.demo,
)


# -- parsing -------------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """Reports an error in one line, without the usage, and asks what was meant."""

    def error(self, message: str) -> NoReturn:
        fail(f"{message} (see {self.prog} --help)")
        sys.exit(2)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """As in argparse, with the name that comes closest."""
        if action.choices is None or value in action.choices:
            return
        names = [str(choice) for choice in action.choices]
        place = f"{action.option_strings[0]}: " if action.option_strings else ""
        command = "command " if isinstance(action, argparse._SubParsersAction) else ""
        choices = f"{closest(value, names)} (choose from: {', '.join(names)})"
        self.error(f"{place}there is no {command}{value!r}{choices}")

    def has_option(self, text: str) -> bool:
        """Whether an argument is an option, which may be abbreviated."""
        flag = text.partition("=")[0]
        return any(known.startswith(flag) for known in self._option_string_actions)

    def reject_unknown(self, unknown: Sequence[str]) -> NoReturn:
        """The error about arguments that nothing takes."""
        option = next((text.partition("=")[0] for text in unknown if text.startswith("-")), None)
        if option is None:
            self.error(f"{counted(len(unknown), 'argument')} too many: {' '.join(unknown)}")
        known = {flag.lstrip("-"): flag for action in self._actions for flag in action.option_strings}
        near = get_close_matches(option.lstrip("-"), known, n=1)
        self.error(f"there is no option {option}" + "".join(f"; did you mean {known[name]}?" for name in near))


class Completion(argparse.Action):
    """Prints a script that makes a shell complete commands and options."""

    def __call__(self, parser: argparse.ArgumentParser, *args: Any, **options: Any) -> NoReturn:
        shell = args[1]
        try:
            import shtab
        except ImportError:
            parser.error("completion needs shtab; pip install 'headstart[completion]'")
        print(shtab.complete(parser, shell=shell))
        sys.exit(0)


def parser() -> Parser:
    """The parser of the whole command line."""
    top = Parser(
        prog="headstart",
        description="Start every hyperparameter search from what the earlier ones learned.",
        epilog="Every command has its own --help with an example.",
    )
    top.add_argument("--version", action="version", version=f"headstart {__version__}")
    top.add_argument(
        "--completion", choices=["bash", "zsh", "tcsh"], action=Completion, help="print a completion script"
    )
    parsers = cast("Commands", top.add_subparsers(title="commands", metavar="COMMAND", required=True))
    for add in COMMANDS:
        add(parsers)
    return top


# -- running -------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code. An exception that is not handled here is a bug."""
    try:
        return run(argv)
    except KeyboardInterrupt:
        fail("interrupted")
        return commands.INTERRUPTED
    except BrokenPipeError:  # as in: headstart demo | head -1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except ModuleNotFoundError as error:
        if (error.name or "headstart").partition(".")[0] == "headstart":
            raise
        fail(f"this needs the package {error.name}, which is not installed")
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
    except MemoryError as error:
        fail(str(error) or "out of memory")
    return 2


def run(argv: Sequence[str] | None) -> int:
    """Parse the command line and run the command; the errors of headstart become one line."""
    top = parser()
    given = list(sys.argv[1:] if argv is None else argv)
    if given and given[0].startswith("-") and not top.has_option(given[0]):
        top.reject_unknown(given[:1])
    if not given:
        top.print_help(sys.stderr)
        return 2
    args, unknown = top.parse_known_args(given)
    if unknown:
        args.parser.reject_unknown(unknown)
    try:
        with redirect_stdout(cast(TextIO, Escaped(sys.stdout))):
            code: int | None = args.run(args)
    except HeadstartError as error:
        fail(worded(error, args.parser))
        return 2
    print(end="", flush=True)
    return code or 0


def worded(error: HeadstartError, parser: argparse.ArgumentParser) -> str:
    """The message of an error, with the options of this command in place of arguments."""
    words = {**option_names(parser), "load_start": "headstart suggest or headstart export"}
    if "features" in words:
        words["features"] = "--features CSV --target COLUMN"
    return error.message(words)


def fail(message: str) -> None:
    """Print a message on standard error, as one line."""
    print("headstart:", printable(" ".join(message.split())), file=sys.stderr)
