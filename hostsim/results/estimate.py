"""Statistical estimation: confidence intervals (Student, batch means), quantiles, warm-up detection, straight lines.

Plain functions of numbers. What is sampled, and what an interval is held against, is settled by the callers.
Sources: `mser5` White, Cobb and Spratt (WSC 2000); `batch_means` Law's textbook, its overlapping form Meketon and Schmeiser
(WSC 1984).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hostsim.engine.record import FloatArray, IntArray, RunRecord

__all__ = [
    "DETERMINISTIC",
    "MOST_BATCHES",
    "NOT_ESTIMABLE",
    "Interval",
    "batch_means",
    "digest_of",
    "equal_replications",
    "histogram_quantile",
    "least_count",
    "paired_difference",
    "r_squared",
    "rises",
    "student",
    "variance_ratio",
]

DETERMINISTIC = "deterministic"
"""What a flag of such a point, and a note on its value, begins with."""


NOT_ESTIMABLE = "not estimable"
"""Stands in the place of a percentile that has too few observations; begins the reason of a verdict about one."""

LEAST_BATCHES, MOST_BATCHES = 20, 40
"""Batches that a single run is cut into."""
LEAST_RISE = 0.1
"""Rise over a run below which nothing is said, as a share of the mean."""
_ONE_SIDED = 1.645
"""The 95 % point of the normal distribution."""


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval, in the unit of the values."""

    mean: float
    low: float
    high: float
    count: int
    """Number of values behind it."""

    @property
    def half(self) -> float:
        """Half the width; infinite when one value alone was given."""
        return (self.high - self.low) / 2


def histogram_quantile(counts: IntArray, edges_ps: IntArray, share: float) -> float:
    """The quantile of a histogram, linear inside a bucket.

    Args:
        counts: observations in each bucket, shape (buckets,).
        edges_ps: lower edges of the buckets and the upper edge of the last, in picoseconds, shape (buckets + 1,).
        share: 0 to 1; 0.95 is the 95th percentile.

    Returns:
        Picoseconds; NaN when the histogram is empty.
    """
    filled = np.flatnonzero(counts)
    if not filled.size:
        return math.nan
    cumulative = np.cumsum(counts[filled])
    target = share * float(cumulative[-1])
    at = int(np.searchsorted(cumulative, target))
    bucket = int(filled[at])
    inside = 1.0 - (float(cumulative[at]) - target) / float(counts[bucket])
    return float(edges_ps[bucket]) + inside * float(edges_ps[bucket + 1] - edges_ps[bucket])


def student(values: Sequence[float], level: float = 0.95) -> Interval:
    """Mean and Student interval of independent values, one a replication.

    One value alone has an unbounded interval; identical values have one of zero width. Where some are infinite, the
    interval reaches from the least to the greatest.

    Raises:
        ValueError: no values.
    """
    count = len(values)
    if not count:
        raise ValueError("an interval needs at least one value")
    # equal values are their own mean: a rounded one would give a deterministic measure a width
    mean = values[0] if all(value == values[0] for value in values) else _mean(values)
    if count == 1:
        return Interval(mean, -math.inf, math.inf, count)
    if math.isinf(mean):
        return Interval(mean, min(values), max(values), count)
    # imported here because scipy takes a tenth of a second that `--help` need not wait for
    from scipy.special import stdtrit

    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    half = float(stdtrit(count - 1, (1 + level) / 2)) * deviation / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, count)


def _mean(values: Sequence[float]) -> float:
    """NaN where it is infinite both ways."""
    return math.nan if math.inf in values and -math.inf in values else math.fsum(values) / len(values)


def batch_means(values: Sequence[float] | FloatArray, level: float = 0.95) -> tuple[Interval, str]:
    """Mean of one long run with an interval, from observations that depend on each other, and how it was made.

    The observations are averaged in 40 batches, or in 20 if neighbours among 40 are correlated (lag-1 autocorrelation beyond
    the 5 % point of independent values), and the batches are taken as independent. Where 20 are correlated as well,
    overlapping batches of a tenth of the run are taken. Observations that fill no batch are left out, the first ones.

    Args:
        values: of one run in order of time, each over the same length of time, shape (observations,); warm-up removed.
        level: of the interval.

    Returns:
        The interval, and in words what it rests on. Fewer than 20 observations have an unbounded interval.

    Raises:
        ValueError: no values.
    """
    observed = np.asarray(values, dtype=np.float64)
    count = len(observed)
    if not count:
        raise ValueError("an interval needs at least one value")
    if count < LEAST_BATCHES or not np.isfinite(observed).all():
        mean = float(observed.mean())
        return Interval(mean, -math.inf, math.inf, count), f"{count} observations are too few for batch means"
    for batches in (MOST_BATCHES, LEAST_BATCHES):
        size = count // batches
        if size:
            means = observed[count - batches * size :].reshape(batches, size).mean(axis=1)
            if _lag_1(means) <= _ONE_SIDED / math.sqrt(batches):
                return student(means.tolist(), level), f"{batches} batch means of one run"
    from scipy.special import stdtrit

    size = count // 10
    sums = np.cumsum(np.concatenate([[0.0], observed]))
    means = (sums[size:] - sums[:-size]) / size
    mean = float(observed.mean())
    variance = size * float(((means - mean) ** 2).sum()) / ((count - size + 1) * (count - size))
    half = float(stdtrit(1.5 * (count / size - 1), (1 + level) / 2)) * math.sqrt(variance)
    note = "overlapping batch means of one run, since plain ones are correlated: a longer run would be better"
    return Interval(mean, mean - half, mean + half, count // size), note


def _lag_1(values: FloatArray) -> float:
    """Lag-1 autocorrelation; 0 of values that do not vary."""
    off = values - values.mean()
    spread = float(off @ off)
    # what is left of a constant after rounding is no variation
    return float(off[1:] @ off[:-1]) / spread if spread > 1e-24 * float(values @ values) else 0.0


def least_count(share: float) -> int:
    """Fewest independent values for a quantile: the ends of an equal-tailed 95 % interval lie among them."""
    return math.ceil(math.log(0.025) / math.log(max(share, 1 - share)))


def variance_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """Variance ratio of pairing (common random numbers): variance of a difference paired over independent; below 1 where it helps.

    NaN for fewer than three pairs, where neither side varies, and where one has no bound.

    Raises:
        ValueError: not equally many.
    """
    a, b = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if len(a) != len(b):
        raise ValueError("pairs need equally many values on both sides")
    if len(a) < 3 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return math.nan
    apart = float(a.var(ddof=1) + b.var(ddof=1))
    return float((a - b).var(ddof=1)) / apart if apart > 0 else math.nan


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Mean and 95 % Student interval of ``first - second``, paired by position (common random numbers); where both are infinite they do not differ.

    Raises:
        ValueError: no values, or not equally many.
    """
    return student([0.0 if a == b else a - b for a, b in zip(first, second, strict=True)])


def rises(values: Sequence[float], amount: float = 0.0) -> bool:
    """True when values in order of time go up: their least-squares straight line rises far enough, and the 95 % Student interval of its slope excludes 0.

    Args:
        values: of equal stretches of one run, three or more, none negative.
        amount: rise from the first to the last below which nothing is said, in the unit of the values; a tenth of their mean at least.
    """
    y = np.asarray(values, dtype=np.float64)
    count = len(y)
    x = np.arange(count) - (count - 1) / 2
    slope = float(x @ y) / float(x @ x)
    if not slope * (count - 1) >= max(LEAST_RISE * float(y.mean()), amount) > 0:  # of NaN nothing is said
        return False
    from scipy.special import stdtrit

    left = y - y.mean() - slope * x
    error = math.sqrt(float(left @ left) / (count - 2) / float(x @ x))
    return slope > float(stdtrit(count - 2, 0.975)) * error


def r_squared(x: Sequence[float], y: Sequence[float]) -> float:
    """R squared of the least-squares straight line of y against x; NaN when either of them does not vary."""
    dx, dy = (np.asarray(values, dtype=np.float64) - values[0] for values in (x, y))  # a constant becomes exact zeros
    dx, dy = dx - dx.mean(), dy - dy.mean()
    spread = float(dx @ dx) * float(dy @ dy)
    return float(dx @ dy) ** 2 / spread if spread else math.nan


def digest_of(record: RunRecord) -> bytes:
    """Digest of what a finished run measured: its window, and the growth of every counter and histogram over it."""
    totals = [f"{name} {record.total(name)}" for name in sorted(record.series)]
    for name, histogram in sorted(record.histograms.items()):
        growth = (histogram.counts[-1] - histogram.counts[record.cut]).sum(axis=0)
        time_ps = (histogram.sums_ps[-1] - histogram.sums_ps[record.cut]).sum()
        totals.append(f"{name} {growth.tolist()} {time_ps}")
    return hashlib.blake2b("\n".join([str(record.window_ps), *totals]).encode(), digest_size=16).digest()


def equal_replications(digests: Sequence[bytes]) -> int:
    """Number of the replications of a point that are all equal to the last digit; 0 where two differ, and of a single one."""
    return len(digests) if len(digests) > 1 and len(set(digests)) == 1 else 0
