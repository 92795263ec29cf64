"""Options that several commands share."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstart._support.direction import DIRECTIONS
from headstart._support.wording import printable
from headstart.errors import ArgumentError, FormatError
from headstart.history.reading import Reading

if TYPE_CHECKING:
    from headstart.history import History

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


class Help(argparse.HelpFormatter):
    """A short usage line, wrapped descriptions, and examples as they are."""

    def _format_usage(self, usage: Any, actions: Iterable[Any], groups: Any, prefix: Any) -> str:
        needed = [action for action in actions if action.required or not action.option_strings]
        needed.sort(key=lambda action: bool(action.option_strings))
        words = [*(self._needed(action) for action in needed), "[options]"]
        return f"usage: {self._prog} {' '.join(words)}\n\n"

    def _needed(self, action: argparse.Action) -> str:
        value = self._format_args(action, self._get_default_metavar_for_positional(action))
        return f"{action.option_strings[0]} {value}" if action.option_strings else value

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(EXAMPLE) else super()._fill_text(text, width, indent)


EXAMPLE = "example:\n  "


def command(commands: Commands, name: str, summary: str, example: str) -> argparse.ArgumentParser:
    """The parser of one command, with a one-sentence summary and an example to copy.

    The list of commands shows the summary up to its first colon or semicolon.
    """
    parser = commands.add_parser(
        name,
        help=re.split("[:;]", summary)[0],
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=EXAMPLE + example,
        formatter_class=Help,
    )
    parser.set_defaults(parser=parser)
    return parser


def option_names(parser: argparse.ArgumentParser) -> dict[str, str]:
    """The options of a command by the argument that they set: {"out": "--out", "n": "-n", …}."""
    return {action.dest: action.option_strings[0] for action in parser._actions if action.option_strings}


def reject(args: argparse.Namespace, why: str, *names: str) -> None:
    """An error if one of these options is set: it would change nothing."""
    for name in names:
        if getattr(args, name) != args.parser.get_default(name):
            raise ArgumentError(f"{option_names(args.parser)[name]} {why}")


# -- options of one kind ---------------------------------------------------------------------------------------


def add_json(parser: argparse._ActionsContainer, what: str = "the answer") -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")


def add_out(parser: argparse.ArgumentParser, help: str, default: Path | None = None) -> None:
    parser.add_argument("--out", "-o", type=Path, default=default, metavar="PATH", help=help)


def add_method(parser: argparse.ArgumentParser, help: str = "strategy") -> None:
    parser.add_argument("--method", default="auto", metavar="NAME", help=f"{help} (default: auto)")


def add_jobs(parser: argparse.ArgumentParser, default: int) -> None:
    shown = "one per core" if default == -1 else default
    parser.add_argument(
        "--jobs", type=_jobs, default=default, metavar="N", help=f"number of processes (default: {shown})"
    )


def add_tasks(parser: argparse.ArgumentParser) -> None:
    help = "number of tasks to leave out, drawn at random, or `all` (default: all, or 24 if there are more than 60)"
    parser.add_argument("--tasks", type=_tasks, metavar="N", help=help)


def add_number(
    parser: argparse.ArgumentParser, flag: str, default: int, text: str, *, low: int = 1, fewer: str = ""
) -> None:
    """An option for a whole number of at least `low`. fewer: when the default is smaller; it is None then."""
    help = f"{text} (default: {default}{fewer})"
    parser.add_argument(flag, type=at_least(low), default=None if fewer else default, metavar="N", help=help)


def add_seed(parser: argparse.ArgumentParser) -> None:
    add_number(parser, "--seed", 0, "random seed; the same seed gives the same result", low=0)


def at_least(low: int) -> Callable[[str], int]:
    """The type of an option for whole numbers of at least `low`."""

    def parse(text: str) -> int:
        if (number := _parsed(text)) < low:
            raise argparse.ArgumentTypeError(f"must be at least {low}, but got {number}")
        return number

    return parse


def _jobs(text: str) -> int:
    """A number of processes as joblib counts them: -1 is one per core, -2 leaves one core free."""
    if (number := _parsed(text)) == 0:
        raise argparse.ArgumentTypeError("must not be 0; -1 is one process per core")
    return number


def _tasks(text: str) -> int | str:
    return text if text == "all" else at_least(3)(text)


def _parsed(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _pair(text: str) -> tuple[str, str]:
    """NAME=VALUE as a pair."""
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


# -- histories -------------------------------------------------------------------------------------------------

KINDS = (
    "the name of a shipped history, a Parquet file saved by headstart, a table (.csv, .tsv or .jsonl), an Optuna "
    "storage or a store (URL or file), a file or folder of MLflow, Weights & Biases, Ray Tune, SMAC, Syne Tune, Keras "
    "Tuner, scikit-learn, hyperopt, Ax or FLAML, an HPO-B file (.json), a folder of tables, or the folder of the "
    "papers' SVM files"
)

# The fields of `Reading` that are options. They have the same names and defaults.
READING: dict[str, dict[str, Any]] = {
    "task": {"metavar": "COLUMN", "help": f"CSV: column that names the task (default: {Reading.task}); "
             "other tools: parameter or tag that names it (default: the tool's own, such as the experiment)"},
    "value": {"metavar": "COLUMN", "help": f"CSV: column that holds the result (default: {Reading.value}); "
              "other tools: metric to learn from (default: the one that was optimised)"},
    "cost": {"metavar": "COLUMN", "help": "CSV: column that holds the cost of each evaluation; other tools: "
             "metric to use as the cost, instead of the recorded seconds"},
    "step": {"metavar": "COLUMN", "help": "CSV with learning curves: column that holds the step, one row per step"},
    "ignore": {"metavar": "COLUMN", "nargs": "+", "help": "CSV and other tools: columns that are not parameters"},
    "skip_bad_rows": {"action": "store_true", "help": "CSV: leave out the rows that cannot be used"},
    "space": {"metavar": "PATH", "type": Path, "help": "search space as JSON (default: the recorded one, "
              "or inferred from the runs)"},
    "direction": {"choices": DIRECTIONS, "help": "whether lower or higher results are better (default: as recorded, or "
                  "inferred from the name of the column or metric; else CSV: minimize); Optuna: which studies to read"},
    "studies": {"metavar": "PATTERN", "nargs": "+", "help": "Optuna: read only these studies, such as 'svm-*'; "
                "other tools: only these tasks"},
    "rename": {"metavar": "OLD=NEW", "nargs": "+", "type": _pair, "help": "parameters to rename"},
    "fill": {"metavar": "NAME=VALUE", "nargs": "+", "type": _pair, "help": "values for parameters that some runs lack"},
    "skip_damaged": {"action": "store_true", "help": "Optuna: leave out studies and trials that cannot be read"},
}  # fmt: skip


def add_history(parser: argparse.ArgumentParser, more: str = "") -> None:
    """The argument HISTORY, and the options for reading it."""
    parser.add_argument("history", metavar="HISTORY", help=more + KINDS)
    parser.add_argument("--also", metavar="HISTORY", nargs="+", default=[], help="more past runs to learn from")
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how to read the history")
    for name, settings in READING.items():
        group.add_argument(f"--{name.replace('_', '-')}", default=getattr(Reading, name), **settings)


def reading(args: argparse.Namespace) -> Reading:
    """The options for reading a history as one record."""
    given = {name: getattr(args, name) for name in READING}
    for name in ("rename", "fill"):
        given[name] = None if given[name] is None else dict(given[name])
    if given["fill"]:
        given["fill"] = {name: _value(text) for name, text in given["fill"].items()}
    return Reading(**given)


def _value(text: str) -> Any:
    """A number, a truth value or null as JSON writes it; any other text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def history_of(args: argparse.Namespace) -> History:
    """The history that the command line names. What was understood of other formats goes to standard error."""
    from headstart import library
    from headstart.cli.understood import understood
    from headstart.history.past import read_past, required

    history = required(read_past([args.history, *args.also], reading(args)))
    if args.also or (args.history not in library.names() and not args.history.lower().endswith(".parquet")):
        origin = f"of {args.space}" if args.space else "inferred from it"
        print(printable(understood(history, origin), keep="\n"), file=sys.stderr)
    return history


# -- the new data set ------------------------------------------------------------------------------------------


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--features", type=Path, metavar="CSV", help="table of the new data set, for methods that use its meta-features"
    )
    parser.add_argument(
        "--model",
        type=Path,
        metavar="NPZ",
        help="start from the data sets nearest to the new one by this learned distance, a file written by `headstart "
        "build metric`; `--features` is then a table or an array of images (.npy)",
    )
    parser.add_argument("--target", metavar="COLUMN", help="column of that table to predict")


def by_model(args: argparse.Namespace) -> tuple[History, str, dict[str, float]]:
    """The history with embeddings, the method, and the embedding of the new data set, by the model of `--model`."""
    from headstart.datasets.embedding import embed
    from headstart.datasets.folders import read_data
    from headstart.datasets.siamese import Model

    if args.features is None:
        raise ArgumentError("--model compares data sets; name the file of the new one with --features")
    data = read_data(args.features, args.target)
    model = Model.load(args.model)
    method = "metric" if args.method == args.parser.get_default("method") else args.method
    return model.describe(history_of(args)), method, embed(model, data.X, data.y)


def data_features(args: argparse.Namespace, *, more: bool = False) -> dict[str, float] | None:
    """The meta-features of the data set that `--features` names, or None. more: for a model, its landmarks, too."""
    if args.features is None:
        if args.target is not None:
            raise ArgumentError("--target names a column of the file that --features names; give both")
        return None
    import pandas as pd

    from headstart._support.files import existing
    from headstart._support.wording import closest
    from headstart.library.landmarks import landmarks
    from headstart.library.models import CLASSIFICATION, MODELS, features

    try:
        frame = pd.read_csv(existing(args.features))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise FormatError(f"{args.features} is not a readable CSV file: {error}") from error
    if args.target not in frame:
        names = [str(name) for name in frame.columns]
        problem = (
            f"{args.features} has no column {args.target!r}{closest(args.target, names)}"
            if args.target
            else (f"--features {args.features} needs --target")
        )
        raise ArgumentError(f"{problem}; name the column to predict with --target (of: {', '.join(names)})")
    kind = MODELS[args.history].kind if args.history in MODELS else CLASSIFICATION
    X, y = frame.drop(columns=args.target), frame[args.target]
    found = features(kind, X, y)
    return {**found, **landmarks(kind, X, y)} if more and args.history in MODELS else found
