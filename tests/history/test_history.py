from __future__ import annotations

import logging
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.history import History, Reading, Task, build
from headstart.history.task import scale
from headstart.space import Categorical, Float, Int, Space
from program import python
from random_spaces import examples

some = examples(40)

SPACE = Space({"n": Int(1, 9), "k": Categorical(["a", "b"]), "x": Float(0, 1, when={"k": "b"})})
ROWS = [
    # task, n, k, x, value
    ("one", 1, "a", None, 0.5),
    ("one", 2, "b", 0.25, 0.2),
    ("one", 3, "a", None, None),
    ("two", 1, "a", None, 10.0),
    ("two", 1, "a", None, 20.0),
    ("two", 9, "b", 1.0, 40.0),
    ("three", 2, "b", 0.25, -3.0),
]


def frame(rows: Any = ROWS) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["task", "n", "k", "x", "value"])


def history(rows: Any = ROWS, **more: Any) -> History:
    return History.from_frame(frame(rows), SPACE, **more)


def assert_same(a: History, b: History) -> None:
    """Identical to the last bit, in everything but the notes."""
    assert a.space == b.space
    assert a.direction == b.direction
    assert a.tasks == b.tasks
    assert a.V.tobytes() == b.V.tobytes()
    for mine, theirs in zip(a, b, strict=True):
        assert mine.rows.tolist() == theirs.rows.tolist()
        assert mine.losses.tobytes() == theirs.losses.tobytes()
        assert mine.counts.tolist() == theirs.counts.tolist()
        assert (mine.costs is None) == (theirs.costs is None)
        if mine.costs is not None and theirs.costs is not None:
            assert mine.costs.tobytes() == theirs.costs.tobytes()
        assert dict(mine.features or {}) == dict(theirs.features or {})


# -- the content of a history --------------------------------------------------------------------------------


def test_tasks_of_different_sizes_with_repeats_and_failures() -> None:
    past = history()
    assert past.tasks == ["one", "three", "two"]
    assert len(past) == 3
    assert repr(past) == "History(3 tasks, 4 configurations, 6 evaluations)"
    assert past.configs("one") == [{"n": 1, "k": "a"}, {"n": 2, "k": "b", "x": 0.25}, {"n": 3, "k": "a"}]
    np.testing.assert_array_equal(past["one"].losses, [0.5, 0.2, np.nan])
    assert past["two"].losses.tolist() == [15.0, 40.0]
    assert past["two"].counts.tolist() == [2, 1]
    assert past.best("one") == {"n": 2, "k": "b", "x": 0.25}
    assert past["one"].best == 1
    np.testing.assert_array_equal(past.design("two"), SPACE.encode(past.configs("two")))
    np.testing.assert_array_equal(past.Z, SPACE.encode_values(past.V))


def test_the_notes_list_what_was_read_and_what_was_skipped(caplog: pytest.LogCaptureFixture) -> None:
    table = frame([*ROWS, ("two", 3, "a", 0.5, 1.0)]).assign(host="h", day=3)
    with caplog.at_level(logging.INFO, logger="headstart"):
        past = History.from_frame(table, SPACE)
    assert past.notes == (
        "read 8 evaluations of 4 configurations on 3 tasks from the table; "
        "averaged 1 repeat; 1 trial without a value counted as failed",
        "skipped 1 value of 'x' where it is inactive; the columns host, day",
        "the results are 'value' from -3 to 40; lower is better",
    )
    assert tuple(record.message for record in caplog.records) == past.notes
    assert history().notes[1] == "skipped nothing"


def test_maximising_is_turned_once_at_the_boundary() -> None:
    rows = [row for row in ROWS if row[-1] is not None]
    up = history([(*row[:-1], -(row[-1] or 0.0)) for row in rows], direction="maximize")
    down = history(rows)
    for name in up.tasks:
        np.testing.assert_array_equal(up[name].losses, down[name].losses)
        assert up.best(name) == down.best(name)
    assert up.to_frame()["value"].tolist() == [-v for v in down.to_frame()["value"]]


def test_repeats_are_averaged_over_successes() -> None:
    rows = [("t", 1, "a", None, v) for v in (0.1, None, 0.1, 0.1, 0.7)] + [("t", 2, "a", None, None)] * 3
    task = history(rows)["t"]
    assert task.losses[0] == pytest.approx(0.25)
    assert np.isnan(task.losses[1])
    assert task.counts.tolist() == [4, 3]  # the failed repeat does not count
    equal = history([("t", 1, "a", None, 0.1)] * 3 + [("t", 2, "a", None, 0.2)])["t"]
    assert equal.losses[0] == 0.1  # exactly


def test_repeats_of_huge_losses_do_not_overflow() -> None:
    task = history([("t", 1, "a", None, 1.5e308), ("t", 1, "a", None, 1.7e308), ("t", 2, "a", None, 0.0)])["t"]
    assert task.losses[0] == pytest.approx(1.6e308)
    far = history([("t", 1, "a", None, -1.7e308), *[("t", 1, "a", None, 1.7e308)] * 4, ("t", 2, "a", None, 0.0)])["t"]
    assert far.losses[0] == pytest.approx(0.6 * 1.7e308)


def test_costs_and_counts() -> None:
    table = frame().assign(seconds=[1.0, 2.0, np.nan, 3.0, 5.0, 1.0, np.nan], runs=[1, 1, 1, 3, 1, 1, 1])
    past = History.from_frame(table, SPACE, cost="seconds", count="runs")
    assert past["two"].losses[0] == 12.5  # three at 10, one at 20
    assert past["two"].counts.tolist() == [4, 1]
    assert past["two"].costs is not None
    assert past["two"].costs.tolist() == [3.5, 1.0]
    assert past["three"].costs is not None
    assert np.isnan(past["three"].costs).all()
    assert history()["two"].costs is None


def test_features_may_be_missing() -> None:
    features = pd.DataFrame({"size": [3.0, np.nan], "classes": [2, 5]}, index=["one", "two"])
    past = history(features=features)
    assert past.feature_names == ["classes", "size"]
    assert past["two"].features == {"classes": 5.0}
    assert past["three"].features is None
    np.testing.assert_array_equal(past.feature_matrix(), [[2, 3], [np.nan, np.nan], [5, np.nan]])
    assert history().feature_matrix().shape == (3, 0)


def test_an_unknown_task_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(KeyError, match="no task 'threee'; did you mean 'three'"):
        history()["threee"]


# -- independence of order -----------------------------------------------------------------------------------


@some
@given(st.data())
def test_the_order_of_the_rows_does_not_matter(data: st.DataObject) -> None:
    value = st.one_of(st.none(), st.floats(-1e6, 1e6))
    row = st.tuples(st.sampled_from(["s", "t", "u"]), st.integers(1, 3), st.just("a"), st.none(), value)
    rows = [*data.draw(st.lists(row, min_size=1, max_size=25)), *((t, 1, "a", None, 0.5) for t in "stu")]
    table = frame(rows).assign(cost=np.arange(len(rows)) % 3 + 0.1)
    order = data.draw(st.permutations(range(len(rows))))
    shuffled = table.iloc[list(order), list(data.draw(st.permutations(range(6))))]
    assert_same(History.from_frame(table, SPACE, cost="cost"), History.from_frame(shuffled, SPACE, cost="cost"))


def test_renamed_tasks_keep_their_content() -> None:
    past = history()
    table = frame()
    table["task"] = table["task"].map({"one": "z", "two": "m", "three": "a"})
    other = History.from_frame(table, SPACE)
    assert other.tasks == ["a", "m", "z"]
    for mine, theirs in (("one", "z"), ("two", "m"), ("three", "a")):
        np.testing.assert_array_equal(past[mine].losses, other[theirs].losses)
        assert past.configs(mine) == other.configs(theirs)


# -- new histories from old ----------------------------------------------------------------------------------


def test_drop_and_only() -> None:
    past = history()
    left = past.drop("two")
    assert left.tasks == ["one", "three"]
    assert past.tasks == ["one", "three", "two"]  # the old history is unchanged
    assert len(left.V) == 3  # configurations that no task uses are gone
    assert left.configs("one") == past.configs("one")
    assert_same(left, past.only(["three", "one"]))
    assert_same(past.drop("one", "two"), past.drop(["one", "two"]))
    assert_same(past.only("three"), past.only(["three"]))
    assert_same(past.only(past.tasks), past)
    assert_same(past.drop("two"), history([row for row in ROWS if row[0] != "two"]))


@pytest.mark.parametrize(
    ("act", "error", "reason"),
    [
        (lambda past: past.drop("x"), KeyError, "no task 'x'"),
        (lambda past: past.only(["one", "x"]), KeyError, "no task 'x'"),
        (lambda past: past.drop(*past.tasks), ValueError, "cannot drop every task"),
        (lambda past: past.only([]), ValueError, "a history needs at least one task"),
        (lambda past: past.only_configs(np.ones(9, bool)), ValueError, "9 entries for 4 configurations"),
        (
            lambda past: past.only_configs(past.V[:, 0] > 2),
            ValueError,
            "task 'three' has tried none of these configurations",
        ),
    ],
)
def test_invalid_selections_are_rejected(act: Any, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        act(history())


def test_only_some_configurations() -> None:
    past = history()
    some = past.only_configs(past.V[:, 0] < 3)
    assert some.configs("one") == [{"n": 1, "k": "a"}, {"n": 2, "k": "b", "x": 0.25}]
    assert_same(some, history([row for row in ROWS if row[1] < 3]))


def test_merge_joins_the_evaluations() -> None:
    whole = history()
    for cut in range(1, len(ROWS)):
        try:
            parts = history(ROWS[:cut]), history(ROWS[cut:])
        except ValueError:
            continue  # in one part, a task has only failures
        assert_same(parts[0].merge(parts[1]), whole)
        assert_same(parts[1].merge(parts[0]), whole)
    assert whole.merge(whole)["two"].counts.tolist() == [4, 2]


def test_merge_keeps_features_and_costs() -> None:
    first = history(features=pd.DataFrame({"f": [1.0], "g": [2.0]}, index=["one"]), info={"a": 1, "b": 1})
    second = history(features=pd.DataFrame({"g": [5.0], "h": [6.0]}, index=["one"]), info={"b": 2, "c": 2})
    both = first.merge(second)
    assert both["one"].features == {"f": 1.0, "g": 2.0, "h": 6.0}
    assert dict(both.info) == {"a": 1, "b": 1, "c": 2}


def test_merge_rejects_other_spaces_and_directions() -> None:
    wider = Space({**SPACE, "n": Int(1, 99)})
    other = history().moved_to(wider)[0]
    with pytest.raises(ValueError, match="different spaces; convert one first"):
        history().merge(other)
    assert_same(history().merge(other.moved_to(SPACE)[0]), history().merge(history()))
    swapped = history().moved_to(Space(dict(reversed(list(SPACE.items())))))[0]
    with pytest.raises(ValueError, match="different spaces"):
        history().merge(swapped)
    with pytest.raises(ValueError, match=r"one history minimises the results of '.*', the other maximises them"):
        history().merge(history(direction="maximize"))


def test_tasks_of_both_directions_in_one_history(tmp_path: Path) -> None:
    losses, scores = history(), history(direction="maximize").with_task_names({"one": "uno", "two": "due"})
    both = losses.merge(scores.only(["uno", "due"]))
    assert [both.direction_of(name) for name in ("one", "uno")] == ["minimize", "maximize"]
    assert both.best("uno") == scores.best("uno") != losses.best("one") == both.best("one")
    frame = both.to_frame()
    ours = frame[frame["task"].isin(["one", "uno"])].groupby("task")["value"].apply(list)
    np.testing.assert_array_equal(ours["one"], ours["uno"])  # each in its own direction, as it was given
    both.save(tmp_path / "both.parquet")
    back = History.load(tmp_path / "both.parquet")
    assert_same(back, both)
    assert [back.direction_of(name) for name in back.tasks] == [both.direction_of(name) for name in both.tasks]
    assert pickle.loads(pickle.dumps(both)).direction_of("uno") == "maximize"
    with pytest.raises(ValueError, match=r"cannot hold tasks of both directions; save as .parquet"):
        both.save(tmp_path / "both.csv")
    assert not both.only(["one"]).evaluations().directions
    both.only(["one"]).save(tmp_path / "one.csv")


def test_new_names_of_parameters_and_tasks() -> None:
    renamed = history().renamed({"k": "kind"})
    assert list(renamed.space) == [{"k": "kind"}.get(name, name) for name in SPACE]
    assert renamed.renamed({"kind": "k"}).space == SPACE
    assert_same(renamed.renamed({"kind": "k"}), history())
    with pytest.raises(ValueError, match=r"cannot rename 'kk': the history has .*did you mean 'k'"):
        history().renamed({"kk": "x"})
    with pytest.raises(ValueError, match="two parameters would be called 'n'"):
        history().renamed({"k": "n"})
    assert history().renamed({"k": "n", "n": "k"}).renamed({"k": "n", "n": "k"}).space == SPACE


def test_converting_to_another_space() -> None:
    new = Space({"size": Int(2, 9), "k": Categorical(["b", "c"]), "x": Float(0, 1, when={"k": "b"})})
    moved, changes = history().moved_to(new, rename={"n": "size"})
    assert moved.tasks == ["one", "three", "two"]
    assert moved.configs("one") == [{"size": 2, "k": "b", "x": 0.25}]
    assert [change.action for change in changes] == ["renamed", "kept", "kept"]
    assert moved.notes[-1] == "skipped 2 of 4 configurations, which do not fit the new space"
    clipped = history().moved_to({**SPACE, "n": Int(5, 9)})[0]
    assert clipped["one"].losses.tolist() == [0.5, 0.2]  # n = 1 and n = 3 are one configuration now
    assert clipped["one"].counts.tolist() == [1, 1]


def test_tasks_that_lose_everything_are_named() -> None:
    only_a = {**SPACE, "k": Categorical(["a"]), "x": Float(0, 1)}
    moved, _ = history().moved_to(only_a)
    assert moved.tasks == ["one", "two"]
    assert moved.notes[-1] == "skipped 1 of 3 tasks, which lost all their evaluations: three"
    with pytest.raises(ValueError, match=r"no configuration can be converted: k='a' is not in \{'c'\}"):
        history().moved_to({**SPACE, "k": Categorical(["c"]), "x": Float(0, 1)})


# -- scaling -------------------------------------------------------------------------------------------------


def test_scaling_worked_out_by_hand() -> None:
    losses = [3.0, 1.0, np.nan, 5.0, 1.0]
    assert scale(losses).tolist() == [0.5, 0.0, 1.0, 1.0, 0.0]
    assert scale([10, 20, 20, 40, 80], "rank").tolist() == [0, 0.375, 0.375, 0.75, 1]
    assert scale([10, 20, np.nan, 20, 40], "rank").tolist() == [0, 0.5, 1, 0.5, 1]
    assert history()["two"].scaled().tolist() == [0.0, 1.0]
    assert history()["one"].scaled("rank").tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("how", ["value", "rank"])
def test_constant_losses_are_scaled_to_zero(how: str) -> None:
    assert scale([2.0, 2.0, 2.0], how).tolist() == [0, 0, 0]
    assert scale([2.0, np.nan, 2.0], how).tolist() == [0, 1, 0]
    assert scale([7.0], how).tolist() == [0]


@pytest.mark.parametrize("how", ["value", "rank"])
@some
@given(st.lists(st.one_of(st.just(math.nan), st.floats(allow_nan=False, allow_infinity=False)), min_size=1))
def test_scaling_stays_in_the_unit_interval_and_keeps_the_order(how: str, losses: list[float]) -> None:
    values = np.array(losses)
    if np.isnan(values).all():
        with pytest.raises(ValueError, match="without a finite loss"):
            scale(values, how)
        return
    scaled = scale(values, how)
    assert (scaled >= 0).all()
    assert (scaled <= 1).all()
    assert (scaled[np.isnan(values)] == 1).all()
    finite = ~np.isnan(values)
    order = np.argsort(values[finite], kind="stable")
    assert (np.diff(scaled[finite][order]) >= 0).all()
    assert scaled[finite].min() == 0
    if len(set(losses) - {math.nan}) > 1 and np.ptp(values[finite] / 4) > 0:
        assert scaled[finite].max() == 1


def test_an_unknown_scaling_is_rejected() -> None:
    with pytest.raises(ValueError, match="how must be 'value' or 'rank', but got 'zscore'"):
        scale([1, 2], "zscore")


# -- immutability --------------------------------------------------------------------------------------------


def test_nothing_can_be_changed() -> None:
    past = history(features=pd.DataFrame({"f": [1.0]}, index=["one"]), info={"a": 1})
    task = past["two"]
    for array in (past.V, past.Z, task.rows, task.losses, task.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        past.direction = "maximize"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        task.losses = np.zeros(2)  # type: ignore[misc]
    for mapping in (past.by_name, past.info, past["one"].features):
        with pytest.raises(TypeError):
            mapping["one"] = 1  # type: ignore[index]
    past.tasks.clear()  # a copy
    assert len(past.tasks) == 3


def test_a_history_shares_nothing_with_the_table_it_came_from() -> None:
    table, features, info = frame(), pd.DataFrame({"f": [1.0]}, index=["one"]), {"a": 1}
    past = History.from_frame(table, SPACE, features=features, info=info)
    table.loc[:, "value"] = 99.0
    table.loc[:, "n"] = 9
    features.loc["one", "f"] = 99.0
    info["a"] = 99
    assert_same(past, history(features=pd.DataFrame({"f": [1.0]}, index=["one"])))
    assert past.info == {"a": 1}
    V, losses = SPACE.to_values([{"n": 1, "k": "a"}, {"n": 2, "k": "a"}]), np.array([1.0, 2.0])
    built = build(SPACE, tasks=["t", "t"], V=V, losses=losses)
    V[:], losses[:] = 0, 0
    assert built["t"].losses.tolist() == [1.0, 2.0]
    assert built.configs("t") == [{"n": 1, "k": "a"}, {"n": 2, "k": "a"}]


def test_a_task_does_not_freeze_the_arrays_it_was_given() -> None:
    rows, losses, counts = np.arange(2), np.array([1.0, 2.0]), np.ones(2, dtype=np.int64)
    Task("t", rows, losses, counts)
    losses[0] = 5.0


def test_pickling_keeps_everything_read_only() -> None:
    past = history(features=pd.DataFrame({"f": [1.0]}, index=["one"]))
    back = pickle.loads(pickle.dumps(past))
    assert_same(past, back)
    assert back.notes == past.notes
    assert not back["one"].losses.flags.writeable
    assert not back.V.flags.writeable


# -- bad input -----------------------------------------------------------------------------------------------

GOOD = frame()


def changed(column: str, row: int, value: Any) -> pd.DataFrame:
    table = GOOD.astype({column: object})
    table.loc[row, column] = value
    return table


def features(task: Any, *values: Any) -> pd.DataFrame:
    return pd.DataFrame({"f": values}, index=[task] * len(values))


@pytest.mark.parametrize(
    ("table", "arguments", "reason"),
    [
        (GOOD.drop(columns="n"), {}, "the table has no column 'n' (columns: task, k, x, value)"),
        (GOOD.rename(columns={"value": "valeu"}), {}, "the table has no column 'value'; did you mean 'valeu'?"),
        (GOOD.to_dict("records"), {}, "a history is made from a pandas DataFrame, but got list"),
        (GOOD.rename(columns={"n": 0}), {}, "the table has no column 'n' (columns: task, 0, k, x, value)"),
        (GOOD, {"cost": "seconds"}, "the table has no column 'seconds'"),
        (GOOD, {"value": "n"}, "the column 'n' is used twice"),
        (pd.concat([GOOD, GOOD[["n"]]], axis=1), {}, "the table has the column 'n' more than once"),
        (GOOD.iloc[:0], {}, "the table is empty: there is no row below the header"),
        (changed("n", 3, 12), {}, "row 3: 'n' is 12, which is not in {1, …, 9}"),
        (changed("k", 2, "z"), {}, "row 2: 'k' is 'z', which is not in {'a', 'b'}"),
        (changed("x", 1, "low"), {}, "row 1: 'x' is the text 'low', where a number belongs"),
        (changed("x", 1, None), {}, "row 1: 'x' is missing"),
        (changed("value", 0, "bad"), {}, "row 0, column 'value': 'bad' is not a number"),
        (changed("value", 0, "0.5"), {}, "row 0, column 'value': '0.5' is not a number"),
        (changed("value", 0, True), {}, "row 0, column 'value': True is not a number"),
        (GOOD.assign(value=True), {}, "7 of 7 rows cannot be used: row 0, column 'value': True is not a number; row 1"),
        (changed("task", 4, None), {}, "row 4, column 'task': the task has no name"),
        (changed("value", 6, None), {}, "task 'three' has no usable evaluation: all of its trials failed"),
        (GOOD, {"direction": "up"}, "direction must be 'minimize' or 'maximize', but got 'up'"),
        (GOOD.assign(c=0), {"count": "c"}, "'c': a count must be a whole number from 1 to 2^53, but got 0"),
        (GOOD, {"features": features(0, 1.0)}, "features must be a frame indexed by task"),
        (GOOD, {"features": features("one", "big")}, "feature 'f' of task 'one' must be a number, but got 'big'"),
        (GOOD, {"features": features("one", np.inf)}, "feature 'f' of task 'one' is inf"),
        (GOOD, {"features": features("one", 1, 2)}, "features has the task 'one' more than once"),
    ],
)  # fmt: skip
def test_each_bad_input_has_its_own_error(table: pd.DataFrame, arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        History.from_frame(table, SPACE, **arguments)
    assert reason in str(caught.value)


def test_more_values_outside_are_counted() -> None:
    table = GOOD.assign(n=[1, 2, 0, 10, 1, 99, 2])
    with pytest.raises(ValueError, match=r"row 2: 'n' is 0, .* \(and 2 more values that do not fit\)"):
        History.from_frame(table, SPACE)


def test_features_of_other_tasks_are_skipped_and_named() -> None:
    past = history(features=pd.DataFrame({"f": [1.0, 2.0]}, index=["one", "elsewhere"]))
    assert past.notes[1] == "skipped the features of elsewhere, which are not among the tasks"


def test_histories_and_tasks_check_themselves() -> None:
    one = np.array([1.0])
    ok = Task("t", np.array([0]), one, np.array([1]))
    with pytest.raises(ValueError, match="task 't' has an infinite loss; use NaN for a failed trial"):
        Task("t", np.array([0]), np.array([np.inf]), np.array([1]))
    with pytest.raises(ValueError, match="task 't' has no usable evaluation"):
        Task("t", np.array([0]), np.array([np.nan]), np.array([1]))
    with pytest.raises(ValueError, match="task 't': losses and rows differ in length"):
        Task("t", np.array([0]), np.ones(2), np.array([1]))
    with pytest.raises(ValueError, match="a history needs at least one task"):
        History(SPACE, np.zeros((0, 3)), {})
    with pytest.raises(ValueError, match="direction must be"):
        History(SPACE, np.array([[1.0, 0.0, np.nan]]), {"t": ok}, "sideways")
    with pytest.raises(ValueError, match="at least one evaluation"):
        build(SPACE, tasks=[], V=np.zeros((0, 3)), losses=np.zeros(0))


def test_importing_histories_loads_nothing_heavier_than_numpy() -> None:
    heavy = "{'pandas', 'pyarrow', 'scipy', 'rich'}"
    code = f"import sys; from headstart.history import Reading, build, read_history; print({heavy} & set(sys.modules))"
    assert python(code).stdout == "set()\n"


def test_columns_and_back() -> None:
    past = history(features=pd.DataFrame({"f": [1.0]}, index=["one"]), info={"a": 1})
    back = History.from_evaluations(past.evaluations())
    assert_same(past, back)
    assert (back.info, back.notes) == (past.info, past.notes)


def test_reading_knows_which_options_were_given() -> None:
    assert Reading().given == []
    how = Reading(task="task", value="error", ignore="id", space=SPACE)
    assert how.ignore == ("id",)
    assert how.given == ["value", "ignore", "space"]
    assert how.columns == {"task": "task", "value": "error"}
    with pytest.raises(ValueError, match="direction must be 'minimize' or 'maximize', but got 'up'"):
        Reading(direction="up")


def test_spaces_of_other_libraries_are_accepted() -> None:
    from optuna.distributions import IntDistribution

    table = pd.DataFrame({"task": ["t", "t"], "n": [1, 2], "value": [0.1, 0.2]})
    assert History.from_frame(table, {"n": IntDistribution(1, 9)}).space == Space({"n": Int(1, 9)})


def test_the_pinned_call_of_the_design() -> None:
    table = frame().rename(columns={"task": "dataset", "value": "error"})
    past = History.from_frame(table, SPACE, task="dataset", value="error", features=None, direction="minimize")
    assert_same(past, history())
