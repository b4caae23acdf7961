"""Report of a sensitivity analysis: a table, CSV and a tornado plot."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING

from hostsim.analysis.constant import SPREAD, Constant
from hostsim.analysis.sensitivity_result import FactorSensitivity, SensitivityResult
from hostsim.files import write_whole
from hostsim.metrics.catalogue import CATALOGUE
from hostsim.plots.style import figure_of, save
from hostsim.plots.tornado import Swing, draw_tornado

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["HEADINGS", "draw", "interval_text", "rows", "without_effect", "write"]

HEADINGS = ("constant", "varied", "known by", "effect", "spread", "share of variance", "by itself", "at its ends")
"""Of the table on the command line."""


def rows(result: SensitivityResult) -> list[tuple[str, ...]]:
    """The table of a sensitivity analysis: a row for each constant that affects the metric."""
    return [_row(one) for one in result.factors if one.effect.mean]


def without_effect(result: SensitivityResult) -> list[str]:
    """Names of the constants without any effect on the metric."""
    return [one.constant.name for one in result.factors if not one.effect.mean]


def interval_text(constant: Constant) -> str:
    """Interval of a constant in words."""
    low, high = (f"{end:g}" for end in constant.ends)
    between = f"{low} to {high} {constant.unit}".rstrip()
    return between if constant.range else f"±{100 * SPREAD:g} %: {between}"


def draw(result: SensitivityResult, scenario: str) -> Axes:
    """Draw the tornado plot of the influential constants; there must be one.

    Args:
        result: of the analysis.
        scenario: its name, for the title.
    """
    swings = [
        Swing(
            one.constant.name,
            interval_text(one.constant),
            *one.at_ends,
            f"{_percent(one.share.total)} of the variance",
        )
        for one in sorted(result.influential, key=_swing, reverse=True)
        if one.at_ends is not None and one.share is not None
    ]
    at = ", ".join(f"{axis} = {value}" for axis, value in result.at.items())
    title = f"{scenario}{' at ' + at if at else ''}: {result.base:.4g} {CATALOGUE[result.metric].unit}"
    return draw_tornado(swings, result.metric, result.base, title)


def write(result: SensitivityResult, scenario: str, folder: Path) -> list[Path]:
    """Write the table of all constants, and the tornado plot where one of them affects the metric, named after the metric.

    Raises:
        StoreError: the folder cannot be written.
    """
    files = [write_whole(folder / f"{result.metric}.csv", _as_csv(result).encode())]
    if result.influential:
        files += save(figure_of(draw(result, scenario)), folder / result.metric)
    return files


def _percent(share: float) -> str:
    return "less than 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def _swing(one: FactorSensitivity) -> float:
    assert one.at_ends is not None
    return abs(one.at_ends[1] - one.at_ends[0])


def _row(one: FactorSensitivity) -> tuple[str, ...]:
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


def _as_csv(result: SensitivityResult) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = ("constant", "origin", "value", "low", "high", "unit", "range_stated", "effect", "effect_half", "spread")
    more = ("total", "total_half", "first", "first_half", "metric_at_low", "metric_at_high")
    writer.writerow([*names, *more])
    for one in result.factors:
        constant, effect, share = one.constant, one.effect, one.share
        cells = [constant.name, constant.origin.value, constant.value, *constant.ends, constant.unit]
        cells += [constant.range is not None, effect.mean, effect.half, effect.spread]
        cells += [share.total, share.total_half, share.first, share.first_half] if share else [math.nan] * 4
        cells += one.at_ends or [math.nan] * 2
        writer.writerow(["" if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells])
    return stream.getvalue()
