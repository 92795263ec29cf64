"""The commands of the command line, one function each.

A command adds its parser and arguments and ends with `parser.set_defaults(run=...)`, a function of the parsed
arguments that calls the library and prints. List it in COMMANDS, and that is all.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headstart.history import History
    from headstart.start import Start
    from headstart.validation import Evidence

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def build(commands: Commands) -> None:
    parser = command(
        commands,
        "build",
        "rebuild a history that ships with the package from real data, or learn a distance between its data sets",
        "headstart build svm --only wine iris --out small.parquet",
    )
    parser.add_argument("what", choices=["svm", "adaboost", "resnet", "metric"], help="a history, or the distance")
    parser.add_argument("--history", metavar="NAME", help="metric: the history whose data sets to learn from")
    parser.add_argument("--out", type=Path, metavar="PATH", help="the file (default: WHAT.parquet, metric.npz)")
    parser.add_argument("--jobs", type=jobs, default=-1, metavar="N", help="processes (default: one per core)")
    parser.add_argument("--work", type=Path, metavar="DIR", help="keeps finished parts (default: next to PATH)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these data sets instead of all")
    add_seed(parser)
    parser.set_defaults(run=run_build)


def run_build(args: argparse.Namespace) -> None:
    builder = import_module(f"headstart.library.{args.what}")
    if args.what == "metric":
        out = args.out or Path("metric.npz")
        model = builder.build(out, history=args.history or "svm", seed=args.seed, work=args.work, only=args.only)
        print(f"wrote {out}: {len(model.embeddings)} data sets, held-out loss {model.curve.held_out.min():.3f}")
        return
    if args.history:
        raise ValueError(f"--history is for metric, not for {args.what}")
    out = args.out or Path(f"{args.what}.parquet")
    history = builder.build(out, seed=args.seed, jobs=args.jobs, work=args.work, only=args.only)
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
    from headstart import demo, figures

    out = args.out or (None if args.json else Path("demo.png"))
    if out:
        figures.check(out)
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
    add_data(parser)
    parser.add_argument("--out", "-o", type=Path, metavar="PATH", help="write a start file as well")
    add_json(parser, "the configurations")
    add_seed(parser)
    parser.set_defaults(run=run_learn)


def run_learn(args: argparse.Namespace) -> None:
    start = learned(args, args.n)
    if args.out:
        start.save(args.out)
    show_start(start, as_json=args.json)


def suggest(commands: Commands) -> None:
    parser = command(
        commands,
        "suggest",
        "say what to try first, from a start file or straight from a history",
        "headstart suggest start.json -n 5\n  headstart suggest svm -n 5 --features data.csv --target y",
    )
    add_history(parser, "a start file that `headstart learn` wrote, or ")
    parser.add_argument(
        "-n", type=partial(whole, low=1), metavar="N", help="how many (default: all, or 5 of a history)"
    )
    parser.add_argument("--method", default="auto", metavar="NAME", help="of a history: the strategy (default: auto)")
    add_data(parser)
    add_json(parser, "the configurations")
    add_seed(parser)
    parser.set_defaults(run=run_suggest)


def run_suggest(args: argparse.Namespace) -> None:
    from headstart.start import Start

    if not is_start(args.history):
        show_start(learned(args, args.n or 5), as_json=args.json)
        return
    start = Start.load(args.history)
    if (n := args.n or len(start)) > len(start):
        raise ValueError(f"-n {n}: {args.history} has {len(start)} configurations; learn a longer start for more")
    if args.features:
        data_features(args)  # bad data is said here too
        print(
            f"{args.history} holds configurations and no runs, so {args.features} does not change them; "
            "give the history instead of the start file to use the data set's features",
            file=sys.stderr,
        )
    show_start(start.first(n), as_json=args.json)


def check(commands: Commands) -> None:
    parser = command(
        commands,
        "check",
        "say whether a learned start helps on the tasks of a history, each left out in turn; with a study of an Optuna "
        "storage, whether its start ran and what it was worth",
        "headstart check svm -n 5 --methods auto rbi\n  headstart check sqlite:///runs.db churn-november",
    )
    add_history(parser)
    parser.add_argument("study", nargs="?", help="a study of the storage that is given instead of a history")
    add_number(parser, "-n", 10, "how many configurations")
    parser.add_argument("--methods", nargs="+", default=["auto", "rbi"], metavar="NAME", help="strategies to compare")
    parser.add_argument("--jobs", type=jobs, default=1, metavar="N", help="processes (default: 1)")
    add_json(parser)
    add_seed(parser)
    parser.set_defaults(run=run_check)


def run_check(args: argparse.Namespace) -> int:
    if args.study is not None:
        return run_check_study(args)
    from headstart.validation import evidence

    found = evidence(history_of(args), n=args.n, methods=args.methods, seed=args.seed, jobs=args.jobs)
    if args.json:
        told = {"helps": found.helps, "summary": found.summary, "method": found.best_method, "outliers": found.outliers}
        print(json.dumps({**told, "table": found.table.to_dict("records")}))
    else:
        show_evidence(found)
    return 0 if found.helps else 1


def run_check_study(args: argparse.Namespace) -> int:
    from headstart.adapters.optuna import account_of

    found = account_of(args.history, args.study)
    print(json.dumps(found.to_json(), indent=2) if args.json else found)
    return 0 if found.planned and found.ran >= found.planned else 1


def report(commands: Commands) -> None:
    parser = command(
        commands,
        "report",
        "write one interactive page about a history: does its past help, what was learned, how alike its tasks are",
        "headstart report svm -o report.html",
    )
    add_history(parser)
    parser.add_argument("--out", "-o", type=Path, default=Path("report.html"), metavar="PATH", help="the page to write")
    parser.add_argument("--title", metavar="TEXT", help="the page's heading (default: the history's name)")
    add_number(parser, "-n", 10, "how many configurations the start has")
    parser.add_argument("--method", default="auto", metavar="NAME", help="the strategy (default: auto)")
    parser.add_argument("--jobs", type=jobs, default=1, metavar="N", help="processes (default: 1)")
    add_json(parser, "what the page says")
    add_seed(parser)
    parser.set_defaults(run=run_report)


def run_report(args: argparse.Namespace) -> None:
    from headstart import report, terminal

    history = history_of(args)
    title = args.title or Path(args.history).name
    told = report.write(history, args.out, title=title, n=args.n, method=args.method, seed=args.seed, jobs=args.jobs)
    if args.json:
        print(json.dumps(told))
        return
    terminal.say(told["verdict"]["summary"], good=told["verdict"]["helps"])
    print(f"The page is in {args.out}; open it in a browser.")


def import_(commands: Commands) -> None:
    parser = command(
        commands,
        "import",
        "read past runs from anywhere into one Parquet file, and say what was taken, what was left out and why",
        "headstart import runs.csv --task dataset --value error -o runs.parquet",
    )
    add_history(parser)
    parser.add_argument("--out", "-o", type=Path, metavar="PATH", help="the file (default: NAME.parquet)")
    add_json(parser, "what was read")
    parser.set_defaults(run=run_import)


def run_import(args: argparse.Namespace) -> None:
    from headstart.sources import read_history

    out = args.out or Path(Path(args.history.rpartition("/")[2] or "history").stem + ".parquet")
    if out.suffix != ".parquet":
        raise ValueError(f"{out} must end in .parquet")
    history = read_history(args.history, reading(args))
    history.save(out)
    evaluations = sum(map(len, history))
    if args.json:
        facts = {"tasks": history.tasks, "evaluations": evaluations, "notes": list(history.notes)}
        print(json.dumps({"path": str(out), **facts, "space": history.space.to_json()}, indent=2))
        return
    print("\n".join([*history.notes, "", str(history.space), ""]))
    print(f"wrote {out}: {len(history)} tasks, {evaluations:,} evaluations")


def export(commands: Commands) -> None:
    parser = command(
        commands,
        "export",
        "write a start as another optimiser takes it",
        "headstart export start.json --to hyperopt -o points.json",
    )
    parser.add_argument("start", help="a start file that `headstart learn` wrote")
    parser.add_argument("--to", required=True, metavar="NAME", help="optuna, ray, smac, hyperopt, flaml, syne-tune, …")
    parser.add_argument("--out", "-o", type=Path, metavar="PATH", help="the file to write (default: print it)")
    parser.set_defaults(run=run_export)


def run_export(args: argparse.Namespace) -> None:
    from headstart.start import Start

    start = Start.load(args.start)
    if args.out:
        start.export(args.out, args.to)
        print(f"wrote {args.out}: {len(start)} configurations for {args.to}", file=sys.stderr)
    else:
        print(start.exported(args.to), end="")


def reproduce(commands: Commands) -> None:
    parser = command(
        commands,
        "reproduce",
        "run a paper's experiments again and draw its figures, or write down what became of the papers' claims",
        "headstart reproduce initializations --history svm --quick --out figures",
    )
    parser.add_argument("paper", choices=["initializations", "similarities", "siamese", "claims"], help="what to run")
    parser.add_argument(
        "--history",
        default="svm",
        metavar="NAME",
        help="one that ships with the package, a Parquet file, or the authors' folder of SVM files or table of "
        "AdaBoost results (default: svm)",
    )
    parser.add_argument("--out", type=Path, metavar="PATH", help="the folder to write to (claims: the page)")
    parser.add_argument("--quick", action="store_true", help="few tasks, trials and repetitions: about two minutes")
    parser.add_argument(
        "--repetitions", type=partial(whole, low=1), metavar="N", help="of leave-one-out (default: the paper's figure)"
    )
    parser.add_argument("--results", nargs="+", type=Path, metavar="DIR", help="claims: folders of tables to read")
    parser.add_argument("--jobs", type=jobs, default=-1, metavar="N", help="processes (default: one per core)")
    add_seed(parser)
    parser.set_defaults(run=run_reproduce)


def run_reproduce(args: argparse.Namespace) -> None:
    if args.paper == "claims":
        from headstart.papers import claims

        out = args.out or Path("claims.md")
        claims.write(args.results or [], out)
        print(f"The page is in {out}, its figures are in {claims.draw(args.results, out)}.")
        return
    common = {"seed": args.seed, "quick": args.quick, "jobs": args.jobs, "progress": True}
    paper = import_module(f"headstart.papers.{args.paper}")
    if args.paper == "siamese":
        from headstart.papers import tables

        out = args.out or Path("siamese")
        found = paper.run(out, **common)
        tables.aggregate_siamese(found, out, seed=args.seed, quick=args.quick)
        print(f"{paper.text(found)}\n\nTables and figures are in {out}.")
        return
    from headstart.papers.runs import history_named

    history, name = history_named(args.history)
    out = args.out or Path(f"{args.paper}-{Path(args.history).stem}")
    print(paper.run(history, out, name=name, repetitions=args.repetitions, **common))


COMMANDS: tuple[Callable[[Commands], None], ...] = (
    learn,
    suggest,
    check,
    report,
    import_,
    export,
    build,
    reproduce,
    demo,
)


# -- what several commands share -----------------------------------------------------------------------------

KINDS = (
    "a history that ships with the package, a Parquet file saved by headstart, a CSV file, an Optuna storage (URL or "
    "file), an HPO-B file (.json), or the authors' folder of SVM files"
)


def add_history(parser: argparse.ArgumentParser, more: str = "") -> None:
    """The argument HISTORY, which is anything, and how to read it where that is left open."""
    parser.add_argument("history", help=more + KINDS)
    how = parser.add_argument_group("how to read the history")
    how.add_argument("--task", default="task", metavar="COLUMN", help="CSV: which task (default: task)")
    how.add_argument("--value", default="value", metavar="COLUMN", help="CSV: the result (default: value)")
    how.add_argument("--cost", metavar="COLUMN", help="CSV: what the evaluation cost")
    how.add_argument("--ignore", nargs="+", default=[], metavar="COLUMN", help="CSV: columns that are no parameters")
    how.add_argument("--space", type=Path, metavar="PATH", help="a space as JSON (default: told from the runs)")
    how.add_argument("--direction", choices=["minimize", "maximize"], help="of CSV (default: minimize) or Optuna")
    how.add_argument("--studies", nargs="+", metavar="PATTERN", help="Optuna: only these studies, as in 'svm-*'")


def reading(args: argparse.Namespace) -> Any:
    from headstart.sources import Reading

    return Reading(args.task, args.value, args.cost, args.ignore, args.space, args.direction, args.studies)


def history_of(args: argparse.Namespace) -> History:
    """The history that was named; what an import took and left out is said on standard error."""
    from headstart import library
    from headstart.sources import read_history

    history = read_history(args.history, reading(args))
    if args.history not in library.names() and not args.history.endswith(".parquet"):
        told = "" if args.space else f"\nthe space told from it: {history.space}"
        print("\n".join(history.notes) + told, file=sys.stderr)
    return history


def is_start(name: str) -> bool:
    """Whether a path is that of a start file."""
    from headstart.files import read_json

    if not name.endswith(".json"):
        return False
    data = read_json(name, "a start file")
    return isinstance(data, dict) and data.get("headstart") == "start"


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--features", type=Path, metavar="CSV", help="the new data set, for methods that use its features"
    )
    parser.add_argument("--target", metavar="COLUMN", help="the column of CSV that holds the classes")


def data_features(args: argparse.Namespace) -> dict[str, float] | None:
    """The meta-features of the data set that was given, if one was."""
    if args.features is None:
        if args.target is not None:
            raise ValueError("--target names a column of the file that --features gives; give that too")
        return None
    import pandas as pd

    from headstart.features import metafeatures
    from headstart.files import existing
    from headstart.history import closest

    try:
        frame = pd.read_csv(existing(args.features))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{args.features} is not a readable CSV file: {error}") from error
    if args.target not in frame:
        names = [str(name) for name in frame.columns]
        said = f"has no column {args.target!r}{closest(args.target, names)}" if args.target else "has a target column"
        raise ValueError(f"{args.features} {said}; name the one with the classes as --target (of: {', '.join(names)})")
    return metafeatures(frame.drop(columns=args.target), frame[args.target])


def learned(args: argparse.Namespace, n: int) -> Start:
    from headstart.start import learn

    features = data_features(args)
    return learn(history_of(args), n=n, method=args.method, features=features, seed=args.seed)


# -- printing ------------------------------------------------------------------------------------------------


def show_start(start: Start, *, as_json: bool) -> None:
    from headstart import terminal

    if as_json:
        print(json.dumps(start.configs, indent=2))
    else:
        header, *rows = start.rows()
        terminal.table(header, rows)


def show_evidence(found: Evidence) -> None:
    """The curves as a table, then as one line each, then what they mean."""
    from headstart import terminal

    curves = {**{name: curve.mean(axis=0) for name, curve in found.curves.items()}}
    curves["random"] = found.random[:, : found.n].mean(axis=0)
    print("Mean distance to each task's best (0 best, 1 worst), each task left out in turn:\n")
    terminal.table(
        ["trials", *curves], [[str(t + 1), *(f"{c[t]:.3f}" for c in curves.values())] for t in range(found.n)]
    )
    high = max(float(curve[0]) for curve in curves.values())
    lines = [[name, terminal.sparkline(curve.tolist(), high)] for name, curve in curves.items()]
    print("\n" + terminal.plain_table(["", f"1 … {found.n}"], lines, left=(0, 1)) + "\n")
    terminal.say(found.summary, good=found.helps)


# -- arguments -----------------------------------------------------------------------------------------------


def add_json(parser: argparse.ArgumentParser, what: str = "the answer") -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")


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
