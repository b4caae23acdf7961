"""Axes of a table: which they are, what they are called, where their values stand in a figure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hostsim.errors import Fault, InputError, nearest_name
from hostsim.metrics import CATALOGUE
from hostsim.record import Scalar
from hostsim.results.table import axes_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["axis_label", "is_numeric", "metric_label", "name_places", "placement", "rows_at"]

_QUANTITY = re.compile(r"\s*([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*([^\d\s].*)?\Z")
_LETTERS = 62
"""Letters that fit under a figure side by side; longer names are written at a slant."""


def rows_at(table: pd.DataFrame, at: Mapping[str, Scalar], place: str = "at") -> pd.DataFrame:
    """The rows at given values of axes; a value may be given as it is written (``"40 kpps"``, ``1`` or ``"1"``).

    Args:
        table: one row a point and replication.
        at: value by axis.
        place: what the fault of a wrong one is said to stand at.

    Raises:
        InputError: an unknown axis, or a value that no point has.
    """
    axes, rows = axes_of(table), table
    for axis, value in at.items():
        if axis not in axes:
            allowed = "one of " + ", ".join(axes) if axes else "nothing: there are no axes"
            raise InputError(Fault("unknown axis", place, repr(axis), allowed, nearest_name(axis, axes)))
        known = list(dict.fromkeys(rows[axis].astype(str)))
        rows = rows[rows[axis].astype(str) == str(value)]
        if rows.empty:
            raise InputError(Fault("no point is there", f"{place} {axis}", repr(value), "one of " + ", ".join(known)))
    return rows


def metric_label(name: str) -> str:
    """The metric's name and unit as they stand in the catalogue: ``guest cpu (% of a vCPU)``."""
    return f"{name.replace('_', ' ')} ({CATALOGUE[name].unit})"


def axis_label(name: str, values: Sequence[Scalar]) -> str:
    """The axis by its name, with the unit that all its values share, if they do: ``rate (kpps)``."""
    _, unit = _numbers(values)
    return f"{name.replace('_', ' ')} ({unit})" if unit else name.replace("_", " ")


def is_numeric(values: Sequence[Scalar]) -> bool:
    """True when all values are numbers, with one unit or without."""
    return _numbers(values)[0] is not None


def placement(values: Sequence[Scalar], *, beside: bool = False) -> dict[str, float]:
    """Where on the x axis each value stands, by its text: at its number, or one after the other.

    Args:
        values: each once, in order.
        beside: one after the other even where they are numbers.
    """
    numbers, _ = _numbers(values)
    if numbers is not None and not beside:
        return numbers
    return {str(value): float(i) for i, value in enumerate(values)}


def name_places(axes: Axes, place: Mapping[str, float]) -> None:
    """Write the values under their places: numbers without the unit that stands in the axis' label."""
    numbers, _ = _numbers(list(place))
    names = [f"{numbers[text]:g}" if numbers is not None else text for text in place]
    axes.set_xticks(list(place.values()), names)
    if len(names) * (max(map(len, names), default=0) + 1) > _LETTERS:
        axes.tick_params(axis="x", labelrotation=25)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")


def _numbers(values: Sequence[Scalar]) -> tuple[dict[str, float] | None, str]:
    """Each value as a number, keyed by its text, and the unit they share; None where they are not all such."""
    found: dict[str, float] = {}
    units = set()
    for value in values:
        match = None if isinstance(value, bool) else _QUANTITY.match(str(value))
        if match is None:
            return None, ""
        found[str(value)] = float(match[1])
        units.add(match[2] or "")
    return (found, units.pop()) if len(units) == 1 else (None, "")
