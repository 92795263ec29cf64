"""How far could better weights take `auto`? Before a search, the past tasks are weighted by all results of the new one.

python benchmarks/limit.py [--tables NAME …] [--jobs 2]

The protocol is that of `suite.py`. An oracle sees the losses of all candidates (at most 300 of them) and makes the
likelihood of each hypothesis its share: "all" with nothing else, "half" mixed with the usual shares. Nothing else in
`auto` changes: the tasks themselves, the deviations from them, expected improvement. So the rows show about how much a
better way of finding similar tasks could gain, be it meta-features, a learned distance or another likelihood.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import headstart as hs
from headstart.surrogates import mixture
from headstart.surrogates.base import Model
from headstart.surrogates.hypotheses import Hypotheses
from headstart.transfer.population import Population
from headstart.transfer.ranks import normal_scores
from suite import N_INIT, SEED, SUITE, _left_out, _table, judge, kept, overall

SEEN = 300  # candidates whose losses the oracle sees
ORACLE = {"auto": 0.0, "auto, half by an oracle": 0.5, "auto, all by an oracle": 1.0}  # its part of the shares


def told(population: Population, Z: np.ndarray, losses: np.ndarray, part: float) -> Population:
    """The population with shares that the losses (n,) at Z (n, d) of the new task support; NaN marks a failed trial."""
    weights = Hypotheses.of(population, Z, normal_scores(losses)).weights
    return replace(population, shares=(1 - part) * population.shares + part * weights)


@contextmanager
def oracle(Z: np.ndarray, losses: np.ndarray, part: float) -> Iterator[None]:
    """While it lasts, every search with `auto` begins with such shares."""
    begin = mixture.Mixture.begin

    def begin_told(self: mixture.Mixture, *args: object, **options: object) -> Model:
        model = begin(self, *args, **options)
        assert isinstance(model, mixture.MixtureModel)
        return mixture.MixtureModel(told(model.population, Z, losses, part), model.own)

    mixture.Mixture.begin = begin_told
    try:
        yield
    finally:
        mixture.Mixture.begin = begin


def curve(name: str, part: float, task: str, place: int, trials: int) -> list[float]:
    """Scores of the best so far on one left-out task after the judge's numbers of trials."""
    j = judge()
    table = _table(j, name)
    if not part:
        return list(j.run(table, "auto:auto", task, place, trials, N_INIT, SEED)[0])
    rows = table.new[task].sample(frac=1, random_state=0).head(SEEN)
    space = table.space(hs)
    Z = space.encode_values(space.to_values(table.configs(rows)))
    with oracle(Z, rows.value.to_numpy(float), part):
        return list(j.run(table, "auto:auto", task, place, trials, N_INIT, SEED)[0])


def relative(j: Any, name: str, method: str, options: argparse.Namespace) -> float:
    """ADTM relative to that of the portfolio, on one table."""
    test = _left_out(j, name, options.tasks)

    def compute(part: float | None) -> list[list[float]]:
        if part is None:
            work = (
                delayed(j.run)(_table(j, name), "ref:greedy", task, i, options.trials, N_INIT, SEED)
                for i, task in enumerate(test)
            )
            return [found[0] for found in Parallel(options.jobs)(work)]
        work = (delayed(curve)(name, part, task, i, options.trials) for i, task in enumerate(test))
        return list(Parallel(options.jobs)(work))

    def adtm(label: str, part: float | None) -> dict[str, dict[str, float]]:
        piece = options.work / f"limit-{name}-{label.replace(' ', '_')}-{options.tasks}-{options.trials}.json"
        mean = np.mean(kept(piece, lambda: compute(part)), axis=0)
        return {"adtm": {str(t): float(v) for t, v in zip(j.MARKS, mean, strict=True)}}

    ratio: float = j.relative(adtm(method, ORACLE[method]), adtm("portfolio", None))
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", help="only these")
    parser.add_argument("--tasks", type=int, default=20, help="data sets to leave out per table; 0: all")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("suite-pieces"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    j = judge()
    names = [p.stem for p in sorted(SUITE.glob("*.parquet")) if p.with_name(f"{p.stem}_space.json").exists()]
    names = [n for n in names if not options.tables or n in options.tables]
    found: dict[str, list[float]] = {}
    for name in names:
        for method in ORACLE:
            found.setdefault(method, []).append(relative(j, name, method, options))
        print(f"{name:30} {'  '.join(f'{m} {r[-1]:.2f}' for m, r in found.items())}", file=sys.stderr, flush=True)
    print("| method | " + " | ".join(names) + " | all (worst) |\n| --- |" + " --: |" * (len(names) + 1))
    for method, ratios in found.items():
        cells = " | ".join(f"{r:.2f}" for r in ratios)
        print(f"| {method} | {cells} | **{overall(ratios):.2f}** ({max(ratios):.2f}) |")


if __name__ == "__main__":
    main()
