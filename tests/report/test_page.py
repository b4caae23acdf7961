"""The report is one file, needs nothing else, and contains all results."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import unquote

import pandas as pd
import pytest

from hostsim.results.claim import CLAIM_KINDS, LEVELS, Citation, Publication
from hostsim.results.expect import VerdictState
from hostsim.results.figure import AnswersSpec, FigureSpec, TableSpec
from hostsim.scenario.shipped_data import claims
from hostsim.views.plots.bars import draw_stacked_bars
from hostsim.views.plots.figure import draw
from hostsim.views.plots.style import INK, as_svg, untitled
from hostsim.views.report.folder import drawn_figures, write
from hostsim.views.report.page import inline, section, write_report
from tests.sample_results import BOUNDED, VERDICTS, results, table, verdict

VOID = {"meta", "br", "hr", "img", "link", "input"}


class _Balance(HTMLParser):
    """Collects the text, and the open tags: a balanced page leaves none."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.ids: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(path, [results(), results(scenario="another")]).read_text()


def parsed(page: str) -> _Balance:
    parser = _Balance()
    parser.feed(page)
    return parser


def test_the_page_is_in_balance_and_no_id_stands_twice(page):
    """Figures of several scenarios are on one page."""
    balance = parsed(page)
    assert balance.open == []
    assert len(balance.ids) == len(set(balance.ids))


def test_nothing_is_fetched_from_anywhere(page):
    """It opens on a machine without a network."""
    assert not re.search(r"src=\"|<link|@import", page)
    assert not re.search(r"href=\"(?!#|data:text/csv)", re.sub(r"<a href=\"https://", "", page))
    assert not re.search(r"@import|url\((?!#)|<script|<link", page)


def test_every_claim_figure_setting_warning_and_failure_is_shown(page):
    """Everything that the reader must know is there."""
    text = parsed(page).text
    for one in VERDICTS:
        assert one.expectation.name in text
    for words in (
        "Packet loss (%)",
        "Ready time of vCPUs (% of a vCPU)",
        "Cpu.Quantum",
        "a platform's default",
        "traffic.x.rate",
        "not published",
        "warm-up",
    ):
        assert words in text
    assert "setting not modelled: Net.Y = 1" in text
    assert "1 of 6 runs failed" in text
    tiles = re.findall(r"<div><b>(\d+)</b><span(?: class=\"chip (\S+)\")?>(.*?)</span>", page)
    assert tiles[:6] == [
        ("14", "", "expectations, of these"),
        ("6", "in-band", "in band"),
        ("2", "undecided", "undecided"),
        ("2", "known-red", "known red"),
        ("2", "red", "red"),
        ("2", "missing", "missing"),
    ]
    assert "3 in band, 1 undecided, 1 known red, 1 red, 1 missing" in text
    assert "as they should be" not in text


def test_the_page_counts_verdicts_by_kind_of_claim(tmp_path):
    """Each kind has a row, with its meaning below."""
    kinds = [*CLAIM_KINDS, ""]
    made = [replace(VERDICTS[0], expectation=replace(VERDICTS[0].expectation, kind=kind)) for kind in kinds]
    page = write_report(tmp_path / "r.html", [results(verdicts=(*made, VERDICTS[4]))]).read_text()
    table = re.search(r'<table class="cases" aria-label="verdicts by kind">.*?</table>', page, re.DOTALL)[0]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in table.split("<tr>")[2:]]
    assert [row[:3] for row in rows] == [
        *([kind, "1", "1"] for kind in CLAIM_KINDS),
        ["own", "2", "1"],
        ["all", "7", "6"],
    ]
    assert rows[-1][-1] == "1", "known red"
    assert "missing" not in table, "an outcome that no verdict has"
    for meaning in CLAIM_KINDS.values():
        assert meaning in page


def test_the_page_has_the_levels_of_trust_and_the_forest_plot(tmp_path):
    """For published claims on unchanged hosts, with the class of each level; a page of one scenario has no plot."""

    def of(name, value, state, **changed):
        band = claims()[name].band
        expectation = replace(VERDICTS[0].expectation, name=name, band=band, unit="VMs", published="20", kind="scale")
        made = replace(VERDICTS[0], expectation=expectation, value=value, ci_low=value, ci_high=value, state=state)
        return results(verdicts=(made,), **changed)

    good = of("splitrx.split.40k", 28.0, VerdictState.PASS)
    bad = of("splitrx.default.30k", 80.0, VerdictState.FAIL)
    changed = of("vxlan.cpu", 80.0, VerdictState.FAIL, changed={"vms.x.count": "3"})
    page = write_report(tmp_path / "r.html", [good, bad, changed]).read_text()
    lines = re.findall(r'<li><span class="chip ([\w-]+)">(.+?)</span> (.+?)\.</li>', page)
    assert [name for _, name, _ in lines] == list(LEVELS)
    nothing = "nothing"
    assert [words for *_, words in lines] == [
        *("splitRxMode (receivers without loss)", nothing, nothing, "splitRxMode (loss with 36 receivers by default)")
    ]
    rows = re.findall(r'<div><span title="(.+?)">.+?</span>(<svg.+?</svg>)<span class="n">(.+?)</span>', page)
    assert [(name, value) for name, _, value in rows] == [
        ("splitrx.split.40k", "1.40"),
        ("splitrx.default.30k", "4.00"),
    ]
    assert all(f'class="{lines[place][0]}"' in svg for (_, svg, _), place in zip(rows, (0, 3), strict=True))
    alone = write_report(tmp_path / "alone.html", [good], title=good.scenario).read_text()
    assert 'class="levels"' in alone
    assert 'class="forest"' not in alone


def test_a_deterministic_value_has_a_word_in_place_of_an_interval(tmp_path):
    """Its gauge has no line."""
    made = replace(VERDICTS[0], ci_low=2.0, ci_high=2.0, equal_replications=3)
    page = write_report(tmp_path / "r.html", [results(verdicts=(made,))]).read_text()
    assert '<span class="below">deterministic</span>' in page
    assert '<line class="in-band"' not in page


def test_a_bound_and_the_range_of_a_known_red_are_shown(tmp_path):
    """A value at the end of a bracket is labelled as such, and a known red that drifted is not just known."""
    text = parsed(write_report(tmp_path / "report.html", [results(verdicts=BOUNDED)]).read_text()).text
    for words in (
        "at least 189",
        "known, but outside its range 500.25 to 512",
        "Listed as a known red; the accepted range of its value is 500.25 to 512.",
    ):
        assert words in text
    assert "0inband1undecided1red" in "".join(text.split())


def test_text_of_users_is_escaped(page):
    """A question or a traceback is text, not markup."""
    assert "Is 1 &lt; 2 &amp; 3?" in page
    assert "Traceback &lt;most recent&gt;" in page


def test_a_figure_of_answers_has_a_caption(tmp_path):
    """It names the expectations, and text that is not markup stays text."""
    figures = (AnswersSpec("steps", ("passes", "a < b")),)
    page = write_report(tmp_path / "report.html", [results(figures=figures)]).read_text()
    assert "<figcaption>Simulated and published: passes; a &lt; b " in page
    assert parsed(page).open == []


def test_figures_take_the_ink_of_the_page():
    """The same figure is readable on white and on black."""
    svg = as_svg(draw(table(), FigureSpec("loss", "receivers", "loss")).get_figure(root=True))
    placed = inline(svg, "x", 'loss & "more"')
    assert placed.startswith('<svg class="figure" role="img" aria-label="loss &amp; &quot;more&quot;" ')
    assert INK in svg
    assert INK not in placed
    assert "var(--ink)" in placed
    assert set(re.findall(r'href="#([^"]*)"', placed)) <= set(re.findall(r'id="([^"]*)"', placed))


def test_the_page_has_saved_figures_without_their_title_and_paper(tmp_path):
    """The words are below the figure; the rest has the height of a figure without a title."""
    [figure] = (entry for entry in results().figures if entry.name == "loss")
    found = results(figures=(replace(figure, title="Loss against receivers " * 6),))
    write(found, tmp_path)
    assert section(found, 0, drawn_figures(found, tmp_path))["figures"] == section(found, 0)["figures"]
    marked = section(found, 0, {"loss": drawn_figures(found, tmp_path)["loss"].replace(INK, "#123456")})
    assert "#123456" in marked["figures"][0]["svg"]
    svg, inches = untitled(drawn_figures(found, tmp_path)["loss"])
    bare = draw(found.table, figure, published=found.verdicts).get_figure(root=True)
    assert inches == pytest.approx(bare.get_figwidth())
    _, top, width, height = map(float, re.search(r'viewBox="(.*?)"', svg)[1].split())
    assert (width, height) == pytest.approx(tuple(72 * bare.get_size_inches()), abs=0.01)
    assert top == pytest.approx(9 * (1.2 * 3 + 0.5))
    assert "Loss against receivers" not in svg
    assert "#ffffff" not in svg


def test_a_scenario_without_expectations_or_figures_has_a_page_too(tmp_path):
    """A first sweep can be reported."""
    bare = results(verdicts=(), figures=(), settings=(), assumptions=(), warnings=())
    assert "Claims" not in parsed(write_report(tmp_path / "r.html", [bare]).read_text()).text


def test_figures_and_columns_have_names_for_who_does_not_see_them(page):
    """Every drawing has a description, every heading content; nothing occurs twice under Provenance."""
    drawings = re.findall(r"<svg [^>]*>", page)
    assert drawings
    assert all('role="img" aria-label="' in drawing for drawing in drawings)
    assert re.findall(r"<th(?! scope=)[ >]", page) == []
    for block in re.findall(r"<dl>.*?</dl>", page, flags=re.DOTALL):
        names = re.findall(r"<dt>(.*?)</dt>", block)
        assert len(names) == len(set(names))
    assert "processor time" not in page


def test_assumed_inputs_of_all_scenarios_are_one_folded_table(tmp_path):
    """An input of several scenarios has one row with their names; results are above it."""
    page = write_report(tmp_path / "r.html", [results(), results(scenario="another")]).read_text()
    assert page.count("traffic.x.rate") == 1
    folded = page[page.index("Assumed inputs</h2>") :]
    assert "<details><summary>1 assumed input</summary>" in folded
    assert 'data-label="scenarios">small, another</td>' in folded
    assert page.rindex(">Figures</h3>") < page.index("Assumed inputs</h2>")


def test_every_figure_has_its_numbers_as_a_download(page):
    """In the page itself: a data link fetches nothing."""
    links = re.findall(r'<a class="data" download="([^"]*)" href="data:text/csv;charset=utf-8,([^"]*)"', page)
    assert len(links) == page.count("</figure>")
    frame = pd.read_csv(io.StringIO(unquote(dict(links)["small-loss.csv"])))
    assert list(frame.columns) == ["receivers", "measure", "unit", "mean", "low", "high", "runs"]
    assert set(frame["unit"]) == {"%"}


def test_a_page_of_an_own_scenario_is_about_that_scenario(tmp_path):
    """Nothing was published about it, no verdict is a known red, and its name is the title."""
    mine = results(scenario="mine", verdicts=VERDICTS[-1:], citations={}, assumptions=())
    page = write_report(tmp_path / "r.html", [mine], title="mine").read_text()
    body = page[page.index("<body>") :]
    assert "ublished" not in body
    assert "known" not in body
    assert re.findall(r"<h[12][^>]*>(.*?)</h", body)[0] == "mine (partial)"
    assert body.count("Is 1 &lt; 2 &amp; 3?") == 1


def test_the_index_leads_to_every_part(page):
    """For each scenario, and for the parts that all share."""
    index = page[page.index('<nav class="index"') : page.index("</nav>")]
    targets = re.findall(r'href="#([^"]*)"', index)
    assert len(targets) > 10
    assert set(targets) <= set(parsed(page).ids)


def test_a_known_red_has_one_mark_everywhere(tmp_path):
    """Also if its value is in the band: in the count, the list of scenarios, the table and the drawing."""
    known = verdict("mine", state=VerdictState.OPEN, known=True, reason="no mechanism")
    page = write_report(tmp_path / "r.html", [results(verdicts=(known,)), results(verdicts=())]).read_text()
    body = page[page.index("<body>") :]
    assert body.count('class="chip known-red"') == 4
    assert body.count('class="chip ') == 4 + 2, "the others are the count and the legend of what is in band"
    assert '<path class="known-red"' in body


@pytest.mark.parametrize(
    ("unit", "published", "value", "words"),
    [
        ("ratio", "1.40", 2.0, ("1.40", "2", "1 to 3")),
        ("boolean", "exact", 1.0, ("exact", "yes", "1 to 3")),
        ("Gbit/s", "line rate", 2.0, ("line rate", "2", "1 to 3 Gbit/s")),
        ("VMs", "below 36", 2.0, ("below 36 VMs", "2", "1 to 3 VMs")),
    ],
)
def test_units_are_printed_where_they_are_units(tmp_path, unit, published, value, words):
    """A ratio and a condition have none, and a word has none either."""
    made = verdict(value=value)
    made = replace(made, expectation=replace(made.expectation, unit=unit, published=published))
    page = write_report(tmp_path / "r.html", [results(verdicts=(made,))]).read_text()
    cells = [re.search(rf'data-label="{name}">(.*?)[ ]?<', page)[1] for name in ("published", "value", "accepted")]
    assert tuple(cells) == words


def test_a_figure_alone_is_as_wide_as_one_of_several(page):
    """Its letters have the size of the others, next to a free grid column."""
    assert "repeat(auto-fill, " in page.partition(".figures {")[2].partition("}")[0]


def test_no_hatch_weighs_more_than_the_figure(tmp_path):
    """Eight parts in a bar, each with its own look: one dotted hatch took 150 kB."""
    bars = [("a point", {f"part {number}": 1.0 for number in range(8)})]
    assert len(as_svg(draw_stacked_bars(bars, "time").get_figure(root=True))) < 30_000


def test_a_table_of_a_scenario_is_a_table_of_the_page(tmp_path):
    """It has the page's words and rows, and its numbers can be downloaded."""
    figures = (TableSpec("steps", ("passes", "missing"), title="Steps & stairs"),)
    page = write_report(tmp_path / "report.html", [results(figures=figures)]).read_text()
    assert '<table class="cases" aria-label="Steps &amp; stairs">' in page
    assert '<th scope="row">passes</th><td data-label="published">about 2 %</td>' in page
    assert 'download="small-steps.csv"' in page
    assert parsed(page).open == []


def test_claims_captions_and_assumptions_link_to_their_sources(tmp_path) -> None:
    """Briefly with all of them as a tooltip, and in full at the end; an address of another kind is not a link."""
    source = Publication("x-2015", "X & Y", author=("Ann Bee", "Cy Dee"), year=2015, address="https://example.org/x")
    evil = Publication("evil", "Evil", organization="Somebody", address="javascript:alert(1)")
    found = results(
        figures=(AnswersSpec("answers", ("passes",)), FigureSpec("loss", "receivers", "loss")),
        citations={"passes": (Citation(source, "figure 1"),), "traffic.x.rate": (Citation(evil),)},
    )
    page = write_report(tmp_path / "page.html", [found]).read_text()
    link = '<a href="https://example.org/x" title="Ann Bee, Cy Dee, “X &amp; Y”, 2015, figure 1">Bee et al. 2015, figure 1</a>'
    assert page.count(link) == 3  # of the claim, and in two captions
    assert (
        len(
            re.findall(
                rf"<figcaption>[^<]*<a class=\"data\".*?</a> <span class=\"source\">Published: {re.escape(link)}", page
            )
        )
        == 2
    )
    assert '<span title="Somebody, “Evil”">Somebody</span>' in page
    assert "javascript:" not in page
    assert '<a href="https://example.org/x">https://example.org/x</a></li>' in page
