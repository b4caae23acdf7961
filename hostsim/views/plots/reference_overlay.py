"""Overlay of reference values on a figure: published values at points or thresholds, and limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hostsim.engine.record import AxisValues
from hostsim.results.expect import At, Band, Difference, Expectation, Find, Form, Mean, Ratio, Verdict, Worst
from hostsim.results.figure import FigureSpec
from hostsim.views.plots.curve import DataSeries, matching_series
from hostsim.views.plots.style import INK, PAPER, SMALL_POINTS, figure_of, halo

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = [
    "Meaning",
    "draw_accepted",
    "draw_limits",
    "draw_mark",
    "draw_thresholds",
    "legend_entries",
    "published_number",
]

BESIDE_POINTS = 6.0
"""Distance of a mark from its point or from another mark, so that neither hides the other."""
ARROW_POINTS = 16.0
"""Length of the arrow at an open end of a band."""
OWN = "#6a737d"
"""Colour of the accepted range of an expectation without a published value."""


class Meaning(StrEnum):
    """Meaning of a mark, as worded in the legend."""

    PUBLISHED = "published (accepted range)"
    MEAN = "published mean (accepted range)"
    RATIO = "published ratio × simulated"
    ACCEPTED = "accepted range"
    THRESHOLD = "simulated threshold"


def published_number(expectation: Expectation) -> float | None:
    """The published value as a number; None if it is a range or words, or the expectation is not published."""
    try:
        return float(expectation.published) if expectation.is_claim else None
    except ValueError:
        return None


def legend_entries(meanings: Iterable[Meaning]) -> list[tuple[Any, str]]:
    """Handles and names for the legend, in the order of `Meaning`."""
    from matplotlib.lines import Line2D

    shown = set(meanings)
    looks: dict[Meaning, dict[str, Any]] = {
        Meaning.ACCEPTED: {"color": OWN, "linewidth": 1.2, "marker": "|", "markersize": 5},
        Meaning.RATIO: {"color": INK, "linewidth": 1.2, "linestyle": ":", "marker": "D", "markerfacecolor": PAPER},
        Meaning.THRESHOLD: {"color": INK, "linestyle": "none", "marker": "D", "markersize": 3.5},
    }
    usual = {"color": INK, "linewidth": 1.2, "marker": "D", "markerfacecolor": PAPER}
    return [(Line2D([], [], **looks.get(meaning, usual)), meaning.value) for meaning in Meaning if meaning in shown]


def draw_mark(
    axes: Axes,
    place: float,
    band: Band,
    number: float | None,
    *,
    along: Literal["x", "y"] = "y",
    colour: str = INK,
    beside: float = 0.0,
    meaning: Meaning = Meaning.PUBLISHED,
) -> None:
    """Draw the mark of a reference value: a hollow diamond at the published number, a line over the accepted band, an arrow at an open end.

    Args:
        axes: the axes.
        place: position on the other axis.
        band: accepted band, open at one end at most.
        number: the published number; no diamond without it.
        along: the axis of the band.
        colour: colour of diamond and band.
        beside: offset of the mark in points, to the right or upwards.
        meaning: meaning of the mark.
    """
    from matplotlib.transforms import ScaledTranslation

    right, up = (beside / 72, 0.0) if along == "y" else (0.0, beside / 72)
    moved = axes.transData + ScaledTranslation(right, up, figure_of(axes).dpi_scale_trans)

    def at(value: float) -> tuple[float, float]:
        return (place, value) if along == "y" else (value, place)

    numbers = [end for end in (band.low, number, band.high) if end is not None]
    low, high = min(numbers), max(numbers)
    axes.update_datalim([at(low), at(high)])  # artists with an offset in points do not change the limits
    look: dict[str, Any] = {"color": colour, "transform": moved, "clip_on": False, "zorder": 5}
    dash = ":" if meaning is Meaning.RATIO else "-"
    caps = {"x": "|", "y": "_"}[along] if meaning is Meaning.ACCEPTED else "none"
    axes.plot(
        *zip(at(low), at(high), strict=True),
        linewidth=1.2,
        linestyle=dash,
        marker=caps,
        markersize=5,
        path_effects=halo(2.6),
        **look,
    )
    for end, start, sign in ((band.low, low, -1), (band.high, high, 1)):
        if end is None:
            axes.annotate(
                "",
                at(start),
                xytext=(0, sign * ARROW_POINTS) if along == "y" else (sign * ARROW_POINTS, 0),
                xycoords=moved,
                textcoords="offset points",
                arrowprops={"arrowstyle": "<-", "color": colour, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0},
                annotation_clip=False,
                zorder=5,
            )
    if number is not None:
        axes.plot(
            *at(number), marker="D", markersize=5, markerfacecolor=PAPER, linestyle="none", **look | {"zorder": 6}
        )


@dataclass(frozen=True)
class _Reference:
    """Reference value at a place: a published value, or an accepted range."""

    place: float
    band: Band
    number: float | None
    colour: str
    meaning: Meaning


def draw_accepted(
    axes: Axes,
    verdicts: Iterable[Verdict],
    figure: FigureSpec,
    all_series: Sequence[DataSeries],
    table: pd.DataFrame,
    width: float,
) -> set[Meaning]:
    """Draw reference values of the left measure: a mark beside each point or bar with an expectation.

    Args:
        axes: the axes.
        verdicts: of the scenario; those about other measures are ignored.
        figure: the figure.
        all_series: the drawn series.
        table: the rows of the figure.
        width: width of a bar; 0 for lines.

    Returns:
        The meanings of the marks.
    """
    taken: Counter[float] = Counter()
    meanings = set()
    references = list(_references(verdicts, figure, all_series, table))
    if any(reference.meaning is not Meaning.ACCEPTED for reference in references):
        # if there are published values, the scenario's own expectations are only intermediate steps
        references = [reference for reference in references if reference.meaning is not Meaning.ACCEPTED]
    for reference in references:
        if width:  # on the right part of its bar
            place, beside = reference.place + 0.3 * width, 0.0
        else:
            taken[reference.place] += 1
            place, beside = reference.place, BESIDE_POINTS * taken[reference.place]
        draw_mark(
            axes,
            place,
            reference.band,
            reference.number,
            colour=reference.colour,
            beside=beside,
            meaning=reference.meaning,
        )
        meanings.add(reference.meaning)
    return meanings


def _references(
    verdicts: Iterable[Verdict], figure: FigureSpec, all_series: Sequence[DataSeries], table: pd.DataFrame
) -> Iterator[_Reference]:
    """The reference values about points of a figure, each once."""
    seen = set()
    for verdict in verdicts:
        expectation = verdict.expectation
        band, number = expectation.band, published_number(expectation)
        if band == Band(None, None):
            continue
        means = [
            (data, place, factor)
            for at, reference in _points_about(expectation.form, figure)
            for data, place in _places(at, figure, all_series, table)
            if (factor := _factor(reference, figure, all_series, table)) is not None
        ]
        meaning = Meaning.PUBLISHED if expectation.is_claim else Meaning.ACCEPTED
        if number is None and figure.kind == "line":  # a direction cannot be shown among lines
            means = [entry for entry in means if entry[2] == 1.0]
        if isinstance(expectation.form, Mean):
            if len({place for _, place, _ in means}) != 1 or len(means) < len(expectation.form.points):
                continue
            means, meaning = means[:1], Meaning.MEAN if expectation.is_claim else meaning
        for data, place, factor in means:
            own = OWN if not expectation.is_claim else INK if figure.kind == "bar" or meaning is Meaning.MEAN else ""
            scaled = Band(*(None if end is None else end * factor for end in (band.low, band.high)))
            overlay = _Reference(
                place,
                scaled,
                None if number is None else number * factor,
                own or data.look.colour,
                Meaning.RATIO if factor != 1.0 and meaning is Meaning.PUBLISHED else meaning,
            )
            if overlay not in seen:
                seen.add(overlay)
                yield overlay


def _places(
    at: AxisValues, figure: FigureSpec, all_series: Sequence[DataSeries], table: pd.DataFrame
) -> list[tuple[DataSeries, float]]:
    return [
        (series, place)
        for series in matching_series(at, figure, all_series, table)
        if (place := series.place.get(str(at.get(figure.x)))) is not None
    ]


def _factor(
    reference: AxisValues | None, figure: FigureSpec, all_series: Sequence[DataSeries], table: pd.DataFrame
) -> float | None:
    """Factor of a published value: for a ratio the simulated mean at its reference point, otherwise 1; None without that point."""
    if reference is None:
        return 1.0
    for series, _ in _places(reference, figure, all_series, table):
        rows = series.rows[series.rows[figure.x].astype(str) == str(reference.get(figure.x))]
        mean = float(rows[figure.y].mean())
        return mean if np.isfinite(mean) else None
    return None


def _points_about(form: Form, figure: FigureSpec) -> list[tuple[AxisValues, AxisValues | None]]:
    """The points of a form about the left measure of a figure, or about its difference or ratio to the same reference.

    Returns:
        Each point with the reference point of its ratio, if the measure itself is drawn.
    """
    match form:
        case Worst(points=points, best=False) | Mean(points=points):
            return [at for point in points for at in _points_about(point, figure)]
        case At(metric=figure.y, at=at) if not figure.reference and figure.per is None:
            return [(at, None)]
        case Difference(metric=figure.y, at=at, less=less) if figure.less and _apart(at, less, figure.less):
            return [(at, None)]
        case Ratio(metric=figure.y, of=dict(of), to=dict(to), at=at):
            of, to = {**at, **of}, {**at, **to}
            if figure.to:
                return [(of, None)] if _apart(of, to, figure.to) else []
            return [(of, to)] if not figure.less and figure.per is None else []
    return []


def _apart(at: AxisValues, reference: AxisValues, difference: AxisValues) -> bool:
    """True if a reference point differs from a point in exactly the given values."""
    differ = {axis: str(value) for axis, value in reference.items() if str(at.get(axis)) != str(value)}
    return differ == {axis: str(value) for axis, value in difference.items()}


def draw_limits(axes: Axes, figure: FigureSpec, *, room: bool = False) -> None:
    """Draw the limits of the left measure as dashed lines, with number and unit beside the axes.

    Args:
        axes: the axes.
        figure: the figure with the limits.
        room: leave space above them for arrowheads.
    """
    for limit in figure.lines:
        axes.axhline(limit, color=INK, linewidth=0.9, linestyle=(0, (6, 3)), zorder=1.8)
        axes.annotate(
            f"{limit:g} {figure.y_unit}".rstrip(),
            (1, limit),
            xycoords=axes.get_yaxis_transform(),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL_POINTS,
            color=INK,
        )
    if figure.lines:
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom, max(top, (1.3 if room else 1.06) * max(figure.lines)))


def draw_thresholds(
    axes: Axes,
    verdicts: Iterable[Verdict],
    figure: FigureSpec,
    all_series: Sequence[DataSeries],
    table: pd.DataFrame,
) -> set[Meaning]:
    """Draw thresholds of the left measure on the x axis, at their condition's height and in their line's colour.

    A filled diamond is the simulated threshold, a hollow one the published threshold. Thresholds outside the figure are
    omitted.

    Returns:
        The meanings of the marks.
    """
    edge, heights = axes.get_xlim(), axes.get_ylim()
    places = [place for series in all_series for place in series.place.values()]
    drawn: list[tuple[float, float, float]] = []
    meanings = set()
    searches = list(_searches(verdicts, figure, all_series, table))
    is_published = any(verdict.expectation.is_claim for verdict, _, _ in searches)
    for verdict, find, about in searches:
        band, number = verdict.expectation.band, published_number(verdict.expectation)
        low, high = (-np.inf if band.low is None else band.low), (np.inf if band.high is None else band.high)
        if not places or low > max(places) or high < min(places):
            continue
        colour = about[0].look.colour if len(about) == 1 else INK
        meaning = Meaning.PUBLISHED if verdict.expectation.is_claim else Meaning.ACCEPTED
        if band != Band(None, None) and (verdict.expectation.is_claim or not is_published):
            ends = low, high, find.below
            beside = BESIDE_POINTS * sum(_overlap(ends, other) for other in drawn)
            drawn.append(ends)
            inside = Band(*(None if end is None else float(np.clip(end, *edge)) for end in (band.low, band.high)))
            number = number if number is not None and edge[0] <= number <= edge[1] else None
            draw_mark(axes, find.below, inside, number, along="x", colour=colour, beside=beside, meaning=meaning)
            meanings.add(meaning)
        if verdict.value is not None and verdict.bound is None and edge[0] <= verdict.value <= edge[1]:
            at = verdict.value, find.below
            axes.plot(*at, marker="D", markersize=3.5, color=colour, linestyle="none", clip_on=False, zorder=7)
            meanings.add(Meaning.THRESHOLD)
    axes.set_xlim(edge)
    axes.set_ylim(heights[0], max(heights[1], axes.get_ylim()[1]))
    return meanings


def _overlap(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    return one[2] == other[2] and one[0] <= other[1] and other[0] <= one[1]


def _searches(
    verdicts: Iterable[Verdict], figure: FigureSpec, all_series: Sequence[DataSeries], table: pd.DataFrame
) -> Iterator[tuple[Verdict, Find, list[DataSeries]]]:
    """The searches for a threshold of the left metric on the x axis, each with its series."""
    if figure.reference or figure.per is not None:
        return
    for verdict in verdicts:
        match verdict.expectation.form:
            case Find(axis=figure.x, metric=figure.y, at=at) as find:
                if about := matching_series(at, figure, all_series, table):
                    yield verdict, find, about
