"""Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017), all figures
but those that explain the method (2 and 3).

| experiment   | figures | what is done                                                                              |
| ------------ | ------- | ----------------------------------------------------------------------------------------- |
| `prior mean` | 1       | the minimum of a cosine: what is a prior mean worth? (`prior_mean.py`)                    |
| `synthetic`  | 6, 7    | four pairs of groups, 2,000 pairs of data sets of 30 points: is a distance learned at all? |
| `problems`   | 4, 5    | three kinds of problem, 50 data sets each: does a new one find its own kind?              |
| `images`     | 8, 9    | residual networks on image data sets: what are starts and prior means worth in a search?  |

The paper shows the groups and problems in pictures only, so they are made anew here, with what its text says of
them. Problems 1 and 2 have the same points and the same classes, which lie side by side in one and crosswise in the
other: hand-crafted features cannot tell them apart, as they never look at two columns at once.

Images: the model is trained on the subsampled data sets and the search is on a whole one, once with data sets of its
own source in the training (as MNIST and CIFAR-10 in the paper) and once without (CIFAR-100 and STL-10).

Every table has one row per number: experiment, problem, method, measure, item (a data set or repetition), step, value.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headstart import library
from headstart._support.files import replacing
from headstart._support.types import Array
from headstart.datasets.embedding import Points
from headstart.datasets.features import metafeatures
from headstart.datasets.siamese import Model, Pairs, Recipe, Training, fit, new_wing, train
from headstart.history import History
from headstart.library import images, pieces
from headstart.library.datasets import MissingPackageError
from headstart.papers import prior_mean
from headstart.papers.runs import digest
from headstart.report import figures
from headstart.search.optimizer import Optimizer
from headstart.space import Float, Space
from headstart.starts.learning import learn
from headstart.surrogates.gaussian import Gaussian
from headstart.transfer.models import task_distances

Rows = list[dict[str, Any]]
POINTS = 30  # of a data set, and τ
PUBLISHED = "lstm"
POOLINGS = (PUBLISHED, "mean", "attention")
K = 3  # starting points


@dataclass(frozen=True)
class Effort:
    """How much is done. steps: of a training, for each experiment. subsets: of each source of images."""

    pairs: int = 2000
    steps: tuple[int, int, int] = (100, 500, 150)
    per_problem: int = 50
    new_per_problem: int = 10
    subsets: int = 10
    trials: int = 20
    repetitions: int = 5
    cosines: int = 200


QUICK = Effort(
    pairs=200, steps=(15, 15, 6), per_problem=10, new_per_problem=3, subsets=3, trials=8, repetitions=2, cosines=50
)


def run(out: Path, *, seed: int = 0, quick: bool = False, jobs: int = -1, progress: bool = True) -> pd.DataFrame:
    """All experiments; writes `results.csv` and the figures into `out`. What is finished is kept there in pieces."""
    figures.pyplot()
    out.mkdir(parents=True, exist_ok=True)
    effort = QUICK if quick else Effort()
    work: dict[str, Callable[[], Rows]] = {
        "prior mean": partial(prior_mean.experiment, effort.cosines, seed),
        **{f"synthetic, {name}, {p}": partial(synthetic, name, p, effort, seed) for name in GROUPS for p in POOLINGS},
        **{f"problems, {method}": partial(problems, method, effort, seed) for method in LEARNED},
    }
    there = sources()
    of_images = {f"images, {s}": partial(searches, s, there, effort, seed) for s in settings(there)}
    signature = {"paper": "siamese", "seed": seed, "version": 1, **asdict(effort)}
    of_history = {"history": digest(library.load("resnet")), "sources": there, "searches": SEARCHES} if there else {}
    done: dict[str, Rows] = {}
    for part, settled in ((work, signature), (of_images, {**signature, **of_history})):
        done |= pieces.run(
            list(part),
            partial(_call, part),
            out / "pieces",
            signature=settled,
            jobs=jobs,
            progress=progress,
            label="runs",
        )
    frame = pd.DataFrame([{"experiment": key.partition(",")[0], **row} for key, rows in done.items() for row in rows])
    with replacing(out / "results.csv") as temporary:
        frame.to_csv(temporary, index=False)
    draw(frame, out)
    return frame


def _call(work: Mapping[str, Callable[[], Rows]], key: str) -> Rows:
    return work[key]()


def _row(problem: str, method: str, measure: str, value: float, *, item: int = 0, step: int = 0) -> dict[str, Any]:
    row = {"problem": problem, "method": method, "measure": measure, "item": item, "step": step}
    return {**row, "value": float(value)}


# -- synthetic pairs of groups (Fig. 6 and 7) ------------------------------------------------------------------


def _noisy(x: Array, y: Array, *, rng: np.random.Generator) -> Array:
    return np.column_stack([x, y]) + 0.1 * rng.normal(size=(len(x), 2))


def _circle(radius: float, *, rng: np.random.Generator) -> Array:
    angle = rng.uniform(0, 2 * np.pi, POINTS)
    return _noisy(radius * np.cos(angle), radius * np.sin(angle), rng=rng)


def _moon(upper: bool, *, rng: np.random.Generator) -> Array:
    angle = rng.uniform(0, np.pi, POINTS)
    if upper:
        return _noisy(np.cos(angle), np.sin(angle), rng=rng)
    return _noisy(1 - np.cos(angle), 0.5 - np.sin(angle), rng=rng)


def _graph(function: Callable[[Array], Array], *, rng: np.random.Generator) -> Array:
    x = rng.uniform(-np.pi, np.pi, POINTS)
    return _noisy(x, function(x), rng=rng)


Group = Callable[..., Array]
GROUPS: dict[str, tuple[Group, Group]] = {
    "two circles": (partial(_circle, 1.0), partial(_circle, 0.5)),
    "two moons": (partial(_moon, True), partial(_moon, False)),
    "sin and cos": (partial(_graph, np.sin), partial(_graph, np.cos)),
    "tanh and cos": (partial(_graph, np.tanh), partial(_graph, np.cos)),
}


def synthetic(name: str, pooling: str, effort: Effort, seed: int) -> Rows:
    """Training on four fifths of the pairs; loss curves, share of held-out pairs told apart, and embeddings."""
    rng = np.random.default_rng([seed, list(GROUPS).index(name)])
    group = rng.integers(2, size=2 * effort.pairs)
    sets = [Points.of(GROUPS[name][g](rng=rng), 2) for g in group]
    left = np.arange(0, 2 * effort.pairs, 2)
    pairs = Pairs(left, left + 1, (group[left] != group[left + 1]).astype(float))
    cut = int(0.8 * effort.pairs)
    wing = new_wing(Recipe("points", (2,), pooling, points=POINTS), seed=seed)
    shown = range(2 * cut, min(2 * cut + 100, 2 * effort.pairs))  # data sets that are never trained on
    before = np.array([wing.embed(sets[i]) for i in shown])
    training = Training(pairs=32, steps=effort.steps[0], every=max(1, effort.steps[0] // 12), patience=100)
    began = time.process_time()
    held_out = pairs.take(np.arange(cut, effort.pairs))
    curve = fit(wing, sets, pairs.take(np.arange(cut)), held_out, training, seed=seed)
    seconds = time.process_time() - began
    m = {i: wing.embed(sets[i]) for i in range(2 * cut, 2 * effort.pairs)}
    distance = np.array([np.linalg.norm(m[i] - m[j]) for i, j in zip(held_out.left, held_out.right, strict=True)])
    rows = [
        _row(name, pooling, "accuracy", float(np.mean((distance > 0.5) == held_out.target))),
        _row(name, pooling, "seconds", seconds),
    ]
    for step, inside, outside in curve.rows():
        rows += [_row(name, pooling, "training loss", inside, step=int(step))]
        rows += [_row(name, pooling, "held-out loss", outside, step=int(step))]
    for when, M in (("before", before), ("after", np.array([m[i] for i in shown]))):
        for axis, column in enumerate(_plane(M).T):
            named = f"{when}, axis {axis + 1}"
            rows += [
                _row(name, pooling, named, x, item=i, step=int(group[i])) for i, x in zip(shown, column, strict=True)
            ]
    return rows


def _plane(M: Array) -> Array:
    """The two directions in which vectors differ most, (n, 2)."""
    centred = M - M.mean(axis=0)
    return np.asarray(centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T)


# -- problems that hand-crafted features confuse (Fig. 4 and 5) --------------------------------------------------

CENTRES = {"Problem 1": 0.2, "Problem 2": 0.8, "Problem 3": 0.5}
"""Where the best value of the one hyperparameter lies."""
LINE = Space({"h": Float(0.0, 1.0)})
STEPS = np.linspace(0, 1, 21)
HAND = "hand-crafted"
LEARNED = {"lstm": "points", "mean": "points", "tables": "tables"}


def problem(name: str, *, rng: np.random.Generator) -> tuple[Array, Any]:
    """A data set: points in the plane and their classes."""
    n = int(rng.integers(40, 81))
    if name == "Problem 3":
        return rng.exponential(size=(n, 2)), rng.choice(3, n, p=[0.6, 0.3, 0.1])
    X = rng.uniform(-1, 1, size=(n, 2))
    side, crosswise = X[:, 0] > 0, (X[:, 0] > 0) != (X[:, 1] > 0)
    return X, (side if name == "Problem 1" else crosswise).astype(int)


def accuracies(name: str, *, rng: np.random.Generator) -> Array:
    """Accuracy over the hyperparameter, with noise."""
    centre = CENTRES[name] + 0.03 * rng.normal()
    bell = np.exp(-((STEPS - centre) ** 2) / (2 * 0.12**2))
    return np.asarray(0.55 + 0.4 * bell + 0.02 * rng.normal(size=len(STEPS)))


def problems(method: str, effort: Effort, seed: int) -> Rows:
    """Three starting points for new data sets, by meta-features and by what the method has learned."""
    rng = np.random.default_rng([seed, 100])
    names = [f"{name}, {i:02d}" for name in CENTRES for i in range(effort.per_problem)]
    data = {name: problem(name.partition(",")[0], rng=rng) for name in names}
    history = _history({name: accuracies(name.partition(",")[0], rng=rng) for name in names}, data)
    target = task_distances(history, "emd", rng=np.random.default_rng(seed))
    pooling, kind = ("mean", "tables") if method == "tables" else (method, "points")
    recipe = Recipe(kind, (3,) if kind == "points" else (), pooling, points=POINTS)
    training = Training(pairs=32, steps=effort.steps[1], every=10, patience=10)
    sets = {name: _seen(data[name], kind) for name in history.tasks}
    model = train(sets, target, recipe, training, seed=seed, progress=False)
    described = model.describe(history)
    rows = _losses("all", method, model)
    for name in CENTRES:
        for i in range(effort.new_per_problem):
            X, y = problem(name, rng=rng)
            curve = accuracies(name, rng=rng)
            rows += [_row(name, "truth", "curve", a, item=i, step=s) for s, a in enumerate(curve)]
            for label, init, features in (
                (HAND, "nbi", metafeatures(X, y)),
                (method, "metric", model.features(*_as_pair(_seen((X, y), kind)))),
            ):
                rows += _starts(name, label, described, init, features, curve, i)
    return rows


def _history(curves: Mapping[str, Array], data: Mapping[str, tuple[Array, Array]]) -> History:
    frame = pd.DataFrame(
        [{"task": n, "h": h, "value": a} for n, c in curves.items() for h, a in zip(STEPS, c, strict=True)]
    )
    features = pd.DataFrame({name: metafeatures(*pair) for name, pair in data.items()}).T
    return History.from_frame(frame, LINE, features=features, direction="maximize")


def _seen(data: tuple[Array, Array], kind: str) -> Any:
    """As the network takes it: a table with classes, or points with their class as a third number."""
    return data if kind == "tables" else np.column_stack(data)


def _as_pair(data: Any) -> tuple[Any, Any]:
    return data if isinstance(data, tuple) else (data, None)


def _starts(
    name: str, method: str, history: History, init: str, features: Mapping[str, float], curve: Array, item: int
) -> Rows:
    """The starting points, how far they leave the best accuracy away, and whose they are."""
    start = learn(history, n=K, method=init, features=features)
    h = np.array([config["h"] for config in start.configs])
    reached = curve[np.abs(STEPS[:, None] - h).argmin(axis=0)]
    owners = _nearest(history, init, features)
    rows = [_row(name, method, "start", x, item=item, step=k) for k, x in enumerate(h)]
    rows.append(_row(name, method, "gap", (curve.max() - reached.max()) / (curve.max() - curve.min()), item=item))
    rows.append(_row(name, method, "own kind", _share(owners, name), item=item))
    return rows


def _share(names: Sequence[str], beginning: str) -> float:
    return sum(name.startswith(beginning) for name in names) / len(names)


def _nearest(history: History, init: str, features: Mapping[str, float]) -> list[str]:
    """The K data sets from which a start is taken."""
    from headstart.transfer.models import Past
    from headstart.transfer.weights import feature_distance, feature_vectors, nearest_by_metric

    past = Past(history, rng=np.random.default_rng(0))
    if init == "metric":
        order = nearest_by_metric(past, features)
    else:
        order = np.argsort(feature_distance(*feature_vectors(past, features), 2.0), kind="stable")
    return [history.tasks[i] for i in order[:K]]


def _losses(problem: str, method: str, model: Model) -> Rows:
    rows = []
    for step, inside, outside in model.curve.rows():
        rows += [_row(problem, method, "training loss", inside, step=int(step))]
        rows += [_row(problem, method, "held-out loss", outside, step=int(step))]
    return rows


# -- searches on image data sets (Fig. 9) ------------------------------------------------------------------------

EVERY = "every source"
CONTROL = "3 any, EI"
SEARCHES = ("random, EI", "random, GP-UCB", "3 nearest, EI", "3 nearest, prior mean, EI", CONTROL)
"""Those of Fig. 9, and one that the paper has not: the bests of any three past data sets. It tells what is owed to the
learned distance from what is owed to having a past at all."""


def sources() -> list[str]:
    """The sources of images that are installed, if Fig. 9 can be drawn of them; what is missing is said in a line."""
    there = [source for source in images.SOURCES if _is_there(source)]
    if len(there) > 1:
        return there
    print("without Fig. 9: it takes images of two sources at least", file=sys.stderr)
    return []


def _is_there(source: str) -> bool:
    try:
        images.whole(source)
    except MissingPackageError as error:
        print(f"without {source}: {error}", file=sys.stderr)
        return False
    return True


def settings(there: Sequence[str]) -> list[str]:
    """What the model is trained on: every source that is there, or all but one."""
    return [EVERY, *(f"all but {source}" for source in there)] if there else []


def searches(setting: str, there: Sequence[str], effort: Effort, seed: int) -> Rows:
    """A model of the subsampled data sets of these sources, and searches on the whole one of each or of the other."""
    left_out = [source for source in there if setting == f"all but {source}"]
    trained = [source for source in there if source not in left_out]
    history = library.load("resnet")
    names = [f"{source}-{k:02d}" for source in trained for k in range(1, effort.subsets + 1)]
    past = history.only([name for name in names if name in history.tasks])
    target = task_distances(past, "emd", rng=np.random.default_rng(seed))
    recipe = Recipe("images", (1, images.SIZE, images.SIZE), PUBLISHED, points=20)
    training = Training(pairs=16, steps=effort.steps[2], every=10, patience=5)
    seen = {name: images.images(name)[0] for name in past.tasks}
    model = train(seen, target, recipe, training, seed=seed, progress=False)
    rows = _losses(setting, PUBLISHED, model)
    described = model.describe(past)
    for source in left_out or trained:
        name = f"{source}-whole"
        problem = f"{name}, {'known' if source in trained else 'unknown'} source"
        features = model.features(images.images(name)[0])
        nearest = _nearest(described, "metric", features)
        rows.append(_row(problem, "metric", "own source", _share(nearest, source)))
        for method in SEARCHES:
            for r in range(effort.repetitions):
                best = _search(method, described, history, name, features, effort.trials, seed + r)
                rows += [_row(problem, method, "error", e, item=r, step=t + 1) for t, e in enumerate(best)]
    return rows


def _search(
    method: str, past: History, history: History, name: str, features: Mapping[str, float], trials: int, seed: int
) -> Array:
    """The lowest error after 1, 2, … trials."""
    plain = Gaussian(own=True)  # knows nothing of the past, so that only starts and prior mean make a difference
    configs, losses = history.configs(name), history[name].losses
    optimizer = Optimizer(
        history.space,
        history=past,
        init="rbi" if method == CONTROL else "random" if method.startswith("random") else "metric",
        n_init=K,
        surrogate="prior" if "prior" in method else plain,
        acquisition="lcb" if method.endswith("UCB") else "ei",
        features=features,
        candidates=configs,
        seed=seed,
    )
    for _ in range(trials):
        config = optimizer.ask()
        optimizer.tell(config, float(losses[next(i for i, c in enumerate(configs) if c == config)]))
    return np.minimum.accumulate([trial.value or 0.0 for trial in optimizer.trials])


# -- pictures ----------------------------------------------------------------------------------------------------


def draw(frame: pd.DataFrame, out: Path) -> None:
    """Fig. 1 and 4 to 8, and Fig. 9 where there are searches, as PNG and SVG."""
    prior_mean.draw(out)
    draw_histograms(library.load("resnet"), out)
    draw_problems(frame[frame["experiment"] == "problems"], out)
    draw_synthetic(frame[frame["experiment"] == "synthetic"], out)
    found = frame[(frame["experiment"] == "images") & (frame["measure"] == "error")]
    if len(found):
        draw_searches(found, out)


def draw_synthetic(frame: pd.DataFrame, out: Path) -> None:
    rng = np.random.default_rng(0)
    with figures.canvas(out / "figure6", rows=2, columns=len(GROUPS), size=(3.9, 2.9)) as axes:
        for panel, (name, groups) in zip(axes, GROUPS.items(), strict=False):
            _scatter(panel, [group(rng=rng) for group in groups])
            panel.set_title(f"{name}: one data set of each group")
        for panel, name in zip(axes[len(GROUPS) :], GROUPS, strict=True):
            lines = [_line(frame, name, PUBLISHED, "training loss", "lstm, training")]
            lines += [_line(frame, name, pooling, "held-out loss", pooling) for pooling in POOLINGS]
            figures.curves(panel, lines, title="loss on held-out data sets", x="step", y="loss", log=True)
    name = next(iter(GROUPS))
    with figures.canvas(out / "figure7", columns=2, size=(4.2, 3.5), title=f"{name}: data sets not trained on") as axes:
        for panel, when in zip(axes, ("before", "after"), strict=True):
            chosen = frame[(frame["problem"] == name) & (frame["method"] == PUBLISHED)]
            x, y = (chosen[chosen["measure"] == f"{when}, axis {k}"].set_index("item") for k in (1, 2))
            _scatter(panel, [np.column_stack([x["value"], y["value"]])[(x["step"] == g).to_numpy()] for g in (0, 1)])
            panel.set(title=f"{when} training", xlabel="first direction", ylabel="second direction", aspect="equal")
            panel.set_adjustable("datalim")


def draw_problems(frame: pd.DataFrame, out: Path) -> None:
    rng = np.random.default_rng(0)
    with figures.canvas(out / "figure4", rows=2, columns=3, size=(3.6, 2.9)) as axes:
        for panel, below, name in zip(axes, axes[3:], CENTRES, strict=False):
            X, y = problem(name, rng=rng)
            _scatter(panel, [X[y == c] for c in np.unique(y)])
            panel.set_title(name)
            for _ in range(5):
                below.plot(STEPS, accuracies(name, rng=rng), color="#0072b2", alpha=0.5, lw=1)
            below.set(xlabel="hyperparameter", ylabel="accuracy", ylim=(0.45, 1.05))
    with figures.canvas(out / "figure5", rows=2, columns=3, size=(3.6, 2.9)) as axes:
        panels = iter(axes)
        for method in (HAND, PUBLISHED):
            for name in CENTRES:
                panel, here = next(panels), frame[(frame["problem"] == name) & (frame["item"] == 0)]
                curve = here[here["measure"] == "curve"].drop_duplicates("step").sort_values("step")["value"].to_numpy()
                h = here[(here["measure"] == "start") & (here["method"] == method)].drop_duplicates("step")["value"]
                panel.plot(STEPS, curve, color="#0072b2", lw=1.2)
                panel.plot(h, np.interp(h, STEPS, curve), "x", color="#d55e00", ms=9, mew=2)
                learned = "learned" if method == PUBLISHED else method
                panel.set(title=f"{name}, {learned}", xlabel="hyperparameter", ylabel="accuracy")


def draw_histograms(history: History, out: Path) -> None:
    """Fig. 8: accuracy over batch size and learning rate, two data sets of each source."""
    names = [f"{source}-{k:02d}" for k in (1, 2) for source in images.SOURCES]
    names = [name for name in names if name in history.tasks]
    with figures.canvas(out / "figure8", rows=2, columns=(len(names) + 1) // 2, size=(3.4, 2.9)) as axes:
        for panel, name in zip(axes, names, strict=False):
            frame = pd.DataFrame(history.configs(name)).assign(accuracy=1 - history[name].losses)
            wide = frame.pivot(index="batch_size", columns="learning_rate", values="accuracy")
            rate, size = np.log10(wide.columns), np.log2(wide.index)
            mesh = panel.pcolormesh(rate, size, wide.to_numpy(), shading="nearest", vmin=0, vmax=1, rasterized=True)
            panel.figure.colorbar(mesh, ax=panel, label="accuracy")
            panel.set(title=name, xlabel="log₁₀ of the initial learning rate", ylabel="log₂ of the batch size")
            panel.grid(visible=False)


def draw_searches(frame: pd.DataFrame, out: Path) -> None:
    names = sorted(frame["problem"].unique(), key=lambda name: (name.partition(", ")[2], name))
    columns = (len(names) + 1) // 2
    with figures.canvas(out / "figure9", rows=2, columns=columns, size=(4.4, 3.1)) as axes:
        for panel, name in zip(axes, names, strict=False):
            lines = [_line(frame, name, method, "error", method) for method in SEARCHES]
            figures.curves(panel, lines, title=name, x="iteration", y="lowest validation error", log=True)


def _line(frame: pd.DataFrame, problem: str, method: str, measure: str, style: str) -> figures.Curve:
    """Mean and standard error over items."""
    chosen = frame[(frame["problem"] == problem) & (frame["method"] == method) & (frame["measure"] == measure)]
    by_step = chosen.groupby("step")["value"]
    mean, error = by_step.mean(), by_step.sem()
    return figures.Curve(style, mean.index, mean.to_numpy(), None if error.isna().any() else error.to_numpy())


def _scatter(panel: Any, groups: Sequence[Array]) -> None:
    for points, color, mark in zip(groups, ("#d55e00", "#0072b2", "#009e73"), "oxs", strict=False):
        panel.scatter(points[:, 0], points[:, 1], c=color, marker=mark, s=16, linewidths=1)


# -- in numbers --------------------------------------------------------------------------------------------------


def text(frame: pd.DataFrame) -> str:
    """What came out, in a few tables."""
    parts = []
    cosine = frame[frame["experiment"] == "prior mean"]
    after = cosine[cosine["step"].isin([3, 4, 5, 8, 12])].groupby(["method", "step"])["value"].mean()
    parts.append(f"Distance to the minimum of the cosine after so many points (Fig. 1):\n{_wide(after, 4)}")
    synthetic = frame[frame["experiment"] == "synthetic"]
    last = synthetic[synthetic["measure"] == "held-out loss"].groupby(["problem", "method"])["value"].min()
    parts.append(f"Held-out loss, lowest (Fig. 6):\n{_wide(last, 4)}")
    for measure, title in (("accuracy", "Held-out pairs told apart"), ("seconds", "CPU seconds of training")):
        values = synthetic[synthetic["measure"] == measure].set_index(["problem", "method"])["value"]
        parts.append(f"{title}:\n{_wide(values, 2)}")
    found = frame[frame["experiment"] == "problems"]
    for measure, title in (("own kind", "Nearest three of the own kind"), ("gap", "Distance to the best after three")):
        values = found[found["measure"] == measure].groupby(["problem", "method"])["value"].mean()
        parts.append(f"{title} (Fig. 5):\n{_wide(values, 3)}")
    errors = frame[(frame["experiment"] == "images") & (frame["measure"] == "error")]
    for step in (K, 10, 20):
        here = errors[errors["step"] == step]
        if len(here):
            values = here.groupby(["problem", "method"])["value"].mean()
            parts.append(f"Validation error after {step} (Fig. 9):\n{_wide(values, 4)}")
    return "\n\n".join(parts)


def _wide(values: pd.Series[float], digits: int) -> str:
    return values.unstack().rename_axis(None, axis=1).rename_axis(None).to_string(float_format=f"%.{digits}f")
