"""Predictions of published measurements: the ledger of first values, today's values, and their scores."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import shutil
import statistics
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from hostsim.campaign.pipeline import ExecutionOptions, execute_all, judge_expectations
from hostsim.campaign.store import code_digest
from hostsim.config.field import Spec
from hostsim.config.files import display_name, is_below, read_text, write_whole
from hostsim.errors import Fault, InputError, nearest_name, raise_faults
from hostsim.results.claim import CLAIM_KINDS, Measurement
from hostsim.results.expect import Verdict
from hostsim.results.search_answer import Bound
from hostsim.results.verdicts import PREDICTION, band_text, finite, interval_cell, number, prediction_text, value_text
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.planner import make_plan
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.selection import restrict
from hostsim.scenario.shipped_data import LEDGER, measurements, shipped_parts
from hostsim.scenario.yaml.reader import read
from hostsim.scenario.yaml.source_tree import Tree
from hostsim.scenario.yaml.validation import validate

__all__ = [
    "HEADINGS",
    "SCORE_HEADINGS",
    "TIMES",
    "FirstPrediction",
    "Prediction",
    "Score",
    "add",
    "as_json",
    "commit_of",
    "first_commit_with",
    "first_commits",
    "headings",
    "input_files",
    "inputs_digest",
    "ledger_of",
    "percent",
    "predict",
    "read_ledger",
    "record_first",
    "refuse_again",
    "require_measurements",
    "rows",
    "score_rows",
    "scores",
    "value_cell",
    "with_ledgers",
]


def commit_of(file: Path, others: Sequence[Path], why: str) -> str:
    """The last commit that changed any of the given files, all of which must be committed and unchanged.

    Args:
        file: in the repository.
        others: further files; those outside the repository are ignored.
        why: purpose of the commit, for the fault's text.

    Raises:
        InputError: a file differs from its committed version, or is not in git; a fault for each.
    """
    allowed = f"a file that is committed {why}"
    top = _git(file.parent, "rev-parse", "--show-toplevel")
    files = [file, *(other for other in others if top is not None and is_below(other, Path(top)))]
    faults = []
    for file in files:
        tracked = _git(file.parent, "ls-files", "--error-unmatch", "--", file.name)
        if tracked is None:
            faults.append(Fault("is not committed", allowed=allowed, file=display_name(file)))
        elif _git(file.parent, "status", "--porcelain", "--", file.name):
            faults.append(Fault("differs from its committed version", allowed=allowed, file=display_name(file)))
    raise_faults(faults)
    paths = [str(file.resolve()) for file in files]
    return _git(files[0].parent, "log", "-1", "--format=%H", "--", *paths) or ""


def first_commit_with(file: Path, text: str) -> str | None:
    """The first commit in which a file contained a text; None without one, without git, or outside a repository."""
    commits = _git(file.parent, "log", "--reverse", "--format=%H", f"-S{text}", "--", file.name)
    return commits.splitlines()[0] if commits else None


def _git(folder: Path, *arguments: str) -> str | None:
    """Output of a git command without the last newline; None if it fails."""
    program = shutil.which("git")
    if program is None:
        return None
    command = [program, "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # no shell, fixed arguments
    return done.stdout.strip() if done.returncode == 0 else None


_HEAD = """\
# First predictions, by measurement (docs/guide/judge-a-claim.md). `hostsim predict --record-first` adds an entry; entries are never changed or removed.
# If a mechanism was changed because of the measurement, `changed_for: TEXT` is added to its entry by hand, and it is scored separately from then on.
"""


class FirstPrediction(Spec):
    """The first prediction of a measurement."""

    date: str
    inputs: str
    """Commit that has its inputs."""
    digest: str
    """Digest of its inputs (`inputs_digest`)."""
    code: str
    """Digest of the code of its runs."""
    value: float
    interval: tuple[float | None, float | None]
    """95 % interval."""
    bound: Annotated[Bound | None, Field(strict=False)] = None
    """The kind of bound, if the value is a bound."""
    fidelity: Literal["quick", "full"]
    seed: int
    """Root seed."""
    hostsim: str
    """Version."""
    changed_for: str = ""
    """The mechanism that was changed later because of this measurement, if any."""
    without_reasons: str = ""
    """Digest of the same inputs by today's rule, added by hand to an entry whose digest includes reasons."""

    def is_of(self, digest: str) -> bool:
        """True if inputs with this digest are those of the prediction."""
        return digest in (self.digest, self.without_reasons)


def ledger_of(scenario: Scenario) -> Path:
    """The ledger's file of a scenario, in the scenario's folder."""
    return scenario.file.parent / LEDGER


def read_ledger(file: Path) -> dict[str, FirstPrediction]:
    """The first predictions of a ledger by measurement; empty without a file.

    Raises:
        InputError: an entry is invalid, or its measurement is unknown.
    """
    tree = _tree(file)
    ledger, faults = {}, []
    for name in tree.data:
        entry, wrong = validate(FirstPrediction, tree, (name,))
        if name not in measurements():
            nearest = nearest_name(name, measurements())
            wrong = [tree.fault((name,), "unknown measurement", "an id of published-2.csv", nearest, given=repr(name))]
        faults += wrong
        if entry is not None:
            ledger[name] = entry
    raise_faults(faults)
    return ledger


def refuse_again(file: Path, names: list[str]) -> None:
    """Refuse measurements that the ledger already has.

    Raises:
        InputError: a fault for each, with the line of its entry.
    """
    ledger, tree = read_ledger(file), _tree(file)
    again = [name for name in names if name in ledger]
    allowed = "measurements without a first prediction"
    raise_faults(
        tree.fault(
            (name,), "already has its first prediction, which never changes", allowed, given=f"{ledger[name].value:g}"
        )
        for name in again
    )


def add(file: Path, entries: Mapping[str, FirstPrediction]) -> None:
    """Append first predictions to a ledger.

    Raises:
        InputError: the ledger already has one of them; nothing is written.
    """
    refuse_again(file, list(entries))
    text = read_text(file, display_name(file)) if file.is_file() else _HEAD
    for name, entry in entries.items():
        # JSON texts and lists are also YAML, and keep a text of digits a text
        fields = entry.model_dump(mode="json", exclude_defaults=True)
        lines = [f"  {key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items()]
        text = f"{text.rstrip()}\n{name}:\n{''.join(lines)}"
    write_whole(file, text.encode())


def _tree(file: Path) -> Tree:
    """The tree of a ledger; empty without a file.

    Raises:
        InputError: it is unreadable, or not a mapping.
    """
    if not file.is_file():
        return Tree({}, {}, display_name(file))
    tree = Tree.of(file, display_name(file))
    if not isinstance(tree.data, dict):
        raise InputError(tree.fault((), "is not a ledger", "measurements with their first predictions"))
    return tree


def input_files(scenario: Scenario) -> tuple[Path, ...]:
    """The files of a scenario's inputs: its own, its servers', and those beside it that it names: arrivals, settings,
    guests.

    Shipped platforms and guests are left out: they contain costs, and are part of the model.
    """
    servers, folder = shipped_parts("hardware"), scenario.file.parent
    files: dict[Path, None] = {}
    waiting = [scenario.file]
    while waiting:
        file = waiting.pop(0)
        if file in files:
            continue
        files[file] = None
        for text in _texts(_content(file)):
            if text in servers and file == scenario.file:  # a server's file contains its own name
                waiting.append(servers[text])
            elif ("/" in text or "." in text) and _is_file(folder / text):
                waiting.append(folder / text)
    return tuple(files)


def inputs_digest(scenario: Scenario, name: str) -> str:
    """Digest of the inputs of a prediction by content, not by text.

    Comments, reasons of assumed values, layout, figures and other predictions do not count.

    Args:
        scenario: the scenario.
        name: the measurement.

    Returns:
        Sixteen hexadecimal digits.
    """
    own, *others = input_files(scenario)
    needed = {entry.name for entry in restrict(scenario, [name]).expectations}
    tree = dict(_content(own))
    tree["expect"] = [entry for entry in tree["expect"] if _label(entry) in needed]
    written = {key: value for key, value in tree.items() if key not in ("question", "figures")}
    parts = _without_reasons([written, *((other.name, _content(other)) for other in others)])
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _without_reasons(tree: Any) -> Any:
    """A tree without the reasons of assumed values."""
    match tree:
        case dict():
            return {key: _without_reasons(value) for key, value in tree.items() if key != "assumed"}
        case list() | tuple():
            return [_without_reasons(value) for value in tree]
    return tree


def _label(entry: Mapping[str, Any]) -> str:
    return str(next(entry[key] for key in ("claim", "measurement", "name") if key in entry))


def _content(file: Path) -> Any:
    """Content of a file: the tree of YAML, or the hash of anything else."""
    if file.suffix in (".yaml", ".yml"):
        return read(file, display_name(file)).tree
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except (OSError, ValueError):  # a reason is too long for a file name
        return False


def _texts(tree: Any) -> Iterator[str]:
    """Every text in a tree except keys."""
    match tree:
        case str():
            yield tree
        case dict():
            for value in tree.values():
                yield from _texts(value)
        case tuple():
            for value in tree:
                yield from _texts(value)


Chosen = Sequence[tuple[Scenario, frozenset[str]]]
"""Scenarios with the names of the measurements to predict, as `hostsim.scenario.selection.select` gives them."""
TIMES = ("first", "today")
"""The two predictions of a measurement."""
CHANGED_INPUTS = "inputs changed"
CHANGED_MECHANISM = "mechanism changed for it"


@dataclass(frozen=True)
class Prediction:
    """The prediction of a measurement: published, first and today's value."""

    measurement: Measurement
    verdict: Verdict
    """Today's prediction."""
    digest: str
    """Digest of today's inputs."""
    first: FirstPrediction | None
    """First prediction, or None."""

    @property
    def apart(self) -> str:
        """Reason why it is scored separately, if any."""
        if self.first is None:
            return ""
        if self.first.changed_for:
            return CHANGED_MECHANISM
        return "" if self.first.is_of(self.digest) else CHANGED_INPUTS

    def value(self, time: str) -> float | None:
        """The prediction of one of `TIMES`; None if it has no value or is a bound."""
        answer = self.first if time == "first" else self.verdict
        return None if answer is None or answer.bound else answer.value

    def error(self, time: str) -> float | None:
        """The relative error of a value, 0.1 for 10 % above the published value; None without a published number."""
        value, published = self.value(time), self.measurement.number
        return None if value is None or not published or self.measurement.kind == "direction" else value / published - 1

    def in_band(self, time: str) -> bool | None:
        """True if the prediction is in the published band; None without a prediction."""
        answer = self.first if time == "first" else self.verdict
        if answer is None or answer.value is None:
            return None
        return not answer.bound and self.measurement.band.holds(answer.value)

    def side_is_right(self, time: str) -> bool | None:
        """True if a ratio is on the published side of 1, or a difference on that of 0; None without a published
        side.
        """
        value, side = self.value(time), self.measurement.side
        neutral = 0 if self.measurement.unit == "sign" else 1
        return None if value is None or not side else (value - neutral) * side > 0

    def is_in_order(self, other: Prediction, time: str) -> bool | None:
        """True if this and another measurement are predicted in the published order; None if not comparable.

        None if not comparable: another source or unit, overlapping bands, or a missing prediction.
        """
        one, two, here, there = self.measurement, other.measurement, self.value(time), other.value(time)
        if one.publication != two.publication or one.unit != two.unit or one.side or here is None or there is None:
            return None
        for low, high, difference in ((one.band, two.band, there - here), (two.band, one.band, here - there)):
            if low.high is not None and high.low is not None and low.high < high.low:
                return difference > 0
        return None

    def orders(self, others: Iterable[Prediction], time: str) -> list[bool]:
        """Whether each order that involves a measurement is right: its side, and its pairs with others."""
        judged = [self.side_is_right(time), *(self.is_in_order(other, time) for other in others if other is not self)]
        return [right for right in judged if right is not None]


@dataclass(frozen=True)
class Score:
    """Score of the predictions of a kind at one time."""

    kind: str
    time: str
    """One of `TIMES`."""
    apart: str
    """Reason why these predictions are counted separately, if any."""
    predicted: int
    """Number of predictions with a value."""
    median_error: float | None
    """Median of the absolute relative errors, or None."""
    in_band: int
    orders: int
    """Number of sides and pairs."""
    right: int
    """Number of those that are predicted correctly."""


def require_measurements(chosen: Chosen) -> None:
    """Check that scenarios predict published measurements.

    Raises:
        InputError: an expectation is not a published measurement; a fault for each.
    """
    allowed = "a scenario whose expectations say measurement: ID"
    raise_faults(
        Fault("is not a published measurement", name, allowed=allowed, file=str(scenario.file))
        for scenario, names in chosen
        for name in sorted(names - measurements().keys())
    )


def predict(chosen: Chosen, fidelity: Fidelity, execution: ExecutionOptions) -> list[Prediction]:
    """Predict measurements, executing the runs that are missing.

    Raises:
        InputError: a ledger is invalid, or the execution options cannot be satisfied.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """
    ledgers = [read_ledger(ledger_of(scenario)) for scenario, _ in chosen]
    plans = [make_plan(scenario, fidelity, sweep=False, expectations=True) for scenario, _ in chosen]
    outcomes = execute_all(plans, execution)
    predictions = []
    for (scenario, names), ledger, outcome in zip(chosen, ledgers, outcomes, strict=True):
        verdicts = judge_expectations(scenario, outcome.records, outcome.answers, fidelity)
        for verdict in verdicts:
            name = verdict.expectation.name
            if name in names:
                digest = inputs_digest(scenario, name)
                row = measurements()[name].counted_in(verdict.expectation.unit)
                predictions.append(Prediction(row, verdict, digest, ledger.get(name)))
    return predictions


def first_commits(chosen: Chosen) -> dict[str, str]:
    """The commit of the inputs of each measurement without a first prediction.

    Raises:
        InputError: a measurement already has its first prediction, a file of its inputs has uncommitted changes, or the inputs of another
            measurement of the scenario have changed since its prediction.
    """
    commits: dict[str, str] = {}
    faults: list[Fault] = []
    for scenario, names in chosen:
        file = ledger_of(scenario)
        refuse_again(file, sorted(names))
        faults += [
            Fault(
                "has different inputs than at its first prediction",
                name,
                f"digest {inputs_digest(scenario, name)}",
                f"digest {first.digest}, or a separate scenario for the new inputs",
                file=str(scenario.file),
            )
            for name, first in read_ledger(file).items()
            if name in {entry.name for entry in scenario.expectations}
            and not first.is_of(inputs_digest(scenario, name))
        ]
        own, *others = input_files(scenario)
        commit = commit_of(own, others, "before it is predicted first")
        commits |= dict.fromkeys(names, commit)
    raise_faults(faults)
    return commits


def record_first(
    chosen: Chosen, commits: Mapping[str, str], predictions: Iterable[Prediction], fidelity: Fidelity
) -> None:
    """Write first predictions to the ledgers beside their scenarios; a measurement without a value is left out.

    Args:
        chosen: the predicted measurements.
        commits: result of `first_commits`, called before the runs.
        predictions: the values.
        fidelity: of the runs.

    Raises:
        InputError: a first prediction exists already; nothing of that scenario is written.
    """
    today = datetime.now(UTC).date().isoformat()
    by_id = {prediction.measurement.id: prediction for prediction in predictions}
    for scenario, names in chosen:
        entries = {}
        for name in (entry.name for entry in scenario.expectations if entry.name in names):
            verdict = by_id[name].verdict
            if verdict.value is None:
                continue
            entries[name] = FirstPrediction(
                date=today,
                inputs=commits[name],
                digest=by_id[name].digest,
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
    """Predictions with the ledgers as they are now."""
    ledgers = [read_ledger(ledger_of(scenario)) for scenario, _ in chosen]
    by_id = {
        name: ledger[name] for (_, names), ledger in zip(chosen, ledgers, strict=True) for name in names & ledger.keys()
    }
    return [replace(prediction, first=by_id.get(prediction.measurement.id)) for prediction in predictions]


def scores(predictions: Sequence[Prediction]) -> Iterator[Score]:
    """Scores of first and today's predictions by kind; those that are scored separately follow the others of their
    kind.
    """
    for kind in CLAIM_KINDS:
        of_kind = [prediction for prediction in predictions if prediction.measurement.kind == kind]
        for apart in ("", CHANGED_INPUTS, CHANGED_MECHANISM):
            members = [prediction for prediction in of_kind if prediction.apart == apart]
            yield from (_score(kind, time, apart, members) for time in TIMES if members)


def _score(kind: str, time: str, apart: str, members: Sequence[Prediction]) -> Score:
    errors = [abs(error) for prediction in members if (error := prediction.error(time)) is not None]
    bands = [held for prediction in members if (held := prediction.in_band(time)) is not None]
    sides = [prediction.side_is_right(time) for prediction in members]
    pairs = [one.is_in_order(two, time) for one, two in combinations(members, 2)]
    orders = [right for right in (*sides, *pairs) if right is not None]
    median = statistics.median(errors) if errors else None
    return Score(kind, time, apart, len(bands), median, sum(bands), len(orders), sum(orders))


HEADINGS = (
    "measurement",
    "published",
    "band",
    "predicted",
    "value",
    "interval",
    "error",
    "in band",
    "order",
    "note",
)
_PLACE = HEADINGS.index("interval") + 1
"""Heading of prediction intervals."""
SCORE_HEADINGS = ("kind", "predicted", "measurements", "median error", "in band", "orders right", "scored apart")
NONE = "–"
"""Text of a missing value."""


def rows(predictions: Sequence[Prediction]) -> list[tuple[str, ...]]:
    """Two rows for each prediction, the first and today's, below `headings`."""
    triples = [(prediction, time, _row(prediction, time, predictions)) for prediction in predictions for time in TIMES]
    if not _is_predicted(predictions):
        return [row for _, _, row in triples]
    cells = [prediction_text(prediction.verdict) if time == "today" else NONE for prediction, time, _ in triples]
    return [(*row[:_PLACE], cell, *row[_PLACE:]) for (_, _, row), cell in zip(triples, cells, strict=True)]


def headings(predictions: Sequence[Prediction]) -> tuple[str, ...]:
    """`HEADINGS`, and that of prediction intervals if there are any."""
    return (*HEADINGS[:_PLACE], PREDICTION, *HEADINGS[_PLACE:]) if _is_predicted(predictions) else HEADINGS


def _is_predicted(predictions: Sequence[Prediction]) -> bool:
    return any(prediction.verdict.prediction for prediction in predictions)


def _row(prediction: Prediction, time: str, others: Sequence[Prediction]) -> tuple[str, ...]:
    row, held, orders = prediction.measurement, prediction.in_band(time), prediction.orders(others, time)
    is_first = time == "first"
    recorded = f"{prediction.first.date}, {prediction.first.fidelity}" if prediction.first else "not recorded"
    return (
        row.id if is_first else "",
        f"{row.value} {row.unit}" if is_first else "",
        band_text(row.band) if is_first else "",
        time,
        value_cell(prediction, time),
        _interval(prediction, time),
        percent(prediction.error(time), sign=True),
        NONE if held is None else "yes" if held else "no",
        f"{sum(orders)} of {len(orders)}" if orders else NONE,
        recorded if is_first else prediction.apart,
    )


def value_cell(prediction: Prediction, time: str) -> str:
    """A value in words; a dash without one."""
    if time == "today":
        return value_text(prediction.verdict)
    first = prediction.first
    if first is None:
        return NONE
    return f"{first.bound} {number(first.value)}" if first.bound else number(first.value)


def _interval(prediction: Prediction, time: str) -> str:
    if time == "today":
        return interval_cell(prediction.verdict)
    low, high = prediction.first.interval if prediction.first else (None, None)
    return NONE if low is None or high is None else f"[{number(low)}, {number(high)}]"


def percent(share: float | None, *, sign: bool = False) -> str:
    """A share in percent; a dash for None."""
    return NONE if share is None else f"{100 * share:{'+' if sign else ''}.1f} %"


def score_rows(predictions: Sequence[Prediction]) -> list[tuple[str, ...]]:
    """The scores, one row for each kind and time, below `SCORE_HEADINGS`."""
    return [
        (
            score.kind,
            score.time,
            str(score.predicted),
            percent(score.median_error),
            _share(score.in_band, score.predicted),
            _share(score.right, score.orders),
            score.apart,
        )
        for score in scores(predictions)
    ]


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else NONE


def as_json(predictions: Sequence[Prediction]) -> dict[str, list[dict[str, object]]]:
    """Predictions and scores as plain values for strict JSON: an absent or infinite number is None."""
    return {
        "predictions": [_plain(prediction, predictions) for prediction in predictions],
        "scores": [
            {
                "kind": score.kind,
                "predicted": score.time,
                "apart": score.apart,
                "measurements": score.predicted,
                "median_error": finite(score.median_error),
                "in_band": score.in_band,
                "orders": score.orders,
                "orders_right": score.right,
            }
            for score in scores(predictions)
        ],
    }


def _plain(prediction: Prediction, others: Sequence[Prediction]) -> dict[str, object]:
    row, verdict = prediction.measurement, prediction.verdict
    first = None if prediction.first is None else prediction.first.model_dump(mode="json")
    today: dict[str, object] = {
        "digest": prediction.digest,
        "value": finite(verdict.value),
        "interval": [finite(verdict.ci_low), finite(verdict.ci_high)],
        "bound": verdict.bound and verdict.bound.value,
        "reason": verdict.reason,
        "notes": list(verdict.notes),
    }
    if interval := verdict.prediction:
        today["prediction"] = [interval.low, interval.high]
        today["members"] = interval.members
    judged = {
        time: {
            "error": finite(prediction.error(time)),
            "in_band": prediction.in_band(time),
            "orders": prediction.orders(others, time),
        }
        for time in TIMES
    }
    return {
        "measurement": row.id,
        "scenario": verdict.scenario,
        "kind": row.kind,
        "unit": row.unit,
        "published": row.value,
        "low": row.band.low,
        "high": row.band.high,
        "source": row.source,
        "first": None if first is None else first | judged["first"],
        "today": today | judged["today"],
        "apart": prediction.apart,
    }
