"""Local threshold: a threshold on a changed host, from the metric at two points beside the threshold as it was.

A search takes ten runs and more; two paired points on common random numbers say how far the threshold moves, as long as it stays near.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from hostsim.expect import Find

__all__ = ["moved_threshold", "near_bracket", "points_beside"]

BESIDE = 50
"""The points lie this part of the threshold to either side of it: of neighbours among hundreds of VMs the noise would be the slope."""
FARTHEST = 10.0
"""A threshold that moves by more than this many times the distance of its two points is none of theirs."""
_Measured = tuple[float, float]
"""A value of the axis, and the metric there."""


def points_beside(find: Find, threshold: float) -> tuple[int, int] | None:
    """The two values of the axis beside a threshold, the condition holding on one side; None where it lies at an end of its bracket."""
    last_below = round(threshold) if find.largest else round(threshold) - 1
    step = round(abs(threshold)) // BESIDE
    below, above = max(last_below - step, find.start), min(last_below + 1 + step, find.stop)
    return (below, above) if below <= last_below < above else None


def moved_threshold(
    threshold: float,
    before: tuple[_Measured, _Measured],
    after: tuple[_Measured, _Measured],
    limit: float,
) -> float | None:
    """The threshold of a changed host: as it was, and on by the whole steps that the crossing of the metric and the limit moves, as a search has no others.

    A metric grows by a factor with each step, so that the crossing lies on the straight line of its logarithm. A share that is nothing
    below the threshold is what does not get through above it: what does get through is the crossing.

    Args:
        threshold: as it was.
        before: the smaller and the larger value of the axis with the metric at each, as it was.
        after: the same values, on the changed host.
        limit: of the metric.

    Returns:
        None where the two points do not say: nothing gets lost, the metric has no bound or turns round, or it is too far away.
    """
    is_share = before[0][1] <= 0 < before[1][1]
    was, now = (_crossing(pair, limit, is_share=is_share) for pair in (before, after))
    if was is None or now is None or (after[1][1] > after[0][1]) != (before[1][1] > before[0][1]):
        return None
    width = before[1][0] - before[0][0]
    if abs(now - was) > FARTHEST * width:
        return None
    if width == 1 and (after[0][1] < limit) != (after[1][1] < limit):
        return threshold  # between neighbours, as it was
    return threshold + (math.floor(now) - math.floor(was) if width == 1 else round(now - was))


def near_bracket(find: Find, pairs: Iterable[tuple[_Measured, _Measured]]) -> Find:
    """The search in a part of its bracket: between the two points of each replication, or beyond the one that the threshold has passed.

    Args:
        find: the search.
        pairs: the smaller and the larger value of the axis with the metric at each, on the changed host.
    """
    starts, stops = [], []
    for (low, at_low), (high, at_high) in pairs:
        holds_low, holds_high = at_low < find.below, at_high < find.below
        reach = round(FARTHEST * (high - low))
        is_above = holds_low and holds_high if find.largest else not (holds_low or holds_high)
        is_below = not (holds_low or holds_high) if find.largest else holds_low and holds_high
        starts.append(int(low) - reach * is_below)
        stops.append(int(high) + reach * is_above)
    if not starts:
        return find
    return replace(find, start=max(min(starts), find.start), stop=min(max(stops), find.stop))


def _crossing(pair: tuple[_Measured, _Measured], limit: float, *, is_share: bool) -> float | None:
    (first, low), (last, high) = pair
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    if is_share:
        return last * (1 - high / 100) if high > 0 else None
    if low <= 0 or high <= 0 or low == high:
        return None
    return first + math.log(limit / low) / math.log(high / low) * (last - first)
