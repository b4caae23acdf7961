"""Trust in published claims: verdicts relative to published values, and one rule for four levels.

The rule uses value, interval, band, published value and kind of a claim, and no name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from hostsim.results.claim import Claim, side_of
from hostsim.results.expect import Band, Expectation, Verdict, VerdictState
from hostsim.results.search_answer import Bound

__all__ = ["LEVELS", "READING", "experiment_title", "interval_ends", "level", "over_published", "topics"]

LEVELS = {
    "Trust it for": "the whole 95 % interval lies in the accepted band",
    "Within 20 % for": "it lies within 20 % of the published value",
    "Direction only for": "it meets the published direction or limit, or lies on the published side of 1",
    "Do not use it for": "everything else: missed or undecided. A topic has the level of its worst claim",
}
"""The levels from best to worst, each with its meaning; `level` is the rule."""
READING = (
    "A ratio published as other than 1 is compared by its difference from 1: 1.03 instead of 1.06 is 0.5. "
    "If only a limit was published, the limit is 1; of a range, its middle; of yes or no, yes. "
    "A value without an interval counts as it is."
)
"""Comparisons of values with published ones."""

_SHARE, _ROUNDING = 0.2, 1e-9

_TITLES = {
    "dense-mode": "Dense mode",
    "40gbe": "40GbE",
    "80gbe": "80GbE",
    "numa-io": "NUMA I/O",
    "vxlan": "VXLAN",
    "splitrx": "splitRxMode",
    "directpath": "DirectPath I/O",
    "small-udp": "Small UDP frames",
    "latency": "Latency sensitivity",
}


def experiment_title(experiment: str) -> str:
    """The name of an experiment, or its id."""
    return _TITLES.get(experiment, experiment)


def level(verdict: Verdict) -> int:
    """The index in `LEVELS` of a verdict on a published claim."""
    expectation, is_limit = verdict.expectation, _is_limit(verdict.expectation)
    if verdict.state is VerdictState.PASS:
        return 2 if is_limit else 0
    if verdict.value is None:
        return 3
    seen = over_published(verdict)
    if not is_limit and all(abs(end - 1) <= _SHARE + _ROUNDING for end in interval_ends(seen)):
        return 1
    # relative to the published value, the limit of a direction is 1
    side, ends = side_of(expectation.unit, expectation.band), interval_ends(seen if is_limit else verdict)
    return 2 if side and all((end - 1) * side > -_ROUNDING for end in ends) else 3


def _is_limit(expectation: Expectation) -> bool:
    """True if no two-sided number was published."""
    return expectation.kind == "direction" or None in (expectation.band.low, expectation.band.high)


def interval_ends(verdict: Verdict) -> tuple[float, float]:
    """The ends of the interval of a value; one is infinite for a bound, and both are the value without an interval."""
    value, low, high = verdict.value, verdict.ci_low, verdict.ci_high
    assert value is not None
    if verdict.bound is not None:
        return (value, math.inf) if verdict.bound.is_lower else (-math.inf, value)
    return (value, value) if low is None or high is None else (low, high)


def over_published(verdict: Verdict) -> Verdict:
    """The verdict with value, interval and band relative to the published value; yes and no are unchanged."""
    band = verdict.expectation.band
    zero, one = _scale(verdict.expectation, verdict.value or 0.0)

    def scaled(*numbers: float | None) -> list[float | None]:
        found = [None if number is None else (number - zero) / (one - zero) for number in numbers]
        return found if one > zero else found[::-1]

    [value] = scaled(verdict.value)
    ci_low, ci_high = scaled(verdict.ci_low, verdict.ci_high)
    expectation = replace(verdict.expectation, band=Band(*scaled(band.low, band.high)))
    bound = verdict.bound
    if bound is not None and one < zero:
        bound = Bound.AT_MOST if bound.is_lower else Bound.AT_LEAST
    return replace(verdict, expectation=expectation, value=value, ci_low=ci_low, ci_high=ci_high, bound=bound)


def _scale(expectation: Expectation, value: float) -> tuple[float, float]:
    """Values of 0 and 1 on the relative scale."""
    band, neutral = expectation.band, 1.0 if expectation.unit == "ratio" else None
    try:
        published = float(expectation.published)
    except ValueError:
        published = neutral or ((band.low or 0.0) + (band.high or 0.0)) / 2
    if _is_limit(expectation) or not published:
        ends = [end for end in (band.low, band.high) if end] or [1.0]
        return 0.0, min(ends, key=lambda end: abs(end - (neutral or value)))
    return (1.0 if side_of(expectation.unit, band) and published != 1 else 0.0), published


def topics(found: Iterable[tuple[Claim, Verdict]]) -> Mapping[str, str]:
    """The topics of claims in words, by the name of their level; a topic of several claims has the level of the worst.

    Args:
        found: claims, each with its verdict.
    """
    worst: dict[tuple[str, str], int] = {}
    for claim, verdict in found:
        key = (experiment_title(claim.experiment), claim.topic)
        worst[key] = max(worst.get(key, 0), level(verdict))
    lines = {}
    for place, name in enumerate(LEVELS):
        parts: dict[str, list[str]] = {}
        for (title, topic), of in worst.items():
            if of == place:
                parts.setdefault(title, []).append(topic)
        lines[name] = "; ".join(f"{', '.join(each)} ({title})" for title, each in parts.items()) or "nothing"
    return lines
