"""No accidental phase locking: the cost of a stream changes smoothly with constants, and every seed is a different run."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

import pytest

from hostsim.config.peer import PeerSpec
from hostsim.config.platform import Coalescing
from hostsim.config.traffic import Traffic
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.units import MS, US

from .small_point import CALM, arrived, datagrams, echoes, group, guest, nic, point, run, stream, vnic

LATE = PeerSpec.model_validate({"peer": "late", "timer_jitter": "20 us", "answer_jitter": "5 us"})
ON_TIME = PeerSpec(peer="on time")
RBC = Coalescing(scheme="rbc", rate=4000, depth=1, timeout=4 * MS)


def one_stream(scale: float, peer: PeerSpec, seed: int = 1) -> float:
    """Busy time per byte of one TCP stream to a guest that halts between bursts, with scaled receive costs."""
    cost = CALM | {"guest_rx_packet": 800 * scale, "sw_lro": 120 * scale, "driver_rx": 300 * scale}
    made = {"vmnic0": nic(interrupt_interval="62 us", interrupt_step="0 s" if peer is ON_TIME else "2 us")}
    traffic = {"s": stream("receive", window="256 KiB", delay="100 us")}
    spec = point(group(vnics=(vnic(coalescing=RBC),)), traffic=traffic, cost=cost, nics=made, cores=6)
    host = run(spec.model_copy(update={"peer": peer}), 120 * MS, seed)
    return host.busy(host.clock.now) / arrived(host)


def jump(peer: PeerSpec) -> float:
    """Greatest difference between the effects of one-percent steps of the costs, as a share of the whole.

    An effect is the median of three seeds, as the end of a run cuts a window at a random place; an effect of all seeds
    is not chance.
    """
    effects = []
    for seed in (1, 2, 3):
        costs = [one_stream(1 + percent / 100, peer, seed) for percent in range(-3, 4)]
        effects.append([(after - before) / costs[0] for before, after in pairwise(costs)])
    steps = [median(step) for step in zip(*effects, strict=True)]
    return max(steps) - min(steps)


def test_a_small_change_of_a_cost_moves_a_single_stream_smoothly() -> None:
    """One-percent steps of the costs have even effects: at most a fifth of a percent apart, most of it by chance."""
    assert jump(LATE) < 0.002


def test_seeds_differ() -> None:
    """The same stream under three seeds."""
    assert len({one_stream(1.0, LATE, seed) for seed in (1, 2, 3)}) == 3


def run_with(traffic: Traffic, peer: PeerSpec = ON_TIME, **changes: str) -> Host:
    spec = point(group(guest=guest(**changes)), traffic={"t": traffic}, cost=CALM)
    return run(spec.model_copy(update={"peer": peer}), 100 * MS)


def test_answers_are_late_by_half_the_amplitude_on_average() -> None:
    """For a ping-pong, whose round trips are longer by exactly that."""
    trips = {peer.peer: 100 * MS / run_with(echoes(), peer).flows[0].answered for peer in (LATE, ON_TIME)}
    assert trips["late"] - trips["on time"] == pytest.approx(2.5 * US, rel=0.1)


@pytest.mark.parametrize("amplitude", ["0 s", "200 us"])
def test_an_interval_timer_of_a_guest_is_late_and_keeps_its_rate(amplitude: str) -> None:
    """A hundred datagrams in 100 ms with or without lateness: it does not add up; only intervals differ."""
    instants: list[int] = []
    spec = point(group(guest=guest(timer_jitter=amplitude)), traffic={"u": datagrams("send")}, cost=CALM)
    host = build_host(spec, Streams(1, 0))
    queue = host.transmits[0]
    while host.clock.now < 100 * MS:
        before = queue.ring.pushed
        host.clock.advance(host.clock.now + 10 * US)
        if queue.ring.pushed > before:
            instants.append(host.clock.now)
    assert len(instants) == pytest.approx(100, abs=1)
    steps = {after - before for before, after in pairwise(instants)}
    assert (len(steps) > 5) == (amplitude != "0 s")


def test_moderation_is_late_by_a_step_of_the_clock_of_the_nic() -> None:
    """A busy queue is interrupted once per interval plus half a step, on average."""
    counts = []
    for step in ("0 s", "20 us"):
        made = {"vmnic0": nic(interrupt_interval="100 us", interrupt_step=step)}
        spec = point(group(), traffic={"u": datagrams("receive", rate="200 kpps")}, nics=made, cost={})
        counts.append(run(spec, 100 * MS).queues[0].interrupts)
    assert counts[0] == pytest.approx(1000, rel=0.01)
    assert counts[1] == pytest.approx(100 * MS / (110 * US), rel=0.01)
