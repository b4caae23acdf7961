"""Posterior of the constants: Markov chains over the priors that weight hosts by the distance of emulated claims from published ones.

The chains move by the preconditioned Crank-Nicolson proposal (Cotter, Roberts, Stuart and White, "MCMC methods for functions", Statistical
Science 28, 2013), which preserves the prior: any number of constants without effect on claims keep their priors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hostsim.engine.record import FloatArray
from hostsim.lab.calibration.emulator import Emulator, features_of, single_thread
from hostsim.lab.calibration.observation import Observation

__all__ = ["Posterior", "Target", "sample"]

BAND_SD = 2.0
"""Half-width of a band in standard deviations of the published value."""
ACCEPT = 0.25
"""Target acceptance rate of the chains."""


@dataclass(frozen=True)
class Target:
    """An observation as a target of the chains: the emulator of its distance, and its experiment."""

    observation: Observation
    experiment: int
    """Index of the experiment."""
    emulator: Emulator
    """Emulator of the distance from the centre (`Observation.distance`)."""


@dataclass(frozen=True)
class Posterior:
    """Posterior sample: hosts that agree with the claims within bands, noise, the emulators' errors and the discrepancies."""

    shares: FloatArray
    """Shares of the priors' probability: one row for each host, the last of each chain; one column for each prior."""
    discrepancies: FloatArray
    """Standard deviation of the discrepancy of each experiment, as a distance: one row for each host, one column for each experiment."""
    accepted: float
    """Acceptance rate after tuning."""
    mixing: float
    """Potential scale reduction of the log likelihood over the halves of the chains; near 1 for converged chains."""


def sample(
    targets: Sequence[Target],
    priors: int,
    experiments: int,
    *,
    chains: int = 100,
    steps: int = 4000,
    seed: int = 1,
) -> Posterior:
    """Sample the posterior by independent chains.

    Args:
        targets: claims with their emulators.
        priors: number of priors.
        experiments: number of experiments; each has a discrepancy whose standard deviation is half-normal with scale 1, one half-width.
        chains: number of chains, one host each.
        steps: of each chain; the first half tunes the step size.
        seed: of the random numbers.
    """
    from scipy.special import ndtr

    random = np.random.default_rng(seed)
    count = priors + experiments
    state = random.standard_normal((chains, count))
    likelihood = _log_likelihood(targets, priors, state, ndtr)
    size = np.full(chains, 0.3)
    accepted = np.zeros(chains)
    trace = []
    with single_thread():
        for step in range(steps):
            proposal = np.sqrt(1 - size[:, None] ** 2) * state + size[:, None] * random.standard_normal((chains, count))
            proposed = _log_likelihood(targets, priors, proposal, ndtr)
            taken = np.log(random.random(chains)) < proposed - likelihood
            state[taken], likelihood[taken] = proposal[taken], proposed[taken]
            if step < steps // 2:
                size = np.clip(size * np.exp((taken - ACCEPT) / np.sqrt(step + 1)), 1e-3, 0.99)
            else:
                accepted += taken
                trace.append(likelihood.copy())
    half = np.array(trace)
    return Posterior(
        ndtr(state[:, :priors]),
        np.abs(state[:, priors:]),
        float(np.mean(accepted) / max(steps - steps // 2, 1)),
        _scale_reduction(half),
    )


def _log_likelihood(
    targets: Sequence[Target], priors: int, state: FloatArray, ndtr: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    from scipy.special import log_ndtr

    shares, discrepancies = ndtr(state[:, :priors]), np.abs(state[:, priors:])
    features, total = features_of(shares), np.zeros(len(state))
    for target in targets:
        distance = target.emulator.predict(shares, features)
        wide = np.sqrt(1 / BAND_SD**2 + target.emulator.error**2 + discrepancies[:, target.experiment] ** 2)
        observation = target.observation
        if observation.is_aimed:
            total += -0.5 * (distance / wide) ** 2 - np.log(wide)
            continue
        if observation.low > -np.inf:
            total += log_ndtr((distance - observation.low) / wide)
        if observation.high < np.inf:
            total += log_ndtr((observation.high - distance) / wide)
    return total


def _scale_reduction(trace: FloatArray) -> float:
    """Gelman and Rubin's potential scale reduction of traces, one column for each chain, each split into halves."""
    half = len(trace) // 2
    if half < 2:
        return float("nan")
    parts = np.hstack([trace[:half], trace[half : 2 * half]])
    within = float(np.mean(np.var(parts, axis=0, ddof=1)))
    between = float(np.var(np.mean(parts, axis=0), ddof=1))
    return float(np.sqrt((half - 1) / half + between / within)) if within > 0 else float("nan")
