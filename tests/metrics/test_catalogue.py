"""The catalogue: measures are read from records, and each has words and a unit to print."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hostsim.engine.record import Histogram, RunRecord
from hostsim.results.metrics.catalogue import CATALOGUE, in_sentence, label_of, nearest_metric, spelt, unit_of
from tests.campaign.toy_runs import answered_record

PERCENTILES = [metric for metric in CATALOGUE.values() if metric.kind == "percentile"]


def record(latencies: int, before: int = 0) -> RunRecord:
    """A run with a number of latencies of one microsecond in its window, and some before."""
    edges = np.array([0, 1_000_000, 2_000_000], dtype=np.int64)
    counts = np.array([[[0, 0]], [[0, before]], [[0, before + latencies]]], dtype=np.int64)
    sums = counts.sum(axis=2) * 1_500_000
    histogram = Histogram(("stream",), edges, counts, sums)
    times = dict.fromkeys(("flow.latency", "flow.response", "work.time"), histogram)
    return RunRecord("id", 0, 1, {}, np.array([0, 10, 20], dtype=np.int64), {}, times, 1)


def test_the_percentiles_and_what_they_need() -> None:
    """The sizes at which a sample's largest value is a valid upper limit, and the median's."""
    least = {"p50": 6, "p95": 72, "p99": 368, "p999": 3688, "p9999": 36887}
    times = ("latency", "response_time", "settled_response", "work_time")
    told = {f"{of}_{rank}": count for of in times for rank, count in least.items()}
    assert {metric.name: metric.least for metric in PERCENTILES} == told


@pytest.mark.parametrize("metric", PERCENTILES, ids=lambda metric: metric.name)
def test_a_percentile_of_too_few_is_not_told(metric) -> None:
    """One less than enough in the window gives none, for any number before it."""
    unit = 1 if metric.unit == "us" else 1e-3
    assert unit <= metric.evaluate(record(metric.least)) <= 2 * unit
    assert math.isnan(metric.evaluate(record(metric.least - 1, before=10**6)))
    assert math.isnan(metric.evaluate(record(0)))


@pytest.mark.parametrize("statistic", ["mean", "p50", "p95", "p99"])
def test_the_raw_response_time_is_finite_where_the_settled_one_is_not(statistic: str) -> None:
    """Requests accumulate to the end of the run; if they do not, both are the same number."""
    raw, settled = CATALOGUE[f"response_time_{statistic}"], CATALOGUE[f"settled_response_{statistic}"]
    assert settled.raw == raw.name
    rising = answered_record([10 + time // 2 for time in range(128)], cut=0)
    assert settled.evaluate(rising) == math.inf
    assert 10 < raw.evaluate(rising) < 80
    level = answered_record([30] * 128, cut=0)
    assert raw.evaluate(level) == settled.evaluate(level)


def test_a_name_of_earlier_versions_leads_to_the_measure_that_has_its_values() -> None:
    """The raw measure has a similar name, but other values."""
    assert "response_p95" not in CATALOGUE
    assert nearest_metric("response_p95") == "settled_response_p95"
    assert nearest_metric("thruoghput") == "throughput"


def test_a_mean_needs_one() -> None:
    """It is not a percentile."""
    assert CATALOGUE["latency_mean"].evaluate(record(1)) == 1.5
    assert math.isnan(CATALOGUE["latency_mean"].evaluate(record(0)))


def test_every_metric_has_a_label_of_its_own() -> None:
    """No label only repeats the name, except one-word names, and no two are equal."""
    labels = {name: label_of(name) for name in CATALOGUE}
    assert len(set(labels.values())) == len(labels)
    assert [name for name, label in labels.items() if label == spelt(name)] == []


@pytest.mark.parametrize(
    ("label", "inside"),
    [("Packet loss", "packet loss"), ("NUMA I/O in effect", "NUMA I/O in effect"), ("NetPoll", "NetPoll"), ("", "")],
)
def test_a_label_inside_a_sentence_loses_its_capital_unless_it_is_a_name(label: str, inside: str) -> None:
    assert in_sentence(label) == inside


def test_units_are_printed_as_in_print() -> None:
    """A ratio has none, microseconds have their Greek letter."""
    assert [unit_of(name) for name in ("latency_mean", "rx_tx_ratio", "transactions", "loss", "one_of_ones_own")] == [
        *("µs", "", "1/s", "%", ""),
    ]
