"""Assumption study: every assumed constant and input at the ends of its range, and what becomes of the claims that it reaches.

All else is as shipped, and all runs share their random numbers. A point that an assumption does not reach is the same point, and is
not run again; a threshold takes two points (`hostsim.calibration.local_threshold`), and a search only where these do not say. An end
that leaves the busiest and the idlest points as they are, to the last digit, is run at no other. A verdict that
flips is judged again by more replications: chance may have flipped it.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from hostsim.analysis.constant import Constant, Origin
from hostsim.analysis.cost_model import constants_at, scenario_inputs
from hostsim.calibration.moved_host import MovedHost, ShippedHost
from hostsim.campaign.store import code_digest
from hostsim.expect import Verdict
from hostsim.pipeline import ExecutionOptions, execute_all
from hostsim.scenario.plan import Fidelity, Plan
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.selection import restrict
from hostsim.scenario.shipped_data import data_root

__all__ = [
    "Assumption",
    "Move",
    "RefusedEnd",
    "Study",
    "assumptions_of",
    "flipping",
    "forecast_runs",
    "run_study",
    "shipped_studies",
]

AT_ONCE = 8
"""Ends whose runs are made at the same time: enough for all workers, and few enough to keep their records in memory."""
CONFIRMING = 3
"""Replications by which a verdict that flips is judged again, as shipped and moved."""

Subjects = Sequence[tuple[Scenario, Collection[str]]]
"""Scenarios, each with the names of the expectations that are judged."""


@dataclass(frozen=True)
class Assumption:
    """An assumed constant, or an assumed input of one scenario."""

    name: str
    """The file and the path in it: ``esxi.costs.driver_tx``, ``numa-io.traffic.netperf.burst``."""
    constant: Constant
    scenario: str = ""
    """The scenario whose input it is; empty for a constant of a platform, server or guest."""

    @property
    def ends(self) -> list[float]:
        """Where it is moved: both ends of its range as far as they differ from its value; of a choice every other word."""
        all_of_it = range(len(self.constant.words)) if self.constant.words else self.constant.ends
        return [float(end) for end in all_of_it if end != self.constant.value]

    def text(self, value: float) -> str:
        """A value of it in words."""
        constant = self.constant
        return constant.words[round(value)] if constant.words else f"{value:.12g} {constant.unit}".rstrip()


@dataclass(frozen=True)
class Move:
    """One claim with one assumption at one end of its range."""

    assumption: str
    end: str
    """A word, or a number with its unit."""
    claim: str
    before: float | None
    after: float | None
    """Values in the claim's unit; None where there is none."""
    was: str
    """Verdict before: ``in`` its band, ``out`` of it, or ``missing`` where there is no value, for a run that failed is no pass."""
    now: str
    """Verdict after, likewise."""
    confirmed: bool = False
    """It had flipped, and these values and verdicts are those of `CONFIRMING` replications."""

    @property
    def flips(self) -> bool:
        """True when the verdict is another one."""
        return self.was != self.now


@dataclass(frozen=True)
class RefusedEnd:
    """An end of a range at which the host of a claim cannot be."""

    assumption: str
    end: str
    claim: str
    reason: str


@dataclass(frozen=True)
class Study:
    """Result of an assumption study of some claims."""

    name: str
    """The experiment as the table of claims names it, or a scenario."""
    date: str
    """Day on which it was made."""
    code: str
    """Digest of the code that its runs depend on."""
    quick: bool
    seed: int
    replications: int | None
    """Runs of each point; the scenarios' numbers where None."""
    assumptions: Mapping[str, Mapping[str, str]]
    """By name: ``value``, ``ends`` in words, ``reason``."""
    moves: tuple[Move, ...]
    refused: tuple[RefusedEnd, ...] = ()

    @property
    def flips(self) -> tuple[Move, ...]:
        """The moves that flip a verdict."""
        return tuple(move for move in self.moves if move.flips)


def assumptions_of(subjects: Subjects, runs: Fidelity, only: Sequence[str] = ("*",)) -> tuple[Assumption, ...]:
    """The assumptions behind the points at which expectations are judged: inputs of the scenarios first, each once.

    What a calibration moves is none, and neither is what has no range to move in.

    Args:
        subjects: scenarios with their expectations.
        runs: how long and how often.
        only: patterns of names, of which one must match.
    """
    found: dict[str, Assumption] = {}
    parts: dict[str, Assumption] = {}
    for scenario, names in subjects:
        for path, constant in scenario_inputs(scenario).items():
            name = f"{scenario.name}.{path}"
            found[name] = Assumption(name, constant, scenario.name)
        for axes in ShippedHost(scenario, names, runs).first_points():
            for constant in constants_at(scenario, axes):
                if (
                    constant.file
                    and constant.origin is Origin.ASSUMED
                    and constant.range
                    and not constant.is_calibrated
                ):
                    parts[constant.name] = Assumption(constant.name, constant)
    return tuple(
        one
        for one in (*found.values(), *parts.values())
        if one.ends and any(fnmatchcase(one.name, pattern) for pattern in only)
    )


def run_study(
    name: str,
    subjects: Subjects,
    runs: Fidelity,
    execution: ExecutionOptions,
    tell: Callable[[int, int, str], None] | None = None,
    only: Sequence[str] = ("*",),
) -> Study:
    """Move every assumption behind some expectations to the ends of its range, and judge those that it reaches.

    Args:
        name: of the study.
        subjects: scenarios with the expectations to judge.
        runs: how long and how often.
        execution: where runs are kept and what they are made with.
        tell: progress: the number done, the total, and ``ends`` or ``flips``.
        only: patterns of the names of assumptions to move.

    Raises:
        InputError: the execution options cannot be met.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """
    assumptions = assumptions_of(subjects, runs, only)
    shipped = [ShippedHost(scenario, names, runs) for scenario, names in subjects if assumptions]
    _run_shipped(shipped, execution)
    jobs = [(assumption, end) for assumption in assumptions for end in assumption.ends]
    moves: list[Move] = []
    moved: list[_MovedTo] = []
    refused: list[RefusedEnd] = []
    for start in range(0, len(jobs), AT_ONCE):
        hosts = [
            (assumption, end, host.moved({assumption.constant.name: end}))
            for assumption, end in jobs[start : start + AT_ONCE]
            for host in shipped
            if assumption.scenario in ("", host.scenario.name)
        ]
        _run_moved([host for _, _, host in hosts], execution)
        for assumption, end, host in hosts:
            text = assumption.text(end)
            moves += _moves(assumption.name, text, host)
            moved += [_MovedTo(host.shipped, assumption.constant.name, end)] * len(host.reached)
            refused += [RefusedEnd(assumption.name, text, claim, reason) for claim, reason in host.refused.items()]
        if tell is not None:
            tell(min(start + AT_ONCE, len(jobs)), len(jobs), "ends")
    _confirm(moves, moved, execution, tell)
    return Study(
        name,
        dt.date.today().isoformat(),
        code_digest(),
        runs.quick,
        runs.seed,
        runs.replications,
        {one.name: _described(one) for one in assumptions},
        tuple(moves),
        tuple(refused),
    )


def forecast_runs(subjects: Subjects, runs: Fidelity, only: Sequence[str] = ("*",)) -> tuple[list[Plan], int]:
    """The plans that a study would execute, searches apart, for an estimate; and the number of ends.

    Before the thresholds are known, the ends of their brackets stand for the points beside them.
    """
    assumptions = assumptions_of(subjects, runs, only)
    shipped = [ShippedHost(scenario, names, runs) for scenario, names in subjects if assumptions]
    plans = []
    for host in shipped:
        tasks = list(host.plan().tasks)
        for assumption in assumptions:
            if assumption.scenario in ("", host.scenario.name):
                tasks += [
                    task for end in assumption.ends for task in host.moved({assumption.constant.name: end}).plan().tasks
                ]
        plans.append(Plan(host.scenario, runs, tuple({task.key: task for task in tasks}.values()), ()))
    return plans, sum(len(assumption.ends) for assumption in assumptions)


def shipped_studies(folder: str = "assumptions") -> tuple[Study, ...]:
    """The shipped studies that `hostsim assumptions` wrote to a folder, in the order of the experiments' names."""
    files = sorted((data_root() / "calibration" / folder).glob("*.json"))
    return tuple(_read(json.loads(file.read_text(encoding="utf-8"))) for file in files)


def _read(data: dict[str, object]) -> Study:
    rows: dict[str, list[dict[str, object]]] = {key: data.pop(key) for key in ("moves", "refused")}  # type: ignore[misc]
    moves, refused = tuple(Move(**row) for row in rows["moves"]), tuple(RefusedEnd(**row) for row in rows["refused"])  # type: ignore[arg-type]
    return Study(**data, moves=moves, refused=refused)  # type: ignore[arg-type]


def _run_shipped(hosts: Sequence[ShippedHost], execution: ExecutionOptions) -> None:
    """Run what the expectations need as shipped, then the points beside the thresholds that were found."""
    for host, outcome in zip(hosts, execute_all([host.plan() for host in hosts], execution), strict=True):
        host.take(outcome)
    for host, outcome in zip(hosts, execute_all([host.beside_plan() for host in hosts], execution), strict=True):
        host.take_beside(outcome)


@dataclass(frozen=True)
class _MovedTo:
    """A scenario with one number of its host at an end of its range."""

    shipped: ShippedHost
    number: str
    end: float

    def again(self, claim: str) -> ShippedHost:
        """The scenario of one claim, with as many replications as it takes to confirm a flip."""
        runs = replace(self.shipped.runs, replications=CONFIRMING)
        return ShippedHost(restrict(self.shipped.scenario, [claim]), [claim], runs)


def _confirm(
    moves: list[Move],
    moved: Sequence[_MovedTo],
    execution: ExecutionOptions,
    tell: Callable[[int, int, str], None] | None,
) -> None:
    """Judge every verdict that flips again by `CONFIRMING` replications, as shipped and moved, in its place."""
    flips = [
        place
        for place, (move, to) in enumerate(zip(moves, moved, strict=True))
        if move.flips and to.shipped.maker.replications < CONFIRMING
    ]
    names = {place: (moved[place].shipped.scenario.name, moves[place].claim) for place in flips}
    shipped = {name: moved[place].again(moves[place].claim) for place, name in names.items()}
    _run_shipped(list(shipped.values()), execution)
    for start in range(0, len(flips), AT_ONCE):
        batch = flips[start : start + AT_ONCE]
        hosts = [shipped[names[place]].moved({moved[place].number: moved[place].end}) for place in batch]
        _run_moved(hosts, execution)
        for place, host in zip(batch, hosts, strict=True):
            [judged] = _moves(moves[place].assumption, moves[place].end, host)
            moves[place] = replace(judged, confirmed=True)
        if tell is not None:
            tell(start + len(batch), len(flips), "flips")


def _run_moved(hosts: Sequence[MovedHost], execution: ExecutionOptions) -> None:
    """Run the first points, paired points where these differ, then a search for each threshold of which they do not say where it is."""
    first = [host for host in hosts if host.reached]
    for host, outcome in zip(first, execute_all([host.first_plan() for host in first], execution), strict=True):
        host.take_first(outcome)
    reached = [host for host in first if not host.is_unmoved]
    for host, outcome in zip(reached, execute_all([host.plan() for host in reached], execution), strict=True):
        host.take(outcome)
    while lost := [host for host in reached if host.lost]:
        for host, outcome in zip(lost, execute_all([host.search_plan() for host in lost], execution), strict=True):
            host.take_search(outcome)


def _moves(name: str, end: str, host: MovedHost) -> Iterator[Move]:
    after = host.verdicts() if host.reached else {}
    for claim in host.reached:
        was, now = host.shipped.verdicts[claim], after[claim]
        yield Move(name, end, claim, _value(was), _value(now), _state(was), _state(now))


def _value(verdict: Verdict) -> float | None:
    value = verdict.value
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def _state(verdict: Verdict) -> str:
    if verdict.value is None or math.isnan(verdict.value):
        return "missing"
    return "in" if verdict.expectation.band.holds(verdict.value) else "out"


def _described(assumption: Assumption) -> dict[str, str]:
    return {
        "value": assumption.text(assumption.constant.value),
        "ends": ", ".join(map(assumption.text, assumption.ends)),
        "reason": assumption.constant.text,
    }


def flipping(studies: Iterable[Study]) -> dict[str, list[Move]]:
    """The assumptions that flip a verdict, each with its moves that do."""
    found: dict[str, list[Move]] = {}
    for study in studies:
        for move in study.flips:
            found.setdefault(move.assumption, []).append(move)
    return found
