"""Recorded loads: files of ascending instants in seconds (as from ``tshark``), or of instants with rates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from hostsim.config.arrival import MOST_PHASES
from hostsim.config.files import display_name, read_text
from hostsim.config.quantity import LONGEST
from hostsim.errors import Fault, raise_faults
from hostsim.scenario.yaml.foreign_text import format_of
from hostsim.units import SECOND, seconds_to_ps

__all__ = ["read_instants", "read_profile"]

_MOST_FAULTS = 5
_EACH = "a number of seconds on each line"
_LATEST = 1e11
"""Largest time since an epoch in seconds, about a thousand years."""


def read_instants(file: Path) -> tuple[int, ...]:
    """Read the instants of an arrival trace in picoseconds; empty lines and lines that start with ``#`` are skipped.

    Instants beyond the longest run count from an epoch (``frame.time_epoch`` of tshark): they are shifted, so that the first one is 0.

    Raises:
        InputError: unreadable, empty, not ascending, or with a line that is not a number of seconds from 0 on.
    """
    instants: list[int] = []
    first: Decimal | None = None

    def take(written: str) -> tuple[str, str] | None:
        nonlocal first
        try:
            seconds = float(written)
        except ValueError:
            seconds = math.nan
        if not instants and LONGEST < seconds <= _LATEST:
            first = Decimal(written)
        # the difference is exact, as captures have nanoseconds
        picoseconds = _picoseconds(seconds) if first is None else _since(first, written, seconds)
        if picoseconds is None:
            allowed = f"seconds, 0..{LONGEST}" if first is None else f"seconds, {first}..{first + LONGEST}"
            return "is not an instant", allowed
        if instants and picoseconds < instants[-1]:
            return "goes back in time", "ascending seconds"
        instants.append(picoseconds)
        return None

    name = display_name(file)
    text = read_text(file, name)
    faults = _faults(text, name, take)
    if not instants and faults and (other_format := format_of(text)):
        faults = [replace(faults[0], message=f"is {other_format}, not an arrival trace", allowed=_EACH)]
    if not instants and not faults:
        faults = [Fault("contains no instants", allowed=_EACH, file=name)]
    raise_faults(faults)
    return tuple(instants)


def read_profile(file: Path) -> tuple[dict[str, str], ...]:
    """Read the phases of a file of rates. Each line has a time in seconds and the arrivals per second from then on,
    separated by a comma or blanks.

    Empty lines and lines that start with ``#`` are skipped. The first time is the start of the run, whatever its value;
    the last line lasts as long as the one before it.

    Returns:
        Phases as a scenario writes them, with ``rate`` and ``length``.

    Raises:
        InputError: not readable as text, fewer than two lines or too many, a line that is not two numbers, not ascending, or no rate above 0.
    """
    rates: list[tuple[Decimal, float]] = []

    def take(written: str) -> tuple[str, str] | None:
        entry = _instant_and_rate(written)
        if entry is None:
            allowed = "a time in seconds and the arrivals per second from then on, both at least 0: 3600,25000"
            return "is not a rate", allowed
        if rates and not 0 < entry[0] - rates[-1][0] <= LONGEST:
            return "is not later than the line before", f"seconds above {rates[-1][0]} by at most {LONGEST}"
        rates.append(entry)
        return None

    name = display_name(file)
    faults = _faults(read_text(file, name), name, take)
    if not faults and not 2 <= len(rates) <= MOST_PHASES:
        faults.append(Fault(f"has {len(rates)} lines with a rate", allowed=f"2..{MOST_PHASES}", file=name))
    elif not faults and not any(rate for _, rate in rates):
        faults.append(Fault("has no rate above 0", allowed="at least one", file=name))
    raise_faults(faults)
    lengths = [later[0] - earlier[0] for earlier, later in pairwise(rates)]
    lengths.append(lengths[-1])
    return tuple(
        {"rate": f"{rate} pps", "length": f"{length} s"} for (_, rate), length in zip(rates, lengths, strict=True)
    )


def _faults(text: str, name: str, take: Callable[[str], tuple[str, str] | None]) -> list[Fault]:
    """Pass each line with a value to a reader, which returns the message and the allowed values of a fault.

    Args:
        text: of the file.
        name: of the file.
        take: the reader.
    """
    faults: list[Fault] = []
    for line_number, line in enumerate(text.splitlines(), 1):
        written = line.strip()
        if written and not written.startswith("#") and (fault := take(written)) is not None:
            message, allowed = fault
            faults.append(Fault(message, given=repr(written[:40]), allowed=allowed, file=name, line=line_number))
            if len(faults) == _MOST_FAULTS:
                break
    return faults


def _instant_and_rate(written: str) -> tuple[Decimal, float] | None:
    parts = written.replace(",", " ").split()
    try:
        instant, rate = (float(part) for part in parts)
    except ValueError:
        return None
    return (Decimal(parts[0]), rate) if 0 <= instant <= _LATEST and 0 <= rate <= SECOND else None


def _picoseconds(seconds: float) -> int | None:
    return seconds_to_ps(seconds) if 0 <= seconds <= LONGEST else None


def _since(first: Decimal, written: str, seconds: float) -> int | None:
    if not 0 <= seconds <= _LATEST:
        return None
    difference = Decimal(written) - first
    return round(difference * SECOND) if difference <= LONGEST else None
