"""A small scenario file for tests of single changes, and records for searches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hostsim.engine.record import RunRecord, Scalar, Series
from hostsim.scenario.scenario import Scenario
from tests.scenario import changed_text

TEXT = """\
scenario: small
question: What happens?
platform: esxi-5.0
hardware: dell-r810
network:
  vSwitch0: {uplinks: [vmnic0]}
vms:
  receiver:
    count: 2
    guest: rhel6
    networks: [vSwitch0]
    vmx: {ethernet0.emuRxMode: "0"}
traffic:
  stream: {kind: multicast, to: receiver, packet_size: 800 B, rate: 40 kpps}
run: {length: 1 s, replications: 2, quick: {length: 500 ms, replications: 1}}
sweep:
  receivers: {set: vms.receiver.count, values: [1, 2]}
  split: {set: vms.receiver.vmx.ethernet0.emuRxMode, values: ["0", "1"]}
figures:
  loss: {x: receivers, y: loss, series: split}
expect:
  - name: mine
    metric: loss
    at: {receivers: 2}
    between: [0, 1 %]
"""


def changed(*changes: tuple[str, str]) -> str:
    """The text with the first occurrence of each old text replaced."""
    return changed_text.changed(TEXT, *changes)


def load_text(
    folder: Path,
    *changes: tuple[str, str],
    overrides: Mapping[str, str] | None = None,
    axes: Mapping[str, str] | None = None,
) -> Scenario:
    """Loads the changed text from a separate file."""
    return changed_text.load_changed(folder / "small.yaml", TEXT, *changes, overrides=overrides, axes=axes)


def record(
    key: tuple[str, int], axes: Mapping[str, Scalar], dropped: int, error: str | None = None, of: int = 1_000_000
) -> RunRecord:
    """A run with a number of dropped packets, by default of a million."""
    series = {
        name: Series(("all",), np.array([[0], [value]], dtype=np.int64))
        for name, value in (("guest.read", of - dropped), ("port.ring_lost", dropped))
    }
    instants = np.array([0, 10**12], dtype=np.int64)
    return RunRecord(key[0], key[1], 1, dict(axes), instants, series, {}, 0, error=error)
