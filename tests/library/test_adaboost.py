"""AdaBoost.MH with products of stumps, and the history built with it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.library import datasets, svm
from program import python

pytest.importorskip("numba", reason="numba is not installed (extra build)")

from headstart.library import adaboost
from headstart.library.adaboost import Products, Stumps

Array = np.ndarray[Any, Any]


def problem(classes: int, *, n: int = 60, seed: int = 0) -> tuple[Array, Array]:
    """A continuous, a rounded and a binary feature; labels that depend on them and on chance."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.normal(size=n).round(), rng.random(n) < 0.3])
    y = np.floor((X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)) * 2).astype(int) % classes
    return X, y


def uneven_weights(y: Array, *, seed: int = 0) -> Array:
    """First weights of rows that count differently, so that no two stumps have equal edges."""
    D = adaboost.first_weights(y, np.unique(y)) * np.random.default_rng(seed).uniform(0.5, 1.5, (len(y), 1))
    return np.asarray(D / np.abs(D).sum())


def all_stumps(X: Array, K: int) -> Stumps:
    return adaboost.arrange(adaboost.bin_codes(X, [adaboost.find_cuts(column) for column in X.T]), K)


def learn(
    X: Array, y: Array, *, terms: int, rounds: int, weights: Array | None = None
) -> tuple[Products, Stumps, Array]:
    """The products, the stumps they come from and the weights at the end."""
    D = adaboost.first_weights(y, np.unique(y)) if weights is None else weights.copy()
    stumps = all_stumps(X, D.shape[1])
    products = adaboost.no_products(rounds, terms, D.shape[1])
    adaboost.boost(D, stumps, products, 0, rounds)
    return products, stumps, D


def scores(products: Products, codes: Array, rounds: int) -> Array:
    out = np.zeros((codes.shape[1], products.votes.shape[1]))
    adaboost.add_scores(out, codes, products, 0, rounds)
    return out


def training_error(X: Array, y: Array, *, terms: int, rounds: int) -> float:
    products, stumps, _ = learn(X, y, terms=terms, rounds=rounds)
    return float(np.mean(adaboost.decide(scores(products, stumps.codes, rounds), np.unique(y)) != y))


# ---------------------------------------------------------------------------------- a plain reference


def reference_stumps(X: Array) -> list[tuple[int, int, Array]]:
    """Feature, cut and ±1 for each row, of all possible stumps."""
    found = []
    for j, column in enumerate(X.T):
        values = np.unique(column)
        for c, (low, high) in enumerate(pairwise(values)):
            found.append((j, c, np.where(column > (low + high) / 2, 1.0, -1.0)))
    return found


def reference_adaboost_mh(
    X: Array, y: Array, rounds: int, row_weights: Array
) -> tuple[list[Array], list[float], Array]:
    """AdaBoost.MH with stumps and a column for each class: α v φ(x) and γ of each round, and the final weights."""
    classes = np.unique(y)
    Y = np.where(y[:, None] == classes, 1.0, -1.0)
    K = len(classes)
    w = np.where(Y > 0, 1 / 2, 1 / (2 * (K - 1))) * row_weights[:, None]
    outputs, edges = [], []
    for _ in range(rounds):
        gammas = np.array([(w * Y * phi[:, None]).sum(axis=0) for _, _, phi in reference_stumps(X)])
        totals = np.abs(gammas).sum(axis=1)
        best = int(np.argmax(totals))
        gamma, v, phi = totals[best], np.where(gammas[best] >= 0, 1.0, -1.0), reference_stumps(X)[best][2]
        alpha = 0.5 * np.log((1 + gamma) / (1 - gamma))
        h = alpha * v * phi[:, None]
        w = w * np.exp(-h * Y)
        w /= w.sum()
        outputs.append(h)
        edges.append(float(gamma))
    return outputs, edges, w * Y


@pytest.mark.parametrize("classes", [2, 3])
def test_one_term_equals_adaboost_mh_with_stumps(classes: int) -> None:
    X, y = problem(classes)
    start, rounds = uneven_weights(y), 40
    products, stumps, D = learn(X, y, terms=1, rounds=rounds, weights=start)
    outputs, edges, weights = reference_adaboost_mh(X, y, rounds, np.abs(start).sum(axis=1))
    np.testing.assert_allclose(products.edges, edges, rtol=1e-9)
    ours = np.zeros((len(y), D.shape[1]))
    for t, h in enumerate(outputs):
        before = ours.copy()
        adaboost.add_scores(ours, stumps.codes, products, t, t + 1)
        np.testing.assert_allclose(ours - before, h[:, : D.shape[1]], rtol=1e-9, atol=1e-12)
    # Two classes: their columns mirror each other, so ours is twice the first.
    np.testing.assert_allclose(D, 2 * weights[:, :1] if classes == 2 else weights, rtol=1e-8)
    if classes == 2:
        np.testing.assert_allclose(weights[:, 0], -weights[:, 1])


def reference_product(D: Array, X: Array, terms: int) -> list[tuple[list[tuple[int, int]], float]]:
    """The product after each step of the search, by vote vectors and pseudo-labels as printed, and its edge."""
    K = D.shape[1]
    h = [np.ones((len(D), K)) for _ in range(terms)]
    names: dict[int, tuple[int, int]] = {}
    steps: list[tuple[list[tuple[int, int]], float]] = []
    edge, j = 0.0, 0
    while True:
        others = np.prod([h[k] for k in range(terms) if k != j], axis=0) if terms > 1 else np.ones((len(D), K))
        candidates = []
        for feature, cut, phi in reference_stumps(X):
            gammas = (D * others * phi[:, None]).sum(axis=0)
            candidates.append((np.abs(gammas).sum(), np.where(gammas >= 0, 1.0, -1.0) * phi[:, None], (feature, cut)))
        best = max(range(len(candidates)), key=lambda k: candidates[k][0])
        if candidates[best][0] <= edge + 1e-12:
            return steps
        edge, h[j], names[j] = candidates[best]
        assert np.isclose((D * np.prod(h, axis=0)).sum(), edge)
        steps.append(([names[k] for k in sorted(names)], edge))
        j = (j + 1) % terms


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("terms", [2, 3, 5])
def test_products_equal_the_papers_search_with_vote_vectors(classes: int, terms: int) -> None:
    X, y = problem(classes, seed=terms)
    D = uneven_weights(y)
    stumps = all_stumps(X, D.shape[1])
    features, cuts, sign = np.zeros(terms, dtype=np.int64), np.zeros(terms, dtype=np.int64), np.empty(len(y))
    edge, size = adaboost.best_product(D, stumps, features, cuts, sign)
    steps = reference_product(D, X, terms)
    assert list(zip(features[:size].tolist(), cuts[:size].tolist(), strict=True)) == steps[-1][0]
    assert edge == pytest.approx(steps[-1][1])
    assert edge == pytest.approx(np.abs((D * sign[:, None]).sum(axis=0)).sum())
    edges = [edge for _, edge in steps]
    assert edges == sorted(edges), "a step lowered the edge"


# --------------------------------------------------------------------------------- properties of boosting


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("terms", [1, 2, 4, 30])
def test_exponential_loss_is_the_product_of_the_normalisers(classes: int, terms: int) -> None:
    X, y = problem(classes, n=80)
    D = adaboost.first_weights(y, np.unique(y))
    w, Y = np.abs(D), np.sign(D)
    products, stumps, _ = learn(X, y, terms=terms, rounds=30)
    losses = [(w * np.exp(-Y * scores(products, stumps.codes, t))).sum() for t in range(31)]
    np.testing.assert_allclose(losses, np.cumprod([1, *np.sqrt(1 - products.edges**2)]), rtol=1e-9)
    assert (np.diff(losses) < 0).all()
    hamming = [(w * (Y * scores(products, stumps.codes, t) <= 0)).sum() for t in range(31)]
    assert (np.array(hamming) <= losses).all()


def test_training_error_falls_to_zero_where_terms_allow_it() -> None:
    X, y = problem(3, n=50)
    errors = [training_error(X, y, terms=4, rounds=T) for T in (2, 20, 200)]
    assert errors[0] > errors[1] >= errors[2] == 0


def test_two_terms_solve_xor_and_one_cannot() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    assert training_error(X, y, terms=2, rounds=100) == 0
    # A sum of functions of single features gets at most three of four corners right.
    corners = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]], (5, 1))
    parity = corners.sum(axis=1) % 2
    assert training_error(corners, parity, terms=1, rounds=1000) >= 0.2
    assert training_error(corners, parity, terms=2, rounds=1) == 0


@pytest.mark.parametrize("terms", [1, 2])
def test_a_product_without_mistakes_decides_from_then_on(terms: int) -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([0, 0, 1, 1])
    products, stumps, D = learn(X, y, terms=terms, rounds=5)
    assert (products.edges == 1).all()
    np.testing.assert_allclose(D, adaboost.first_weights(y, np.unique(y)), rtol=1e-6)  # as before the first round
    assert (np.ptp(scores(products, stumps.codes, 5) / scores(products, stumps.codes, 1)) < 1e-9).all()
    assert np.isfinite(products.votes).all()


def test_a_mistake_in_a_row_of_tiny_weight_counts() -> None:
    X, y = np.arange(5.0)[:, None], np.array([0, 0, 1, 1, 0])
    weights = adaboost.first_weights(y, np.unique(y)) * np.array([[1], [1], [1], [1], [1e-10]])
    products, _, D = learn(X, y, terms=1, rounds=20, weights=weights / np.abs(weights).sum())
    assert products.edges[0] == adaboost.LARGEST
    assert products.edges[1] < 0.95  # now the last row counts
    assert np.abs(D[-1, 0]) > 0.1


def test_rounds_without_an_edge_change_nothing() -> None:
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    products, _, D = learn(X, y, terms=3, rounds=5)
    assert not products.edges.any()
    assert not products.votes.any()
    np.testing.assert_allclose(D, adaboost.first_weights(y, np.unique(y)))


def test_ten_thousand_rounds_stay_finite() -> None:
    X, y = problem(2, n=40)
    products, _, D = learn(X, y, terms=3, rounds=10_000)
    assert np.isfinite(products.votes).all()
    assert np.abs(D).sum() == pytest.approx(1)
    assert ((products.edges > 0) & (products.edges < 1)).all()
    assert np.abs(D).min() >= adaboost.SMALLEST


def test_a_constant_feature_is_never_cut() -> None:
    X, y = problem(2)
    products, _, _ = learn(X, y, terms=2, rounds=10)
    with_constant = np.column_stack([np.full(len(X), 7.0), X])
    again, _, _ = learn(with_constant, y, terms=2, rounds=10)
    np.testing.assert_array_equal(again.edges, products.edges)
    assert all((again.features[t, : again.sizes[t]] > 0).all() for t in range(10))
    np.testing.assert_array_equal(again.votes, products.votes)


def test_cuts() -> None:
    np.testing.assert_array_equal(adaboost.find_cuts(np.array([3.0, 1.0, 1.0, 2.0])), [1.5, 2.5])
    assert len(adaboost.find_cuts(np.ones(3))) == 0
    values = np.random.default_rng(0).normal(size=5000)
    cuts = adaboost.find_cuts(values, max_bins=16)
    shares = np.bincount(np.searchsorted(cuts, values)) / len(values)
    np.testing.assert_allclose(shares, 1 / 16, atol=1e-3)
    skewed = np.concatenate([np.zeros(900), np.arange(1.0, 101)])
    assert (np.bincount(np.searchsorted(adaboost.find_cuts(skewed, max_bins=16), skewed)) > 0).all()


# ------------------------------------------------------------------------------------------------- the history


def test_runs_are_the_same_whatever_the_stops() -> None:
    part = svm.split(datasets.load("iris"))
    often, once = adaboost.run(part, 4, [2, 5, 50]), adaboost.run(part, 4, [50])
    assert often[-1]["error"] == once[-1]["error"]
    assert [row["iterations"] for row in often] == [2, 5, 50]
    seconds = [row["seconds"] for row in often]
    assert seconds == sorted(seconds)


def test_build_resumes_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaboost, "ITERATIONS", (2, 5))
    monkeypatch.setattr(adaboost, "TERMS", (2, 3))
    run, started = adaboost.run, []

    def interrupted(part: svm.Split, terms: int, iterations: tuple[int, ...]) -> list[dict[str, Any]]:
        started.append((len(part.y_train), terms))
        if len(started) == 4:
            raise OSError("no space left")
        return run(part, terms, iterations)

    def build() -> hs.History:
        return adaboost.build(tmp_path / "small.parquet", only=["wine", "iris"], jobs=1, progress=False)

    monkeypatch.setattr(adaboost, "run", interrupted)
    with pytest.raises(RuntimeError, match="'wine/3' failed: OSError: no space left"):
        build()
    assert not (tmp_path / "small.parquet").exists()
    history = build()
    assert started == [
        (120, 2),
        (120, 3),
        (142, 2),
        (142, 3),
        (142, 3),
    ]  # small ones first; only the failed one runs twice
    assert history.tasks == ["iris", "wine"]
    assert sorted(history.configs("wine"), key=str) == sorted(adaboost.grid(), key=str)
    assert len(history.feature_names) == 22
    assert history.info["max_bins"] == 256
    assert history.info["packages"]["numba"]
    pd.testing.assert_frame_equal(hs.History.load(tmp_path / "small.parquet").to_frame(), history.to_frame())


def test_without_numba_the_command_names_the_extra() -> None:
    found = python(
        "import sys; sys.modules['numba'] = None; from headstart.cli.main import main; main(['build', 'adaboost'])"
    )
    assert found.stderr.strip() == "headstart: boosting needs numba; pip install 'headstart[build]'"


def test_the_history_that_ships() -> None:
    history, other = hs.library.load("adaboost"), hs.library.load("svm")
    assert history.tasks == other.tasks
    assert history.info.items() >= adaboost.signature(0).items()
    for task in history.tasks:
        assert sorted(history.configs(task), key=str) == sorted(adaboost.grid(), key=str)
        assert ((history[task].losses >= 0) & (history[task].losses <= 1)).all()
        assert history[task].features == other[task].features
    np.testing.assert_array_equal(history.feature_matrix(), hs.library.load("svm").feature_matrix())


@pytest.mark.parametrize(("name", "terms"), [("iris", 3), ("wine", 7)])
def test_new_runs_give_the_shipped_results(name: str, terms: int) -> None:
    history = hs.library.load("adaboost")
    rows = adaboost.run(svm.split(datasets.load(name)), terms, [2, 10, 100, 1000])
    stored = {tuple(c.values()): loss for c, loss in zip(history.configs(name), history[name].losses, strict=True)}
    assert [row["error"] for row in rows] == [stored[row["iterations"], terms] for row in rows]
