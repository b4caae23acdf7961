"""Networking contexts: all have the same wake-up cost."""

from __future__ import annotations

import pytest

from hostsim.model.host import Host
from hostsim.units import NS, US
from tests.model.small_point import ROUND, echoes, group, multicast, point, run, vnic

TURN = ROUND["halt_exit"] + ROUND["context_switch"] + ROUND["cache_refill_same"]
"""Nanoseconds that an idle PCPU takes to dispatch the world that last ran there."""
MOVED = ROUND["halt_exit"] + ROUND["context_switch"] + ROUND["cache_refill_migrated"]
"""Nanoseconds for a world that last ran elsewhere."""
ENTRY = ROUND["poll_entry"]
COPY = ROUND["replicate_clone"] + ROUND["vnic_deliver"] + ROUND["shared_lines"] + 1000 * ROUND["copy_per_byte"]
FRAME = ROUND["driver_rx"] + ROUND["switch_forward"]


def split_host(*instants: int, **costs: float) -> Host:
    """One receiver with a split-receive context, and a stream of datagrams."""
    receiver = group(vnics=(vnic(split_rx=True),))
    return run(point(receiver, traffic={"in": multicast(*instants)}, cost=ROUND | costs))


def used(host: Host, kind: str) -> int:
    return sum(world.used for world in host.worlds() if world.kind == kind)


def test_each_context_pays_for_its_entry_and_the_netpoll_for_its_interrupt():
    """One datagram, by hand: the NetPoll queues it, and the split-receive context copies it on an idle neighbour, as the NetPoll has its PCPU."""
    host = split_host(100 * US)
    assert used(host, "netpoll") == (TURN + ROUND["interrupt"] + ENTRY + FRAME + ROUND["split_enqueue"]) * NS
    assert used(host, "splitrx") == (MOVED + ENTRY + COPY) * NS


def test_a_context_that_runs_pays_no_second_entry():
    """A datagram that arrives while the context copies the previous one is found without a wake-up."""
    host = split_host(100 * US, 100 * US + 200 * NS)
    single = used(split_host(100 * US), "splitrx")
    assert host.ports[0].split.dispatches == 1
    assert used(host, "splitrx") == single + COPY * NS


@pytest.mark.parametrize("kind", ["netpoll", "networld", "splitrx"])
def test_ablation_a_free_entry_saves_every_context_the_same(kind):
    """Without the entry cost, each dispatch after a wake-up takes less by this cost, for every kind of context."""
    receiver = group(vnics=(vnic(split_rx=True),))
    traffic = {"in": multicast(100 * US)} if kind == "splitrx" else {"echo": echoes(delay="5 ms")}
    spent = []
    for entry in (0, ENTRY):
        host = run(point(receiver, traffic=traffic, cost=ROUND | {"poll_entry": entry}))
        dispatches = sum(world.dispatches for world in host.worlds() if world.kind == kind)
        spent.append((dispatches, used(host, kind)))
    (dispatches, free), (same, paid) = spent
    assert dispatches == same > 0
    assert paid - free == dispatches * ENTRY * NS
