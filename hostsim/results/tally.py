"""Tally of verdicts by kind of claim: how many lie in their bands, and how many do not, each counted apart.

A kind is one of `hostsim.claim.CLAIM_KINDS`. What is in band and what is known to be red are never added up: only the first says
that a published number is reproduced. `hostsim.results.scoreboard.outcome` is the rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hostsim.claim import CLAIM_KINDS
from hostsim.expect import Verdict
from hostsim.results.scoreboard import OUTCOMES, outcome

__all__ = [
    "ALL",
    "OWN",
    "TALLY_HEADINGS",
    "awaiting_words",
    "outcomes",
    "tally",
    "tally_rows",
    "tally_words",
]

OWN = "own"
"""Kind of an expectation that is no published claim."""
ALL = "all"
"""Heads the counts of all kinds together."""
TALLY_HEADINGS = ("kind", "expectations", *OUTCOMES)


def awaiting_words(verdicts: Iterable[Verdict]) -> str:
    """The verdicts that await the calibration, counted in words; empty where there are none."""
    names = [verdict.expectation.name for verdict in verdicts if verdict.known is not None and verdict.known.awaiting]
    if not names:
        return ""
    return f"{len(names)} of them await{'s' * (len(names) == 1)} calibration, counted as red: {', '.join(names)}"


def outcomes(verdicts: Iterable[Verdict], *, quick: bool) -> list[tuple[str, str]]:
    """Kind and outcome of each verdict."""
    return [(verdict.expectation.kind or OWN, outcome(verdict, quick=quick)) for verdict in verdicts]


def tally(found: Iterable[tuple[str, str]]) -> dict[str, Counter[str]]:
    """Counts of outcomes by kind, in the order of the kinds; of several kinds, those of `ALL` as well.

    Args:
        found: kinds with outcomes, of `outcomes`.
    """
    pairs = list(found)
    counts = {kind: Counter(each for of, each in pairs if of == kind) for kind in (*CLAIM_KINDS, OWN)}
    counts = {kind: counter for kind, counter in counts.items() if counter}
    return counts | {ALL: Counter(each for _, each in pairs)} if len(counts) > 1 else counts


def tally_rows(found: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The tally as a table, one row a kind, under `TALLY_HEADINGS`."""
    return [
        (kind, str(counter.total()), *(str(counter[each]) for each in OUTCOMES))
        for kind, counter in tally(found).items()
    ]


def tally_words(found: Iterable[tuple[str, str]]) -> str:
    """The tally in words, without the kinds: ``3 in band, 1 known red``; outcomes of no verdict are left out, but not ``in band``."""
    counter = Counter(each for _, each in found)
    return ", ".join(f"{counter[each]} {each}" for each in OUTCOMES if counter[each] or each == "in band")
