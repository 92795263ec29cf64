"""The 22 meta-features: hand-computed values, invariances, other programs' values, and bad input."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import datasets

from headstart.datasets.features import FEATURE_NAMES, metafeatures

AUTHORS = Path(__file__).resolve().parents[3] / "shared" / "data" / "svm"
SHAPES = [name for name in FEATURE_NAMES if name.startswith(("kurtosis", "skewness"))]


def shapes(X: Any, y: Any = None) -> dict[str, float]:
    """Only the eight features that depend on the values in X."""
    found = metafeatures(X, [0] * X.shape[0] if y is None else y)
    return {name: found[name] for name in SHAPES}


def close(values: dict[str, float], rel: float = 1e-9, abs: float = 1e-12) -> Any:
    return pytest.approx(values, rel=rel, abs=abs)


@pytest.fixture
def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=60), rng.exponential(size=60), rng.integers(0, 3, 60), rng.random(60)])
    return X, rng.choice(["a", "b", "c"], 60, p=[0.6, 0.3, 0.1])


# --- worked out by hand -----------------------------------------------------------------------------------


def test_a_tiny_table_worked_out_by_hand() -> None:
    X = [[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [4.0, 4.0]]
    found = metafeatures(X, ["yes", "no", "yes", "yes"])

    # Column 0: mean 1, deviations -1, -1, -1, 3.
    m2, m3, m4 = (1 + 1 + 1 + 9) / 4, (-1 - 1 - 1 + 27) / 4, (1 + 1 + 1 + 81) / 4
    skewness_0, kurtosis_0 = m3 / m2**1.5, m4 / m2**2 - 3  # 2/√3 and -2/3
    # Column 1: mean 2.5, deviations ±1.5, ±0.5.
    m2, m4 = (2 * 2.25 + 2 * 0.25) / 4, (2 * 5.0625 + 2 * 0.0625) / 4
    skewness_1, kurtosis_1 = 0.0, m4 / m2**2 - 3  # -1.36

    assert found == close(
        {
            "number_of_classes": 2,
            "number_of_instances": 4,
            "log_number_of_instances": math.log(4),
            "number_of_features": 2,
            "log_number_of_features": math.log(2),
            "dataset_dimensionality": 2 / 4,
            "log_dataset_dimensionality": math.log(2 / 4),
            "inverse_dataset_dimensionality": 4 / 2,
            "log_inverse_dataset_dimensionality": math.log(4 / 2),
            "class_cross_entropy": -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25)),
            "class_probability_min": 1 / 4,
            "class_probability_max": 3 / 4,
            "class_probability_mean": 1 / 2,
            "class_probability_std": 1 / 4,
            "kurtosis_min": kurtosis_1,
            "kurtosis_max": kurtosis_0,
            "kurtosis_mean": (kurtosis_0 + kurtosis_1) / 2,
            "kurtosis_std": (kurtosis_0 - kurtosis_1) / 2,
            "skewness_min": skewness_1,
            "skewness_max": skewness_0,
            "skewness_mean": skewness_0 / 2,
            "skewness_std": skewness_0 / 2,
        }
    )
    assert skewness_0 == pytest.approx(2 / math.sqrt(3))
    assert (kurtosis_0, kurtosis_1) == pytest.approx((-2 / 3, -1.36))


def test_the_names_are_those_of_the_table_in_its_order() -> None:
    found = metafeatures([[1.0], [2.0]], [0, 1])
    assert tuple(found) == FEATURE_NAMES
    assert len(set(FEATURE_NAMES)) == 22
    assert all(type(value) is float for value in found.values())


def test_equal_classes_have_an_entropy_of_log2_of_their_number() -> None:
    X = np.arange(24.0)[:, None]
    for k in (1, 2, 3, 8):
        assert metafeatures(X, np.arange(24) % k)["class_cross_entropy"] == pytest.approx(math.log2(k))


# --- the same data set in other forms ---------------------------------------------------------------------


def test_the_order_of_rows_and_columns_does_not_matter(table: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = table
    rows = np.random.default_rng(1).permutation(len(X))
    straight, shuffled = metafeatures(X, y), metafeatures(X[rows][:, ::-1], y[rows])
    assert shuffled == close(straight)
    assert [shuffled[name] for name in FEATURE_NAMES[:14]] == [straight[name] for name in FEATURE_NAMES[:14]]


def test_the_names_of_the_classes_do_not_matter(table: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = table
    number = {"a": 2, "b": 0, "c": 1}
    renamed = [number[label] for label in y]
    expected = metafeatures(X, y)
    categories = pd.Categorical(y, categories=["unused", "c", "b", "a"])
    for labels in (
        renamed,
        tuple(renamed),
        np.array(renamed),
        np.array(renamed, dtype=np.float16),
        np.array(renamed)[:, None],
        pd.Series(renamed, index=range(7, 67), dtype="Int64"),
        pd.Series(y, dtype="string"),
        pd.DataFrame({"target": y}),
        pd.Index(y),
        categories,
        pd.Series(categories),
        y.astype("S"),
        y.astype(object),
        list(y),
        [f"class {label}" for label in y],
        np.array(renamed).astype("datetime64[D]"),
    ):
        assert metafeatures(X, labels) == expected


@pytest.mark.parametrize(("scale", "shift"), [(3.0, -7.0), (1e-150, 0.0), (1e300, 1e299), (0.5, 1e4)])
def test_units_do_not_matter(table: tuple[np.ndarray, np.ndarray], scale: float, shift: float) -> None:
    X, y = table
    assert metafeatures(X * scale + shift, y) == close(metafeatures(X, y), rel=1e-6, abs=1e-9)


def test_a_mirrored_column_has_the_opposite_skewness(table: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = table
    straight, mirrored = shapes(X), shapes(-X)
    for name in ("kurtosis_min", "kurtosis_max", "kurtosis_mean", "kurtosis_std", "skewness_std"):
        assert mirrored[name] == pytest.approx(straight[name])
    assert mirrored["skewness_mean"] == pytest.approx(-straight["skewness_mean"])
    assert mirrored["skewness_max"] == pytest.approx(-straight["skewness_min"])


def test_lists_frames_and_dtypes_agree_with_the_array() -> None:
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (40, 3)) * np.array([1, 1, 1])
    X[0], X[1] = 0, 1
    expected = shapes(X.astype(float))
    for other in (
        X.astype(np.int8),
        X.astype(np.uint64),
        X.astype(bool),
        X.astype(np.float16),
        X.astype(np.longdouble),
        X.astype(object),
        np.asfortranarray(X),
        np.ma.MaskedArray(X, mask=False),
        pd.DataFrame(X),
        pd.DataFrame(X).astype("boolean"),
        pd.DataFrame(X).astype({0: bool, 1: "Int16", 2: "Float32"}),
        pd.DataFrame(X).astype({0: bool, 1: "int64[pyarrow]", 2: "uint64"}),
        pd.DataFrame(X).astype(pd.SparseDtype("int64", 0)),
        pd.DataFrame(X).map(lambda cell: Decimal(int(cell))),
        pd.DataFrame(X).map(lambda cell: Fraction(int(cell))),
        pd.DataFrame(X, columns=["same", "same", "same"]),
        X.astype("datetime64[s]"),
        pd.DataFrame(X.astype("timedelta64[s]")),
        pd.DataFrame(X.astype("datetime64[s]")).apply(lambda column: column.dt.tz_localize("Europe/Berlin")),
    ):
        assert shapes(other) == close(expected)
    assert metafeatures(X.tolist(), X[:, 0]) == close(metafeatures(X, X[:, 0]))


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "coo_array", "lil_array", "bsr_matrix"])
def test_sparse_equals_dense(form: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 8)) * (rng.random((50, 8)) < 0.2) * 10.0 ** rng.integers(-200, 200, 8)
    X[:, 1] = 0  # empty
    X[:, 2] = 5  # full and constant
    X[:, 3] = rng.normal(size=50) + 10  # full, and zero is not its minimum
    X[:3, 4] = np.nan
    X[:, 5] = np.nan
    y = rng.integers(0, 3, 50)
    assert metafeatures(getattr(sp, form)(X), y) == close(metafeatures(X, y))


def test_sparse_duplicates_are_summed_and_the_matrix_is_left_alone() -> None:
    data, rows, starts = np.array([1.0, 2.0, 4.0, 0.0]), np.array([0, 0, 2, 1]), np.array([0, 3, 4])
    X = sp.csc_matrix((data, rows, starts), shape=(4, 2))
    assert shapes(X) == close(shapes(np.array([[3.0, 0], [0, 0], [4, 0], [0, 0]])))
    assert X.nnz == 4


def test_a_sparse_matrix_is_never_made_dense() -> None:
    X = sp.random_array((10**6, 10**6), density=1e-8, rng=np.random.default_rng(0), format="csr")  # 8 TB if dense
    found = metafeatures(X, np.zeros(10**6))
    assert all(map(math.isfinite, found.values()))
    assert found["kurtosis_max"] == pytest.approx(10**6, rel=1e-3)  # one cell in a million


def test_blocks_of_columns_agree_with_the_whole() -> None:
    X = np.random.default_rng(4).exponential(size=(300, 4000))  # more cells than one block
    g1, g2 = scipy.stats.skew(X), scipy.stats.kurtosis(X)
    expected = {
        f"{name}_{part}": getattr(values, part)()
        for name, values in (("kurtosis", g2), ("skewness", g1))
        for part in ("min", "max", "mean", "std")
    }
    assert shapes(X) == close(expected)
    assert shapes(pd.DataFrame(X)) == close(expected)


def test_the_input_is_not_changed(table: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = np.asfortranarray(table[0]), table[1]
    X[0, 0] = np.nan
    before, frame = X.copy(), pd.DataFrame(X.copy(order="F"))
    metafeatures(X, y)
    metafeatures(frame, y)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(frame.to_numpy(), before)


# --- categories and missing values ------------------------------------------------------------------------


def test_categories_have_the_shape_of_their_one_hot_encoding() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {"x": rng.normal(size=80), "colour": rng.choice(list("rgb"), 80), "size": rng.choice(list("sl"), 80)}
    )
    encoded = pd.get_dummies(frame, dtype=float)
    assert encoded.shape[1] == 6
    expected = shapes(encoded)
    for dtype in ("object", "string", "category", "string[pyarrow]"):
        assert shapes(frame.astype({"colour": dtype, "size": dtype})) == close(expected)
    assert shapes(frame.to_numpy(dtype=object)) == close(expected)
    assert metafeatures(frame, frame["size"])["number_of_features"] == 3
    text = frame[["colour", "size"]].to_numpy(dtype="U1")
    assert shapes(text) == close(shapes(encoded.drop(columns="x")))


def test_numbers_declared_categorical_are_categories() -> None:
    frame = pd.DataFrame({"code": pd.Categorical([10, 20, 20, 30, 10, 20], categories=[10, 20, 30, 40])})
    assert shapes(frame) == close(shapes(pd.get_dummies(frame["code"].astype(str), dtype=float)))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_cells_are_ignored_column_by_column(missing: Any) -> None:
    whole = pd.DataFrame({"x": [1.0, 2.0, 2.0, 7.0], "c": ["u", "v", "v", "v"]})
    gaps = pd.DataFrame({"x": [1.0, missing, 2.0, 2.0, 7.0, missing], "c": ["u", "v", "v", missing, missing, "v"]})
    for frame in (gaps, gaps.astype(object), gaps.astype({"c": "category"}), gaps.convert_dtypes()):
        assert shapes(frame) == close(shapes(whole))
    assert shapes(gaps.to_numpy(dtype=object)) == close(shapes(whole))
    assert shapes(np.array(gaps.astype(object).to_numpy().tolist(), dtype=object)) == close(shapes(whole))


def test_a_nested_list_keeps_missing_text_apart_from_text() -> None:
    found = metafeatures([["u", 1.0], [None, 2.0], ["u", math.nan], ["v", 9.0]], [0, 0, 1, 1])
    assert found["kurtosis_max"] == pytest.approx(-1.5)  # of u, u, v as of any three numbers


def test_masked_cells_are_missing() -> None:
    X = np.array([[1.0], [2.0], [99.0], [2.0], [7.0]])
    assert shapes(np.ma.MaskedArray(X, mask=X == 99)) == close(shapes(X[X != 99][:, None]))
    with pytest.raises(ValueError, match="lacks 1 of 5 labels"):
        metafeatures(X, np.ma.MaskedArray([1, 2, 3, 4, 5], mask=[False, False, True, False, False]))


def test_missing_dates_are_missing() -> None:
    dates = np.array(["2020-01-01", "NaT", "2020-01-02", "2020-01-02", "2020-01-07"], dtype="datetime64[ns]")
    expected = shapes(np.array([[1.0], [2.0], [2.0], [7.0]]))
    assert shapes(dates[:, None]) == close(expected)
    naive = pd.Series(dates)
    local = naive.dt.tz_localize("Europe/Lisbon")
    arrow = local.astype(pd.ArrowDtype(pa.timestamp("ns", "Europe/Lisbon")))
    for day in (naive, local, arrow, naive.astype("date32[pyarrow]"), naive.astype("timestamp[ns][pyarrow]")):
        assert shapes(pd.DataFrame({"day": day})) == close(expected)


# --- degenerate data sets ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        np.ones((5, 3)),
        np.full((5, 1), np.nan),
        np.full((5, 1), 1e300),
        np.full((5, 2), None),
        np.array([[0.1 + 0.2], [0.3], [0.3], [0.3], [0.1 + 0.2]]),  # constant but for rounding
        pd.DataFrame({"c": ["same"] * 5, "empty": [None] * 5, "none": pd.Categorical([None] * 5)}),
        sp.csr_array((5, 4)),
        np.array([[np.nan], [np.nan], [3.0], [np.nan], [np.nan]]),
    ],
)
def test_columns_without_two_values_have_no_shape(X: Any) -> None:
    assert shapes(X) == dict.fromkeys(SHAPES, 0.0)
    varied = np.arange(5.0)[:, None] ** 2
    if isinstance(X, np.ndarray):
        assert shapes(np.hstack([X, varied])) == close(shapes(varied))


def test_one_row_one_column_one_class() -> None:
    found = metafeatures([[3.0]], ["only"])
    ones = {
        "number_of_classes",
        "number_of_instances",
        "number_of_features",
        "dataset_dimensionality",
        "inverse_dataset_dimensionality",
        "class_probability_min",
        "class_probability_max",
        "class_probability_mean",
    }
    assert found == {name: float(name in ones) for name in FEATURE_NAMES}
    assert all(math.copysign(1, value) == 1 for value in found.values())  # no -0.0 either


def test_extreme_magnitudes() -> None:
    column = np.array([0.0, 1.0, 1.0, 4.0])
    expected = shapes(column[:, None])
    largest = np.finfo(float).max
    for scale in (1e300, largest / 4, 1e-300, 1e-318):
        assert shapes(column[:, None] * scale) == close(expected, rel=1e-4)
    assert shapes(np.array([[-largest], [largest]])) == close(shapes(np.array([[0.0], [1.0]])))
    assert shapes(np.array([[1e300, 1e-300], [1.0, 0.0], [0.0, 0.0]])) == close(
        shapes(np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]))
    )
    assert shapes(np.array([[10**400 // 10**100], [0], [0]], dtype=object)) == close(
        shapes(np.array([[1.0], [0.0], [0.0]]))
    )


def test_strict_floating_point_settings_of_the_caller_do_not_matter() -> None:
    X = np.array([[0.0, 1e-300, np.nan], [1e-300, 2e-300, 1.0], [0.0, -1e308, 2.0], [1e300, 1e308, 5.0]])
    with np.errstate(all="raise"):
        for given_X in (X, sp.csc_array(X), pd.DataFrame(X)):
            assert all(map(math.isfinite, metafeatures(given_X, [0, 1, 0, 1]).values()))


cells = st.one_of(
    st.floats(allow_nan=True, allow_infinity=False),
    st.sampled_from([0.0, 1.0, math.nan, 1e300, -1e300, 5e-324, 0.1]),
)


@settings(max_examples=150, deadline=None, database=None)
@given(data=st.data(), n=st.integers(1, 8), d=st.integers(1, 4))
def test_any_table_gives_22_finite_numbers(data: st.DataObject, n: int, d: int) -> None:
    X = data.draw(hnp.arrays(np.float64, (n, d), elements=cells))
    y = data.draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=n, max_size=n))
    found = metafeatures(X, y)
    assert tuple(found) == FEATURE_NAMES
    assert all(map(math.isfinite, found.values()))
    assert found["kurtosis_min"] >= -2 - 1e-9  # of any distribution
    assert found["kurtosis_max"] <= n
    assert found["class_probability_mean"] == pytest.approx(1 / found["number_of_classes"])
    for summary in ("class_probability", "kurtosis", "skewness"):
        low, high, mean, std = (found[f"{summary}_{part}"] for part in ("min", "max", "mean", "std"))
        slack = 1e-9 * (1 + abs(low) + abs(high))
        assert low - slack <= mean <= high + slack
        assert 0 <= std <= (high - low) / 2 + slack
    assert metafeatures(sp.csr_array(X), y) == close(found, rel=1e-6, abs=1e-6)


mixed = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=2), st.just(pd.NA), st.just(math.nan))


@settings(max_examples=75, deadline=None, database=None)
@given(
    columns=st.integers(1, 6).flatmap(
        lambda n: st.lists(st.lists(mixed, min_size=n, max_size=n), min_size=1, max_size=3)
    )
)
def test_any_mixed_frame_gives_22_finite_numbers(columns: list[list[Any]]) -> None:
    frame = pd.DataFrame({j: pd.Series(column, dtype=object) for j, column in enumerate(columns)})
    found = metafeatures(frame, np.zeros(len(frame)))
    assert all(map(math.isfinite, found.values()))


# --- other people's values --------------------------------------------------------------------------------

REAL = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}


def real(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = REAL[name](return_X_y=True)
    return X, y


@pytest.mark.parametrize("name", REAL)
def test_agrees_with_pymfe(name: str) -> None:
    mfe = pytest.importorskip("pymfe.mfe", reason="pymfe is not installed")
    X, y = real(name)
    X = X[:, np.ptp(X, axis=0) > 0]  # pymfe answers NaN as soon as one column is constant
    same = {
        "number_of_classes": "nr_class",
        "number_of_instances": "nr_inst",
        "number_of_features": "nr_attr",
        "dataset_dimensionality": "attr_to_inst",
        "inverse_dataset_dimensionality": "inst_to_attr",
        "class_cross_entropy": "class_ent",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pymfe's own
        extractor = mfe.MFE(
            features=[*same.values(), "freq_class", "kurtosis", "skewness"],
            summary=["min", "max", "mean", "sd"],
        )
        extractor.fit(X, y, transform_num=False)
        # method 1: moments divided by n; pymfe's default (3) puts the sample variance in the denominator
        theirs = dict(zip(*extractor.extract(kurtosis={"method": 1}, skewness={"method": 1}), strict=True))

    found = metafeatures(X, y)
    for ours, other in (("class_probability", "freq_class"), ("kurtosis", "kurtosis"), ("skewness", "skewness")):
        same |= {f"{ours}_{part}": f"{other}.{part}" for part in ("min", "max", "mean")}
        k = len(np.unique(y)) if ours == "class_probability" else X.shape[1]
        population = math.sqrt((k - 1) / k)  # pymfe's sd divides by k - 1
        assert found[f"{ours}_std"] == pytest.approx(theirs[f"{other}.sd"] * population, abs=1e-12)
    assert {name: found[name] for name in same} == close({name: theirs[same[name]] for name in same})


@pytest.mark.parametrize("name", REAL)
def test_agrees_with_scipy(name: str) -> None:
    X, y = real(name)
    varies = np.ptp(X, axis=0) > 0
    g1, g2 = scipy.stats.skew(X[:, varies]), scipy.stats.kurtosis(X[:, varies])
    found = metafeatures(X, y)
    for ours, values in (("skewness", g1), ("kurtosis", g2)):
        for part in ("min", "max", "mean", "std"):
            assert found[f"{ours}_{part}"] == pytest.approx(getattr(values, part)())
    assert found["class_cross_entropy"] == pytest.approx(scipy.stats.entropy(np.bincount(y), base=2))


def test_agrees_with_the_authors_scaled_values() -> None:
    """Their values are scaled to [0, 1] over 50 data sets and come from an 80 % sample of the rows.

    What does not depend on the sample must agree exactly after the same scaling: the number of features
    lies between 2 (banana) and 2,000 (colon-cancer), that of classes between 2 and 28 (abalone).
    """
    if not AUTHORS.is_dir():
        pytest.skip("the authors' SVM files are not here")

    def theirs(name: str) -> list[float]:
        return [float(cell) for cell in (AUTHORS / name).read_text().split("\n", 1)[0].split()[7:]]

    for ours, name in (("wine", "wine"), ("breast cancer", "wdbc")):
        found, cells = metafeatures(*real(ours)), theirs(name)
        assert (found["number_of_classes"] - 2) / 26 == pytest.approx(cells[1])
        assert (found["class_probability_mean"] - 1 / 28) / (1 / 2 - 1 / 28) == pytest.approx(cells[4])
        assert (found["number_of_features"] - 2) / 1998 == pytest.approx(cells[8])
        assert (found["log_number_of_features"] - math.log(2)) / math.log(1000) == pytest.approx(cells[9])


# --- bad input --------------------------------------------------------------------------------------------

LABELS = [0, 1, 0]
GOOD = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (GOOD[:, 0], LABELS, r"2 dimensions.*got shape \(3,\).*reshape"),
        (pd.Series([1.0, 2.0, 3.0]), LABELS, r"2 dimensions"),
        (GOOD[None], LABELS, r"2 dimensions.*\(1, 3, 2\)"),
        (3.0, LABELS, r"2 dimensions.*\(\)"),
        (None, LABELS, r"2 dimensions"),
        (np.empty((0, 2)), [], r"at least one row.*\(0, 2\)"),
        (pd.DataFrame(index=range(3)), LABELS, r"at least one row.*\(3, 0\)"),
        (sp.csr_array((0, 2)), [], r"at least one row"),
        ([], [], r"2 dimensions|at least one row"),
        ([[1.0, 2.0], [3.0]], [0, 1], r"X must have rows of equal length"),
        (GOOD, [0, 1], r"3 rows and 2 labels"),
        (GOOD, [], r"3 rows and 0 labels"),
        (sp.csr_array(GOOD), [0, 1], r"3 rows and 2 labels"),
        (GOOD, [0, None, 1], r"lacks 1 of 3 labels"),
        (GOOD, [0, math.nan, math.nan], r"lacks 2 of 3 labels"),
        (GOOD, ["a", math.nan, "b"], r"lacks 1 of 3 labels"),
        (GOOD, pd.Series([0, None, 1], dtype="Int64"), r"lacks 1 of 3 labels"),
        (GOOD, pd.Categorical(["a", None, "b"]), r"lacks 1 of 3 labels"),
        (GOOD, pd.array([True, pd.NA, False]), r"lacks 1 of 3 labels"),
        (GOOD, np.array(["2020", "NaT", "2021"], dtype="datetime64[D]"), r"lacks 1 of 3 labels"),
        (GOOD, GOOD, r"one label per row.*\(3, 2\)"),
        (GOOD, pd.DataFrame(GOOD), r"one label per row.*\(3, 2\)"),
        (GOOD, 1, r"one label per row.*\(\)"),
        (GOOD, np.array([1j, 2, 3]), r"complex"),
        (GOOD, [{}, {}, {}], r"hashable"),
        (GOOD, pd.Series([[1], [2], [3]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))), r"hashable"),
        (GOOD + 1j, LABELS, r"column 0 of X.*complex128"),
        (pd.DataFrame({"z": [1j, 2, 3]}), LABELS, r"column 'z' of X.*complex128"),
        (np.array([[1], [2j], [3]], dtype=object), LABELS, r"column 0 of X.*complex"),
        (sp.csr_array(GOOD + 1j), LABELS, r"sparse X must hold real numbers.*complex128"),
        (np.array([[1.0, 2.0], [3.0, np.inf], [1.0, -np.inf]]), LABELS, r"column 1 of X holds 2 infinite.*row 1"),
        (pd.DataFrame({"ok": [1, 2, 3], "bad": [1, 2, -np.inf]}), LABELS, r"column 'bad' of X holds 1 inf.*row 2"),
        (pd.DataFrame({"t": list("abc"), "bad": [1, 2, np.inf]}), LABELS, r"column 'bad' of X holds 1 inf.*row 2"),
        (np.array([[1], [None], [math.inf]], dtype=object), LABELS, r"column 0 of X holds 1 infinite.*row 2"),
        (sp.csr_array([[1.0, 0], [0, np.inf], [np.inf, np.inf]]), LABELS, r"column 0 of X holds 1 inf.*row 2"),
        (np.array([[1], [2], [np.longdouble("1e400")]]), LABELS, r"column 0 of X holds 1 infinite.*row 2"),
        (np.array([[1], [2], [10**400]], dtype=object), LABELS, r"column 0 of X.*too large"),
        (pd.DataFrame({"l": [[1], [2], [3]]}), LABELS, r"column 'l' of X must hold.*unhashable"),
        (np.zeros((3, 1), dtype="i4,f8"), LABELS, r"column 0 of X must hold"),
    ],
)
def test_bad_input_is_rejected_with_the_reason(X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metafeatures(X, y)


def test_importing_the_module_loads_neither_pandas_nor_scipy() -> None:
    code = "import sys, headstart.datasets.features; print(sorted({'pandas', 'scipy', 'sklearn'} & set(sys.modules)))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert answer.stdout.strip() == "[]"
