"""Gauge of a verdict: the accepted band, the value and its confidence interval, as a small inline SVG."""

from __future__ import annotations

import math

from hostsim.expect import Band, Verdict

__all__ = ["gauge", "mark_class"]

WIDTH, HEIGHT = 220.0, 22.0
_MARGIN = 8.0


def mark_class(outcome: str) -> str:
    """The CSS class of an outcome of `hostsim.results.scoreboard.OUTCOMES`."""
    return outcome.replace(" ", "-")


def gauge(verdict: Verdict, *, outcome: str) -> str:
    """Draw a gauge of a verdict as SVG text, a prediction interval as a wide light line; colours are CSS classes, so that page and printer choose them.

    Args:
        verdict: what to draw; without a value only the band is drawn.
        outcome: of the verdict; each has a colour and a shape of its own.
    """
    state = mark_class(outcome)
    band = verdict.expectation.band
    prediction = verdict.prediction
    marks = [verdict.value, verdict.ci_low, verdict.ci_high]
    marks += [] if prediction is None else [prediction.low, prediction.high]
    drawn = [mark for mark in marks if mark is not None and math.isfinite(mark)]
    start, end = _scale(band, drawn)

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
    """The mark of a value: a disc in band, a ring for undecided, a diamond for a known red, a square for a red."""
    name = mark_class(outcome)
    match outcome:
        case "known red":
            return f'<path class="{name}" d="M{x - 5:.1f} {y:g}l5 -5l5 5l-5 5z"/>'
        case "red":
            return f'<rect class="{name}" x="{x - 4:.1f}" y="{y - 4:g}" width="8" height="8"/>'
        case _:
            return f'<circle class="{name}" cx="{x:.1f}" cy="{y:g}" r="4"/>'


def _scale(band: Band, drawn: list[float]) -> tuple[float, float]:
    """Ends of the axis: the band and all marks with a margin; a far outlier moves to the edge rather than hiding the band."""
    ends = [end for end in (band.low, band.high) if end is not None] or drawn or [0.0]
    width = max(ends) - min(ends)
    if width == 0:
        width = max([abs(mark - ends[0]) for mark in drawn], default=0.0) or abs(ends[0]) or 1.0
    reach = [min(max(mark, min(ends) - 3 * width), max(ends) + 3 * width) for mark in drawn]
    low, high = min([*ends, *reach]), max([*ends, *reach])
    return low - 0.25 * width, high + 0.25 * width
