"""Statistical estimation: confidence intervals, quantiles, straight lines, and prediction intervals.

Plain functions of numbers; callers choose samples and compare intervals. Sources: `mser5` White, Cobb and Spratt (WSC 2000); `batch_means` Law's textbook, its overlapping form Meketon and Schmeiser
(WSC 1984).

A prediction interval is the uncertainty of the model about a number, separate from the noise of runs, by an ensemble of hosts.
Replications of an ensemble run different hosts, its members. Five replications use three members; two of them run twice, with other
random numbers. Runs of one member differ only by noise, runs of different members by both, so that the variance of a run is the variance
between members plus that within them. The member depends only on the number of the replication, so that stored runs serve any number of
replications.

The *replication's interval* is a confidence interval of the mean over the members that ran: it uses the repeated members, and narrows with
more replications. The *prediction interval* contains a run of another member with a probability of 90 %. As the members and the truth are
drawn independently from one distribution, its ends are quantiles of the members: a further value is below the k-th smallest of n with
probability k / (n + 1) (Wilks 1941), so that 5 % need 19 members. For fewer members it is Student's with n - 1 degrees of freedom, which
assumes a normal distribution. It includes the noise of one run, like a single measurement; a few repeated members estimate the noise too
poorly to subtract it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hostsim.engine.record import FloatArray, IntArray, RunRecord

__all__ = [
    "BLOCK",
    "DETERMINISTIC",
    "LEAST_SLICES",
    "MOST_BATCHES",
    "NOT_ESTIMABLE",
    "PREDICTION_LEVEL",
    "Interval",
    "batch_means",
    "digest_of",
    "equal_replications",
    "first_runs",
    "histogram_quantile",
    "least_count",
    "member_of",
    "members_of",
    "most_replications",
    "noise_share",
    "paired_difference",
    "prediction_interval",
    "r_squared",
    "replication_interval",
    "rises",
    "slices_beyond",
    "span",
    "student",
    "variance_ratio",
]

DETERMINISTIC = "deterministic"
"""Prefix of the flag of such a point, and of the note on its value."""


NOT_ESTIMABLE = "not estimable"
"""Text that replaces a percentile with too few observations, and prefix of the reason of its verdict."""

LEAST_BATCHES, MOST_BATCHES = 20, 40
"""Number of batches of a single run."""
LEAST_RISE = 0.1
"""Smallest rise over a run that counts, as a share of the mean."""
_ONE_SIDED = 1.645
"""The 95 % quantile of the normal distribution."""


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
    if count == 1:
        return Interval(values[0], -math.inf, math.inf, count)
    # the mean of equal values is exact, as rounding errors would give a deterministic measure an interval of positive
    # width
    mean = values[0] if all(value == values[0] for value in values) else _mean(values)
    if math.isinf(mean):
        return Interval(mean, min(values), max(values), count)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    half = _two_sided(count - 1, level) * deviation / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, count)


_AT_95 = (12.706204736174694, 4.302652729749462, 3.1824463052837078, 2.7764451051977934)
"""Two-sided 95 % quantiles of Student's distribution with 1 to 4 degrees of freedom, to the last bit those of scipy, whose import takes 0.13 s."""


def _two_sided(freedom: int, level: float) -> float:
    """Two-sided quantile of Student's distribution."""
    if level == 0.95 and freedom <= len(_AT_95):
        return _AT_95[freedom - 1]
    from scipy.special import stdtrit  # imported here, as most commands need only the numbers above

    return float(stdtrit(freedom, (1 + level) / 2))


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
"""Smallest number of time slices with observations beyond a percentile; 3.7 of `least_count` independent values are beyond it."""


def slices_beyond(counts: IntArray, edges_ps: IntArray, value_ps: float) -> int:
    """Number of time slices with observations beyond a value; the packets delayed by one stall are in one or two slices.

    Args:
        counts: observations in each slice and bucket, shape (slices, buckets).
        edges_ps: lower edges of the buckets and the upper edge of the last, in picoseconds, shape (buckets + 1,).
        value_ps: the value in picoseconds; its own bucket counts as beyond.
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
    """True if values rise over time: the least-squares line rises enough, and its slope's 95 % interval excludes 0.

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
    """Digest of a finished run's measurements: its window, and the growth of every counter and histogram in it."""
    totals = [f"{name} {record.total(name)}" for name in sorted(record.series)]
    for name, histogram in sorted(record.histograms.items()):
        growth = (histogram.counts[-1] - histogram.counts[record.cut]).sum(axis=0)
        time_ps = (histogram.sums_ps[-1] - histogram.sums_ps[record.cut]).sum()
        totals.append(f"{name} {growth.tolist()} {time_ps}")
    return hashlib.blake2b("\n".join([str(record.window_ps), *totals]).encode(), digest_size=16).digest()


def equal_replications(digests: Sequence[bytes]) -> int:
    """Number of replications of a point if all are equal to the last digit; 0 if two differ or there is one."""
    return len(digests) if len(digests) > 1 and len(set(digests)) == 1 else 0


PREDICTION_LEVEL = 0.9
"""Level of a prediction interval."""
BLOCK, NEW = 5, 3
"""Numbers of replications and of members in a block."""
ENOUGH = 19
"""Smallest number of members with quantiles of 5 % and 95 %."""


def member_of(replication: int) -> int:
    """The member of a replication, both counted from 0: 0, 1, 2, 0, 1, then 3, 4, 5, 3, 4."""
    block, position = divmod(replication, BLOCK)
    return block * NEW + position % NEW


def members_of(replications: int) -> int:
    """Number of members that a number of replications runs."""
    blocks, rest = divmod(replications, BLOCK)
    return blocks * NEW + min(rest, NEW)


def most_replications(members: int) -> int:
    """Largest number of replications for a number of members."""
    blocks, rest = divmod(members, NEW)
    return blocks * BLOCK + rest


def first_runs(values: Mapping[int, float]) -> list[float]:
    """One value for each member, from values by replication."""
    return list({member_of(replication): values[replication] for replication in sorted(values, reverse=True)}.values())


def noise_share(values: Mapping[int, float]) -> float:
    """Share of noise in the variance of a run; the rest is between members. NaN without a repeated member or variance.

    Args:
        values: by replication.
    """
    if not all(map(math.isfinite, values.values())):
        return math.nan
    within, freedom = _within(values)
    total = _variance(first_runs(values))
    return min(within / total, 1.0) if freedom and total else math.nan


def replication_interval(values: Mapping[int, float], level: float = 0.95) -> Interval:
    """Mean of all runs of an ensemble, with Student's confidence interval for its noise, by the repeated members.

    Unbounded if no member is repeated. Infinite values, and an empty list, are treated as in `student`.

    Args:
        values: by replication.
        level: of the interval.
    """
    plain = student(list(values.values()), level)
    if math.isinf(plain.mean) or math.isnan(plain.mean) or plain.low == plain.high:
        return plain
    within, freedom = _within(values)
    if not freedom:
        return Interval(plain.mean, -math.inf, math.inf, plain.count)
    from scipy.special import stdtrit

    half = float(stdtrit(freedom, (1 + level) / 2)) * math.sqrt(within / len(values))
    return Interval(plain.mean, plain.mean - half, plain.mean + half, plain.count)


def prediction_interval(values: Mapping[int, float], least: float = -math.inf, most: float = math.inf) -> Interval:
    """The 90 % prediction interval of a run of another member.

    Args:
        values: by replication, at least one.
        least: smallest possible value.
        most: largest possible value.

    Returns:
        Mean and interval of one run of each member; unbounded for a single member. With infinite values: from the smallest to the largest.
    """
    own = first_runs(values)
    count, plain = len(own), student(own, PREDICTION_LEVEL)
    if count == 1 or not math.isfinite(plain.mean) or plain.low == plain.high:
        return plain
    if count >= ENOUGH:
        low, high = map(
            float, np.quantile(own, [(1 - PREDICTION_LEVEL) / 2, (1 + PREDICTION_LEVEL) / 2], method="weibull")
        )
    else:
        # for one more value: the deviation times sqrt(1 + 1 / n) instead of sqrt(1 / n)
        half = plain.half * math.sqrt(count + 1)
        low, high = plain.mean - half, plain.mean + half
    return Interval(plain.mean, max(low, least), min(high, most), count)


def span(values: Mapping[int, float]) -> Interval:
    """The range of a statement's values, 0 or 1, over the members: zero width if all agree."""
    own = first_runs(values)
    return Interval(math.fsum(own) / len(own), min(own), max(own), len(own))


def _within(values: Mapping[int, float]) -> tuple[float, int]:
    """Variance within members, pooled over all members, with its degrees of freedom; NaN and 0 if each has one run."""
    runs: dict[int, list[float]] = {}
    for replication, value in values.items():
        runs.setdefault(member_of(replication), []).append(value)
    freedom = sum(len(replications) - 1 for replications in runs.values())
    squares = math.fsum(
        _variance(replications) * (len(replications) - 1) for replications in runs.values() if len(replications) > 1
    )
    return (squares / freedom, freedom) if freedom else (math.nan, 0)


def _variance(values: Collection[float]) -> float:
    """The sample variance; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
