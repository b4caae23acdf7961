"""Dotted paths and trees: settings keep their dots, changes share unchanged parts."""

from __future__ import annotations

import pytest

from hostsim.scenario.yaml.source_tree import Place, Tree, dotted, keys, merge


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("vms.receiver.count", ("vms", "receiver", "count")),
        ("vms.receiver.vmx.ethernet0.emuRxMode", ("vms", "receiver", "vmx", "ethernet0.emuRxMode")),
        ("host.advanced.Net.NetSplitRxMode", ("host", "advanced", "Net.NetSplitRxMode")),
        ("host.kernel.netPollContext", ("host", "kernel", "netPollContext")),
        ("vms.receiver.vmx", ("vms", "receiver", "vmx")),
        ("vms.kernel.vmx.sched.cpu.shares", ("vms", "kernel", "vmx", "sched.cpu.shares")),
    ],
)
def test_what_follows_settings_is_one_key(path: str, expected: tuple[str, ...]) -> None:
    """The keys give the same path again."""
    assert keys(path) == expected
    assert dotted(expected) == path


def test_a_changed_tree_shares_the_rest_and_knows_who_changed_it() -> None:
    """The first tree is unchanged."""
    tree = Tree({"a": {"b": 1}, "c": {"d": 2}}, {("a",): Place("f", 1), ("a", "b"): Place("f", 2)}, "f")
    other = tree.put([(("a", "b"), 3, Place("--set")), (("a", "x", "y"), 4, Place("--set"))])
    assert tree.data == {"a": {"b": 1}, "c": {"d": 2}}
    assert other.data == {"a": {"b": 3, "x": {"y": 4}}, "c": {"d": 2}}
    assert other.data["c"] is tree.data["c"]
    assert [str(other.place(path)) for path in (("a", "b"), ("a", "z"), ("q",))] == ["--set", "f:1", "f"]


def test_a_delta_takes_entries_away() -> None:
    """None removes a parent's entry at any depth; for unknown entries it stays, for a check to find."""
    parent = Tree({"s": {"x": {"low": 1}, "y": 2}, "z": 3}, {}, "parent")
    delta = Tree({"s": {"x": None, "typo": None}, "z": None}, {}, "delta")
    assert merge(parent, delta).data == {"s": {"y": 2, "typo": None}}


def test_a_delta_wins_key_by_key() -> None:
    """Lists and values are replaced, mappings are merged."""
    parent = Tree({"s": {"x": {"low": 1, "high": 9}}, "l": (1, 2)}, {("s",): Place("parent", 1)}, "parent")
    delta = Tree({"s": {"x": {"low": 2}}, "l": (3,)}, {("s", "x"): Place("delta", 5)}, "delta")
    both = merge(parent, delta)
    assert both.data == {"s": {"x": {"low": 2, "high": 9}}, "l": (3,)}
    assert str(both.place(("s", "x", "high"))) == "delta:5"
