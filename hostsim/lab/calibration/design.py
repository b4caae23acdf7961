"""Design of computer experiments: hosts spread over the priors, and the claims of each at fixed points."""

from __future__ import annotations

import csv
import math
import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hostsim.campaign.ensemble import own_values
from hostsim.campaign.pipeline import ExecutionOptions, execute_all
from hostsim.campaign.store import Store
from hostsim.config.files import write_whole
from hostsim.engine.record import FloatArray
from hostsim.errors import Fault, InputError
from hostsim.lab.calibration.fixed_point import FixedPoints
from hostsim.lab.calibration.prior import Prior
from hostsim.scenario.cost_model import with_constants
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.scenario import Scenario

__all__ = ["Design", "Evaluated", "Subjects", "evaluate", "read_log", "run_members"]

AT_ONCE = (4, 50)
"""Smallest and largest number of members that run at the same time, so that no worker waits for the last run of a member."""
BATCH_S = 30.0
"""Processor time of members that run at the same time, if they are short, as workers take time to start."""
Subjects = Sequence[tuple[Scenario, Collection[str]]]
"""Scenarios, each with the ids of its claims."""


@dataclass(frozen=True)
class Design:
    """Design over the priors: a scrambled Sobol sequence, so that members can be added, and each can be computed separately.

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
        from scipy.stats import qmc

        rows = np.full((1, len(self.priors)), 0.5)
        if count > 1:
            sequence = qmc.Sobol(len(self.priors), scramble=True, seed=self.seed)
            rows = np.vstack([rows, sequence.random_base2(max(math.ceil(math.log2(count - 1)), 1))])
        return np.asarray(rows[:count], dtype=float)

    def values(self, shares: FloatArray) -> dict[str, float]:
        """Values of the priors by name at one row of shares; a shared input has each of its names."""
        found = [float(prior.quantiles(np.array([share]))[0]) for prior, share in zip(self.priors, shares, strict=True)]
        return {name: value for prior, value in zip(self.priors, found, strict=True) for name in prior.members}


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
    hosts: Sequence[FixedPoints],
    log: Path,
    execution: ExecutionOptions,
    *,
    seed: int = 1,
    budget_s: float = math.inf,
    tell: Callable[[Evaluated], None] | None = None,
) -> list[Evaluated]:
    """Run hosts of a design, each added to a log when it is finished; hosts of the log are not repeated.

    Args:
        members: values of constants and inputs, by number of the member, in the order in which they are run.
        hosts: scenarios with the claims to evaluate.
        log: a CSV file; created if missing.
        execution: workers and limits. Runs are not stored: a member is a row of the log.
        seed: root seed of the noise.
        budget_s: processor time, including that of the log, after which no further member starts.
        tell: called with each finished member.

    Returns:
        The members of the log.

    Raises:
        InputError: the log has other claims, or the execution options cannot be satisfied.
        KeyboardInterrupt: Ctrl-C; the log is kept.
    """
    names = [name for host in hosts for name in host.names]
    _cut_unfinished(log)
    done = {one.member: one for one in read_log(log, names)} if log.exists() else {}
    left = [number for number in members if number not in done]
    while left and sum(one.processor_s for one in done.values()) < budget_s:
        spent = [one.processor_s for one in done.values()]
        count = round(BATCH_S / max(sum(spent) / len(spent), 1e-3)) if spent else 0
        count = min(max(count, AT_ONCE[0]), AT_ONCE[1])
        batch, left = left[:count], left[count:]
        for one in evaluate(hosts, {number: members[number] for number in batch}, execution, seed):
            _append(log, names, one)
            done[one.member] = one
            if tell is not None:
                tell(one)
    return list(done.values())


def evaluate(
    hosts: Sequence[FixedPoints],
    members: Mapping[int, Mapping[str, float]],
    execution: ExecutionOptions,
    seed: int,
) -> list[Evaluated]:
    """Evaluate claims on several hosts; each member has its own root seed, so that noise differs.

    Args:
        hosts: scenarios at fixed points.
        members: values of constants and inputs, by number of the member.
        execution: workers and limits; its results folder is not used.
        seed: of the design.

    Raises:
        KeyboardInterrupt: Ctrl-C; the runs of these hosts are lost.
    """
    plans, refused = [], {}
    for number, values in members.items():
        fidelity = Fidelity(quick=True, seed=seed * 1_000_000 + number)
        try:
            changed = [(host, with_constants(host.scenario, own_values(host.scenario, values))) for host in hosts]
            plans += [(number, host, scenario, host.plan(scenario, fidelity)) for host, scenario in changed]
        except InputError as error:
            refused[number] = "; ".join(fault.message for fault in error.faults)
    plans = [entry for entry in plans if entry[0] not in refused]
    found: dict[int, dict[str, float]] = {number: {} for number in members}
    spent: dict[int, float] = dict.fromkeys(members, 0.0)
    with tempfile.TemporaryDirectory(prefix="hostsim-design-") as folder:
        outcomes = execute_all([entry[-1] for entry in plans], replace(execution, store=Store(Path(folder))))
        for (number, host, scenario, plan), outcome in zip(plans, outcomes, strict=True):
            found[number] |= host.values(scenario, plan.fidelity, outcome)
            spent[number] += sum(
                float(record.facts.get("wall_processor_s", 0.0)) for record in outcome.records.values()
            )
    names = [name for host in hosts for name in host.names]
    return [
        Evaluated(number, {name: values.get(name, math.nan) for name in names}, spent[number], refused.get(number, ""))
        for number, values in found.items()
    ]


def read_log(log: Path, names: Collection[str]) -> Iterator[Evaluated]:
    """Read the members of a log.

    Raises:
        InputError: the log has other claims.
    """
    with log.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        given = set(rows.fieldnames or ()) - {"member", "processor_s", "error"}
        if given != set(names):
            other = sorted(given.symmetric_difference(names))
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
    """Remove an incomplete last row; its member is repeated."""
    text = log.read_bytes() if log.exists() else b""
    if text and not text.endswith(b"\n"):
        whole = text[: text.rfind(b"\n") + 1]
        write_whole(log, whole) if whole else log.unlink()


def _append(log: Path, names: Sequence[str], one: Evaluated) -> None:
    """Add a row, flushed to disk, so that killing the command loses only running members."""
    is_new = not log.exists()
    with log.open("a", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        if is_new:
            rows.writerow(["member", *names, "processor_s", "error"])
        values = (f"{one.claims[name]:.6g}" for name in names)
        rows.writerow([one.member, *values, f"{one.processor_s:.4g}", one.error])
        file.flush()
        os.fsync(file.fileno())
