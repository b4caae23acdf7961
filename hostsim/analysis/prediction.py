"""Predictions of published measurements: today's value beside the first, and how good both are by kind.

Nothing is fitted to these measurements. A miss is a miss: it is shown and counted, and fails nothing.
"""

from __future__ import annotations

import importlib.metadata
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations

from hostsim.analysis.commit import commit_of
from hostsim.campaign.store import code_digest
from hostsim.claim import CLAIM_KINDS, Measurement
from hostsim.errors import Fault, InputError
from hostsim.expect import Verdict
from hostsim.pipeline import ExecutionOptions, execute_all, judge_expectations
from hostsim.scenario.ledger import (
    FirstPrediction,
    add,
    input_files,
    inputs_digest,
    ledger_of,
    read_ledger,
    refuse_again,
)
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.planner import make_plan
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.shipped_data import measurements

__all__ = [
    "TIMES",
    "Prediction",
    "Score",
    "first_commits",
    "predict",
    "record_first",
    "require_measurements",
    "scores",
    "with_ledgers",
]

Chosen = Sequence[tuple[Scenario, frozenset[str]]]
"""Scenarios with the names of the measurements to predict, as `hostsim.scenario.selection.select` gives them."""
TIMES = ("first", "today")
"""Which of its two predictions a figure is about."""
CHANGED_INPUTS = "inputs changed"
CHANGED_MECHANISM = "mechanism changed for it"


@dataclass(frozen=True)
class Prediction:
    """The prediction of a measurement: what was published, what was predicted first, and what is predicted today."""

    measurement: Measurement
    verdict: Verdict
    """Today's."""
    digest: str
    """Of today's inputs."""
    first: FirstPrediction | None
    """None where none has been recorded."""

    @property
    def apart(self) -> str:
        """Why it is scored apart from the others; empty where it is not."""
        if self.first is None:
            return ""
        if self.first.changed_for:
            return CHANGED_MECHANISM
        return CHANGED_INPUTS if self.first.digest != self.digest else ""

    def value(self, time: str) -> float | None:
        """The value that was predicted at one of `TIMES`; None where there is none, or only a bound."""
        answer = self.first if time == "first" else self.verdict
        return None if answer is None or answer.bound else answer.value

    def error(self, time: str) -> float | None:
        """The relative error of a value, 0.1 for one that is 10 % above what was published; None where no number was."""
        value, published = self.value(time), self.measurement.number
        return None if value is None or not published or self.measurement.kind == "direction" else value / published - 1

    def in_band(self, time: str) -> bool | None:
        """True when a value lies in the published band; None where nothing was predicted."""
        answer = self.first if time == "first" else self.verdict
        if answer is None or answer.value is None:
            return None
        return not answer.bound and self.measurement.band.holds(answer.value)

    def side_is_right(self, time: str) -> bool | None:
        """True when a quotient or a sign lies on the published side of 1, or of 0; None where nothing was published of that."""
        value, side = self.value(time), self.measurement.side
        neutral = 0 if self.measurement.unit == "sign" else 1
        return None if value is None or not side else (value - neutral) * side > 0

    def is_in_order(self, other: Prediction, time: str) -> bool | None:
        """True when it and another are predicted in the published order.

        None where that says nothing: another source or unit, bands that are not apart, or one that is not predicted.
        """
        one, two, here, there = self.measurement, other.measurement, self.value(time), other.value(time)
        if one.publication != two.publication or one.unit != two.unit or one.side or here is None or there is None:
            return None
        for low, high, difference in ((one.band, two.band, there - here), (two.band, one.band, here - there)):
            if low.high is not None and high.low is not None and low.high < high.low:
                return difference > 0
        return None

    def orders(self, others: Iterable[Prediction], time: str) -> list[bool]:
        """Every order that it is in, right or not: its side, and the pairs of it and another."""
        found = [self.side_is_right(time), *(self.is_in_order(other, time) for other in others if other is not self)]
        return [right for right in found if right is not None]


@dataclass(frozen=True)
class Score:
    """How good the predictions of a kind were at one time."""

    kind: str
    time: str
    """One of `TIMES`."""
    apart: str
    """Why these are counted apart from others of the kind; empty for the rest."""
    predicted: int
    """How many have a value."""
    median_error: float | None
    """The median of the relative errors, without their signs; None where none has one."""
    in_band: int
    orders: int
    """How many sides and pairs there are."""
    right: int
    """How many of them are predicted right."""


def require_measurements(chosen: Chosen) -> None:
    """Check that scenarios predict published measurements.

    Raises:
        InputError: an expectation is of none; a fault for each.
    """
    allowed = "a scenario whose expectations say measurement: ID"
    if faults := [
        Fault("is no published measurement", name, allowed=allowed, file=str(scenario.file))
        for scenario, names in chosen
        for name in sorted(names - measurements().keys())
    ]:
        raise InputError(faults)


def predict(chosen: Chosen, fidelity: Fidelity, execution: ExecutionOptions) -> list[Prediction]:
    """Predict measurements: run what the results folder does not hold.

    Raises:
        InputError: a ledger is not sound, or the execution options cannot be met.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """
    ledgers = [read_ledger(ledger_of(scenario)) for scenario, _ in chosen]
    plans = [make_plan(scenario, fidelity, sweep=False, expectations=True) for scenario, _ in chosen]
    outcomes = execute_all(plans, execution)
    found = []
    for (scenario, names), ledger, outcome in zip(chosen, ledgers, outcomes, strict=True):
        verdicts = judge_expectations(scenario, outcome.records, outcome.answers, fidelity)
        for verdict in verdicts:
            name = verdict.expectation.name
            if name in names:
                digest = inputs_digest(scenario, name)
                row = measurements()[name].counted_in(verdict.expectation.unit)
                found.append(Prediction(row, verdict, digest, ledger.get(name)))
    return found


def first_commits(chosen: Chosen) -> dict[str, str]:
    """The commit of the inputs of each measurement that is to be predicted for the first time.

    Raises:
        InputError: one has its first prediction, a file of its inputs is not committed as it is, or the inputs of another measurement
            of the scenario have changed since that was predicted.
    """
    found: dict[str, str] = {}
    faults: list[Fault] = []
    for scenario, names in chosen:
        file = ledger_of(scenario)
        refuse_again(file, sorted(names))
        faults += [
            Fault(
                "has other inputs than when it was predicted first",
                name,
                f"digest {inputs_digest(scenario, name)}",
                f"digest {first.digest}, or a scenario of its own for what is new",
                file=str(scenario.file),
            )
            for name, first in read_ledger(file).items()
            if name in {entry.name for entry in scenario.expectations} and first.digest != inputs_digest(scenario, name)
        ]
        own, *others = input_files(scenario)
        commit = commit_of(own, others, "before it is predicted first")
        found |= dict.fromkeys(names, commit)
    if faults:
        raise InputError(faults)
    return found


def record_first(
    chosen: Chosen, commits: Mapping[str, str], predictions: Iterable[Prediction], fidelity: Fidelity
) -> None:
    """Write first predictions to the ledgers beside their scenarios; one without a value is left out.

    Args:
        chosen: what was predicted.
        commits: of `first_commits`, asked before anything ran.
        predictions: what came out.
        fidelity: of the runs.

    Raises:
        InputError: one is there already; nothing is written of that scenario.
    """
    today = datetime.now(UTC).date().isoformat()
    known = {found.measurement.id: found for found in predictions}
    for scenario, names in chosen:
        entries = {}
        for name in (entry.name for entry in scenario.expectations if entry.name in names):
            verdict = known[name].verdict
            if verdict.value is None:
                continue
            entries[name] = FirstPrediction(
                date=today,
                inputs=commits[name],
                digest=known[name].digest,
                code=code_digest(),
                value=verdict.value,
                interval=(verdict.ci_low, verdict.ci_high),
                bound=verdict.bound,
                fidelity="quick" if fidelity.quick else "full",
                seed=fidelity.seed,
                hostsim=importlib.metadata.version("hostsim"),
            )
        if entries:
            add(ledger_of(scenario), entries)


def with_ledgers(chosen: Chosen, predictions: Iterable[Prediction]) -> list[Prediction]:
    """Predictions with what the ledgers say now."""
    ledgers = [read_ledger(ledger_of(scenario)) for scenario, _ in chosen]
    known = {
        name: ledger[name] for (_, names), ledger in zip(chosen, ledgers, strict=True) for name in names & ledger.keys()
    }
    return [replace(each, first=known.get(each.measurement.id)) for each in predictions]


def scores(predictions: Sequence[Prediction]) -> list[Score]:
    """Scores by kind, first and today; what is scored apart stands behind the others of its kind."""
    found = []
    for kind in CLAIM_KINDS:
        of_kind = [each for each in predictions if each.measurement.kind == kind]
        for apart in ("", CHANGED_INPUTS, CHANGED_MECHANISM):
            members = [each for each in of_kind if each.apart == apart]
            found += [_score(kind, time, apart, members) for time in TIMES if members]
    return found


def _score(kind: str, time: str, apart: str, members: Sequence[Prediction]) -> Score:
    errors = [abs(error) for each in members if (error := each.error(time)) is not None]
    bands = [held for each in members if (held := each.in_band(time)) is not None]
    sides = [each.side_is_right(time) for each in members]
    pairs = [one.is_in_order(two, time) for one, two in combinations(members, 2)]
    orders = [right for right in (*sides, *pairs) if right is not None]
    median = statistics.median(errors) if errors else None
    return Score(kind, time, apart, len(bands), median, sum(bands), len(orders), sum(orders))
