"""Optuna's own tests for samplers, run on ours: without a past, and with one that has some of the parameters."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import headstart as hs

optuna = pytest.importorskip("optuna", reason="Optuna is not installed")
suite = pytest.importorskip("optuna.testing.pytest_samplers", reason="this version of Optuna ships no sampler tests")

optuna.logging.set_verbosity(optuna.logging.ERROR)


def past() -> optuna.storages.BaseStorage:
    """Studies with two parameters that the suite's objectives suggest, too, but with other ranges."""
    storage = optuna.storages.InMemoryStorage()
    for i in range(3):
        study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=i))
        study.optimize(
            lambda trial, i=i: (trial.suggest_float("x", -5, 5) - i) ** 2 + trial.suggest_float("y", 0, 1), n_trials=8
        )
    return storage


PASTS = {"without": None, "with": past()}


class TestConformance(suite.BasicSamplerTestCase, suite.RelativeSamplerTestCase, suite.SingleOnlySamplerTestCase):
    @pytest.fixture(params=list(PASTS))
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], optuna.samplers.BaseSampler]:
        return lambda: hs.optuna.HeadstartSampler(PASTS[request.param], seed=0, n_init=3)
