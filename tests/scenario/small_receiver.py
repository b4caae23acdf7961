"""A small receive scenario for tests of single changes: two groups, two switches, TCP."""

from __future__ import annotations

from pathlib import Path

from hostsim.scenario.scenario import Scenario
from tests.scenario import changed_text

TEXT = """\
scenario: small
question: What is received?
platform: esxi-6.0
hardware: dell-r720
host:
  nics: {vmnic0: {rss_rings: 4, drss: 2}}
network:
  vSwitch0: {uplinks: [vmnic0], mtu: 9000}
  vSwitch1: {uplinks: vmnic1, vxlan: true}
vms:
  big: {count: 1, vcpus: 4, guest: rhel6, networks: [vSwitch0, vSwitch1], vmx: {ethernet0.pnicFeatures: "4"}}
  small: {count: 2, guest: rhel6, networks: vSwitch1, rx_ring: 1024, tx_ring: 2048}
traffic:
  netperf: {kind: tcp_stream, to: [big, small], direction: receive, window: 256 KiB}
  files: {kind: http, to: big, vnic: 1, method: post, size: 1 MB, connections: 10, window: 32 KiB, port: 40000}
"""


def changed(*changes: tuple[str, str]) -> str:
    """The text with the first occurrence of each old text replaced."""
    return changed_text.changed(TEXT, *changes)


def load_text(folder: Path, *changes: tuple[str, str], **options: dict[str, str]) -> Scenario:
    """Loads the changed text from a separate file."""
    return changed_text.load_changed(folder / "small.yaml", TEXT, *changes, **options)
