"""Differences in a sentence, in which equivalent measures occur once."""

from __future__ import annotations

import math

from hostsim.results.compare import Differences, PairedDifference, difference_rows
from hostsim.results.estimate import Interval


def moved(metric: str, receivers: int, before: float, after: float, half: float) -> PairedDifference:
    apart = after - before
    interval = Interval(apart, apart - half, apart + half, 3)
    return PairedDifference(metric, "%", {"receivers": receivers}, before, after, interval, math.nan)


FOUND = Differences(
    [
        moved("host_cpu", 1, 10.0, 12.0, 1.0),
        moved("host_used", 1, 20.0, 24.0, 2.0),
        moved("guest_cpu", 1, 10.0, 12.0, 1.0),
        moved("loss", 1, 0.0, 0.0, 0.0),
        moved("latency_p95", 1, 100.0, 101.0, 2.0),
        moved("host_cpu", 2, 10.0, 13.0, 1.0),
        moved("host_used", 2, 20.0, 26.0, 2.0),
        moved("guest_cpu", 2, 10.0, 11.0, 2.0),
        moved("loss", 2, 0.0, 3.0, 1.0),
        moved("latency_p95", 2, 100.0, 101.0, 2.0),
    ]
)


def test_measures_that_change_alike_at_every_point_are_one() -> None:
    """CPU in two units is one finding; a measure that differs at one point is another."""
    assert FOUND.alike == {"host_cpu": ("host_used",)}
    assert [entry.metric for entry in FOUND.distinct.certain] == ["host_cpu", "guest_cpu", "host_cpu", "loss"]


def test_a_sentence_has_the_range_of_each_change_and_where_it_is_certain() -> None:
    """A previous value of 0 gives a change in units; uncertain changes are named, one per group."""
    told = FOUND.sentence(["host_cpu", "host_used", "guest_cpu", "loss", "latency_p95", "throughput"])
    assert told == (
        "Host CPU utilisation +20 % to +30 %, Guest CPU +20 % at 1 of 2 points, Packet loss +3 % at 1 of 2 points; "
        "no certain change of 95th percentile of one-way latency"
    )
    assert FOUND.sentence(["throughput"]) == ""
    much = Differences([moved("host_cpu", 1, 10.0, 144.0, 1.0)])
    assert much.sentence(["host_cpu"]) == "Host CPU utilisation +1,340 %"


def test_a_small_change_is_never_shown_as_zero() -> None:
    """The table, the line and the sentence of a change below their last decimal have one digit of it; an infinite one has a dash."""
    small = Differences([moved("host_cpu", 1, 100.0, 99.998, 0.001)])
    assert difference_rows(small)[1][0][-1] == "-0.002%"
    assert "(-0.002%;" in str(small)
    assert small.sentence(["host_cpu"]) == "Host CPU utilisation -0.002 %"
    assert [
        difference_rows(Differences([moved("loss", 1, before, before + more, 0.0)]))[1][0][-1]
        for before, more in ((1.0, 0.0), (100.0, 0.06), (0.0, 1.0))
    ] == ["+0.0%", "+0.1%", "–"]
    assert "(–;" in str(moved("loss", 1, 0.0, 1.0, 0.0))
