"""Refusals are known when the file is loaded; a difference names its other point."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.results.expect import Difference, Refusal, Refused
from hostsim.scenario.load import load
from tests.scenario.small_receiver import TEXT

SWEEP = "sweep: {vms: {set: vms.small.count, values: [1, 2]}}\n"
REFUSED = """\
expect:
  - name: too much
    between: [1, 1]
    refused:
      at: {vms: 2}
      cases: [{set: {vms.big.vcpus: 99}, names: vcpus}, {set: {network.vSwitch0.uplinks: [vmnic0, vmnic1]}, names: uplink of}]
      accepted: [{}, {vms.big.vcpus: 2}]
"""


def load_with(folder: Path, more: str):
    file = folder / "small.yaml"
    file.write_text(TEXT + SWEEP + more)
    return load(file)


def test_each_case_is_tried(tmp_path: Path) -> None:
    """The error has the message of the case; the scenario itself is unchanged."""
    scenario = load_with(tmp_path, REFUSED)
    assert scenario.expectations[0].form == Refused(
        (
            Refusal("vms.big.vcpus=99", "vcpus", ("is more than the host has PCPUs",)),
            Refusal("network.vSwitch0.uplinks=[vmnic0, vmnic1]", "uplink of", ("is already the uplink of vSwitch0",)),
            Refusal("", "", ()),
            Refusal("vms.big.vcpus=2", "", ()),
        )
    )
    assert [case.holds for case in scenario.expectations[0].form.cases] == [False, True, True, True]


def test_a_difference_has_two_points(tmp_path: Path) -> None:
    """The second equals the first except for the named values."""
    asked = "expect: [{name: more, metric: host_cpu, at: {vms: 2}, less: {vms: %s}, between: [0, null]}]\n"
    (expectation,) = load_with(tmp_path, asked % 1).expectations
    assert expectation.form == Difference("host_cpu", {"vms": 2}, {"vms": 1})
    with pytest.raises(InputError, match="would subtract the point from itself"):
        load_with(tmp_path, asked % 2)
