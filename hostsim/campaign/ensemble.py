"""Ensemble of hosts: sets of constants and inputs that agree with observations, their file, and scenarios of members."""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hostsim.config.files import display_name, read_text, write_whole
from hostsim.engine.record import AxisValues
from hostsim.errors import Fault, InputError, nearest_name, raise_faults
from hostsim.results.estimate import member_of, members_of, most_replications
from hostsim.scenario.cost_model import Constant, constants_at, scenario_inputs, shipped_constants, with_constants
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.shipped_data import PREDICTIONS, predictions, shipped

__all__ = ["Ensemble", "own_values", "read_ensemble", "write_ensemble"]

COMMENT = "#"
"""Prefix of a line that describes the origin of an ensemble."""
_MOST_MEMBER = 2**63
"""Smallest number of a member that a column of integers cannot have."""


@dataclass(frozen=True)
class Ensemble:
    """An ensemble of hosts: values of constants and inputs by name for each member, in their units."""

    members: tuple[Mapping[str, float], ...]
    name: str = ""
    """The file, as the user named it."""
    lines: tuple[int, ...] = ()
    """Lines of the names and of each member, if read from a file."""
    numbers: tuple[int, ...] = ()
    """Number of each member in the file; 0, 1, 2 and so on if empty."""

    @functools.cached_property
    def digest(self) -> str:
        """Digest of all values, which is part of the key of a run."""
        text = "\n".join(f"{name}={value!r}" for member in self.members for name, value in sorted(member.items()))
        return hashlib.sha256(text.encode()).hexdigest()

    def number_of(self, replication: int) -> int:
        """Number of a replication's member in the file."""
        member = member_of(replication)
        return self.numbers[member] if self.numbers else member

    def moves(self, scenario: Scenario, axes: AxisValues) -> str:
        """The digest, and the names that the ensemble sets at a point; values of the user or an axis have priority."""
        constants = (
            constant.name if constant.file else f"{scenario.name}.{constant.name}"
            for constant in constants_at(scenario, axes)
        )
        return " ".join([self.digest, *sorted(self.members[0].keys() & set(constants))])

    def changed(self, scenario: Scenario, replication: int) -> Scenario:
        """A scenario with the values of a replication's member (`hostsim.results.estimate.member_of`).

        Args:
            scenario: values that its options or axes set have priority.
            replication: 0-based.

        Raises:
            InputError: there are too few members, or they belong to other hosts.
        """
        self.require_members(replication + 1)
        self.require(scenario)
        return with_constants(scenario, own_values(scenario, self.members[member_of(replication)]), validated=True)

    def require_members(self, replications: int) -> None:
        """Check that there are enough members for a number of replications.

        Raises:
            InputError: there are too few, with the last line of the file.
        """
        if members_of(replications) > len(self.members):
            most = most_replications(len(self.members))
            given = f"{len(self.members)} for {replications} replications"
            allowed = f"at most {most} replications of a point, or more members"
            raise InputError(Fault("has too few members", "", given, allowed, file=self.name, line=self._line(-1)))

    def require(self, scenario: Scenario) -> None:
        """Check that the members have values for a scenario's host.

        Raises:
            InputError: a name of the ensemble does not exist; or the scenario's platform has constants, and the members have none of them.
        """
        own, names = _constants_of(scenario), self.members[0]
        others = (*(f"{name}." for name in {**shipped(), **predictions()} if name != scenario.name), f"{PREDICTIONS}/")
        all_known = [*own, *_constants()]
        movable = frozenset(all_known)
        raise_faults(
            Fault(
                "unknown constant",
                name,
                allowed="a constant of the cost model, or an input of a scenario",
                nearest=nearest_name(name, all_known),
                file=self.name,
                line=self._line(0),
            )
            for name in names
            if name not in movable and not name.startswith(others)
        )
        costs = [name for name, constant in own.items() if ".costs." in name and constant.ends != (0, 0)]
        if costs and not names.keys() & costs:
            allowed = f"an ensemble with constants of this platform, such as {costs[0]}"
            raise InputError(
                Fault(
                    "belongs to another platform than the scenario",
                    scenario.name,
                    "",
                    allowed,
                    "",
                    self.name,
                    self._line(0),
                )
            )

    def refused(self, replication: int, error: InputError) -> InputError:
        """The faults of an impossible host, with its member."""
        where = self.name + (f":{line}" if (line := self._line(member_of(replication) + 1)) else "")
        return InputError(
            replace(fault, message=f"{fault.message}, on the host of member {self.number_of(replication)} of {where}")
            for fault in error.faults
        )

    def _line(self, index: int) -> int | None:
        return self.lines[index] if self.lines else None


def own_values(scenario: Scenario, values: Mapping[str, float]) -> dict[str, float]:
    """The values of a scenario's inputs by path, and those of all constants of parts by name."""
    prefix, own, shared = f"{scenario.name}.", _constants_of(scenario), _constants()
    return {
        name.removeprefix(prefix) if name in own and not own[name].file else name: value
        for name, value in values.items()
        if name in own or name in shared
    }


def _constants_of(scenario: Scenario) -> dict[str, Constant]:
    """The constants at the first point of a scenario, and its inputs, by their names in an ensemble."""
    parts = {constant.name: constant for constant in constants_at(scenario, scenario.first()) if constant.file}
    return parts | {f"{scenario.name}.{path}": constant for path, constant in scenario_inputs(scenario).items()}


@functools.cache
def _constants() -> frozenset[str]:
    return frozenset(constant.name for constant in shipped_constants())


def read_ensemble(file: Path) -> Ensemble:
    """Read an ensemble that `write_ensemble` wrote.

    Raises:
        InputError: it is not an ensemble file; with the line.
    """
    name = display_name(file)
    reader = csv.reader(io.StringIO(read_text(file, name)), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if row and not row[0].startswith(COMMENT)]
    except csv.Error as error:
        raise InputError(Fault(f"is not CSV: {error}", file=name, line=reader.line_num)) from None
    if len(rows) < 2 or rows[0][1][:1] != ["member"]:
        raise InputError(Fault("is not an ensemble", file=name, allowed="a file that `hostsim calibrate` wrote"))
    names = rows[0][1][1:]
    members: dict[int, Mapping[str, float]] = {}
    faults = []
    for column in (column for column, count in Counter(names).items() if count > 1):
        allowed = "each column once"
        faults.append(Fault("has a column twice", given=repr(column), allowed=allowed, file=name, line=rows[0][0]))
    for line, (number, *values) in rows[1:]:
        try:
            if (member := _member(number)) in members:
                faults.append(Fault("is a member twice", "member", number, "each number once", file=name, line=line))
            members[member] = dict(zip(names, map(_finite, values), strict=True))
        except ValueError:
            allowed = f"the number of a member, an integer from 0 on, and {len(names)} numbers"
            faults.append(Fault("is not a row of numbers", file=name, line=line, allowed=allowed))
    raise_faults(faults)
    return Ensemble(tuple(members.values()), name, tuple(line for line, _ in rows), tuple(members))


def _member(text: str) -> int:
    """Read the number of a member; raises ValueError for other texts."""
    number = int(text)
    if not 0 <= number < _MOST_MEMBER:
        raise ValueError(text)
    return number


def _finite(text: str) -> float:
    """Read a finite number; raises ValueError for other texts."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def write_ensemble(file: Path, members: Mapping[int, Mapping[str, float]], about: Collection[str] = ()) -> None:
    """Write an ensemble as CSV: one row for each member, one column for each constant or input; numbers have six digits.

    Args:
        file: where.
        members: values by name, by the number of the member.
        about: lines of the head that describe its origin.
    """
    names = list(next(iter(members.values())))
    rows: list[Sequence[object]] = [["member", *names]]
    rows += [[member, *(f"{values[name]:.6g}" for name in names)] for member, values in members.items()]
    text = io.StringIO()
    text.writelines(f"{COMMENT} {line}\n" for line in about)
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_whole(file, text.getvalue().encode())
