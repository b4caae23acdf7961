"""Test oracle: a case with closed-form answers, its simulation, and the comparison of both."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from hostsim.engine.random_stream import Streams
from hostsim.results.estimate import Interval, student

__all__ = ["LEVEL", "Oracle", "OracleOutcome", "OracleResult", "Quantity", "compare_with_theory"]

LEVEL = 0.999
"""Confidence of the intervals."""
ROUNDING = 1e-9
"""Tolerated relative deviation of a constant value from theory."""


class OracleOutcome(Enum):
    """Outcome of one quantity of an oracle: pass, fail or error."""

    PASS = "pass"  # noqa: S105  # an outcome, not a secret
    """The interval is narrow enough and contains the theoretical value."""
    FAIL = "fail"
    """The interval is narrow enough and does not contain it."""
    ERROR = "error"
    """The interval is too wide for a verdict: an error of the test."""


@dataclass(frozen=True)
class Quantity:
    """A quantity of an oracle: a mean with its closed-form value."""

    name: str
    """The quantity in words, with its unit: ``mean wait, services``."""
    theory: float
    most_half: float = 0.01
    """Largest half-width of the interval, as a share of ``theory``."""


@dataclass(frozen=True)
class Oracle:
    """A test oracle: a case with closed-form answers."""

    group: str
    """Heading in the report."""
    name: str
    """Unique name; its random streams depend only on this and the seed."""
    parameters: str
    """In words."""
    quantities: tuple[Quantity, ...]
    simulate: Callable[[Streams, float], Sequence[float]]
    """One replication: estimates of the quantities from random streams and a share of the full length."""

    def run(self, seed: int, replication: int, portion: float) -> tuple[float, ...]:
        """Run one replication with random streams that differ from those of other oracles."""
        own = zlib.crc32(self.name.encode()) * 1000 + replication
        values = tuple(self.simulate(Streams(seed, own), portion))
        assert len(values) == len(self.quantities)
        return values


@dataclass(frozen=True)
class OracleResult:
    """Result of one quantity of an oracle: its simulated interval and outcome."""

    oracle: Oracle
    quantity: Quantity
    interval: Interval
    most_half: float
    """Allowed half-width, as a share of theory."""
    outcome: OracleOutcome

    @property
    def half(self) -> float:
        """Half-width of the interval as a share of theory."""
        return self.interval.half / self.quantity.theory


def compare_with_theory(oracle: Oracle, values: Sequence[Sequence[float]], widening: float = 1.0) -> list[OracleResult]:
    """Compare the replications of an oracle with theory.

    Args:
        oracle: the case.
        values: an estimate of each quantity, shape (replications, quantities).
        widening: factor on the allowed half-widths, for shortened runs.
    """
    results = []
    for quantity, samples in zip(oracle.quantities, zip(*values, strict=True), strict=True):
        interval = student(samples, LEVEL)
        most = quantity.most_half * widening
        if not interval.half <= most * quantity.theory:
            outcome = OracleOutcome.ERROR
        elif interval.low - quantity.theory <= ROUNDING * quantity.theory >= quantity.theory - interval.high:
            outcome = OracleOutcome.PASS
        else:
            outcome = OracleOutcome.FAIL
        results.append(OracleResult(oracle, quantity, interval, most, outcome))
    return results
