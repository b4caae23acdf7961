"""Memory of a node: the wait per copied byte, by location and used bandwidth, against closed forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hostsim.config.host import PointSpec
from hostsim.config.nic import VSwitchSpec
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.cpu.memory import LAG, STEPS, Memory
from hostsim.model.host import Host
from hostsim.units import MS, SECOND, US

from .small_point import CALM, datagrams, group, multicast, nic, point, run, vnic

NS = 1000
NEAR, AWAY = 250, 500
"""Nanoseconds that a thousand bytes wait for idle memory of their own node, and of another one."""
COPY = 250
"""Nanoseconds to copy a thousand bytes within the cache."""
FRAME = 70 + 30 + 150 + 40 + COPY
"""A frame of a thousand bytes in a NetPoll, all in the cache: driver, switch, delivery, shared lines, copy."""


def memory(transfers: str = "1e15 /s") -> dict[str, Any]:
    return {"latency": "16 ns", "hop": "16 ns", "channels": 1, "transfers": transfers}


@pytest.mark.parametrize("eighths", range(1, 8))
def test_the_wait_grows_as_in_a_queue_of_equal_services(eighths: int) -> None:
    """M/D/1: service x load / (2 (1 - load)) for each line in flight; a steady rate is measured correctly."""
    of = Memory(latency_ps=80 * NS, remote_ps=120 * NS, service_ps=24 * NS, fills=10, bandwidth=8e9, ddio=False)
    for look in range(1, 20 * LAG // (25 * US)):
        of.octets += 25 * 1000 * eighths + 1
        of.look(look * 25 * US)
    load = eighths / 8
    assert of.load == load
    assert of.queue_ps == pytest.approx(24 * NS * load / (2 * (1 - load)) / 640)
    assert of.near_ps == of.dma_ps == pytest.approx(80 * NS / 640 + of.queue_ps)
    assert of.far_ps == pytest.approx(120 * NS / 640 + of.queue_ps)


def test_an_idle_memory_is_forgotten_burst_by_burst() -> None:
    """One lag after a burst half of its load remains; an impossible load counts as the highest step but one."""
    of = Memory(service_ps=NS, bandwidth=1e9)
    of.octets = 64 * LAG // NS
    assert of.look(LAG)
    assert of.load == 1 - 1 / STEPS
    of = Memory(service_ps=NS, bandwidth=1e9)
    of.octets = LAG // NS
    of.look(LAG)
    assert of.load == 1 / 2
    of.look(2 * LAG)
    assert of.load == 1 / 4


def test_memory_of_which_nothing_is_said_makes_nobody_wait() -> None:
    """No latency, and unlimited bandwidth."""
    of = Memory()
    of.octets = SECOND
    assert not of.look(US)
    assert of.queue_ps == of.near_ps == of.far_ps == of.dma_ps == 0


def taken(host: Host) -> tuple[int, int]:
    """Time of the NetPolls and of the guests, in nanoseconds."""
    return sum(poll.used for poll in host.polls) // NS, sum(vcpu.used for vcpu in host.vcpus) // NS


@pytest.mark.parametrize(
    ("nodes", "processors", "poll", "guest"),
    [
        ((0,), {}, 0, 0),
        ((0,), {"ddio": False}, NEAR, 0),
        ((1,), {}, AWAY + 40, AWAY),
        ((1,), {"ddio": False}, NEAR + AWAY + 40, AWAY),
        ((1,), {"ddio": False, "memory": None}, 0, 0),
    ],
)
def test_a_copy_waits_for_each_end_that_is_not_in_the_cache(
    nodes: tuple[int, ...], processors: Mapping[str, Any], poll: int, guest: int
) -> None:
    """The NIC is on node 0: the VMkernel waits for its reads and writes, the guest for data written by another node; shared lines cost double."""

    def frames(**changed: Any) -> tuple[int, int]:
        return taken(
            run(point(group(nodes=nodes), sockets=2, traffic={"s": datagrams("receive")}, cost=CALM, **changed))
        )

    still, found = frames(processors={"memory": None}), frames(processors=processors)
    assert (found[0] - still[0], found[1] - still[1]) == (20 * poll, 20 * guest)


@pytest.mark.parametrize(("node", "ddio", "wait"), [(0, True, 0), (0, False, NEAR), (1, True, NEAR), (1, False, NEAR)])
def test_a_guest_reads_from_memory_what_a_nic_could_not_put_into_its_cache(node: int, ddio: bool, wait: int) -> None:
    """A passed-through NIC writes to the guest's memory; with DDIO to the cache, if that is on the NIC's node."""
    vm = group(passthrough=("vmnic1",), reserved=1.0, nodes=(node,))
    ports = {"vmnic0": nic(), "vmnic1": nic()}

    def used(**changed: Any) -> int:
        spec = point(vm, sockets=2, traffic={"s": datagrams("receive", vnic=1)}, nics=ports, cost=CALM, **changed)
        return taken(run(spec))[1]

    assert used(processors={"ddio": ddio}) - used(processors={"memory": None}) == 20 * wait


@pytest.mark.parametrize("split", [False, True])
def test_a_multicast_packet_is_fetched_once(split: bool) -> None:
    """Four receivers without DDIO: the first copy waits for memory, the others find the packet in the cache; each split context is equally likely to be first."""
    vm = group(count=4, vnics=(vnic(split_rx=split),))

    def copies(**changed: Any) -> int:
        host = run(point(vm, cores=8, traffic={"m": multicast(MS)}, cost=CALM, **changed))
        return taken(host)[0] + sum(world.used for vm in host.vms for world in vm.worlds) // NS

    assert copies(processors={"ddio": False}) - copies() == NEAR


def flooded(ddio: bool = False, service: int = 16, ports: int = 1, transfers: str = "0.375e9 /s") -> PointSpec:
    """NetPolls that always have more to copy, 1,000 bytes at a time, each for a VM that discards it; memory moves three bytes per nanosecond."""
    names = [f"vmnic{port}" for port in range(ports)]
    nics = {name: nic(line_rate="40 Gbit/s") for name in names}
    switches = {f"vSwitch{port}": VSwitchSpec(uplinks=name) for port, name in enumerate(names)}
    vms = tuple(group(f"vm{port}", networks=(f"vSwitch{port}",)) for port in range(ports))
    traffic = {f"s{port}": datagrams("receive", to=f"vm{port}", rate="4 Mpps") for port in range(ports)}
    return point(
        *vms,
        cores=3 * ports,
        traffic=traffic,
        nics=nics,
        switches=switches,
        cost=CALM | {"memory_service": service},
        processors={"ddio": ddio, "memory": memory(transfers)},
    )


def frame_ns(spec: PointSpec) -> float:
    """Time of a NetPoll per frame after the memory load has settled."""
    host = build_host(spec, Streams(1, 0))
    seen = []
    for until in (10 * MS, 20 * MS):
        host.clock.advance(until)
        seen.append((sum(poll.used for poll in host.polls), sum(queue.ring.taken for queue in host.queues)))
    (used, frames), (used_later, frames_later) = seen
    return (used_later - used) / (frames_later - frames) / NS


def test_copies_take_longer_as_bandwidth_is_used_up() -> None:
    """A frame of T ns moves 3,000 bytes (in by DMA, out to be copied, written back), so that the load is 1000 / T; two of these wait: T = F + N + 250 load / (1 - load)."""
    alone = FRAME + NEAR
    # (T - alone) (T - 1000) = 250,000
    expected = (alone + 1000 + ((alone - 1000) ** 2 + 1_000_000) ** 0.5) / 2
    assert frame_ns(flooded()) == pytest.approx(expected, rel=0.01)


def test_without_its_queue_or_with_room_memory_slows_no_copy() -> None:
    """The ablation: only the wait for idle memory remains, and with DDIO only the queue of the write-back."""
    assert frame_ns(flooded(service=0)) == pytest.approx(FRAME + NEAR, rel=0.001)
    assert frame_ns(flooded(transfers="1e15 /s")) == pytest.approx(FRAME + NEAR, rel=0.001)
    assert frame_ns(flooded(ddio=True, transfers="1e15 /s")) == pytest.approx(FRAME, rel=0.001)


def test_no_more_is_moved_than_the_channels_can() -> None:
    """Three NetPolls that could move three times as much share the bandwidth of their node."""
    host = build_host(flooded(ports=3), Streams(1, 0))
    moved = []
    for until in (10 * MS, 20 * MS):
        host.clock.advance(until)
        moved.append(host.scheduler.nodes[0].memory.busy)
    assert 0.85 < (moved[1] - moved[0]) / (10 * MS) < 1
