"""Bar chart of answers to expectations, with accepted bands and published values beside the bars.

Reads verdicts only.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from hostsim.errors import Fault, InputError, nearest_name
from hostsim.results.estimate import Interval
from hostsim.results.expect import Band, Expectation, Find, Verdict, is_comparable, is_same_unit
from hostsim.results.figure import AnswersSpec
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.label import in_sentence, label_of, unit_of
from hostsim.results.search_answer import Bound
from hostsim.views.plots.axis import metric_label
from hostsim.views.plots.curve import Curve, draw_absent, draw_bars, interval_names
from hostsim.views.plots.reference_overlay import Bracket, draw_brackets
from hostsim.views.plots.style import INK, LOOKS, backed, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["NO_ANSWER", "draw_answers", "require_answers"]

NO_ANSWER = "no answer"
"""Text where an expectation has no answer."""
WIDTH = 0.5
"""Of a bar; bars are 1 apart."""
BAR_INCHES = 0.95
"""Least width of a figure for each bar, so that its name has room."""
LINE_INCHES = 0.13
"""Height of a line of a name."""
_SIGNS = {Bound.AT_LEAST: "≥ ", Bound.AT_MOST: "≤ ", Bound.LESS_THAN: "< "}
_LETTERS = 84
"""Letters of names that fit beside each other under a figure of the usual width."""
_FEWEST = 14
"""Letters that always fit under a bar."""


def draw_answers(
    figure: AnswersSpec,
    verdicts: Iterable[Verdict],
    *,
    ax: Axes | None = None,
    make: Callable[[], Figure] | None = None,
) -> Axes:
    """Draw a bar chart of answers: the number at the foot of each bar, its 95 % interval, of an ensemble its prediction interval, and, beside the bar of a claim, the accepted band and the published number.

    A bound has an arrowhead at its end, upwards where the answer is at least that, and no interval.

    Args:
        figure: whose answers; one that is not among the verdicts, or has no value there, is said to be absent.
        verdicts: of the scenario.
        ax: where to draw; without it a new figure is made, wide enough for the names.
        make: makes that figure; by default one outside pyplot.

    Returns:
        The axes.
    """
    from matplotlib.figure import Figure

    by_name = {verdict.expectation.name: verdict for verdict in verdicts}
    found = {x: by_name[name] for x, name in enumerate(figure.answers) if name in by_name}
    curve = _curve(found)
    count = len(figure.answers)
    names = [_wrapped(name, max(_LETTERS // count, _FEWEST)) for name in figure.answers]
    with house_style():
        if ax is None:
            whole = (make or Figure)()
            whole.set_figwidth(max(whole.get_figwidth(), BAR_INCHES * count))
            whole.set_figheight(whole.get_figheight() + LINE_INCHES * max(name.count("\n") for name in names))
            ax = whole.add_subplot()
        draw_bars(ax, curve, WIDTH, LOOKS[0], "")
        bounds = {float(x): verdict.bound for x, verdict in found.items() if verdict.bound is not None}
        _write_values(ax, curve, bounds)
        _draw_bounds(ax, curve, bounds)
        draw_absent(ax, sorted({*map(float, range(count))} - {*curve.x}), NO_ANSWER)
        ax.set_xlim(-0.5, count - 0.5)
        ax.grid(visible=False, axis="x")
        expected = {x: verdict.expectation for x, verdict in found.items()}
        brackets = [
            Bracket(x, claim.band, claim.published, curve.tops.get(x))
            for x, claim in expected.items()
            if claim.is_claim and claim.band != Band(None, None)
        ]
        draw_brackets(ax, brackets, WIDTH)
        ax.set_ylabel(_label(list(expected.values())))
        ax.set_xticks(range(count), names, fontsize=7.5)
        ax.tick_params(axis="x", length=0)
        if not curve.is_negative:
            ax.set_ylim(bottom=0)
        handles, labels = ax.get_legend_handles_labels()
        if curve.predicted:
            named = interval_names(banded=False)
            handles, labels = [*handles, *(one for one, _ in named)], [*labels, *(name for _, name in named)]
        if handles:
            ax.legend(handles, labels, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderpad=0.1, fontsize=7.5)
    return ax


def require_answers(figure: AnswersSpec, verdicts: Iterable[Verdict]) -> None:
    """Check that a figure names verdicts with comparable answers.

    Raises:
        InputError: with every name that is not there, or every answer in another unit than the first.
    """
    known = {verdict.expectation.name: verdict.expectation for verdict in verdicts}
    allowed = f"one of {', '.join(known)}" if known else "nothing: the scenario expects nothing"
    faults = [
        Fault("unknown expectation", "answers", repr(name), allowed, nearest_name(name, list(known)))
        for name in figure.answers
        if name not in known
    ]
    if not faults:
        first, *others = (known[name] for name in figure.answers)
        faults = [
            Fault(f"is in {other.counted_in}", "answers", repr(other.name), f"answers in {first.counted_in}")
            for other in others
            if not is_comparable(first, other)
        ]
    if faults:
        raise InputError(faults)


def _curve(found: Mapping[int, Verdict]) -> Curve:
    """The values as a curve, with infinite intervals where there are none."""
    points = {
        x: _interval(verdict.value, verdict.ci_low, verdict.ci_high)
        for x, verdict in found.items()
        if verdict.value is not None
    }
    told = {x: found[x].prediction for x in points}
    predicted = [
        _interval(one.mean, told_of.low if told_of else None, told_of.high if told_of else None)
        for one, told_of in zip(points.values(), told.values(), strict=True)
    ]
    return Curve(tuple(map(float, points)), tuple(points.values()), tuple(predicted) if any(told.values()) else ())


def _interval(value: float, low: float | None, high: float | None) -> Interval:
    ends = -math.inf if low is None else low, math.inf if high is None else high
    return Interval(value, *ends, 0)  # how many values are behind it is not known of a verdict


def _draw_bounds(axes: Axes, curve: Curve, bounds: Mapping[float, Bound]) -> None:
    """An arrowhead at the end of each bar whose number is a bound: the answer lies beyond."""
    for x, mean in zip(curve.x, curve.means, strict=True):
        if x in bounds:
            marker = "^" if bounds[x].is_lower else "v"
            axes.plot([x], [mean], marker=marker, color=INK, linestyle="none", clip_on=False, zorder=5)


def _write_values(axes: Axes, curve: Curve, bounds: Mapping[float, Bound]) -> None:
    """The numbers at the feet of the bars: an answer of 0 has no bar, and neighbours may differ by little."""
    for x, mean in zip(curve.x, curve.means, strict=True):
        sign = _SIGNS[bounds[x]] if x in bounds else ""
        axes.annotate(
            f"{sign}{mean:.4g}",
            (x, 0),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=7.5,
            color=INK,
            bbox=backed(),
        )


def _label(expectations: Sequence[Expectation]) -> str:
    """Axis label of answers: a threshold with its condition, a metric, or just their unit."""
    if not expectations:
        return ""
    searches = [form for entry in expectations if isinstance(form := entry.form, Find)]
    if len(searches) == len(expectations) and len({search.axis for search in searches}) == 1:
        return _place(searches)
    metrics = {metric for entry in expectations for metric in entry.form.metrics}
    unit = expectations[0].counted_in
    if len(metrics) == 1 and not searches and is_same_unit(CATALOGUE[(metric := metrics.pop())].unit, unit):
        return metric_label(metric)
    return unit


def _place(searches: Sequence[Find]) -> str:
    ends = {"largest" if search.largest else "smallest" for search in searches}
    words = " or ".join(sorted(ends)) + " " + searches[0].axis.replace("_", " ")
    words += f" ({searches[0].unit})" if searches[0].unit else ""
    conditions = {
        f"{in_sentence(label_of(search.metric))} below {search.below:g} {unit_of(search.metric)}" for search in searches
    }
    return f"{words}\nwith {conditions.pop()}" if len(conditions) == 1 else words


def _wrapped(name: str, letters: int) -> str:
    """A name in lines: at spaces and hyphens, after dots, and inside a word that is too long."""
    parted = re.sub(r"\.(?=\S)", ".\v", name)
    return "\n".join(line.replace("\v", "") for line in textwrap.wrap(parted, letters, replace_whitespace=False))
