"""Before and after a change: the same arrivals on both sides, and an interval of the difference."""

from __future__ import annotations

import math

import matplotlib as mpl
import pandas as pd
import pytest

import hostsim
from hostsim.api import sides
from hostsim.results.estimate import paired_difference
from tests.tiny_scenario import TINY

mpl.use("agg")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("what-if") / "tiny.yaml"
    path.write_text(TINY)
    return path


def ask(tiny, *arguments, **options):
    return hostsim.what_if(tiny, *arguments, quick=True, jobs=1, results=tiny.parent / "results", **options)


@pytest.fixture(scope="module")
def slower(tiny):
    """A setting that no axis varies, over the whole sweep."""
    return ask(tiny, {"hardware.cpu.clock": "2 GHz"})


def test_differences_are_those_of_runs_paired_by_replication(slower):
    """Means, interval and pairing computed by hand from the two tables; three replications although the scenario has one."""
    row = slower.differences.only("guest_cpu").frame().iloc[0]
    sides = [
        results.table[(results.table["receivers"] == row["receivers"]) & (results.table["rate"] == row["rate"])]
        for results in (slower.before, slower.after)
    ]
    old, new = (side.sort_values("replication")["guest_cpu"].to_list() for side in sides)
    assert len(old) == len(new) == 3
    expected = paired_difference(new, old)
    assert [row["difference"], row["low"], row["high"]] == pytest.approx([expected.mean, expected.low, expected.high])
    assert row["change"] == pytest.approx(2.67 / 2 - 1, rel=0.01)  # work takes longer in proportion to the slower clock


def test_what_a_slower_clock_does_is_certain_and_shown(slower):
    """All points, without unchanged measures."""
    certain = slower.differences.certain
    assert {move.metric for move in certain} >= {"guest_cpu", "host_cpu", "latency_mean"}
    assert {move.metric for move in certain}.isdisjoint({"delivered", "rx_rate", "loss"})
    page = slower._repr_html_()
    assert "what if hardware.cpu.clock = 2 GHz" in page
    assert "guest_cpu" in page
    assert slower.notes == ()


def test_an_axis_is_changed_by_its_name_or_by_its_path(tiny):
    """It starts from the first value of the sweep, or the given one; other axes are compared point by point."""
    by_name = ask(tiny, {"receivers": 2}, axes={"rate": "5 kpps"})
    by_path = ask(tiny, {"vms.receiver.count": 2}, axes={"rate": "5 kpps"})
    pd.testing.assert_frame_equal(by_name.differences.frame(), by_path.differences.frame())
    assert list(by_name.before.table["receivers"].unique()) == [1]
    assert list(by_name.after.table["receivers"].unique()) == [2]
    assert {tuple(move.at) for move in by_name.differences} == {("rate",)}
    fewer = ask(tiny, {"receivers": 1}, axes={"receivers": 2, "rate": "5 kpps"})
    for one, other in zip(by_name.differences.only("host_cpu"), fewer.differences.only("host_cpu"), strict=True):
        assert one.difference.mean == pytest.approx(-other.difference.mean)


def test_a_cost_is_changed_by_its_name(tiny):
    """Packets and copies without a cost use less of a guest; the scenario has no key for costs."""
    found = ask(tiny, costs={"guest_rx_packet": 0, "copy_per_byte": 0}, axes={"receivers": 2})
    moves = found.differences.only("guest_cpu")
    assert all(move.difference.high < 0 for move in moves)
    assert found.changes == {"guest_rx_packet": "0", "copy_per_byte": "0"}
    assert "platform.costs.copy_per_byte.cycles=0" in found.after.provenance["set"]
    with pytest.raises(hostsim.InputError, match=r"unknown cost.*did you mean 'context_switch'"):
        ask(tiny, costs={"context_switsh": 0})


def test_what_changes_nothing_is_said(tiny):
    """An unchanged value: the points are the same host, and no difference is certain."""
    found = ask(tiny, {"traffic.stream.packet_size": "200 B"}, axes={"receivers": 1})
    assert found.notes == ("2 of 2 points have the same host before and after",)
    assert found.differences.certain == ()
    assert all(move.relative == 0 for move in found.differences if math.isfinite(move.difference.mean))
    assert "every 95 % interval contains 0" in found._repr_html_()


def test_one_replication_is_told_to_have_no_interval(tiny):
    """A given number of replications is exact."""
    found = ask(tiny, {"hardware.cpu.clock": "2 GHz"}, axes={"receivers": 1}, replications=1)
    assert "one replication has no interval" in found.notes[0]
    assert found.differences.certain == ()
    assert found.differences.frame()["low"].isna().all()


def test_both_sides_are_drawn_in_one_figure(slower, tiny):
    """Lines against the first axis that varies; bars if none does."""
    lines = slower.plot("host_cpu", by="rate")
    assert lines.get_xlabel() == "Receivers"
    assert "what if = after, rate = 5 kpps" in [text.get_text() for text in lines.get_legend().get_texts()]
    bars = ask(tiny, {"receivers": 2}, axes={"rate": "5 kpps"}).plot("host_cpu")
    assert [text.get_text() for text in bars.get_xticklabels()] == ["before", "after"]
    with pytest.raises(hostsim.InputError, match="did you mean 'host_cpu'"):
        slower.plot("host_cp")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (({},), "has no change"),
        (({"receiver": 2},), "did you mean 'receivers'"),
        (({"vms.receiver.cout": 2},), "did you mean 'count'"),
        (({"receivers": "many"},), "many"),
    ],
    ids=["nothing", "axis", "path", "value"],
)
def test_a_change_that_cannot_be_is_refused(tiny, asked, words):
    """Before anything runs."""
    with pytest.raises(hostsim.InputError, match=words):
        ask(tiny, *asked)


def test_a_changed_axis_has_one_value_before(tiny):
    """A change of two values would be two questions."""
    with pytest.raises(hostsim.InputError, match="several values before"):
        ask(tiny, {"receivers": 2}, axes={"receivers": [1, 2]})


@pytest.mark.parametrize("values", ["1, 2", "1..2"])
@pytest.mark.parametrize("name", ["receivers", "vms.receiver.count"])
def test_a_changed_axis_has_one_value_afterwards(tiny, name, values):
    """Runs of two hosts would count as replications of one."""
    with pytest.raises(hostsim.InputError, match="receivers: has several values after the change"):
        ask(tiny, {name: values}, axes={"rate": "5 kpps"})


def test_a_loaded_scenario_is_asked_with_its_options(tiny):
    """The options are those of `run`."""
    options = {
        "overrides": {"traffic.stream.packet_size": "400 B"},
        "axes": {"receivers": 1, "rate": ["2 kpps", "5 kpps"]},
    }
    by_name = sides(tiny, {"hardware.cpu.clock": "2 GHz"}, **options)
    by_scenario = sides(hostsim.load(tiny, **options), {"hardware.cpu.clock": "2 GHz"})
    for one, other in zip(by_name, by_scenario, strict=True):
        assert (one.departures, one.axes) == (other.departures, other.axes)
    assert by_scenario[1].departures == {"traffic.stream.packet_size": "400 B", "hardware.cpu.clock": "2 GHz"}
    fewer = sides(hostsim.load("first-sweep"), {"interrupts": 2000}, axes={"interrupts": 4000})
    assert [list(side.axes["interrupts"].values) for side in fewer] == [[4000], [2000]]


def test_an_axis_of_true_and_false_changes_like_any_other():
    """The value before the change is given, or is the first of its sweep."""
    for axes in ({"vxlan": False}, None):
        old, new = (side.axes["vxlan"] for side in sides("vxlan", {"vxlan": axes is not None}, axes=axes))
        assert [*old.values, *new.values] == [axes is None, axes is not None]  # noqa: PD011  of axes, not of frames
