"""Metric functions, which compute a measure from a record: shares of the window, rates, ratios, quantiles.

Each function takes a record, or makes one that does, and gives the value over the measured window; NaN where the run has nothing to measure
it on. What the measures are called and what they mean is `hostsim.results.metrics.catalogue`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hostsim.engine.record import RunRecord
from hostsim.results.estimate import histogram_quantile, least_count, rises
from hostsim.units import SECOND

__all__ = [
    "DROPS",
    "busiest",
    "cpu_per_gbit",
    "delivered",
    "drop_share",
    "gbits",
    "histogram_mean",
    "late_borders",
    "loss",
    "mean_share",
    "over",
    "per_10kpps",
    "per_nic",
    "quantile",
    "queues_used",
    "rate",
    "scaled",
    "settled",
    "sum_share",
    "tso_size",
    "users_per_cpu",
    "wire_gbits",
    "work_loss",
]

NAN = float("nan")
STRETCHES = 8
"""Parts of the second half of a run between which a time may rise."""
ONE_MORE = 1.0
"""Requests more under way on the host at the end of these than at their start, below which nothing piles up."""
DROPS = {
    "nic": "flow.dropped_nic",
    "split": "port.split_dropped",
    "ring": "port.ring_lost",
    "list": "local.lost",
    "socket": "guest.socket_dropped",
    "out": "flow.dropped_out",
}
"""Places at which packets are dropped, each with the counter of its drops: all of `loss`."""
QUANTILES = (0.50, 0.95, 0.99)
"""Quantiles of the times of requests that are looked at for a rise: those that have a measure."""


def _share(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else NAN


def mean_share(kind: str) -> Callable[[RunRecord], float]:
    """Mean over the entities of a kind of their share of the window, in percent."""

    def evaluate(record: RunRecord) -> float:
        values = record.series.get(kind)
        return (
            _share(record.total(kind), record.window_ps * len(values.entities)) if values and values.entities else NAN
        )

    return evaluate


def sum_share(kind: str) -> Callable[[RunRecord], float]:
    """Sum over the entities of a kind of their share of the window, in percent."""
    return lambda record: _share(record.total(kind), record.window_ps)


def rate(*counters: str) -> Callable[[RunRecord], float]:
    """Rate: growth of counters a second, all entities together."""
    return lambda record: sum(record.total(counter) for counter in counters) * SECOND / record.window_ps


def _dropped(record: RunRecord) -> int:
    return sum(record.total(counter) for counter in DROPS.values())


def _delivered(record: RunRecord) -> int:
    """Packets that guests took, or sent on where they are to forward them."""
    return record.total("guest.read") - record.total("flow.to_forward") + record.total("flow.forwarded")


def delivered(record: RunRecord) -> float:
    """Packets a second that guests took, or sent on where they are to forward them."""
    return _delivered(record) * SECOND / record.window_ps


def loss(record: RunRecord) -> float:
    """Packet loss: packets dropped anywhere, in percent of those that were dropped or got to their end."""
    return drop_share(*DROPS.values())(record)


def drop_share(*counters: str) -> Callable[[RunRecord], float]:
    """Packets dropped at some places, in percent of those that were dropped anywhere or got to their end."""

    def evaluate(record: RunRecord) -> float:
        ended = _dropped(record) + _delivered(record) + record.total("flow.out")
        return _share(sum(record.total(counter) for counter in counters), ended)

    return evaluate


def work_loss(record: RunRecord) -> float:
    """Bursts of work dropped, in percent of those that were dropped or started."""
    dropped = record.total("work.dropped")
    return _share(dropped, dropped + record.total("work.started"))


def per_10kpps(record: RunRecord) -> float:
    """Guest CPU in percent of a vCPU for each 10,000 packets a second that a guest takes off its ring."""
    packets = record.total("port.received")
    return _share(record.total("vcpu.used_ps"), packets * SECOND / 1e4) if packets else NAN


def gbits(record: RunRecord) -> float:
    """Throughput: data that reached the application at its end, in Gbit/s: bits a nanosecond."""
    return record.total("flow.octets") * 8 * 1e3 / record.window_ps


def wire_gbits(record: RunRecord) -> float:
    """Throughput of what wires carried, in Gbit/s: without packets between VMs, and a multicast frame once for all its receivers."""
    if "flow.octets" not in record.series:
        return 0.0
    octets, receivers = record.window("flow.octets"), record.series["flow.receivers"].values[-1]
    return float((octets[receivers > 0] / receivers[receivers > 0]).sum()) * 8 * 1e3 / record.window_ps


def cpu_per_gbit(record: RunRecord) -> float:
    """Time that PCPUs were busy, in percent of one, over throughput in Gbit/s."""
    throughput = gbits(record)
    return _share(record.total("pcpu.busy_ps"), record.window_ps) / throughput if throughput else NAN


def _nics(record: RunRecord) -> int:
    """Ports of physical NICs that packets went through."""
    if "nic.rx_frames" not in record.series:
        return 0
    return int(((record.window("nic.rx_frames") + record.window("nic.tx_packets")) > 0).sum())


def per_nic(value: Callable[[RunRecord], float]) -> Callable[[RunRecord], float]:
    """A measure over the number of ports of physical NICs that packets went through."""

    def evaluate(record: RunRecord) -> float:
        count = _nics(record)
        return value(record) / count if count else NAN

    return evaluate


def scaled(value: Callable[[RunRecord], float], factor: float) -> Callable[[RunRecord], float]:
    """A measure in another unit."""
    return lambda record: value(record) * factor


def over(part: str, whole: str) -> Callable[[RunRecord], float]:
    """Growth of one counter over that of another, all entities together."""

    def evaluate(record: RunRecord) -> float:
        count = record.total(whole)
        return record.total(part) / count if count else NAN

    return evaluate


def users_per_cpu(record: RunRecord) -> float:
    """Users over the time that PCPUs were busy, in percent of one."""
    users = record.series.get("flow.users")
    busy = sum_share("pcpu.busy_ps")(record)
    count = int(users.values[-1].sum()) if users is not None else 0
    return count / busy if count and busy else NAN


def tso_size(record: RunRecord) -> float:
    """Mean data of the packets with data handed to physical NICs, in kB."""
    packets = record.total("nic.tx_data")
    return record.total("nic.tx_octets") / packets / 1e3 if packets else NAN


def busiest(counter: str) -> Callable[[RunRecord], float]:
    """Share of the window of the entity that has most, in percent."""

    def evaluate(record: RunRecord) -> float:
        if counter not in record.series or not record.series[counter].entities:
            return NAN
        return _share(float(record.window(counter).max()), record.window_ps)

    return evaluate


def queues_used(record: RunRecord) -> float:
    """Receive queues that at least a hundredth of the frames came by."""
    if "queue.arrived" not in record.series:
        return NAN
    frames = record.window("queue.arrived")
    return float((frames * 100 >= max(int(frames.sum()), 1)).sum())


def quantile(name: str, part: float) -> Callable[[RunRecord], float]:
    """Quantile of the times of a histogram in the window, in microseconds; NaN of too few."""

    def evaluate(record: RunRecord) -> float:
        histogram = record.histograms.get(name)
        if histogram is None:
            return NAN
        counts = (histogram.counts[-1] - histogram.counts[record.cut]).sum(axis=0)
        if counts.sum() < least_count(part):
            return NAN
        return histogram_quantile(counts, histogram.edges_ps, part) / 1e6

    return evaluate


def histogram_mean(name: str) -> Callable[[RunRecord], float]:
    """Mean of the times of a histogram in the window, in microseconds."""

    def evaluate(record: RunRecord) -> float:
        histogram = record.histograms.get(name)
        if histogram is None:
            return NAN
        count = int((histogram.counts[-1] - histogram.counts[record.cut]).sum())
        return float((histogram.sums_ps[-1] - histogram.sums_ps[record.cut]).sum()) / count / 1e6 if count else NAN

    return evaluate


def late_borders(record: RunRecord) -> list[int]:
    """Boundaries of the equal stretches of a run's second half, or of its measured window where that is shorter: indices into its instants; empty where it has too few slices."""
    instants = record.instants_ps
    first = max(int(instants[record.cut]), int(instants[-1]) // 2)
    wanted = np.linspace(first, int(instants[-1]), STRETCHES + 1)
    borders = [int(np.abs(instants - instant).argmin()) for instant in wanted]
    return borders if len(set(borders)) == len(borders) else []


def settled(name: str, part: float | None = None) -> Callable[[RunRecord], float]:
    """Mean or quantile of the times of requests in the window, in microseconds; infinite where requests pile up through the second half of the run.

    Where they come faster than they are answered, how long they take is only a matter of how long one looks. It is told from what rises: by
    Little's law the requests under way grow by the requests a second times the rise of their mean time, and where a quantile rises, its
    share of the requests above it takes at least that much longer. A rise that is not worth one request more under way is noise
    (docs/decisions/0072).

    A quantile has no bound where it rises itself or one of `QUANTILES` below it does; a mean, where it rises itself or any of them does.

    Args:
        name: of a histogram with one entry for each request.
        part: of the quantile, 0 to 1; None for the mean.
    """
    measure = histogram_mean(name) if part is None else quantile(name, part)
    judges = [(quantile(name, each), 1 - each) for each in QUANTILES if part is None or each <= part]
    if part is None:
        judges.append((measure, 1.0))

    def evaluate(record: RunRecord) -> float:
        value = measure(record)
        if value != value or not (borders := late_borders(record)):
            return value
        late = replace(record, series={}, histograms={name: record.histograms[name]}).thinned(borders)
        counts = late.histograms[name].counts
        per_us = int((counts[-1] - counts[0]).sum()) * 1e6 / late.window_ps  # of requests, on the whole host
        stretches = [late.thinned(pair) for pair in itertools.pairwise(range(len(borders)))]
        for judge, share in judges:
            if per_us and rises([judge(stretch) for stretch in stretches], amount=ONE_MORE / (per_us * share)):
                return float("inf")
        return value

    return evaluate
