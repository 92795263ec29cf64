"""The random forest: ties, and the settings it rejects."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.surrogates.base import Acquisition
from headstart.surrogates.forest import Forest
from related_tasks import candidates, model, trials


def test_a_forest_breaks_ties_by_distance() -> None:
    """After one trial, every tree predicts the same everywhere, so the farthest configuration comes next."""
    Z, losses = trials(1)
    score = model("rf").fit(Z, losses).score(candidates(), Acquisition())
    assert np.argmax(score) == np.argmax(np.linalg.norm(candidates() - Z[0], axis=1))


@pytest.mark.parametrize("trees", [1, 0, 2.5, True])
def test_a_spread_needs_two_trees(trees: object) -> None:
    with pytest.raises(ValueError, match="trees must be a whole number of at least 2"):
        Forest(trees=trees)  # type: ignore[arg-type]
