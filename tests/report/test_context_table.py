"""Contexts for readers: points, cells, and their place on the page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hostsim.errors import InputError
from hostsim.results.context import COLUMNS
from hostsim.results.figure import AnswersSpec, FigureSpec
from hostsim.results.folder import read, write
from hostsim.results.results import Results
from hostsim.views.report.breakdown import CONTEXT_HEADINGS, context_rows, last_points, points_at
from hostsim.views.report.page import write_report
from tests.sample_results import results, table


def found() -> Results:
    """Contexts of both points of the sample; the first replication of the second has `node node0`."""
    rows = [
        ("p1", "netpoll", "poll", "vmnic0-rx0", 0, 99.96, 0.0, 12345.6, 1e6, 0.4, 25.0),
        ("p1", "pcpu", "mean of 8", "", 1, 10.0, np.nan, 5.0, np.nan, np.nan, np.nan),
        ("p2", "wire", "vmnic0 <receive>", "", None, 50.0, np.nan, np.nan, 7.0, np.nan, np.nan),
    ]
    contexts = pd.DataFrame(rows, columns=["point", *COLUMNS]).astype({"node": "Int64"})
    marked = table()
    marked["bottleneck"] = ["context poll"] * 3 + ["node node0", "none", ""]
    return results(table=marked, contexts=contexts)


def test_the_last_point_of_each_series_is_the_one_to_look_at() -> None:
    """Each once, for any number of figures that end there, with the bottleneck of its first replication and its number of runs."""
    (point,) = last_points(found())
    assert (point.id, point.words, point.bottleneck) == ("p2", "receivers=2", "node node0")
    assert point.where == " (in 1 of 2 runs)"
    each = FigureSpec("other", "receivers", "loss", ("receivers",))
    assert [
        point.id for point in last_points(results(table=found().table, contexts=found().contexts, figures=(each,)))
    ] == [
        "p1",
        "p2",
    ]
    answers = AnswersSpec("steps", ("passes",))  # no point is its last
    (point,) = last_points(results(table=found().table, contexts=found().contexts, figures=(answers,)))
    assert point.id == "p2"


def test_points_are_found_by_their_axes() -> None:
    """As text, as typed; impossible values are reported with the possible ones."""
    assert [point.id for point in points_at(found(), {"receivers": "1"})] == ["p1"]
    for at, message in (
        (
            {"reciever": "1"},
            "--at: unknown axis; given 'reciever'; allowed: one of receivers; did you mean 'receivers'?",
        ),
        ({"receivers": "3"}, "--at receivers: no point is there; given '3'; allowed: one of 1, 2"),
    ):
        with pytest.raises(InputError) as caught:
            points_at(found(), at)
        assert caught.value.faults[0].on_command_line() == message


def test_cells_are_short() -> None:
    """Percentages with one digit, rates with none, a dash for missing values."""
    rows = context_rows(found().contexts)
    assert rows[0] == ("netpoll", "poll", "vmnic0-rx0", "0", "100.0", "0.0", "12,346", "1,000,000", "0", "25.0")
    assert rows[2] == ("wire", "vmnic0 <receive>", "", "–", "50.0", "–", "–", "7", "–", "–")
    assert {len(row) for row in rows} == {len(CONTEXT_HEADINGS)}


def test_contexts_come_back_from_the_folder(tmp_path) -> None:
    """Types and missing numbers included, none of them too."""
    for number, written in enumerate((replace(found(), figures=()), results(figures=()))):
        write(written, tmp_path / str(number))
        pd.testing.assert_frame_equal(read(tmp_path / str(number)).contexts, written.contexts)


def test_the_page_shows_them_folded(tmp_path) -> None:
    """The full context is in the summary; a scenario without contexts has no such section."""
    page = write_report(tmp_path / "report.html", [found()]).read_text()
    assert "<summary>receivers=2: node node0 (in 1 of 2 runs)</summary>" in page
    assert "vmnic0 &lt;receive&gt;" in page
    assert "Contexts and their queues" not in write_report(tmp_path / "none.html", [results()]).read_text()
