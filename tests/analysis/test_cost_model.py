"""Constants are named after their file, and replaced constants give the same scenario as edited files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hostsim.errors import InputError
from hostsim.scenario.cost_model import (
    Constant,
    Origin,
    constants_at,
    part_constants,
    scenario_inputs,
    shipped_constants,
    with_constants,
)
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from hostsim.scenario.shipped_data import predictions, shipped
from tests.loaded import loaded


def named(name: str, constants: tuple[Constant, ...] | None = None) -> Constant:
    return {constant.name: constant for constant in constants or shipped_constants()}[name]


def test_every_constant_has_one_name_and_lies_between_its_ends():
    found = shipped_constants()
    assert len({constant.name for constant in found}) == len(found)
    assert {constant.origin for constant in found} == set(Origin)
    for constant in found:
        low, high = constant.ends
        assert low <= constant.value <= high, constant.name
        assert low <= (constant.prior or low) <= high, constant.name
        assert constant.range or constant.origin is Origin.SOURCE, constant.name


def test_a_constant_says_what_its_file_says():
    """Of a cost, of an input with a unit, and of one assumption about three equal ports."""
    cost = named("esxi.costs.context_switch")
    assert (cost.value, cost.unit, cost.ends, cost.file) == (1900, "cycles", (1500, 2400), "esxi")
    timer = named("rhel6.housekeeping_period")
    assert (timer.unit, timer.ends) == ("ms", (8, 20))
    entry = named("esxi.costs.poll_entry")
    assert (entry.prior, entry.ends, entry.origin) == (4650, (2250, 7050), Origin.ASSUMED)
    step = named("hp-dl580-g7.nics.vmnic0..vmnic2.interrupt_step")
    assert step.paths == tuple(f"nics.vmnic{port}.interrupt_step" for port in range(3))
    assert (step.value, step.unit, step.ends) == (2, "us", (1, 4))


def test_ends_of_a_range_are_in_the_unit_of_the_value():
    """The balancer's period is 100 ms, with a range of 50 ms to 1 s."""
    assert named("esxi.netqueue.period").ends == (50, 1000)


def test_a_size_whose_range_ends_between_whole_units_is_moved_in_bytes():
    """Half a MiB would round to zero: an end of the range at which no host is possible."""
    inputs = scenario_inputs(load("40gbe-single"))["traffic.netperf.window"], scenario_inputs(load("numa-io"))
    window, whole = inputs[0], inputs[1]["traffic.netperf.window"]
    assert (window.ends, window.unit) == ((0.5, 4), "MiB")
    assert [window.written(value) for value in (0.5, 1.7, 4)] == ["524288 B", "1782579 B", "4 MiB"]
    assert [whole.written(value) for value in (1, 1.7, 4)] == ["1 MiB", "2 MiB", "4 MiB"]
    assert window.in_spec(0.5) == 524288


@pytest.mark.parametrize("name", [*shipped(), *predictions()])
def test_a_host_can_be_at_both_ends_of_every_input_by_itself(name: str):
    """As written in the file, a number is accepted by its key."""
    scenario = loaded(name)
    for path, constant in scenario_inputs(scenario).items():
        for end in constant.ends if not constant.words else ():
            written = constant.in_spec(end) * constant.value
            assert written == pytest.approx(constant.in_spec(constant.value) * end), path
            with_constants(scenario, {path: end})


def test_without_a_range_a_constant_lies_within_a_fifth():
    constant = replace(named("esxi.costs.vcpu_wake"), range=None)
    assert constant.ends == pytest.approx((0.8 * constant.value, 1.2 * constant.value))


def test_a_guest_that_extends_another_has_its_constants():
    """A constant that the successor does not override is only in the file of its predecessor."""
    scenario = load("directpath-workloads")
    names = {constant.name for constant in constants_at(scenario, scenario.first())}
    assert "sles11.applications.http_server" in names
    assert "rhel6.applications.http_server" not in names
    assert "rhel6.housekeeping_period" in names


def test_a_peer_has_constants_named_or_not():
    """The default one, and one that extends it."""
    for name, expected in (
        ("latency", {"linux.timer_jitter", "linux.answer_jitter"}),
        ("splitrx", {"linux.timer_jitter", "linux.answer_jitter", "esxi-vm.tx_coalescing.depth_cap"}),
    ):
        scenario = loaded(name)
        files = {constant.name for constant in constants_at(scenario, scenario.first())}
        assert expected <= files
        assert {file for _, file in part_constants(scenario, scenario.first())} >= {
            one.split(".")[0] for one in expected
        } - {"linux"}
        assert {a.path for a in scenario.assumptions if a.path.startswith("peer.")}
        assert load(name, {"peer": "ideal"}).changed == {"peer": "ideal"}


def test_factors_of_other_processors_are_none_of_a_host():
    """The factor of the processor whose cycles are the unit does not count either."""
    for name, expected in (
        ("dense-high", []),
        ("40gbe-single", ["esxi.costs.generations.sandy-bridge"]),
    ):
        scenario = loaded(name)
        found = [c.name for c in constants_at(scenario, scenario.first()) if "generations" in c.name]
        assert found == expected


def test_what_is_set_or_swept_is_no_constant():
    scenario = load(
        "dense-high",
        {"traffic.clients.objects": "9", "platform.costs.driver_rx.cycles": "300"},
        {"traffic.clients.delay": "20 us,90 us", "vms.web.guest.housekeeping_period": "9 ms,10 ms"},
    )
    gone = {"traffic.clients.objects", "esxi.costs.driver_rx", "traffic.clients.delay", "rhel6.housekeeping_period"}
    names = {constant.name for constant in constants_at(loaded("dense-high"), loaded("dense-high").first())}
    assert names - {constant.name for constant in constants_at(scenario, scenario.first())} == gone


@pytest.mark.parametrize("name", ["dense-high", "small-udp", "numa-io", "splitrx"])
def test_moving_constants_is_as_if_the_files_said_so(name: str):
    """All of them at once, to their upper ends: the same point, to the last digit."""
    scenario = loaded(name)
    guests = [f"vms.{group}.guest." for group in scenario.resolver.tree.get(("vms",))]
    values, overrides = {}, {}
    for constant in constants_at(scenario, scenario.first()):
        values[constant.name] = constant.ends[1]
        own = {
            "": [""],
            "esxi": ["platform."],
            "rhel5": guests,
            "rhel6": guests,
            "linux": ["peer."],
            "tester": ["peer."],
            "esxi-vm": ["peer."],
        }
        for prefix in own.get(constant.file, ["hardware."]):
            for path in constant.paths:
                overrides[prefix + path] = str(constant.written(constant.ends[1]))
    assert point_at(with_constants(scenario, values), {}).spec == point_at(load(name, overrides), {}).spec
    assert point_at(with_constants(scenario, values), {}).spec != point_at(scenario, {}).spec


def test_moving_nothing_changes_nothing():
    scenario = load("numa-io")
    same = {constant.name: constant.value for constant in constants_at(scenario, scenario.first())}
    for values in ({}, same):
        assert point_at(with_constants(scenario, values), {}).id == point_at(scenario, {}).id


def test_axes_and_set_stay_above_constants():
    """A swept input has the axis' value; an explicitly set value stays."""
    scenario = load("dense-high", {"platform.costs.driver_rx.cycles": "300"}, {"traffic.clients.delay": "20 us,90 us"})
    other = with_constants(scenario, {"esxi.costs.driver_rx": 1.0, "esxi.costs.driver_tx": 1.0})
    spec = point_at(other, {"traffic.clients.delay": "90 us"}).spec
    assert (spec.costs.driver_rx.cycles, spec.costs.driver_tx.cycles) == (300, 1)
    assert spec.traffic["clients"].delay == 90_000_000


def test_a_constant_that_does_not_stand_behind_a_scenario_moves_nothing():
    scenario = load("numa-io")
    assert (
        point_at(with_constants(scenario, {"sles11.applications.http_server": 1.0}), {}).id == point_at(scenario, {}).id
    )


def test_an_unknown_constant_is_refused_with_the_nearest():
    with pytest.raises(InputError, match=r"did you mean 'esxi\.costs\.driver_rx'"):
        with_constants(load("numa-io"), {"esxi.costs.driver_rxx": 1.0})
