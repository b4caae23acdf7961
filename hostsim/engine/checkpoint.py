"""Checkpoints: the places in a long calculation at which its caller may interrupt it.

The interpreter runs signal handlers only between bytecode instructions, so that compiled code may run for minutes
without them. A checkpoint calls functions of the caller; an exception of theirs ends the calculation. Checkpoints are
placed between pieces of work with a bounded number of events, not a bounded simulated time, as a microsecond may have
any number of events (docs/design/store.md).
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["add_check", "checkpoint", "remove_check"]

_checks: list[Callable[[], object]] = []


def add_check(check: Callable[[], object]) -> None:
    """Register a function that every checkpoint calls, in the thread of the calculation."""
    _checks.append(check)


def remove_check(check: Callable[[], object]) -> None:
    """Remove a registered function.

    Raises:
        ValueError: the function is not registered.
    """
    _checks.remove(check)


def checkpoint() -> None:
    """Call the registered functions; their exceptions pass to the caller."""
    for check in _checks:
        check()
