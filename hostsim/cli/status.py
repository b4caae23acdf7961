"""Exit statuses of the command line; 0 is success."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Status"]


class Status(IntEnum):
    """Exit status of a command that does not succeed."""

    CLAIM = 1
    """A claim does not have its expected verdict, or a curve moved."""
    INPUT = 2
    """Bad input, or a file that cannot be read or written."""
    FAILED_RUNS = 3
    """A sweep finished with failed runs, or its cluster was lost."""
    INTERNAL = 4
    """An error in the program: there is a traceback."""
    INTERRUPTED = 130
    """Ctrl-C; finished runs are kept."""
