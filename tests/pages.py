"""Pages in a real browser: screenshots, and facts about their geometry."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FLAGS = ("headless=new", "no-sandbox", "disable-gpu", "no-first-run", "hide-scrollbars")
QUIET = ("disable-quic", "disable-background-networking", "disable-component-update", "disable-sync")


@contextmanager
def browser(path: Path | str, width: int, *, dark: bool = False) -> Iterator[Any]:
    """The page in Chromium, drawn; errors in its console fail the test. path: a file, or an address."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("needs Chromium and its driver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, *QUIET):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    page = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme]})
        if isinstance(path, str):
            page.get(path)
        else:
            page.get(path.as_uri())
            wait(page, "return document.body.dataset.drawn === 'yes'")
        yield page
        severe = [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"]
        assert not severe, severe
    finally:
        page.quit()


def wait(page: Any, script: str, seconds: float = 60) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(page, seconds, poll_frequency=0.1).until(lambda p: p.execute_script(script))


def drawn(page: Any) -> list[str]:
    """The names of the pictures, in order."""
    return list(page.execute_script("return [...document.querySelectorAll('figure')].map(f => f.id)"))


# Boxes that overlap, texts that stick out of their picture, labels on labels, cells that hide a part of their text,
# texts on the axes of different sizes. A pixel or two is rounding.
FAULTS = """
const found = [], box = e => e.getBoundingClientRect(), name = e => e.textContent.slice(0, 30);
const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
                          Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
const figures = [...document.querySelectorAll("figure svg")];
figures.forEach((a, i) => figures.slice(i + 1).forEach(b => {
  if (overlap(box(a), box(b))) found.push(`${a.parentNode.parentNode.id} overlaps ${b.parentNode.parentNode.id}`); }));
const others = [...document.querySelectorAll("h2, h3, section > p, table")].filter(e => !e.closest("figure"));
figures.forEach(a => others.forEach(b => { if (overlap(box(a), box(b))) found.push(`picture on ${name(b)}`); }));
for (const svg of figures) {
  const frame = box(svg), id = svg.parentNode.parentNode.id;
  if (frame.height < 25 || frame.width < 220) found.push(`${id} is too small`);
  for (const text of svg.querySelectorAll("text")) {
    const b = box(text);
    if (b.left < frame.left - 2 || b.right > frame.right + 2 || b.top < frame.top - 3 || b.bottom > frame.bottom + 3)
      found.push(`${id} cuts off ${name(text)}`);
  }
  for (const kind of ["tick", "label", "rowname", "column"]) {
    const texts = [...svg.querySelectorAll(`text.${kind}`)];
    if (new Set(texts.map(t => getComputedStyle(t).fontSize)).size > 1) found.push(`${id}: sizes of ${kind}`);
    const share = frame.width / svg.viewBox.baseVal.width;  // labels may touch, not cover each other
    texts.forEach((a, i) => texts.slice(i + 1).forEach(b => {
      const p = box(a), q = box(b), high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (Math.min(p.right, q.right) - Math.max(p.left, q.left) > 2 && high > 4 * share)
        found.push(`${id}: ${name(a)} covers ${name(b)}`); }));
  }
}
for (const cell of document.querySelectorAll("td, th, dd, p, li, button"))
  if (box(cell).width > 1 && cell.scrollWidth > cell.clientWidth + 2 && cell.clientWidth > 0 && !cell.closest("thead"))
    found.push(`${name(cell)} is cut off`);
return found;
"""


def faults(page: Any) -> list[str]:
    """What is wrong with the geometry of a page; nothing, it is hoped."""
    return list(page.execute_script(FAULTS))


def screenshot(page: Any, width: int, path: Path) -> None:
    """A picture of the whole page. HEADSTART_SCREENSHOTS names a folder to keep it in, to be looked at."""
    height = page.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    data = page.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})["data"]
    _keep(path, base64.b64decode(data))
    assert path.read_bytes().startswith(b"\x89PNG")


def on_paper(page: Any) -> None:
    """Show the page as it is printed."""
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 720, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    )
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    page.execute_script("dispatchEvent(new Event('beforeprint'))")


def printed(page: Any, path: Path, paper: tuple[float, float] = (8.5, 11)) -> None:
    """The page as a PDF. paper: its width and height in inches."""
    size = {"paperWidth": paper[0], "paperHeight": paper[1]}
    data = page.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, **size})["data"]
    _keep(path, base64.b64decode(data))
    assert path.read_bytes().startswith(b"%PDF")


def filled(path: Path) -> list[float]:
    """How far down each page of a PDF reaches, from 0 (empty) to 1."""
    if not shutil.which("pdftoppm"):
        pytest.skip("needs pdftoppm: apt-get install poppler-utils")
    raw = subprocess.run(["pdftoppm", "-gray", "-r", "20", str(path)], capture_output=True, check=True).stdout
    found = []
    while raw:  # one portable grey map after another: "P5 width height 255", each on a line, and the pixels
        _, size, _, rest = raw.split(b"\n", 3)
        width, height = map(int, size.split())
        page = np.frombuffer(rest[: width * height], dtype=np.uint8).reshape(height, width)
        inked = np.flatnonzero(page.min(axis=1) < 220)
        found.append((inked[-1] + 1) / height if len(inked) else 0.0)
        raw = rest[width * height :]
    return found


def _keep(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    if folder := os.environ.get("HEADSTART_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / path.name).write_bytes(data)
