"""Point option: one point of a scenario as ``--at`` names it."""

from __future__ import annotations

from collections.abc import Mapping

from hostsim.errors import Fault, InputError, nearest_name
from hostsim.record import Scalar
from hostsim.scenario.axis import read_values
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.yaml.source_tree import Place

__all__ = ["parse_point"]


def parse_point(scenario: Scenario, at: Mapping[str, str]) -> dict[str, Scalar]:
    """Parse a point from ``--at axis=value``; axes that are not named have the first value of their sweep.

    Raises:
        InputError: an unknown axis, or a value that it does not have.
    """
    values, faults = scenario.first(), []
    for name, text in at.items():
        axis = scenario.axes.get(name)
        if axis is None:
            allowed = "one of " + ", ".join(scenario.axes) if scenario.axes else "nothing: the scenario sweeps nothing"
            faults.append(Fault("unknown axis", "--at", repr(name), allowed, nearest_name(name, list(scenario.axes))))
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
