"""The documentation as a site: built, and its pages in a real browser on a desk and on a phone, light and dark.

Skipped where MkDocs (make docs installs it) or Chromium is missing. HEADSTART_SCREENSHOTS names a folder to keep the
screenshots in, to be looked at.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pages import browser, screenshot, wait

ROOT = Path(__file__).resolve().parents[1]
SHOWN = (
    *("", "how/", "gallery/", "which/", "past/", "cost/", "commands/", "claims/"),
    *("methods/auto/", "reference/search/"),
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Nothing: the tests look at the browser's console."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="MkDocs and its theme are not installed; make docs installs them")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed; make docs installs it")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


# Pictures that did not load, cells and lines that stick out of the page without a way to scroll to them, code that
# leaves its column or breaks before its last bracket, words and buttons that hardly stand out from what is behind them
# (3 : 1 is what large text needs).
FAULTS = """
const wide = arguments[0];  // of the screen: a phone's window grows with a page that is too wide
const found = [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => `${i.src} did not load`);
const scrolls = e => e && e !== document.body &&
  (["auto", "scroll", "hidden"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
for (const e of document.querySelectorAll("article :is(p, li, table, pre, img, h1, h2, h3)")) {
  const b = e.getBoundingClientRect();
  if (b.width && b.right > wide + 2 && !scrolls(e))
    found.push(`${e.tagName} sticks out: ${e.textContent.slice(0, 40)}`);
}
const column = document.querySelector("article").getBoundingClientRect().right;
for (const e of document.querySelectorAll("article :is(p, li) > code"))
  if (e.getBoundingClientRect().right > column + 8 && !scrolls(e.parentElement))  // a margin for its padding
    found.push(`code leaves its column: ${e.textContent.slice(0, 40)}`);
const parsed = text => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
const over = (top, below) => [0, 1, 2].map(i => top[3] * top[i] + (1 - top[3]) * below[i]);
const behind = e => {
  if (!e) return [255, 255, 255];
  const own = parsed(getComputedStyle(e).backgroundColor);
  return own[3] === 1 ? own : over(own, behind(e.parentElement));
};
const light = rgb => rgb.slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
for (const e of document.querySelectorAll("article :is(h1, h2, h3, p, li, td, th, a, code):not(.headerlink)")) {
  if (!e.textContent.trim() || !e.getClientRects().length) continue;
  const paper = behind(e), [a, b] = [light(over(parsed(getComputedStyle(e).color), paper)), light(paper)];
  if ((Math.max(a, b) + .05) / (Math.min(a, b) + .05) < 3)
    found.push(`${e.tagName} is hard to see: ${e.textContent.slice(0, 40)}`);
}
for (const e of document.querySelectorAll("article :is(p, li) > code")) {
  const lines = [...e.getClientRects()].map(r => r.width);
  if (lines.length > 1 && lines.at(-1) < 20) found.push(`a bracket on a line of its own: ${e.textContent}`);
}
for (const e of document.querySelectorAll("article .doc-contents table"))  // of symbols: the meaning is in view
  if (e.querySelector("th:last-child").getBoundingClientRect().left > wide - 60)
    found.push(`a table hides its last column: ${e.textContent.trim().slice(0, 40)}`);
if (wide > 1000)  // on a desk nobody has to scroll code sideways
  for (const e of document.querySelectorAll("article pre > code"))
    if (e.clientWidth && e.scrollWidth > e.clientWidth + 1)
      found.push(`code is wider than its block: ${e.textContent.slice(0, 40)}`);
for (const e of document.querySelectorAll("article .doc-signature"))
  if (/[(,]\\s*_\\w+/.test(e.textContent))
    found.push(`a signature shows a private argument: ${e.textContent.slice(0, 40)}`);
for (const e of document.querySelectorAll("article p.doc-class-bases code"))
  if (e.textContent.startsWith("_")) found.push(`a private base class: ${e.textContent}`);
if (document.documentElement.scrollWidth > wide + 1) found.push("the page is wider than the screen");
return found;
"""


# Tabs fade in; a picture shows them as they end.
STILL = """
const style = document.createElement("style");
style.textContent = "* { transition: none !important }";
document.head.append(style);
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_site_looks_right(site: Path, address: str, width: int, dark: bool, tmp_path: Path) -> None:
    """No page is wider than the screen, every picture loads, and the theme is that of the screen."""
    pages = sorted({path.parent.relative_to(site).as_posix() for path in site.rglob("index.html")})
    names = ["" if name == "." else f"{name}/" for name in pages]
    assert set(SHOWN) <= set(names)
    wrong: dict[str, list[str]] = {}
    with browser(address, width, dark=dark) as page:
        for name in names:
            page.get(address + name)
            wait(page, "return document.readyState === 'complete' && [...document.images].every(i => i.complete)")
            if found := page.execute_script(FAULTS, width):
                wrong[name] = found
            if name in SHOWN:
                page.execute_script(STILL)
                label = name.strip("/").replace("/", "-") or "home"
                screenshot(page, width, tmp_path / f"site-{label}-{width}-{'dark' if dark else 'light'}.png")
        ink, paper = page.execute_script(
            "const s = getComputedStyle(document.querySelector('article')), b = getComputedStyle(document.body);"
            "return [s.color, b.backgroundColor].map(c => c.match(/[\\d.]+/g).slice(0, 3).map(Number))"
        )
        assert (sum(ink) > sum(paper)) == dark
    assert wrong == {}
