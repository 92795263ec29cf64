"""The commands for everyday work: learn, suggest, check, report, import, export.

A command adds its parser and its options, and ends with `parser.set_defaults(run=...)`: a function of the parsed
arguments that calls the library, prints, and may return an exit code. `headstart.cli.main` lists all commands.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from headstart._support.wording import counted, printable, text_table
from headstart.cli.options import (
    READING,
    add_data,
    add_history,
    add_jobs,
    add_json,
    add_method,
    add_number,
    add_out,
    add_seed,
    add_tasks,
    at_least,
    by_model,
    command,
    data_features,
    history_of,
    reading,
    reject,
)
from headstart.cli.shipped import as_python, default_metric, suggested_by_name
from headstart.errors import ArgumentError
from headstart.history.reading import Reading

if TYPE_CHECKING:
    from headstart.cli.options import Commands
    from headstart.history import History
    from headstart.starts.evidence import Evidence
    from headstart.starts.over_time import OverTime
    from headstart.starts.start import Start

INTERRUPTED = 130  # exit code


def learn(commands: Commands) -> None:
    parser = command(
        commands,
        "learn",
        "learn from past runs which configurations to try first",
        "headstart learn svm -n 5 --out start.json",
    )
    add_history(parser)
    add_number(parser, "-n", 10, "number of configurations")
    add_method(parser)
    add_data(parser)
    add_out(parser, "start file to write as well (.json)")
    add_json(parser, "the configurations")
    add_seed(parser)
    parser.set_defaults(run=run_learn)


def run_learn(args: argparse.Namespace) -> None:
    if args.out and args.out.suffix.lower() != ".json" and (args.out.is_file() or not args.out.exists()):
        raise ArgumentError(f"{args.out} must end in .json, as every start file does")
    start = learned(args, args.n)
    if args.out:
        start.save(args.out)
    show_start(start, as_json=args.json)


def suggest(commands: Commands) -> None:
    parser = command(
        commands,
        "suggest",
        "print the configurations to try first, from a start file or directly from a history",
        "headstart suggest start.json -n 5\n  headstart suggest svm -n 5 --features data.csv --target y\n"
        "  headstart suggest random-forest-classification -n 1 --python",
    )
    add_history(parser, "a start file written by `headstart learn`, or ")
    parser.add_argument(
        "-n", type=at_least(1), metavar="N", help="number of configurations (default: all of a start, 5 from a history)"
    )
    add_method(parser, "strategy, if the start is learned from a history")
    add_data(parser)
    parser.add_argument("--metric", metavar="NAME", help="shipped histories: the metric to optimise, such as auc")
    form = parser.add_mutually_exclusive_group()
    add_json(form, "the configurations")
    form.add_argument("--python", action="store_true", help="print one line of Python per configuration")
    add_seed(parser)
    parser.set_defaults(run=run_suggest)


def run_suggest(args: argparse.Namespace) -> None:
    from headstart.history.sources import is_start

    if is_start(args.history):
        start = _from_file(args)
    else:
        stored = None if args.model is not None else suggested_by_name(args, data_features(args, more=True))
        start = stored or learned(args, args.n or 5)
    if args.python:
        print(as_python(args.history, start))
    else:
        show_start(start, as_json=args.json)


def _from_file(args: argparse.Namespace) -> Start:
    from headstart.starts.start import Start

    why = f"applies to a history, but {args.history} is a start file"
    reject(args, why, "method", "seed", "also", "metric", "model", *READING)
    start = Start.load(args.history)
    if args.n is not None:
        start = start.first(args.n)
    if args.features:
        data_features(args)  # reports bad data here, too
        print(
            f"{args.history} is a start file, so {args.features} has no effect; "
            "to use the features of the data set, give the history instead",
            file=sys.stderr,
        )
    return start


def check(commands: Commands) -> None:
    parser = command(
        commands,
        "check",
        "check whether past runs help, by leaving out each task in turn; or, for a study of an Optuna storage, whether "
        "its start ran and what it gained",
        "headstart check svm -n 5 --methods auto rbi\n  headstart check sqlite:///runs.db churn-november",
    )
    add_history(parser)
    parser.add_argument("study", nargs="?", metavar="STUDY", help="check this study of the Optuna storage")
    add_number(parser, "-n", 10, "number of configurations", fewer=", or all that the space has")
    parser.add_argument(
        "--methods",
        nargs="+",
        default=["auto", "li", "rbi"],
        metavar="NAME",
        help="strategies to compare; the first one decides the answer (default: auto li rbi)",
    )
    parser.add_argument("--time", action="store_true", help="also compare over time; the history must have costs")
    add_tasks(parser)
    add_jobs(parser, 1)
    add_json(parser)
    add_seed(parser)
    parser.set_defaults(run=run_check)


def run_check(args: argparse.Namespace) -> int:
    if args.study is not None:
        return run_check_study(args)
    from headstart.starts.validation import evidence

    history = history_of(args)
    found = evidence(
        history,
        n=args.n,
        methods=args.methods,
        seed=args.seed,
        tasks=args.tasks,
        jobs=args.jobs,
        progress=True if args.tasks == "all" else None,  # it may take hours, so a log gets the estimate, too
        time=args.time,
    )
    begins = how_a_search_begins(history, args.seed) if found.method == "auto" and not found.interrupted else ""
    if args.json:
        answer = {"helps": found.helps, "summary": found.summary, "method": found.method, "outliers": found.outliers}
        answer |= {"begins": begins} if begins else {}
        answer |= {"interrupted_after": len(found.tasks)} if found.interrupted else {}
        by_time = {} if found.time is None else {"time": found.time.table.to_dict("records")}
        print(json.dumps({**answer, "table": found.table.to_dict("records"), **by_time}))
    else:
        show_evidence(found)
        if begins:
            print(f"\n{begins}")
    return INTERRUPTED if found.interrupted else 0 if found.helps else 1


def how_a_search_begins(history: History, seed: int) -> str:
    """The first configuration of a search with the default settings, and what decides it."""
    from headstart.search.optimizer import Optimizer

    optimizer = Optimizer(history.space, history=history, seed=seed)
    why = optimizer.explain()
    values = {name: f"{x:.4g}" if isinstance(x, float) else str(x) for name, x in optimizer.ask().items()}
    first = ", ".join(f"{name}={value}" for name, value in values.items())
    return printable(f"A search would begin with {first}. {why}")


def run_check_study(args: argparse.Namespace) -> int:
    from headstart.adapters.optuna import account_of

    others = [name for name in READING if name != "skip_damaged"]
    unused = ("methods", "n", "tasks", "jobs", "seed", "also", *others)
    reject(args, f"does not apply to the study {args.study}", *unused)
    found = account_of(args.history, args.study, skip_damaged=args.skip_damaged)
    print(json.dumps(found.to_json(), indent=2) if args.json else found)
    return 0 if found.planned and found.ran >= found.planned else 1


def report(commands: Commands) -> None:
    parser = command(
        commands,
        "report",
        "write an interactive page about a history or a study: whether past runs help, what was learned and how "
        "similar the tasks are; for a study of an Optuna storage, what its start was worth, what it follows and what "
        "comes next",
        "headstart report svm -o report.html\n  headstart report sqlite:///runs.db churn-november",
    )
    add_history(parser)
    parser.add_argument(
        "study", nargs="?", metavar="STUDY", help="write the page about this study of the Optuna storage"
    )
    add_out(parser, "page to write (default: report.html)", Path("report.html"))
    parser.add_argument("--title", metavar="TEXT", help="heading of the page (default: the name of the history)")
    add_number(parser, "-n", 10, "number of configurations in the start", fewer=", or all that the space has")
    add_method(parser)
    add_tasks(parser)
    add_jobs(parser, 1)
    add_json(parser, "the content of the page")
    add_seed(parser)
    parser.set_defaults(run=run_report)


def run_report(args: argparse.Namespace) -> None:
    from headstart import report
    from headstart.cli import terminal

    if args.study is not None:
        run_report_study(args)
        return
    history = history_of(args)
    title = args.title or Path(args.history).name
    source = ", ".join(map(without_password, [args.history, *args.also]))
    recorded = str(history.info.get("metric", "")) or default_metric(args.history)
    metric = args.value if args.value != Reading.value else recorded
    content = report.write(
        history,
        args.out,
        title=title,
        source=source,
        metric=metric,
        n=args.n,
        method=args.method,
        seed=args.seed,
        jobs=args.jobs,
        tasks=args.tasks,
    )
    if args.json:
        print(json.dumps(content))
        return
    terminal.say(content["verdict"]["summary"], good=content["verdict"]["helps"])
    print(f"The page is in {args.out}; open it in a browser.")


def without_password(history: str) -> str:
    """The name of a history for others to read: the URL of a database may hold a password."""
    if "://" not in history:
        return history
    from headstart.adapters.optuna.databases import hidden

    return hidden(history)


def run_report_study(args: argparse.Namespace) -> None:
    from headstart import report
    from headstart.cli import terminal

    reject(args, f"does not apply to the study {args.study}", "method", "n", "jobs", "seed", "also", *READING)
    content = report.write_study(args.history, args.study, args.out, title=args.title or "")
    if args.json:
        print(json.dumps(content))
        return
    terminal.say(f"{content['verdict']['headline']} {content['verdict']['says']}")
    print(f"The page is in {args.out}; open it in a browser.")


def import_(commands: Commands) -> None:
    parser = command(
        commands,
        "import",
        "convert past runs from any source to one Parquet file, and print what was read, what was skipped and why",
        "headstart import runs.csv --task dataset --value error -o runs.parquet",
    )
    add_history(parser)
    add_out(parser, "file to write (default: NAME.parquet)")
    add_json(parser, "what was read")
    parser.set_defaults(run=run_import)


def run_import(args: argparse.Namespace) -> None:
    from headstart.cli.understood import understood
    from headstart.history.past import read_past, required

    out = args.out or Path(Path(args.history.rpartition("/")[2] or "history").stem + ".parquet")
    if out.suffix != ".parquet":
        raise ArgumentError(f"{out} must end in .parquet")
    history = required(read_past([args.history, *args.also], reading(args)))
    history.save(out)
    evaluations = sum(map(len, history))
    if args.json:
        facts = {"tasks": history.tasks, "evaluations": evaluations, "notes": list(history.notes)}
        print(json.dumps({"path": str(out), **facts, "space": history.space.to_json()}, indent=2))
        return
    print(understood(history, f"of {args.space}" if args.space else "inferred from it"))
    print(f"wrote {out}: {counted(len(history), 'task')}, {counted(evaluations, 'evaluation')}")


def export(commands: Commands) -> None:
    parser = command(
        commands,
        "export",
        "write a start in the format of another optimiser",
        "headstart export start.json --to hyperopt -o points.json",
    )
    parser.add_argument("start", metavar="START", help="start file written by `headstart learn`")
    parser.add_argument(
        "--to",
        required=True,
        metavar="NAME",
        help="the optimiser: optuna, ray, smac, hyperopt, flaml, syne-tune, ax; or json, csv",
    )
    add_out(parser, "file to write (default: print it)")
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


def learned(args: argparse.Namespace, n: int) -> Start:
    from headstart.starts.learning import learn

    if args.model is not None:
        history, method, features = by_model(args)
        return learn(history, n=n, method=method, features=features, seed=args.seed)
    return learn(history_of(args), n=n, method=args.method, features=data_features(args), seed=args.seed)


# -- printing ------------------------------------------------------------------------------------------------


def show_start(start: Start, *, as_json: bool) -> None:
    from headstart.cli import terminal

    if as_json:
        print(json.dumps(start.configs, indent=2))
    else:
        header, *rows = start.rows()
        terminal.table(header, rows)


def show_time(found: OverTime) -> None:
    """The distances over time as a table."""
    from headstart.cli import terminal
    from headstart.starts.over_time import in_words

    rows = found.table.iloc[:: len(found.times) // 10]
    print("The same over time, for a start that knows what trials cost:\n")
    terminal.table(
        ["time", "start", "random"],
        [[in_words(cost), f"{a:.3f}", f"{b:.3f}"] for cost, a, b in rows.itertuples(index=False)],
    )
    print()


def show_evidence(found: Evidence) -> None:
    """The curves as a table and as sparklines, then the verdict."""
    from headstart.cli import terminal

    curves = {name: curve.mean(axis=0) for name, curve in found.curves.items()}
    curves["random"] = found.random[:, : found.n].mean(axis=0)
    print("Mean distance to each task's best (0 best, 1 worst), each task left out in turn:\n")
    terminal.table(
        ["trials", *curves], [[str(t + 1), *(f"{c[t]:.3f}" for c in curves.values())] for t in range(found.n)]
    )
    high = max(float(curve[0]) for curve in curves.values())
    lines = [[name, terminal.sparkline(curve.tolist(), high)] for name, curve in curves.items()]
    print("\n" + text_table(["", f"1 … {found.n}"], lines, left=(0, 1)) + "\n")
    if found.time is not None:
        show_time(found.time)
    terminal.say(found.summary, good=found.helps)
