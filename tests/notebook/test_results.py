"""Results, verdicts and differences in a notebook: plots by name, HTML with every text escaped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hostsim.api import open_results
from hostsim.errors import InputError
from hostsim.results.compare import Differences, PairedDifference
from hostsim.results.estimate import Interval
from hostsim.results.expect import VerdictState
from hostsim.results.figure import AnswersSpec, FigureSpec
from hostsim.results.folder import write
from hostsim.results.verdicts import TALLY_HEADINGS, Verdicts
from hostsim.views.plots.style import LOOKS
from tests.sample_results import BOUNDED, VERDICTS, results, verdict


def test_bounds_and_ranges_of_known_reds_survive_a_folder(tmp_path: Path) -> None:
    """The page of results that were read equals that of the written ones."""
    awaits = verdict("moved", value=2.0, state=VerdictState.FAIL, known=True, awaiting="calibration")
    write(results(verdicts=Verdicts((*BOUNDED, awaits))), tmp_path)
    kept = open_results(tmp_path)
    assert tuple(kept.verdicts) == (*BOUNDED, awaits)
    page = kept._repr_html_()
    assert "at least 189" in page
    assert "known, but outside its range 500.25 to 512" in page
    assert "known, awaits calibration" in page
    assert list(kept.verdicts.frame()["bound"].fillna("")) == ["at least", "", ""]


def test_answers_are_plotted_from_a_folder(tmp_path: Path) -> None:
    """By name and as a separate figure; unknown names are refused with the nearest."""
    figures = (AnswersSpec("steps", ("passes", "missing")), FigureSpec("loss", "receivers", "loss"))
    write(results(figures=figures), tmp_path)
    kept = open_results(tmp_path)
    assert kept.figures == figures
    by_name, own = kept.plot("steps"), kept.plot(answers="passes")
    simulated = [
        [line.get_xdata()[0] for line in ax.get_lines() if line.get_color() == LOOKS[0].colour] for ax in (by_name, own)
    ]
    assert simulated == [[2.0], [2.0]]
    assert [tick.get_text() for tick in by_name.get_yticklabels()] == ["passes", "missing"]
    with pytest.raises(InputError, match="did you mean 'passes'"):
        kept.plot(answers=["pases"])
    with pytest.raises(InputError, match="cannot be combined"):
        kept.plot("steps", answers=["passes"])


def test_an_unknown_figure_is_told_with_the_nearest() -> None:
    """Names of figures are typed by people, and a measure without a figure needs an axis."""
    with pytest.raises(InputError) as caught:
        results().plot("los")
    assert caught.value.faults[0].nearest == "loss"
    assert caught.value.faults[0].allowed.endswith("; or x and y, for a curve of any measure")


def test_parts_of_what_shows_itself_show_themselves() -> None:
    """A selection of verdicts or differences keeps its HTML representation."""
    shown = results()
    assert isinstance(shown.verdicts, Verdicts)
    assert tuple(shown.verdicts) == VERDICTS
    assert shown.verdicts.quick
    picked = shown.verdicts.only("pass*")
    assert [verdict.expectation.name for verdict in picked] == ["passes"]
    assert "1 expectations: 1 in band" in picked._repr_html_()


def test_verdicts_are_counted_by_kind_and_never_added_up() -> None:
    """In band and known red are separate counts."""
    page = results().verdicts._repr_html_()
    assert "7 expectations: 3 in band, 1 undecided, 1 known red, 1 red, 1 missing" in page
    heads = re.findall(r"<th [^>]*>(.*?)</th>", page)
    assert heads[:7] == list(TALLY_HEADINGS)
    assert re.findall(r"<td [^>]*>(.*?)</td>", page)[:7] == ["own", "7", "3", "1", "1", "1", "1"]
    assert "as they should be" not in page


def test_a_certain_difference_is_bold() -> None:
    """The interval that excludes 0; texts are escaped, and without a certain difference the table says so."""
    certain, open_ = (
        PairedDifference("loss", "%", {"name": "<i>"}, 1.0, 3.0, Interval(2.0, low, 4.0, 3), 0.5) for low in (1.0, -1.0)
    )
    page = Differences((certain, open_))._repr_html_()
    assert page.count("&lt;i&gt;") == 2
    assert "<b>[1, 4]</b>" in page
    assert "<b>[-1, 4]</b>" not in page
    assert "no differences" in Differences((open_,)).certain._repr_html_()
