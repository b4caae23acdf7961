"""Levels of trust by hand: each case has a value relative to the published one, and its level."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hostsim.results.claim import LEVELS, Claim, level, over_published, topics
from hostsim.results.expect import At, Band, Expectation, Verdict, VerdictState
from hostsim.results.search_answer import Bound

PASS, FAIL, OPEN, MISSING = VerdictState
TRUST, NEAR, DIRECTION, NO = range(4)


def verdict(
    kind: str,
    unit: str,
    published: str,
    band: tuple[float | None, float | None],
    value: float | None,
    interval: tuple[float | None, float | None] = (None, None),
    state: VerdictState = OPEN,
) -> Verdict:
    expectation = Expectation("x", At("", {}), Band(*band), unit, published, is_claim=True, kind=kind)
    return Verdict(expectation, "", value, *interval, state)


@pytest.mark.parametrize(
    ("given", "over", "expected"),
    [
        (verdict("scale", "VMs", "40", (38, 42), 41, (40.5, 41.5), PASS), 1.025, TRUST),
        (verdict("scale", "VMs", "40", (38, 42), 46), 1.15, NEAR),
        (verdict("scale", "VMs", "40", (38, 42), 48, (48, 48), FAIL), 1.2, NEAR),
        (verdict("scale", "VMs", "40", (38, 42), 46, (43, 49), FAIL), 1.15, NO),
        (verdict("scale", "VMs", "40", (38, 42), 31, (31, 31), FAIL), 0.775, NO),
        (verdict("scale", "kpps", "400-700", (400, 600), 450, (440, 460), PASS), 0.9, TRUST),
        (verdict("scale", "%", "0", (0, 0.01), 0.004, (0.004, 0.004), PASS), 0.4, TRUST),
        (verdict("scale", "%", "0", (0, 0.01), 0.02, (0.02, 0.02), FAIL), 2.0, NO),
        (verdict("scale", "kpps", "80", (80, None), 160, (150, 170), PASS), 2.0, DIRECTION),
        (verdict("scale", "kpps", "80", (80, None), 76, (75, 77), FAIL), 0.95, NO),
        (verdict("ratio", "ratio", "1.50", (1.4, 1.6), 1.55, (1.5, 1.59), PASS), 1.1, TRUST),
        (verdict("ratio", "ratio", "1.50", (1.48, 1.52), 1.55, (1.54, 1.56), FAIL), 1.1, NEAR),
        (verdict("ratio", "ratio", "1.20", (1.19, 1.21), 1.24, (1.24, 1.24), FAIL), 1.2, NEAR),
        (verdict("ratio", "ratio", "1.10", (1.08, 1.12), 1.02, (1.01, 1.03), FAIL), 0.2, DIRECTION),
        (verdict("ratio", "ratio", "0.80", (0.75, 0.85), 0.9, (0.85, 0.95), FAIL), 0.5, DIRECTION),
        (verdict("ratio", "ratio", "1.10", (1.08, 1.12), 1.02, (0.99, 1.05), FAIL), 0.2, NO),
        (verdict("ratio", "ratio", "1.10", (1.08, 1.12), 0.98, (0.97, 0.99), FAIL), -0.2, NO),
        (verdict("ratio", "ratio", "1.00", (0.98, 1.02), 1.04, (1.03, 1.05), FAIL), 1.04, NEAR),
        (verdict("ratio", "ratio", "similar", (0.9, 1.02), 0.7, (0.6, 0.75), FAIL), 0.7, NO),
        (verdict("direction", "ratio", "<1", (0, 0.8), 0.4, (0.3, 0.5), PASS), 0.5, DIRECTION),
        (verdict("direction", "ratio", "<1", (0, 0.8), 0.88, (0.86, 0.9), FAIL), 1.1, NO),
        (verdict("direction", "ratio", "above 1", (1.25, 1.5), 2.0, (1.9, 2.1), FAIL), 1.6, DIRECTION),
        (verdict("rule", "boolean", "exact", (1, 1), 1, (1, 1), PASS), 1.0, TRUST),
        (verdict("rule", "boolean", "exact", (1, 1), 1, (0, 1)), 1.0, NO),
        (replace(verdict("scale", "VMs", "40", (38, 42), 41, (41, None)), bound=Bound.AT_LEAST), 1.025, NO),
        (verdict("scale", "VMs", "40", (38, 42), None, state=MISSING), None, NO),
    ],
)
def test_a_verdict_has_a_value_over_the_published_one_and_a_level(
    given: Verdict, over: float | None, expected: int
) -> None:
    """Limits of a direction, differences of a quotient from 1, intervals across an end, bounds, missing values."""
    assert over_published(given).value == pytest.approx(over)
    assert level(given) == expected


def test_bands_and_intervals_are_over_what_was_published_too() -> None:
    """For a quotient below 1 the ends are swapped."""
    found = over_published(verdict("ratio", "ratio", "0.80", (0.7, 0.9), 0.9, (0.86, None)))
    assert (found.expectation.band.low, found.expectation.band.high) == pytest.approx((0.5, 1.5))
    assert (found.ci_low, found.ci_high) == (None, pytest.approx(0.7))
    below = replace(verdict("ratio", "ratio", "0.80", (0.7, 0.9), 0.9), bound=Bound.AT_LEAST)
    assert over_published(below).bound is Bound.AT_MOST


def test_a_topic_has_the_level_of_its_worst_claim() -> None:
    """Topics of an experiment are in brackets; an empty level has a word."""

    def claim(label: str, experiment: str = "vxlan") -> Claim:
        return Claim("x", experiment, "scale", label, "", "", "40", "VMs", Band(38, 42), "", "")

    good = verdict("scale", "VMs", "40", (38, 42), 41, (41, 41), PASS)
    near = verdict("scale", "VMs", "40", (38, 42), 46)
    rows = [(claim("rate, sent"), good), (claim("rate, received"), near), (claim("size"), near)]
    rows += [(claim("other"), good), (claim("own", "mine"), good)]
    assert list(topics(rows).values()) == ["VXLAN (other); mine (own)", "VXLAN (rate, size)", "nothing", "nothing"]
    assert list(topics(rows)) == list(LEVELS)
