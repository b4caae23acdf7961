"""On-off traffic: datagrams at a steady rate for a while, then a pause, both of random length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from hostsim.config.field import Names
from hostsim.config.quantity import PositiveDuration, Rate, Size
from hostsim.config.traffic import Sourced
from hostsim.engine.clock import Clock
from hostsim.model.host import Host
from hostsim.model.traffic.peer import Peer
from hostsim.plugin.registry import Registry
from hostsim.units import SECOND


class OnOffSpec(Sourced):
    """Datagrams to each VM in bursts of random length, with pauses of random length between."""

    kind: Literal["on_off"]
    """What kind of traffic this is."""
    to: Names
    """Names of the VM groups that receive, each VM by its first vNIC."""
    packet_size: Size
    """Bytes of data in a datagram."""
    rate: Rate
    """Datagrams in a second while it is on."""
    on: PositiveDuration
    """Mean length of a burst."""
    off: PositiveDuration
    """Mean length of a pause."""


def on_off(env: Clock, host: Host, peer: Peer) -> Iterator[Any]:
    """Send bursts, as a SimPy process; all times are whole picoseconds."""
    spec = peer.spec
    gap = round(SECOND / spec.rate)
    while True:
        yield env.timeout(round(peer.random.exponential(spec.off)))
        for _ in range(peer.random.geometric(gap / spec.on)):
            for vm in peer.vms:
                peer.send(vm, spec.packet_size)
            yield env.timeout(gap)


def register(registry: Registry) -> None:
    """Give the traffic to scenarios under its name."""
    registry.traffic(OnOffSpec, on_off)
