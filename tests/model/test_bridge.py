"""A guest that forwards frames between two vNICs, vmxnet3 or e1000, and firmware that stops it; calculated by hand."""

from __future__ import annotations

from typing import Any

import pytest

from hostsim.config.host import FirmwareSpec, PointSpec
from hostsim.config.nic import VSwitchSpec
from hostsim.config.platform import Refill, VnicSettings
from hostsim.config.workload import BridgedSpec
from hostsim.engine.clock import Alarm
from hostsim.engine.random_stream import Streams
from hostsim.engine.record import RunRecord
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.model.invariants import check_invariants, check_slices
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.units import MS, NS, US

from .small_point import CALM, PATHS, group, guest, nic, paths, point, run, vnic

STACK, FORWARD = CALM["guest_rx_packet"] * NS, (4000 + CALM["guest_tx_packet"]) * NS
"""Time of a frame in the guest: up the stack, through the bridge, and down the other driver."""
SENT = (CALM["networld_tx"] + CALM["switch_forward"] + CALM["driver_tx"]) * NS
E1000 = {"e1000_doorbell": 900.0, "e1000_interrupt": 1400.0}
ON_WIRE = 84 * 800
"""Picoseconds of a 64-byte frame at 10 Gbit/s."""


def frames(*instants: int, **changes: Any) -> BridgedSpec:
    arrivals = {"process": "replay", "timestamps_ps": instants}
    return BridgedSpec.model_validate(
        {"kind": "bridged", "to": "vm", "frame_size": "64 B", "arrivals": arrivals} | changes
    )


def bridge(spec: BridgedSpec, *vnics: VnicSettings, stop: FirmwareSpec | None = None, **changes: Any) -> PointSpec:
    vm = group(networks=("in", "out"), vnics=vnics or (vnic(), vnic()))
    made = point(
        vm,
        traffic={"frames": spec},
        nics={"vmnic0": nic(), "vmnic1": nic()},
        switches={"in": VSwitchSpec(uplinks="vmnic0"), "out": VSwitchSpec(uplinks="vmnic1")},
        **{"cost": CALM | E1000, **changes},
    )
    if stop is None:
        return made
    return made.model_copy(update={"hardware": made.hardware.model_copy(update={"firmware": stop})})


def e1000(**changes: Any) -> VnicSettings:
    return vnic(device="e1000", refill=Refill(lot=16, rest=True), **changes)


def counted(host: Host, name: str) -> int:
    return int(host.probe.collect()[1][name].values[-1].sum())


def measured(host: Host, metric: str) -> float:
    instants, series, histograms = host.probe.collect()
    return CATALOGUE[metric].evaluate(RunRecord("", 0, 1, {}, instants, series, histograms, cut=0))


def test_a_frame_goes_through_the_guest_and_out_by_the_other_uplink() -> None:
    """Interrupt, poll, driver and switch, delivery; the guest's wake-up, stack and bridge; its call, the transmit context, the wire."""
    host = run(bridge(frames(10 * US)))
    receive = ("interrupt", "poll_entry", "driver_rx", "switch_forward", "vnic_deliver", "shared_lines")
    octets = round(18 * CALM["copy_per_byte"] * 1000)
    in_ring = 10 * US + ON_WIRE + sum(CALM[step] for step in receive) * NS + octets
    posted = in_ring + (CALM["vcpu_wake"] + CALM["guest_interrupt"]) * NS + STACK + FORWARD
    (flow,) = host.flows
    assert flow.latency.total == posted - 10 * US - ON_WIRE
    out = host.nics["vmnic1"]
    assert out.sent_until == posted + CALM["poll_entry"] * NS + SENT + octets + ON_WIRE
    assert (counted(host, "nic.tx_frames"), counted(host, "tx.forced"), flow.octets) == (1, 1, 18)
    assert host.vcpus[0].pending_ps == CALM["vmk_call"] * NS


@pytest.mark.parametrize("count", [1, 5])
def test_a_guest_with_a_measured_path_of_forwarding_pays_that_for_each_frame(count: int) -> None:
    """With zero costs of stack, bridge and transmission, the path costs replace them; everything before and after is unchanged."""
    burst = bridge(frames(*[10 * US] * count))
    vms = [
        group(networks=("in", "out"), vnics=(vnic(), vnic()), guest=guest(**how)) for how in ({}, {"paths": paths()})
    ]
    plain, measured_path = (run(burst.model_copy(update={"vms": (vm,)})) for vm in vms)
    saved = STACK + FORWARD - PATHS["forward"] * NS
    assert plain.flows[0].delivered == measured_path.flows[0].delivered == count
    assert plain.vcpus[0].used - measured_path.vcpus[0].used == count * saved
    if count == 1:
        assert plain.flows[0].latency.total - measured_path.flows[0].latency.total == saved


def test_an_e1000_is_polled_and_copied_from_and_costs_exits() -> None:
    """There is no call: the halt sends waiting packets. An interrupt, an announced frame and returned descriptors are exits of the guest."""
    host = run(bridge(frames(10 * US), e1000(), e1000()))
    assert [counted(host, f"tx.{cause}") for cause in ("forced", "opportunistic", "halted", "timed")] == [0, 0, 1, 0]
    plain = run(bridge(frames(10 * US)))
    octets = round(18 * CALM["copy_per_byte"] * 1000)
    networlds = [next(world for world in one.worlds() if world.kind == "networld") for one in (host, plain)]
    assert networlds[0].used == networlds[1].used  # both devices copy such a small frame
    # the interrupt's register accesses are charged with it; the two announcements are charged at the next run of the
    # guest
    assert host.vcpus[0].used - plain.vcpus[0].used == 1400 * NS
    assert host.vcpus[0].pending_ps == 2 * 900 * NS
    mapped = run(bridge(frames(10 * US), e1000(), e1000(), e1000_tx_copy=17))
    assert next(world for world in mapped.worlds() if world.kind == "networld").used == networlds[1].used - octets


def test_an_e1000_whose_guest_does_not_halt_waits_for_the_timer() -> None:
    """Frames that arrive faster than they are forwarded keep the guest awake: the timer wakes the context, never a call."""
    burst = [10 * US + place * 2 * US for place in range(3000)]
    host = run(bridge(frames(*burst), e1000(), e1000()), until=12 * MS)
    woken = [counted(host, f"tx.{cause}") for cause in ("forced", "opportunistic", "halted", "timed")]
    assert woken[:3] == [0, 0, 0]
    assert woken[3] == 2
    assert sum(counted(run(bridge(frames(*burst)), until=12 * MS), f"tx.{c}") for c in ("forced",)) > 2


def test_what_is_dropped_on_its_way_out_counts_as_lost() -> None:
    """An uplink that is a hundred times slower than the other, with space for 64 packets before it."""
    spec = bridge(frames(*[10 * US + place * 6 * US for place in range(800)]))
    nics = dict(spec.hardware.nics) | {"vmnic1": nic(line_rate="10 Mbit/s", tx_queue=64)}
    host = run(spec.model_copy(update={"hardware": spec.hardware.model_copy(update={"nics": nics})}), until=20 * MS)
    (flow,) = host.flows
    assert (flow.sent, flow.delivered) == (800, 800)
    assert flow.lost_out == host.nics["vmnic1"].tx_dropped > 600
    assert measured(host, "loss") == measured(host, "loss_out") == pytest.approx(100 * flow.lost_out / 800)


def stop(length: int) -> FirmwareSpec:
    return FirmwareSpec.model_validate({"stop": f"{length} ps", "period": "1 h"})


def stopped(spec: PointSpec, at: int, until: int) -> Host:
    """The host after a run in which firmware stops it once, at a given instant."""
    host = build_host(spec, Streams(1, 0))
    firmware, length = host.firmware, spec.hardware.firmware.stop
    host.clock.at(Alarm(host.clock, lambda _: firmware.stop(at, length)), at)
    host.probe.start()
    host.clock.advance(until)
    host.probe.sample()
    check_invariants(host)
    check_slices(*host.probe.collect())
    return host


def test_firmware_stops_all_processors_for_a_while() -> None:
    """Frames that arrive during the stop wait in the NIC's ring; all PCPUs are busy with the stop, and only for its length."""
    length = 3 * MS
    host = stopped(bridge(frames(2 * MS), stop=stop(length)), at=1 * MS, until=10 * MS)
    assert [world.used for world in host.worlds() if world.kind == "firmware"] == [length] * 4
    (flow,) = host.flows
    alone = run(bridge(frames(2 * MS)))
    assert flow.delivered == 1
    assert flow.latency.total == pytest.approx(4 * MS - 2 * MS + alone.flows[0].latency.total, abs=1 * US)


def test_firmware_cuts_a_guest_short_and_lets_it_go_on() -> None:
    """One frame is forwarded every 5 us; the stop delays the current frame and all later ones by its length."""
    length, burst = 60 * MS, [1 * US + place * NS for place in range(64)]
    host = stopped(bridge(frames(*burst), stop=stop(length)), at=100 * US, until=80 * MS)
    plain = run(bridge(frames(*burst)))
    assert host.flows[0].delivered == plain.flows[0].delivered == 64
    late = host.nics["vmnic1"].sent_until - plain.nics["vmnic1"].sent_until
    assert late == pytest.approx(length, abs=5 * US)


def test_short_rings_lose_what_comes_in_a_stop_and_they_do_not_hold() -> None:
    """100 frames arrive in a stop of 10 ms, while the guest returns no descriptors: a ring of 256 holds them, one of 32 does not."""
    steady = frames(*[place * 100 * US for place in range(1, 300)])
    lost = {}
    for ring in (32, 256):
        spec = bridge(
            steady,
            vnic(rx_ring=ring, refill=Refill(lot=32, rest=True)),
            vnic(),
            stop=stop(10 * MS),
            cost=CALM | {"guest_timer_tick": 0},
        )
        host = stopped(spec, at=5 * MS, until=35 * MS)
        lost[ring] = counted(host, "port.ring_lost")
    assert lost[256] == 0
    assert 0 < lost[32] <= 100 - 32
