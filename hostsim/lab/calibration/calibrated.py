"""Calibrated hosts: the ensemble, the member nearest its centre, residuals, and their files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hostsim.campaign.ensemble import write_ensemble
from hostsim.config.files import write_whole
from hostsim.lab.calibration.joint import Joint, claim_values
from hostsim.lab.calibration.own_host import Next, OwnHost, Predicted
from hostsim.lab.calibration.part_file import write_parts
from hostsim.lab.calibration.summary import CHAINS, LEAST_MOVED, QUANTILES, Learnt, Summary, summarize
from hostsim.scenario.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["HELD", "Calibrated", "Residual", "calibrated"]

HELD = 0.7
"""The data determine a number if less than this share of its prior standard deviation remains, or its mean has moved by `LEAST_MOVED`."""
FEW_CHAINS = 100
"""Number of posterior hosts for a user's own host; more chains would take longer than its runs."""


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

    joint: Joint
    summary: Summary
    ensemble: Mapping[int, Mapping[str, float]]
    """Values of constants and inputs by name, by the number of the member."""
    centre: int
    """Member nearest the centre of the ensemble, by the numbers that the data determine."""
    residuals: tuple[Residual, ...]
    host: OwnHost | None = None
    """The user's own host; None for the shipped calibration."""

    @property
    def held(self) -> list[Learnt]:
        """The numbers that the data determine, the best known first."""
        return sorted((one for one in self.summary.learnt if is_held(one)), key=lambda one: one.kept)

    @property
    def prediction(self) -> Predicted | None:
        """Predictions for your own host."""
        return None if self.host is None else self.host.prediction()

    @property
    def next(self) -> list[Next]:
        """Possible next measurements, the best first."""
        return [] if self.host is None else self.host.next_measurements()

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "summary": self.summary.as_json(),
            "held": [one.name for one in self.held],
            "centre": {"member": self.centre, "values": dict(self.ensemble[self.centre])},
            "residuals": [asdict(one) for one in self.residuals],
            "predictions": [] if self.host is None else [asdict(one) for one in self.host.predictions()],
            "next": [asdict(one) for one in self.next],
        }

    def write(self, scenarios: Sequence[Scenario], reason: str) -> dict[str, dict[str, Path]]:
        """Write the ensemble, the summary, the residuals as a figure, and the parts of the host nearest the centre, into the calibration's folder.

        Args:
            scenarios: with the parts to write.
            reason: for the values of constants.

        Returns:
            The files of the parts, by path of the setting that names the part, and by its name there.

        Raises:
            StoreError: the folder cannot be written.
        """
        from hostsim.views.plots.style import figure_of, save

        folder = self.joint.folder
        write_ensemble(folder / "ensemble.csv", self.ensemble)
        text = json.dumps(_finite(self.as_json()), indent=1, allow_nan=False, default=str)
        write_whole(folder / "summary.json", (text + "\n").encode())
        save(figure_of(self.draw()), folder / "residuals", pdf=True)
        parts: dict[str, dict[str, Path]] = {}
        for scenario in scenarios:
            for path, files in write_parts(scenario, self.ensemble, self.centre, folder, reason).items():
                parts[path] = parts.get(path, {}) | files
        return parts

    def draw(self, figure: Figure | None = None) -> Axes:
        """Draw the residuals, by default into a new figure; returns the axes."""
        from hostsim.views.plots.tornado import draw_residuals

        rows = []
        for one in self.residuals:
            low, median, high = ((end - one.measured) / one.interval for end in (one.low, one.median, one.high))
            rows.append((one.name, low, median, high))
        return draw_residuals(rows, "Calibrated hosts beside what was measured", figure)


def is_held(one: Learnt) -> bool:
    """True for a number that the data determine."""
    return one.kept < HELD or abs(one.moved) >= LEAST_MOVED


def calibrated(joint: Joint, host: OwnHost | None = None) -> Calibrated:
    """The result of a calibration with finished waves.

    Args:
        joint: the calibration.
        host: your own host, if it is calibrated.
    """
    summary = summarize(joint, CHAINS if host is None else FEW_CHAINS)
    return Calibrated(joint, summary, joint.ensemble(), _centre(joint, summary), tuple(_residuals(joint)), host)


def _centre(joint: Joint, summary: Summary) -> int:
    """The member nearest the median of the ensemble; numbers are weighted by the reduction of their uncertainty, as the others follow their priors."""
    shares, numbers = joint.shares(), list(joint.last_wave())
    rows = np.array([shares[number] for number in numbers])
    weights = np.array([max(1 - one.kept**2, 0.0) for one in summary.learnt])
    distances = ((rows - np.median(rows, axis=0)) ** 2 * weights).sum(axis=1)
    return numbers[int(np.argmin(distances))]


def _residuals(joint: Joint) -> list[Residual]:
    found, wave = [], joint.last_wave()
    for one in joint.observations:
        outputs = claim_values(wave, one.name)
        known = outputs[np.isfinite(outputs)]
        if len(known):
            low, median, high = (float(end) for end in np.quantile(known, QUANTILES, method="weibull"))
            found.append(Residual(one.name, one.centre, one.half, low, median, high))
    return found


def _finite(value: Any) -> Any:
    """The value for strict JSON, with None for NaN."""
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
