"""Intervals by drivers' rules of adaptive interrupt moderation, calculated by hand."""

from __future__ import annotations

from typing import get_args

import pytest

from hostsim.config.nic import NicSpec
from hostsim.model.policy.moderation import (
    MODERATION_RULES,
    EventScore,
    FrameSizeModeration,
    LatencyClasses,
    Moderation,
    PacketCountModeration,
    PacketRateModeration,
    ProfileSearch,
    SmoothedClasses,
    _compared,
)
from hostsim.units import MS, NS, SECOND, US


@pytest.mark.parametrize(("size", "interval"), [(60, 10), (277, 25), (600, 52), (1514, 192), (9014, 375)])
def test_long_frames_have_long_intervals(size: int, interval: int) -> None:
    """Half a quarter of a microsecond a byte, a third for middle sizes, 24 bytes added; no longer than for 3,000 bytes. Before the first interrupt it is 162 us."""
    rule = FrameSizeModeration()
    assert rule.due(0, 0) == 162 * US
    rule.interrupted(0, 10, 10 * size, 0, 0)
    assert rule.due(0, 0) == interval * US


def test_the_direction_with_the_longer_frames_decides() -> None:
    """A sender of full frames receives acknowledgements; an interrupt without frames changes nothing; a conservative driver has a minimum interval."""
    rule = FrameSizeModeration(49 * US)
    rule.interrupted(0, 10, 600, 4, 4 * 1514)
    assert rule.due(0, 0) == 192 * US
    rule.interrupted(0, 0, 0, 0, 0)
    assert rule.due(0, 0) == 192 * US
    rule.interrupted(0, 10, 600, 0, 0)
    assert rule.due(0, 0) == 49 * US


def test_a_class_of_latency_changes_by_one_step_and_its_interval_by_a_tenth() -> None:
    """1,250 bytes per microsecond, 10 Gbit/s: low latency after one interrupt, bulk from the second on, which tends to 125 us."""
    rule, intervals = LatencyClasses(), []
    for _ in range(100):
        now = rule.due(0, 0)
        intervals.append(now)
        rule.interrupted(0, 40, 1250 * now // US, 0, 0)
    assert intervals[:3] == [50 * US, 50 * US, 10 * 125 * 50 * US // (9 * 125 + 50)]
    assert intervals[-1] == pytest.approx(125 * US, rel=0.001)


@pytest.mark.parametrize(("rate", "interval"), [(1, 10), (15, 50), (25, 125)])
def test_each_class_of_latency_has_its_interval(rate: int, interval: int) -> None:
    """By the bytes per microsecond of the busier direction."""
    rule = LatencyClasses()
    for _ in range(200):
        rule.interrupted(0, 1, 1, 1, rate * rule.due(0, 0) // US)
    assert rule.due(0, 0) == pytest.approx(interval * US, rel=0.02)


@pytest.mark.parametrize(
    ("rate", "size", "interval"),
    [(300_000, 1514, 0), (425_000, 1514, 64 * US), (500_000, 1514, 128 * US), (1_000_000, 64, 0)],
)
def test_intervals_rise_with_the_packet_rate(rate: int, size: int, interval: int) -> None:
    """Checked every 250 ms; before that it is 16 us, and small frames are never delayed."""
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


def steady(rule: Moderation, interrupts: int, rate: int, size: int, now: int = 0) -> list[int]:
    """Intervals after each of some interrupts of a queue that receives frames at a rate, each as early as the rule allows; the NIC sends nothing."""
    found = []
    for _ in range(interrupts):
        passed = rule.due(0, 0)
        now += passed
        frames = rate * now // SECOND - rate * (now - passed) // SECOND
        rule.interrupted(now, frames, frames * size, 0, 0)
        found.append(rule.due(0, 0))
    return found


def test_an_interrupt_of_an_i40e_comes_to_announce_56_packets() -> None:
    """Full frames at 10 Gbit/s: 50 us bring 40 of them, so 2 us are added; after a change of either direction three interrupts are skipped. 70 us bring 56."""
    found = steady(PacketCountModeration(10e9), 300, 812_743, 1514)
    first = [52] * 5 + [54] * 5 + [56] * 5  # what is received, what is sent, three that settle
    assert found[:15] == [us * US for us in first]
    assert set(found[150:]) == {70 * US}


@pytest.mark.parametrize(
    ("packets", "size", "rate", "interval"),
    [
        (56, 1514, 10e9, 50),
        (112, 1514, 10e9, 50),
        (113, 1514, 10e9, 24),
        (256, 64, 10e9, 24),
        (300, 60, 10e9, 16),
        (300, 64, 10e9, 18),
        (300, 600, 10e9, 80),
        (300, 1514, 10e9, 118),
        (300, 9014, 10e9, 126),
        (300, 1514, 25e9, 60),
        (300, 1514, 40e9, 30),
        (300, 64, 1e9, 126),
    ],
)
def test_too_many_packets_of_an_i40e_shorten_its_interval(packets: int, size: int, rate: float, interval: int) -> None:
    """Up to 112 are right; up to 256 halve it to a whole step; more set it by the size of frames: 29,990 for 1,514 bytes, over 512 at 10 Gbit/s, in steps of 2 us."""
    rule = PacketCountModeration(rate)
    rule.interrupted(50 * US, packets, packets * size, 0, 0)
    assert rule.due(0, 0) == interval * US


def answered(rule: PacketCountModeration, now: int, interrupts: int) -> int:
    """Let a queue receive and send one small frame per interrupt, every 200 us; returns the end."""
    for _ in range(interrupts):
        now += 200 * US
        rule.interrupted(now, 1, 60, 1, 60)
    return now


def test_single_packets_of_an_i40e_end_at_low_latency() -> None:
    """Both intervals rise from 50 us to 126 us in 38 steps of five interrupts; then sent frames do not count as bulk, and received ones get half of 16 us."""
    rule = PacketCountModeration(10e9)
    now = answered(rule, 0, 5 * 37 + 1)
    assert rule.due(0, 0) == 126 * US
    answered(rule, now, 10)
    assert rule.due(0, 0) == 8 * US
    assert rule.for_completions().due(0, 0) == 126 * US


def test_after_a_pause_an_i40e_begins_at_its_shortest() -> None:
    """No interrupt for more than a tick: 2 us for the next, for any frames, and half of 16 us from the one after the three that settle."""
    rule = PacketCountModeration(10e9)
    steady(rule, 150, 812_743, 1514)
    assert rule.due(0, 0) == 70 * US
    rule.interrupted(SECOND, 200, 200 * 1514, 0, 0)
    rule.interrupted(SECOND + 10 * US, 1, 60, 0, 0)
    assert rule.due(0, 0) == 2 * US
    for place in range(2, 6):
        rule.interrupted(SECOND + 10 * place * US, 1, 60, 0, 0)
    assert rule.due(0, 0) == 8 * US
    for tick, interval in ((MS, 2), (4 * MS, 50)):
        rule = PacketCountModeration(10e9, tick)
        rule.interrupted(3 * MS, 60, 60 * 1514, 0, 0)
        rule.interrupted(3 * MS, 0, 0, 0, 0)
        assert rule.due(0, 0) == interval * US


def test_bulks_that_an_i40e_sends_keep_what_it_receives_from_low_latency() -> None:
    """Full frames out and acknowledgements in: after a pause, an acknowledgement is handled at half of 16 us only until 33 frames leave per interrupt."""
    rule, now = PacketCountModeration(10e9), SECOND
    rule.interrupted(now, 1, 60, 1, 60)
    for _ in range(12):
        now += 100 * US
        rule.interrupted(now, 1, 60, 3, 3 * 1514)
    assert rule.due(0, 0) == 8 * US
    for _ in range(12):
        now += 100 * US
        rule.interrupted(now, 1, 60, 33, 33 * 1514)
    assert rule.due(0, 0) > 8 * US


@pytest.mark.parametrize(
    ("rate", "size", "interval"),
    [
        (10_000, 500, 20),
        (30_000, 500, 50),
        (20_000, 1500, 54),
        (812_743, 1514, 124),
        (45_000, 60, 124),
        (39_000, 60, 20),
    ],
)
def test_each_class_of_an_older_i40e_has_its_interval(rate: int, size: int, interval: int) -> None:
    """5, 15 and 30 bytes per microsecond; and more than 40,000 frames per second. Checked once in 101 interrupts."""
    found = steady(SmoothedClasses(), 1000, rate, size)
    assert set(found[:100]) == {50 * US}
    assert found[100] == interval * US
    assert set(found[700:]) == {interval * US}


def test_the_slower_direction_of_an_older_i40e_decides() -> None:
    """Acknowledgements have the lowest latency class, and 30 bytes per microsecond are sent; many small sent frames are not a fourth class."""
    rule = SmoothedClasses()
    for _ in range(202):
        rule.interrupted(0, 1, 60, 3, 1500)
    assert rule.due(0, 0) == 54 * US


def test_a_thousand_interrupts_of_an_sfc_move_its_interval_by_a_quantum() -> None:
    """At most nine steps of 6.144 us. Fewer than four frames per interrupt subtract one, more than eight add one, and numbers in between change nothing."""
    rule, quantum = EventScore(), 6_144 * NS
    assert rule.due(0, 0) == 9 * quantum
    for frames, expected in ((3, 8), (3, 7), (4, 7), (8, 7), (9, 8), (9, 9), (9, 9)):
        for _ in range(999):
            rule.interrupted(0, frames, 0, 0, 0)
        before = rule.due(0, 0)
        rule.interrupted(0, frames, 0, 0, 0)
        assert (rule.due(0, 0), before != rule.due(0, 0)) == (expected * quantum, before != expected * quantum)


@pytest.mark.parametrize(("rate", "quanta"), [(1_000_000, 9), (1_000, 1)])
def test_an_sfc_ends_at_its_longest_or_its_shortest(rate: int, quanta: int) -> None:
    """55 frames per interrupt are bulk; with a millisecond between frames each has its interrupt, as in a ping-pong."""
    rule, now = EventScore(), 0
    for _ in range(20_000):
        now = max(now + rule.due(0, 0), (now * rate // SECOND + 1) * SECOND // rate)
        rule.interrupted(now, max(1, rate * rule.due(0, 0) // SECOND), 0, 0, 0)
    assert rule.due(0, 0) == quanta * 6_144 * NS


def dense(rule: ProfileSearch, interrupts: int) -> list[int]:
    """Waits after each of some interrupts of a queue that receives a frame every microsecond; a poll takes the frames before its interrupt."""
    found, now, polled = [], 0, 0
    for _ in range(interrupts):
        frames = 1 + rule.due(0, 0) // US
        now += frames * US
        rule.interrupted(now, polled, polled * 1514, 0, 0)
        rule.unmasked(now)
        polled = frames
        found.append(rule.due(0, 0))
    return found


def test_an_mlx5_finds_the_profile_with_the_fewest_interrupts_of_a_bulk() -> None:
    """A frame every microsecond: 256 of the first profile are not reached, for a gap of 2 us comes after 6.389 us (e^2 - 1); 128 of the second are, 64 of the third.

    64 interrupts make a measurement. It goes from the first place to the second, which the device has already; back, as nothing has changed; up, for it was worse;
    further up, for it was better; down, for it was worse; and rests.
    """
    found = dense(ProfileSearch(), 1000)
    runs = [(found[0], 0)]
    for wait in found:
        runs = [*runs[:-1], (wait, runs[-1][1] + 1)] if wait == runs[-1][0] else [*runs, (wait, 1)]
    expected = [(8 * US, 1), (128 * US, 128), (6_389_050, 65), (128 * US, 65), (64 * US, 65), (128 * US, 676)]
    assert [count for _, count in runs] == [count for _, count in expected]
    assert [wait for wait, _ in runs] == [pytest.approx(wait, rel=1e-4) for wait, _ in expected]


def test_an_mlx5_answers_a_ping_pong_at_once() -> None:
    """A request 12 us after each reply: a wait of 2 us gives more requests than 8 us, and the search ends with the first profile."""
    rule, now = ProfileSearch(), 0
    assert rule.due(5 * US, 0) == 13 * US
    for _ in range(2000):
        now += 12 * US + rule.due(0, 0)
        rule.interrupted(now, 1, 60, 1, 60)
        rule.unmasked(now)
    gap = 12 + 2.1
    assert rule.due(0, 0) / US == pytest.approx(2 * (1 + 2 / (2 * gap)), rel=0.02)


def test_a_search_of_an_mlx5_that_finds_nothing_rests_for_ten_measurements() -> None:
    """Every measurement is worse than the last: ten steps back and forth, and after ten measurements it starts again. Frames 10 ms apart or more wait for the period."""
    rule, now, gap, periods = ProfileSearch(), 0, 10 * MS, []
    for _ in range(22):
        for _ in range(65):
            now += gap
            rule.interrupted(now, 1, 1514, 0, 0)
            rule.unmasked(now)
        gap = gap * 23 // 20
        periods.append(round(rule.due(0, 0) / US))
    assert periods[:10] == [8, 2, 8, 2, 8, 2, 8, 2, 8, 2]
    assert periods[10:] == [2] * 10 + [8, 2]


def test_every_rule_that_a_hardware_file_may_name_can_be_built() -> None:
    """Table and schema have the same names, and each makes a rule with its own objects."""
    names = [name for kind in get_args(NicSpec.model_fields["moderation"].annotation) for name in get_args(kind)]
    assert sorted(names) == sorted(MODERATION_RULES)
    for name in names:
        rule = MODERATION_RULES[name](10e9)
        assert isinstance(rule, Moderation)
        assert rule is not MODERATION_RULES[name](10e9)


@pytest.mark.parametrize(("new", "is_same"), [(1109, True), (1110, False)])
def test_an_mlx5_ignores_a_change_of_a_tenth(new: int, is_same: bool) -> None:
    """Of bytes, packets or interrupts in a millisecond; a change beyond a tenth counts."""
    before = (1000, 1000, 1000)
    assert [_compared((new, 1000, 1000), before), _compared((2000 - new, 1000, 1000), before)] == (
        [0, 0] if is_same else [1, -1]
    )
    assert [_compared((1000, 1000, new), before), _compared((1000, 1000, 2000 - new), before)] == (
        [0, 0] if is_same else [-1, 1]
    )
