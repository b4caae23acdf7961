"""Published claims: the rows of ``claims.csv``, and their kinds."""

from __future__ import annotations

from dataclasses import dataclass

from hostsim.expect import Band

__all__ = ["CLAIM_KINDS", "Claim"]

CLAIM_KINDS = {
    "scale": "An absolute figure, which depends on costs.",
    "ratio": "A published quotient or equality.",
    "direction": "Only larger, smaller or similar is published.",
    "arithmetic": "Follows from wire and sizes, whatever the costs.",
    "rule": "The exact effect of a documented setting.",
}
"""The kinds of claims, from the one that says most about the cost model to the one that says least, and what each means."""


@dataclass(frozen=True)
class Claim:
    """A published claim: one row of ``claims.csv``."""

    id: str
    experiment: str
    kind: str
    """One of `CLAIM_KINDS`."""
    condition: str
    metric: str
    published: str
    unit: str
    band: Band
    basis: str
    source: str
