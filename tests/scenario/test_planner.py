"""Plans: which points there are, in which order, under which ids."""

from __future__ import annotations

import pickle
from pathlib import Path

from hostsim.scenario.plan import Fidelity, Plan
from hostsim.scenario.planner import make_plan
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
