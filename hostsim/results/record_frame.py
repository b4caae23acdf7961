"""Counters of a run as tidy frames: by entity over the measured window, and by time slice.

`hostsim.engine.record` has the meanings of the counters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hostsim.engine.record import FloatArray, IntArray, RunRecord
from hostsim.errors import Fault, InputError, nearest_name, unknown_name
from hostsim.units import SECOND

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Packed", "counter_unit", "entities", "is_level", "rates", "require_finished", "series_frame", "unpacked"]


@dataclass(frozen=True, slots=True)
class Packed:
    """Rows of a table that a run adds, kept for each run of a sweep."""

    heads: tuple[tuple[Any, ...], ...]
    """First cells of each row, which are equal at most points of a sweep."""
    numbers: FloatArray
    """The other cells of each row, shape (rows, columns)."""


def unpacked(runs: Iterable[tuple[str, Packed]], heads: Sequence[str], numbers: Sequence[str]) -> pd.DataFrame:
    """The rows of runs as one frame, built by column, as a sweep has too many rows for a loop.

    Args:
        runs: point and rows of each run.
        heads: names of the columns of `Packed.heads`.
        numbers: names of the columns of `Packed.numbers`.
    """
    import pandas as pd  # seldom needed by workers, which import this module

    runs = list(runs)
    cells = [(point, *head) for point, packed in runs for head in packed.heads]
    columns: dict[str, Any] = {name: [row[i] for row in cells] for i, name in enumerate(("point", *heads))}
    table = np.concatenate([np.empty((0, len(numbers))), *(packed.numbers for _, packed in runs)])
    return pd.DataFrame(columns | dict(zip(numbers, table.T, strict=True)))


_LEVELS = frozenset(
    {
        *(
            "capacity",
            "context",
            "in_flight",
            "in_service",
            "in_slot",
            "inside",
            "inside_copies",
            "nic",
            "node",
            "ring_capacity",
        ),
        *("groups", "receivers", "ring_inside", "split_capacity", "split_inside", "unread", "users", "vcpu"),
        *("allowed", "connections", "window"),
    }
)
"""Counters that are levels or fixed, by the part of their name after the dot; all others are cumulative."""


def is_level(counter: str) -> bool:
    """True for a counter that is a level or fixed; others are cumulative, and their growth counts."""
    return counter.partition(".")[2] in _LEVELS


def counter_unit(counter: str) -> str:
    """Unit of a counter: ``ps`` for a time, ``B`` for octets; empty for counts and numbers."""
    name = counter.partition(".")[2]
    return "ps" if name.endswith("_ps") else "B" if name.endswith("octets") else ""


def entities(record: RunRecord, kind: str) -> pd.DataFrame:
    """Counters of every entity of a kind over the measured window of a run.

    Args:
        record: a finished run.
        kind: the part of a counter's name before the dot: ``pcpu``, ``vcpu``, ``port``.

    Returns:
        Columns ``entity``, ``counter`` (full name), ``value`` (growth over the window; for a level its value at the end) and
        ``unit`` of the value: ps, B, or empty for counts. ``attrs["units"]`` has the unit by counter.

    Raises:
        InputError: the run has failed, or has no counters of this kind.
    """
    import pandas as pd

    require_finished(record)
    kinds = list(dict.fromkeys(name.partition(".")[0] for name in record.series))
    if kind not in kinds:
        raise InputError(unknown_name("kind", "kind", kind, kinds))
    names = [name for name in record.series if name.partition(".")[0] == kind]
    frames = [
        pd.DataFrame(
            {
                "entity": list(record.series[name].entities),
                "counter": name,
                "value": _by_slice(record, name)[-1] if is_level(name) else record.window(name),
                "unit": counter_unit(name),
            }
        )
        for name in names
    ]
    return _joined(frames, names)


def series_frame(record: RunRecord) -> pd.DataFrame:
    """All counters of a run, time slice by time slice.

    Args:
        record: a finished run.

    Returns:
        Columns ``start_s``, ``end_s`` (of the slice, simulated seconds), ``entity``, ``counter`` (full name), ``value``
        (growth within the slice; for a level its value at the end of the slice) and ``unit`` of the value: ps, B, or empty for
        counts. ``attrs["units"]`` has the unit by counter. Warm-up is included; the measured window starts at slice
        ``record.cut``.

    Raises:
        InputError: the run has failed.
    """
    import pandas as pd

    require_finished(record)
    instants = record.instants_ps / SECOND
    slices = len(instants) - 1
    frames = [
        pd.DataFrame(
            {
                "start_s": np.repeat(instants[:-1], len(series.entities)),
                "end_s": np.repeat(instants[1:], len(series.entities)),
                "entity": np.tile(np.array(series.entities, dtype=object), slices),
                "counter": name,
                "value": _by_slice(record, name).ravel(),
                "unit": counter_unit(name),
            }
        )
        for name, series in record.series.items()
    ]
    frame = _joined(frames, record.series)
    frame.attrs["units"] |= {"start_s": "s", "end_s": "s"}
    return frame


def rates(record: RunRecord, counter: str) -> tuple[str, FloatArray]:
    """A counter in each time slice, for a plot, with its unit.

    Args:
        record: a finished run.
        counter: its full name.

    Returns:
        The unit, and values of shape (slices, entities): for a time its share in percent, for another cumulative
        counter its growth per second, for a level its value at the end of the slice.

    Raises:
        InputError: the run has failed, or has no such counter.
    """
    _require_counter(record, counter)
    values = _by_slice(record, counter).astype(np.float64)
    if is_level(counter):
        return "", values
    a_second = values * (SECOND / np.diff(record.instants_ps))[:, np.newaxis]
    match counter_unit(counter):
        case "ps":
            return "% of the time", a_second * (100.0 / SECOND)
        case "B":
            return "B/s", a_second
        case _:
            return "1/s", a_second


def require_finished(record: RunRecord) -> None:
    """Check that a run has finished.

    Raises:
        InputError: the run has failed and has no counters.
        TypeError: the argument is not a record, but for example results.
    """
    if not isinstance(record, RunRecord):
        kind = type(record).__name__
        raise TypeError(f"a record is needed, such as results.record() or one of results.records, not {kind}")
    if record.error is not None:
        last = (record.error.strip().splitlines() or [""])[-1]
        raise InputError(Fault("the run has failed and has no counters", "record", last, "a finished run"))


def _require_counter(record: RunRecord, counter: str) -> None:
    """Check that a finished run has a counter.

    Raises:
        InputError: the run has failed, or has no such counter.
    """
    require_finished(record)
    if counter not in record.series:
        counters = list(record.series)
        allowed = "a counter of hostsim.series_frame(record)"
        raise InputError(Fault("unknown counter", "counter", repr(counter), allowed, nearest_name(counter, counters)))


def _by_slice(record: RunRecord, counter: str) -> IntArray:
    """Growth of a counter in each time slice, or the value of a level at its end, shape (slices, entities)."""
    values = record.series[counter].values  # noqa: PD011  of a record, not of a frame
    slices: IntArray = values[1:] if is_level(counter) else np.diff(values, axis=0)
    return slices


def _joined(frames: list[pd.DataFrame], counters: Iterable[str]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.concat([part for part in frames if len(part)] or frames, ignore_index=True)
    frame.attrs["units"] = {name: counter_unit(name) for name in counters}
    return frame
