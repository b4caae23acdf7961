"""Axes that several results share: which curves are drawn on them, so that the next ones get their own looks, places and names.

Drawing again on the same axes replaces what was drawn by all of it together: bars stand side by side, one legend names everything.
What others have drawn there stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from hostsim.errors import Fault, InputError
from hostsim.expect import Verdict
from hostsim.figure import FigureSpec
from hostsim.metrics.label import label_of
from hostsim.plots.data_series import DataSeries, series_of
from hostsim.plots.style import look_of
from hostsim.results.curve import y_unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Layer", "draw_layers", "series_of_layers"]


@dataclass(frozen=True, eq=False)
class Layer:
    """A figure of one table on axes that may have others."""

    table: pd.DataFrame
    """With axes as the scenario writes them."""
    figure: FigureSpec
    published: Sequence[Verdict] = ()
    name: str = ""
    """Of the results, for the legend where there are several."""


@dataclass(frozen=True)
class _Drawn:
    layers: tuple[Layer, ...]
    artists: WeakSet[Any]
    """What drawing them made. Weak, for artists know their axes."""
    limits: tuple[float, float]
    """Of y, as drawing left them."""


_DRAWN: WeakKeyDictionary[Axes, _Drawn] = WeakKeyDictionary()


def draw_layers(axes: Axes, layer: Layer, draw: Callable[[Axes, Sequence[Layer]], int]) -> int:
    """Draw a layer on axes, together with those that are there.

    Args:
        axes: where to draw.
        layer: what to draw.
        draw: draws layers on axes; returns rows of names above them.

    Returns:
        Rows of names above the axes.

    Raises:
        InputError: the layer does not go with those that are there.
    """
    earlier = _DRAWN.get(axes)
    if earlier is not None and earlier.artists.isdisjoint(axes.get_children()):
        earlier = None  # they were cleared
    layers = (*(earlier.layers if earlier is not None else ()), layer)
    _check(layers)
    if earlier is not None:
        for container in [one for one in axes.containers if not earlier.artists.isdisjoint(one.get_children())]:
            container.remove()
        for artist in [one for one in axes.get_children() if one in earlier.artists]:
            artist.remove()
        if axes.get_ylim() == earlier.limits:  # else somebody has set them since
            axes.set_autoscaley_on(True)
        axes.relim()
    before = set(axes.get_children())
    rows = draw(axes, layers)
    made = WeakSet(set(axes.get_children()) - before)
    _DRAWN[axes] = _Drawn(layers, made, axes.get_ylim())
    return rows


def series_of_layers(layers: Sequence[Layer], place: dict[str, float], width: float) -> list[tuple[Layer, DataSeries]]:
    """The data series of all layers, with looks and places of their own, and in their names what tells the layers apart.

    Args:
        layers: in the order in which they were drawn.
        place: where each value of x stands.
        width: that all series of a group share, side by side.
    """
    found = [(layer, one) for layer in layers for one in series_of(layer.table, layer.figure, place)]
    names = _names(layers)
    made = []
    for number, (layer, one) in enumerate(found):
        offset = width * ((number + 0.5) / len(found) - 0.5)
        label = ", ".join(filter(None, (names[layers.index(layer)], one.label)))
        beside = {text: x + offset for text, x in place.items()}
        made.append((layer, replace(one, label=label, look=look_of(number), place=beside)))
    return made


def _names(layers: Sequence[Layer]) -> list[str]:
    """What tells layers apart in a legend: their names, their measures, or their order; nothing of a single one."""
    if len(layers) == 1:
        return [""]
    measures = len({layer.figure.y for layer in layers}) > 1
    named = len({layer.name for layer in layers}) > 1
    texts = [
        ", ".join(filter(None, (layer.name if named else "", label_of(layer.figure.y) if measures else "")))
        for layer in layers
    ]
    if not any(texts):
        texts = [layer.name or "results" for layer in layers]
    return [
        f"{text} ({texts[:place].count(text) + 1})" if texts[:place].count(text) else text
        for place, text in enumerate(texts)
    ]


def _check(layers: Sequence[Layer]) -> None:
    """Check that layers can share axes.

    Raises:
        InputError: they differ in their axis of x, their unit or their kind, or one has a right-hand axis or stacked bars.
    """
    if len(layers) == 1:
        return
    first, last = layers[0], layers[-1]
    faults = []
    if first.figure.x != last.figure.x:
        faults.append(Fault("other axis than what is drawn", "x", repr(last.figure.x), repr(first.figure.x)))
    units = [y_unit(layer.table, layer.figure) for layer in (first, last)]
    if units[0] != units[1]:
        faults.append(Fault("other unit than what is drawn", "y", f"{last.figure.y} in {units[1]}", f"in {units[0]}"))
    if first.figure.kind != last.figure.kind:
        faults.append(Fault("other kind than what is drawn", "kind", repr(last.figure.kind), repr(first.figure.kind)))
    for layer in layers:
        if layer.figure.right is not None or layer.figure.stack:
            allowed = "axes of its own for a right-hand axis or stacked bars"
            faults.append(Fault("cannot share axes", "ax", layer.figure.name, allowed))
    if faults:
        raise InputError(faults)
