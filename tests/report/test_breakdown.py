"""Time breakdown as bars and rows: at the requested points, named by their differences."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hostsim.errors import InputError
from hostsim.results.context import COLUMNS as CONTEXT_COLUMNS
from hostsim.results.context import CPU_COLUMNS
from hostsim.results.figure import FigureSpec
from hostsim.views.report.breakdown import STAGES, cpu_shares, latency_rows, stage_times
from hostsim.views.report.page import write_report
from tests.sample_results import results, table

CPU = pd.DataFrame(
    [
        (point, kind, owner, 1, used, used / 4, 10.0)
        for point, load in (("p1", 20.0), ("p2", 40.0))
        for kind, owner, used in (
            ("vcpu", "web", load),
            ("vcpu", "db", load / 2),
            ("netpoll", "vmnic0", 8.0),
            ("networld", "web", 0.0),
            ("idle", "", 300.0),
        )
    ],
    columns=["point", *CPU_COLUMNS],
)
CONTEXTS = pd.DataFrame([{"point": point, **dict.fromkeys(CONTEXT_COLUMNS)} for point in ("p1", "p2")])


def found(**measures: float):
    runs = table()
    for name, value in measures.items():
        runs.loc[runs["error"] == "", name] = value * runs["receivers"]
    return results(table=runs.assign(bottleneck="none"), cpu=CPU, contexts=CONTEXTS)


def test_kinds_with_several_owners_are_told_apart_and_idle_is_left_out():
    """Two groups of VMs, one NIC; the NetWorld did nothing."""
    assert cpu_shares(found(), {"receivers": 2}) == [
        ("receivers=2", {"vCPUs of web": 10.0, "vCPUs of db": 5.0, "NetPoll": 2.0})
    ]


def test_more_owners_than_looks_are_not_told_apart():
    """Two bars with the same look would be misleading."""
    many = pd.concat([CPU, *(CPU[CPU["owner"] == "web"].assign(owner=f"web{n}") for n in range(7))])
    (bar,) = cpu_shares(results(table=found().table, cpu=many, contexts=CONTEXTS), {"receivers": 2})
    assert bar == ("receivers=2", {"vCPUs": 85.0, "NetPoll": 2.0})


def test_without_a_place_the_last_point_of_each_series_is_shown_and_named():
    """An empty place means all points."""
    assert [name for name, _ in cpu_shares(found())] == ["receivers=2"]
    assert [name for name, _ in cpu_shares(found(), {})] == ["receivers=1", "receivers=2"]
    with pytest.raises(InputError, match="did you mean 'receivers'"):
        cpu_shares(found(), {"receiver": 1})


def test_stages_are_shown_where_there_are_round_trips():
    """In the order of the catalogue, without their common first word."""
    assert stage_times(found()) == []
    ((name, stages),) = stage_times(found(**dict.fromkeys(STAGES, 3.0)), {"receivers": 2})
    assert name == "receivers=2"
    assert list(stages)[:3] == ["On the wire", "NIC interrupt moderation", "Wait for NetPoll"]
    assert set(stages.values()) == {6.0}


def test_latencies_have_their_units_and_what_cannot_be_told_is_told_in_words():
    """Measures that no point has make no row."""
    runs = found(latency_mean=1234.5, settled_response_p95=0.01234)
    runs.table.loc[runs.table["receivers"] == 1, "settled_response_p95"] = np.nan
    headings, rows = latency_rows(runs, {})
    assert headings == ["measure", "receivers=1", "receivers=2"]
    assert rows == [
        ["Mean one-way latency (µs)", "1,234", "2,469"],
        ["95th percentile of response time (ms)", "not estimable", "0.0247"],
    ]
    assert latency_rows(found())[1] == []


def test_no_two_downloads_of_a_page_have_one_name(tmp_path):
    """A figure of a scenario may have the same name as the breakdown of time."""
    made = replace(found(), figures=(FigureSpec("cpu-time", "receivers", "loss"),))
    page = write_report(tmp_path / "report.html", [made]).read_text()
    names = re.findall(r' download="([^"]*)"', page)
    assert len(set(names)) == len(names) == 2
