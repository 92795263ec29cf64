"""The report: its numbers by hand, and the page in a real browser."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart import report
from headstart.report.content import outliers, scaled_down, side_by_side, slices
from headstart.space import Categorical, Float
from headstart.transfer.models import TaskModels

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


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    report.write(history(), path, title=f"my {EVIL} runs", n=4, progress=False)
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
    past = history()
    evidence = hs.evidence(past, n=4, methods=("auto", "li", "rbi"))
    assert found["verdict"]["summary"] == evidence.summary
    start = hs.learn(past, n=4)
    assert [{k: v for k, v in c.items() if v is not None} for c in found["start"]["configs"]] == start.configs
    assert sum(map(len, found["start"]["serves"])) == len(past)
    assert found["left_out"] == list(past.notes)
    assert sorted(found["heat"]["tasks"]) == sorted(NAMES)
    curve = next(c for c in found["evidence"] if c["method"] == "auto")
    np.testing.assert_allclose(curve["adtm"], evidence.curves["auto"].mean(axis=0), rtol=1e-4)


def content_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)[1])


# -- the file ---------------------------------------------------------------------------------------------------


def test_the_page_is_one_small_file_that_loads_nothing(path):
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 5_000_000
    assert list(path.parent.iterdir()) == [path]
    outside = re.sub(r'<script id="library".*?</script>', "", text, flags=re.DOTALL)
    assert not re.search(r"(?:src|href)\s*=|https?://|@import|url\(", outside)


def test_names_cannot_break_out_of_the_script(path):
    text = path.read_text(encoding="utf-8")
    assert EVIL not in text
    assert "<h1>out" not in text
    assert text.count("</script>") == 3
    assert content_of(path)["title"] == f"my {EVIL} runs"


def test_placeholders_in_names_are_left_alone():
    found = {"title": "{{library}} {{data}}"}
    text = report.page(found, b"secret")
    assert "<title>{{library}} {{data}} ·" in text
    assert '{"title":"{{library}} {{data}}"}' in text


def test_a_path_that_cannot_be_written_fails_first(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        report.write(history(), tmp_path / "no" / "report.html", progress=False)


# -- the page in a browser --------------------------------------------------------------------------------------

PLOTS = ("evidence", "parallel", "map", "heat", "importance", "slice-0", "slice-1", "slice-2")


@contextmanager
def browser(path, width, *, dark=False):
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("needs Chromium and its driver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "enable-unsafe-swiftshader", "no-first-run"):
        options.add_argument(f"--{flag}")
    for flag in ("disable-quic", "disable-background-networking", "disable-component-update", "disable-sync"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    page = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme]})
        page.get(path.as_uri())
        wait(page, "return document.body.dataset.drawn === 'yes'")
        yield page
        severe = [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"]
        assert not severe
    finally:
        page.quit()


def wait(page, script, seconds=60):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(page, seconds, poll_frequency=0.1).until(lambda p: p.execute_script(script))


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_all_panels_draw_at_every_width_in_both_themes(path, width, dark):
    with browser(path, width, dark=dark) as page:
        for plot in PLOTS:
            wait(page, f"return document.querySelector('#{plot} .main-svg') !== null")
            height, wide = page.execute_script(
                f"const r = document.querySelector('#{plot} .main-svg').getBoundingClientRect();"
                "return [r.height, r.width]"
            )
            assert height > 90
            assert wide > 250
        assert page.execute_script("return document.documentElement.scrollWidth") <= width  # nothing sticks out
        ink, paper = page.execute_script(
            "const s = getComputedStyle(document.body);"
            "return [s.color, s.backgroundColor].map(c => c.match(/\\d+/g).map(Number))"
        )
        assert (sum(ink) > sum(paper)) == dark
        assert page.execute_script("return document.querySelectorAll('#parallel canvas').length") > 0


def test_names_stay_text(path):
    from selenium.common.exceptions import NoAlertPresentException

    with browser(path, 1280) as page:
        with pytest.raises(NoAlertPresentException):
            page.switch_to.alert  # noqa: B018
        assert page.title.startswith(f"my {EVIL} runs")
        assert page.execute_script("return document.querySelector('h1').textContent") == f"my {EVIL} runs"
        assert page.execute_script("return document.querySelectorAll('script').length") == 4  # ours and the library
        options = page.execute_script("return [...document.querySelectorAll('#task option')].map(o => o.textContent)")
        assert options[1:] == sorted(NAMES, key=options.index)
        assert set(options[1:]) == set(NAMES)
        labels = page.execute_script(
            "return [...document.querySelectorAll('#heat .xtick text')].map(t => t.textContent)"
        )
        assert "<script>alert(1…" in labels
        assert "<b>bold</b> & co" in labels
        assert page.execute_script("return document.querySelectorAll('svg script, svg b, h1').length") == 1


def test_hovering_and_choosing(path):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    with browser(path, 1280) as page:
        i = 7
        page.execute_script("document.getElementById('map').scrollIntoView({block: 'center'})")
        point = page.find_elements(By.CSS_SELECTOR, "#map .scatterlayer .point")[i]
        ActionChains(page).move_to_element(point).perform()
        wait(page, "return document.querySelector('#map .hoverlayer .hovertext') !== null")
        hovered = page.execute_script("return document.querySelector('#map .hoverlayer .hovertext').textContent")
        assert "evaluations" in hovered
        ActionChains(page).click().perform()  # Plotly covers its points with a layer, so click the position
        name = wait(page, "return document.querySelector('#details b')?.textContent")
        assert name in hovered
        assert "is the best for it" in page.find_element(By.ID, "details").text

        row = page.find_elements(By.CSS_SELECTOR, "#start tbody tr")[1]
        page.execute_script("arguments[0].scrollIntoView({block: 'center'})", row)
        row.click()
        assert "picked" in row.get_attribute("class")
        chosen = page.execute_script("return document.getElementById('parallel').data[0].dimensions[0].constraintrange")
        assert chosen[0] <= 2 <= chosen[1]
        row.click()
        assert "picked" not in row.get_attribute("class")
