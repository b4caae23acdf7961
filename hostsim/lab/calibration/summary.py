"""Summary of a joint calibration: priors beside posteriors, what the data determined, how far emulators err, and predictions of what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hostsim.engine.record import FloatArray
from hostsim.lab.calibration.emulator import Emulator
from hostsim.lab.calibration.joint import Joint
from hostsim.lab.calibration.observation import Observation
from hostsim.lab.calibration.posterior import Posterior

__all__ = ["Learnt", "LeftOut", "Observed", "Pull", "Summary", "interval_score", "left_out", "summarize"]

LEVEL = 0.9
"""Of the intervals."""
CHAINS = 400
"""Hosts behind a posterior that is summarized; a member of an ensemble takes runs, these take none."""
QUANTILES = (0.05, 0.5, 0.95)
"""Quantiles that summarise a number over an ensemble or a posterior."""
MIDDLE = (0.25, 0.75)
"""Quantiles about the middle half of a posterior."""
LEAST_MOVED = 0.3
"""In standard deviations of the prior: a number whose mean has moved by less has not moved, as chains of a few hundred hosts leave a noise of a tenth."""


@dataclass(frozen=True)
class Learnt:
    """What the observations taught of one number: its prior beside its posterior, quantiles of 5, 50 and 95 %."""

    name: str
    unit: str
    prior: tuple[float, float, float]
    posterior: tuple[float, float, float]
    middle: tuple[float, float]
    """Middle half of the posterior: quantiles of 25 and 75 %."""
    moved: float
    """Distance of the means, in standard deviations of the prior; medians of what has few values jump."""
    kept: float
    """Standard deviation of the posterior over that of the prior: 1 where nothing was learnt."""


@dataclass(frozen=True)
class Observed:
    """An observation beside the hosts of the posterior; quantiles of 5, 50 and 95 %, in its unit."""

    name: str
    experiment: str
    centre: float
    half: float
    error: float
    """Of the emulator, as a distance; the noise of a run included."""
    prior: tuple[float, float, float]
    posterior: tuple[float, float, float]
    depends_on: tuple[str, ...]
    """Numbers that move it most."""


@dataclass(frozen=True)
class LeftOut:
    """Prediction of an observation by a posterior that its experiment is left out of."""

    name: str
    experiment: str
    centre: float
    half: float
    low: float
    """The interval, in the observation's unit."""
    median: float
    high: float
    hosts: tuple[float, float]
    """The interval without the discrepancy: of the hosts and the noise alone, as an ensemble gives it."""
    prior: tuple[float, float]
    """The interval by the prior alone."""

    @property
    def holds(self) -> bool:
        """True when what was published lies in the interval."""
        return self.low <= self.centre <= self.high


@dataclass(frozen=True)
class Pull:
    """What an experiment does to a number that the others hold, too: two that pull one number to opposite sides pull against each other."""

    name: str
    experiment: str
    by: float
    """Mean of the posterior less that of the posterior without the experiment, in standard deviations of the prior."""


@dataclass(frozen=True)
class Summary:
    """A joint calibration in numbers."""

    members: int
    processor_h: float
    accepted: float
    mixing: float
    learnt: tuple[Learnt, ...]
    observed: tuple[Observed, ...]
    discrepancies: Mapping[str, tuple[float, float, float]]
    """By experiment: how far the model is off beyond its constants, as a distance: in half-widths where it is small."""
    left_out: tuple[LeftOut, ...]
    pulls: tuple[Pull, ...]
    """Those of `LEAST_MOVED` at least, the strongest first."""

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def summarize(joint: Joint, chains: int = CHAINS) -> Summary:
    """Summarize a calibration whose waves were run.

    Args:
        joint: the calibration; a single experiment is not left out, for nothing would be left.
        chains: hosts of the posterior.
    """
    emulators = joint.emulators()
    posterior = joint.posterior(emulators, chains=chains)
    prior = np.random.default_rng(joint.design.seed).random((chains, len(joint.design.priors)))
    evaluated = joint.evaluated().values()
    names = joint.experiments if len(joint.experiments) > 1 else ()
    without = {name: joint.posterior(emulators, without=name, chains=chains) for name in names}
    pulls = [one for name, other in without.items() for one in _pulls(joint, name, posterior, other)]
    return Summary(
        len(evaluated),
        sum(one.processor_s for one in evaluated) / 3600,
        posterior.accepted,
        posterior.mixing,
        tuple(_learnt(joint, posterior)),
        tuple(
            _observed(joint, one, emulators[one.name], prior, posterior)
            for one in joint.observations
            if one.name in emulators
        ),
        {name: _quantiles(posterior.discrepancies[:, place]) for place, name in enumerate(joint.experiments)},
        tuple(entry for name, other in without.items() for entry in left_out(joint, name, emulators, prior, other)),
        tuple(sorted(pulls, key=lambda one: -abs(one.by))),
    )


def left_out(
    joint: Joint, experiment: str, emulators: Mapping[str, Emulator], prior: FloatArray, posterior: Posterior
) -> list[LeftOut]:
    """Leave-one-out prediction of an experiment by all others: intervals of the hosts that agree with these, the noise and a discrepancy as large as may be.

    The emulators know how claims depend on constants and nothing of what was published, so that they stay.

    Args:
        joint: the calibration.
        experiment: that is left out.
        emulators: of all observations.
        prior: shares of hosts drawn from the prior.
        posterior: without the experiment, of as many hosts.
    """
    random = np.random.default_rng(joint.design.seed)
    place = joint.experiments.index(experiment)
    found = []
    for one in joint.observations:
        if one.experiment != experiment or one.name not in emulators:
            continue
        emulator = emulators[one.name]
        predicted, noise = emulator.predict(posterior.shares), random.standard_normal(len(prior))
        wide = np.hypot(emulator.error, posterior.discrepancies[:, place])
        before = emulator.predict(prior) + emulator.error * random.standard_normal(len(prior))
        low, median, high = _in_units(one, _quantiles(predicted + wide * noise))
        lowest, _, highest = _in_units(one, _quantiles(predicted + emulator.error * noise))
        least, _, most = _in_units(one, _quantiles(before))
        ends = (lowest, highest), (least, most)
        found.append(LeftOut(one.name, experiment, one.centre, one.half, low, median, high, *ends))
    return found


def _pulls(joint: Joint, experiment: str, posterior: Posterior, without: Posterior) -> list[Pull]:
    even = (np.arange(1000) + 0.5) / 1000
    found = []
    for place, prior in enumerate(joint.design.priors):
        before, after = (np.mean(prior.quantiles(each.shares[:, place])) for each in (without, posterior))
        found.append(Pull(prior.name, experiment, float((after - before) / np.std(prior.quantiles(even)))))
    return [one for one in found if abs(one.by) >= LEAST_MOVED]


def interval_score(low: float, high: float, value: float, level: float = LEVEL) -> float:
    """Interval score of a prediction (Gneiting and Raftery, 2007): the width, and what the value lies beyond it, weighed by the level; smaller is better."""
    miss = max(low - value, 0.0) + max(value - high, 0.0)
    return high - low + 2 / (1 - level) * miss


def _learnt(joint: Joint, posterior: Posterior) -> list[Learnt]:
    even = (np.arange(1000) + 0.5) / 1000
    found = []
    for place, prior in enumerate(joint.design.priors):
        before, after = prior.quantiles(even), prior.quantiles(posterior.shares[:, place])
        wide = float(np.std(before))
        moved = float(np.mean(after) - np.mean(before)) / wide
        low, high = (float(value) for value in np.quantile(after, MIDDLE))
        kept = float(np.std(after)) / wide
        found.append(Learnt(prior.name, prior.unit, _quantiles(before), _quantiles(after), (low, high), moved, kept))
    return found


def _observed(joint: Joint, one: Observation, emulator: Emulator, prior: FloatArray, posterior: Posterior) -> Observed:
    before, after = (_in_units(one, _quantiles(emulator.predict(shares))) for shares in (prior, posterior.shares))
    names = tuple(joint.design.priors[place].name for place in emulator.active)
    return Observed(one.name, one.experiment, one.centre, one.half, emulator.error, before, after, names)


def _in_units(one: Observation, distances: Sequence[float]) -> tuple[float, float, float]:
    low, median, high = map(one.value, distances)
    return low, median, high


def _quantiles(values: FloatArray) -> tuple[float, float, float]:
    low, median, high = (float(value) for value in np.quantile(values, QUANTILES))
    return low, median, high
