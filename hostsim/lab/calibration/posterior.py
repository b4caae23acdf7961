"""Posterior of the constants: Markov chains over the priors that weight hosts by emulated claims.

A host is weighted by the distance of its emulated claims from the published ones. Emulators are Gaussian processes that
are trained on the claims of simulated hosts. The chains move by the preconditioned Crank-Nicolson proposal (Cotter,
Roberts, Stuart and White, "MCMC methods for functions", Statistical Science 28, 2013), which preserves the prior:
constants without effect on claims keep their priors, however many they are.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import log_ndtr, ndtr

from hostsim.engine.record import FloatArray
from hostsim.errors import Fault, InputError
from hostsim.lab.calibration.observation import Observation

if TYPE_CHECKING:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.linear_model import LassoCV

__all__ = ["Emulator", "Posterior", "Target", "features_of", "require_library", "sample", "single_thread", "train"]

MOST_ACTIVE = 12
"""Largest number of inputs of a Gaussian process; other inputs enter only the linear terms and the noise."""
FOLDS = 5
"""Number of folds of the cross-validation."""
LEAST = 12
"""Smallest number of members for an emulator."""


@dataclass(frozen=True)
class Emulator:
    """Emulator of one output over the priors: linear terms in all influential inputs, and a Gaussian process of the
    residual in the most influential ones.
    """

    active: tuple[int, ...]
    """Inputs of the process, by index of their prior, the strongest first."""
    error: float
    """Root mean square error on left-out members, in the unit of the output; includes the noise of a run."""
    spread: float
    """Standard deviation of the output over the members; an emulator whose error is as large is useless."""
    _lines: LassoCV | None
    _process: GaussianProcessRegressor | None
    _mean: float

    def predict(self, shares: FloatArray, features: FloatArray | None = None) -> FloatArray:
        """Predict the output of hosts.

        Args:
            shares: of the priors' probability, one row for each host and one column for each prior.
            features: `features_of` the same shares, so that callers of several emulators compute them once.

        Returns:
            One number for each host.
        """
        means = np.full(len(shares), self._mean)
        # repeats the library's computation without its checks, as chains make a hundred thousand predictions
        if self._lines is not None:
            means = (features_of(shares) if features is None else features) @ self._lines.coef_ + self._lines.intercept_
        if self._process is not None:
            signal, process = self._process.kernel_.k1, self._process
            inputs = (2 * shares[:, list(self.active)] - 1) / signal.k2.length_scale
            apart = cdist(inputs, process.X_train_ / signal.k2.length_scale, "sqeuclidean")
            means = means + signal.k1.constant_value * np.exp(-0.5 * apart) @ process.alpha_
        return np.asarray(means, dtype=float)


def train(shares: FloatArray, outputs: FloatArray, seed: int = 1) -> Emulator:
    """Train an emulator, and find its error by cross-validation.

    Args:
        shares: one row for each member, one column for each prior.
        outputs: of each member; members with NaN are left out.
        seed: of the folds and of the optimizer's starts.

    Raises:
        ValueError: fewer than twelve members have an output.
    """
    finite = np.isfinite(outputs)
    shares, outputs = shares[finite], outputs[finite]
    if len(outputs) < LEAST:
        raise ValueError(f"{len(outputs)} members have an output, fewer than {LEAST}")
    spread = float(np.std(outputs))
    if spread == 0.0:
        return Emulator((), 0.0, 0.0, None, None, float(outputs[0]))
    missed = np.empty(len(outputs))
    with single_thread():
        from sklearn.model_selection import KFold

        whole = _fit(shares, outputs, seed)
        for kept, left in KFold(FOLDS, shuffle=True, random_state=seed).split(shares):
            missed[left] = outputs[left] - _fit(shares[kept], outputs[kept], seed, whole).predict(shares[left])
    error = float(np.sqrt(np.mean(missed**2)))
    return Emulator(whole.active, error, spread, whole._lines, whole._process, whole._mean)


def require_library() -> None:
    """Check that scikit-learn is installed, before any run.

    Raises:
        InputError: it is not installed.
    """
    if importlib.util.find_spec("sklearn") is None:
        raise InputError(
            Fault(
                "needs scikit-learn, which is not installed", "calibrate", allowed="pip install 'hostsim[calibration]'"
            )
        )


def single_thread() -> AbstractContextManager[object]:
    """Context with single-threaded linear algebra: matrices are small, and several threads are ten times slower on busy
    processors.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits


def features_of(shares: FloatArray) -> FloatArray:
    """Features of the linear terms: each input and its square, both with mean 0 over the prior."""
    inputs = 2 * shares - 1
    return np.hstack([inputs, inputs**2 - 1 / 3])


def _fit(shares: FloatArray, outputs: FloatArray, seed: int, like: Emulator | None = None) -> Emulator:
    """Fit the linear terms and the process; correlation lengths are taken from ``like``, if given, which makes a fold
    cheap.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    from sklearn.linear_model import LassoCV

    count = shares.shape[1]
    lines = LassoCV(cv=FOLDS, random_state=seed, max_iter=20_000).fit(features_of(shares), outputs)
    weights = np.abs(lines.coef_).reshape(2, count).max(axis=0)
    order = np.argsort(-weights, kind="stable")[:MOST_ACTIVE]
    active = tuple(int(index) for index in order if weights[index] > 0)
    rest = outputs - lines.predict(features_of(shares))
    process = None
    if like is not None and like._process is not None:
        active = like.active
        process = GaussianProcessRegressor(like._process.kernel_, alpha=0.0, optimizer=None)
    elif active and like is None:
        scale = float(np.var(rest)) or 1.0
        kernel = ConstantKernel(scale, (scale * 1e-3, scale * 1e3)) * RBF(
            [2.0] * len(active), (0.2, 50.0)
        ) + WhiteKernel(scale / 2, (scale * 1e-6, scale * 1e2))
        process = GaussianProcessRegressor(kernel, alpha=0.0, n_restarts_optimizer=0, random_state=seed)
    if process is not None:
        with warnings.catch_warnings():
            # a length at its bound means that the residual does not depend on the input
            warnings.simplefilter("ignore", ConvergenceWarning)
            process.fit(2 * shares[:, list(active)] - 1, rest)
    return Emulator(active, 0.0, 0.0, lines, process, float(np.mean(outputs)))


BAND_SD = 2.0
"""Half-width of a band in standard deviations of the published value."""
ACCEPT = 0.25
"""Target acceptance rate of the chains."""


Target = tuple[Observation, Emulator]
"""An observation as a target of the chains, and the emulator of its distance from the centre (`Observation.distance`)."""


@dataclass(frozen=True)
class Posterior:
    """Posterior sample: hosts that agree with the claims within bands, noise, emulator errors and discrepancies."""

    shares: FloatArray
    """Shares of the priors' probability: one row for each host, the last of each chain; one column for each prior."""
    discrepancies: FloatArray
    """Standard deviation of the discrepancy of the model, as a distance, of each host."""
    accepted: float
    """Acceptance rate after tuning."""
    mixing: float
    """Potential scale reduction of the log likelihood over the halves of the chains; near 1 for converged chains."""


def sample(
    targets: Sequence[Target],
    priors: int,
    *,
    chains: int = 100,
    steps: int = 4000,
    seed: int = 1,
) -> Posterior:
    """Sample the posterior by independent chains.

    Args:
        targets: measurements with their emulators.
        priors: number of priors. The discrepancy of the model has a standard deviation that is half-normal with scale 1, one half-width.
        chains: number of chains, one host each.
        steps: of each chain; the first half tunes the step size.
        seed: of the random numbers.
    """
    random = np.random.default_rng(seed)
    count = priors + 1
    state = random.standard_normal((chains, count))
    likelihood = _log_likelihood(targets, priors, state)
    size = np.full(chains, 0.3)
    accepted = np.zeros(chains)
    trace = []
    with single_thread():
        for step in range(steps):
            proposal = np.sqrt(1 - size[:, None] ** 2) * state + size[:, None] * random.standard_normal((chains, count))
            proposed = _log_likelihood(targets, priors, proposal)
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
        np.abs(state[:, priors]),
        float(np.mean(accepted) / max(steps - steps // 2, 1)),
        _scale_reduction(half),
    )


def _log_likelihood(targets: Sequence[Target], priors: int, state: FloatArray) -> FloatArray:
    shares, discrepancies = ndtr(state[:, :priors]), np.abs(state[:, priors])
    features, total = features_of(shares), np.zeros(len(state))
    for observation, emulator in targets:
        distance = emulator.predict(shares, features)
        wide = np.sqrt(1 / BAND_SD**2 + emulator.error**2 + discrepancies**2)
        if observation.is_aimed:
            total += -0.5 * (distance / wide) ** 2 - np.log(wide)
            continue
        if observation.low > -np.inf:
            total += log_ndtr((distance - observation.low) / wide)
        if observation.high < np.inf:
            total += log_ndtr((observation.high - distance) / wide)
    return total


def _scale_reduction(trace: FloatArray) -> float:
    """Gelman and Rubin's potential scale reduction of traces with one column for each chain; each chain is split into
    halves.
    """
    half = len(trace) // 2
    if half < 2:
        return float("nan")
    parts = np.hstack([trace[:half], trace[half : 2 * half]])
    within = float(np.mean(np.var(parts, axis=0, ddof=1)))
    between = float(np.var(np.mean(parts, axis=0), ddof=1))
    return float(np.sqrt((half - 1) / half + between / within)) if within > 0 else float("nan")
