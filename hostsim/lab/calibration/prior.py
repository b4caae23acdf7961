"""Priors of constants and inputs, from sources and ranges, and hosts drawn from them.

Claims of each host are measured at fixed points. Published values are not used.
"""

from __future__ import annotations

import csv
import math
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from hostsim.campaign.ensemble import own_values
from hostsim.campaign.pipeline import ExecutionOptions, execute_all
from hostsim.campaign.store import Store
from hostsim.config.files import write_whole
from hostsim.engine.record import AxisValues, FloatArray
from hostsim.errors import Fault, InputError
from hostsim.lab.calibration.fixed_point import FixedPoints
from hostsim.scenario.cost_model import Constant, constants_at, scenario_inputs, with_constants
from hostsim.scenario.plan import Fidelity, Plan
from hostsim.scenario.scenario import Scenario

__all__ = ["Design", "Evaluated", "Prior", "Subjects", "evaluate", "points_of", "priors_of", "read_log", "run_members"]

WIDE = 4.0
"""Ratio of the ends of a range above which its prior is log-uniform."""
FARTHEST = 2.5
"""Largest distance of a number from its median, in standard deviations."""


@dataclass(frozen=True)
class Prior:
    """Prior distribution of one number: half of the probability is below the median and half above; each half is
    uniform up to the end of the range.

    A range over orders of magnitude is log-uniform. A choice among words is uniform. If the median is an end of the
    range, all probability is on the other side.
    """

    name: str
    """File and path of a constant; for an input of several scenarios, the path in the first of them."""
    members: tuple[str, ...]
    """All names of the number: the constant's, or the input's in each scenario."""
    value: float
    """The stated value: the number's ``prior`` if it has one, else the number."""
    low: float
    high: float
    unit: str
    is_whole: bool = False
    words: tuple[str, ...] = ()
    """Values of a choice; its value is an index into them."""

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high or self.low == self.high:
            raise InputError(
                Fault(
                    "has no prior",
                    self.name,
                    given=f"{self.value:g} in [{self.low:g}, {self.high:g}]",
                    allowed="a value within a range of two different ends",
                )
            )

    @property
    def is_logarithmic(self) -> bool:
        """True for a log-uniform prior."""
        return not self.words and self.low > 0 and self.high / self.low > WIDE

    def quantiles(self, shares: FloatArray) -> FloatArray:
        """Quantiles of the prior at given shares of its probability.

        Args:
            shares: from 0 to 1.

        Returns:
            The quantiles in the constant's unit; integers and choices are rounded.
        """
        if self.words:
            return np.asarray(np.minimum(np.floor(shares * len(self.words)), len(self.words) - 1))
        ends, knots = self._knots
        if self.is_logarithmic:
            values = np.exp(np.interp(shares, knots, np.log(ends)))
        else:
            values = np.interp(shares, knots, ends)
        return np.asarray(np.rint(values) if self.is_whole else values, dtype=float)

    @property
    def is_choice(self) -> bool:
        """True for a choice among words, or between two integers."""
        return bool(self.words) or (self.is_whole and self.high - self.low == 1)

    @property
    def is_one_sided(self) -> bool:
        """True if the stated value is an end of the range."""
        return not self.words and self.value in (self.low, self.high)

    @property
    def _knots(self) -> tuple[list[float], list[float]]:
        """Numbers whose shares of the probability are stated, and these shares."""
        if self.is_one_sided:
            return [self.low, self.high], [0.0, 1.0]
        return [self.low, self.value, self.high], [0.0, 0.5, 1.0]

    def at(self, variable: float) -> float:
        """The number at a standard normal variable; at 0 the stated value, which is the median or an end of the range."""
        share = float(ndtr(variable))
        if self.is_one_sided:
            share = float(2 * ndtr(abs(variable)) - 1)
            share = share if self.value == self.low else 1 - share
        return float(self.quantiles(np.array([share]))[0])

    def variable(self, value: float) -> float:
        """The standard normal variable of a number, at most `FARTHEST` from 0; for a choice, the middle of its value's
        share.
        """
        if self.words:
            return float(ndtri((value + 0.5) / len(self.words)))
        ends, knots = self._knots
        if self.is_logarithmic:
            share = float(np.interp(np.log(max(value, self.low)), np.log(ends), knots))
        else:
            share = float(np.interp(value, ends, knots))
        if self.is_one_sided:
            share = 0.5 + (share if self.value == self.low else 1 - share) / 2
        return float(np.clip(ndtri(share), -FARTHEST, FARTHEST))


def priors_of(subjects: Iterable[tuple[Scenario, Collection[str]]]) -> tuple[Prior, ...]:
    """The priors of all constants and inputs that the points of some expectations use.

    An input with the same key, value and range in several scenarios is one number. A constant without a range counts as
    known, and has no prior.

    Args:
        subjects: scenarios, each with the names of its expectations.

    Raises:
        InputError: a number with equal ends of its range.
    """
    parts: dict[str, Prior] = {}
    inputs: dict[tuple[object, ...], list[tuple[str, Constant]]] = {}
    for scenario, names in subjects:
        for path, constant in scenario_inputs(scenario).items():
            key = (
                path.rpartition(".")[2],
                constant.written(constant.value),
                constant.ends,
                constant.words,
                constant.prior,
            )
            inputs.setdefault(key, []).append((f"{scenario.name}.{path}", constant))
        for axes in points_of(scenario, names):
            for constant in constants_at(scenario, axes):
                if constant.file and constant.range is not None and constant.name not in parts:
                    parts[constant.name] = _prior([(constant.name, constant)])
    return (*map(_prior, inputs.values()), *parts.values())


def points_of(scenario: Scenario, names: Collection[str]) -> Iterator[AxisValues]:
    """The points of some expectations of a scenario."""
    for expectation in scenario.expectations:
        if expectation.name in names:
            for point in expectation.form.required_points():
                yield {**scenario.first(), **point}


def _prior(group: Sequence[tuple[str, Constant]]) -> Prior:
    name, constant = group[0]
    low, high = constant.ends
    return Prior(
        name,
        tuple(member for member, _ in group),
        constant.value if constant.prior is None else constant.prior,
        low,
        high,
        constant.unit,
        constant.is_whole,
        constant.words,
    )


AT_ONCE = (4, 50)
"""Smallest and largest number of concurrent members, so that no worker waits for the last run of a member."""
BATCH_S = 30.0
"""Least processor time of the members that run together: short members are combined, as workers take time to start."""
Subjects = Sequence[tuple[Scenario, Collection[str]]]
"""Scenarios, each with the ids of its claims."""


@dataclass(frozen=True)
class Design:
    """Design over the priors: a scrambled Sobol sequence, which can be extended member by member.

    Member 0 is the host of the medians.
    """

    priors: tuple[Prior, ...]
    seed: int = 1
    """Seed of the scrambling."""

    def shares(self, count: int) -> FloatArray:
        """Shares of the priors' probability, one row for each member and one column for each prior.

        Args:
            count: number of members.
        """
        rows = np.full((1, len(self.priors)), 0.5)
        if count > 1:
            sequence = qmc.Sobol(len(self.priors), scramble=True, seed=self.seed)
            rows = np.vstack([rows, sequence.random_base2(max(math.ceil(math.log2(count - 1)), 1))])
        return np.asarray(rows[:count], dtype=float)

    def values(self, shares: FloatArray) -> dict[str, float]:
        """Values of the priors by name at one row of shares; a shared input has each of its names."""
        quantiles = [
            float(prior.quantiles(np.array([share]))[0]) for prior, share in zip(self.priors, shares, strict=True)
        ]
        return {name: value for prior, value in zip(self.priors, quantiles, strict=True) for name in prior.members}


@dataclass(frozen=True)
class Evaluated:
    """A finished host of a design, with its claims."""

    member: int
    claims: Mapping[str, float]
    """Claims by id, in their units; NaN without a value."""
    processor_s: float
    """Processor time of its runs."""
    error: str = ""
    """Reason if the host is impossible; its claims then have no values."""


def run_members(
    members: Mapping[int, Mapping[str, float]],
    host: FixedPoints,
    log: Path,
    execution: ExecutionOptions,
    *,
    seed: int = 1,
    budget_s: float = math.inf,
    report: Callable[[Evaluated], None] | None = None,
) -> list[Evaluated]:
    """Run hosts of a design. A finished host is appended to a log; hosts in the log are not repeated.

    Args:
        members: values of constants and inputs, by number of the member, in the order in which they are run.
        host: the scenario with the measures to evaluate.
        log: a CSV file; created if missing.
        execution: workers and limits. Runs are not stored: a member is a row of the log.
        seed: root seed of the noise.
        budget_s: processor time, including that of the log, after which no further member starts.
        report: called with each finished member.

    Returns:
        The members of the log.

    Raises:
        InputError: the log has other claims, or the execution options cannot be satisfied.
        KeyboardInterrupt: Ctrl-C; the log is kept.
    """
    _cut_unfinished(log)
    done = {member.member: member for member in read_log(log, host.names)} if log.exists() else {}
    left = [member_number for member_number in members if member_number not in done]
    while left and sum(member.processor_s for member in done.values()) < budget_s:
        spent = [member.processor_s for member in done.values()]
        count = round(BATCH_S / max(sum(spent) / len(spent), 1e-3)) if spent else 0
        count = min(max(count, AT_ONCE[0]), AT_ONCE[1])
        batch, left = left[:count], left[count:]
        for member in evaluate(
            host, {member_number: members[member_number] for member_number in batch}, execution, seed
        ):
            _append(log, host.names, member)
            done[member.member] = member
            if report is not None:
                report(member)
    return list(done.values())


def evaluate(
    host: FixedPoints, members: Mapping[int, Mapping[str, float]], execution: ExecutionOptions, seed: int
) -> list[Evaluated]:
    """Evaluate the measures of several hosts; each member has its own root seed, so that noise differs.

    Args:
        host: the scenario at fixed points.
        members: values of constants and inputs, by number of the member.
        execution: workers and limits; its results folder is not used.
        seed: of the design.

    Raises:
        KeyboardInterrupt: Ctrl-C; the runs of these hosts are lost.
    """
    plans: dict[int, Plan] = {}
    refused = {}
    for member, values in members.items():
        try:
            scenario = with_constants(host.scenario, own_values(host.scenario, values))
            plans[member] = host.plan(scenario, Fidelity(quick=True, seed=seed * 1_000_000 + member))
        except InputError as error:
            refused[member] = "; ".join(fault.message for fault in error.faults)
    nothing = dict.fromkeys(host.names, math.nan)
    evaluated = {member: Evaluated(member, nothing, 0.0, reason) for member, reason in refused.items()}
    with tempfile.TemporaryDirectory(prefix="hostsim-design-") as folder:
        outcomes = execute_all(list(plans.values()), replace(execution, store=Store(Path(folder))))
        for (member, plan), outcome in zip(plans.items(), outcomes, strict=True):
            values = nothing | host.values(plan.scenario, plan.fidelity, outcome)
            spent = sum(float(record.facts.get("wall_processor_s", 0.0)) for record in outcome.records.values())
            evaluated[member] = Evaluated(member, values, spent)
    return [evaluated[member] for member in members]


def read_log(log: Path, names: Collection[str]) -> Iterator[Evaluated]:
    """Read the members of a log.

    Raises:
        InputError: the log has other claims.
    """
    with log.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        columns = set(rows.fieldnames or ()) - {"member", "processor_s", "error"}
        if columns != set(names):
            other = sorted(columns.symmetric_difference(names))
            raise InputError(
                Fault(
                    "is a log of other claims",
                    str(log),
                    given=", ".join(other)[:200],
                    allowed="an empty folder",
                )
            )
        for row in rows:
            yield Evaluated(
                int(row["member"]),
                {name: float(row[name]) for name in names},
                float(row["processor_s"]),
                row["error"],
            )


def _cut_unfinished(log: Path) -> None:
    """Remove an incomplete last row; its member will be repeated."""
    text = log.read_bytes() if log.exists() else b""
    if text and not text.endswith(b"\n"):
        whole = text[: text.rfind(b"\n") + 1]
        write_whole(log, whole) if whole else log.unlink()


def _append(log: Path, names: Sequence[str], member: Evaluated) -> None:
    """Append a row and flush it to disk, so that a killed command loses only running members."""
    is_new = not log.exists()
    with log.open("a", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        if is_new:
            rows.writerow(["member", *names, "processor_s", "error"])
        values = (f"{member.claims[name]:.6g}" for name in names)
        rows.writerow([member.member, *values, f"{member.processor_s:.4g}", member.error])
        file.flush()
        os.fsync(file.fileno())
