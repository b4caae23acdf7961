"""Ensemble of hosts: sets of constants and inputs that agree with the observations, as a file, and scenarios with a member's values."""

from __future__ import annotations

import csv
import functools
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hostsim.analysis.cost_model import scenario_inputs, shipped_constants, with_constants
from hostsim.errors import Fault, InputError
from hostsim.files import display_name, read_text, write_whole
from hostsim.scenario.scenario import Scenario

__all__ = ["Ensemble", "own_values", "read_ensemble", "write_ensemble"]


@dataclass(frozen=True)
class Ensemble:
    """An ensemble of hosts: by member, values of constants and inputs by name, in their units."""

    members: tuple[Mapping[str, float], ...]
    name: str = ""
    """The file, as the user knows it."""

    @functools.cached_property
    def digest(self) -> str:
        """Digest of all values: runs of another ensemble are other runs."""
        text = "\n".join(f"{name}={value!r}" for member in self.members for name, value in sorted(member.items()))
        return hashlib.sha256(text.encode()).hexdigest()

    def changed(self, scenario: Scenario, replication: int) -> Scenario:
        """A scenario with the values of the member that a replication runs.

        Args:
            scenario: as shipped; what it says itself, by an option or an axis, stays.
            replication: 0-based; beyond the last member it begins again with the first, with random numbers of its own.

        Raises:
            InputError: the host cannot be.
        """
        return with_constants(scenario, own_values(scenario, self.members[replication % len(self.members)]))


def own_values(scenario: Scenario, values: Mapping[str, float]) -> dict[str, float]:
    """The values of a scenario's own inputs by their paths, and those of all constants of shipped parts by their names."""
    prefix, inputs, constants = f"{scenario.name}.", scenario_inputs(scenario), _constants()
    own = {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
    return {name: value for name, value in own.items() if name in inputs} | {
        name: value for name, value in values.items() if name in constants
    }


@functools.cache
def _constants() -> frozenset[str]:
    return frozenset(constant.name for constant in shipped_constants())


def read_ensemble(file: Path) -> Ensemble:
    """Read an ensemble that `write_ensemble` wrote.

    Raises:
        InputError: it is no such file; with the line.
    """
    name = display_name(file)
    rows = list(csv.reader(io.StringIO(read_text(file, name))))
    if len(rows) < 2 or rows[0][:1] != ["member"]:
        raise InputError(Fault("is no ensemble", name, allowed="a file that `hostsim calibrate` wrote"))
    names = rows[0][1:]
    members, faults = [], []
    for line, (_, *values) in enumerate(rows[1:], 2):
        try:
            members.append(dict(zip(names, map(float, values), strict=True)))
        except ValueError:
            faults.append(Fault("is not a row of numbers", f"{name}:{line}", allowed=f"{len(names)} numbers"))
    if faults:
        raise InputError(faults)
    return Ensemble(tuple(members), name)


def write_ensemble(file: Path, members: Mapping[int, Mapping[str, float]]) -> None:
    """Write an ensemble as CSV: one row a member, one column a constant or input; numbers to six digits.

    Args:
        file: where.
        members: values by name, by the number of the member.
    """
    names = list(next(iter(members.values())))
    rows: list[Sequence[object]] = [["member", *names]]
    rows += [[number, *(f"{values[name]:.6g}" for name in names)] for number, values in members.items()]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_whole(file, text.getvalue().encode())
