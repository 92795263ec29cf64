"""HeadstartSampler on real studies: the start, changed and conditional spaces, states of trials, bad input."""

from __future__ import annotations

import logging
import math
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headstart as hs

optuna = pytest.importorskip("optuna", reason="Optuna is not installed")

from optuna.trial import TrialState  # noqa: E402

from headstart.adapters.optuna.reservations import Others, Reservation, counting, losses  # noqa: E402
from past_studies import memory, svm  # noqa: E402
from program import headstart, one_line  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)

PAST = memory(n=4, trials=15)
HISTORY = hs.History.from_optuna(PAST)
START = hs.learn(HISTORY, n=4)
OBJECTIVE = svm(1.2)


def run(
    past: Any = PAST,
    objective: Any = OBJECTIVE,
    trials: int = 12,
    *,
    study: dict[str, Any] | None = None,
    **settings: Any,
) -> optuna.Study:
    sampler = hs.optuna.HeadstartSampler(past, **{"seed": 0, "n_init": 5, **settings})
    made = optuna.create_study(sampler=sampler, **(study or {}))
    made.optimize(objective, n_trials=trials)
    return made


def params(study: optuna.Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def tags(study: optuna.Study) -> list[int | None]:
    return [trial.user_attrs.get("headstart:start") for trial in study.trials]


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


# -- the search is the optimiser's -----------------------------------------------------------------------------


def test_the_sampler_searches_as_the_optimizer_does() -> None:
    """Optuna does not change the proposals."""
    study = run(HISTORY, trials=14)
    optimizer = hs.Optimizer(HISTORY.space, HISTORY, n_init=5, seed=0)
    for trial in study.trials:
        config = optimizer.ask()
        assert trial.params == config
        optimizer.tell(config, trial.value)
    assert tags(study) == [0, 1, 2, 3, 4] + [None] * 9


def test_a_storage_a_history_and_a_list_of_studies_give_the_same_search() -> None:
    reference = params(run(HISTORY, trials=7))
    studies = [optuna.load_study(study_name=name, storage=PAST) for name in HISTORY.tasks]
    for past in (PAST, studies):
        assert params(run(past, trials=7)) == reference


def test_a_given_start_is_followed_and_then_searched_on() -> None:
    study = run(START, n_init=None, trials=7)
    assert params(study)[:4] == START.configs
    assert tags(study) == [0, 1, 2, 3, None, None, None]
    both = run(HISTORY, init=START, n_init=None, trials=6)
    assert params(both)[:4] == START.configs
    assert params(both)[4:] != params(study)[4:6]  # the surrogate still uses the history
    assert tags(run(START, n_init=2, trials=3)) == [0, 1, None]


def test_the_start_beats_a_cold_search_on_a_task_like_the_past_ones() -> None:
    cold = run(None, trials=5)
    assert min(t.value for t in run(trials=5).trials) < min(t.value for t in cold.trials) / 3


def test_a_study_that_maximises() -> None:
    storage = memory(n=4, trials=15, direction="maximize")
    up = run(storage, svm(1.2, direction="maximize"), trials=10, study={"direction": "maximize"})
    assert params(up) == params(run(trials=10))


def test_the_seed_decides_and_by_default_the_name_of_the_study() -> None:
    assert params(run(None, seed=1)) == params(run(None, seed=1))
    assert params(run(None, seed=1)) != params(run(None, seed=2))
    named = [run(None, seed=None, trials=4, study={"study_name": name}) for name in ("a", "a", "b")]
    assert params(named[0]) == params(named[1]) != params(named[2])


def test_only_the_study_itself_is_excluded_from_the_past_studies(tmp_path: Path) -> None:
    storage = memory(n=3, trials=10)
    fresh = run(hs.History.from_optuna(storage), trials=4)
    mine = optuna.create_study(storage=storage, study_name="mine", sampler=optuna.samplers.RandomSampler(seed=9))
    mine.optimize(svm(5.0), n_trials=3)
    mine.sampler = hs.optuna.HeadstartSampler(storage, n_init=5, seed=0)
    mine._storage.delete_study(mine._study_id)
    again = optuna.create_study(storage=storage, study_name="mine", sampler=mine.sampler)
    again.optimize(svm(1.2), n_trials=4)
    assert params(again) == params(fresh)


def test_a_study_of_the_same_name_in_another_storage_is_used() -> None:
    study = optuna.create_study(study_name="past-0", sampler=hs.optuna.HeadstartSampler(PAST, seed=0, n_init=5))
    study.optimize(svm(1.2), n_trials=4)
    assert params(study) == params(run(trials=4))


def test_a_resumed_study_continues_where_it_was(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    whole = run(HISTORY, trials=8, study={"study_name": "x"})
    for _ in range(2):
        sampler = hs.optuna.HeadstartSampler(HISTORY, n_init=5, seed=0)
        study = optuna.create_study(storage=url, study_name="x", load_if_exists=True, sampler=sampler)
        study.optimize(svm(1.2), n_trials=4)
    assert params(study) == params(whole)


def test_one_sampler_serves_one_study_after_another() -> None:
    sampler = hs.optuna.HeadstartSampler(HISTORY, n_init=5, seed=0)
    for _ in range(2):
        study = optuna.create_study(sampler=sampler)
        study.optimize(svm(1.2), n_trials=6)
        assert params(study) == params(run(HISTORY, trials=6))


def test_a_copied_sampler_makes_the_same_proposals() -> None:
    sampler = hs.optuna.HeadstartSampler(HISTORY, n_init=5, seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(svm(1.2), n_trials=3)
    study.sampler = pickle.loads(pickle.dumps(sampler))
    study.optimize(svm(1.2), n_trials=4)
    assert params(study) == params(run(HISTORY, trials=7))


def test_features_come_from_the_study_unless_they_are_given() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    storage = memory(n=3, trials=10)
    for i in range(3):
        hs.optuna.describe(optuna.load_study(study_name=f"past-{i}", storage=storage), X + i, y)
    sampler = hs.optuna.HeadstartSampler(storage, init="nbi", n_init=2, seed=0)
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(ValueError, match="needs the new task's meta-features"):
        study.ask()
    study = optuna.create_study(sampler=sampler)
    features = hs.optuna.describe(study, X + 2, y)
    study.optimize(svm(1.2), n_trials=2)
    assert params(study) == params(run(storage, init="nbi", n_init=2, features=features, trials=2))


def test_every_trial_says_what_it_was_chosen_for_and_which_past_tasks_spoke_for_it() -> None:
    """In a user attribute, which is what Optuna's dashboard shows."""
    study = run(trials=4, n_init=2)
    first, *later = [trial.user_attrs["headstart:why"] for trial in study.trials]
    assert first == (
        "Chosen for its average over the past tasks. No result yet: all 4 past tasks count, each with its share."
    )
    for results, why in enumerate(later, start=1):
        shown = rf"Chosen for its expected improvement\. After {results} results?, the .*past-\d \(\d+%\).*\."
        assert re.fullmatch(shown, why), why
    # The sentence names the tasks that the optimiser itself names after the same results.
    search = hs.Optimizer(HISTORY.space, HISTORY, n_init=2, seed=0)
    for trial in study.trials[:3]:
        search.ask()
        search.tell(trial.params, trial.value)
    assert later[2].endswith(search.explain())


def test_trials_of_other_starts_say_their_place() -> None:
    study = run(trials=3, n_init=2, init="li", surrogate="gp", acquisition="pi")
    assert [trial.user_attrs["headstart:why"] for trial in study.trials] == [
        "Configuration 1 of 2 of the start 'li'.",
        "Configuration 2 of 2 of the start 'li'.",
        "Chosen for its probability of improvement. The surrogate 'gp' decides; there are 4 past tasks.",
    ]
    given = run(hs.Start(START.space, START.configs), trials=1)
    assert given.trials[0].user_attrs["headstart:why"] == "Configuration 1 of 4 of the given start."
    cold = run(None, trials=1, space=HISTORY.space, init="random")
    assert cold.trials[0].user_attrs["headstart:why"] == "Spread evenly over the search space, without a model."


def test_the_attributes_in_a_storage_keep_their_keys_and_form() -> None:
    """Studies on disk hold them."""
    study = run(START, n_init=2, trials=3)
    first, *_, last = study.trials
    claims = [dict(trial.system_attrs["headstart:claim"]) for trial in (first, last)]
    workers = [claim.pop("worker", None) for claim in claims]  # only where processes can be looked up
    assert all(worker is None or set(worker) == {"machine", "pid", "born"} for worker in workers)
    assert claims[0] == {"config": START.configs[0], "origin": "start", "start": 0}
    assert claims[1] == {"config": last.params, "origin": "surrogate", "start": None}
    assert [list(trial.system_attrs) for trial in (first, last)] == [["headstart:claim"]] * 2
    why = [trial.user_attrs.pop("headstart:why") for trial in (first, last)]
    assert why[0] == "Configuration 1 of 2 of the start 'auto'."
    assert why[1] == "Chosen for its expected improvement. The surrogate 'gp' decides; there are no past runs."
    assert first.user_attrs == {"headstart:start": 0, "headstart:origin": "start"}
    assert last.user_attrs == {"headstart:origin": "surrogate"}
    assert study._storage.get_study_system_attrs(study._study_id)["headstart:starts"] == 2


# -- failed, pruned and queued trials ---------------------------------------------------------------------------------


def test_failed_trials_are_the_worst_seen_and_pruned_ones_have_no_loss() -> None:
    study = optuna.create_study(direction="maximize")
    kinds = {"x": optuna.distributions.FloatDistribution(0, 1)}

    def add(x: float, **how: Any) -> None:
        study.add_trial(optuna.create_trial(params={"x": x}, distributions=kinds, **how))

    add(0.1, value=3.0)
    add(0.2, value=5.0)
    add(0.3, state=TrialState.FAIL)
    add(0.4, state=TrialState.PRUNED, value=9.0)
    add(0.5, state=TrialState.RUNNING)
    add(0.6, value=-math.inf)
    study.enqueue_trial({"x": 0.7})
    found = counting(Others("maximize").of(study.trials, number=99))
    assert [other.config["x"] for other in found] == [0.1, 0.2, 0.3, 0.4, 0.6, 0.5, 0.7]  # finished ones first
    assert losses(found).tolist() == pytest.approx([-3.0, -5.0, -3.0, math.nan, -3.0, math.nan, math.nan], nan_ok=True)


def test_queued_trials_run_as_they_are_and_use_up_no_start() -> None:
    mine = {"kernel": "linear", "C": 1.0}
    sampler = hs.optuna.HeadstartSampler(HISTORY, n_init=3, seed=0)
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial(mine)
    study.enqueue_trial({"kernel": "poly"})
    study.optimize(svm(1.2), n_trials=5)
    assert params(study)[0] == mine
    assert params(study)[1]["kernel"] == "poly"
    assert tags(study) == [None, None, 0, 1, 2]


def test_pruning_does_not_disturb_it() -> None:
    def pruned(trial: optuna.Trial) -> float:
        loss = svm(1.2)(trial)
        trial.report(loss, 1)
        if trial.should_prune() or trial.number % 3 == 2:
            raise optuna.TrialPruned
        return loss

    for pruner in (optuna.pruners.MedianPruner(), optuna.pruners.HyperbandPruner()):
        sampler = hs.optuna.HeadstartSampler(HISTORY, n_init=4, seed=0)
        study = optuna.create_study(sampler=sampler, pruner=pruner)
        study.optimize(pruned, n_trials=9)
        assert tags(study) == [0, 1, 2, 3] + [None] * 5
        assert len({tuple(sorted(p.items())) for p in params(study)}) == 9


def test_an_exhausted_space_does_not_stop_the_study() -> None:
    study = run(None, lambda trial: trial.suggest_int("a", 0, 1) + trial.suggest_categorical("b", [0, 1]), trials=8)
    assert len({tuple(p.items()) for p in params(study)[:5]}) >= 3
    assert len(study.trials) == 8


# -- spaces --------------------------------------------------------------------------------------------------------


def test_conditions_are_inferred_without_past_runs() -> None:
    study = run(None, trials=20)
    space = study.sampler._search[2]._space(study.trials)
    assert space == HISTORY.space or dict(space) == dict(HISTORY.space)
    assert {Reservation.of(trial).origin for trial in study.trials} == {"none", "random", "surrogate"}


def changed(trial: optuna.Trial) -> float:
    """Another range, a removed and a new choice, a removed and a new parameter."""
    kernel = trial.suggest_categorical("kernel", ["rbf", "sigmoid"])
    loss = (math.log2(trial.suggest_float("C", 1.0, 2.0, log=True)) - 0.5) ** 2
    if kernel == "sigmoid":
        loss += trial.suggest_float("coef", -1, 1) ** 2
    return loss + (trial.suggest_float("tol", 1e-5, 1e-1, log=True) - 1e-3) ** 2


def test_a_changed_space_is_reconciled_and_each_change_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    study = run(HISTORY, changed, trials=12)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert all(1.0 <= p["C"] <= 2.0 and p["kernel"] in ("rbf", "sigmoid") for p in params(study))
    tables = [text for text in warned(caplog) if "converted:" in text]
    lines = [line.split() for table in tables for line in table.splitlines()[2:]]
    assert len(lines) == len({tuple(line) for line in lines})  # nothing twice
    logged = {(line[0], line[1]) for line in lines}
    assert {("C", "clipped"), ("tol", "filled"), ("gamma", "dropped"), ("degree", "dropped")} <= logged
    assert len(tables) <= 2  # once, and once more if a branch showed another parameter later


def test_a_trial_records_learned_values_that_it_could_not_use() -> None:
    study = run(START, changed, n_init=None, trials=4)
    first = study.trials[0]
    changes = first.user_attrs["headstart:changed"]
    assert set(changes) >= {
        name for name, value in START.configs[0].items() if name in ("kernel", "C") and first.params[name] != value
    }
    assert "degree" in changes or "gamma" in changes


def test_the_space_can_be_given() -> None:
    space = {
        "kernel": hs.Categorical(["rbf", "sigmoid"]),
        "C": hs.Float(1, 2, log=True),
        "coef": hs.Float(-1, 1, when={"kernel": "sigmoid"}),
        "tol": hs.Float(1e-5, 1e-1, log=True),
    }
    study = run(HISTORY, changed, space=space, trials=6)
    for trial in study.trials:
        assert Reservation.of(trial).config == trial.params  # no value had to change, even in the first trial


def test_new_parameters_are_sampled_until_known_and_then_searched() -> None:
    def wider(trial: optuna.Trial) -> float:
        return svm(1.2)(trial) + (trial.suggest_float("tol", 0, 1) - 0.3) ** 2

    study = run(HISTORY, wider, trials=15)
    first, *rest = [Reservation.of(trial) for trial in study.trials]
    assert "tol" not in first.config
    assert all("tol" in reservation.config for reservation in rest)
    assert abs(study.best_params["tol"] - 0.3) < 0.15


def test_an_independent_sampler_can_be_given() -> None:
    class Constant(optuna.samplers.RandomSampler):
        def sample_independent(self, study: Any, trial: Any, name: str, distribution: Any) -> float:
            return 0.25

    study = run(HISTORY, lambda t: svm(1.2)(t) + t.suggest_float("tol", 0, 1), trials=2, independent_sampler=Constant())
    assert params(study)[0]["tol"] == 0.25


# -- bad input -----------------------------------------------------------------------------------------------------


def test_a_start_that_shares_no_parameter_with_the_objective_is_ignored_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for past, what in ((START, "start"), (HISTORY, "history")):
        caplog.clear()
        study = run(past, lambda trial: trial.suggest_float("eta", 0, 1), trials=4, n_init=None)
        assert len(study.trials) == 4
        (text,) = warned(caplog)
        assert f"the {what} is ignored: the objective suggests none of the {what}'s parameters" in text
        assert "it suggests eta" in text
        assert tags(study)[1:] == [None] * 3


def test_several_objectives_are_rejected_in_a_sentence() -> None:
    study = optuna.create_study(directions=["minimize"] * 2, sampler=hs.optuna.HeadstartSampler(HISTORY))
    with pytest.raises(ValueError, match=r"one objective, but the study .* has 2; use one of Optuna's samplers"):
        study.ask()
    with pytest.raises(ValueError, match=r"an account is for one objective, but the study .* has 2"):
        hs.optuna.account(study)
    storage = optuna.storages.InMemoryStorage()
    optuna.create_study(storage=storage, directions=["minimize"] * 2)
    with pytest.raises(ValueError, match="all past studies have several objectives"):
        hs.optuna.HeadstartSampler(storage)


def test_past_runs_of_the_other_direction_teach_the_same() -> None:
    for past in (HISTORY, PAST):
        down, up = (
            run(past, svm(1.2, direction=direction), trials=4, study={"direction": direction})
            for direction in ("minimize", "maximize")
        )
        assert [trial.params for trial in up.trials] == [trial.params for trial in down.trials]


def test_a_storage_without_earlier_trials_means_a_search_without_past_runs(caplog: pytest.LogCaptureFixture) -> None:
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=storage, study_name="first")
    study.sampler = hs.optuna.HeadstartSampler(storage, seed=0)
    study.optimize(svm(), n_trials=2)
    assert [text for text in warned(caplog) if "searching without past runs" in text]
    assert tags(study) == [None, None]


@pytest.mark.parametrize("surrogate", ["prior", "scot", "mklgp"])
def test_the_first_study_of_a_storage_works_with_every_surrogate(surrogate: str) -> None:
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=storage, study_name="first")
    study.sampler = hs.optuna.HeadstartSampler(storage, surrogate=surrogate, n_init=2, seed=0)
    study.optimize(svm(), n_trials=4)
    assert len(study.trials) == 4


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
def test_parameters_that_a_space_cannot_express_are_still_sampled(tmp_path: Path) -> None:
    """A storage turns tuples into lists."""

    def objective(trial: optuna.Trial) -> float:
        layers = trial.suggest_categorical("layers", [(64,), (64, 32)])
        return (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + len(layers)

    url = f"sqlite:///{tmp_path}/runs.db"
    for i, sampler in enumerate([optuna.samplers.RandomSampler(seed=0), hs.optuna.HeadstartSampler(None, seed=0)]):
        study = optuna.create_study(storage=url, study_name=f"s{i}", sampler=sampler)
        study.optimize(objective, n_trials=5)
    study = optuna.create_study(
        storage=url, study_name="new", sampler=hs.optuna.HeadstartSampler(url, n_init=2, seed=0)
    )
    study.optimize(objective, n_trials=4)
    assert tags(study)[:2] == [0, 1]
    assert all(set(trial.params) == {"x", "layers"} for trial in study.trials)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_init": 0}, "n_init must be a whole number of at least 1, but got 0"),
        ({"init": "beste"}, "no strategy 'beste'"),
        ({"surrogate": "gpp"}, "no surrogate 'gpp'; did you mean 'gp'"),
        ({"acquisition": "eii"}, "acquisition must be one of"),
        ({"seed": -1}, "seed must be a whole number of at least 0, or None, but got -1"),
        ({"studies": "past-*"}, "past is a History, which has no studies to choose from; leave out studies="),
        ({"space": 3}, "a space is"),
    ],
)
def test_bad_settings_are_rejected_at_once(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        hs.optuna.HeadstartSampler(HISTORY, **settings)


def test_a_strategy_needs_past_runs() -> None:
    with pytest.raises(ValueError, match="learns from past runs"):
        hs.optuna.HeadstartSampler(None, init="rbi")
    with pytest.raises(ValueError, match="surrogate='prior' learns from past runs; name past studies with past="):
        hs.optuna.HeadstartSampler(START, surrogate="prior")


# -- keeping another sampler ---------------------------------------------------------------------------------------


def test_a_queued_start_runs_under_another_sampler_and_replaces_its_random_trials() -> None:
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    report = hs.optuna.enqueue(study, START, space=HISTORY.space)
    assert report.queued == [0, 1, 2, 3]
    assert (report.startup, report.random_left) == (10, 6)
    assert "replaces 4 of them; to skip the other 6, set n_startup_trials=4" in str(report)
    study.optimize(svm(1.2), n_trials=6)
    assert params(study)[:4] == START.configs
    assert tags(study) == [0, 1, 2, 3, None, None]


def test_only_a_start_can_be_queued() -> None:
    with pytest.raises(ValueError, match=r"enqueue takes a Start, but got History; make one"):
        hs.optuna.enqueue(optuna.create_study(), HISTORY)


def test_nothing_is_queued_twice() -> None:
    study = optuna.create_study(sampler=optuna.samplers.CmaEsSampler(seed=0, warn_independent_sampling=False))
    study.enqueue_trial(START.configs[1])
    assert hs.optuna.enqueue(study, START).queued == [0, 2, 3]
    study.optimize(svm(1.2), n_trials=2)
    again = hs.optuna.enqueue(study, START)
    assert again.queued == []
    assert set(again.skipped.values()) == {"tried or queued already"}
    assert again.random_left == 0


def test_a_queued_start_is_checked_against_the_space_of_the_objective() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    assert "not checked against the objective" in str(hs.optuna.enqueue(study, START))
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(changed, n_trials=3)
    report = hs.optuna.enqueue(study, START)
    assert {(change.name, change.action) for change in report.changes} >= {("C", "clipped"), ("gamma", "dropped")}
    assert "RandomSampler runs no random trials at startup" in str(report)
    study.optimize(changed, n_trials=len(report.queued))
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert all(1.0 <= p["C"] <= 2.0 for p in params(study))


def test_a_category_that_is_gone_is_not_queued() -> None:
    start = hs.Start(HISTORY.space, [{"kernel": "linear", "C": 1.0}, {"kernel": "poly", "C": 1.0, "degree": 3}])
    space = hs.Space({"kernel": hs.Categorical(["rbf", "poly"]), "C": hs.Float(0.1, 10)})
    study = optuna.create_study()
    report = hs.optuna.enqueue(study, start, space=space)
    assert report.queued == [1]
    assert "kernel='linear' is not in" in report.skipped[0]


def test_a_start_without_a_common_parameter_is_not_queued() -> None:
    study = optuna.create_study()
    with pytest.raises(ValueError, match="the objective suggests none of the start's parameters"):
        hs.optuna.enqueue(study, START, space={"eta": hs.Float(0, 1)})
    several = optuna.create_study(directions=["minimize"] * 2)
    with pytest.raises(ValueError, match="one objective"):
        hs.optuna.enqueue(several, START)
    assert study.trials == several.trials == []


# -- the account -----------------------------------------------------------------------------------------------------


def test_the_account_of_a_start() -> None:
    study = run(START, n_init=None, trials=10)
    found = hs.optuna.account(study)
    assert (found.planned, found.ran) == (4, 4)
    values = [trial.value for trial in study.trials]
    best = int(np.argmin(values[:4]))
    assert found.best_start.start == best
    assert found.better == sum(value < values[best] for value in values)
    assert f"number {best + 1} in trial {best}, gave {values[best]:.6g}" in str(found)
    assert not hs.optuna.account(run(None, trials=2)).planned


def test_the_account_of_a_start_that_did_not_all_run() -> None:
    def fails(trial: optuna.Trial) -> float:
        loss = svm(1.2)(trial)
        return math.nan if trial.number == 1 else loss

    study = run(START, fails, n_init=None, trials=3)
    found = hs.optuna.account(study)
    assert (found.planned, found.ran) == (4, 3)
    assert [entry.state for entry in found.tried] == ["complete", "failed", "complete"]
    assert "3 of 4 configurations of the start ran (1 failed)" in str(found)


def test_check_reports_how_much_of_the_start_ran(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    for name, trials in (("whole", 5), ("part", 2)):
        run(START, n_init=None, trials=trials, study={"storage": url, "study_name": name})
    whole = headstart("check", "sqlite:///runs.db", "whole", cwd=tmp_path)
    assert (whole.returncode, whole.stderr) == (0, "")
    assert "4 of 4 configurations of the start ran" in whole.stdout
    part = headstart("check", "runs.db", "part", "--json", cwd=tmp_path)
    assert part.returncode == 1
    assert '"ran": 2' in part.stdout
    one_line(headstart("check", "runs.db", "hole", cwd=tmp_path), "holds no study 'hole'; did you mean 'whole'?")
