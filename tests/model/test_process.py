"""A user's SimPy processes: a traffic source, a control loop, and their allowed effects on a host."""

from __future__ import annotations

import pytest

from hostsim.config.host import PointSpec
from hostsim.engine.clock import Clock
from hostsim.engine.delay import ms, us
from hostsim.engine.random_stream import Streams
from hostsim.engine.stock_event_queue import StockEventQueue
from hostsim.errors import WiringError
from hostsim.model.build import build_host
from hostsim.model.host import Host, HostProcess
from hostsim.model.invariants import check_invariants, check_slices
from hostsim.model.policy.moderation import StaticCoalescing
from hostsim.model.receive.wire import ClosedLoopWire, OpenLoopWire
from hostsim.units import MS, US

from .small_point import STATIC, datagrams, group, nic, point, vnic, work

FRAME = 1066 * 8 * 100  # picoseconds of a frame with 1,000 bytes of data on a 10 Gbit/s wire


def ran(spec: PointSpec, *processes: HostProcess, until: int = 20 * MS, clock: Clock | None = None) -> Host:
    """The host after a run with processes, with every invariant checked in every slice."""
    host = build_host(spec, Streams(1, 0), clock=clock, processes=processes)
    host.probe.start()
    host.clock.advance(until)
    host.probe.sample()
    check_invariants(host)
    check_slices(*host.probe.collect())
    return host


def bursts(env, host):
    """Four frames to the first VM every 100 us."""
    sender = host.sender(host.vms[0], size=1000, name="bursts")
    while True:
        yield env.timeout(us(100))
        sender.send(4)


def test_a_source_puts_bursts_on_the_wire_when_it_says_so():
    """Ten bursts of four frames, back to back: all are read and counted once, and the last one arrives on time."""
    host = ran(point(traffic={}), bursts, until=1 * MS + 100 * US)
    (flow,) = host.flows
    assert (flow.name, flow.sent, flow.delivered, flow.lost_nic) == ("bursts", 40, 40, 0)
    assert host.nics["vmnic0"].rx_wire_ps == 40 * FRAME
    assert host.nics["vmnic0"].wire.free == 1 * MS + 4 * FRAME


def poisson(env, host):
    """Frames at random to the second VM, from its own random numbers."""
    random, sender = host.random(), host.sender(host.vms[1], size=400, name="poisson")
    while True:
        yield env.timeout(round(random.exponential(us(50))))
        sender.send(1)


@pytest.mark.parametrize("direction", ["receive", "send"])
def test_sources_share_the_host_with_traffic_of_the_scenario(direction: str):
    """Two sources, and datagrams to or from both VMs: every flow is delivered; the stock environment gives the same."""
    spec = point(group(count=2), traffic={"udp": datagrams(direction, rate="2 kpps")})
    hosts = [ran(spec, bursts, poisson, clock=Clock(queue)) for queue in (None, StockEventQueue())]
    seen = [[(flow.name, flow.sent, flow.octets, flow.latency.total) for flow in host.flows] for host in hosts]
    assert seen[0] == seen[1]
    assert {name: sent for name, sent, *_ in seen[0]}["bursts"] == 4 * 199
    assert {name: octets for name, _, octets, _ in seen[0]}["bursts"] == 1000 * 4 * 199
    assert all(octets > 50 * 400 for _, _, octets, _ in seen[0])


def test_a_full_ring_drops_what_a_source_sends_too_fast():
    """A frame, and 40 more before the next interrupt, into a ring of 16: what found no room is counted as lost."""

    def flood(env, host):
        sender = host.sender(host.vms[0], size=100)
        for frames in (1, 40):
            yield env.timeout(us(5))
            sender.send(frames)

    host = ran(point(traffic={}, nics={"vmnic0": nic(rx_ring=16, interrupt_interval="1 ms")}), flood)
    (flow,) = host.flows
    assert (flow.sent, flow.lost_nic, flow.delivered) == (41, 24, 17)


def test_only_a_wire_with_a_source_is_worked_out_as_time_goes_on():
    """The other port keeps its closed form, and a process that only observes changes no wire and no event of the host."""

    def watch(env, host):
        while True:
            yield env.timeout(ms(1))

    spec = point(traffic={"udp": datagrams("receive")})
    assert isinstance(ran(spec, watch).nics["vmnic0"].wire, OpenLoopWire)
    assert isinstance(ran(spec, bursts).nics["vmnic0"].wire, ClosedLoopWire)
    assert ran(spec, watch).clock.scheduled() == ran(spec).clock.scheduled() + 20


def test_a_control_loop_reads_counters_and_changes_settings():
    """While PCPUs are busy for more than half of a period, vNICs use static coalescing, from the first check on."""
    seen = []

    def tuning(env, host):
        before, vnic = 0, host.vms[0].devices[0].ports[0].vnic
        while True:
            yield env.timeout(ms(5))
            busy = host.busy(env.now)
            if busy - before > ms(5) * len(host.scheduler.pcpus) / 2:
                host.vms[0].coalesce(STATIC, env.now)
            seen.append(
                (busy - before, host.queues[0].waiting(env.now), vnic.ring.waiting(env.now), type(vnic._scheme))
            )
            before = busy

    spec = point(group(vcpus=2), traffic={"w": work("500 /s", "1900 us")}, cores=1)
    ran(spec, tuning)
    assert [scheme for *_, scheme in seen] == [StaticCoalescing] * 3
    assert all(ms(3) < busy <= ms(5) for busy, *_ in seen)


def test_a_control_loop_moves_a_vm():
    """The VM moves to the NIC's node after 10 ms, and its worlds run there from then on."""

    def pull(env, host):
        yield env.timeout(ms(10))
        host.move(host.vms[1], host.nics["vmnic0"].node, env.now)

    spec = point(group(count=2), traffic={"w": work("500 /s", "500 us")}, sockets=2, cores=2)
    host = ran(spec, pull, until=40 * MS)
    assert [vm.vcpus[0].node.index for vm in host.vms] == [0, 0]
    assert ran(spec).vms[1].vcpus[0].node.index == 1
    assert host.vms[1].vcpus[0].last.node.index == 0


def test_waiting_packets_are_counted_without_a_trace():
    """A busy host behaves the same whether it is observed every 10 us or never."""

    def look(env, host):
        while True:
            yield env.timeout(us(10))
            seen.append(host.queues[0].waiting(env.now) + host.ports[0].vnic.ring.waiting(env.now))

    seen: list[int] = []
    moderated = {"vmnic0": nic(interrupt_interval="100 us")}
    traffic = {"udp": datagrams("receive", rate="300 kpps")}
    spec = point(group(vnics=(vnic(coalescing=STATIC),)), traffic=traffic, nics=moderated)
    watched, plain = ran(spec, look), ran(spec)
    assert max(seen) > 10
    assert watched.flows[0].latency.total == plain.flows[0].latency.total > 0
    assert watched.flows[0].delivered == plain.flows[0].delivered


@pytest.mark.parametrize(
    ("early", "device", "message"), [(False, 0, "before the first yield"), (True, 3, "no device 3")]
)
def test_a_sender_that_cannot_be_made_is_refused(early: bool, device: int, message: str):
    """Too late, or at a NIC that does not exist."""

    def source(env, host):
        if not early:
            yield env.timeout(us(1))
        host.sender(host.vms[0], size=100, device=device)
        yield env.timeout(us(1))

    with pytest.raises(WiringError, match=message):
        ran(point(traffic={}), source)


@pytest.mark.parametrize(("frames", "error"), [(-1, ValueError), (1.5, TypeError)])
def test_only_whole_frames_are_sent(frames: object, error: type[Exception]):
    """The run fails with the process."""

    def source(env, host):
        sender = host.sender(host.vms[0], size=100)
        sender.send(0)
        yield env.timeout(us(1))
        sender.send(frames)

    with pytest.raises(error):
        ran(point(traffic={}), source)


def test_each_random_stream_of_a_process_is_another_and_the_same_in_every_run():
    """Two streams of two runs of one replication."""
    spec = point(traffic={})
    hosts = [build_host(spec, Streams(1, 0)) for _ in range(2)]
    drawn = [[host.random().random() for _ in range(2)] for host in hosts]
    assert drawn[0] == drawn[1]
    assert drawn[0][0] != drawn[0][1]
