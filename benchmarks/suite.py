"""Eleven families of real tuning runs: our methods, a portfolio, a cold search and other transfer methods.

python benchmarks/suite.py --jobs 2             every method on every table
python benchmarks/suite.py --sweep --tasks 8    what each constant of `auto` is worth

Protocol and score are those of the judge beside the tables (../shared/suite, not part of this repository): leave one
data set out, show at most 100 rows of every other one, and choose among the rows of the new one; the first five trials
are the start. ADTM is the average distance to the minimum. *relative* is the ratio of ADTM to that of a greedy
portfolio, as the geometric mean over 5, 10 and 20 trials and over the tables. Finished parts are kept in --work, so a
run can be interrupted. --write keeps the figures of `auto` and random search for the table of the README.

The sweep changes one constant at a time. For each constant it prints *relative* for every value, and then that of a
value that took no part in the choice: on each table, the one that is best on all other tables.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from headstart.starts.measures import expected_random
from peers import PEERS, New

SUITE = Path(__file__).resolve().parents[2] / "shared" / "suite"
RESULTS = Path(__file__).with_name("suite.json")
OURS = {
    "auto": "auto:auto",
    "auto, then prior": "auto:prior",
    "auto, then gp": "auto:gp",
    "rbi, then gp": "rbi:gp",
    "li, then prior": "li:prior",
    "li, then gp": "li:gp",
    "random, then gp": "random:gp",
}
REFERENCES = {"portfolio": "ref:greedy", "random": "ref:random", "cold GP": "ref:gp"}
N_INIT, SEED = 5, 0
RESAMPLES = 1000
MOST_RANDOM = 400  # trials of random search whose expectation is kept

HYPOTHESES, MIXTURE = "headstart.surrogates.hypotheses", "headstart.surrogates.mixture"
POPULATION, QUANTILES = "headstart.transfer.population", "headstart.transfer.quantiles"
SWEEP: dict[str, tuple[str, tuple[float, ...]]] = {  # constant: its module, and the values besides its own
    "BANDWIDTH": (HYPOTHESES, (0.1, 0.6)),
    "RESIDUAL": (HYPOTHESES, (0.05, 0.5)),
    "TYPICAL": (HYPOTHESES, (0.5, 1.0)),
    "SPREAD": (HYPOTHESES, (0.25, 1.0)),
    "CAUTION": (HYPOTHESES, (0.0, 8.0)),
    "BLEND": (QUANTILES, (0.0, 0.5, 1.0)),
    "REFERENCE": (QUANTILES, (0.5, 1.0)),
    "REACH": (QUANTILES, (1.0, 5.0)),
    "OPPOSITE": (MIXTURE, (0.0, 0.02)),
    "ODDS": (MIXTURE, (2.0, 12.0)),
    "STRENGTH": (POPULATION, (1.0, 20.0)),
    "PULL": (POPULATION, (0.0, 3.0)),
    "ROUNDS": (POPULATION, (2, 12)),
    "BASIS": (POPULATION, (100,)),
}


def judge() -> Any:
    """The judge of the suite as a module."""
    if "judge" in sys.modules:
        return sys.modules["judge"]
    path = SUITE / "judge.py"
    if not path.exists():
        sys.exit(
            "this benchmark needs the tables of the suite, which are not part of the repository: no judge.py found"
        )
    spec = importlib.util.spec_from_file_location("judge", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["judge"] = module
    spec.loader.exec_module(module)
    return module


def curve(
    table_name: str, method: str, task: str, place: int, trials: int, change: tuple[str, float] | None
) -> list[float]:
    """Scores of the best so far on one left-out task after the judge's numbers of trials."""
    j = judge()
    table = _table(j, table_name)
    if method in PEERS:
        losses = table.new[task].value.to_numpy(float)
        trials = min(trials, len(losses))
        first = j.greedy(table, task, min(N_INIT, trials))
        tried = PEERS[method](New(table, task, losses, first, trials, np.random.default_rng([SEED, place])))
        assert len(set(tried)) == len(tried), f"{method} tried a row twice on {task}"
        best = np.minimum.accumulate(j.scores(table, losses)[tried])
        return [float(best[min(t, trials) - 1]) for t in j.MARKS]
    name = OURS.get(method) or REFERENCES[method]
    with changed(change):
        found: list[float] = j.run(table, name, task, place, trials, N_INIT, SEED)[0]
    return found


@contextmanager
def changed(change: tuple[str, float] | None) -> Iterator[None]:
    """While it lasts, a constant has another value."""
    if change is None:
        yield
        return
    constant, value = change
    module = importlib.import_module(SWEEP[constant][0])
    before = getattr(module, constant)
    setattr(module, constant, value)
    try:
        yield
    finally:
        setattr(module, constant, before)


def _table(j: Any, name: str) -> Any:
    """One table at a time, kept in the judge's module: a global of this script would be sent to every process."""
    kept_tables = vars(j).setdefault("kept_tables", {})
    if name not in kept_tables:
        kept_tables.clear()
        kept_tables[name] = j.Table(SUITE / f"{name}.parquet")
    return kept_tables[name]


def _left_out(j: Any, name: str, tasks: int) -> list[str]:
    """The data sets to leave out, evenly spaced."""
    test: list[str] = _table(j, name).test
    return [test[i] for i in np.linspace(0, len(test) - 1, tasks).astype(int)] if tasks and len(test) > tasks else test


def measure(
    j: Any, name: str, method: str, options: argparse.Namespace, change: tuple[str, float] | None = None
) -> dict[str, Any]:
    """ADTM of a method on one table with its standard error over tasks, and the curve of every task."""
    test = _left_out(j, name, options.tasks)
    work = (delayed(curve)(name, method, task, place, options.trials, change) for place, task in enumerate(test))
    curves = np.array(Parallel(options.jobs)(work))
    error = curves.std(axis=0) / np.sqrt(len(test))
    marks = [str(t) for t in j.MARKS]
    return {
        "adtm": dict(zip(marks, curves.mean(axis=0).round(4).tolist(), strict=True)),
        "error": dict(zip(marks, error.round(4).tolist(), strict=True)),
        "tasks": len(test),
        "curves": curves.round(5).tolist(),
    }


def kept(path: Path, compute: Any) -> Any:
    """What `compute` returns, or what it returned before."""
    if not path.exists():
        path.write_text(json.dumps(compute()))
    return json.loads(path.read_text())


def overall(ratios: Any) -> float:
    return float(np.exp(np.mean(np.log(list(ratios)))))


def resampled(ours: list[dict[str, Any]], portfolio: list[dict[str, Any]], j: Any) -> float:
    """Standard error of *relative* over all tables, in percent: the tasks of every table are drawn anew (bootstrap)."""
    rng = np.random.default_rng(0)
    scored = [j.MARKS.index(t) for t in j.SCORED]
    total = np.zeros(RESAMPLES)
    for mine, theirs in zip(ours, portfolio, strict=True):
        A, B = np.array(mine["curves"])[:, scored], np.array(theirs["curves"])[:, scored]
        drawn = rng.integers(len(A), size=(RESAMPLES, len(A)))
        total += np.log((A[drawn].mean(axis=1) + 0.002) / (B[drawn].mean(axis=1) + 0.002)).mean(axis=1)
    return 100 * float((total / len(ours)).std())


def table_of(found: dict[str, dict[str, Any]], names: list[str], methods: list[str], j: Any) -> str:
    """Markdown: relative per table, then over all tables with its standard error and the worst table, then ADTM."""
    relative = {m: {n: j.relative(found[n][m], found[n]["portfolio"]) for n in names} for m in methods}
    order = sorted(methods, key=lambda m: overall(relative[m].values()))
    lines = ["| method | " + " | ".join(names) + " | all (worst) |", "| --- |" + " --: |" * (len(names) + 1)]
    for m in order:
        cells = [f"{relative[m][n]:.2f}" for n in names]
        worst = max(relative[m].values())
        error = resampled([found[n][m] for n in names], [found[n]["portfolio"] for n in names], j)
        total = overall(relative[m].values())
        lines.append(f"| {m} | {' | '.join(cells)} | **{total:.2f}** ± {error:.0f} % ({worst:.2f}) |")
    lines += ["", "| method | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for m in order:
        cells = []
        for n in names:
            adtm, error = found[n][m]["adtm"], found[n][m]["error"]
            cells.append(" / ".join(f"{adtm[t]:.3f} ± {error[t]:.3f}".replace("0.", ".") for t in ("5", "10", "20")))
        lines.append(f"| {m} | {' | '.join(cells)} |")
    return "\n".join(lines)


def random_search(j: Any, name: str, tasks: int) -> list[float]:
    """ADTM of random search after 1, 2, … trials, in exact expectation."""
    table = _table(j, name)
    scores = [j.scores(table, table.new[t].value.to_numpy(float)) for t in _left_out(j, name, tasks)]
    return [round(float(x), 5) for x in np.mean([expected_random(s, MOST_RANDOM) for s in scores], axis=0)]


def compare(j: Any, names: list[str], options: argparse.Namespace) -> None:
    methods = list(dict.fromkeys(["portfolio", *options.methods]))
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        found[name] = {}
        for method in methods:
            piece = options.work / f"{name}-{method.replace(' ', '_')}-{options.tasks}-{options.trials}.json"
            found[name][method] = kept(piece, lambda n=name, m=method: measure(j, n, m, options))
            done = "  ".join(f"{v:.4f}" for v in found[name][method]["adtm"].values())
            print(f"{name:30} {method:18} {done}", file=sys.stderr, flush=True)
    print(table_of(found, names, methods, j))
    if options.write:
        figures = {
            name: {
                "data sets": found[name]["auto"]["tasks"],
                "auto": found[name]["auto"]["adtm"],
                "random": random_search(j, name, options.tasks),
            }
            for name in names
        }
        RESULTS.write_text(json.dumps(figures, indent=1) + "\n")


def sweep(j: Any, names: list[str], options: argparse.Namespace) -> None:
    def relative(constant: str, value: float | None) -> list[float]:
        change = None if value is None else (constant, value)
        label = "as_it_is" if value is None else f"{constant}={value:g}"
        out = []
        for name in names:
            greedy = options.work / f"{name}-portfolio-{options.tasks}-{options.trials}.json"
            piece = options.work / f"{name}-auto,{label}-{options.tasks}-{options.trials}.json"
            ours = kept(piece, lambda n=name: measure(j, n, "auto", options, change))
            out.append(j.relative(ours, kept(greedy, lambda n=name: measure(j, n, "portfolio", options))))
        print(f"{label:24} {overall(out):.3f}", file=sys.stderr, flush=True)
        return out

    as_it_is = relative("", None)
    print("| constant | relative of each value (worst table) | chosen on the other tables |\n| --- | --- | --- |")
    for constant, (module, values) in SWEEP.items():
        if options.constants and constant not in options.constants:
            continue
        current = float(getattr(importlib.import_module(module), constant))
        by_value = {current: as_it_is, **{float(v): relative(constant, v) for v in values}}
        cells = [
            f"{value:g}{' (as it is)' * (value == current)}: {overall(ratios):.2f} ({max(ratios):.2f})"
            for value, ratios in sorted(by_value.items())
        ]
        unseen = []
        for i in range(len(names)):
            best = min(by_value, key=lambda v, i=i: overall(np.delete(by_value[v], i)))
            unseen.append(by_value[best][i])
        print(f"| {constant} | {', '.join(cells)} | {overall(unseen):.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=[*REFERENCES, *OURS, *PEERS])
    parser.add_argument("--tables", nargs="+", help="only these")
    parser.add_argument("--tasks", type=int, default=20, help="data sets to leave out per table; 0: all")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("suite-pieces"))
    parser.add_argument("--write", action="store_true", help="keep the figures for the README")
    parser.add_argument("--sweep", action="store_true", help="what each constant of auto is worth")
    parser.add_argument("--constants", nargs="+", help="of the sweep: only these")
    options = parser.parse_args()
    j = judge()
    names = [p.stem for p in sorted(SUITE.glob("*.parquet")) if p.with_name(f"{p.stem}_space.json").exists()]
    names = [n for n in names if not options.tables or n in options.tables]
    options.work.mkdir(parents=True, exist_ok=True)
    (sweep if options.sweep else compare)(j, names, options)


if __name__ == "__main__":
    main()
