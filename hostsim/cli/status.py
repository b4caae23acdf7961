"""End of a command: exit statuses, and Ctrl-C, after which finished runs are stored."""

from __future__ import annotations

import os
import signal
import sys
from enum import IntEnum
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["GRACE_S", "CommandSigint", "Status"]


class Status(IntEnum):
    """Exit status of a command that does not succeed."""

    CLAIM = 1
    """A claim has an unexpected verdict, or a curve moved."""
    INPUT = 2
    """Bad input, or a file that cannot be read or written."""
    FAILED_RUNS = 3
    """A sweep finished with failed runs, or its cluster was lost."""
    INTERNAL = 4
    """An error in the program, with a traceback."""
    INTERRUPTED = 130
    """Ctrl-C or SIGTERM; finished runs are stored."""


GRACE_S = 1.5
"""Limit of a command's processor time after Ctrl-C."""


class CommandSigint:
    """SIGINT handler of a command: raises KeyboardInterrupt, and ends the process if it does not end soon.

    A second Ctrl-C, or `GRACE_S` of processor time after the first, always ends the process with status 130. Finished
    runs are not lost, as every run is stored when it ends.
    """

    def __init__(self) -> None:
        self.has_come = False
        """True after a signal."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Receives a signal."""
        self.arrive()
        raise KeyboardInterrupt

    def unraisable(self, lost: UnraisableHookArgs) -> None:
        """``sys.unraisablehook``: ends the process on a KeyboardInterrupt inside a finaliser or weak-reference callback."""
        if lost.exc_type is KeyboardInterrupt:
            end(b"interrupted\n")
        sys.__unraisablehook__(lost)

    def arrive(self) -> None:
        """Limits the remaining processor time; ends the process at the second call. A handler that defers the signal also calls it."""
        if self.has_come:
            end(b"interrupted\n")
        self.has_come = True
        if sys.platform != "win32":
            signal.signal(signal.SIGPROF, _end_late)
            signal.setitimer(signal.ITIMER_PROF, GRACE_S)


def _end_late(number: int, frame: FrameType | None) -> None:
    is_told = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # the command has printed it, and is ending
    end(b"" if is_told else b"interrupted\n")


def end(words: bytes = b"") -> None:
    """End the worker processes, then this process, at once with the status of an interrupt.

    Args:
        words: for stderr.
    """
    try:
        if words:
            if os.isatty(2):
                words = b"\x1b[?25h\n" + words  # a progress bar hides the cursor
            os.write(2, words)
        if processes := sys.modules.get("multiprocessing"):
            for worker in processes.active_children():
                worker.kill()
    finally:
        os._exit(Status.INTERRUPTED)
