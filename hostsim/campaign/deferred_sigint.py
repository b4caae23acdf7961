"""Deferred SIGINT: Ctrl-C during a run is recorded when it arrives, and delivered between pieces of the run.

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

__all__ = ["DeferredSigint", "advance", "deferred_sigint"]

PIECE = MS
"""Simulated time between two deliveries of a recorded signal: a fraction of a second of work for the largest host."""


class DeferredSigint:
    """Signal handler that records SIGINT for later delivery.

    Args:
        former: the handler that the signal is delivered to.
    """

    def __init__(self, former: Callable[[int, FrameType | None], object] | None = None) -> None:
        self._former = former
        self._pending = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Records a signal."""
        self._pending = True

    def deliver(self) -> None:
        """Delivers a recorded signal to the former handler: KeyboardInterrupt, unless the caller has another one."""
        if self._pending and self._former is not None:
            self._pending = False
            self._former(signal.SIGINT, None)


@contextmanager
def deferred_sigint() -> Iterator[DeferredSigint]:
    """Defers SIGINT within a block; a signal that is still recorded at its end is delivered there.

    Does nothing in a thread that receives no signals, nor where SIGINT is ignored or ends the process. A nested block shares the outer handler.
    """
    former = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(former):
        yield DeferredSigint()
        return
    if isinstance(former, DeferredSigint):
        yield former
        return
    handler = DeferredSigint(former)
    try:
        signal.signal(signal.SIGINT, handler)
        yield handler
    finally:
        signal.signal(signal.SIGINT, former)
        handler.deliver()


def advance(clock: Clock, until: int) -> None:
    """Advances a clock in pieces, and delivers SIGINT after each."""
    with deferred_sigint() as handler:
        while clock.now + PIECE < until:
            clock.advance(clock.now + PIECE)
            handler.deliver()
        clock.advance(until)
        handler.deliver()
