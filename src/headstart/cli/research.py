"""The commands for research, defined as in `commands`: build a history, reproduce the papers, and a demo."""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from headstart._support.wording import counted
from headstart.cli.options import (
    READING,
    add_jobs,
    add_json,
    add_number,
    add_out,
    add_reading,
    add_seed,
    at_least,
    command,
    reading,
    reject,
)
from headstart.errors import ArgumentError
from headstart.library.models import MODELS

if TYPE_CHECKING:
    from headstart.cli.options import Commands


def build(commands: Commands) -> None:
    parser = command(
        commands,
        "build",
        "rebuild a shipped history from real data, or learn a distance between its data sets",
        "headstart build svm --only wine iris --out small.parquet",
    )
    parser.add_argument(
        "what",
        choices=["svm", "adaboost", "resnet", *MODELS, "metric"],
        metavar="NAME",
        help=f"the history to build ({', '.join(['svm, adaboost, resnet', *MODELS])}), or metric for the distance",
    )
    parser.add_argument(
        "--history",
        metavar="NAME",
        help="metric: the history whose data sets to learn from, or its file (default: svm)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="metric: the history's data sets, one file per task: tables (.csv, .tsv, .parquet) or images (.npy)",
    )
    parser.add_argument(
        "--target", metavar="COLUMN", help="metric: column of the tables that holds the classes (default: the last one)"
    )
    add_out(parser, "file to write (default: NAME.parquet, metric.npz)")
    add_jobs(parser, -1)
    parser.add_argument(
        "--work", type=Path, metavar="DIR", help="folder of finished parts, to resume from (default: next to PATH)"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="use only these data sets")
    add_json(parser, "what was built")
    add_seed(parser)
    parser.set_defaults(run=run_build)


def run_build(args: argparse.Namespace) -> None:
    from headstart.library.building import builder

    module = builder(args.what)
    if args.what == "metric":
        out = args.out or Path("metric.npz")
        of = {"history": args.history or "svm", "data": args.data, "target": args.target}
        model = module.build(out, **of, seed=args.seed, work=args.work, only=args.only)
        count, loss = len(model.embeddings), float(model.curve.held_out.min())
        facts = {"path": str(out), "data_sets": count, "held_out_loss": loss}
        print(json.dumps(facts) if args.json else f"wrote {out}: {count} data sets, held-out loss {loss:.3f}")
        return
    reject(args, f"is for metric, not for {args.what}", "history", "data", "target")
    out = args.out or Path(f"{args.what}.parquet")
    if out.suffix != ".parquet":
        raise ArgumentError(f"{out} must end in .parquet")
    history = module.build(out, seed=args.seed, jobs=args.jobs, work=args.work, only=args.only)
    evaluations = sum(map(len, history))
    if args.json:
        print(json.dumps({"path": str(out), "tasks": history.tasks, "evaluations": evaluations}))
    else:
        print(f"wrote {out}: {counted(len(history), 'task')}, {counted(evaluations, 'evaluation')}")


def reproduce(commands: Commands) -> None:
    parser = command(
        commands,
        "reproduce",
        "rerun the experiments of a paper and draw its figures, or write the page about the papers' claims",
        "headstart reproduce initializations --history svm --quick --out figures",
    )
    parser.add_argument(
        "paper",
        choices=["initializations", "similarities", "siamese", "claims"],
        help="the paper, or `claims` for the page",
    )
    parser.add_argument(
        "--history",
        metavar="NAME",
        help="any HISTORY; a CSV file without options is read as the authors' AdaBoost table (default: svm)",
    )
    add_reading(parser)
    add_out(parser, "folder to write to (claims: the page)")
    parser.add_argument("--quick", action="store_true", help="few tasks, trials and repetitions: about two minutes")
    parser.add_argument(
        "--repetitions",
        type=at_least(1),
        metavar="N",
        help="repetitions of leave-one-out (default: 10; more for random starts)",
    )
    parser.add_argument(
        "--starts",
        nargs="*",
        metavar="NAME",
        help="initializations: only Fig. 1, and only these starts (without names: all of them)",
    )
    parser.add_argument(
        "--results", nargs="+", type=Path, metavar="DIR", help="claims: folders written by `headstart reproduce`"
    )
    add_jobs(parser, -1)
    add_json(parser, "the files that were written")
    add_seed(parser)
    parser.set_defaults(run=run_reproduce)


def run_reproduce(args: argparse.Namespace) -> None:
    if args.paper == "claims":
        from headstart.papers import claims

        reject(args, "does not apply to claims", "history", "quick", "repetitions", "seed", "starts", *READING)
        out = args.out or Path("claims.md")
        claims.write(args.results or [], out)
        figures = claims.draw(args.results, out)
        show_written(args, out, f"The page is in {out}, its figures are in {figures}.", figures)
        return
    reject(args, f"is for claims, not for {args.paper}", "results")
    common = {"seed": args.seed, "quick": args.quick, "jobs": args.jobs, "progress": True}
    paper = import_module(f"headstart.papers.{args.paper}")
    if args.paper == "siamese":
        from headstart.papers import siamese_tables

        reject(args, "does not apply to siamese", "history", "repetitions", "starts", *READING)
        out = args.out or Path("siamese")
        found = paper.run(out, **common)
        siamese_tables.aggregate(found, out, seed=args.seed, quick=args.quick)
        show_written(args, out, f"{paper.text(found)}\n\nTables and figures are in {out}.")
        return
    from headstart.papers.runs import history_named

    given = args.history or "svm"
    history, name = history_named(given, reading(args))
    out = args.out or Path(f"{args.paper}-{Path(given).stem}")
    if args.paper == "initializations":
        common["starts"] = args.starts
    else:
        reject(args, f"is for initializations, not for {args.paper}", "starts")
    show_written(args, out, paper.run(history, out, name=name, repetitions=args.repetitions, **common))


def show_written(args: argparse.Namespace, out: Path, text: str, *more: Path) -> None:
    """The text, or the files that were written as JSON. more: folders or files beside `out`."""
    if not args.json:
        print(text)
        return
    within = [path for one in (out, *more) for path in (one.rglob("*") if one.is_dir() else [one])]
    files = sorted(str(path) for path in within if path.is_file())
    print(json.dumps({"paper": args.paper, "path": str(out), "files": files, "summary": text}, indent=2))


def demo(commands: Commands) -> None:
    parser = command(
        commands,
        "demo",
        "tune a model on data sets that are left out of a shipped history, each in turn: headstart against random "
        "search, a Gaussian process and TPE",
        "headstart demo --out demo.png",
    )
    add_number(parser, "--tasks", 60, "data sets to leave out, at most")
    add_number(parser, "--trials", 20, "trials of each search")
    add_out(parser, "picture to write (default: demo.png)")
    add_jobs(parser, -1)
    add_json(parser, "the curves")
    add_seed(parser)
    parser.set_defaults(run=run_demo)


def run_demo(args: argparse.Namespace) -> None:
    from headstart.cli import demo
    from headstart.report import figures

    out = args.out or (None if args.json else Path("demo.png"))
    if out:
        figures.check(out)
    outcome = demo.run(tasks=args.tasks, trials=args.trials, seed=args.seed, jobs=args.jobs)
    if out:
        demo.draw(outcome, out)
    print(json.dumps(demo.as_json(outcome), indent=2) if args.json else demo.table(outcome))
    if out and not args.json:
        print(f"The picture is in {out}.")
