"""When a vNIC, or a physical NIC, interrupts: pure functions of instants in picoseconds."""

from __future__ import annotations

from typing import Final

from hostsim.units import MS

__all__ = ["RATE_WINDOW", "paced", "rated"]

RATE_WINDOW: Final = 4 * MS
"""Time over which rate-based coalescing of a vNIC takes rates: the default timeout (facts 1.2 gives its low rates in packets a timeout)."""


def paced(first: int, last: int | None, interval: int) -> int:
    """Instant of the next interrupt when two are at least ``interval`` apart: for a packet here at ``first``.

    Serves the interrupt moderation of a physical NIC and rate-based coalescing of a vNIC alike; ``last`` is the instant of
    the previous interrupt, None before the first.
    """
    if last is None:
        return first
    paced_to = last + interval  # compared by hand: max() takes twice as long, and this is asked for every interrupt
    return paced_to if paced_to > first else first


def rated(first: int, owed: int, interval: int) -> int:
    """Instant of the next interrupt when so many are allowed in `RATE_WINDOW` as intervals fit in it: for a packet here at ``first``.

    A vNIC that was quiet may interrupt several times in a row; one that always has something to announce interrupts once an
    interval. ``owed`` is the instant up to which its interrupts have used the intervals up (generic cell rate algorithm, ITU-T I.371).
    """
    soonest = owed - (RATE_WINDOW - interval)
    return soonest if soonest > first else first
