"""The virtual switch between nodes: cost of a delivery by the nodes of NIC, context and guest, and after a VM has moved."""

from __future__ import annotations

import pytest

from hostsim.engine.clock import Clock
from hostsim.engine.ring import Train
from hostsim.model.contract import Flow, Sender
from hostsim.model.cpu.pcpu import Node
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.policy.aggregation import Backoff
from hostsim.model.policy.moderation import CoalescingScheme
from hostsim.model.receive.context import VSwitch
from hostsim.model.receive.vnic import Vnic
from hostsim.model.services import Services
from hostsim.units import MS, NS

from .small_point import CALM, ROUND, cost_table, group, multicast, point, run, settings, vnic
from .test_lro import DRIVER, DeafGuest

COST = cost_table()
WITHIN, BETWEEN = ROUND["shared_lines"] * NS, 2 * ROUND["shared_lines"] * NS
"""Time of the lines that both ends write, within a node and between nodes, which is twice as far."""


@pytest.mark.parametrize("joins", [False, True])
@pytest.mark.parametrize(
    ("nic", "context", "guest", "lines"),
    [
        (0, 0, 0, WITHIN),
        (1, 1, 1, WITHIN),
        (0, 0, 1, BETWEEN),
        (0, 1, 0, BETWEEN),
        (0, 1, 1, BETWEEN),  # the context is beside the guest, and the frame is in the other node's memory
        (1, 0, 1, BETWEEN),
    ],
)
def test_a_unicast_frame_crosses_nodes_if_any_end_is_away(
    nic: int, context: int, guest: int, lines: int, joins: bool
) -> None:
    """A thousand bytes, on memory without waits; a frame examined by LRO costs that in addition."""
    scheduler = Scheduler(Clock(), 2, 1, COST, settings())
    sender = Sender(Flow("any", 1000, 1), 1000, 800 * NS, 64, joins=joins)
    lro = Backoff(3000, 8, 1000, 2) if joins else None
    nodes: list[Node] = scheduler.nodes
    sender.vnic = Vnic(Clock(), "eth0", 4096, CoalescingScheme(), DeafGuest(nodes[guest]), lro=lro)
    switch = VSwitch(Services(scheduler.clock, COST, scheduler, settings()))
    frame = round(1000 * ROUND["copy_per_byte"]) * NS + lines
    known = switch.work_ps(Train(sender, 1, 0, 0, 0, 0), DRIVER, nodes[context], nodes[nic])
    assert known == DRIVER + frame
    looked = ROUND["sw_lro"] * NS if joins else 0
    taken = switch.receive([Train(sender, 1, 0, 0, 0, 0)], 0, DRIVER, nodes[context], nodes[nic])
    assert taken == known + looked + ROUND["vnic_deliver"] * NS


def test_a_split_context_that_stays_alone_fetches_every_packet() -> None:
    """Without DDIO two contexts of a node share the wait for memory; once the other's VM has moved, the remaining one waits for all of it."""
    vms = group(count=2, nodes=(0,), vnics=(vnic(split_rx=True),))
    spec = point(vms, sockets=2, traffic={"m": multicast(1 * MS, 11 * MS)}, cost=CALM, processors={"ddio": False})
    host = run(spec, 10 * MS)
    stays, moves = host.vms
    (split,) = (world for world in stays.worlds if world.kind == "splitrx")
    shared = split.used
    host.move(moves, host.scheduler.nodes[1], host.clock.now)
    host.clock.advance(20 * MS)
    half_of_a_fetch = 125 * NS
    assert split.used - shared == shared + half_of_a_fetch
