"""Entitlement to CPU: the effect of reservations, limits and shares of VMs and resource pools.

The arithmetic follows the documentation: siblings divide the amount of their parent in proportion to their shares,
bounded by reservation and limit, and unused entitlement goes to the others (vSphere Resource Management, "Resource
Allocation Shares", "Managing Resource Pools"; docs/design/scheduler.md). All amounts are in PCPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["UNLIMITED", "Consumer", "claims", "divide"]

UNLIMITED: Final = float("inf")


def divide(
    capacity: float, shares: Sequence[float], least: Sequence[float], most: Sequence[float]
) -> tuple[list[float], float]:
    """Divide a capacity in proportion to shares, with a lower and an upper bound for each.

    Args:
        capacity: amount to divide.
        shares: positive weights.
        least: lower bounds; if their sum exceeds the capacity, all are reduced by the same factor.
        most: upper bounds, at least ``least``.

    Returns:
        The amounts, and the amount for each share of those between their bounds: 0 if no capacity remains beyond the
        lower bounds, `UNLIMITED` if all have their upper bounds.
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
    level, total, slope = 0.0, floor, 0.0
    for until, change in steps:
        if total + slope * (until - level) >= capacity:
            break
        total += slope * (until - level)
        level = until
        slope += change
    level += (capacity - total) / slope if slope > 0 else 0.0
    amounts = [min(max(level * share, low), high) for share, low, high in zip(shares, least, most, strict=True)]
    return amounts, level


class Consumer:
    """A consumer of CPU: a vCPU, a VM with its vCPUs, or a resource pool with its VMs and pools.

    Attributes:
        shares: shares among its siblings.
        reservation: guaranteed amount, as far as demanded.
        limit: largest amount; `UNLIMITED` without its own limit.
        most: largest usable amount: its limit, or the sum of its children.
        children: child consumers.
        demand: current demand, bounded by its limit.
        floor: current guaranteed amount.
        claim: current share of its parent's amount; exceeds its demand if it does not use all of it.
        guarantee: part of the claim that is independent of others' shares.
        cap: current largest amount, by its own limit and, if it demands more than its part of enclosing limits, by that
            part.
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
        """Sum the demands of its descendants; demand and usable amount of a vCPU are set before."""
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
        """Divide a capacity into claims of its children, recursively."""
        for child, claim in zip(self.children, claims(capacity, self.children), strict=True):
            child.claim = claim
            child.share_out(claim)

    def guarantee_below(self) -> None:
        """Divide its guaranteed amount among its children, recursively."""
        children = self.children
        shares, floors, demands = _columns(children)
        for child, amount in zip(children, divide(self.guarantee, shares, floors, demands)[0], strict=True):
            child.guarantee = amount
            child.guarantee_below()

    def cap_below(self) -> None:
        """Divide its cap among children that demand more than their part; others have only their own limits."""
        amounts = [child.demand for child in self.children]
        if self.cap < UNLIMITED:
            shares, floors, demands = _columns(self.children)
            amounts = divide(self.cap, shares, floors, demands)[0]
        for child, amount in zip(self.children, amounts, strict=True):
            child.cap = child.limit if amount >= child.demand else min(child.limit, amount)
            child.cap_below()


def _columns(consumers: Sequence[Consumer]) -> tuple[list[float], list[float], list[float]]:
    return (
        [consumer.shares for consumer in consumers],
        [consumer.floor for consumer in consumers],
        [consumer.demand for consumer in consumers],
    )


def claims(capacity: float, consumers: Sequence[Consumer]) -> list[float]:
    """Return the claims of siblings to a capacity: the amount by demand, or with a larger demand."""
    shares, floors, demands = _columns(consumers)
    amounts, level = divide(capacity, shares, floors, demands)
    most = [consumer.most for consumer in consumers]
    if level == UNLIMITED:
        amounts, level = divide(capacity, shares, amounts, most)
    return [max(amount, min(high, level * share)) for amount, high, share in zip(amounts, most, shares, strict=True)]
