"""HTML of scenarios, results, verdicts and differences for Jupyter, with escaped texts and inline styles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from hostsim.results.compare import Differences, difference_rows
from hostsim.results.expect import Verdict
from hostsim.results.results import Results
from hostsim.results.table import as_written
from hostsim.results.verdicts import (
    PREDICTION,
    TALLY_HEADINGS,
    Verdicts,
    band_text,
    interval_cell,
    outcome,
    outcomes,
    prediction_text,
    published_text,
    tally_rows,
    tally_words,
    value_text,
    verdict_text,
)
from hostsim.units import ps_to_seconds
from hostsim.views.report.breakdown import last_points, subject_rows
from hostsim.views.report.page import gauge

if TYPE_CHECKING:
    from hostsim.scenario.scenario import Scenario

__all__ = ["differences_html", "results_html", "scenario_html", "verdicts_html"]

_COLOURS = {
    "pass": "#1a7f4b",
    "pass?": "#96650a",
    "known red": "#7b4bb7",
    "fail": "#c2372c",
    "open": "#96650a",
    "missing": "#6a737d",
}


def heading(text: str, subtitle: str = "") -> Markup:
    """A heading with a faint subtitle."""
    return Markup('<p><b style="font-size:1.15em">{}</b> <span style="opacity:.7">{}</span></p>').format(text, subtitle)


def paragraph(text: str) -> Markup:
    """A paragraph."""
    return Markup("<p>{}</p>").format(text)


def note(text: str) -> Markup:
    """A note: a caveat about the numbers."""
    return Markup('<p style="border-left:3px solid #c98a00;padding-left:.7em">{}</p>').format(text)


def chip(label: str) -> Markup:
    """A chip: a verdict with its colour."""
    return Markup('<b style="color:{}">{}</b>').format(_COLOURS.get(label.partition(" (")[0], "inherit"), label)


def details(summary: str, inside: str) -> Markup:
    """A disclosure that opens on a click."""
    return Markup("<details><summary>{}</summary>{}</details>").format(summary, inside)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[str] = ()) -> Markup:
    """An HTML table.

    Args:
        headings: of the columns.
        rows: cells as text, or markup of this module.
        right: headings of right-aligned columns.
    """
    right_aligned = set(right)
    styles = ['style="text-align:right"' if name in right_aligned else 'style="text-align:left"' for name in headings]
    head = "".join(f"<th {style}>{escape(name)}</th>" for name, style in zip(headings, styles, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td {style}>{escape(cell)}</td>" for cell, style in zip(row, styles, strict=True)) + "</tr>"
        for row in rows
    )
    return Markup(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")  # noqa: S704  cells are escaped above


_PAINT = {
    'class="axis"': 'stroke="#9aa4ae" stroke-width="1"',
    'class="band"': 'fill="#8fbbe3" fill-opacity=".6"',
    'class="in-band"': 'fill="#1a7f4b" stroke="#1a7f4b" stroke-width="2"',
    'class="undecided"': 'fill="#ffffff" stroke="#96650a" stroke-width="2"',
    'class="known-red"': 'fill="#7b4bb7" stroke="#7b4bb7" stroke-width="2"',
    'class="red"': 'fill="#c2372c" stroke="#c2372c" stroke-width="2"',
    'class="missing"': 'fill="#6a737d" stroke="#6a737d" stroke-width="2"',
}
"""Colours of a gauge on a page without a style sheet."""


def results_html(results: Results) -> str:
    """HTML page of results: question, warnings, axes, figures and verdicts."""
    fidelity = "quick" if results.quick else "full"
    runs = as_written(results.table)
    parts = [
        heading(results.scenario, f"{fidelity} fidelity, seed {results.provenance.get('seed', '?')}"),
        paragraph(results.question),
    ]
    parts += [note(warning) for warning in results.warnings]
    if len(results.failed):
        parts.append(note(f"{len(results.failed)} of {len(runs)} runs failed: see .failed"))
    values = [(axis, ", ".join(dict.fromkeys(runs[axis].astype(str)))) for axis in results.axes]
    parts.append(paragraph(f"{runs['point'].nunique()} points, {len(runs)} runs; .table has one row per run."))
    if values:
        parts.append(table(("axis", "values"), values))
    if results.figures:
        parts.append(
            paragraph("Figures, for .plot(name): " + ", ".join(figure.name for figure in results.figures) + ".")
        )
    for point in last_points(results)[-1:] if len(results.subjects) else ():
        headings, rows = subject_rows(results, point.id)
        if rows:
            parts.append(details(f"Measures by {headings[0]} at {point.words}", table(headings, rows, headings[1:])))
    if results.verdicts:
        parts.append(
            details(
                _summary(results.verdicts, quick=results.quick),
                _kinds(results.verdicts, quick=results.quick) + _scores(results.verdicts, quick=results.quick),
            )
        )
    return Markup("").join(parts)


def verdicts_html(verdicts: Verdicts, *, quick: bool) -> str:
    """HTML scoreboard of verdicts: counts by kind, and value, interval and band as gauge and numbers."""
    return paragraph(_summary(verdicts, quick=quick)) + _kinds(verdicts, quick=quick) + _scores(verdicts, quick=quick)


def differences_html(
    differences: Differences, caption: str = "", notes: Sequence[str] = (), without: str = "no differences"
) -> str:
    """HTML table of differences, or words without any; intervals that exclude 0 are bold."""
    parts = [heading(caption)] if caption else []
    parts += [note(text) for text in notes]
    if differences:
        headings, rows = difference_rows(differences)
        shown = [
            _bold(row, "95 % interval", headings) if entry.is_certain else row
            for entry, row in zip(differences, rows, strict=True)
        ]
        parts.append(table(headings, shown, headings[headings.index("before") :]))
    else:
        parts.append(paragraph(without))
    return Markup("").join(parts)


def _bold(row: Sequence[str], name: str, headings: Sequence[str]) -> tuple[str, ...]:
    cells = zip(headings, row, strict=True)
    return tuple(Markup("<b>{}</b>").format(cell) if heading == name else cell for heading, cell in cells)


def _summary(verdicts: Sequence[Verdict], *, quick: bool) -> str:
    return f"{len(verdicts)} expectations: {tally_words(outcomes(verdicts, quick=quick))}"


def _kinds(verdicts: Iterable[Verdict], *, quick: bool) -> Markup:
    return table(TALLY_HEADINGS, tally_rows(outcomes(verdicts, quick=quick)), TALLY_HEADINGS[1:])


def _scores(verdicts: Iterable[Verdict], *, quick: bool) -> Markup:
    shown = list(verdicts)
    is_predicted = any(verdict.prediction for verdict in shown)
    more = (PREDICTION,) if is_predicted else ()
    headings = ("claim", "published", "value", "95 % interval", "band", "", *more, "verdict")
    rows = []
    for verdict in shown:
        expectation = verdict.expectation
        rows.append(
            (
                expectation.name,
                published_text(expectation) or "–",
                value_text(verdict),
                interval_cell(verdict),
                band_text(expectation.band, expectation.unit),
                _painted_gauge(verdict, quick=quick),
                *([prediction_text(verdict)] if is_predicted else []),
                chip(verdict_text(verdict, quick=quick)),
            )
        )
    return table(headings, rows, ("value",))


def _painted_gauge(verdict: Verdict, *, quick: bool) -> Markup:
    text = gauge(verdict, outcome=outcome(verdict, quick=quick))
    for name, paint in _PAINT.items():
        text = text.replace(name, paint)
    return Markup(text)  # noqa: S704  our own drawing of numbers


def scenario_html(scenario: Scenario) -> str:
    """HTML page of a scenario without settings at the platform's default; `Scenario.settings` has all."""
    run = scenario.run
    count = math.prod(len(axis.values) for axis in scenario.axes.values())
    lengths = (
        f"{count} points; {run.full.replications} runs of {ps_to_seconds(run.full.length_ps):g} s each, "
        f"quick {run.quick.replications} of {ps_to_seconds(run.quick.length_ps):g} s; points that no expectation needs {run.swept.replications} of {ps_to_seconds(run.swept.length_ps):g} s, "
        f"quick {run.quick_swept.replications} of {ps_to_seconds(run.quick_swept.length_ps):g} s."
    )
    parts = [heading(scenario.name), paragraph(scenario.question)]
    parts += [note(warning) for warning in scenario.warnings]
    parts.append(paragraph(lengths))
    if scenario.axes:
        rows = [
            (name, Markup("<br>").join(axis.paths), ", ".join(map(str, axis.values)))
            for name, axis in scenario.axes.items()
        ]
        parts.append(table(("axis", "sets", "values"), rows))
    if scenario.expectations:
        expected = [
            (
                entry.name,
                published_text(entry) or "–",
                band_text(entry.band, entry.unit),
            )
            for entry in scenario.expectations
        ]
        parts.append(details(f"{len(expected)} expectations", table(("claim", "published", "accepted"), expected)))
    chosen = [(row.name, row.value) for row in scenario.settings if not row.origin.endswith(" default")]
    parts.append(details(f"{len(chosen)} values that the scenario and its parts set", table(("name", "value"), chosen)))
    if scenario.assumptions:
        assumed = [(row.path, row.value, " to ".join(map(str, row.range)), row.reason) for row in scenario.assumptions]
        inputs = table(("input", "value", "range", "reason"), assumed)
        parts.append(details(f"{len(assumed)} unpublished inputs, assumed", inputs))
    return Markup("").join(parts)
