"""What holds up the rest of a host, from its counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from host_record import host_record, percent

from hostsim.results.context import Bottleneck, bottleneck


@pytest.mark.parametrize(
    ("busy", "expected"),
    [
        ({}, "none"),
        ({"netpoll.used_ps": percent(94.9, 0)}, "none"),
        ({"netpoll.used_ps": percent(20, 95)}, "context poll1"),
        ({"vcpu.used_ps": percent(0, 99, 96)}, "context a.vcpu1"),
        ({"nic.tx_wire_ps": percent(97)}, "wire vmnic0 transmit"),
        ({"pcpu.busy_ps": percent(50, 50, 100, 92)}, "node node1"),
        ({"pcpu.busy_ps": percent(100, 80, 100, 80)}, "none"),  # a PCPU that is busy is no node that is
        ({"nic.rx_wire_ps": percent(99), "netpoll.used_ps": percent(99, 0)}, "wire vmnic0 receive"),
        ({"nic.rx_wire_ps": percent(96), "netpoll.used_ps": percent(99, 0)}, "context poll0"),
        ({"pcpu.busy_ps": percent(100, 100, 0, 0), "splitrx.used_ps": percent(100)}, "context b.splitRx"),
    ],
)
def test_what_is_full_is_named(busy: Mapping[str, tuple[int, ...]], expected: str) -> None:
    """From 95 % on; the fullest, and of equal ones the wire before a context before a node."""
    assert str(bottleneck(host_record(busy))) == expected


def test_the_fullest_context_is_told_whether_or_not_it_binds() -> None:
    """With what it was charged."""
    found = bottleneck(host_record({"netpoll.used_ps": percent(60, 70), "nic.rx_wire_ps": percent(98)}))
    assert (found.resource, found.name, found.context) == ("wire", "vmnic0 receive", "poll1")
    assert (found.share, found.used) == pytest.approx((98.0, 70.0))


def test_without_counters_nothing_is_told() -> None:
    """A record of something else."""
    assert bottleneck(replace(host_record(), series={})) == Bottleneck("none", "", 0.0, "", 0.0)
