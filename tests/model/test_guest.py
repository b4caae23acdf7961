"""A guest's kernel on small hosts: interrupts during a burst, softirq budget, GRO, small writes, ticks."""

from __future__ import annotations

from typing import Any

import pytest

from hostsim.config.host import PointSpec
from hostsim.engine.clock import Clock
from hostsim.engine.ring import Train
from hostsim.model.contract import Flow, Sender
from hostsim.model.guest.vcpu import Ticks, joined
from hostsim.model.host import Host
from hostsim.units import MS, NS, US
from tests.model.small_point import (
    CALM,
    ROUND,
    arrived,
    cost_table,
    datagrams,
    echoes,
    group,
    guest,
    nic,
    point,
    run,
    stream,
    work,
)

WAKE = (ROUND["vcpu_wake"] + ROUND["guest_interrupt"]) * NS
INTERRUPT = (ROUND["virtual_interrupt"] + ROUND["guest_interrupt"]) * NS
STACK = ROUND["guest_rx_packet"] * NS
READ = (ROUND["guest_process_wake"] + 250 + 1000) * NS
"""A datagram that wakes its reader: wake-up, copy, system call."""
TWO = {"vmnic0": nic(), "vmnic1": nic(lro=False)}


def response(host: Host) -> float:
    """Mean response time of the first traffic, in picoseconds."""
    flow = host.flows[0]
    assert flow.answered > 10
    return flow.response.total / flow.answered


def answering(*, works: bool) -> PointSpec:
    """A VM that answers requests of 100 bytes one at a time; optionally it computes in bursts of 5 ms without a pause."""
    traffic: dict[str, Any] = {"echo": echoes()}
    if works:
        traffic["work"] = work("1000 /s", "5 ms")
    return point(traffic=traffic, cost=CALM, tx_depth_cap=1)


def test_a_vm_with_work_of_its_own_answers_as_soon_as_one_without() -> None:
    """The difference is the exit of a running guest minus the exit from a halt: a burst of work is interrupted."""
    idle, busy = run(answering(works=False), 50 * MS), run(answering(works=True), 50 * MS)
    later = response(busy) - response(idle)
    expected = (ROUND["virtual_interrupt"] - ROUND["vcpu_wake"]) * NS
    assert later == pytest.approx(expected, rel=0.05)
    assert busy.flows[1].delivered > 5
    assert busy.vcpus[0].used > 0.99 * 49 * MS


def test_work_takes_as_much_longer_as_what_interrupts_it() -> None:
    """Half of the time is for work; each datagram takes 3 us of every 100 us, plus its interrupt and the process wake-up."""
    spans = []
    for rate in ("1 kpps", "10 kpps"):
        traffic = {"stream": datagrams("receive", rate=rate), "work": work("50 /s", "10 ms")}
        (burst,) = run(point(traffic=traffic, cost=CALM), 200 * MS).flows[1:]
        assert burst.delivered >= 8
        spans.append(burst.work_time.total / burst.delivered)
    each = INTERRUPT + STACK + READ
    packets = 9 * 10 / (1 - 10 * each / MS)  # more of them in a longer time
    assert spans[1] - spans[0] == pytest.approx(packets * each, rel=0.1)


def reading(count: int, apart: int, **kernel: Any) -> Host:
    """A guest whose process takes 30 us per datagram; ``count`` datagrams, ``apart`` from each other."""
    slow = guest(
        applications=guest().applications.model_copy(
            update={"udp_sink": guest().applications.udp_sink.model_copy(update={"cycles": 30_000.0})}
        ),
        **kernel,
    )
    interval = f"{apart // US} us"
    traffic = {"stream": datagrams("receive", rate=None, interval=interval)}
    return run(point(group(guest=slow), traffic=traffic, cost=CALM), count * apart)


def test_a_busy_guest_still_takes_interrupts() -> None:
    """It reads for 30 us and datagrams arrive every 40 us: each interrupts or wakes it; at 20 us it falls behind, and each still does."""
    slow, fast = reading(100, 40 * US), reading(100, 20 * US)
    assert slow.vcpus[0].interrupts == pytest.approx(100, abs=2)
    assert fast.vcpus[0].interrupts == pytest.approx(100, abs=2)
    assert fast.vcpus[0].in_socket() > 30


def test_handlers_and_softirqs_go_before_the_process() -> None:
    """A guest that is always behind: its process gets the time that handlers and the stack leave, and packets wait in the socket."""
    host = reading(500, 20 * US)
    vcpu = host.vcpus[0]
    left = 500 * 20 * US - 500 * (INTERRUPT + STACK)
    assert vcpu.read == pytest.approx(left / (30_250 * NS), rel=0.01)
    assert host.ports[0].vnic.ring.taken == pytest.approx(500, abs=2)


@pytest.mark.parametrize("cost", [0, 220])
def test_a_halted_guest_pays_its_handler_as_a_running_one_does(cost: int) -> None:
    """Twenty interrupts of a guest that halts, each of which wakes a reader, and twenty of one that works: one handler each more than without."""

    def used(*, works: bool) -> int:
        traffic: dict[str, Any] = {"stream": datagrams("receive", rate="1 kpps")}
        if works:
            traffic["work"] = work("1 /s", "1 s")
        host = run(point(traffic=traffic, cost=CALM | {"guest_interrupt": cost}), 20 * MS)
        return sum(world.used for world in host.vcpus) if not works else host.vcpus[0].interrupts

    assert used(works=False) == 20 * ((ROUND["vcpu_wake"] + cost) * NS + STACK + READ)
    assert used(works=True) == 20


# --- GRO


def frames(sender: Sender, count: int, first: int) -> Train[Sender]:
    return Train(sender, count, first, 1 * US, first, 1 * US)


def test_gro_joins_the_frames_of_a_connection_wherever_they_lie_in_a_poll() -> None:
    """Three and two segments of one flow with one of another in between: GRO makes a packet of five; acknowledgements stay separate."""
    one, other = (Sender(Flow("tcp", 1448, 1), 1448, 0, 1, joins=True) for _ in range(2))
    ack = Sender(Flow("ack", 0, 1), 0, 0, 1)
    packets, saved = joined(
        [frames(one, 3, 0), frames(other, 1, 3 * US), frames(ack, 2, 4 * US), frames(one, 2, 8 * US)]
    )
    assert [(packet.stream, packet.count, packet.frames) for packet in packets] == [
        (one, 1, 5),
        (other, 1, 1),
        (ack, 2, 1),
    ]
    assert (packets[0].arrived, packets[0].gap, saved) == (0, 9 * US // 4, 4)


def test_gro_makes_packets_of_64_kib_of_eight_connections_at_a_time() -> None:
    """44 frames of 1500 bytes fill the largest IPv4 packet; frames of a ninth connection, and packets of LRO, are not joined."""
    senders = [Sender(Flow(f"tcp{n}", 1448, 1), 1448, 0, 1, joins=True) for n in range(9)]
    size = senders[0].size + senders[0].headers
    packets, saved = joined([frames(senders[0], 100, 0)])
    assert [packet.frames for packet in packets] == [65535 // size, 65535 // size, 100 - 2 * (65535 // size)]
    assert saved == 97
    packets, saved = joined([frames(sender, 2, 0) for sender in senders])
    assert [(packet.count, packet.frames) for packet in packets] == [(1, 2)] * 8 + [(2, 1)]
    large = Train(senders[0], 1, 0, 0, 0, 0, None, 4)
    assert joined([large, frames(senders[0], 1, 0)])[0][0].frames == 4


@pytest.mark.parametrize("kind", ["vmxnet3", "directpath"])
def test_with_gro_the_stack_is_paid_for_packets_and_the_driver_for_frames(kind: str) -> None:
    """A bulk stream into a vNIC without LRO, or a passed-through NIC: fewer packets for the same frames; without GRO as many as frames."""
    used = {}
    for gro in ((), (kind,)):
        vm = group(guest=guest(gro=gro), passthrough=("vmnic1",), reserved=1.0)
        flow = stream("receive", vnic=int(kind == "directpath"), burst=16)
        moderated = {name: nic(lro=False, interrupt_interval="100 us") for name in TWO}
        host = run(point(vm, traffic={"tcp": flow}, nics=moderated, cost=CALM | {"guest_rx_packet": 2000}), 50 * MS)
        used[bool(gro)] = host.vcpus[0].used / host.flows[0].delivered
    assert used[True] < used[False] - 1000 * NS
    assert used[True] > ROUND["guest_gro_frame"] * NS


# --- small writes


def sent(**changes: Any) -> tuple[float, Host]:
    """Bytes of data in a frame that a guest sends in writes of 256 bytes."""
    kernel = {name: changes.pop(name) for name in ("autocorking",) if name in changes}
    traffic = {"tcp": stream("send", message_size="256 B", **changes)}
    host = run(point(group(guest=guest(**kernel)), traffic=traffic, cost=CALM), 20 * MS)
    arrived(host)
    return host.nics["vmnic0"].tx_octets / host.nics["vmnic0"].tx_frames, host


@pytest.mark.parametrize(
    ("changes", "octets"),
    [({}, 1448), ({"nodelay": True}, 256), ({"nodelay": True, "autocorking": True}, 1448)],
)
def test_small_writes_join_to_full_segments_unless_the_socket_says_otherwise(
    changes: dict[str, Any], octets: int
) -> None:
    """Nagle's algorithm by default; with TCP_NODELAY each write is sent alone, except by a kernel with autocorking."""
    assert sent(**changes)[0] == pytest.approx(octets, rel=0.01)


def test_joined_writes_are_paid_one_by_one() -> None:
    """A segment of 1448 bytes takes six writes of 256 bytes, or one of 1448."""
    vcpu_ns = []
    for size in ("256 B", "1448 B"):
        traffic = {"tcp": stream("send", message_size=size, window="2048 B")}
        host = run(point(traffic=traffic, cost=CALM), 20 * MS)
        arrived(host)
        vcpu_ns.append(host.vcpus[0].used / host.nics["vmnic0"].tx_data / NS)
    assert vcpu_ns[0] - vcpu_ns[1] == pytest.approx(5 * 2000, rel=0.01)


def test_the_peers_small_writes_join_too() -> None:
    """A guest receives full segments, which LRO joins further."""
    for nodelay, size in ((False, 1448), (True, 256)):
        traffic = {"tcp": stream("receive", message_size="256 B", nodelay=nodelay)}
        host = run(point(traffic=traffic, cost=CALM), 20 * MS)
        assert host.flows[0].octets == size * host.flows[0].delivered > 0


# --- ticks


def ticking(**kernel: Any) -> int:
    """Time that an otherwise idle guest uses in 100 ms; a tick is 20 us, housekeeping 50 us."""
    cost = CALM | {"guest_timer_tick": 20_000, "guest_housekeeping": 50_000}
    host = run(point(group(guest=guest(**kernel)), traffic={"work": work("1 /s", "1 ns")}, cost=cost), 100 * MS)
    return host.vcpus[0].used


def test_an_idle_tickless_guest_has_no_ticks() -> None:
    """Periodic: a hundred ticks and ten housekeeping runs, each after a wake-up unless they coincide; tickless: only the ten."""
    wake = ROUND["vcpu_wake"] * NS
    every = {"timer_period": "1 ms", "housekeeping_period": "10 ms"}
    assert ticking(**every) == pytest.approx(100 * (20 * US + wake) + 10 * 50 * US, rel=0.02)
    assert ticking(**every, tickless=True) == pytest.approx(10 * (50 * US + wake), rel=0.05)


@pytest.mark.parametrize(("tickless", "ticks"), [(True, 100), (False, 150)])
def test_a_tickless_guest_merges_the_ticks_that_it_missed(tickless: bool, ticks: int) -> None:
    """It runs for 50 ms, waits as long, and runs again: a tickless guest takes the ticks of its running time, a periodic one takes all."""
    clock, woken = Clock(), []
    own = Ticks(clock, guest(timer_period="1 ms", tickless=tickless), cost_table({"guest_timer_tick": 1}), woken.append)
    own.start(500 * US)
    owed = 0
    for start in (0, 100):
        clock.advance((start + 50) * MS)
        owed += own.passed(start * MS, (start + 50) * MS)
    assert owed + own.take() == ticks * NS
    assert len(woken) == ticks - (100 if tickless else 0)
