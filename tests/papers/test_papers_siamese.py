"""The experiments of the Siamese paper at a small scale: they measure what they claim to, and draw it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.errors import MissingPackageError
from headstart.library import images, resnet
from headstart.papers import claims, prior_mean, siamese_tables, tables
from headstart.papers.siamese import common, experiments, pictures, problems, searches, synthetic
from headstart.papers.siamese.common import Effort
from headstart.report import figures
from headstart.surrogates import NearestPrior

TINY = Effort(pairs=80, steps=(20, 60, 2), per_problem=8, new_per_problem=3, subsets=4, trials=6, repetitions=2)
TINIEST = Effort(
    40, (2, 2, 1), per_problem=2, new_per_problem=1, subsets=4, trials=4, repetitions=1, cosines=3
)  # everything runs; nothing is learned


def values(rows, **wanted):
    return [row["value"] for row in rows if all(row[key] == value for key, value in wanted.items())]


def networks(seed=0):
    """A history like `resnet`: the best batch size and learning rate depend on the source of the images."""
    rng = np.random.default_rng(seed)
    rows = []
    for name in (n for n in images.NAMES if n.startswith("digits") or n.startswith("mnist")):
        centre = 0.2 if name.startswith("digits") else 0.8
        for config in resnet.grid():
            z = resnet.space().encode([config])[0]
            rows.append({"dataset": name, **config, "error": 0.1 + ((z - centre) ** 2).sum() + 0.01 * rng.random()})
    return hs.History.from_frame(pd.DataFrame(rows), resnet.space(), task="dataset", value="error")


@pytest.fixture
def two_sources(monkeypatch):
    """Images of two kinds, as if they were the sources: bright and dark noise."""

    def whole(source):
        rng = np.random.default_rng(len(source))
        X = rng.random((1200, 1, images.SIZE, images.SIZE)) * (1.0 if source == "digits" else 0.2)
        return X.astype(np.float32), np.arange(1200) % 10

    history = networks()
    monkeypatch.setattr(images, "whole", whole)
    monkeypatch.setattr(images, "SOURCES", {"digits": None, "mnist": None})
    monkeypatch.setattr(hs.library, "load", lambda name: history)


@pytest.mark.parametrize("name", list(synthetic.GROUPS))
def test_the_groups_are_distinguished(name):
    rows = synthetic.experiment(name, "mean", TINY, 0)
    held_out = values(rows, measure="held-out loss")
    assert held_out[-1] < held_out[0]
    assert np.mean(values(rows, measure="accuracy")) == pytest.approx(1.0, abs=0.1)


def test_two_meta_features_show_the_groups_apart():
    rows = synthetic.experiment(synthetic.IN_THE_PLANE, "mean", TINY, 0, size=2)
    points = {(row["method"], row["measure"]) for row in rows}
    assert {(synthetic.PLANE, f"{when}, axis {k}") for when in ("before", "after") for k in (1, 2)} <= points
    before, after = (values(rows, method=f"{when} training", measure="apart") for when in ("before", "after"))
    assert len(before) == len(after) > 20
    assert np.mean(after) < 0.5 * np.mean(before)  # the groups move apart


def test_distances_within_and_between_groups_by_hand():
    """Two points at 0 and 1 and two at 4 and 6."""
    found = synthetic.apart(np.array([[0.0], [1.0], [4.0], [6.0]]), np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(found, [1 / 5, 1 / 4, 2 / 3.5, 2 / 5.5])


def test_known_and_unknown_sources_are_lines_of_their_own(tmp_path):
    rows = [
        common.row(f"{source}-whole, {kind} source", method, "error", error, item=r, step=t)
        for source, kind, errors in (
            ("a", "known", (0.4, 0.2)),
            ("b", "known", (0.6, 0.4)),
            ("a", "unknown", (0.8, 0.6)),
        )
        for method, more in (("random, EI", 0.1), ("3 nearest, EI", 0.0))
        for r in range(2)
        for t, error in enumerate((errors[0] + more, errors[1] + more), 1)
    ]
    rows += [common.row("a-whole, known source", m, "own source", v) for m, v in (("metric", 1.0), ("chance", 0.4))]
    found = {(one.figure, one.name): one for one in siamese_tables.lines(pd.DataFrame(rows))}
    known = found["figure9, known source", "3 nearest, EI"]
    assert known.tasks == ("a-whole", "b-whole")
    np.testing.assert_allclose(known.values, [[0.4, 0.2], [0.6, 0.4]])
    np.testing.assert_allclose(found["figure9, unknown source", "random, EI"].values, [[0.9, 0.7]])
    np.testing.assert_allclose(found["figure9", "random, EI"].values, [[0.7, 0.5], [0.7, 0.5]])  # both kinds of a; b
    assert found["figure8, other source", "metric"].values.tolist() == [[0.0]]
    assert found["figure8, other source", "chance"].values.tolist() == [[0.6]]
    shown = tables.summary([*found.values(), *siamese_tables.lines(pd.DataFrame(prior_mean.experiment(3, 0)))])
    siamese_tables.draw(shown, tmp_path, "", ".svg")
    assert {path.name for path in tmp_path.iterdir()} == {"figure1.svg", "figure1-means.svg", "figure9.svg"}


def test_problems_1_and_2_have_the_same_hand_crafted_features_and_3_has_others():
    rng = np.random.default_rng(0)
    features = {
        name: pd.DataFrame([hs.metafeatures(*problems.problem(name, rng=rng)) for _ in range(60)])
        for name in problems.CENTRES
    }
    one, two, three = features.values()
    spread = one.std() + 1e-9
    assert ((one.mean() - two.mean()).abs() < 0.6 * spread).all()
    assert ((one.mean() - three.mean()).abs() > 5 * spread).any()


def test_a_new_data_set_finds_its_own_kind_by_what_was_learned():
    rows = problems.experiment("tables", TINY, 0)
    assert np.mean(values(rows, method="tables", measure="own kind")) > 0.8
    kinds = {name: values(rows, method=problems.HAND, measure="own kind", problem=name) for name in problems.CENTRES}
    confused = kinds["Problem 1"] + kinds["Problem 2"]
    assert np.mean(confused) < 0.75
    assert kinds["Problem 3"] == [1.0] * 3
    assert np.mean(values(rows, method="tables", measure="gap")) < 0.2


def test_searches_begin_with_the_bests_of_the_nearest(two_sources):
    rows = searches.experiment(searches.EVERY, ["digits", "mnist"], TINY, 0)
    for method in searches.SEARCHES:
        for source in ("digits", "mnist"):
            curve = values(rows, method=method, measure="error", problem=f"{source}-whole, known source", item=0)
            assert len(curve) == TINY.trials
            assert curve == sorted(curve, reverse=True)
    starts = [values(rows, method=m, measure="error", item=0)[:3] for m in searches.SEARCHES]
    assert starts[0] == starts[1]  # the same random ones
    assert starts[2] == starts[3] == starts[4]  # the same learned ones
    items = {m: {row["item"] for row in rows if row["method"] == m} for m in searches.SEARCHES}
    assert items["3 any, EI"] == set(range(TINY.repetitions))
    assert items["3 nearest, EI"] == {0}  # nothing in it depends on chance
    known = values(rows, method="metric", measure="own source")
    assert len(known) == 2


def test_data_sets_do_not_share_the_draws_of_random_starts(two_sources, monkeypatch):
    seeds = {}

    def search(method, runs, table, features, trials, seed):
        seeds.setdefault(table.losses.tobytes(), set()).add(seed)
        return np.array([len(seeds), seed])

    monkeypatch.setattr(searches, "_search", search)
    searches.experiment(searches.EVERY, ["digits", "mnist"], TINIEST, 0)
    first, second = seeds.values()
    assert len(first) == len(second) == TINIEST.repetitions
    assert not first & second


def test_no_search_is_on_a_data_set_of_the_training():
    there = ["digits", "mnist"]
    searched = {"known": set(), "unknown": set()}
    for setting in searches.settings(there):
        trained, new = searches.split(setting, there, 10)
        assert not set(trained) & set(new)
        sources = {name.partition("-")[0] for name in trained}
        for name in new:
            kind = "known" if name.partition("-")[0] in sources else "unknown"
            assert name not in searched[kind]  # once each
            searched[kind].add(name)
    every = {name for name in images.NAMES if name.partition("-")[0] in there}
    assert searched == {"known": every, "unknown": every}


def test_the_prior_mean_of_fig_9_is_the_printed_one(two_sources, monkeypatch):
    seen = {}
    original = searches.Optimizer

    def spy(space, **settings):
        seen[settings["surrogate"]] = settings["init"]
        return original(space, **settings)

    monkeypatch.setattr(searches, "Optimizer", spy)
    rows = searches.experiment("all but mnist", ["digits", "mnist"], TINIEST, 0)
    assert seen[NearestPrior(3, form="printed")] == "metric"
    assert seen["prior"] == "metric"
    tasks = {row["problem"] for row in rows if row["measure"] == "error"}
    assert tasks == {
        f"{name}, unknown source"
        for name in images.NAMES
        if name in ("mnist-whole", *(f"mnist-0{k}" for k in range(1, 5)))
    }


def test_everything_is_run_kept_written_and_drawn(tmp_path, monkeypatch, two_sources):
    monkeypatch.setattr(common, "QUICK", TINIEST)
    monkeypatch.setitem(figures.LOOK, "savefig.dpi", 40)
    for name in ("sin and cos", "tanh and cos"):
        monkeypatch.delitem(synthetic.GROUPS, name)
    monkeypatch.delitem(problems.LEARNED, "mean")
    frame = experiments.run(tmp_path, quick=True, jobs=1, progress=False)
    assert set(frame["experiment"]) == {"prior mean", "synthetic", "problems", "images"}
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "results.csv"), frame, check_dtype=False)
    for name in (f"figure{i}" for i in (1, 4, 5, 6, 7, 8, 9)):
        assert (tmp_path / f"{name}.png").stat().st_size > 2000
        assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert "Validation error after 3 trials (Fig. 9)" in experiments.text(frame)
    page = tmp_path / "page.md"
    siamese_tables.aggregate(frame, tmp_path, seed=0, quick=True)
    shown = re.findall(r"\]\((\S+?\.svg)\)\]", claims.write([tmp_path], page))
    assert claims.draw([tmp_path], page) == tmp_path / "page"
    assert [Path(one).stem for one in shown] == ["figure1", "figure1-means", *(f"figure{i}" for i in range(4, 10))]
    assert all((tmp_path / "page" / tmp_path.name / f"{Path(one).stem}.svg").is_file() for one in shown)
    monkeypatch.setattr(synthetic, "experiment", lambda *_: pytest.fail("nothing is done twice"))
    monkeypatch.setattr(pictures, "draw", lambda *_: None)
    again = experiments.run(tmp_path, quick=True, jobs=1, progress=False)
    pd.testing.assert_frame_equal(again, frame)


def test_missing_images_are_named_with_their_consequence(monkeypatch, capsys):
    def absent():
        raise MissingPackageError("they are not installed")

    monkeypatch.setattr(images, "SOURCES", {"digits": images.SOURCES["digits"], "absent": absent})
    assert searches.settings(searches.sources()) == []
    assert capsys.readouterr().err.splitlines() == [
        "skipped absent: they are not installed",
        "skipped Fig. 9: it needs images of at least two sources",
    ]


def test_runs_without_some_images_are_not_reused_once_these_are_installed(tmp_path, monkeypatch, two_sources):
    monkeypatch.setattr(common, "QUICK", TINIEST)
    monkeypatch.setattr(synthetic, "GROUPS", {})
    monkeypatch.setattr(problems, "LEARNED", {})
    monkeypatch.setattr(pictures, "draw", lambda *_: None)
    seen = []
    done = [{"value": 1.0}]
    monkeypatch.setattr(synthetic, "experiment", lambda *_, **__: done)
    monkeypatch.setattr(searches, "experiment", lambda setting, there, *_: seen.append((setting, there)) or done)
    both = ["digits", "mnist"]
    experiments.run(tmp_path, quick=True, jobs=1, progress=False)
    experiments.run(tmp_path, quick=True, jobs=1, progress=False)
    assert seen == [(setting, both) for setting in searches.settings(both)]
    monkeypatch.setattr(images, "SOURCES", {"digits": None, "fashion": None, "mnist": None})
    experiments.run(tmp_path, quick=True, jobs=1, progress=False)
    assert seen[len(searches.settings(both)) :] == [
        (s, ["digits", "fashion", "mnist"]) for s in searches.settings(["digits", "fashion", "mnist"])
    ]
