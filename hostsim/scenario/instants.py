"""Files of arrivals: one instant in seconds a line, ascending."""

from __future__ import annotations

import math
from pathlib import Path

from hostsim.errors import Fault, InputError
from hostsim.scenario.published import display_name
from hostsim.units import seconds_to_ps

__all__ = ["read_instants"]

_MOST_FAULTS = 5


def read_instants(file: Path) -> tuple[int, ...]:
    """The instants of a file in picoseconds; empty lines and lines that start with ``#`` are passed over.

    Raises:
        InputError: not there, not text, empty, a line that is not a number of seconds from 0 on, or not ascending.
    """
    name = display_name(file)
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, IsADirectoryError):
        raise InputError(Fault("file not found", given=repr(name))) from None
    except (OSError, UnicodeDecodeError):
        raise InputError(Fault("cannot be read as text", file=name)) from None
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
        if not 0 <= seconds < math.inf:
            faults.append(
                Fault("is not an instant", given=text[:40], allowed="seconds from 0 on", file=name, line=number)
            )
        elif instants and seconds_to_ps(seconds) < instants[-1]:
            faults.append(Fault("goes back in time", given=text, allowed="ascending seconds", file=name, line=number))
        else:
            instants.append(seconds_to_ps(seconds))
        if len(faults) == _MOST_FAULTS:
            break
    if not instants and not faults:
        faults.append(Fault("holds no instants", allowed="seconds, one a line", file=name))
    if faults:
        raise InputError(faults)
    return tuple(instants)
