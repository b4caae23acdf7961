"""A user's coalescing scheme and steering rules: one class each, and a row of the catalogue here instead of a plug-in."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hostsim.config.nic import NicOptions
from hostsim.config.platform import Coalescing
from hostsim.errors import WiringError
from hostsim.model.policy.moderation import COALESCING_SCHEMES, CoalescingScheme
from hostsim.model.policy.steering import STEERING_RULES, Move, SteeringRule
from hostsim.units import MS, US

from .small_point import CALM, datagrams, group, multicast, nic, point, run, vnic


class PacketsOrTime(CoalescingScheme):
    """An interrupt after a number of packets, or after a time."""

    def __init__(self, packets: int, timeout: int) -> None:
        self.packets, self.timeout = packets, timeout

    def due(self, first: int) -> int:
        return first + self.timeout

    def depth(self) -> int | None:
        return self.packets


class BySize(SteeringRule):
    """Small packets on the first ring, large ones on another."""

    def __init__(self, large: int = 3) -> None:
        self.large = large

    def ring(self, value: int, size: int, rings: int) -> int:
        return 0 if size <= 256 else self.large


class RoundRobin(SteeringRule):
    """Each new flow goes to the next ring."""

    def __init__(self) -> None:
        self.flows = 0

    def ring(self, value: int, size: int, rings: int) -> int:
        self.flows += 1
        return (self.flows - 1) % rings


class Shuttle(SteeringRule):
    """All vNICs on queue 1, then on queue 2, and back."""

    def queue(self, position: int, queues: int) -> int:
        return 1

    def period(self) -> int | None:
        return 5 * MS

    def moves(self, loads: Sequence[float], members: Sequence[Sequence[float]], node_use: float) -> list[Move]:
        source = 1 if members[1] else 2
        return [Move(source, 0, 3 - source) for _ in members[source]]


@pytest.mark.parametrize(("most", "timeout", "each"), [(8, 2 * MS, 8), (64, 350 * US, 4)])
def test_a_coalescing_scheme_of_ones_own(most: int, timeout: int, each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packets 100 us apart, with each poll over before the next: an interrupt announces min(N, 1 + T // 100 us) of them."""
    monkeypatch.setitem(COALESCING_SCHEMES, "own", lambda settings: PacketsOrTime(settings.depth, settings.timeout))
    own = vnic(coalescing=Coalescing(scheme="own", rate=1, depth=most, timeout=timeout))
    stream = multicast(*(place * 100 * US for place in range(1, 161)), size="100 B")
    host = run(point(group(vnics=(own,)), traffic={"s": stream}, cost=CALM))
    assert host.flows[0].delivered == 160
    assert host.vcpus[0].interrupts == 160 // each


RINGS = {"nics": {"vmnic0": nic(rx_queues=8, rss=True)}, "options": {"vmnic0": NicOptions(drss=4)}}


@pytest.mark.parametrize(("rule", "expected"), [(BySize, [6, 0, 0, 6]), (RoundRobin, [4, 4, 2, 2])])
def test_a_steering_rule_of_ones_own(
    rule: type[SteeringRule], expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six streams of two datagrams, every second one large, to the four rings of the default queue."""
    monkeypatch.setitem(STEERING_RULES, "static", lambda spec: rule())
    sizes = ["100 B", "1000 B"] * 3
    streams = {f"s{place}": multicast(1 * MS, 2 * MS, size=size) for place, size in enumerate(sizes)}
    host = run(point(group(), traffic=streams, **RINGS), 5 * MS)
    assert [queue.ring.taken for queue in host.queues[:4]] == expected
    assert sum(flow.delivered for flow in host.flows) == 12


def test_a_balancer_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two streams of 10 kpps that change queues every 5 ms for 15 ms: a queue gets 50 frames of each per period."""
    monkeypatch.setitem(STEERING_RULES, "static", lambda spec: Shuttle())
    traffic = {"s": datagrams("receive", rate="10 kpps")}
    host = run(point(group(count=2), traffic=traffic, nics={"vmnic0": nic(rx_queues=3)}), 15 * MS)
    assert [queue.ring.taken for queue in host.queues] == [0, 200, 100]


def test_a_ring_that_is_not_there_is_told_with_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A negative ring is reported, too, as it would index from the end."""
    monkeypatch.setitem(STEERING_RULES, "static", lambda spec: BySize(-1))
    with pytest.raises(WiringError, match="BySize selected index -1; allowed: 0 to 3"):
        run(point(traffic={"s": multicast(1 * MS)}, **RINGS))
