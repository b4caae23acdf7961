"""Checkpoints: the places in a long calculation at which its caller may interrupt it.

The interpreter runs signal handlers only between the instructions of its own programs, and compiled code may go without them for
minutes. At a checkpoint functions of the caller are called, and what these raise ends the calculation there. Checkpoints lie
between pieces of work that are bounded by their number, not by simulated time: in a microsecond of it anything may happen
(docs/design/store.md).
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["add_check", "checkpoint", "remove_check"]

_checks: list[Callable[[], object]] = []


def add_check(check: Callable[[], object]) -> None:
    """Have a function called at every checkpoint, in whatever thread the calculation is."""
    _checks.append(check)


def remove_check(check: Callable[[], object]) -> None:
    """Call a function no longer.

    Raises:
        ValueError: it was not called.
    """
    _checks.remove(check)


def checkpoint() -> None:
    """Call the functions that were added; what they raise is the caller's."""
    for check in _checks:
        check()
