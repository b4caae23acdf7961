"""Exceptions that hostsim raises on purpose, each with its data as attributes.

::

    HostsimError
    ├── InputError         invalid input; carries every fault of the file (exit status 2)
    ├── WiringError        a part of the host is not connected; raised before the simulation starts
    ├── InvariantError     a conservation law of the simulated host is violated; fails the point
    ├── StoreError         a results folder that cannot be read or written
    ├── WorkerError        a worker process that was killed, or cannot be started
    └── ClusterError       the scheduler of a cluster was lost during a sweep (exit status 3)
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from numbers import Integral

__all__ = [
    "ClusterError",
    "Fault",
    "HostsimError",
    "InputError",
    "InvariantError",
    "StoreError",
    "WiringError",
    "WorkerError",
    "is_integer",
    "nearest_name",
    "raise_faults",
    "unknown_name",
    "with_article",
]


@dataclass(frozen=True)
class Fault:
    """A fault in the user's input: file, line, value given, values allowed, nearest name."""

    message: str
    """The problem, in the terms of the YAML file."""
    path: str = ""
    """Dotted path of the key inside the file (``vms.receiver.count``), empty for the file itself; or the option of a command."""
    given: str = ""
    """The value as it was written."""
    allowed: str = ""
    """The allowed values."""
    nearest: str = ""
    """The nearest known name, when a name is unknown."""
    file: str = ""
    """The file, or the option (``--set``) that has the key."""
    line: int | None = None

    def __str__(self) -> str:
        """The fault as the Python interface raises it, with arguments instead of options."""
        file, path = _argument(self.file), _argument(self.path)
        return self._after("", f"{file}[{path!r}]") if path and self.file.startswith("--") else self._after(file, path)

    def on_command_line(self) -> str:
        """The fault as a command prints it, with options instead of arguments."""
        return self._after(self.file, self.path)

    def _after(self, file: str, path: str) -> str:
        place = file + (f":{self.line}" if self.line is not None else "")
        text = ": ".join(part for part in (place, path, self.message) if part)
        if self.given:
            text += f"; given {self.given}"
        if self.allowed:
            text += f"; allowed: {self.allowed}"
        if self.nearest:
            text += f"; did you mean {self.nearest!r}?"
        return text


_ARGUMENTS = {"--set": "overrides", "--axis": "axes", "--plugin": "plugins"}
"""Arguments of the Python interface whose names differ from those of their options."""


def _argument(option: str) -> str:
    return _ARGUMENTS.get(option, option.removeprefix("--").replace("-", "_") if option.startswith("--") else option)


class HostsimError(Exception):
    """Base of all errors that hostsim raises on purpose."""


class InputError(HostsimError):
    """Invalid user input.

    Attributes:
        faults: every fault found, in the order of the file.
    """

    def __init__(self, faults: Fault | Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = (faults,) if isinstance(faults, Fault) else tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[Fault, ...]]]:
        return type(self), (self.faults,)

    def at(self, file: str, line: int | None = None) -> InputError:
        """The same faults, with the given place for those without one."""
        return InputError(
            replace(f, file=f.file or file, line=f.line if f.line is not None else line) for f in self.faults
        )


class WiringError(HostsimError):
    """A part of the host lacks its other end: a ring without a consumer, a world without a home."""


class InvariantError(HostsimError):
    """An invariant (conservation law) of the simulated host was violated.

    Attributes:
        what: the law, in words.
        where: the part at which it is violated.
        when_ps: simulated time in picoseconds.
    """

    def __init__(self, what: str, where: str, when_ps: int) -> None:
        self.what, self.where, self.when_ps = what, where, when_ps
        super().__init__(f"{what} at {where}, {when_ps / 1e12:.9f} s simulated")

    def __reduce__(self) -> tuple[type[InvariantError], tuple[str, str, int]]:
        return type(self), (self.what, self.where, self.when_ps)


class StoreError(HostsimError):
    """A results folder or a file in it cannot be read or written."""


class WorkerError(HostsimError):
    """A worker process was killed, or cannot be started."""


class ClusterError(HostsimError):
    """The scheduler of a cluster was lost during a sweep; finished runs are stored."""


def is_integer(value: object) -> bool:
    """True for an integer of any library; False for a Boolean."""
    return isinstance(value, Integral) and not isinstance(value, bool)


MEANT = {
    "duration": "length",
    "time": "length",
    "repetitions": "replications",
    "runs": "replications",
    "cores": "vcpus",
    "nps": "nodes_per_socket",
    "snc": "nodes_per_socket",
    "numa_nodes": "nodes_per_socket",
    "turbo": "all_core_turbo",
    "ccx": "core_complex",
    "l3": "core_complex",
    "llc": "core_complex",
}
"""Names used elsewhere for a known thing, which their spelling would not find."""


def with_article(noun: str) -> str:
    """A noun after its indefinite article, by its first letter."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def nearest_name(given: str, names: Collection[str]) -> str:
    """The known name nearest to the given one by meaning or spelling; empty if none is near."""
    if MEANT.get(given) in names:
        return MEANT[given]
    if len(given) > 2 * max(map(len, names), default=0):  # similarity below 0.6, and slow to compare
        return ""
    matches = difflib.get_close_matches(given, names, n=1, cutoff=0.6)
    if matches:
        return matches[0]
    folded = {name.casefold(): name for name in names}
    matches = difflib.get_close_matches(given.casefold(), list(folded), n=1, cutoff=0.6)
    return folded[matches[0]] if matches else ""


def unknown_name(what: str, path: str, given: object, names: Collection[str]) -> Fault:
    """The fault of an unknown name, with the known names and the nearest of them.

    Args:
        what: kind of the names: ``axis``.
        path: key, option or argument that has the name.
        given: the name.
        names: the known names.
    """
    allowed = "one of " + ", ".join(names) if names else f"nothing, because no {what} is defined"
    return Fault(f"unknown {what}", path, repr(given), allowed, nearest_name(str(given), names))


def raise_faults(faults: Iterable[Fault]) -> None:
    """Raise an `InputError` with all faults, if there is any."""
    if found := tuple(faults):
        raise InputError(found)
