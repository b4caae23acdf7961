"""Closed forms of queueing theory: queues, interrupts and polling, without any simulation.

Times are in units of the mean service time unless a parameter says otherwise; rates are per that unit. Sources: Kleinrock,
*Queueing Systems* I and II (1975/76) for single queues and priorities; Gross and Harris, *Fundamentals of Queueing Theory*, for
bulk service; Takagi, *Analysis of Polling Systems* (1986); renewal arguments, given with their formulas, for coalescing.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq

__all__ = [
    "Cycle",
    "batch_wait",
    "bulk_root",
    "bulk_wait",
    "coalesced",
    "erlang_c",
    "mg1_wait",
    "mm1_sojourn_quantile",
    "mm1k_loss",
    "mmc_wait",
    "nonpreemptive_waits",
    "paced_interrupts",
    "polling_wait",
    "preemptive_sojourns",
    "processor_sharing_sojourn",
    "ticked",
]

Cycle = tuple[float, float, float]
"""Interrupts: rate, mean number of packets per interrupt, mean delay of a packet."""


def mg1_wait(load: float, cv2: float) -> float:
    """Mean wait in M/G/1 with first come, first served (Pollaczek-Khinchine); ``cv2`` is the squared variation of service."""
    return load / (1 - load) * (1 + cv2) / 2


def mm1_sojourn_quantile(load: float, share: float) -> float:
    """Quantile of the sojourn time in M/M/1, which is exponential."""
    return math.log(1 / (1 - share)) / (1 - load)


def processor_sharing_sojourn(load: float) -> float:
    """Mean sojourn in M/G/1 with processor sharing, for any distribution of service."""
    return 1 / (1 - load)


def erlang_c(servers: int, load: float) -> float:
    """Probability that an arrival waits in M/M/c; ``load`` is that of each server."""
    offered = servers * load
    blocked = 1.0
    for n in range(1, servers + 1):  # Erlang B by its recursion
        blocked = offered * blocked / (n + offered * blocked)
    return blocked / (1 - load * (1 - blocked))


def mmc_wait(servers: int, load: float) -> float:
    """Mean wait in M/M/c."""
    return erlang_c(servers, load) / (servers * (1 - load))


def mm1k_loss(load: float, capacity: int) -> float:
    """Share of arrivals lost in M/M/1/K, ``capacity`` including the one in service."""
    if load == 1:
        return 1 / (capacity + 1)
    return (1 - load) * load**capacity / (1 - load ** (capacity + 1))


def nonpreemptive_waits(first: float, second: float) -> tuple[float, float]:
    """Mean waits of two non-preemptive priority classes with exponential service, by their loads."""
    residual = first + second  # sum of rate x second moment / 2, where the second moment is 2
    return residual / (1 - first), residual / ((1 - first) * (1 - first - second))


def preemptive_sojourns(first: float, second: float) -> tuple[float, float]:
    """Mean sojourn times of two classes with exponential service, by load; the first preempts the second, which resumes."""
    total = first + second
    return 1 / (1 - first), 1 / (1 - first) + total / ((1 - first) * (1 - total))


def batch_wait(load: float, batch: int, cv2: float) -> float:
    """Mean wait in M^m/G/1: batches of a fixed number of customers arrive together."""
    return (load * (1 + cv2) + batch - 1) / (2 * (1 - load))


def bulk_root(rate: float, most: int) -> float:
    """The root in (0, 1) of ``r^(b+1) - (rate + 1) r + rate = 0``; needs ``rate < most``."""

    def equation(r: float) -> float:
        return float(r ** (most + 1) - (rate + 1) * r + rate)

    return float(brentq(equation, 0.0, 1 - 1e-9, xtol=1e-15))  # positive at 0; negative just below the other root, 1


def bulk_wait(rate: float, most: int) -> float:
    """Mean wait in M/M^(1,b)/1: a free server takes all waiting customers, up to ``most``, and later arrivals wait."""
    r = bulk_root(rate, most)
    weight = 1 / (1 / rate + 1 / (1 - r))
    return weight * r / (1 - r) ** 2 / rate


def coalesced(rate: float, depth: float, timeout: float) -> Cycle:
    """Interrupts at ``depth`` pending packets, or ``timeout`` after the first of them; Poisson packets, taken at once.

    A cycle has more than k + 1 packets exactly if more than k arrive within the timeout after the first.
    """
    if math.isinf(depth):
        packets = 1 + rate * timeout
        return rate / packets, packets, timeout * (1 + rate * timeout / 2) / packets
    if math.isinf(timeout):
        return rate / depth, depth, (depth - 1) / (2 * rate)
    mean = rate * timeout
    term = below = math.exp(-mean)
    packets, waited = 1.0, 0.0
    for k in range(int(depth) - 1):
        more = max(0.0, 1 - below)  # probability of more than k packets within the timeout
        packets += more
        waited += (k + 1) / rate * more
        term *= mean / (k + 1)
        below += term
    return rate / packets, packets, waited / packets


def paced_interrupts(rate: float, interval: float) -> Cycle:
    """Immediate interrupts at least ``interval`` apart; Poisson packets, taken at once.

    A cycle lasts until the later of the interval's end and the first packet: ``interval + exp(-rate * interval) / rate`` on
    average. The ``rate * interval`` packets within the interval wait for half of it; a later one does not wait.
    """
    packets = rate * interval + math.exp(-rate * interval)
    return rate / packets, packets, rate * interval**2 / 2 / packets


def ticked(rate: float, ticks: float) -> Cycle:
    """A tick at a fixed rate announces all packets since the last tick, if there are any."""
    some = -math.expm1(-rate / ticks)
    return ticks * some, rate / ticks / some, 1 / (2 * ticks)


def polling_wait(queues: int, load: float, switch: float, service: str) -> float:
    """Mean wait at one of ``queues`` equal queues that one server visits in turn; exponential service, constant switching.

    Args:
        queues: number of queues.
        load: of the server, all queues together.
        switch: time to switch to the next queue.
        service: ``exhaustive`` (until the queue is empty), ``gated`` (customers at the start of the visit) or
            ``limited`` (at most one customer per visit).
    """
    rate = load / queues
    if service == "limited":
        return (2 * load + queues * switch * (1 + rate)) / (2 * (1 - queues * rate * (1 + switch)))
    sign = {"exhaustive": -1, "gated": 1}[service]
    return (2 * load + queues * switch * (1 + sign * rate)) / (2 * (1 - load))
