"""Differences between two tables."""

from __future__ import annotations

import pandas as pd
import pytest
from sample_runs import failed, line, run

from hostsim.errors import InputError
from hostsim.results.compare import Coverage, compare, coverage, read_baseline
from tests.sample_results import results
from tests.tables import to_table

NOISE = (0.0, 3.0, -2.0, 5.0, -6.0)


def curve(shift: float, jitter: float = 0.0) -> pd.DataFrame:
    """Guest CPU at two points, with the same noise in each table and a shift at the second point."""
    wobble = [jitter * sign for sign in (1, -1, 1, -1, 1)]
    levels = [
        (1, [20 + n for n in NOISE]),
        (2, [40 + n + shift + w for n, w in zip(NOISE, wobble, strict=True)]),
    ]
    return to_table(line("guest_cpu", "receivers", levels, split="0"))


def test_equal_tables_have_not_moved() -> None:
    """Common random numbers give differences of exactly 0."""
    assert compare(curve(0), curve(0), ["receivers", "split"], 0.02) == []


def test_a_move_names_the_metric_and_the_point() -> None:
    """Pairing shows a shift far below the noise of the replications."""
    (move,) = compare(curve(2), curve(0), ["receivers", "split"], 0.02)
    assert (move.metric, move.at) == ("guest_cpu", {"receivers": 2, "split": "0"})
    assert (move.before, move.after) == pytest.approx((40, 42))
    assert move.relative == pytest.approx(0.05)
    assert str(move).startswith("guest_cpu at receivers=2, split=0: 40 -> 42 % of a vCPU (+5.00%;")


def test_a_move_says_what_pairing_is_worth() -> None:
    """Noise common to both sides cancels; the rest remains."""
    (move,) = compare(curve(2), curve(0), ["receivers", "split"], 0.02)
    assert move.ratio == pytest.approx(0, abs=1e-12)
    (move,) = compare(curve(20, jitter=3), curve(0), ["receivers", "split"], 0.02)
    assert 0.1 < move.ratio < 1
    assert f"pairing leaves {move.ratio:.2g} of its variance" in str(move)


def test_a_percentile_that_one_side_cannot_tell_is_told_in_words() -> None:
    """The result is not NaN."""
    before, after = (to_table(line("guest_cpu", "receivers", [(1, [10.0, 10.0])])) for _ in range(2))
    before["latency_p99"] = 5.0
    (move,) = compare(after, before, ["receivers"], 0.02)
    assert str(move) == "latency_p99 at receivers=1: 5 -> not estimable us"


def test_what_loses_its_bound_has_moved_and_what_never_had_one_has_not() -> None:
    """Either way; said in words."""
    bounded, unbounded = (to_table(line("guest_cpu", "receivers", [(1, [10.0, 10.0])])) for _ in range(2))
    bounded["settled_response_p95"], unbounded["settled_response_p95"] = 5.0, float("inf")
    (lost,) = compare(unbounded, bounded, ["receivers"], 0.02)
    assert str(lost) == "settled_response_p95 at receivers=1: 5 -> no bound ms"
    (found,) = compare(bounded, unbounded, ["receivers"], 0.02)
    assert str(found) == "settled_response_p95 at receivers=1: no bound -> 5 ms"
    assert compare(unbounded, unbounded, ["receivers"], 0.02) == []


def test_a_move_within_tolerance_is_none() -> None:
    """2 of 40 is 5 %."""
    assert compare(curve(2), curve(0), ["receivers", "split"], 0.06) == []


def test_a_move_that_chance_explains_is_none() -> None:
    """The mean difference exceeds the tolerance, but its interval contains 0."""
    assert compare(curve(2, jitter=8), curve(0), ["receivers", "split"], 0.02) == []


def test_from_nothing_to_something_has_moved() -> None:
    """A share of 0 has no tolerance."""
    before, after = (to_table(line("loss", "receivers", [(1, [loss] * 2)])) for loss in (0.0, 0.001))
    assert {move.metric for move in compare(after, before, ["receivers"], 0.5)} == {"loss", "loss_ring"}


def test_a_metric_that_is_gone_has_moved() -> None:
    """A measure with a value on one side only counts as moved."""
    before, after = (to_table(line("guest_cpu", "receivers", [(1, [10.0, 10.0])])) for _ in range(2))
    after["guest_cpu"] = float("nan")
    assert [move.metric for move in compare(after, before, ["receivers"], 0.02)] == ["guest_cpu"]


def test_one_replication_shows_nothing() -> None:
    """Its interval has no end."""
    before, after = (to_table([run(guest_cpu=cpu)]) for cpu in (10.0, 90.0))
    assert compare(after, before, [], 0.02) == []


def test_failed_and_unmatched_runs_take_no_part() -> None:
    """Pairs are finished runs at the same point."""
    records = line("guest_cpu", "receivers", [(1, [10.0, 10.0, 70.0]), (2, [30.0, 30.0])])
    earlier = line("guest_cpu", "receivers", [(1, [10.0, 10.0]), (3, [50.0, 50.0])])
    records[2] = failed(records[2], "boom")
    assert compare(to_table(records), to_table(earlier), ["receivers"], 0.02) == []


def test_nothing_in_common_is_an_error() -> None:
    """A check against the wrong folder must not pass."""
    ours, theirs = (to_table(line("guest_cpu", "receivers", [(value, [10.0])])) for value in (1, 2))
    with pytest.raises(InputError, match="no finished run in common"):
        compare(ours, theirs, ["receivers"], 0.02)
    with pytest.raises(InputError, match=r"is not a column of the earlier table; given split"):
        compare(curve(0), theirs, ["receivers", "split"], 0.02)


def test_an_axis_of_numbers_meets_the_same_axis_as_text() -> None:
    """Another value of the sweep may have turned the axis of one table into text."""
    ours = to_table(line("guest_cpu", "receivers", [(1, [10.0, 10.0])]))
    theirs = to_table(line("guest_cpu", "receivers", [(1, [20.0, 20.0]), ("all", [20.0])]))
    assert [move.at for move in compare(ours, theirs, ["receivers"], 0.02)] == [{"receivers": "1"}]


def test_results_of_one_host_are_not_paired_with_an_ensemble() -> None:
    """Either may be the earlier one."""
    ensemble = "ensemble.csv 6c5e098f7407"
    for earlier, later, which in (ensemble, "", "earlier"), ("", ensemble, "later"):
        before = results(provenance={"seed": "1", "ensemble": earlier})
        with pytest.raises(InputError, match=f"the {which} run is of an ensemble of hosts") as caught:
            read_baseline(before, "small", quick=True, seed=1, ensemble=later)
        assert [fault.given for fault in caught.value.faults] == [""]


def test_coverage_tells_points_without_a_pair_and_with_a_single_one() -> None:
    """In both tables: points of one side only, failed runs, and points without an interval."""
    ours = line("guest_cpu", "receivers", [(1, [10.0, 10.0]), (2, [30.0, 30.0]), (4, [9.0, 9.0])])
    ours[-1] = failed(ours[-1], "boom")
    theirs = line("guest_cpu", "receivers", [(1, [10.0] * 3), (3, [50.0] * 2), (4, [9.0] * 2)])
    held = coverage(to_table(ours), to_table(theirs), ["receivers"])
    assert held == Coverage(("receivers=1",), ("receivers=2", "receivers=3"), ("receivers=4",))
    assert held.compared == 1
    assert coverage(curve(0), curve(0), ["receivers", "split"]) == Coverage(
        ("receivers=1, split=0", "receivers=2, split=0"), (), ()
    )


@pytest.mark.parametrize("swapped", [False, True], ids=["earlier", "later"])
def test_several_hosts_are_no_replications_of_one(swapped: bool) -> None:
    """Runs of two hosts paired with runs of one would merge into one row."""
    one = to_table(line("guest_cpu", "receivers", [(1, [10.0, 10.0])]))
    two = to_table([run(guest_cpu=5.0, replication=n, receivers=1, split=s) for s in ("0", "1") for n in (0, 1)])
    after, before = (two, one) if swapped else (one, two)
    with pytest.raises(InputError, match=rf"the {'later' if swapped else 'earlier'} table has several.*split = 0, 1"):
        compare(after, before, ["receivers"], 0.02)
