"""Summary of a calibration to a host: posteriors, determined numbers, emulator errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hostsim.engine.record import FloatArray
from hostsim.lab.calibration.joint import Joint
from hostsim.lab.calibration.observation import Observation
from hostsim.lab.calibration.posterior import Emulator, Posterior

__all__ = ["Learnt", "Observed", "Summary", "summarize"]

CHAINS = 100
"""Number of posterior hosts in a summary, which are not run; more chains would take longer than the runs."""
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
class Summary:
    """A calibration in numbers."""

    members: int
    processor_h: float
    accepted: float
    mixing: float
    learnt: tuple[Learnt, ...]
    observed: tuple[Observed, ...]
    discrepancies: Mapping[str, tuple[float, float, float]]
    """Discrepancy of the model, as a distance (`Observation.distance`), by the name of the scenario."""

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def summarize(joint: Joint) -> Summary:
    """Summarise a calibration with finished waves."""
    emulators = joint.emulators()
    posterior = joint.posterior(emulators, chains=CHAINS)
    prior = np.random.default_rng(joint.design.seed).random((CHAINS, len(joint.design.priors)))
    evaluated = joint.evaluated().values()
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
        {joint.host.scenario.name: _quantiles(posterior.discrepancies)},
    )


def _learnt(joint: Joint, posterior: Posterior) -> Iterator[Learnt]:
    even = (np.arange(1000) + 0.5) / 1000
    for index, prior in enumerate(joint.design.priors):
        before, after = prior.quantiles(even), prior.quantiles(posterior.shares[:, index])
        wide = float(np.std(before))
        moved = float(np.mean(after) - np.mean(before)) / wide
        low, high = (float(value) for value in np.quantile(after, MIDDLE))
        kept = float(np.std(after)) / wide
        yield Learnt(prior.name, prior.unit, _quantiles(before), _quantiles(after), (low, high), moved, kept)


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
