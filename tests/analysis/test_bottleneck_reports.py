"""Public problem reports: each gets its documented cause as answer, and the author's change removes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from problem_reports import REPORTS, Report

import hostsim


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_a_report_is_answered_with_its_cause_and_relieved_by_its_change(report: Report, tmp_path: Path) -> None:
    """In every replication; the reported measure is significantly better afterwards."""
    found = hostsim.what_if(
        report.scenario(), dict(report.change), of=report.of, quick=True, jobs=1, results=tmp_path / "results"
    )
    for replication in range(len(found.before.table)):
        limit = hostsim.bottleneck(found.before.record(replication=replication), of=report.of)
        assert str(limit).startswith(report.cause), limit.sentence
        assert limit.reason.endswith(".")
        assert limit.relief.endswith(".")
    moved = found.differences.only(f"{report.measure} of {report.of}").frame().iloc[0]
    assert min(moved["low"] * report.is_better, moved["high"] * report.is_better) > 0
