"""A scenario as it was understood: axes, expectations and figures, and a way to make any of its points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hostsim.errors import InputError
from hostsim.expect import AnswersSpec, Expectation, FigureSpec
from hostsim.record import Scalar
from hostsim.scenario.axis import Axis
from hostsim.scenario.part import Change
from hostsim.scenario.resolve import Resolution, Resolver
from hostsim.scenario.setting import Setting
from hostsim.scenario.tree import Assumption, Place, keys
from hostsim.spec.host import PointSpec

HOST = ("platform", "hardware", "host", "network", "vms", "traffic")
"""Sections of a scenario file that make a host and what comes at it."""

__all__ = ["Precision", "RunSpec", "Scenario", "resolve_at"]


@dataclass(frozen=True, slots=True)
class Precision:
    """How well one measure is to be known at every point."""

    metric: str
    target: float
    """Greatest half-width of the 95 % interval: a share of the mean, or a number in the metric's unit."""
    relative: bool
    """True when ``target`` is a share of the mean."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """How long and how often each point is run; lengths in picoseconds, warm-up included."""

    length_ps: int
    replications: int
    quick_length_ps: int
    quick_replications: int
    precision: tuple[Precision, ...] = ()
    """How well measures are to be known at full fidelity; more replications are run until they are."""


@dataclass(frozen=True)
class Scenario:
    """What a scenario file and the options beside it come to. Every point that it needs has been checked."""

    name: str
    question: str
    file: Path
    axes: Mapping[str, Axis]
    """In the order of the file; the last varies fastest."""
    expectations: tuple[Expectation, ...]
    figures: tuple[FigureSpec | AnswersSpec, ...]
    run: RunSpec
    warnings: tuple[str, ...]
    """What to know before trusting its numbers: settings that the model knows and does not model."""
    assumptions: tuple[Assumption, ...]
    settings: tuple[Setting, ...]
    resolver: Resolver = field(repr=False, compare=False)
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Values that options gave in place of the file's, by dotted path, as they were written."""
    axis_texts: Mapping[str, str] = field(default_factory=dict)
    """Values that options gave to axes, as they were written."""

    @property
    def departures(self) -> dict[str, str]:
        """What options have put in place of what the file says, by dotted path; axes of the file are none of it."""
        own = {name: text for name, text in self.axis_texts.items() if name in self.axes[name].paths}
        return {**self.overrides, **own}

    @property
    def changed(self) -> dict[str, str]:
        """Departures that make another host than the file's, or bring other traffic to it."""
        varied = {path for name, axis in self.axes.items() if name not in axis.paths for path in axis.paths}
        return {path: value for path, value in self.departures.items() if keys(path)[0] in HOST and path not in varied}

    def first(self) -> dict[str, Scalar]:
        """The first value of every axis."""
        return {name: axis.values[0] for name, axis in self.axes.items()}

    def spec(self, axes: Mapping[str, Scalar], length_ps: int) -> tuple[PointSpec, tuple[str, ...]]:
        """One point and its warnings.

        Args:
            axes: a value for every axis, swept or not.
            length_ps: simulated time of a run.

        Raises:
            InputError: a value may not stand where its axis puts it.
        """
        resolution = resolve_at(self.resolver, self.axes, axes, length_ps, Place("--axis"))
        if resolution.spec is None:
            raise InputError(resolution.faults)
        return resolution.spec, resolution.warnings


def resolve_at(
    resolver: Resolver, axes: Mapping[str, Axis], values: Mapping[str, Scalar], length_ps: int, place: Place
) -> Resolution:
    """One point with its faults; values that are not among an axis' own are said to stand at ``place``."""
    changes: list[Change] = []
    faults = [fault for name, axis in axes.items() if (fault := axis.fault(name, values[name], place)) is not None]
    if faults:
        return Resolution(None, tuple(faults), ())
    for name, axis in axes.items():
        changes += axis.changes(values[name], place)
    return resolver.resolve(changes, length_ps)
