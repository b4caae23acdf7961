"""Interrupt coalescing oracles: rate of interrupts, packets per interrupt, and delay."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hostsim.engine.clock import Clock
from hostsim.engine.random_stream import Streams
from hostsim.lab.verification import closed_form
from hostsim.lab.verification.oracle import Oracle, Quantity
from hostsim.lab.verification.rig import Guest, Receiver, Tick, mean_time, measure, point, poisson
from hostsim.model.policy.moderation import RATE_WINDOW, StaticCoalescing
from hostsim.units import SECOND, US

__all__ = ["interrupt_moderation", "periodic_polling", "static_coalescing"]

_WARM_UP = 2 * RATE_WINDOW
"""Time to settle, as the depth of rate-based coalescing follows the rate with a delay of one window."""


def _interrupts(cycle: closed_form.Cycle) -> tuple[Quantity, ...]:
    rate, packets, delay = cycle
    return (
        Quantity("interrupts /s", rate),
        Quantity("packets an interrupt", packets),
        Quantity("mean delay, us", delay * 1e6),
    )


def _cycle(rig: Receiver, clock: Clock, length: int) -> Sequence[float]:
    """Statistics from the first to the last interrupt, as a fixed window would cut off an interval at each end."""
    clock.advance(length)
    flow = rig.flow
    flow.latency.flush()
    seconds = (rig.last - rig.first) / SECOND
    rate, packets = (rig.interrupts - 1) / seconds, flow.delivered / rig.interrupts
    return rate, packets, flow.latency.total / flow.delivered / 1e6


def static_coalescing() -> Iterator[Oracle]:
    """Oracles of static coalescing: a vNIC that interrupts at a number of packets or a timeout."""
    for rate, depth, timeout_us, packets in (
        (1e4, math.inf, 250, 3e5),
        (1e5, math.inf, 50, 3e5),
        (1e5, 4, 50, 2e5),
        (1e6, 32, 35, 3e5),
        (1e6, 64, 1000, 3e5),
        (1e4, 16, 1000, 3e5),
    ):

        def simulate(
            streams: Streams,
            portion: float,
            rate: float = rate,
            depth: float = depth,
            timeout_us: int = timeout_us,
            packets: float = packets,
        ) -> Sequence[float]:
            clock = Clock()
            most = 10**9 if math.isinf(depth) else int(depth)
            scheme = StaticCoalescing(most, timeout_us * US)
            guest = Guest(clock, scheme, poisson(rate, streams.stream("arrivals")))
            return _cycle(guest, clock, round(packets * portion / rate * SECOND))

        text = "none" if math.isinf(depth) else f"{depth:g}"
        yield Oracle(
            "Interrupts",
            f"Timer {timeout_us} us and depth {text}, {rate / 1000:g} kpps",
            f"{rate / 1000:g} kpps, {timeout_us} us from the first packet, depth {text}",
            _interrupts(closed_form.coalesced(rate, depth, timeout_us * 1e-6)),
            simulate,
        )


def interrupt_moderation() -> Iterator[Oracle]:
    """Oracles of interrupt moderation: the minimum interval between interrupts of a physical NIC, and the maximum depth of a vNIC."""
    rbc = {"vms__receiver__vmx__ethernet0.coalescingScheme": "rbc"}
    moderation = {"hardware__nics__vmnic0__interrupt_interval": "250 us"}
    paced = "4,000 interrupts a second at most"
    cases = [
        (
            rate,
            "NIC interrupt moderation",
            "queue.interrupts",
            moderation,
            paced,
            closed_form.paced_interrupts(rate, 250e-6),
        )
        for rate in (4e3, 1e4, 1e5)
    ]
    deepest = closed_form.coalesced(4e5, 40, 250e-6)  # 100 packets would be due at an interrupt, and 40 is the maximum
    cases.append(
        (4e5, "Rate-based vNIC coalescing", "guest.interrupts", rbc, "40 packets an interrupt, or 250 us", deepest)
    )
    for rate, name, counter, settings, text, answer in cases:

        def simulate(
            streams: Streams,
            portion: float,
            rate: float = rate,
            counter: str = counter,
            settings: dict[str, str] = settings,
        ) -> Sequence[float]:
            stream = point("stream.yaml", traffic__packets__rate=f"{rate} pps", **settings)
            length = round((2e5 if rate < 1e5 else 2.5e5) * portion / rate * SECOND)
            record = measure(stream, streams, _WARM_UP + length, _WARM_UP)
            delay, delivered = mean_time(record, "flow.latency")
            return delivered / record.total(counter), delay / 1e6

        yield Oracle(
            "Interrupts",
            f"{name}, {rate / 1000:g} kpps",
            f"{rate / 1000:g} kpps, {text}",
            _interrupts(answer)[1:],
            simulate,
        )


def periodic_polling() -> Iterator[Oracle]:
    """Oracles of periodic polling: a timer that empties a ring at a fixed rate."""
    for rate, packets in ((1e3, 3e5), (1e4, 3e5), (1e5, 3e5)):

        def simulate(streams: Streams, portion: float, rate: float = rate, packets: float = packets) -> Sequence[float]:
            clock = Clock()
            tick = Tick(clock, SECOND // 4000, poisson(rate, streams.stream("arrivals")))
            return _cycle(tick, clock, round(packets * portion / rate * SECOND))

        yield Oracle(
            "Interrupts",
            f"Free-running tick, {rate / 1000:g} kpps",
            f"{rate / 1000:g} kpps, 4,000 ticks a second",
            _interrupts(closed_form.ticked(rate, 4000)),
            simulate,
        )
