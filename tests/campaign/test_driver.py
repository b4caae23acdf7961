"""Plans to records: with any number of workers, interrupted, killed and resumed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from toy_runs import Bisection, answered_record, plan, point, requests_record, simulate, tasks, toy_record

from hostsim.campaign.driver import Costs, Outcome, Progress, preview, run_together
from hostsim.campaign.store import Store, is_same_run
from hostsim.engine.record import RunRecord
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.functions import condensed
from hostsim.results.table import WALL_CLOCK, write_table
from hostsim.scenario.plan import Plan, RecordKey, Task
from hostsim.units import SECOND
from tests.conftest import HANGS_S
from tests.single_plan import run_all
from tests.tables import to_table

HERE = Path(__file__).parent


def table_bytes(outcome: Outcome, path: Path) -> bytes:
    """The bytes of the table of all records, without wall-clock columns."""
    write_table(to_table(outcome.records.values()).drop(columns=list(WALL_CLOCK)), path)
    return path.read_bytes()


def test_records_come_in_the_order_of_the_plan(tmp_path: Path) -> None:
    """Points in order, replications within a point, all stored."""
    work = tasks([point(n=3), point(n=1), point(n=2)])
    store = Store(tmp_path)
    outcome = run_all(plan(work), store, jobs=1, simulate=simulate)
    assert list(outcome.records) == [(task.point.id, task.replication) for task in work]
    assert [record.axes["n"] for record in outcome.records.values()] == [3, 3, 1, 1, 2, 2]
    assert (outcome.ran, outcome.reused, outcome.interrupted) == (6, 0, False)
    assert all(store.get((task.point.id, task.replication, task.seed)) for task in work)


def test_only_what_is_missing_is_run(tmp_path: Path) -> None:
    """A second, larger sweep runs only the new points; the table equals that of a sweep that ran all."""
    run_all(plan(tasks([point(n=1)])), Store(tmp_path / "a"), jobs=1, simulate=simulate)
    larger = plan(tasks([point(n=1), point(n=2)], replications=3))
    resumed = run_all(larger, Store(tmp_path / "a"), jobs=1, simulate=simulate)
    assert (resumed.ran, resumed.reused) == (4, 2)
    anew = run_all(larger, Store(tmp_path / "b"), jobs=1, simulate=simulate)
    assert table_bytes(resumed, tmp_path / "resumed") == table_bytes(anew, tmp_path / "anew")


def test_a_reused_run_takes_the_axes_and_warnings_of_the_plan(tmp_path: Path) -> None:
    """Another scenario may have run the same point under other axes."""
    first = point(n=1, warnings=("setting not modelled",))
    run_all(plan(tasks([first], 1)), Store(tmp_path), jobs=1, simulate=simulate)
    same = type(first)(id=first.id, axes={"other": "axis"}, spec=first.spec, warnings=())
    outcome = run_all(plan(tasks([same], 1)), Store(tmp_path), jobs=1, simulate=simulate)
    (record,) = outcome.records.values()
    assert (outcome.reused, record.axes, record.flags) == (1, {"other": "axis"}, ("toy",))


def test_a_run_carries_the_warnings_of_its_point(tmp_path: Path) -> None:
    """Flags known before the run precede those found by it."""
    outcome = run_all(plan(tasks([point(("careful",), n=1)], 1)), Store(tmp_path), jobs=1, simulate=simulate)
    assert [record.flags for record in outcome.records.values()] == [("careful", "toy")]


def test_a_failed_run_is_a_record_and_is_tried_again(tmp_path: Path) -> None:
    """The traceback is stored, the other runs continue, and the next command tries again."""
    flag = tmp_path / "flag"
    sweep = plan(tasks([point(flag_file=str(flag)), point(n=1)], 1))
    told: list[Progress] = []
    first = run_all(sweep, Store(tmp_path / "store"), jobs=1, progress=told.append, simulate=simulate)
    bad, good = first.records.values()
    assert bad.error is not None
    assert bad.error.endswith("RuntimeError: the flag file is missing\n")
    assert good.error is None
    assert told[-1].failed == 1
    flag.touch()
    second = run_all(sweep, Store(tmp_path / "store"), jobs=1, simulate=simulate)
    assert (second.ran, second.reused) == (1, 1)
    assert all(record.error is None for record in second.records.values())


def test_searches_are_answered_and_their_runs_follow_the_fixed_ones(tmp_path: Path) -> None:
    """A search shares the runs of the sweep and continues until it has an answer."""
    threshold = 12e9  # a toy run sends n * 1e9 and up to 6e9 from a random draw
    sweep = plan(tasks([point(n=7)]), [Bisection(threshold)])
    outcome = run_all(sweep, Store(tmp_path), jobs=1, simulate=simulate)
    values = outcome.answers["largest n"].values
    for replication, value in enumerate(values):
        sent = {
            int(record.axes["n"]): record.total("flow.sent")
            for (_, number), record in outcome.records.items()
            if number == replication
        }
        assert sent[int(value)] < threshold <= sent[int(value) + 1]
    assert [record.axes["n"] for record in outcome.records.values()][:2] == [7, 7]
    again = run_all(sweep, Store(tmp_path), jobs=1, simulate=simulate)
    assert (again.ran, again.answers) == (0, outcome.answers)


@pytest.mark.parametrize(
    ("record", "most"),
    [
        (toy_record(1, 0), 3),
        (answered_record([20 + time // 4 for time in range(130)], cut=3), 12),
        (answered_record([20, 25] * 64, cut=80), 12),
        (
            requests_record([[10 + 0.1 * number] * (2 + number % 2) for number in range(128)]),
            12,
        ),  # by one request or so
    ],
)
def test_searches_measure_what_the_table_shows(record: RunRecord, most: int) -> None:
    """The condensed records for searches give the same measures as the full ones."""
    short = condensed(record)
    assert len(short.instants_ps) <= most < len(record.instants_ps)
    assert short.window_ps == record.window_ps
    for metric in CATALOGUE.values():
        expected = pytest.approx(metric.evaluate(record), rel=0, abs=0, nan_ok=True)
        assert metric.evaluate(short) == expected


def test_workers_have_no_say_in_the_outcome(tmp_path: Path) -> None:
    """One worker and two give the same bytes, although two finish out of order."""
    points = [point(n=n, sleep=0.2 if n % 2 else 0.0) for n in range(4)]
    sweep = plan(tasks(points, 1), [Bisection(9e9), Bisection(14e9, "another")])
    one, two = (run_all(sweep, Store(tmp_path / str(jobs)), jobs=jobs, simulate=simulate) for jobs in (1, 2))
    assert table_bytes(one, tmp_path / "one.parquet") == table_bytes(two, tmp_path / "two.parquet")
    assert list(one.records) == list(two.records)
    assert one.answers == two.answers


def test_progress_tells_what_is_known(tmp_path: Path) -> None:
    """It starts from the stored runs, ends at the total, and estimates the remaining time once a run has ended."""
    points = [point(n=n, sleep=0.05) for n in range(3)]
    store = Store(tmp_path)
    run_all(plan(tasks(points[:1], 1)), store, jobs=1, simulate=simulate)
    told: list[Progress] = []
    run_all(plan(tasks(points, 1)), store, jobs=1, progress=told.append, simulate=simulate)
    assert [(p.done, p.total, p.reused, p.failed) for p in told] == [(1, 3, 1, 0), (2, 3, 1, 0), (3, 3, 1, 0)]
    left = [p.seconds_left for p in told]
    assert left[0] >= 2 * 0.05  # two runs are left, each of which sleeps at least that long
    assert left[2] == 0


def test_time_left_is_unknown_before_any_run(tmp_path: Path) -> None:
    """Nothing is made up."""
    assert preview(plan(tasks([point(n=1)])), Store(tmp_path)).seconds_left is None


def test_preview_runs_nothing(tmp_path: Path) -> None:
    """It counts stored and missing runs, and does not change the folder."""
    store = Store(tmp_path)
    run_all(plan(tasks([point(n=1)])), store, jobs=1, simulate=simulate)
    before = sorted(tmp_path.rglob("*"))
    progress = preview(plan(tasks([point(n=1), point(n=2)])), store)
    assert (progress.done, progress.total, progress.reused, progress.running) == (2, 4, 2, 0)
    assert sorted(tmp_path.rglob("*")) == before


class Interrupted(Bisection):
    """Its second question brings Ctrl-C."""

    def wants(self, done: Mapping[RecordKey, RunRecord]) -> list[Task]:
        return [Task(point(interrupt=True), 0, 1)] if done else super().wants(done)[:1]


def test_an_interrupt_keeps_what_has_finished(tmp_path: Path) -> None:
    """Runs that ended before Ctrl-C are in the outcome and the store; unfinished searches have no answer."""
    sweep = plan(tasks([point(n=1)], 1), [Interrupted(9e9)])
    outcome = run_all(sweep, Store(tmp_path), jobs=1, simulate=simulate)
    assert outcome.interrupted
    assert [record.axes for record in outcome.records.values()] == [{"n": 7}]
    assert outcome.answers == {}
    assert preview(sweep, Store(tmp_path)).reused == 1


class Noted:
    """Runs that are recorded in the order in which they begin."""

    def __init__(self) -> None:
        self.begun: list[object] = []

    def __call__(self, spec: Mapping[str, Any], **arguments: Any) -> RunRecord:
        self.begun.append(spec["n"])
        return simulate(spec, **arguments)


def test_what_searches_ask_for_goes_first(tmp_path: Path) -> None:
    """A search that waits for one run after another is not delayed by others."""
    noted = Noted()
    run_all(
        plan(tasks([point(n=20), point(n=21)], 1), [Bisection(9e9, replications=1)]),
        Store(tmp_path),
        jobs=1,
        simulate=noted,
    )
    assert noted.begun[-2:] == [20, 21]
    assert len(noted.begun) > 4


def test_the_longest_run_is_begun_first(tmp_path: Path) -> None:
    """No worker is busy long after the others have ended; the records keep the plan's order."""
    noted = Noted()
    work = tasks([replace(point(n=n), effort=n) for n in (2, 9, 4)], 1)
    outcome = run_all(plan(work), Store(tmp_path), jobs=1, simulate=noted)
    assert noted.begun == [9, 4, 2]
    assert list(outcome.records) == [task.key for task in work]


def test_the_plan_whose_next_run_takes_longest_goes_on(tmp_path: Path) -> None:
    """Once a run of each has shown the time per unit of effort, which is here twenty times as long in the second plan."""
    noted = Noted()
    quick = tasks([replace(point(n=n), effort=n) for n in (9, 8, 7)], 1)
    slow = tasks([replace(point(n=n, sleep=0.2), effort=1) for n in (1, 0)], 1)
    run_together([plan(quick), plan(slow)], Store(tmp_path), jobs=1, simulate=noted)
    assert noted.begun == [9, 1, 0, 8, 7]


@pytest.mark.parametrize("jobs", [1, 2])
def test_plans_together_give_what_they_give_one_by_one(tmp_path: Path, jobs: int) -> None:
    """The same records and answers with one worker or two; a run that two plans need is made once."""
    plans = [
        plan(tasks([point(n=3), point(n=20)]), [Bisection(9e9)]),
        plan(tasks([point(n=20), point(n=7)]), [Bisection(9e9), Bisection(14e9, "another")]),
    ]
    alone = [run_all(each, Store(tmp_path / f"{place}"), jobs=1, simulate=simulate) for place, each in enumerate(plans)]
    told: list[tuple[Plan, Progress]] = []
    store = Store(tmp_path / "together")
    together = run_together(
        plans, store, jobs=jobs, simulate=simulate, progress=lambda *standing: told.append(standing)
    )
    for place, (one, other) in enumerate(zip(alone, together, strict=True)):
        assert list(one.records) == list(other.records)
        assert table_bytes(one, tmp_path / "one") == table_bytes(other, tmp_path / "other")
        assert one.answers == other.answers
        last = [standing for whose, standing in told if whose is plans[place]][-1]
        assert (last.done, last.total) == (len(other.records), len(other.records))
    assert told[-1][1].seconds_left == 0
    wanted = {key for outcome in alone for key in outcome.records}
    assert sum(1 for _ in store.folder.rglob("*.parquet")) == len(wanted)


@pytest.mark.parametrize("jobs", [1, 2])
def test_equal_hosts_of_a_plan_share_their_runs(tmp_path: Path, jobs: int) -> None:
    """The second point has a number after its id; it has the records of the first, with its own id, axes and warnings, and no run of its own."""
    one, other = point(n=3), point(n=5)
    twin = replace(one, id=f"{one.id}-2", axes={"n": 3, "label": "b"}, warnings=("has no effect",))
    both = tasks([one, twin, other])
    store = Store(tmp_path)
    [outcome] = run_together([plan(both)], store, jobs=jobs, simulate=simulate)
    assert (outcome.ran, outcome.reused) == (4, 2)
    assert list(outcome.records) == [task.key for task in both]
    for replication in range(2):
        mine, its = (outcome.records[p.id, replication] for p in (one, twin))
        assert (its.point_id, its.axes, its.flags) == (twin.id, twin.axes, ("has no effect", "toy"))
        assert is_same_run(mine, replace(its, point_id=mine.point_id, flags=mine.flags))
    assert len(list(store.runs())) == 4
    [again] = run_together([plan(both)], store, simulate=simulate)
    assert (again.ran, again.reused) == (0, 6)


def test_no_run_of_several_plans_is_made_twice(tmp_path: Path) -> None:
    """It is not repeated if one plan requests it after another already has it."""
    noted = Noted()
    plans = [plan(tasks([point(n=1), point(n=2)], 1)), plan(tasks([point(n=2), point(n=1), point(n=3)], 1))]
    outcomes = run_together(plans, Store(tmp_path), jobs=1, simulate=noted)
    assert noted.begun == [1, 2, 3]
    assert [(outcome.ran, outcome.reused) for outcome in outcomes] == [(2, 0), (1, 2)]


@pytest.mark.parametrize(
    ("runs", "effort", "here"),
    [
        (4, 0, 4),
        (20, 0, 1),  # the first estimates almost five seconds
        (4, 4 * SECOND, 0),
    ],
)
def test_small_work_is_done_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: int, effort: int, here: int
) -> None:
    """Workers start for long or many runs; with a given number of jobs they always start."""
    monkeypatch.setattr("hostsim.campaign.executor.base.processor_count", lambda: 2)  # one would need no workers
    work = tasks([replace(point(n=n, took=0.25), effort=effort) for n in range(runs)], 1)
    for jobs, expected in ((None, here), (2, 0)):
        outcome = run_all(plan(work), Store(tmp_path / f"{jobs}"), jobs=jobs, simulate=simulate)
        processes = [record.facts["process"] for record in outcome.records.values()]
        assert processes.count(os.getpid()) == expected


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from toy_runs import plan, point, simulate, tasks
from hostsim.campaign import driver
from hostsim.campaign.driver import run_together
from hostsim.campaign.store import Store

# no guard for a main module: workers must not run this script again
sweep = plan(tasks([point(n=n, held={held!r} if n > 1 else "") for n in range(10)], 2))
[outcome] = run_together([sweep], Store(Path(sys.argv[1])), jobs=2, simulate=simulate)
print("interrupted" if outcome.interrupted else "finished", len(outcome.records))
"""


def hear_ctrl_c() -> None:
    """A program started in the background ignores Ctrl-C, and so do its children, possibly including these tests."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start_sweep(tmp_path: Path, store: Path, held: Path) -> subprocess.Popen[str]:
    """A sweep in its own process: four of its twenty runs have ended, and the others continue until a file is removed."""
    held.touch()
    script = tmp_path / "sweep.py"
    script.write_text(SCRIPT.format(here=str(HERE), held=str(held)))
    process = subprocess.Popen(
        [sys.executable, script, store],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear_ctrl_c,  # noqa: PLW1509 only sets a signal's disposition
    )
    while len(list(store.rglob("*.parquet"))) < 4:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return process


def test_a_killed_sweep_resumes_to_the_same_table(tmp_path: Path) -> None:
    """Kill -9 in the middle leaves only complete files; the same sweep then ends as usual."""
    store, held = tmp_path / "store", tmp_path / "held"
    process = start_sweep(tmp_path, store, held)
    process.kill()
    held.unlink()  # its workers end with their runs
    process.communicate()
    kept = list(store.rglob("*.parquet"))
    same = plan(tasks([point(n=n, held=str(held) if n > 1 else "") for n in range(10)], 2))
    resumed = run_all(same, Store(store), jobs=2, simulate=simulate)
    assert resumed.reused == len(kept) == 4
    anew = run_all(same, Store(tmp_path / "peace"), jobs=2, simulate=simulate)
    assert table_bytes(resumed, tmp_path / "resumed") == table_bytes(anew, tmp_path / "anew")


def test_ctrl_c_ends_a_sweep_with_all_that_has_finished(tmp_path: Path) -> None:
    """SIGINT to the whole process group, as from a terminal, ends the sweep at once and without messages."""
    process = start_sweep(tmp_path, tmp_path / "store", tmp_path / "held")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=HANGS_S)  # no unfinished run will end
    assert (process.returncode, out, err) == (0, "interrupted 4\n", "")
    assert len(list((tmp_path / "store").rglob("*.parquet"))) == 4


def test_nothing_is_made_up_before_a_run_has_told() -> None:
    """A run without a time gives no information, and finished work takes no time."""
    costs, [task] = Costs(), tasks([point(n=1)], 1)
    costs.expect(task)
    costs.add(toy_record(1, 0, facts={}))
    assert costs.left_s() is None
    costs.settle(task)
    costs.add(toy_record(1, 0, facts={"wall_s": 0.1}))
    assert costs.left_s() == 0


def test_running_sums_equal_the_sums_over_all_that_are_left() -> None:
    """For any order in which runs are expected, end and report their time."""
    draw, costs = random.Random(1), Costs()
    left, took = [], {}
    for task in draw.sample(tasks([point(n=n) for n in range(8)], 6), 48):
        costs.expect(task)
        left.append(task)
        if draw.random() < 0.7:
            ended = left.pop(draw.randrange(len(left)))
            seconds = draw.random()
            costs.settle(ended)
            costs.add(toy_record(1, 0, point_id=ended.point.id, facts={"wall_s": seconds}))
            took.setdefault(ended.point.id, []).append(seconds)
        means = {name: fmean(values) for name, values in took.items()}
        if means:
            usual = fmean(means.values())
            assert costs.left_s() == pytest.approx(sum(means.get(task.point.id, usual) for task in left))
    assert len(left) > 5
