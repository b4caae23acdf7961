"""TCP congestion control: window, slow start, congestion avoidance, fast recovery and time-outs (RFC 5681)."""

from __future__ import annotations

__all__ = ["Congestion"]


class Congestion:
    """The congestion window of a TCP sender, in segments.

    Attributes:
        window: receive window, or send buffer, whichever bounds the connection.
        in_flight: sent and not yet acknowledged.
    """

    def __init__(self, window: int, initial: int) -> None:
        self.window, self._initial = window, initial
        self.in_flight = 0
        self._allowed = float(min(window, initial))
        self._threshold = float(window)
        self._recovering = 0

    def anew(self) -> Congestion:
        """Return the congestion window of a new connection between the same endpoints."""
        return Congestion(self.window, self._initial)

    @property
    def allowed(self) -> int:
        """Congestion window: segments that may be in flight."""
        return int(self._allowed)

    def room(self) -> int:
        """Return the number of segments that may be sent now."""
        return max(0, int(self._allowed) - self.in_flight)

    def acked(self, segments: int) -> None:
        """Handle acknowledged segments."""
        self.in_flight -= segments
        if self._recovering > 0:
            self._recovering -= segments
        elif self._allowed < self.window:
            grown = self._allowed + (segments if self._allowed < self._threshold else segments / self._allowed)
            self._allowed = min(grown, float(self.window))

    def lost(self, segments: int) -> None:
        """Handle a loss told by duplicate acknowledgements: halve the window, once for all losses of one window."""
        self.in_flight -= segments
        if self._recovering <= 0:
            self._threshold = max(2.0, self._allowed / 2)
            self._allowed = min(self._threshold, float(self.window))
            self._recovering = self.in_flight

    def timed_out(self, segments: int) -> None:
        """Handle a retransmission time-out: start again with one segment."""
        self.in_flight -= segments
        self._threshold = max(2.0, self._allowed / 2)
        self._allowed = 1.0
        self._recovering = 0
