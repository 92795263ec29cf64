"""Many workers, one study: threads, processes on SQLite, a journal and PostgreSQL, and workers that die."""

from __future__ import annotations

import math
import shlex
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy

import headstart as hs

optuna = pytest.importorskip("optuna", reason="Optuna is not installed")

from headstart.adapters.optuna import reservations, workers  # noqa: E402
from headstart.adapters.optuna.attributes import RESERVATION, WAITING  # noqa: E402
from headstart.adapters.optuna.reservations import DEATHS, Reservation, is_dead, is_lost, wait_for_turn  # noqa: E402
from headstart.adapters.optuna.sampler import RECENT  # noqa: E402
from headstart.adapters.optuna.search import Search  # noqa: E402
from headstart.adapters.optuna.workers import Worker  # noqa: E402
from past_studies import SPACE, fill, memory, svm  # noqa: E402
from postgres import server  # noqa: E402
from program import ROOT, environment  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="workers are forked")
optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[str]:
    """A database without studies."""
    yield postgres_server
    for name in optuna.get_all_study_names(postgres_server):
        optuna.delete_study(study_name=name, storage=postgres_server)


def start_of(n: int) -> hs.Start:
    return hs.Start(SPACE, SPACE.sample(n, seed=1))


def run_workers(storage: str, workers: int, trials: int, *more: str) -> list[int]:
    command = [sys.executable, str(ROOT / "tests/optuna_workers.py"), storage, str(workers), str(trials), *more]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=600)
    assert done.returncode == 0, done.stderr
    return [int(code) for code in done.stdout.split()]


def opened(where: str) -> optuna.storages.BaseStorage:
    if "://" in where:
        return optuna.storages.RDBStorage(where)
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(where))


def finished(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    return study.get_trials(states=[optuna.trial.TrialState.COMPLETE])


def distinct(trials: list[optuna.trial.FrozenTrial]) -> bool:
    tried = [tuple(sorted(trial.params.items())) for trial in trials]
    return len(set(tried)) == len(tried)


def starts_tried(trials: list[optuna.trial.FrozenTrial]) -> Counter[int]:
    return Counter(trial.user_attrs["headstart:start"] for trial in trials if "headstart:start" in trial.user_attrs)


@pytest.fixture(params=["sqlite", "journal", "postgresql"])
def storage(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres"))
    return f"sqlite:///{tmp_path}/runs.db" if request.param == "sqlite" else f"{tmp_path}/journal.log"


def test_eight_processes_share_one_start(storage: str, tmp_path: Path) -> None:
    start = start_of(12)
    start.save(tmp_path / "start.json")
    study = optuna.create_study(storage=opened(storage), study_name="new")
    assert run_workers(storage, 8, 2, str(tmp_path / "start.json")) == [0] * 8
    trials = finished(study)
    assert len(trials) == 16
    assert starts_tried(trials) == dict.fromkeys(range(12), 1)
    assert distinct(trials)
    for trial in trials:
        if "headstart:start" in trial.user_attrs:
            assert trial.params == start.configs[trial.user_attrs["headstart:start"]]


def test_workers_that_learn_propose_nothing_twice(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/runs.db"
    fill(storage, n=3, trials=10)
    study = optuna.create_study(storage=storage, study_name="new")
    assert run_workers(storage, 3, 5) == [0] * 3
    trials = finished(study)
    assert starts_tried(trials) == dict.fromkeys(range(10), 1)
    assert distinct(trials)
    assert {Reservation.of(trial).origin for trial in trials} == {"strategy", "surrogate"}


def test_threads_share_one_start() -> None:
    start = start_of(8)
    study = optuna.create_study(sampler=hs.optuna.HeadstartSampler(start))
    study.optimize(svm(1.2), n_trials=12, n_jobs=4)
    assert starts_tried(study.trials) == dict.fromkeys(range(8), 1)
    assert distinct(study.trials)


def test_threads_learn_once_and_propose_nothing_twice() -> None:
    past = memory(n=3, trials=10)
    study = optuna.create_study(storage=past, sampler=hs.optuna.HeadstartSampler(past))
    study.optimize(svm(1.2), n_trials=14, n_jobs=4)
    assert starts_tried(study.trials) == dict.fromkeys(range(10), 1)
    assert distinct(study.trials)


def test_trials_asked_for_together_are_all_different() -> None:
    past = memory(n=3, trials=10)
    study = optuna.create_study(storage=past, sampler=hs.optuna.HeadstartSampler(past))
    trials = [study.ask() for _ in range(14)]
    for trial in reversed(trials):  # the first is evaluated last
        study.tell(trial, svm(1.2)(trial))
    assert starts_tried(study.trials) == dict.fromkeys(range(10), 1)
    assert distinct(study.trials)


# -- workers that die ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_worker_killed_in_the_middle_loses_nothing(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Finished trials are kept, and another worker tries the dead worker's configuration."""
    storage = f"sqlite:///{tmp_path}/runs.db" if kind == "sqlite" else str(request.getfixturevalue("postgres"))
    start = start_of(6)
    start.save(tmp_path / "start.json")
    study = optuna.create_study(storage=storage, study_name="new")
    codes = run_workers(storage, 3, 2, str(tmp_path / "start.json"), "--die", "2")
    assert sorted(codes) == [-9, 0, 0]
    before = finished(study)
    assert len(before) >= 4
    assert study.trials[2].state == optuna.trial.TrialState.RUNNING
    time.sleep(2.5)  # longer than the grace period of the heartbeat
    assert run_workers(storage, 1, 6 - len(before), str(tmp_path / "start.json"), "--die", "-1") == [0]
    assert study.trials[2].state == optuna.trial.TrialState.FAIL
    assert finished(study)[: len(before)] == before
    assert starts_tried(finished(study)) == dict.fromkeys(range(6), 1)


def dead_trial(study: optuna.Study) -> int:
    """A trial whose worker died and that a heartbeat marked as failed: the sampler's `after_trial` never ran."""
    trial = study.ask()
    svm(1.2)(trial)
    study._storage.set_trial_state_values(trial._trial_id, optuna.trial.TrialState.FAIL)
    return trial.number


def test_the_start_of_a_dead_worker_is_tried_again_but_not_for_ever() -> None:
    start = start_of(3)
    study = optuna.create_study(sampler=hs.optuna.HeadstartSampler(start))
    dead = [dead_trial(study) for _ in range(DEATHS)]
    assert all(study.trials[number].params == start.configs[0] for number in dead)
    study.optimize(svm(1.2), n_trials=3)
    assert starts_tried(finished(study)) == {1: 1, 2: 1}


def test_a_death_before_the_objective_began_says_nothing_about_the_configuration() -> None:
    start = start_of(3)
    study = optuna.create_study(sampler=hs.optuna.HeadstartSampler(start))
    for _ in range(2 * DEATHS):
        study._storage.set_trial_state_values(study.ask()._trial_id, optuna.trial.TrialState.FAIL)
    study.optimize(svm(1.2), n_trials=3)
    assert starts_tried(finished(study)) == {0: 1, 1: 1, 2: 1}


# Process that is killed in the middle of its first trial, as `optimize` or as ask and tell runs it.
KILLED = """
import os, signal, sys
import optuna, headstart as hs
from past_studies import svm
optuna.logging.set_verbosity(optuna.logging.ERROR)
where, start, loop = sys.argv[1:]
storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(where))
study = optuna.load_study(storage=storage, study_name="new", sampler=hs.optuna.HeadstartSampler(hs.Start.load(start)))
def objective(trial):
    svm(1.2)(trial)
    os.kill(os.getpid(), signal.SIGKILL)
study.optimize(objective, n_trials=1) if loop == "loop" else objective(study.ask())
"""


def killed_in_its_first_trial(tmp_path: Path, loop: str) -> optuna.Study:
    start_of(3).save(tmp_path / "start.json")
    where = str(tmp_path / "journal.log")
    study = optuna.create_study(storage=opened(where), study_name="new")
    path = f"{ROOT / 'src'}:{ROOT / 'tests'}"
    command = [sys.executable, "-c", KILLED, where, str(tmp_path / "start.json"), loop]
    assert subprocess.run(command, env={**environment(), "PYTHONPATH": path}).returncode == -9
    assert study.trials[0].state == optuna.trial.TrialState.RUNNING
    study.sampler = hs.optuna.HeadstartSampler(start_of(3))
    return study


@pytest.mark.skipif(sys.platform != "linux", reason="other processes are looked up in /proc")
def test_the_trial_of_a_dead_process_is_freed_without_a_heartbeat(tmp_path: Path) -> None:
    study = killed_in_its_first_trial(tmp_path, "loop")
    (stuck,) = hs.optuna.account(study).stuck
    assert stuck.trial == 0
    assert "has ended" in stuck.why
    study.optimize(svm(1.2), n_trials=3)
    assert study.trials[0].state == optuna.trial.TrialState.FAIL
    assert starts_tried(finished(study)) == {0: 1, 1: 1, 2: 1}
    assert not hs.optuna.account(study).stuck


def test_a_trial_may_be_told_by_another_process_than_the_one_that_asked(tmp_path: Path) -> None:
    study = killed_in_its_first_trial(tmp_path, "ask")
    study.optimize(svm(1.2), n_trials=2)
    assert study.trials[0].state == optuna.trial.TrialState.RUNNING
    study.tell(0, 0.5)
    assert starts_tried(finished(study)) == {0: 1, 1: 1, 2: 1}


def test_a_live_worker_is_not_taken_for_dead() -> None:
    study = optuna.create_study(sampler=hs.optuna.HeadstartSampler(start_of(2)))
    seen = []

    def objective(trial: optuna.Trial) -> float:
        seen.append(is_dead(study._storage.get_trial(trial._trial_id)))
        return svm(1.2)(trial)

    study.optimize(objective, n_trials=2)
    assert seen == [False, False]


def test_the_command_for_a_stuck_trial_frees_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/runs of march.db"
    start = start_of(2)
    study = optuna.create_study(storage=url, study_name="a; b", sampler=hs.optuna.HeadstartSampler(start))
    study.ask()
    monkeypatch.setattr("headstart.adapters.optuna.stuck.LONG", timedelta(0))
    (stuck,) = hs.optuna.account(study).stuck
    assert "nothing says that its worker is alive" in str(stuck)
    program, *arguments = shlex.split(stuck.command)
    assert program == "optuna"
    run = "import sys, optuna.cli; sys.exit(optuna.cli.main())"
    subprocess.run([sys.executable, "-c", run, *arguments], check=True, capture_output=True)
    assert study.trials[0].state == optuna.trial.TrialState.FAIL
    study.optimize(svm(1.2), n_trials=2)
    assert starts_tried(finished(study)) == {0: 1, 1: 1}


@pytest.mark.parametrize("seconds", [1, 3600])
def test_a_heartbeat_says_whether_a_trial_is_stuck(seconds: int, tmp_path: Path) -> None:
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/runs.db")
    trial = new_trial(study)
    with study._storage._backend.engine.begin() as connection:
        insert = f"INSERT INTO trial_heartbeats VALUES (1, {trial._trial_id}, datetime('now', '-{seconds} seconds'))"
        connection.execute(sqlalchemy.text(insert))
    found = hs.optuna.account(study)
    assert [entry.trial for entry in found.stuck] == ([0] if seconds > 600 else [])
    assert ("its last heartbeat was 1:0" in str(found)) == (seconds > 600)


@pytest.mark.parametrize("slow_thread", [False, True])
def test_choosing_has_a_heartbeat(slow_thread: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise Optuna would never find out that a worker died while it chose, or a moment after it has reserved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path}/runs.db", heartbeat_interval=60)
    if slow_thread:
        monkeypatch.setattr("headstart.adapters.optuna.workers.get_heartbeat_thread", lambda *_: nullcontext())
    seen = []

    class Watching(hs.optuna.HeadstartSampler):
        def _proposed(self, study, trial):
            with storage.engine.connect() as connection:
                query = f"SELECT COUNT(*) FROM trial_heartbeats WHERE trial_id = {trial._trial_id}"
                seen.append((trial.number, connection.execute(sqlalchemy.text(query)).scalar()))
            return super()._proposed(study, trial)

    optuna.create_study(storage=storage, sampler=Watching(start_of(2))).optimize(svm(1.2), n_trials=2)
    assert seen == [(0, 1), (1, 1)]


def test_a_start_that_fails_is_not_tried_again() -> None:
    start = start_of(3)
    study = optuna.create_study(sampler=hs.optuna.HeadstartSampler(start))

    def fails_first(trial: optuna.Trial) -> float:
        loss = svm(1.2)(trial)
        if trial.number == 0:
            raise RuntimeError("out of memory")
        return loss

    study.optimize(fails_first, n_trials=4, catch=RuntimeError)
    assert [trial.user_attrs.get("headstart:start") for trial in study.trials] == [0, 1, 2, None]


def test_a_dead_trial_retried_by_optuna_keeps_its_start(tmp_path: Path) -> None:
    retry = getattr(optuna.storages, "RetryHeartbeatStaleTrialCallback", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        again = (retry or optuna.storages.RetryFailedTrialCallback)(max_retry=1)
    start = start_of(3)
    study = optuna.create_study(sampler=hs.optuna.HeadstartSampler(start))
    number = dead_trial(study)
    again(study, study.trials[number])
    study.optimize(svm(1.2), n_trials=3)
    assert starts_tried(finished(study)) == {0: 1, 1: 1, 2: 1}
    assert study.trials[1].params == start.configs[0]


# -- turns ---------------------------------------------------------------------------------------------------


def new_trial(study: optuna.Study) -> optuna.trial.FrozenTrial:
    return study._storage.get_trial(study._storage.create_new_trial(study._study_id))


def test_a_trial_waits_until_those_before_it_have_a_reservation() -> None:
    study = optuna.create_study()
    storage, first, second = study._storage, new_trial(study), new_trial(study)
    seen: list[Reservation | None] = []

    def wait() -> None:
        trials = wait_for_turn(storage, study._study_id, second.number)
        seen.append(Reservation.of(trials[0]))

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
    reservation = Reservation({"C": 1.0}, "start", 0)
    storage.set_trial_system_attr(first._trial_id, RESERVATION, reservation.to_json())
    thread.join(10)
    assert seen == [reservation]


class TornReads:
    """A storage whose first read is not atomic: it has the parameters, but not the reservation written before them."""

    def __init__(self, study: optuna.Study, trial: optuna.trial.FrozenTrial, reservation: Reservation) -> None:
        self.looks = 0
        storage = study._storage
        storage.set_trial_param(trial._trial_id, "C", 1.0, optuna.distributions.FloatDistribution(0, 1))
        self.before = storage.get_trial(trial._trial_id)
        storage.set_trial_system_attr(trial._trial_id, RESERVATION, reservation.to_json())
        self.after = storage.get_trial(trial._trial_id)

    def get_all_trials(self, study: int, deepcopy: bool) -> list[optuna.trial.FrozenTrial]:
        self.looks += 1
        return [self.before if self.looks == 1 else self.after]


def test_parameters_without_a_reservation_are_read_twice() -> None:
    study, reservation = optuna.create_study(), Reservation({"C": 1.0}, "start", 0)
    torn = TornReads(study, new_trial(study), reservation)
    assert Reservation.of(torn.before) is None
    (trial,) = wait_for_turn(torn, study._study_id, 1)
    assert Reservation.of(trial) == reservation
    assert torn.looks == 2


def test_a_trial_of_another_sampler_is_not_waited_for() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    other = study.ask()
    svm()(other)
    study.sampler = hs.optuna.HeadstartSampler(start_of(2))
    study.optimize(svm(), n_trials=2)
    assert starts_tried(study.trials) == {0: 1, 1: 1}


def test_waiting_for_a_trial_without_a_reservation_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reservations, "PATIENCE", 0.05)
    study = optuna.create_study()
    new_trial(study)  # its worker died at once, or it belongs to another sampler
    second = new_trial(study)
    assert len(wait_for_turn(study._storage, study._study_id, second.number)) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="other processes are looked up in /proc")
@pytest.mark.parametrize("alive", [True, False])
def test_a_living_process_is_waited_for_longer_and_a_dead_one_not_at_all(
    alive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, process = optuna.create_study(), workers.this_process()
    storage, first, last = study._storage, new_trial(study), new_trial(study)
    process = process if alive else Worker(process.machine, 2**22 + 1, "0")
    storage.set_trial_system_attr(first._trial_id, WAITING, process.to_json())
    monkeypatch.setattr(reservations, "LONGER", 0.1)
    monkeypatch.setattr(reservations, "PATIENCE", 0.0)
    slept: list[float] = []
    sleep = time.sleep
    monkeypatch.setattr(reservations.time, "sleep", lambda pause: (slept.append(pause), sleep(0.01)))
    wait_for_turn(storage, study._study_id, last.number)
    assert bool(slept) == alive
    assert WAITING in storage.get_trial(last._trial_id).system_attrs  # those behind it can ask the same


def test_many_dead_trials_cost_no_more_than_two(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(reservations, "PAUSES", (0.01, 0.01))
    monkeypatch.setattr(reservations, "PATIENCE", 0.05)
    sleep = time.sleep
    monkeypatch.setattr(reservations.time, "sleep", lambda pause: (pauses.append(pause), sleep(pause)))
    study = optuna.create_study()
    last = [new_trial(study) for _ in range(50)][-1]
    wait_for_turn(study._storage, study._study_id, last.number)
    assert len(pauses) <= 2 * 5


def test_nobody_waits_for_a_trial_that_was_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reservations, "PATIENCE", 1000.0)
    study = optuna.create_study(sampler=hs.optuna.HeadstartSampler(start_of(3)))
    new_trial(study)  # its worker died at once
    reservation = Reservation({"C": 1.0}, "start", 0)
    study._storage.set_trial_system_attr(new_trial(study)._trial_id, RESERVATION, reservation.to_json())
    study.optimize(svm(1.2), n_trials=2)
    assert len(finished(study)) == 2


@pytest.mark.parametrize("rival", ["before", "after", "gives up", "dead", "done", "known", "proposes again"])
def test_of_two_equal_reservations_one_is_given_up(rival: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two trials did not wait for each other; then each looks once more."""
    monkeypatch.setattr(reservations, "PATIENCE", 0.3)
    study, reservation = optuna.create_study(), Reservation({"C": 1.0}, "start", 0)
    storage, first, second = study._storage, new_trial(study), new_trial(study)
    ours, other = (second, first) if rival == "before" else (first, second)
    if rival == "proposes again":  # what it had before is not what it has now
        storage.set_trial_system_attr(other._trial_id, RESERVATION, Reservation({"C": 3.0}, "start", 2).to_json())
    known = study.get_trials(deepcopy=True)
    worker = Worker(workers._machine() or "", 2**22 + 1, "0") if rival in ("dead", "done") else None
    held = Reservation(reservation.config, "start", 0, worker)
    storage.set_trial_system_attr(other._trial_id, RESERVATION, held.to_json())
    if rival == "done":  # its worker died only after the trial
        storage.set_trial_state_values(other._trial_id, optuna.trial.TrialState.COMPLETE, [1.0])
    if rival == "known":  # a configuration that is proposed although another trial has it is meant
        known = study.get_trials(deepcopy=True)
    if rival == "gives up":
        changed = {"key": RESERVATION, "value": Reservation({"C": 2.0}, "start", 1).to_json()}
        threading.Timer(0.1, storage.set_trial_system_attr, [other._trial_id], changed).start()
    lost = is_lost(storage, study._study_id, ours.number, reservation, known)
    assert lost == (rival in ("before", "after", "done", "proposes again"))


def test_a_trial_that_was_passed_while_it_chose_proposes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slowest case: another trial reserves the same start between our looking and our writing."""
    monkeypatch.setattr(reservations, "PATIENCE", 0.0)
    start = start_of(3)

    class Slow(hs.optuna.HeadstartSampler):
        def _proposed(self, study, trial):
            proposed = super()._proposed(study, trial)
            if trial.number == 0 and len(study.get_trials(deepcopy=False)) == 1:
                other = new_trial(study)
                study._storage.set_trial_system_attr(other._trial_id, RESERVATION, proposed[0].to_json())
            return proposed

    study = optuna.create_study(sampler=Slow(start))
    study.ask()
    assert Reservation.of(study.trials[0]).config == start.configs[1]
    assert study.trials[0].user_attrs["headstart:start"] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="other processes are looked up in /proc")
def test_a_young_trial_that_is_passed_because_of_dead_ones_tries_no_start_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind two dead processes nobody waits any more, not even for a trial that has only just begun."""
    start = start_of(3)
    study = optuna.create_study(sampler=hs.optuna.HeadstartSampler(start))
    process = Worker(workers._machine() or "", 2**22 + 1, "0")
    for _ in range(2):
        study._storage.set_trial_system_attr(new_trial(study)._trial_id, WAITING, process.to_json())

    propose, overtaken = Search.propose, []

    def slowly(search, trials, number, **more):
        if not overtaken:
            overtaken.append(number)
            study.ask()  # another worker's trial: it begins later, and reserves first
        return propose(search, trials, number, **more)

    monkeypatch.setattr(Search, "propose", slowly)
    optuna.load_study(
        study_name=study.study_name, storage=study._storage, sampler=hs.optuna.HeadstartSampler(start)
    ).ask()
    young, other = (Reservation.of(trial) for trial in study.trials[2:])
    assert {young.start, other.start} == {0, 1}


# -- behind the start ----------------------------------------------------------------------------------------


def behind_the_start(trials: int = 6) -> optuna.Study:
    """A study whose start is complete, with a few trials of the surrogate."""
    study = optuna.create_study(study_name="behind", sampler=hs.optuna.HeadstartSampler(start_of(2)))
    study.optimize(svm(1.2), n_trials=trials)
    return study


def test_behind_the_start_nobody_waits_for_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    study = behind_the_start()
    new_trial(study)  # chooses for ever
    monkeypatch.setattr(reservations, "PATIENCE", 1000.0)
    monkeypatch.setattr(reservations.time, "sleep", lambda pause: pytest.fail("waited"))
    number = study.ask().number
    assert Reservation.of(study.trials[number]).origin == "surrogate"


def test_trials_that_choose_at_the_same_time_get_different_configurations() -> None:
    """Each knows how many chose before it, but not what: they differ as if they had waited for each other."""
    study = behind_the_start()
    alone = [new_trial(study) for _ in range(4)]
    trials = study.get_trials(deepcopy=False)
    search = study.sampler._search_for(study)
    configs = [search.propose(trials, trial.number).config for trial in alone]
    assert len({tuple(config.items()) for config in configs}) == 4
    study.sampler = hs.optuna.HeadstartSampler(start_of(2))
    assert study.sampler._search_for(study).propose(trials, alone[0].number).config == configs[0]


def test_in_a_hurry_the_model_chooses_for_several_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    study = behind_the_start()
    study.ask()  # another worker's
    last = new_trial(study)
    search = study.sampler._search_for(study)
    optimizer, calls = search._optimizer, []
    several = optimizer.propose_several
    monkeypatch.setattr(
        optimizer, "propose_several", lambda told, n, **more: calls.append(n) or several(told, n, **more)
    )
    now = study.get_trials(deepcopy=False)
    search._choosing = 1e-3  # seconds; with SHARE = 4, the next four trials take long enough
    first = search.propose(now, last.number, evaluating=1e-3 - 1e-9)
    assert calls == [5]
    later = [search.propose(now, last.number, evaluating=1e-9) for _ in range(4)]
    assert calls == [5]
    assert len({tuple(reservation.config.items()) for reservation in [first, *later]}) == 5
    assert first.why
    assert not first.ahead
    assert all(reservation.ahead for reservation in later)
    search.propose(now, last.number)
    assert calls == [5, 1]


def test_one_worker_alone_is_never_in_a_hurry_for_its_proposals() -> None:
    """With one worker, proposals depend on nothing but the trials, however fast the objective is."""
    study, again = behind_the_start(12), behind_the_start(12)
    assert len(study.sampler._evaluating) == RECENT
    assert [trial.params for trial in study.trials] == [trial.params for trial in again.trials]


def test_finished_trials_come_in_the_order_in_which_they_finished() -> None:
    """So that a model which knew the first of them can be extended instead of fitted again."""
    study = optuna.create_study(sampler=hs.optuna.HeadstartSampler(start_of(3)))
    first, second, _ = (study.ask() for _ in range(3))
    for trial, loss in ((second, 2.0), (first, 1.0)):
        svm()(trial)
        study.tell(trial, loss)
    others = reservations.Others("minimize").of(study.get_trials(deepcopy=False), 7)
    assert [other.loss for other in others[:2]] == [2.0, 1.0]
    assert math.isnan(others[2].loss)
