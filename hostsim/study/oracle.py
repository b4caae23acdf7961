"""An oracle: a case whose answer theory knows, how the product's parts simulate it, and when it has passed."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from hostsim.engine.streams import Streams
from hostsim.estimate import Interval, student

__all__ = ["LEVEL", "Draw", "Finding", "Oracle", "Quantity", "Verdict", "judge", "streams"]

LEVEL = 0.999
"""Confidence of the intervals."""
ROUNDING = 1e-9
"""Share by which an interval without width, of something that does not vary, may miss theory."""

Draw = tuple[int, int]
"""What fixes the random streams of a run: seed and replication, as `Streams` takes them."""


class Verdict(Enum):
    """What became of one quantity of an oracle."""

    PASS = "pass"  # noqa: S105  # a verdict, not a secret
    """The interval is narrow enough and contains what theory says."""
    FAIL = "fail"
    """The interval is narrow enough and does not contain it."""
    ERROR = "error"
    """The interval is too wide to say anything: an error of the test, whatever it contains."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A mean that theory knows."""

    name: str
    """In words, with its unit: ``mean wait, services``."""
    theory: float
    most_half: float = 0.01
    """Half-width of the interval that is still a test, as a share of ``theory``."""


@dataclass(frozen=True, slots=True)
class Oracle:
    """A case with its answers."""

    group: str
    """Heading that it stands under."""
    name: str
    """Unique, and all that its random streams depend on besides the seed."""
    parameters: str
    """In words."""
    quantities: tuple[Quantity, ...]
    simulate: Callable[[Draw, float], Sequence[float]]
    """One replication: given its streams and its portion of the full length, an estimate of each quantity."""

    def run(self, seed: int, replication: int, portion: float) -> tuple[float, ...]:
        """One replication, with random streams of its own: no two oracles draw the same numbers."""
        own = zlib.crc32(self.name.encode()) * 1000 + replication
        values = tuple(self.simulate((seed, own), portion))
        assert len(values) == len(self.quantities)
        return values


@dataclass(frozen=True, slots=True)
class Finding:
    """One quantity of an oracle, simulated."""

    oracle: Oracle
    quantity: Quantity
    interval: Interval
    most_half: float
    """Half-width that was allowed, as a share of theory."""
    verdict: Verdict

    @property
    def half(self) -> float:
        """Half-width of the interval as a share of theory."""
        return self.interval.half / self.quantity.theory


def judge(oracle: Oracle, values: Sequence[Sequence[float]], widening: float = 1.0) -> list[Finding]:
    """Hold the replications of an oracle against theory.

    Args:
        oracle: the case.
        values: an estimate of each quantity, shape (replications, quantities).
        widening: factor on the half-widths allowed, for shortened runs.
    """
    findings = []
    for quantity, samples in zip(oracle.quantities, zip(*values, strict=True), strict=True):
        interval = student(samples, LEVEL)
        most = quantity.most_half * widening
        if not interval.half <= most * quantity.theory:
            verdict = Verdict.ERROR
        elif interval.low - quantity.theory <= ROUNDING * quantity.theory >= quantity.theory - interval.high:
            verdict = Verdict.PASS
        else:
            verdict = Verdict.FAIL
        findings.append(Finding(oracle, quantity, interval, most, verdict))
    return findings


def streams(draw: Draw) -> Streams:
    """The random streams of a run."""
    return Streams(*draw)
