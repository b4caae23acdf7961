"""Interrupt moderation that searches among profiles (Linux ``net_dim``): drivers of several NICs have it, mlx5 the first of them.

A profile is a time without a frame, and a number of frames, of which whichever is first ends a wait. 64 interrupts make a measurement; the search goes on to the next
profile while measurements get better, turns when one does not, and stays where both sides are worse. Times are in picoseconds.
"""

from __future__ import annotations

from typing import Final

from hostsim.policy.coalescing import Moderation
from hostsim.units import MS, US

__all__ = ["ProfileSearch"]

_PROFILES: Final = ((2, 256), (8, 128), (16, 64), (32, 64), (64, 64))
"""Microseconds after a frame without another, and frames."""
_EVENTS: Final = 64
_PATIENCE: Final = 2 * len(_PROFILES)
"""Steps after which a search that has found no end rests, for as many measurements."""

_RESTS: Final = 0
_TIRED: Final = 1
_UP: Final = 2
_DOWN: Final = 3


class ProfileSearch(Moderation):
    """Interrupt moderation by a search among five profiles (mlx5): bytes a millisecond decide, then frames, then interrupts, of which fewer are better.

    Source: ``net_dim`` of Linux from 4.16 on (lib/dim from 5.3 on), its profiles for receive whose period restarts at each completion, and mlx5e_build_nic_params, which turns it on
    where the device can and starts with the second profile. A wait is worked out when it begins: frames that come at random, as far apart as those of the last interrupt were on
    average, leave a gap of the period after as long as is taken here, unless their number is reached before.
    """

    def __init__(self) -> None:
        super().__init__(8 * US, adapts=True)
        self._period, self._most = 8 * US, 128
        self._place = 0  # where the search stands at first, though the device has the second profile
        self._state, self._ups, self._downs, self._steps = _RESTS, 0, 0, 0
        self._before = (0, 0, 0)
        self._measuring = False
        self._since = self._last = self._passed = self._events = self._frames = self._octets = 0

    def due(self, first: int, last: int | None) -> int:
        return first + self._interval

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        self._events += 1
        self._frames += received
        self._octets += rx_octets
        if not self._measuring:
            self._begin(now)
        elif self._events >= _EVENTS:
            if self._decide(now - self._since):
                period, self._most = _PROFILES[self._place]
                self._period = period * US
                self._measuring = False
            else:
                self._begin(now)
        frames = received or sent
        if frames and self._passed:  # what has been polled since the interrupt before came ahead of it
            self._interval = self._wait(self._passed // frames)
        self._passed, self._last = now - self._last, now

    def _begin(self, now: int) -> None:
        """Begin a measurement."""
        self._measuring, self._since = True, now
        self._events = self._frames = self._octets = 0

    def _wait(self, gap: int) -> int:
        """Return the mean time from a frame to the end of the first gap of the period, among random frames ``gap`` apart: gap * (e^(period / gap) - 1), term by term."""
        period, longest = self._period, self._most * gap
        wait = term = period
        order = 2
        while term and wait < longest:
            term = term * period // (order * gap)
            wait += term
            order += 1
        return max(min(wait, longest), 1)

    def _decide(self, passed: int) -> bool:
        """Take a step by a measurement that took ``passed``; returns whether it is to another profile."""
        found = (
            _a_millisecond(self._octets, passed),
            _a_millisecond(self._frames, passed),
            _a_millisecond(_EVENTS, passed),
        )
        state, place = self._state, self._place
        if state == _RESTS:
            if _compared(found, self._before):
                self._set_off()
        elif state == _TIRED:
            self._steps -= 1
            if not self._steps:
                self._set_off()
        else:
            if _compared(found, self._before) <= 0:
                self._turn()
            if self._is_between():
                self._rest(_RESTS)
                self._steps = 0
            else:
                self._go()
        if state != _RESTS or self._state != _RESTS:
            self._before = found
        return self._place != place

    def _set_off(self) -> None:
        """Leave a profile at which the search has rested."""
        self._state = _DOWN if self._place else _UP
        self._go()

    def _turn(self) -> None:
        """Go the other way from here."""
        if self._state == _UP:
            self._state, self._downs = _DOWN, 0
        else:
            self._state, self._ups = _UP, 0

    def _is_between(self) -> bool:
        """True one step back from a turn, where more than one had led up to it: both sides are worse."""
        if self._state == _UP:
            return self._downs > 1 and self._ups == 1
        return self._ups > 1 and self._downs == 1

    def _go(self) -> None:
        """Take a step, or rest at an end of the profiles, or of the patience."""
        if self._steps == _PATIENCE:
            self._rest(_TIRED)
        elif (self._state == _UP and self._place == len(_PROFILES) - 1) or (self._state == _DOWN and not self._place):
            self._rest(_RESTS)
            self._steps = 0
        else:
            if self._state == _UP:
                self._place += 1
                self._ups += 1
            else:
                self._place -= 1
                self._downs += 1
            self._steps += 1

    def _rest(self, state: int) -> None:
        self._state, self._ups, self._downs = state, 0, 0


def _a_millisecond(count: int, passed: int) -> int:
    """Return a count over a millisecond, rounded up."""
    return -(-count * MS // passed) if passed else 0


def _compared(now: tuple[int, int, int], before: tuple[int, int, int]) -> int:
    """Return 1 where a measurement is better than the one before, -1 where it is worse, 0 where neither differs by more than a tenth."""
    for place in range(3):
        new, old = now[place], before[place]
        if not old:
            if place == 2:
                return 0
            return 1 if new else 0
        if 100 * abs(new - old) // old > 10:
            return 1 if (new > old) == (place < 2) else -1
    return 0
