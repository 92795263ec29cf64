"""A search that no longer improves is joined by one that starts over, so that a history never hides the best region."""

from __future__ import annotations

import json

import numpy as np
import pytest

import headstart as hs
from headstart.history import build
from headstart.search.restarts import BEGINNING, EARLIEST, LITTLE, PATIENCE, own_trials, stalled_after
from headstart.strategies.base import Told

SQUARE = hs.Space({"x": hs.Float(0, 1), "y": hs.Float(0, 1)})


def told(losses: list[float]) -> Told:
    """Trials whose configurations are their numbers."""
    n = len(losses)
    return Told(np.column_stack([np.arange(n), np.zeros(n)]).astype(float), np.array(losses, dtype=float))


def numbers(trials: Told) -> list[int]:
    return trials.V[:, 0].astype(int).tolist()


FALLING = [100.0 - i for i in range(EARLIEST)]
STILL = [FALLING[-1]] * PATIENCE


# -- when a search has stalled -------------------------------------------------------------------------------


def test_a_search_that_improves_has_not_stalled() -> None:
    assert stalled_after(np.array(FALLING)) is None


def test_it_has_stalled_once_enough_results_bring_nothing() -> None:
    assert stalled_after(np.array([*FALLING, *STILL[:-1]])) is None
    assert stalled_after(np.array([*FALLING, *STILL])) == EARLIEST + PATIENCE
    assert stalled_after(np.array([*FALLING, *STILL, *FALLING])) == EARLIEST + PATIENCE


def test_a_gain_counts_relative_to_the_losses_at_the_beginning() -> None:
    typical, best = float(np.median(FALLING)), FALLING[-1]
    little = LITTLE * (typical - best)
    assert stalled_after(np.array([*FALLING, *STILL[:-1], best - 0.9 * little])) == EARLIEST + PATIENCE
    assert stalled_after(np.array([*FALLING, *STILL[:-1], best - 1.1 * little])) is None
    scaled = 1e-9 * np.array([*FALLING, *STILL[:-1], best - 0.9 * little]) + 7
    assert stalled_after(scaled) == EARLIEST + PATIENCE


def test_it_never_stalls_early() -> None:
    assert stalled_after(np.ones(EARLIEST - 1)) is None
    assert stalled_after(np.ones(EARLIEST)) == EARLIEST


def test_running_trials_are_no_results() -> None:
    running = [*FALLING, *STILL[:-1], np.nan, np.nan]
    assert stalled_after(np.array(running)) is None
    assert stalled_after(np.array([*running, STILL[0]])) == EARLIEST + PATIENCE + 2


# -- whose trial is next ---------------------------------------------------------------------------------------


def test_every_second_trial_behind_the_stall_belongs_to_the_new_search() -> None:
    begun = [*FALLING, *STILL]
    first = len(begun)
    for more in range(6):
        trials = told([*begun, *([99.0] * more)])
        mine = own_trials(trials)
        if more % 2:
            assert mine is None
            continue
        assert mine is not None
        assert numbers(mine) == list(range(first, first + more, 2))
        assert mine.taken is not None
        assert sorted(numbers(mine) + mine.taken[:, 0].astype(int).tolist()) == list(range(len(trials)))
        assert all(v in mine for v in trials.V)  # no configuration of the other search is proposed again


def test_proposals_off_a_list_stay_taken() -> None:
    v = np.array([-5.0, -5.0])
    mine = own_trials(told([*FALLING, *STILL]).moving(v))
    assert mine is not None
    assert v in mine


def test_a_new_search_that_stalls_is_replaced() -> None:
    begun = [*FALLING, *STILL]
    first, length = len(begun), EARLIEST + PATIENCE
    second = [loss for pair in zip(begun, [99.0] * length, strict=True) for loss in pair]  # 99: of the first search
    mine = own_trials(told([*begun, *second]))
    assert mine is not None
    assert not len(mine)
    mine = own_trials(told([*begun, *second, 50.0, 99.0]))
    assert mine is not None
    assert numbers(mine) == [first + 2 * length]


def test_costs_go_with_their_trials() -> None:
    trials = told([*FALLING, *STILL, 1.0, 2.0])
    costs = np.arange(len(trials), dtype=float)
    mine = own_trials(Told(trials.V, trials.losses, costs))
    assert mine is not None
    assert mine.costs is not None
    assert mine.costs.tolist() == [len(FALLING) + len(STILL)]


# -- whole searches --------------------------------------------------------------------------------------------


def bowl(v: np.ndarray, centre: tuple[float, float]) -> float:
    return float(((v - np.array(centre)) ** 2).sum())


def deceptive(v: np.ndarray) -> float:
    """A bowl like those of the past tasks, and a narrower and deeper one at the other end of the square."""
    return min(bowl(v, (0.25, 0.25)), 6 * bowl(v, (0.85, 0.8)) - 0.2)


@pytest.fixture(scope="module")
def history() -> hs.History:
    rng = np.random.default_rng(0)
    tasks, each = 8, 25
    V = rng.random((tasks * each, 2))
    centres = np.repeat(0.25 + 0.04 * rng.normal(size=(tasks, 2)), each, axis=0)
    names = np.repeat([f"task{t}" for t in range(tasks)], each).tolist()
    return build(SQUARE, tasks=names, V=V, losses=((V - centres) ** 2).sum(axis=1))


def searched(optimizer: hs.Optimizer, trials: int) -> np.ndarray:
    values = []
    for _ in range(trials):
        config = optimizer.ask()
        values.append(deceptive(np.array([config["x"], config["y"]])))
        optimizer.tell(config, values[-1])
    return np.array(values)


@pytest.fixture(scope="module")
def finished(history: hs.History) -> hs.Optimizer:
    optimizer = hs.Optimizer(SQUARE, history, seed=0)
    searched(optimizer, 64)
    return optimizer


def test_the_second_best_minimum_of_past_tasks_is_left() -> None:
    """On Hartmann's function, a history of moved copies leads to the second-best minimum, 0.12 above the best."""
    space = hs.Space({f"x{j}": hs.Float(0, 1) for j in range(6)})
    rng = np.random.default_rng(0)
    V = rng.random((50 * 60, 6))
    moved = V + np.repeat(rng.normal(0, 0.08, (50, 6)), 60, axis=0)
    names = np.repeat([f"task{t:02d}" for t in range(50)], 60).tolist()
    past = build(space, tasks=names, V=V, losses=np.array([hartmann6(v) for v in moved]))
    optimizer = hs.Optimizer(space, past, seed=0)
    for _ in range(130):
        config = optimizer.ask()
        optimizer.tell(config, hartmann6(np.array(list(config.values()))))
    first = min(trial.value for trial in optimizer.trials[:50] if trial.value is not None)
    assert -3.21 < first < -3.1  # where the past leads
    assert optimizer.best_value < -3.25


A = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann6(v: np.ndarray) -> float:
    return -float(np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-(A * (v - P) ** 2).sum(axis=1)))


def test_the_new_search_says_so_begins_at_random_and_repeats_nothing(finished: hs.Optimizer) -> None:
    over = [i for i, trial in enumerate(finished.trials) if "starts over" in trial.why]
    assert over
    assert over[0] >= EARLIEST
    assert set(np.diff(over)) == {2}
    assert ["Spread" in finished.trials[i].why for i in over[: BEGINNING + 1]] == [True] * BEGINNING + [False]
    configs = [tuple(trial.config.values()) for trial in finished.trials]
    assert len(set(configs)) == len(configs)


def test_a_search_continues_identically_from_any_trial(history: hs.History, finished: hs.Optimizer) -> None:
    over = next(i for i, trial in enumerate(finished.trials) if "starts over" in trial.why)
    state = json.loads(json.dumps(finished.state()))
    for n in (over, over + 1, over + 2 * BEGINNING):
        earlier = hs.Optimizer(SQUARE, history, seed=0).restore({**state, "trials": state["trials"][:n]})
        assert earlier.ask() == finished.trials[n].config
    assert (
        "starts over"
        in hs.Optimizer(SQUARE, history, seed=0).restore({**state, "trials": state["trials"][:over]}).explain()
    )


def test_without_a_history_nothing_starts_over() -> None:
    optimizer = hs.Optimizer(SQUARE, seed=0)
    searched(optimizer, 45)
    assert not any("starts over" in trial.why for trial in optimizer.trials)


def test_a_list_of_candidates_is_searched_to_its_end(history: hs.History) -> None:
    candidates = [{"x": x, "y": y} for x in np.linspace(0, 1, 7).tolist() for y in np.linspace(0, 1, 7).tolist()]
    optimizer = hs.Optimizer(SQUARE, history, candidates=candidates, seed=0)
    searched(optimizer, 49)
    assert not any("starts over" in trial.why for trial in optimizer.trials)


def test_several_trials_at_once_differ(finished: hs.Optimizer, history: hs.History) -> None:
    over = next(i for i, trial in enumerate(finished.trials) if "starts over" in trial.why)
    state = finished.state()
    optimizer = hs.Optimizer(SQUARE, history, seed=0).restore({**state, "trials": state["trials"][: over + 4]})
    asked = [tuple(optimizer.ask().values()) for _ in range(6)]
    assert len(set(asked)) == 6
