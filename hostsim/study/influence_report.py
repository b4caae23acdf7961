"""Findings about a metric as text, as CSV and as a tornado."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING

from hostsim.metrics import CATALOGUE
from hostsim.plots.atomic import write_whole
from hostsim.plots.style import save
from hostsim.plots.tornado import Swing, draw_tornado
from hostsim.study.constant import SPREAD, Constant
from hostsim.study.influence import Findings, Influence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["HEADINGS", "draw", "interval_text", "rows", "unmoved", "write"]

HEADINGS = ("constant", "varied", "known by", "effect", "spread", "share of variance", "by itself", "at its ends")
"""Of the table on the command line."""


def rows(findings: Findings) -> list[tuple[str, ...]]:
    """A row for each constant that moves the metric."""
    return [_row(one) for one in findings.influences if one.effect.mean]


def unmoved(findings: Findings) -> list[str]:
    """Names of the constants that do not move the metric at all."""
    return [one.constant.name for one in findings.influences if not one.effect.mean]


def interval_text(constant: Constant) -> str:
    """Where a constant was varied, in words."""
    low, high = (f"{end:g}" for end in constant.ends)
    between = f"{low} to {high} {constant.unit}".rstrip()
    return between if constant.range else f"±{100 * SPREAD:g} %: {between}"


def draw(findings: Findings, scenario: str) -> Axes:
    """The tornado of those constants that were looked at closely; there must be one.

    Args:
        findings: what came out.
        scenario: its name, for the title.
    """
    swings = [
        Swing(
            one.constant.name,
            interval_text(one.constant),
            *one.at_ends,
            f"{_percent(one.share.total)} of the variance",
        )
        for one in sorted(findings.close, key=_swing, reverse=True)
        if one.at_ends is not None and one.share is not None
    ]
    at = ", ".join(f"{axis} = {value}" for axis, value in findings.at.items())
    title = f"{scenario}{' at ' + at if at else ''}: {findings.base:.4g} {CATALOGUE[findings.metric].unit}"
    return draw_tornado(swings, findings.metric, findings.base, title)


def write(findings: Findings, scenario: str, folder: Path) -> list[Path]:
    """Write the table of all constants, and the tornado where one of them moves the metric, named after the metric.

    Raises:
        StoreError: the folder cannot be written.
    """
    files = [write_whole(folder / f"{findings.metric}.csv", _as_csv(findings).encode())]
    if findings.close:
        figure = draw(findings, scenario).get_figure(root=True)
        assert figure is not None  # it was made for these axes
        files += save(figure, folder / findings.metric)
    return files


def _percent(share: float) -> str:
    return "less than 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def _swing(one: Influence) -> float:
    assert one.at_ends is not None
    return abs(one.at_ends[1] - one.at_ends[0])


def _row(one: Influence) -> tuple[str, ...]:
    effect, share = one.effect, one.share
    return (
        one.constant.name,
        interval_text(one.constant),
        one.constant.origin.value,
        f"{effect.mean:.3g} ±{effect.half:.2g}",
        f"{effect.spread:.2g}",
        "" if share is None else f"{100 * share.total:.0f} ±{100 * share.total_half:.0f} %",
        "" if share is None else f"{100 * share.first:.0f} ±{100 * share.first_half:.0f} %",
        "" if one.at_ends is None else f"{one.at_ends[0]:.4g} .. {one.at_ends[1]:.4g}",
    )


def _as_csv(findings: Findings) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = ("constant", "origin", "value", "low", "high", "unit", "range_stated", "effect", "effect_half", "spread")
    more = ("total", "total_half", "first", "first_half", "metric_at_low", "metric_at_high")
    writer.writerow([*names, *more])
    for one in findings.influences:
        constant, effect, share = one.constant, one.effect, one.share
        cells = [constant.name, constant.origin.value, constant.value, *constant.ends, constant.unit]
        cells += [constant.range is not None, effect.mean, effect.half, effect.spread]
        cells += [share.total, share.total_half, share.first, share.first_half] if share else [math.nan] * 4
        cells += one.at_ends or [math.nan] * 2
        writer.writerow(["" if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells])
    return stream.getvalue()
