"""Core states (C-states): when an idle core enters them, and the time to leave them."""

from __future__ import annotations

import pytest

from hostsim.config.platform import IdleSpec
from hostsim.model.cpu.pcpu import CoreStates
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.units import MS, US
from tests.model.small_host import Labourer, bare_host, check_charges, settings

JOB = 10 * US


def states(**changes: float) -> CoreStates:
    """C3 from a mean idle time of 200 us on, with an exit of 10 us, and C6 from 2 ms on, with an exit of 100 us."""
    idle = IdleSpec.model_validate(
        {"fade": 2, "exit_share": 0.5, "states": {"round": {"C6": "200 us", "C3": "20 us"}, "other": {"C3": "1 us"}}}
    )
    values = {"deepest_exit": 500 * US, "idle_latencies": 10} | changes
    return CoreStates(idle, settings().model_copy(update=values), "round")


def asleep(threads: int = 1, **changes: int) -> Scheduler:
    """A host whose PCPUs have been idle for 5 ms at a time since the start."""
    host = bare_host(threads=threads, free=True, states=states(), **changes)
    for pcpu in host.pcpus:
        pcpu.idle_mean = 5 * MS
    return host


@pytest.mark.parametrize(
    ("known", "exits"),
    [
        (states(), (0, 0, 10 * US, 10 * US, 100 * US)),
        (states(deepest_exit=100 * US), (0, 0, 10 * US, 10 * US, 10 * US)),
        (states(idle_latencies=3), (0, 0, 100 * US, 100 * US, 100 * US)),
        (states(deepest_exit=0), (0, 0, 0, 0, 0)),
        (None, (0, 0, 0, 0, 0)),
    ],
)
def test_the_state_goes_by_the_mean_of_the_last_idle_times(known: CoreStates | None, exits: tuple[int, ...]) -> None:
    """Idle for 0, 990, 990, 10,000 and 1,000 us: the means before each wake-up are 0, 0, 990, 990 and 5,495 us."""
    host = bare_host(free=True, states=known)
    world = Labourer(host, "a")
    at, expected = 0, []
    for idle, exit_time in zip((0, 990, 990, 10_000, 1_000), exits, strict=True):
        at += idle * US
        world.give_at(at, JOB)
        at += exit_time + JOB
        expected.append((at, 0))
    host.clock.advance(1_000 * MS)
    assert world.done == expected
    check_charges(host, [world])
    assert world.used == 5 * JOB  # a core that does not execute yet counts as idle


def test_a_core_is_in_the_shallower_state_of_its_threads() -> None:
    """C6 and C1; C6 and C3; and no state while the other thread is busy."""
    for mean, exit_time in ((0, 0), (1 * MS, 10 * US), (5 * MS, 100 * US)):
        host = asleep(threads=2)
        host.pcpus[1].idle_mean = mean
        world = Labourer(host, "a")
        world.give_at(10 * MS, JOB)
        host.clock.advance(20 * MS)
        assert world.done == [(10 * MS + exit_time + JOB, 0)]
    host = asleep(threads=2)
    neighbour, world = (Labourer(host, str(pcpu), pcpu=pcpu) for pcpu in (1, 0))
    neighbour.give_at(9 * MS, 5 * MS)
    world.give_at(10 * MS, JOB)
    host.clock.advance(20 * MS)
    assert world.done == [(10 * MS + JOB * 8 // 5, 0)]


def test_who_comes_while_a_core_is_on_its_way_waits_as_long_as_the_first() -> None:
    """A system world preempts the vCPU after 30 of 100 us, and starts when the vCPU would have started; the vCPU loses no work."""
    host = asleep()
    vcpu, system = Labourer(host, "v"), Labourer(host, "s", system=True)
    vcpu.give_at(10 * MS, JOB)
    system.give_at(10 * MS + 30 * US, JOB)
    host.clock.advance(10 * MS + 50 * US)
    assert sum(pcpu.busy(host.clock.now) for pcpu in host.pcpus) == 0
    host.clock.advance(20 * MS)
    assert system.done == [(10 * MS + 100 * US + JOB, 0)]
    assert vcpu.done == [(10 * MS + 100 * US + 2 * JOB, 0)]
    check_charges(host, [vcpu, system])
    assert (vcpu.used, system.used) == (JOB, JOB)


def test_a_vcpu_that_is_stopped_while_its_core_is_on_its_way_has_done_nothing() -> None:
    """The core is idle from before the wake-up until it has left its state."""
    host = asleep()
    vcpu = Labourer(host, "v")
    vcpu.give_at(10 * MS, JOB)
    host.clock.advance(10 * MS + 30 * US)
    host.pcpus[0].costop(host.clock.now)
    for at in (10 * MS + 50 * US, 20 * MS):
        host.clock.advance(at)
        assert (vcpu.used, vcpu.left, host.pcpus[0].busy(at)) == (0, JOB, 0)


def test_the_other_thread_waits_for_the_core_too() -> None:
    """Its own work also starts at 100 us, and both threads share the core from then on."""
    host = asleep(threads=2)
    one, other = (Labourer(host, str(pcpu), pcpu=pcpu) for pcpu in (0, 1))
    one.give_at(10 * MS, 400 * US)
    other.give_at(10 * MS + 99 * US, 400 * US)
    host.clock.advance(10 * MS + 99_500_000)
    assert [pcpu.used(host.clock.now) for pcpu in host.pcpus] == [0, 0]
    host.clock.advance(20 * MS)
    ends = [world.done[0][0] - 10 * MS for world in (one, other)]
    # the last microsecond of the exit is stretched like work
    assert ends == pytest.approx([740 * US, 740 * US], abs=1 * US)
    check_charges(host, [one, other])
    assert [pcpu.used(host.clock.now) for pcpu in host.pcpus] == pytest.approx([320 * US] * 2, abs=1 * US)


def test_a_vcpu_that_spins_keeps_its_core_awake() -> None:
    """A PCPU that is exclusive to a vCPU with latency sensitivity high."""
    host = bare_host(cores=2, free=True, states=states())
    world = Labourer(host, "a")
    host.dedicate(world, host.nodes, [])
    world.last.idle_mean = 5 * MS
    world.give_at(10 * MS, JOB)
    host.clock.advance(20 * MS)
    assert world.done == [(10 * MS + JOB, world.last.index)]
