"""Subjects of measures in a scenario file: `of:` beside a metric, and its checks."""

from __future__ import annotations

import pytest

import hostsim
from hostsim.results.expect import At, Find, Within
from tests.tiny_scenario import TINY

BASE = TINY.partition("figures:")[0]


def load(tmp_path, rest):
    path = tmp_path / "own.yaml"
    path.write_text(BASE + rest)
    return hostsim.load(path)


def test_a_subject_stands_beside_a_metric_or_behind_its_name(tmp_path):
    """Figures, single metrics and searches have `of:`; all take it behind the name."""
    scenario = load(
        tmp_path,
        """
figures:
  own: {x: receivers, y: latency_p99, of: stream, right: loss of stream, series: rate}
  table: {kind: table, x: receivers, columns: [latency_mean of stream, "guest_cpu of receiver[0]"]}
expect:
  - {name: a, metric: latency_p99, of: stream, between: [0, 1 ms]}
  - {name: b, always: {metric: loss of receiver, below: 1 %}, between: [1, 1]}
  - name: c
    find: {largest: receivers, from: 1, to: 3, where: {metric: netpoll_cpu, of: vmnic0, below: 50}}
    between: [1, 3]
""",
    )
    one, table = scenario.figures
    assert (one.y, one.right) == ("latency_p99 of stream", "loss of stream")
    assert table.columns == ("latency_mean of stream", "guest_cpu of receiver[0]")
    at, always, find = (entry.form for entry in scenario.expectations)
    assert isinstance(at, At)
    assert at.metric == "latency_p99 of stream"
    [condition] = always.conditions
    assert isinstance(condition, Within)
    assert condition.metric == "loss of receiver"
    assert isinstance(find, Find)
    assert find.metric == "netpoll_cpu of vmnic0"


@pytest.mark.parametrize(
    ("metric", "of", "words"),
    [
        ("latency_p99", "strem", ["of: unknown subject", "traffic entries (stream)", "did you mean 'stream'"]),
        ("netpoll_cpu", "receiver", ["not a measure of VM groups", "ports of physical NICs"]),
        ("guest_cpu", "reciever[0]", ["unknown subject", "VM groups (receiver)"]),
        ("latency_99", "stream", ["unknown metric", "did you mean 'latency_p99'"]),
        ("latency_p99", "traffic receiver", ["unknown subject"]),
    ],
)
def test_a_wrong_subject_is_a_fault_of_the_file(tmp_path, metric, of, words):
    """At its line, with the subjects that have the measure."""
    with pytest.raises(hostsim.InputError) as error:
        load(tmp_path, f"expect:\n  - {{name: a, metric: {metric}, of: '{of}', between: [0, 1]}}\n")
    assert all(word in str(error.value) for word in ["own.yaml:", *words]), error.value


def test_traffic_of_several_groups_is_not_a_groups_own(tmp_path):
    """The fault names the traffic to use instead."""
    vms = "vms: {other: {count: 1, guest: rhel6, networks: [vSwitch0]}, receiver"
    text = BASE.replace("vms: {receiver", vms).replace("to: receiver", "to: [receiver, other]")
    path = tmp_path / "own.yaml"
    path.write_text(text + "figures: {own: {x: receivers, y: latency_p99, of: other}}\n")
    with pytest.raises(hostsim.InputError, match=r"several VM groups.*traffic stream"):
        hostsim.load(path)


def test_of_without_a_metric_is_refused(tmp_path):
    """It would be without effect."""
    with pytest.raises(hostsim.InputError, match="has of without a metric"):
        load(
            tmp_path,
            "expect:\n  - {name: a, of: stream, mean: {metric: loss, cases: [{receivers: 1}]}, between: [0, 1]}\n",
        )
