"""The papers' experiments: the protocol, exact expectations, ranks, and the same table on every backend."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart._support.wording import markdown
from headstart.history.formats import authors
from headstart.papers import claims, initializations, runs, siamese_tables, similarities, tables
from headstart.papers.checks import (
    AS_GOOD,
    BETTER,
    FAILS,
    HOLDS,
    NO_BETTER,
    OPEN,
    PARTLY,
    TENDS,
    Claim,
    Compare,
    Found,
    Results,
    holm,
    verdict,
    welch,
)
from headstart.papers.runs import Arm, Method, Work, left_out
from headstart.report import figures
from headstart.report.figures import spread
from headstart.search.replay import distances
from headstart.starts.measures import scaled_dtm
from headstart.strategies import learned
from headstart.strategies.learned import gradient_steps
from program import ROOT

TABLES = ("results.csv", "summary.csv", "contrasts.csv", "about.json")
RBI, LI, NO_INIT = Method("RBI", "rbi"), Method("LI", "li"), Method("No Init")


def small(tasks: int = 5, seed: int = 0) -> hs.History:
    """Valleys at different places of a 7 × 7 grid, of which the coarse grid keeps 2 × 2."""
    rng = np.random.default_rng(seed)
    space = hs.Space({"x": hs.Float(1, 2), "y": hs.Float(1, 2)})
    x, y = (a.ravel() for a in np.meshgrid(np.linspace(1, 2, 7), np.linspace(1, 2, 7)))
    frames, features = [], {}
    for i in range(tasks):
        a, b = 1 + rng.random(2)
        features[f"t{i}"] = {"a": a, "b": b, "noise": rng.random()}
        losses = (x - a) ** 2 + (y - b) ** 2 + 0.01 * rng.random(len(x))
        frames.append(pd.DataFrame({"task": f"t{i}", "x": x, "y": y, "value": losses}))
    return hs.History.from_frame(pd.concat(frames), space, features=pd.DataFrame(features).T)


@pytest.fixture(scope="module")
def history() -> hs.History:
    return small()


def by_hand(history: hs.History, task: str, trials: int, **settings: object) -> np.ndarray:
    """The distance curve of one left-out task, as a user of the public interface would compute it."""
    configs, losses = history.configs(task), history[task].losses
    past = authors.coarse(history).drop(task)
    features = history[task].features
    optimizer = hs.Optimizer(history.space, history=past, candidates=configs, features=features, **settings)  # type: ignore[arg-type]
    seen = []
    for _ in range(trials):
        config = optimizer.ask()
        seen.append(losses[configs.index(config)])
        optimizer.tell(config, seen[-1])
    return scaled_dtm(seen, losses.min(), losses.max())


# -- runs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surrogate", ["GP", "RF", "SCoT", "MKLGP"])
def test_a_search_is_what_the_public_interface_gives(history: hs.History, surrogate: str) -> None:
    arm = Arm(Method("NBI", "nbi"), 3, (surrogate,), 7, 1)
    found = runs.Setting(history, {arm.name: arm}, 0)(runs.piece(arm, "t1", 0))
    seed = runs.crc32(b"0 0 t1 NBI")
    expected = by_hand(history, "t1", 7, init="nbi", n_init=3, surrogate=runs.SURROGATES[surrogate], seed=seed)
    np.testing.assert_array_equal(distances(history["t1"], found[surrogate], 7), expected)
    assert found[surrogate][:3] == found["start"]


def test_only_the_coarse_grid_of_the_others_is_seen(history: hs.History) -> None:
    new = left_out(history, "t0", 0)
    assert "t0" not in new.known.tasks
    assert len(new.known.V) == 4
    assert len(new.table) == 49


def test_a_surrogate_that_learns_from_the_history_needs_no_start(history: hs.History) -> None:
    arm = Arm(NO_INIT, 2, ("SCoT", "GP"), 4, 1)
    found = runs.Setting(history, {arm.name: arm}, 0)(runs.piece(arm, "t3", 0))
    new = left_out(history, "t3", runs.crc32(b"0 0 t3 No Init"))
    assert found["SCoT"] == new.search("random", 0, "scot", 4)
    assert found["GP"] == new.search("random", 2, "gp", 4)


def test_a_run_does_not_depend_on_the_others(history: hs.History, tmp_path: Path) -> None:
    arms = [Arm(RBI, 2, repetitions=2), Arm(LI, 2, repetitions=2)]
    tasks = history.tasks
    all_of_them = Work(history, tasks, tmp_path / "a", jobs=1, progress=False).run(arms)
    alone = Work(history, tasks[::-1], tmp_path / "b", jobs=1, progress=False).run(arms[:1])
    assert all_of_them[0].runs[1]["t4"] == alone[0].runs[1]["t4"]


def test_a_method_that_does_not_depend_on_chance_is_not_repeated(history: hs.History, tmp_path: Path) -> None:
    arms = [Arm(Method("NBI", "nbi"), 3, repetitions=6), Arm(RBI, 3, repetitions=6)]
    nbi, rbi = Work(history, history.tasks, tmp_path, jobs=1, progress=False).run(arms)
    assert (len(nbi.runs), len(rbi.runs)) == (1, 6)
    assert len(list(tmp_path.iterdir())) == (2 + 6) * len(history)


def test_a_rerun_does_only_what_is_missing(
    history: hs.History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(history, history.tasks, tmp_path, jobs=1, progress=False)
    arms = [Arm(LI, 3, ("GP",), 5, 1)]
    before = work.run(arms)
    gone = sorted(tmp_path.iterdir())[2]
    gone.unlink()
    done = []
    original = runs.Setting.__call__
    monkeypatch.setattr(runs.Setting, "__call__", lambda self, name: done.append(name) or original(self, name))
    assert work.run(arms)[0].runs == before[0].runs
    assert len(done) == 1
    assert gone.exists()


def test_an_interrupted_run_leaves_whole_repetitions(
    history: hs.History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that fewer repetitions of all methods can be shown before the rest has run."""
    begun = []
    original = runs.Setting.__call__
    monkeypatch.setattr(runs.Setting, "__call__", lambda self, name: begun.append(name) or original(self, name))
    arms = [Arm(RBI, 2, ("GP",), 3, 4), Arm(Method("PBI", "pbi"), 2, ("RF",), 3, 3)]
    Work(history, history.tasks[:2], tmp_path / "four", jobs=1, progress=False).run(arms)
    repetition = [int(name.rsplit(" | ", 1)[1]) for name in begun]
    assert repetition == sorted(repetition)
    assert set(repetition) == {0, 1, 2, 3}
    again = len(begun)
    fewer = [replace(arm, repetitions=2) for arm in arms]
    Work(history, history.tasks[:2], tmp_path / "four", jobs=1, progress=False).run(fewer)
    assert len(begun) == again


@pytest.mark.parametrize(
    ("settings", "words"), [({"n": 0}, "n must be at least 1"), ({"n": 1, "repetitions": 0}, "repetitions")]
)
def test_bad_arms_are_rejected(settings: dict[str, int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Arm(RBI, **settings)


# -- exact expectations --------------------------------------------------------------------------------------


def test_the_expectation_of_rbi_is_that_over_all_orders_of_the_tasks() -> None:
    scaled = np.array([0.9, 0.1, 0.4, 0.0, 0.7])
    best = [0, 0, 1, 2, 2, 2, 4]  # of seven tasks; nobody's best is 3
    times = np.bincount(best, minlength=5).astype(float)
    total = np.zeros(4)
    orders = list(permutations(range(len(best))))
    for order in orders:
        different = list(dict.fromkeys(best[i] for i in order))
        total += np.minimum.accumulate(scaled[different])
    np.testing.assert_allclose(runs.expected_best_of_random(scaled, times, 4), total / len(orders), atol=1e-12)


def test_the_expectation_of_rbi_is_what_the_public_interface_tends_to(history: hs.History) -> None:
    counts = runs.best_counts(history, "t0")
    assert counts is not None
    n = int((counts > 0).sum())
    expected = runs.expected_best_of_random(history["t0"].scaled(), counts, n)
    curves = [by_hand(history, "t0", n, init="rbi", n_init=n, surrogate="gp", seed=s) for s in range(60)]
    error = np.std(curves, axis=0) / np.sqrt(len(curves))
    assert (np.abs(np.mean(curves, axis=0) - expected) <= 4 * error + 1e-9).all()


def test_more_configurations_than_there_are_bests_have_no_exact_expectation() -> None:
    with pytest.raises(ValueError, match="asked for 3 different configurations, but only 2"):
        runs.expected_best_of_random(np.arange(4.0), np.array([1.0, 0, 2, 0]), 3)


# -- tables --------------------------------------------------------------------------------------------------


def test_ranks_by_hand() -> None:
    """Two tasks, two trials; B was run twice, A and C once; equal results share their ranks."""
    a = np.array([[[0.5, 0.1], [0.2, 0.2]]])
    b = np.array([[[0.3, 0.1], [0.2, 0.0]], [[0.6, 0.0], [0.2, 0.3]]])
    c = np.array([[[0.4, 0.3], [0.2, 0.1]]])
    lines = [
        tables.line("f", name, ["s", "t"], curves, method=name) for name, curves in zip("ABC", (a, b, c), strict=True)
    ]
    ranks = {one.name: one.values.tolist() for one in tables.ranked(lines, [a, b, c])}
    assert ranks == {
        "A": [[(3 + 2) / 2, (1.5 + 2) / 2], [2, (3 + 2) / 2]],
        "B": [[(1 + 3) / 2, (1.5 + 1) / 2], [2, (1 + 3) / 2]],
        "C": [[(2 + 1) / 2, 3], [2, (2 + 1) / 2]],
    }
    assert tables.summary(tables.ranked(lines, [a, b, c])).groupby("trial")["mean"].sum().tolist() == [6, 6]


def test_summary_and_paired_contrast_by_hand() -> None:
    first = tables.line("f", "A", ["s", "t", "u"], np.array([[[0.4], [0.2], [0.1]], [[0.2], [0.2], [0.1]]]), method="A")
    second = tables.exact("f", "B", ["s", "t", "u"], np.array([[0.1], [0.1], [0.4]]), method="B")
    row = tables.summary([first, second]).iloc[0]
    assert row["mean"] == pytest.approx(0.2)
    assert row["se"] == pytest.approx(np.std([0.3, 0.2, 0.1], ddof=1) / np.sqrt(3))
    assert row["se_repetitions"] == pytest.approx(0.1 / 3)  # 0.3 ± 0.1 on one of three tasks
    gap = tables.contrasts([first, second]).iloc[0]
    assert gap["difference"] == pytest.approx(0.0)
    assert gap["se"] == pytest.approx(np.std([0.2, 0.1, -0.3], ddof=1) / np.sqrt(3))
    assert (gap["first_better"], gap["second_better"]) == (1, 2)


def test_labels_at_line_ends_keep_their_order_and_their_distance() -> None:
    ends = np.array([0.5, 0.51, 0.49, 0.02, 0.0, 0.99, 1.0])
    heights = spread(ends, 0.05)
    assert (np.argsort(heights) == np.argsort(ends, kind="stable")).all()
    assert np.diff(np.sort(heights)).min() >= 0.05 - 1e-12
    assert heights.min() >= 0
    assert heights.max() <= 1
    assert heights[0] == pytest.approx(0.5)
    np.testing.assert_allclose(spread(np.array([0.2, 0.8]), 0.05), [0.2, 0.8])
    np.testing.assert_allclose(spread(np.zeros(5), 0.9), [0, 0.25, 0.5, 0.75, 1])


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([2.0, 0.0005], [0.001, 0.01, 0.1, 1]),
        ([0.6, 0.02], [0.02, 0.05, 0.1, 0.2, 0.5]),
        ([0.07, 0.028], [0.03, 0.04, 0.05, 0.06, 0.07]),
        ([0.155, 0.085], [0.1, 0.12, 0.14]),
        ([0.1, 0.1], None),
    ],
)
def test_a_logarithmic_axis_has_three_numbers_at_least(
    tmp_path: Path, values: list[float], shown: list[float] | None
) -> None:
    with figures.canvas(tmp_path / "axis.svg") as (axes,):
        figures.curves(axes, [figures.Curve("LI", np.arange(2), np.array(values))], log=True)
        low, high = axes.get_ylim()
        ticks = [t for t in axes.yaxis.get_major_locator()() if low <= t <= high]
    assert len(ticks) >= 3
    if shown is not None:
        np.testing.assert_allclose(ticks, shown)


# -- whole papers --------------------------------------------------------------------------------------------


def few_steps(models: Any, Z: Any, weights: Any, beta: float, eta: float, epochs: int, **more: Any) -> Any:
    """LI as published takes 1,000 steps; here its starts need not be good."""
    return gradient_steps(models, Z, weights, beta, eta, min(epochs, 5), **more)


def test_both_papers_leave_their_tables_and_figures_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(initializations.QUICK, "tasks", 2)
    monkeypatch.setitem(initializations.QUICK, "trials", 7)
    monkeypatch.setitem(similarities.QUICK, "tasks", 2)
    monkeypatch.setitem(similarities.QUICK, "trials", 12)
    monkeypatch.setitem(figures.LOOK, "savefig.dpi", 40)
    monkeypatch.setattr(learned, "gradient_steps", few_steps)
    history = small(4)
    out = tmp_path / "one"
    text = initializations.run(history, out, name="valleys", quick=True, jobs=1, progress=False)
    names = {f"figure{i}{ending}" for i in range(1, 7) for ending in (".png", ".svg")}
    assert {path.name for path in out.iterdir()} == names | {"pieces.jsonl.xz", *TABLES}
    table = tables.read(out / "results.csv")
    adtm = table[table["trial"] == 5].groupby(["figure", "line"])["value"].mean()
    shown = tables.read(out / "summary.csv").set_index(["figure", "line", "trial"])["mean"]
    for (figure, line), value in adtm.items():
        assert shown[figure, line, 5] == pytest.approx(value, rel=1e-4)
    nbi = np.mean([by_hand(history, t, 2, init="nbi", n_init=10, seed=0) for t in ("t0", "t3")], axis=0)
    assert [shown["figure1", "NBI", t] for t in (1, 2)] == pytest.approx(nbi.tolist(), rel=1e-4)
    assert "A quick run" in text
    assert "valleys" in text
    similarities.run(history, tmp_path / "two", quick=True, jobs=1, progress=False)
    ranks = tables.read(tmp_path / "two" / "summary.csv")
    five = ranks[(ranks["measure"] == "rank") & (ranks["figure"] == "figure1")]
    assert sorted(five["line"].unique()) == ["NBI", "PBI", "RBI", "aPBI", "aaPBI"]
    np.testing.assert_allclose(five.groupby("trial")["mean"].sum(), 15, rtol=1e-4)


def test_starts_that_need_meta_features_are_skipped_without_them(tmp_path: Path) -> None:
    plain = hs.History.from_frame(small(3).to_frame()[["task", "x", "y", "value"]], small(3).space)
    names = [
        arm.method.name for arm in initializations.usable(initializations.start_arms(plain, plain.tasks, 1), plain)
    ]
    assert "NBI" not in names
    assert "LI" in names
    with pytest.raises(ValueError, match="need meta-features"):
        similarities.run(plain, tmp_path, progress=False)


def test_histories_by_name_and_by_the_authors_files(shared: Path) -> None:
    assert runs.history_named("svm")[0].tasks == hs.library.load("svm").tasks
    svm, name = runs.history_named(str(shared / "data" / "svm"))
    assert (len(svm), name) == (50, "svm, the authors' data")
    adaboost, _ = runs.history_named(str(shared / "data" / "adaboost.csv"))
    assert adaboost["wine"].features == svm["wine"].features
    with pytest.raises(ValueError, match="no history 'swm'"):
        runs.history_named("swm")


def test_quoted_values_on_the_authors_data_are_those_of_the_public_interface(shared: Path, tmp_path: Path) -> None:
    history, _ = runs.history_named(str(shared / "data" / "svm"))
    tasks = ["wine", "abalone", "car"]
    arm = Arm(Method("aLI", "ali"), 5, repetitions=1)  # off the grid, so its proposals are moved
    (found,) = Work(history, tasks, tmp_path, jobs=1, progress=False).run([arm])
    for task, curve in zip(tasks, found.curves()[0], strict=True):
        seed = runs.crc32(f"0 0 {task} aLI".encode())
        np.testing.assert_array_equal(curve, by_hand(history, task, 5, init="ali", n_init=5, seed=seed))


# -- clusters ------------------------------------------------------------------------------------------------


@contextmanager
def dask() -> Iterator[None]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        yield


@contextmanager
def ray() -> Iterator[None]:
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        with joblib.parallel_config("ray"):
            yield
    finally:
        ray.shutdown()


def small_table(history: hs.History, folder: Path) -> pd.DataFrame:
    """A few runs on two processes of the current joblib backend."""
    arms = [Arm(RBI, 2, ("GP",), 4, 2), Arm(LI, 2, repetitions=1)]
    outcomes = Work(history, ["t0", "t3"], folder, jobs=2, progress=False).run(arms)
    parts = [(outcome, part) for outcome in outcomes for part in ("start", *outcome.arm.surrogates)]
    return tables.results(
        [
            tables.line("f", o.arm.name, o.runs[0], o.curves(part), method=o.arm.name, surrogate=part)
            for o, part in parts
        ]
    )


@pytest.fixture(scope="module")
def here(history: hs.History, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The table made by joblib's own processes."""
    return small_table(history, tmp_path_factory.mktemp("loky"))


@pytest.mark.parametrize("cluster", [dask, ray])
def test_a_cluster_gives_the_identical_table(
    cluster: Callable[[], AbstractContextManager[None]], history: hs.History, here: pd.DataFrame, tmp_path: Path
) -> None:
    with cluster():
        there = small_table(history, tmp_path)
    pd.testing.assert_frame_equal(here, there, check_exact=True)


# -- claims --------------------------------------------------------------------------------------------------


def results(tmp_path: Path, a: list[list[float]], b: list[list[float]], name: str = "here") -> Results:
    """Two lines of one figure, written and read back."""
    folder = tmp_path / name
    folder.mkdir()
    tasks = [f"t{i}" for i in range(len(a))]
    lines = [tables.exact("figure1", n, tasks, np.array(v), method=n) for n, v in (("A", a), ("B", b))]
    tables.aggregate(lines, folder, {"paper": "initializations", "history": name, "tasks": len(a)})
    return Results.read(folder)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(BETTER, [HOLDS, OPEN, FAILS]), (NO_BETTER, [FAILS, HOLDS, HOLDS]), (AS_GOOD, [FAILS, HOLDS, FAILS])],
)
def test_a_comparison_is_paired_and_counts_standard_errors(tmp_path: Path, kind: str, expected: list[str]) -> None:
    """After one trial A is better by about .1 on all three tasks; after two, on two; after three, it is worse."""
    b = [[0.5, 0.5, 0.5], [0.3, 0.3, 0.3], [0.9, 0.9, 0.9]]
    a = [[0.4, 0.3, 0.6], [0.2, 0.2, 0.4], [0.799, 1.0, 1.001]]
    read = results(tmp_path, a, b)
    found = read.find(Compare("figure1", "A", "B", (1, 2, 3), kind))
    assert [one.verdict for one in found] == expected
    assert found[0].difference == pytest.approx(-0.301 / 3, rel=1e-4)
    assert found[1].se == pytest.approx(np.std([-0.2, -0.1, 0.1], ddof=1) / np.sqrt(3), rel=1e-4)
    turned = read.find(Compare("figure1", "B", "A", (2,)))[0]
    assert (turned.difference, turned.se) == (-found[1].difference, found[1].se)
    assert str(found[1]) == "−.067\xa0±\xa0.088"
    assert str(found[0]) == "**−.100\xa0±\xa0.000**"
    assert (found[1].n, found[1].df) == (3, 2)
    assert read.find(Compare("figure1", "A", "C", (1,))) == []
    assert read.find(Compare("figure9", "A", "B", (1,))) == []


def test_a_verdict_on_several_comparisons(tmp_path: Path) -> None:
    read = results(tmp_path, [[0.4, 0.3, 0.6], [0.2, 0.2, 0.4], [0.799, 1, 1.001]], [[0.5] * 3, [0.3] * 3, [0.9] * 3])
    one, two, three = read.find(Compare("figure1", "A", "B", (1, 2, 3)))
    assert verdict([one]) == HOLDS
    assert verdict([one, two]) == TENDS
    assert verdict([two]) == OPEN
    assert verdict([one, two, two]) == OPEN  # one of three is too few
    assert verdict([three, two, two]) == FAILS  # a claim is about all comparisons, so one is enough to refute it
    assert verdict([one, three]) == PARTLY
    assert verdict([three]) == FAILS


def test_significance_is_students_t_corrected_by_holms_method() -> None:
    """Against SciPy's paired test and Holm's method in its own words."""
    from scipy.stats import ttest_1samp

    rng, check = np.random.default_rng(0), Compare("f", "A", "B", (1,))
    gaps = [rng.normal(loc, 1.0, size=n) for loc, n in ((-1.0, 12), (-0.4, 12), (0.9, 8), (0.0, 3), (-2.0, 4))]
    found = [Found(check, 1, float(g.mean()), float(g.std(ddof=1) / np.sqrt(len(g))), len(g) - 1, len(g)) for g in gaps]
    p = [ttest_1samp(g, 0.0).pvalue for g in gaps]
    np.testing.assert_allclose([one.p for one in found], p)
    expected = [1.0] * 5
    for i in range(5):  # the largest of (m − j + 1) p_(j) up to the rank of p_i
        smaller = sorted(q for q in p if q <= p[i])
        expected[i] = min(1.0, max((5 - j) * q for j, q in enumerate(smaller)))
    np.testing.assert_allclose([one.corrected for one in holm(found)], expected)


def test_two_standard_errors_of_three_data_sets_are_not_significant() -> None:
    check = Compare("f", "A", "B", (1,))
    three, fifty = (Found(check, 1, -2.0, 1.0, n - 1, n) for n in (3, 50))
    assert three.p == pytest.approx(0.184, abs=1e-3)
    assert (three.verdict, fifty.verdict) == (OPEN, OPEN)
    assert Found(check, 1, -2.02, 1.0, 49, 50).verdict == HOLDS
    assert Found(check, 1, -5.0, 1.0, 0, 1).verdict == OPEN  # one data set decides nothing


def test_equal_differences_are_judged_by_the_sign_test() -> None:
    """Student's t would call three equal differences certain; with signs at random, 1 in 4 is as extreme."""
    from scipy.stats import binomtest

    check = Compare("f", "A", "B", (1,))
    for n in (2, 3, 8):
        for se in (0.0, 1e-17):  # equal up to rounding
            assert Found(check, 1, -0.1, se, n - 1, n).p == pytest.approx(binomtest(0, n).pvalue)
    assert Found(check, 1, -0.1, 0.0, 2, 3).verdict == OPEN
    assert Found(check, 1, -0.1, 0.0, 7, 8).verdict == HOLDS


def test_welchs_degrees_of_freedom() -> None:
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=9), rng.normal(0.5, 3.0, size=20)
    s, t = (float(x.std(ddof=1) / np.sqrt(len(x))) for x in (a, b))
    assert welch((s, 9), (t, 20)) == pytest.approx(ttest_ind(a, b, equal_var=False).df)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([HOLDS, HOLDS], HOLDS),
        ([HOLDS, TENDS], TENDS),
        ([HOLDS, OPEN], claims.SOMEWHERE),
        ([HOLDS, FAILS], claims.MIXED),
        ([FAILS, FAILS], FAILS),
        ([FAILS, OPEN], claims.NOT_EVERYWHERE),
        ([OPEN, claims.NOT_CLAIMED], OPEN),
        ([claims.NOTHING, claims.NOT_CLAIMED], claims.NOTHING),
        ([PARTLY], claims.MIXED),
    ],
)
def test_the_summary_joins_the_verdicts_on_several_collections(words: list[str], expected: str) -> None:
    assert claims.overall(words) == expected


def test_a_claim_about_one_collection_is_not_checked_on_others(tmp_path: Path) -> None:
    read = results(tmp_path, [[0.1], [0.2], [0.3]], [[0.5], [0.7], [0.6]], "adaboost")
    claim = Claim("A is better", "Fig. 1", (Compare("figure1", "A", "B", (1,)),), only="svm")
    assert read.check(claim) == []
    assert len(read.check(replace(claim, only="ada"))[0]) == 1


def test_a_comparison_with_a_later_trial_of_another_figure_is_not_paired(tmp_path: Path) -> None:
    read = results(tmp_path, [[0.1, 0.1], [0.3, 0.1]], [[0.9, 0.5], [0.9, 0.7]])
    (found,) = read.find(Compare("figure1", "A", "B", (1,), later=("figure1", 2)))
    assert found.difference == pytest.approx(0.2 - 0.6)
    assert found.se == pytest.approx(np.hypot(0.1, 0.1), rel=1e-4)
    assert str(found.check) == "A − B after 2"


def test_a_claim_about_more_than_elsewhere_subtracts_the_difference_there(tmp_path: Path) -> None:
    found = results(tmp_path, [[0.1], [0.3]], [[0.4], [0.4]])
    there = found.contrasts.assign(figure="figure2", difference=[-0.5], se=[0.03])
    summary = pd.concat([found.summary, found.summary.assign(figure="figure2")]).assign(tasks=50)
    both = Results(found.name, found.about, summary, pd.concat([found.contrasts, there]))
    (one,) = both.find(Compare("figure1", "A", "B", (1,), than="figure2"))
    assert one.difference == pytest.approx(-0.2 + 0.5)
    assert one.se == pytest.approx(np.hypot(0.1, 0.03))
    assert one.verdict == FAILS  # A is better by less than there
    (turned,) = both.find(Compare("figure1", "B", "A", (1,), than="figure2"))
    assert turned.difference == pytest.approx(-one.difference)
    assert both.find(Compare("figure1", "A", "B", (1,), than="figure3")) == []


def test_every_claim_is_about_lines_that_are_run() -> None:
    """Nothing is left unchecked because of a misspelt name."""
    arms = [*initializations.start_arms(small(3), ["t0"], 1), *initializations.long_arms(1, 50)]
    known = {arm.method.name for arm in arms} | set(runs.SURROGATES)
    known |= {arm.method.name for arm in similarities.long_arms(1, 70)} | {"RBI", "No Init"}
    for paper in ("initializations", "similarities"):
        for claim in claims.PAPERS[paper][1]:
            for check in claim.checks:
                assert {check.first, check.second} <= known
                assert set(check.at) <= set(tables.AT)
                assert check.at == claim.at
    ran = Results.read(ROOT / "benchmarks" / "papers" / "siamese")
    there = set(ran.summary["figure"])
    for claim in claims.PAPERS["siamese"][1]:
        for check in (check for check in claim.checks if check.figure in there):
            lines = set(ran.lines(check.figure, check.measure))
            assert {check.first, check.second} <= lines | set(siamese_tables.SEARCHES), claim.text
            assert len(ran.find(check)) == len(check.at) * ({check.first, check.second} <= lines), claim.text


def test_the_page_of_claims_in_the_documentation_is_the_generated_one(tmp_path: Path) -> None:
    folders = sorted(path.parent for path in (ROOT / "benchmarks" / "papers").glob("*/about.json"))
    text = claims.write(folders, tmp_path / "claims.md")
    assert text == (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    pictures = re.findall(r"\]\(([^()]+\.svg)\)", text)
    assert len(pictures) > 12
    assert all((ROOT / "docs" / picture).is_file() for picture in pictures)


def test_the_figures_of_the_page_are_drawn_from_its_tables(tmp_path: Path) -> None:
    folder = ROOT / "benchmarks" / "papers" / "similarities-svm-authors"
    text = claims.write([folder], tmp_path / "page.md")
    assert claims.draw([folder], tmp_path / "page.md") == tmp_path / "page"
    for picture in re.findall(r"\]\(([^()]+\.svg)\)", text):
        here, there = tmp_path / picture, ROOT / "docs" / picture.replace("page/", "claims/")
        drawn = [path.read_text(encoding="utf-8").count("<path") for path in (here, there)]
        assert drawn[0] == drawn[1] > 10


def test_the_page_says_what_the_names_of_the_papers_mean() -> None:
    explained = {name for names in claims.NAMES for name in names.split(", ")}
    published = {m.name for m in (*initializations.PUBLISHED, *similarities.PUBLISHED)}
    assert published | set(runs.SURROGATES) <= explained
    assert all(f"| {names} | " in claims.page([], "page") for names in claims.NAMES)


def test_a_row_of_the_page_has_verdict_differences_and_means(tmp_path: Path) -> None:
    """Two tasks: NBI is better than RBI by .1 and .3 after one trial; three further trials are missing."""
    tasks, folder = ["t0", "t1"], tmp_path / "here"
    folder.mkdir()
    values = {"RBI": [[0.5], [0.9]], "NBI": [[0.4], [0.6]]}
    lines = [tables.line("figure1", n, tasks, np.array([v]), method=n) for n, v in values.items()]
    tables.aggregate(lines, folder, {"paper": "initializations", "history": "two tasks", "tasks": 2})
    text = claims.write([folder], tmp_path / "page.md")
    row = next(line for line in text.splitlines() if line.startswith("| NBI is a better start than RBI"))
    assert "- *two tasks*: 2 data sets, up to 1 trials.\n" in text  # nothing is known of repetitions
    assert "(Fig. 1, after 1 · 3 · 5 · 10) | not decided |" in row  # two standard errors are p = .30 for n = 2
    folded = text.split("<summary>All differences</summary>")[1]
    assert "| n\xa0=\xa02<br>NBI − RBI: −.200\xa0±\xa0.100 |" in folded
    assert "| NBI | .500 |" in text
    assert "| RBI | .700 |" in text
    assert "| LI is consistently the best start (Fig. 1, after 3 · 5 · 10) | not run |" in text


def test_the_page_shows_the_figures_that_a_run_has_and_names_the_runs_of_a_note(tmp_path: Path) -> None:
    """Of a run of Fig. 1 alone, the page shows no other figure."""
    values = np.array([[[0.4], [0.6]]])
    for name, more in (("all", {"note": "they are old"}), ("starts", {})):
        (tmp_path / name).mkdir()
        drawn = ("figure1", "figure2") if name == "all" else ("figure1",)
        lines = [tables.line(f, m, ["t0", "t1"], values, method=m) for f in drawn for m in ("NBI", "RBI")]
        about = {"paper": "initializations", "history": name, "tasks": 2, "repetitions": 3, **more}
        tables.aggregate(lines, tmp_path / name, about)
    text = claims.write([tmp_path / "all", tmp_path / "starts"], tmp_path / "page.md")
    pictures = set(re.findall(r"\]\(([^()]+\.svg)\)", text))
    assert pictures == {"page/all/figure1.svg", "page/all/figure2.svg", "page/starts/figure1.svg"}
    assert "*But they are old (all).*" in text
    assert "- *starts*: 2 data sets, up to 1 trials, 3 repetitions" in text


def test_the_page_gives_the_repetitions_and_their_standard_error(tmp_path: Path) -> None:
    """RBI, four repetitions on two tasks, standard deviations .2 and 0: √(.1² + 0²)/2 = .05. NBI: always the same."""
    folder = tmp_path / "here"
    folder.mkdir()
    spread = 0.2 * np.sqrt(3 / 4)  # half of four above and half below: a sample standard deviation of .2
    rbi = np.array([[[0.5 + sign * spread], [0.9]] for sign in (1, -1, 1, -1)])
    lines = [
        tables.line("figure1", name, ["t0", "t1"], curves, method=name)
        for name, curves in (("RBI", rbi), ("NBI", np.array([[[0.4], [0.6]]])))
    ]
    about = {"seed": 0, "quick": False, "tasks": 2}
    tables.aggregate(lines, folder, tables.description("initializations", "two tasks", repetitions=2, **about))
    text = claims.write([folder], tmp_path / "page.md")
    assert (
        "2 data sets, up to 1 trials, 2 repetitions (up to 4 for random starts, 1 where the first two agreed); " in text
    )
    assert "more would move no mean by more than about .050 (one standard error)" in text
    assert "narrow no band of No Init or RBI by more than 3%" in text  # se .2: 1 − √(1 − (.05 / .2)²) = .032
    tables.aggregate(lines, folder, tables.description("initializations", "two tasks", repetitions=1, **about))
    assert "up to 1 trials, 1 repetition." in claims.write([folder], tmp_path / "page.md")


def test_the_page_names_the_methods_that_were_repeated_less_often(tmp_path: Path) -> None:
    """Not those that were run once because they do not depend on chance."""
    folder = tmp_path / "here"
    folder.mkdir()
    curves = {
        name: np.random.default_rng(0).random((times, 2, 3)) for name, times in (("aPBI", 4), ("aaPBI", 2), ("NBI", 1))
    }
    lines = [tables.line("figure1", name, ["t0", "t1"], c, method=name) for name, c in curves.items()]
    lines = tables.ranked(lines, list(curves.values())) + lines
    about = tables.description("similarities", "two tasks", seed=0, quick=False, tasks=2, repetitions=4)
    tables.aggregate(lines, folder, about)
    text = claims.write([folder], tmp_path / "page.md")
    assert "4 repetitions (up to 4 for random starts, 2 for aaPBI in Fig.\xa01, 1 where the first two agreed)" in text
    rows = {
        line.split(" (")[0][2:]: line for line in text.split("<summary>All differences")[1].splitlines() if "−" in line
    }
    assert "n\xa0=\xa02, 2 repetitions of aaPBI<br>" in rows["aaPBI is bad in its first three trials, the active ones"]
    best = rows["aPBI is the best of the five starts"]
    assert "n\xa0=\xa02, 2 repetitions of aaPBI<br>aPBI − NBI" in best


def test_missing_results_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="name the folders that headstart reproduce wrote with results="):
        claims.write([], tmp_path / "page.md")
    with pytest.raises(FileNotFoundError, match=r"about\.json"):
        claims.write([tmp_path], tmp_path / "page.md")
    (tmp_path / "about.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ValueError, match="does not name its paper"):
        claims.write([tmp_path], tmp_path / "page.md")
    about = {"paper": "initializations", "history": "h", "tasks": 2, "repetitions": "many"}
    (tmp_path / "about.json").write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ValueError, match=r"repetitions .* 'many'"):
        claims.write([tmp_path], tmp_path / "page.md")
    assert not (tmp_path / "page.md").exists()


def test_names_on_the_page_of_claims_are_text_and_not_markdown():
    hostile = "a|b *c* [d](javascript:e) <img src=x> `f`\n# g"
    text = markdown(hostile)
    assert "\n" not in text
    for mark in "|*[]<>`#":
        assert text.count(mark) == text.count(f"\\{mark}")
    assert markdown("svm, the authors' data (50 tasks)") == "svm, the authors' data (50 tasks)"
