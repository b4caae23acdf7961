"""Shaped ports and the packet scheduler of Network I/O Control, against documented arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.config.network import Allocation, NiocSpec, ShapingSpec
from hostsim.config.nic import VSwitchSpec
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Train
from hostsim.model.contract import Flow
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.receive.nic import Pnic
from hostsim.model.receive.wire import OpenLoopWire
from hostsim.model.traffic.udp import Datagram
from hostsim.model.transmit.egress import (
    QUANTUM,
    SHAPER_QUEUE,
    ManagedUplink,
    TokenBucket,
    TrafficQueue,
    UplinkScheduler,
)
from hostsim.units import MS, SECOND, US
from tests.model.small_point import CALM, arrived, cost_table, cpu, datagrams, group, nic, point, run, settings, stream

SLOW = {"vmnic0": nic(line_rate="1 Gbit/s")}


def shaped(average: str, peak: str, burst: str) -> dict[str, VSwitchSpec]:
    shaping = ShapingSpec.model_validate({"average": average, "peak": peak, "burst": burst})
    return {"vSwitch0": VSwitchSpec(uplinks="vmnic0", shaping=shaping)}


def scheduled(**vms: Allocation) -> dict[str, VSwitchSpec]:
    return {"vSwitch0": VSwitchSpec(uplinks="vmnic0", nioc=NiocSpec(vms=vms))}


def allocation(**values: object) -> Allocation:
    return Allocation.model_validate(values)


# --- the token bucket


def test_a_burst_leaves_at_the_peak_rate_and_the_rest_at_the_average() -> None:
    """1 B/us, 10 B/us, 10,000 B: a packet of 1,000 B takes 1,000 tokens and 100 us, in which 100 are earned, so eleven leave at the peak rate."""
    bucket = TokenBucket(8e6, 80e6, 10_000)
    assert bucket.departures(0, 0, 20, 1_000) == [(11, 0, 100 * US), (9, 2_000 * US, 1_000 * US)]


def test_a_port_that_is_quiet_earns_its_burst_again() -> None:
    """After the time in which the average rate fills the bucket, the same burst passes, and not earlier."""
    bucket = TokenBucket(8e6, 80e6, 10_000)
    bucket.departures(0, 0, 11, 1_000)
    assert bucket.departures(6_000 * US, 0, 20, 1_000)[0][0] < 11
    assert bucket.departures(40_000 * US, 0, 20, 1_000)[0] == (11, 40_000 * US, 100 * US)


def test_what_is_below_the_average_is_not_delayed() -> None:
    assert TokenBucket(8e6, 8e6, 1_000).departures(5, 1_000 * US, 50, 1_000) == [(50, 5, 1_000 * US)]


def test_a_packet_larger_than_the_bucket_leaves_when_the_bucket_is_full() -> None:
    """The bucket holds 500 B at 1 B/us: the first packet of 1,000 B leaves at once, and each further one 1,000 us later, at the average rate."""
    assert TokenBucket(8e6, 80e6, 500).departures(0, 0, 4, 1_000) == [(4, 0, 1_000 * US)]


@given(
    st.lists(
        st.tuples(st.integers(0, 5_000), st.integers(1, 40), st.integers(0, 300), st.integers(60, 9_000)), max_size=12
    ),
    st.integers(1, 20_000),
    st.integers(1, 8),
)
def test_no_interval_has_more_than_the_bucket_allows(
    sent: list[tuple[int, int, int, int]], burst: int, times: int
) -> None:
    """For any sequence of packets: the peak rate bounds all but the first, the average rate all but a full bucket or one packet. Order is kept, and no packet leaves before it arrives."""
    average = 8e6
    bucket = TokenBucket(average, times * average, burst)
    left: list[tuple[int, int]] = []
    ready = 0
    for pause, count, step, octets in sent:
        ready += pause * US
        trains = bucket.departures(ready, step * US, count, octets)
        instants = [first + place * gap for number, first, gap in trains for place in range(number)]
        assert len(instants) == count
        assert all(at >= ready + place * step * US for place, at in enumerate(instants))
        left += [(at, octets) for at in instants]
    assert left == sorted(left, key=lambda packet: packet[0])
    for first in range(len(left)):
        octets = 0
        for at, size in left[first + 1 :]:
            took = at - left[first][0]
            octets += size
            sent_before = octets - size + left[first][1]
            assert sent_before * US <= times * took + len(left)
            assert octets * US <= took + max(burst, size) * US + len(left)


# --- shaping of a host's port


def test_a_shaped_port_sends_datagrams_at_its_average() -> None:
    """80 Mbit/s are offered and 40 allowed, of frames with 42 B of headers; packets beyond its queue are lost."""
    traffic = {"d": datagrams("send", rate="10 kpps")}
    host = run(point(traffic=traffic, switches=shaped("40 Mbit/s", "40 Mbit/s", "10 kB"), cost=CALM), 400 * MS)
    frames = 0.4 * 40e6 / 8 / 1_042
    assert host.flows[0].out == pytest.approx(frames, abs=2)
    assert host.flows[0].lost_out == pytest.approx(4_000 - SHAPER_QUEUE - frames, abs=20)


def test_a_shaped_port_sends_tcp_at_its_average() -> None:
    """The bucket counts a TSO packet like all its frames together."""
    switches = shaped("100 Mbit/s", "1 Gbit/s", "100 kB")
    host = run(point(traffic={"s": stream("send", window="256 KiB")}, switches=switches, cost=CALM), 400 * MS)
    assert 8 * arrived(host) / 0.4 == pytest.approx(100e6 * 1_448 / 1_514, rel=0.03)
    assert host.flows[0].lost_out == 0


def test_each_port_is_shaped_on_its_own() -> None:
    """Two VMs send twice as much as one."""
    traffic = {"s": stream("send", window="256 KiB")}
    switches = shaped("100 Mbit/s", "100 Mbit/s", "100 kB")
    sent = [
        arrived(run(point(group(count=count), traffic=traffic, switches=switches, cost=CALM), 200 * MS))
        for count in (1, 2)
    ]
    assert sent[1] == pytest.approx(2 * sent[0], rel=0.02)


def test_shaping_does_not_touch_what_is_received_or_below_its_rate() -> None:
    """The same instants to the picosecond, without an additional event."""
    traffic = {"in": datagrams("receive", rate="50 kpps"), "out": datagrams("send", rate="1 kpps")}
    hosts = [
        run(point(traffic=traffic, switches=switches, cost=CALM), 50 * MS)
        for switches in (None, shaped("100 Mbit/s", "1 Gbit/s", "100 kB"))
    ]
    plain, other = hosts
    assert [world.used for world in plain.worlds()] == [world.used for world in other.worlds()]
    assert plain.clock.event_queue.entered == other.clock.event_queue.entered
    assert plain.nics["vmnic0"].sent_until == other.nics["vmnic0"].sent_until > 0


# --- the packet scheduler

PLAIN = Allocation()


class Rig:
    """A 10 Gbit/s uplink with always-full queues of some kinds of traffic, or queues with a given rate."""

    def __init__(self, nioc: NiocSpec) -> None:
        self.clock = Clock()
        (node,) = Scheduler(self.clock, 1, cpu(cores=1).cores, cost_table(), settings()).nodes
        self.nic = Pnic("vmnic0", node, OpenLoopWire(), 1 << 20)
        self.scheduler = UplinkScheduler(self.clock, self.nic, 10e9)
        self.nioc = nioc

    def queue(self, kind: str, own: Allocation = PLAIN, *, rate: float | None = None, size: int = 1_472) -> Flow:
        """A queue of a kind of traffic; it is filled twice per millisecond, or gets datagrams at a rate (bit/s of frames)."""
        uplink = ManagedUplink(self.clock, self.nic, 10e9, cost_table(), "native", vxlan=False, tso=True)
        traffic = self.scheduler.traffic_class(kind, self.nioc.of_system(kind))
        queue = TrafficQueue(own, traffic, uplink)
        flow = Flow(kind, size, 1)
        data = Datagram(flow, size)
        count = 640 if rate is None else round(rate / 8 / data.octets / 2_000)

        def fill(now: int) -> None:
            more = count - queue.count if rate is None else count
            step = 0 if rate is None else MS // 2 // count
            if more:
                assert uplink.send(Train(data, more, now, step, now, step)) == more
            timer.arm(now + MS // 2)

        timer = Timer(self.clock, fill)
        timer.arm(0)
        return flow

    def run(self) -> None:
        self.clock.advance(SECOND)

    def gbps(self, flow: Flow) -> float:
        """Bits of frames without the gaps between them, as allocations count them."""
        return 8 * flow.out * (flow.size + 42) / 1e9


WIRE = 10 * 1_514 / 1_538
"""Gbit/s of frames on the wire."""


def test_only_active_kinds_of_traffic_count() -> None:
    """The documented example: two kinds with 100 shares get half each; a third kind with 50 leaves them 40 % each, and gets 20 %."""
    shares = {"fault_tolerance": 100, "iscsi": 100, "management": 50}
    nioc = NiocSpec(system={kind: allocation(shares=share) for kind, share in shares.items()})
    for active, parts in ((2, (0.5, 0.5)), (3, (0.4, 0.4, 0.2))):
        rig = Rig(nioc)
        flows = [rig.queue(kind) for kind in list(shares)[:active]]
        rig.run()
        assert [rig.gbps(flow) for flow in flows] == pytest.approx([WIRE * part for part in parts], rel=0.01)


@pytest.mark.parametrize("sizes", [(200, 1_472), (1_472, 200)])
def test_shares_do_not_depend_on_the_size_of_packets(sizes: tuple[int, int]) -> None:
    """3:1, to a quantum, as long as no queue is empty; 155 kB of small packets wait."""
    rig = Rig(NiocSpec(system={"vsan": allocation(shares=75), "vmotion": allocation(shares=25)}))
    flows = [rig.queue(kind, size=size) for kind, size in zip(("vsan", "vmotion"), sizes, strict=True)]
    rig.clock.advance(90 * US)
    octets = [flow.out * (flow.size + 42) for flow in flows]
    assert sum(octets) > 150_000
    assert octets[0] / 3 == pytest.approx(octets[1], abs=QUANTUM)


def test_a_reservation_goes_first_and_shares_divide_the_rest() -> None:
    """4 Gbit/s reserved of 9.84, equal shares: 4 + 2.92 against 2.92."""
    rig = Rig(NiocSpec(system={"vsan": allocation(reservation="4 Gbit/s")}))
    reserved, other = rig.queue("vsan"), rig.queue("vmotion")
    rig.run()
    rest = (WIRE - 4) / 2
    assert rig.gbps(reserved) == pytest.approx(4 + rest, rel=0.01)
    assert rig.gbps(other) == pytest.approx(rest, rel=0.01)


def test_reservations_beyond_the_wire_are_met_in_proportion() -> None:
    """8 and 4 Gbit/s reserved of 9.84: two thirds and one third of it, for any shares."""
    kinds = {"vsan": allocation(reservation="8 Gbit/s"), "vmotion": allocation(reservation="4 Gbit/s", shares=100)}
    rig = Rig(NiocSpec(system=kinds))
    flows = [rig.queue(kind) for kind in kinds]
    rig.clock.advance(40 * MS)
    octets = [flow.out * (flow.size + 42) for flow in flows]
    assert [octets[0] / 2, octets[1]] == pytest.approx([sum(octets) / 3] * 2, rel=0.02)


def test_an_unused_reservation_is_there_for_others() -> None:
    rig = Rig(NiocSpec(system={"vsan": allocation(reservation="4 Gbit/s")}))
    reserved, other = rig.queue("vsan", rate=1e9), rig.queue("vmotion")
    rig.run()
    assert rig.gbps(reserved) == pytest.approx(1, rel=0.02)
    assert rig.gbps(other) == pytest.approx(WIRE - 1, rel=0.01)


def test_a_kind_within_its_share_has_all_that_it_wants() -> None:
    """One kind demands 2 Gbit/s and may use a third; the rest goes to the other kind."""
    rig = Rig(NiocSpec(system={"vsan": allocation(shares=50), "vmotion": allocation(shares=100)}))
    small, other = rig.queue("vsan", rate=2e9), rig.queue("vmotion")
    rig.run()
    assert rig.gbps(small) == pytest.approx(2, rel=0.02)
    assert small.lost_out == 0
    assert rig.gbps(other) == pytest.approx(WIRE - 2, rel=0.01)


@pytest.mark.parametrize("contended", [False, True])
def test_a_limit_holds_on_an_idle_uplink_too(contended: bool) -> None:
    rig = Rig(NiocSpec(system={"vmotion": allocation(limit="3 Gbit/s", shares=100)}))
    limited = rig.queue("vmotion")
    other = rig.queue("vsan") if contended else None
    rig.run()
    assert rig.gbps(limited) == pytest.approx(3, rel=0.01)
    assert other is None or rig.gbps(other) == pytest.approx(WIRE - 3, rel=0.01)


def test_vnics_divide_what_virtual_machines_have() -> None:
    """VMs have 100 of 150 shares, with a reservation of 2 Gbit/s inside, and 3:1 for the rest."""
    rig = Rig(NiocSpec())
    gold = rig.queue("virtual_machine", allocation(shares=75, reservation="2 Gbit/s"))
    plain, vsan = rig.queue("virtual_machine", allocation(shares=25)), rig.queue("vsan")
    rig.run()
    vms = WIRE * 2 / 3
    assert rig.gbps(vsan) == pytest.approx(WIRE / 3, rel=0.01)
    assert rig.gbps(gold) == pytest.approx(2 + (vms - 2) * 0.75, rel=0.01)
    assert rig.gbps(plain) == pytest.approx((vms - 2) * 0.25, rel=0.01)


# --- Network I/O Control of a host


def test_vms_with_more_shares_send_more() -> None:
    """Two VMs that could each fill 1 Gbit/s, 3:1."""
    traffic = {name: stream("send", to=name, window="256 KiB", streams=4) for name in ("gold", "plain")}
    switches = scheduled(gold=allocation(shares=75), plain=allocation(shares=25))
    spec = point(group("gold"), group("plain"), traffic=traffic, nics=SLOW, switches=switches, cost=CALM, cores=8)
    host = run(spec, 400 * MS)
    host.nics["vmnic0"].depart(host.clock.now)
    gold, plain = (flow.octets for flow in host.flows)
    assert gold == pytest.approx(3 * plain, rel=0.05)
    assert host.nics["vmnic0"].tx_wire_ps > 0.98 * 400 * MS


def test_a_scheduler_changes_nothing_while_the_wire_is_not_full() -> None:
    """Datagrams leave at the same instants, without an additional event."""
    traffic = {"d": datagrams("send", rate="20 kpps", burst=4)}
    plain, other = (
        run(point(traffic=traffic, switches=switches, cost=CALM), 50 * MS)
        for switches in (None, scheduled(vm=allocation(shares=1)))
    )
    assert plain.clock.event_queue.entered == other.clock.event_queue.entered
    assert plain.nics["vmnic0"].sent_until == other.nics["vmnic0"].sent_until > 0
