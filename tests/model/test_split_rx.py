"""Automatic splitRx on whole hosts, and its rules."""

from __future__ import annotations

import pytest

from hostsim.model.policy.split_rx import splits_receive
from hostsim.units import MS, US

from .small_point import CALM, group, multicast, point, run, vnic

LOOK = 10 * MS
"""Period of the NetQueue balancer."""


@pytest.mark.parametrize(
    ("rule", "load", "rate", "received", "expected"),
    [
        ("multicast_rate", 0.9, 10_001, [5], True),
        ("multicast_rate", 0.89, 10_001, [5], False),
        ("multicast_rate", 0.9, 10_000, [5] * 20, False),
        ("vnics", 0.9, 0, [5] * 8, True),
        ("vnics", 0.9, 50_000, [5] * 7, False),
        ("vnics", 0.9, 0, [10] * 7 + [5], True),
        ("vnics", 0.9, 0, [10] * 7 + [4], False),
        ("vnics", 0.9, 0, [0] * 8, False),
        ("vnics", 0.9, 0, [], False),
        ("vnics", 0.5, 0, [5] * 8, False),
    ],
)
def test_a_queue_is_split_when_it_is_full_and_shared(
    rule: str, load: float, rate: float, received: list[int], expected: bool
) -> None:
    """10,000 multicast packets per second, or eight vNICs with even loads; heavily utilised means 90 %."""
    assert splits_receive(rule, load, 0.9, rate, received) == expected


def host(rate: int, *, vms: int = 2, copy: float = 0, rule: str = "multicast_rate", **changes: bool):
    """A host after 35 ms of multicast at a rate; ``copy`` is the cost of a clone in cycles."""
    instants = tuple(range(1 * MS, 34 * MS, 10**12 // rate))
    guests = group(count=vms, vnics=(vnic(**({"split_rx_auto": True} | changes)),))
    costs = CALM | {"replicate_clone": copy}
    return run(point(guests, traffic={"m": multicast(*instants)}, cores=24, cost=costs, split_rx_rule=rule), 35 * MS)


def copied(host) -> list[int]:
    """Packets that each VM's split-receive context has copied."""
    return [port.split.ring.taken for port in host.ports if port.split is not None]


def test_contexts_take_over_at_a_look_at_a_full_queue() -> None:
    """At 20,000 packets per second two clones of 24 us take 96 % of the NetPoll from 1 ms on, and 86 % of the first 10 ms, so the check at 20 ms acts."""
    full = host(20_000, copy=24_000)
    assert all(port.is_split for port in full.ports)
    before = (2 * LOOK - 1 * MS) // (50 * US)
    assert copied(full) == [660 - before] * 2
    assert [port.vnic.unicast for port in full.ports] == [660 - taken for taken in copied(full)]
    assert full.flows[0].delivered == 2 * 660


@pytest.mark.parametrize(
    ("rate", "copy", "changes"),
    [
        (20_000, 5_000, {}),  # not full; full, of too few packets
        (9_900, 49_000, {}),  # full, of too few packets
        (20_000, 24_000, {"split_rx_auto": False}),
        (20_000, 24_000, {"rule": ""}),
        (20_000, 24_000, {"rule": "vnics"}),  # two vNICs are not eight
    ],
)
def test_it_stays_off_else(rate: int, copy: float, changes: dict[str, object]) -> None:
    """Each condition alone; a vNIC with an explicit setting is unchanged, and so is a host without the rule."""
    quiet = host(rate, copy=copy, **changes)
    assert not any(port.is_split for port in quiet.ports)
    assert sum(copied(quiet)) == 0


def test_the_older_rule_wants_eight_vnics() -> None:
    """At 5,000 packets per second, whose copies take 96 % of the NetPoll."""
    for vms, copy in ((7, 27_400), (8, 24_000)):
        full = host(5_000, vms=vms, copy=copy, rule="vnics")
        assert [port.is_split for port in full.ports] == [vms == 8] * vms
