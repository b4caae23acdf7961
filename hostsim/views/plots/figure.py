"""Figures of a scenario: metrics against an axis, a line or a bar for each series, with the published reference values.

Reads tidy tables and verdicts only; runs nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hostsim.results.curve import figure_rows, is_partial, paired_contrasts, require_figure, y_unit
from hostsim.results.expect import NOT_ESTIMABLE, Verdict
from hostsim.results.figure import AnswersSpec, FigureSpec, TableSpec
from hostsim.results.figure import Figure as Drawing
from hostsim.results.metrics.catalogue import CATALOGUE, NO_BOUND
from hostsim.results.metrics.label import label_of
from hostsim.results.table import as_written
from hostsim.views.plots.answer_bars import draw_answers
from hostsim.views.plots.axis import (
    Layer,
    axis_label,
    draw_layers,
    is_numeric,
    label_ticks,
    metric_label,
    series_of_layers,
    tick_positions,
    with_unit,
)
from hostsim.views.plots.curve import (
    DOTS,
    Curve,
    DataSeries,
    curve_of,
    draw_absent,
    draw_bars,
    draw_beyond,
    draw_line,
    draw_markers,
    draw_right,
    draw_stack,
    interval_names,
)
from hostsim.views.plots.reference_overlay import (
    ROW,
    draw_accepted,
    draw_limits,
    draw_searched,
    draw_thresholds,
    thresholds,
)
from hostsim.views.plots.style import INK, LOOKS, PAPER, figure_of, house_style, sized
from hostsim.views.plots.table import draw_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]

GROUP = 0.84
"""Width of a group of bars; groups are 1 apart."""
APART = 0.3
"""Width over which the markers of several series at a category are spread."""
TITLE_LETTERS, LABEL_LETTERS = 80, 44
"""Letters of a line of a title, and of the label of the left-hand axis."""
WIDEST = 0.5
"""Width of a single bar."""
ROW_INCHES = 0.17
"""Height that a row of names above a figure adds to it."""
MOST_INSIDE = 8
"""Names of a legend inside a figure: more are as high as it is."""
_LETTERS = 88
"""Letters of a legend in one row above a figure."""


def draw(
    table: pd.DataFrame,
    figure: Drawing,
    *,
    published: Sequence[Verdict] = (),
    ax: Axes | None = None,
    make: Callable[[], Figure] | None = None,
    titled: bool = False,
    name: str = "",
) -> Axes:
    """Draw a figure: means of the replications, their 95 % Student intervals, and the published reference values; of an ensemble the 90 % prediction intervals as well, wider and lighter.

    Args:
        table: one row a point and replication, as `hostsim.results.table.table_of` makes it; of no use to a figure of answers.
        figure: what to draw (answers: see `hostsim.views.plots.answer_bars`; tables: `hostsim.views.plots.table`); axes that it neither draws nor fixes have the table's first value.
        published: verdicts of the scenario; those about the left-hand measure are drawn: a threshold as a vertical band with the
            published number (not over bars, whose groups have no number) and marks at the points that its search ended between, a
            value at a point or along a line as a band of accepted values.
        ax: where to draw, together with what `draw` has drawn there; without it a new figure is made (``axes.figure``), of the size
            that the specification asks for.
        make: makes that figure; by default one outside pyplot.
        titled: write its words above a new figure for the screen.
        name: of the results, for the legend where axes have several.

    Returns:
        The axes, those of the left-hand metric.

    Raises:
        InputError: the figure names a metric or an axis that is not there, or does not go with what is drawn.
    """
    from matplotlib.figure import Figure

    def made() -> Figure:
        whole = sized((make or Figure)(), figure.size)
        if titled and not figure.size:
            whole.suptitle(textwrap.fill(figure.words, TITLE_LETTERS), x=0.01, ha="left", fontsize=9.5)
        return whole

    match figure:
        case AnswersSpec():
            return draw_answers(figure, published, ax=ax, make=made)
        case TableSpec():
            return draw_table(as_written(table), figure, published, ax=ax, make=made)
        case FigureSpec():
            table = as_written(table)
            require_figure(table, figure)
            with house_style():
                axes = made().add_subplot() if ax is None else ax
                rows = draw_layers(axes, Layer(table, figure, published, name), _draw_curves)
                if ax is None and rows > 1:
                    whole = figure_of(axes)
                    whole.set_figheight(whole.get_figheight() + ROW_INCHES * (rows - 1))
    return axes


def _draw_curves(axes: Axes, layers: Sequence[Layer]) -> int:
    """Draw lines or bars of one or more tables on axes; what was published is that of the first.

    Returns:
        Rows of names above the figure.
    """
    table, figure, published = layers[0].table, layers[0].figure, layers[0].published
    bars = figure.kind == "bar"
    names = [label_of(name) for name in (figure.y, *figure.stack)]
    values = list(dict.fromkeys(value for one in layers for value in figure_rows(one.table, one.figure)[figure.x]))
    numeric = is_numeric(values)
    place = tick_positions(values, beside=bars)
    by_layer = series_of_layers(layers, place, GROUP if bars else 0.0 if numeric else APART)
    every = [one for _, one in by_layer]
    series = [one for layer, one in by_layer if layer is layers[0]]
    width = min(GROUP / max(len(every), 1), WIDEST) if bars else 0.0
    curves = [curve_of(one, figure.x, layer.figure.y, signed=bool(layer.figure.less)) for layer, one in by_layer]
    if figure.stack and series:
        draw_stack(axes, [curve_of(series[0], figure.x, name) for name in (figure.y, *figure.stack)], width, names)
    for one, curve in zip(every, curves, strict=True) if not figure.stack else ():
        label = one.label or ("" if figure.right is None else names[0])
        if bars:
            draw_bars(axes, curve, width, one.look, label)
        elif numeric:
            draw_line(axes, curve, one.look, label)
        else:
            draw_markers(axes, curve, one.look, label)
    rows_beyond = 0 if figure.stack else draw_beyond(axes, curves, [one.look for one in every])
    _draw_absent(axes, curves, "" if figure.right is None else figure.y)
    if values and (bars or not numeric):
        axes.set_xlim(-0.5, len(values) - 0.5)
        axes.grid(visible=False, axis="x")
    for contrast in paired_contrasts(table, figure, published):
        ends = [(place[x], mean) for x, mean in contrast.points] if not bars and numeric else []
        xs, means = [x for x, _ in ends], [mean for _, mean in ends]
        axes.plot(xs, means, color=INK, linewidth=0.8, linestyle=DOTS, label=contrast.words, zorder=1.8)
    tops = {x: top for curve in curves for x, top in curve.tops.items()}
    draw_accepted(axes, published, figure, series, table, tops, width, joined=numeric)
    named = any(figure.tick(figure.x, str(value)) != str(value) for value in values)
    axes.set_xlabel(axis_label(figure.axis_label(figure.x), [] if named else values))
    mark = " (partial)" if any(is_partial(layer.table, layer.figure) for layer in layers) else ""
    several = len({layer.figure.y for layer in layers}) > 1
    axes.set_ylabel((y_unit(table, figure) if several else _y_label(table, figure)) + mark)
    if bars or not numeric:
        label_ticks(axes, place, lambda text: figure.tick(figure.x, text))
    elif all(x.is_integer() for x in place.values()):
        axes.locator_params(axis="x", integer=True)  # there is no half a VM
    if figure.to:
        axes.axhline(1.0, color=INK, linewidth=0.7, zorder=1.5)
    _from_zero(axes, curves)
    draw_limits(axes, figure)
    above = thresholds(published, figure, series, table) if not bars and numeric else []
    draw_thresholds(axes, above)
    if not bars and numeric:
        draw_searched(axes, published, figure, series, table)
    if figure.right is not None:
        _draw_right(axes, series, figure.x, figure.right, rows_beyond, joined=numeric)
    is_predicted = any(curve.predicted for curve in curves) and not figure.stack
    return _legend(axes, figure, len(above), joined=numeric, is_predicted=is_predicted)


def _y_label(table: pd.DataFrame, figure: FigureSpec) -> str:
    """Label of the left-hand axis with its unit; of stacked metrics the unit by itself, unless the figure has a label."""
    unit = figure.y_unit if figure.y in CATALOGUE or figure.to else y_unit(table, figure)
    if figure.stack and not figure.label:
        return unit
    return textwrap.fill(with_unit(figure.y_label, unit), LABEL_LETTERS)


def _from_zero(axes: Axes, curves: Sequence[Curve]) -> None:
    if not any(curve.is_negative for curve in curves):
        axes.set_ylim(bottom=0)


def _draw_right(
    axes: Axes, series: Sequence[DataSeries], x: str, metric: str, rows_beyond: int, *, joined: bool
) -> None:
    """The second metric on an axis of its own: in the colours of the series, or in another one where there is a single series.

    Its arrowheads are below the rows of the first one's.
    """
    right = axes.twinx()
    right.spines["right"].set_visible(True)
    right.grid(visible=False)
    # over its own bar or beside its own line it must not look the same
    looks = [one.look for one in series] if len(series) > 1 else [replace(LOOKS[1], marker="s") for _ in series]
    curves = [curve_of(one, x, metric) for one in series]
    for curve, look in zip(curves, looks, strict=True):
        draw_right(right, curve, look, joined=joined)
    draw_beyond(right, curves, looks, rows_beyond)
    _draw_absent(right, curves, metric)
    right.set_ylabel(metric_label(metric))
    _from_zero(right, curves)


def _draw_absent(axes: Axes, curves: Sequence[Curve], metric: str) -> None:
    """Say where a metric has no value, or one without bound; whose it is where two are drawn."""
    name = f"{label_of(metric)}: " if metric else ""
    draw_absent(axes, [x for curve in curves for x in curve.missing], name + NOT_ESTIMABLE)
    draw_absent(axes, [x for curve in curves for x in curve.beyond], name + NO_BOUND)


def _legend(axes: Axes, figure: FigureSpec, rows: int, *, joined: bool, is_predicted: bool) -> int:
    """Names of what is drawn: inside where there is room for it, above where bars, a second metric or many lines fill the figure.

    Args:
        axes: of the left-hand metric.
        figure: what is drawn.
        rows: of thresholds above the figure.
        joined: lines join the values of the second metric.
        is_predicted: there are prediction intervals beside the others.

    Returns:
        Rows of names above the figure.
    """
    handles, labels = axes.get_legend_handles_labels()
    # matplotlib has lines before bars: what was simulated comes first
    order = sorted(range(len(labels)), key=lambda i: labels[i].startswith("published"))
    handles, labels = [handles[i] for i in order], [labels[i] for i in order]
    if figure.right is not None:
        from matplotlib.lines import Line2D

        colour = INK if len(labels) > 1 else LOOKS[1].colour
        handles.append(
            Line2D(
                [],
                [],
                color=colour,
                linestyle=DOTS if joined else "none",
                linewidth=1.2,
                marker="s",
                markersize=5,
                markerfacecolor=PAPER,
            )
        )
        labels.append(f"{label_of(figure.right)} (right)")
    if is_predicted:
        for handle, name in interval_names(banded=joined and figure.kind == "line"):
            handles.append(handle)
            labels.append(name)
    if not handles:
        return 0
    if figure.kind == "line" and figure.right is None and len(labels) <= MOST_INSIDE:
        axes.legend(handles, labels, loc="best", handlelength=3.2)
        return 0
    columns = max(1, min(len(labels), _LETTERS // (max(map(len, labels)) + 8)))
    axes.legend(
        handles,
        labels,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0 + ROW * rows),
        borderaxespad=0.3,
        borderpad=0.1,
        ncols=columns,
        fontsize=7.5,
        columnspacing=1.4,
        handlelength=3.2 if figure.kind == "line" and figure.right is None else 2.2,
    )
    return -(-len(labels) // columns)
