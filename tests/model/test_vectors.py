"""Interrupt vectors, queues and flows of vNICs over a VM's vCPUs, for every kind of traffic, and its transmit contexts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.config.traffic import Traffic
from hostsim.config.workload import BridgedSpec
from hostsim.engine.random_stream import Streams
from hostsim.errors import WiringError
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.model.policy.steering import rss_input, toeplitz_hash, toeplitz_once
from hostsim.units import MS

from .small_point import (
    datagrams,
    echoes,
    files,
    group,
    guest,
    multicast,
    nic,
    pages,
    point,
    run,
    stream,
    users,
    vnic,
    work,
)

PEER, VM = "10.1.0.1", "10.0.0.1"
PASSED = {"vmnic0": nic(), **{f"vmnic{n}": nic(rss=True, rx_queues=8) for n in (1, 2)}}


def smp(queues: int = 8, vcpus: int = 4, vnics: int = 2, **changes: object):
    """VMs with several vCPUs and vNICs, whose driver requests a number of queues."""
    settings = tuple(vnic(queues=queues, **changes) for _ in range(vnics))
    return group(vcpus=vcpus, networks=("vSwitch0",) * vnics, vnics=settings, guest=guest(initial_window=10))


def bridged(**changes: object) -> BridgedSpec:
    values = {"kind": "bridged", "to": "vm", "frame_size": "64 B", "rate": "2 kpps"}
    return BridgedSpec.model_validate(values | changes)


def many(made: Traffic, count: int = 12) -> dict[str, Traffic]:
    """The same traffic, repeated a number of times."""
    return {f"t{n}": made for n in range(count)}


def both(make) -> dict[str, Traffic]:
    """Traffic through either vNIC."""
    return {"a": make(vnic=0), "b": make(vnic=1)}


KINDS: dict[str, dict[str, Traffic]] = {
    "tcp_stream in": both(lambda **at: stream("receive", streams=12, **at)),
    "tcp_stream out": both(lambda **at: stream("send", streams=12, **at)),
    "http get": both(lambda **at: files("get", connections=12, **at)),
    "http post": both(lambda **at: files("post", connections=12, **at)),
    "web": both(lambda **at: pages(*range(0, 12 * MS, MS // 4), **at)),
    "transactions": both(lambda **at: users(12, **at)),
    "request_response": both(lambda **at: echoes(12, **at)),
    "udp_stream": both(lambda **at: datagrams("receive", streams=12, **at)),
    "multicast": many(multicast(1 * MS, 2 * MS)),
    "bridged": many(bridged()),
}
"""Every kind of traffic with packets to a guest."""


def interrupts(host: Host) -> list[int]:
    return [vcpu.interrupts for vcpu in host.vcpus]


@pytest.mark.parametrize("kind", KINDS)
def test_all_vcpus_take_interrupts(kind: str) -> None:
    """Four vCPUs, two vNICs, enough flows: the first vCPU is not overloaded."""
    host = run(point(smp(udp_rss=True), traffic=KINDS[kind], cores=8))
    assert min(interrupts(host)) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_driver_with_one_queue_interrupts_one_vcpu_for_each_vnic(kind: str) -> None:
    """Without several queues the same traffic interrupts at most two of four vCPUs, each vNIC a different one."""
    host = run(point(smp(1, udp_rss=True), traffic=KINDS[kind], cores=8))
    first, second, *others = interrupts(host)
    assert first > 0
    assert (second > 0) == (kind not in ("multicast", "bridged"))  # these arrive at the first vNIC
    assert others == [0, 0]


def test_vectors_are_dealt_over_the_vcpus() -> None:
    """Three vNICs of one, two and one queue pairs, and a passed-through NIC: each vector on the next vCPU, in turn."""
    settings = (vnic(device="e1000"), vnic(queues=2), vnic())
    vm = group(
        vcpus=3, networks=("vSwitch0",) * 3, vnics=settings, passthrough=("vmnic1",), reserved=1.0, guest=guest()
    )
    host = build_host(point(vm, traffic={"s": stream("receive")}, nics=PASSED, cores=8), Streams(1, 0))
    owners = [[host.vcpus.index(port.vnic.vcpu) for port in device.ports] for device in host.vms[0].devices]
    assert owners == [[0], [1, 2], [0], [1, 2, 0]]


@pytest.mark.parametrize("udp_rss", [False, True])
def test_datagrams_are_hashed_by_addresses_or_by_ports_too(udp_rss: bool) -> None:
    """Each queue gets the datagrams of the streams that the guest's key assigns to it; without udpRSS one queue gets all."""
    spec = point(smp(4, vnics=1, udp_rss=udp_rss), traffic={"u": datagrams("receive", streams=16)}, cores=8)
    host = run(spec, 50 * MS)
    (device,) = host.vms[0].devices
    inputs = [rss_input(PEER, VM, *((33000 + n, 12865) if udp_rss else ())) for n in range(16)]
    places = [toeplitz_hash(device.filter.key, packet) % 4 for packet in inputs]
    assert [port.vnic.frames for port in device.ports] == [
        pytest.approx(50 * places.count(n), abs=places.count(n)) for n in range(4)
    ]
    assert (len(set(places)) > 1) == udp_rss


def test_each_vm_hashes_with_a_key_of_its_own() -> None:
    """The key is drawn when the driver loads: two VMs and two seeds distribute the same flows differently."""

    def key(seed: int, vm: int) -> bytes:
        host = build_host(point(group(count=2, vcpus=4, vnics=(vnic(queues=4),)), traffic={}), Streams(seed, 0))
        return host.vms[vm].devices[0].filter.key

    assert len({key(1, 0), key(1, 1), key(2, 0), key(2, 1)}) == 4
    assert key(1, 0) == key(1, 0)


@pytest.mark.parametrize(
    ("context", "vcpus", "queues", "expected"),
    [("vnic", 4, 4, 2), ("vm", 4, 4, 1), ("queue", 4, 1, 2), ("queue", 4, 4, 8), ("queue", 16, 16, 16)],
)
def test_transmit_contexts_of_vnics(context: str, vcpus: int, queues: int, expected: int) -> None:
    """Two vNICs: one context each, one for both, or one per queue, at most eight per vNIC; each serves its own queues."""
    traffic = {"a": stream("send", streams=64), "b": stream("send", vnic=1, streams=64)}
    host = run(point(smp(queues, vcpus, tx_context=context), traffic=traffic, cores=vcpus), 5 * MS)
    contexts = [world for world in host.vms[0].worlds if world.kind == "networld"]
    assert len(contexts) == expected
    assert all(context.used > 0 for context in contexts)
    assert sum(len(context.queues) for context in contexts) == 2 * queues


def test_senders_of_datagrams_are_dealt_over_vcpus_and_queues() -> None:
    """Writing processes: each vCPU has its share of them, and the kernel's hash assigns queues."""
    host = run(point(smp(4, vnics=1), traffic={"u": datagrams("send", streams=16)}, cores=8), 20 * MS)
    assert min(vcpu.used for vcpu in host.vcpus) > 0.8 * max(vcpu.used for vcpu in host.vcpus)
    assert sum(queue.ring.taken > 0 for queue in host.transmits) > 2


def test_each_source_of_cpu_work_has_a_vcpu() -> None:
    """Two sources run side by side on two vCPUs; a third finds no vCPU."""
    load = work("100 /s", "4 ms")
    host = run(point(group(vcpus=2), traffic={"a": load, "b": load}), 100 * MS)
    assert min(vcpu.used for vcpu in host.vcpus) > 20 * MS
    with pytest.raises(WiringError, match="vCPUs without work"):
        build_host(point(group(vcpus=2), traffic={"a": load, "b": load, "c": load}), Streams(1, 0))


@given(st.binary(min_size=40, max_size=40), st.binary(max_size=36))
def test_the_hash_without_a_table_is_the_same(key: bytes, data: bytes) -> None:
    """For any key."""
    assert toeplitz_once(key, data) == toeplitz_hash(key, data)
