from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_history import assert_same

import headstart as hs
from headstart._support.files import read_json, replacing, write_json
from headstart.datasets.features import FEATURE_NAMES
from headstart.errors import FormatError
from headstart.history import History, build
from headstart.history.formats import csv_files, parquet
from headstart.history.formats.authors import FEATURES, coarse
from headstart.history.sources import read_adaboost, read_hpob, read_svm
from headstart.space import Categorical, Float, Int, Space
from random_spaces import examples, spaces

some = examples(25)

SPACE = Space(
    {
        "kind": Categorical(["a", "b", None, True, 1, 0.5]),
        "n": Int(1, 9, when={"kind": ["a", 1]}),
        "lr": Float(1e-5, 1, log=True),
        "text": Categorical(["x, y", 'say "hi"', "NA", "äöü", "2"]),
    }
)


def past(direction: str = "minimize", *, failures: bool = True, seed: int = 0) -> History:
    rng = np.random.default_rng(seed)
    V = SPACE.sample_values(40, rng=rng)
    losses = rng.normal(size=40)
    losses[::7] = np.nan if failures else 0.5
    return build(
        SPACE,
        tasks=rng.permutation([f"0{i % 4}" for i in range(40)]),
        V=V,
        losses=losses,
        counts=rng.integers(1, 5, 40),
        costs=rng.random(40),
        features={"00": {"size": 3.0}, "01": {"size": 0.1, "Größe": 1e300}},
        direction=direction,
        info={"source": "test", "nested": {"a": [1, None]}},
        notes=("read a", "skipped b"),
    )


# -- Parquet -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_parquet_keeps_everything(tmp_path: Path, direction: str) -> None:
    history = past(direction)
    history.save(tmp_path / "h.parquet")
    back = History.load(tmp_path / "h.parquet")
    assert_same(history, back)
    assert back.info == history.info
    assert back.notes == history.notes
    back.save(str(tmp_path / "again.parquet"))
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "h.parquet").read_bytes()


@some
@given(spaces(), st.integers(0, 99))
def test_parquet_keeps_any_space(tmp_path_factory: pytest.TempPathFactory, space: Space, seed: int) -> None:
    path = tmp_path_factory.mktemp("parquet") / "h.parquet"
    rng = np.random.default_rng(seed)
    history = build(space, tasks=["t"] * 12, V=space.sample_values(12, rng=rng), losses=rng.normal(size=12))
    history.save(path)
    assert_same(History.load(path), history)


def test_a_parquet_file_can_be_read_by_others(tmp_path: Path) -> None:
    history = past()
    history.save(tmp_path / "h.parquet")
    table = pd.read_parquet(tmp_path / "h.parquet")
    assert list(table) == ["task", *(f"config.{name}" for name in SPACE), "value", "count", "cost"]
    assert len(table) == sum(len(task) for task in history)


def rewritten(path: Path, change: Any) -> Path:
    """A saved history whose table or header has been tampered with."""
    past().save(path)
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"headstart"])
    table, header = change(table, header)
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    pq.write_table(table.replace_schema_metadata({b"headstart": text}), path)
    return path


def without(*path: str) -> Any:
    def change(table: Any, header: Any) -> Any:
        return table, {key: value for key, value in header.items() if key not in path}

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda t, h: (t, {**h, "format": 7, "version": "9.9"}), "was saved in format 7 by headstart 9.9"),
        (lambda t, h: (t, b'{"format": 1, "spa'), "h.parquet is damaged: its header is not JSON"),
        (lambda t, h: (t, b"\xff\xfe"), "h.parquet is damaged: its header is not JSON"),
        (lambda t, h: (t, [1]), "h.parquet is damaged: its header has no format number"),
        (without("format"), "h.parquet is damaged: its header has no format number"),
        (without("space"), "h.parquet is damaged: its header has no 'space'"),
        (without("features"), "h.parquet is damaged: its header has no 'features'"),
        (lambda t, h: (t, {**h, "space": {"a": {"type": "real"}}}), "is damaged: parameter 'a' must have a type"),
        (lambda t, h: (t, {**h, "space": 3}), "is damaged: a space in JSON is an object"),
        (lambda t, h: (t, {**h, "direction": "up"}), "is damaged: direction must be 'minimize'"),
        (lambda t, h: (t, {**h, "features": {"00": 3}}), "is damaged: "),
        (lambda t, h: (t, {**h, "features": 3}), "is damaged: "),
        (lambda t, h: (t.drop_columns(["value"]), h), "is damaged: it has no column 'value'"),
        (lambda t, h: (t.drop_columns(["config.n"]), h), "is damaged: it has no column 'config.n'"),
        (lambda t, h: (t.slice(0, 0), h), "is damaged: a history needs at least one evaluation"),
        (lambda t, h: (_set(t, "value", pa.array(["x"] * len(t))), h), "'value' holds string, not numbers"),
        (lambda t, h: (_set(t, "value", pa.array([float("inf")] * len(t))), h), "has an infinite loss"),
        (lambda t, h: (_set(t, "task", pa.nulls(len(t), pa.string())), h), "an evaluation has no task"),
        (lambda t, h: (_set(t, "config.lr", pa.array([7.0] * len(t))), h), "'lr' does not fit Float [1e-05, 1]"),
        (lambda t, h: (_set(t, "config.text", pa.array(["z"] * len(t))), h), "'text' is 'z', which is not in"),
        (lambda t, h: (_set(t, "config.n", pa.nulls(len(t), pa.int64())), h), "'n' does not fit"),
        (lambda t, h: (_set(t, "count", pa.array([0] * len(t))), h), "from 1 to 2^53, but one is 0"),
        (lambda t, h: (_set(t, "count", pa.nulls(len(t), pa.int64())), h), "a count must be a whole number"),
        (lambda t, h: (t, {**h, "features": {"00": {"n": "x"}}}), "'n' of '00' is 'x', not a number"),
    ],
)  # fmt: skip
def test_a_damaged_parquet_file_is_rejected(tmp_path: Path, change: Any, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        History.load(rewritten(tmp_path / "h.parquet", change))
    assert reason in str(caught.value)


def _set(table: Any, name: str, column: Any) -> Any:
    return table.set_column(table.column_names.index(name), name, column)


def test_a_truncated_parquet_file_is_rejected(tmp_path: Path) -> None:
    past().save(tmp_path / "h.parquet")
    whole = (tmp_path / "h.parquet").read_bytes()
    for share in (0.0, 0.1, 0.5, 0.9, 0.999):
        (tmp_path / "cut.parquet").write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ValueError, match=r"cut\.parquet is not a Parquet file, is damaged or was cut off"):
            History.load(tmp_path / "cut.parquet")


def test_a_foreign_parquet_file_is_rejected(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(ValueError, match=r"other\.parquet is a Parquet file, but not a history saved by headstart"):
        History.load(tmp_path / "other.parquet")


def test_missing_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.parquet"):
        History.load(tmp_path / "none.parquet")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.csv"):
        History.from_csv(tmp_path / "none.csv", SPACE)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.json"):
        read_hpob(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none"):
        read_svm(tmp_path / "none")
    with pytest.raises(IsADirectoryError, match="is a folder, not a file"):
        History.load(tmp_path)
    (tmp_path / "h.csv").write_text("task,value\n")
    with pytest.raises(ValueError, match=r"h\.csv is a CSV file; read it with History\.from_csv"):
        History.load(tmp_path / "h.csv")


# -- saving that fails ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_save_that_fails_leaves_no_file(tmp_path: Path, suffix: str) -> None:
    history = History.from_frame(pd.DataFrame({"task": ["t"], "n": [1], "value": [0.5]}), {"n": Int(1, 3)})
    with pytest.raises(FileNotFoundError, match=r"cannot write .*: the folder .* does not exist"):
        history.save(tmp_path / "missing" / f"h{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        history.save(tmp_path / f"folder{suffix}")
    assert [path.name for path in tmp_path.iterdir()] == [f"folder{suffix}"]


def test_an_interrupted_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "h.parquet"
    past().save(path)
    before = path.read_bytes()

    def half(table: Any, where: Path, **_: Any) -> None:
        Path(where).write_bytes(b"PAR1 half of a file")
        raise KeyboardInterrupt

    monkeypatch.setattr(pq, "write_table", half)
    with pytest.raises(KeyboardInterrupt):
        past(seed=1).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_values_that_json_lacks_are_rejected_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        past().with_info({"when": object()}).save(tmp_path / "h.parquet")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "h.json", {"x": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_replacing_follows_links_and_keeps_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with replacing(tmp_path / "link.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    (tmp_path / "plain.txt").write_text("x")
    assert (tmp_path / "real.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


# -- CSV -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_csv_round_trip(tmp_path: Path, direction: str) -> None:
    history = past(direction)
    history.save(tmp_path / "h.csv")
    features = pd.DataFrame({task.name: dict(task.features or {}) for task in history}).T
    back = History.from_csv(
        tmp_path / "h.csv", SPACE, features=features, direction=direction, cost="cost", count="count"
    )
    assert_same(history, back)
    assert back.tasks == ["00", "01", "02", "03"]  # names stay text
    assert back.notes[0].startswith(f"read {len(history.to_frame())} evaluations of")


def test_frame_round_trip() -> None:
    history = past()
    table = history.to_frame()
    assert list(table) == ["task", *SPACE, "value", "count", "cost"]
    back = History.from_frame(table, SPACE, cost="cost", count="count")
    assert back.V.tobytes() == history.V.tobytes()
    assert all(a.losses.tobytes() == b.losses.tobytes() for a, b in zip(back, history, strict=True))


def test_parameters_may_have_the_names_of_results(tmp_path: Path) -> None:
    space = Space({"value": Int(1, 3), "task": Categorical(["x", "y"]), "count": Float(0, 1)})
    history = build(space, tasks=["t", "u"], V=np.array([[1.0, 0, 0.5], [2, 1, 0.1]]), losses=np.array([3.0, 4.0]))
    history.save(tmp_path / "h.parquet")
    assert_same(History.load(tmp_path / "h.parquet"), history)
    assert list(history.to_frame()) == ["task_", "value", "task", "count", "value_", "count_"]
    history.save(tmp_path / "h.csv")
    assert_same(History.from_csv(tmp_path / "h.csv", space, "task_", "value_", count="count_"), history)


def test_choices_that_look_the_same_in_csv_are_rejected(tmp_path: Path) -> None:
    clashes: list[list[Any]] = [[1, "1"], ["", "a"], [True, "True"]]
    for choices in clashes:
        history = build(Space({"c": Categorical(choices)}), tasks=["t"], V=np.zeros((1, 1)), losses=np.ones(1))
        with pytest.raises(ValueError, match=r"of 'c' would be ambiguous in a CSV file; save as \.parquet"):
            history.save(tmp_path / "h.csv")


def test_a_csv_file_is_opened_once_and_every_cell_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "r.csv", "task,x,y,value\na,1,0.5,1\na,2,0.25,2\nb,1,0.5,3\n")
    opened, parsed = [], []
    real_open, real_number = Path.open, csv_files._as_number
    monkeypatch.setattr(Path, "open", lambda self, *args, **more: opened.append(self) or real_open(self, *args, **more))
    monkeypatch.setattr(csv_files, "_as_number", lambda text: parsed.append(text) or real_number(text))
    assert list(History.from_csv(path).space) == ["x", "y"]
    assert opened == [path]
    assert sorted(parsed) == sorted(["1", "2", "0.5", "0.25", "1", "2", "3"])  # each distinct cell of each column


NUMBERS = Space({"n": Int(1, 9), "flag": Categorical([True, False]), "size": Categorical([1, 2.5])})
HEADER = "task,n,flag,size,value"


def csv(tmp_path: Path, text: str | bytes, **arguments: Any) -> History:
    path = tmp_path / "runs.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return History.from_csv(path, NUMBERS, **arguments)


def test_the_space_decides_how_cells_are_read(tmp_path: Path) -> None:
    text = f"{HEADER}\r\nNA,1,True,1,0.5\r\nNA,2.0,false,2.50,\r\n\r\n007,9,true,1.0,1e-3\r\n"
    history = csv(tmp_path, b"\xef\xbb\xbf" + text.encode())  # with the byte order mark of Excel
    assert history.tasks == ["007", "NA"]
    assert history.configs("NA") == [{"n": 1, "flag": True, "size": 1}, {"n": 2, "flag": False, "size": 2.5}]
    np.testing.assert_array_equal(history["NA"].losses, [0.5, np.nan])
    assert history.notes[0].endswith("from runs.csv; 1 trial without a value counted as failed")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "runs.csv is empty"),
        ("\n", "runs.csv is empty"),
        (f"{HEADER}\n", "runs.csv is empty: there is no row below the header"),
        ("task,n,flag,value\nt,1,True,0.5\n", "runs.csv has no column 'size' (columns: task, n, flag, value)"),
        ("n,flag,size,value\n1,True,1,0.5\n", "runs.csv has no column 'task'"),
        (f"{HEADER},n\nt,1,True,1,0.5,3\n", "runs.csv has the column 'n' more than once"),
        (f"{HEADER}\nt,1,True,1,0.5\nt,2,Tr", "runs.csv, line 3: 3 fields instead of 5; the file is damaged"),
        (f'{HEADER}\nt,1,True,1,0.5\n"t,2,True', "runs.csv is not a readable CSV file or was cut off"),
        (f"{HEADER}\nt,1,True,1,0.5,7\n", "runs.csv, line 2: 6 fields instead of 5"),
        (f"{HEADER}\nt,1,True,1,0.5\nt,12,True,1,0.5\n", "line 3: 'n' is 12.0, which is not in {1, …, 9}"),
        (f"{HEADER}\nt,1,yes,1,0.5\n", "runs.csv, line 2: 'flag' is 'yes', which is not in {True, False}"),
        (f"{HEADER}\nt,one,True,1,0.5\n", "runs.csv, line 2: 'n' is the text 'one', where a number belongs"),
        (f"{HEADER}\nt,1,True,1,good\n", "runs.csv, line 2, column 'value': 'good' is not a number"),
        (f"{HEADER}\nt,1,True,1,inf\n", "task 't' has no usable evaluation"),
        (f"{HEADER}\nt,1,True,1,nan\n", "task 't' has no usable evaluation"),
        (f"{HEADER}\n,1,True,1,0.5\n", "runs.csv, line 2, column 'task': the task has no name"),
        (b"PAR1\xff\xfe\x00\x01", "runs.csv is not a readable CSV file or was cut off"),
    ],
)  # fmt: skip
def test_each_bad_csv_has_its_own_error(tmp_path: Path, text: str | bytes, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        csv(tmp_path, text)
    assert reason in str(caught.value)


def test_a_last_line_without_an_end_is_pointed_out(tmp_path: Path) -> None:
    assert csv(tmp_path, f"{HEADER}\nt,1,True,1,0.25\n").notes[-2] == "skipped nothing"
    torn = csv(tmp_path, f"{HEADER}\nt,1,True,1,0.2")
    assert torn.notes[-2] == "the last line of runs.csv has no line end; check that it is complete"


# -- HPO-B ---------------------------------------------------------------------------------------------------


def test_hpob_rows_are_the_encoding_of_a_space(tmp_path: Path) -> None:
    history = past("maximize", failures=False)
    entries = {t.name: {"X": history.design(t.name).tolist(), "y": [[-loss] for loss in t.losses]} for t in history}
    write_json(tmp_path / "h.json", {"5970": entries})
    back = read_hpob(tmp_path / "h.json", space=SPACE)
    assert back.direction == "maximize"
    np.testing.assert_allclose(back.V, history.V, rtol=1e-12)
    for mine, theirs in zip(history, back, strict=True):
        np.testing.assert_array_equal(mine.losses, theirs.losses)
    plain = read_hpob(tmp_path / "h.json")
    assert list(plain.space) == [f"x{j}" for j in range(SPACE.width)]
    for name in plain.tasks:
        order = np.lexsort(history.design(name).T[::-1])
        np.testing.assert_array_equal(plain.design(name), history.design(name)[order])


def test_hpob_as_published(tmp_path: Path) -> None:
    data = {
        "4796": {
            "3549": {"X": [[0.0, 1.0], [0.5, 0.25], [0.0, 1.0]], "y": [[0.9], [0.8], [0.7]]},
            "3918": {"X": [[0.5, 0.25]], "y": [[0.6]]},
        },
        "5970": {"1": {"X": [[0.1]], "y": [[0.5]]}},
    }
    write_json(tmp_path / "meta.json", data)
    history = read_hpob(tmp_path / "meta.json", "4796")
    assert history.tasks == ["3549", "3918"]
    assert history.best("3549") == {"x0": 0.0, "x1": 1.0}
    assert history["3549"].losses.tolist() == pytest.approx([-0.8, -0.8])
    assert history["3549"].counts.tolist() == [2, 1]
    assert history.notes == (
        "read 4 evaluations of 2 configurations on 2 tasks from search space '4796'; averaged 1 repeat",
        "skipped 1 other search space",
    )


ONE = {"X": [[0]], "y": [1]}
OFF = {"X": [[0.3, 1, 1, 0, 1]], "y": [1]}  # two choices at once


@pytest.mark.parametrize(
    ("data", "arguments", "reason"),
    [
        ("{", {}, "is not an HPO-B file: it is not JSON or was cut off"),
        ([1], {}, "is not an HPO-B file: it must be an object of search spaces"),
        ({"a": 3}, {}, "is not an HPO-B file: it must be an object of search spaces"),
        ({"a": {"t": ONE}, "b": {"t": {}}}, {}, "holds 2 search spaces: a, b; name one with search_space="),
        ({"abc": {"t": ONE}}, {"search_space": "abd"}, "no search space 'abd'; did you mean 'abc'?"),
        ({"a": {"t": {"X": [[0]]}}}, {}, "data set 't' must hold numbers in X and y"),
        ({"a": {"t": {"X": [["u"]], "y": [1]}}}, {}, "data set 't' must hold numbers in X and y"),
        ({"a": {"t": {"X": [[0], [1]], "y": [1]}}}, {}, "data set 't' has X of shape (2, 1) and 1 values in y"),
        ({"a": {"t": {"X": [[2.0]], "y": [1]}}}, {}, "evaluation 0: 'x0' does not fit Float [0, 1]"),
        ({"a": {"t": ONE, "u": {"X": [[0, 1]], "y": [1]}}}, {}, "rows of different lengths: [1, 2]"),
        ({"a": {"t": ONE}}, {"space": NUMBERS}, "the file has 1 columns, but the space encodes to 5"),
        ({"a": {"t": OFF}}, {"space": NUMBERS}, "evaluation 0 is not a configuration of this space"),
    ],
)  # fmt: skip
def test_bad_hpob_files(tmp_path: Path, data: Any, arguments: dict[str, Any], reason: str) -> None:
    (tmp_path / "h.json").write_text(data if isinstance(data, str) else json.dumps(data))
    with pytest.raises(ValueError) as caught:
        read_hpob(tmp_path / "h.json", **arguments)
    assert reason in str(caught.value)


def test_infinite_and_missing_numbers_in_hpob_files(tmp_path: Path) -> None:
    (tmp_path / "h.json").write_text('{"a": {"t": {"X": [[NaN]], "y": [1]}}}')
    with pytest.raises(ValueError, match="data set 't' has infinite values, or missing ones in X"):
        read_hpob(tmp_path / "h.json")


def test_a_start_file_is_not_an_hpob_file(tmp_path: Path) -> None:
    hs.Start(Space({"x": Float(0, 1)}), [{"x": 0.5}]).save(tmp_path / "s.json")
    with pytest.raises(FormatError, match=r"s\.json is a start file, not past runs; load it with hs\.Start\.load"):
        read_hpob(tmp_path / "s.json")


def test_errors_about_json_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"x\.json is not a start file: it is not JSON or was cut off"):
        read_json(tmp_path / "x.json", "a start file")


# -- the authors' files --------------------------------------------------------------------------------------


def authors_line(accuracy: float, kernel: int, c: float, gamma: float, degree: float) -> str:
    indicators = [float(kernel == i) for i in range(3)]
    return " ".join(str(float(x)) for x in [accuracy, *indicators, c, gamma, degree, *(i / 22 for i in range(22))])


def test_authors_files_in_native_units(tmp_path: Path) -> None:
    lines = [
        authors_line(0.75, 0, -5 / 6, np.log10(0.05) / 4, 0.0),
        authors_line(0.5, 1, 0.5, 0.0, np.log10(7)),
        authors_line(0.25, 2, 1.0, 0.0, 0.0),
        authors_line(0.875, 0, 0.0, 0.0, 0.0),
    ]
    (tmp_path / "wine").write_text("\n".join(lines) + "\n")
    history = read_svm(tmp_path)
    assert history.configs("wine") == [
        {"kernel": "rbf", "C": 2**-5, "gamma": 0.05},
        {"kernel": "rbf", "C": 1.0, "gamma": 1.0},
        {"kernel": "poly", "C": 8.0, "degree": 7},
        {"kernel": "linear", "C": 64.0},
    ]
    assert history["wine"].losses.tolist() == [0.25, 0.125, 0.5, 0.75]
    assert history["wine"].features == {name: i / 22 for i, name in enumerate(FEATURES)}
    assert len(history.notes) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "wine is empty"),
        ("0.5 1.0 0.0\n", "wine, line 1: 3 numbers instead of 29; the file is damaged or was cut off"),
        ("a b\n", "wine, line 1: could not convert string to float: 'a'"),
        (" ".join(["0.5"] * 29), "wine is not one of the SVM files"),
    ],
)
def test_bad_authors_files(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "wine").write_text(text)
    with pytest.raises(ValueError) as caught:
        read_svm(tmp_path)
    assert reason in str(caught.value)


def test_the_svm_meta_data_set(shared: Path) -> None:
    history = read_svm(shared / "data" / "svm")
    assert len(history) == 50
    assert len(history.V) == 288
    assert all(len(task) == 288 for task in history)
    raw = np.loadtxt(shared / "data" / "svm" / "wine")
    np.testing.assert_allclose(np.sort(history["wine"].losses), np.sort(1 - raw[:, 0]), atol=1e-12)
    assert sorted(set(history.V[:, 1])) == [2.0**k for k in range(-5, 7)]
    gammas = history.V[:, 2][~np.isnan(history.V[:, 2])]
    assert sorted(set(gammas)) == [1e-4, 1e-3, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000]
    assert sorted(set(history.V[:, 3][~np.isnan(history.V[:, 3])])) == list(range(2, 11))


def test_the_coarse_grid_follows_the_protocol(shared: Path) -> None:
    """The protocol applied to the columns of the file, and `coarse`, keep the same 50 configurations."""
    raw = np.loadtxt(shared / "data" / "svm" / "wine")
    keep = np.ones(len(raw), dtype=bool)
    for column in raw[:, 4:7].T:
        index = np.searchsorted(np.unique(column), column)
        keep &= (column == 0) | (index % 3 == 1)
    history = read_svm(shared / "data" / "svm")
    part = coarse(history)
    assert len(part.V) == keep.sum() == 50
    assert all(len(task) == 50 for task in part)
    np.testing.assert_allclose(np.sort(part["wine"].losses), np.sort(1 - raw[keep, 0]), atol=1e-12)
    assert sorted(set(part.V[:, 1])) == [0.0625, 0.5, 1.0, 4.0, 32.0]
    assert sorted(set(part.V[:, 3][~np.isnan(part.V[:, 3])])) == [2, 5, 8]


def test_the_authors_meta_features_have_the_names_that_we_compute() -> None:
    assert sorted(FEATURES) == sorted(FEATURE_NAMES)


def test_the_names_of_the_meta_features_fit_the_numbers(shared: Path) -> None:
    """Identities between the meta-features must hold up to the scaling to [0, 1] over the data sets."""
    history = read_svm(shared / "data" / "svm")
    M = dict(zip(history.feature_names, history.feature_matrix().T, strict=True))
    assert set(history.feature_names) == set(FEATURES)

    def linear(a: Any, b: Any) -> float:
        A = np.column_stack([a, np.ones_like(a)])
        return float(np.abs(A @ np.linalg.lstsq(A, b, rcond=None)[0] - b).max())

    classes = 2 + 26 * M["number_of_classes"]  # 2 … 28
    d = 2 + 1998 * M["number_of_features"]  # 2 … 2000
    n = 1 + (5406.551020408 - 1) * M["number_of_instances"]  # in units of the smallest data set
    for values in (classes, d):
        np.testing.assert_allclose(values, np.rint(values), atol=1e-9)
    for name, expected in {
        "class_probability_mean": 1 / classes,
        "log_number_of_features": np.log(d),
        "log_number_of_instances": np.log(n),
        "dataset_dimensionality": d / n,
        "log_dataset_dimensionality": np.log(d / n),
        "inverse_dataset_dimensionality": n / d,
        "log_inverse_dataset_dimensionality": np.log(n / d),
    }.items():
        assert linear(expected, M[name]) < 1e-9, name
    two = M["number_of_classes"] == 0  # with two classes, the smaller share is one minus the larger
    assert linear(M["class_probability_max"][two], M["class_probability_min"][two]) < 1e-9


def test_the_adaboost_table(shared: Path) -> None:
    history = read_adaboost(shared / "data" / "adaboost.csv")
    assert repr(history) == "History(50 tasks, 108 configurations, 5,400 evaluations)"
    assert history.notes == (
        "read 5,400 evaluations of 108 configurations on 50 tasks from adaboost.csv",
        "skipped nothing",
        "the results are 'error' from 0 to 0.9257; lower is better, as the name of the column says",
    )
    assert history.configs("A9A")[0] == {"iterations": 2, "product_terms": 2}
    assert history["A9A"].losses[0] == 0.2532
    assert len(coarse(history).V) == 12


# -- tables as users have them ---------------------------------------------------------------------------------


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_text_that_python_would_take_for_a_number_stays_text(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", "task,layers,x,value\na,64_32,1,1\na,128_64,2,2\nb,64_32,3,1\nb,１２,4,2\n")
    assert hs.History.from_csv(path).space["layers"] == Categorical(["128_64", "64_32", "１２"])


def test_a_file_that_save_wrote_is_read_with_its_counts_and_costs(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"task": list("aabb"), "x": [1, 1, 1, 2], "value": [1.0, 2.0, 3.0, 4.0], "seconds": [5.0, 7.0, 1.0, 2.0]}
    )
    history = hs.History.from_frame(frame, cost="seconds")
    history.save(tmp_path / "saved.csv")
    for space in (None, history.space):
        read = hs.History.from_csv(tmp_path / "saved.csv", space)
        assert list(read.space) == ["x"]
        for name in "ab":
            np.testing.assert_array_equal(read[name].counts, history[name].counts)
            np.testing.assert_array_equal(read[name].costs, history[name].costs)


def test_a_frame_of_a_history_gives_the_same_history() -> None:
    runs = pd.DataFrame({"task": list("aabb"), "x": [1, 1, 1, 2], "value": [1.0, 2.0, 3.0, 4.0], "seconds": [5.0] * 4})
    history = hs.History.from_frame(runs, cost="seconds")
    for space in (None, history.space):
        again = hs.History.from_frame(history.to_frame(), space)
        assert list(again.space) == ["x"]
        for name in "ab":
            np.testing.assert_array_equal(again[name].counts, history[name].counts)
            np.testing.assert_array_equal(again[name].costs, history[name].costs)
    renamed = history.to_frame().rename(columns={"task": "dataset", "value": "error"})
    assert list(hs.History.from_frame(renamed, task="dataset", value="error").space) == ["x"]
    ignored = hs.History.from_frame(history.to_frame(), ignore=["cost"])
    assert list(ignored.space) == ["x"]
    assert ignored["a"].costs is None or np.isnan(ignored["a"].costs).all()


def test_a_direction_against_the_name_of_the_column_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    frame = pd.DataFrame({"task": list("aabb"), "x": [1, 2, 1, 2], "accuracy": [0.1, 0.2, 0.3, 0.4]})
    assert hs.History.from_frame(frame, value="accuracy", direction="maximize").direction == "maximize"
    assert not caplog.records
    assert hs.History.from_frame(frame, value="accuracy", direction="minimize").direction == "minimize"
    assert "lower results in 'accuracy' count as better, as given, but its name says the opposite" in caplog.messages


def test_options_for_counts_and_costs_override_the_columns_that_save_writes(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", "task,x,value,count,cost\na,1,1,10,3\na,2,2,20,4\nb,1,1,10,5\nb,2,2,30,6\n")
    taken = hs.History.from_csv(path)
    assert list(taken.space) == ["x"]
    assert "read the last columns as History.save writes them: count, cost" in taken.notes
    assert list(hs.History.from_csv(path, ignore=["count", "cost"]).space) == ["x"]
    assert hs.History.from_csv(path, ignore=["count", "cost"])["a"].counts.tolist() == [1, 1]
    assert hs.History.from_csv(path, cost="cost")["a"].counts.tolist() == [10, 20]
    given = Space({"x": Int(1, 2), "count": Int(10, 30)})
    assert list(hs.History.from_csv(path, given).space) == ["x", "count"]
    path.write_text(path.read_text().replace(",30,", ",0,"))
    assert list(hs.History.from_csv(path).space) == ["x", "count", "cost"]


def test_a_file_without_column_names_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no column 'task'"):
        hs.History.from_csv(write(tmp_path / "r.csv", ",\n1,2\n"))


def test_the_index_that_pandas_writes_is_skipped_and_noted(tmp_path: Path) -> None:
    frame = pd.DataFrame({"task": list("ab"), "x": [1.0, 2.0], "value": [1.0, 2.0]})
    frame.to_csv(tmp_path / "r.csv")
    history = hs.History.from_csv(tmp_path / "r.csv")
    assert list(history.space) == ["x"]
    assert "skipped 1 column without a name" in history.notes


def test_errors_give_line_numbers_only_if_every_line_is_a_row(tmp_path: Path) -> None:
    rows = "task,x,value\na,1,1\na,2,2\n"
    with pytest.raises(ValueError, match=r"r\.csv, line 4, column 'value'"):
        hs.History.from_csv(write(tmp_path / "r.csv", rows + "b,1,bad\n"))
    with pytest.raises(ValueError, match=r"r\.csv, row 3, column 'value'.*leave the cell empty"):
        hs.History.from_csv(write(tmp_path / "r.csv", rows + "\nb,1,bad\n"))
    assert len(hs.History.from_csv(write(tmp_path / "r.csv", "\n" + rows + "b,1,3\n"))) == 2


@pytest.mark.parametrize(("mark", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")])
def test_other_separators_are_recognised(mark: str, name: str, tmp_path: Path) -> None:
    rows = "task,x,note,value\na,1,'p, q',2\na,2,r,3\n".replace(",", mark).replace(f"p{mark}", "p,")
    history = hs.History.from_csv(write(tmp_path / "r.csv", rows), ignore=["note"])
    assert history.configs("a") == [{"x": 1}, {"x": 2}]
    assert f"the columns are separated by {name}" in history.notes


def test_encodings_of_older_programs_are_recognised(tmp_path: Path) -> None:
    rows = "task,größe,value\nKöln,1,2\nKöln,2,3\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "windows-1252"):
        (tmp_path / "r.csv").write_bytes(rows.encode(encoding))
        history = hs.History.from_csv(tmp_path / "r.csv")
        assert (history.tasks, list(history.space)) == (["Köln"], ["größe"])
        assert any("as Windows-1252" in note for note in history.notes) == (encoding == "windows-1252")
    (tmp_path / "r.csv").write_bytes(rows.encode("utf-16")[:-1])
    with pytest.raises(ValueError, match="not a readable CSV file or was cut off"):
        hs.History.from_csv(tmp_path / "r.csv")


def test_errors_about_column_names_have_remedies(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no column 'task'.*name the column that holds the task with task="):
        hs.History.from_csv(write(tmp_path / "r.csv", "dataset,x,value\na,1,2\n"))
    frame = pd.DataFrame({"task": ["a", "b"], 0: [1.0, 2.0], "value": [1.0, 2.0]})
    with pytest.raises(ValueError, match="a column is called 0"):
        hs.History.from_frame(frame)


def test_features_may_be_dicts_and_ignore_may_be_one_name() -> None:
    frame = pd.DataFrame({"task": ["a", "b"], "x": [1.0, 2.0], "id": [1, 2], "value": [1.0, 2.0]})
    history = hs.History.from_frame(frame, ignore="id", features={"a": {"n": 3}, "b": {"n": 4}})
    assert list(history.space) == ["x"]
    assert history["b"].features == {"n": 4.0}
    for features in ([1, 2], {"a": 1.0, "b": 2.0}, {"a": {"n": 3}, "b": None}):
        with pytest.raises(ValueError, match="features must be a frame indexed by task"):
            hs.History.from_frame(frame, ignore="id", features=features)


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Timer(0.2, lambda: read.append(pipe.read_text(encoding="utf-8")))  # not there yet when we begin
    reader.start()
    hs.Start(Space({"x": Float(0, 1)}), [{"x": 0.5}]).save(pipe)
    reader.join()
    assert json.loads(read[0])["configs"] == [{"x": 0.5}]
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_numbers_out_of_range_are_rejected_by_name(tmp_path: Path) -> None:
    huge = write(tmp_path / "h.json", '{"s": {"d": {"X": [[0.1], [1' + "0" * 400 + ']], "y": [1, 2]}}}')
    with pytest.raises(ValueError, match="data set 'd' must hold numbers"):
        read_hpob(huge)
    deep = write(tmp_path / "deep.json", "[" * 100_000)
    with pytest.raises(ValueError, match=r"deep\.json is not a start file"):
        hs.Start.load(deep)
    start = hs.Start(Space({"x": Float(0, 1)}), [{"x": 0.5}])
    start.save(tmp_path / "s.json")
    text = (tmp_path / "s.json").read_text(encoding="utf-8").replace('"seed": 0', '"seed": Infinity')
    with pytest.raises(ValueError, match=r"s\.json is damaged"):
        hs.Start.load(write(tmp_path / "s.json", text))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "picture").write_bytes(b"\x89PNG\xff")
    with pytest.raises(ValueError, match="picture is not one of the SVM files"):
        read_svm(tmp_path / "folder")


# -- files that lie about themselves ---------------------------------------------------------------------------


@pytest.mark.parametrize("notes", [[1], "text", {"a": 1}, None])
def test_notes_that_are_not_text_are_damage(tmp_path: Path, notes: Any) -> None:
    path = rewritten(tmp_path / "h.parquet", lambda t, h: (t, {**h, "notes": notes}))
    with pytest.raises(FormatError, match=r"h\.parquet is damaged: the notes in its header are not text"):
        History.load(path)


def test_a_small_parquet_file_that_claims_to_be_huge_is_refused(tmp_path: Path) -> None:
    """A run of equal values takes a few bytes, however long it is."""

    def grown(table: pa.Table, header: dict[str, Any]) -> tuple[pa.Table, dict[str, Any]]:
        return table.take(pa.array(np.zeros(2_000_000, dtype=np.int64))), header

    path = rewritten(tmp_path / "h.parquet", grown)
    assert path.stat().st_size < 500_000
    with pytest.raises(FormatError, match=r"it claims [0-9,]+ values in [0-9,]+ bytes"):
        History.load(path)


def test_a_long_name_that_repeats_takes_its_memory_once(tmp_path: Path) -> None:
    renamed = rewritten(
        tmp_path / "long.parquet", lambda t, h: (_set(t, "task", pa.array(["x" * 1_000_000] * len(t))), h)
    )
    names = {id(name) for name in parquet.read(renamed).tasks}
    assert len(names) == 1


def test_columns_that_are_not_needed_are_not_read(tmp_path: Path) -> None:
    nested = rewritten(tmp_path / "h.parquet", lambda t, h: (t.append_column("more", pa.array([[1, 2]] * len(t))), h))
    assert len(History.load(nested)) == len(past())
    with pytest.raises(FormatError, match="its column 'value' is nested"):
        History.load(rewritten(tmp_path / "n.parquet", lambda t, h: (_set(t, "value", pa.array([[1]] * len(t))), h)))
