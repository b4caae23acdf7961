"""Bisection: finds the threshold in few runs, for any order of runs, and reports doubts."""

from __future__ import annotations

import functools
import math
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostsim.engine.record import RunRecord
from hostsim.errors import InputError
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.search_answer import Bound, SearchAnswer
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity, PointMaker, RecordKey, Search, Task
from hostsim.scenario.planner import make_plan, searches_of
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.selection import restrict
from hostsim.units import MS, SECOND
from tests.campaign.toy_runs import answered_record
from tests.scenario.small_scenario import load_text, record

FIND = "  - name: threshold\n    between: [0, 99]\n    find: {SIDE: receivers, from: START, to: STOP, where: {metric: loss, below: 0.01 %}}\n"

RATE = "  rate: {set: traffic.stream.rate, values: [40 kpps]}\n"

LONG = ("length: 1 s", "length: 3 s")
"""So that a third is at least the half second of a probe."""

LIMIT = 100
"""Packets per million: 0.01 %."""


@functools.lru_cache(maxsize=16)
def scenario_with(side: str, start: int, stop: int, length: tuple[str, str] = LONG) -> Scenario:
    text = FIND.replace("SIDE", side).replace("START", str(start)).replace("STOP", str(stop))
    with tempfile.TemporaryDirectory() as folder:
        return load_text(Path(folder), ("expect:\n", f"expect:\n{text}"), length)


def run(
    search: Search,
    dropped: Callable[[Task], int],
    order: random.Random,
    of: int = 1_000_000,
    answer: Callable[[Task], RunRecord] | None = None,
) -> tuple[SearchAnswer, list[Task]]:
    """Simulates a campaign whose runs end in any order, one at a time; returns the answer and the runs."""
    done: dict[RecordKey, RunRecord] = {}
    ran: list[Task] = []
    while waiting := [task for task in search.wants(done) if task.key not in done]:
        task = order.choice(waiting)
        done[task.key] = answer(task) if answer else record(task.key, task.point.axes, dropped(task), of=of)
        ran.append(task)
    return search.answer(done), ran


def receivers(task: Task) -> int:
    return int(task.point.axes["receivers"])


@settings(max_examples=60)
@given(
    start=st.integers(0, 20),
    width=st.integers(1, 200),
    thresholds=st.lists(st.integers(-1, 300), min_size=1, max_size=4),
    largest=st.booleans(),
    seed=st.integers(0, 1000),
    quick=st.booleans(),
)
def test_every_replication_finds_its_own_threshold(
    start: int, width: int, thresholds: list[int], largest: bool, seed: int, quick: bool
) -> None:
    """For any monotone condition, in any order of runs: the exact step in at most ceil(log2) + 1 runs; quick ones of the same step need two."""
    stop = start + width - 1
    scenario = scenario_with("largest" if largest else "smallest", start, stop)
    (search,) = make_plan(scenario, Fidelity(quick, replications=len(thresholds)), sweep=False).searches

    def dropped(task: Task) -> int:
        value = receivers(task)
        holds = value <= thresholds[task.replication] if largest else value >= thresholds[task.replication]
        return 0 if holds else LIMIT

    answer, ran = run(search, dropped, random.Random(seed))
    # exact if both sides of the threshold are in the bracket; otherwise a bound at its end
    low, high = (start, stop) if largest else (start + 1, stop + 1)
    assert list(answer.values) == [min(max(threshold, low), high) for threshold in thresholds]
    assert answer.bounds == {
        replication: Bound.AT_LEAST if threshold >= high else Bound.LESS_THAN
        for replication, threshold in enumerate(thresholds)
        if not low <= threshold < high
    }
    steps = math.ceil(math.log2(width)) + 1
    for replication, threshold in enumerate(thresholds):
        most = steps if not quick or not replication else 2 if threshold == thresholds[0] else 2 * steps + 1
        assert sum(task.replication == replication for task in ran) <= most


EQUAL = """\
  - name: of another loss
    between: [0, 999]
    find: {largest: receivers, from: 1, to: 127, where: {metric: loss, below: 1 %}, at: {weight: 0}}
  - name: as the sweep has it
    between: [0, 99]
    find: {largest: receivers, from: 1, to: 127, where: {metric: loss, below: 0.01 %}, at: {weight: 0}}
  - name: with a setting that has no effect
    between: [0, 99]
    find: {largest: receivers, from: 1, to: 127, where: {metric: loss, below: 0.01 %}, at: {weight: 100}}
  - name: with one that has an effect
    between: [0, 99]
    find: {largest: receivers, from: 1, to: 127, where: {metric: loss, below: 0.01 %}, at: {split: "1"}}
"""
"""Searches on equal hosts, the last one together with the sweep, and on another host."""


@pytest.mark.parametrize("thorough", [False, True])
def test_searches_on_equal_hosts_have_the_same_runs_and_the_same_answer(tmp_path: Path, thorough: bool) -> None:
    """The loss in short runs and runs of the sweep is wrong, so the answer depends on the runs that a search uses; each replication has its own threshold."""
    weight = "  weight: {set: host.advanced.Net.E1000TxCopySize, values: [0]}\n"
    swept = ("values: [1, 2]}", "values: [1, 20, 40, 60, 90]}\n" + weight.rstrip())
    text = ("expect:\n", f"expect:\n{EQUAL}")
    scenario = load_text(tmp_path, text, swept, ("length: 1 s", "length: 3 s, swept: {length: 1500 ms}"))
    plan = make_plan(scenario, Fidelity(replications=None if thorough else 3, thorough=thorough))
    _, same, equal, other = plan.searches[:4]

    def dropped(task: Task) -> int:
        length = task.point.spec.length // MS
        threshold = 50 + 7 * task.replication + (length < 3000) * (3 if length == 1500 else -4)
        return 0 if receivers(task) <= threshold else LIMIT

    (first, of_first), (second, of_second), (third, of_third) = (
        run(search, dropped, random.Random(1)) for search in (same, equal, other)
    )
    assert first.values == second.values
    assert {task.key for task in of_first} == {task.key for task in of_second}
    assert not {task.key for task in of_first} & {task.key for task in of_third}
    assert {point["weight"] for point in first.points} == {0}
    assert {point["weight"] for point in second.points} == {100}
    assert [{**point, "weight": 0} for point in second.points] == list(first.points)
    assert third.values


def test_searches_on_equal_hosts_look_at_more_replications_than_points_of_the_sweep_have(tmp_path: Path) -> None:
    """Each host has its points in the sweep, an expectation uses one of them beside the threshold, and a further look has a third replication of the first host only."""
    near = "  - {name: near, metric: loss, at: {weight: 100, receivers: 50}, between: [0, 1 %]}\n"
    weight = "\n  weight: {set: host.advanced.Net.E1000TxCopySize, values: [0, 100]}"
    swept = ("values: [1, 2]}", "values: [1, 20, 40, 50, 60, 90]}" + weight)
    scenario = load_text(tmp_path, ("expect:\n", f"expect:\n{EQUAL}{near}"), swept, LONG)
    plan, maker = make_plan(scenario, Fidelity()), PointMaker(scenario, Fidelity())
    maker.distinct(task.point for task in plan.tasks)
    _, same, equal, _ = searches_of(scenario, scenario.expectations, maker, replications=3)
    (first, _), (second, _) = (
        run(search, lambda task: 0 if receivers(task) <= 50 else LIMIT, random.Random(1)) for search in (same, equal)
    )
    assert first.values == second.values == (50, 50, 50)


def test_quick_searches_of_further_replications_widen_from_the_answer_of_the_first() -> None:
    """Both sides of it first, in whole runs; beyond a side that contradicts it, the distance doubles."""
    thresholds = (40, 40, 34, 44)
    (search,) = make_plan(scenario_with("largest", 1, 127), Fidelity(quick=True, replications=4), sweep=False).searches
    answer, ran = run(search, lambda task: LIMIT * (receivers(task) > thresholds[task.replication]), random.Random(1))
    assert answer.values == thresholds
    looked = [[receivers(task) for task in ran if task.replication == replication] for replication in (1, 2, 3)]
    assert looked == [[40, 41], [40, 39, 37, 33, 35, 34], [40, 41, 42, 44, 48, 46, 45]]
    (slow,) = make_plan(
        scenario_with("largest", 1, 127), Fidelity(quick=True, replications=4, thorough=True), sweep=False
    ).searches
    again, every = run(slow, lambda task: LIMIT * (receivers(task) > thresholds[task.replication]), random.Random(1))
    assert again.values == thresholds
    assert next(receivers(task) for task in every if task.replication == 1) == 64


def test_the_condition_is_below_and_not_at_the_limit() -> None:
    """Exactly 0.01 % is not below 0.01 %."""
    (search,) = make_plan(scenario_with("largest", 1, 8), Fidelity(replications=1), sweep=False).searches
    answer, _ = run(search, lambda task: LIMIT - 1 if receivers(task) <= 5 else LIMIT, random.Random(1))
    assert answer.values == (5.0,)
    assert answer.points == (
        {"receivers": 5, "split": "0", "replication": 0, "value": pytest.approx(0.0099)},
        {"receivers": 6, "split": "0", "replication": 0, "value": pytest.approx(0.01)},
    )
    assert answer.notes == ()


def test_what_it_asks_depends_on_the_records_alone() -> None:
    """Repeated requests are equal; an ended run of one replication changes nothing for others."""
    (search,) = make_plan(scenario_with("largest", 1, 48), Fidelity(), sweep=False).searches
    first = search.wants({})
    assert [(receivers(task), task.replication) for task in first] == [(24, 0), (24, 1)]
    done = {first[0].key: record(first[0].key, first[0].point.axes, 0)}
    for _ in range(2):
        assert [(receivers(task), task.replication) for task in search.wants(done)] == [(36, 0), (24, 1)]


def test_replications_share_their_random_numbers_with_every_other_point() -> None:
    """Every task has the root seed and the replication's number, at any value."""
    plan = make_plan(scenario_with("largest", 1, 48), Fidelity(seed=7))
    _, ran = run(plan.searches[0], lambda task: 0, random.Random(1))
    assert {(task.seed, task.replication) for task in (*ran, *plan.tasks)} == {(7, 0), (7, 1)}


def test_a_threshold_outside_the_bracket_is_said_to_be() -> None:
    """The nearest end is a bound of the value, with a note."""
    (search,) = make_plan(scenario_with("largest", 1, 8), Fidelity(replications=1), sweep=False).searches
    everywhere, _ = run(search, lambda task: 0, random.Random(1))
    nowhere, _ = run(search, lambda task: LIMIT, random.Random(1))
    assert (everywhere.values, nowhere.values) == ((8.0,), (1.0,))
    assert (everywhere.bounds, nowhere.bounds) == ({0: Bound.AT_LEAST}, {0: Bound.LESS_THAN})
    assert everywhere.notes == (
        "replication 0: holds at receivers = 8, and at all other values that were tried from 1 to 8",
    )
    assert nowhere.notes == (
        "replication 0: does not hold at receivers = 1, nor at any other value that was tried from 1 to 8",
    )
    assert [case["receivers"] for case in (*everywhere.points, *nowhere.points)] == [8, 1]


def test_the_raw_percentile_stands_beside_the_settled_one_that_decides(tmp_path: Path) -> None:
    """A host of six or more VMs cannot keep up: its runs count as above any limit, and the raw percentile is reported."""
    text = FIND.replace("SIDE", "largest").replace("START", "1").replace("STOP", "8")
    text = text.replace("metric: loss, below: 0.01 %", "metric: settled_response_p95, below: 100 ms")
    scenario = load_text(tmp_path, ("expect:\n", f"expect:\n{text}"))
    (search,) = make_plan(scenario, Fidelity(replications=1), sweep=False).searches
    done: dict[RecordKey, RunRecord] = {}
    while waiting := search.wants(done):
        for task in waiting:
            times = [30] * 128 if receivers(task) <= 5 else [10 + time // 2 for time in range(128)]
            done[task.key] = replace(answered_record(times, cut=0), axes=task.point.axes)
    answer = search.answer(done)
    assert answer.values == (5.0,)
    (near, far) = answer.points
    assert near["raw"] == near["value"]
    assert far["value"] == math.inf
    assert 60 < float(far["raw"]) < 80
    (note,) = answer.notes
    assert note.startswith(
        "settled_response_p95 has no bound beyond the threshold; response_time_p95 of the same runs is 7"
    )


SLOW = FIND.replace("loss, below: 0.01 %", "settled_response_p95, below: 100 ms").replace(
    "STOP, where", "STOP, length: 9 s, where"
)


def slow_search(tmp_path: Path, start: int, stop: int, overrides: Mapping[str, str] | None = None) -> Search:
    text = SLOW.replace("SIDE", "largest").replace("START", str(start)).replace("STOP", str(stop))
    scenario = load_text(tmp_path, ("expect:\n", f"expect:\n{text}"), LONG, overrides=overrides)
    (search,) = make_plan(scenario, Fidelity(replications=1), sweep=False).searches
    return search


def level(task: Task, limit: int, factor: float = 1.2) -> RunRecord:
    """A run with a response time of 100 ms at ``limit``, which grows by a factor per VM and is level after 3 s."""
    length_s = task.point.spec.length / SECOND
    settled = 100 * factor ** (receivers(task) - limit)
    rise = [settled * (1 - 0.8 * math.exp(-time / 128 * length_s / 1.5)) for time in range(128)]
    return replace(answered_record([min(time, 999) for time in rise], cut=0), axes=task.point.axes)


def lengths_s(ran: Sequence[Task]) -> list[float]:
    return [task.point.spec.length / SECOND for task in ran]


@pytest.mark.parametrize("limit", [409, 437, 480, 530, 719])
def test_a_threshold_with_its_own_length_is_decided_by_runs_of_that_length(tmp_path: Path, limit: int) -> None:
    """Short runs end before the response time is level, and so find another threshold; the ordinary length of a run is short here."""
    answer, ran = run(
        slow_search(tmp_path, 401, 720), lambda _: 0, random.Random(1), answer=lambda task: level(task, limit)
    )
    assert abs(answer.values[0] - limit) <= 1
    assert set(lengths_s(ran)) == {1, 9}
    assert sum(length == 9 for length in lengths_s(ran)) <= 6


def test_a_run_that_ends_below_the_limit_and_rises_is_repeated_with_twice_the_length(tmp_path: Path) -> None:
    """Its side is unknown; a run that ends above the limit needs no repetition."""

    def late(task: Task) -> RunRecord:
        value, slice_s = receivers(task), task.point.spec.length / SECOND / 128
        rate, most = {5: (6, 80), 6: (6, 999)}.get(value, (0, 20) if value < 5 else (50, 999))
        times = [min(20 + rate * slice_s * number, most) for number in range(128)]
        return replace(answered_record(times, cut=0), axes=task.point.axes)

    answer, ran = run(slow_search(tmp_path, 1, 8), lambda _: 0, random.Random(1), answer=late)
    assert answer.values == (5,)
    longer = [(receivers(task), length) for task, length in zip(ran, lengths_s(ran), strict=True) if length > 9]
    assert sorted(longer) == [(5, 18), (6, 18)]
    near, far = answer.points
    assert near["value"] == pytest.approx(80, rel=0.02)
    assert far["value"] == math.inf


def test_a_search_with_shorter_runs_uses_the_longer_runs_of_another(tmp_path: Path) -> None:
    """They decide it, and are the runs beside its answer."""
    slow = SLOW.replace("SIDE", "largest").replace("START", "401").replace("STOP", "720")
    text = slow + slow.replace("threshold", "again").replace("length: 9 s, ", "")
    scenario = load_text(tmp_path, ("expect:\n", f"expect:\n{text}"), LONG)
    _, again = make_plan(scenario, Fidelity(replications=1), sweep=False).searches
    answer, ran = run(again, lambda _: 0, random.Random(1), answer=lambda task: level(task, 530))
    assert abs(answer.values[0] - 530) <= 1
    assert max(lengths_s(ran)) == 9
    assert len(answer.points) == 2


def test_a_length_for_all_runs_is_that_of_a_threshold_too(tmp_path: Path) -> None:
    search = slow_search(tmp_path, 1, 8, overrides={"run.length": "2 s"})
    ran = run(search, lambda _: 0, random.Random(1), answer=lambda task: level(task, 5))[1]
    assert max(lengths_s(ran)) == 2


def test_a_length_that_has_no_effect_is_refused(tmp_path: Path) -> None:
    text = SLOW.replace("SIDE", "largest").replace("START", "1").replace("STOP", "8").replace("9 s", "500 ms")
    with pytest.raises(
        InputError, match=r"is not longer than other runs; given .500 ms.; allowed: longer than run\.length"
    ):
        load_text(tmp_path, ("expect:\n", f"expect:\n{text}"), LONG)


def test_a_condition_that_is_not_monotone_is_said_to_be() -> None:
    """Points of the sweep that contradict the threshold are named; other lines are ignored."""
    plan = make_plan(scenario_with("largest", 1, 8), Fidelity(replications=1))
    (search,) = plan.searches
    done: dict[RecordKey, RunRecord] = {}
    for task in plan.tasks:
        lossy = receivers(task) == 1 or task.point.axes["split"] == "1"
        done[task.key] = record(task.key, task.point.axes, LIMIT if lossy else 0)
    while waiting := search.wants(done):
        done |= {task.key: record(task.key, task.point.axes, 0 if receivers(task) <= 5 else LIMIT) for task in waiting}
    answer = search.answer(done)
    assert answer.values == (5.0,)
    assert answer.notes == ("replication 0: not monotone: found 5, but receivers = 1 says otherwise",)


def test_a_failed_run_ends_the_search_without_an_answer() -> None:
    """The other replications continue; the answer is empty and has the reason."""
    (search,) = make_plan(scenario_with("largest", 1, 8), Fidelity(), sweep=False).searches
    done: dict[RecordKey, RunRecord] = {}
    while waiting := search.wants(done):
        for task in waiting:
            error = "Traceback\nInvariantError: lost a packet" if task.replication == 1 else None
            done[task.key] = record(task.key, task.point.axes, 0, error)
    answer = search.answer(done)
    assert (answer.name, answer.values, answer.points) == ("threshold", (), ())
    assert answer.notes == ("replication 1: the run at receivers = 2 failed: InvariantError: lost a packet",)
    assert len(done) == 5


@pytest.mark.parametrize(
    ("metric", "below", "reason"),
    [
        (
            "latency_p99",
            "10 ms",
            "not estimable: latency_p99 needs 368 observations at receivers = 6; lengthen the runs (run.length), or leave that receivers out of the bracket",
        ),
        (
            "latency_mean",
            "10 ms",
            "latency_mean has no observations at receivers = 6; leave that receivers out of the bracket",
        ),
    ],
)
def test_a_run_without_the_measure_ends_the_search_without_an_answer(
    tmp_path: Path, metric: str, below: str, reason: str
) -> None:
    """A missing value is on neither side of a limit; the reason says what to do."""
    text = FIND.replace("SIDE", "largest").replace("START", "3").replace("STOP", "10")
    text = text.replace("metric: loss, below: 0.01 %", f"metric: {metric}, below: {below}")
    (search,) = make_plan(
        load_text(tmp_path, ("expect:\n", f"expect:\n{text}"), LONG), Fidelity(replications=1), sweep=False
    ).searches
    answer, ran = run(search, lambda task: 0, random.Random(1))
    assert (answer.values, answer.notes) == ((), (f"replication 0: {reason}",))
    assert [task.point.spec.length // MS for task in ran] == [1000, 3000]  # a longer run might have had enough


def test_a_point_of_the_sweep_without_the_measure_contradicts_no_threshold() -> None:
    """It is on neither side."""
    plan = make_plan(scenario_with("largest", 1, 8), Fidelity(replications=1))
    (search,) = plan.searches
    done = {task.key: record(task.key, task.point.axes, 0, of=0) for task in plan.tasks if receivers(task) == 1}
    while waiting := search.wants(done):
        done |= {task.key: record(task.key, task.point.axes, 0 if receivers(task) <= 5 else LIMIT) for task in waiting}
    assert (search.answer(done).values, search.answer(done).notes) == ((5,), ())


@settings(max_examples=60)
@given(last=st.integers(1, 159), growth=st.floats(0.005, 0.1), noise=st.integers(0, 10**6))
def test_a_measure_that_grows_smoothly_is_interpolated(last: int, growth: float, noise: int) -> None:
    """It finds the exact step among 160 values, usually with five runs instead of eight; with noise, it still finds the crossing."""
    scenario = scenario_with("largest", 1, 160)
    (search,) = make_plan(scenario, Fidelity(replications=1), sweep=False).searches
    limit = 1e-4 * 10**12  # packets of 10^12, so that counts are as smooth as a continuous measure

    def dropped(task: Task) -> int:
        return round(limit * math.exp(growth * (receivers(task) - last - 0.5)))

    answer, ran = run(search, dropped, random.Random(noise), of=10**12)
    assert answer.values == (last,)
    assert len(ran) <= 8


def test_a_smooth_measure_needs_a_full_length_run_on_one_side_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is within a step of the crossing; `--thorough` still has one on both sides."""
    limit = 1e-4 * 10**12

    def dropped(task: Task) -> int:
        off = 3 if task.point.spec.length < 3000 * MS else 0  # short runs are wrong by three steps
        return round(limit * math.exp(0.02 * (receivers(task) - off - 35.5)))

    def searched(*, thorough: bool = False) -> tuple[SearchAnswer, list[Task]]:
        fidelity = Fidelity(replications=1, thorough=thorough)
        (search,) = make_plan(scenario_with("largest", 1, 63), fidelity, sweep=False).searches
        return run(search, dropped, random.Random(1), of=10**12)

    answer, ran = searched()
    monkeypatch.setitem(CATALOGUE, "loss", replace(CATALOGUE["loss"], is_smooth=True))
    smooth, fewer = searched()
    assert smooth.values == answer.values == (35,)
    assert len(answer.points) == 2
    (point,) = smooth.points
    assert point["receivers"] in {35, 36}
    assert len(fewer) == len(ran) - 1
    assert searched(thorough=True)[0] == answer


def test_a_record_is_read_once_however_often_the_search_is_asked() -> None:
    """Ten replications ask again whenever a run ends: the number of file reads must not grow quadratically."""

    class Files(dict[RecordKey, RunRecord]):
        """Records that count their reads."""

        def __init__(self) -> None:
            self.reads: Counter[RecordKey] = Counter()

        def __getitem__(self, key: RecordKey) -> RunRecord:
            self.reads[key] += 1
            return super().__getitem__(key)

    (search,) = make_plan(scenario_with("largest", 1, 63), Fidelity(replications=10), sweep=False).searches
    done = Files()
    while waiting := [task for task in search.wants(done) if task.key not in done]:
        task = waiting[-1]
        done[task.key] = record(task.key, task.point.axes, 0 if receivers(task) <= 35 else LIMIT)
    assert done.reads.keys() == done.keys()
    assert set(done.reads.values()) == {1}


def test_far_probes_are_short_and_the_answer_rests_on_whole_runs() -> None:
    """A third of the length while the bracket is wider than four; if the last two leave one side to a short run, it is repeated at full length."""
    (search,) = make_plan(scenario_with("largest", 1, 63), Fidelity(replications=1), sweep=False).searches
    answer, ran = run(search, lambda task: 0 if receivers(task) <= 35 else LIMIT, random.Random(1))
    assert [(receivers(task), task.point.spec.length // MS) for task in ran] == [
        (32, 1000),
        (48, 1000),
        (40, 1000),
        (36, 1000),
        (34, 3000),
        (35, 3000),
        (36, 3000),
    ]
    assert len({task.point.id for task in ran}) == len(ran)
    assert answer.values == (35,)
    assert (
        search.wants({task.key: record(task.key, task.point.axes, 0) for task in ran[:1]})[0].point.id
        == ran[1].point.id
    )


@pytest.mark.parametrize(("length", "probe"), [(3000, 1000), (1200, 500), (1000, 500), (999, 999)])
def test_short_runs_last_half_a_second_if_that_is_at_most_half_of_a_run(length: int, probe: int) -> None:
    """Control loops and request queues settle in half a second; a run of nearly the whole length would save little."""
    scenario = scenario_with("largest", 1, 63, (LONG[0], f"length: {length} ms"))
    (search,) = make_plan(scenario, Fidelity(replications=1), sweep=False).searches
    (first,) = search.wants({})
    assert first.point.spec.length == probe * MS
    (thorough,) = make_plan(scenario, Fidelity(replications=1, thorough=True), sweep=False).searches
    assert [task.point.spec.length for task in thorough.wants({})] == [length * MS]


def test_probes_are_whole_in_a_bracket_of_some_percent() -> None:
    """With many VMs four steps are less than the error of a short run."""
    (search,) = make_plan(scenario_with("largest", 401, 720), Fidelity(replications=1), sweep=False).searches
    _, ran = run(search, lambda task: 0 if receivers(task) <= 551 else LIMIT, random.Random(1))
    assert [(receivers(task), task.point.spec.length // MS) for task in ran] == [
        (560, 1000),
        (480, 1000),
        (520, 1000),
        (540, 1000),
        (550, 3000),
        (555, 3000),
        (552, 3000),
        (551, 3000),
    ]


def test_both_scenarios_of_dense_mode_take_the_same_steps_to_the_same_thresholds() -> None:
    """At 25 requests per second, and so share every run."""

    def steps(scenario: str, name: str) -> list[str]:
        searches = make_plan(load(scenario), Fidelity(quick=True)).searches
        (search,) = (search for search in searches if search.name == name)
        ran = run(search, lambda task: 0, random.Random(1), answer=response)[1]
        return [task.point.id for task in ran]

    def response(task: Task) -> RunRecord:
        vms = int(task.point.axes["vms"])
        times = [30] * 128 if vms <= 552 else [10 + time // 2 for time in range(128)]  # with which no host keeps up
        return replace(answered_record(times), axes=task.point.axes)

    for mode in ("default", "dense"):
        medium = steps("dense-medium", f"dense.medium.{mode}.p95")
        assert len(medium) > 6
        assert medium == steps("dense-high", f"VMs at 100 ms, 25 a second, {mode}")


@settings(max_examples=100)
@given(threshold=st.integers(0, 64), off=st.integers(-40, 40), largest=st.booleans(), seed=st.integers(0, 99))
def test_short_runs_that_say_otherwise_cost_runs_and_no_truth(
    threshold: int, off: int, largest: bool, seed: int
) -> None:
    """Wherever short runs see the threshold, the answer is that of full-length runs, which exist on both sides of it."""
    scenario = scenario_with("largest" if largest else "smallest", 1, 63)
    (search,) = make_plan(scenario, Fidelity(replications=1), sweep=False).searches

    def dropped(task: Task) -> int:
        seen = threshold if task.point.spec.length == 3000 * MS else threshold + off
        return 0 if (receivers(task) <= seen) == largest else LIMIT

    answer, ran = run(search, dropped, random.Random(seed))
    found = int(answer.values[0])
    assert found == min(max(threshold, 1), 63) if largest else found == min(max(threshold + 1, 2), 64)
    whole = {receivers(task) for task in ran if task.point.spec.length == 3000 * MS}
    sides = (threshold, threshold + 1)
    assert {side for side in sides if 1 <= side <= 63} <= whole
    assert len(ran) <= search.most()


TWO = """\
  - {name: by loss, between: [0, 99], find: {largest: receivers, from: 1, to: 63, where: {metric: loss, below: 0.01 %}}}
  - {name: by more loss, between: [0, 99], find: {largest: receivers, from: 1, to: 63, where: {metric: loss, below: 0.011 %}}}
"""


def test_a_search_looks_first_at_what_another_has_run(tmp_path: Path) -> None:
    """On the same line: it requests only the rest, whether or not the other search is requested as well."""
    scenario = load_text(tmp_path, ("expect:\n", f"expect:\n{TWO}"))
    alone = restrict(scenario, ["by more loss"])

    def dropped(task: Task) -> int:
        return max(0, 3 * (receivers(task) - 4)) + 9

    def runs(search: Search) -> tuple[float, dict[RecordKey, int]]:
        answer, ran = run(search, dropped, random.Random(1))
        return answer.values[0], {task.key: receivers(task) for task in ran}

    one, other = make_plan(scenario, Fidelity(replications=1), sweep=False).searches
    (found, first), (more, both) = runs(one), runs(other)
    assert (found, more) == (34, 37)
    assert both.keys() > first.keys()
    assert len(both) - len(first) <= 3
    assert runs(make_plan(alone, Fidelity(replications=1), sweep=False).searches[0]) == (more, both)
    one, other = make_plan(scenario, Fidelity(replications=1, thorough=True), sweep=False).searches
    assert (runs(one)[0], runs(other)[0]) == (found, more)
    assert not runs(other)[1].keys() >= runs(one)[1].keys()


def test_points_of_the_sweep_go_before_bisecting_steps(tmp_path: Path) -> None:
    """Those within a quarter of the bracket around the middle, at the length used by the sweep."""
    swept = ("values: [1, 2]", "values: [2, 20, 30]")
    fewer = ("replications: 2,", "replications: 2, swept: {length: 1 s, replications: 1},")
    (search,) = make_plan(
        load_text(
            tmp_path,
            ("expect:\n", "expect:\n" + TWO.splitlines(keepends=True)[0]),
            swept,
            LONG,
            fewer,
            ("receivers: 2}", "receivers: 30}"),
        ),
        Fidelity(),
    ).searches
    _, ran = run(search, lambda task: 0 if receivers(task) <= 20 else LIMIT, random.Random(1))
    lengths = [
        [(receivers(task), task.point.spec.length // MS) for task in ran if task.replication == replication]
        for replication in (0, 1)
    ]
    assert lengths[0][:2] == [
        (30, 3000),
        (20, 1000),
    ]  # the expectation uses the first of them; the other has one replication
    assert lengths[1][:2] == [(30, 3000), (15, 1000)]  # the other has one replication
    assert lengths[0][-2:] == [(21, 3000), (20, 3000)]
    assert {(21, 3000), (20, 3000)} < set(lengths[1])


def test_interpolation_saves_runs() -> None:
    """A threshold anywhere, with a measure that doubles every 20 steps: four runs on 160 values instead of eight."""
    (search,) = make_plan(scenario_with("largest", 1, 160), Fidelity(replications=1), sweep=False).searches
    _, ran = run(search, lambda task: round(1e8 * 2 ** ((receivers(task) - 101.5) / 20)), random.Random(1), of=10**12)
    assert [receivers(task) for task in ran] == [80, 120, 102, 101]


def test_noise_costs_no_more_than_thrice_the_bisection() -> None:
    """A measure with misleading distances: every third step halves the bracket."""
    (search,) = make_plan(scenario_with("largest", 1, 160), Fidelity(replications=1), sweep=False).searches
    _, ran = run(search, lambda task: 1 if receivers(task) < 101 else LIMIT, random.Random(1))
    assert len(ran) <= 24
    assert search.most() == 50  # once more if a full-length run contradicts, and two that confirm


def test_steps_may_be_whole_numbers_of_a_unit(tmp_path: Path) -> None:
    """A rate is searched in steps of 1 kpps, and shares runs with the sweep's notation of it."""
    text = (
        FIND.replace("SIDE", "largest")
        .replace("receivers", "rate")
        .replace("START", "10 kpps")
        .replace("STOP", "60 kpps")
    )
    scenario = load_text(tmp_path, ("expect:\n", f"expect:\n{text}"), ("sweep:\n", f"sweep:\n{RATE}"))
    (search,) = make_plan(scenario, Fidelity(replications=1), sweep=False).searches
    answer, ran = run(
        search, lambda task: 0 if float(str(task.point.axes["rate"]).split()[0]) <= 37 else 999, random.Random(1)
    )
    assert answer.values == (37,)
    assert {case["rate"] for case in answer.points} == {"37 kpps", "38 kpps"}
    assert {task.point.spec.traffic["stream"].rate for task in ran} >= {37e3, 38e3}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("start", "stop", "message"),
    [
        ("10 kpps", "60 pps", "has ends in two units"),
        ("10 kpps", "60", "has ends in two units"),
        ("1.5 kpps", "60 kpps", "has an end that is not a whole number of a unit"),
        ("10 parrots", "60 parrots", "has an end that is not a whole number of a unit"),
        ("60 kpps", "10 kpps", "has its ends in the wrong order"),
    ],
)
def test_a_bracket_has_one_unit(tmp_path: Path, start: str, stop: str, message: str) -> None:
    """Integers of the unit, the smallest first."""
    text = FIND.replace("SIDE", "largest").replace("receivers", "rate").replace("START", start).replace("STOP", stop)
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, ("expect:\n", f"expect:\n{text}"))
    assert message in str(caught.value)
