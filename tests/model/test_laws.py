"""Laws for any host, over small random hosts: capacity of wire and slot, CPU accounting, cost of layers, idle VMs."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from hostsim.config.host import PointSpec, VmGroupSpec
from hostsim.config.nic import NicSpec, VSwitchSpec
from hostsim.config.platform import Coalescing, PassthroughSettings, Refill, VmSettings
from hostsim.config.traffic import Traffic
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.model.telemetry import WORLD_KINDS
from hostsim.units import MS, SECOND, US

from .small_point import ROUND, cpu, datagrams, group, guest, nic, point, run, stream, vnic

LAYERS = ("native", "passed through", "paravirtual", "emulated")
"""Paths of a kernel to its NIC, each with more layers than the previous one."""
EXITS = ("interrupt", "vcpu_wake", "virtual_interrupt")
"""Costs that a kernel without a hypervisor does not have."""
BURST = 16
"""Largest number of datagrams that come together."""
LANE = 2.5e9 * 0.8 * 256 / 280
"""Data bits per second through a PCIe lane of the first generation: its line code, and 24 B around 256 B."""


def drawn_costs(random: Random) -> dict[str, float]:
    """Each cost is between half and twice that of the small hosts, including register accesses of an e1000."""
    base = ROUND | {
        "e1000_doorbell": 600,
        "e1000_interrupt": 900,
        "networld_tx_completion": 40,
        "driver_tx_completion": 15,
    }
    factors = {"remote_memory", "guest_copy_memory"}
    return {name: cost if name in factors else cost * random.uniform(0.5, 2) for name, cost in base.items()}


def machine(
    layer: str,
    random: Random,
    traffic: dict[str, Traffic],
    nics: dict[str, NicSpec],
    *,
    mtu: int = 1500,
    vcpus: int = 1,
) -> PointSpec:
    """A VM, or the kernel of a native host, with a path of one kind to each NIC; the interrupt rate is the same for all."""
    costs, kernel = drawn_costs(random), guest(initial_window=10, tso_divisor=random.randint(1, 3))
    interval = nics["vmnic0"].interrupt_interval or 100 * US
    coalescing = Coalescing(scheme="rbc", rate=SECOND // interval, depth=1, timeout=4 * MS)
    threads = random.randint(1, 2)
    if layer in ("native", "passed through"):
        direct = tuple(PassthroughSettings(nic=name, mtu=mtu) for name in nics)
        vm = VmGroupSpec(
            name="vm",
            count=1,
            guest=kernel,
            vcpus=vcpus,
            networks=(),
            settings=VmSettings(shares=1000, nodes=(), vnics=(), passthrough=direct),
        )
        if layer == "native":
            costs |= dict.fromkeys(EXITS, 0)
        switches = {}
    else:
        changes: dict[str, Any] = {"coalescing": coalescing, "queues": 8}
        if layer == "emulated":
            changes |= {"device": "e1000", "refill": Refill(lot=16, rest=True), "queues": 1, "tx_interrupts": "all"}
        switches = {f"to-{name}": VSwitchSpec(uplinks=(name,), mtu=mtu) for name in nics}
        vm = group(networks=tuple(switches), vnics=(vnic(**changes),) * len(nics), guest=kernel, vcpus=vcpus)
    spec = point(vm, traffic=traffic, nics=nics, cost=costs)
    processors = cpu(1, 4).model_copy(update={"threads": threads})
    return spec.model_copy(
        update={
            "hypervisor": layer != "native",
            "vswitches": switches,
            "hardware": spec.hardware.model_copy(update={"cpu": processors}),
        }
    )


def drawn_traffic(random: Random, number: int) -> Traffic:
    """TCP or datagrams of some size through a NIC in either direction; datagrams at times exceed the wire."""
    direction = random.choice(("receive", "send"))
    if random.random() < 0.5:
        return stream(
            direction,
            vnic=number,
            streams=random.randint(1, 4),
            window=f"{random.choice((64, 256))} KiB",
            port=1000 * number + 1,
        )
    size, burst = random.randint(18, 1472), random.randint(1, BURST)
    return datagrams(
        direction, vnic=number, packet_size=f"{size} B", rate=f"{random.choice((20, 100, 400))} kpps", burst=burst
    )


SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
def test_wire_and_slot_bound_what_comes_and_goes_and_cpu_time_adds_up(seed: int) -> None:
    """Frames with overhead fit the wire and the port's share of the slot; the time of worlds always equals the PCPUs' busy time."""
    random = Random(seed)
    gbps = random.choice((1, 2, 5))
    slot = random.choice((None, {"generation": 1, "lanes": 1}))
    nics = {
        f"vmnic{number}": nic(
            line_rate=f"{gbps} Gbit/s",
            interrupt_interval="50 us",
            rss=True,
            rx_queues=random.choice((1, 4)),
            pcie=slot,
            ports_on_adapter=2 if slot else 1,
        )
        for number in range(2)
    }
    traffic = {f"traffic{number}": drawn_traffic(random, number % 2) for number in range(3)}
    host = run(machine(random.choice(LAYERS), random, traffic, nics, vcpus=random.randint(1, 3)), 10 * MS, seed)
    series = host.probe.collect()[1]
    rate = min(gbps * 1e9, LANE / 2) if slot else gbps * 1e9
    for direction in ("receive", "send"):
        bits = np.zeros(len(nics))
        for flow, entry in zip(host.flows, traffic.values(), strict=True):
            tcp = entry.kind == "tcp_stream"
            size, headers = (1448, 52) if tcp else (flow.size, 28)
            if entry.direction == direction:
                frames = (flow.octets / size) if tcp or direction == "send" else flow.sent
                bits[entry.vnic] += 8 * frames * (max(size + headers, 46) + 38)
        assert bits.max() <= rate * 0.01 + BURST * 8 * 1538, direction  # a train counts at its start
    used = sum(series[f"{kind}.used_ps"].values.sum(axis=1) for kind in WORLD_KINDS)
    assert used.tolist() == series["pcpu.busy_ps"].values.sum(axis=1).tolist()
    assert used[-1] > 0


def efficiency(spec: PointSpec, seed: int) -> float:
    """Bytes of data per microsecond of CPU after slow start."""
    host = build_host(spec, Streams(seed, 0))

    def count(until: int) -> tuple[int, int]:
        host.clock.advance(until)
        for port in host.nics.values():
            port.depart(until)
        return sum(flow.octets for flow in host.flows), host.busy(until)

    before, after = count(8 * MS), count(24 * MS)
    return (after[0] - before[0]) * US / (after[1] - before[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_each_layer_between_kernel_and_nic_costs_cpu(seed: int) -> None:
    """Large TCP with equal aggregation, segmentation, MTU, placement and interrupt rate: native, passed through, paravirtual, emulated."""
    random = Random(seed)
    nics = {
        "vmnic0": nic(
            line_rate=f"{random.choice((1, 2, 5))} Gbit/s",
            interrupt_interval=f"{random.randint(40, 250)} us",
            tx_interrupt_delay=None,
        )
    }
    traffic = {"tcp": stream(random.choice(("receive", "send")), streams=random.randint(1, 3), window="512 KiB")}
    mtu, state = random.choice((1500, 9000)), random.getstate()
    found = []
    for layer in LAYERS:
        random.setstate(state)  # the same costs and the same guest
        found.append(efficiency(machine(layer, random, traffic, nics, mtu=mtu), seed))
    assert found == sorted(found, reverse=True)


def counters(host: Host) -> dict[str, list[int]]:
    """State of all traffic, and of each world that ever ran."""
    flows = {flow.name: [flow.sent, flow.delivered, flow.octets, flow.latency.total] for flow in host.flows}
    return flows | {world.name: [world.used, world.dispatches] for world in host.worlds() if world.dispatches}


@pytest.mark.parametrize("seed", SEEDS)
def test_an_idle_vm_without_ticks_is_not_there(seed: int) -> None:
    """A further idle VM with memory changes no counter of the others, and no world works for it."""
    random = Random(seed)
    nics = {"vmnic0": nic(interrupt_interval="50 us", rx_queues=random.choice((1, 4)))}
    traffic = {
        f"traffic{number}": drawn_traffic(random, 0).model_copy(update={"port": 1000 * number + 1})
        for number in range(2)
    }
    spec = machine("paravirtual", random, traffic, nics, vcpus=random.randint(1, 2))
    idle = group("idle", count=random.randint(1, 3), networks=("to-vmnic0",), vnics=(vnic(),), reserved=1.0)
    alone, beside = (run(one, 5 * MS, seed) for one in (spec, spec.model_copy(update={"vms": (*spec.vms, idle)})))
    assert len(beside.worlds()) > len(alone.worlds())
    assert counters(alone) == counters(beside)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_idle_vm_costs_its_ticks(seed: int) -> None:
    """Each tick wakes a halted PCPU: halt exit, switch, refill, exit, and the tick. There is no poll, transmission or interrupt."""
    random = Random(seed)
    period, count = random.randint(400, 1200), random.randint(1, 4)
    costs = drawn_costs(random) | {"guest_timer_tick": random.uniform(1000, 9000)}
    idle = group("idle", count=count, guest=guest(timer_period=f"{period} us"))
    spec = point(
        idle, traffic={"none": datagrams("receive", rate="1 /s").model_copy(update={"to": ("other",)})}, cost=costs
    )
    host = run(spec, 20 * MS, seed)
    names = ("halt_exit", "context_switch", "cache_refill_same", "vcpu_wake", "guest_timer_tick")
    tick = sum(round(1000 * costs[name]) for name in names)
    ticks = [world.used / tick for world in host.vcpus]
    assert ticks == pytest.approx([20_000 / period] * count, abs=1)
    assert all(world.used % tick == 0 for world in host.vcpus if world.last.running is None)
    assert host.busy(20 * MS) == sum(world.used for world in host.vcpus)
    assert sum(queue.interrupts for queue in host.queues) + sum(vcpu.interrupts for vcpu in host.vcpus) == 0
