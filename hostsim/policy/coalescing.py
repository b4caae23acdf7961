"""When a vNIC, or a physical NIC, interrupts: pure functions of instants in picoseconds."""

from __future__ import annotations

__all__ = ["paced"]


def paced(first: int, last: int | None, interval: int) -> int:
    """Instant of the next interrupt when two are at least ``interval`` apart: for a packet here at ``first``.

    Serves the interrupt moderation of a physical NIC and rate-based coalescing of a vNIC alike; ``last`` is the instant of
    the previous interrupt, None before the first.
    """
    if last is None:
        return first
    paced_to = last + interval  # compared by hand: max() takes twice as long, and this is asked for every interrupt
    return paced_to if paced_to > first else first
