"""Summary of a joint calibration: posteriors, determined numbers, emulator errors, leave-one-out predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hostsim.engine.record import FloatArray
from hostsim.lab.calibration.joint import Joint
from hostsim.lab.calibration.observation import Observation
from hostsim.lab.calibration.posterior import Emulator, Posterior

__all__ = ["Learnt", "LeftOut", "Observed", "Pull", "Summary", "interval_score", "left_out", "summarize"]

LEVEL = 0.9
"""Level of the intervals."""
CHAINS = 400
"""Number of posterior hosts in a summary; they are not run."""
QUANTILES = (0.05, 0.5, 0.95)
"""Quantiles that summarise a number over an ensemble or a posterior."""
MIDDLE = (0.25, 0.75)
"""Quantiles that bound the middle half of a posterior."""
LEAST_MOVED = 0.3
"""Smallest change of a mean that counts, in standard deviations of the prior; chains of a few hundred hosts have a
noise of a tenth.
"""


@dataclass(frozen=True)
class Learnt:
    """Prior and posterior of one number: quantiles of 5, 50 and 95 %."""

    name: str
    unit: str
    prior: tuple[float, float, float]
    posterior: tuple[float, float, float]
    middle: tuple[float, float]
    """Middle half of the posterior: quantiles of 25 and 75 %."""
    moved: float
    """Distance between the means, in standard deviations of the prior; means, as medians of few values jump."""
    kept: float
    """Standard deviation of the posterior over that of the prior; 1 without information."""


@dataclass(frozen=True)
class Observed:
    """An observation beside the hosts of the posterior; quantiles of 5, 50 and 95 %, in its unit."""

    name: str
    experiment: str
    centre: float
    half: float
    error: float
    """Error of the emulator, as a distance, including the noise of a run."""
    prior: tuple[float, float, float]
    posterior: tuple[float, float, float]
    depends_on: tuple[str, ...]
    """The most influential numbers."""


@dataclass(frozen=True)
class LeftOut:
    """Prediction of an observation from the posterior of all other experiments."""

    name: str
    experiment: str
    centre: float
    half: float
    low: float
    """The interval, in the observation's unit."""
    median: float
    high: float
    hosts: tuple[float, float]
    """The interval from hosts and noise only, without the discrepancy, as for an ensemble."""
    prior: tuple[float, float]
    """The interval by hosts of the prior."""

    @property
    def holds(self) -> bool:
        """True if the published value is in the interval."""
        return self.low <= self.centre <= self.high


@dataclass(frozen=True)
class Pull:
    """Effect of an experiment on a number; experiments with opposite effects contradict each other."""

    name: str
    experiment: str
    by: float
    """Mean of the posterior minus that without the experiment, in standard deviations of the prior."""


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
    """Discrepancy of the model by experiment, as a distance (`Observation.distance`)."""
    left_out: tuple[LeftOut, ...]
    pulls: tuple[Pull, ...]
    """Effects of experiments on numbers of at least `LEAST_MOVED`, the strongest first."""

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def summarize(joint: Joint, chains: int = CHAINS) -> Summary:
    """Summarise a calibration with finished waves.

    Args:
        joint: the calibration; with a single experiment nothing is left out.
        chains: hosts of the posterior.
    """
    emulators = joint.emulators()
    posterior = joint.posterior(emulators, chains=chains)
    prior = np.random.default_rng(joint.design.seed).random((chains, len(joint.design.priors)))
    evaluated = joint.evaluated().values()
    names = joint.experiments if len(joint.experiments) > 1 else ()
    without = {name: joint.posterior(emulators, without=name, chains=chains) for name in names}
    pulls = [pull for name, other in without.items() for pull in _pulls(joint, name, posterior, other)]
    return Summary(
        len(evaluated),
        sum(member.processor_s for member in evaluated) / 3600,
        posterior.accepted,
        posterior.mixing,
        tuple(_learnt(joint, posterior)),
        tuple(
            _observed(joint, observation, emulators[observation.name], prior, posterior)
            for observation in joint.observations
            if observation.name in emulators
        ),
        {name: _quantiles(posterior.discrepancies[:, index]) for index, name in enumerate(joint.experiments)},
        tuple(entry for name, other in without.items() for entry in left_out(joint, name, emulators, prior, other)),
        tuple(sorted(pulls, key=lambda pull: -abs(pull.by))),
    )


def left_out(
    joint: Joint, experiment: str, emulators: Mapping[str, Emulator], prior: FloatArray, posterior: Posterior
) -> list[LeftOut]:
    """Leave-one-out prediction of an experiment from all others: intervals from their posterior hosts, noise and a
    discrepancy.

    Emulators do not depend on published values and are not trained again.

    Args:
        joint: the calibration.
        experiment: to leave out.
        emulators: of all observations.
        prior: shares of hosts drawn from the prior.
        posterior: posterior without the experiment, with as many hosts as ``prior``.
    """
    random = np.random.default_rng(joint.design.seed)
    index = joint.experiments.index(experiment)
    rows = []
    for observation in joint.observations:
        if observation.experiment != experiment or observation.name not in emulators:
            continue
        emulator = emulators[observation.name]
        predicted, noise = emulator.predict(posterior.shares), random.standard_normal(len(prior))
        wide = np.hypot(emulator.error, posterior.discrepancies[:, index])
        before = emulator.predict(prior) + emulator.error * random.standard_normal(len(prior))
        low, median, high = _in_units(observation, _quantiles(predicted + wide * noise))
        lowest, _, highest = _in_units(observation, _quantiles(predicted + emulator.error * noise))
        least, _, most = _in_units(observation, _quantiles(before))
        ends = (lowest, highest), (least, most)
        rows.append(
            LeftOut(observation.name, experiment, observation.centre, observation.half, low, median, high, *ends)
        )
    return rows


def _pulls(joint: Joint, experiment: str, posterior: Posterior, without: Posterior) -> list[Pull]:
    even = (np.arange(1000) + 0.5) / 1000
    pulls = []
    for index, prior in enumerate(joint.design.priors):
        before, after = (np.mean(prior.quantiles(chain.shares[:, index])) for chain in (without, posterior))
        pulls.append(Pull(prior.name, experiment, float((after - before) / np.std(prior.quantiles(even)))))
    return [pull for pull in pulls if abs(pull.by) >= LEAST_MOVED]


def interval_score(low: float, high: float, value: float, level: float = LEVEL) -> float:
    """Interval score of a prediction (Gneiting and Raftery, 2007): the width, plus a penalty for the distance of a
    value outside it; smaller is better.
    """
    miss = max(low - value, 0.0) + max(value - high, 0.0)
    return high - low + 2 / (1 - level) * miss


def _learnt(joint: Joint, posterior: Posterior) -> list[Learnt]:
    even = (np.arange(1000) + 0.5) / 1000
    learnt = []
    for index, prior in enumerate(joint.design.priors):
        before, after = prior.quantiles(even), prior.quantiles(posterior.shares[:, index])
        wide = float(np.std(before))
        moved = float(np.mean(after) - np.mean(before)) / wide
        low, high = (float(value) for value in np.quantile(after, MIDDLE))
        kept = float(np.std(after)) / wide
        learnt.append(Learnt(prior.name, prior.unit, _quantiles(before), _quantiles(after), (low, high), moved, kept))
    return learnt


def _observed(
    joint: Joint, observation: Observation, emulator: Emulator, prior: FloatArray, posterior: Posterior
) -> Observed:
    before, after = (
        _in_units(observation, _quantiles(emulator.predict(shares))) for shares in (prior, posterior.shares)
    )
    names = tuple(joint.design.priors[index].name for index in emulator.active)
    return Observed(
        observation.name,
        observation.experiment,
        observation.centre,
        observation.half,
        emulator.error,
        before,
        after,
        names,
    )


def _in_units(observation: Observation, distances: Sequence[float]) -> tuple[float, float, float]:
    low, median, high = map(observation.value, distances)
    return low, median, high


def _quantiles(values: FloatArray) -> tuple[float, float, float]:
    low, median, high = (float(value) for value in np.quantile(values, QUANTILES))
    return low, median, high
