"""Resource limits of a run: memory and wall-clock time. A run that exceeds one becomes a failed row, and the sweep goes on."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from numbers import Real

from hostsim.errors import Fault, InputError, is_integer

__all__ = ["NO_LIMITS", "ResourceLimits", "resource_limits"]


@dataclass(frozen=True)
class ResourceLimits:
    """Limits on the memory and the wall-clock time of a run."""

    memory_bytes: int | None = None
    """Memory limit of the process of a run, its libraries included; None for no limit."""
    time_s: float | None = None
    """Wall-clock time limit of a run; None for no limit."""

    def __bool__(self) -> bool:
        """True when there is any limit."""
        return self.memory_bytes is not None or self.time_s is not None

    def apply(self) -> None:
        """Sets the memory limit of this process (``RLIMIT_DATA``), for good: an allocation beyond it raises MemoryError."""
        if self.memory_bytes is not None:
            import resource

            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            most = self.memory_bytes if hard == resource.RLIM_INFINITY else min(self.memory_bytes, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))


NO_LIMITS = ResourceLimits()
_MOST_BYTES = 2**63
"""Smallest number of bytes that no system can count."""


def resource_limits(memory_bytes: int | None, time_s: float | None) -> ResourceLimits:
    """Checks the resource limits that options give, and returns them.

    Raises:
        InputError: a value is no limit, or this system cannot enforce it.
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
    return ResourceLimits(memory_bytes, time_s)


def _words(given: object, unit: str) -> str:
    return f"{given:g} {unit}" if isinstance(given, int | float) else repr(given)
