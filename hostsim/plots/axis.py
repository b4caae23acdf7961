"""Axes of a figure: labels with units, and the position and tick label of each value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from hostsim.metrics.label import label_of, unit_of
from hostsim.record import Scalar

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axis_label", "is_numeric", "label_ticks", "metric_label", "tick_positions", "with_unit"]

_QUANTITY = re.compile(r"\s*([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*([^\d\s].*)?\Z")
_LETTERS = 62
"""Letters that fit under a figure side by side; longer names are written at a slant."""


def metric_label(name: str) -> str:
    """Label of a metric with its unit: ``Guest CPU (% of a vCPU)``."""
    return with_unit(label_of(name), unit_of(name))


def with_unit(label: str, unit: str) -> str:
    """A label with a unit in brackets, if there is one."""
    return f"{label} ({unit})" if unit else label


def axis_label(label: str, values: Sequence[Scalar]) -> str:
    """Label of an axis, with a capital (not of ``vNIC``) and the unit that all its values share, if they do: ``Rate (kpps)``."""
    _, unit = _numbers(values)
    first = label.partition(" ")[0]
    return with_unit(label[:1].upper() + label[1:] if first.islower() else label, {"us": "µs"}.get(unit, unit))


def is_numeric(values: Sequence[Scalar]) -> bool:
    """True when all values are numbers, with one unit or without."""
    return _numbers(values)[0] is not None


def tick_positions(values: Sequence[Scalar], *, beside: bool = False) -> dict[str, float]:
    """Positions of values on the x axis, by their text: at their numbers, or one after the other.

    Args:
        values: each once, in order.
        beside: one after the other even where they are numbers.
    """
    numbers, _ = _numbers(values)
    if numbers is not None and not beside:
        return numbers
    return {str(value): float(i) for i, value in enumerate(values)}


def label_ticks(axes: Axes, place: Mapping[str, float], name: Callable[[str], str]) -> None:
    """Write the tick labels: names of values where they have one, numbers without the unit, which is in the axis' label."""
    numbers, _ = _numbers(list(place))
    names = [f"{numbers[text]:g}" if numbers is not None and name(text) == text else name(text) for text in place]
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
