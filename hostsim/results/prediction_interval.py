"""Prediction interval: how sure the model is of a number, told from how noisy its runs are, by an ensemble of hosts.

Replications of an ensemble are runs of different hosts, its members. In each five of them three members run, the first two of these twice,
with other random numbers: two runs of one member differ by noise alone, and runs of different members by both, so that the variance of a
run is that between members plus that within them. Which member a replication runs depends on nothing else, so that a run that is stored
serves however many replications are asked for.

The *replication's interval* is a confidence interval of the mean over the members that were run: it rests on the repeated ones, and more
replications make it narrower. The *prediction interval* is one that a run of another member lies in with a probability of 90 %. As the
members are drawn independently, the truth among them, its ends are quantiles of the members, whatever their distribution: a further value
lies below the k-th smallest of n with the probability k / (n + 1) (Wilks 1941), so that 5 % take 19 members. Of fewer it is Student's with
n - 1 degrees of freedom, which takes them as normal. It holds the noise of one run as well: so does what is measured once, and a few
repeated members know the noise too badly for it to be subtracted.
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
"""Of a prediction interval."""
BLOCK, NEW = 5, 3
"""Replications of a block, and members in it."""
ENOUGH = 19
"""Members that have quantiles of 5 % and 95 %."""


def member_of(replication: int) -> int:
    """The member that a replication runs, both counted from 0: 0, 1, 2, 0, 1, then 3, 4, 5, 3, 4."""
    block, place = divmod(replication, BLOCK)
    return block * NEW + place % NEW


def members_of(replications: int) -> int:
    """How many members the first so many replications run."""
    blocks, rest = divmod(replications, BLOCK)
    return blocks * NEW + min(rest, NEW)


def most_replications(members: int) -> int:
    """Most replications that so many members do for."""
    blocks, rest = divmod(members, NEW)
    return blocks * BLOCK + rest


def first_runs(values: Mapping[int, float]) -> list[float]:
    """Of values by replication that of one run of each member."""
    return list({member_of(replication): values[replication] for replication in sorted(values, reverse=True)}.values())


def noise_share(values: Mapping[int, float]) -> float:
    """Share of the noise in the variance of a run, whose rest is that between members; NaN where no member has two runs, or nothing varies.

    Args:
        values: by replication.
    """
    if not all(map(math.isfinite, values.values())):
        return math.nan
    within, freedom = _within(values)
    total = _variance(first_runs(values))
    return min(within / total, 1.0) if freedom and total else math.nan


def replication_interval(values: Mapping[int, float], level: float = 0.95) -> Interval:
    """Mean of all runs of an ensemble, with the confidence interval that the noise of its runs leaves of it: Student's, by the repeated members.

    It is unbounded where no member has two runs, as that of one value is. Infinite values and no values: as `hostsim.results.estimate.student`.

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
        values: by replication, one at least.
        least: what no value is below.
        most: what none is above.

    Returns:
        Mean and interval of one run of each member; unbounded for a single member. Infinite values: from the least to the greatest.
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
        )  # of one more value: the deviation times sqrt(1 + 1 / n), and not sqrt(1 / n)
        low, high = plain.mean - half, plain.mean + half
    return Interval(plain.mean, max(low, least), min(high, most), count)


def span(values: Mapping[int, float]) -> Interval:
    """From the least to the greatest value of a statement, which is 1 or 0: what members agree on has no width."""
    own = first_runs(values)
    return Interval(math.fsum(own) / len(own), min(own), max(own), len(own))


def _within(values: Mapping[int, float]) -> tuple[float, int]:
    """Variance of the runs of one member, pooled over all members, with its degrees of freedom; NaN and 0 where each has one run."""
    runs: dict[int, list[float]] = {}
    for replication, value in values.items():
        runs.setdefault(member_of(replication), []).append(value)
    freedom = sum(len(each) - 1 for each in runs.values())
    squares = math.fsum(_variance(each) * (len(each) - 1) for each in runs.values() if len(each) > 1)
    return (squares / freedom, freedom) if freedom else (math.nan, 0)


def _variance(values: Collection[float]) -> float:
    """The sample variance; 0 of a single value."""
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
