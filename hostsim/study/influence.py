"""What is asked and found about a metric at a point: which constants may be moved, and what each of them does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from hostsim.errors import Fault, InputError, nearest_name
from hostsim.record import Scalar
from hostsim.scenario.axis import read_values
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.tree import Place
from hostsim.study.constant import Constant
from hostsim.study.constants import constants_at
from hostsim.study.sampling import Effect, Share

__all__ = ["Findings", "Influence", "movable", "point_of"]


@dataclass(frozen=True, slots=True)
class Influence:
    """What one constant does to the metric."""

    constant: Constant
    effect: Effect
    share: Share | None = None
    """None of a constant that was not looked at closely."""
    at_ends: tuple[float, float] | None = None
    """The metric with this constant alone at its low and its high end."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What came out, the most influential constant first."""

    metric: str
    at: Mapping[str, Scalar]
    base: float
    """The metric with every constant at its value."""
    influences: tuple[Influence, ...]

    @property
    def close(self) -> list[Influence]:
        """Those that were looked at closely."""
        return [influence for influence in self.influences if influence.share is not None]


def point_of(scenario: Scenario, at: Mapping[str, str]) -> dict[str, Scalar]:
    """The point that ``--at axis=value`` means; axes that are not named have the first value of their sweep.

    Raises:
        InputError: an unknown axis, or what is no value of it.
    """
    values, faults = scenario.first(), []
    for name, text in at.items():
        axis = scenario.axes.get(name)
        if axis is None:
            allowed = "one of " + ", ".join(scenario.axes) if scenario.axes else "nothing: the scenario sweeps nothing"
            faults.append(
                Fault("unknown axis", name, repr(text), allowed, nearest_name(name, list(scenario.axes)), "--at")
            )
            continue
        try:
            written = read_values(text, axis.values)
        except InputError as error:
            faults += [Fault(f.message, name, f.given, "one value", file="--at") for f in error.faults]
            continue
        fault = axis.fault(name, written[0], Place("--at"))
        if len(written) > 1:
            faults.append(Fault("is several values", name, repr(text), "one value", file="--at"))
        elif fault is not None:
            faults.append(fault)
        values[name] = axis.known(written[0])
    if faults:
        raise InputError(faults)
    return values


def movable(scenario: Scenario, at: Mapping[str, Scalar], only: Sequence[str] = ()) -> tuple[Constant, ...]:
    """The constants behind a point that can be moved: all, or those whose names a pattern matches.

    Raises:
        InputError: there is none, or a pattern matches none.
    """
    known = {c.name: c for c in constants_at(scenario, at) if c.ends[0] < c.ends[1]}
    if not known:
        raise InputError(Fault("has no constant that could be varied", given=scenario.name))
    if not only:
        return tuple(known.values())
    faults = [
        Fault(
            "matches no constant",
            "--only",
            repr(pattern),
            "names or patterns of " + ", ".join(known),
            nearest_name(pattern, list(known)),
        )
        for pattern in only
        if not any(fnmatchcase(name, pattern) for name in known)
    ]
    if faults:
        raise InputError(faults)
    return tuple(c for name, c in known.items() if any(fnmatchcase(name, pattern) for pattern in only))
