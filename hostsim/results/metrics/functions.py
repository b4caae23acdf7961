"""Metrics, and the functions that compute them from a record: shares, rates, ratios, quantiles.

Each function takes a record, or returns a function of a record, and computes the value over the measured window; NaN without
observations. `hostsim.results.metrics.catalogue` has names and meanings.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hostsim.engine.record import RunRecord
from hostsim.results.estimate import histogram_quantile, least_count, rises, slices_beyond
from hostsim.units import SECOND

__all__ = [
    "DROPS",
    "Metric",
    "busiest",
    "condensed",
    "cpu_per_gbit",
    "delivered",
    "drop_share",
    "gbits",
    "histogram_mean",
    "limited_share",
    "loss",
    "mean_share",
    "over",
    "per_10kpps",
    "per_nic",
    "percentile",
    "quantile",
    "quantile_slices",
    "queues_used",
    "rate",
    "scaled",
    "settled",
    "settled_response",
    "sum_share",
    "tso_size",
    "users_per_cpu",
    "wire_gbits",
    "work_loss",
]

NAN = float("nan")
STRETCHES = 8
"""Number of equal parts of a run's second half that the test for a rise compares."""
ONE_MORE = 1.0
"""Smallest increase of requests in progress over these parts that counts as accumulation."""
LEVELLING = 0.5
"""Largest rise of a time that approaches a level, as a share of its rise in the first half; without a level, both are equal."""
DROPS = {
    "nic": "flow.dropped_nic",
    "split": "port.split_dropped",
    "ring": "port.ring_lost",
    "list": "local.lost",
    "socket": "guest.socket_dropped",
    "out": "flow.dropped_out",
}
"""Places of packet drops, each with its counter; their sum is `loss`."""
QUANTILES = (0.50, 0.95, 0.99)
"""Quantiles of request times that are tested for a rise, in addition to that of the measure itself."""


def _share(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else NAN


def mean_share(kind: str) -> Callable[[RunRecord], float]:
    """Mean share of the window over the entities of a kind, in percent."""

    def evaluate(record: RunRecord) -> float:
        values = record.series.get(kind)
        return (
            _share(record.total(kind), record.window_ps * len(values.entities)) if values and values.entities else NAN
        )

    return evaluate


def limited_share(record: RunRecord) -> float:
    """Mean share of the window in which a CPU limit stopped a vCPU, in percent; 0 without limits."""
    if "vcpu.limited_ps" in record.series:
        return mean_share("vcpu.limited_ps")(record)
    return 0.0 if "vcpu.used_ps" in record.series else NAN


def sum_share(kind: str) -> Callable[[RunRecord], float]:
    """Sum of the shares of the window over the entities of a kind, in percent."""
    return lambda record: _share(record.total(kind), record.window_ps)


def rate(*counters: str) -> Callable[[RunRecord], float]:
    """Rate: growth of counters per second, all entities together."""
    return lambda record: sum(record.total(counter) for counter in counters) * SECOND / record.window_ps


def _dropped(record: RunRecord) -> int:
    return sum(record.total(counter) for counter in DROPS.values())


def _delivered(record: RunRecord) -> int:
    """Packets that guests read, or forwarded if that is their task."""
    return record.total("guest.read") - record.total("flow.to_forward") + record.total("flow.forwarded")


def delivered(record: RunRecord) -> float:
    """Packets/s that guests read, or forwarded if that is their task."""
    return _delivered(record) * SECOND / record.window_ps


def loss(record: RunRecord) -> float:
    """Packet loss: packets dropped anywhere, in percent of dropped and delivered packets."""
    return drop_share(*DROPS.values())(record)


def drop_share(*counters: str) -> Callable[[RunRecord], float]:
    """Packets dropped at some places, in percent of all dropped and delivered packets."""

    def evaluate(record: RunRecord) -> float:
        ended = _dropped(record) + _delivered(record) + record.total("flow.out")
        return _share(sum(record.total(counter) for counter in counters), ended)

    return evaluate


def work_loss(record: RunRecord) -> float:
    """Dropped bursts of work, in percent of dropped and started bursts."""
    dropped = record.total("work.dropped")
    return _share(dropped, dropped + record.total("work.started"))


def per_10kpps(record: RunRecord) -> float:
    """Guest CPU in percent of a vCPU for each 10,000 packets/s that a guest takes from its ring."""
    packets = record.total("port.received")
    return _share(record.total("vcpu.used_ps"), packets * SECOND / 1e4) if packets else NAN


def gbits(record: RunRecord) -> float:
    """Throughput: data that receiving applications got, in Gbit/s (bits per nanosecond)."""
    return record.total("flow.octets") * 8 * 1e3 / record.window_ps


def wire_gbits(record: RunRecord) -> float:
    """Throughput over wires in Gbit/s: without packets between VMs; a multicast frame counts once."""
    if "flow.octets" not in record.series:
        return 0.0
    octets, receivers = record.window("flow.octets"), record.series["flow.receivers"].values[-1]
    return float((octets[receivers > 0] / receivers[receivers > 0]).sum()) * 8 * 1e3 / record.window_ps


def cpu_per_gbit(record: RunRecord) -> float:
    """Busy time of PCPUs, in percent of one, over throughput in Gbit/s."""
    throughput = gbits(record)
    return _share(record.total("pcpu.busy_ps"), record.window_ps) / throughput if throughput else NAN


def _nics(record: RunRecord) -> int:
    """Number of ports of physical NICs with packets."""
    if "nic.rx_frames" not in record.series:
        return 0
    return int(((record.window("nic.rx_frames") + record.window("nic.tx_packets")) > 0).sum())


def per_nic(value: Callable[[RunRecord], float]) -> Callable[[RunRecord], float]:
    """A measure divided by the number of ports of physical NICs with packets."""

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
    """Number of users over the busy time of PCPUs, in percent of one."""
    users = record.series.get("flow.users")
    busy = sum_share("pcpu.busy_ps")(record)
    count = int(users.values[-1].sum()) if users is not None else 0
    return count / busy if count and busy else NAN


def tso_size(record: RunRecord) -> float:
    """Mean data of the packets with data that were passed to physical NICs, in kB."""
    packets = record.total("nic.tx_data")
    return record.total("nic.tx_octets") / packets / 1e3 if packets else NAN


def busiest(counter: str) -> Callable[[RunRecord], float]:
    """Largest share of the window over the entities of a counter, in percent."""

    def evaluate(record: RunRecord) -> float:
        if counter not in record.series or not record.series[counter].entities:
            return NAN
        return _share(float(record.window(counter).max()), record.window_ps)

    return evaluate


def queues_used(record: RunRecord) -> float:
    """Number of receive queues with at least 1 % of the frames."""
    if "queue.arrived" not in record.series:
        return NAN
    frames = record.window("queue.arrived")
    return float((frames * 100 >= max(int(frames.sum()), 1)).sum())


def quantile(name: str, part: float) -> Callable[[RunRecord], float]:
    """Quantile of the times of a histogram in the window, in microseconds; NaN with too few observations."""

    def evaluate(record: RunRecord) -> float:
        histogram = record.histograms.get(name)
        if histogram is None:
            return NAN
        counts = (histogram.counts[-1] - histogram.counts[record.cut]).sum(axis=0)
        if counts.sum() < least_count(part):
            return NAN
        return histogram_quantile(counts, histogram.edges_ps, part) / 1e6

    return evaluate


def quantile_slices(name: str, part: float) -> Callable[[RunRecord], int]:
    """Number of time slices of the window with times of a histogram beyond a quantile."""

    def evaluate(record: RunRecord) -> int:
        histogram = record.histograms.get(name)
        if histogram is None:
            return 0
        counts = np.diff(histogram.counts[record.cut :], axis=0).sum(axis=1)
        value = histogram_quantile(counts.sum(axis=0), histogram.edges_ps, part)
        return slices_beyond(counts, histogram.edges_ps, value)

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


def late_borders(record: RunRecord) -> tuple[list[int], list[int]]:
    """Boundaries of two equal parts of a run's first half, and of equal parts of its second half.

    A warm-up of more than half of the run shortens both halves.

    Returns:
        Indices into the instants of the run; empty with too few slices.
    """
    instants = record.instants_ps
    last = int(instants[-1])
    half = min(last - int(instants[record.cut]), last - last // 2)
    early, late = (
        [int(np.abs(instants - instant).argmin()) for instant in np.linspace(first, first + half, parts + 1)]
        for first, parts in ((last - 2 * half, 2), (last - half, STRETCHES))
    )
    return (early, late) if len({*early, *late}) == 2 + STRETCHES + 1 else ([], [])


def condensed(record: RunRecord) -> RunRecord:
    """A record without most of its slices: sufficient for measures, at a tenth of the size."""
    early, late = late_borders(record)
    kept = sorted({0, record.cut, *early, *late, len(record.instants_ps) - 1})
    return record.thinned(kept, kept.index(record.cut))


def settled(name: str, part: float | None = None) -> Callable[[RunRecord], float]:
    """Mean or quantile of the request times in the second half of the run, in microseconds.

    The value is infinite if requests accumulate in that half: if requests arrive faster than they are
    answered, their times depend on the length of the run. By Little's law the
    number of requests in progress grows by the request rate times the rise of their mean time; if a quantile rises, the
    requests above it take at least that much longer. A rise that corresponds to less than one more request in progress
    is noise (docs/decisions/0072), and a rise that is less than half as fast as in the first half approaches a level
    (docs/decisions/0179).

    A quantile is infinite if it or one of `QUANTILES` below it rises; a mean, if it or any of them rises.

    Args:
        name: of a histogram with one entry for each request.
        part: the quantile, 0 to 1; None for the mean.
    """
    measure = histogram_mean(name) if part is None else quantile(name, part)
    judges = [(quantile(name, level), 1 - level) for level in QUANTILES if part is None or level <= part]
    if part is None:
        judges.append((measure, 1.0))
    elif part not in QUANTILES:
        judges.append((measure, 1 - part))

    def evaluate(record: RunRecord) -> float:
        early, late = late_borders(record)
        if name not in record.histograms or not late:
            return measure(record)
        record = replace(record, series={}, histograms={name: record.histograms[name]})
        second = record.thinned([late[0], late[-1]])
        value = measure(second)
        if value != value:
            return value
        counts = second.histograms[name].counts
        per_us = int((counts[-1] - counts[0]).sum()) * 1e6 / second.window_ps  # requests on the whole host
        quarters, eighths = (
            [record.thinned(list(pair)) for pair in itertools.pairwise(borders)] for borders in (early, late)
        )
        for judge, share in judges if per_us else ():
            before, after = (judge(quarter) for quarter in quarters)
            # from the middle of the first to that of the last of the late parts
            linear = (after - before) * 2 * (STRETCHES - 1) / STRETCHES
            amount = max(ONE_MORE / (per_us * share), LEVELLING * linear)  # NaN, of too few requests, has no effect
            if rises([judge(eighth) for eighth in eighths], amount=amount):
                return float("inf")
        return value

    return evaluate


EXTREME = 0.999
"""Smallest percentile share beyond which a single stall may cause all observations."""


@dataclass(frozen=True)
class Metric:
    """A metric: its name, unit, meaning and function."""

    name: str
    unit: str
    meaning: str
    kind: str
    """``instant`` ratio or level over the window, ``rate`` per second, or ``percentile``."""
    evaluate: Callable[[RunRecord], float]
    """Value over the measured window; NaN with no or too few observations."""
    least: int = 1
    """Smallest number of observations of a percentile."""
    slices: Callable[[RunRecord], int] | None = None
    """For a percentile from the 99.9th on: number of time slices with observations beyond it
    (`hostsim.results.estimate.slices_beyond`).
    """
    raw: str = ""
    """For a settled response time: the raw measure of the same requests, which is always finite."""
    is_smooth: bool = False
    """True if it grows nearly evenly with the load, so that a search needs a full-length run on one side of the limit only."""


def percentile(prefix: str, name: str, share: float, histogram: str, quantity: str) -> Metric:
    """Metric of a percentile: NaN with too few observations."""
    least, is_latency = least_count(share), prefix == "latency"
    return Metric(
        f"{prefix}_{name.replace('.', '')}",
        "us" if is_latency else "ms",
        f"{_rank(share)} of {quantity}; needs at least {least}.",
        "percentile",
        quantile(histogram, share) if is_latency else scaled(quantile(histogram, share), 1e-3),
        least,
        quantile_slices(histogram, share) if share >= EXTREME else None,
    )


def settled_response(statistic: str, share: float | None) -> Metric:
    """Metric of a settled response time: infinite if requests accumulate, else the raw measure."""
    raw = f"response_time_{statistic}"
    return Metric(
        f"settled_response_{statistic}",
        "ms",
        f"{raw} in the second half of the run; infinite if requests accumulate there.",
        "instant" if share is None else "percentile",
        scaled(settled("flow.response", share), 1e-3),
        1 if share is None else least_count(share),
        quantile_slices("flow.response", share) if share is not None and share >= EXTREME else None,
        raw,
    )


def _rank(share: float) -> str:
    return "Median" if share == 0.5 else f"{100 * share:g}th percentile"
