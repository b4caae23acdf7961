"""The stages of a round trip: calculated by hand to the picosecond; their sum is the response time under any other load."""

from __future__ import annotations

import pytest

from hostsim.config.nic import TCP_HEADERS, VSwitchSpec, packet_on_wire
from hostsim.config.platform import Coalescing
from hostsim.config.traffic import Traffic
from hostsim.engine.record import RunRecord
from hostsim.model.contract import STAGES
from hostsim.model.host import Host
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.units import MS
from tests.model.small_point import CALM, ROUND, echoes, group, multicast, nic, point, run, stream, vnic, work

NS = 1000
FRAME = packet_on_wire(100 + TCP_HEADERS) * 8 * NS // 10
"""Picoseconds of a frame with 100 bytes of data at 10 Gbit/s."""
ALONE = {
    "wire": 2 * FRAME + 10_000 * NS,
    "moderation": 0,
    "netpoll_wait": 300 * NS + 400 * NS,  # interrupt, entry
    "vswitch": 70 * NS + 30 * NS + 25 * NS + 40 * NS + 150 * NS,  # driver, forwarding, copy, shared lines, delivery
    "coalescing": 0,
    "wake": (800 + 220) * NS,
    "guest": 250 * NS + 900 * NS + 1000 * NS + 25 * NS + 2000 * NS + 350 * NS + 25 * NS,  # see test_transaction
    "transmit": 400 * NS + 170 * NS + 25 * NS + 30 * NS + 80 * NS,  # entry, the packet, its copy, forwarding, driver
}
"""A request on an idle host; calls are free."""


def each(host: Host) -> dict[str, float]:
    """Picoseconds of a round trip by stage."""
    flow = host.flows[0]
    return {stage: spent / flow.answered for stage, spent in zip(STAGES, flow.stages, strict=True)}


def alone(**options: str) -> dict[str, float]:
    coalescing = Coalescing(scheme="rbc", rate=int(options.pop("rate", "100000")), depth=1, timeout=4 * MS)
    nics = {"vmnic0": nic(**options)}
    return each(
        run(
            point(
                group(vnics=(vnic(coalescing=coalescing),)),
                traffic={"echo": echoes()},
                nics=nics,
                cost=CALM | {"vmk_call": 0},
            )
        )
    )


def test_a_request_that_meets_nobody() -> None:
    """Every stage, to the picosecond."""
    assert alone() == ALONE
    assert sum(ALONE.values()) == 2 * FRAME + 17_290_000


def test_what_holds_interrupts_back_has_a_stage_of_its_own() -> None:
    """An interval of 30 us delays at the NIC, and 250 us at the vNIC in two of five windows (after those without a wait); the rest is unchanged."""
    whole = sum(ALONE.values())
    held = alone(interrupt_interval="30 us")
    assert held["moderation"] == pytest.approx(30_000 * NS - whole, rel=0.01)
    assert held | {"moderation": 0} == ALONE
    moderated = alone(rate="4000")
    passing, held_back = 3 / whole, 2 / (whole + 250_000 * NS)
    share = held_back / (passing + held_back)
    assert moderated["coalescing"] == pytest.approx(share * 250_000 * NS, rel=0.1)
    assert moderated | {"coalescing": 0} == ALONE


BUSY: dict[str, Traffic] = {"load": work("2000 /s", "300 us"), "in": stream("receive")}


@pytest.mark.parametrize(
    ("vms", "more"),
    [
        pytest.param({"vcpus": 3}, {}, id="several vCPUs"),
        pytest.param({"vcpus": 2, "exclusive": True}, BUSY, id="PCPUs of its own, beside other traffic"),
        pytest.param({"count": 4, "vcpus": 2}, BUSY, id="more vCPUs than PCPUs"),
        pytest.param({"passthrough": ("vmnic0",), "networks": (), "vnics": ()}, {}, id="passed-through NIC"),
    ],
)
def test_stages_add_up(vms: dict[str, object], more: dict[str, Traffic]) -> None:
    """The sum is the response time in picoseconds; no stage is negative."""
    passed = "passthrough" in vms
    values = {"vnics": (vnic(),)} | vms
    switch = {"vSwitch0": VSwitchSpec(uplinks="vmnic1" if passed else "vmnic0")}
    nics = {"vmnic0": nic(interrupt_interval="20 us", rss=True, rx_queues=4), "vmnic1": nic()}
    spec = point(group(**values), traffic={"echo": echoes(8)} | more, nics=nics, switches=switch, cost=ROUND)
    flow = run(spec).flows[0]
    flow.response.flush()
    assert flow.answered > 500
    assert min(flow.stages) >= 0
    assert sum(flow.stages) == flow.response.total
    if passed:
        assert [
            flow.stages[STAGES.index(stage)] for stage in ("netpoll_wait", "vswitch", "coalescing", "transmit")
        ] == [0] * 4


def test_measures_are_means_of_round_trips() -> None:
    """In microseconds; traffic of other kinds has none."""
    host = run(
        point(group(vnics=(vnic(),)), traffic={"echo": echoes(), "in": multicast(1 * MS)}, cost=CALM | {"vmk_call": 0})
    )
    instants, series, histograms = host.probe.collect()
    record = RunRecord("", 0, 1, {}, instants, series, histograms, cut=0)
    assert series["trip.count"].entities == ("echo",)
    for stage, spent in ALONE.items():
        assert CATALOGUE[f"stage_{stage}"].evaluate(record) == pytest.approx(spent / 1e6)
