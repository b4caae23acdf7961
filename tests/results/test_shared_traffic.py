"""Measures of VM groups beside traffic that several of them share, and beside traffic of no group."""

from __future__ import annotations

from pathlib import Path

import pytest

import hostsim
from hostsim.cli.answer import answer
from hostsim.results.bottleneck import bottleneck
from hostsim.results.metrics.subject import Subject
from hostsim.results.results import Results
from hostsim.views.explorer.data import Side, explorer_data

TEXT = """
scenario: shared
question: What does each group carry?
platform: esxi-5.0
hardware: dell-r810
network: {vSwitch0: {uplinks: [vmnic0]}}
vms:
  front: {count: 1, guest: rhel6, networks: [vSwitch0]}
  back: {count: 1, guest: rhel6, networks: [vSwitch0]}
  alone: {count: 1, guest: rhel6, networks: [vSwitch0]}
  idle: {count: 1, guest: rhel6, networks: [vSwitch0]}
  none: {count: 0, guest: rhel6, networks: [vSwitch0]}
traffic:
  both: {kind: udp_stream, to: [front, back], direction: receive, packet_size: 200 B, rate: 2 kpps, service: 1 ms}
  alone: {kind: udp_stream, to: alone, direction: receive, packet_size: 200 B, rate: 1 kpps}
  empty: {kind: udp_stream, to: none, direction: receive, packet_size: 200 B, rate: 1 kpps}
  jobs: {kind: work, to: front, rate: 100 /s, service: {distribution: constant, mean: 8 ms}}
  storage: {kind: vmkernel_stream, network: vSwitch0, system: backup, window: 1 MiB, rate: 1 Gbit/s}
run: {length: 60 ms, replications: 1, quick: {length: 60 ms, replications: 1}}
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Results:
    path = tmp_path_factory.mktemp("shared") / "shared.yaml"
    path.write_text(TEXT)
    return hostsim.run(path, quick=True, jobs=1, results=path.parent / "results")


def test_traffic_of_the_vmkernel_and_of_groups_without_vms_belongs_to_no_group(shared: Results) -> None:
    """The measures of a group are known beside it, and its bottleneck is found on its own path."""
    record = shared.record()
    assert Subject("group", "alone").traffic(record) == ("alone",)
    assert shared["loss of group alone"].to_list() == [0.0]
    busiest = {group: bottleneck(record, f"group {group}").context for group in ("front", "alone")}
    assert busiest == {"front": "front[0].vcpu0", "alone": "vmnic0-pollWorld-0"}


def test_a_group_without_traffic_has_no_bottleneck(shared: Results) -> None:
    """A full vCPU of another group does not limit it."""
    record = shared.record()
    assert str(bottleneck(record, "group front")).startswith("context ")
    assert str(bottleneck(record, "group idle")) == "none"


def test_shared_traffic_follows_the_groups_in_the_table(shared: Results) -> None:
    """Its measures are those of the traffic entry; the groups have a dash."""
    frame = shared.subjects.set_index(["kind", "subject"])
    groups = [("group", name) for name in ("front", "back", "alone", "idle")]
    assert list(frame.index) == [*groups, ("traffic", "both")]
    assert frame["throughput"].isna().to_list() == [True, True, False, False, False]
    assert frame.loc[("traffic", "both"), "throughput"] == shared["throughput of both"].iloc[0]
    lines = answer(shared).partition("by VM group at the only point\n")[2].splitlines()
    assert lines[0].split() == ["front", "back", "alone", "idle", "traffic", "both"]


def test_measures_in_the_explorer_have_the_kind_if_a_group_and_traffic_have_one_name(shared: Results) -> None:
    """Otherwise the page has no measure of any group."""
    found = {measure["name"] for measure in explorer_data(Side(shared, "these"))["measures"]}
    assert {"guest_cpu of group front", "throughput of group alone", "throughput of traffic both"} <= found


def test_measures_in_the_explorer_have_no_kind_otherwise(tmp_path: Path) -> None:
    """Without an ambiguous name the explorer's measures have no kind."""
    path = tmp_path / "shared.yaml"
    path.write_text(TEXT.replace("alone: {kind", "own: {kind"))
    found = hostsim.run(path, quick=True, jobs=1, results=tmp_path / "results")
    names = {measure["name"] for measure in explorer_data(Side(found, "these"))["measures"]}
    assert {"guest_cpu of front", "throughput of alone", "throughput of both"} <= names
