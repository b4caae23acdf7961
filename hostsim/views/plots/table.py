"""Tables of a scenario: published beside simulated values, as cells and as a drawing.

Reads tidy tables and verdicts only.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from hostsim.results.curve import figure_rows, intervals_of, require_figure
from hostsim.results.expect import At, Refused, Verdict
from hostsim.results.figure import FigureSpec, TableSpec
from hostsim.results.metrics.catalogue import label_of, unit_of
from hostsim.results.table import is_of_ensemble
from hostsim.results.verdicts import (
    PREDICTION,
    band_text,
    ends_text,
    interval_cell,
    number,
    prediction_text,
    published_text,
    value_text,
)
from hostsim.views.plots.answer_dots import NO_ANSWER
from hostsim.views.plots.axis import with_unit
from hostsim.views.plots.style import GRID, house_style, sized, titled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_table", "table_cells"]

ROW_INCHES = 0.24
"""Height of a line of text in a row."""
_LETTERS, _HEADING_LETTERS = 44, 22
"""Letters in a line of a cell, and of a heading."""

Cells = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""Headings and rows."""


def table_cells(table: pd.DataFrame, figure: TableSpec, verdicts: Iterable[Verdict]) -> Cells:
    """The headings and rows of a table.

    Each answer has a row with the published value; rules about refusals have a row for each feature. Each metric has a
    column, followed by a column of its published values, if any.

    Args:
        table: one row per point and replication; not used by a table of answers.
        figure: the table.
        verdicts: of the scenario.

    Raises:
        InputError: the table names an unknown metric or axis.
    """
    by_name = {verdict.expectation.name: verdict for verdict in verdicts}
    if figure.x:
        return _metrics(table, figure, by_name.values())
    rules = [v.expectation.form for name in figure.answers if (v := by_name.get(name)) is not None]
    refused = [rule for rule in rules if isinstance(rule, Refused)]
    if rules and len(refused) == len(rules):
        return _refusals(refused)
    headings: tuple[str, ...] = ("", "published", "simulated", "95 % interval", "accepted")
    rows = [_answer(figure.conditions.get(name, name), by_name.get(name)) for name in figure.answers]
    if any(verdict.prediction for verdict in by_name.values()):
        headings = (*headings, PREDICTION)
        cells = [prediction_text(by_name.get(name)) for name in figure.answers]
        rows = [(*row, cell) for row, cell in zip(rows, cells, strict=True)]
    return headings, rows


def _answer(name: str, verdict: Verdict | None) -> tuple[str, ...]:
    """The row of an answer."""
    if verdict is None:
        return name, "", NO_ANSWER, "", ""
    expectation = verdict.expectation
    # the published value already has the unit
    band = band_text(expectation.band, expectation.unit if expectation.unit == "boolean" else "")
    return name, published_text(expectation), value_text(verdict), interval_cell(verdict), band


def _refusals(rules: Iterable[Refused]) -> Cells:
    """A row for each feature to be refused, with the tried values; one row for the accepted case."""
    rows: dict[str, tuple[str, list[str], list[str]]] = {}
    for case in (case for rule in rules for case in rule.cases):
        published = "refused" if case.feature else "accepted"
        _, outcomes, tried = rows.setdefault(case.feature or "anything else", (published, [], []))
        outcomes.append("refused" if case.said else "accepted")
        tried.append(case.tried or "the scenario as it stands")
    return ("feature", "published", "simulated", "tried"), [
        (feature, published, ", ".join(dict.fromkeys(outcomes)), "; ".join(tried))
        for feature, (published, outcomes, tried) in rows.items()
    ]


def _metrics(table: pd.DataFrame, figure: TableSpec, verdicts: Iterable[Verdict]) -> Cells:
    by_cell = {
        (form.metric, str(form.at.get(figure.x))): verdict.expectation.published
        for verdict in verdicts
        if isinstance(form := verdict.expectation.form, At)
        and verdict.expectation.is_claim
        and all(str(form.at.get(axis, value)) == str(value) for axis, value in figure.at.items())
    }
    headings, columns = [""], []
    names: list[str] = []
    for metric in figure.columns:
        spec = FigureSpec(figure.name, figure.x, metric, at=figure.at)
        require_figure(table, spec)
        rows = figure_rows(table, spec)
        groups = {str(at): group for at, group in rows.groupby(figure.x, sort=False)}
        names = list(groups)
        published = {at: by_cell[metric, at] for at in names if (metric, at) in by_cell}
        if published:
            headings.append("published")
            columns.append([published.get(at, "") for at in names])
        headings.append(with_unit(label_of(metric), unit_of(metric)))
        columns.append([_mean(groups[at], metric) for at in names])
        if is_of_ensemble(rows):
            headings.append(PREDICTION)
            columns.append([_predicted(groups[at], metric) for at in names])
    return tuple(headings), [(figure.row_name(at), *cells) for at, *cells in zip(names, *columns, strict=True)]


def _mean(rows: pd.DataFrame, metric: str) -> str:
    """The mean of the replications with the half-width of its interval."""
    measured = rows.dropna(subset=[metric])
    if measured.empty:
        return "–"
    interval = intervals_of(measured, metric)[0]
    half = ""
    if np.isfinite(interval.half) and interval.half:
        half = f" ± {number(float(f'{interval.half:.2g}'))}"
    return number(interval.mean) + half


def _predicted(rows: pd.DataFrame, metric: str) -> str:
    """The prediction interval of an ensemble."""
    measured = rows.dropna(subset=[metric])
    interval = intervals_of(measured, metric)[-1] if len(measured) else None
    return "–" if interval is None or not np.isfinite(interval.half) else ends_text(interval.low, interval.high)


def draw_table(
    table: pd.DataFrame,
    figure: TableSpec,
    verdicts: Iterable[Verdict],
    *,
    ax: Axes | None = None,
    make: Callable[[], Figure] | None = None,
    title: str = "",
) -> Axes:
    """Draw a table as text in rows and columns; see `table_cells` for the arguments and errors.

    Args:
        table: as for `table_cells`.
        figure: as for `table_cells`.
        verdicts: as for `table_cells`.
        ax: axes to draw on; by default those of a new figure, whose height fits the rows.
        make: makes the new figure; by default one outside pyplot.
        title: of a new figure.

    Returns:
        The axes.
    """
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    headings, rows = table_cells(table, figure, verdicts)
    cells = [[textwrap.fill(cell, _HEADING_LETTERS) for cell in headings]]
    cells += [[textwrap.fill(cell, _LETTERS) for cell in row] for row in rows]
    lines = [max(cell.count("\n") + 1 for cell in row) for row in cells]
    letters = [
        max(len(line) for cell in column for line in cell.split("\n")) + 2 for column in zip(*cells, strict=True)
    ]
    with house_style():
        if ax is None:
            whole = sized((make or Figure)(), figure.size or "page")
            whole.set_figheight(0.3 + ROW_INCHES * sum(lines))
            if title:
                titled(whole, title)
            ax = whole.add_subplot()
        ax.set_axis_off()
        widths = [count / sum(letters) for count in letters]
        drawn = ax.table(cells, colWidths=widths, bbox=Bbox.unit(), cellLoc="left", edges="horizontal")
        drawn.auto_set_font_size(False)
        drawn.set_fontsize(7.5)
        for (row, _), cell in drawn.get_celld().items():
            cell.set_height(lines[row] / sum(lines))
            cell.set_edgecolor(GRID)
            cell.PAD = 0.01
            if row == 0:
                cell.set_text_props(weight="bold")
    return ax
