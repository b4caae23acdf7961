"""Dot plot of expectations: simulated value, published value and accepted band, one row each.

Reads verdicts only.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hostsim.errors import Fault, raise_faults, unknown_name
from hostsim.results.expect import Band, Expectation, Find, Verdict, is_comparable, is_same_unit
from hostsim.results.figure import AnswersSpec
from hostsim.results.metrics.catalogue import CATALOGUE, in_sentence, label_of, unit_of
from hostsim.results.search_answer import Bound
from hostsim.views.plots.axis import metric_label, with_unit
from hostsim.views.plots.curve import BAND, PREDICTED, interval_names
from hostsim.views.plots.reference_overlay import Meaning, draw_mark, legend_entries, published_number
from hostsim.views.plots.style import (
    GRID,
    INK,
    LETTER_INCHES,
    LOOKS,
    SMALL_POINTS,
    draw_legend,
    house_style,
    sized,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["NO_ANSWER", "draw_answers", "require_answers"]

NO_ANSWER = "no answer"
"""Text for an expectation without an answer."""
ROW_INCHES = 0.34
"""Height of a row."""
SIMULATED, PUBLISHED = -0.16, 0.2
"""Offsets of the two marks in a row, downwards from its middle."""
_BESIDE_INCHES = 1.6
"""Width of the columns of numbers beside the axes."""
NAME_LETTERS, LABEL_LETTERS = 46, 60
"""Letters in a line of a name, and in a line of the axis label."""
_SIGNS = {Bound.AT_LEAST: "≥ ", Bound.AT_MOST: "≤ ", Bound.LESS_THAN: "< "}
_COLUMNS = {"simulated": 8, "published": 62}
"""Headings of the numbers beside the figure, and their distances from the axes in points."""


def draw_answers(
    figure: AnswersSpec,
    verdicts: Iterable[Verdict],
    *,
    ax: Axes | None = None,
    make: Callable[[], Figure] | None = None,
    title: str = "",
) -> Axes:
    """Draw a dot plot of answers: each row has the answer with its interval, and the published value with its band.

    The interval is the 95 % interval, or the prediction interval of an ensemble. A bound has an arrowhead in the
    direction of the answer, and no interval. The numbers are beside the axes.

    Args:
        figure: the figure; an answer without a verdict or a value is labelled as absent.
        verdicts: of the scenario.
        ax: axes to draw on; by default those of a new figure, whose height fits the rows.
        make: makes the new figure; by default one outside pyplot.
        title: of a new figure.

    Returns:
        The axes.
    """
    from matplotlib.figure import Figure

    by_name = {verdict.expectation.name: verdict for verdict in verdicts}
    shown = [by_name.get(name) for name in figure.answers]
    names = [
        textwrap.fill(_name(figure, name, answer), NAME_LETTERS)
        for name, answer in zip(figure.answers, shown, strict=True)
    ]
    expected = [answer.expectation for answer in shown if answer is not None]
    with house_style():
        whole = None
        if ax is None:
            whole = sized((make or Figure)(), figure.size or "page")
            whole.set_figheight(0.6 + ROW_INCHES * len(names))
            ax = whole.add_subplot()
        look, meanings = LOOKS[0], set()
        for y, answer in enumerate(shown):
            if answer is not None:
                meanings |= _draw_row(ax, y, answer)
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(visible=False, axis="y")
        for y in range(1, len(names)):
            ax.axhline(y - 0.5, color=GRID, linewidth=0.6, zorder=0.5)
        ax.margins(x=0.08)
        ax.autoscale_view(scaley=False)
        if expected and all(answer.counted_in == "ratio" for answer in expected):
            ax.axvline(1.0, color=INK, linewidth=0.7, zorder=1.0)
        _write_numbers(ax, shown)
        ax.set_xlabel(textwrap.fill(_label(figure, expected), LABEL_LETTERS))
        simulated = any(answer is not None and answer.value is not None for answer in shown)
        entries = [_entry(look.colour)] if simulated else []
        if any(answer is not None and answer.prediction for answer in shown):
            entries += interval_names(banded=False)
        entries += legend_entries(meanings)
        letters = max(len(line) for name in names for line in name.split("\n"))
        width = 7.2 - _BESIDE_INCHES - letters * LETTER_INCHES
        handles, labels = [entry[0] for entry in entries], [entry[1] for entry in entries]
        taken = draw_legend(ax, handles, labels, width)
        if whole is not None:
            whole.set_figheight(whole.get_figheight() + taken)
            titled(whole, title)
    return ax


def require_answers(figure: AnswersSpec, verdicts: Iterable[Verdict]) -> None:
    """Check that a figure names verdicts with comparable answers.

    Raises:
        InputError: with every unknown name, or every answer whose unit differs from that of the first.
    """
    by_name = {verdict.expectation.name: verdict.expectation for verdict in verdicts}
    faults = [unknown_name("expectation", "answers", name, by_name) for name in figure.answers if name not in by_name]
    if not faults:
        first, *others = (by_name[name] for name in figure.answers)
        faults = [
            Fault(f"is in {other.counted_in}", "answers", repr(other.name), f"answers in {first.counted_in}")
            for other in others
            if not is_comparable(first, other)
        ]
    raise_faults(faults)


def _name(figure: AnswersSpec, name: str, verdict: Verdict | None) -> str:
    return figure.names.get(name) or (verdict.expectation.label if verdict else "") or name


def _draw_row(axes: Axes, y: int, verdict: Verdict) -> set[Meaning]:
    """Draw both marks of a row; returns the meaning of the lower mark."""
    look, height = LOOKS[0], y + SIMULATED
    if verdict.value is not None:
        if (ahead := verdict.prediction) and ahead.low is not None and ahead.high is not None:
            axes.hlines(height, ahead.low, ahead.high, look.colour, linewidth=PREDICTED, alpha=2 * BAND, zorder=3)
        if verdict.bound is None and verdict.ci_low is not None and verdict.ci_high is not None:
            axes.hlines(height, verdict.ci_low, verdict.ci_high, look.colour, linewidth=1.4, zorder=4)
        marker = look.marker if verdict.bound is None else ">" if verdict.bound.is_lower else "<"
        axes.plot([verdict.value], [height], marker=marker, color=look.colour, linestyle="none", zorder=5)
    expectation = verdict.expectation
    if expectation.band == Band(None, None):
        return set()
    meaning = Meaning.PUBLISHED if expectation.is_claim else Meaning.ACCEPTED
    colour = INK if expectation.is_claim else "#6a737d"
    number = published_number(expectation)
    draw_mark(axes, y + PUBLISHED, expectation.band, number, along="x", colour=colour, meaning=meaning)
    return {meaning}


def _write_numbers(axes: Axes, verdicts: Sequence[Verdict | None]) -> None:
    """Write the numbers beside the axes in two columns with headings."""

    def write(text: str, y: float, heading: str, **look: Any) -> None:
        position: dict[str, Any] = {
            "xy": (1, y),
            "xycoords": axes.get_yaxis_transform(),
            "xytext": (_COLUMNS[heading], 0),
        }
        axes.annotate(text, **position, textcoords="offset points", fontsize=SMALL_POINTS, **look)

    for heading in _COLUMNS:
        write(heading, -0.6, heading, weight="bold", va="bottom")
    for y, verdict in enumerate(verdicts):
        value = None if verdict is None else verdict.value
        sign = _SIGNS[verdict.bound] if verdict is not None and verdict.bound is not None else ""
        write(NO_ANSWER if value is None else f"{sign}{value:.4g}", y, "simulated", va="center")
        if verdict is not None and verdict.expectation.is_claim:
            write(verdict.expectation.published, y, "published", va="center")


def _entry(colour: str) -> tuple[Any, str]:
    from matplotlib.lines import Line2D

    handle = Line2D([], [], color=colour, marker=LOOKS[0].marker, linewidth=1.4, markerfacecolor=colour)
    return handle, "simulated (95 % interval)"


def _label(figure: AnswersSpec, expectations: Sequence[Expectation]) -> str:
    """Axis label of answers: the figure's label, a threshold with its condition, a metric, or only the unit."""
    if not expectations:
        return figure.label
    unit = expectations[0].counted_in
    if figure.label:
        return with_unit(figure.label, "" if unit == "ratio" or isinstance(expectations[0].form, Find) else unit)
    searches = [form for entry in expectations if isinstance(form := entry.form, Find)]
    if len(searches) == len(expectations) and len({search.axis for search in searches}) == 1:
        return _axis_words(searches)
    metrics = {metric for entry in expectations for metric in entry.form.metrics}
    if len(metrics) == 1 and not searches and is_same_unit(CATALOGUE[(metric := metrics.pop())].unit, unit):
        return metric_label(metric)
    return {"ratio": "Ratio"}.get(unit, unit)


def _axis_words(searches: Sequence[Find]) -> str:
    ends = {"largest" if search.largest else "smallest" for search in searches}
    words = " or ".join(sorted(ends)).capitalize() + " " + searches[0].axis.replace("_", " ")
    words += f" ({searches[0].unit})" if searches[0].unit else ""
    conditions = {
        f"{in_sentence(label_of(search.metric))} below {search.below:g} {unit_of(search.metric)}" for search in searches
    }
    return f"{words} with {conditions.pop()}" if len(conditions) == 1 else words
