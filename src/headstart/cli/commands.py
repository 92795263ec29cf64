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
from typing import TYPE_CHECKING

from headstart._support.wording import counted, text_table
from headstart.cli.options import (
    AS_IT_IS,
    add_data,
    add_history,
    add_json,
    add_number,
    add_out,
    add_reading,
    add_seed,
    command,
    data_features,
    history_of,
    jobs,
    reading,
    refuse,
    whole,
)
from headstart.errors import ArgumentError

if TYPE_CHECKING:
    from headstart.cli.options import Commands
    from headstart.starts.start import Start
    from headstart.starts.validation import Evidence


def build(commands: Commands) -> None:
    parser = command(
        commands,
        "build",
        "rebuild a history that ships with the package from real data, or learn a distance between its data sets",
        "headstart build svm --only wine iris --out small.parquet",
    )
    parser.add_argument("what", choices=["svm", "adaboost", "resnet", "metric"], help="a history, or the distance")
    parser.add_argument("--history", metavar="NAME", help="metric: the history whose data sets to learn from")
    add_out(parser, "the file (default: WHAT.parquet, metric.npz)")
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
    refuse(args, f"is for metric, not for {args.what}", history=None)
    out = args.out or Path(f"{args.what}.parquet")
    if out.suffix != ".parquet":
        raise ArgumentError(f"{out} must end in .parquet")
    history = builder.build(out, seed=args.seed, jobs=args.jobs, work=args.work, only=args.only)
    print(f"wrote {out}: {counted(len(history), 'task')}, {counted(sum(map(len, history)), 'evaluation')}")


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
    add_out(parser, "the picture (default: demo.png)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    add_seed(parser)
    parser.set_defaults(run=run_demo)


def run_demo(args: argparse.Namespace) -> None:
    from headstart.cli import demo
    from headstart.report import figures

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
    add_out(parser, "write a start file as well (.json)")
    add_json(parser, "the configurations")
    add_seed(parser)
    parser.set_defaults(run=run_learn)


def run_learn(args: argparse.Namespace) -> None:
    if args.out and args.out.suffix.lower() != ".json" and (args.out.is_file() or not args.out.exists()):
        raise ArgumentError(f"{args.out} must end in .json: that is what a start file is")
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
    from headstart.history.sources import is_start
    from headstart.starts.start import Start

    if not is_start(args.history):
        show_start(learned(args, args.n or 5), as_json=args.json)
        return
    refuse(args, f"is for a history; {args.history} is a start, learned already", method="auto", seed=0, **AS_IT_IS)
    start = Start.load(args.history)
    if (n := args.n or len(start)) > len(start):
        raise ArgumentError(f"-n {n}: {args.history} has {len(start)} configurations; learn a longer start for more")
    if args.features:
        data_features(args)  # bad data is said here too
        print(
            f"{args.history} holds configurations and no runs, so {args.features} does not change them; "
            "give the history instead of the start file to use the data set's features",
            file=sys.stderr,
        )
    show_start(start.first(n), as_json=args.json)


METHODS = ["auto", "li", "rbi"]


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
    parser.add_argument(
        "--methods",
        nargs="+",
        default=METHODS,
        metavar="NAME",
        help="strategies to compare; the answer is about the first (default: auto li rbi)",
    )
    parser.add_argument("--jobs", type=jobs, default=1, metavar="N", help="processes (default: 1)")
    add_json(parser)
    add_seed(parser)
    parser.set_defaults(run=run_check)


def run_check(args: argparse.Namespace) -> int:
    if args.study is not None:
        return run_check_study(args)
    from headstart.starts.validation import evidence

    found = evidence(history_of(args), n=args.n, methods=args.methods, seed=args.seed, jobs=args.jobs)
    if args.json:
        told = {"helps": found.helps, "summary": found.summary, "method": found.method, "outliers": found.outliers}
        print(json.dumps({**told, "table": found.table.to_dict("records")}))
    else:
        show_evidence(found)
    return 0 if found.helps else 1


def run_check_study(args: argparse.Namespace) -> int:
    from headstart.adapters.optuna import account_of

    refuse(args, f"does not matter to what became of {args.study}", methods=METHODS, n=10, jobs=1, seed=0, **AS_IT_IS)
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
    add_out(parser, "the page to write (default: report.html)", Path("report.html"))
    parser.add_argument("--title", metavar="TEXT", help="the page's heading (default: the history's name)")
    add_number(parser, "-n", 10, "how many configurations the start has")
    parser.add_argument("--method", default="auto", metavar="NAME", help="the strategy (default: auto)")
    parser.add_argument("--jobs", type=jobs, default=1, metavar="N", help="processes (default: 1)")
    add_json(parser, "what the page says")
    add_seed(parser)
    parser.set_defaults(run=run_report)


def run_report(args: argparse.Namespace) -> None:
    from headstart import report
    from headstart.cli import terminal

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
    add_out(parser, "the file (default: NAME.parquet)")
    add_json(parser, "what was read")
    parser.set_defaults(run=run_import)


def run_import(args: argparse.Namespace) -> None:
    from headstart.history.sources import read_history

    out = args.out or Path(Path(args.history.rpartition("/")[2] or "history").stem + ".parquet")
    if out.suffix != ".parquet":
        raise ArgumentError(f"{out} must end in .parquet")
    history = read_history(args.history, reading(args))
    history.save(out)
    evaluations = sum(map(len, history))
    if args.json:
        facts = {"tasks": history.tasks, "evaluations": evaluations, "notes": list(history.notes)}
        print(json.dumps({"path": str(out), **facts, "space": history.space.to_json()}, indent=2))
        return
    print("\n".join([*history.notes, "", str(history.space), ""]))
    print(f"wrote {out}: {counted(len(history), 'task')}, {counted(evaluations, 'evaluation')}")


def export(commands: Commands) -> None:
    parser = command(
        commands,
        "export",
        "write a start as another optimiser takes it",
        "headstart export start.json --to hyperopt -o points.json",
    )
    parser.add_argument("start", help="a start file that `headstart learn` wrote")
    parser.add_argument("--to", required=True, metavar="NAME", help="optuna, ray, smac, hyperopt, flaml, syne-tune, …")
    add_out(parser, "the file to write (default: print it)")
    parser.set_defaults(run=run_export)


def run_export(args: argparse.Namespace) -> None:
    from headstart import library
    from headstart.starts.start import Start

    if args.start in library.names() or Path(args.start).suffix.lower() in (".parquet", ".csv"):
        stem = Path(args.start).stem
        raise ArgumentError(
            f"{args.start} is a history; learn a start first: headstart learn {args.start} -o {stem}.json"
        )
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
        metavar="NAME",
        help="any HISTORY; a CSV file of which nothing is said is the authors' AdaBoost table (default: svm)",
    )
    add_reading(parser)
    add_out(parser, "the folder to write to (claims: the page)")
    parser.add_argument("--quick", action="store_true", help="few tasks, trials and repetitions: about two minutes")
    parser.add_argument(
        "--repetitions",
        type=partial(whole, low=1),
        metavar="N",
        help="of leave-one-out (default: 10, similarities 3; more of what is random)",
    )
    parser.add_argument("--results", nargs="+", type=Path, metavar="DIR", help="claims: folders of tables to read")
    parser.add_argument("--jobs", type=jobs, default=-1, metavar="N", help="processes (default: one per core)")
    add_seed(parser)
    parser.set_defaults(run=run_reproduce)


def run_reproduce(args: argparse.Namespace) -> None:
    if args.paper == "claims":
        from headstart.papers import claims

        refuse(args, "is not for claims", history=None, quick=False, repetitions=None, seed=0, **AS_IT_IS)
        out = args.out or Path("claims.md")
        claims.write(args.results or [], out)
        print(f"The page is in {out}, its figures are in {claims.draw(args.results, out)}.")
        return
    refuse(args, f"is for claims, not for {args.paper}", results=None)
    common = {"seed": args.seed, "quick": args.quick, "jobs": args.jobs, "progress": True}
    paper = import_module(f"headstart.papers.{args.paper}")
    if args.paper == "siamese":
        from headstart.papers import tables

        refuse(args, "is not for siamese", history=None, repetitions=None, **AS_IT_IS)
        out = args.out or Path("siamese")
        found = paper.run(out, **common)
        tables.aggregate_siamese(found, out, seed=args.seed, quick=args.quick)
        print(f"{paper.text(found)}\n\nTables and figures are in {out}.")
        return
    from headstart.papers.runs import history_named

    given = args.history or "svm"
    history, name = history_named(given, reading(args))
    out = args.out or Path(f"{args.paper}-{Path(given).stem}")
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


def learned(args: argparse.Namespace, n: int) -> Start:
    from headstart.starts.learning import learn

    features = data_features(args)
    return learn(history_of(args), n=n, method=args.method, features=features, seed=args.seed)


# -- printing ------------------------------------------------------------------------------------------------


def show_start(start: Start, *, as_json: bool) -> None:
    from headstart.cli import terminal

    if as_json:
        print(json.dumps(start.configs, indent=2))
    else:
        header, *rows = start.rows()
        terminal.table(header, rows)


def show_evidence(found: Evidence) -> None:
    """The curves as a table, then as one line each, then what they mean."""
    from headstart.cli import terminal

    curves = {**{name: curve.mean(axis=0) for name, curve in found.curves.items()}}
    curves["random"] = found.random[:, : found.n].mean(axis=0)
    print("Mean distance to each task's best (0 best, 1 worst), each task left out in turn:\n")
    terminal.table(
        ["trials", *curves], [[str(t + 1), *(f"{c[t]:.3f}" for c in curves.values())] for t in range(found.n)]
    )
    high = max(float(curve[0]) for curve in curves.values())
    lines = [[name, terminal.sparkline(curve.tolist(), high)] for name, curve in curves.items()]
    print("\n" + text_table(["", f"1 … {found.n}"], lines, left=(0, 1)) + "\n")
    terminal.say(found.summary, good=found.helps)
