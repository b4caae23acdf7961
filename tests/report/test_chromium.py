"""The report in a real browser: it fits, fetches nothing, shows every drawing, and prints folded parts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from hostsim.results.context import contexts_frame
from hostsim.results.expect import PredictionInterval, VerdictState
from hostsim.results.figure import TableSpec
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.results import EffectiveSetting, Results
from hostsim.views.report.page import write_report
from tests.conftest import HANGS_S
from tests.sample_results import VERDICTS, results, table

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="not run: there is no Chromium")
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-extensions", "--no-first-run", "--hide-scrollbars"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking", "--virtual-time-budget=2000"),
)
MEASURE = """
<script>
addEventListener("load", () => {
  const box = element => element.getBoundingClientRect();
  const seen = selector => [...document.querySelectorAll(selector)].filter(element => box(element).width > 40 && box(element).height > 10);
  const open = document.querySelectorAll("details[open]").length;
  document.querySelectorAll("details").forEach(element => { element.open = true; });
  // inline elements have no width of their own, and the headings of a table that is too narrow are there for screen readers alone
  const laid = [...document.querySelectorAll("body *")].filter(element => element.clientWidth && !element.closest("svg, thead"));
  const measured = {
    width: document.documentElement.scrollWidth, inner: innerWidth,
    cut: laid.filter(element => element.scrollWidth > element.clientWidth + 1 || box(element).right > innerWidth + 1).map(element => element.outerHTML.slice(0, 80)),
    figures: seen("figure svg").length, gauges: seen("svg.gauge").length, fetched: performance.getEntriesByType("resource").length,
    beside: [...document.querySelectorAll("figure:has(svg)")].filter(figure => box(figure.querySelector("figcaption")).top < box(figure.querySelector("svg")).bottom - 1).length,
    open: open, chips: seen(".chip").length,
    hidden: [...document.querySelectorAll("svg.figure text")].filter(text => getComputedStyle(text).fill === getComputedStyle(document.body).backgroundColor).length,
  };
  parent.document.getElementById(innerWidth).textContent = JSON.stringify(measured);
});
</script>
"""
FRAME = """<pre id="{width}"></pre><iframe src="{page}" style="border: 0; width: {width}px; height: 900px"></iframe>"""
"""A window has at least 500 px; a frame has any given width."""
MANY = tuple(EffectiveSetting(f"Net.Setting{number}", str(number), "a platform's default") for number in range(300))


def measured(page: Path, text: str, *widths: int) -> dict[int, dict]:
    """Layout of the page at each width, by a script appended to it; one browser shows all of them, as it starts slowly."""
    measuring, frames = (page.with_name(f"{name}-{len(widths)}.html") for name in ("measuring", "frames"))
    measuring.write_text(text.replace("</body>", MEASURE + "</body>"))
    shown = "".join(FRAME.format(page=measuring.as_uri(), width=width) for width in widths)
    frames.write_text(f'<body style="margin: 0">{shown}')
    size = f"--window-size={max(widths) + 600},1000"
    shown = browse("--allow-file-access-from-files", size, "--dump-dom", frames.as_uri(), folder=page.parent)
    found = dict(re.findall(r'<pre id="(\d+)">(.+?)</pre>', shown))
    assert {*found} == {str(width) for width in widths}, shown[-500:]
    return {width: json.loads(unescape(found[str(width)])) for width in widths}


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


def wide_results() -> Results:
    """Results with the widest content: a long claim, one of the forest plot, a table of many columns, contexts, a prediction interval."""
    named = replace(VERDICTS[0], expectation=replace(VERDICTS[0].expectation, name="dense.medium." * 6 + "p95"))
    published = replace(VERDICTS[1].expectation, name="smalludp.coalesce_tx")
    predicted = replace(
        VERDICTS[1],
        expectation=published,
        prediction=PredictionInterval(1e-6, 123456789.0, 50, VerdictState.OPEN),
    )
    contexts = contexts_frame({}).reindex(range(3)).assign(point="p2", name="NetPoll-" * 8, kind="netpoll", serves="it")
    tables = (TableSpec("wide", x="receivers", columns=tuple(CATALOGUE)[:9], title="Many columns"),)
    return results(
        table=table().assign(bottleneck="none"),
        settings=MANY,
        verdicts=(named, predicted, *VERDICTS[2:]),
        figures=(*results().figures, *tables),
        contexts=contexts,
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("chromium") / "report.html"
    return write_report(path, [wide_results(), results(scenario="another")])


def test_the_page_shows_all_of_every_table_and_drawing(page):
    """On phone and desktop, with everything unfolded; nothing is fetched, and no text has the colour of its background."""
    for width, found in measured(page, page.read_text(), 320, 390, 768, 1024, 1280, 1920).items():
        assert found["inner"] == width
        assert found["fetched"] == 0, width
        assert found["cut"] == [], width
        assert found["width"] <= found["inner"]
        assert found["figures"] == 5, width
        assert found["gauges"] == 15, "the forest plot has one"
        assert found["beside"] == 0, "a caption is below its figure, which has the whole width"
        assert found["hidden"] == 0, width
        assert found["open"] == 0, width


def test_paper_cuts_nothing_off(page):
    """Paper cannot be scrolled: with print rules at the width of A4, all tables fit."""
    found = measured(page, page.read_text().replace("@media print", "@media all"), 720)
    assert found[720]["cut"] == []


def test_print_shows_what_is_folded_away_on_screen(page):
    """Three hundred settings need pages; folded they would need none."""
    pdf = page.with_name("report.pdf")
    browse(f"--print-to-pdf={pdf}", "--no-pdf-header-footer", page.as_uri(), folder=page.parent)
    content = pdf.read_bytes()
    assert content.startswith(b"%PDF")
    counts = [int(count) for count in re.findall(rb"/Count (\d+)", content)]
    assert max(counts) >= 8
