"""Wiring information of a run: which context serves which queue, capacities, and busy time of wires."""

from __future__ import annotations

from pathlib import Path

from hostsim.campaign.simulate import simulate
from hostsim.config.nic import datagram_on_wire
from hostsim.engine.record import RunRecord
from hostsim.scenario.plan import point_at
from hostsim.units import transmission_ps
from tests.scenario.small_scenario import load_text


def small_run(folder: Path, *changes: tuple[str, str]) -> RunRecord:
    scenario = load_text(folder, ("length: 1 s", "length: 20 ms"), ("length: 500 ms", "length: 20 ms"), *changes)
    point = point_at(scenario, {"split": "1"})
    return simulate(point.spec, point_id=point.id, axes=point.axes, seed=1, replication=0)


def last(record: RunRecord, counter: str) -> list[int]:
    return record.series[counter].values[-1].tolist()


def test_queues_name_the_worlds_that_serve_them(tmp_path: Path) -> None:
    """Two VMs with two vNICs and two vCPUs, all split: each context by its index among its kind."""
    record = small_run(
        tmp_path,
        ("count: 2", "count: 2\n    vcpus: 2"),
        ("guest: rhel6", "guest: sles11"),
        ("networks: [vSwitch0]", "networks: [vSwitch0, vSwitch0]"),
        ('{ethernet0.emuRxMode: "0"}', '{ethernet1.emuRxMode: "0", ethernet1.ctxPerDev: 1}'),
    )
    vms = len(record.series["vcpu.node"].entities) // 2
    assert record.series["port.vcpu"].entities[:2] == ("receiver[0].eth0", "receiver[0].eth1")
    assert last(record, "port.vcpu") == list(range(2 * vms))
    names = record.series["networld.node"].entities
    assert [names[i] for i in last(record, "tx.context")][:2] == ["receiver[0].NetWorld", "receiver[0].NetWorld-eth1"]
    splits = record.series["splitrx.node"].entities
    assert [splits[i].partition(".")[0] if i >= 0 else "" for i in last(record, "port.context")][:2] == [
        "receiver[0]",
        "",
    ]
    assert last(record, "queue.context") == list(range(len(record.series["netpoll.node"].entities)))
    assert last(record, "pcpu.node") == sorted(last(record, "pcpu.node"))


def test_rings_say_what_fits(tmp_path: Path) -> None:
    """Descriptors of the NIC and the vNIC, and the context's queue between them."""
    record = small_run(tmp_path)
    spec = point_at(load_text(tmp_path), {"split": "1"}).spec
    vnic = spec.vms[0].settings.vnics[0]
    assert last(record, "queue.capacity") == [spec.hardware.nics["vmnic0"].rx_ring]
    assert set(last(record, "port.ring_capacity")) == {vnic.rx_ring}
    assert set(last(record, "port.split_capacity")) == {spec.settings.port_rx_queue}
    assert all(capacity > vnic.tx_ring for capacity in last(record, "tx.capacity"))


def test_a_wire_is_busy_for_as_long_as_its_frames_take(tmp_path: Path) -> None:
    """Each frame with preamble and gap at the wire's rate; nothing was sent."""
    record = small_run(tmp_path)
    frame = transmission_ps(datagram_on_wire(800), 10e9)
    assert record.total("nic.rx_frames") > 0
    assert last(record, "nic.rx_wire_ps") == [last(record, "queue.arrived")[0] * frame]
    assert last(record, "nic.tx_wire_ps") == [0]
