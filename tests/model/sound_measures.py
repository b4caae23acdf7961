"""Bounds of every measure of the catalogue: not negative, not above its maximum, and undefined only without observations."""

from __future__ import annotations

import math

import numpy as np

from hostsim.engine.record import RunRecord
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.functions import DROPS, late_borders
from hostsim.units import SECOND

TIMES = {
    "latency_": "flow.latency",
    "response_time_": "flow.response",
    "settled_response_": "flow.response",
    "round_trip_": "flow.response",
    "work_time_": "work.time",
}
"""Histograms of time measures, by the prefix of their names."""
RATIOS = {
    "cpu_per_gbit": "flow.octets",
    "guest_cpu_per_10kpps": "port.received",
    "rx_tx_ratio": "nic.tx_packets",
    "rx_size": "nic.rx_frames",
    "tso_size": "nic.tx_data",
    "users_per_cpu": "flow.users",
    "vmotion_rounds": "migration.done",
    "vmotion_time": "migration.done",
    "vmotion_stop": "migration.done",
}
"""Counters that are denominators of measures."""
SUMS = ("cpu_total", "netpoll_cpu", "networld_cpu", "network_threads_cpu", "splitrx_cpu")
"""Sums of shares of PCPUs."""
LARGEST = 65_536
"""Largest bytes of a packet from the IP header on; the Ethernet header has 14 more."""
PER_S = {"ms": 1e3, "us": 1e6}


def assert_sound(record: RunRecord) -> None:
    """Checks that every measure of a record is within its bounds."""
    for name, metric in CATALOGUE.items():
        value, count = metric.evaluate(record), observations(name, record)
        assert math.isnan(value) == (count < metric.least), f"{name} is {value} of {count}"
        if not math.isnan(value):
            assert 0 <= value <= most(name, record), f"{name} is {value}"


def observations(name: str, record: RunRecord) -> float:
    """Number of observations of a measure."""
    for beginning, histogram in TIMES.items():
        if name.startswith(beginning):
            counts = record.histograms[histogram].counts if histogram in record.histograms else np.zeros((2, 1, 1))
            first = record.cut if len(counts) > 2 else 0
            if beginning == "settled_response_" and histogram in record.histograms:
                first = (late_borders(record)[1] or [first])[0]
            return float((counts[-1] - counts[first]).sum())
    if name.startswith("stage_"):
        return record.total("trip.count")
    if name == "work_loss":
        return record.total("work.dropped") + record.total("work.started")
    if name.startswith("loss"):
        ended = ("guest.read", "flow.forwarded", "flow.out", *DROPS.values())
        return sum(map(record.total, ended)) - record.total("flow.to_forward")
    if name.endswith("_per_nic"):
        return record.total("nic.rx_frames") + record.total("nic.tx_packets")
    if name == "users_per_cpu":
        return float(record.series["flow.users"].values[-1].sum())
    return record.total(RATIOS[name]) if name in RATIOS else 1


def most(name: str, record: RunRecord) -> float:
    """The largest possible value of a measure; rates of packets have none here."""
    unit, length_s = CATALOGUE[name].unit, float(record.instants_ps[-1]) / SECOND
    slack = 1 + 1e-9
    if name in SUMS:
        return 100 * len(record.series["pcpu.busy_ps"].entities) * slack
    if name.startswith("settled_response_"):
        return math.inf
    if (
        unit in PER_S
    ):  # a packet is counted at the start of the burst that reads it, and the burst may end after the run
        return 2 * length_s * PER_S[unit]
    if unit in ("%", "% of a vCPU", "% of the window", "% of the bandwidth", "% of a PCPU") and not name.startswith(
        "guest_cpu_per"
    ):
        return 100 * slack
    if name in ("rx_size", "tso_size"):
        return LARGEST + 14 if name == "rx_size" else LARGEST / 1e3
    if name == "rx_queues_used":
        return len(record.series["queue.arrived"].entities)
    return math.inf
