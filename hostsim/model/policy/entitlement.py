"""Entitlement to CPU: what reservations, limits and shares of VMs and resource pools give to each, by its demand.

The arithmetic is the documented one: siblings share what their parent has in proportion to their shares, bounded by reservation and limit, and
what one does not demand goes to the others (vSphere Resource Management, "Resource Allocation Shares", "Managing Resource Pools"; docs/design/scheduler.md).
All amounts are PCPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["UNLIMITED", "Consumer", "claims", "divide"]

UNLIMITED: Final = float("inf")


def divide(
    capacity: float, shares: Sequence[float], least: Sequence[float], most: Sequence[float]
) -> tuple[list[float], float]:
    """Divide a capacity in proportion to shares, with a least and a most amount for each.

    Args:
        capacity: what there is.
        shares: positive.
        least: of each; where there is less than all of them, they are cut by the same factor.
        most: of each, at least ``least``.

    Returns:
        The amounts, and the amount for each share that those between their least and their most have: 0 where nothing is left beyond the
        least amounts, `UNLIMITED` where all have their most.
    """
    floor = sum(least)
    if capacity >= sum(most):
        return list(most), UNLIMITED
    if capacity <= floor:
        factor = capacity / floor if floor else 0.0
        return [amount * factor for amount in least], 0.0
    steps = [(low / share, share) for low, share in zip(least, shares, strict=True)]
    steps += [(high / share, -share) for high, share in zip(most, shares, strict=True)]
    steps.sort()
    level, given, slope = 0.0, floor, 0.0
    for until, change in steps:
        if given + slope * (until - level) >= capacity:
            break
        given += slope * (until - level)
        level = until
        slope += change
    level += (capacity - given) / slope if slope > 0 else 0.0
    amounts = [min(max(level * share, low), high) for share, low, high in zip(shares, least, most, strict=True)]
    return amounts, level


class Consumer:
    """A consumer of CPU: a vCPU, a VM with its vCPUs, or a resource pool with its VMs and pools.

    Attributes:
        shares: among its siblings.
        reservation: what it is guaranteed, of what it demands.
        limit: most that it may have; `UNLIMITED` for no limit of its own.
        most: most that it can use: its limit, or what all below it can use.
        children: consumers below it.
        demand: what it would use now, its limit considered.
        floor: what it is guaranteed now.
        claim: its share of what its parent has now; more than its demand where it does not use all of it.
        guarantee: part of it that no shares of others can take away.
        cap: most that it may have now, by its own limit and, if it demands more than its part of the limits around it, by that.
    """

    def __init__(
        self,
        shares: float,
        reservation: float = 0.0,
        limit: float = UNLIMITED,
        children: Sequence[Consumer] = (),
        most: float = UNLIMITED,
    ) -> None:
        self.shares, self.reservation, self.limit, self.children = shares, reservation, limit, children
        self.most = most
        self.demand = self.floor = self.claim = self.guarantee = 0.0
        self.cap = limit

    def look(self) -> None:
        """Add up the demands of all below it; what a vCPU demands and can use is set before."""
        if self.children:
            for child in self.children:
                child.look()
            self.most = min(self.limit, sum([child.most for child in self.children]))
            self.demand = min(self.most, sum([child.demand for child in self.children]))
            floor = sum([child.floor for child in self.children])
        else:
            floor = 0.0
        self.floor = min(self.demand, max(self.reservation, floor))

    def share_out(self, capacity: float) -> None:
        """Give its children their claims to a capacity, and theirs to these."""
        for child, claim in zip(self.children, claims(capacity, self.children), strict=True):
            child.claim = claim
            child.share_out(claim)

    def guarantee_below(self) -> None:
        """Divide what it is guaranteed among its children."""
        children = self.children
        shares, floors, demands = _columns(children)
        for child, amount in zip(children, divide(self.guarantee, shares, floors, demands)[0], strict=True):
            child.guarantee = amount
            child.guarantee_below()

    def cap_below(self) -> None:
        """Divide its cap among those of its children that demand more than their part; the others have none but their own limits."""
        amounts = [child.demand for child in self.children]
        if self.cap < UNLIMITED:
            shares, floors, demands = _columns(self.children)
            amounts = divide(self.cap, shares, floors, demands)[0]
        for child, amount in zip(self.children, amounts, strict=True):
            child.cap = child.limit if amount >= child.demand else min(child.limit, amount)
            child.cap_below()


def _columns(consumers: Sequence[Consumer]) -> tuple[list[float], list[float], list[float]]:
    return (
        [one.shares for one in consumers],
        [one.floor for one in consumers],
        [one.demand for one in consumers],
    )


def claims(capacity: float, consumers: Sequence[Consumer]) -> list[float]:
    """Return what each of some siblings may have of a capacity: what it gets by its demand, or what it would get if it demanded more."""
    shares, floors, demands = _columns(consumers)
    amounts, level = divide(capacity, shares, floors, demands)
    most = [one.most for one in consumers]
    if level == UNLIMITED:
        amounts, level = divide(capacity, shares, amounts, most)
    return [max(amount, min(high, level * share)) for amount, high, share in zip(amounts, most, shares, strict=True)]
