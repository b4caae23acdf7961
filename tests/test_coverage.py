"""Coverage of intervals: of 1,000 experiments with a known answer, 95 % intervals cover it in about 95 %.

92.9 to 97.1 % is three standard deviations of a binomial count around 95 %. The queue is M/M/1 at a load of 0.8, whose mean
wait is 4 service times; Lindley's recursion makes its waits, whole runs at a time.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hostsim.results.estimate import batch_means, student
from hostsim.results.warm_up import mser5

EXPERIMENTS = 1000
COVERED = (0.929, 0.971)
LOAD = 0.8
MEAN_WAIT = LOAD / (1 - LOAD)
SEEDS = (1, 2, 3)


def waits(random: np.random.Generator, runs: int, customers: int) -> NDArray[np.float64]:
    """Waits in service times, shape (runs, customers); each run starts in steady state, so that no mean is biased."""
    busy = random.random(runs) < LOAD
    first = np.where(busy, random.exponential(1 / (1 - LOAD), runs), 0.0)
    walk = np.cumsum(
        random.exponential(1.0, (runs, customers)) - random.exponential(1 / LOAD, (runs, customers)), axis=1
    )
    return walk + np.maximum(first[:, np.newaxis], -np.minimum.accumulate(walk, axis=1))


@pytest.mark.parametrize("seed", [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[1:])])
def test_students_interval_of_replications_covers_the_mean_wait(seed: int) -> None:
    """Ten replications of 5,000 customers per experiment."""
    random = np.random.default_rng(seed)
    intervals = [student(waits(random, 10, 5000).mean(axis=1).tolist()) for _ in range(EXPERIMENTS)]
    covered = sum(interval.low <= MEAN_WAIT <= interval.high for interval in intervals) / EXPERIMENTS
    assert COVERED[0] <= covered <= COVERED[1]


@pytest.mark.slow
def test_batch_means_of_one_long_run_cover_the_mean_wait() -> None:
    """100,000 customers in 200 slices per experiment; consecutive waits are correlated over hundreds of customers."""
    random = np.random.default_rng(SEEDS[0])
    slices = (waits(random, 1, 100_000)[0].reshape(200, -1).mean(axis=1) for _ in range(EXPERIMENTS))
    intervals = [batch_means(values)[0] for values in slices]
    covered = sum(interval.low <= MEAN_WAIT <= interval.high for interval in intervals) / EXPERIMENTS
    assert COVERED[0] <= covered <= COVERED[1]
    # a Student interval that treats the slices as independent is far too narrow: the test can fail
    random = np.random.default_rng(SEEDS[0])
    naive = [student(waits(random, 1, 100_000)[0].reshape(2000, -1).mean(axis=1).tolist()) for _ in range(200)]
    assert sum(interval.low <= MEAN_WAIT <= interval.high for interval in naive) / 200 < COVERED[0] - 0.1


@pytest.mark.slow
def test_after_warm_up_is_cut_the_interval_covers_the_level() -> None:
    """A run that starts ten deviations too high and settles within a sixth of its length; without a cut no interval covers its level."""
    random = np.random.default_rng(SEEDS[0])
    slices = np.arange(150)
    warming = 10 * np.exp(-slices / 5)
    covered = uncut = 0
    for _ in range(EXPERIMENTS):
        runs = 3 + warming + random.normal(size=(10, len(slices)))
        kept = student([float(run[mser5(run) :].mean()) for run in runs])
        whole = student(runs.mean(axis=1).tolist())
        covered += kept.low <= 3 <= kept.high
        uncut += whole.low <= 3 <= whole.high
    assert COVERED[0] <= covered / EXPERIMENTS <= COVERED[1]
    assert uncut / EXPERIMENTS < 0.05
