"""Impossible traffic between VMs: each is refused with line, value and allowed values."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.scenario.load import load
from tests.scenario.changed_text import faults_of

TEXT = """
scenario: local
question: What do VMs send each other?
platform: esxi-6.0
hardware: dell-r720
network: {vSwitch0: {uplinks: [vmnic0]}, vSwitch1: {uplinks: [vmnic1]}}
vms:
  tester: {count: 1, guest: linux5, networks: [vSwitch0, vSwitch0]}
  taker: {count: 2, guest: linux5, networks: [vSwitch0, vSwitch1]}
  old: {count: 1, guest: rhel6, networks: [vSwitch0]}
traffic:
  flood: {kind: vm_datagrams, sender: tester, to: taker, packet_size: 300 B, sent_by: poll, taken_by: xdp_drop}
  data: {kind: vm_tcp_stream, sender: tester, to: taker, vnic: 1, window: 64 KiB}
run: {length: 10 ms, replications: 1}
"""


def faults(folder: Path, *changes: tuple[str, str]) -> str:
    return faults_of(folder / "local.yaml", TEXT, *changes)


def test_the_scenario_is_sound_without_changes(tmp_path: Path) -> None:
    """Otherwise the faults below would have other causes."""
    path = tmp_path / "local.yaml"
    path.write_text(TEXT, encoding="utf-8")
    load(path)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("sender: tester, to: taker, packet", "sender: testers, to: taker, packet", "unknown group of VMs; given 'testers'"),
        ("sender: tester, to: taker, packet", "sender: taker, to: taker, packet", "also receives: taker"),
        ("sent_by: poll", "sent_by: poll, to_vnic: 2", "is not a vNIC of taker; given 2; allowed: an integer 0..1"),
        ("sent_by: poll", "sent_by: poll, to_vnic: 1", "is on another virtual switch, vSwitch1, with this vNIC"),
        ("300 B", "2000 B", "does not fit in a frame; given '2000 B'; allowed: at most 1472 B"),
        ("to: taker, packet", "to: old, packet", "taken_by: is not supported by the guest of old"),
        ("sent_by: poll", "sent_by: poll, streams: 2", "need one vCPU of tester each, starting with number 0; given 2; allowed: at most 1"),
        ("vnic: 1, window", "window", "needs vNIC 0 of tester for one process alone, and data uses it too"),
        ("sent_by: poll", "sent_by: poll, rate: 1 kpps", "sends at its maximum rate"),
        ("sent_by: poll", "sent_by: process", "needs exactly one pace"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """The fault describes the problem and, if there are any, the allowed values."""
    assert expected in faults(tmp_path, (old, new))


def test_a_window_is_held_against_the_segments_of_its_switch(tmp_path: Path) -> None:
    """Segments of jumbo frames exceed the smallest window of all."""
    jumbo = ("{uplinks: [vmnic0]}", "{uplinks: [vmnic0], mtu: 9000}")
    assert "window: is smaller than a segment" in faults(tmp_path, jumbo, ("64 KiB", "4 KiB"))


def test_cpu_work_and_a_process_that_polls_do_not_share_a_vcpu(tmp_path: Path) -> None:
    """CPU work would never run."""
    work = "  load: {kind: work, to: tester, rate: 10 /s, service: {mean: 10 us}}\nrun:"
    assert "keeps a vCPU of tester busy, and load is CPU work on it" in faults(tmp_path, ("run:", work))
