"""Shipped data load, are found from anywhere, and are inside the wheel."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

import hostsim
from hostsim.config.workload import TcpSpec
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.invariants import check_invariants
from hostsim.results.expect import Band, Expectation, Find, Ratio
from hostsim.results.figure import AnswersSpec, TableSpec
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from hostsim.scenario.shipped_data import claims, known_red, measurements, predictions, shipped
from hostsim.units import MS
from tests.loaded import loaded
from tests.writable_copy import copy_tree

PACKAGE = Path(hostsim.__file__).parent
ROOT = PACKAGE.parent


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_scenario_expects_claims_as_published_and_draws_what_there_is(name):
    """Claims are those of the scoreboard with its bands; figures name measures and axes, or expectations."""
    scenario = loaded(name)
    for expectation in scenario.expectations:
        if expectation.is_claim:
            claim = claims()[expectation.name]
            assert (expectation.band, expectation.unit, expectation.published) == (
                claim.band,
                claim.unit,
                claim.published,
            )
    for figure in scenario.figures:
        if isinstance(figure, AnswersSpec):
            assert set(figure.answers) <= {expectation.name for expectation in scenario.expectations}
            continue
        if isinstance(figure, TableSpec):
            assert set(figure.answers) <= {expectation.name for expectation in scenario.expectations}
            assert set(figure.columns) <= set(CATALOGUE)
            assert {figure.x, *figure.at} - {""} <= set(scenario.axes)
            continue
        assert figure.y in CATALOGUE
        assert {figure.x, *figure.series, *figure.at} <= set(scenario.axes)


def test_no_claim_is_checked_twice_and_known_red_ones_are_checked():
    """Each row of the scoreboard belongs to one scenario."""
    checked = [entry.name for name in shipped() for entry in loaded(name).expectations if entry.is_claim]
    assert len(checked) == len(set(checked))
    assert set(known_red()) <= set(checked)


def reaches(expectations: Mapping[str, Expectation], name: str, low: float, high: float) -> list[str]:
    """Searches behind an expectation whose brackets cannot decide values near low or high; infinite for an open end."""
    form = expectations[name].form
    if isinstance(form, Find):
        holds = (form.start < low or low == -math.inf) and (form.stop > high or high == math.inf)
        return [] if holds else [f"{name}: {form.start} to {form.stop} does not reach past {low:g} to {high:g}"]
    if not isinstance(form, Ratio) or not isinstance(form.of, str) or not isinstance(form.to, str):
        return []
    if any(isinstance(expectations[side].form, Ratio) for side in (form.of, form.to)):
        return []  # of ratios of ratios: each of both is judged separately
    of, to = (ends(expectations[side].band) for side in (form.of, form.to))
    limits = [end for end in (low, high) if math.isfinite(end) and end > 0]  # an open end of a ratio requires nothing
    if not limits:
        return []
    return [
        *reaches(expectations, form.of, min(limits) * to[0], max(limits) * to[1]),
        *reaches(expectations, form.to, of[0] / max(limits), of[1] / min(limits)),
    ]


def ends(band: Band) -> tuple[float, float]:
    return -math.inf if band.low is None else band.low, math.inf if band.high is None else band.high


@pytest.mark.parametrize("name", shipped())
def test_the_brackets_of_shipped_searches_reach_past_their_bands(name):
    """Each claim on a threshold, or on a ratio of two whose other side is in its band, can fail at each end of its band."""
    expectations = {expectation.name: expectation for expectation in loaded(name).expectations}
    faults = [
        fault
        for expectation in expectations.values()
        for fault in reaches(expectations, expectation.name, *ends(expectation.band))
    ]
    assert faults == []


def test_no_module_knows_a_claim_or_a_scenario_by_name():
    """No result can depend on which experiment is being reproduced."""
    text = "\n".join(source.read_text(encoding="utf-8") for source in PACKAGE.rglob("*.py"))
    assert [published for published in (*claims(), *measurements()) if published in text] == []
    assert [file.name for file in (shipped() | predictions()).values() if file.name in text] == []


def test_no_experiment_has_a_sender_of_its_own():
    """An unmeasured host gets the same bursts by default."""
    flows = [flow for name in shipped() for flow in point_at(loaded(name), {}).spec.traffic.values()]
    assert {flow.burst for flow in flows if isinstance(flow, TcpSpec)} == {TcpSpec.model_fields["burst"].default}


MACHINE = """
scenario: machine
question: Does it run?
platform: PLATFORM
hardware: HARDWARE
network:
  vSwitch0: {uplinks: [vmnic0]}
vms:
  receiver: {count: 2, vcpus: 2, guest: GUEST, networks: [vSwitch0]}
traffic:
  in: {kind: udp_stream, to: receiver, direction: receive, packet_size: 500 B, rate: 2 kpps}
  out: {kind: udp_stream, to: receiver, direction: send, packet_size: 500 B, rate: 2 kpps}
run: {length: 20 ms, replications: 1}
"""


@pytest.mark.parametrize(
    ("platform", "hardware", "guest", "contexts"),
    [
        ("esxi-4.0", "opteron-2389", "rhel5", 1),
        ("esxi-7.0", "xeon-8160", "rhel7", 3),
        ("esxi-7.0", "xeon-8160", "rhel8", 3),
    ],
)
def test_machines_run_a_small_host(platform: str, hardware: str, guest: str, contexts: int, tmp_path: Path) -> None:
    """It runs without a warning, with the receive contexts of the NIC and the version, and with all invariants: two VMs, forty packets each way."""
    text = MACHINE.replace("PLATFORM", platform).replace("HARDWARE", hardware).replace("GUEST", guest)
    (tmp_path / "machine.yaml").write_text(text, encoding="utf-8")
    scenario = load(tmp_path / "machine.yaml")
    assert scenario.warnings == ()
    host = build_host(point_at(scenario, {}).spec, Streams(1, 0))
    host.probe.start()
    host.clock.advance(20 * MS)
    host.probe.sample()
    check_invariants(host)
    assert len(host.polls) == contexts
    into, out = host.flows
    host.nics["vmnic0"].depart(host.clock.now)
    assert (into.delivered, out.octets / 500) == pytest.approx((80, 80), abs=12)  # some are on their way


def test_the_wheel_takes_the_scenarios_along():
    """The build puts them where an installed package looks for them."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {"scenarios": "hostsim/shipped"}
    assert wheel["packages"] == ["hostsim"]


def test_an_installed_package_finds_them_without_a_checkout(tmp_path):
    """The layout of the wheel, in a folder with nothing else in it."""
    installed = tmp_path / "site" / "hostsim"
    copy_tree(PACKAGE, installed)
    copy_tree(ROOT / "scenarios", installed / "shipped")
    code = "import hostsim; from hostsim.scenario.shipped_data import shipped; print(hostsim.__file__); print(*shipped())\n"
    code += "print(hostsim.load(next(iter(shipped()))).file)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(installed.parent)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    where, names, file = done.stdout.splitlines()
    assert Path(where).parent == installed
    assert names.split() == list(shipped())
    assert Path(file).parent == installed / "shipped"
