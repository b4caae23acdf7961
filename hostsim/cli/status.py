"""Exit statuses of the command line; 0 is success."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Status"]


class Status(IntEnum):
    """Why a command did not end with 0."""

    CLAIM = 1
    """A claim is not as it should be, or a curve moved."""
    INPUT = 2
    """What the user wrote cannot be used, or a file cannot be read or written."""
    FAILED_RUNS = 3
    """A sweep finished with failed runs."""
    INTERNAL = 4
    """An error in the program: there is a traceback."""
    INTERRUPTED = 130
    """Ctrl-C; everything finished is kept."""
