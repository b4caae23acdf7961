"""The report in a real browser: it fits, fetches nothing, shows every drawing, and prints what is folded away on screen."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from hostsim.report.page import write_report
from hostsim.results.results import EffectiveSetting
from tests.conftest import HANGS_S
from tests.sample_results import results

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="not run: there is no Chromium")
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-extensions", "--no-first-run", "--hide-scrollbars"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking", "--virtual-time-budget=2000"),
)
MEASURE = """
<script>
const box = element => element.getBoundingClientRect();
const seen = selector => [...document.querySelectorAll(selector)].filter(element => box(element).width > 40 && box(element).height > 10);
const wide = [...document.querySelectorAll("h1, h2, h3, p, figure, svg.figure, dl, nav")].filter(element => !element.closest(".wide") && box(element).right > innerWidth + 1);
const measured = {
  width: document.documentElement.scrollWidth, inner: innerWidth, wide: wide.map(element => element.outerHTML.slice(0, 80)),
  figures: seen("figure svg").length, gauges: seen("svg.gauge").length, fetched: performance.getEntriesByType("resource").length,
  open: document.querySelectorAll("details[open]").length, chips: seen(".chip").length,
  cut: [...document.querySelectorAll(".wide, pre")].filter(element => element.scrollWidth > element.clientWidth + 1).length,
  hidden: [...document.querySelectorAll("svg.figure text")].filter(text => getComputedStyle(text).fill === getComputedStyle(document.body).backgroundColor).length,
};
document.body.insertAdjacentHTML("beforeend", "<pre id='measured'></pre>");
document.getElementById("measured").textContent = JSON.stringify(measured);
</script>
"""
MANY = tuple(EffectiveSetting(f"Net.Setting{number}", str(number), "a platform's default") for number in range(300))


def measured(page: Path, width: int, text: str) -> dict:
    """What the page looks like, by a script that is put at its end."""
    measuring = page.with_name(f"measuring-{width}.html")
    measuring.write_text(text.replace("</body>", MEASURE + "</body>"))
    shown = browse(f"--window-size={width},900", "--dump-dom", measuring.as_uri(), folder=page.parent)
    found = re.search(r'<pre id="measured">(.*?)</pre>', shown)
    assert found, shown[-500:]
    return json.loads(unescape(found[1]))


def browse(*arguments: str, folder: Path) -> str:
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, *OPTIONS, f"--user-data-dir={folder / 'profile'}", *arguments],
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=True,
    )
    return done.stdout


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("chromium") / "report.html"
    return write_report(path, [results(settings=MANY), results(scenario="another")])


@pytest.mark.parametrize("width", [1200, 500])
def test_the_page_fits_and_shows_every_drawing(page, width):
    """On a desk and on a telephone; nothing is fetched, no text has the colour of its paper."""
    found = measured(page, width, page.read_text())
    assert found["fetched"] == 0
    assert found["wide"] == []
    assert found["width"] <= found["inner"]
    assert found["figures"] == 4
    assert found["gauges"] == 14
    assert found["hidden"] == 0
    assert found["open"] == 0


def test_paper_cuts_nothing_off(page):
    """Nobody can scroll it: with the rules for paper, at the width of A4, all tables fit."""
    found = measured(page, 720, page.read_text().replace("@media print", "@media all"))
    assert found["cut"] == 0
    assert found["wide"] == []


def test_print_shows_what_is_folded_away_on_screen(page):
    """Three hundred settings need pages; folded away they would need none."""
    pdf = page.with_name("report.pdf")
    browse(f"--print-to-pdf={pdf}", "--no-pdf-header-footer", page.as_uri(), folder=page.parent)
    content = pdf.read_bytes()
    assert content.startswith(b"%PDF")
    counts = [int(count) for count in re.findall(rb"/Count (\d+)", content)]
    assert max(counts) >= 8
