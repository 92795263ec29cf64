"""HeadstartPruner in real studies, and samplers beside pruners."""

from __future__ import annotations

import logging
import math
import pickle
from typing import Any

import numpy as np
import optuna
import pytest

import headstart as hs
from headstart.adapters.optuna.reservations import Others, counting, losses
from headstart.errors import ArgumentError, HistoryError
from past_studies import memory

LENGTH = 15


def objective(scale: float, direction: str = "minimize", seen: list[int] | None = None) -> Any:
    sign = 1.0 if direction == "minimize" else -1.0

    def run(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        value = math.nan
        for step in range(LENGTH):
            value = sign * scale * (x + (1 - x) * math.exp(-step / 3))
            trial.report(value, step)
            if trial.should_prune():
                if seen is not None:
                    seen.append(step + 1)
                raise optuna.TrialPruned
        if seen is not None:
            seen.append(LENGTH)
        return value

    return run


def studies(direction: str = "minimize", n: int = 5) -> Any:
    """Past studies that ran to the end, on scales of their own."""
    return memory(
        n=n,
        trials=12,
        direction=direction,
        objective=lambda i: objective(10.0**i, direction),
        pruner=optuna.pruners.NopPruner(),
    )


@pytest.fixture(scope="module")
def storage() -> Any:
    return studies()


def test_it_stops_what_cannot_win_and_keeps_what_does(storage: Any) -> None:
    seen: list[int] = []
    study = optuna.create_study(
        pruner=hs.optuna.HeadstartPruner(storage, rate=0.3), sampler=optuna.samplers.RandomSampler(seed=9)
    )
    study.optimize(objective(3.0, seen=seen), n_trials=20)
    xs = [trial.params["x"] for trial in study.trials]
    assert sum(seen) < 0.7 * 20 * LENGTH
    assert seen[int(np.argmin(xs))] == LENGTH
    assert study.best_params["x"] == min(xs)


def test_it_maximises(storage: Any) -> None:
    past = studies("maximize")
    seen: list[int] = []
    study = optuna.create_study(
        direction="maximize",
        pruner=hs.optuna.HeadstartPruner(past, rate=0.3),
        sampler=optuna.samplers.RandomSampler(seed=9),
    )
    study.optimize(objective(3.0, "maximize", seen=seen), n_trials=20)
    xs = [trial.params["x"] for trial in study.trials]
    assert sum(seen) < 0.7 * 20 * LENGTH
    assert seen[int(np.argmin(xs))] == LENGTH


def test_the_first_trial_of_a_study_is_stopped_if_it_goes_badly(storage: Any) -> None:
    study = optuna.create_study(pruner=hs.optuna.HeadstartPruner(storage, rate=0.3))
    study.enqueue_trial({"x": 1.0})
    study.enqueue_trial({"x": 0.02})
    study.optimize(objective(7.0), n_trials=2)
    assert [trial.state.name for trial in study.trials] == ["PRUNED", "COMPLETE"]


def test_evidence_and_copies(storage: Any) -> None:
    pruner = hs.optuna.HeadstartPruner(storage, rate=0.3)
    evidence = pruner.evidence()
    assert evidence.tasks == [f"past-{i}" for i in range(5)]
    copy = pickle.loads(pickle.dumps(hs.optuna.HeadstartPruner(hs.History.from_optuna(storage), rate=0.3)))
    np.testing.assert_array_equal(copy.evidence().wrong, evidence.wrong)


def test_a_new_study_is_no_part_of_its_past() -> None:
    storage = studies(n=4)
    pruner = hs.optuna.HeadstartPruner(storage, rate=0.3)
    study = optuna.load_study(study_name="past-3", storage=storage)
    assert pruner.evidence(study).tasks == ["past-0", "past-1", "past-2"]


def test_without_enough_curves_nothing_is_stopped(caplog: pytest.LogCaptureFixture) -> None:
    past = studies(n=2)
    study = optuna.create_study(pruner=hs.optuna.HeadstartPruner(past))
    with caplog.at_level(logging.WARNING, "headstart"):
        study.optimize(objective(1.0), n_trials=3)
    assert caplog.text.count("no trial will be stopped: the pruner needs at least 3 past tasks") == 1
    assert all(trial.state.name == "COMPLETE" for trial in study.trials)
    with pytest.raises(HistoryError, match="there are too few learning curves"):
        hs.optuna.HeadstartPruner(past).evidence()


def test_a_trial_that_reports_nothing_but_nan_is_stopped(storage: Any) -> None:
    study = optuna.create_study(pruner=hs.optuna.HeadstartPruner(storage))
    trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
    assert not trial.should_prune()
    trial.report(math.nan, 0)
    assert trial.should_prune()


def test_a_trial_that_diverges_is_stopped_at_its_second_nan(storage: Any) -> None:
    study = optuna.create_study(pruner=hs.optuna.HeadstartPruner(storage))
    study.enqueue_trial({"x": 0.01})
    trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
    stopped = []
    for step, value in enumerate((1.0, 0.05, math.nan, 0.04, math.nan, math.inf)):
        trial.report(value, step)
        stopped.append(trial.should_prune())
    assert stopped == [False] * 5 + [True]


@pytest.mark.parametrize("rate", [0, 1, -0.1, "often", True, math.nan])
def test_bad_rates(rate: Any) -> None:
    with pytest.raises(ArgumentError, match="rate must be a number between 0 and 1"):
        hs.optuna.HeadstartPruner(memory(n=1, trials=2), rate=rate)


def test_a_history_without_curves_is_refused() -> None:
    with pytest.raises(HistoryError, match="the history has no learning curves"):
        hs.optuna.HeadstartPruner(hs.library.load("svm"))


def test_a_sampler_knows_what_pruned_trials_reported() -> None:
    study = optuna.create_study()
    kinds = {"x": optuna.distributions.FloatDistribution(0, 1)}

    def add(x: float, value: float | None, reports: dict[int, float], state: str = "COMPLETE") -> None:
        study.add_trial(
            optuna.create_trial(
                params={"x": x},
                distributions=kinds,
                value=value,
                state=optuna.trial.TrialState[state],
                intermediate_values=reports,
            )
        )

    add(0.1, 1.0, {0: 4.0})
    add(0.2, 3.0, {0: 5.0})
    add(0.3, None, {0: 9.0, 1: 2.0}, "PRUNED")
    add(0.4, None, {0: 9.0}, "PRUNED")
    add(0.5, None, {0: 0.5}, "PRUNED")
    add(0.6, None, {}, "PRUNED")
    found = losses(counting(Others("minimize").of(study.trials, 99)))
    np.testing.assert_array_equal(found, [1.0, 3.0, 2.0, 3.0, 1.0, np.nan])


def test_sampler_and_pruner_work_together(storage: Any) -> None:
    study = optuna.create_study(
        sampler=hs.optuna.HeadstartSampler(storage, n_init=3, seed=0), pruner=hs.optuna.HeadstartPruner(storage)
    )
    study.optimize(objective(5.0), n_trials=6)
    assert study.best_params["x"] < 0.1


BESIDE = {
    "median": lambda past: optuna.pruners.MedianPruner(n_startup_trials=2),
    "percentile": lambda past: optuna.pruners.PercentilePruner(25, n_startup_trials=2),
    "patient": lambda past: optuna.pruners.PatientPruner(optuna.pruners.MedianPruner(n_startup_trials=2), 1),
    "halving": lambda past: optuna.pruners.SuccessiveHalvingPruner(min_resource=1),
    "hyperband": lambda past: optuna.pruners.HyperbandPruner(max_resource=LENGTH),
    "headstart": lambda past: hs.optuna.HeadstartPruner(past),
}


def together(past: Any, pruner: str, n: int = 8) -> optuna.Study:
    study = optuna.create_study(
        study_name="new", sampler=hs.optuna.HeadstartSampler(past, n_init=3, seed=0), pruner=BESIDE[pruner](past)
    )
    study.optimize(objective(5.0), n_trials=n)
    return study


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("pruner", list(BESIDE))
def test_the_sampler_beside_each_pruner(storage: Any, pruner: str) -> None:
    study, again = together(storage, pruner), together(storage, pruner)
    assert study.best_params["x"] < 0.1
    assert {trial.state.name for trial in study.trials} <= {"COMPLETE", "PRUNED"}
    assert [trial.params for trial in study.trials] == [trial.params for trial in again.trials]
    assert [trial.state for trial in study.trials] == [trial.state for trial in again.trials]


def test_hyperband_does_not_hide_the_trials_of_other_brackets_from_the_sampler(storage: Any) -> None:
    """Hyperband shows a sampler one bracket only, so a start would begin again in each of them."""
    starts = [together(storage, pruner, n=3) for pruner in ("hyperband", "median")]
    assert [t.params for t in starts[0].trials] == [t.params for t in starts[1].trials]


def test_a_pruned_trial_moves_the_sampler_as_a_complete_one_would(storage: Any) -> None:
    """Its last report counts, no better than the best complete trial and no worse than the worst."""
    kinds = {"x": optuna.distributions.FloatDistribution(0, 1)}

    def proposed(bad: Any) -> float:
        study = optuna.create_study(study_name="new", sampler=hs.optuna.HeadstartSampler(storage, n_init=1, seed=0))
        for x, value in ((0.8, 8.0), (0.5, 5.0)):
            study.add_trial(optuna.create_trial(params={"x": x}, distributions=kinds, value=value))
        study.add_trial(optuna.create_trial(params={"x": 0.02}, distributions=kinds, **bad))
        return float(study.ask(kinds).params["x"])

    pruned = proposed({"state": optuna.trial.TrialState.PRUNED, "intermediate_values": {0: 99.0, 3: 42.0}})
    assert pruned == proposed({"value": 8.0})
    assert pruned != proposed({"state": optuna.trial.TrialState.PRUNED})


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_the_pruner_judges_trials_of_several_threads(storage: Any) -> None:
    study = optuna.create_study(
        pruner=hs.optuna.HeadstartPruner(storage), sampler=optuna.samplers.RandomSampler(seed=9)
    )
    study.optimize(objective(3.0), n_trials=24, n_jobs=4)
    states = [trial.state.name for trial in study.trials]
    assert states.count("COMPLETE") >= 1
    assert states.count("PRUNED") >= 8


def test_a_study_of_unknown_configurations_is_judged_by_its_curves_alone(storage: Any) -> None:
    pruner = hs.optuna.HeadstartPruner(hs.History.from_optuna(storage))
    seen: list[int] = []
    study = optuna.create_study(pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=1))

    def renamed(trial: optuna.Trial) -> float:
        x = trial.suggest_float("width", 5.0, 6.0) - 5.0
        for step in range(LENGTH):
            trial.report(x + (1 - x) * math.exp(-step / 3), step)
            if trial.should_prune():
                seen.append(step + 1)
                raise optuna.TrialPruned
        seen.append(LENGTH)
        return x

    study.optimize(renamed, n_trials=20)
    assert 1 not in seen
    assert sum(seen) < 0.7 * 20 * LENGTH


def test_reports_with_gaps_out_of_order_and_of_different_lengths(storage: Any) -> None:
    study = optuna.create_study(pruner=hs.optuna.HeadstartPruner(storage))
    kinds = {"x": optuna.distributions.FloatDistribution(0, 1)}

    def run(x: float, reports: list[tuple[int, float]]) -> list[bool]:
        study.enqueue_trial({"x": x})
        trial, asked = study.ask(kinds), []
        for step, value in reports:
            trial.report(value, step)
            asked.append(trial.should_prune())
        study.tell(trial, reports[-1][1])
        return asked

    good = [(0, 1.0), (9, 0.06), (3, 0.3), (5, math.nan), (14, 0.05), (30, 0.05)]
    assert not any(run(0.02, good))
    assert not any(run(0.01, [(0, 1.0), (2, 0.01)]))
    for i in range(5):
        run(0.03 + i / 100, good)
    assert any(run(0.9, [(0, 1.0), (20, 0.95), (4, 0.97), (29, 0.94)]))
