"""Bandwidth laws over random hosts: traffic gets its documented part of an uplink; a shaped port never exceeds its rate.

`make verify` runs all hosts, other test runs the first few.
"""

from __future__ import annotations

import math
from random import Random

import pytest

from hostsim.config.network import Allocation, NiocSpec, ShapingSpec
from hostsim.config.nic import VSwitchSpec
from hostsim.config.vmkernel import VmkernelStreamSpec
from hostsim.units import MS, SECOND
from tests.model.small_point import CALM, datagrams, group, nic, point, run, stream

HOSTS, FEW = 60, 4
SEEDS = [seed if seed < FEW else pytest.param(seed, marks=pytest.mark.slow) for seed in range(HOSTS)]
KINDS = ("management", "fault_tolerance", "vmotion", "iscsi", "nfs", "vsphere_replication", "vsan", "backup")
LENGTH = 40 * MS
FRAME = 1_448 / 1_514
"""Data of a byte of a frame, as allocations count them."""


def fair(wire: float, shares: list[int], reserved: list[float], most: list[float]) -> list[float]:
    """Reservations first, as far as they are used; then the rest by shares, with unused parts redistributed by shares."""
    got = [min(one, limit) for one, limit in zip(reserved, most, strict=True)]
    hungry = {place for place in range(len(got)) if got[place] < most[place]}
    rest = wire - sum(got)
    while hungry and rest > 1e-9 * wire:
        each = rest / sum(shares[place] for place in hungry)
        full = {place for place in hungry if got[place] + each * shares[place] >= most[place]}
        for place in full or hungry:
            take = most[place] - got[place] if full else each * shares[place]
            got[place] += take
            rest -= take
        hungry = hungry - full if full else set()
    return got


@pytest.mark.parametrize("seed", SEEDS)
def test_each_kind_of_traffic_has_what_network_io_control_gives_it(seed: int) -> None:
    """For 2 to 6 kinds with random shares, reservations, limits and rates; and the wire is full if they demand that much."""
    random = Random(seed)
    line = random.choice([10e9, 25e9, 40e9])
    kinds = random.sample(KINDS, random.randint(2, 6))
    wire = line * 1_514 / 1_538
    system, traffic = {}, {}
    shares, reserved, most = [], [], []
    free = 0.75 * line
    for kind in kinds:
        share = random.randint(10, 100)
        own = free * random.random() / 2 if random.random() < 0.5 else 0.0
        free -= own
        limit = max(own, line * random.uniform(0.05, 0.9)) if random.random() < 0.3 else math.inf
        rate = line * random.uniform(0.02, 0.5) if random.random() < 0.4 else math.inf
        system[kind] = Allocation.model_validate(
            {"shares": share}
            | ({"reservation": f"{own} bit/s"} if own else {})
            | ({"limit": f"{limit} bit/s"} if limit < math.inf else {})
        )
        values = {
            "kind": "vmkernel_stream",
            "network": "vSwitch0",
            "system": kind,
            "window": "16 MiB",
            "delay": "20 us",
        }
        if rate < math.inf:
            values["rate"] = f"{rate * FRAME} bit/s"
        traffic[kind] = VmkernelStreamSpec.model_validate(values | {"stream_rate": f"{4 * line} bit/s"})
        shares.append(share)
        reserved.append(own)
        most.append(min(limit, rate))
    switches = {"vSwitch0": VSwitchSpec(uplinks="vmnic0", nioc=NiocSpec(system=system))}
    nics = {"vmnic0": nic(line_rate=f"{line} bit/s", tx_queue=65_536)}
    host = run(point(traffic=traffic, nics=nics, switches=switches, cost=CALM, cores=10), LENGTH)
    assert all(flow.lost_out == 0 for flow in host.flows)
    got = [flow.out * 8 * 1_514 * SECOND / LENGTH for flow in host.flows]
    # each may have a TSO packet and the time of a queue's first look more or less, in addition to a hundredth
    assert got == pytest.approx(fair(wire, shares, reserved, most), rel=0.02, abs=0.01 * wire)
    if sum(most) > wire:
        assert sum(got) == pytest.approx(wire, rel=0.01)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_shaped_port_has_no_more_than_its_bucket_and_no_less_than_its_average(seed: int) -> None:
    """For any traffic of a VM through any uplink; traffic below the average rate gets its demand."""
    random = Random(seed)
    size = random.choice([0, random.randint(100, 1_472)])
    average = 10 ** random.uniform(7, 9.3)
    if size:  # a process writes at most 500,000 datagrams per second
        average = min(average, 150e3 * 8 * (size + 42))
    peak = average * random.choice([1, 2, 10])
    burst = round(10 ** random.uniform(3, 6))
    shaping = {"average": f"{average} bit/s", "peak": f"{peak} bit/s", "burst": f"{burst} B"}
    switches = {"vSwitch0": VSwitchSpec(uplinks="vmnic0", shaping=ShapingSpec.model_validate(shaping))}
    wants = average * random.choice([0.3, 0.8, 2])
    if size:
        rate = wants / 8 / (size + 42)
        traffic = datagrams("send", packet_size=f"{size} B", rate=f"{rate} pps", burst=4)
    else:
        wants = math.inf
        traffic = stream("send", window=f"{random.choice([64, 256, 1024])} KiB", streams=random.randint(1, 4))
    spec = point(group(vcpus=2), traffic={"t": traffic}, switches=switches, cost={"copy_per_byte": 0}, cores=8)
    host = run(spec, LENGTH)
    octets = host.flows[0].out * (size + 42 if size else 1_514)
    packet = 65_536 * 1.05
    earned = average / 8 * LENGTH / SECOND
    assert octets <= earned + burst + packet
    assert octets <= peak / 8 * LENGTH / SECOND + packet
    if wants < 0.9 * average and burst > 6_000:
        offered = wants / 8 * LENGTH / SECOND
        assert octets == pytest.approx(offered, abs=9_000, rel=0.02)
        assert host.flows[0].lost_out == 0
    elif 2 * average <= wants < math.inf:
        assert octets >= 0.97 * earned - packet
