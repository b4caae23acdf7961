"""The explorer in a real browser: clicks, drags and typing change the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hostsim import api
from hostsim.engine.record import RunRecord
from hostsim.results.results import Results
from hostsim.results.table import as_numbers
from hostsim.views.explorer.data import write_explorer
from tests.explorer.browser import CHROMIUM, Browser
from tests.explorer.large_results import large, large_page
from tests.explorer.test_explorer_data import moved
from tests.sample_results import results, table
from tests.tiny_scenario import TINY

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="not run: there is no Chromium")
AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("explorer")


@pytest.fixture(scope="module")
def tiny(folder) -> Results:
    """A run of two axes, with its records."""
    file = folder / "tiny.yaml"
    file.write_text(TINY)
    return api.run(file, results=folder / "results", quick=True, replications=2, expectations=True)


@pytest.fixture(scope="module")
def page(folder, tiny) -> Path:
    tiny.save(folder / "results" / "tiny")
    return write_explorer(folder / "tiny.html", tiny, folder / "results" / "tiny")


@pytest.fixture(scope="module")
def compared(folder) -> Path:
    results().save(folder / "before")
    return write_explorer(folder / "compared.html", moved(), folder / "now", folder / "before")


@pytest.fixture(scope="module")
def chrome(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(chrome) -> Browser:
    """The browser; the opened page had no error and made no request."""
    yield chrome
    assert chrome.faults() == []


def rows(browser: Browser, table: str = "#points") -> list[list[str]]:
    script = (
        f"[...document.querySelectorAll('{table} tbody tr')].map(row => [...row.cells].map(cell => cell.innerText))"
    )
    return browser.run(script)


def place_of(browser: Browser, chart: str, point: int) -> tuple[float, float]:
    """Position of a chart's point in the window."""
    box = browser.run(
        f"(() => {{ const chart = {chart}; chart.box.scrollIntoView({{block: 'center', behavior: 'instant'}});"
        f"const box = chart.box.getBoundingClientRect(), at = chart.pixels()[{point}]; return [box.x + at[0], box.y + at[1]]; }})()"
    )
    browser.settle()
    return tuple(box)


def test_a_point_shows_its_value_and_opens_by_a_click(browser, page, tiny):
    """Hovering shows the mean of the curve, its interval and the bottleneck; a click shows worlds, time lines and distribution."""
    browser.open(page)
    curve = tiny.curve(x="receivers", y="host_cpu", by="rate")
    at = place_of(browser, "explorer.curves[0]", 0)
    browser.mouse("mouseMoved", *at)
    browser.settle()
    words = browser.text("#tip")
    shown = float(words.split("utilisation: ")[1].split(" %")[0])
    assert shown == pytest.approx(curve["mean"][0], rel=1e-3)
    assert "95 % interval" in words
    assert "Bottleneck: " in words
    browser.click_at(*at)
    browser.wait("document.querySelectorAll('#point-body canvas').length === 2")
    body = browser.text("#point-body")
    worlds = tiny.contexts[tiny.contexts["point"] == tiny.table["point"][0]]
    assert all(name in body for name in worlds["name"])
    assert browser.run("document.activeElement.id") == "point-title"
    browser.click("#close")
    assert browser.run("document.querySelector('#point').hidden")


def test_time_lines_and_distribution_are_those_of_the_record(browser, page, tiny):
    """A select chooses the counter; a chart draws the data of the run."""
    browser.open(page)
    browser.run("explorer.curves[0].box.focus()")
    browser.key("ArrowRight")
    browser.key("ArrowRight")
    browser.key("Enter")
    browser.wait("document.querySelectorAll('#point-body canvas').length === 2")
    browser.choose("#counter", "guest.interrupts")
    drawn = browser.run(
        "echarts.getInstanceByDom(document.querySelector('#point-body .small')).getOption().series[0].data.map(one => one[1])"
    )
    record: RunRecord = tiny.record({"receivers": 2, "rate": "2 kpps"})
    values = record.series["guest.interrupts"].values.sum(axis=1)
    rates = (values[1:] - values[:-1]) / ((record.instants_ps[1:] - record.instants_ps[:-1]) / 1e12)
    assert drawn == pytest.approx(rates.tolist(), rel=1e-3)
    shares = browser.run(
        "echarts.getInstanceByDom(document.querySelectorAll('#point-body .small')[1]).getOption().series[0].data"
    )
    whole = tiny.distribution("latency", at={"receivers": 2, "rate": "2 kpps"})
    assert shares[-1][1] == 100
    assert shares[-1][0] <= whole["high"].max() * 1.001


def test_a_subject_has_its_own_measures(browser, folder):
    """Choosing one keeps the measure, and lists those that it has; the commands name it."""
    made = table()
    found = results(table=made.assign(**{"loss of feed": made["loss"] + 1}))
    browser.open(write_explorer(folder / "subjects.html", found, folder / "subjects"))
    options = "[...document.querySelectorAll('#{} option')].map(option => option.value)"
    assert browser.run(options.format("subject")) == ["", "feed"]
    browser.choose("#y", "loss")
    before = browser.run("explorer.curves[0].points.map(point => point.y)")
    browser.choose("#subject", "feed")
    assert browser.text("#curve-title").startswith("Packet loss of feed")
    assert browser.run(options.format("y")) == ["loss of feed"]
    after = browser.run("explorer.curves[0].points.map(point => point.y)")
    assert after == pytest.approx([y + 1 for y in before])
    assert "--y 'loss of feed'" in browser.text("#figure-commands")
    browser.choose("#subject", "")
    assert "loss" in browser.run(options.format("y"))


def test_measure_axis_lines_and_slider_change_the_curve(browser, page, tiny):
    """The displayed Python lines draw the same figure."""
    browser.open(page)
    browser.choose("#y", "delivered")
    browser.choose("#x", "rate")
    assert browser.text("#curve-title").startswith("Packets delivered to applications")
    browser.click("#at-receivers")
    browser.key("ArrowRight")
    assert browser.text("#at output") == "2"
    drawn = browser.run("explorer.curves[0].points.map(point => point.y)")
    curve = tiny.curve(x="rate", y="delivered", at={"receivers": 2})
    assert drawn == pytest.approx(curve["mean"].to_list(), rel=1e-4)
    command, line = browser.run("[...document.querySelectorAll('#figure-commands code')].map(code => code.innerText)")
    assert command.endswith("/tiny --x rate --y delivered --at receivers=2")
    import hostsim

    axes = eval(line, {"hostsim": hostsim})  # noqa: S307  the page's own line
    assert axes.get_lines()[0].get_ydata() == pytest.approx(curve["mean"].to_list())


def test_the_keyboard_reaches_points_and_says_them(browser, page):
    """Arrow keys go along a line and to another one, Enter opens, Escape closes."""
    browser.open(page)
    browser.run("explorer.curves[0].box.focus()")
    browser.key("ArrowDown")
    first = browser.text("#status")
    browser.key("ArrowRight")
    browser.key("ArrowDown")
    second = browser.text("#status")
    assert "Host CPU utilisation" in first
    assert first != second
    assert second.startswith("Receivers = 2, Rate = 5 kpps")
    browser.key("Enter")
    assert browser.text("#point-title") == "Receivers = 2, Rate = 5 kpps"
    browser.key("Escape")
    assert browser.run("document.querySelector('#point').hidden")
    assert browser.run("document.activeElement.classList.contains('chart')")


def test_the_table_is_searched_and_sorted(browser, page):
    """By clicks on a heading, and by words of any column."""
    browser.open(page)
    assert len(rows(browser)) == 4
    browser.click("#points th button[data-column='2']")
    browser.click("#points th button[data-column='2']")
    assert [row[2] for row in rows(browser)] == ["5 kpps", "5 kpps", "2 kpps", "2 kpps"]
    assert browser.run("document.querySelector('#points th[aria-sort]').getAttribute('aria-sort')") == "descending"
    browser.click("#points input[type=search]")
    browser.type("5 kpps")
    assert [row[2] for row in rows(browser)] == ["5 kpps", "5 kpps"]
    browser.click("#claims th button")
    assert "nothing lost" in browser.text("#claims")


def test_values_of_axes_and_limits_of_measures_filter_points(browser, page):
    """Filters can also be set by keyboard; a filter is listed, and can be removed."""
    browser.open(page)
    browser.click("#shown summary")
    browser.click("#show-\\@receivers-0")
    assert {row[1] for row in rows(browser)} == {"2"}
    browser.run("document.querySelector('#filters > details').open = true")
    browser.choose("#dimension", "delivered")
    browser.click("#low")
    browser.type("5000")
    browser.click("#add")
    assert len(rows(browser)) == 1
    assert "Packets delivered" in browser.text("#active")
    browser.click("#active button")
    assert len(rows(browser)) == 2
    browser.click("#reset")
    assert browser.text("#points .table-bar p").startswith("4 of 4")


def test_a_stored_view_comes_back(browser, page):
    """The address holds the view."""
    browser.open(page)
    browser.choose("#y", "delivered")
    address = browser.run("location.hash")
    browser.send("Page.reload")
    browser.wait(
        "document.documentElement.dataset.ready === 'yes' && document.querySelector('#y').value === 'delivered'"
    )
    assert browser.run("location.hash") == address


@pytest.mark.slow
def test_brushes_filter_ten_thousand_points(browser, folder):
    """Over two measures, then over an axis; the remaining points are those of the table."""
    found = large()
    (folder / "large.html").write_text(large_page())
    browser.open(folder / "large.html")
    box = browser.box("#pair .chart")
    browser.settle()
    browser.drag((box["x"] + 300, box["y"] + 80), (box["x"] + 600, box["y"] + 250))
    browser.wait("Object.keys(explorer.state.ranges).length === 2")
    browser.settle()

    def kept() -> int:
        inside = found.table["loss"].notna()
        for name, ranges in browser.run("explorer.state.ranges").items():
            [[low, high]] = ranges
            inside &= found.table[name.removeprefix("@")].between(low, high)
        return int(inside.sum())

    # the page has six digits of a number
    assert int(browser.text("#status").split()[0]) == pytest.approx(kept(), abs=3)
    assert 0 < kept() < 10_000
    box = browser.box("#parallel .chart")
    browser.settle()
    left, top = browser.run(
        "(() => { const system = explorer.parallel.getModel().getComponent('parallel').coordinateSystem;"
        "return system.getAxisLayout(system.dimensions[0]).position; })()"
    )
    browser.drag((box["x"] + left, box["y"] + top - 60), (box["x"] + left, box["y"] + top - 160))
    browser.wait("explorer.state.ranges['@receivers']")
    browser.settle()
    assert "Receivers" in browser.text("#active")
    assert int(browser.text("#status").split()[0]) == pytest.approx(kept(), abs=3)
    assert " measures are left out" in browser.text("#notes")


def test_two_results_stand_side_by_side_with_their_differences(browser, compared):
    """Three charts with two equal scales; the table has the paired difference, with the largest change first."""
    browser.open(compared)
    assert browser.run("explorer.curves.length") == 3
    widths = browser.run("explorer.curves.map(one => [one.chart.getWidth(), one.box.clientWidth])")
    assert all(drawn == box for drawn, box in widths)
    scales = browser.run("explorer.curves.slice(0, 2).map(one => one.chart.getOption().yAxis[0].max)")
    assert scales[0] == scales[1]
    assert browser.run("explorer.curves[2].points.map(point => point.y)") == pytest.approx([3.1, 3.05])
    first = rows(browser)[0]
    assert first[2:5] == ["2", "5.1", "+3.1"]
    assert first[6] == "+155 %"
    assert rows(browser, "#moved")[0][1].startswith("Packet loss")
    browser.mouse("mouseMoved", *place_of(browser, "explorer.curves[2]", 0))
    browser.settle()
    assert "2 → 5.1" in browser.text("#tip")
    assert "2 → 5.1" not in browser.text("#claims")
    browser.click("#points tbody button")
    assert "before" in browser.text("#point-body")


def test_a_line_connects_points_across_values_of_the_other_results(browser, folder):
    """A line has no gap at a value that only one of the two results has; headings have no unit, as cells have it."""
    made = table()
    made = made[made["receivers"] == 1]
    values = [f"{count} kpps" for _ in range(len(made)) for count in range(1, 6)]
    whole = made.loc[made.index.repeat(5)].reset_index(drop=True).assign(receivers=values, point=values)
    whole = as_numbers(whole, ["receivers"])
    some = whole[whole["receivers"].isin([1000.0, 3000.0, 5000.0])]
    results(table=some).save(folder / "some")
    page = write_explorer(folder / "some.html", results(table=whole), folder / "now", folder / "some")
    browser.open(page)
    drawn = browser.run("explorer.curves.map(one => one.chart.getOption().series[0].data.map(one => one.value[0]))")
    assert drawn == [[1, 3, 5], [1, 2, 3, 4, 5], [1, 3, 5]]
    assert "Receivers\t" in browser.text("#points thead")


def test_stages_of_a_round_trip_are_in_the_details(browser, folder):
    """Of traffic that has them."""
    made = table().assign(stage_wire=15.0, stage_guest=6.0, bottleneck="none")
    browser.open(results(table=made).explore().save(folder / "stages.html"))
    browser.click("#points tbody button")
    browser.wait("!document.querySelector('#point').hidden")
    assert "On the wire" in browser.text("#point-body")


def test_results_without_axes_or_figures_have_a_page(browser, folder):
    """A single point."""
    made = table().drop(columns="receivers").iloc[:2]
    made.attrs |= table().attrs
    browser.open(results(table=made, figures=(), verdicts=()).explore().save(folder / "bare.html"))
    assert browser.text("#status") == "1 point"
    browser.run("explorer.curves[0].box.focus()")
    browser.key("ArrowRight")
    browser.key("Enter")
    assert browser.text("#point-title") == "the only point"


@pytest.mark.parametrize(
    ("width", "dark", "two"), [(1280, False, False), (1280, True, True), (390, False, True), (390, True, False)]
)
def test_axe_finds_nothing(browser, page, compared, width, dark, two):
    """On desktop and phone, light and dark, with a point open and a filter set; nothing is cut off."""
    browser.open(compared if two else page, width=width, dark=dark)
    browser.click("#points tbody button")
    browser.wait("!document.querySelector('#point').hidden && document.querySelector('#point-body table')")
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    browser.choose("#dimension", browser.run("explorer.state.y"))
    browser.click("#low")
    browser.type("0")
    browser.click("#add")
    browser.run(AXE + "; 0")
    found = browser.run(
        "axe.run().then(found => found.violations.map(one => [one.id, one.nodes.map(node => node.html.slice(0, 120))]))"
    )
    assert found == [], json.dumps(found, indent=1)
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_the_theme_is_chosen(browser, page):
    """By a button, against the system's setting."""
    browser.open(page)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(paper)
    browser.click("#theme")
    browser.click("#theme")
    assert browser.text("#theme") == "Theme: dark"
    assert browser.run(paper) != light
