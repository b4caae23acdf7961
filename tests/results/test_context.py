"""Contexts serve queues according to a run's counters, and CPU time is summed by owner."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from host_record import host_record, percent, with_function

from hostsim.engine.record import Series
from hostsim.results.context import (
    COLUMNS,
    CPU_COLUMNS,
    Row,
    contexts,
    contexts_frame,
    cpu_frame,
    cpu_time,
    fullest,
    owner_of,
    packed_contexts,
    packed_cpu,
)


def by_name(found: pd.DataFrame) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in found.to_dict("records")}


def test_every_world_pcpu_and_wire_has_a_row():
    """In the order of the receive path, then their PCPUs."""
    found = contexts(host_record())
    assert list(found.columns) == list(COLUMNS)
    kinds = ["netpoll"] * 2 + ["splitrx"] + ["networld"] * 2 + ["vcpu"] * 3 + ["pcpu"] * 4 + ["wire"] * 2
    assert found["kind"].tolist() == kinds
    assert found["name"].tolist()[-3:] == ["pcpu3", "vmnic0 receive", "vmnic0 transmit"]


def test_worlds_serve_the_queues_that_name_them():
    """For any order of queues; several queues of one world are listed together, and a world may have none."""
    found = contexts(host_record())
    assert dict(zip(found["name"], found["serves"], strict=True)) | {} == {
        "poll0": "vmnic0-rx1",
        "poll1": "vmnic0-rx0",
        "b.splitRx": "b.eth0",
        "a.NetWorld": "a.eth0, a.eth1",
        "b.NetWorld": "b.eth0",
        "a.vcpu0": "a.eth0, a.eth1",
        "a.vcpu1": "",
        "b.vcpu0": "b.eth0",
        **dict.fromkeys(("pcpu0", "pcpu1", "pcpu2", "pcpu3", "vmnic0 receive", "vmnic0 transmit"), ""),
    }


def test_times_and_rates_are_those_of_the_window():
    """Events before the cut do not count."""
    rows = by_name(
        contexts(
            host_record(
                {
                    "netpoll.used_ps": percent(80, 10),
                    "netpoll.ready_ps": percent(5, 0),
                    "netpoll.dispatches": (4000, 10),
                    "queue.taken": (10, 70_000),
                    "queue.dropped": (0, 300),
                    "port.received": (1000, 200, 30),
                    "port.split_taken": (0, 0, 500),
                    "tx.dropped": (1, 2, 4),
                    "pcpu.busy_ps": percent(100, 50, 0, 0),
                    "nic.rx_wire_ps": percent(40),
                    "nic.rx_frames": (70_010,),
                    "nic.tx_dropped": (7,),
                }
            )
        )
    )
    poll = {"used": 80.0, "ready": 5.0, "dispatches": 4000.0, "packets": 70_000.0, "dropped": 300.0}
    assert {name: rows["poll0"][name] for name in poll} == pytest.approx(poll)
    assert [rows[name]["packets"] for name in ("a.vcpu0", "b.vcpu0", "b.splitRx")] == [1200.0, 30.0, 500.0]
    assert rows["a.NetWorld"]["dropped"] == 3.0
    assert np.isnan(rows["a.vcpu1"]["packets"])
    assert [rows[name]["used"] for name in ("pcpu0", "pcpu1", "vmnic0 receive")] == [100.0, 50.0, 40.0]
    assert rows["vmnic0 receive"]["packets"] == 70_010.0
    assert rows["vmnic0 transmit"]["dropped"] == 7.0


def test_a_ring_is_as_full_as_it_was_at_the_end_of_a_slice():
    """The fullest ring of a world counts; packets in flight cannot raise it above 100 %."""
    rows = by_name(
        contexts(host_record({"queue.inside": (512, 64), "port.ring_inside": (64, 128, 999), "tx.inside": (0, 0, 0)}))
    )
    assert [rows[name]["fill"] for name in ("poll0", "poll1", "a.vcpu0", "b.vcpu0")] == [25.0, 100.0, 50.0, 100.0]
    assert rows["b.NetWorld"]["fill"] == pytest.approx(100 * 7 / 1512)  # at the start of the window


def test_the_ring_of_a_function_is_a_queue_of_the_nic():
    """Its vCPU gets the drops and the largest number of frames of that queue, not of a ring of a vNIC."""
    counters = {
        "queue.inside": (128, 0),
        "queue.dropped": (30, 0),
        "queue.context": (-1, 0),
        "port.ring_inside": (0, 0, 0),
    }
    row = by_name(contexts(with_function(host_record(counters))))["a.vcpu0"]
    assert (row["fill"], row["dropped"], row["serves"]) == (50.0, 30.0, "vmnic0-vf0-rx0, a.eth1")


def test_the_home_of_a_world_is_where_it_was_longest():
    """A VM that moved late is listed at its earlier node."""
    record = host_record({"vcpu.node": (1, 0, 1)})
    moved = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]], np.int64)
    record = replace(record, series={**record.series, "vcpu.node": Series(record.series["vcpu.node"].entities, moved)})
    rows = by_name(contexts(record))
    assert [rows[f"{name}.vcpu0"]["node"] for name in ("a", "b")] == [1, 0]
    assert [rows[f"pcpu{i}"]["node"] for i in range(4)] == [0, 0, 1, 1]


def test_work_is_served_as_well():
    """A vCPU with bursts of work says so, and counts only its packets."""
    record = host_record({"port.received": (0, 0, 30)})
    work = {
        "work.started": Series(("b.vcpu0",), np.array([[0], [5], [5], [25]], np.int64)),
        "work.dropped": Series(("b.vcpu0",), np.array([[0], [0], [1], [1]], np.int64)),
    }
    row = by_name(contexts(replace(record, series={**record.series, **work})))["b.vcpu0"]
    assert (row["serves"], row["packets"], row["dropped"]) == ("b.eth0, work", 30.0, 0.0)


def many(used: list[float]) -> list[Row]:
    return [{"kind": "vcpu", "name": f"v{i}", "serves": "x", "node": 0, "used": share} for i, share in enumerate(used)]


@pytest.mark.parametrize(
    ("used", "names", "last"),
    [
        ([1, 9, 3, 7, 5], ["v1", "v3", "v4", "mean of 2 others"], 2.0),
        ([1, 9, 3, 7], ["v1", "v3", "v2", "v0"], 1.0),  # no mean of one
        ([0, 9, 0, 0], ["v1", "mean of 3 others"], 0.0),  # idle ones are not listed separately
        ([0, 0], ["mean of 2"], 0.0),
        ([0], ["v0"], 0.0),
    ],
)
def test_the_fullest_stand_for_themselves_and_the_rest_for_their_mean(
    used: list[float], names: list[str], last: float
) -> None:
    """By charged time; among equal ones the first."""
    found = fullest(many(used))
    assert [row["name"] for row in found] == names
    assert found[-1]["used"] == last


def test_pcpus_are_told_by_node():
    """A host has too many of them to list."""
    found = contexts_frame({"p": packed_contexts(host_record({"pcpu.busy_ps": percent(100, 50, 20, 0)}))})
    rows = found[found["kind"] == "pcpu"]
    assert rows[["name", "node", "used"]].to_numpy().tolist() == [["mean of 2", 0, 75.0], ["mean of 2", 1, 10.0]]


def test_a_frame_has_all_columns_and_their_units():
    """Of no points, too."""
    found = contexts_frame({})
    assert list(found.columns) == ["point", *COLUMNS]
    assert found.attrs["units"]["used"] == "%"


BUSY = {
    "pcpu.busy_ps": percent(100, 60, 20, 0),
    "vcpu.used_ps": percent(50, 30, 40),
    "splitrx.used_ps": percent(10),
    "netpoll.used_ps": percent(20, 5),
    "networld.used_ps": percent(5, 20),
    "vcpu.dispatches": (5, 3, 2),
}


def test_shares_add_up_to_all_pcpus() -> None:
    """Four PCPUs, 45 % busy: charges of contexts, and the rest idle."""
    frame = cpu_time(host_record(BUSY))
    assert tuple(frame) == CPU_COLUMNS
    assert frame["share"].sum() == pytest.approx(100)
    idle = frame.set_index("kind").loc["idle"]
    assert (idle["used"], idle["share"]) == (pytest.approx(220), pytest.approx(55))


def test_contexts_are_told_apart_by_kind_and_by_whom_they_serve() -> None:
    """Two VMs, each with its own row."""
    frame = cpu_time(host_record(BUSY)).set_index(["kind", "owner"])
    assert frame.loc[("vcpu", "a"), ["worlds", "used", "dispatches"]].to_list() == pytest.approx([2, 80, 8])
    assert frame.loc[("vcpu", "b"), ["worlds", "used", "dispatches"]].to_list() == pytest.approx([1, 40, 2])
    assert frame.loc[("networld", "b"), "used"] == pytest.approx(20)


@pytest.mark.parametrize(
    ("kind", "world", "owner"),
    [
        ("vcpu", "web[3].vcpu0", "web"),
        ("networld", "web-1[12].NetWorld-eth0", "web-1"),
        ("netpoll", "vmnic0-pollWorld-2", "vmnic0"),
        ("firmware", "pcpu3.firmware", ""),
    ],
)
def test_a_world_is_of_what_its_name_says(kind: str, world: str, owner: str) -> None:
    """Names of worlds start with the VM or the NIC."""
    assert owner_of(kind, world) == owner


def test_points_have_the_means_of_their_replications() -> None:
    """Without runs the frame still has all columns."""
    other = host_record({**BUSY, "vcpu.used_ps": percent(70, 30, 40)}, replication=1)
    runs = [("p", packed_cpu(record)) for record in (host_record(BUSY), other)]
    frame = cpu_frame(runs).set_index(["point", "kind", "owner"])
    assert frame.loc[("p", "vcpu", "a"), "used"] == pytest.approx(90)
    assert list(cpu_frame([])) == ["point", *CPU_COLUMNS]
