"""Intervals that drivers' rules of adaptive interrupt moderation give, worked out by hand."""

from __future__ import annotations

import pytest

from hostsim.policy.moderation import FrameSizeModeration, LatencyClasses, PacketRateModeration
from hostsim.units import MS, US


@pytest.mark.parametrize(("size", "interval"), [(60, 10), (277, 25), (600, 52), (1514, 192), (9014, 375)])
def test_long_frames_have_long_intervals(size: int, interval: int) -> None:
    """Half a quarter of a microsecond a byte, a third for middle sizes, 24 bytes added; no longer than for 3,000 bytes. Before the first interrupt it is 162 us."""
    rule = FrameSizeModeration()
    assert rule.due(0, 0) == 162 * US
    rule.interrupted(0, 10, 10 * size, 0, 0)
    assert rule.due(0, 0) == interval * US


def test_the_direction_with_the_longer_frames_decides() -> None:
    """A sender of full frames gets acknowledgements; an interrupt without frames changes nothing; a conservative driver has a least interval."""
    rule = FrameSizeModeration(49 * US)
    rule.interrupted(0, 10, 600, 4, 4 * 1514)
    assert rule.due(0, 0) == 192 * US
    rule.interrupted(0, 0, 0, 0, 0)
    assert rule.due(0, 0) == 192 * US
    rule.interrupted(0, 10, 600, 0, 0)
    assert rule.due(0, 0) == 49 * US


def test_a_class_of_latency_changes_by_one_step_and_its_interval_by_a_tenth() -> None:
    """1,250 bytes in a microsecond, 10 Gbit/s: low latency after one interrupt, bulk from the second on, which tends to 125 us."""
    rule, intervals = LatencyClasses(), []
    for _ in range(100):
        now = rule.due(0, 0)
        intervals.append(now)
        rule.interrupted(0, 40, 1250 * now // US, 0, 0)
    assert intervals[:3] == [50 * US, 50 * US, 10 * 125 * 50 * US // (9 * 125 + 50)]
    assert intervals[-1] == pytest.approx(125 * US, rel=0.001)


@pytest.mark.parametrize(("rate", "interval"), [(1, 10), (15, 50), (25, 125)])
def test_each_class_of_latency_has_its_interval(rate: int, interval: int) -> None:
    """By the bytes in a microsecond of the busier direction."""
    rule = LatencyClasses()
    for _ in range(200):
        rule.interrupted(0, 1, 1, 1, rate * rule.due(0, 0) // US)
    assert rule.due(0, 0) == pytest.approx(interval * US, rel=0.02)


@pytest.mark.parametrize(
    ("rate", "size", "interval"),
    [(300_000, 1514, 0), (425_000, 1514, 64 * US), (500_000, 1514, 128 * US), (1_000_000, 64, 0)],
)
def test_intervals_rise_with_the_packet_rate(rate: int, size: int, interval: int) -> None:
    """Looked at every 250 ms; before that it is 16 us, and small frames are never held back."""
    rule = PacketRateModeration()
    rule.interrupted(100 * MS, rate // 10, rate // 10 * size, 0, 0)
    assert rule.due(0, 0) == 16 * US
    rule.interrupted(250 * MS, rate * 3 // 20, rate * 3 // 20 * size, 0, 0)
    assert rule.due(0, 0) == interval


def test_an_interrupt_announces_128_kib_at_most() -> None:
    """At 2,000,000 full frames a second those come in 43 us."""
    rule = PacketRateModeration()
    rule.interrupted(250 * MS, 500_000, 500_000 * 1514, 0, 0)
    assert rule.due(0, 0) == pytest.approx(131_072 / (2e6 * 1514) * 1e12, rel=1e-6)
