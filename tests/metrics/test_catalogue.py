"""Measures are read from records; where a record cannot tell one, it says nothing rather than something."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hostsim.metrics.catalogue import CATALOGUE
from hostsim.record import Histogram, RunRecord

PERCENTILES = [metric for metric in CATALOGUE.values() if metric.kind == "percentile"]


def record(latencies: int, before: int = 0) -> RunRecord:
    """A run with so many latencies of one microsecond in its window, and some before."""
    edges = np.array([0, 1_000_000, 2_000_000], dtype=np.int64)
    counts = np.array([[[0, 0]], [[0, before]], [[0, before + latencies]]], dtype=np.int64)
    sums = counts.sum(axis=2) * 1_500_000
    histogram = Histogram(("stream",), edges, counts, sums)
    both = {"flow.latency": histogram, "flow.response": histogram}
    return RunRecord("id", 0, 1, {}, np.array([0, 10, 20], dtype=np.int64), {}, both, 1)


def test_the_percentiles_and_what_they_need() -> None:
    """The sizes at which a sample's largest value is a valid upper limit, and the median's."""
    least = {"p50": 6, "p95": 72, "p99": 368, "p999": 3688, "p9999": 36887}
    told = {f"latency_{rank}": count for rank, count in least.items()}
    told |= {f"response_{rank}": least[rank] for rank in ("p50", "p95", "p99")}
    assert {metric.name: metric.least for metric in PERCENTILES} == told


@pytest.mark.parametrize("metric", PERCENTILES, ids=lambda metric: metric.name)
def test_a_percentile_of_too_few_is_not_told(metric) -> None:
    """One less than enough in the window is none, however many came before it."""
    unit = 1 if metric.unit == "us" else 1e-3
    assert unit <= metric.evaluate(record(metric.least)) <= 2 * unit
    assert math.isnan(metric.evaluate(record(metric.least - 1, before=10**6)))
    assert math.isnan(metric.evaluate(record(0)))


def test_a_mean_needs_one() -> None:
    """It is not a percentile."""
    assert CATALOGUE["latency_mean"].evaluate(record(1)) == 1.5
    assert math.isnan(CATALOGUE["latency_mean"].evaluate(record(0)))
