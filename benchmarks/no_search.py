"""One configuration without a search, on the library's histories, each data set left out in turn.

    python benchmarks/no_search.py [--sweep | --readme | --write]

For every history whose tasks measured the estimator's defaults, and each of its metrics: on which share of the data
sets the chosen configuration beats the defaults (a tie counts half), and the geometric mean of its loss divided by
theirs. Only configurations that all data sets measured can be chosen, so that every loss is a measured one.

average: the best configuration on average over the other data sets, by normal scores. wins: the one that beats the
defaults most often. ours: the rule of `library/unsearched.py` without features of the data set, with meta-features, and
with landmarks beside them; the last is what ships. --sweep prints what each of its constants is worth, and how the
histories fare with the value that is best on all others. --readme prints the README's table, by the log loss (the error
rate for support vector machines) or the RMSE, with the searches of `models.py` from benchmarks/models.json; --write
also updates it there.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import headstart as hs
from headstart.library import unsearched
from headstart.library.landmarks import with_landmarks
from headstart.library.models import CLASSIFICATION, MODELS, Model
from headstart.transfer.ranks import normal_scores

SWEEPS = {
    "GAIN": (0.0, 0.25, 0.5, 1.0, 2.0, 4.0),
    "WIDTH": (0.25, 0.35, 0.5, 0.7, 1.0),
    "NOISE": (0.5, 1.0, 2.0, 4.0),
    "ALONE": (0.0, 0.25, 0.5, 0.75, 1.0),
    "MOST": (0.5, 1.0, 2.0, 4.0),
    "KEPT": (4, 8, 12, 20, 40),
}
SHIPS = "landmarks, too"
SMALLEST = 1e-3  # lower error rates and log losses count as this one, since no data set has more than 1,000 rows
RESULTS = Path(__file__).with_name("models.json")
README = Path(__file__).resolve().parents[1] / "README.md"
PLACE = re.compile(r"(?<=<!-- models: begin -->\n).*(?=<!-- models: end -->)", re.DOTALL)


class Case(NamedTuple):
    """A history in one metric: losses (n, T) of the shared configurations and (T,) of the defaults, and features.

    M (T, d): meta-features and landmarks; the first `meta` columns are the meta-features.
    """

    name: str
    losses: np.ndarray
    defaults: np.ndarray
    M: np.ndarray
    meta: int


def models() -> list[Model]:
    """The models whose histories ship."""
    return [model for name, model in MODELS.items() if name in hs.library.names()]


def cases(wanted: Iterable[tuple[Model, str]]) -> list[Case]:
    found = []
    for model, metric in wanted:
        history = hs.library.load(model.name, metric)
        if (measured := unsearched.shared(model, metric, history)) is not None:
            tasks = {task.name: task.features for task in history}
            rows = [list(row.values()) for row in with_landmarks(tasks).values()]
            losses, defaults = measured.losses, measured.defaults
            found.append(Case(f"{model.name}, {metric}", losses, defaults, np.array(rows), len(history.feature_names)))
    return found


def outcome(case: Case, choose: Callable[..., int | None]) -> tuple[float, float]:
    """Share of data sets on which the chosen configuration beats the defaults, and its mean relative loss.

    None is a choice of the defaults, which tie with themselves.
    """
    least = unsearched.LEAST if case.name.endswith(("rmse", "mae")) else SMALLEST
    losses, defaults = (np.maximum(y, least) for y in (case.losses, case.defaults))
    T = len(defaults)
    gains = np.zeros(T)
    for t in range(T):
        others = np.delete(np.arange(T), t)
        i = choose(losses[:, others], defaults[others], case.M[others], case.M[t])
        if i is not None:
            gains[t] = np.log(defaults[t] / losses[i, t])
    return float(np.mean((gains > 0) + 0.5 * (gains == 0))), float(np.exp(-gains.mean()))


def rules(case: Case, wanted: str | None = None) -> dict[str, tuple[float, float]]:
    def average(losses: np.ndarray, defaults: np.ndarray, M: np.ndarray, new: np.ndarray) -> int:
        return int(np.column_stack([normal_scores(y) for y in losses.T]).mean(axis=1).argmin())

    def wins(losses: np.ndarray, defaults: np.ndarray, M: np.ndarray, new: np.ndarray) -> int:
        better = (losses < defaults) + 0.5 * (losses == defaults)
        return int(better.mean(axis=1).argmax())

    def ours(losses: np.ndarray, defaults: np.ndarray, M: np.ndarray, new: np.ndarray) -> int | None:
        return unsearched.preferred(unsearched.worth_of(losses, defaults).mean(axis=1))

    def all_features(losses: np.ndarray, defaults: np.ndarray, M: np.ndarray, new: np.ndarray) -> int | None:
        worth = unsearched.worth_of(losses, defaults)
        kept = unsearched.candidates(worth)
        best = unsearched.preferred(unsearched.expected(worth[kept], M, new))
        return None if best is None else int(kept[best])

    def meta_features(losses: np.ndarray, defaults: np.ndarray, M: np.ndarray, new: np.ndarray) -> int | None:
        return all_features(losses, defaults, M[:, : case.meta], new[: case.meta])

    each = {"average": average, "wins": wins, "ours": ours, "meta-features": meta_features, SHIPS: all_features}
    return {name: outcome(case, choose) for name, choose in each.items() if wanted in (None, name)}


def over_all(found: list[tuple[float, float]]) -> tuple[float, float]:
    """The mean share, and the geometric mean of the relative losses."""
    shares, ratios = np.array(found).T
    return float(shares.mean()), float(np.exp(np.log(ratios).mean()))


def cell(found: tuple[float, float]) -> str:
    return f"{found[0]:.0%} {found[1]:.3f}"


def table(all_cases: list[Case]) -> None:
    rows = {case.name: rules(case) for case in all_cases}
    names = list(next(iter(rows.values())))
    print(f"| history, metric | {' | '.join(names)} |")
    print(f"| --- |{' --- |' * len(names)}")
    for label, row in rows.items():
        print(f"| {label} | {' | '.join(cell(row[name]) for name in names)} |")
    totals = {name: over_all([row[name] for row in rows.values()]) for name in names}
    print(f"| **all** | {' | '.join(cell(totals[name]) for name in names)} |")


def sweep(all_cases: list[Case]) -> None:
    for constant, values in SWEEPS.items():
        kept, found = getattr(unsearched, constant), {}
        for value in values:
            setattr(unsearched, constant, value)
            found[value] = [rules(case, SHIPS)[SHIPS] for case in all_cases]
        setattr(unsearched, constant, kept)
        print(f"\n{constant} ({kept} here): " + ", ".join(f"{v}: {cell(over_all(found[v]))}" for v in values))
        histories = [case.name.partition(",")[0] for case in all_cases]
        chosen = []
        for i, name in enumerate(histories):  # all metrics of the model's history are left out
            others = [j for j, other in enumerate(histories) if other != name]
            best = max(values, key=lambda v, others=others: total([found[v][j] for j in others]))
            chosen.append(found[best][i])
        print(f"chosen on the other histories: {cell(over_all(chosen))}")


def total(found: list[tuple[float, float]]) -> float:
    """What `worth` adds up: the share of wins and the logarithm of the gain."""
    share, ratio = over_all(found)
    return share - float(np.log(ratio))


def usual(model: Model) -> str:
    """The metric in which the README shows a model."""
    if model.kind != CLASSIFICATION:
        return "rmse"
    return "error" if model.name.startswith("svm") else "log_loss"


TRIALS = (("headstart", 5), ("random", 50), ("headstart", 20), ("TPE", 100))
"""The searches of `models.py` that the README shows."""


def readme() -> str:
    header = ["model", "data sets", "better than its defaults on", "loss, relative to them"]
    header += [f"{n} {'of ours' if method == 'headstart' else method}" for method, n in TRIALS]
    rows = [header, ["---", *["--:"] * (len(header) - 1)]]
    searched = json.loads(RESULTS.read_text(encoding="utf-8"))
    for model in models():
        (case,) = cases([(model, usual(model))])
        share, ratio = rules(case, SHIPS)[SHIPS]
        found = searched.get(model.name, {}).get("validation", {})
        trials = [found.get(f"{method}, {n}") for method, n in TRIALS]
        shown = [f"{cell[0]:.2f}" if cell else "" for cell in trials]
        rows.append([f"`{model.class_name}`", str(len(case.defaults)), f"{share:.0%}", f"{ratio:.2f}", *shown])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--readme", action="store_true")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    if args.readme or args.write:
        print(text := readme(), end="")
        if args.write:
            README.write_text(PLACE.sub(text, README.read_text(encoding="utf-8")), encoding="utf-8")
        return
    found = cases((model, metric) for model in models() for metric in model.metrics)
    table(found)
    if args.sweep:
        sweep(found)


if __name__ == "__main__":
    main()
