"""HTML report: a self-contained file for light and dark screens and print, with gauges and sources."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hostsim.config.files import write_whole
from hostsim.results.claim import (
    CLAIM_KINDS,
    LEVELS,
    READING,
    Citation,
    Publication,
    experiment_title,
    level,
    over_published,
    topics,
)
from hostsim.results.curve import bars_frame, figure_frame
from hostsim.results.expect import Band, Find, Form, Verdict
from hostsim.results.figure import AnswersSpec, Figure, TableSpec
from hostsim.results.folder import plain_csv
from hostsim.results.results import AssumedInput, Results
from hostsim.results.verdicts import (
    OUTCOMES,
    OWN,
    TALLY_HEADINGS,
    band_text,
    interval_cell,
    number,
    outcome,
    outcomes,
    prediction_text,
    published_text,
    range_text,
    tally_rows,
    tally_words,
    value_text,
    verdict_text,
)
from hostsim.scenario.shipped_data import claims
from hostsim.views.plots.bars import draw_stacked_bars
from hostsim.views.plots.figure import draw
from hostsim.views.plots.style import GRID, INCHES, INK, PAPER, as_svg, figure_of, untitled
from hostsim.views.plots.table import table_cells
from hostsim.views.report.breakdown import (
    CONTEXT_HEADINGS,
    ReportedPoint,
    context_rows,
    cpu_shares,
    last_points,
    latency_rows,
    stage_times,
    subject_rows,
)
from hostsim.views.report.folder import drawn_figures, write

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Section",
    "cited",
    "gauge",
    "inline",
    "mark_class",
    "publications",
    "section",
    "write_page",
    "write_report",
]


WIDTH, HEIGHT = 220.0, 22.0
_MARGIN = 8.0


def mark_class(outcome: str) -> str:
    """The CSS class of an outcome of `hostsim.results.verdicts.OUTCOMES`."""
    return outcome.replace(" ", "-")


def gauge(verdict: Verdict, *, outcome: str, axis: tuple[float, float] | None = None) -> str:
    """Draw a gauge of a verdict as SVG text, with CSS classes for colours.

    Args:
        verdict: the verdict; without a value only the band is drawn. A prediction interval is a wide light line.
        outcome: outcome of the verdict, or its level of trust; each has a colour and a shape.
        axis: ends of the axis; by default wide enough for the band and all marks.
    """
    state = mark_class(outcome)
    band = verdict.expectation.band
    prediction = verdict.prediction
    marks = [verdict.value, verdict.ci_low, verdict.ci_high]
    marks += [] if prediction is None else [prediction.low, prediction.high]
    drawn = [mark for mark in marks if mark is not None and math.isfinite(mark)]
    start, end = axis or _scale(band, drawn)

    def x(value: float | None, absent: float) -> float:
        if value is None or not math.isfinite(value):
            return absent
        share = min(max((value - start) / (end - start), 0.0), 1.0)
        return _MARGIN + share * (WIDTH - 2 * _MARGIN)

    left, right = x(band.low, 0.0), x(band.high, WIDTH)
    middle = HEIGHT / 2
    parts = [
        f'<line class="axis" x1="0" x2="{WIDTH:g}" y1="{middle:g}" y2="{middle:g}"/>',
        f'<rect class="band" x="{left:.1f}" y="4" width="{max(right - left, 2.0):.1f}" height="{HEIGHT - 8:g}" rx="2"/>',
    ]
    if prediction is not None:
        low, high = x(prediction.low, 0.0), x(prediction.high, WIDTH)
        ends = f'x1="{low:.1f}" x2="{high:.1f}" y1="{middle:g}" y2="{middle:g}"'
        parts.append(f'<line {ends} stroke="currentColor" stroke-width="7" stroke-opacity=".22"/>')
    if verdict.value is not None and math.isfinite(verdict.value):
        low, high = x(verdict.ci_low, 0.0), x(verdict.ci_high, WIDTH)
        if verdict.bound is not None:
            at = x(verdict.value, 0.0)
            low, high = (x(verdict.ci_low, at), WIDTH) if verdict.bound.is_lower else (0.0, x(verdict.ci_high, at))
        if verdict.bound is not None or (
            verdict.ci_low is not None and verdict.ci_high is not None and verdict.ci_low != verdict.ci_high
        ):
            parts.append(f'<line class="{state}" x1="{low:.1f}" x2="{high:.1f}" y1="{middle:g}" y2="{middle:g}"/>')
        parts.append(_mark(outcome, x(verdict.value, 0.0), middle))
    return (
        f'<svg class="gauge" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" width="{WIDTH:g}" height="{HEIGHT:g}" '
        f'role="img" aria-label="value and interval against the accepted band">{"".join(parts)}</svg>'
    )


def _mark(outcome: str, x: float, y: float) -> str:
    """The mark of a value: a disc in the band, a ring if undecided, a diamond for a known red, a square for a red; for
    levels of trust see `_MARKS`.
    """
    name = mark_class(outcome)
    match outcome:
        case "known red":
            return f'<path class="{name}" d="M{x - 5:.1f} {y:g}l5 -5l5 5l-5 5z"/>'
        case "direction":
            return f'<path class="{name}" d="M{x - 5:.1f} {y + 4:g}h10l-5 -9z"/>'
        case "red" | "do-not-use":
            return f'<rect class="{name}" x="{x - 4:.1f}" y="{y - 4:g}" width="8" height="8"/>'
        case _:
            return f'<circle class="{name}" cx="{x:.1f}" cy="{y:g}" r="4"/>'


def _scale(band: Band, drawn: list[float]) -> tuple[float, float]:
    """Ends of the axis: band and marks with a margin; far outliers are at the edge, so that the band stays visible."""
    ends = [end for end in (band.low, band.high) if end is not None] or drawn or [0.0]
    width = max(ends) - min(ends)
    if width == 0:
        width = max([abs(mark - ends[0]) for mark in drawn], default=0.0) or abs(ends[0]) or 1.0
    reach = [min(max(mark, min(ends) - 3 * width), max(ends) + 3 * width) for mark in drawn]
    low, high = min([*ends, *reach]), max([*ends, *reach])
    return low - 0.25 * width, high + 0.25 * width


def cited(results: Results, figure: Figure) -> tuple[Citation, ...]:
    """The citations of the published values in a figure or table, or of its measures, without duplicates.

    Args:
        results: of the scenario.
        figure: one of its figures.
    """
    if isinstance(figure, AnswersSpec) or (isinstance(figure, TableSpec) and figure.answers):
        names: Sequence[str] = figure.answers
    else:
        measures = set(figure.columns if isinstance(figure, TableSpec) else (figure.y, figure.right, *figure.stack))
        claims = [verdict.expectation for verdict in results.verdicts if verdict.expectation.is_claim]
        names = [claim.name for claim in claims if not measures.isdisjoint(_metrics(claim.form))]
    return tuple(dict.fromkeys(citation for name in names for citation in results.citations.get(name, ())))


def publications(sections: Iterable[Results]) -> list[Publication]:
    """All publications behind the results, without duplicates, sorted by text."""
    cited = {
        citation.publication
        for results in sections
        for citations in results.citations.values()
        for citation in citations
    }
    return sorted(cited, key=lambda publication: publication.words)


def _metrics(form: Form) -> tuple[str, ...]:
    """The metrics of a form, including that of a search."""
    return (form.metric,) if isinstance(form, Find) else form.metrics


Section = dict[str, Any]
"""Template variables of one scenario: words, numbers and safe markup."""
_PARTS = {
    "verdicts": "Verdicts",
    "figures": "Figures",
    "time": "Where time goes",
    "contexts": "Contexts",
    "provenance": "Provenance",
}
"""Parts of a section in the index."""
_WIDTHS = (3, 4, 6, 8, 10, 12, 16, 24, 48)
"""Numbers of columns that have a style rule; a table uses the next larger number."""
_KINDS = {**CLAIM_KINDS, OWN: "Is not a published claim."}
Drawing = dict[str, Any]
"""Template variables of one figure: caption, drawing, and its data as a download."""


def write_report(path: Path, sections: Sequence[Results], *, title: str = "hostsim report") -> Path:
    """Write the report of one or more scenarios as one self-contained HTML file.

    Args:
        path: the file; its folder is made.
        sections: results, in the order of the report.
        title: heading of the page.

    Returns:
        The path.

    Raises:
        StoreError: the folder cannot be written.
    """
    return write_page(path, [section(results, index) for index, results in enumerate(sections)], title=title)


def write_page(path: Path, sections: Sequence[Section], *, title: str) -> Path:
    """Write an HTML report of rendered sections; see `write_report`."""
    from jinja2 import Environment, StrictUndefined
    from jinja2.loaders import FileSystemLoader

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["mark"] = mark_class
    shown = [claim for view in sections for claim in view["claims"]]
    results = [view["results"] for view in sections]
    outcomes = [(claim["kind"], claim["outcome"]) for claim in shown]
    counts = Counter(outcome for _, outcome in outcomes)
    lines, forest = _trust(results)
    page = environment.get_template("page.html.j2").render(
        title=title + _caveat(results),
        views=sections,
        claims=shown,
        counts=counts,
        kinds={kind: meaning for kind, meaning in _KINDS.items() if any(kind == of for of, _ in outcomes)},
        outcomes={name: meaning for name, meaning in OUTCOMES.items() if counts[name] or name == "in band"},
        tally=_without_empty_columns(TALLY_HEADINGS, tally_rows(outcomes)),
        trust=lines,
        levels=LEVELS,
        forest=forest,
        reading=READING,
        widths=_WIDTHS,
        alone=len(results) == 1 and title == results[0].scenario,
        is_about_published=any(claim["published"] for claim in shown),
        quick=any(entry.quick for entry in results),
        assumptions=_merged_assumptions(results),
        sources=publications(results),
    )
    return write_whole(path, page.encode())


_MARKS = ("trust", "within-20", "direction", "do-not-use")
"""CSS classes of the levels of trust."""
_RANGE = 2.0
"""Largest value of the forest plot; the smallest is its inverse."""


def _trust(sections: Iterable[Results]) -> tuple[list[tuple[str, str, str]], dict[str, list[dict[str, Any]]]]:
    """Levels of trust with classes and topics, and rows of the forest plot by experiment; changed hosts are omitted."""
    verdicts = [verdict for results in sections if not results.changed for verdict in results.verdicts]
    judged = [(claims()[name], entry) for entry in verdicts if (name := entry.expectation.name) in claims()]
    lines = [(name, mark, text) for (name, text), mark in zip(topics(judged).items(), _MARKS, strict=True)]
    rows: dict[str, list[dict[str, Any]]] = {}
    for claim, verdict in judged:
        mark, relative = _MARKS[level(verdict)], over_published(verdict)
        words = (
            f"{relative.value:.2f}"
            if relative.value is not None and math.isfinite(relative.value)
            else number(relative.value)
        )
        drawn = _markup(gauge(_log(relative), outcome=mark, axis=(-1.0, 1.0)))
        row = {"label": claim.label, "id": claim.id, "gauge": drawn, "value": words}
        rows.setdefault(experiment_title(claim.experiment), []).append(row)
    return (lines if judged else []), rows


def _log(verdict: Verdict) -> Verdict:
    """A verdict on the logarithmic scale of the forest plot, whose ends are -1 and 1."""

    def log(value: float | None) -> float | None:
        return None if value is None else math.log(min(max(value, 1 / _RANGE), _RANGE), _RANGE)

    band = verdict.expectation.band
    expectation = replace(verdict.expectation, band=Band(log(band.low), log(band.high)))
    value, low, high = map(log, (verdict.value, verdict.ci_low, verdict.ci_high))
    return replace(verdict, expectation=expectation, value=value, ci_low=low, ci_high=high, prediction=None)


def _without_empty_columns(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """A tally without empty outcomes."""
    shown = [index for index in range(len(headings)) if any(row[index] != "0" for row in rows)]
    return [headings[column] for column in shown], [[row[column] for column in shown] for row in rows]


def _caveat(sections: Sequence[Results]) -> str:
    """Caveats of all sections, shown after the page's title."""
    caveats = " ".join(results.caveat for results in sections)
    words = [word for word in ("partial", "changed") if word in caveats]
    return f" ({', '.join(words)})" if words else ""


def inline(svg: str, prefix: str, words: str) -> str:
    """Inline SVG of a figure: an accessible name, unique ids, colours and font of the page, and numbers to a hundredth of a point."""
    text = svg[svg.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", text)
    text = re.sub(r"font-family: [^;\"]*", "font-family: inherit", text)
    # styles of a figure must not affect the rest of the page
    text = text.replace("*{stroke-linejoin: round; stroke-linecap: butt}", "")
    text = re.sub(r"\d+\.\d{3,}", lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), text)
    text = re.sub(r"\n\s*", "\n", text)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]*)', text))
    text = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", text)
    for printed, variable in ((INK, "--ink"), (GRID, "--line"), (PAPER, "--paper")):
        text = text.replace(printed, f"var({variable})")
    start = f'<svg class="figure" role="img" aria-label="{html.escape(words)}" '
    return re.sub(r'<svg ([^>]*?)width="[^"]*" height="[^"]*"', lambda match: start + match[1], text, count=1)


def section(results: Results, position: int, drawn: Mapping[str, str] | None = None) -> Section:
    """Render the report section of a scenario.

    Args:
        results: of the scenario.
        position: index of the section in its report.
        drawn: SVG of the figures of its folder by name, if they are already drawn.
    """
    prefix = f"s{position}"
    points = last_points(results)
    latencies, times = latency_rows(results, points), _times(results, points, prefix)
    parts = {
        "verdicts": results.verdicts,
        "figures": any(not isinstance(figure, TableSpec) for figure in results.figures),
        "time": times or latencies[1],
        "contexts": points,
        "provenance": True,
    }
    flags = results.table.loc[results.table["flags"].fillna("") != "", "flags"]
    return {
        "id": prefix,
        "parts": [(f"{prefix}-{part}", _PARTS[part]) for part, is_there in parts.items() if is_there],
        "results": results,
        "claims": [
            {**_claim(verdict, quick=results.quick), "sources": results.citations.get(verdict.expectation.name, ())}
            for verdict in results.verdicts
        ],
        "is_about_published": any(verdict.expectation.is_claim for verdict in results.verdicts),
        "predicted": any(verdict.prediction for verdict in results.verdicts),
        "ensemble": results.provenance.get("ensemble", "").rpartition(" ")[0],
        "tally": tally_words(outcomes(results.verdicts, quick=results.quick)),
        "figures": [
            _figure(results, figure, f"{prefix}f{index}", (drawn or {}).get(figure.name))
            for index, figure in enumerate(results.figures)
            if not isinstance(figure, TableSpec)
        ],
        "tables": [_table(results, figure) for figure in results.figures if isinstance(figure, TableSpec)],
        "times": times,
        "latencies": latencies,
        "flags": {str(flag): int(count) for flag, count in flags.value_counts(sort=False).items()},
        "subjects": [(point, *subject_rows(results, point.id)) for point in points],
        "contexts": [
            (point, context_rows(results.contexts[results.contexts["point"] == point.id])) for point in points
        ],
        "context_headings": CONTEXT_HEADINGS,
        "failed": results.failed.to_dict("records"),
        "runs": len(results.table),
    }


def written_section(results: Results, folder: Path, position: int) -> Section:
    """Write the folder of a scenario, and render its report section with the figures of the folder."""
    write(results, folder)
    return section(results, position, drawn_figures(results, folder))


def _figure(results: Results, figure: Figure, prefix: str, svg: str | None) -> Drawing:
    svg = svg or as_svg(
        figure_of(draw(results.table, figure, published=results.verdicts, with_title=True)), opaque=True
    )
    file = f"{results.scenario}-{figure.name}"
    data = figure_frame(results.table, figure, results.verdicts)
    return {**_placed(*untitled(svg), prefix, figure.words, file, data), "sources": cited(results, figure)}


def _table(results: Results, figure: TableSpec) -> dict[str, Any]:
    headings, rows = table_cells(results.table, figure, results.verdicts)
    frame = figure_frame(results.table, figure, results.verdicts)
    file = f"{results.scenario}-{figure.name}"
    shown = {"words": figure.words, "headings": headings, "rows": rows, "sources": cited(results, figure)}
    return {**shown, "file": file, "data": _download(frame)}


def _times(results: Results, points: Sequence[ReportedPoint], prefix: str) -> list[Drawing]:
    """Breakdowns of time: figures with their captions."""
    parts = (
        (
            "cpu-time",
            "CPU time by kind of context, at the last point of each series",
            cpu_shares(results, points),
            "CPU time (% of all PCPUs)",
        ),
        (
            "stages",
            "A round trip by stage, at the same points",
            stage_times(results, points),
            "Mean time of a round trip (µs)",
        ),
    )
    return [
        _placed(
            as_svg(figure := figure_of(draw_stacked_bars(bars, label))),
            figure.get_figwidth(),
            f"{prefix}t{index}",
            caption,
            f"{results.scenario}-where-time-goes-{name}",
            bars_frame(bars),
        )
        for index, (name, caption, bars, label) in enumerate(parts)
        if bars
    ]


def _placed(svg: str, inches: float, prefix: str, words: str, file: str, data: pd.DataFrame) -> Drawing:
    """A drawing with its width."""
    return {
        "words": words,
        "svg": _markup(inline(svg, prefix, words)),
        "is_wide": inches > INCHES["column"][0],
        "file": file,
        "data": _download(data),
        "sources": (),
    }


def _download(frame: pd.DataFrame) -> str:
    """A frame as CSV in a data link."""
    return "data:text/csv;charset=utf-8," + quote(plain_csv(frame))


def _merged_assumptions(sections: Sequence[Results]) -> list[tuple[AssumedInput, tuple[Citation, ...], str]]:
    """The assumed inputs of all scenarios, each with the sources in its reason and with its scenarios."""
    scenarios: dict[tuple[AssumedInput, tuple[Citation, ...]], list[str]] = {}
    for results in sections:
        for entry in results.assumptions:
            scenarios.setdefault((entry, results.citations.get(entry.path, ())), []).append(results.scenario)
    rows = [(*entry, ", ".join(dict.fromkeys(names))) for entry, names in scenarios.items()]
    return sorted(rows, key=lambda row: row[0].path)


def _claim(verdict: Verdict, *, quick: bool) -> dict[str, Any]:
    expectation = verdict.expectation
    columns = list(dict.fromkeys(name for point in verdict.points for name in point))
    counted = outcome(verdict, quick=quick)
    return {
        "name": expectation.name,
        "published": published_text(expectation),
        "value": value_text(verdict),
        "interval": interval_cell(verdict),
        "band": band_text(expectation.band, expectation.unit),
        "prediction": prediction_text(verdict),
        "gauge": "" if expectation.unit == "boolean" else _markup(gauge(verdict, outcome=counted)),
        "label": verdict_text(verdict, quick=quick),
        "range": range_text(verdict.known) if verdict.known and expectation.unit != "boolean" else "",
        "kind": expectation.kind or OWN,
        "outcome": counted,
        "reason": verdict.reason,
        "notes": verdict.notes,
        "columns": columns,
        "points": [[_cell(point, name) for name in columns] for point in verdict.points],
    }


def _cell(point: Mapping[str, Any], name: str) -> str:
    value = point.get(name, "")
    return number(value) if isinstance(value, float) else str(value)


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)  # noqa: S704  our own drawing; matplotlib escapes the texts in it
