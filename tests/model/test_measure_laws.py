"""Laws of measures over random small hosts: deliveries were sent, shares are shares, and CPU work is not a packet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from hostsim.config.host import PointSpec
from hostsim.config.nic import VSwitchSpec
from hostsim.config.traffic import Traffic
from hostsim.config.workload import BridgedSpec, ForwardedStreamSpec, MulticastSpec, WorkSpec
from hostsim.engine.record import RunRecord
from hostsim.model.host import Host
from hostsim.model.telemetry import WORLD_KINDS
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.units import MS, SECOND

from .small_point import (
    CALM,
    ROUND,
    datagrams,
    echoes,
    files,
    group,
    guest,
    nic,
    point,
    run,
    stream,
    to_vm,
    users,
    vm_stream,
    vnic,
    work,
)
from .sound_measures import assert_sound

UNSHRUNK = (Phase.explicit, Phase.generate)
"""A host takes too long to be shrunk by repeated runs."""
LENGTH = 12 * MS
RATES = ("5 kpps", "100 kpps", "600 kpps", "2000 kpps")
"""From an easy load to eight times the capacity of a guest."""
LANE = 2.5e9 * 0.8 * 256 / 280
"""Data bits per second through a PCIe lane of the first generation: its line code, and 24 B around 256 B."""
LATE = 64 * 1500 * 8
"""Bits that a poll may count ahead of an observation: its budget."""


def multicast(rate: str) -> MulticastSpec:
    values = {"kind": "multicast", "to": ("vm", "a"), "packet_size": "200 B", "rate": rate}
    return MulticastSpec.model_validate(values | {"arrivals": {"process": "poisson"}})


def bridged(rate: str) -> BridgedSpec:
    return BridgedSpec.model_validate({"kind": "bridged", "to": "router", "frame_size": "64 B", "rate": rate})


def forwarded(window: str) -> ForwardedStreamSpec:
    values = {"kind": "forwarded_stream", "to": "router", "window": window, "delay": "10 us", "burst": 16}
    return ForwardedStreamSpec.model_validate(values)


def overflowing(rate: str) -> WorkSpec:
    """Bursts, some of which find too many waiting."""
    return work(rate, "200 us").model_copy(update={"waiting": 4})


KINDS: dict[str, Any] = {
    "multicast": (multicast, RATES),
    "receive": (lambda rate: datagrams("receive", rate=rate, packet_size="64 B"), RATES),
    "send": (lambda rate: datagrams("send", rate=rate, packet_size="1472 B", burst=8), RATES),
    "local": (lambda rate: to_vm(rate=rate, burst=4), RATES),
    "local_tcp": (lambda window: vm_stream(window=window), ("16 KiB", "1 MiB")),
    "tcp_in": (lambda window: stream("receive", window=window, burst=16), ("16 KiB", "1 MiB")),
    "tcp_out": (lambda window: stream("send", window=window, port=101), ("16 KiB", "1 MiB")),
    "files": (lambda size: files("get", size=size, port=201), ("1 kB", "200 kB")),
    "users": (lambda count: users(count, port=301), (1, 40)),
    "echoes": (lambda count: echoes(count, port=401), (1, 40)),
    "bridged": (bridged, RATES),
    "forwarded": (forwarded, ("16 KiB", "256 KiB")),
    "work": (overflowing, ("100 /s", "20000 /s")),
}
"""Traffic by name, each at rates from low to far too high."""
mixes = st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4, unique=True).flatmap(
    lambda kinds: st.fixed_dictionaries({kind: st.sampled_from(KINDS[kind][1]) for kind in kinds})
)
hosts = st.fixed_dictionaries(
    {
        "cores": st.integers(1, 6),
        "vcpus": st.integers(1, 2),
        "ring": st.sampled_from((32, 256)),
        "buffer": st.sampled_from(("16 kB", "1 GiB")),
        "gbps": st.sampled_from((1, 10)),
        "slot": st.booleans(),
        "lro": st.booleans(),
        "seed": st.integers(1, 99),
    }
)


def machine(
    mix: dict[str, Any],
    *,
    cores: int,
    vcpus: int = 1,
    ring: int = 256,
    buffer: str = "1 GiB",
    gbps: int = 10,
    slot: bool = False,
    lro: bool = False,
    workers: int = 0,
    cost: dict[str, float] = ROUND,
) -> PointSpec:
    """Receivers, a router with a vNIC on each of two switches, and VMs with CPU work only, if any."""
    card = nic(
        line_rate=f"{gbps} Gbit/s",
        rx_ring=ring,
        tx_queue=64,
        interrupt_interval="50 us",
        pcie={"generation": 1, "lanes": 1} if slot else None,
    )
    kernel = guest(socket_buffer=buffer, initial_window=10, lro_while_forwarding=lro)
    port = vnic(rx_ring=ring, tx_ring=ring)
    traffic: dict[str, Traffic] = {kind: KINDS[kind][0](pace) for kind, pace in mix.items()}
    if workers:
        traffic["other work"] = work("2000 /s", "300 us", to="worker")
    spec = point(
        group("vm", guest=kernel, vcpus=vcpus, vnics=(port,)),
        group("a", guest=kernel, vcpus=vcpus, vnics=(port,)),
        group("b", guest=kernel, vcpus=vcpus, vnics=(port,)),
        group("router", guest=kernel, networks=("vSwitch0", "out"), vnics=(port, port)),
        *([group("worker", count=workers, vnics=(port,))] if workers else []),
        traffic=traffic,
        cores=cores,
        nics={"vmnic0": card, "vmnic1": card},
        switches={"vSwitch0": VSwitchSpec(uplinks="vmnic0"), "out": VSwitchSpec(uplinks="vmnic1")},
        cost=cost,
        sw_lro=lro,
    )
    return spec.model_copy(update={"length": LENGTH})  # observed as often as a run of a sweep


def recorded(host: Host, part: int = 0) -> RunRecord:
    """The record of a run, with a window that begins after the given number of quarters."""
    instants, series, histograms = host.probe.collect()
    return RunRecord("", 0, 1, {}, instants, series, histograms, cut=(len(instants) - 1) * part // 4)


def measured(record: RunRecord, names: Sequence[str]) -> list[float]:
    return [CATALOGUE[name].evaluate(record) for name in names]


@settings(max_examples=25, phases=UNSHRUNK)
@given(mixes, hosts)
def test_measures_keep_their_bounds(mix: dict[str, Any], how: dict[str, Any]) -> None:
    """For any traffic, over the whole run and over its later parts."""
    seed = how["seed"]
    spec = machine(mix, **{key: value for key, value in how.items() if key != "seed"})
    host = run(spec, LENGTH, seed)
    for part in range(4):
        record = recorded(host, part)
        delivered_was_sent(record)
        losses_are_a_share(record)
        times_add_up(record)
        assert_sound(record)
    wires_bound_throughput(host, spec)


def delivered_was_sent(record: RunRecord) -> None:
    """At every observation and for each traffic; packets that guests hand to NICs equal those that NICs send."""
    values = {name: series.values for name, series in record.series.items()}
    assert (values["flow.delivered"] + values["flow.dropped_nic"] <= values["flow.intended"]).all()
    assert (values["flow.to_forward"] <= values["flow.delivered"]).all()
    assert (values["flow.forwarded"] <= values["flow.to_forward"]).all()
    out = (values["flow.out"] + values["flow.forwarded"]).sum(axis=1)
    assert (values["nic.tx_frames"].sum(axis=1) <= out).all()
    assert (values["flow.answered"] <= values["flow.asked"]).all()


def losses_are_a_share(record: RunRecord) -> None:
    """All drops, including those of work; the places add up."""
    places = [name for name in CATALOGUE if name.startswith("loss_")]
    loss, of_work, *shares = measured(record, ["loss", "work_loss", *places])
    assert math.isnan(of_work) or 0 <= of_work <= 100
    if math.isnan(loss):
        assert record.total("flow.dropped_nic") + record.total("guest.read") + record.total("flow.out") == 0
        return
    assert 0 <= loss <= 100
    assert sum(shares) == pytest.approx(loss)
    assert min(shares) >= 0


def times_add_up(record: RunRecord) -> None:
    """Charges of worlds equal the busy time of PCPUs, and no world has more time than exists."""
    count = {kind: len(record.series[f"{kind}.used_ps"].entities) for kind in (*WORLD_KINDS, "pcpu") if kind != "pcpu"}
    total, host, guests, threads = measured(record, ["cpu_total", "host_cpu", "guest_cpu", "network_threads_cpu"])
    assert total == pytest.approx(guests * count["vcpu"] + threads)
    assert total == pytest.approx(host * len(record.series["pcpu.busy_ps"].entities))
    ready, costop = measured(record, ["guest_ready", "guest_costop"])
    for share in (host, guests, guests + ready + costop):
        assert 0 <= share <= 100 + 1e-9


def wires_bound_throughput(host: Host, spec: PointSpec) -> None:
    """Received data fit in the wires or the slot, and so do sent data."""
    record = recorded(host)
    card = spec.hardware.nics["vmnic0"]
    most = min(card.line_rate, LANE) if card.pcie else card.line_rate
    came = sum(flow.octets / flow.receivers for flow in host.flows if flow.name in ("multicast", "receive", "tcp_in"))
    went = sum(flow.octets for flow in host.flows if flow.name in ("send", "tcp_out", "files", "bridged", "forwarded"))
    seconds = LENGTH / SECOND
    assert came * 8 <= most * seconds + LATE  # all enter by vmnic0
    assert went * 8 <= 2 * most * seconds
    both = measured(record, ["throughput_per_nic"])[0]
    assert math.isnan(both) or both * 1e9 <= 2 * most + LATE / seconds


QUIET = (
    "latency",
    "loss",
    "delivered",
    "throughput",
    "rx_",
    "tx_rate",
    "response",
    "round_trip",
    "stage",
    "netpoll",
    "networld",
)
PACKETS = [name for name in CATALOGUE if name.startswith(QUIET)]
"""Measures of packets and of the contexts that process them."""
SENDING = {
    "receive": "5 kpps",
    "send": "5 kpps",
    "local": "5 kpps",
    "bridged": "5 kpps",
    "tcp_in": "16 KiB",
    "echoes": 1,
}


@settings(max_examples=8, phases=UNSHRUNK)
@given(st.sets(st.sampled_from(sorted(SENDING)), min_size=1, max_size=3), st.integers(1, 3), st.integers(1, 99))
def test_vms_that_only_compute_on_idle_cores_change_no_measure_of_packets(
    kinds: set[str], workers: int, seed: int
) -> None:
    """To the last digit without switch costs: the same arrivals, and each world gets its PCPU as before."""
    mix = {kind: SENDING[kind] for kind in sorted(kinds)}
    alone, beside = (
        recorded(run(machine(mix, cores=24, workers=count, cost=CALM), LENGTH, seed), 1) for count in (0, workers)
    )
    assert measured(beside, ["work_time_p50"])[0] == pytest.approx(0.3, rel=0.01)
    assert measured(alone, PACKETS) == pytest.approx(measured(beside, PACKETS), rel=0, abs=0, nan_ok=True)


def test_a_burst_of_work_has_a_time_of_its_own() -> None:
    """100 us each, plus the guest's wake-up; no packet, and no packet latency. Most bursts that are too fast for the queue are lost."""
    spec = point(traffic={"load": work("1000 /s", "100 us")}, cost=CALM)
    record = recorded(run(spec, LENGTH), 1)
    took, lost, loss, latency = measured(record, ["work_time_mean", "work_loss", "loss", "latency_mean"])
    assert took == pytest.approx(0.1 + CALM["vcpu_wake"] * 1e-6)
    assert (lost, math.isnan(loss), math.isnan(latency)) == (0, True, True)
    busy = point(traffic={"load": overflowing("20000 /s")}, cost=CALM)
    assert measured(recorded(run(busy, LENGTH)), ["work_loss"])[0] == pytest.approx(75, abs=5)
