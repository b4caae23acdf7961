"""Interval coverage of predictions: share of published values inside, widths, errors and interval scores, by group and kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from hostsim.results.claim import CLAIM_KINDS
from hostsim.results.expect import Band
from hostsim.results.verdicts import number
from hostsim_docs.markdown import code, table

__all__ = ["ALL", "HEADINGS", "MEANING", "PredictedInterval", "interval_score", "one_by_one", "rows"]

LEVEL = 0.9
"""Level of the intervals."""
NAIVE = 0.2
"""Half-width, as a share of the value, of the intervals with which others are compared."""
HEADINGS = ("kind", "asked", "inside", "median width", "median error", "score", "by the prior", "by 20 %")
MEANING = """\
*Inside* is the share of published values in the 90 % interval, or of published bands and directions that overlap it; the target is 80 to 97 %. Width, error and score are relative to the published value. The interval score (Gneiting and Raftery, 2007) is the width plus twenty times the distance by which the published value is outside; smaller is better. The table has medians, because an error relative to a loss near zero is enormous. The last columns have the scores of intervals from the prior alone, and of intervals of 20 % on both sides of the same value.
"""
ALL = "all"
"""Group of predictions without another group, and kind of the last row."""


@dataclass(frozen=True)
class PredictedInterval:
    """A 90 % prediction interval and the published value, in its unit."""

    name: str
    group: str
    """Group within which kinds are counted."""
    kind: str
    published: float | None
    """The published number; None if only a direction is published."""
    band: Band
    low: float
    value: float
    high: float
    prior: tuple[float, float]
    """The interval by the prior alone."""

    @property
    def is_inside(self) -> bool:
        """True if the published value is in the interval; for a published band, if the band overlaps it."""
        low, high = self.band.low, self.band.high
        if self.kind != "direction" and self.published is not None and None not in (low, high):
            return self.low <= self.published <= self.high
        return (low is None or self.high >= low) and (high is None or self.low <= high)


def interval_score(low: float, high: float, value: float, level: float = LEVEL) -> float:
    """Interval score of a prediction (Gneiting and Raftery, 2007): the width, plus a penalty for the distance of a
    value outside it; smaller is better.
    """
    miss = max(low - value, 0.0) + max(value - high, 0.0)
    return high - low + 2 / (1 - level) * miss


def rows(found: Sequence[PredictedInterval]) -> list[tuple[str, ...]]:
    """The scores by group and kind, then by kind, then of all: a group and the cells of `HEADINGS`. Empty without intervals."""
    if not found:
        return []
    groups = [(name, [one for one in found if one.group == name]) for name in dict.fromkeys(one.group for one in found)]
    lines = [
        (name, kind, *_scores([one for one in own if one.kind == kind]))
        for name, own in ([*groups, (ALL, found)] if len(groups) > 1 else groups)
        for kind in CLAIM_KINDS
        if any(one.kind == kind for one in own)
    ]
    return [*lines, (ALL, ALL, *_scores(found))]


def one_by_one(found: Sequence[PredictedInterval], subject: str) -> str:
    """The intervals as a table, bold where the published value is outside; ``subject`` is the heading of the names."""
    lines = []
    for one in found:
        text = f"{number(one.value)} ({number(one.low)} to {number(one.high)})"
        cells = (number(one.published), text if one.is_inside else f"**{text}**")
        lines.append((code(one.name), one.kind, *cells, f"{number(one.prior[0])} to {number(one.prior[1])}"))
    return table((subject, "kind", "published", "predicted, 90 %", "by the prior, 90 %"), lines)


def _scores(found: Sequence[PredictedInterval]) -> tuple[str, ...]:
    inside = sum(one.is_inside for one in found)
    known = [(one, one.published) for one in found if one.published and one.kind != "direction"]
    cells = (str(len(found)), f"{inside} ({100 * inside / len(found):.0f} %)")
    if not known:
        return (*cells, *["–"] * (len(HEADINGS) - 1 - len(cells)))

    def score(ends: Iterable[tuple[float, float]]) -> str:
        return _percent(
            median(interval_score(*pair, value) / abs(value) for pair, (_, value) in zip(ends, known, strict=True))
        )

    naive = [sorted((one.value * (1 - NAIVE), one.value * (1 + NAIVE))) for one, _ in known]
    return (
        *cells,
        _percent(median((one.high - one.low) / abs(value) for one, value in known)),
        _percent(median(abs(one.value / value - 1) for one, value in known)),
        score((one.low, one.high) for one, _ in known),
        score(one.prior for one, _ in known),
        score((low, high) for low, high in naive),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
