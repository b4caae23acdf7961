"""Oracles of queues: one busy vCPU (M/M/1, M/G/1, finite buffers, batches), and schedulers.

Schedulers are compared with M/M/c, priority classes, processor sharing and polling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypedDict

from hostsim.config.arrival import ServiceSpec
from hostsim.engine.clock import Clock
from hostsim.engine.random_stream import Streams
from hostsim.engine.record import RunRecord
from hostsim.lab.verification import closed_form
from hostsim.lab.verification.oracle import Oracle, Quantity
from hostsim.lab.verification.rig import (
    PER_SECOND,
    SERVICE_PS,
    WARM_UP,
    Lengths,
    Poller,
    Pool,
    bare_host,
    mean_time,
    measure,
    point,
    poisson,
)
from hostsim.model.contract import Flow
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.traffic.arrival_source import make_lengths
from hostsim.results.estimate import histogram_quantile

__all__ = [
    "batch_arrivals",
    "bulk_service",
    "finite_buffer",
    "multiple_servers",
    "polling",
    "priority_classes",
    "processor_sharing",
    "single_server",
]

Reader = Callable[[RunRecord], Sequence[float]]


def _host(
    rate: float, bursts: float, read: Reader, settings: dict[str, str], fill: float = 0
) -> Callable[[Streams, float], Sequence[float]]:
    """A replication of the host in `queue.yaml`, with ``rate`` arrivals per service; all replications together have
    ``bursts`` arrivals.

    ``fill`` is the number of services until an overflowing ring is full, which are cut as warm-up.
    """
    settings = settings | {"traffic__bursts__rate": f"{rate * PER_SECOND:.15g} /s"}

    def simulate(streams: Streams, portion: float) -> Sequence[float]:
        length = round((bursts * portion / rate + fill) * SERVICE_PS)
        return read(measure(point("queue.yaml", **settings), streams, length, round(fill * SERVICE_PS)))

    return simulate


def _sojourn(record: RunRecord) -> Sequence[float]:
    return (mean_time(record, "work.time")[0] / SERVICE_PS,)


def _service(cv2: float) -> dict[str, str]:
    if cv2 == 1:
        return {}
    if cv2 == 0:
        return {"traffic__bursts__service__distribution": "constant"}
    return {
        "traffic__bursts__service__distribution": "gamma",
        "traffic__bursts__service__cv": f"{math.sqrt(cv2):.15g}",
    }


def _sojourn_and_p99(record: RunRecord) -> Sequence[float]:
    histogram = record.histograms["work.time"]
    counts = (histogram.counts[-1] - histogram.counts[record.cut]).sum(axis=0)
    return *_sojourn(record), histogram_quantile(counts, histogram.edges_ps, 0.99) / SERVICE_PS


def single_server() -> Iterator[Oracle]:
    """Oracles of M/M/1 and M/G/1: Poisson arrivals at one server, first come first served."""
    for load, bursts in ((0.5, 1.6e6), (0.7, 5e6), (0.8, 1.27e7)):
        yield Oracle(
            "One server",
            f"M/M/1, load {load}",
            f"load {load}",
            (
                Quantity("mean sojourn, services", 1 + closed_form.mg1_wait(load, 1)),
                Quantity("p99 of the sojourn, services", closed_form.mm1_sojourn_quantile(load, 0.99), 0.03),
            ),
            _host(load, bursts, _sojourn_and_p99, {}),
        )
    for name, cv2, load, bursts, most in (
        ("M/D/1", 0.0, 0.5, 2e5, 0.01),
        ("M/D/1", 0.0, 0.8, 3.6e6, 0.01),
        ("M/D/1", 0.0, 0.95, 1.35e7, 0.03),
        ("M/G/1", 0.5, 0.5, 8e5, 0.01),
        ("M/G/1", 4.0, 0.5, 7.3e6, 0.01),
    ):
        yield Oracle(
            "One server",
            f"{name}, squared variation {cv2:g}, load {load}",
            f"load {load}, squared variation of service {cv2:g}",
            (Quantity("mean sojourn, services", 1 + closed_form.mg1_wait(load, cv2), most),),
            _host(load, bursts, _sojourn, _service(cv2)),
        )


def _lost(record: RunRecord) -> Sequence[float]:
    return (record.total("work.dropped") / record.total("work.come"),)


def finite_buffer() -> Iterator[Oracle]:
    """Oracles of M/M/1/K: a ring with a finite buffer and losses."""
    for load, capacity, bursts in ((0.9, 4, 2.5e6), (1.0, 4, 2.5e6), (1.2, 32, 7.5e6), (2.0, 512, 8e5)):
        fill = 2 * capacity / (load - 1) if load > 1 else 0.0
        yield Oracle(
            "One server",
            f"M/M/1/{capacity}, load {load}",
            f"load {load}, capacity {capacity} including the one in service",
            (Quantity("share lost", closed_form.mm1k_loss(load, capacity)),),
            _host(load, bursts, _lost, {"traffic__bursts__waiting": str(capacity - 1)}, fill),
        )


def batch_arrivals() -> Iterator[Oracle]:
    """Oracles of batch arrivals (M^X/G/1)."""
    for cv2, batch, load, bursts in (
        (1.0, 4, 0.5, 3.5e6),
        (0.0, 4, 0.7, 7e6),
        (1.0, 16, 0.3, 3e6),
        (0.0, 16, 0.5, 6.8e6),
        (1.0, 44, 0.3, 8.3e6),
        (0.0, 44, 0.3, 4.8e6),
    ):
        yield Oracle(
            "Batches",
            f"M^{batch}/{'D' if cv2 == 0 else 'M'}/1, load {load}",
            f"batches of {batch}, load {load}",
            (Quantity("mean sojourn, services", 1 + closed_form.batch_wait(load, batch, cv2)),),
            _host(load / batch, bursts / batch, _sojourn, _service(cv2) | {"traffic__bursts__batch": str(batch)}),
        )


def bulk_service() -> Iterator[Oracle]:
    """Oracles of bulk service (M/M^(1,b)/1): the server takes up to a poll budget of customers at a time."""
    for most, rate, bursts in ((2, 1.6, 1.4e7), (4, 3.2, 1.6e7), (32, 19.2, 2.05e7), (64, 38.4, 3.5e7)):
        yield Oracle(
            "Batches",
            f"M/M^(1,{most})/1, rate {rate}",
            f"at most {most} served as one, {rate} arrivals a service",
            (Quantity("mean sojourn, services", 1 + closed_form.bulk_wait(rate, most)),),
            _host(rate, bursts, _sojourn, {"traffic__bursts__together": str(most)}),
        )


def _lengths(streams: Streams, *scope: str, cv2: float = 1.0) -> Lengths:
    """Burst lengths with a mean of one service: exponential by default, or with another squared variation."""
    values: dict[str, object] = {"mean": f"{SERVICE_PS} ps"}
    if cv2 != 1:
        values |= {"distribution": "gamma", "cv": math.sqrt(cv2)} if cv2 else {"distribution": "constant"}
    return Lengths(make_lengths(ServiceSpec.model_validate(values), 1.0, streams.stream(*scope, "lengths")))


def _run(clock: Clock, length: int, *flows: Flow) -> list[tuple[float, int]]:
    """Advance time; returns the mean latency (ps) and number of packets of each flow after warm-up."""
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


def _mean_sojourn(host: Scheduler, streams: Streams, rate: float, bursts: float, cv2: float = 1.0) -> float:
    """Mean sojourn time of Poisson arrivals at a host, in mean service times; ``rate`` is per mean service time."""
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
            return (_mean_sojourn(bare_host(servers), streams, servers * load, bursts * portion),)

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
            Quantity(f"mean sojourn of the {ordinal}, services", sojourn)
            for ordinal, sojourn in zip(("first", "second"), sojourns, strict=True)
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

    With a quantum of q services, the mean sojourn deviates from that of processor sharing in proportion to q. Twice the
    mean at q minus the mean at 2 q, from the same random numbers, removes this deviation. (With exponential service,
    any quantum gives the same mean.)
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
    """Mean sojourn time, in mean service times, of worlds with equal shares that alternate by quanta."""
    return _mean_sojourn(bare_host(1, quantum=quantum, lag_quanta=0), streams, load, bursts, cv2)


def polling() -> Iterator[Oracle]:
    """Oracles of polling systems: one world visits several rings in turn."""
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
