"""The interval of a single run, from batch means over its time slices, and verdicts by it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hostsim.engine.record import Histogram, RunRecord, Series
from hostsim.results.estimate import student
from hostsim.results.expect import At, Band, Expectation, VerdictState
from hostsim.results.judge import judge
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.point_estimate import batch_means_interval

SECOND = 10**12


def run(busy: np.ndarray, cut: int = 0, extra: int = 0, replication: int = 0) -> RunRecord:
    """A run of one-second slices with the given busy shares of a PCPU, followed by one slice of ``extra``."""
    widths = np.full(len(busy), SECOND)
    if extra:
        busy, widths = np.append(busy, 1.0), np.append(widths, extra)
    values = np.concatenate([[0], np.cumsum(np.rint(busy * widths))]).astype(np.int64)[:, np.newaxis]
    instants = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    return RunRecord("id", replication, 1, {"n": 1}, instants, {"pcpu.busy_ps": Series(("pcpu0",), values)}, {}, cut)


def noisy(slices: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.4, 0.6, slices)


def test_independent_slices_give_students_interval_around_the_measure() -> None:
    """Eighty slices, two per batch, without the warm-up."""
    busy = noisy(100)
    busy[:20] = 1.0
    interval, note = batch_means_interval(run(busy, cut=20), "host_cpu")
    expected = student((100 * busy[20:].reshape(40, 2).mean(axis=1)).tolist())
    assert (interval.mean, interval.half) == pytest.approx((expected.mean, expected.half))
    assert note == "40 batch means of one run"


def test_what_fills_no_stretch_is_in_the_measure_but_in_no_batch() -> None:
    """The first slices of 85."""
    busy = noisy(85)
    record = run(busy)
    interval, _ = batch_means_interval(record, "host_cpu")
    assert interval.mean == CATALOGUE["host_cpu"].evaluate(record)
    assert interval.half == pytest.approx(student((100 * busy[5:].reshape(40, 2).mean(axis=1)).tolist()).half)


def test_a_sliver_of_a_slice_is_no_observation() -> None:
    """A last slice of 64 picoseconds is not used separately."""
    busy = noisy(80)
    assert batch_means_interval(run(busy, extra=64), "host_cpu")[0].half == pytest.approx(
        batch_means_interval(run(busy), "host_cpu")[0].half
    )


def test_a_run_that_is_the_same_all_along_has_no_width() -> None:
    """Like replications that are all equal."""
    interval, _ = batch_means_interval(run(np.full(64, 0.25)), "host_cpu")
    assert (interval.low, interval.high) == (25, 25)


@pytest.mark.parametrize("metric", ["host_cpu", "latency_mean"])
def test_too_little_has_no_interval(metric: str) -> None:
    """Nineteen slices, or a measure that a part of the run lacks."""
    interval, _ = batch_means_interval(run(noisy(19)), metric)
    assert math.isinf(interval.half) or math.isnan(interval.mean)


def test_a_percentile_is_taken_of_each_stretch() -> None:
    """If a part has too few packets, there is no interval."""
    record = run(noisy(40))
    edges = np.array([0, 1, 2], dtype=np.int64) * 10**6

    def with_packets(each: int) -> RunRecord:
        counts = np.zeros((41, 1, 2), dtype=np.int64)
        counts[:, 0, 0] = counts[:, 0, 1] = np.arange(41) * each
        histogram = Histogram(("stream",), edges, counts, counts.sum(axis=2))
        return RunRecord("id", 0, 1, {}, record.instants_ps, {}, {"flow.latency": histogram}, 0)

    interval, _ = batch_means_interval(with_packets(36), "latency_p95")
    assert interval.low == interval.high == pytest.approx(1.9)
    interval, note = batch_means_interval(with_packets(35), "latency_p95")
    assert (interval.mean, interval.half) == (pytest.approx(1.9), math.inf)
    assert "too few observations" in note


def test_a_single_replication_is_judged_by_it_and_says_so() -> None:
    """Two replications are judged by their own spread."""
    expectation = Expectation("mine", At("host_cpu", {"n": 1}), Band(40, 60), "%", "", is_claim=False)
    (verdict,) = judge([expectation], "small", [run(noisy(80))], {})
    interval, _ = batch_means_interval(run(noisy(80)), "host_cpu")
    assert (verdict.ci_low, verdict.ci_high, verdict.state) == (interval.low, interval.high, VerdictState.PASS)
    assert verdict.notes == ("one replication: the interval is that of 40 batch means of one run",)
    records = [run(noisy(80)), run(noisy(80, seed=2), replication=1)]
    (verdict,) = judge([expectation], "small", iter(records), {})
    assert verdict.notes == ()
    expected = student([CATALOGUE["host_cpu"].evaluate(record) for record in records])
    assert verdict.ci_low == max(0, expected.low)
