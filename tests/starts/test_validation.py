"""Leave-one-task-out evidence: exact where it can be, and honest when the history does not help."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart._support.progress import Progress
from headstart.history import build
from headstart.starts import estimates, validation
from headstart.starts.measures import expected_random
from histories import FLAT, make


def similar(tasks=12, evaluations=30, seed=0):
    """Tasks with nearly the same optimum."""
    rng = np.random.default_rng(seed)
    V = FLAT.sample_values(evaluations, rng=rng)
    Z = FLAT.encode_values(V)
    losses = [((Z - 0.3 - 0.02 * rng.normal(size=2)) ** 2).sum(axis=1) for _ in range(tasks)]
    names = np.repeat([f"t{i:02d}" for i in range(tasks)], evaluations)
    return build(FLAT, tasks=names, V=np.tile(V, (tasks, 1)), losses=np.concatenate(losses))


def unrelated(tasks=12, evaluations=30, seed=0):
    """Tasks that have nothing in common."""
    rng = np.random.default_rng(seed)
    V = FLAT.sample_values(evaluations, rng=rng)
    names = np.repeat([f"t{i:02d}" for i in range(tasks)], evaluations)
    return build(FLAT, tasks=names, V=np.tile(V, (tasks, 1)), losses=rng.random(tasks * evaluations))


def test_when_tasks_are_similar_the_evidence_says_how_much_a_start_saves():
    found = hs.evidence(similar(), n=4, methods=("li", "rbi"))
    assert found.helps
    number, low, high = found.random_trials("li", 1)
    assert low <= number <= high
    assert number >= 10
    assert found.summary.startswith("After 4 trials from '")
    table = found.table
    assert set(table["method"]) == {"li", "rbi", "random"}
    li = table[(table.method == "li") & (table.trials == 1)].iloc[0]
    assert li.low <= li.adtm <= li.high
    assert li.adtm < 0.05
    np.testing.assert_allclose(table.groupby("trials")["rank"].sum(), 1 + 2 + 3)


def test_when_tasks_have_nothing_in_common_the_evidence_says_so():
    found = hs.evidence(unrelated(), n=4, methods=("li",))
    assert not found.helps
    assert "the history does not help" in found.summary or "not clear whether the history helps" in found.summary
    assert found.summary.endswith("Start without it.")
    two = hs.evidence(unrelated(), n=4, methods=("li", "rbi"))
    other = next(name for name in ("li", "rbi") if name != two.best_method)
    turned = hs.evidence(unrelated(), n=4, methods=(other, two.best_method))
    assert turned.summary.endswith(f"Start without it, or check '{two.best_method}' alone.")


def test_the_answer_is_about_the_first_method_named_and_the_best_is_named_too():
    found = hs.evidence(similar(), n=4, methods=("rbi", "li"))
    assert found.method == "rbi"
    assert found.best_method == "li"
    assert "from 'rbi'" in found.summary
    assert found.summary.endswith("Of the methods compared, 'li' did best.")
    gain = (found.random[:, :4] - found.curves["rbi"]).mean()
    assert found.gain[0] == pytest.approx(gain)
    assert found.gain[1] < gain < found.gain[2]
    assert hs.evidence(similar(tasks=4), n=1, methods="rbi").method == "rbi"


def test_where_random_search_has_soon_tried_everything_the_gain_is_given_instead_of_trials():
    """Five configurations: after five trials every search has found the best."""
    found = hs.evidence(similar(evaluations=5), n=5, methods=("rbi",))
    assert found.helps
    assert found.summary.startswith("Over the first 5 trials 'rbi' is closer to a task's best than random search by ")
    assert f"{found.gain[0]:.3f} of its range" in found.summary


def test_the_left_out_task_is_never_learned_from():
    """Its losses may be anything without changing what is proposed for it first."""
    history = make(FLAT, tasks=5, evaluations=15)
    rng = np.random.default_rng(0)
    shuffled = build(
        FLAT,
        tasks=[t.name for t in history for _ in t.rows],
        V=np.concatenate([history.V[t.rows] for t in history]),
        losses=np.concatenate([rng.permutation(t.losses) if t.name == "task2" else t.losses for t in history]),
    )
    chosen = []
    for h in (history, shuffled):
        value = hs.evidence(h, n=1, methods=("li",)).curves["li"][h.tasks.index("task2"), 0]
        chosen.append(np.flatnonzero(h["task2"].scaled() == value).tolist())
    assert chosen[0] == chosen[1]


def test_results_do_not_depend_on_the_number_of_jobs():
    history = similar(tasks=4)
    one, two = (hs.evidence(history, n=3, methods=("rbi",), jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.curves["rbi"], two.curves["rbi"])


def test_outliers_are_the_tasks_where_the_start_does_harm():
    good = similar(tasks=8)
    Z = FLAT.encode_values(good.V)
    odd = build(FLAT, tasks=["odd"] * len(Z), V=good.V, losses=-((Z - 0.3) ** 2).sum(axis=1))
    assert hs.evidence(good.merge(odd), n=3, methods=("li",)).outliers[0] == "odd"


def test_a_start_longer_than_the_evaluations_leaves_the_curve_flat():
    history = similar(tasks=3, evaluations=4)
    curves = hs.evidence(history, n=6, methods=("rbi",)).curves["rbi"]
    np.testing.assert_allclose(curves[:, 3:], 0.0)


def bowls(sampler, tasks=6, trials=40):
    """Optuna studies of bowls with nearly the same centre, and the centres."""
    optuna = pytest.importorskip("optuna", reason="Optuna is not installed")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rng = np.random.default_rng(0)
    storage, centres = optuna.storages.InMemoryStorage(), 0.3 + 0.08 * rng.normal(size=(tasks, 3))
    for i, centre in enumerate(centres):
        study = optuna.create_study(
            storage=storage, study_name=f"t{i}", sampler=getattr(optuna.samplers, sampler)(seed=i)
        )
        study.optimize(
            lambda trial, c=centre: sum((trial.suggest_float(f"x{j}", 0, 1) - c[j]) ** 2 for j in range(3)),
            n_trials=trials,
        )
    return hs.History.from_optuna(storage), centres


def test_random_search_is_not_flattered_by_trials_that_a_search_chose():
    """Compared with what random search really reaches on the same bowls."""
    history, centres = bowls("TPESampler")
    found = hs.evidence(history, n=3, methods=("rbi",))
    assert found.estimated
    assert "These figures are estimates" in found.summary
    rng, truth = np.random.default_rng(1), []
    for i, centre in enumerate(centres):
        losses = history[f"t{i}"].losses
        drawn = ((rng.random((500, 20, 3)) - centre) ** 2).sum(axis=-1)
        scaled = np.clip((drawn - losses.min()) / np.ptp(losses), 0, 1)
        truth.append(np.minimum.accumulate(scaled, axis=1).mean(axis=0))
    naive = np.mean([expected_random(task.scaled(), 20) for task in history], axis=0)
    estimate, truth = found.random.mean(axis=0)[:20], np.mean(truth, axis=0)
    assert np.abs(np.log(estimate / truth)).max() < np.abs(np.log(naive / truth)).min()
    np.testing.assert_allclose(estimate, truth, rtol=0.5)


def test_trials_that_were_drawn_at_random_are_used_as_they_are():
    history, _ = bowls("RandomSampler")
    found = hs.evidence(history, n=3, methods=("rbi",))
    assert not found.estimated
    np.testing.assert_array_equal(found.random[0, :5], expected_random(history["t0"].scaled(), 40)[:5])


def test_bad_requests_are_rejected():
    history = similar(tasks=3)
    with pytest.raises(ValueError, match="at least 3 tasks, but the history has 2"):
        hs.evidence(history.drop("t00"))
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        hs.evidence(history, n=0)
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0, but got -1"):
        hs.evidence(history, seed=-1)
    with pytest.raises(ValueError, match="methods is empty"):
        hs.evidence(history, methods=())
    with pytest.raises(ValueError, match="no strategy 'best'"):
        hs.evidence(history, methods=("best",))


# -- many tasks ----------------------------------------------------------------------------------------------


def test_a_sample_of_tasks_stands_for_many_and_says_so():
    history = similar(tasks=20)
    found = hs.evidence(history, n=3, methods=("rbi",), tasks=6)
    assert len(found.tasks) == 6
    assert found.tasks == [name for name in history.tasks if name in found.tasks]
    assert "on 6 of 20 tasks, drawn at random, each left out in turn." in found.summary
    alone = hs.evidence(history.only(found.tasks), n=3, methods=("rbi",))
    np.testing.assert_array_equal(found.curves["rbi"], alone.curves["rbi"])
    np.testing.assert_array_equal(found.random, alone.random)
    assert found.tasks != hs.evidence(history, n=3, methods=("rbi",), tasks=6, seed=1).tasks


def test_all_tasks_are_used_where_there_are_few_or_where_that_is_wanted(monkeypatch):
    history = similar(tasks=8)
    whole = hs.evidence(history, n=3, methods=("rbi",))
    monkeypatch.setattr(validation, "MANY", 7)
    monkeypatch.setattr(validation, "SAMPLE", 5)
    assert len(hs.evidence(history, n=3, methods=("rbi",)).tasks) == 5
    again = hs.evidence(history, n=3, methods=("rbi",), tasks="all")
    assert again.tasks == history.tasks
    assert again.summary == whole.summary
    assert "drawn at random" not in whole.summary


@pytest.mark.parametrize("tasks", ["some", 2, 0, 3.5])
def test_a_senseless_number_of_tasks_is_refused(tasks):
    with pytest.raises(hs.errors.ArgumentError, match="tasks"):
        hs.evidence(similar(tasks=5), n=3, methods=("rbi",), tasks=tasks)


def test_an_estimate_of_the_time_comes_first_and_results_as_they_come(capsys, monkeypatch):
    notes = []
    advance = Progress.advance
    monkeypatch.setattr(Progress, "advance", lambda self, **more: notes.append(more) or advance(self, **more))
    found = hs.evidence(similar(tasks=8), n=3, methods=("rbi",), tasks=4, progress=True)
    assert capsys.readouterr().err.startswith("leaving out 4 of 8 tasks in turn, about 0:00:0")
    last = f"rbi {found.curves['rbi'][:, -1].mean():.3f}, random {found.random[:, 2].mean():.3f}"
    assert len(notes) == 4
    assert notes[-1] == {"note": last}


def interrupted_after(monkeypatch, done):
    """Lets the work be interrupted when so many tasks are done."""
    left_out, calls = validation._left_out, []

    def until(*args):
        calls.append(args)
        if len(calls) > done:
            raise KeyboardInterrupt
        return left_out(*args)

    monkeypatch.setattr(validation, "_left_out", until)


@pytest.mark.parametrize("progress", [False, True])
def test_an_interruption_gives_the_results_so_far_as_those_of_a_random_sample(monkeypatch, caplog, progress):
    history = similar(tasks=10)
    whole = hs.evidence(history, n=3, methods=("rbi",), tasks="all")
    assert not whole.interrupted
    interrupted_after(monkeypatch, 4)
    found = hs.evidence(history, n=3, methods=("rbi",), tasks="all", progress=progress)
    assert found.interrupted
    assert "interrupted after 4 of 10 tasks" in caplog.text
    assert found.tasks == [name for name in history.tasks if name in found.tasks]
    assert found.tasks != history.tasks[:4]
    rows = [whole.tasks.index(name) for name in found.tasks]
    np.testing.assert_array_equal(found.curves["rbi"], whole.curves["rbi"][rows])
    np.testing.assert_array_equal(found.random, whole.random[rows])
    assert "on 4 of 10 tasks, drawn at random, each left out in turn." in found.summary


def test_an_interruption_before_there_is_anything_to_say_is_one(monkeypatch):
    interrupted_after(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        hs.evidence(similar(tasks=8), n=3, methods=("rbi",))


def test_whether_trials_were_searched_is_asked_of_some_tasks_only(monkeypatch):
    """Many tasks must not delay the estimate of the time."""
    history, judged = unrelated_searches(tasks=40), []
    judge = estimates.Judge.of.__func__

    def counting(cls, *args):
        judged.append(args)
        return judge(cls, *args)

    monkeypatch.setattr(estimates, "TASKS", 10)
    monkeypatch.setattr(estimates.Judge, "of", classmethod(counting))
    estimates.is_searched(history, np.random.default_rng(0))
    assert len(judged) == 10


def unrelated_searches(tasks):
    """Tasks that share no configuration."""
    rng = np.random.default_rng(0)
    V = FLAT.sample_values(8 * tasks, rng=rng)
    return build(FLAT, tasks=np.repeat([f"t{i:02d}" for i in range(tasks)], 8), V=V, losses=rng.random(8 * tasks))


def test_by_default_a_small_space_is_tried_whole():
    space = hs.Space({"kind": hs.Categorical(["a", "b", "c"])})
    V = np.array([[0.0], [1.0], [2.0]])
    names = np.repeat([f"t{i}" for i in range(4)], 3)
    history = build(space, tasks=names, V=np.tile(V, (4, 1)), losses=np.tile([1.0, 0.0, 2.0], 4))
    assert hs.evidence(history, methods=("rbi",)).n == 3
    with pytest.raises(hs.errors.ArgumentError, match="only 3 configurations"):
        hs.evidence(history, n=4, methods=("rbi",))
