"""Eleven families of real tuning runs: our methods, a portfolio, a cold search and other transfer methods.

python benchmarks/suite.py --jobs 2

Protocol and score are those of the judge beside the tables (../shared/suite, not part of this repository): leave one
data set out, show at most 100 rows of every other one, and choose among the rows of the new one; the first five trials
are the start. ADTM is the average distance to the minimum. *relative* is the ratio of ADTM to that of a greedy
portfolio, as the geometric mean over 5, 10 and 20 trials and over the tables. Finished parts are kept in --work, so a
run can be interrupted.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from peers import PEERS, New

SUITE = Path(__file__).resolve().parents[2] / "shared" / "suite"
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


@cache
def judge() -> Any:
    """The judge of the suite as a module."""
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


def curve(table_name: str, method: str, task: str, place: int, trials: int) -> list[float]:
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
    found: list[float] = j.run(table, name, task, place, trials, N_INIT, SEED)[0]
    return found


_tables: dict[str, Any] = {}


def _table(j: Any, name: str) -> Any:
    if name not in _tables:
        _tables.clear()  # one table at a time
        _tables[name] = j.Table(SUITE / f"{name}.parquet")
    return _tables[name]


def measure(j: Any, name: str, method: str, options: argparse.Namespace) -> dict[str, Any]:
    """ADTM of a method on one table, with its standard error over tasks."""
    test = _table(j, name).test
    if options.tasks and len(test) > options.tasks:
        test = [test[i] for i in np.linspace(0, len(test) - 1, options.tasks).astype(int)]
    work = (delayed(curve)(name, method, task, place, options.trials) for place, task in enumerate(test))
    curves = np.array(Parallel(options.jobs)(work))
    error = curves.std(axis=0) / np.sqrt(len(test))
    marks = [str(t) for t in j.MARKS]
    return {
        "adtm": dict(zip(marks, curves.mean(axis=0).round(4).tolist(), strict=True)),
        "error": dict(zip(marks, error.round(4).tolist(), strict=True)),
        "tasks": len(test),
    }


def table_of(found: dict[str, dict[str, Any]], names: list[str], methods: list[str], j: Any) -> str:
    """Markdown: relative per table, then over all tables with the worst, then ADTM after 5, 10 and 20 trials."""
    relative = {m: {n: j.relative(found[n][m], found[n]["portfolio"]) for n in names} for m in methods}
    overall = {m: float(np.exp(np.mean(np.log(list(relative[m].values()))))) for m in methods}
    order = sorted(methods, key=lambda m: overall[m])
    lines = ["| method | " + " | ".join(names) + " | all (worst) |", "| --- |" + " --: |" * (len(names) + 1)]
    for m in order:
        cells = [f"{relative[m][n]:.2f}" for n in names]
        lines.append(f"| {m} | {' | '.join(cells)} | **{overall[m]:.2f}** ({max(relative[m].values()):.2f}) |")
    lines += ["", "| method | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for m in order:
        cells = [" / ".join(f"{found[n][m]['adtm'][t]:.3f}".lstrip("0") for t in ("5", "10", "20")) for n in names]
        lines.append(f"| {m} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=[*REFERENCES, *OURS, *PEERS])
    parser.add_argument("--tables", nargs="+", help="only these")
    parser.add_argument("--tasks", type=int, default=20, help="data sets to leave out per table; 0: all")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("suite-pieces"))
    options = parser.parse_args()
    j = judge()
    names = [p.stem for p in sorted(SUITE.glob("*.parquet")) if p.with_name(f"{p.stem}_space.json").exists()]
    names = [n for n in names if not options.tables or n in options.tables]
    methods = list(dict.fromkeys(["portfolio", *options.methods]))
    options.work.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        found[name] = {}
        for method in methods:
            piece = options.work / f"{name}-{method.replace(' ', '_')}-{options.tasks}-{options.trials}.json"
            if not piece.exists():
                piece.write_text(json.dumps(measure(j, name, method, options)))
            found[name][method] = json.loads(piece.read_text())
            done = "  ".join(f"{v:.4f}" for v in found[name][method]["adtm"].values())
            print(f"{name:30} {method:18} {done}", file=sys.stderr, flush=True)
    print(table_of(found, names, methods, j))


if __name__ == "__main__":
    main()
