"""A learned distance outside Python: built from a folder of data sets, used by the commands and by the search CV."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headstart as hs
from headstart.datasets.folders import read_data, read_folder
from headstart.datasets.siamese import Training
from headstart.errors import ArgumentError, FormatError
from headstart.library import learned_distance
from program import headstart, one_line

pytest.importorskip("ot")
SHORT = Training(pairs=4, steps=4, every=2, patience=5)
SPACE = hs.Space({"C": hs.Float(0.01, 100.0, log=True)})
NAMES = [f"d{i}" for i in range(6)]


def table(i: int) -> pd.DataFrame:
    rng = np.random.default_rng(i)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    return frame.assign(y=np.where(frame["a"] + i * 0.3 * frame["b"] > 0, "yes", "no"))


def history() -> hs.History:
    C = np.geomspace(0.01, 100, 7)
    frames = [
        pd.DataFrame({"task": name, "C": C, "value": (np.log10(C) - (i - 3) / 2) ** 2}) for i, name in enumerate(NAMES)
    ]
    return hs.History.from_frame(pd.concat(frames), SPACE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history, its tables, and its data sets as images, in files."""
    here = tmp_path_factory.mktemp("data")
    history().save(here / "runs.parquet")
    for kind in ("tables", "images"):
        (here / kind).mkdir()
    for i, name in enumerate(NAMES):
        table(i).to_csv(here / "tables" / f"{name}.csv", index=False)
        pixels = np.random.default_rng(i).normal(i, 1, size=(25, 8, 8))
        np.save(here / "images" / f"{name}.npy", pixels)
    return here


@pytest.mark.parametrize("kind", ["tables", "images"])
def test_build_suggest_and_search_with_a_distance_of_ones_own_data(folder: Path, kind: str, tmp_path: Path) -> None:
    out = tmp_path / "metric.npz"
    model = learned_distance.build(
        out, history=str(folder / "runs.parquet"), data=folder / kind, training=SHORT, progress=False
    )
    assert sorted(model.embeddings) == NAMES
    assert model.recipe.kind == kind
    new = folder / kind / ("d2.csv" if kind == "tables" else "d2.npy")
    runs = str(folder / "runs.parquet")
    told = headstart("suggest", runs, "--model", str(out), "--features", str(new), "-n", "1", "--json", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    (config,) = json.loads(told.stdout)
    # the new data set is d2 itself, so that d2 is nearest and its best configuration comes first
    assert config["C"] == pytest.approx(history().best("d2")["C"])


def test_the_search_cv_starts_from_the_nearest_data_sets(folder: Path, tmp_path: Path) -> None:
    from sklearn.svm import SVC

    out, runs = tmp_path / "metric.npz", folder / "runs.parquet"
    learned_distance.build(out, history=str(runs), data=folder / "tables", training=SHORT, progress=False)
    data = table(2)
    X, y = data.drop(columns="y"), data["y"]
    search = hs.sklearn.HeadstartSearchCV(
        SVC(), SPACE, history=history(), metric=out, n_trials=2, n_init=1, cv=2, random_state=0
    ).fit(X, y)
    assert search.trials_[0].config["C"] == pytest.approx(history().best("d2")["C"])
    assert search.get_params()["metric"] == out
    with pytest.raises(ArgumentError, match="metric compares the data set with those of past runs; pass a history"):
        hs.sklearn.HeadstartSearchCV(SVC(), SPACE, metric=out, n_trials=1).fit(X, y)


def test_only_tasks_with_a_file_are_learned_from_and_a_target_may_be_named(folder: Path, tmp_path: Path) -> None:
    for i in (0, 3):
        table(i)[["y", "a", "b", "c"]].to_csv(tmp_path / f"d{i}.tsv", sep="\t", index=False)
    found = read_folder(tmp_path, NAMES, "y")
    assert sorted(found) == ["d0", "d3"]
    assert list(found["d3"].X.columns) == ["a", "b", "c"]
    assert set(found["d3"].y) == {"yes", "no"}
    assert list(read_data(tmp_path / "d0.tsv").X.columns) == ["y", "a", "b"]  # without a name, the last column


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda d: None, ArgumentError, "has no file for any task of the history; name files after tasks, as in d0"),
        (lambda d: np.save(d / "d0.npy", np.zeros((2, 3))), FormatError, r"shape .* not \(2, 3\)"),
        (lambda d: np.save(d / "d0.npy", np.array([{}], dtype=object)), FormatError, "is not a readable .npy file"),
        (
            lambda d: (d / "d0.csv").write_text("y\n1\n"),
            FormatError,
            "needs a column of classes and at least one other",
        ),
        (
            lambda d: (np.save(d / "d0.npy", np.zeros((2, 4, 4))), table(1).to_csv(d / "d1.csv")),
            ArgumentError,
            "tables and images",
        ),
        (
            lambda d: (np.save(d / "d0.npy", np.zeros((2, 4, 4))), np.save(d / "d1.npy", np.zeros((2, 5, 5)))),
            ArgumentError,
            "all images must have the same shape",
        ),
    ],
)
def test_folders_are_checked(make, error: type[Exception], message: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    make(tmp_path)
    with pytest.raises(error, match=message):
        read_folder(tmp_path, NAMES)


def test_a_history_whose_data_sets_are_unknown_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="not known; name the folder that holds one file per task with data="):
        learned_distance.build(tmp_path / "m.npz", history="resnet")
    done = headstart("suggest", "svm", "--model", "m.npz", cwd=tmp_path)
    one_line(done, "--model compares data sets; name the file of the new one with --features")


def test_a_table_that_claims_to_be_huge_is_refused_before_it_is_read(tmp_path):
    piece = pa.table({name: np.zeros(1_000_000) for name in ("a", "y")})
    with pq.ParquetWriter(tmp_path / "data.parquet", piece.schema, compression="zstd") as writer:
        for _ in range(8):
            writer.write_table(piece)
    assert (tmp_path / "data.parquet").stat().st_size < 100_000
    with pytest.raises(FormatError, match=r"claims 16,000,000 values in \d+,\d+ bytes"):
        read_data(tmp_path / "data.parquet")
