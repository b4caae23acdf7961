"""Measures are read from the counters of the measured window, and say nothing where there are none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hostsim.metrics import CATALOGUE
from hostsim.record import RunRecord, Series
from hostsim.units import SECOND
from tests.campaign.toy_runs import answered_record


def record(**counters: tuple[int, ...]) -> RunRecord:
    """A run of one second of warm-up and two measured: what each entity's counter grew by in these, ten times that before."""
    series = {}
    for name, grown in counters.items():
        before, after = np.array(grown, dtype=np.int64) * 10, np.array(grown, dtype=np.int64) * 11
        entities = tuple(str(number) for number in range(len(grown)))
        series[name.replace("__", ".")] = Series(entities, np.stack([0 * before, before, after]))
    instants = np.array([0, SECOND, 3 * SECOND], dtype=np.int64)
    return RunRecord("id", 0, 1, {}, instants, series, {}, 1)


NICS = {"nic__rx_frames": (4_000, 0, 2_000), "nic__tx_packets": (1_000, 0, 0)}
"""Three ports, one of them idle."""


@pytest.mark.parametrize(
    ("metric", "expected", "counters"),
    [
        ("host_cpu", 25, {"pcpu__busy_ps": (SECOND, 0)}),
        ("busiest_netpoll", 75, {"netpoll__used_ps": (SECOND // 2, 3 * SECOND // 2)}),
        ("netpoll_cpu", 100, {"netpoll__used_ps": (SECOND // 2, 3 * SECOND // 2)}),
        ("throughput", 10, {"flow__octets": (1_500_000_000, 1_000_000_000)}),
        ("throughput_per_nic", 5, {"flow__octets": (2_500_000_000,), **NICS}),
        ("cpu_per_gbit", 20, {"flow__octets": (2_500_000_000,), "pcpu__busy_ps": (3 * SECOND, SECOND)}),
        ("rx_per_nic", 1.5, NICS),
        ("tx_per_nic", 0.25, NICS),
        ("host_packets", 0.0035, NICS),
        ("guest_rx_per_nic", 0.5, {"port__received": (1_500, 500), **NICS}),
        ("tso_size", 32, {"nic__tx_data": (10, 30), "nic__tx_octets": (320_000, 960_000)}),
        ("rx_queues_used", 2, {"queue__arrived": (9_801, 100, 99, 0)}),
        ("loss", 4, {"flow__intended": (100,), "flow__dropped_nic": (2,), "port__ring_lost": (1, 0), "guest__socket_dropped": (1,)}),
        ("delivered", 30, {"guest__read": (20, 40)}),
        ("tx_calls", 3, {"tx__forced": (6,), "tx__timed": (100,)}),
    ],
)  # fmt: skip
def test_a_measure_is_read_from_the_window(metric: str, expected: float, counters: dict[str, tuple[int, ...]]) -> None:
    """Percent, Gbit/s, thousands and millions a second, kB; what came before the window does not count."""
    assert CATALOGUE[metric].evaluate(record(**counters)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "counters"),
    [
        ("host_cpu", {}),
        ("busiest_netpoll", {"netpoll__used_ps": ()}),
        ("throughput_per_nic", {"flow__octets": (8,), "nic__rx_frames": (0,), "nic__tx_packets": (0,)}),
        ("rx_per_nic", {}),
        ("cpu_per_gbit", {"pcpu__busy_ps": (SECOND,), "flow__octets": (0,)}),
        ("tso_size", {"nic__tx_octets": (0,), "nic__tx_data": (0,)}),
        ("rx_queues_used", {}),
        ("loss", {"flow__intended": (0,)}),
    ],
)
def test_nothing_to_measure_on_is_no_number(metric: str, counters: dict[str, tuple[int, ...]]) -> None:
    """No such part, or nothing that went through it."""
    assert math.isnan(CATALOGUE[metric].evaluate(record(**counters)))


RESPONSES = ("response_mean", "response_p50", "response_p95", "response_p99")


@pytest.mark.parametrize(
    ("times_ms", "cut", "is_bounded"),
    [
        ([30] * 128, 0, True),
        ([10 + time // 2 for time in range(128)], 0, False),  # to the end
        ([min(10 + time, 60) for time in range(128)], 0, True),  # up to a level, in the first half
        ([60 - time // 4 for time in range(128)], 0, True),
        ([100 + time // 16 for time in range(128)], 0, True),  # by 4 % in the second half
        ([10 + time // 2 for time in range(16)], 8, False),
        ([10 + time // 2 for time in range(14)], 7, True),  # too short to be told
    ],
)
def test_what_still_rises_at_the_end_of_a_run_has_no_bound(times_ms: list[int], cut: int, is_bounded: bool) -> None:
    """Requests that pile up take as long as one looks."""
    for metric in RESPONSES:
        assert math.isfinite(CATALOGUE[metric].evaluate(answered_record(times_ms, cut=cut))) is is_bounded


def test_a_percentile_that_does_not_rise_is_told_beside_one_that_does() -> None:
    """Where one request in ten piles up, the median of all does not."""
    record = answered_record([10 + time for time in range(128)])
    counts = record.histograms["flow.response"].counts
    counts[:, 0, 5] += np.arange(129) * 4500
    assert CATALOGUE["response_p50"].evaluate(record) == pytest.approx(5.6, abs=0.1)
    assert CATALOGUE["response_p95"].evaluate(record) == math.inf
