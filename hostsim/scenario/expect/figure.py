"""Figures and tables in a scenario file: their schema, and their reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from hostsim.config.field import AxisValues, Names, Spec
from hostsim.results.expect import Expectation, is_comparable
from hostsim.results.figure import AnswersSpec, AxisNames, Figure, FigureSpec, TableSpec
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.subject import MOST_PARTS, of_subject_name
from hostsim.scenario.expect.lookup import Lookup
from hostsim.scenario.shipped_data import claims
from hostsim.scenario.yaml.reader import KeyPath

__all__ = [
    "FigurePart",
    "read_figure",
]


Amount = int | float | str
"""A number in the metric's unit, or a number with its unit."""
_AMOUNTS = {"anyOf": [{"type": ["number", "string"]}, {"type": "array", "items": {"type": ["number", "string"]}}]}
"""JSON Schema of one amount, or a list of them."""
TIME, PARTS = "time", 32
"""Name of x if it is simulated time, and default number of parts of a run."""
_LOOKS = {"title", "size"}
"""Keys of every figure."""


def _alone(value: Any) -> Any:
    return (value,) if isinstance(value, int | float | str) else value


class FigurePart(Spec):
    """A metric against an axis (``x`` and ``y``), answers of expectations side by side (``answers``), or a table (``kind: table``)."""

    kind: Literal["line", "bar", "table"] = "line"
    """``line``: a line for each series with its 95 % interval as a band; for text values, markers without a line. ``bar``: a group of bars at
    each value of x, one for each series, with error bars; values of x are equally spaced. ``table``: the ``answers``
    beside the published values, or the metrics in ``columns`` with a row for each value of x."""
    x: str | None = None
    """Name of an axis. Numbers are drawn to scale, other values (``esxi-5.5``) equally spaced. ``time``: the simulated time of the runs, in ``parts``, unless an axis has this name."""
    parts: Annotated[int, Field(ge=2, le=MOST_PARTS)] | None = None
    """With ``x: time``: number of equal parts of a run, warm-up included, each with a value of ``y``; 32 by default."""
    y: str | None = None
    """Name of a metric; ``hostsim metrics`` lists them. Published values are drawn as well."""
    of: str | None = None
    """Subject of ``y`` and ``stack``: a traffic entry, a group of VMs, one VM (``web[3]``), a vNIC, a port or queue of a physical NIC, a world, a
    PCPU or a NUMA node; the host by default. For other metrics it is part of the name: ``loss of feed``."""
    per: str | None = None
    """Name of a metric that ``y`` is divided by, run by run."""
    less: AxisValues = Field(default_factory=dict)
    """Values of axes of a reference point. The figure shows ``y`` minus its value there, paired by replication: ``at:
    {path: vnic}, less: {path: directpath}``.
    """
    to: AxisValues = Field(default_factory=dict)
    """Values of axes of a reference point; the figure shows the ratio of ``y`` to its value there."""
    line: Annotated[tuple[Amount, ...], BeforeValidator(_alone), WithJsonSchema(_AMOUNTS)] = ()
    """Limits as lines across the figure: numbers in the unit of ``y``, or with a unit (``100 ms``)."""
    right: str | None = None
    """Name of a second metric, drawn in a second panel on the right."""
    stack: Names | tuple[()] = ()
    """Names of further metrics in the unit of ``y``, stacked on its bar. Needs ``kind: bar``; not together with ``series`` or ``right``."""
    series: Names | tuple[()] = ()
    """Axes with a line or bar for each combination of their values."""
    at: AxisValues = Field(default_factory=dict)
    """Values of the other axes."""
    answers: Names | tuple[()] = ()
    """Expectations of the scenario, claims or your own, with answers in one unit: a row each, in this order, with its interval, the
    published value and the accepted range. In a table units may differ. An answer without runs has no mark; ``hostsim check`` runs them."""
    columns: Names | tuple[()] = ()
    """For a table: names of metrics, a column each."""
    label: str = ""
    """Label of the left-hand axis, or of that of ``answers``, without unit; by default that of the catalogue."""
    log: Literal["", "x", "y", "xy"] = ""
    """Logarithmic axes, for values that span more than a factor of ten. Bars become markers on a logarithmic ``y``."""
    title: str = ""
    """Caption in a report and title on the screen; by default the metrics and the axis."""
    size: Literal["", "column", "page"] = ""
    """Width: a ``column`` (89 mm) or ``page`` (183 mm) of a journal, without a title; by default as wide as the figure
    needs, with a title.
    """

    @model_validator(mode="after")
    def _one_kind(self) -> FigurePart:
        given = self.model_fields_set - _LOOKS
        if self.kind == "table":
            if given not in ({"kind", "answers"}, {"kind", "x", "columns"}, {"kind", "x", "columns", "at"}):
                raise ValueError(
                    "has keys that a table does not use|answers: [NAME, ...]; or x: AXIS, columns: [METRIC, ...], at"
                )
        elif self.columns:
            raise ValueError("has columns but is not a table|kind: table")
        elif self.answers and given - {"label"} != {"answers"}:
            raise ValueError("combines answers with other keys|answers with label, title and size only; or x and y")
        elif not self.answers and (self.x is None or self.y is None):
            raise ValueError("has nothing to draw|x: AXIS and y: METRIC; or answers: [NAME, ...]")
        return self

    @model_validator(mode="after")
    def _one_stack(self) -> FigurePart:
        if self.stack and (self.kind != "bar" or self.series or self.right is not None):
            raise ValueError("has stack without a single bar to add to|kind: bar, without series and right")
        return self

    @model_validator(mode="after")
    def _one_derived_measure(self) -> FigurePart:
        if self.less and self.to:
            raise ValueError("is both a difference and a ratio|less, or to")
        if (self.per or self.less or self.to) and (self.stack or self.right is not None):
            raise ValueError("combines a derived metric with right or stack|per, less or to without right and stack")
        if "y" in self.log and self.stack:
            raise ValueError("has stack on a logarithmic axis|log: x, or no stack")
        return self


def read_figure(
    name: str,
    part: FigurePart,
    look: Lookup,
    expectations: Mapping[str, Expectation],
    require_answer: Callable[[str, KeyPath], None],
) -> Figure:
    """Read one figure or table.

    Args:
        name: of the figure.
        part: as written.
        look: looks up names and collects faults.
        expectations: the valid expectations, by name.
        require_answer: adds a fault for an unknown expectation.
    """
    path: KeyPath = ("figures", name)
    if part.answers:
        _check_answers(part, look, expectations, require_answer, (*path, "answers"))
        if part.kind == "table":
            published = {answer: claims()[answer] for answer in part.answers if answer in claims()}
            conditions = {answer: f"{claim.condition}: {claim.metric}" for answer, claim in published.items()}
            return TableSpec(name, part.answers, title=part.title, size=part.size, conditions=conditions)
        labels = {
            answer: expectations[answer].label
            for answer in part.answers
            if answer in expectations and expectations[answer].label
        }
        return AnswersSpec(name, part.answers, part.title, part.size, part.label, labels)
    assert part.x is not None  # the schema allows no other value
    is_time = part.x == TIME and TIME not in look.axes
    if part.parts is not None and not is_time:
        look.fault((*path, "parts"), "divides something other than time", "x: time; or no parts")
    if not is_time or part.kind != "line":
        look.axis(part.x, (*path, "x"))
    if part.kind == "table":
        for metric in part.columns:
            look.metric(metric, (*path, "columns"))
        at = look.point(part.at, (*path, "at"), without=(part.x,))
        return TableSpec(name, (), part.x, part.columns, at, part.title, part.size, _names(look, (part.x, *at)))
    assert part.y is not None
    x, y = part.x, of_subject_name(part.y, part.of)
    part = part.model_copy(
        update={
            "y": y,
            "stack": tuple(of_subject_name(metric, part.of) for metric in part.stack),
        }
    )
    unit = _check_metrics(part, look, path)
    drawn = (x, *part.series)
    for axis in part.series:
        look.axis(axis, (*path, "series"))
    if len(set(drawn)) < len(drawn):
        look.fault((*path, "series"), "names an axis twice", "each axis once, and not x")
    at = look.point(part.at, (*path, "at"), without=drawn)
    less, to = (look.written(point, (*path, key)) for key, point in (("less", part.less), ("to", part.to)))
    limits = (look.bound(limit, "ratio" if part.to else unit, (*path, "line")) for limit in part.line)
    return FigureSpec(
        name,
        x,
        y,
        part.series,
        at,
        "bar" if part.kind == "bar" else "line",
        part.right,
        part.stack,
        part.per,
        less,
        to,
        tuple(limit for limit in limits if limit is not None),
        part.label,
        part.title,
        part.size,
        {**_names(look, (*drawn, *at)), **({TIME: AxisNames(label="Simulated time")} if is_time else {})},
        part.log,
        (part.parts or PARTS) if is_time else 0,
    )


def _names(look: Lookup, axes: tuple[str, ...]) -> dict[str, AxisNames]:
    """The labels of axes and of their values."""
    names_of_axis = {axis: look.axes[axis].names for axis in axes if axis in look.axes}
    return {axis: names for axis, names in names_of_axis.items() if names != AxisNames()}


def _check_metrics(part: FigurePart, look: Lookup, path: KeyPath) -> str:
    """Check the metrics of a figure; returns the unit of y for limits, or an empty text."""
    look.metric(str(part.y), (*path, "y"))
    if part.right is not None:
        look.metric(part.right, (*path, "right"))
        if part.right == part.y:
            look.fault((*path, "right"), "is the metric of the left axis too", "another metric")
    unit = CATALOGUE[part.y].unit if part.y in CATALOGUE else ""
    for metric in part.stack:
        other = look.metric(metric, (*path, "stack"))
        if unit and other and other != unit:
            look.fault((*path, "stack"), f"stacks {metric}, in {other}, on {part.y}", f"metrics in {unit}")
    if len({part.y, *part.stack}) <= len(part.stack):
        look.fault((*path, "stack"), "names a metric twice", "each metric once, and not y")
    if part.per is None:
        return unit
    return f"{unit} per {look.metric(part.per, (*path, 'per'))}"


def _check_answers(
    part: FigurePart,
    look: Lookup,
    expectations: Mapping[str, Expectation],
    require_answer: Callable[[str, KeyPath], None],
    path: KeyPath,
) -> None:
    """Check that answers are known, unique, and, if drawn, have one unit."""
    for answer in part.answers:
        require_answer(answer, path)
    if len(set(part.answers)) < len(part.answers):
        look.fault(path, "names an expectation twice", "each expectation once")
    drawn = [expectations[answer] for answer in part.answers if answer in expectations]
    for other in drawn[1:] if part.kind != "table" else ():
        if not is_comparable(drawn[0], other):
            message = f"has an answer in {other.counted_in} next to one in {drawn[0].counted_in}"
            look.fault(path, message, "expectations whose answers are in one unit", given=repr(other.name))
