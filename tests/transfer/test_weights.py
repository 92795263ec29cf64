"""Weights of past tasks by ranks and by meta-features."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.errors import ArgumentError
from headstart.transfer.models import TaskModels
from headstart.transfer.weights import feature_vectors, feature_weights, has_features, rank_weights
from histories import FLAT, make


def test_tasks_that_rank_the_results_like_the_new_one_weigh_more():
    F = np.array([[0.1, 0.9, 0.5], [0.5, 0.5, 0.5], [0.9, 0.1, 0.5]])  # the same order, reversed, constant
    w = rank_weights(F, np.array([1.0, 2.0, 3.0]))
    assert w.sum() == pytest.approx(1)
    assert w[0] > w[2] > w[1]
    np.testing.assert_allclose(rank_weights(F, np.array([1.0, 2.0, 3.0])), rank_weights(F, np.array([0.0, 5.0, 1e9])))
    np.testing.assert_allclose(rank_weights(F[:1], np.array([1.0])), 1 / 3)  # a single result has no order
    np.testing.assert_allclose(rank_weights(F, np.full(3, 2.0)), 1 / 3)  # nor have ties


def test_features_that_determine_the_surface_take_the_weight_and_noise_does_not():
    rng = np.random.default_rng(0)
    M = rng.random((30, 1)) * 2 - 1  # (T, 1), the place of each task's optimum
    grid = np.linspace(-1, 1, 25)
    F = (grid[:, None] - M[:, 0]) ** 2  # (m, T)
    w = feature_weights(F, M, np.array([0.3]))
    assert w.sum() == pytest.approx(1)
    truth = (grid - 0.3) ** 2
    assert np.abs(F @ w - truth).max() < 0.3 * np.abs(F.mean(axis=1) - truth).max()
    noise = feature_weights(F, rng.normal(size=(30, 3)), np.zeros(3))
    assert np.abs(noise - 1 / 30).max() < 0.1


def test_few_tasks_and_unknown_features_get_equal_weights():
    rng = np.random.default_rng(0)
    F, M = rng.random((10, 6)), rng.random((6, 1))
    np.testing.assert_array_equal(feature_weights(F[:, :3], M[:3], M[0]), 1 / 3)
    M[2] = np.nan
    np.testing.assert_array_equal(feature_weights(F, M, M[0]), 1 / 6)


def test_a_missing_meta_feature_is_an_error_with_a_remedy():
    models = TaskModels(make(FLAT, tasks=3), rng=np.random.default_rng(0))
    assert has_features(models, {"centre": 0.5})
    assert not has_features(models, {"unknown": 0.5})
    assert not has_features(models, None)
    with pytest.raises(ArgumentError) as caught:
        feature_vectors(models, None)
    assert str(caught.value) == (
        "this method needs the new task's meta-features; pass features=hs.metafeatures(X, y), "
        "or choose a method that does without, such as 'auto', 'li' or 'ali'"
    )
    assert caught.value.remedy.arguments == ["features"]
