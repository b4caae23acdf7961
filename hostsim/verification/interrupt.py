"""Interrupt coalescing oracles: rate of interrupts, packets each announces, and delay."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hostsim.engine.clock import Clock
from hostsim.engine.random_stream import Streams
from hostsim.policy.coalescing import StaticCoalescing
from hostsim.units import SECOND, US
from hostsim.verification import closed_form
from hostsim.verification.host_fixture import latency, measure, point
from hostsim.verification.oracle import Oracle, Quantity
from hostsim.verification.rig import Guest, Receiver, Tick, poisson

__all__ = ["interrupt_moderation", "periodic_polling", "static_coalescing"]


def _interrupts(cycle: closed_form.Cycle) -> tuple[Quantity, ...]:
    rate, packets, delay = cycle
    return (
        Quantity("interrupts /s", rate),
        Quantity("packets an interrupt", packets),
        Quantity("mean delay, us", delay * 1e6),
    )


def _cycle(rig: Receiver, clock: Clock, length: int) -> Sequence[float]:
    """Rate of interrupts from the first to the last (a window of a fixed length would cut an interval at each end), and so on."""
    clock.advance(length)
    flow = rig.flow
    flow.latency.flush()
    seconds = (rig.last - rig.first) / SECOND
    rate, packets = (rig.interrupts - 1) / seconds, flow.delivered / rig.interrupts
    return rate, packets, flow.latency.total / flow.delivered / 1e6


def static_coalescing() -> Iterator[Oracle]:
    """Oracles of static coalescing: a vNIC that interrupts at a packet count or a timeout."""
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
    """Oracles of interrupt moderation: a least interval between interrupts of a vNIC, and of a physical NIC."""
    rbc = {"vms__receiver__vmx__ethernet0.coalescingScheme": "rbc"}
    moderation = {"hardware__nics__vmnic0__interrupt_interval": "250 us"}
    for rate, packets in ((4e3, 2e5), (1e4, 2e5), (1e5, 2.5e5)):
        cases = [("NIC interrupt moderation", "queue.interrupts", moderation)]
        if rate > 2e4:  # below, a vNIC may interrupt several times in a row after a pause
            cases.insert(0, ("Rate-based vNIC coalescing", "guest.interrupts", rbc))
        for name, counter, settings in cases:

            def simulate(
                streams: Streams,
                portion: float,
                rate: float = rate,
                packets: float = packets,
                counter: str = counter,
                settings: dict[str, str] = settings,
            ) -> Sequence[float]:
                stream = point("stream.yaml", traffic__packets__rate=f"{rate} pps", **settings)
                record = measure(stream, streams, round(packets * portion / rate * SECOND))
                delay, delivered = latency(record)
                return delivered / record.total(counter), delay / 1e6

            yield Oracle(
                "Interrupts",
                f"{name}, {rate / 1000:g} kpps",
                f"{rate / 1000:g} kpps, 4,000 interrupts a second at most",
                _interrupts(closed_form.paced_interrupts(rate, 250e-6))[1:],
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
