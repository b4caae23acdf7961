"""Interrupt coalescing of a vNIC and interrupt moderation of a physical NIC: times of the next interrupt, in picoseconds."""

from __future__ import annotations

from typing import Final

from hostsim.units import MS

__all__ = ["RATE_WINDOW", "coalesced_interrupt", "moderated_interrupt"]

RATE_WINDOW: Final = 4 * MS
"""Time over which rate-based coalescing of a vNIC takes rates: the default timeout (facts 1.2 gives its low rates in packets a timeout)."""


def moderated_interrupt(first: int, last: int | None, interval: int) -> int:
    """Interrupt moderation: the time of the next interrupt for a packet ready at ``first`` when two are at least ``interval`` apart.

    Serves the interrupt moderation of a physical NIC and rate-based coalescing of a vNIC alike; ``last`` is the instant of
    the previous interrupt, None before the first.
    """
    if last is None:
        return first
    paced_to = last + interval  # compared by hand: max() takes twice as long, and this is asked for every interrupt
    return paced_to if paced_to > first else first


def coalesced_interrupt(first: int, theoretical: int, interval: int) -> int:
    """Rate-based coalescing: the time of the next interrupt for a packet ready at ``first`` when `RATE_WINDOW` allows one interrupt for each interval in it.

    A vNIC that was quiet may interrupt several times in a row; one that always has something to announce interrupts once an
    interval. ``theoretical`` is the theoretical arrival time of the generic cell rate algorithm (ITU-T I.371): the instant up to which
    interrupts have used the intervals up.
    """
    soonest = theoretical - (RATE_WINDOW - interval)
    return soonest if soonest > first else first
