"""Single-server oracles (M/M/1, M/G/1, finite buffers, batches, bulk service): hosts with one busy vCPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from hostsim.engine.random_stream import Streams
from hostsim.engine.record import RunRecord
from hostsim.lab.verification import closed_form
from hostsim.lab.verification.host_fixture import PER_SECOND, SERVICE_PS, mean_time, measure, point
from hostsim.lab.verification.oracle import Oracle, Quantity
from hostsim.results.estimate import histogram_quantile

__all__ = ["batch_arrivals", "bulk_service", "finite_buffer", "single_server"]

Reader = Callable[[RunRecord], Sequence[float]]


def _host(
    rate: float, bursts: float, read: Reader, settings: dict[str, str], fill: float = 0
) -> Callable[[Streams, float], Sequence[float]]:
    """A replication of the queue host: ``rate`` arrivals a service, ``bursts`` of them over all replications.

    ``fill`` is the number of services until an overflowing ring is full; they are cut as warm-up.
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
            f"load {load}, room for {capacity}, the one in service included",
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
            _batch_host(load, batch, cv2, bursts),
        )


def _batch_host(load: float, batch: int, cv2: float, bursts: float) -> Callable[[Streams, float], Sequence[float]]:
    settings = _service(cv2) | {"traffic__bursts__batch": str(batch)}
    return _host(load / batch, bursts / batch, _sojourn, settings)


def bulk_service() -> Iterator[Oracle]:
    """Oracles of bulk service (M/M^(1,b)/1): a server that takes up to a poll budget at a time."""
    for most, rate, bursts in ((2, 1.6, 1.4e7), (4, 3.2, 1.6e7), (32, 19.2, 2.05e7), (64, 38.4, 3.5e7)):
        yield Oracle(
            "Batches",
            f"M/M^(1,{most})/1, rate {rate}",
            f"at most {most} served as one, {rate} arrivals a service",
            (Quantity("mean sojourn, services", 1 + closed_form.bulk_wait(rate, most)),),
            _host(rate, bursts, _sojourn, {"traffic__bursts__together": str(most)}),
        )
