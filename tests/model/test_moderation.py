"""Interrupt moderation rules of drivers on a small host: interrupts of a busy queue."""

from __future__ import annotations

import pytest

from hostsim.units import MS, SECOND, US

from .small_point import datagrams, group, nic, point, run


def interrupts(rate: str, size: str, direction: str = "receive", **moderation: str | None) -> int:
    """Interrupts in 200 ms of a queue that receives datagrams at a rate, on a host without costs."""
    made = {"vmnic0": nic(**({"interrupt_interval": None, "tx_interrupt_delay": None} | moderation))}
    traffic = {"u": datagrams(direction, rate=rate, packet_size=size)}
    return run(point(group(), traffic=traffic, nics=made, cost={}), 200 * MS).queues[0].interrupts


@pytest.mark.parametrize(("size", "interval"), [("18 B", 10 * US), ("1472 B", 192 * US)])
@pytest.mark.parametrize("direction", ["receive", "send"])
def test_interrupts_of_an_igb_are_as_far_apart_as_its_frames_are_long(size: str, interval: int, direction: str) -> None:
    """Frames of 60 and 1,514 bytes, received or sent, that come faster than interrupts."""
    expected = 200 * MS / interval
    assert interrupts("250 kpps", size, direction, moderation="igb") == pytest.approx(expected, rel=0.02)


def test_without_the_rule_the_size_of_frames_moves_no_interrupt() -> None:
    """A fixed interval has priority over the rule."""
    fixed = {"interrupt_interval": "100 us", "moderation": "igb"}
    counts = [interrupts("250 kpps", size, **fixed) for size in ("18 B", "1472 B")]
    assert counts == [pytest.approx(0.2 * SECOND / (100 * US), rel=0.01)] * 2


def test_a_queue_of_an_ixgbe_becomes_bulk() -> None:
    """250 bytes per microsecond: 8,000 interrupts per second, after a few shorter intervals."""
    assert interrupts("200 kpps", "1250 B", moderation="ixgbe") == pytest.approx(200 * MS / (125 * US), rel=0.03)


def test_a_queue_of_an_i40e_comes_to_56_frames_an_interrupt() -> None:
    """400,000 per second: 140 us bring 56 packets, and 126 us is the maximum, after a while of shorter intervals. Ten times as many bring 56 within 14 us."""
    slow, fast = (interrupts(rate, "18 B", moderation="i40e") for rate in ("400 kpps", "4 Mpps"))
    assert slow == pytest.approx(200 * MS / (126 * US), rel=0.1)
    assert 2000 * MS / (14 * US) / 10 * 0.5 < fast < 200 * MS / (14 * US) * 1.1


def test_completions_of_an_i40e_have_an_interval_of_their_own() -> None:
    """Sixty-four packets every 10 ms start again each time: one interrupt for the first completion, one for all others 126 us later; with the 2 us of received frames there would be thirty."""
    made = {"vmnic0": nic(interrupt_interval=None, tx_interrupt_delay=None, moderation="i40e")}
    bursts = datagrams("send", rate=None, interval="10 ms", burst=64, packet_size="1250 B")
    host = run(point(group(), traffic={"u": bursts}, nics=made, cost={}), 199 * MS)
    assert host.nics["vmnic0"].tx_packets % 64 == 0
    assert host.queues[0].interrupts == pytest.approx(2 * host.nics["vmnic0"].tx_packets / 64, abs=2)


@pytest.mark.parametrize(("rate", "size", "interval"), [("250 kpps", "18 B", 124), ("35 kpps", "1250 B", 54)])
def test_a_queue_of_an_older_i40e_has_the_interval_of_its_class(rate: str, size: str, interval: int) -> None:
    """More than 40,000 frames per second, and 45 bytes per microsecond, from the hundred and first interrupt on."""
    expected = 101 + (200 * MS - 101 * 50 * US) / (interval * US)
    assert interrupts(rate, size, moderation="i40e-classes") == pytest.approx(expected, rel=0.02)


def test_a_frame_to_an_idle_mlx5_waits_for_the_period() -> None:
    """The timer starts with the frame: a frame every 10 ms waits 8 us, while an interval since the last interrupt would not delay it; the process takes 1 us."""
    for moderation, wait in (("mlx5", 9 * US), ("i40e", 1 * US)):
        made = {"vmnic0": nic(interrupt_interval=None, tx_interrupt_delay=None, moderation=moderation)}
        host = run(point(group(), traffic={"u": datagrams("receive", rate="100 pps")}, nics=made, cost={}), 200 * MS)
        (flow,) = host.flows
        assert flow.latency.total / flow.delivered == pytest.approx(wait, rel=0.01)


def test_a_queue_of_an_mlx5_that_is_busy_interrupts_for_a_number_of_frames() -> None:
    """A frame every microsecond: 128 of them; the search tries profiles with 64, and returns."""
    found = interrupts("1 Mpps", "18 B", moderation="mlx5")
    assert 200_000 / 128 < found < 200_000 / 64


def test_no_more_frames_wait_for_an_mlx5_than_its_profile_allows_if_polls_are_long() -> None:
    """Every 2 us a frame that takes 1.4 us: at most 64 wait. If a poll's frames counted as those of the time before its interrupt, long and short waits would alternate, and 480 would wait."""
    made = {"vmnic0": nic(interrupt_interval=None, tx_interrupt_delay=None, moderation="mlx5")}
    flow = {"u": datagrams("receive", rate="500 kpps", packet_size="18 B")}
    host = run(point(group(), traffic=flow, nics=made, cost={"driver_rx": 1400}), 50 * MS)
    (queue,), most = host.queues, 0
    for _ in range(4000):
        host.clock.advance(host.clock.now + 20 * US)
        most = max(most, queue.waiting(host.clock.now))
    assert 60 <= most <= 66


def test_a_busy_queue_of_an_sfc_keeps_its_longest_interval() -> None:
    """Nine steps of 6.144 us; a slow queue gets shorter intervals after a thousand interrupts."""
    assert interrupts("1 Mpps", "18 B", moderation="sfc") == pytest.approx(200 * MS / (9 * 6.144 * US), rel=0.02)
    assert interrupts("40 kpps", "18 B", moderation="sfc") > 1.05 * 200 * MS / (75 * US)
