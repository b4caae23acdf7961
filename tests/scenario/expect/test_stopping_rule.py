"""Precision: as many replications as it takes, asked for in the same way whoever runs them; errors of who writes it down."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hostsim.engine.record import RunRecord
from hostsim.errors import InputError
from hostsim.results.estimate import student
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.scenario.json_schema import scenario_schema
from hostsim.scenario.plan import Fidelity, Plan, RecordKey, Task
from hostsim.scenario.planner import FLAG, MOST_FOR_PRECISION, Replications, make_plan
from hostsim.scenario.scenario import Precision
from tests.scenario.small_scenario import load_text, record

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
    """Runs that end in any order, one at a time, the search asked again after each; with how many it had asked for by then."""
    done: dict[RecordKey, RunRecord] = {}
    asked: list[int] = []
    while waiting := search.wants(done):
        asked.append(len(done) + len(waiting))
        task = order.choice(waiting)
        done[task.key] = record(task.key, task.point.axes, dropped(task))
    return done, asked


def noise(size: float) -> Callable[[Task], int]:
    """Packets of a million that each replication drops: 0.01 % is 100."""
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
    """Names with the nearest known one, units, and numbers that are no widths."""
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
    """Unless the number is given, or the look is a quick one."""
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
    """And not before: with the steps it took less, the half-width was too wide."""
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
    """What it has run in the end, and its answer, are the same."""
    search = search_of(tmp_path)
    played = [play(search, noise(size), random.Random(seed))[0] for seed in range(5)]
    assert len({frozenset(done) for done in played}) == 1
    assert len({search.answer(done).values for done in played}) == 1


def test_a_point_that_reaches_the_cap_is_flagged(tmp_path: Path) -> None:
    """With the metric that is not known well enough."""
    search = search_of(tmp_path)
    done, _ = play(search, noise(400), random.Random(1))
    answer = search.answer(done)
    (point,) = {key[0] for key in done}
    assert len(done) == MOST_FOR_PRECISION == search.most()
    assert answer.flags == {point: FLAG}
    assert answer.notes == ("loss not known as well as asked for",)


def test_the_worst_of_several_metrics_counts(tmp_path: Path) -> None:
    """A metric that cannot be measured will never be known: no run is spent on it, the point is flagged."""
    search = search_of(tmp_path, RUN)
    done, _ = play(search, lambda task: 500, random.Random(1))
    assert len(done) == 5
    assert search.answer(done).notes == ("host_cpu not known as well as asked for",)
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
    """One value has no spread; a scenario that starts above the cap stays where it starts."""
    search = search_of(tmp_path, ("replications: 2,", "replications: 1, precision: {loss: 1 % abs},"))
    assert len(play(search, lambda task: 500, random.Random(1))[0]) == 2
    search = search_of(tmp_path, ("replications: 2,", "replications: 40, precision: {loss: 0.00001 % abs},"))
    done, _ = play(search, noise(100), random.Random(1))
    assert (len(done), list(search.answer(done).flags.values())) == (40, [FLAG])
