"""Packets between VMs of one host: copies, drops, polling guests and XDP programs, by hand and in closed form."""

from __future__ import annotations

from typing import Any

import pytest

from hostsim.config.host import PointSpec
from hostsim.config.platform import Coalescing
from hostsim.engine.random_stream import Streams
from hostsim.errors import WiringError
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.units import MS, SECOND
from tests.model.small_point import CALM, PATHS, datagrams, group, guest, paths, point, run, to_vm, vm_stream, vnic

FORWARD, ENQUEUE, COPY = 200, 25, 440
"""Nanoseconds of a datagram of 1,000 bytes: forwarded, queued for the receiver's context, copied and put on the ring."""
WRITE, ENTRY, STACK = 2600, 400, 800 + 220 + 250
READ = STACK + 900 + 1000 + 250
"""And of its sender's process, of a context that is woken, of a guest that is woken for it, the last with a process that is woken to read."""
DPDK = guest(paths=paths(), tx_ring=512)
RING = vnic(tx_ring=512)


def pair(traffic: dict[str, Any], *, sender: Any = None, receiver: Any = None, **changes: Any) -> PointSpec:
    """A VM that sends to another one, with enough PCPUs for all polling."""
    ends = (
        sender or group("a", guest=DPDK, vnics=(RING,)),
        receiver or group("b", guest=DPDK, vnics=(vnic(rx_ring=256),)),
    )
    return point(*ends, traffic=traffic, cores=6, cost=changes.pop("cost", CALM), **changes)


def saturated(spec: PointSpec, count: Any, length: int = 2 * MS) -> float:
    """Packets per second, counted by ``count``, from 5 ms after a flood's start on, when calls follow its rate."""
    host = build_host(spec, Streams(1, 0))
    host.clock.advance(5 * MS)
    before = count(host)
    host.clock.advance(5 * MS + length)
    return (count(host) - before) * SECOND / length


def delivered(host: Host) -> int:
    return host.flows[0].delivered


@pytest.mark.parametrize("in_tx", [False, True])
@pytest.mark.parametrize(("taken_by", "taking"), [("socket", READ), ("stack", STACK), ("poll", PATHS["poll_rx"])])
def test_a_lone_datagram_takes_what_each_step_takes(in_tx: bool, taken_by: str, taking: int) -> None:
    """Two contexts are woken if the receiver's copies, one if the sender's does; a polling guest needs no wake-up."""
    host = run(pair({"t": to_vm(rate="100 pps", taken_by=taken_by)}, rx_copy_in_tx=in_tx), 30 * MS)
    copied = COPY if in_tx else ENQUEUE + ENTRY + COPY
    flow = host.flows[0]
    assert flow.delivered == 3
    assert flow.latency.total == 3 * (WRITE + ENTRY + FORWARD + copied + taking) * 1000
    assert sum(w.dispatches for w in host.worlds() if w.name == "b[0].NetWorld") == (0 if in_tx else 3)
    assert host.vcpus[1].interrupts == (0 if taken_by == "poll" else 3)


@pytest.mark.parametrize(
    ("changes", "slowest"),
    [
        pytest.param({}, COPY, id="the receiver's context"),
        pytest.param({"rx_copy_in_tx": True}, FORWARD + COPY, id="the sender's context, which copies"),
        pytest.param(
            {"cost": CALM | {"vnic_deliver": 0, "copy_per_byte": 0.1}},
            FORWARD + ENQUEUE,
            id="the sender's context, which does not",
        ),
        pytest.param({"taken_by": "packet_socket"}, PATHS["packet_socket"], id="the receiving guest"),
        pytest.param({"packet_size": "200 B"}, FORWARD + ENQUEUE + 50, id="the sender's context, which copies out"),
        pytest.param({"poll_tx": 2000}, 2000, id="the sending guest"),
    ],
)
def test_a_chain_of_servers_saturates_at_the_slowest(changes: dict[str, Any], slowest: int) -> None:
    """The slowest of guest, context, context and guest determines the rate."""
    changed = {"taken_by": "xdp_drop"} | changes
    flow = to_vm(**{key: changed.pop(key) for key in ("taken_by", "packet_size") if key in changed})
    costs = paths().model_copy(
        update={"poll_tx": paths().poll_tx.model_copy(update={"cycles": changed.pop("poll_tx", 60)})}
    )
    sender = group("a", guest=guest(paths=costs), vnics=(RING,))
    assert saturated(pair({"t": flow}, sender=sender, **changed), delivered) == pytest.approx(1e9 / slowest, rel=0.02)


def test_an_overrun_guest_loses_packets_at_its_ring_and_all_are_counted() -> None:
    """If mapped packets keep their descriptors, the receive list never overflows; and a packet without a descriptor is not copied."""
    host = run(pair({"t": to_vm(taken_by="packet_socket")}), 4 * MS)
    (local,) = host.local_ports
    vnic, queue = local.vnic, host.transmits[0]
    assert local.lost == 0
    assert vnic.lost == vnic.ring.dropped > 0
    inside = vnic.ring.count_inside() + local.ring.count_inside()
    assert queue.switched == host.flows[0].delivered + vnic.lost + inside
    assert queue.switched > 1.5 * host.flows[0].delivered


def test_small_packets_overrun_the_receive_list() -> None:
    """Packets that are copied at once return to the sender before delivery, so that only the list limits them."""
    host = run(
        pair({"t": to_vm(packet_size="100 B", taken_by="xdp_drop")}, rx_list=100, cost=CALM | {"vnic_deliver": 400}),
        2 * MS,
    )
    (local,) = host.local_ports
    assert local.vnic.lost == 0
    assert local.lost == local.ring.dropped > 0
    assert local.came == local.delivered + local.lost + local.ring.count_inside()


def test_polling_needs_no_event_for_a_packet_and_no_interrupt() -> None:
    """Sender and receiver never halt or get interrupted, and the run has one event for many packets."""
    host = run(pair({"t": to_vm(taken_by="poll")}), 4 * MS)
    a, b = host.vcpus
    assert (a.interrupts, b.interrupts) == (0, 0)
    assert min(a.used, b.used) > 3.99 * MS
    assert host.clock.event_queue.entered < delivered(host) / 5


def test_a_full_ring_is_refilled_only_when_packets_are_completed() -> None:
    """With two descriptors the sender waits for each completion: two packets per look of its context."""
    few = vnic(tx_ring=32)
    host = run(pair({"t": to_vm(taken_by="xdp_drop")}, sender=group("a", guest=DPDK, vnics=(few,))), 2 * MS)
    queue = host.transmits[0]
    assert queue.ring.pushed - queue.completions.completed <= 32
    assert queue.ring.dropped == 0


@pytest.mark.parametrize(("path", "step"), [("xdp_tx", 110 + 75), ("xdp_skb_tx", 310 + 240)])
def test_xdp_sends_back_by_the_same_vnic(path: str, step: int) -> None:
    """All packets taken by the program go back into a ring that nothing empties; a packet takes both of its parts in the guest."""
    host = run(pair({"t": to_vm(rate="100 kpps", taken_by=path)}), 3 * MS)
    there, back = host.flows
    assert back.sent == host.transmits[1].switched > 290
    assert there.delivered - back.sent in (0, 1)  # one may be on its way through the program
    flood = saturated(pair({"t": to_vm(taken_by=path)}, rx_copy_in_tx=True), delivered)
    assert flood == pytest.approx(1e9 / max(step, FORWARD + COPY), rel=0.03)


def mixed(cost: dict[str, float], *, in_tx: bool) -> Host:
    """A flood to another VM, and datagrams to the wire through another vNIC: one context sends both."""
    sender = group("a", guest=DPDK, vcpus=2, vnics=(RING, vnic()), networks=("vSwitch0", "vSwitch0"))
    out = datagrams("send", to="a", vnic=1, burst=64, interval="20 us", rate=None)
    traffic = {"t": to_vm(taken_by="xdp_drop", vcpu=1), "out": out}
    return run(pair(traffic, sender=sender, rx_copy_in_tx=in_tx, cost=cost), 3 * MS)


@pytest.mark.parametrize("in_tx", [False, True])
def test_a_context_pays_for_what_it_sends_to_the_wire_and_to_vms(in_tx: bool) -> None:
    """Its time consists of packets to the wire, packets to the other VM, and its wake-ups."""
    host = mixed(CALM, in_tx=in_tx)
    local, wire = host.transmits[0], host.transmits[1]
    world = local.context
    assert wire.ring.taken > 500
    spent = local.switched * (FORWARD + (COPY if in_tx else ENQUEUE)) + wire.ring.taken * (FORWARD + 80)
    assert world.used == pytest.approx((spent + world.dispatches * ENTRY) * 1000, rel=0.03)


def test_who_copies_decides_how_much_a_sender_can_send() -> None:
    """The ablation: copies in the transmit context cost it time; without their cost it does not matter which context copies."""

    def sent(cost: dict[str, float], *, in_tx: bool) -> int:
        return mixed(cost, in_tx=in_tx).transmits[0].switched

    free = CALM | dict.fromkeys(("vnic_deliver", "shared_lines", "copy_per_byte", "split_enqueue"), 0)
    assert sent(CALM, in_tx=True) < 0.7 * sent(CALM, in_tx=False)
    assert sent(free, in_tx=True) == pytest.approx(sent(free, in_tx=False), rel=0.05)


@pytest.mark.parametrize("split", [True, False])
def test_a_packet_for_tso_comes_in_two_halves_or_whole(split: bool) -> None:
    """Nothing is segmented: the sender's context pays for one packet of any size."""
    host = run(pair({"t": vm_stream()}, tso_split=split), 20 * MS)
    data, acks = (
        next(p for p in host.local_ports if p.vnic is device.ports[0].vnic)
        for device in (host.vms[1].devices[0], host.vms[0].devices[0])
    )
    large = data.vnic.unicast - data.came
    assert large == pytest.approx(data.came, rel=0.05) if split else large == 0
    world = next(w for w in host.worlds() if w.name == "a[0].NetWorld")
    work = data.came * (FORWARD + ENQUEUE) + acks.delivered * 190 + world.dispatches * ENTRY
    assert world.used == work * 1000
    assert host.flows[0].octets > 10 * 1024 * 1024


def test_a_receiver_without_lro_gets_frames() -> None:
    """An e1000 takes no packet larger than a frame: the VMkernel segments, and charges for each frame."""
    old = group("b", guest=guest(), vnics=(vnic(device="e1000"),))
    host = run(pair({"t": vm_stream()}, receiver=old), 5 * MS)
    (data,) = [p for p in host.local_ports if p.name.startswith("b")]
    assert data.vnic.unicast == data.vnic.frames - 0
    assert data.came < data.vnic.frames / 10


def test_tcp_between_vms_recovers_from_drops_at_the_ring() -> None:
    """A ring that is polled a hundred times per second, and too small for the window, loses segments; they are retransmitted, and the stream continues."""
    seldom = Coalescing(scheme="rbc", rate=100, depth=1, timeout=4 * MS)
    small = group("b", vnics=(vnic(rx_ring=32, coalescing=seldom),))
    host = run(pair({"t": vm_stream(window="1 MiB", message_size="1000 B", nodelay=True)}, receiver=small), 150 * MS)
    assert host.local_ports[0].vnic.lost > 0
    before = host.flows[0].octets
    host.clock.advance(600 * MS)
    assert host.flows[0].octets > 1.3 * before


def test_two_processes_cannot_poll_one_queue() -> None:
    """The wiring refuses it, like a scenario's checks."""
    with pytest.raises(WiringError, match="transmit queues for the streams"):
        build_host(pair({"t": to_vm(streams=2)}, sender=group("a", vcpus=2, guest=DPDK)), Streams(1, 0))
