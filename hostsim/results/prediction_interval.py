"""Prediction interval: the uncertainty of the model about a number, separate from the noise of runs, by an ensemble of hosts.

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

import math
from collections.abc import Collection, Mapping

from hostsim.results.estimate import Interval, student

__all__ = [
    "BLOCK",
    "LEVEL",
    "first_runs",
    "member_of",
    "members_of",
    "most_replications",
    "noise_share",
    "prediction_interval",
    "replication_interval",
    "span",
]

LEVEL = 0.9
"""Level of a prediction interval."""
BLOCK, NEW = 5, 3
"""Replications and members of a block."""
ENOUGH = 19
"""Smallest number of members with quantiles of 5 % and 95 %."""


def member_of(replication: int) -> int:
    """The member that a replication runs, both counted from 0: 0, 1, 2, 0, 1, then 3, 4, 5, 3, 4."""
    block, place = divmod(replication, BLOCK)
    return block * NEW + place % NEW


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

    Unbounded without a repeated member. Infinite values and no values: as in `hostsim.results.estimate.student`.

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
    count, plain = len(own), student(own, LEVEL)
    if count == 1 or not math.isfinite(plain.mean) or plain.low == plain.high:
        return plain
    if count >= ENOUGH:
        import numpy as np

        low, high = map(float, np.quantile(own, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="weibull"))
    else:
        half = plain.half * math.sqrt(
            count + 1
        )  # for one more value: the deviation times sqrt(1 + 1 / n) instead of sqrt(1 / n)
        low, high = plain.mean - half, plain.mean + half
    return Interval(plain.mean, max(low, least), min(high, most), count)


def span(values: Mapping[int, float]) -> Interval:
    """From the smallest to the largest value of a statement, 1 or 0: zero width if all members agree."""
    own = first_runs(values)
    return Interval(math.fsum(own) / len(own), min(own), max(own), len(own))


def _within(values: Mapping[int, float]) -> tuple[float, int]:
    """Variance within members, pooled over all members, with its degrees of freedom; NaN and 0 if each has one run."""
    runs: dict[int, list[float]] = {}
    for replication, value in values.items():
        runs.setdefault(member_of(replication), []).append(value)
    freedom = sum(len(each) - 1 for each in runs.values())
    squares = math.fsum(_variance(each) * (len(each) - 1) for each in runs.values() if len(each) > 1)
    return (squares / freedom, freedom) if freedom else (math.nan, 0)


def _variance(values: Collection[float]) -> float:
    """The sample variance; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
