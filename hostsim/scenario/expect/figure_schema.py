"""Schema of figures and tables in a scenario file, key by key.

This model checks one entry by itself; names of axes, metrics and expectations are looked up in `hostsim.scenario.expect.figure_reader`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from hostsim.spec.base import Spec
from hostsim.spec.field import AxisValues, Names

__all__ = ["FigurePart"]

Amount = int | float | str
"""A number in the metric's unit, or a number with its unit."""
_AMOUNTS = {"anyOf": [{"type": ["number", "string"]}, {"type": "array", "items": {"type": ["number", "string"]}}]}
"""JSON Schema of one amount, or a list of them."""
_LOOKS = {"title", "size"}
"""Keys that any figure may have."""


def _alone(value: Any) -> Any:
    return (value,) if isinstance(value, int | float | str) else value


class FigurePart(Spec):
    """A measure against an axis (``x`` and ``y``), the answers of expectations side by side (``answers``), or a table (``kind: table``)."""

    kind: Literal["line", "bar", "table"] = "line"
    """``line``: a line for each series, its 95 % interval as a band; of values that are no numbers, markers without a line. ``bar``: a group of
    bars at each value of x, one bar a series, the interval as an error bar; values of x stand side by side, whatever their numbers.
    ``table``: the ``answers`` beside what was published, or the metrics of ``columns`` with a row for each value of x."""
    x: str | None = None
    """Name of an axis. Numbers stand at their place, other values (``esxi-5.5``) side by side."""
    y: str | None = None
    """Name of a metric; ``hostsim metrics`` lists them. What was published of it is drawn as well."""
    per: str | None = None
    """Name of a metric that ``y`` is divided by, run by run."""
    less: AxisValues = Field(default_factory=dict)
    """Values of axes of a reference point. The figure shows ``y`` less its value there, paired by replication: ``at: {path: vnic}, less: {path: directpath}``."""
    to: AxisValues = Field(default_factory=dict)
    """Likewise, and the figure shows the ratio of ``y`` to its value there."""
    line: Annotated[tuple[Amount, ...], BeforeValidator(_alone), WithJsonSchema(_AMOUNTS)] = ()
    """Limits that are drawn across the figure: numbers in the unit of ``y``, or with their unit (``100 ms``)."""
    right: str | None = None
    """Name of a second metric, drawn with markers on an axis of its own on the right."""
    stack: Names | tuple[()] = ()
    """Names of further metrics in the unit of ``y``: their bars stand on its bar, one on the other. With ``kind: bar``, without ``series`` and ``right``."""
    series: Names | tuple[()] = ()
    """Axes that get a line, or a bar, for each combination of their values."""
    at: AxisValues = Field(default_factory=dict)
    """Values of the other axes."""
    answers: Names | tuple[()] = ()
    """Names of expectations of the scenario, ids of claims or one's own, whose answers are in one unit: a bar each, in this order, with its
    interval and, of a claim, the accepted band. In a table their units may differ. An answer whose runs nobody has made has no bar;
    ``hostsim check`` makes them."""
    columns: Names | tuple[()] = ()
    """Of a table: names of metrics, a column each."""
    label: str = ""
    """Label of the left-hand axis, without the unit; the catalogue's by default."""
    title: str = ""
    """What the figure shows; the measures and the axis by default. It becomes the caption in a report, and stands above a figure for the screen."""
    size: Literal["", "column", "page"] = ""
    """Printed width, that of a ``column`` (89 mm) or a ``page`` (183 mm) of a journal, with no title; for the screen by default."""

    @model_validator(mode="after")
    def _one_kind(self) -> FigurePart:
        given = self.model_fields_set - _LOOKS
        if self.kind == "table":
            if given not in ({"kind", "answers"}, {"kind", "x", "columns"}, {"kind", "x", "columns", "at"}):
                raise ValueError(
                    "is a table of something else|answers: [NAME, ...]; or x: AXIS, columns: [METRIC, ...], at"
                )
        elif self.columns:
            raise ValueError("has columns and is no table|kind: table")
        elif self.answers and given != {"answers"}:
            raise ValueError("draws answers and something else|answers by itself; or x and y")
        elif not self.answers and (self.x is None or self.y is None):
            raise ValueError("has nothing to draw|x: AXIS and y: METRIC; or answers: [NAME, ...]")
        return self

    @model_validator(mode="after")
    def _one_stack(self) -> FigurePart:
        if self.stack and (self.kind != "bar" or self.series or self.right is not None):
            raise ValueError("stacks on something other than one bar|kind: bar, without series and right")
        return self

    @model_validator(mode="after")
    def _one_derived_measure(self) -> FigurePart:
        if self.less and self.to:
            raise ValueError("is a difference and a ratio|less, or to")
        if (self.per or self.less or self.to) and (self.stack or self.right is not None):
            raise ValueError("has a second measure beside a derived one|per, less or to without right and stack")
        return self
