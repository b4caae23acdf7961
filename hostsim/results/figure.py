"""Figures and tables of a scenario as plain values, which `hostsim.views.plots` draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from hostsim.engine.record import AxisValues, Scalar
from hostsim.results.metrics.catalogue import in_sentence, label_of, spelt, unit_of
from hostsim.results.metrics.subject import parsed, part_names

__all__ = [
    "AnswersSpec",
    "AxisNames",
    "Figure",
    "FigureSpec",
    "TableSpec",
    "measures_of_subjects",
    "names_of",
    "point_name",
]

Size = Literal["", "column", "page"]
"""Printed width: a column or page of a journal; empty for the screen."""


Log = Literal["", "x", "y", "xy"]
"""Logarithmic axes of a figure."""


@dataclass(frozen=True)
class AxisNames:
    """Names of an axis and its values in figures and tables."""

    label: str = ""
    """Label of the axis; its name in words by default."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Labels of its values, by their text."""


Names = Mapping[str, AxisNames]
"""Labels of axes in figures, by the name of the axis."""


def _axis_label(names: Names, axis: str) -> str:
    return names.get(axis, AxisNames()).label or spelt(axis)


def _value_name(names: Names, axis: str, value: Scalar) -> str:
    """The name of a value: ``NUMA I/O on``, or ``rate = 30 kpps`` without one."""
    label = names.get(axis, AxisNames()).values.get(str(value))
    return f"{_axis_label(names, axis)} = {value}" if label is None else label


def _point(names: Names, at: AxisValues) -> str:
    return ", ".join(_value_name(names, axis, value) for axis, value in at.items())


@dataclass(frozen=True)
class FigureSpec:
    """One figure of a scenario: a measure against an axis, one line or bar for each combination of the series axes."""

    name: str
    x: str
    y: str
    series: tuple[str, ...] = ()
    at: AxisValues = field(default_factory=dict)
    """Values of the axes that are neither x nor series; the first value of the sweep by default."""
    kind: Literal["line", "bar"] = "line"
    """``bar`` draws a group of bars at each value of x, one for each series."""
    right: str | None = None
    """A second metric, in a second panel on the right."""
    stack: tuple[str, ...] = ()
    """Metrics in the unit of y, stacked on its bar, without series."""
    per: str | None = None
    """A metric by which y is divided, run by run."""
    less: AxisValues = field(default_factory=dict)
    """Values of axes of a reference point; y is a paired difference from it."""
    to: AxisValues = field(default_factory=dict)
    """Values of axes of a reference point; y is a paired ratio to it."""
    lines: tuple[float, ...] = ()
    """Limits of y, drawn across the figure, in its unit."""
    label: str = ""
    """Label of the left axis without unit; by default that of the catalogue."""
    title: str = ""
    """Caption by the author."""
    size: Size = ""
    axes: Names = field(default_factory=dict)
    """Names of axes and of their values."""
    log: Log = ""
    parts: int = 0
    """Number of equal parts of each run if x is simulated time; 0 if x is an axis."""

    @property
    def measures(self) -> list[str]:
        """Names of the measures in the figure, including divisors."""
        return [name for name in (self.y, self.right, self.per, *self.stack) if name is not None]

    @property
    def reference(self) -> AxisValues:
        """Axis values of the reference point of a difference or ratio; empty for a plain measure."""
        return self.less or self.to

    @property
    def y_label(self) -> str:
        """Label of the left-hand measure, without its unit."""
        if self.label:
            return self.label
        words = label_of(self.y) if self.per is None else f"{label_of(self.y)} over {in_sentence(label_of(self.per))}"
        if not self.reference:
            return words
        return f"{words}, {'difference from' if self.less else 'ratio to'} {_point(self.axes, self.reference)}"

    @property
    def y_unit(self) -> str:
        """Unit of the left-hand measure; empty for a ratio."""
        if self.to:
            return ""
        unit = unit_of(self.y)
        return unit if self.per is None else f"{unit} per {unit_of(self.per)}"

    @property
    def words(self) -> str:
        """Caption: its title, or measures and axis."""
        if self.title:
            return self.title
        parts = [in_sentence(label_of(name)) for name in self.stack]
        parts += [] if self.right is None else [in_sentence(label_of(self.right))]
        words = f"{', '.join([self.y_label, *parts])} against {in_sentence(self.axis_label(self.x))}"
        return f"{words}; {_point(self.axes, self.at)}" if self.at else words

    def axis_label(self, axis: str) -> str:
        """Label of an axis, without the unit of its values."""
        return _axis_label(self.axes, axis)

    def value_name(self, axis: str, value: Scalar) -> str:
        """Name of one value of one axis, for a legend or a caption."""
        return _value_name(self.axes, axis, value)

    def tick(self, axis: str, text: str) -> str:
        """Name of a value on an axis, by its text."""
        return self.axes.get(axis, AxisNames()).values.get(text, text)


@dataclass(frozen=True)
class AnswersSpec:
    """One figure of a scenario: rows of expectations with their answers and published values."""

    name: str
    answers: tuple[str, ...]
    """Names of the expectations in row order; all are comparable (`hostsim.results.expect.is_comparable`)."""
    title: str = ""
    size: Size = ""
    label: str = ""
    """Label of the axis without the unit; by default the common quantity of the answers."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of the rows, by expectation."""

    @property
    def words(self) -> str:
        """What it shows."""
        return (
            self.title or f"Simulated and published: {'; '.join(self.names.get(name, name) for name in self.answers)}"
        )


@dataclass(frozen=True)
class TableSpec:
    """One table of a scenario: expectations with their published values, or metrics at the values of an axis."""

    name: str
    answers: tuple[str, ...] = ()
    """Names of the expectations, one for each row, in any units; empty for a table of metrics."""
    x: str = ""
    """Axis of a table of metrics, with a row for each of its values."""
    columns: tuple[str, ...] = ()
    """Its metrics."""
    at: AxisValues = field(default_factory=dict)
    """Values of the other axes."""
    title: str = ""
    size: Size = ""
    axes: Names = field(default_factory=dict)
    """Names of axes and of their values."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """Measured quantity and condition of published answers, by name."""

    @property
    def words(self) -> str:
        """What it shows."""
        if self.title:
            return self.title
        if self.answers:
            return f"answers of {'; '.join(self.answers)}"
        words = f"{', '.join(map(label_of, self.columns))} by {_axis_label(self.axes, self.x)}"
        return f"{words}; {_point(self.axes, self.at)}" if self.at else words

    def row_name(self, value: Scalar) -> str:
        """Name of a row of a table of metrics."""
        return self.axes.get(self.x, AxisNames()).values.get(str(value), str(value))


Figure = FigureSpec | AnswersSpec | TableSpec
"""Entries under ``figures`` of a scenario."""


def names_of(figures: Iterable[Figure]) -> Names:
    """The names of axes and values in the figures of a scenario."""
    maps = [figure.axes for figure in figures if not isinstance(figure, AnswersSpec)]
    return {axis: names for axes in maps for axis, names in axes.items()}


def measures_of_subjects(figures: Iterable[Figure]) -> list[str]:
    """Measures of subjects in figures, each once."""
    measures: dict[str, None] = {}
    for figure in figures:
        match figure:
            case FigureSpec(parts=0):
                names = figure.measures
            case FigureSpec():
                names = [part for name in figure.measures for part in part_names(name, figure.parts)]
            case TableSpec():
                names = list(figure.columns)
            case _:
                names = []
        measures |= dict.fromkeys(name for name in names if parsed(name)[1])
    return list(measures)


def point_name(names: Names, axis: str, value: Scalar) -> str:
    """The name of a value of a point: ``splitRxMode``, or ``rate=30 kpps`` without one."""
    return names.get(axis, AxisNames()).values.get(str(value), f"{axis}={value}")
