"""The report in a real browser: it fits, fetches nothing, shows every drawing, and prints what is folded away on screen."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest
from sample_results import results

from hostsim.report.page import write_report
from hostsim.report.results import Setting

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
  hidden: [...document.querySelectorAll("svg.figure text")].filter(text => getComputedStyle(text).fill === getComputedStyle(document.body).backgroundColor).length,
};
document.body.insertAdjacentHTML("beforeend", "<pre id='measured'></pre>");
document.getElementById("measured").textContent = JSON.stringify(measured);
</script>
"""
MANY = tuple(Setting(f"Net.Setting{number}", str(number), "a platform's default") for number in range(300))


def browse(*arguments: str, folder: Path) -> str:
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, *OPTIONS, f"--user-data-dir={folder / 'profile'}", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
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
    measuring = page.with_name(f"measuring-{width}.html")
    measuring.write_text(page.read_text().replace("</body>", MEASURE + "</body>"))
    shown = browse(f"--window-size={width},900", "--dump-dom", measuring.as_uri(), folder=page.parent)
    found = re.search(r'<pre id="measured">(.*?)</pre>', shown)
    assert found, shown[-500:]
    measured = json.loads(unescape(found[1]))
    assert measured["fetched"] == 0
    assert measured["wide"] == []
    assert measured["width"] <= measured["inner"]
    assert measured["figures"] == 4
    assert measured["gauges"] == 14
    assert measured["hidden"] == 0
    assert measured["open"] == 0


def test_print_shows_what_is_folded_away_on_screen(page):
    """Three hundred settings need pages; folded away they would need none."""
    pdf = page.with_name("report.pdf")
    browse(f"--print-to-pdf={pdf}", "--no-pdf-header-footer", page.as_uri(), folder=page.parent)
    content = pdf.read_bytes()
    assert content.startswith(b"%PDF")
    counts = [int(count) for count in re.findall(rb"/Count (\d+)", content)]
    assert max(counts) >= 8
