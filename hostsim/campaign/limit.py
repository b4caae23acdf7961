"""What a run may need: memory and wall-clock time. One that needs more fails as a row, and the machine and the sweep go on."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from numbers import Real

from hostsim.errors import Fault, InputError, is_integer

__all__ = ["NO_LIMITS", "Limits", "limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a run may need."""

    memory_bytes: int | None = None
    """Of the process that does it, its libraries included; None for as much as there is."""
    time_s: float | None = None
    """On the wall clock; None for as long as it takes."""

    def __bool__(self) -> bool:
        """True when there is one."""
        return self.memory_bytes is not None or self.time_s is not None

    def apply(self) -> None:
        """Bounds the memory of this process, for good: what asks for more gets a MemoryError."""
        if self.memory_bytes is not None:
            import resource

            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            most = self.memory_bytes if hard == resource.RLIM_INFINITY else min(self.memory_bytes, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))


NO_LIMITS = Limits()
_MOST_BYTES = 2**63
"""More than that no system counts."""


def limits(memory_bytes: int | None, time_s: float | None) -> Limits:
    """The limits that options ask for.

    Raises:
        InputError: they are none, or this system cannot keep them.
    """
    faults = []
    if memory_bytes is not None and (not is_integer(memory_bytes) or not 0 < memory_bytes < _MOST_BYTES):
        allowed = f"whole bytes above 0 and below {_MOST_BYTES:.3g}"
        faults.append(Fault("is no limit", "--max-memory", _words(memory_bytes, "B"), allowed))
    if time_s is not None and not (isinstance(time_s, Real) and 0 < time_s < math.inf):
        faults.append(Fault("is no limit", "--max-time", _words(time_s, "s"), "a finite time above 0"))
    if memory_bytes is not None and sys.platform != "linux":
        faults.append(Fault("cannot be kept on this system", "--max-memory", f"{memory_bytes} B", "Linux"))
    if faults:
        raise InputError(faults)
    return Limits(memory_bytes, time_s)


def _words(given: object, unit: str) -> str:
    return f"{given:g} {unit}" if isinstance(given, int | float) else repr(given)
