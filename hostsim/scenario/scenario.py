"""A loaded scenario: its axes, expectations and figures, and a resolver that makes any of its points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hostsim.config.host import PointSpec
from hostsim.config.plugin import PluginSpec
from hostsim.engine.record import AxisValues, Scalar
from hostsim.errors import InputError
from hostsim.results.expect import Expectation
from hostsim.results.figure import Figure
from hostsim.results.results import EffectiveSetting
from hostsim.results.rich_view import rich_view
from hostsim.scenario.axis import Axis, PointKey, point_key
from hostsim.scenario.resolve import Resolution, Resolver
from hostsim.scenario.source import Source
from hostsim.scenario.yaml.source_tree import AssumedValue, Place, dotted, keys, leaves

HOST = (
    "platform",
    "hardware",
    "peer",
    "host",
    "network",
    "vms",
    "resource_pools",
    "traffic",
    "policies",
    "control_loops",
)
"""Sections of a scenario file for the host and its traffic."""

__all__ = ["PointResolver", "Precision", "RunSize", "RunSpec", "Scenario"]


@dataclass(frozen=True)
class Precision:
    """The target precision of one metric: the half-width of its confidence interval at every point."""

    metric: str
    target: float
    """Largest half-width of the 95 % interval: a share of the mean, or a number in the metric's unit."""
    relative: bool
    """True if ``target`` is a share of the mean."""


@dataclass(frozen=True)
class RunSize:
    """Run length, with warm-up, and number of replications of each point of a kind."""

    length_ps: int
    replications: int


@dataclass(frozen=True)
class RunSpec:
    """Sizes of the runs of a scenario, at full and at quick fidelity."""

    full: RunSize
    quick: RunSize
    swept: RunSize
    """At full fidelity, of points of the sweep that no expectation needs."""
    quick_swept: RunSize
    """At quick fidelity, of points of the sweep that no expectation needs."""
    precision: tuple[Precision, ...] = ()
    """Target precisions at full fidelity; replications are added until they are met."""

    @property
    def shortest_ps(self) -> int:
        """The shortest run length."""
        return min(size.length_ps for size in (self.full, self.quick, self.swept, self.quick_swept))


@dataclass(frozen=True, repr=False)
class Scenario:
    """A scenario file with options, checked at every required point; a notebook displays a page."""

    name: str
    question: str
    source: Source = field(repr=False, compare=False)
    """Its source, without options."""
    axes: Mapping[str, Axis]
    """Axes in the order of the file; the last one varies fastest."""
    expectations: tuple[Expectation, ...]
    figures: tuple[Figure, ...]
    run: RunSpec
    warnings: tuple[str, ...]
    """Warnings: known settings that are not modelled."""
    assumptions: tuple[AssumedValue, ...]
    settings: tuple[EffectiveSetting, ...]
    reload: Callable[[Scenario, Mapping[str, Any] | None, Mapping[str, Any] | None], Scenario] = field(
        repr=False, compare=False
    )
    """Loads the scenario again with additional overrides and axes (`hostsim.scenario.load.reload`)."""
    points: PointResolver = field(repr=False, compare=False)
    """Makes and caches its points."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Values of options that replace those of the file, by dotted path, as written."""
    axis_texts: Mapping[str, str] = field(default_factory=dict)
    """Values of options for axes, as written."""
    judged: frozenset[PointKey] = frozenset()
    """Points that expectations of the file need, except those of searches; complete even if the scenario is restricted
    to a few expectations.
    """
    searched: tuple[Expectation, ...] = ()
    """Expectations of the file that are thresholds; complete even if the scenario is restricted to a few expectations."""

    @property
    def file(self) -> Path:
        """The file; for text and mappings, a name in the working folder that need not exist."""
        return self.source.file

    @property
    def departures(self) -> dict[str, str]:
        """Values of options that replace those of the file, by dotted path, except axes of the file."""
        own = {name: text for name, text in self.axis_texts.items() if name in self.axes[name].paths}
        return {**self.overrides, **own}

    @property
    def changed(self) -> dict[str, str]:
        """Changes of the host or its traffic with respect to the file."""
        varied = {path for name, axis in self.axes.items() if name not in axis.paths for path in axis.paths}
        return {path: value for path, value in self.departures.items() if keys(path)[0] in HOST and path not in varied}

    def with_(
        self,
        set: Mapping[str, Any] | None = None,  # noqa: A002  as the option --set
        axes: Mapping[str, Any] | None = None,
    ) -> Scenario:
        """The scenario with other values, fully checked; its file is not read again.

        Args:
            set: values by dotted path (``{"vms.receiver.count": 8}``): text as in a file, or numbers in the base unit.
            axes: values of axes by name (``{"interrupts": [1000, 4000]}``); a dotted path makes an axis.

        Raises:
            InputError: with all faults.
        """
        try:
            return self.reload(self, set, axes)
        except InputError as error:
            raise InputError(
                replace(fault, path=f"set[{fault.path!r}]", file="") if fault.file == "--set" else fault
                for fault in error.faults
            ) from None

    def first(self) -> dict[str, Scalar]:
        """The first value of every axis."""
        return {name: axis.values[0] for name, axis in self.axes.items()}

    @property
    def resolver(self) -> Resolver:
        """The file with its options, the base of every point."""
        return self.points.resolver

    @property
    def plugins(self) -> tuple[PluginSpec, ...]:
        """Plug-ins with which it was loaded."""
        return self.resolver.registry.plugins

    def parameters(self, axes: AxisValues) -> dict[str, Scalar]:
        """Values of host and traffic at one point, by dotted path; lists as text.

        Args:
            axes: a value for every axis.
        """
        changes = [change for name, axis in self.axes.items() for change in axis.changes(axes[name], Place("--axis"))]
        tree, inside = self.resolver.changed(changes)
        values = {dotted(path): value for path, value in leaves({key: tree.get((key,)) for key in HOST})}
        return values | {dotted((*key, *path)): value for key, changed in inside.items() for path, value, _ in changed}

    def spec(self, axes: AxisValues, length_ps: int) -> tuple[PointSpec, tuple[str, ...]]:
        """The spec of one point, and its warnings.

        Args:
            axes: a value for every axis, swept or not.
            length_ps: simulated time of a run.

        Raises:
            InputError: a value is invalid at the path of its axis.
        """
        resolution = self._resolved(axes, length_ps)
        assert resolution.spec is not None
        return resolution.spec, resolution.warnings

    def simulated(self, axes: AxisValues, length_ps: int) -> tuple[PointSpec, tuple[str, ...]]:
        """The spec with which one point is run, and its warnings; settings without effect have their defaults."""
        resolution = self._resolved(axes, length_ps)
        assert resolution.simulated is not None
        return resolution.simulated, resolution.warnings

    def _resolved(self, axes: AxisValues, length_ps: int) -> Resolution:
        resolution = self.points.resolve(axes, length_ps)
        if resolution.spec is None:
            raise InputError(resolution.faults)
        return resolution

    def host(self, at: AxisValues | None = None) -> Any:
        """The `hostsim.HostView` at one point, built and not run: the parts of the host, as a drawing and as a frame.

        Args:
            at: values of axes; one that is not named has the first value of its sweep.

        Raises:
            InputError: an unknown axis, or an impossible value.
        """
        return rich_view("notebook.host").HostView.of(self, at or {})

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {self.question}>"

    def _repr_html_(self) -> str:
        page: str = rich_view("notebook.page").scenario_html(self)
        return page


class PointResolver:
    """Resolves the points of a scenario by axis values, each point once.

    Valid points are cached, as loading checks them and every plan uses them again. A point is cached with the run
    length of its first request; its spec is copied for a longer run, and resolved again for a shorter one.
    """

    def __init__(self, resolver: Resolver, axes: Mapping[str, Axis]) -> None:
        self.resolver = resolver
        self.axes = axes
        self._sound: dict[PointKey, Resolution] = {}

    def resolve(self, values: AxisValues, length_ps: int, place: Place | None = None) -> Resolution:
        """One point, with its faults if it is invalid.

        Args:
            values: a value for every axis, swept or not.
            length_ps: simulated time of a run.
            place: place that is reported for values that an axis does not have; ``--axis`` by default.
        """
        key = point_key(values[name] for name in self.axes)
        resolution = self._sound.get(key)
        if resolution is None or (
            resolution.spec is not None and length_ps < resolution.spec.length
        ):  # traffic may have no arrivals in a shorter run
            resolution = self._resolve(values, length_ps, place or Place("--axis"))
            if resolution.spec is not None:
                self._sound[key] = resolution
        if resolution.spec is None or resolution.simulated is None or resolution.spec.length == length_ps:
            return resolution
        spec, simulated = (
            host.model_copy(update={"length": length_ps}) for host in (resolution.spec, resolution.simulated)
        )
        return replace(resolution, spec=spec, simulated=simulated)

    def _resolve(self, values: AxisValues, length_ps: int, place: Place) -> Resolution:
        axes = self.axes.items()
        faults = [fault for name, axis in axes if (fault := axis.fault(name, values[name], place)) is not None]
        if faults:
            return Resolution(None, tuple(faults), ())
        changes = [change for name, axis in axes for change in axis.changes(values[name], place)]
        return self.resolver.resolve(changes, length_ps)
