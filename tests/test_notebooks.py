"""Objects as people meet them in a notebook: what they say of themselves, as text, HTML, frames and pictures."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET

import numpy as np
import optuna
import pandas as pd
import pytest

import headstart as hs
from headstart._support.display import Picture, Series, svg
from headstart.errors import ArgumentError

optuna.logging.set_verbosity(optuna.logging.ERROR)
EVIL = "<script>alert(1)</script> & $x^$"
SPACE = hs.Space({"x": (0.0, 1.0), EVIL: [EVIL, "b"], "k": hs.Int(1, 9, when={EVIL: "b"})})


def loss(config):
    if config["x"] > 0.9:
        return None
    return (config["x"] - 0.3) ** 2 + (config[EVIL] != "b") + config.get("k", 0) / 100


def history():
    rows = [
        {"task": task, **config, "value": loss(config)}
        for task in (EVIL, "two", "three", "four")
        for config in SPACE.sample(12, seed=len(task))
    ]
    return hs.History.from_frame(pd.DataFrame(rows), SPACE)


@pytest.fixture(scope="module")
def shown():
    """One object of each kind."""
    past = history()
    opt = hs.Optimizer(SPACE, past, n_init=3, seed=0)
    for _ in range(5):
        config = opt.ask()
        opt.tell(config, loss(config))
    study = optuna.create_study(sampler=hs.optuna.HeadstartSampler(past, n_init=3))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    return {
        "space": SPACE,
        "history": past,
        "start": hs.learn(past, n=3),
        "evidence": hs.evidence(past, n=3, methods=("rbi",), progress=False),
        "optimizer": opt,
        "result": hs.minimize(loss, SPACE, 5, n_init=3, history=past, seed=0, direction="minimize"),
        "sampler": study.sampler,
    }


KINDS = ("space", "history", "start", "evidence", "optimizer", "result", "sampler")
DRAWN = ("history", "start", "evidence", "optimizer", "result")


def test_reprs_say_something(shown):
    result, evidence = shown["result"], shown["evidence"]
    assert repr(shown["history"]).startswith("History(4 tasks, ")
    assert repr(shown["start"]).startswith("Start(3 configurations of 3 parameters by 'auto' from 4 tasks, first {")
    assert f"best {result.best_value:.6g}" in repr(result)
    assert str(result.best_config) in repr(result)
    assert f"random {evidence.random[:, 2].mean():.3f}" in repr(evidence)
    assert repr(shown["optimizer"]).startswith("Optimizer(5 trials")
    assert repr(shown["sampler"]).startswith("HeadstartSampler(past=History(4 tasks")
    assert "n_init=3" in repr(shown["sampler"])
    assert repr(hs.Optimizer({"x": (0.0, 1.0)}, seed=0)) == (
        "Optimizer(0 trials, minimize, 1 parameter, start 'random', no past runs)"
    )
    failed = hs.minimize(lambda config: None, SPACE, 2, seed=0)
    assert repr(failed) == "Result(2 trials (2 failed), minimize)"


def test_a_sampler_keeps_passwords_to_itself(tmp_path):
    sampler = hs.optuna.HeadstartSampler(f"sqlite:///{tmp_path}/runs.db")
    assert "runs.db" in repr(sampler)
    assert sampler.to_frame().empty
    from headstart.adapters.optuna.storages import describe

    assert "secret" not in describe("postgresql://me:secret@host/runs")


def test_a_store_keeps_passwords_to_itself(tmp_path):
    assert repr(hs.Store("postgresql://me:secret@host/runs")) == "Store('postgresql://me:***@host/runs')"
    assert repr(hs.Store(tmp_path / "runs.db")) == f"Store({str(tmp_path / 'runs.db')!r})"
    where = "Store('postgresql://me:***@host/runs?password=***')"
    assert repr(hs.Store("postgresql://me:secret@host/runs?password=secret")) == where
    with pytest.raises(ArgumentError, match=r"^postgresql://me:\*\*\*@host/runs has an @ .*write it as %40"):
        hs.Store("postgresql://me:sec@ret@host/runs")
    with pytest.raises(ArgumentError, match=r"'postgre sql://me:\*\*\*@host/runs' is not a storage URL"):
        hs.Store("postgre sql://me:secret@host/runs")


@pytest.mark.parametrize("kind", KINDS)
def test_html_is_well_formed_and_names_stay_text(shown, kind):
    html = shown[kind]._repr_html_()
    tree = ET.fromstring(html)
    assert not [node for node in tree.iter() if "script" in node.tag.lower()]
    words = "".join(tree.itertext())
    if kind not in ("evidence", "sampler"):
        assert EVIL in words
    if kind == "sampler":
        assert "n_init" in words
    assert tree.find(".//table") is not None
    pictures = [node for node in tree.iter() if node.tag.endswith("svg")]
    assert len(pictures) == (0 if kind == "space" else 1)
    for node in (node for picture in pictures for node in picture.iter()):
        assert "nan" not in "".join(node.attrib.values()).lower()


@pytest.mark.parametrize("kind", KINDS)
def test_frames_hold_everything(shown, kind):
    frame = shown[kind].to_frame()
    lengths = {"space": 3, "history": sum(map(len, shown["history"])), "start": 3, "evidence": 6}
    assert len(frame) == lengths.get(kind, 5 if kind != "sampler" else lengths["history"])


def test_a_frame_of_a_result_is_its_trials(shown):
    result = shown["result"]
    frame = result.to_frame()
    for trial, (_, row) in zip(result.trials, frame.iterrows(), strict=True):
        assert row["x"] == trial.config["x"]
        assert row["origin"] == trial.origin
        assert (row["value"] == trial.value) or (np.isnan(row["value"]) and trial.failed)
    start = shown["start"]
    assert start.to_frame()["x"].tolist() == [config["x"] for config in start.configs]
    assert start.to_frame().index.tolist() == [1, 2, 3]


def test_names_of_parameters_may_be_those_of_the_other_columns():
    result = hs.minimize(lambda config: config["value"], {"value": (0.0, 1.0)}, 3, seed=0)
    assert list(result.to_frame().columns) == ["value", "value_", "origin"]
    assert result.to_frame()["value_"].tolist() == result.to_frame()["value"].tolist()


# -- pictures ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DRAWN)
def test_plotly_draws_all_numbers_and_no_markup(shown, kind):
    pytest.importorskip("plotly", reason="Plotly is not installed")
    figure = shown[kind].plot()
    assert type(figure).__module__.startswith("plotly.")
    assert "<script>" not in str(figure.to_dict())
    if kind == "result":
        best = np.minimum.accumulate([t.value for t in shown[kind].trials if not t.failed])
        np.testing.assert_array_equal(figure.data[0].y, best)
    if kind == "evidence":
        lines = {trace.name: trace.y for trace in figure.data if trace.name}
        np.testing.assert_allclose(lines["rbi"], shown[kind].curves["rbi"].mean(axis=0))


@pytest.mark.parametrize("kind", DRAWN)
def test_matplotlib_draws_without_plotly(shown, kind, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    pyplot.switch_backend("agg")
    figure = shown[kind].plot()
    figure.canvas.draw()  # formulas in names would fail here
    (axes,) = figure.axes
    assert axes.get_xlabel()
    if kind == "result":
        best = np.minimum.accumulate([t.value for t in shown[kind].trials if not t.failed])
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), best)
    pyplot.close(figure)


def test_without_either_the_error_names_the_extra(shown, monkeypatch):
    for name in ("plotly.graph_objects", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(hs.errors.MissingPackageError, match=r"pip install 'headstart\[report\]'"):
        shown["result"].plot()


def test_nothing_to_draw_is_an_error_that_says_so():
    opt = hs.Optimizer(SPACE, seed=0)
    with pytest.raises(hs.errors.HistoryError, match="no trial has a result yet"):
        opt.plot()
    assert "<svg" not in opt._repr_html_()


def test_pictures_of_awkward_numbers_are_finite():
    huge = Series("huge", [1.0, 2.0], [-1.7e308, 1.7e308])
    same = Series("same", [1.0, 1.0], [3.0, 3.0], marks=True, texts=["a", "b"])
    gap = Series("gap", [1.0, 2.0], [float("nan"), 1.0])
    for series in ([huge], [same], [gap], [gap, same]):
        words = svg(Picture(series, x="x", y="y"))
        ET.fromstring(f"<div>{words}</div>")
        assert "nan" not in words
        assert "inf" not in words
    assert svg(Picture([Series("none", [], [])], x="x")) == ""


def test_marks_of_a_start_that_are_close_share_a_label():
    start = hs.Start(hs.Space({"x": hs.Float(0, 1), "y": hs.Float(0, 1)}), [{"x": x, "y": y} for x, y in PLACES])
    (marks,) = start._picture().series
    assert list(zip(marks.y, marks.x, marks.texts, strict=True)) == [
        *((0.0, 0.5, "1, 2"), (0.0, 0.51, ""), (0.0, 0.6, "3")),
        *((1.0, 0.1, "1"), (1.0, 0.5, "2, 3")),
    ]


PLACES = ((0.51, 0.1), (0.5, 0.5), (0.6, 0.5))
