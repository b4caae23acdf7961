"""Offloads that a guest has disabled (``ethtool -K``), and fewer queues than its drivers request (``ethtool -L``)."""

from __future__ import annotations

from typing import Any

import pytest

from hostsim.config.effective_settings import effective_offloads
from hostsim.config.platform import OffloadedCosts, OffloadSettings
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.units import MS
from tests.model.small_point import CALM, SOURCE, datagrams, group, guest, nic, point, run, stream, users

NS = 1000
BYTE = 0.5
"""Nanoseconds of the checksum of a byte."""
GUEST = guest(checksum_per_byte={"cycles": BYTE, "source": SOURCE})
FAST = {"vmnic0": nic(interrupt_interval="100 us")}


def off(guest_has: Any = GUEST, **asked: bool) -> OffloadedCosts | None:
    offloads, faults = effective_offloads(OffloadSettings(**asked), guest_has, "vms.vm.offloads")
    assert faults == []
    return offloads


def host_of(
    flow: Any, until: int = 20 * MS, *, guest_has: Any = GUEST, nics: Any = FAST, settings: Any = None, **asked: bool
) -> Host:
    vm = group(guest=guest_has, offloads=off(guest_has, **asked))
    return run(point(vm, traffic={"flow": flow}, nics=nics, cost=CALM, **settings or {}), until)


def vcpu_ns(host: Host) -> int:
    return host.vcpus[0].used // NS


def test_all_on_is_what_nothing_said_is() -> None:
    """The explicit default is also excluded from the hash of a point."""
    assert off() is None
    plain, same = (
        point(group(guest=GUEST, **how), traffic={"flow": stream("send")})
        for how in ({}, {"offloads": None, "queues": None})
    )
    assert plain.digest() == same.digest()
    assert "offloads" not in plain.model_dump_json(exclude={"vms": {0: {"settings": {"offloads"}}}})
    other = point(group(guest=GUEST, offloads=off(lro=False)), traffic={"flow": stream("send")})
    assert other.digest() != plain.digest()


def test_without_checksums_there_is_no_tso_and_no_lro() -> None:
    """Linux drops what needs them."""
    assert off(tx_checksum=False) == OffloadedCosts(tso=False, lro=True, gro=True, tx_checksum=GUEST.checksum_per_byte)
    assert off(rx_checksum=False) == OffloadedCosts(tso=True, lro=False, gro=True, rx_checksum=GUEST.checksum_per_byte)


def test_a_guest_without_a_cost_of_checksums_cannot_make_them() -> None:
    """Refused by key; TSO and LRO need no such cost."""
    _, faults = effective_offloads(OffloadSettings(tx_checksum=False, tso=False), guest(), "vms.vm.offloads")
    assert [fault.path for fault in faults] == ["vms.vm.offloads.tx_checksum"]
    assert off(guest(), tso=False, lro=False, gro=False) is not None


def test_without_tso_each_frame_is_a_packet() -> None:
    """The packet counts of the guest, and of every later counter."""
    big = stream("send", window="1 MiB", delay="0 s")
    packets = []
    for tso in (True, False):
        host = host_of(big, tso=tso)
        port = host.nics["vmnic0"]
        port.depart(host.clock.now)
        packets.append(port.tx_frames / port.tx_packets)
    assert packets[0] > 10
    assert packets[1] == 1


@pytest.mark.parametrize("software", [True, False])
def test_without_lro_the_host_joins_nothing(software: bool) -> None:
    """Neither the VMkernel's software nor the NIC does it."""
    nics = {"vmnic0": nic(interrupt_interval="100 us", lro=not software)}
    joined = []
    for lro in (True, False):
        host = host_of(
            stream("receive", window="1 MiB", burst=64),
            nics=nics,
            settings={"sw_lro": software, "hw_lro": not software},
            lro=lro,
        )
        port = host.vms[0].devices[0].ports[0].vnic
        joined.append(port.frames / port.ring.pushed)
    assert joined[0] > 2
    assert joined[1] == 1


def test_a_vmxnet3_without_lro_has_gro_where_its_guest_has_any() -> None:
    """There is no GRO if that is off as well, or if the kernel lacks it."""
    old, new = GUEST, GUEST.model_copy(update={"gro": ("directpath", "e1000")})
    flow = stream("receive")

    def has(guest_has: Any, **asked: bool) -> bool:
        spec = point(group(guest=guest_has, offloads=off(guest_has, **asked)), traffic={"flow": flow})
        return build_host(spec, Streams(1, 0)).vms[0].devices[0].ports[0].vnic.gro

    assert not has(new)
    assert has(new, lro=False)
    assert not has(new, lro=False, gro=False)
    assert not has(old, lro=False)


def test_the_kernel_makes_the_checksum_of_each_byte_sent() -> None:
    """Thirty datagrams of 1,000 bytes: half a nanosecond per byte in addition."""
    flow = datagrams("send", rate="3 kpps", burst=3)
    with_it, without = (vcpu_ns(host_of(flow, 10 * MS, tx_checksum=on)) for on in (True, False))
    assert without - with_it == 30 * 1000 * BYTE


def test_the_kernel_checks_the_checksum_of_each_byte_received() -> None:
    """Ten datagrams of 1,000 bytes."""
    with_it, without = (vcpu_ns(host_of(datagrams("receive"), 10 * MS, rx_checksum=on)) for on in (True, False))
    assert without - with_it == 10 * 1000 * BYTE


def test_a_stream_pays_for_the_checksums_of_its_bytes() -> None:
    """TCP with single frames at the pace of the window: CPU per byte is higher by the checksum."""
    for direction, key in (("send", "tx_checksum"), ("receive", "rx_checksum")):
        flow = stream(direction, window="2 KiB", delay="100 us", burst=1)
        if direction == "send":
            plain, summed = (host_of(flow, 50 * MS, **{"tso": False} | {key: on}) for on in (True, False))
        else:
            plain, summed = (host_of(flow, 50 * MS, **{key: on}) for on in (True, False))
        each = []
        for host in (plain, summed):
            for port in host.nics.values():
                port.depart(host.clock.now)
            each.append(vcpu_ns(host) / host.flows[0].octets)
        assert each[1] - each[0] == pytest.approx(BYTE, rel=0.05)


def test_a_reply_has_its_checksum_made() -> None:
    """Requests of users: each reply of 500 bytes takes longer by that."""
    flow = users(reply_size="500 B", request_size="100 B", think_time="1 ms")
    plain, summed = (host_of(flow, 50 * MS, tx_checksum=on) for on in (True, False))
    done = [host.flows[0].answered for host in (plain, summed)]
    assert done[0] == done[1] > 20
    assert vcpu_ns(summed) - vcpu_ns(plain) == pytest.approx(done[0] * 500 * BYTE, rel=0.03)


@pytest.mark.parametrize("how", ["vnic", "passthrough", "functions"])
def test_a_guest_has_as_many_queues_as_it_asks_for(how: str) -> None:
    """For each kind of NIC: four vCPUs, and at most three queues."""
    kind = {} if how == "vnic" else {"networks": (), "reserved": 1.0, how: ("vmnic1",)}
    nics = {"vmnic0": nic(rss=True, rx_queues=8), "vmnic1": nic(rss=True, rx_queues=8)}
    vnics = {}
    counts = []
    for queues in (None, 2, 1):
        vm = group(vcpus=4, queues=queues, **kind, **vnics)
        if how == "vnic":
            many = vm.settings.vnics[0].model_copy(update={"queues": 8})
            vm = vm.model_copy(update={"settings": vm.settings.model_copy(update={"vnics": (many,)})})
        host = build_host(point(vm, traffic={"flow": datagrams("receive")}, nics=nics), Streams(1, 0))
        counts.append(len(host.vms[0].devices[0].ports))
    assert counts == [4, 2, 1]
