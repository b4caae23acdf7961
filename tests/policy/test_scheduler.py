"""Decisions of proportional share, without a host."""

from __future__ import annotations

import pytest

from hostsim.model.policy.scheduler import ProportionalShare, RunQueue, Schedulable, SchedulerPolicy
from hostsim.units import MS
from tests.model.small_host import settings

LEAD = 20
POLICY = ProportionalShare(settings(quantum=50, lag_quanta=8, costop_threshold=3 * MS, costart_threshold=2 * MS), LEAD)


def world(vtime: int = 0, *, shares: int = 1000, system: bool = False) -> Schedulable:
    made = Schedulable("world", system=system, shares=shares)
    made.vtime = vtime
    return made


def queue(*waiting: Schedulable) -> RunQueue[Schedulable]:
    made: RunQueue[Schedulable] = RunQueue(0)
    for one in waiting:
        (made.systems if one.system else made.vcpus).append(one)
    made.queued = len(waiting)
    return made


def test_virtual_time_is_time_over_shares():
    """Uncharged time counts, and is charged only once."""
    rich = world(shares=2000)
    here = queue()
    assert POLICY.vtime(rich, here, 300) == 150
    POLICY.charge(rich, 300)
    here.charged = 300
    assert rich.vtime == POLICY.vtime(rich, here, 300) == 150


def test_lag_is_bounded():
    """A vCPU that is ahead keeps its time; one far behind is raised; system worlds have none to keep."""
    found = []
    for one in (world(500), world(0), world(0, system=True)):
        POLICY.wake(one, 450)
        found.append(one.vtime)
    assert found == [500, 50, 0]


def test_system_worlds_go_first_then_the_least_virtual_time():
    """The first of several PCPUs in either case; system worlds do not change the choice."""
    vcpus, systems = [world(20), world(10), world(10)], [world(30, system=True), world(5, system=True)]
    assert POLICY.first(queue(*vcpus), 0) is vcpus[1]
    assert POLICY.first(queue(*vcpus, *systems), 0) is systems[0]
    assert POLICY.first_vcpu(queue(*vcpus, *systems), 0) is vcpus[1]


@pytest.mark.parametrize(
    ("running", "waiting", "stay", "expected"),
    [
        (world(10), world(50, system=True), 0, True),
        (world(10), world(10), 49, False),  # the quantum is not over
        (world(10), world(10), 50, True),
        (world(10), world(11), 50, False),  # its share is not used up
        (world(10, system=True), world(0, system=True), 49, False),
        (world(10, system=True), world(50), 50, True),
    ],
)
def test_who_yields_at_the_end_of_a_batch(running: Schedulable, waiting: Schedulable, stay: int, expected: bool):
    """A vCPU yields to system worlds at once, to other vCPUs only after a quantum."""
    assert POLICY.yields(running, queue(waiting), stay) is expected


def test_a_vcpu_needs_its_lead():
    """The lead counts from exactly its value; a system world needs none."""
    here, running = queue(), world(LEAD)
    assert POLICY.preempts(world(0), running, here, 0)
    assert not POLICY.preempts(world(1), running, here, 0)
    assert POLICY.preempts(world(1), running, here, 1)  # time since the last charge counts
    assert POLICY.preempts(world(LEAD, system=True), running, here, 0)


def test_who_is_furthest_behind_goes_on_for_who_is_furthest_ahead():
    """In pairs, from the widest gap on, as long as the gap is a lead; each only once."""

    def pairs(waiting: list[int], running: list[int], lead: int = LEAD) -> list[tuple[int, int]]:
        policy = ProportionalShare(settings(), lead)
        return policy.swaps([world(vtime) for vtime in waiting], [world(vtime) for vtime in running])

    assert pairs([70, 10, 40], [50, 100]) == [(1, 1)]
    assert pairs([70, 10, 20], [50, 100]) == [(1, 1), (2, 0)]
    assert pairs([70, 10, 20], [50, 100], 100) == []
    assert pairs([], [50], 0) == []


def test_a_lead_stops_above_its_threshold_and_starts_at_its_own():
    """The slowest leads by nothing and is never stopped, for any thresholds."""
    assert (POLICY.costops(3 * MS), POLICY.costops(3 * MS + 1)) == (False, True)
    assert (POLICY.costarts(2 * MS + 1), POLICY.costarts(2 * MS)) == (False, True)
    none = ProportionalShare(settings(costop_threshold=0, costart_threshold=0), LEAD)
    assert (none.costops(0), none.costarts(0)) == (False, True)


def test_proportional_share_answers_every_question_of_the_contract():
    """A subclass overrides some decisions, and inherits the rest."""
    asked = {name for name in vars(SchedulerPolicy) if not name.startswith("_")}
    assert {name for name in asked if callable(getattr(SchedulerPolicy, name))} - set(vars(ProportionalShare)) == set()
    assert len(asked) > 10
