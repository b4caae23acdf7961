"""Plans: which points there are, in which order, under which ids."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

from hostsim.scenario.plan import Fidelity, Plan, point_at
from hostsim.scenario.planner import make_plan
from hostsim.scenario.selection import restrict
from hostsim.units import MS, SECOND
from tests.scenario.small_scenario import load_text

RENAMED = (
    ("scenario: small", "scenario: other"),
    ("  receiver:\n", "  sink:\n"),
    ("to: receiver", "to: sink"),
    ("  stream:", "  ticker:"),
    ("vms.receiver.count", "vms.sink.count"),
    ("vms.receiver.vmx", "vms.sink.vmx"),
)


def axes_of(plan: Plan) -> list[tuple[object, ...]]:
    """Values of the axes of each point, in order."""
    return list(dict.fromkeys(tuple(task.point.axes.values()) for task in plan.tasks))


def test_axes_are_crossed_with_the_last_one_fastest(tmp_path: Path) -> None:
    """Points in the order of nested loops, replications of a point together."""
    plan = make_plan(load_text(tmp_path), Fidelity())
    assert axes_of(plan) == [(1, "0"), (1, "1"), (2, "0"), (2, "1")]
    assert [task.replication for task in plan.tasks] == [0, 1] * 4


def test_fidelity_chooses_length_replications_and_seed(tmp_path: Path) -> None:
    """Quick runs are the scenario's own; a number of replications given by hand wins."""
    scenario = load_text(tmp_path)
    full, quick = make_plan(scenario, Fidelity()), make_plan(scenario, Fidelity(quick=True, seed=3))
    assert {task.point.spec.length for task in full.tasks} == {SECOND}
    assert {(task.point.spec.length, task.seed) for task in quick.tasks} == {(500 * MS, 3)}
    assert (len(full.tasks), len(quick.tasks)) == (8, 4)
    assert len(make_plan(scenario, Fidelity(replications=5)).tasks) == 20


def test_expectations_add_the_points_that_they_need_and_the_sweep_has_not(tmp_path: Path) -> None:
    """A value that is not swept makes a point of its own, once; without the sweep only these are left."""
    scenario = load_text(tmp_path, ("at: {receivers: 2}", "at: {receivers: 3, split: '1'}"))
    assert axes_of(make_plan(scenario, Fidelity()))[-1] == (3, "1")
    assert axes_of(make_plan(scenario, Fidelity(), sweep=False)) == [(3, "1")]
    assert axes_of(make_plan(scenario, Fidelity(), expectations=False)) == [(1, "0"), (1, "1"), (2, "0"), (2, "1")]


def test_values_are_written_as_the_sweep_writes_them(tmp_path: Path) -> None:
    """Two spellings of a value are one point, so that a verdict finds its row."""
    plan = make_plan(load_text(tmp_path, ("at: {receivers: 2}", 'at: {receivers: "2", split: 1}')), Fidelity())
    assert axes_of(plan) == [(1, "0"), (1, "1"), (2, "0"), (2, "1")]


def test_an_id_is_the_hash_of_what_is_simulated(tmp_path: Path) -> None:
    """Equal from load to load, other for any other point."""
    first, second = (make_plan(load_text(tmp_path), Fidelity()) for _ in range(2))
    assert [task.key for task in first.tasks] == [task.key for task in second.tasks]
    ids = {task.point.id for task in first.tasks}
    assert len(ids) == 4
    assert ids.isdisjoint(task.point.id for task in make_plan(load_text(tmp_path), Fidelity(quick=True)).tasks)


def test_order_of_axes_changes_the_order_of_points_only(tmp_path: Path) -> None:
    """The hosts and their ids are the same."""
    lines = (
        "  receivers: {set: vms.receiver.count, values: [1, 2]}\n",
        '  split: {set: vms.receiver.vmx.ethernet0.emuRxMode, values: ["0", "1"]}\n',
    )
    plan = make_plan(load_text(tmp_path), Fidelity())
    reversed_plan = make_plan(load_text(tmp_path, (lines[0] + lines[1], lines[1] + lines[0])), Fidelity())
    assert [task.point.axes["receivers"] for task in reversed_plan.tasks] == [1, 1, 2, 2, 1, 1, 2, 2]
    assert {task.key for task in reversed_plan.tasks} == {task.key for task in plan.tasks}


def test_names_reach_nothing_but_names(tmp_path: Path) -> None:
    """A scenario under other names makes the same hosts, but for the names in them."""
    plan, renamed = make_plan(load_text(tmp_path), Fidelity()), make_plan(load_text(tmp_path, *RENAMED), Fidelity())
    for task, other in zip(plan.tasks, renamed.tasks, strict=True):
        given = task.point.spec.model_dump_json().replace('"receiver"', '"sink"').replace('"stream"', '"ticker"')
        assert other.point.spec.model_dump_json() == given


def test_points_that_differ_in_their_axes_only_keep_a_row_each(tmp_path: Path) -> None:
    """An axis that changes nothing in the model still has a row for each of its values."""
    scenario = load_text(tmp_path, axes={"host.advanced.Net.NetSchedCoalesceTxUsecs": "33,30"})
    plan = make_plan(scenario, Fidelity(replications=1))
    assert len(plan.tasks) == 8
    assert len({task.point.id for task in plan.tasks}) == 8
    assert len({task.point.spec.digest() for task in plan.tasks}) == 4


def test_tasks_travel_to_other_processes(tmp_path: Path) -> None:
    """A task and its point survive pickling."""
    task = make_plan(load_text(tmp_path), Fidelity()).tasks[0]
    assert pickle.loads(pickle.dumps(task)) == task  # noqa: S301  our own bytes


def test_points_that_no_expectation_rests_on_have_runs_of_their_own(tmp_path: Path) -> None:
    """Fewer and shorter ones, at either fidelity; options go before them, and thorough runs have them like all others."""
    swept = (
        "replications: 2, quick: {length: 500 ms, replications: 1}",
        "replications: 4, swept: {length: 200 ms, replications: 3}, quick: {length: 500 ms, replications: 2, swept: {replications: 1}}",
    )

    def runs(fidelity: Fidelity, *names: str, **overrides: str) -> dict[bool, set[tuple[int, int]]]:
        """By whether the expectation rests on a point: its length in milliseconds and its replications."""
        scenario = load_text(tmp_path, swept, overrides={f"run.{name}": value for name, value in overrides.items()})
        tasks = make_plan(restrict(scenario, names), fidelity).tasks
        counts = Counter(task.point.id for task in tasks)
        found: dict[bool, set[tuple[int, int]]] = {True: set(), False: set()}
        for task in tasks:
            is_judged = (task.point.axes["receivers"], task.point.axes["split"]) == (2, "0")
            found[is_judged].add((task.point.spec.length // MS, counts[task.point.id]))
        return found

    assert runs(Fidelity(), "mine") == {True: {(1000, 4)}, False: {(200, 3)}}
    assert runs(Fidelity()) == runs(Fidelity(), "mine")  # whatever is asked for
    assert runs(Fidelity(quick=True)) == {True: {(500, 2)}, False: {(500, 1)}}
    assert runs(Fidelity(replications=7)) == {True: {(1000, 7)}, False: {(200, 7)}}
    assert runs(Fidelity(thorough=True)) == {True: {(1000, 4)}, False: {(1000, 4)}}
    assert runs(Fidelity(), length="2 s") == {True: {(2000, 4)}, False: {(2000, 3)}}
    assert runs(Fidelity(quick=True), replications="6") == {True: {(500, 6)}, False: {(500, 6)}}


def test_thorough_runs_are_doubled_and_have_keys_of_their_own(tmp_path: Path) -> None:
    """As long as they are the same length, only the lengthening tells them from others."""
    scenario = load_text(tmp_path)
    short, thorough = (point_at(scenario, {}, Fidelity(thorough=thorough)) for thorough in (False, True))
    assert (short.spec.lengthening, thorough.spec.lengthening) == (0.25, 1)
    assert short.id != thorough.id
