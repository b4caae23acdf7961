"""TCP through a forwarding guest: its cost, and packets joined by LRO, which cannot be forwarded."""

from __future__ import annotations

from typing import Any

import pytest

from hostsim.config.nic import VSwitchSpec
from hostsim.config.platform import VnicSettings
from hostsim.config.workload import ForwardedStreamSpec
from hostsim.model.host import Host
from hostsim.units import MS, NS, SECOND

from .small_point import CALM, PATHS, arrived, group, guest, nic, paths, point, run, vnic


def routed(
    *, until: int = 50 * MS, lro: bool = True, vnics: tuple[VnicSettings, ...] | None = None, **router: Any
) -> Host:
    """A stream with 64 KiB in flight through a VM with a vNIC on each of two switches, after a run."""
    vm = group(networks=("in", "out"), vnics=vnics or (vnic(), vnic()), guest=guest(initial_window=10, **router))
    values = {"kind": "forwarded_stream", "to": "vm", "window": "64 KiB", "delay": "10 us", "burst": 16}
    card = {"line_rate": "1 Gbit/s", "interrupt_interval": "50 us"}
    spec = point(
        vm,
        traffic={"stream": ForwardedStreamSpec.model_validate(values)},
        nics={"vmnic0": nic(**card), "vmnic1": nic(**card)},
        switches={"in": VSwitchSpec(uplinks="vmnic0"), "out": VSwitchSpec(uplinks="vmnic1")},
        cost=CALM,
        sw_lro=lro,
    )
    return run(spec, until)


def test_a_router_fills_the_wire() -> None:
    """Data leave at the rate of 1 Gbit/s with 1,448 bytes in 1,538; an acknowledgement goes back for every other segment."""
    host = routed()
    data = arrived(host)
    assert data == pytest.approx(1e9 / 8 * 0.05 * 1448 / 1538, rel=0.05)
    home, onward = host.nics["vmnic0"], host.nics["vmnic1"]
    assert (onward.tx_data, onward.tx_octets) == (data // 1448, data)
    assert home.tx_packets == pytest.approx(onward.tx_packets / 2, rel=0.01)
    assert host.flows[0].lost_out == 0
    ((window, size),) = host.flows[0].windows
    assert (window.window * size >= 1448, size) == (True, 1448)


def test_a_router_that_keeps_lro_drops_what_it_joins() -> None:
    """LRO joins a window of ten segments into packets that are too long to send; only retransmissions of one segment after a timeout get through."""
    host = routed(until=1 * SECOND, lro_while_forwarding=True)
    flow = host.flows[0]
    assert flow.lost_out >= 10
    assert 0 < arrived(host) < 0.01 * 1e9 / 8


def test_without_lro_in_the_host_such_a_router_is_like_any_other() -> None:
    """Without LRO nothing is joined, so that no packet is too long."""
    kept, plain = routed(lro=False, lro_while_forwarding=True), routed(lro=False)
    assert kept.flows[0].octets == plain.flows[0].octets > 0
    assert kept.flows[0].lost_out == 0


def test_a_router_with_a_measured_path_of_forwarding_pays_that_for_each_packet() -> None:
    """For data and acknowledgements: the stack, the bridge and transmission have no further charges."""
    plain, cheap = routed(), routed(paths=paths())
    assert arrived(cheap) == pytest.approx(arrived(plain), rel=0.01)
    packets = [host.nics["vmnic0"].tx_packets + host.nics["vmnic1"].tx_packets for host in (plain, cheap)]
    saved = (CALM["guest_rx_packet"] + 4000 + CALM["guest_tx_packet"] - PATHS["forward"]) * NS
    assert plain.vcpus[0].used / packets[0] - cheap.vcpus[0].used / packets[1] == pytest.approx(saved, rel=0.005)


def test_what_gro_has_joined_goes_on_as_packets_for_tso() -> None:
    """A guest with GRO sends fewer packets than segments, and the same number of bytes."""
    host = routed(gro=("vmxnet3",))
    onward = host.nics["vmnic1"]
    assert arrived(host) == pytest.approx(1e9 / 8 * 0.05 * 1448 / 1538, rel=0.05)
    assert onward.tx_data < onward.tx_frames / 2
    assert host.flows[0].lost_out == 0


def test_acknowledgements_that_a_router_cannot_send_are_lost() -> None:
    """The return path has no descriptor left: packets to be forwarded there are dropped and counted as drops."""
    host = routed(until=20 * MS)
    (flow,) = host.flows
    before = flow.forwarded
    assert flow.lost_out == 0
    assert 0 < flow.to_forward - before < 64
    host.transmits[0].ring.capacity = 0
    host.clock.advance(30 * MS)
    assert host.transmits[0].ring.dropped > 0
    assert flow.lost_out == host.transmits[0].ring.dropped
