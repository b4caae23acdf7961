"""Conditions, states and units of claims as read from a file, and their faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.results.expect import Always, Compared, Form, Limit, Monotone, Switches, Within
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.functions import Metric
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.planner import make_plan
from tests.scenario.small_scenario import TEXT

MINE = "  - name: mine\n    metric: loss\n    at: {receivers: 2}\n    between: [0, 1 %]\n"


def written(folder: Path, question: str, asked: str = "name: it, between: [1, 1]") -> Path:
    """A file with this expectation only, on line 22."""
    file = folder / "small.yaml"
    file.write_text(TEXT.replace(MINE, f"  - {{{asked}, {question}}}\n"), encoding="utf-8")
    return file


def form(folder: Path, question: str) -> Form:
    (expectation,) = load(written(folder, question)).expectations
    assert expectation.unit == "boolean"
    return expectation.form


def faults(folder: Path, question: str, asked: str = "name: it, between: [1, 1]") -> list[str]:
    file = written(folder, question, asked)
    with pytest.raises(InputError) as caught:
        load(file)
    return [line.removeprefix(f"{file}:") for line in str(caught.value).splitlines()]


def test_every_condition_is_read(tmp_path: Path) -> None:
    """Limits are in the metric's unit; axes are filled in except the one along which a condition runs."""
    found = form(
        tmp_path,
        "always: ["
        "{metric: loss, is: not falling, along: receivers, values: [1, 2, 4]},"
        "{metric: latency_p95, below: 1 ms, along: receivers, values: ['1', 3], at: {split: 1}},"
        "{metric: host_cpu, above: 95 %, at: {receivers: 2}},"
        "{metric: delivered, of: {split: 1}, to: {split: 0}, at: {receivers: 2}, above: 1.2}]",
    )
    assert found == Always(
        (
            Monotone("loss", "not falling", "receivers", (1, 2, 4), {"split": "0"}),
            Within("latency_p95", Limit(below=1000.0), {"split": "1"}, "receivers", (1, 3)),
            Within("host_cpu", Limit(above=95.0), {"receivers": 2, "split": "0"}),
            Compared("delivered", {"split": "1"}, {"split": "0"}, Limit(above=1.2), {"receivers": 2, "split": "0"}),
        )
    )


def test_one_condition_needs_no_list(tmp_path: Path) -> None:
    """Both notations are equivalent."""
    alone = "{metric: loss, is: rising, along: receivers, values: [1, 2]}"
    assert form(tmp_path, f"always: {alone}") == form(tmp_path, f"always: [{alone}]")


def test_every_point_that_a_condition_looks_at_is_run(tmp_path: Path) -> None:
    """Each once, in the order of the file."""
    conditions = (
        "{metric: loss, is: rising, along: receivers, values: [1, 3]}, {metric: loss, below: 1, at: {split: 1}}"
    )
    both = "{metric: loss, of: {split: 1}, to: {split: 0}, below: 2, at: {receivers: 3}}"
    scenario = load(written(tmp_path, f"always: [{conditions}, {both}]"))
    plan = make_plan(scenario, Fidelity(quick=True), sweep=False)
    assert [tuple(task.point.axes.values()) for task in plan.tasks] == [(1, "0"), (3, "0"), (1, "1"), (3, "1")]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("{metric: los, below: 1}", "metric: unknown metric; given 'los'"),
        ("{metric: loss, blow: 1}", "blow: unknown key; given 1; allowed: one of metric, is, along"),
        ("{metric: loss, below: 1, at: {splt: 1}}", "at.splt: unknown axis; given 'splt'; allowed: one of receivers"),
        ("{metric: loss, below: 1 ms}", "below: has the unit 'ms', which is not one of percent; given '1 ms'"),
        ("{metric: loss, is: growing, along: receivers, values: [1, 2]}", "is: is not one of the choices; given 'grow"),
        ("{metric: loss, is: rising, along: receivers, values: [1]}", " moves along fewer than two values; allowed"),
        ("{metric: loss, is: rising, along: receivers, values: [1, 1]}", "values: has a value twice; given [1, 1]"),
        ("{metric: loss}", " needs exactly one condition; allowed: one of is, below, above"),
        ("{metric: loss, below: 1, above: 0}", " needs exactly one condition; allowed"),
        (
            "{metric: loss, below: 1, along: receivers}",
            " is an incomplete line; allowed: along: AXIS and values: [...]",
        ),
        ("{metric: loss, below: 1, of: {split: 0}}", " is an incomplete ratio; allowed: of: {AXIS: VALUE} and to"),
        (
            "{metric: loss, below: 1, of: {split: 0}, to: {split: 1}, along: receivers, values: [1]}",
            " is a ratio and a line; allowed",
        ),
        (
            "{metric: loss, below: 1 %, of: {split: 0}, to: {split: 1}}",
            "below: has a unit, and the quantity has none; given '1 %'",
        ),
        ("{metric: loss, below: 1, of: {split: 0}, to: {split: '0'}}", "to: is the point that of is; given"),
    ],
)
def test_a_wrong_condition_is_told_at_its_place(tmp_path: Path, condition: str, expected: str) -> None:
    """Alone or in a list, without duplicates."""
    key = "" if expected.startswith(" ") else "."
    (told,) = faults(tmp_path, f"always: {condition}")
    assert told.startswith(f"22: expect[0].always{key or ':'}{expected}")
    sound = "{metric: loss, below: 1}"
    (told,) = faults(tmp_path, f"always: [{sound}, {condition}]")
    assert told.startswith(f"22: expect[0].always[1]{key or ':'}{expected}")


@pytest.mark.parametrize(
    ("below", "thresholds"),
    [
        ("40", (40.0, 40.0)),
        ("40 %", (40.0, 40.0)),
        ("receivers", (1.0, 2.0)),  # the value of the axis at each case
    ],
)
def test_a_state_against_a_threshold_is_read(tmp_path: Path, below: str, thresholds: tuple[float, ...]) -> None:
    """A number, a quantity, or an axis; cases are completed with first values."""
    found = form(
        tmp_path,
        f"switches: {{state: guest_ready, when: netpoll_cpu, below: {below}, cases: [{{split: 1}}, {{receivers: 2}}]}}",
    )
    cases = ({"receivers": 1, "split": "1"}, {"receivers": 2, "split": "0"})
    assert found == Switches("guest_ready", "netpoll_cpu", cases, thresholds)


def test_the_points_of_a_state_are_run(tmp_path: Path) -> None:
    """They are the points of the cases, also outside the sweep."""
    question = "switches: {state: guest_ready, when: netpoll_cpu, below: 40 %, cases: [{receivers: 3}, {receivers: 1}]}"
    plan = make_plan(load(written(tmp_path, question)), Fidelity(quick=True), sweep=False)
    assert [task.point.axes["receivers"] for task in plan.tasks] == [3, 1]


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        ("state: loss, when: los, below: 1, cases: [{}]", "when: unknown metric; given 'los'"),
        (
            "state: delivered, when: loss, below: 1, cases: [{}]",
            "state: is in pps; given 'delivered'; allowed: a metric",
        ),
        ("state: loss, when: host_cpu, below: reciever, cases: [{}]", "below: unknown axis; given 'reciever'"),
        ("state: loss, when: host_cpu, below: 4 ms, cases: [{}]", "below: has the unit 'ms', which is not one of perc"),
        ("state: loss, when: host_cpu, below: 4, cases: []", "cases: has too few entries; given []"),
        ("state: loss, when: host_cpu, below: 4, cases: [{}, {x: 1}]", "cases[1].x: unknown axis; given 'x'"),
        (
            "state: loss, when: host_cpu, below: 4, cases: [{receivers: -1}]",
            "vms.receiver.count: is too small; given -1",
        ),
        ("state: loss, below: 4, cases: [{}]", "when: is missing; allowed: text"),
    ],
)
def test_a_wrong_state_is_told_at_its_place(tmp_path: Path, switches: str, expected: str) -> None:
    """Like all other names in a file."""
    (told,) = faults(tmp_path, f"switches: {{{switches}}}")
    shown = expected if expected.startswith("vms.") else f"expect[0].switches.{expected}"
    assert told.startswith(f"22: {shown}")


def test_an_axis_that_is_no_number_is_no_threshold(tmp_path: Path) -> None:
    """The value and the allowed values are reported."""
    file = written(tmp_path, "switches: {state: loss, when: host_cpu, below: nic, cases: [{nic: vmnic1}]}")
    text = file.read_text(encoding="utf-8")
    file.write_text(
        text.replace("  split: {", "  nic: {set: network.vSwitch0.uplinks, values: [vmnic0]}\n  split: {"),
        encoding="utf-8",
    )
    with pytest.raises(InputError) as caught:
        load(file)
    assert "expect[0].switches.below: is not a percent; given 'vmnic1'; allowed: a number and a unit of percent" in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("claim", "question", "expected"),
    [
        (
            "splitrx.split.30k",
            "metric: delivered",
            "is in %, and its answer in pps; given 'splitrx.split.30k'; allowed: a question in its unit; metrics: host_cpu, ",
        ),
        (
            "splitrx.split.30k",
            "find: {largest: receivers, from: 1, to: 4, where: {metric: loss, below: 1}}",
            "is in %, and its answer is a value of receivers; given 'splitrx.split.30k'",
        ),
        ("splitrx.gain.40k", "always: {metric: loss, below: 1}", "is in ratio, and its answer in boolean; given"),
        (
            "80gbe.send.linear",
            "ratio: {metric: loss, of: {split: 1}, to: {split: 0}}",
            "is in R2, and its answer in ratio",
        ),
    ],
)
def test_a_claim_is_asked_in_its_own_unit(tmp_path: Path, claim: str, question: str, expected: str) -> None:
    """A value compared with a band of another unit is meaningless."""
    (told,) = faults(tmp_path, question, f"claim: {claim}")
    assert told.startswith(f"22: expect[0].claim: {expected}")


def test_percent_of_something_is_percent(tmp_path: Path) -> None:
    """Only the first word of a unit counts."""
    for metric in ("loss", "guest_cpu", "netpoll_cpu"):
        assert load(written(tmp_path, f"metric: {metric}", "claim: splitrx.guest_cpu")).expectations


@pytest.mark.parametrize(
    ("unit", "text", "number"),
    [
        ("Gbit/s", "9400 Mbit/s", 9.4),
        ("kpps", "120 kpps", 120.0),
        ("Mpps", "750 kpps", 0.75),
        ("kB", "10 kB", 10.0),
        ("ms", "100 ms", 100.0),
        ("us", "12.3 us", 12.3),
    ],
)
def test_bounds_are_written_in_any_unit_of_the_metrics_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str, text: str, number: float
) -> None:
    """Bounds are reported in the metric's own unit, without rounding errors."""
    monkeypatch.setitem(CATALOGUE, "size", Metric("size", unit, "of something", "instant", lambda _: 0.0))
    (expectation,) = load(written(tmp_path, "metric: size", f"name: it, between: [0, {text}]")).expectations
    assert (expectation.unit, expectation.band.high) == (unit, number)


def test_a_claim_in_kpps_is_not_asked_of_a_metric_in_pps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A factor of a thousand is not a spelling variant."""
    (told,) = faults(tmp_path, "metric: delivered", "claim: 80gbe.send.ack_rate")
    assert "is in kpps, and its answer in pps; given '80gbe.send.ack_rate'; allowed: a question in its unit" in told
    monkeypatch.setitem(CATALOGUE, "acks", Metric("acks", "kpps", "of something", "rate", lambda _: 0.0))
    assert load(written(tmp_path, "metric: acks", "claim: 80gbe.send.ack_rate")).expectations
