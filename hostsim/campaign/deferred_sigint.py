"""Deferred SIGINT: Ctrl-C during a run is recorded, and delivered at the next checkpoint of the run.

Compiled code treats an exception within arithmetic on large integers as a lack of memory and aborts the process, and the interpreter
calls signal handlers during such arithmetic. So no handler that raises may be installed while compiled code runs.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from hostsim.engine.checkpoint import add_check, remove_check

__all__ = ["DeferredSigint", "deferred_sigint"]


class DeferredSigint:
    """Signal handler that records SIGINT for later delivery.

    Args:
        former: the handler that gets the signal. If it has a method ``arrive``, this is called when the signal arrives, and
            KeyboardInterrupt is raised instead.
    """

    def __init__(self, former: Callable[[int, FrameType | None], object] | None = None) -> None:
        self._arrive: Callable[[], object] | None = getattr(former, "arrive", None)
        self._former = former if self._arrive is None else signal.default_int_handler
        self._pending = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Records a signal."""
        self._pending = True
        if self._arrive is not None:
            self._arrive()

    def deliver(self) -> None:
        """Delivers a recorded signal to the former handler, which raises KeyboardInterrupt by default.

        It stays recorded in threads other than the main one, which run no signal handlers.
        """
        if self._pending and self._former is not None and threading.current_thread() is threading.main_thread():
            self._pending = False
            self._former(signal.SIGINT, None)


@contextmanager
def deferred_sigint() -> Iterator[DeferredSigint]:
    """Defers SIGINT within a block to the next checkpoint, or to the end of the block.

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
    signal.signal(signal.SIGINT, handler)
    add_check(handler.deliver)
    try:
        yield handler
    finally:
        remove_check(handler.deliver)
        signal.signal(signal.SIGINT, former)
        handler.deliver()
