"""Ctrl-C during a run: it is noted when it comes, and acted upon between pieces of the run.

Compiled code takes any failure of arithmetic on large integers for a lack of memory and aborts the process; and the interpreter
calls signal handlers in the midst of such arithmetic. A handler that raises must not be in place while compiled code runs.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from hostsim.units import MS

if TYPE_CHECKING:
    from hostsim.engine.clock import Clock

__all__ = ["Hold", "advance", "hold"]

PIECE = MS
"""Simulated time between two looks at whether somebody has pressed Ctrl-C: a fraction of a second of work for the largest host."""


class Hold:
    """A handler of SIGINT that notes it for later.

    Args:
        former: the handler that acts upon it.
    """

    def __init__(self, former: Callable[[int, FrameType | None], object] | None = None) -> None:
        self._former = former
        self._noted = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Note a signal."""
        self._noted = True

    def give_way(self) -> None:
        """Do now what was to be done about a signal that has come: KeyboardInterrupt, unless the caller has another handler."""
        if self._noted and self._former is not None:
            self._noted = False
            self._former(signal.SIGINT, None)


@contextmanager
def hold() -> Iterator[Hold]:
    """Hold SIGINT back; one that came and was not acted upon before the end is acted upon there.

    It does nothing in a thread that no signal comes to, nor where SIGINT is ignored or ends the process. Within another one it is that one.
    """
    former = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(former):
        yield Hold()
        return
    if isinstance(former, Hold):
        yield former
        return
    held = Hold(former)
    try:
        signal.signal(signal.SIGINT, held)
        yield held
    finally:
        signal.signal(signal.SIGINT, former)
        held.give_way()


def advance(clock: Clock, until: int) -> None:
    """Let time pass as the clock does, and give way to a signal every now and then."""
    with hold() as held:
        while clock.now + PIECE < until:
            clock.advance(clock.now + PIECE)
            held.give_way()
        clock.advance(until)
        held.give_way()
