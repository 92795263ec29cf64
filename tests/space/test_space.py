from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import headstart as hs
import headstart.space.space
from headstart.errors import SpaceError
from headstart.space import Categorical, Float, Int, Parameter, Space
from headstart.space.scalars import choice_key
from random_spaces import configurations, examples, spaces

some = examples(30)


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Float(1, 1), "low must be below high, but got low=1.0, high=1.0"),
        (lambda: Float(3, 1), "low must be below high, but got low=3.0, high=1.0"),
        (lambda: Int(5, 2), "low must be below high, but got low=5, high=2"),
        (lambda: Float(0, 1, log=True), "a log scale needs bounds above 0, but got low=0.0"),
        (lambda: Int(-1, 9, log=True), "a log scale needs bounds above 0, but got low=-1"),
        (lambda: Float(-1e308, 1e308, step=1e300), "too wide for steps"),
        (lambda: Float(math.nan, 1), "low must be a finite number, but got nan"),
        (lambda: Float(0, math.inf), "high must be a finite number, but got inf"),
        (lambda: Float(0, 10**400), "high must be a finite number"),
        (lambda: Float("0", 1), "low must be a finite number, but got '0'"),  # type: ignore[arg-type]
        (lambda: Float(False, 1), "low must be a finite number, but got False"),
        (lambda: Float(0, 1, 0.1), "log must be True or False, but got 0.1"),  # type: ignore[arg-type]
        (lambda: Int(0.5, 3), "low of an Int must be a whole number, but got 0.5"),
        (lambda: Int(0, 10**16), "high of an Int must be within"),
        (lambda: Float(0, 1, step=2), "step must be above 0 and at most high - low, but got step=2"),
        (lambda: Float(0, 1, step=0), "step must be above 0"),
        (lambda: Float(0, 1, step=1e-320), "step is too small for the range from 0.0 to 1.0"),
        (lambda: Int(1, 9, step=1.5), "step of an Int must be a whole number, but got 1.5"),
        (lambda: Float(0.1, 1, log=True, step=0.1), "step and log exclude each other"),
        (lambda: Categorical([]), "choices must not be empty"),
        (lambda: Categorical("abc"), "choices must be a list, but got 'abc'"),
        (lambda: Categorical({"a", "b"}), "choices must be a list"),  # type: ignore[arg-type]
        (lambda: Categorical(["a", "b", "a"]), "choices must differ, but 'a' is listed twice"),
        (lambda: Categorical([1, 1.0]), "choices must differ, but 1.0 is listed twice"),
        (lambda: Categorical([None, None]), "choices must differ, but None is listed twice"),
        (lambda: Categorical([[1]]), "a choice must be text, a number, True, False or None"),  # type: ignore[list-item]
        (lambda: Categorical([math.inf]), "a choice must be finite"),
        (lambda: Float(0, 1, when=["a"]), "when must map a parent's name"),  # type: ignore[arg-type]
        (lambda: Float(0, 1, when={"a": []}), "when lists no value for 'a'; the parameter could never be active"),
        (lambda: Float(0, 1, when={"a": [[1]]}), "when must list single values for 'a'"),
    ],
)
def test_an_invalid_parameter_is_rejected_with_the_reason(make: Any, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        make()
    assert reason in str(caught.value)


SWITCH = Categorical(["on", "off"])


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({}, "a space needs at least one named parameter"),
        ({1: SWITCH}, "a parameter's name must be text, but got 1"),
        ({"a": 3}, "'a' must be a Float, Int or Categorical, but got 3"),
        ({"a": Float(0, 1, when={"b": 1})}, "'a' depends on 'b', which is not a parameter of this space"),
        (
            {"a": Categorical([1], when={"b": 1}), "b": Categorical([1], when={"a": 1})},
            "conditions form a cycle: ",
        ),
        ({"a": Categorical([1], when={"a": 1})}, "conditions form a cycle: a -> a"),
        (
            {"a": Float(0, 1), "b": Float(0, 1, when={"a": 0.5})},
            "'b' depends on the real parameter 'a'; a parent must be an Int or a Categorical",
        ),
        ({"s": SWITCH, "b": Float(0, 1, when={"s": "up"})}, "'b' is active when 's' is 'up', but 's' only takes"),
        ({"n": Int(1, 3), "b": Float(0, 1, when={"n": 4})}, "'b' is active when 'n' is 4"),
        ({"n": Int(1, 3), "b": Float(0, 1, when={"n": True})}, "'b' is active when 'n' is True"),
        ({"f": Categorical([True, False]), "b": Int(0, 1, when={"f": 1})}, "'b' is active when 'f' is 1"),
    ],
)
def test_an_invalid_space_is_rejected_with_the_reason(parameters: Any, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        Space(parameters)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"kernel": "rbf", "C": 1.0}, "configuration 1: 'gamma' is missing"),
        ({"kernel": "rbf", "C": 1.0, "gamma": 1e4}, "'gamma' is 10000.0, which is not in [0.0001, 1000] log"),
        ({"kernel": "rbf", "C": "1", "gamma": 1.0}, "'C' is the text '1', where a number belongs"),
        ({"kernel": "rbf", "C": True, "gamma": 1.0}, "'C' is True"),
        ({"kernel": "rbf", "C": math.inf, "gamma": 1.0}, "'C' is inf"),
        ({"kernel": "rbf", "C": 10**400, "gamma": 1.0}, "'C' is 1000"),
        ({"kernel": "sigmoid", "C": 1.0}, "'kernel' is 'sigmoid', which is not in {'rbf', 'poly', 'linear'}"),
        ({"kernel": ["rbf"], "C": 1.0}, "'kernel' is ['rbf'], which is not in"),
        ({"kernel": "poly", "C": 1.0, "degree": 2.5}, "'degree' is 2.5, which is not in {2, …, 10}"),
        ({"kernel": "linear", "C": 1.0, "degree": 3}, "'degree' has a value, but it is only active when"),
        ({"kernel": "linear", "C": 1.0, "depth": 3}, "unknown parameter 'depth'; the parameters are kernel, C"),
        (7, "configuration 1 must be a dictionary, but got 7"),
    ],
)
def test_a_bad_configuration_is_named(svm_space: Space, config: Any, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        svm_space.encode([{"kernel": "linear", "C": 1.0}, config])
    assert reason in str(caught.value)
    if isinstance(config, dict):
        assert not svm_space.contains(config)


def test_the_first_bad_value_is_named_and_the_others_are_counted(svm_space: Space) -> None:
    good = {"kernel": "linear", "C": 1.0}
    configs = [good, {**good, "C": 99.0}, {**good, "kernel": "x"}, {**good, "C": -1.0}]
    with pytest.raises(ValueError, match=r"^configuration 1: 'C' is 99.0, .* \(and 2 more values that do not fit\)$"):
        svm_space.encode(configs)


def test_one_configuration_instead_of_a_list_is_rejected(svm_space: Space) -> None:
    with pytest.raises(ValueError, match="give a list of configurations"):
        svm_space.encode({"kernel": "linear", "C": 1.0})


def test_frames_are_checked(svm_space: Space) -> None:
    frame = pd.DataFrame(svm_space.sample(5, seed=0)).reindex(columns=svm_space.names)
    with pytest.raises(ValueError, match="no column for 'degree'; the columns are kernel, C, gamma"):
        svm_space.encode(frame.drop(columns="degree"))
    with pytest.raises(ValueError, match="more than one column for 'C'"):
        svm_space.encode(pd.concat([frame, frame[["C"]]], axis=1))


# -- encoding ------------------------------------------------------------------------------------------------


def test_the_encoding_of_the_papers(svm_space: Space) -> None:
    Z = svm_space.encode(
        [
            {"kernel": "linear", "C": 2**-5},
            {"kernel": "rbf", "C": 2**6, "gamma": 1000.0},
            {"kernel": "poly", "C": 2**0.5, "degree": 6},
        ]
    )
    assert svm_space.width == 6
    assert svm_space.columns("kernel") == slice(0, 3)
    expected = np.array([[0, 0, 1, 0, 0, 0], [1, 0, 0, 1, 1, 0], [0, 1, 0, 0.5, 0, 0.5]])
    np.testing.assert_allclose(Z, expected, atol=1e-15)


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Equal in values and types, and in what is active."""
    return a == b and all(type(a[name]) is type(b[name]) for name in a)


def is_native(parameter: Parameter, value: Any) -> bool:
    if isinstance(parameter, Categorical):
        return any(type(value) is type(choice) and value == choice for choice in parameter.choices)
    kind = float if isinstance(parameter, Float) else int
    return type(value) is kind and parameter.low <= value <= parameter.high


@some
@given(st.data())
def test_decoding_what_was_encoded_gives_it_back(data: st.DataObject) -> None:
    space = data.draw(spaces())
    config = data.draw(configurations(space))
    assert space.contains(config)
    back = space.decode(space.encode([config]))[0]
    assert list(back) == list(config)
    for name, value in config.items():
        parameter = space[name]
        assert type(back[name]) is type(value)
        if isinstance(parameter, Float) and parameter.low < 0:  # known to the accuracy of the lower bound
            assert abs(back[name] - value) <= 1e-12 * max(abs(value), 1e-2 * -parameter.low)
        else:
            assert back[name] == value


@some
@given(st.floats(1e-300, 1e300), st.floats(1.001, 1e100), st.floats(0, 1))
def test_reals_on_a_log_scale_come_back_to_twelve_digits(low: float, ratio: float, at: float) -> None:
    assume(math.isfinite(low * ratio))
    parameter = Float(low, low * ratio, log=True)
    value = min(max(low * ratio**at, parameter.low), parameter.high)
    back = parameter.from_unit(parameter.to_unit(np.array([value])))[0]
    assert abs(back - value) <= 1e-12 * value


@some
@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.floats(0, 1))
def test_reals_come_back_to_twelve_digits_of_the_bounds(low: float, width: float, at: float) -> None:
    assume(low + width > low)
    parameter = Float(low, low + width)
    value = min(low + at * width, parameter.high)
    back = parameter.from_unit(parameter.to_unit(np.array([value])))[0]
    assert abs(back - value) <= 1e-12 * max(abs(value), abs(low) / 10)


def test_short_numbers_come_back_exactly() -> None:
    for parameter in (Float(0, 1), Float(-1, 1), Float(1e-5, 1e5, log=True), Float(-300, 20), Float(0, 1e6)):
        values = np.array(
            [v for v in (0.1, 0.2, 0.3, 0.7, 1e-3, 0.123456789012, 12.34, 1 / 8, -0.6) if parameter.contains(v)]
        )
        assert np.array_equal(parameter.from_unit(parameter.to_unit(values)), values)
        ends = np.array([parameter.low, parameter.high])
        assert np.array_equal(parameter.from_unit(parameter.to_unit(ends)), ends)


def test_bounds_with_many_digits_come_back_exactly() -> None:
    for parameter in (Float(1 / 3, 2 / 3), Float(math.pi / 1e9, math.e, log=True)):
        assert parameter.from_unit(np.array([0.0, 1.0])).tolist() == [parameter.low, parameter.high]


@some
@given(st.data())
def test_any_matrix_decodes_to_valid_configurations_in_native_types(data: st.DataObject) -> None:
    space = data.draw(spaces())
    seed = data.draw(st.integers(0, 2**32 - 1))
    Z = np.random.default_rng(seed).normal(0.5, 1.0, (20, space.width)) * data.draw(st.sampled_from([0, 1, 1e9]))
    configs = space.decode(Z)
    assert all(space.contains(config) for config in configs)
    assert all(is_native(space[name], value) for config in configs for name, value in config.items())
    json.dumps(configs)
    once = space.encode(configs)
    assert once.min() >= 0
    assert once.max() <= 1
    again = space.decode(once)
    assert all(same(a, b) for a, b in zip(configs, again, strict=True))
    np.testing.assert_array_equal(space.encode(again), once)


@some
@given(st.data())
def test_inactive_parameters_are_zero(data: st.DataObject) -> None:
    space = data.draw(spaces())
    configs = space.sample(15, seed=data.draw(st.integers(0, 99)))
    Z = space.encode(configs)
    for config, z in zip(configs, Z, strict=True):
        for name in space:
            block = z[space.columns(name)]
            if name not in config:
                assert not block.any()
            elif isinstance(space[name], Categorical):
                assert sorted(block) == [0.0] * (len(block) - 1) + [1.0]


@some
@given(st.data())
def test_every_form_of_input_means_the_same(data: st.DataObject) -> None:
    space = data.draw(spaces())
    configs = space.sample(12, seed=data.draw(st.integers(0, 99)))
    V = space.to_values(configs)
    columns = {name: [config.get(name) for config in configs] for name in space}
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    for other in (columns, frame, iter(configs), space.from_values(V)):
        np.testing.assert_array_equal(space.to_values(other), V)
    inferred = pd.DataFrame(columns)  # whatever dtypes pandas makes of it
    if not any(p.contains(None) for p in space.values() if isinstance(p, Categorical)):
        np.testing.assert_array_equal(space.to_values(inferred), V)
    np.testing.assert_array_equal(space.checked(V), V)


def test_missing_cells_of_every_kind_are_inactive() -> None:
    space = Space(
        {"a": Categorical(["x", "y"]), "b": Int(1, 9, when={"a": "x"}), "c": Categorical([1, 2], when={"a": "x"})}
    )
    empty = [None, math.nan, pd.NA, np.float32("nan"), pd.NaT]
    frame = pd.DataFrame({"a": ["y"] * 5, "b": pd.Series(empty, dtype=object), "c": pd.Series(empty, dtype=object)})
    assert space.decode(space.encode(frame)) == [{"a": "y"}] * 5


def test_values_of_inactive_parameters_can_be_ignored(svm_space: Space) -> None:
    configs = [{"kernel": "linear", "C": 1.0, "gamma": 5.0}, {"kernel": "rbf", "C": 1.0, "gamma": 5.0}]
    V, surplus = svm_space.parse(configs)
    assert svm_space.from_values(V)[0] == {"kernel": "linear", "C": 1.0}
    assert {name: rows.tolist() for name, rows in surplus.items()} == {"gamma": [True, False]}


def test_numpy_scalars_and_whole_floats_are_understood() -> None:
    space = Space({"n": Int(1, 9), "x": Float(0, 1), "f": Categorical([True, None]), "s": Categorical(["a", 2])})
    config = {"n": np.int64(3), "x": np.float32(0.5), "f": np.True_, "s": np.str_("a")}
    back = space.decode(space.encode([config, {**config, "n": 4.0, "x": 1, "s": 2.0, "f": None}]))
    assert back == [{"n": 3, "x": 0.5, "f": True, "s": "a"}, {"n": 4, "x": 1.0, "f": None, "s": 2}]
    assert [type(value) for value in back[0].values()] == [int, float, bool, str]


def test_true_is_not_one() -> None:
    assert choice_key(np.True_) == choice_key(True) != choice_key(1) == choice_key(np.float64(1))
    mixed = Categorical([1, True, 0, False, "1", None])
    assert [mixed.index(c) for c in (1, True, 0, False, "1", None, 1.0)] == [0, 1, 2, 3, 4, 5, 0]
    space = Space({"a": mixed, "b": Int(0, 5, when={"a": True})})
    configs: list[dict[str, Any]] = [{"a": 1}, {"a": True, "b": 2}, {"a": "1"}, {"a": None}, {"a": False}]
    assert all(same(a, b) for a, b in zip(space.decode(space.encode(configs)), configs, strict=True))
    flags, bits = Space({"a": Categorical([True, False])}), Space({"a": Categorical([1, 0])})
    assert flags != bits
    assert flags["a"] != bits["a"]
    assert not flags.contains({"a": 1})
    assert not bits.contains({"a": True})


def test_steps() -> None:
    tenth = Float(0.1, 1.0, step=0.1)
    assert [tenth.native(v) for v in tenth.options()] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert Int(1, 12, step=3).high == 10  # the last value on the grid
    space = Space({"x": tenth, "n": Int(1, 12, step=3)})
    assert space.contains({"x": 0.1 + 0.2, "n": 7})
    assert not space.contains({"x": 0.25, "n": 7})
    assert not space.contains({"x": 0.2, "n": 6})
    assert space.decode([[0.24, 0.4]]) == [{"x": 0.3, "n": 4}]
    assert space.decode(space.encode([{"x": 0.1 + 0.2, "n": 7}])) == [{"x": 0.3, "n": 7}]


def test_a_value_written_with_fewer_digits_is_the_bound() -> None:
    third = Float(1 / 3, 2 / 3)
    assert third.contains(0.33333333333)
    assert third.contains(0.66666666667)
    assert not third.contains(0.333)
    assert Space({"x": third}).to_values([{"x": 0.33333333333}])[0, 0] == 1 / 3


def test_a_matrix_of_the_wrong_shape_or_with_gaps_is_rejected(svm_space: Space) -> None:
    with pytest.raises(ValueError, match=r"has 6 columns, but got an array of shape \(2, 5\)"):
        svm_space.decode(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="must be finite"):
        svm_space.decode(np.full((1, 6), np.nan))


def test_rows_that_are_not_valid_configurations_are_found(svm_space: Space) -> None:
    for row in (
        [0, 1, np.nan, np.nan],
        [3, 1, np.nan, np.nan],
        [2, 1, 1, np.nan],
        [2, 99, np.nan, np.nan],
        [0.5, 1, 1, np.nan],
    ):
        with pytest.raises(ValueError, match="configuration 0: "):
            svm_space.checked(np.array([row], dtype=float))


# -- sampling ------------------------------------------------------------------------------------------------


@some
@given(st.data())
def test_samples_lie_in_the_space_and_repeat_with_the_seed(data: st.DataObject) -> None:
    space = data.draw(spaces())
    method, n = data.draw(st.sampled_from(["uniform", "sobol"])), data.draw(st.integers(0, 20))
    configs = space.sample(n, seed=7, method=method)
    assert len(configs) == n
    assert all(space.contains(config) for config in configs)
    assert configs == space.sample(n, seed=7, method=method)


@pytest.mark.parametrize("method", ["uniform", "sobol"])
def test_whole_numbers_and_choices_get_equal_shares(method: str) -> None:
    space = Space({"n": Int(0, 3), "c": Categorical(["a", "b"]), "s": Int(1, 10, step=3), "f": Float(0, 1, step=0.25)})
    n = 2**14
    V = space.sample_values(n, rng=np.random.default_rng(0), method=method)
    for j, parameter in enumerate(space.values()):
        values, counts = np.unique(V[:, j], return_counts=True)
        np.testing.assert_allclose(values, parameter.options())
        np.testing.assert_allclose(counts / n, 1 / len(values), atol=0.02 if method == "uniform" else 1e-3)


def test_whole_numbers_on_a_log_scale_get_their_share_of_the_logarithm() -> None:
    parameter = Int(1, 100, log=True)
    values = parameter.draw((np.arange(200_000) + 0.5) / 200_000)
    shares = np.bincount(values.astype(int), minlength=101)[1:] / 200_000
    k = np.arange(1, 101)
    np.testing.assert_allclose(shares, np.log((k + 0.5) / (k - 0.5)) / np.log(100.5 / 0.5), atol=1e-5)


def test_the_cube_reaches_both_ends(svm_space: Space) -> None:
    V = svm_space.from_cube(np.array([[0.0] * 4, [0.4] + [1.0] * 3, [1.0] * 4]))
    assert svm_space.from_values(V) == [
        {"kernel": "rbf", "C": 2**-5, "gamma": 1e-4},
        {"kernel": "poly", "C": 2**6, "degree": 10},
        {"kernel": "linear", "C": 2**6},
    ]


def test_sampling_checks_its_arguments(svm_space: Space) -> None:
    with pytest.raises(ValueError, match="method must be 'uniform' or 'sobol', but got 'halton'"):
        svm_space.sample(3, method="halton")
    with pytest.raises(ValueError, match="n must be at least 0, but got -1"):
        svm_space.sample(-1)


# -- neighbours, JSON and the rest ---------------------------------------------------------------------------


def test_nearest_takes_the_first_of_equals_and_tells_close_ones_apart() -> None:
    space = Space({"x": Float(0, 1)})
    assert space.nearest({"x": 0.2}, [{"x": x} for x in (0.1, 0.3, 0.1)]) == 0
    assert space.nearest({"x": 0.5}, [{"x": x} for x in (0.5 + 1e-9, 0.5)]) == 1
    candidates = [{"x": float(x)} for x in np.random.default_rng(0).random(40)]
    assert [space.nearest(config, candidates) for config in candidates] == list(range(40))


def test_nearest_candidate_of_a_configuration(svm_space: Space) -> None:
    candidates = [
        {"kernel": "linear", "C": 1.0},
        {"kernel": "rbf", "C": 1.0, "gamma": 0.1},
        {"kernel": "rbf", "C": 1.0, "gamma": 10.0},
    ]
    assert svm_space.nearest({"kernel": "rbf", "C": 2.0, "gamma": 5.0}, candidates) == 2
    assert svm_space.nearest({"kernel": "linear", "C": 64.0}, candidates) == 0
    with pytest.raises(ValueError, match="candidates must hold at least one configuration, but got none"):
        svm_space.nearest({"kernel": "linear", "C": 64.0}, [])


@some
@given(spaces())
def test_json_and_pickle_round_trips(space: Space) -> None:
    back = Space.from_json(json.loads(json.dumps(space.to_json(), allow_nan=False)))
    assert back == space
    assert hash(back) == hash(space)
    assert list(back) == list(space)
    assert back.to_json() == space.to_json()
    for name in space:
        assert back[name] == space[name]
        assert hash(back[name]) == hash(space[name])
        assert eval(repr(space[name]), {"Float": Float, "Int": Int, "Categorical": Categorical}) == space[name]
    assert pickle.loads(pickle.dumps(space)) == space


def test_the_order_of_parameters_is_part_of_a_space() -> None:
    a, b = Float(0, 1), Int(1, 3)
    assert Space({"a": a, "b": b}) != Space({"b": b, "a": a})


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ([], "a space in JSON is an object of parameters, but got list"),
        ({"a": {"type": "real"}}, "parameter 'a' must have a type of float, int or categorical, but got 'real'"),
        ({"a": 3}, "parameter 'a' must have a type"),
        ({"a": {"type": "float", "low": 0}}, "parameter 'a': "),
        ({"a": {"type": "float", "low": 2, "high": 1}}, "parameter 'a': low must be below high"),
        ({"a": {"type": "float", "low": 0, "high": 1, "base": 2}}, "parameter 'a': unknown entry 'base'"),
    ],
)
def test_bad_json_is_rejected_with_the_name(data: Any, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        Space.from_json(data)
    assert reason in str(caught.value)


def test_parameters_are_frozen(svm_space: Space) -> None:
    with pytest.raises(AttributeError):
        svm_space["C"].low = 3  # type: ignore[misc,union-attr]
    with pytest.raises(TypeError):
        svm_space["C"] = Float(0, 1)  # type: ignore[index]


def test_a_set_of_condition_values_has_a_fixed_order() -> None:
    assert Float(0, 1, when={"a": {"z", "b", "m"}}).conditions == {"a": ("b", "m", "z")}


def test_a_space_prints_readably(svm_space: Space) -> None:
    assert repr(svm_space).splitlines() == [
        "Space(",
        "  kernel: Categorical {'rbf', 'poly', 'linear'}",
        "  C: Float [0.03125, 64] log",
        "  gamma: Float [0.0001, 1000] log when kernel='rbf'",
        "  degree: Int {2, …, 10} when kernel='poly'",
        ")",
    ]


# -- the ends of floating point ----------------------------------------------------------------------------------


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0 + 1e-15), (1e300, 1e300 * (1 + 1e-15)), (5e-324, 5e-323)])
def test_a_range_of_few_floats_is_the_finite_set_that_it_is(low: float, high: float, log: bool) -> None:
    parameter = Float(low, high, log=log)
    every = [low]
    while every[-1] < high:
        every.append(math.nextafter(every[-1], math.inf))
    assert parameter.size == len(every)
    assert parameter.options().tolist() == every
    space = Space({"x": parameter})
    found = {config["x"] for config in space.sample(500, seed=0)}
    assert found == set(every)
    V = np.array(every)[:, None]
    np.testing.assert_array_equal(space.checked(V, row_name="row"), V)


def test_a_search_in_a_range_of_few_floats_tries_them_all() -> None:
    every = Float(1, 1 + 1e-15).options().tolist()
    optimizer = hs.Optimizer(Space({"x": Float(1, 1 + 1e-15)}), n_init=2, seed=0)
    tried = []
    for _ in every:
        tried.append(optimizer.ask())
        optimizer.tell(tried[-1], tried[-1]["x"])
    assert sorted(config["x"] for config in tried) == every
    with pytest.raises(hs.errors.ExhaustedError):
        optimizer.ask()


@pytest.mark.parametrize("log", [False, True])
def test_integers_up_to_the_last_that_floats_have(log: bool) -> None:
    low = 1 if log else -(2**53)
    space = Space({"n": Int(low, 2**53, log=log)})
    for config in [{"n": low}, {"n": 2**53}, {"n": 2**53 - 1}, {"n": 12345678901234567 // 2}, {"n": 1}]:
        assert space.from_values(space.to_values(pd.DataFrame([config]))) == [config]
        assert space["n"].snap(np.array([float(config["n"])])).tolist() == [config["n"]]
    sample = [config["n"] for config in space.sample(200, seed=0)]
    assert len(set(sample)) > 100
    assert all(isinstance(n, int) and low <= n <= 2**53 for n in sample)
    with pytest.raises(SpaceError, match=r"must be within ±2\^53"):
        Int(0, 2**53 + 2)
    for value in (2**53 + 1, np.int64(2**53 + 1)):
        with pytest.raises(SpaceError, match=r"within ±2\^53, but got"):
            Int(0, value)


def test_a_range_wider_than_the_largest_number_is_searched_like_any_other():
    wide = Float(-1.7e308, 1.7e308)
    u = np.linspace(0, 1, 9)
    v = wide.from_unit(u)
    assert np.isfinite(v).all()
    assert (v[0], v[4], v[8]) == (-1.7e308, 0.0, 1.7e308)
    np.testing.assert_allclose(wide.to_unit(v), u, atol=1e-12)
    assert wide.contains(1.6e308)
    assert not wide.contains(1.79e308)
    optimizer = hs.Optimizer(Space({"x": wide, "y": Float(0, 1)}), n_init=3, seed=0)
    for _ in range(6):
        config = optimizer.ask()
        assert abs(config["x"]) <= 1.7e308
        optimizer.tell(config, abs(config["x"] / 1e308 - 0.5))
