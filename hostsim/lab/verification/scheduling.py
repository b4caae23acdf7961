"""Scheduling oracles: M/M/c, priority classes, processor sharing and polling."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypedDict

from hostsim.config.arrival import ServiceSpec
from hostsim.engine.clock import Clock
from hostsim.engine.random_stream import Streams
from hostsim.lab.verification import closed_form
from hostsim.lab.verification.host_fixture import PER_SECOND, SERVICE_PS, WARM_UP
from hostsim.lab.verification.oracle import Oracle, Quantity
from hostsim.lab.verification.rig import Lengths, Poller, Pool, bare_host, poisson
from hostsim.model.contract import Flow
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.traffic.arrival_source import make_lengths

__all__ = ["multiple_servers", "polling", "priority_classes", "processor_sharing"]


def _lengths(streams: Streams, *scope: str, cv2: float = 1.0) -> Lengths:
    """Lengths with mean one service: exponential by default, or with another squared variation."""
    values: dict[str, object] = {"mean": f"{SERVICE_PS} ps"}
    if cv2 != 1:
        values |= {"distribution": "gamma", "cv": math.sqrt(cv2)} if cv2 else {"distribution": "constant"}
    return Lengths(make_lengths(ServiceSpec.model_validate(values), 1.0, streams.stream(*scope, "lengths")))


def _run(clock: Clock, length: int, *flows: Flow) -> list[tuple[float, int]]:
    """Advance time; returns the mean latency of each flow after warm-up, in picoseconds, and its number of packets."""
    clock.advance(length // WARM_UP)
    before = []
    for flow in flows:
        flow.latency.flush()
        before.append((flow.latency.total, flow.delivered))
    clock.advance(length)
    after = []
    for flow, (total, count) in zip(flows, before, strict=True):
        flow.latency.flush()
        after.append(((flow.latency.total - total) / (flow.delivered - count), flow.delivered - count))
    return after


def _sojourn(host: Scheduler, streams: Streams, rate: float, bursts: float, cv2: float = 1.0) -> float:
    """Mean sojourn, in services, of Poisson arrivals at a host, ``rate`` a service."""
    arrivals = poisson(rate * PER_SECOND, streams.stream("arrivals"))
    pool = Pool(host, "bursts", arrivals, _lengths(streams, cv2=cv2))
    [(mean, _)] = _run(host.clock, round(bursts / rate * SERVICE_PS), pool.flow)
    return mean / SERVICE_PS


def multiple_servers() -> Iterator[Oracle]:
    """Oracles of M/M/c: several PCPUs and one queue."""
    for servers, load, bursts in ((2, 0.7, 4e6), (4, 0.8, 6.6e6), (8, 0.8, 3e6), (16, 0.8, 2.5e6)):

        def simulate(
            streams: Streams, portion: float, servers: int = servers, load: float = load, bursts: float = bursts
        ) -> Sequence[float]:
            return (_sojourn(bare_host(servers), streams, servers * load, bursts * portion),)

        yield Oracle(
            "Several servers",
            f"M/M/{servers}, load {load}",
            f"{servers} PCPUs, load {load} each",
            (Quantity("mean sojourn, services", 1 + closed_form.mmc_wait(servers, load)),),
            simulate,
        )


def _two_classes(
    streams: Streams, portion: float, bursts: float, loads: tuple[float, float], first: _Options, second: _Options
) -> list[float]:
    """Sojourns of two classes on one PCPU."""
    host = bare_host(1)
    pools = []
    for name, load, options in (("first", loads[0], first), ("second", loads[1], second)):
        arrivals = poisson(load * PER_SECOND, streams.stream(name, "arrivals"))
        pools.append(Pool(host, name, arrivals, _lengths(streams, name), **options))
    means = _run(host.clock, round(bursts * portion / sum(loads) * SERVICE_PS), *(pool.flow for pool in pools))
    return [mean / SERVICE_PS for mean, _ in means]


class _Options(TypedDict, total=False):
    """Scheduling parameters of a class of `Pool`."""

    system: bool
    shares: int
    vtime: int


def priority_classes() -> Iterator[Oracle]:
    """Oracles of two priority classes, preemptive and non-preemptive."""

    def answers(sojourns: tuple[float, float]) -> tuple[Quantity, ...]:
        return tuple(
            Quantity(f"mean sojourn of the {which}, services", sojourn)
            for which, sojourn in zip(("first", "second"), sojourns, strict=True)
        )

    waits = closed_form.nonpreemptive_waits(0.3, 0.3)
    yield Oracle(
        "Classes and sharing",
        "Two classes, non-preemptive",
        "vCPUs of large and of small share on one PCPU, loads 0.3 and 0.3",
        answers((1 + waits[0], 1 + waits[1])),
        lambda streams, portion: _two_classes(
            streams, portion, 4e6, (0.3, 0.3), {"shares": 10**18}, {"shares": 1, "vtime": 1}
        ),
    )
    yield Oracle(
        "Classes and sharing",
        "Two classes, preemptive-resume",
        "system worlds over vCPUs on one PCPU, loads 0.3 and 0.5",
        answers(closed_form.preemptive_sojourns(0.3, 0.5)),
        lambda streams, portion: _two_classes(streams, portion, 1.42e7, (0.3, 0.5), {"system": True}, {}),
    )


def processor_sharing() -> Iterator[Oracle]:
    """Oracles of M/G/1 processor sharing: a small quantum, extrapolated to 0.

    With a quantum of q services the mean sojourn deviates from processor sharing in proportion to q. Twice the mean at q minus the mean at
    2 q, with the same random numbers, removes the deviation. (With exponential service any quantum gives the same mean.)
    """
    for cv2, load, bursts, slices in ((0.0, 0.3, 1.4e5, 40), (1.0, 0.5, 1.35e6, 10), (2.0, 0.4, 1.7e6, 16)):

        def simulate(
            streams: Streams,
            portion: float,
            cv2: float = cv2,
            load: float = load,
            bursts: float = bursts,
            slices: int = slices,
        ) -> Sequence[float]:
            fine = _shared(streams, portion * bursts, cv2, load, SERVICE_PS // slices)
            return (
                fine
                if cv2 == 1
                else 2 * fine - _shared(streams, portion * bursts, cv2, load, 2 * SERVICE_PS // slices),
            )

        quanta = f"a quantum of 1/{slices} service" + (
            "" if cv2 == 1 else f" and of 1/{slices // 2}, extrapolated to none"
        )
        yield Oracle(
            "Classes and sharing",
            f"M/G/1 processor sharing, squared variation {cv2:g}",
            f"load {load}, {quanta}",
            (Quantity("mean sojourn, services", closed_form.processor_sharing_sojourn(load)),),
            simulate,
        )


def _shared(streams: Streams, bursts: float, cv2: float, load: float, quantum: int) -> float:
    """Mean sojourn, in services, where worlds of equal shares take turns of a quantum."""
    return _sojourn(bare_host(1, quantum=quantum, lag_quanta=0), streams, load, bursts, cv2)


def polling() -> Iterator[Oracle]:
    """Oracles of polling systems: one world that visits several rings in turn."""
    for service, queues, load, bursts in (
        ("exhaustive", 2, 0.5, 1.5e6),
        ("exhaustive", 4, 0.7, 5.6e6),
        ("gated", 4, 0.5, 1.5e6),
        ("gated", 8, 0.5, 1.3e6),
        ("limited", 2, 0.5, 1.6e6),
        ("limited", 4, 0.5, 1.6e6),
    ):

        def simulate(
            streams: Streams,
            portion: float,
            service: str = service,
            queues: int = queues,
            load: float = load,
            bursts: float = bursts,
        ) -> Sequence[float]:
            host = bare_host(1)
            arrivals = [poisson(load / queues * PER_SECOND, streams.stream("queue", n)) for n in range(queues)]
            poller = Poller(host, arrivals, _lengths(streams), SERVICE_PS // 10, service)
            poller.start()
            [(mean, _)] = _run(host.clock, round(bursts * portion / load * SERVICE_PS), poller.flow)
            return (mean / SERVICE_PS,)

        yield Oracle(
            "Polling",
            f"{queues} queues, {service}, load {load}",
            f"{queues} queues, {service} service, load {load}, turning takes 0.1 services",
            (Quantity("mean sojourn, services", 1 + closed_form.polling_wait(queues, load, 0.1, service)),),
            simulate,
        )
