"""What the name of a metric says about its direction."""

from __future__ import annotations

import pytest
from sklearn.metrics import get_scorer_names

from headstart._support.direction import direction_in


@pytest.mark.parametrize("name", get_scorer_names())
def test_every_scorer_of_scikit_learn_is_maximised(name: str) -> None:
    assert direction_in(name) == "maximize"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("AUC rocAuc val_accuracy R2 R² score f1-macro valid_0's_auc mean_test_score Kappa", "maximize"),
        ("error val_loss RMSE log_loss logloss brier_score neg_log_likelihood test-mae validationError", "minimize"),
        ("value y result metric objective", None),
        ("accuracy_loss auc_error", "unclear"),
    ],
)
def test_names_of_metrics(names: str, expected: str | None) -> None:
    assert {name: direction_in(name) for name in names.split()} == dict.fromkeys(names.split(), expected)
