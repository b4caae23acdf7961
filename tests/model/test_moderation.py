"""Drivers' rules of interrupt moderation on a small host: interrupts of a busy queue."""

from __future__ import annotations

import pytest

from hostsim.units import MS, SECOND, US

from .small_point import datagrams, group, nic, point, run


def interrupts(rate: str, size: str, direction: str = "receive", **moderation: str | None) -> int:
    """Interrupts in 200 ms of a queue with datagrams at a rate, on a host where nothing costs anything."""
    made = {"vmnic0": nic(**({"interrupt_interval": None, "tx_interrupt_delay": None} | moderation))}
    traffic = {"u": datagrams(direction, rate=rate, packet_size=size)}
    return run(point(group(), traffic=traffic, nics=made, cost={}), 200 * MS).queues[0].interrupts


@pytest.mark.parametrize(("size", "interval"), [("18 B", 10 * US), ("1472 B", 192 * US)])
@pytest.mark.parametrize("direction", ["receive", "send"])
def test_interrupts_of_an_igb_are_as_far_apart_as_its_frames_are_long(size: str, interval: int, direction: str) -> None:
    """Frames of 60 and of 1,514 bytes, received or sent, that come faster than interrupts."""
    expected = 200 * MS / interval
    assert interrupts("250 kpps", size, direction, moderation="igb") == pytest.approx(expected, rel=0.02)


def test_without_the_rule_the_size_of_frames_moves_no_interrupt() -> None:
    """A fixed interval goes before the rule."""
    fixed = {"interrupt_interval": "100 us", "moderation": "igb"}
    counts = [interrupts("250 kpps", size, **fixed) for size in ("18 B", "1472 B")]
    assert counts == [pytest.approx(0.2 * SECOND / (100 * US), rel=0.01)] * 2


def test_a_queue_of_an_ixgbe_becomes_bulk() -> None:
    """250 bytes in a microsecond: 8,000 interrupts a second, after a few at shorter distances."""
    assert interrupts("200 kpps", "1250 B", moderation="ixgbe") == pytest.approx(200 * MS / (125 * US), rel=0.03)
