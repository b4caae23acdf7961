"""Where the CPU time went adds up, and is said of whom it served."""

from __future__ import annotations

import pytest
from host_record import host_record, percent

from hostsim.results.context import CPU_COLUMNS, cpu_frame, cpu_time, owner_of, packed_cpu

BUSY = {
    "pcpu.busy_ps": percent(100, 60, 20, 0),
    "vcpu.used_ps": percent(50, 30, 40),
    "splitrx.used_ps": percent(10),
    "netpoll.used_ps": percent(20, 5),
    "networld.used_ps": percent(5, 20),
    "vcpu.dispatches": (5, 3, 2),
}


def test_shares_add_up_to_all_pcpus() -> None:
    """Four of them, 45 % busy: what contexts were charged, and the rest idle."""
    frame = cpu_time(host_record(BUSY))
    assert tuple(frame) == CPU_COLUMNS
    assert frame["share"].sum() == pytest.approx(100)
    idle = frame.set_index("kind").loc["idle"]
    assert (idle["used"], idle["share"]) == (pytest.approx(220), pytest.approx(55))


def test_contexts_are_told_apart_by_kind_and_by_whom_they_serve() -> None:
    """Two VMs, each a row of its own."""
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
    """Of no runs there is a frame with all columns."""
    other = host_record({**BUSY, "vcpu.used_ps": percent(70, 30, 40)}, replication=1)
    runs = [("p", packed_cpu(record)) for record in (host_record(BUSY), other)]
    frame = cpu_frame(runs).set_index(["point", "kind", "owner"])
    assert frame.loc[("p", "vcpu", "a"), "used"] == pytest.approx(90)
    assert list(cpu_frame([])) == ["point", *CPU_COLUMNS]
