"""The Siamese networks: layers, invariances, training, and model files."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart._support.files import read_arrays, write_arrays
from headstart.datasets.siamese import (
    Curve,
    Model,
    Pairs,
    Points,
    Recipe,
    Table,
    Training,
    Wing,
    fit,
    networks,
    new_wing,
    pair_losses,
    torch,
    train,
    training,
)
from headstart.datasets.siamese.inputs import numeric_columns, standardised
from headstart.errors import FormatError, HistoryError
from histories import make

POINTS = {pooling: Recipe("points", (2,), pooling, points=20) for pooling in networks.POOLINGS}
ORDER_FREE = [
    *(Recipe("points", (2,), pooling) for pooling in ("mean", "attention")),
    *(Recipe("images", (1, 8, 8), pooling) for pooling in ("mean", "attention")),
    *(Recipe("tables", (), pooling) for pooling in ("mean", "attention")),
]


def circle(radius, *, rng, n=20):
    angle = rng.uniform(0, 2 * np.pi, n)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.normal(size=(n, 2))


def circles(n=60, seed=0):
    """Data sets of two groups, circles of radius 1 and 2, and their distances."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    sets = {f"d{i:03d}": circle(1.0 + group[i], rng=rng) for i in range(n)}
    return sets, (group[:, None] != group[None, :]).astype(float), group


def table(seed=0, n=40, classes=3):
    """A table with numbers, a category, missing cells and classes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.exponential(size=n), "c": rng.choice(["u", "v", "w"], n)})
    X.loc[3, "a"] = np.nan
    X.loc[5, "c"] = None
    return X, rng.integers(classes, size=n)


def example(recipe, seed=0):
    rng = np.random.default_rng(seed)
    if recipe.kind == "tables":
        return recipe.see(*table(seed))
    return recipe.see(rng.normal(size=(30, *recipe.shape)))


# -- the networks as published ---------------------------------------------------------------------------------


def shapes(recipe):
    return {name: tuple(tensor.shape) for name, tensor in Wing(recipe).state_dict().items() if "bias" not in name}


def test_table_1():
    assert list(shapes(Recipe("points", (2,))).values()) == [
        (300, 2),  # fc1
        (300, 300),  # fc2
        *[(4 * 300, 300), (4 * 300, 300)] * 2,  # biLSTM: four gates, forward and backward
        (100, 600),  # fc3 takes both
        (50, 100),  # fc4
    ]


def test_table_2():
    assert list(shapes(Recipe("images", (1, 28, 28))).values()) == [
        (32, 1, 5, 5),
        (64, 32, 5, 5),
        (1000, 64 * 7 * 7),  # halved twice
        (300, 1000),
        *[(4 * 300, 300), (4 * 300, 300)] * 2,
        (100, 600),
        (50, 100),
    ]


def test_the_last_layer_and_the_recurrent_one_have_no_activation():
    wing = new_wing(POINTS["lstm"], seed=0)
    items = torch.ones(1, 3, 300)
    doubled = wing.fc4(2 * torch.ones(100)) + wing.fc4.bias
    torch.testing.assert_close(doubled, 2 * wing.fc4(torch.ones(100)))
    assert (wing.pool(items) < 0).any()


def test_the_recurrent_state_has_read_every_point_in_both_directions():
    wing = new_wing(POINTS["lstm"], seed=0)
    items = torch.randn(1, 5, 300, generator=torch.Generator().manual_seed(0), requires_grad=True)
    for half in (slice(0, 300), slice(300, 600)):
        (gradient,) = torch.autograd.grad(wing.pool(items)[0, half].sum(), items)
        assert (gradient.abs().sum(dim=2) > 0).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "text"}, "kind must be one of points, images, tables, but got 'text'"),
        ({"kind": "points", "shape": (2,), "pooling": "max"}, "pooling must be one of"),
        ({"kind": "points", "shape": (2, 2)}, r"points cannot have the shape \(2, 2\)"),
        ({"kind": "points", "shape": (0,)}, "at least 1, but got 0"),
        ({"kind": "images", "shape": (1, 3, 9)}, "at least 4 × 4"),
        ({"kind": "tables", "size": True}, "at least 1, but got True"),
    ],
)
def test_an_invalid_recipe_is_rejected(settings, words):
    with pytest.raises(ValueError, match=words):
        Recipe(**settings)


# -- loss and distance -----------------------------------------------------------------------------------------


def test_the_loss_is_the_papers():
    wing = new_wing(POINTS["mean"], seed=0)
    rng = np.random.default_rng(0)
    sets = [Points.of(circle(r, rng=rng), 2) for r in (1.0, 1.0, 2.0)]
    pairs = Pairs(np.array([0, 0]), np.array([1, 2]), np.array([0.0, 1.0]))
    losses = pair_losses(wing, sets, pairs, rng=rng).detach().numpy()  # all 20 of 20 points: no chance involved
    m = [wing.embed(data) for data in sets]
    expected = [(t - np.linalg.norm(m[i] - m[j])) ** 2 for i, j, t in ((0, 1, 0.0), (0, 2, 1.0))]
    np.testing.assert_allclose(losses, expected, rtol=1e-4)


def test_both_wings_are_one_before_and_after_training():
    """Swapping the partners of every pair gives the same gradient, and so the same network."""
    sets, target, _ = circles(8)
    data = [Points.of(X, 2) for X in sets.values()]
    pairs = Pairs.of(target, np.ones((8, 8), dtype=bool))
    swapped = Pairs(pairs.right, pairs.left, pairs.target)
    wings = [new_wing(POINTS["lstm"], seed=0) for _ in range(2)]
    for wing, these in zip(wings, (pairs, swapped), strict=True):
        fit(wing, data, these, these, Training(pairs=4, steps=3, every=1))
    before = new_wing(POINTS["lstm"], seed=0).state_dict()
    for name, tensor in wings[0].state_dict().items():
        torch.testing.assert_close(tensor, wings[1].state_dict()[name], rtol=1e-3, atol=1e-5)
    assert any(not torch.equal(before[name], tensor) for name, tensor in wings[0].state_dict().items())


@pytest.mark.parametrize("pooling", networks.POOLINGS)
@pytest.mark.parametrize("kind", networks.KINDS)
def test_the_distance_is_symmetric_and_zero_to_itself(kind, pooling):
    recipe = Recipe(kind, {"points": (2,), "images": (1, 8, 8), "tables": ()}[kind], pooling, points=10)
    model = Model(new_wing(recipe, seed=0), {}, Curve.of([]))
    a, b = example(recipe, 0), example(recipe, 1)
    assert model.distance(a, a) == 0
    assert model.distance(a, b) == model.distance(b, a) > 0


# -- order, names and units do not matter ----------------------------------------------------------------------


@pytest.mark.parametrize("recipe", ORDER_FREE, ids=str)
def test_the_order_of_rows_does_not_matter(recipe):
    wing, data = new_wing(recipe, seed=0), example(recipe)
    shuffled = data.rows(np.random.default_rng(1).permutation(len(data)))
    np.testing.assert_allclose(wing.embed(data), wing.embed(shuffled), rtol=1e-4, atol=1e-6)


def test_the_order_of_rows_does_matter_to_the_published_one():
    wing, data = new_wing(Recipe("points", (2,)), seed=0), example(Recipe("points", (2,)))
    assert not np.allclose(wing.embed(data), wing.embed(data.rows(slice(None, None, -1))), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "attention"])
def test_the_order_of_columns_names_and_units_do_not_matter_to_tables(pooling):
    wing = new_wing(Recipe("tables", (), pooling), seed=0)
    X, y = table()
    m = wing.embed(Table.of(X, y))
    for other_X, other_y in (
        (X[["c", "b", "a"]], y),
        (X, np.array(["yes", "no", "perhaps"])[y]),  # other labels
        (X, (y + 1) % 3),  # the same labels for other classes
        (X.assign(a=X["a"] * -3e5 + 7).assign(a=X["a"] * 3e5 + 7), y),
        (X.assign(c=X["c"].map({"u": "w", "v": "u", "w": "v"})), y),
        (X.assign(constant=4.0), y),  # carries no information
    ):
        np.testing.assert_allclose(wing.embed(Table.of(other_X, other_y)), m, rtol=1e-3, atol=1e-5)
    assert not np.allclose(wing.embed(Table.of(X, np.roll(y, 7))), m, rtol=1e-3, atol=1e-5)  # labels do matter


def test_tables_are_embedded_in_parts_as_in_one(monkeypatch):
    wing, data = new_wing(Recipe("tables", (), "attention"), seed=0), example(Recipe("tables"))
    whole = wing.embed(data)
    monkeypatch.setattr(networks, "CELLS", 20)
    np.testing.assert_allclose(wing.embed(data), whole, rtol=1e-4, atol=1e-6)


# -- tables ----------------------------------------------------------------------------------------------------


def test_cells_are_value_class_mean_and_share():
    data = Table.of([[0.0], [2.0], [4.0], [np.nan]], ["x", "x", "y", "y"])
    cells, row = data.cells()
    x = (np.array([0.0, 2.0, 4.0]) - 2) / np.sqrt(8 / 3)
    np.testing.assert_allclose(cells[:, 0], x, rtol=1e-6)
    np.testing.assert_allclose(cells[:, 1], [x[:2].mean(), x[:2].mean(), x[2]], rtol=1e-6)
    np.testing.assert_allclose(cells[:, 2], 0.5)
    np.testing.assert_array_equal(row, [0, 1, 2])  # the missing cell is not there
    np.testing.assert_allclose(data.sizes, np.log([4, 1, 2]), rtol=1e-6)


def test_columns_of_every_kind_become_numbers():
    X = pd.DataFrame(
        {
            "number": [1.0, None, 3.0],
            "truth": [True, False, True],
            "text": ["a", "b", None],
            "category": pd.Categorical([3, 3, 4]),
            "date": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
        }
    )
    table = numeric_columns(X)
    assert table.shape == (3, 7)
    np.testing.assert_array_equal(table[:, 0], [1, np.nan, 3])
    np.testing.assert_array_equal(table[:, 1], [1, 0, 1])
    np.testing.assert_array_equal(table[:, 2:4], [[1, 0], [0, 1], [np.nan, np.nan]])
    np.testing.assert_array_equal(table[:, 4:6], [[1, 0], [1, 0], [0, 1]])
    assert np.isnan(table[1, 6])
    assert table[2, 6] > table[0, 6]
    np.testing.assert_array_equal(numeric_columns([["1", 2.5], ["2", 3.5]])[:, -1], [2.5, 3.5])


def test_columns_are_standardised_whatever_their_size():
    values = standardised(np.array([[-1e308, 0.0, 5e-324], [1e308, 0.0, 0.0], [np.nan, 0.0, 0.0]]))
    np.testing.assert_allclose(values[:, 0], [-1, 1, np.nan])
    assert np.isfinite(values[:2]).all()
    np.testing.assert_array_equal(standardised(np.ones((3, 2))), np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[1.0], [2.0]], [0], "2 rows and 1 labels"),
        ([[1.0], [np.inf]], [0, 1], "must not hold infinite numbers"),
        ([1.0, 2.0], [0, 1], r"2 dimensions \(rows, columns\)"),
        ([[1.0], [2.0]], [0, None], "y lacks 1 of 2 labels"),
        ([[1.0], [2.0]], None, "this model is for tables with class labels; pass the labels with y="),
        ([[1j], [2.0]], [0, 1], "complex"),
    ],
)
def test_invalid_tables_are_rejected(X, y, words):
    with pytest.raises(ValueError, match=words):
        Recipe("tables").see(X, y)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros((5, 3)), r"this model is for points of shape \(2,\), but got \(3,\)"),
        (np.zeros(5), r"the shape \(n, d\) with n ≥ 1, but got \(5,\)"),
        (np.zeros((0, 2)), "n ≥ 1"),
        (np.full((5, 2), np.nan), "finite numbers"),
    ],
)
def test_invalid_points_are_rejected(X, words):
    with pytest.raises(ValueError, match=words):
        Recipe("points", (2,)).see(X)


# -- training --------------------------------------------------------------------------------------------------

SHORT = Training(pairs=16, steps=40, every=10)


@pytest.mark.parametrize("pooling", networks.POOLINGS)
def test_training_on_two_circles_separates_held_out_groups(pooling):
    sets, target, group = circles()
    out = list(sets)[40:]
    training = replace(SHORT, steps=20) if pooling == "lstm" else SHORT  # the LSTM is slow
    model = train(sets, target, POINTS[pooling], training, held_out=out, progress=False)
    M = np.array([model.embeddings[name] for name in out])
    D = np.linalg.norm(M[:, None] - M[None], axis=2)
    same = group[40:][:, None] == group[40:][None, :]
    assert D[same].max() < D[~same].min()  # every data set is nearer to all of its own group
    assert model.curve.held_out.min() < 0.1
    assert model.info["held_out"] == out
    fresh = circle(2.0, rng=np.random.default_rng(99))
    near, far = model.distance(fresh, sets["d001"]), model.distance(fresh, sets["d000"])
    assert near < 0.4 < far


def test_tables_of_different_widths_are_learned():
    """Tables whose classes can be told apart and tables whose labels are noise, of any width and number of classes."""
    rng = np.random.default_rng(0)
    sets, group = {}, np.arange(40) % 2
    for i in range(40):
        y = rng.integers(2 + i % 3, size=40)
        X = rng.normal(size=(40, 2 + i % 5)) + (3.0 * y[:, None] if group[i] else 0.0)
        sets[f"t{i}"] = (X, y)
    target = (group[:, None] != group[None, :]).astype(float)
    model = train(sets, target, Recipe("tables", (), "mean"), SHORT, progress=False)
    assert model.curve.held_out.min() < 0.1


def test_the_target_is_met_in_its_own_units():
    sets, target, group = circles(40)
    model = train(sets, 1e-3 * target, POINTS["mean"], SHORT, progress=False)
    M = np.array([model.embeddings[name] for name in sets])
    D = np.linalg.norm(M[:, None] - M[None], axis=2)
    assert np.median(D[group[:, None] != group[None, :]]) == pytest.approx(1e-3, rel=0.3)


def test_the_same_seed_gives_the_same_model_and_leaves_torch_alone():
    sets, target, _ = circles(10)
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    models = [
        train(sets, target, POINTS["mean"], replace(SHORT, steps=5), seed=s, progress=False).fingerprint
        for s in (3, 3, 4)
    ]
    assert models[0] == models[1] != models[2]
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.get_num_threads() == threads


def test_training_stops_when_held_out_data_sets_get_no_better():
    sets = circles(30)[0]
    noise = np.random.default_rng(0).random((30, 30))
    short = Training(pairs=16, steps=500, every=5, patience=3)
    model = train(sets, (noise + noise.T) * (1 - np.eye(30)), POINTS["mean"], short, progress=False)
    best = int(np.argmin(model.curve.held_out))
    assert len(model.curve.steps) == best + 1 + 3
    assert model.curve.steps[-1] < 500


def test_an_interrupted_training_resumes_with_the_same_result(tmp_path, monkeypatch):
    sets, target, _ = circles(12)
    short = Training(pairs=8, steps=30, every=5)
    whole = train(sets, target, POINTS["attention"], short, progress=False)
    path = tmp_path / "training.npz"
    monkeypatch.setattr(training.time, "monotonic", iter(range(0, 10**6, 100)).__next__)  # saves at every evaluation
    update, calls = training._Job.update, []

    def interrupted(job, loss):
        calls.append(job.step)
        if len(calls) == 18:
            raise KeyboardInterrupt
        update(job, loss)

    monkeypatch.setattr(training._Job, "update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(sets, target, POINTS["attention"], short, progress=False, checkpoint=path)
    assert path.exists()
    again = train(sets, target, POINTS["attention"], short, progress=False, checkpoint=path)
    assert calls[18:] == list(range(15, 30))  # from the last checkpoint on
    assert again.fingerprint == whole.fingerprint
    np.testing.assert_array_equal(again.curve.rows(), whole.curve.rows())
    assert not path.exists()


def test_a_checkpoint_that_is_not_one_is_ignored(tmp_path):
    path = tmp_path / "training.npz"
    path.write_bytes(b"something else")
    sets, target, _ = circles(6)
    train(sets, target, POINTS["mean"], Training(pairs=4, steps=2), progress=False, checkpoint=path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"target": np.zeros((3, 3))}, "finite distances ≥ 0 between all 6 data sets"),
        ({"target": -np.ones((6, 6))}, "distances ≥ 0"),
        ({"held_out": ["nobody"]}, "held_out names 'nobody', which is not one of the data sets"),
        ({"held_out": 1.5}, "a share between 0 and 1"),
        ({"held_out": [f"d{i:03d}" for i in range(5)]}, "at least 2 left for training"),
    ],
)
def test_invalid_arguments_of_a_training_are_rejected(change, words):
    sets, target, _ = circles(6)
    settings = {"target": target, "held_out": 0.2, **change}
    with pytest.raises(ValueError, match=words):
        train(sets, settings["target"], POINTS["mean"], SHORT, held_out=settings["held_out"], progress=False)
    with pytest.raises(ValueError, match="rate must be above 0"):
        Training(rate=0.0)


# -- models ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained():
    sets, target, _ = circles(12)
    return train(sets, target, Recipe("points", (2,), "mean", size=5), replace(SHORT, steps=10), progress=False)


def test_a_model_survives_saving(trained, tmp_path):
    trained.save(tmp_path / "model.npz")
    again = Model.load(tmp_path / "model.npz")
    X = circle(1.5, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(again.embed(X), trained.embed(X))
    assert again.fingerprint == trained.fingerprint
    assert again.recipe == trained.recipe
    assert again.info == trained.info
    np.testing.assert_array_equal(again.curve.rows(), trained.curve.rows())
    for name, m in trained.embeddings.items():
        np.testing.assert_array_equal(again.embeddings[name], m)
    trained.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()
    assert hs.embed(tmp_path / "model.npz", X) == hs.embed(trained, X)


def damaged_files(path, folder):
    """Writes files that are not valid models."""
    good = path.read_bytes()
    header, arrays = read_arrays(path, "a model")
    weight = "weights fc4.weight"

    def other(name, header=header, **changed):
        write_arrays(folder / name, header, {**arrays, **changed})

    (folder / "empty").write_bytes(b"")
    (folder / "text").write_text("hello", encoding="utf-8")
    (folder / "half").write_bytes(good[: len(good) // 2])
    (folder / "bit").write_bytes(good[:2000] + bytes([good[2000] ^ 1]) + good[2001:])
    np.save(folder / "plain.npy", np.zeros(3))
    np.savez(folder / "foreign.npz", a=np.zeros(3))
    np.savez(folder / "objects.npz", header=np.array([{"a": 1}], dtype=object))
    other("format", {**header, "format": "another program"})
    other("version", {**header, "version": 2})
    other("recipe", {**header, "recipe": {"kind": "points", "shape": [3]}})
    other("huge", {**header, "recipe": {"kind": "points", "shape": [10**12], "size": 5}})
    other("unknown", {**header, "recipe": {**header["recipe"], "code": "import os"}})
    other("names", {**header, "names": ["one"]})
    other("shape", **{weight: arrays[weight][:, :3]})
    other("nan", **{weight: np.full_like(arrays[weight], np.nan)})
    other("double", **{weight: arrays[weight].astype(float)})
    other("more", extra=np.zeros(3, dtype=np.float32))
    return sorted(folder.iterdir())


def test_damaged_and_foreign_files_are_rejected(trained, tmp_path):
    trained.save(tmp_path / "model.npz")
    folder = tmp_path / "bad"
    folder.mkdir()
    for path in damaged_files(tmp_path / "model.npz", folder):
        with pytest.raises(FormatError, match=r"is not a model of headstart|is a damaged model") as raised:
            Model.load(path)
        assert str(path) in str(raised.value)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Model.load(tmp_path / "nowhere.npz")


def test_a_model_file_is_arrays_and_json(trained, tmp_path):
    trained.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as archive:
        assert json.loads(archive["header"].tobytes())["format"] == "headstart metric"
        assert {archive[name].dtype.kind for name in archive.files} == {"f", "u"}


def test_a_model_describes_a_history(trained):
    history = make(tasks=3)
    with pytest.raises(HistoryError, match="no task of the history is a data set that the model was trained on"):
        trained.describe(history)
    model = replace(trained, embeddings={"task0": np.arange(5.0), "task2": np.ones(5)})
    once = model.describe(history)
    assert once["task0"].features["size"] == history["task0"].features["size"]
    assert [once["task0"].features[f"metric {model.fingerprint} {i}"] for i in range(5)] == list(range(5))
    assert once["task1"].features == history["task1"].features
    assert model.describe(once)["task0"].features == once["task0"].features


def test_a_search_with_an_embedding(trained):
    history = make(tasks=3)
    model = replace(trained, embeddings={f"task{i}": np.full(5, float(i)) for i in range(3)})
    X = circle(1.0, rng=np.random.default_rng(0))
    start = hs.learn(model.describe(history), n=1, method="metric", features=hs.embed(model, X))
    nearest = int(np.argmin([np.linalg.norm(m - model.embed(X)) for m in model.embeddings.values()]))
    assert start.configs[0] == history.best(f"task{nearest}")


# -- the read-out of the biLSTM -------------------------------------------------------------------------------


def cell(x, h, c, weights, biases):
    """One step of an LSTM, in its own formulas."""
    gates = weights[0] @ x + biases[0] + weights[1] @ h + biases[1]
    i, f, g, o = np.split(gates, 4)
    c = 1 / (1 + np.exp(-f)) * c + 1 / (1 + np.exp(-i)) * np.tanh(g)
    return 1 / (1 + np.exp(-o)) * np.tanh(c), c


def test_the_two_readouts_are_the_final_states_and_those_at_the_last_point():
    pools = {readout: networks.LastStates(5, readout) for readout in networks.READOUTS}
    pools["printed"].load_state_dict(pools["final"].state_dict())
    w = {name: value.detach().double().numpy() for name, value in pools["final"].lstm.named_parameters()}
    items = np.random.default_rng(0).normal(size=(4, 5))

    def read(order, suffix):
        h = c = np.zeros(300)
        matrices = w[f"weight_ih_l0{suffix}"], w[f"weight_hh_l0{suffix}"]
        biases = w[f"bias_ih_l0{suffix}"], w[f"bias_hh_l0{suffix}"]
        for t in order:
            h, c = cell(items[t], h, c, matrices, biases)
        return h

    forward, backward, at_last = read(range(4), ""), read([3, 2, 1, 0], "_reverse"), read([3], "_reverse")
    given = torch.from_numpy(items.astype(np.float32))[None]
    with torch.no_grad():
        final, printed = (pools[name](given)[0].numpy() for name in ("final", "printed"))
    np.testing.assert_allclose(final, np.concatenate([forward, backward]), atol=1e-5)
    np.testing.assert_allclose(printed, np.concatenate([forward, at_last]), atol=1e-5)


def test_a_model_remembers_its_readout(tmp_path):
    recipe = replace(POINTS["lstm"], readout="printed")
    wing = new_wing(recipe, seed=0)
    model = Model(wing, {}, Curve.of([(1, 0.5, 0.5)]))
    model.save(tmp_path / "model.npz")
    data = example(recipe)
    loaded = Model.load(tmp_path / "model.npz")
    assert loaded.recipe.readout == "printed"
    np.testing.assert_array_equal(loaded.embed(data.values), model.embed(data.values))
    other = Model(new_wing(POINTS["lstm"], seed=0), {}, model.curve)
    assert other.fingerprint != model.fingerprint  # the same weights, read differently
    with pytest.raises(ValueError, match="readout must be one of final, printed, but got 'first'"):
        replace(recipe, readout="first")
