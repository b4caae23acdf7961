"""How much a TCP sender may have in flight: window, slow start, congestion avoidance, and what a loss does (RFC 5681)."""

from __future__ import annotations

__all__ = ["Congestion"]


class Congestion:
    """A sender's window, counted in segments.

    Attributes:
        window: what the receiver offers, or the sender's buffer holds.
        in_flight: sent and not yet acknowledged.
    """

    __slots__ = ("_allowed", "_initial", "_recovering", "_threshold", "in_flight", "window")

    def __init__(self, window: int, initial: int) -> None:
        self.window, self._initial = window, initial
        self.in_flight = 0
        self._allowed = float(min(window, initial))
        self._threshold = float(window)
        self._recovering = 0

    def anew(self) -> Congestion:
        """The window of a new connection between the same ends."""
        return Congestion(self.window, self._initial)

    @property
    def allowed(self) -> int:
        """Segments that may be in flight."""
        return int(self._allowed)

    def room(self) -> int:
        """Segments that may be sent now."""
        return max(0, int(self._allowed) - self.in_flight)

    def acked(self, segments: int) -> None:
        """Segments are acknowledged."""
        self.in_flight -= segments
        if self._recovering > 0:
            self._recovering -= segments
        elif self._allowed < self.window:
            grown = self._allowed + (segments if self._allowed < self._threshold else segments / self._allowed)
            self._allowed = min(grown, float(self.window))

    def lost(self, segments: int) -> None:
        """Duplicate acknowledgements tell of a loss: half of the window, once for all losses of one window; the segments go again."""
        self.in_flight -= segments
        if self._recovering <= 0:
            self._threshold = max(2.0, self._allowed / 2)
            self._allowed = min(self._threshold, float(self.window))
            self._recovering = self.in_flight

    def timed_out(self, segments: int) -> None:
        """Nothing came back at all: start again with one segment."""
        self.in_flight -= segments
        self._threshold = max(2.0, self._allowed / 2)
        self._allowed = 1.0
        self._recovering = 0
