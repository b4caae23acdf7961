"""Measures are read from counters of the measured window, and undefined without observations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hostsim.engine.record import RunRecord, Series
from hostsim.results.estimate import rises
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.functions import histogram_mean
from hostsim.units import SECOND
from tests.campaign.toy_runs import answered_record, requests_record


def record(**counters: tuple[int, ...]) -> RunRecord:
    """A run of one second of warm-up and two measured ones: growth of each entity's counter in these, and ten times that before."""
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
        ("busiest_memory", 75, {"node__memory_ps": (SECOND // 2, 3 * SECOND // 2)}),
        ("netpoll_cpu", 100, {"netpoll__used_ps": (SECOND // 2, 3 * SECOND // 2)}),
        ("throughput", 10, {"flow__octets": (1_500_000_000, 1_000_000_000)}),
        ("cpu_per_gbit", 20, {"flow__octets": (2_500_000_000,), "pcpu__busy_ps": (3 * SECOND, SECOND)}),
        ("rx_per_nic", 1.5, NICS),
        ("tx_per_nic", 0.25, NICS),
        ("host_packets", 0.0035, NICS),
        ("packets_per_nic", 1.75, NICS),
        ("rx_tx_ratio", 6, NICS),
        ("guest_rx_per_nic", 0.5, {"port__received": (1_500, 500), **NICS}),
        ("tso_size", 32, {"nic__tx_data": (10, 30), "nic__tx_octets": (320_000, 960_000)}),
        ("rx_queues_used", 2, {"queue__arrived": (9_801, 100, 99, 0)}),
        ("loss", 4, {"guest__read": (96,), "flow__dropped_nic": (2,), "port__ring_lost": (1, 0), "guest__socket_dropped": (1,)}),
        ("delivered", 30, {"guest__read": (20, 40)}),
        ("tx_calls", 3, {"tx__forced": (6,), "tx__timed": (100,)}),
    ],
)  # fmt: skip
def test_a_measure_is_read_from_the_window(metric: str, expected: float, counters: dict[str, tuple[int, ...]]) -> None:
    """Percent, Gbit/s, thousands and millions per second, kB; events before the window do not count."""
    assert CATALOGUE[metric].evaluate(record(**counters)) == pytest.approx(expected)


def test_a_nics_throughput_is_what_wires_carry() -> None:
    """A frame of one packet, one of four, and packets between VMs, which no wire carries; over two ports."""
    found = record(flow__octets=(1_000_000_000, 2_000_000_000, 7_000_000_000), **NICS)
    receivers = Series(("one", "four", "local"), np.array([[1, 4, 0]] * 3, dtype=np.int64))
    found = replace(found, series={**found.series, "flow.receivers": receivers})
    assert CATALOGUE["throughput_per_nic"].evaluate(found) == pytest.approx(3)


DROPPED = {
    "loss_nic": "flow__dropped_nic",
    "loss_split": "port__split_dropped",
    "loss_ring": "port__ring_lost",
    "loss_list": "local__lost",
    "loss_socket": "guest__socket_dropped",
    "loss_out": "flow__dropped_out",
}


@pytest.mark.parametrize("place", DROPPED)
def test_loss_sees_each_place_of_drops_alone(place: str) -> None:
    """Three dropped there and nowhere else, seven delivered; no other share counts them."""
    found = record(guest__read=(5,), flow__out=(2,), **{DROPPED[place]: (2, 1)})
    shares = {name: CATALOGUE[name].evaluate(found) for name in ("loss", *DROPPED)}
    assert shares == {"loss": 30, **dict.fromkeys(DROPPED, 0), place: 30}


def test_the_shares_of_the_catalogue_add_up_to_the_loss() -> None:
    """Each counter with another number; a share in the catalogue is a place of drops."""
    counters = {counter: (2**number,) for number, counter in enumerate(DROPPED.values())}
    found = record(guest__read=(37,), **counters)
    assert {name for name in CATALOGUE if name.startswith("loss_")} == set(DROPPED)
    assert sum(CATALOGUE[name].evaluate(found) for name in DROPPED) == CATALOGUE["loss"].evaluate(found) == 63


def test_what_is_dropped_in_the_window_is_no_more_than_all_that_ended_there() -> None:
    """A receiver that stops reading loses everything, whenever it was sent; without an offered load there is no loss."""
    assert CATALOGUE["loss"].evaluate(record(guest__socket_dropped=(1_001,), flow__intended=(1_000,))) == 100
    assert math.isnan(CATALOGUE["loss"].evaluate(record(flow__intended=(3,))))


def test_a_packet_that_a_guest_could_not_forward_is_lost_and_not_delivered() -> None:
    """60 of 100 taken packets are to be forwarded; of these 45 leave, and 15 are dropped."""
    forwards = record(guest__read=(100,), flow__to_forward=(60,), flow__forwarded=(45,), flow__dropped_out=(15,))
    assert CATALOGUE["delivered"].evaluate(forwards) == 85 / 2
    assert CATALOGUE["loss"].evaluate(forwards) == 15


def test_work_is_lost_where_too_much_of_it_waits() -> None:
    """No packet is lost."""
    works = record(work__dropped=(1,), work__started=(2, 1), guest__read=(8,))
    assert (CATALOGUE["work_loss"].evaluate(works), CATALOGUE["loss"].evaluate(works)) == (25, 0)


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
        ("loss", {"guest__read": (0,)}),
        ("work_loss", {"work__started": (0,), "work__dropped": (0,)}),
    ],
)
def test_nothing_to_measure_on_is_no_number(metric: str, counters: dict[str, tuple[int, ...]]) -> None:
    """No such part, or nothing that passed it."""
    assert math.isnan(CATALOGUE[metric].evaluate(record(**counters)))


RESPONSES = ("settled_response_mean", "settled_response_p50", "settled_response_p95", "settled_response_p99")


@pytest.mark.parametrize(
    ("times_ms", "cut", "is_bounded"),
    [
        ([30] * 128, 0, True),
        ([10 + time // 2 for time in range(128)], 0, False),  # to the end
        ([min(10 + time, 60) for time in range(128)], 0, True),  # up to a level, in the first half
        ([60 - time // 4 for time in range(128)], 0, True),
        ([100 + time // 16 for time in range(128)], 0, True),  # by 4 % in the second half
        (
            [10 + 90 * (1 - math.exp(-time / 40)) for time in range(128)],
            0,
            True,
        ),  # a level, approached by 15 % in the second half
        ([10 + 90 * (1 - math.exp(-time / 128)) for time in range(128)], 0, False),  # one that the run does not show
        ([10 + time // 2 for time in range(16)], 8, False),
        ([10 + time // 2 for time in range(14)], 7, True),  # too short for a judgement
    ],
)
def test_what_still_rises_at_the_end_of_a_run_has_no_bound(times_ms: list[int], cut: int, is_bounded: bool) -> None:
    """Response times of accumulating requests grow with the observation time."""
    for metric in RESPONSES:
        assert math.isfinite(CATALOGUE[metric].evaluate(answered_record(times_ms, cut=cut))) is is_bounded


def test_a_response_time_is_that_of_the_second_half_of_a_run() -> None:
    """The first half leads to its level."""
    record = answered_record([10] * 64 + [60] * 64)
    assert CATALOGUE["settled_response_p50"].evaluate(record) == pytest.approx(60, abs=1)
    assert CATALOGUE["response_time_p50"].evaluate(record) < 12


def noise(draw: np.random.Generator, each: float) -> RunRecord:
    """Four seconds of a stable host: in each of 64 slices a mean of ``each`` requests, with a mean of 10 ms, at random."""
    slices = [np.minimum(draw.exponential(10, draw.poisson(each)), 999.0).tolist() for _ in range(64)]
    return requests_record(slices, slice_ms=62)


def test_noise_of_an_idle_host_is_finite() -> None:
    """Less than one request is in progress on average: a rising line through their times is chance, and occurs for some of many seeds."""
    draw = np.random.default_rng(7)
    runs = [noise(draw, each) for each in (2, 4) for _ in range(200)]
    for metric in ("settled_response_mean", "settled_response_p50", "settled_response_p95"):
        values = [CATALOGUE[metric].evaluate(run) for run in runs]
        assert all(math.isfinite(value) for value in values if value == value)
    late = [
        [histogram_mean("flow.response")(run.thinned(range(at, at + 5))) for at in range(32, 64, 4)] for run in runs
    ]
    assert sum(rises(means) for means in late) > 2


@pytest.mark.parametrize(("requests", "is_bounded"), [(1, True), (10, False)])
def test_a_rise_is_worth_a_request_more_under_way(requests: int, is_bounded: bool) -> None:
    """By 6 ms through the second half of a run: at 100 requests per second that is half a request, at 1,000 six."""
    run = requests_record([[10 + 0.1 * number] * requests for number in range(128)])
    assert math.isfinite(CATALOGUE["settled_response_mean"].evaluate(run)) is is_bounded


def test_a_rise_of_a_percentile_is_that_of_the_requests_above_it() -> None:
    """Requests above the 99th percentile are 50 per second of 5,000: 9 ms more are less than one additional request, 44 ms are two."""
    for rise, is_bounded in ((10, True), (50, False)):
        slices = [[5.0] * 49 + [20 + rise * number / 64] for number in range(128)]
        assert math.isfinite(CATALOGUE["settled_response_p99"].evaluate(requests_record(slices))) is is_bounded


@pytest.mark.parametrize(
    ("slow", "bounded"),
    [
        (0, ("settled_response_mean", "settled_response_p50", "settled_response_p95", "settled_response_p99")),
        (4, ("settled_response_p50", "settled_response_p95")),
        (12, ("settled_response_p50",)),
        (120, ()),
    ],
)
def test_where_a_percentile_has_no_bound_no_higher_one_and_no_mean_has_one(slow: int, bounded: tuple[str, ...]) -> None:
    """The given number of 200 requests accumulates, and the others take 300 ms: the mean rises by less than a tenth if few do."""
    slices = [[300.0] * (200 - slow) + [320 + 2 * number] * slow for number in range(128)]
    record = requests_record(slices)
    assert {metric for metric in RESPONSES if math.isfinite(CATALOGUE[metric].evaluate(record))} == set(bounded)


def test_a_percentile_that_is_too_noisy_to_be_judged_has_no_bound_above_one_that_has_none() -> None:
    """The times of a fiftieth fluctuate while the rest accumulates; and the 99th percentile of a part with 320 requests is not estimable."""
    slices = [[10 + number] * 98 + [200 + 700 * (number // 16 % 2)] * 2 for number in range(128)]
    assert CATALOGUE["settled_response_p99"].evaluate(requests_record(slices)) == math.inf
    few = requests_record([[10 + number] * 40 for number in range(128)])
    assert CATALOGUE["settled_response_p99"].evaluate(few) == math.inf


def test_a_percentile_that_does_not_rise_is_told_beside_one_that_does() -> None:
    """If one request in ten accumulates, the median of all does not."""
    record = answered_record([10 + time for time in range(128)])
    counts = record.histograms["flow.response"].counts
    counts[:, 0, 5] += np.arange(129) * 4500
    assert CATALOGUE["settled_response_p50"].evaluate(record) == pytest.approx(5.6, abs=0.1)
    assert CATALOGUE["settled_response_p95"].evaluate(record) == math.inf
