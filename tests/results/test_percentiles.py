"""Percentiles up to the 99.99th: required observations, and when they are not estimable."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from hostsim.engine.record import Histogram, RunRecord
from hostsim.results.distribution import percentiles_frame
from hostsim.results.estimate import LEAST_SLICES, least_count, slices_beyond
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.point_estimate import Runs, RunSource

SLICES = 128
EDGES = np.array([1, 2, 4, 8, 16], dtype=np.int64) * 10**6


def run(late: list[int], replication: int = 0, in_slice: int = 1000) -> RunRecord:
    """A run with a number of packets of 1 to 2 us in each slice, and the given numbers of packets of 8 to 16 us in the first slices."""
    grown = np.zeros((SLICES, 4), dtype=np.int64)
    grown[:, 0] = in_slice
    grown[: len(late), 3] = late
    counts = np.concatenate([np.zeros((1, 4), dtype=np.int64), np.cumsum(grown, axis=0)])[:, np.newaxis, :]
    sums = (counts * np.array([1, 2, 4, 8]) * 10**6).sum(axis=2)
    histogram = Histogram(("stream",), EDGES, counts, sums)
    instants = np.arange(SLICES + 1, dtype=np.int64) * 10**9
    return RunRecord("p", replication, 1, {}, instants, {}, {"flow.latency": histogram}, 0)


class Found:
    """Results of some runs."""

    scenario = "small"

    def __init__(self, *records: RunRecord) -> None:
        self._records = records
        columns = {"point": ["p"] * len(records), "replication": [one.replication for one in records]}
        self.table = pd.DataFrame(columns | {"seed": 1, "host_cpu": 0.0, "error": ""})

    def record_of(self, point: str, replication: int) -> RunRecord:
        return self._records[replication]


def test_every_time_has_percentiles_up_to_the_99_99th() -> None:
    """Each needs enough observations for the ends of its interval to be among them."""
    for time in ("latency", "response_time", "settled_response", "work_time"):
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999)):
            metric = CATALOGUE[f"{time}_{name}"]
            assert metric.least == least_count(share)
            assert (metric.slices is not None) == (share > 0.99)


def test_slices_with_late_observations_count() -> None:
    """For any number in each slice; the value's own bucket counts as beyond."""
    edges = np.array([0, 10, 20], dtype=np.int64)
    for late, slices in (([0, 0, 0], 0), ([5, 9, 1], 3), ([5, 0, 1], 2), ([0, 300, 0], 1)):
        counts = np.array([[100, count] for count in late])
        assert slices_beyond(counts, edges, 12.0) == slices


def test_a_percentile_that_one_stop_makes_is_not_carried_by_the_packets_of_it() -> None:
    """128,000 packets suffice for the 99.99th percentile; 200 late ones of a single stall are in two slices, the same number at random in ten."""
    of_one_stop, of_many = run([100, 100]), run([20, 0] * 10)
    for record, slices in ((of_one_stop, 2), (of_many, 10)):
        rows = percentiles_frame(Found(record), "latency").set_index("percentile")
        assert rows.loc[99.99, "value"] == pytest.approx(15.5, abs=0.5)
        assert rows.loc[99.99, "slices"] == slices
        assert (rows.loc[99.99, "note"] == "") == (slices >= LEAST_SLICES)
        assert rows.loc[50.0, "note"] == ""
        estimate = Runs([RunSource.of(record)], ["latency_p9999"], 0.95).at("latency_p9999", {})
        assert any("rests on 2 time slices" in note for note in estimate.notes) == (slices < LEAST_SLICES)


def test_replications_together_have_percentiles_that_none_has_alone() -> None:
    """Four runs of 12,800 packets: 51,200 in total suffice for the value, but there is no interval over replications."""
    records = [run([2, 0] * 5, replication, in_slice=100) for replication in range(4)]
    rows = percentiles_frame(Found(*records), "latency").set_index("percentile")
    assert rows.loc[99.99, "count"] == 4 * (12_800 + 10)
    assert 8 <= rows.loc[99.99, "value"] <= 16
    assert math.isnan(rows.loc[99.99, "low"])
    assert rows.loc[99.9, "low"] <= rows.loc[99.9, "value"] <= rows.loc[99.9, "high"]
    alone = percentiles_frame(Found(records[0]), "latency").set_index("percentile")
    assert math.isnan(alone.loc[99.99, "value"])
    assert alone.loc[99.99, "note"] == "not estimable from fewer than 36887"
