"""Tables as people have them: number formats, failed trials, odd cells, columns that are no parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.history.formats.numbers import has_decimal_commas, without_decimal_commas, without_thousands
from program import headstart, one_line

ROWS = [
    {
        "task": f"t{i % 3}",
        "rate": round(0.01 * (i + 1), 4),
        "depth": 1 + i % 7,
        "kind": "ab"[i % 2],
        "value": 0.5 + i / 100,
    }
    for i in range(60)
]


def frame(**changes: Any) -> pd.DataFrame:
    """A good table, with some cells of some columns changed: column={row: cell}."""
    table = pd.DataFrame(ROWS).astype(object)
    for column, cells in changes.items():
        for row, cell in cells.items():
            table.loc[row, column] = cell
    return table


def csv(path: Path, table: pd.DataFrame, **settings: Any) -> Path:
    table.to_csv(path, index=False, **settings)
    return path


def same(a: hs.History, b: hs.History) -> None:
    assert a.space == b.space
    assert a.tasks == b.tasks
    np.testing.assert_array_equal(a.V, b.V)
    for name in a.tasks:
        np.testing.assert_array_equal(a[name].losses, b[name].losses)


GOOD = hs.History.from_frame(pd.DataFrame(ROWS))


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas(separator: str, tmp_path: Path) -> None:
    table = pd.DataFrame(ROWS)
    table["big"] = [1000.5 + 250 * i for i in range(60)]
    point = hs.History.from_csv(csv(tmp_path / "point.csv", table))
    comma = hs.History.from_csv(csv(tmp_path / "comma.csv", table, sep=separator, decimal=","))
    same(point, comma)
    assert "a comma is the decimal mark" in comma.notes
    grouped = table.assign(
        big=[f"{x:,.1f}".replace(",", "_").replace(".", ",").replace("_", ".") for x in table["big"]]
    )
    same(point, hs.History.from_csv(csv(tmp_path / "grouped.csv", grouped, sep=separator, decimal=",")))


def test_thousands(tmp_path: Path) -> None:
    table = pd.DataFrame(ROWS).assign(trees=[100 * (1 + i % 40) for i in range(60)])
    plain = hs.History.from_csv(csv(tmp_path / "plain.csv", table))
    for mark in (",", " ", "'", "\u00a0"):
        marked = table.assign(trees=[f"{n:,}".replace(",", mark) for n in table["trees"]])
        found = hs.History.from_csv(csv(tmp_path / "marked.csv", marked))
        same(plain, found)
        assert "read thousands such as 1,000 as numbers in trees" in found.notes
    layers = table.assign(trees=["128,256", "64,128", "256,512"] * 20)
    assert hs.History.from_csv(csv(tmp_path / "layers.csv", layers)).space["trees"] == hs.Categorical(
        ["128,256", "256,512", "64,128"]
    )


def test_single_numbers() -> None:
    assert without_decimal_commas(["0,5", "1.234,5", "12", "abc", "1 000,5", "1e-3", "a,b"]) == [
        "0.5", "1234.5", "12", "abc", "1000.5", "1e-3", "a,b",
    ]  # fmt: skip
    assert without_thousands(["1,000", "500", "2,000.5", ""]) == ["1000", "500", "2000.5", ""]
    assert without_thousands(["1,000", "many"]) == ["1,000", "many"]
    assert has_decimal_commas([["0,5", "1.000"]], ";")
    assert not has_decimal_commas([["0,5", "0.5"]], ";")
    assert not has_decimal_commas([["0,5"]], ",")
    assert not has_decimal_commas([["1,000", "2,000"]], ";")


@pytest.mark.parametrize("word", ["", "N/A", "n/a", "-", "failed", "FAILED", "inf", "-inf", "nan", "None", "timeout"])
def test_results_that_say_that_the_trial_failed(word: str, tmp_path: Path) -> None:
    table = frame(value={3: word, 7: word})
    expected = hs.History.from_frame(frame(value={3: None, 7: None}))
    for found in (hs.History.from_frame(table), hs.History.from_csv(csv(tmp_path / "r.csv", table))):
        same(expected, found)
        assert "2 trials without a value counted as failed" in found.notes[0]


def test_odd_cells_are_listed_together_and_can_be_skipped(tmp_path: Path) -> None:
    table = frame(rate={2: "quick"}, depth={5: None}, value={9: "good", 11: "0.5?"}, task={20: None})
    path = csv(tmp_path / "r.csv", table)
    good = [i for i in range(60) if i not in (2, 5, 9, 11, 20)]
    for read, row in (
        (lambda **o: hs.History.from_csv(path, **o), "line 4"),
        (lambda **o: hs.History.from_frame(table, **o), "row 2"),
    ):
        with pytest.raises(hs.errors.HistoryError) as raised:
            read()
        text = str(raised.value)
        assert text.startswith("5 of 60 rows cannot be used: ")
        assert f"{row}, column 'rate': 'quick' is not a number, as in the other rows" in text
        assert "column 'depth': the cell is empty, unlike in the other rows" in text
        assert "column 'value': '0.5?' is not a number" in text
        assert "column 'task': the task has no name" in text
        assert text.endswith("or skip them with skip_bad_rows=")
        found = read(skip_bad_rows=True)
        same(hs.History.from_frame(pd.DataFrame([ROWS[i] for i in good])), found)
        assert "5 of 60 rows: " in found.notes[1]
    one_line(headstart("learn", "r.csv", cwd=tmp_path), "or skip them with --skip-bad-rows")
    done = headstart("import", "r.csv", "--skip-bad-rows", cwd=tmp_path)
    assert (done.returncode, "55 evaluations" in done.stdout) == (0, True), done.stderr


def test_with_a_space_rows_that_do_not_fit_it_can_be_skipped() -> None:
    table = frame(rate={2: 7.0}, kind={4: "c"})
    space = {"rate": hs.Float(0.01, 1), "depth": hs.Int(1, 7), "kind": hs.Categorical(["a", "b"])}
    with pytest.raises(ValueError, match=r"row 2: 'rate' is 7.0, which is not in"):
        hs.History.from_frame(table, space)
    found = hs.History.from_frame(table, space, skip_bad_rows=True)
    assert sum(map(len, found)) == 58
    with pytest.raises(ValueError, match="no row of the table can be used"):
        hs.History.from_frame(table.assign(kind="c"), space, skip_bad_rows=True)


def test_many_odd_cells_are_not_mistakes() -> None:
    """A parameter that is empty in a third of the rows is conditional; one stray cell is not."""
    table = frame().assign(kind=["a", "b", "c"] * 20)
    table["degree"] = [i % 5 if kind == "b" else None for i, kind in enumerate(table["kind"])]
    assert hs.History.from_frame(table).space["degree"].conditions == {"kind": ("b",)}
    table["note"] = "x"
    table.loc[0, "kind"] = "d"
    table.loc[0, "depth"] = None  # the only row of its kind: no condition can be learned from it
    with pytest.raises(ValueError, match="1 of 60 rows cannot be used: row 0, column 'depth': the cell is empty"):
        hs.History.from_frame(table)


def test_columns_that_are_no_parameters_are_named(tmp_path: Path) -> None:
    table = frame().assign(
        run=[f"run-{i}" for i in range(60)],
        started=[f"2026-11-{1 + i % 28:02} 10:00" for i in range(60)],
        seed=7,
        nothing=None,
        trial_id=[1000 + 17 * i for i in range(60)],
        number=range(60),
    )
    for found in (hs.History.from_frame(table), hs.History.from_csv(csv(tmp_path / "r.csv", table))):
        assert list(found.space) == ["rate", "depth", "kind"]
        for text in (
            "the column 'run' (different in every row, like an id)",
            "the column 'started' (dates)",
            "the column 'seed' (the same in every row)",
            "the column 'nothing' (empty)",
            "the column 'trial_id' (different in every row, like an id)",
            "the column 'number' (different in every row, like an id)",
        ):
            assert text in found.notes[1]
    assert "the results are 'value' from 0.5 to 1.09; lower is better" in found.notes


def test_continuous_parameters_are_no_ids() -> None:
    assert GOOD.space["rate"] == hs.Float(0.01, 0.6)  # different in every row, too


def test_a_table_of_very_many_columns_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    names = [f"p{i}" for i in range(2500)]
    rows = [",".join(["t1", "0.5", *(str(i * r % 7) for i in range(2500))]) for r in range(3)]
    path.write_text("\n".join([",".join(["task", "loss", *names]), *rows]) + "\n")
    with pytest.raises(hs.errors.ArgumentError, match="2,500 columns that could be parameters; at most 2,000") as info:
        hs.History.from_csv(path, task="task", value="loss")
    assert "space" in str(info.value)
    few = hs.History.from_csv(path, {"p1": hs.Int(0, 6)}, task="task", value="loss")
    assert len(few) == 1


def test_a_column_that_is_called_an_id_is_no_parameter_even_in_a_short_table() -> None:
    frame = pd.DataFrame(
        {"task": ["a", "a", "b", "b"], "x": [1.0, 2.0, 3.0, 4.0], "run_id": ["r1", "r2", "r3", "r4"], "value": 1.0}
    ).assign(value=[0.1, 0.2, 0.3, 0.4], trial=[3, 4, 5, 6])
    history = hs.History.from_frame(frame)
    assert list(history.space) == ["x", "trial"]  # whole numbers in four rows may well be a parameter
