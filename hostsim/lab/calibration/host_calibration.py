"""Calibration of your own host, from options to its results: ensemble, residuals, predictions, files.

The files are platforms, servers, peers and guests with the constants of the member nearest the centre of the ensemble.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hostsim.campaign.ensemble import write_ensemble
from hostsim.campaign.pipeline import ExecutionOptions
from hostsim.config.files import display_name, require_folder, write_whole
from hostsim.config.quantity import read_quantity
from hostsim.errors import Fault, InputError, is_integer
from hostsim.lab.calibration.joint import WAVE, Joint, Waves, claim_values
from hostsim.lab.calibration.measured import read_measured, read_prediction
from hostsim.lab.calibration.own_host import OwnHost, calibrate_host, prepare
from hostsim.lab.calibration.posterior import LEAST as LEAST_MEMBERS
from hostsim.lab.calibration.posterior import require_library
from hostsim.lab.calibration.prior import Evaluated
from hostsim.lab.calibration.summary import LEAST_MOVED, QUANTILES, Learnt, Summary, summarize
from hostsim.results.folder import plain_json
from hostsim.results.table import as_numbers
from hostsim.scenario.cost_model import Constant, part_constants
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.shipped_data import find_part
from hostsim.scenario.yaml.reader import KeyPath, write_yaml
from hostsim.scenario.yaml.source_tree import Place, Tree, dotted
from hostsim.views.plots.axis import metric_label
from hostsim.views.plots.bars import draw_predictions, draw_residuals
from hostsim.views.plots.style import figure_of, save, shown_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "HELD",
    "Calibrated",
    "Calibration",
    "Residual",
    "calibrate_own",
    "calibrated",
    "own_host",
    "own_reason",
    "read_budget",
    "read_waves",
    "write_parts",
]

_KINDS = {
    "platform": ("platforms", "platform"),
    "hardware": ("hardware", "hardware"),
    "peer": ("peers", "peer"),
    "vms": ("guests", "guest"),
}
"""For each section of a scenario: the folder of the parts that it names, and the key of a part's name."""


def write_parts(
    scenario: Scenario, members: Mapping[int, Mapping[str, float]], centre: int, folder: Path, reason: str
) -> dict[str, dict[str, Path]]:
    """Write a file for each part of a scenario (platform, server, peer, guest) that has calibrated constants.

    The file of a platform, guest or peer extends the one that it replaces; that of a server is complete. The range of a
    constant contains 90 % of the ensemble.

    Args:
        scenario: with the parts to write.
        members: the ensemble, by number.
        centre: the member whose values are written.
        folder: with the folders ``platforms``, ``hardware``, ``peers`` and ``guests``.
        reason: for the values of constants.

    Returns:
        The files, by the path of the setting that names the part, and by its name there.
    """
    files: dict[str, dict[str, Path]] = {}
    points = [scenario.first() | {name: value} for name, axis in scenario.axes.items() for value in axis.values]  # noqa: PD011  of an axis, not of a frame
    for point in points or [scenario.first()]:
        for (key, name), constants in part_constants(scenario, point).items():
            moved = [constant for constant in constants if constant.name in members[centre]]
            if not moved or name in files.get(dotted(key), {}):
                continue
            kind, word = _KINDS[str(key[0])]
            target = folder / kind / f"{_stem(name)}.yaml"
            tree = _head(scenario, name, kind, word, target)
            for constant in moved:
                values = np.array([member[constant.name] for member in members.values()])
                tree = tree.put(_entries(constant, members[centre][constant.name], values, reason))
            text = f"# Written by hostsim calibrate for {scenario.name}.\n{write_yaml(tree.data)}"
            files.setdefault(dotted(key), {})[name] = write_whole(target, text.encode())
    return files


def _head(scenario: Scenario, name: str, kind: str, word: str, target: Path) -> Tree:
    """The beginning of a file: its name and the extended part, or a whole server."""
    file = find_part(kind, name, scenario.file.parent, scenario.resolver.root)
    is_path = "/" in name or name.endswith((".yaml", ".yml"))
    title = f"{_stem(name)}-calibrated"
    if kind == "hardware":
        tree = Tree.of(file, display_name(file))
        return tree.put([((word,), title, Place(display_name(target)))])
    parent = Path(os.path.relpath(file.resolve(), target.parent.resolve())).as_posix() if is_path else name
    return Tree({word: title, "extends": parent}, {}, display_name(target))


def _entries(constant: Constant, value: float, values: Any, reason: str) -> list[tuple[KeyPath, Any, Place]]:
    """The entries of a part file for a constant: value, and range over the ensemble."""
    value = _short(value)
    low, high = (_short(float(end)) for end in np.quantile(values, (0.05, 0.95)))
    low, high = min(low, value), max(high, value)
    if constant.written(low) == constant.written(high):
        low, high = min(*constant.ends, value), max(*constant.ends, value)
    ends = [constant.written(low), constant.written(high)]
    written = constant.written(value)
    return [
        (path, {number: written, "assumed": reason, "range": ends}, Place("")) for path, number in constant.places()
    ]


def _stem(name: str) -> str:
    """Name of the file that replaces a part: the part's name, with dashes instead of slashes."""
    return name.removesuffix(".yaml").removesuffix(".yml").strip("./").replace("/", "-")


def _short(value: float) -> float:
    """Round to the six digits of an ensemble's file."""
    return float(f"{value:.6g}")


HELD = 0.7
"""A number counts as determined by the data if less than this share of its prior standard deviation remains, or its
mean moved by `LEAST_MOVED`.
"""


@dataclass(frozen=True)
class Residual:
    """A measurement beside the calibrated hosts: 5, 50 and 95 % of the ensemble, in the metric's unit."""

    name: str
    measured: float
    interval: float
    """Half-width of its 95 % interval."""
    low: float
    median: float
    high: float

    @property
    def holds(self) -> bool:
        """True where the intervals of the measurement and of the ensemble overlap."""
        return self.low <= self.measured + self.interval and self.measured - self.interval <= self.high


@dataclass(frozen=True)
class Calibrated:
    """Result of a calibration."""

    host: OwnHost
    summary: Summary
    ensemble: Mapping[int, Mapping[str, float]]
    """Values of constants and inputs by name, by the number of the member."""
    centre: int
    """Member nearest the centre of the ensemble in the numbers that the data determine."""
    residuals: tuple[Residual, ...]

    @property
    def joint(self) -> Joint:
        """The calibration with its folder."""
        return self.host.joint

    @property
    def held(self) -> list[Learnt]:
        """The numbers that the data determine, the best known first."""
        return sorted((entry for entry in self.summary.learnt if is_held(entry)), key=lambda entry: entry.kept)

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "summary": self.summary.as_json(),
            "held": [entry.name for entry in self.held],
            "centre": {"member": self.centre, "values": dict(self.ensemble[self.centre])},
            "residuals": [asdict(residual) for residual in self.residuals],
            "predictions": [asdict(prediction) for prediction in self.host.predictions()],
            "next": [asdict(entry) for entry in self.host.next_measurements()],
        }

    def write(self, reason: str) -> dict[str, dict[str, Path]]:
        """Write the ensemble, the summary, the residuals as a figure, and the parts of the host nearest the centre, into the calibration's folder.

        Args:
            reason: for the values of constants.

        Returns:
            The files of the parts, by path of the setting that names the part, and by its name there.

        Raises:
            StoreError: the folder cannot be written.
        """
        folder = self.joint.folder
        write_ensemble(folder / "ensemble.csv", self.ensemble)
        text = json.dumps(plain_json(self.as_json()), indent=1, allow_nan=False, default=str)
        write_whole(folder / "summary.json", (text + "\n").encode())
        save(figure_of(self.draw()), folder / "residuals", pdf=True)
        return write_parts(self.host.scenario, self.ensemble, self.centre, folder, reason)

    def draw(self, figure: Figure | None = None) -> Axes:
        """Draw the residuals, by default on a new figure; returns the axes."""
        rows = []
        for residual in self.residuals:
            low, median, high = (
                (end - residual.measured) / residual.interval for end in (residual.low, residual.median, residual.high)
            )
            rows.append((residual.name, low, median, high))
        return draw_residuals(rows, "Calibrated hosts beside what was measured", figure)


def is_held(learnt: Learnt) -> bool:
    """True for a number that the data determine."""
    return learnt.kept < HELD or abs(learnt.moved) >= LEAST_MOVED


def calibrated(host: OwnHost) -> Calibrated:
    """The result of a calibration whose waves are finished."""
    joint, summary = host.joint, summarize(host.joint)
    return Calibrated(host, summary, joint.ensemble(), _centre(joint, summary), tuple(_residuals(joint)))


def _centre(joint: Joint, summary: Summary) -> int:
    """The member nearest the ensemble's median; numbers are weighted by the reduction of their uncertainty."""
    shares, numbers = joint.shares(), list(joint.last_wave())
    rows = np.array([shares[member] for member in numbers])
    weights = np.array([max(1 - entry.kept**2, 0.0) for entry in summary.learnt])
    distances = ((rows - np.median(rows, axis=0)) ** 2 * weights).sum(axis=1)
    return numbers[int(np.argmin(distances))]


def _residuals(joint: Joint) -> list[Residual]:
    residuals, wave = [], joint.last_wave()
    for observation in joint.observations:
        outputs = claim_values(wave, observation.name)
        finite = outputs[np.isfinite(outputs)]
        if len(finite):
            low, median, high = (float(end) for end in np.quantile(finite, QUANTILES, method="weibull"))
            residuals.append(Residual(observation.name, observation.centre, observation.half, low, median, high))
    return residuals


@dataclass(frozen=True)
class Calibration:
    """Calibration of your own host; a notebook shows the numbers that the data determined."""

    found: Calibrated
    parts: Mapping[str, Mapping[str, Path]]
    """Files of platforms, servers, peers and guests with calibrated constants, by path of the setting that names the part, and by its name there."""

    @property
    def folder(self) -> Path:
        """All written files."""
        return self.found.joint.folder

    @property
    def learnt(self) -> pd.DataFrame:
        """Prior and posterior of each number by name, the best known first: quantiles of 5, 50 and 95 %, the remaining
        share of the prior's standard deviation, and whether the data determine the number.
        """
        held = {entry.name for entry in self.found.held}
        rows = [
            (entry.name, entry.unit, *entry.prior, *entry.posterior, entry.moved, entry.kept, entry.name in held)
            for entry in sorted(self.found.summary.learnt, key=lambda entry: entry.kept)
        ]
        ends = [f"{time}_{end}" for time in ("prior", "posterior") for end in ("low", "median", "high")]
        return pd.DataFrame(rows, columns=["name", "unit", *ends, "moved", "kept", "held"]).set_index("name")

    @property
    def residuals(self) -> pd.DataFrame:
        """Each measurement beside the ensemble's quantiles of 5, 50 and 95 %."""
        return pd.DataFrame([asdict(residual) for residual in self.found.residuals]).set_index("name")

    @property
    def predictions(self) -> pd.DataFrame:
        """Predictions without a measurement, one row for each metric and point: quantiles of 5, 50 and 95 % of the
        ensemble. Axes are numbers with units in ``attrs``, as in the table of a run.
        """
        intervals = self.found.host.predictions()
        rows = [
            {"metric": entry.metric, **entry.at, "low": entry.low, "median": entry.median, "high": entry.high}
            for entry in intervals
        ]
        return as_numbers(pd.DataFrame(rows), intervals[0].at if intervals else ())

    @property
    def next_measurements(self) -> pd.DataFrame:
        """Possible next measurements, the best first: the share of the prediction's standard deviation that each would remove."""
        return pd.DataFrame(
            [asdict(entry) for entry in self.found.host.next_measurements()], columns=["name", "narrows"]
        ).set_index("name")

    @property
    def ensemble(self) -> pd.DataFrame:
        """Values of constants and inputs, one row for each member."""
        return pd.DataFrame.from_dict(dict(self.found.ensemble), orient="index").rename_axis("member")

    def plot(self) -> Axes:
        """Draw the residuals, on a figure of pyplot if that is in use, so that notebooks display it."""
        return self.found.draw(shown_figure())

    def plot_predictions(self, metric: str, known: Sequence[float] = ()) -> Axes:
        """Draw the predictions of a metric, into a figure of pyplot if that is in use.

        Args:
            metric: name of a measured or predicted metric.
            known: true or measured values at these points, in the order of `predictions`.

        Raises:
            InputError: the metric was not predicted, or the number of known values differs from that of predictions.
        """
        predictions = self.found.host.predictions()
        rows = [
            (entry.name.removeprefix(f"{metric} at "), entry.low, entry.median, entry.high)
            for entry in predictions
            if entry.metric == metric
        ]
        if not rows:
            allowed = ", ".join(dict.fromkeys(entry.metric for entry in predictions)) or "a calibration with predict"
            raise InputError(Fault("was not predicted", "metric", repr(metric), allowed))
        if len(known) not in (0, len(rows)):
            raise InputError(Fault("are not as many as predictions", "known", str(len(known)), str(len(rows))))
        return draw_predictions(rows, metric_label(metric), known, shown_figure())

    def _repr_html_(self) -> str:
        return self.learnt.query("held").drop(columns="held").to_html(float_format="{:.3g}".format)


FOLDER = "calibration"
"""Default folder in the results folder, with a folder for each scenario."""


def read_budget(budget: str | float, members: Sequence[int] | None) -> float | Waves:
    """A budget as seconds of processor time, or as the sizes of waves.

    Raises:
        InputError: the text is neither.
    """
    if members is not None:
        return read_waves(members)
    try:
        seconds = read_quantity(budget, "duration") if isinstance(budget, str) else float(budget)
    except ValueError as error:
        message, _, allowed = str(error).partition("|")
        raise InputError(Fault(message, "--budget", repr(budget), allowed)) from None
    if not seconds > 0:
        raise InputError(Fault("is not a budget", "--budget", repr(budget), "a time above 0"))
    return seconds


def read_waves(members: Sequence[int]) -> Waves:
    """Sizes of the waves.

    Raises:
        InputError: too few waves, or too small or large ones.
    """
    first, *others = members or (0,)
    if not (
        others
        and all(map(is_integer, members))
        and LEAST_MEMBERS <= first <= WAVE
        and all(1 < n <= WAVE for n in others)
    ):
        allowed = f"at least two numbers: the design, {LEAST_MEMBERS} to {WAVE}, and waves of 2 to {WAVE} hosts, such as 160,50,50"
        raise InputError(Fault("is not a list of wave sizes", "--members", ",".join(map(str, members)), allowed))
    return Waves(int(first), tuple(map(int, others)))


def own_host(
    scenario: Scenario,
    to: str | Path | None,
    output: str | Path | None,
    execution: ExecutionOptions,
    *,
    predict: str | None = None,
    seed: int = 1,
) -> OwnHost:
    """Prepare a calibration to your own host: nothing is run.

    Args:
        scenario: the host with its known values.
        to: CSV file of measurements; None for the scenario's expectations.
        output: folder of the calibration; by default one in the results folder.
        execution: with the results folder.
        predict: ``METRIC@axis=value``.
        seed: root seed.

    Raises:
        InputError: a measurement or prediction is impossible, scikit-learn is not installed, or the hardware is a mapping in the
            scenario.
        StoreError: the folder cannot be written.
    """
    require_library()
    if scenario.resolver.parts.in_place is not None:  # a calibration writes part files
        message = "hardware is part of the scenario; a calibration needs a file to extend"
        raise InputError(Fault(message, "hardware", allowed="the name of a server, or the path of a hardware file"))
    measured = scenario.expectations if to is None else read_measured(Path(to), scenario)
    question = None if predict is None else read_prediction(predict, scenario)
    folder = execution.store.folder / FOLDER / scenario.name if output is None else Path(output)
    require_folder(folder)
    return prepare(scenario, measured, folder, predicted=question, seed=seed)


def own_reason(to: str | Path | None, scenario: Scenario) -> str:
    """Reason that is written with the values of constants in a part file."""
    what = f"what {scenario.name} expects" if to is None else display_name(Path(to))
    return f"Calibrated to {what}; the range holds 90 % of the ensemble."


def calibrate_own(
    scenario: Scenario,
    to: str | Path | None,
    budget: float | Waves,
    execution: ExecutionOptions,
    *,
    output: str | Path | None = None,
    predict: str | None = None,
    seed: int = 1,
    report: Callable[[Evaluated], None] | None = None,
) -> tuple[Calibrated, Mapping[str, Mapping[str, Path]]]:
    """Calibrate your own host, and write the result.

    Args:
        scenario: as for `own_host`, as are ``to``, ``output``, ``predict`` and ``seed``.
        to: measurements.
        budget: from `read_budget`.
        execution: workers and limits.
        output: folder.
        predict: the measure to predict.
        seed: root seed.
        report: called with each finished host.

    Returns:
        The result, and the part files by path of the setting that names the part, and by its name there.

    Raises:
        InputError: as `own_host` and `calibrate_host`.
        StoreError: the folder cannot be written.
        KeyboardInterrupt: Ctrl-C; finished hosts are kept.
    """
    host = own_host(scenario, to, output, execution, predict=predict, seed=seed)
    calibrate_host(host, execution, budget, report)
    calibrated_host = calibrated(host)
    return calibrated_host, calibrated_host.write(own_reason(to, scenario))
