"""Options that several commands share, and what they stand for."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstart.errors import ArgumentError

if TYPE_CHECKING:
    from headstart.history import History

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_json(parser: argparse.ArgumentParser, what: str = "the answer") -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")


def command(commands: Commands, name: str, summary: str, example: str) -> argparse.ArgumentParser:
    """The parser of one command: a sentence about what it does, and a line to copy."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(parser=parser)
    return parser


def add_out(parser: argparse.ArgumentParser, help: str, default: Path | None = None) -> None:
    parser.add_argument("--out", "-o", type=Path, default=default, metavar="PATH", help=help)


def refuse(args: argparse.Namespace, why: str, **defaults: Any) -> None:
    """Options that would change nothing are refused rather than passed over."""
    for name, default in defaults.items():
        if getattr(args, name) != default:
            raise ArgumentError(f"--{name} {why}")


def add_number(parser: argparse.ArgumentParser, flag: str, default: int, text: str, *, low: int = 1) -> None:
    """An option for a whole number from `low` on."""
    help = f"{text} (default: {default})"
    parser.add_argument(flag, type=partial(whole, low=low), default=default, metavar="N", help=help)


def add_seed(parser: argparse.ArgumentParser) -> None:
    add_number(parser, "--seed", 0, "the same seed gives the same result", low=0)


def whole(text: str, low: int | None = None) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if low is not None and number < low:
        raise argparse.ArgumentTypeError(f"must be at least {low}, but got {number}")
    return number


def jobs(text: str) -> int:
    """A number of processes as joblib counts them: -1 is one per core, -2 leaves one core free."""
    if (number := whole(text)) == 0:
        raise argparse.ArgumentTypeError("0 processes do nothing; -1 is one per core")
    return number


# -- histories -------------------------------------------------------------------------------------------------

KINDS = (
    "a history that ships with the package, a Parquet file saved by headstart, a CSV file, an Optuna storage (URL or "
    "file), an HPO-B file (.json), or the authors' folder of SVM files"
)


def add_history(parser: argparse.ArgumentParser, more: str = "") -> None:
    """The argument HISTORY, which is anything, and how to read it where that is left open."""
    parser.add_argument("history", help=more + KINDS)
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    how = parser.add_argument_group("how to read the history")
    how.add_argument("--task", default="task", metavar="COLUMN", help="CSV: which task (default: task)")
    how.add_argument("--value", default="value", metavar="COLUMN", help="CSV: the result (default: value)")
    how.add_argument("--cost", metavar="COLUMN", help="CSV: what the evaluation cost")
    how.add_argument("--ignore", nargs="+", default=(), metavar="COLUMN", help="CSV: columns that are no parameters")
    how.add_argument("--space", type=Path, metavar="PATH", help="a space as JSON (default: told from the runs)")
    how.add_argument("--direction", choices=["minimize", "maximize"], help="of CSV (default: minimize) or Optuna")
    how.add_argument("--studies", nargs="+", metavar="PATTERN", help="Optuna: only these studies, as in 'svm-*'")


AS_IT_IS = {
    "task": "task", "value": "value", "cost": None, "ignore": (), "space": None, "direction": None, "studies": None
}  # fmt: skip


def reading(args: argparse.Namespace) -> Any:
    from headstart.history.sources import Reading

    return Reading(args.task, args.value, args.cost, args.ignore, args.space, args.direction, args.studies)


def history_of(args: argparse.Namespace) -> History:
    """The history that was named; what an import took and left out is said on standard error."""
    from headstart import library
    from headstart.history.sources import read_history

    history = read_history(args.history, reading(args))
    if args.history not in library.names() and not args.history.lower().endswith(".parquet"):
        told = "" if args.space else f"\nthe space told from it: {history.space}"
        print("\n".join(history.notes) + told, file=sys.stderr)
    return history


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--features", type=Path, metavar="CSV", help="the new data set, for methods that use its features"
    )
    parser.add_argument("--target", metavar="COLUMN", help="the column of CSV that holds the classes")


def data_features(args: argparse.Namespace) -> dict[str, float] | None:
    """The meta-features of the data set that was given, if one was."""
    if args.features is None:
        if args.target is not None:
            raise ArgumentError("--target names a column of the file that --features gives; give that too")
        return None
    import pandas as pd

    from headstart._support.files import existing
    from headstart._support.wording import closest
    from headstart.datasets.features import metafeatures

    try:
        frame = pd.read_csv(existing(args.features))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{args.features} is not a readable CSV file: {error}") from error
    if args.target not in frame:
        names = [str(name) for name in frame.columns]
        said = f"has no column {args.target!r}{closest(args.target, names)}" if args.target else "has a target column"
        raise ArgumentError(
            f"{args.features} {said}; name the one with the classes as --target (of: {', '.join(names)})"
        )
    return metafeatures(frame.drop(columns=args.target), frame[args.target])
