"""Statistical estimation: confidence intervals (Student, batch means), quantiles, warm-up detection, straight lines.

Plain functions of numbers; callers choose samples and compare intervals. Sources: `mser5` White, Cobb and Spratt (WSC 2000); `batch_means` Law's textbook, its overlapping form Meketon and Schmeiser
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
    "LEAST_SLICES",
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
    "slices_beyond",
    "student",
    "variance_ratio",
]

DETERMINISTIC = "deterministic"
"""Prefix of the flag of such a point, and of the note on its value."""


NOT_ESTIMABLE = "not estimable"
"""Text instead of a percentile with too few observations, and prefix of the reason of its verdict."""

LEAST_BATCHES, MOST_BATCHES = 20, 40
"""Number of batches of a single run."""
LEAST_RISE = 0.1
"""Smallest rise over a run that counts, as a share of the mean."""
_ONE_SIDED = 1.645
"""The 95 % point of the normal distribution."""


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval, in the unit of the values."""

    mean: float
    low: float
    high: float
    count: int
    """Number of values."""

    @property
    def half(self) -> float:
        """Half the width; infinite for a single value."""
        return (self.high - self.low) / 2


def histogram_quantile(counts: IntArray, edges_ps: IntArray, share: float) -> float:
    """Quantile of a histogram, linear inside a bucket.

    Args:
        counts: observations in each bucket, shape (buckets,).
        edges_ps: lower edges of the buckets and the upper edge of the last, in picoseconds, shape (buckets + 1,).
        share: 0 to 1; 0.95 is the 95th percentile.

    Returns:
        Picoseconds; NaN for an empty histogram.
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
    """Mean and Student interval of independent values, one for each replication.

    A single value has an unbounded interval, identical values one of zero width. With infinite values the interval is
    from the smallest to the largest.

    Raises:
        ValueError: no values.
    """
    count = len(values)
    if not count:
        raise ValueError("an interval needs at least one value")
    # the exact mean of equal values: rounding would give a deterministic measure a width
    mean = values[0] if all(value == values[0] for value in values) else _mean(values)
    if count == 1:
        return Interval(mean, -math.inf, math.inf, count)
    if math.isinf(mean):
        return Interval(mean, min(values), max(values), count)
    # imported here, as scipy takes a tenth of a second, which would delay `--help`
    from scipy.special import stdtrit

    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    half = float(stdtrit(count - 1, (1 + level) / 2)) * deviation / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, count)


def _mean(values: Sequence[float]) -> float:
    """NaN for infinities of both signs."""
    return math.nan if math.inf in values and -math.inf in values else math.fsum(values) / len(values)


def batch_means(values: Sequence[float] | FloatArray, level: float = 0.95) -> tuple[Interval, str]:
    """Mean of one long run with an interval, from dependent observations, and its basis.

    The observations are averaged in 40 batches, or in 20 if neighbours among 40 are correlated (lag-1 autocorrelation beyond
    the 5 % point of independent values), which count as independent. If 20 are correlated as well, overlapping batches of a
    tenth of the run are used. The first observations are left out if they do not fill a batch.

    Args:
        values: of one run in order of time, over equal lengths of time, shape (observations,), without warm-up.
        level: of the interval.

    Returns:
        The interval, and its basis in words. Fewer than 20 observations have an unbounded interval.

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
    """Lag-1 autocorrelation; 0 for constant values."""
    off = values - values.mean()
    spread = float(off @ off)
    # rounding errors of a constant are no variation
    return float(off[1:] @ off[:-1]) / spread if spread > 1e-24 * float(values @ values) else 0.0


def least_count(share: float) -> int:
    """Smallest number of independent values for a quantile: an equal-tailed 95 % interval has its ends among them."""
    return math.ceil(math.log(0.025) / math.log(max(share, 1 - share)))


LEAST_SLICES = 4
"""Fewest time slices with observations beyond a percentile that it can rest on: of the independent values of `least_count` 3.7 lie beyond, on average."""


def slices_beyond(counts: IntArray, edges_ps: IntArray, value_ps: float) -> int:
    """Number of time slices with observations beyond a value: the many packets that one stop of a processor delays lie in one, or in two.

    Args:
        counts: observations in each slice and bucket, shape (slices, buckets).
        edges_ps: lower edges of the buckets and the upper edge of the last, in picoseconds, shape (buckets + 1,).
        value_ps: the value in picoseconds; the bucket that it lies in counts as beyond.
    """
    return int((counts[:, edges_ps[1:] > value_ps].sum(axis=1) > 0).sum())


def variance_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """Variance ratio of pairing (common random numbers): paired over independent variance of a difference; below 1 if it helps.

    NaN for fewer than three pairs, without variance, and with infinite values.

    Raises:
        ValueError: different numbers of values.
    """
    a, b = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if len(a) != len(b):
        raise ValueError("pairs need equally many values on both sides")
    if len(a) < 3 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return math.nan
    apart = float(a.var(ddof=1) + b.var(ddof=1))
    return float((a - b).var(ddof=1)) / apart if apart > 0 else math.nan


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Mean and 95 % Student interval of ``first - second``, paired by position (common random numbers); two infinite values do not differ.

    Raises:
        ValueError: no values, or different numbers of values.
    """
    return student([0.0 if a == b else a - b for a, b in zip(first, second, strict=True)])


def rises(values: Sequence[float], amount: float = 0.0) -> bool:
    """True if values rise over time: their least-squares line rises far enough, and the 95 % Student interval of its slope excludes 0.

    Args:
        values: of equal parts of one run, at least three, none negative.
        amount: smallest rise from first to last that counts, in the unit of the values; at least a tenth of their mean.
    """
    y = np.asarray(values, dtype=np.float64)
    count = len(y)
    x = np.arange(count) - (count - 1) / 2
    slope = float(x @ y) / float(x @ x)
    if not slope * (count - 1) >= max(LEAST_RISE * float(y.mean()), amount) > 0:  # NaN is undecided
        return False
    from scipy.special import stdtrit

    left = y - y.mean() - slope * x
    error = math.sqrt(float(left @ left) / (count - 2) / float(x @ x))
    return slope > float(stdtrit(count - 2, 0.975)) * error


def r_squared(x: Sequence[float], y: Sequence[float]) -> float:
    """R squared of the least-squares line of y against x; NaN if either is constant."""
    dx, dy = (np.asarray(values, dtype=np.float64) - values[0] for values in (x, y))  # a constant becomes exact zeros
    dx, dy = dx - dx.mean(), dy - dy.mean()
    spread = float(dx @ dx) * float(dy @ dy)
    return float(dx @ dy) ** 2 / spread if spread else math.nan


def digest_of(record: RunRecord) -> bytes:
    """Digest of the measurements of a finished run: its window, and the growth of every counter and histogram in it."""
    totals = [f"{name} {record.total(name)}" for name in sorted(record.series)]
    for name, histogram in sorted(record.histograms.items()):
        growth = (histogram.counts[-1] - histogram.counts[record.cut]).sum(axis=0)
        time_ps = (histogram.sums_ps[-1] - histogram.sums_ps[record.cut]).sum()
        totals.append(f"{name} {growth.tolist()} {time_ps}")
    return hashlib.blake2b("\n".join([str(record.window_ps), *totals]).encode(), digest_size=16).digest()


def equal_replications(digests: Sequence[bytes]) -> int:
    """Number of replications of a point if all are equal to the last digit; 0 if two differ, and for a single one."""
    return len(digests) if len(digests) > 1 and len(set(digests)) == 1 else 0
