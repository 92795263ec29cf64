"""Evidence over time: the arithmetic of the curves, and a history in which the cheap configurations are as good."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import headstart as hs
from headstart.cli.main import main
from headstart.errors import HistoryError
from headstart.history import build
from headstart.starts.over_time import TIMES, OverTime, _curve, in_words, over_time

SPACE = hs.Space({"x": hs.Float(0.0, 1.0), "size": hs.Int(1, 8)})


def past(costs: bool = True) -> hs.History:
    V = SPACE.sample_values(30, rng=np.random.default_rng(1))
    return build(
        SPACE,
        tasks=[f"task{t}" for t in range(4) for _ in V],
        V=np.concatenate([V] * 4),
        losses=np.concatenate([(V[:, 0] - 0.3 - t / 20) ** 2 for t in range(4)]),
        costs=np.concatenate([(t + 1) * 2.0 ** V[:, 1] for t in range(4)]) if costs else None,
    )


def test_a_trial_counts_when_it_has_ended() -> None:
    found = _curve(np.array([0.5, 0.2, 0.9]), np.array([1.0, 10.0, 1.0]), np.array([2, 0, 1]))
    expected = np.where(TIMES < 1.0, 1.0, np.where(TIMES < 2.0, 0.9, np.where(TIMES < 12.0, 0.5, 0.2)))
    np.testing.assert_array_equal(found, expected)


def test_when_random_search_catches_up() -> None:
    times = np.array([1.0, 2.0, 4.0, 8.0])
    start, random = np.array([[0.5, 0.2, 0.2, 0.2]]), np.array([[0.9, 0.6, 0.4, 0.2]])
    found = OverTime(["a"], times, start, random, 60.0)
    assert found.catches_up(2.0) == 8.0
    assert "After 2 minutes of a start that knows what trials cost, you are where random search is after 8 min" in str(
        found
    )
    never = OverTime(["a"], times, start, random + 0.5, 60.0)
    assert "you are closer to the best than random search ever gets, on 1 tasks" in never.summary
    assert found.table["cost"].tolist() == [60.0, 120.0, 240.0, 480.0]
    assert OverTime(["a"], times, start + 0.1, random, 60.0).catches_up(2.0) == pytest.approx(4 * 2**0.5)  # halfway
    assert OverTime(["a"], times, start + 0.7, random, 60.0).catches_up(2.0) == 1.0


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.25, "0.25 seconds"), (89, "89 seconds"), (150, "2.5 minutes"), (7200, "2 hours")]
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_cheap_configurations_save_time() -> None:
    evidence = hs.evidence(past(), n=3, methods="rbi", time=True)
    assert evidence.time is not None
    assert evidence.time.catches_up() > 4.0  # average trials, where the start has had two
    assert evidence.summary.endswith(evidence.time.summary)
    assert hs.evidence(past(), n=3, methods="rbi").time is None


def test_a_history_without_costs_cannot_tell() -> None:
    with pytest.raises(HistoryError, match="evidence over time needs at least 3 tasks with 5 costs above 0 each"):
        hs.evidence(past(costs=False), n=3, methods="rbi", time=True)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    past().save(tmp_path / "h.parquet")
    arguments = ["check", str(tmp_path / "h.parquet"), "-n", "3", "--methods", "rbi", "--time"]
    assert main(arguments) == 0
    assert "of a start that knows what trials cost" in " ".join(capsys.readouterr().out.split())
    main([*arguments, "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert set(answer["time"][0]) == {"cost", "start", "random"}


def test_fewer_tasks_are_drawn_at_random_and_left_out_of_all() -> None:
    history = past()
    whole, some = over_time(history, 3), over_time(history, 3, most=3)
    assert len(some.tasks) == 3
    rows = [whole.tasks.index(task) for task in some.tasks]
    np.testing.assert_array_equal(some.start, whole.start[rows])
    assert over_time(history, 3, most=3).tasks == some.tasks
