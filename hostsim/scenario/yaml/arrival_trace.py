"""Arrival traces: files with one ascending instant in seconds per line, of an epoch, as in ``tshark``, or from the start of a run."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

from hostsim.config.files import display_name, read_text
from hostsim.config.quantity import LONGEST
from hostsim.errors import Fault, InputError
from hostsim.scenario.yaml.foreign_text import format_of
from hostsim.units import SECOND, seconds_to_ps

__all__ = ["read_instants"]

_MOST_FAULTS = 5
_LATEST = 1e11
"""Largest seconds of an epoch, some thousand years."""


def read_instants(file: Path) -> tuple[int, ...]:
    """Read the instants of an arrival trace in picoseconds; empty lines and lines that start with ``#`` are skipped.

    Instants beyond the longest run count from an epoch (``frame.time_epoch`` of tshark): they are shifted, so that the first one is 0.

    Raises:
        InputError: unreadable, empty, not ascending, or with a line that is not a number of seconds from 0 on.
    """
    name = display_name(file)
    text = read_text(file, name)
    instants: list[int] = []
    faults: list[Fault] = []
    first: Decimal | None = None
    for number, line in enumerate(text.splitlines(), 1):
        written = line.strip()
        if not written or written.startswith("#"):
            continue
        try:
            seconds = float(written)
        except ValueError:
            seconds = math.nan
        if not instants and LONGEST < seconds <= _LATEST:
            first = Decimal(written)
        # an exact difference, as a capture has nanoseconds
        picoseconds = _picoseconds(seconds) if first is None else _since(first, written, seconds)
        if picoseconds is None:
            allowed = f"seconds, 0..{LONGEST}" if first is None else f"seconds, {first}..{first + LONGEST}"
            faults.append(Fault("is not an instant", given=repr(written[:40]), allowed=allowed, file=name, line=number))
        elif instants and picoseconds < instants[-1]:
            allowed = "ascending seconds"
            faults.append(Fault("goes back in time", given=repr(written[:40]), allowed=allowed, file=name, line=number))
        else:
            instants.append(picoseconds)
        if len(faults) == _MOST_FAULTS:
            break
    if not instants and faults and (seen := format_of(text)):
        message = f"is {seen}, not an arrival trace"
        faults = [Fault(message, given=faults[0].given, allowed="seconds, one a line", file=name, line=faults[0].line)]
    if not instants and not faults:
        faults.append(Fault("contains no instants", allowed="seconds, one a line", file=name))
    if faults:
        raise InputError(faults)
    return tuple(instants)


def _picoseconds(seconds: float) -> int | None:
    return seconds_to_ps(seconds) if 0 <= seconds <= LONGEST else None


def _since(first: Decimal, written: str, seconds: float) -> int | None:
    if not 0 <= seconds <= _LATEST:
        return None
    difference = Decimal(written) - first
    return round(difference * SECOND) if difference <= LONGEST else None
