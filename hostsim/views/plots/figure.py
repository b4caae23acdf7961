"""Figures of a scenario: metrics against an axis as lines or bars, with published reference values.

Reads tidy tables and verdicts only; runs nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hostsim.results.curve import figure_rows, is_partial, over_time, paired_contrasts, require_figure, y_unit
from hostsim.results.expect import Verdict
from hostsim.results.figure import AnswersSpec, FigureSpec, TableSpec
from hostsim.results.figure import Figure as Drawing
from hostsim.results.metrics.catalogue import CATALOGUE, label_of
from hostsim.results.table import as_written
from hostsim.views.plots.answer_dots import draw_answers
from hostsim.views.plots.axis import (
    Layer,
    axis_label,
    draw_layers,
    is_numeric,
    label_ticks,
    longest_word,
    series_of_layers,
    tick_letters,
    tick_positions,
    with_unit,
)
from hostsim.views.plots.curve import (
    DOTS,
    absence_names,
    curve_of,
    draw_bars,
    draw_beyond,
    draw_line,
    draw_markers,
    draw_missing,
    draw_stack,
    interval_names,
)
from hostsim.views.plots.reference_overlay import draw_accepted, draw_limits, draw_thresholds, legend_entries
from hostsim.views.plots.style import INK, draw_legend, figure_of, house_style, sized, titled
from hostsim.views.plots.table import draw_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]

GROUP = 0.84
"""Width of a group of bars; groups are 1 apart."""
APART = 0.3
"""Width over which markers of several series are spread at one category."""
WIDEST = 0.5
"""Width of a single bar."""
LABEL_LETTERS = 36
"""Letters in a line of the left axis' label."""
BESIDE_INCHES = 0.62
"""Width of the label and ticks of the left axis."""
MOST_NAMES, MOST_BARS = 4, 16
"""Largest numbers of series and of bars in a figure of a column's width."""
TICKS = 8
"""Largest number of values of a logarithmic axis that all get a tick label."""

Entries = list[tuple[Any, str]]
"""Handles and names of a legend."""


def draw(
    table: pd.DataFrame,
    figure: Drawing,
    *,
    published: Sequence[Verdict] = (),
    ax: Axes | None = None,
    make: Callable[[], Figure] | None = None,
    with_title: bool = False,
    name: str = "",
) -> Axes:
    """Draw a figure: means of the replications, 95 % Student intervals, and published reference values.

    Args:
        table: one row per point and replication, from `hostsim.results.table.table_of`; not used by a figure of
            answers.
        figure: the figure (for answers see `hostsim.views.plots.answer_dots`, for tables `hostsim.views.plots.table`);
            axes that it neither draws nor fixes have the table's first value.
        published: verdicts of the scenario. A verdict about a drawn measure appears as a hollow diamond with the
        accepted range: beside its point, or at its threshold on the x axis (not over bars, whose groups have no
        number). A filled diamond marks the simulated threshold. A published ratio of two points of the figure is drawn
        as a multiple of the simulated reference.
        ax: axes to draw on, together with earlier drawings of `draw`; a figure of two panels divides them. By default a
            new figure is made (``axes.figure``), as wide as a column or a page, by its specification or its content.
        make: makes the new figure; by default one outside pyplot.
        with_title: write a title above a new figure without a specified size.
        name: name of the results, for the legend of axes with several results.

    Returns:
        The axes of the left metric.

    Raises:
        InputError: the figure names an unknown metric or axis, or is incompatible with the existing drawing.
    """
    from matplotlib.figure import Figure

    words = figure.words if with_title and not figure.size else ""
    match figure:
        case AnswersSpec():
            return draw_answers(figure, published, ax=ax, make=make, title=words)
        case TableSpec():
            return draw_table(as_written(table), figure, published, ax=ax, make=make, title=words)
    table, figure = over_time(as_written(table), figure)
    require_figure(table, figure)
    layer = Layer(table, figure, published, name)
    with house_style():
        if ax is None:
            whole = sized((make or Figure)(), figure.size or _size(table, figure))
            axes_of_plot = whole.add_subplot()
            inches = whole.get_figwidth() - BESIDE_INCHES
        else:
            axes_of_plot, whole = ax, figure_of(ax)
            inches = ax.get_window_extent().width / whole.dpi
        if figure.right is None:
            height, spans = _draw_one(axes_of_plot, layer, inches), False
        else:
            height, spans = _draw_panels(axes_of_plot, layer, inches, spans=ax is None), ax is None
        if ax is None:
            whole.set_figheight(whole.get_figheight() + height)
            titled(whole, words, height if spans else 0.0)
    return axes_of_plot


def _size(table: pd.DataFrame, figure: FigureSpec) -> str:
    """Default size of a figure: page width if its panels, series, bars or names do not fit a column."""
    rows = figure_rows(table, figure)
    series = len(rows[list(figure.series)].drop_duplicates()) if figure.series else 1
    values = list(dict.fromkeys(rows[figure.x]))
    beside = figure.kind == "bar" or not is_numeric(values)
    names = [figure.tick(figure.x, str(value)) for value in values]
    room = tick_letters(len(names), 3.5 - BESIDE_INCHES)
    is_wide = figure.right is not None or bool(figure.stack) or series > MOST_NAMES
    is_wide |= beside and (series * len(values) > MOST_BARS or longest_word(names) > room)
    return "page" if is_wide else "column"


def _draw_one(axes: Axes, layer: Layer, inches: float) -> float:
    """Draw a figure on axes, with the existing drawings; returns the height of the legend."""

    def drawn(target: Axes, layers: Sequence[Layer]) -> float:
        return _legend(target, _draw_curves(target, layers, inches), inches)

    return draw_layers(axes, layer, drawn)


def _draw_panels(axes: Axes, layer: Layer, inches: float, *, spans: bool) -> float:
    """Draw two measures side by side, each with its own axis and published values, and one legend for both.

    Args:
        axes: divided by the panels.
        layer: the layer to draw.
        inches: width of both panels.
        spans: put the legend above both panels, which are the only ones of the figure; otherwise above the first.

    Returns:
        The height of the legend.

    Raises:
        InputError: the axes are not empty.
    """
    figure = layer.figure
    assert figure.right is not None
    entries: Entries = []

    def drawn(target: Axes, layers: Sequence[Layer]) -> float:
        entries.extend(_draw_curves(target, layers, inches / 2 - BESIDE_INCHES / 2))
        return 0.0

    draw_layers(axes, layer, drawn)
    spec = axes.get_subplotspec()
    assert spec is not None  # only axes from `Figure.add_subplot` and `subplots` have a subplot spec
    halves = spec.subgridspec(1, 2)
    axes.set_subplotspec(halves[0])
    right = axes.figure.add_subplot(halves[1])
    second = replace(figure, y=figure.right, right=None, label="", lines=())
    draw_layers(right, replace(layer, figure=second), drawn)
    return _legend(axes, entries, inches if spans else inches / 2, spans=spans)


def _draw_curves(axes: Axes, layers: Sequence[Layer], inches: float) -> Entries:
    """Draw lines, bars or markers of one or more tables on axes, with the published values of the first.

    Args:
        axes: the axes.
        layers: the layers to draw.
        inches: width of the axes.

    Returns:
        The legend.
    """
    table, figure, published = layers[0].table, layers[0].figure, layers[0].published
    bars = figure.kind == "bar"
    values = list(
        dict.fromkeys(value for layer in layers for value in figure_rows(layer.table, layer.figure)[figure.x])
    )
    numeric = is_numeric(values)
    place = tick_positions(values, beside=bars)
    by_layer = series_of_layers(layers, place, GROUP if bars else 0.0 if numeric else APART)
    every = [data for _, data in by_layer]
    series = [data for layer, data in by_layer if layer is layers[0]]
    width = min(GROUP / max(len(every), 1), WIDEST) if bars else 0.0
    curves = [curve_of(data, figure.x, layer.figure.y, signed=bool(layer.figure.less)) for layer, data in by_layer]
    _scale(axes, figure, place)
    if figure.stack and series:
        names = [label_of(name) for name in (figure.y, *figure.stack)]
        draw_stack(axes, [curve_of(series[0], figure.x, name) for name in (figure.y, *figure.stack)], width, names)
    for data, curve in zip(every, curves, strict=True) if not figure.stack else ():
        if bars and "y" not in figure.log:
            draw_bars(axes, curve, width, data.look, data.label)
        elif numeric and not bars:
            draw_line(axes, curve, data.look, data.label)
        else:  # a bar has no base on a logarithmic axis
            draw_markers(axes, curve, data.look, data.label)
    if not figure.stack:
        draw_beyond(axes, curves, [data.look for data in every])
    if place and not bars:  # required if all values are unbounded
        axes.update_datalim([(x, 0.0) for data in every for x in data.place.values()], updatey=False)
    draw_missing(axes, curves)
    beside = bars or not numeric
    if values and beside:
        axes.set_xlim(-0.5, len(values) - 0.5)
        axes.grid(visible=False, axis="x")
    for contrast in paired_contrasts(table, figure, published):
        ends = [(place[x], mean) for x, mean in contrast.points] if not beside else []
        xs, means = [x for x, _ in ends], [mean for _, mean in ends]
        axes.plot(xs, means, color=INK, linewidth=0.8, linestyle=DOTS, label=contrast.words, zorder=1.8)
    meanings = draw_accepted(axes, published, figure, series, table, width)
    axes.autoscale_view()
    if "y" not in figure.log and not any(curve.is_negative for curve in curves):
        axes.set_ylim(bottom=0)
    has_labels = any(figure.tick(figure.x, str(value)) != str(value) for value in values)
    axes.set_xlabel(axis_label(figure.axis_label(figure.x), [] if has_labels else values))
    mark = " (partial)" if any(is_partial(layer.table, layer.figure) for layer in layers) else ""
    several = len({layer.figure.y for layer in layers}) > 1
    axes.set_ylabel((y_unit(table, figure) if several else _y_label(table, figure)) + mark)
    if beside:
        label_ticks(axes, place, lambda text: figure.tick(figure.x, text), inches)
    elif "x" not in figure.log and all(x.is_integer() for x in place.values()):
        axes.locator_params(axis="x", integer=True)  # ticks at whole numbers of VMs
    if figure.to:
        axes.axhline(1.0, color=INK, linewidth=0.7, zorder=1.5)
    draw_limits(axes, figure, room=any(curve.beyond for curve in curves))
    if not beside:
        meanings |= draw_thresholds(axes, published, figure, series, table)
    entries: Entries = list(zip(*axes.get_legend_handles_labels(), strict=True))
    if any(curve.predicted for curve in curves) and not figure.stack:
        entries += interval_names(banded=numeric and not bars)
    return [*entries, *absence_names(curves), *legend_entries(meanings)]


def _scale(axes: Axes, figure: FigureSpec, place: dict[str, float]) -> None:
    """Make axes logarithmic if the figure requests it, with plain numbers as tick labels."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for letter, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        if letter not in figure.log or (letter == "x" and figure.kind == "bar"):
            continue
        getattr(axes, f"set_{letter}scale")("log")
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
        if letter == "x" and len(place) <= TICKS:
            axes.set_xticks(list(place.values()))
            axes.set_xticks([], minor=True)
        else:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))


def _y_label(table: pd.DataFrame, figure: FigureSpec) -> str:
    """Label of the left axis with its unit; for stacked metrics only the unit, unless the figure has a label."""
    unit = figure.y_unit if figure.y in CATALOGUE or figure.to else y_unit(table, figure)
    if figure.stack and not figure.label:
        return unit
    whole = with_unit(figure.y_label, unit.replace(" ", "\N{NO-BREAK SPACE}"))
    return textwrap.fill(whole, LABEL_LETTERS).replace("\N{NO-BREAK SPACE}", " ")


def _legend(axes: Axes, entries: Entries, inches: float, *, spans: bool = False) -> float:
    """Draw the legend above axes, each name once: first simulated, then published values.

    Args:
        axes: the axes below the legend.
        entries: handles and names.
        inches: available width.
        spans: the legend spans two panels without changing their widths.

    Returns:
        The height of the legend in inches.
    """
    unique = {name: handle for handle, name in reversed(entries)}
    names = list(dict.fromkeys(name for _, name in entries))
    return draw_legend(axes, [unique[name] for name in names], names, inches, spans=spans)
