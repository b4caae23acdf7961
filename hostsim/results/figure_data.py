"""Figure data: the numbers behind a figure or table as a tidy frame, for a download beside the drawing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from hostsim.expect import Verdict
from hostsim.figure import AnswersSpec, Figure, FigureSpec, TableSpec
from hostsim.metrics.catalogue import CATALOGUE
from hostsim.results.curve import curve_frame, y_unit

__all__ = ["answers_frame", "bars_frame", "figure_frame", "table_frame"]


def figure_frame(table: pd.DataFrame, figure: Figure, verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """The numbers of a figure as a tidy frame.

    Args:
        table: one row a point and replication.
        figure: a figure or table.
        verdicts: of the scenario, for a figure of answers.

    Returns:
        Of a curve: the axes, ``measure``, ``unit``, ``mean``, ``low``, ``high``, ``runs``. Of answers: `answers_frame`. Of a table of metrics: `table_frame`.
    """
    match figure:
        case FigureSpec():
            plain = replace(figure, per=None, less={}, to={})
            others = [replace(plain, y=name) for name in (*figure.stack, figure.right) if name is not None]
            frames = []
            for one in (figure, *others):
                frame = curve_frame(table, one)
                place = list(frame.columns).index("mean")
                frame.insert(place, "measure", one.y_label if one is figure else one.y)
                frame.insert(place + 1, "unit", y_unit(table, one))
                frames.append(frame)
            return pd.concat(frames, ignore_index=True)
        case AnswersSpec() | TableSpec() if figure.answers:
            return answers_frame(figure.answers, verdicts)
        case TableSpec():
            return table_frame(table, figure)
    raise AssertionError(figure)


def answers_frame(names: Sequence[str], verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Answers to expectations beside what was published, a row each; those that are not among the verdicts have no numbers."""
    found = {verdict.expectation.name: verdict for verdict in verdicts}
    is_predicted = any(verdict.prediction for verdict in found.values())
    rows = []
    for name in names:
        verdict = found.get(name)
        expectation = verdict.expectation if verdict else None
        prediction = verdict.prediction if verdict else None
        ends = {f"prediction_{end}": getattr(prediction, end, None) for end in ("low", "high")}
        rows.append(
            {
                "answer": name,
                "unit": expectation.counted_in if expectation else "",
                "published": expectation.published if expectation and expectation.is_claim else "",
                "value": verdict.value if verdict else None,
                "low": verdict.ci_low if verdict else None,
                "high": verdict.ci_high if verdict else None,
                "accepted_low": expectation.band.low if expectation else None,
                "accepted_high": expectation.band.high if expectation else None,
                "verdict": verdict.state.value if verdict else "missing",
                **(ends if is_predicted else {}),
            }
        )
    return pd.DataFrame(rows)


def table_frame(table: pd.DataFrame, figure: TableSpec) -> pd.DataFrame:
    """The means of a table of metrics with their intervals: the axis, ``measure``, ``unit``, ``mean``, ``low``, ``high``, ``runs``."""
    curves = []
    for metric in figure.columns:
        frame = curve_frame(table, FigureSpec(figure.name, figure.x, metric, at=figure.at))
        frame.insert(1, "measure", metric)
        frame.insert(2, "unit", CATALOGUE[metric].unit)
        curves.append(frame)
    return pd.concat(curves, ignore_index=True)


def bars_frame(bars: Sequence[tuple[str, Mapping[str, float]]]) -> pd.DataFrame:
    """The parts of stacked bars: ``point``, ``part``, ``value``."""
    rows = [(point, part, value) for point, parts in bars for part, value in parts.items()]
    return pd.DataFrame(rows, columns=["point", "part", "value"])
