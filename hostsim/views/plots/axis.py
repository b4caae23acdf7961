"""Axes of a figure: labels with units, positions of values, and axes shared by several results."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from hostsim.engine.record import Scalar
from hostsim.errors import Fault, raise_faults
from hostsim.results.curve import y_unit
from hostsim.results.expect import Verdict
from hostsim.results.figure import FigureSpec
from hostsim.results.metrics.catalogue import label_of, unit_of
from hostsim.views.plots.curve import DataSeries, series_of
from hostsim.views.plots.style import LETTER_INCHES, look_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = [
    "Layer",
    "axis_label",
    "draw_layers",
    "is_numeric",
    "label_ticks",
    "longest_word",
    "metric_label",
    "numbers_of",
    "series_of_layers",
    "shown_unit",
    "tick_letters",
    "tick_positions",
    "with_unit",
]


_QUANTITY = re.compile(r"\s*([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*([^\d\s].*)?\Z")


def shown_unit(unit: str) -> str:
    """A unit as figures and pages show it: ``µs`` for ``us``."""
    return {"us": "µs"}.get(unit, unit)


def metric_label(name: str) -> str:
    """Label of a metric with its unit: ``Guest CPU (% of a vCPU)``."""
    return with_unit(label_of(name), unit_of(name))


def with_unit(label: str, unit: str) -> str:
    """A label with its unit in brackets, if it has a unit."""
    return f"{label} ({unit})" if unit else label


def axis_label(label: str, values: Sequence[Scalar]) -> str:
    """Label of an axis with an initial capital (except ``vNIC``) and the common unit of its values: ``Rate (kpps)``."""
    _, unit = numbers_of(values)
    first = label.partition(" ")[0]
    return with_unit(label[:1].upper() + label[1:] if first.islower() else label, shown_unit(unit))


def numbers_of(values: Sequence[Scalar]) -> tuple[dict[str, float] | None, str]:
    """Each value as a number by its text, and the common unit; None unless all values are numbers of one unit."""
    amounts: dict[str, float] = {}
    units = set()
    for value in values:
        match = None if isinstance(value, bool) else _QUANTITY.match(str(value))
        if match is None:
            return None, ""
        amounts[str(value)] = float(match[1])
        units.add(match[2] or "")
    return (amounts, units.pop()) if len(units) == 1 else (None, "")


def is_numeric(values: Sequence[Scalar]) -> bool:
    """True if all values are numbers with the same unit, or without a unit."""
    return numbers_of(values)[0] is not None


def tick_positions(values: Sequence[Scalar], *, beside: bool = False) -> dict[str, float]:
    """Positions of values on the x axis by text: their numbers, or equally spaced.

    Args:
        values: each value once, in order.
        beside: equally spaced, even if they are numbers.
    """
    numbers, _ = numbers_of(values)
    if numbers is not None and not beside:
        return numbers
    return {str(value): float(i) for i, value in enumerate(values)}


def label_ticks(axes: Axes, place: Mapping[str, float], name: Callable[[str], str], inches: float) -> None:
    """Write the tick labels: names of values, or numbers without the unit, which is in the axis label.

    Args:
        axes: the axes.
        place: position of each value, by its text.
        name: of a value.
        inches: width of the axes; longer names are wrapped, or slanted if a single word is too long.
    """
    numbers, _ = numbers_of(list(place))
    names = [f"{numbers[text]:g}" if numbers is not None and name(text) == text else name(text) for text in place]
    room = tick_letters(len(names), inches)
    words = longest_word(names)
    if words <= room:
        names = [textwrap.fill(text, room, break_long_words=False) for text in names]
    axes.set_xticks(list(place.values()), names)
    if words > room:
        axes.tick_params(axis="x", labelrotation=25)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")


def tick_letters(count: int, inches: float) -> int:
    """Number of letters that fit each of a number of names below axes of a given width."""
    return int(inches / (1.1 * LETTER_INCHES) / max(count, 1)) - 1


def longest_word(names: Iterable[str]) -> int:
    """Length of the longest word."""
    return max((len(word) for text in names for word in text.split()), default=0)


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer: the figure of one table, on axes that may have further layers."""

    table: pd.DataFrame
    """Rows of the table, with axis values as written in the scenario."""
    figure: FigureSpec
    published: Sequence[Verdict] = ()
    name: str = ""
    """Name of the results, for a legend of several results."""


@dataclass(frozen=True)
class _Drawn:
    layers: tuple[Layer, ...]
    artists: WeakSet[Any]
    """Artists of the drawing, as weak references, because artists refer to their axes."""
    limits: tuple[float, float]
    """Limits of y after drawing."""


_DRAWN: WeakKeyDictionary[Axes, _Drawn] = WeakKeyDictionary()


def draw_layers(axes: Axes, layer: Layer, draw: Callable[[Axes, Sequence[Layer]], float]) -> float:
    """Draw a layer on axes, together with the existing layers.

    Args:
        axes: the axes.
        layer: the new layer.
        draw: draws layers on axes; returns the height of the legend above them.

    Returns:
        The height of the legend in inches.

    Raises:
        InputError: the layer is incompatible with the existing ones.
    """
    earlier = _DRAWN.get(axes)
    if earlier is not None and earlier.artists.isdisjoint(axes.get_children()):
        earlier = None  # they were cleared
    layers = (*(earlier.layers if earlier is not None else ()), layer)
    _check(layers)
    if earlier is not None:
        for container in [
            earlier_artist
            for earlier_artist in axes.containers
            if not earlier.artists.isdisjoint(earlier_artist.get_children())
        ]:
            container.remove()
        for artist in [earlier_artist for earlier_artist in axes.get_children() if earlier_artist in earlier.artists]:
            artist.remove()
        if axes.get_ylim() == earlier.limits:  # otherwise the caller has set the limits since
            axes.set_autoscaley_on(True)
        axes.relim()
    before = set(axes.get_children())
    height = draw(axes, layers)
    artists = WeakSet(set(axes.get_children()) - before)
    _DRAWN[axes] = _Drawn(layers, artists, axes.get_ylim())
    return height


def series_of_layers(layers: Sequence[Layer], place: dict[str, float], width: float) -> list[tuple[Layer, DataSeries]]:
    """The data series of all layers, each with its own look, place and name.

    Args:
        layers: in drawing order.
        place: position of each value of x.
        width: total width of a group of series side by side.
    """
    drawn = [(layer, series) for layer in layers for series in series_of(layer.table, layer.figure, place)]
    names = _names(layers)
    all_series = []
    for index, (layer, series) in enumerate(drawn):
        offset = width * ((index + 0.5) / len(drawn) - 0.5)
        label = ", ".join(filter(None, (names[layers.index(layer)], series.label)))
        beside = {text: x + offset for text, x in place.items()}
        all_series.append((layer, replace(series, label=label, look=look_of(index), place=beside)))
    return all_series


def _names(layers: Sequence[Layer]) -> list[str]:
    """Words that distinguish layers in a legend: names, measures, or numbers; empty for a single layer."""
    if len(layers) == 1:
        return [""]
    measures = len({layer.figure.y for layer in layers}) > 1
    are_named = len({layer.name for layer in layers}) > 1
    texts = [
        ", ".join(filter(None, (layer.name if are_named else "", label_of(layer.figure.y) if measures else "")))
        for layer in layers
    ]
    if not any(texts):
        texts = [layer.name or "results" for layer in layers]
    return [
        f"{text} ({texts[:index].count(text) + 1})" if texts[:index].count(text) else text
        for index, text in enumerate(texts)
    ]


def _check(layers: Sequence[Layer]) -> None:
    """Check that layers can share axes.

    Raises:
        InputError: the layers differ in x axis, unit or kind, or one has two panels or stacked bars.
    """
    if len(layers) == 1:
        return
    first, last = layers[0], layers[-1]
    faults = []
    if first.figure.x != last.figure.x:
        faults.append(
            Fault("axis differs from that of the existing drawing", "x", repr(last.figure.x), repr(first.figure.x))
        )
    units = [y_unit(layer.table, layer.figure) for layer in (first, last)]
    if units[0] != units[1]:
        faults.append(
            Fault(
                "unit differs from that of the existing drawing",
                "y",
                f"{last.figure.y} in {units[1]}",
                f"in {units[0]}",
            )
        )
    if first.figure.kind != last.figure.kind:
        faults.append(
            Fault(
                "kind differs from that of the existing drawing",
                "kind",
                repr(last.figure.kind),
                repr(first.figure.kind),
            )
        )
    for layer in layers:
        if layer.figure.right is not None or layer.figure.stack:
            allowed = "separate axes for two panels or stacked bars"
            faults.append(Fault("cannot share axes", "ax", layer.figure.name, allowed))
    raise_faults(faults)
