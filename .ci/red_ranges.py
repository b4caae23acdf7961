"""Measure the ranges of the known reds: ``python .ci/red_ranges.py`` judges all claims by quick runs with five root seeds.

``range`` is the value with root seed 1, which is what continuous integration runs and which is the same on any machine. ``other_runs`` is the interval
in which the value with one further root seed lies in 99 % of the cases, by mean and deviation of those measured: t(n - 1, 0.995) s sqrt(1 + 1/n).
Both are rounded outwards. Claims that differ from the list are printed, and are added or removed by hand.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from hostsim import api
from hostsim.results.estimate import student
from hostsim.results.expect import KnownRed, Verdict, VerdictState
from hostsim.results.verdicts import is_accepted, label
from hostsim.scenario.shipped_data import data_root, known_red

LEVEL = 0.99
"""Coverage of the interval for a further root seed."""
DIGITS = 4
"""Significant digits of the ends."""


def main() -> None:
    """Measure, write the ranges, and print the entries that need attention."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("claims", nargs="*", metavar="SCENARIO|CLAIM-GLOB", help="What to measure; all by default.")
    parser.add_argument("--seeds", type=int, default=5, help="Root seeds from 1 on, two at least.")
    parser.add_argument("--full", action="store_true", help="Root seed 1 at full fidelity as well, for other_runs.")
    parser.add_argument("--results", default="results", help="Results folder.")
    parser.add_argument("--jobs", type=int, help="Worker processes.")
    given = parser.parse_args()
    if given.seeds < 2:
        parser.error("--seeds: two root seeds at least, as one has no deviation")
    found = []
    for seed in range(1, given.seeds + 1):
        found.append(api.check(*given.claims, quick=True, seed=seed, results=given.results, jobs=given.jobs))
        print(f"root seed {seed}: {len(found[-1])} verdicts", flush=True)
    full = api.check(*given.claims, results=given.results, jobs=given.jobs) if given.full else ()
    target, listed = data_root() / "known_red.yaml", known_red()
    by_claim = {each[0].expectation.name: each for each in zip(*found, strict=True) if each[0].expectation.is_claim}
    text, said = measured(target.read_text(encoding="utf-8"), listed, by_claim, {v.expectation.name: v for v in full})
    target.write_text(text, encoding="utf-8")
    print("\n".join(said))


def measured(
    text: str,
    listed: Mapping[str, KnownRed],
    found: Mapping[str, Sequence[Verdict]],
    full: Mapping[str, Verdict],
) -> tuple[str, list[str]]:
    """The text of the list with the measured ranges, and the entries that need attention.

    Args:
        text: the list.
        listed: its entries.
        found: quick verdicts by claim, with the root seeds from 1 on.
        full: verdicts at full fidelity with root seed 1, if there are any.
    """
    said = []
    for claim, verdicts in found.items():
        words = ", ".join(f"{verdict.value} {label(verdict, quick=True)}" for verdict in verdicts)
        values = [verdict.value for verdict in verdicts if verdict.value is not None and verdict.bound is None]
        if claim not in listed:
            if not all(is_accepted(verdict, quick=True) for verdict in verdicts):
                said.append(f"not listed: {claim}: {words}")
        elif len(values) < len(verdicts):
            said.append(f"has no value, or a bound: {claim}: {words}")
        elif verdicts[0].state is VerdictState.PASS:
            said.append(f"passes: {claim}: {words}")
        else:
            whole = full.get(claim)
            ends = [*further(values), *([whole.value] if whole and whole.value is not None and not whole.bound else [])]
            text = written(text, claim, outwards(values[:1]), outwards(ends))
    return text, said


def further(values: Sequence[float]) -> tuple[float, float]:
    """The ends of the prediction interval of one further value."""
    interval = student(values, LEVEL)
    # for a mean it is s / sqrt(n), for a further value s sqrt(1 + 1/n)
    half = interval.half * math.sqrt(len(values) + 1)
    return interval.mean - half, interval.mean + half


def outwards(values: Sequence[float]) -> tuple[float, float]:
    """The smallest and the largest value, rounded outwards."""
    least, greatest = (
        float(Context(DIGITS, rounding).create_decimal(repr(float(value))))
        for value, rounding in ((min(values), ROUND_FLOOR), (max(values), ROUND_CEILING))
    )
    return least, greatest


def written(text: str, claim: str, own: tuple[float, float], others: tuple[float, float]) -> str:
    """The text of the list with both ranges of a claim."""
    lines = rf"\g<1>  range: [{own[0]!r}, {own[1]!r}]\n  other_runs: [{others[0]!r}, {others[1]!r}]\n"
    pattern = rf"(?m)^({re.escape(claim)}:\n)  range: .*\n(?:  other_runs: .*\n)?"
    text, count = re.subn(pattern, lines, text)
    assert count == 1, claim
    return text


if __name__ == "__main__":
    main()
