"""The report: its numbers by hand, and the page in a real browser."""

from __future__ import annotations

import ast
import json
import re

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart import report
from headstart.report.content import About, content, outliers, scaled_down, side_by_side, slices, today
from headstart.space import Categorical, Float
from headstart.starts.over_time import over_time
from headstart.transfer.models import TaskModels
from pages import browser, drawn, faults, filled, on_paper, printed, screenshot, wait

EVIL = "<script>alert(1)</script>"
NAMES = [EVIL, "<b>bold</b> & co", "%{x} %{text}", "</script><h1>out</h1>", "日本語", *(f"task {i}" for i in range(7))]


def history(seed=0, weight=0.0):
    """Twelve tasks with their best near x = 0.3 and "good", except the last, which is reversed."""
    rng = np.random.default_rng(seed)
    rows = []
    for t, name in enumerate(NAMES):
        for _ in range(25):
            x, y = rng.random(2)
            kind = rng.choice(["good", EVIL])
            loss = (x - 0.3) ** 2 + 0.3 * (kind != "good") + weight * y
            row = {"task": name, "x": x, "kind": kind, "loss": 1 - loss if t == 11 else loss}
            rows.append({**row, "y": y if kind == "good" else None})
    space = {"x": Float(0, 1), "kind": Categorical(["good", EVIL]), "y": Float(0, 1, when={"kind": "good"})}
    return hs.History.from_frame(pd.DataFrame(rows), space, task="task", value="loss")


def with_costs():
    """The same with what each evaluation cost, in minutes: configurations with a small y are cheap."""
    frame = history(weight=0.0).to_frame()
    frame["cost"] = 60 * 10 ** frame["y"].fillna(0.5)
    return hs.History.from_frame(frame, history().space, cost="cost")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    report.write(with_costs(), path, title=f"my {EVIL} runs", source="runs.csv", metric="loss", n=4, progress=False)
    return path


# -- the numbers ------------------------------------------------------------------------------------------------


def test_points_in_the_plane_come_back_with_their_distances():
    XY = np.random.default_rng(0).normal(size=(9, 2))
    D = np.linalg.norm(XY[:, None] - XY[None], axis=2)
    found = scaled_down(D)
    np.testing.assert_allclose(np.linalg.norm(found[:, None] - found[None], axis=2), D, atol=1e-9)


def test_two_tasks_lie_on_a_line():
    found = scaled_down(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert found.shape == (2, 2)
    assert np.linalg.norm(found[0] - found[1]) == pytest.approx(1)


def test_an_outlier_is_far_from_all_the_others():
    spiral = np.exp((0.02 + 0.5j) * np.arange(12))
    x = np.append(spiral, 30.0)
    assert outliers(np.abs(x[:, None] - x)).tolist() == [False] * 12 + [True]


def test_neighbours_stand_side_by_side():
    x = np.array([0.0, 10.0, 0.1, 10.1, 0.2])
    order = side_by_side(np.abs(x[:, None] - x)).tolist()
    assert {frozenset(order[:2]), frozenset(order[:3]), frozenset(order[2:]), frozenset(order[3:])} & {
        frozenset({0, 2, 4}),
        frozenset({1, 3}),
    }


def test_importance_and_slices_follow_the_loss():
    """The loss depends on x and on the kind, not on y: slices follow it, and y explains nothing."""
    models = TaskModels(history().only(NAMES[:11]), rng=np.random.default_rng(0))
    start = hs.Start(models.space, [{"x": 0.3, "kind": "good", "y": 0.5}, {"x": 0.9, "kind": EVIL}])
    found = {entry["name"]: entry for entry in slices(models, start, rng=np.random.default_rng(0))}
    assert found["y"]["importance"] < 0.02
    assert found["kind"]["importance"] > found["y"]["importance"]
    assert sum(entry["importance"] for entry in found.values()) == pytest.approx(1, abs=0.15)  # an additive loss
    assert abs(found["x"]["x"][int(np.argmin(found["x"]["mean"]))] - 0.3) < 0.1
    assert found["kind"]["mean"][0] < found["kind"]["mean"][1]
    assert [mark["i"] for mark in found["y"]["start"]] == [1]  # inactive in the second
    assert [mark["x"] for mark in found["x"]["start"]] == [0.3, 0.9]


def test_the_content_agrees_with_the_library(path):
    found = content_of(path)
    past = with_costs()
    evidence = hs.evidence(past, n=4, methods=("auto", "li", "rbi"))
    assert found["verdict"]["summary"] == evidence.summary
    start = hs.learn(past, n=4)
    assert [{k: v for k, v in c.items() if v is not None} for c in found["start"]["configs"]] == start.configs
    assert sum(map(len, found["start"]["serves"])) == len(past)
    assert found["left_out"] == list(past.notes)
    assert sorted(found["heat"]["tasks"]) == sorted(NAMES)
    assert found["verdict"]["worse"] == [[task, round(by, 4)] for task, by in evidence.harm.items()]
    assert (found["about"]["source"], found["about"]["metric"]) == ("runs.csv", "loss")
    curve = next(c for c in found["evidence"] if c["method"] == "auto")
    np.testing.assert_allclose(curve["adtm"], evidence.curves["auto"].mean(axis=0), rtol=1e-4)


def test_time_is_shown_where_it_is_known(path):
    shown, found = content_of(path)["time"], over_time(with_costs(), 0)
    assert shown["says"] == found.summary
    assert shown["unit"] == "minutes"
    assert shown["after"] == pytest.approx(2 * found.unit / 60)
    assert shown["catches_up"] == pytest.approx(found.catches_up() * found.unit / 60)
    table = found.table.set_index(np.round(found.table["cost"] / 60, 6))
    for time, start, random in zip(shown["times"], shown["start"], shown["random"], strict=True):
        row = table.iloc[np.abs(table.index - time).argmin()]
        assert (start, random) == (pytest.approx(row["start"], abs=1e-4), pytest.approx(row["random"], abs=1e-4))
    assert shown["times"][-1] > shown["catches_up"] > shown["after"]


def test_without_costs_or_with_those_of_few_tasks_there_is_no_time():
    about = About("runs")
    few = with_costs().to_frame()
    few["cost"] = few["cost"].where(few["task"].isin(NAMES[:2]))
    for past in (history(), hs.History.from_frame(few, history().space, cost="cost")):
        assert content(past.only(NAMES[:4]), about=about, n=2, progress=False)["time"] is None


def content_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)[1])


def test_the_heat_map_holds_the_start_and_tells_measured_cells_from_predicted_ones(path):
    heat, past = content_of(path)["heat"], history()
    rows = {row["start"]: row for row in heat["rows"] if row["start"]}
    assert sorted(rows) == [1, 2, 3, 4]
    for row in heat["rows"]:
        tried = [row["config"] in past.configs(task) for task in heat["tasks"]]
        assert row["measured"] == [int(x) for x in tried]
        for j in np.flatnonzero(tried):
            task = heat["tasks"][j]
            at = past.configs(task).index(row["config"])
            assert row["loss"][j] == pytest.approx(past[task].scaled()[at], abs=6e-4)
    means = [np.mean(row["loss"]) for row in heat["rows"]]
    assert means == sorted(means, key=lambda x: round(x, 3)) or np.all(np.diff(means) > -2e-3)


def test_the_copies_of_the_start_are_the_start(path):
    copy, start = content_of(path)["start"]["copy"], hs.learn(history(), n=4)
    assert json.loads(copy["json"]) == start.configs
    assert ast.literal_eval(copy["python"]) == start.configs
    queued = []

    class Study:
        def enqueue_trial(self, params, user_attrs):
            queued.append((user_attrs["headstart:start"], params))

    exec(copy["optuna"], {"study": Study()})
    assert queued == list(enumerate(start.configs))


def test_the_day_is_the_only_thing_that_changes(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert today() == "1970-01-02"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "no number")
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", today())


# -- the file ---------------------------------------------------------------------------------------------------


def test_the_page_is_one_small_file_that_loads_nothing(path):
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 300_000
    assert list(path.parent.iterdir()) == [path]
    outside = text.replace("http://www.w3.org/2000/svg", "")  # the name of a language, not an address to load
    assert not re.search(r"(?:src|href)\s*=|https?://|@import|url\(", outside)


def test_names_cannot_break_out_of_the_script(path):
    text = path.read_text(encoding="utf-8")
    assert EVIL not in text
    assert "<h1>out" not in text
    assert text.count("</script>") == 2
    assert content_of(path)["title"] == f"my {EVIL} runs"


def test_placeholders_in_names_are_left_alone():
    text = report.page({"kind": "history", "title": "{{style}} {{data}}"})
    assert "<title>{{style}} {{data}} ·" in text
    assert '"title":"{{style}} {{data}}"}' in text


def test_a_path_that_cannot_be_written_fails_first(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        report.write(history(), tmp_path / "no" / "report.html", progress=False)


# -- the page in a browser --------------------------------------------------------------------------------------

PICTURES = ("evidence", "time", "map", "heat", "importance", "slice-0", "slice-1", "slice-2")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_looks_right(path, width, dark, tmp_path):
    with browser(path, width, dark=dark) as page:
        assert drawn(page) == list(PICTURES)
        assert faults(page) == []
        assert page.execute_script("return document.documentElement.scrollWidth") <= width  # nothing sticks out
        ink, paper = page.execute_script(
            "const s = getComputedStyle(document.body);"
            "return [s.color, s.backgroundColor].map(c => c.match(/\\d+/g).map(Number))"
        )
        assert (sum(ink) > sum(paper)) == dark
        screenshot(page, width, tmp_path / f"report-{width}-{'dark' if dark else 'light'}.png")


def test_the_printed_page_looks_right(path, tmp_path):
    with browser(path, 390, dark=True) as page:  # whatever the screen was like
        on_paper(page)
        assert drawn(page) == list(PICTURES)
        assert faults(page) == []
        printed(page, tmp_path / "report.pdf")


@pytest.mark.parametrize("paper", [(8.5, 11), (8.27, 11.69)], ids=["letter", "A4"])
def test_no_printed_page_is_almost_empty(path, paper, tmp_path):
    """However long the start is, pictures move up below the end of its table rather than to a page of their own."""
    found = content_of(path)
    start = found["start"]
    for rows in range(5, 15, 2):
        longer = {key: (value * 4)[:rows] for key, value in start.items() if key in ("configs", "expected", "serves")}
        page_of_it = tmp_path / f"{rows}.html"
        page_of_it.write_text(report.page({**found, "start": {**start, **longer}}), encoding="utf-8")
        with browser(page_of_it, 1280) as page:
            printed(page, tmp_path / f"{rows}.pdf", paper)
        assert min(filled(tmp_path / f"{rows}.pdf")[:-1]) > 0.33, rows


def test_a_long_source_breaks_between_its_parts(path, tmp_path):
    found = content_of(path)
    found["about"]["source"] = "sqlite:////data/colleague/searches/of_this_autumn/runs.db"
    (tmp_path / "long.html").write_text(report.page(found), encoding="utf-8")
    broken = """
      const range = document.createRange(), found = [];
      for (const part of document.querySelectorAll(".facts .long dd")[0].childNodes) {
        range.selectNodeContents(part);
        if (part.data && range.getClientRects().length > 1) found.push(part.data);
      }
      return found;"""
    with browser(tmp_path / "long.html", 390) as page:
        assert page.execute_script(broken) == []
        shown = page.execute_script("return document.querySelector('.facts .long dd').textContent")
        assert shown == found["about"]["source"]
        on_paper(page)
        assert page.execute_script(broken) == []


def test_the_keys_of_the_colours_stay_on_one_line_on_a_phone(path):
    with browser(path, 390) as page:
        heights = page.execute_script(
            "return [...document.querySelectorAll('.key .ends')].map(e => e.getClientRects().length)"
        )
        assert heights == [1, 1]
        assert faults(page) == []


def test_every_task_has_its_name_on_the_map(path):
    with browser(path, 390) as page:
        labels, rest = page.execute_script(
            "return [[...document.querySelectorAll('#map text.label')].map(t => t.textContent),"
            "document.querySelector('#map .rest').textContent]"
        )
        assert len(labels) == len(NAMES)
        for name in NAMES:
            assert any(name.startswith(label.rstrip("…")) for label in labels) or name in rest
        titles = page.execute_script("return [...document.querySelectorAll('#map text')].map(t => t.textContent)")
        assert any("share of pairs ranked differently" in title for title in titles)


def test_names_stay_text(path):
    from selenium.common.exceptions import NoAlertPresentException

    with browser(path, 1280) as page:
        with pytest.raises(NoAlertPresentException):
            page.switch_to.alert  # noqa: B018
        assert page.title.startswith(f"my {EVIL} runs")
        assert page.execute_script("return document.querySelector('h1').textContent") == f"my {EVIL} runs"
        assert page.execute_script("return document.querySelectorAll('script').length") == 2
        options = page.execute_script("return [...document.querySelectorAll('#task option')].map(o => o.textContent)")
        assert options[1:] == sorted(NAMES, key=options.index)
        assert set(options[1:]) == set(NAMES)
        labels = page.execute_script("return [...document.querySelectorAll('#heat .column')].map(t => t.textContent)")
        assert "<script>alert(1)<…" in labels
        assert "<b>bold</b> & co" in labels
        assert page.execute_script("return document.querySelectorAll('svg script, svg b, h1').length") == 1


def test_keyboard_and_screen_reader_reach_everything(path):
    """Tab reaches each control in turn, each picture says what it shows, and its numbers are in a table."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    with browser(path, 1280) as page:
        reached = []
        for _ in range(60):
            page.switch_to.active_element.send_keys(Keys.TAB)
            reached.append(page.execute_script("return document.activeElement.textContent.trim().slice(0, 20)"))
        for control in ("1", "4", "Copy as JSON", "Copy as Optuna lines", "As a table"):
            assert control in reached
        silent = "return [...document.querySelectorAll('svg')].filter(s => !s.getAttribute('aria-label')).length"
        assert page.execute_script(silent) == 0
        assert page.execute_script("return document.querySelectorAll('section:not(.verdict)').length") == (
            page.execute_script("return document.querySelectorAll('section[aria-labelledby] > h2').length")
        )
        figures = page.find_elements(By.CSS_SELECTOR, "figure")
        for figure in figures:
            summary = figure.find_element(By.TAG_NAME, "summary")
            page.execute_script("arguments[0].focus()", summary)
            summary.send_keys(Keys.ENTER)
            wait(page, f"return document.querySelector('#{figure.get_attribute('id')} details table') !== null")
        heat = page.find_element(By.CSS_SELECTOR, "#heat details table")
        assert "(predicted)" in heat.get_attribute("textContent")


def test_choosing_a_configuration_and_a_task(path):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    with browser(path, 1280) as page:
        button = page.find_elements(By.CSS_SELECTOR, "#start button")[1]
        frame = "return [...document.querySelectorAll('#heat rect.start')].map(r => r.getAttribute('stroke-width'))"
        before = page.execute_script(frame)
        page.execute_script("arguments[0].click()", button)
        assert button.get_attribute("aria-pressed") == "true"
        assert len(set(page.execute_script(frame))) == 2
        page.execute_script("arguments[0].click()", button)
        assert page.execute_script(frame) == before
        Select(page.find_element(By.ID, "task")).select_by_visible_text("task 3")
        assert "is the best for it" in page.find_element(By.ID, "details").text
        point = page.find_element(By.CSS_SELECTOR, "#map .point[data-task='2']")
        page.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", point)
        name = page.execute_script("return document.querySelector('#details b').textContent")
        assert name == content_of(path)["map"][2]["task"]


def test_the_copy_buttons_copy(path):
    from selenium.webdriver.common.by import By

    with browser(path, 1280) as page:
        wanted = content_of(path)["start"]["copy"]
        grab = "window.grabbed = null; navigator.clipboard.writeText = async text => { window.grabbed = text; };"
        page.execute_script(grab)
        for kind, button in zip(wanted, page.find_elements(By.CSS_SELECTOR, "button.copy"), strict=True):
            page.execute_script("window.grabbed = null; arguments[0].click()", button)
            assert wait(page, "return window.grabbed") == wanted[kind]
        assert page.find_element(By.CSS_SELECTOR, ".status").text == "Copied as Optuna lines."
