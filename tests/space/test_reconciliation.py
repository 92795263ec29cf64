from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.space import Categorical, Change, Float, Int, Parameter, Reconciled, Space, reconcile
from headstart.space.reconciliation import report
from random_spaces import examples, spaces

some = examples(40)


def one(old: Parameter, new: Parameter, *values: Any, **more: Any) -> Reconciled:
    """Values of a single parameter `p`, converted."""
    return reconcile({"p": old}, {"p": new}, [{"p": value} for value in values], **more)


def values(result: Reconciled) -> list[Any]:
    return [config["p"] for config in result.configs]


def test_values_that_fit_are_kept(svm_space: Space) -> None:
    configs = svm_space.sample(20, seed=1)
    result = reconcile(svm_space, svm_space, configs)
    assert result.configs == configs
    assert result.rows == list(range(20))
    assert result.unchanged
    assert [change.action for change in result.changes] == ["kept"] * 4


def test_a_smaller_range_clips() -> None:
    result = one(Float(0, 10), Float(1, 5), 0.5, 1.0, 3.3, 5.0, 7.0)
    assert values(result) == [1.0, 1.0, 3.3, 5.0, 5.0]
    assert result.changes == [Change("p", "clipped", "2 values clipped to [1, 5]")]
    assert not result.unchanged


def test_a_wider_range_or_another_scale_keeps_the_values() -> None:
    result = one(Float(1, 10), Float(1e-5, 1e5, log=True), 1.0, 1 / 3 + 1, 10.0)
    assert values(result) == [1.0, 1 / 3 + 1, 10.0]  # exactly: nothing goes through the encoding
    assert result.changes == [Change("p", "kept")]


def test_a_renamed_parameter() -> None:
    old = Space({"lr": Float(1e-4, 1, log=True), "n": Int(1, 5)})
    new = Space({"learning_rate": Float(1e-3, 1, log=True), "n": Int(1, 5)})
    result = reconcile(old, new, [{"lr": 1e-4, "n": 2}, {"lr": 0.1, "n": 3}], rename={"lr": "learning_rate"})
    assert result.configs == [{"learning_rate": 1e-3, "n": 2}, {"learning_rate": 0.1, "n": 3}]
    assert result.changes[0] == Change("learning_rate", "renamed", "from lr; 1 value clipped to [0.001, 1] log")
    assert result.changes[1] == Change("n", "kept")


def test_names_may_be_exchanged() -> None:
    space = Space({"a": Int(1, 5), "b": Int(1, 9)})
    result = reconcile(space, space, [{"a": 1, "b": 9}], rename={"a": "b", "b": "a"})
    assert result.configs == [{"a": 5, "b": 1}]
    assert [change.action for change in result.changes] == ["renamed", "renamed"]


def test_a_name_may_be_taken_over() -> None:
    old = Space({"a": Int(1, 5), "b": Int(1, 5)})
    result = reconcile(old, {"b": Int(1, 5)}, [{"a": 1, "b": 4}], rename={"a": "b"})
    assert result.configs == [{"b": 1}]
    assert result.changes[1] == Change("b", "dropped", "another parameter now has its name")


def test_a_new_parameter_is_filled() -> None:
    old = Space({"a": Int(1, 5)})
    new = Space({"a": Int(1, 5), "m": Float(0.01, 1, log=True), "n": Int(1, 9), "c": Categorical(["x", None])})
    result = reconcile(old, new, [{"a": 3}])
    assert result.configs == [{"a": 3, "m": 0.1, "n": 5, "c": "x"}]
    assert result.changes[1:] == [
        Change("m", "filled", "with 0.1"),
        Change("n", "filled", "with 5"),
        Change("c", "filled", "with 'x'"),
    ]
    chosen = reconcile(old, new, [{"a": 3}], fill={"m": 1, "c": None})
    assert chosen.configs == [{"a": 3, "m": 1.0, "n": 5, "c": None}]


def test_a_parameter_that_is_gone_is_dropped() -> None:
    result = reconcile({"a": Int(1, 5), "b": Int(1, 5)}, {"a": Int(1, 5)}, [{"a": 1, "b": 2}])
    assert result.configs == [{"a": 1}]
    assert result.changes == [Change("a", "kept"), Change("b", "dropped", "not in the new space")]


def test_a_category_that_is_gone_drops_the_configuration_and_says_so() -> None:
    result = one(Categorical(["a", "b", "c"]), Categorical(["c", "a", "d"]), "a", "b", "c", "b")
    assert values(result) == ["a", "c"]
    assert result.rows == [0, 2]
    assert result.dropped == [(1, "p='b' is not in {'c', 'a', 'd'}"), (3, "p='b' is not in {'c', 'a', 'd'}")]
    assert result.changes == [Change("p", "kept", "2 values not in {'c', 'a', 'd'}: configuration dropped")]


def test_real_to_whole_rounds_and_clips() -> None:
    result = one(Float(0, 10), Int(1, 8), 0.2, 2.0, 2.6, 9.9)
    assert values(result) == [1, 2, 3, 8]
    assert [type(value) for value in values(result)] == [int] * 4
    assert result.changes == [Change("p", "clipped", "2 values clipped to {1, …, 8}; 1 value rounded")]


def test_whole_to_real_and_to_another_step() -> None:
    assert values(one(Int(1, 9), Float(0, 5), 1, 4, 9)) == [1.0, 4.0, 5.0]
    assert values(one(Int(1, 9), Int(0, 9, step=3), 1, 4, 9)) == [0, 3, 9]
    assert values(one(Float(0, 1), Float(0, 1, step=0.25), 0.25, 0.3, 0.9)) == [0.25, 0.25, 1.0]


def test_choices_to_numbers_and_back() -> None:
    result = one(Categorical([1, 16, "auto", 200, True]), Int(2, 100), 1, 16, "auto", 200, True)
    assert values(result) == [2, 16, 100]
    assert result.rows == [0, 1, 3]
    assert [reason for _, reason in result.dropped] == [
        "p='auto' is not in {2, …, 100}",
        "p=True is not in {2, …, 100}",
    ]
    back = one(Int(1, 9), Categorical([1, 3, "auto"]), 1, 2, 3)
    assert values(back) == [1, 3]
    assert back.dropped == [(1, "p=2 is not in {1, 3, 'auto'}")]
    assert values(one(Float(0, 9), Categorical([0.5, 3]), 0.5, 3.0)) == [0.5, 3]


def test_none_and_booleans_are_choices_like_others() -> None:
    result = one(Categorical([None, True, 1]), Categorical([1, None]), None, True, 1)
    assert values(result) == [None, 1]
    assert result.dropped == [(1, "p=True is not in {1, None}")]
    assert one(Categorical([None, 2]), Int(1, 3), None, 2).rows == [1]


def test_changed_conditions() -> None:
    kind = Categorical(["a", "b"])
    always = Space({"kind": kind, "x": Int(1, 9)})
    on_a = Space({"kind": kind, "x": Int(1, 9, when={"kind": "a"})})
    on_b = Space({"kind": kind, "x": Int(1, 9, when={"kind": "b"})})
    less = reconcile(always, on_a, [{"kind": "a", "x": 2}, {"kind": "b", "x": 3}])
    assert less.configs == [{"kind": "a", "x": 2}, {"kind": "b"}]
    assert less.changes[1] == Change("x", "kept", "1 value dropped, inactive in the new space")
    more = reconcile(on_a, always, less.configs)
    assert more.configs == [{"kind": "a", "x": 2}, {"kind": "b", "x": 5}]
    assert more.changes[1] == Change("x", "filled", "1 value filled with 5, inactive in the old space")
    other = reconcile(on_a, on_b, less.configs, fill={"x": 7})
    assert other.configs == [{"kind": "a"}, {"kind": "b", "x": 7}]


def test_a_lost_category_counts_only_where_it_is_active() -> None:
    old = Space({"on": Categorical([True, False]), "c": Categorical(["x", "y"])})
    new = Space({"on": Categorical([True, False]), "c": Categorical(["x"], when={"on": True})})
    result = reconcile(old, new, [{"on": False, "c": "y"}, {"on": True, "c": "y"}])
    assert result.configs == [{"on": False}]
    assert result.dropped == [(1, "c='y' is not in {'x'}")]


def test_the_report_prints_as_a_small_table() -> None:
    old = Space({"k": Categorical(["a", "b"]), "lr": Float(0.1, 1), "gone": Int(1, 2)})
    new = Space({"k": Categorical(["a"]), "rate": Float(0.5, 1), "fresh": Int(1, 3)})
    configs = [{"k": "b" if i else "a", "lr": 0.2, "gone": 1} for i in range(8)]
    assert str(reconcile(old, new, configs, rename={"lr": "rate"})).splitlines() == [
        "parameter  action     details",
        "k          kept       7 values not in {'a'}: configuration dropped",
        "rate       renamed    from lr; 1 value clipped to [0.5, 1]",
        "fresh      filled     with 2",
        "gone       dropped    not in the new space",
        "1 of 8 configurations converted",
        *[f"  dropped configuration {i}: k='b' is not in {{'a'}}" for i in range(1, 6)],
        "  … and 2 more",
    ]
    assert str(reconcile(old, old)) == report([Change(name, "kept") for name in old])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"rename": {"z": "a"}}, "cannot rename 'z': the old space has a, b"),
        ({"rename": {"a": "z"}}, "cannot rename 'a' to 'z': the new space has a, b"),
        ({"rename": {"a": "b", "b": "b"}}, "rename gives two parameters the same name"),
        ({"fill": {"z": 1}}, "cannot fill 'z': the new space has a, b"),
        ({"fill": {"a": 7}}, "cannot fill 'a' with 7: it takes {1, …, 5}"),
        ({"fill": {"a": None}}, "cannot fill 'a' with None"),
    ],
)
def test_bad_instructions_are_rejected(arguments: dict[str, Any], reason: str) -> None:
    space = Space({"a": Int(1, 5), "b": Int(1, 5)})
    with pytest.raises(ValueError) as caught:
        reconcile(space, space, **arguments)
    assert reason in str(caught.value)


@some
@given(spaces(), spaces(), st.integers(0, 99))
def test_converted_configurations_are_valid_in_the_new_space(old: Space, new: Space, seed: int) -> None:
    configs = old.sample(10, seed=seed)
    result = reconcile(old, new, configs)
    assert all(new.contains(config) for config in result.configs)
    assert sorted(result.rows + [row for row, _ in result.dropped]) == list(range(10))
    assert {change.name for change in result.changes} == set(old) | set(new)
    again = reconcile(new, new, result.configs)
    assert again.unchanged
    assert again.configs == result.configs


@some
@given(spaces(), st.integers(0, 99))
def test_renaming_everything_and_back_changes_nothing(space: Space, seed: int) -> None:
    configs = space.sample(10, seed=seed)
    there = {name: f"{name}_new" for name in space}
    entries = space.to_json()
    for entry in entries.values():
        entry["when"] = {there[parent]: values for parent, values in entry.get("when", {}).items()}
    renamed = Space.from_json({there[name]: entry for name, entry in entries.items()})
    moved = reconcile(space, renamed, configs, rename=there)
    back = reconcile(renamed, space, moved.configs, rename={new: old for old, new in there.items()})
    assert back.configs == configs
    np.testing.assert_array_equal(renamed.encode(moved.configs), space.encode(configs))
