"""What a run may need: memory and wall-clock time. One that needs more fails as a row, and the machine and the sweep go on."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from hostsim.errors import Fault, InputError

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

            resource.setrlimit(resource.RLIMIT_DATA, (self.memory_bytes, self.memory_bytes))


NO_LIMITS = Limits()


def limits(memory_bytes: int | None, time_s: float | None) -> Limits:
    """The limits that options ask for.

    Raises:
        InputError: they are none, or this system cannot keep them.
    """
    faults = [
        Fault("is no limit", option, f"{value:g} {unit}", "a quantity above 0")
        for option, value, unit in (("--max-memory", memory_bytes, "B"), ("--max-time", time_s, "s"))
        if value is not None and value <= 0
    ]
    if memory_bytes is not None and sys.platform != "linux":
        faults.append(Fault("cannot be kept on this system", "--max-memory", f"{memory_bytes} B", "Linux"))
    if faults:
        raise InputError(faults)
    return Limits(memory_bytes, time_s)
