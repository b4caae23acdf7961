"""Plans: points, their order and ids, and replications until a target precision is reached."""

from __future__ import annotations

import itertools
import pickle
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hostsim.engine.record import RunRecord
from hostsim.errors import InputError
from hostsim.results.estimate import student
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.scenario.json_schema import scenario_schema
from hostsim.scenario.plan import Fidelity, Plan, RecordKey, Task, point_at
from hostsim.scenario.planner import FLAG, MOST_FOR_PRECISION, Replications, make_plan
from hostsim.scenario.scenario import Precision
from hostsim.scenario.selection import restrict
from hostsim.units import MS, SECOND
from tests.scenario.small_scenario import load_text, record

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
    """Quick runs are the scenario's own; a given number of replications has priority."""
    scenario = load_text(tmp_path)
    full, quick = make_plan(scenario, Fidelity()), make_plan(scenario, Fidelity(quick=True, seed=3))
    assert {task.point.spec.length for task in full.tasks} == {SECOND}
    assert {(task.point.spec.length, task.seed) for task in quick.tasks} == {(500 * MS, 3)}
    assert (len(full.tasks), len(quick.tasks)) == (8, 4)
    assert len(make_plan(scenario, Fidelity(replications=5)).tasks) == 20


def test_expectations_add_the_points_that_they_need_and_the_sweep_has_not(tmp_path: Path) -> None:
    """A value outside the sweep makes one further point; without the sweep only such points remain."""
    scenario = load_text(tmp_path, ("at: {receivers: 2}", "at: {receivers: 3, split: '1'}"))
    assert axes_of(make_plan(scenario, Fidelity()))[-1] == (3, "1")
    assert axes_of(make_plan(scenario, Fidelity(), sweep=False)) == [(3, "1")]
    assert axes_of(make_plan(scenario, Fidelity(), expectations=False)) == [(1, "0"), (1, "1"), (2, "0"), (2, "1")]


def test_values_are_written_as_the_sweep_writes_them(tmp_path: Path) -> None:
    """Two spellings of a value are one point, so that a verdict finds its row."""
    plan = make_plan(load_text(tmp_path, ("at: {receivers: 2}", 'at: {receivers: "2", split: 1}')), Fidelity())
    assert axes_of(plan) == [(1, "0"), (1, "1"), (2, "0"), (2, "1")]


def test_an_id_is_the_hash_of_what_is_simulated(tmp_path: Path) -> None:
    """Equal for every load, different for any other point."""
    first, second = (make_plan(load_text(tmp_path), Fidelity()) for _ in range(2))
    assert [task.key for task in first.tasks] == [task.key for task in second.tasks]
    ids = {task.point.id for task in first.tasks}
    assert len(ids) == 4
    assert ids.isdisjoint(task.point.id for task in make_plan(load_text(tmp_path), Fidelity(quick=True)).tasks)


def test_order_of_axes_changes_the_order_of_points_only(tmp_path: Path) -> None:
    """The hosts and their ids are equal."""
    lines = (
        "  receivers: {set: vms.receiver.count, values: [1, 2]}\n",
        '  split: {set: vms.receiver.vmx.ethernet0.emuRxMode, values: ["0", "1"]}\n',
    )
    plan = make_plan(load_text(tmp_path), Fidelity())
    reversed_plan = make_plan(load_text(tmp_path, (lines[0] + lines[1], lines[1] + lines[0])), Fidelity())
    assert [task.point.axes["receivers"] for task in reversed_plan.tasks] == [1, 1, 2, 2, 1, 1, 2, 2]
    assert {task.key for task in reversed_plan.tasks} == {task.key for task in plan.tasks}


def test_names_reach_nothing_but_names(tmp_path: Path) -> None:
    """A scenario with other names makes the same hosts, except for names."""
    plan, renamed = make_plan(load_text(tmp_path), Fidelity()), make_plan(load_text(tmp_path, *RENAMED), Fidelity())
    for task, other in zip(plan.tasks, renamed.tasks, strict=True):
        given = task.point.spec.model_dump_json().replace('"receiver"', '"sink"').replace('"stream"', '"ticker"')
        assert other.point.spec.model_dump_json() == given


def test_points_that_differ_in_their_axes_only_keep_a_row_each(tmp_path: Path) -> None:
    """An axis without effect in the model still has a row for each of its values."""
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
    """Fewer and shorter runs at either fidelity; options have priority, and thorough runs treat them like all others."""
    swept = (
        "replications: 2, quick: {length: 500 ms, replications: 1}",
        "replications: 4, swept: {length: 200 ms, replications: 3}, quick: {length: 500 ms, replications: 2, swept: {replications: 1}}",
    )

    def runs(fidelity: Fidelity, *names: str, **overrides: str) -> dict[bool, set[tuple[int, int]]]:
        """Whether the expectation uses a point: its length in milliseconds and its replications."""
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
    """If the length is equal, only the lengthening distinguishes them from others."""
    scenario = load_text(tmp_path)
    short, thorough = (point_at(scenario, {}, Fidelity(thorough=thorough)) for thorough in (False, True))
    assert (short.spec.lengthening, thorough.spec.lengthening) == (0.25, 1)
    assert short.id != thorough.id


RUN = ("replications: 2,", "replications: 5, precision: {loss: 0.005 % abs, host_cpu: 2 %},")
LOSS_ONLY = ("replications: 2,", "replications: 5, precision: {loss: 0.005 % abs},")


def search_of(folder: Path, *changes: tuple[str, str]) -> Replications:
    """The search of the first point."""
    found = make_plan(load_text(folder, *(changes or (LOSS_ONLY,))), Fidelity()).searches[0]
    assert isinstance(found, Replications)
    return found


def play(
    search: Replications, dropped: Callable[[Task], int], order: random.Random
) -> tuple[dict[RecordKey, RunRecord], list[int]]:
    """Runs that end in any order, one at a time, with the search asked after each; returns the number of requested runs by then."""
    done: dict[RecordKey, RunRecord] = {}
    asked: list[int] = []
    while waiting := search.wants(done):
        asked.append(len(done) + len(waiting))
        task = order.choice(waiting)
        done[task.key] = record(task.key, task.point.axes, dropped(task))
    return done, asked


def noise(size: float) -> Callable[[Task], int]:
    """Packets per million that each replication drops: 0.01 % is 100."""
    return lambda task: round(500 + size * np.random.default_rng(task.replication).normal())


def test_it_is_loaded_with_units_and_kinds(tmp_path: Path) -> None:
    """Absolute in the metric's own unit, relative as a share."""
    text = (
        "replications: 5, precision: {loss: 0.005 % abs, host_cpu: 2 %, latency_p95: 3 us abs, delivered: 1 kpps abs},"
    )
    scenario = load_text(tmp_path, ("replications: 2,", text))
    assert scenario.run.precision == (
        Precision("loss", 0.005, relative=False),
        Precision("host_cpu", 0.02, relative=True),
        Precision("latency_p95", pytest.approx(3), relative=False),
        Precision("delivered", 1000, relative=False),
    )
    assert ("run.precision.loss", "0.005 % abs") in [(row.name, row.value) for row in scenario.settings]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("los: 2 %", "run.precision.los: unknown metric; .*did you mean 'loss'"),
        ("loss: 2", "run.precision.loss"),
        ("loss: 5 us abs", "run.precision.loss: .*'us'"),
        ("latency_p95: 2 us", "run.precision.latency_p95: .*'us'"),
        ("loss: 0 %", "run.precision.loss: is not a half-width; given '0 %'; allowed: a number above 0"),
        ("loss: -1 % abs", "run.precision.loss"),
        ("loss: lots", "run.precision.loss: is not a percent"),
    ],
)
def test_what_cannot_be_asked_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    """Names with the nearest known one, units, and numbers that are not widths."""
    with pytest.raises(InputError, match=told) as caught:
        load_text(tmp_path, ("replications: 2,", f"replications: 2, precision: {{{text}}},"))
    assert all(fault.line for fault in caught.value.faults)


def test_the_schema_knows_the_metrics() -> None:
    """An editor completes them."""
    part = scenario_schema()["$defs"]["RunPart"]["properties"]["precision"]
    assert part["propertyNames"]["anyOf"][0] == {"enum": list(CATALOGUE)}


def plan(folder: Path, **fidelity: object) -> Plan:
    return make_plan(load_text(folder, RUN), Fidelity(**fidelity))


def test_every_point_of_sweep_and_expectations_has_a_search(tmp_path: Path) -> None:
    """Unless the number is given, or the fidelity is quick."""
    full = plan(tmp_path)
    assert len(full.searches) == len({task.point.id for task in full.tasks}) == 4
    assert plan(tmp_path, quick=True).searches == ()
    assert plan(tmp_path, replications=3).searches == ()


def test_equal_replications_are_enough_at_once(tmp_path: Path) -> None:
    """Five, and no flag."""
    search = search_of(tmp_path)
    done, asked = play(search, lambda task: 500, random.Random(1))
    answer = search.answer(done)
    assert (len(done), set(asked), answer.values, answer.flags) == (5, {5}, (5,), {})


@pytest.mark.parametrize("size", [40, 60, 80, 100])
def test_it_stops_when_the_interval_is_narrow_enough(tmp_path: Path, size: float) -> None:
    """It does not stop earlier: one step before, the half-width was too wide."""
    search = search_of(tmp_path)
    done, asked = play(search, noise(size), random.Random(1))
    steps = sorted(set(asked))
    assert steps[0] == 5
    assert len(done) == steps[-1] <= MOST_FOR_PRECISION
    halves = {
        count: student([CATALOGUE["loss"].evaluate(list(sorted_runs)[r]) for r in range(count)]).half
        for sorted_runs in [[done[key] for key in sorted(done)]]
        for count in steps
    }
    assert all(halves[count] > 0.005 for count in steps[:-1])
    assert halves[steps[-1]] <= 0.005
    assert search.answer(done).flags == {}
    assert all(after <= 2 * before for before, after in itertools.pairwise(steps))


@pytest.mark.parametrize("size", [60, 400])
def test_the_order_in_which_runs_end_has_no_say(tmp_path: Path, size: float) -> None:
    """The final runs and the answer are the same."""
    search = search_of(tmp_path)
    played = [play(search, noise(size), random.Random(seed))[0] for seed in range(5)]
    assert len({frozenset(done) for done in played}) == 1
    assert len({search.answer(done).values for done in played}) == 1


def test_a_point_that_reaches_the_cap_is_flagged(tmp_path: Path) -> None:
    """The flag has the metric that is not precise enough."""
    search = search_of(tmp_path)
    done, _ = play(search, noise(400), random.Random(1))
    answer = search.answer(done)
    (point,) = {key[0] for key in done}
    assert len(done) == MOST_FOR_PRECISION == search.most()
    assert answer.flags == {point: FLAG}
    assert answer.notes == ("loss less precise than requested",)


def test_the_worst_of_several_metrics_counts(tmp_path: Path) -> None:
    """A metric that cannot be measured stays unknown: no run is spent on it, and the point is flagged."""
    search = search_of(tmp_path, RUN)
    done, _ = play(search, lambda task: 500, random.Random(1))
    assert len(done) == 5
    assert search.answer(done).notes == ("host_cpu less precise than requested",)
    assert list(search.answer(done).flags.values()) == [FLAG]


def test_a_failed_run_ends_it(tmp_path: Path) -> None:
    """No answer, and no more runs."""
    search = search_of(tmp_path)
    done = {task.key: record(task.key, task.point.axes, 500) for task in search.wants({})}
    key = next(iter(done))
    done[key] = record(key, {}, 0, error="Traceback\nInvariantError: lost")
    answer = search.answer(done)
    assert search.wants(done) == []
    assert (answer.values, answer.flags) == ((), {})
    assert "failed" in answer.notes[0]


def test_one_replication_becomes_two_before_anything_is_known(tmp_path: Path) -> None:
    """One value has no spread; a scenario above the cap stays at its number."""
    search = search_of(tmp_path, ("replications: 2,", "replications: 1, precision: {loss: 1 % abs},"))
    assert len(play(search, lambda task: 500, random.Random(1))[0]) == 2
    search = search_of(tmp_path, ("replications: 2,", "replications: 40, precision: {loss: 0.00001 % abs},"))
    done, _ = play(search, noise(100), random.Random(1))
    assert (len(done), list(search.answer(done).flags.values())) == (40, [FLAG])
