"""The report on one study: its content by hand, and the page in a real browser."""

from __future__ import annotations

import json

import numpy as np
import optuna
import pytest

import headstart as hs
from headstart import report
from headstart.adapters.optuna.outlook import outlook_of
from pages import browser, drawn, faults, on_paper, printed, screenshot
from past_studies import fill, svm
from program import headstart, one_line

optuna.logging.set_verbosity(optuna.logging.ERROR)
DIRECTIONS = ("minimize", "maximize")


@pytest.fixture(scope="module")
def storage(tmp_path_factory):
    """Past studies, and two new ones in both directions, one of them with a trial that is still running."""
    path = tmp_path_factory.mktemp("study") / "runs.db"
    url = f"sqlite:///{path}"
    fill(url, n=4, trials=20)
    for direction in DIRECTIONS:
        sampler = hs.optuna.HeadstartSampler(url, n_init=3, studies="past-*")
        study = optuna.create_study(storage=url, study_name=direction, direction=direction, sampler=sampler)
        study.optimize(svm(1.3, direction=direction), n_trials=8)
    study.ask()
    return url


@pytest.fixture(scope="module", params=DIRECTIONS)
def content(request, storage, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / f"{request.param}.html"
    return path, report.write_study(storage, request.param, path)


def test_the_content_agrees_with_the_study(storage, content):
    _, found = content
    name = found["title"]
    study = optuna.load_study(storage=storage, study_name=name)
    assert found["best"]["number"] == study.best_trial.number
    assert found["best"]["value"] == study.best_value
    assert [trial["value"] for trial in found["trials"] if trial["state"] == "complete"] == [
        trial.value for trial in study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    ]
    assert found["facts"]["running"] == (1 if name == "maximize" else 0)
    assert [one["start"] for one in found["start"]] == [1, 2, 3]
    assert found["follows"]["tasks"] >= 4
    total = sum(weight for _, weight in found["follows"]["weights"])
    assert total == pytest.approx(1, abs=0.01)


def test_what_comes_next_is_what_the_sampler_asks_for(storage, tmp_path):
    """Nothing is running in the study that minimises, so its next trial gets the first configuration."""
    found = outlook_of(storage, "minimize")
    sampler = hs.optuna.HeadstartSampler(storage, n_init=3)
    study = optuna.load_study(storage=storage, study_name="minimize", sampler=sampler)
    before = len(study.trials)
    proposal = sampler._search_for(study).propose(study.get_trials(deepcopy=False), before)
    assert found.upcoming[0].config == proposal.config
    configs = [json.dumps(one.config, sort_keys=True) for one in found.upcoming]
    assert len(set(configs)) == 3  # each knows those before it
    assert len(study.trials) == before  # looking ahead wrote nothing


def test_the_slices_go_through_the_best_trial(content):
    _, found = content
    sign = 1 if found["title"] == "minimize" else -1
    values = [trial["value"] for trial in found["trials"] if trial["value"] is not None]
    for entry in found["slices"]:
        assert np.all(np.asarray(entry["low"]) <= np.asarray(entry["mean"]))
        assert np.all(np.asarray(entry["mean"]) <= np.asarray(entry["high"]))
        near = sign * found["best"]["value"]
        assert min(sign * value for value in entry["mean"]) < near + 0.5 * np.ptp(values)
        assert len(entry["points"]) <= len(values)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_page_looks_right(content, width, dark, tmp_path):
    path, found = content
    pictures = ["trials", "weights", *(f"slice-{k}" for k in range(len(found["slices"])))]
    with browser(path, width, dark=dark) as page:
        assert drawn(page) == pictures
        assert faults(page) == []
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
        screenshot(page, width, tmp_path / f"{found['title']}-{width}.png")
        on_paper(page)
        assert faults(page) == []
        printed(page, tmp_path / f"{found['title']}.pdf")


def test_studies_without_results_or_start(tmp_path):
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    optuna.create_study(storage=url, study_name="empty")
    other = optuna.create_study(storage=url, study_name="other", sampler=optuna.samplers.RandomSampler(seed=0))
    other.optimize(svm(), n_trials=6)
    fails = optuna.create_study(storage=url, study_name="fails")
    fails.optimize(lambda trial: trial.suggest_float("C", 2**-5, 2**6, log=True) * float("nan"), n_trials=2)
    headlines = {}
    for name in ("empty", "other", "fails"):
        path = tmp_path / f"{name}.html"
        headlines[name] = report.write_study(url, name, path)["verdict"]["headline"]
        with browser(path, 390) as page:
            assert faults(page) == []
    assert headlines["other"] == "This study has no learned start."


def test_the_command(storage, tmp_path):
    done = headstart("report", storage, "minimize", "-o", "study.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 configurations of the start ran" in done.stdout
    assert "The page is in study.html" in done.stdout
    assert "minimize · headstart" in (tmp_path / "study.html").read_text(encoding="utf-8")
    told = headstart("report", storage, "minimize", "-o", "study.html", "--json", cwd=tmp_path)
    assert json.loads(told.stdout)["verdict"]["says"] in done.stdout
    one_line(
        headstart("report", storage, "minimise", cwd=tmp_path), "holds no study 'minimise'; did you mean 'minimize'"
    )
    one_line(
        headstart("report", storage, "minimize", "-n", "4", cwd=tmp_path), "-n does not apply to the study minimize"
    )
