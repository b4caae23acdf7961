"""Figures and tables, read from the file: they become the figures of `hostsim.figure`, names looked up, axes filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hostsim.expect import Expectation, is_comparable
from hostsim.figure import AnswersSpec, AxisNames, Figure, FigureSpec, TableSpec
from hostsim.metrics.catalogue import CATALOGUE
from hostsim.scenario.expect.figure_schema import FigurePart
from hostsim.scenario.expect.lookup import Lookup
from hostsim.scenario.shipped_data import claims
from hostsim.scenario.yaml.reader import KeyPath

__all__ = ["read_figure"]


def read_figure(
    name: str,
    part: FigurePart,
    look: Lookup,
    asked: Mapping[str, Expectation],
    require_answer: Callable[[str, KeyPath], None],
) -> Figure:
    """Read one figure or table.

    Args:
        name: of the figure.
        part: as written.
        look: looks up names and gathers faults.
        asked: the expectations that are sound, by name.
        require_answer: gathers a fault where the scenario has no such expectation.
    """
    path: KeyPath = ("figures", name)
    if part.answers:
        _check_answers(part, look, asked, require_answer, (*path, "answers"))
        if part.kind == "table":
            told = {answer: claims()[answer] for answer in part.answers if answer in claims()}
            conditions = {answer: f"{claim.condition}: {claim.metric}" for answer, claim in told.items()}
            return TableSpec(name, part.answers, title=part.title, size=part.size, conditions=conditions)
        return AnswersSpec(name, part.answers, part.title, part.size)
    assert part.x is not None  # the schema lets nothing else through
    look.axis(part.x, (*path, "x"))
    if part.kind == "table":
        for metric in part.columns:
            look.metric(metric, (*path, "columns"))
        at = look.point(part.at, (*path, "at"), without=(part.x,))
        return TableSpec(name, (), part.x, part.columns, at, part.title, part.size, _names(look, (part.x, *at)))
    assert part.y is not None
    unit = _check_metrics(part, look, path)
    drawn = (part.x, *part.series)
    for axis in part.series:
        look.axis(axis, (*path, "series"))
    if len(set(drawn)) < len(drawn):
        look.fault((*path, "series"), "names an axis twice", "each axis once, x apart")
    at = look.point(part.at, (*path, "at"), without=drawn)
    less, to = (look.written(point, (*path, key)) for key, point in (("less", part.less), ("to", part.to)))
    limits = (look.bound(limit, "ratio" if part.to else unit, (*path, "line")) for limit in part.line)
    return FigureSpec(
        name,
        part.x,
        part.y,
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
        _names(look, (*drawn, *at)),
    )


def _names(look: Lookup, axes: tuple[str, ...]) -> dict[str, AxisNames]:
    """The names that the sweep gives to these axes and their values."""
    named = {axis: look.axes[axis].names for axis in axes if axis in look.axes}
    return {axis: names for axis, names in named.items() if names != AxisNames()}


def _check_metrics(part: FigurePart, look: Lookup, path: KeyPath) -> str:
    """Check the metrics of a figure; the unit of y, or nothing where it has none that a limit could be written in."""
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
        look.fault((*path, "stack"), "names a metric twice", "each metric once, y apart")
    if part.per is None:
        return unit
    return f"{unit} per {look.metric(part.per, (*path, 'per'))}"


def _check_answers(
    part: FigurePart,
    look: Lookup,
    asked: Mapping[str, Expectation],
    require_answer: Callable[[str, KeyPath], None],
    path: KeyPath,
) -> None:
    """Check that answers are known, each once, and may be drawn on one scale where they are drawn."""
    for answer in part.answers:
        require_answer(answer, path)
    if len(set(part.answers)) < len(part.answers):
        look.fault(path, "names an expectation twice", "each expectation once")
    drawn = [asked[answer] for answer in part.answers if answer in asked]
    for other in drawn[1:] if part.kind != "table" else ():
        if not is_comparable(drawn[0], other):
            message = f"has an answer in {other.counted_in} beside one in {drawn[0].counted_in}"
            look.fault(path, message, "expectations whose answers are in one unit", given=repr(other.name))
