"""Arrival traces: files with one instant in seconds a line, ascending."""

from __future__ import annotations

import math
from pathlib import Path

from hostsim.errors import Fault, InputError
from hostsim.files import display_name, read_text
from hostsim.spec.quantity import LONGEST
from hostsim.units import seconds_to_ps

__all__ = ["read_instants"]

_MOST_FAULTS = 5


def read_instants(file: Path) -> tuple[int, ...]:
    """Read the instants of an arrival trace in picoseconds; empty lines and lines that start with ``#`` are skipped.

    Raises:
        InputError: not readable as text, empty, a line that is not a number of seconds from 0 on, or not ascending.
    """
    name = display_name(file)
    lines = read_text(file, name).splitlines()
    instants: list[int] = []
    faults: list[Fault] = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            seconds = float(text)
        except ValueError:
            seconds = math.nan
        if not 0 <= seconds <= LONGEST:
            allowed = f"seconds, 0..{LONGEST}"
            faults.append(Fault("is not an instant", given=repr(text[:40]), allowed=allowed, file=name, line=number))
        elif instants and seconds_to_ps(seconds) < instants[-1]:
            faults.append(
                Fault("goes back in time", given=repr(text[:40]), allowed="ascending seconds", file=name, line=number)
            )
        else:
            instants.append(seconds_to_ps(seconds))
        if len(faults) == _MOST_FAULTS:
            break
    if not instants and not faults:
        faults.append(Fault("holds no instants", allowed="seconds, one a line", file=name))
    if faults:
        raise InputError(faults)
    return tuple(instants)
