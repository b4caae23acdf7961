"""Guests that forward between NICs of any kind, by a polling process (DPDK) or in the kernel; calculated by hand."""

from __future__ import annotations

from typing import Any

import pytest

from hostsim.config.host import PointSpec
from hostsim.config.nic import VSwitchSpec
from hostsim.config.platform import Refill
from hostsim.config.workload import BridgedSpec
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.units import MS, SECOND
from tests.model.small_point import CALM, PATHS, group, guest, nic, paths, point, run, vnic

NS = 1000
STEP = (PATHS["poll_rx"] + PATHS["poll_tx"]) * NS
"""Time of a polling process per frame."""
KINDS = ["vnic", "passthrough", "functions"]
LINE = 14_880_952
"""Frames of 64 bytes per second at 10 Gbit/s."""


def frames(**changes: Any) -> BridgedSpec:
    return BridgedSpec.model_validate({"kind": "bridged", "to": "vm", "frame_size": "64 B", "routed": True} | changes)


def forwarder(
    spec: BridgedSpec, how: str, *, cost: dict[str, float] | None = None, vcpus: int = 1, **nics: Any
) -> PointSpec:
    """A VM that forwards from the first NIC of a kind to the second, each on its own port."""
    passed = {} if how == "vnic" else {"reserved": 1.0, how: ("vmnic0", "vmnic1")}
    networks = ("in", "out") if how == "vnic" else ()
    vm = group(networks=networks, guest=guest(paths=paths()), vcpus=vcpus, **passed)
    return point(
        vm,
        traffic={"frames": spec},
        nics={name: nic(**{"rx_ring": 512, "tx_interrupt_delay": "20 us"} | nics) for name in ("vmnic0", "vmnic1")},
        switches={"in": VSwitchSpec(uplinks="vmnic0"), "out": VSwitchSpec(uplinks="vmnic1")}
        if how == "vnic"
        else {"x": VSwitchSpec(uplinks="vmnic0")},
        cost=CALM if cost is None else cost,
    )


def without_switch(spec: PointSpec) -> PointSpec:
    return spec if "x" not in spec.vswitches else spec.model_copy(update={"vswitches": {}})


def host_of(spec: PointSpec, until: int = 5 * MS) -> Host:
    host = run(without_switch(spec), until)
    for port in host.nics.values():
        port.depart(host.clock.now)
    return host


@pytest.mark.parametrize("how", ["passthrough", "functions"])
def test_a_frame_takes_its_time_in_the_process_and_no_interrupt(how: str) -> None:
    """On ports that the guest polls: 500 frames 10 us apart, each sent one step after its arrival."""
    spec = forwarder(frames(rate="100 kpps", forwarded_by="poll"), how)
    host = host_of(spec)
    (flow,) = host.flows
    assert flow.delivered == flow.sent  # a burst looks 50 us ahead
    assert flow.forwarded == pytest.approx(500, abs=1)
    assert flow.latency.total == STEP * flow.delivered
    assert host.vcpus[0].used == pytest.approx(5 * MS, rel=0.01)  # it never halts
    assert host.vcpus[0].interrupts == sum(queue.interrupts for queue in host.queues) == 0
    assert host.nics["vmnic1"].tx_packets == flow.forwarded


@pytest.mark.parametrize("how", KINDS)
def test_what_is_offered_below_capacity_is_forwarded(how: str) -> None:
    """At half of the process' capacity; for a vNIC, half of what VMkernel contexts deliver."""
    rate = 50_000 if how == "vnic" else SECOND // STEP // 2
    host = host_of(forwarder(frames(rate=f"{rate} /s", forwarded_by="poll"), how), 20 * MS)
    (flow,) = host.flows
    assert flow.lost_nic == flow.lost_ring == flow.lost_out == 0
    assert flow.forwarded == pytest.approx(rate * 0.02, rel=0.05)
    contexts = [world.used for world in host.worlds() if world not in host.vcpus]
    assert bool(sum(contexts)) == (how == "vnic")


@pytest.mark.parametrize("how", ["passthrough", "functions"])
def test_beyond_its_capacity_the_process_does_what_it_can(how: str) -> None:
    """At line rate it forwards one frame per step, and the NIC drops the others because no descriptor is free."""
    host = host_of(forwarder(frames(rate=f"{LINE} /s", forwarded_by="poll"), how))
    (flow,) = host.flows
    assert flow.forwarded == pytest.approx(5 * MS / STEP, rel=0.02)
    assert flow.lost_nic > 0
    assert flow.sent == flow.lost_nic + flow.delivered + sum(queue.ring.held for queue in host.queues)


def test_a_slow_way_out_drops_frames_for_want_of_descriptors() -> None:
    """A port of 1 Gbit/s behind one of 10 Gbit/s: the process has 128 descriptors and no queue discipline."""
    spec = forwarder(frames(rate="5 Mpps", forwarded_by="poll"), "passthrough", tx_queue=128)
    slow = spec.hardware.nics["vmnic1"].model_copy(update={"line_rate": 1e9})
    nics = {**spec.hardware.nics, "vmnic1": slow}
    host = host_of(spec.model_copy(update={"hardware": spec.hardware.model_copy(update={"nics": nics})}))
    (flow,) = host.flows
    assert flow.lost_out > 0
    assert flow.forwarded == pytest.approx(LINE / 10 * 0.005, rel=0.1)


def test_events_do_not_grow_with_frames() -> None:
    """Twenty times the frames, less than four times the events."""
    counted = []
    for rate in (500_000, 10_000_000):
        host = build_host(
            without_switch(forwarder(frames(rate=f"{rate} /s", forwarded_by="poll"), "passthrough", cost={})),
            Streams(1, 0),
        )
        host.clock.advance(1 * MS)
        before = host.clock.scheduled(), host.flows[0].delivered
        host.clock.advance(5 * MS)
        counted.append((host.flows[0].delivered - before[1], host.clock.scheduled() - before[0]))
    (few, cheap), (many, dear) = counted
    assert many > 15 * few
    assert dear < 4 * cheap + 100
    assert cheap < few


@pytest.mark.parametrize("how", ["passthrough", "functions"])
@pytest.mark.parametrize("routed", [True, False])
def test_the_kernel_forwards_through_passed_through_ports(how: str, routed: bool) -> None:
    """The VMkernel only takes the interrupts. A VM with several vCPUs has several rings."""
    for vcpus in (1, 4):
        spec = forwarder(
            frames(rate="50 kpps", routed=routed), how, vcpus=vcpus, rss=True, rx_queues=8, interrupt_interval="50 us"
        )
        host = host_of(spec, 20 * MS)
        (flow,) = host.flows
        assert flow.forwarded == flow.to_forward == flow.delivered == pytest.approx(1000, abs=5)
        assert sum(world.used for world in host.worlds() if world not in host.vcpus) == 0
        assert host.nics["vmnic1"].tx_packets == flow.forwarded


def test_a_router_takes_frames_by_the_filter_of_its_vnic() -> None:
    """A bridge's frames use the uplink's default queue, as no filter knows the addresses behind it."""
    used = []
    for routed in (False, True):
        spec = forwarder(frames(rate="10 kpps", routed=routed), "vnic", rx_queues=4)
        host = host_of(spec, 5 * MS)
        used.append([queue.ring.taken > 0 for queue in host.nics["vmnic0"].queues])
    assert used[0] == [True, False]
    assert used[1] == [False, True]


def test_a_driver_that_polls_gives_its_descriptors_back() -> None:
    """Descriptors that the kernel's driver would not return have no effect: a ring of 64 is reused many times."""
    spec = forwarder(frames(rate="100 kpps", forwarded_by="poll"), "vnic")
    small = vnic(rx_ring=64, refill=Refill(lot=9, rest=False))
    (vm,) = spec.vms
    vm = vm.model_copy(update={"settings": vm.settings.model_copy(update={"vnics": (small, small)})})
    host = host_of(spec.model_copy(update={"vms": (vm,)}), 10 * MS)
    assert host.flows[0].forwarded == pytest.approx(1000, rel=0.1)
