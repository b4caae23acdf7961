"""Overlay of reference values on a figure: accepted bands as strips and brackets, thresholds as bars above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hostsim.engine.record import AxisValues
from hostsim.results.expect import At, Band, Difference, Find, Form, Ratio, Verdict, Worst
from hostsim.results.figure import FigureSpec
from hostsim.results.verdicts import published_text
from hostsim.views.plots.curve import DataSeries, matching_series
from hostsim.views.plots.style import INK, backed, figure_of, halo

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = [
    "Bracket",
    "Threshold",
    "draw_accepted",
    "draw_brackets",
    "draw_limits",
    "draw_searched",
    "draw_thresholds",
    "thresholds",
]

ROW = 0.055
"""Height of the row of one threshold above a figure, as a share of the figure's."""
BESIDE_POINTS = 6
"""From a point to the bar of its accepted values, so that neither hides the other."""
LETTERS = 110
"""Small letters that fit beside each other over the whole width of a figure, with some overhang."""


@dataclass(frozen=True)
class Threshold:
    """Threshold band: accepted values of x, in the units of the axis."""

    low: float
    high: float
    words: str
    """What was published, or accepts an expectation of your own."""
    colour: str
    published: bool
    """True of a claim: it is shaded."""


@dataclass(frozen=True)
class Bracket:
    """Bracket beside a bar: its accepted band and the published value."""

    place: float
    """Middle of the bar."""
    band: Band
    """Not open at both ends."""
    published: str
    top: float | None
    """Up to where the bar and its error bar reach; None where there is no bar."""


def draw_accepted(
    axes: Axes,
    verdicts: Iterable[Verdict],
    figure: FigureSpec,
    all_series: Sequence[DataSeries],
    table: pd.DataFrame,
    tops: Mapping[float, float],
    width: float,
    *,
    joined: bool = True,
) -> None:
    """Draw the accepted bands of expectations on the left-hand metric.

    Over lines a hatched strip along a line and a bar with ends at a point, each named in the legend; over bars a bracket at each bar with
    the published number above it, and one name in the legend. An open end reaches to the edge.

    Args:
        axes: where to draw.
        verdicts: of the scenario; those about something else are left out.
        figure: what is drawn.
        all_series: what is drawn, series by series.
        table: the rows that it is drawn from.
        tops: of bars by their place: up to where bar and error bar reach.
        width: of a bar; 0 of a line.
        joined: values of x are numbers, with a line between them.
    """
    brackets: list[Bracket] = []
    taken: Counter[float] = Counter()
    for verdict in verdicts:
        band = verdict.expectation.band
        about = [
            (series, place)
            for at in _points_about(verdict.expectation.form, figure)
            for series in matching_series(at, figure, all_series, table)
            if (place := series.place.get(str(at.get(figure.x)))) is not None
        ]
        if not about or (band.low is None and band.high is None):
            continue
        published = verdict.expectation.published
        if width:
            brackets += [Bracket(place, band, published, tops.get(place)) for _, place in about]
            continue
        colours = {series.look.colour for series, _ in about}
        name = f"published: {published_text(verdict.expectation)}"
        if not verdict.expectation.is_claim:
            whose = {series.label for series, _ in about}
            owner = f"{whose.pop()}, " if len(whose) == 1 < len(all_series) else ""
            name = f"{owner}accepted: {published}"
        colour = colours.pop() if len(colours) == 1 else INK
        xs = sorted({place for _, place in about})
        if len(xs) > 1 and joined:
            _strip(axes, xs, band, colour, name)
            continue
        _bars_beside(axes, xs, band, colour, name, published, 1 + max(taken[x] for x in xs))
        taken.update(xs)
    draw_brackets(axes, brackets, width)


def _points_about(form: Form, figure: FigureSpec) -> list[AxisValues]:
    """The points at which a form is about the left-hand measure of a figure, or about its difference or ratio to the same reference."""
    match form:
        case Worst(points=points):
            return [at for point in points for at in _points_about(point, figure)]
        case At(metric=figure.y, at=at) if not figure.reference and figure.per is None:
            return [at]
        case Difference(metric=figure.y, at=at, less=less) if figure.less and _apart(at, less, figure.less):
            return [at]
        case Ratio(metric=figure.y, of=dict(of), to=dict(to)) if figure.to:
            of, to = {**form.at, **of}, {**form.at, **to}
            return [of] if _apart(of, to, figure.to) else []
    return []


def _apart(at: AxisValues, reference: AxisValues, wanted: AxisValues) -> bool:
    """True when a reference point differs from a point in exactly the values that are wanted."""
    differ = {axis: str(value) for axis, value in reference.items() if str(at.get(axis)) != str(value)}
    return differ == {axis: str(value) for axis, value in wanted.items()}


def draw_limits(axes: Axes, figure: FigureSpec) -> None:
    """Draw the limits of the left-hand measure as dashed lines across the figure, each with its number and unit."""
    for limit in figure.lines:
        axes.axhline(limit, color=INK, linewidth=1.0, linestyle=(0, (6, 3)), zorder=1.8)
        axes.annotate(
            f"{limit:g} {figure.y_unit}".rstrip(),
            (0, limit),
            xycoords=axes.get_yaxis_transform(),
            xytext=(4, 2),
            textcoords="offset points",
            fontsize=7.5,
            color=INK,
            bbox=backed(),
        )
    if figure.lines:
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom, max(top, 1.06 * max(figure.lines)))


def draw_searched(
    axes: Axes,
    verdicts: Iterable[Verdict],
    figure: FigureSpec,
    all_series: Sequence[DataSeries],
    table: pd.DataFrame,
) -> None:
    """Draw the points that searches for a threshold of the left-hand measure ended between, as crosses in the colour of their line."""
    edge, named = axes.get_xlim(), False
    for verdict, find, about in _searches(verdicts, figure, all_series, table):
        # a folder keeps an infinite value as none
        cases = [(find.read(case[figure.x]), case["value"]) for case in verdict.points if case["value"] is not None]
        found = [(x, float(y)) for x, y in cases if x is not None and np.isfinite(float(y))]
        if not found:
            continue
        x, y = zip(*found, strict=True)
        colour = about[0].look.colour if len(about) == 1 else INK
        name = None if named else "both sides of a threshold, by replication"
        axes.plot(x, y, linestyle="none", marker="x", markersize=3.5, color=colour, label=name)
        named = True
    axes.set_xlim(edge)


def _searches(
    verdicts: Iterable[Verdict], figure: FigureSpec, all_series: Sequence[DataSeries], table: pd.DataFrame
) -> Iterator[tuple[Verdict, Find, list[DataSeries]]]:
    """The searches for a threshold of the left-hand metric on the x axis, with the series that each is about."""
    if figure.reference or figure.per is not None:
        return
    for verdict in verdicts:
        match verdict.expectation.form:
            case Find(axis=figure.x, metric=figure.y, at=at) as find:
                if about := matching_series(at, figure, all_series, table):
                    yield verdict, find, about


def draw_brackets(axes: Axes, brackets: Sequence[Bracket], width: float) -> None:
    """Draw accepted bands beside bars: a bracket each with the published number above it, and one name for the legend.

    Args:
        axes: where to draw; gets room for the numbers.
        brackets: of the bars.
        width: of a bar.
    """
    for number, bracket in enumerate(brackets):
        _bracket(axes, bracket, width, "" if number else "published (accepted)")
    if brackets:
        _numbers(axes, brackets, width)


def _ends(axes: Axes, band: Band) -> tuple[float, float]:
    bottom, top = axes.get_ylim()
    low = bottom if band.low is None else band.low
    return low, (max(top, 1.1 * low) if band.high is None else band.high)


def _strip(axes: Axes, xs: Sequence[float], band: Band, colour: str, label: str) -> None:
    """Accepted values along a line as a hatched strip."""
    low, high = _ends(axes, band)
    axes.fill_between(
        list(xs), low, high, facecolor="none", edgecolor=colour, hatch="////", alpha=0.35, linewidth=0, label=label
    )


def _bars_beside(
    axes: Axes, xs: Sequence[float], band: Band, colour: str, label: str, published: str, steps: int
) -> None:
    """Accepted values at points as bars with ends, some steps beside them, with a mark at the published number."""
    from matplotlib.transforms import ScaledTranslation

    low, high = _ends(axes, band)
    beside = axes.transData + ScaledTranslation(steps * BESIDE_POINTS / 72, 0, figure_of(axes).dpi_scale_trans)
    for x in xs:
        axes.plot([x, x], [low, high], color=colour, linewidth=1, marker="_", transform=beside, label=label or None)
        label = ""
    try:
        number = float(published)
    except ValueError:  # words
        return
    if low <= number <= high:
        axes.plot(xs, [number] * len(xs), linestyle="none", marker="D", markersize=3, color=colour, transform=beside)


def _bracket(axes: Axes, bracket: Bracket, width: float, label: str) -> None:
    """A bracket over the right-hand half of a bar, without a lip where the band is open."""
    band = bracket.band
    low, high = _ends(axes, band)
    lip, spine = bracket.place + 0.14 * width, bracket.place + 0.36 * width
    x = [*([] if band.low is None else [lip]), spine, spine, *([] if band.high is None else [lip])]
    y = [*([] if band.low is None else [low]), low, high, *([] if band.high is None else [high])]
    axes.plot(
        x, y, color=INK, linewidth=1.2, solid_joinstyle="miter", path_effects=halo(2.8), label=label or None, zorder=4
    )


def _numbers(axes: Axes, brackets: Sequence[Bracket], width: float) -> None:
    """The published numbers, each above its bracket and its bar, upright where they are wider than a bar; makes room for them."""
    start, end = axes.get_xlim()
    longest = max(len(bracket.published) for bracket in brackets)
    upright = longest * (end - start) > LETTERS * width
    top = axes.get_ylim()[1]
    axes.set_ylim(top=top * (1.05 + (0.022 * longest if upright else 0.04)))
    for bracket in brackets:
        high = top if bracket.band.high is None else min(top, max(bracket.band.high, bracket.top or bracket.band.high))
        axes.annotate(
            bracket.published,
            (bracket.place, high),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            rotation=90 if upright else 0,
            fontsize=6.5,
            color=INK,
            bbox=backed(),
            zorder=5,
        )


def thresholds(
    verdicts: Iterable[Verdict], figure: FigureSpec, all_series: Sequence[DataSeries], table: pd.DataFrame
) -> list[Threshold]:
    """The threshold bands of expectations: accepted thresholds of the left-hand metric on the x axis."""
    found = []
    for verdict, _, about in _searches(verdicts, figure, all_series, table):
        band = verdict.expectation.band
        low, high = (-np.inf if band.low is None else band.low), (np.inf if band.high is None else band.high)
        colour = about[0].look.colour if len(about) == 1 else INK
        is_claim = verdict.expectation.is_claim
        words = f"{'published' if is_claim else 'accepted'} {verdict.expectation.published}"
        found.append(Threshold(low, high, words, colour, is_claim))
    places = [place for one in all_series for place in one.place.values()]
    seen = [one for one in found if one.low <= max(places) and one.high >= min(places)]  # the others are off the figure
    return sorted(seen, key=lambda threshold: -threshold.low)


def draw_thresholds(axes: Axes, found: Iterable[Threshold]) -> None:
    """Draw accepted thresholds: a bar each above the axes with the published number, and a faint band through them where one is published."""
    edge = axes.get_xlim()
    for row, threshold in enumerate(found):
        low, high = max(threshold.low, edge[0]), min(threshold.high, edge[1])
        if threshold.published:
            axes.axvspan(low, high, color=threshold.colour, alpha=0.1, linewidth=0)
        height = 1.035 + ROW * row
        axes.plot(
            [low, high],
            [height, height],
            transform=axes.get_xaxis_transform(),
            color=threshold.colour,
            linewidth=3.5,
            solid_capstyle="butt",
            clip_on=False,
        )
        axes.annotate(
            threshold.words,
            (high, height),
            xycoords=axes.get_xaxis_transform(),
            xytext=(4, 0),
            textcoords="offset points",
            color=threshold.colour,
            fontsize=7.5,
            va="center",
        )
    axes.set_xlim(edge)
