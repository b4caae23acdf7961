"""How a PCPU notices that it must reschedule: by an interrupt of another PCPU, by monitoring its run queue, or by itself."""

from __future__ import annotations

import pytest

from hostsim.engine.clock import Alarm, Clock
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.units import MS, US
from tests.model.small_host import HALT_EXIT, MIGRATED, PREEMPTION, SAME, SWITCH, Labourer, cost_table, settings

IPI = 4 * US


def host(*, cores: int = 2, mwait: bool = True, ipi: int = IPI) -> Scheduler:
    costs = cost_table()
    costs.reschedule_ipi = ipi
    return Scheduler(Clock(), 1, cores, costs, settings(mwait=mwait))


def wake_at(world: Labourer, when: int, source: Pcpu | None) -> None:
    """Give it 10 us of work, from a PCPU."""

    def give(_: Alarm) -> None:
        world.jobs.append(10 * US)
        world.scheduler.wake(world, world.clock.now, source)

    world.clock.at(Alarm(world.clock, give), when)


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("ipi", [IPI, 0])
def test_a_busy_pcpu_is_interrupted_by_others_only(remote, ipi):
    """The preempting world pays for the interrupt, unless the PCPU took the one that woke it; with a free interrupt there is no difference."""
    two = host(ipi=ipi)
    for pcpu in range(2):
        Labourer(two, "vcpu", pcpu=pcpu).give(5 * MS)
    system = Labourer(two, "system", system=True)
    wake_at(system, 1 * MS, two.pcpus[1 if remote else 0])
    two.clock.advance(10 * MS)
    assert system.done == [(1 * MS + (ipi if remote else 0) + PREEMPTION + SWITCH + SAME + 10 * US, 0)]
    assert system.used == (ipi if remote else 0) + PREEMPTION + SWITCH + SAME + 10 * US


@pytest.mark.parametrize(("mwait", "remote", "noticed"), [(True, True, 0), (False, True, IPI), (False, False, 0)])
def test_an_idle_pcpu_is_interrupted_by_others_where_it_halts(mwait, remote, noticed):
    """With mwait a store is enough (Cpu.UseMwait); its own timer wakes it in any case."""
    two = host(mwait=mwait)
    world = Labourer(two, "world")
    wake_at(world, 1 * MS, two.pcpus[1 if remote else 0])
    two.clock.advance(10 * MS)
    assert world.done == [(1 * MS + noticed + HALT_EXIT + SWITCH + SAME + 10 * US, 0)]


def test_who_moves_to_an_idle_pcpu_interrupts_it_where_it_halts():
    """The interrupt arrives at its own PCPU, which is busy: the PCPU to which it goes is halted and must be notified."""
    two = host(mwait=False)
    Labourer(two, "busy").give(5 * MS)
    world = Labourer(two, "world")
    wake_at(world, 1 * MS, two.pcpus[0])
    two.clock.advance(10 * MS)
    assert world.done == [(1 * MS + IPI + HALT_EXIT + SWITCH + MIGRATED + 10 * US, 1)]


def test_a_pcpu_that_need_not_reschedule_at_once_looks_at_the_end_of_a_batch():
    """A vCPU without the lead waits, and nothing is interrupted for it."""
    one = host(cores=1)
    Labourer(one, "busy").give(900 * US)
    world = Labourer(one, "world")
    wake_at(world, 500 * US, None)
    one.clock.advance(10 * MS)
    begun = HALT_EXIT + SWITCH + SAME + 900 * US
    assert world.done == [(begun + SWITCH + SAME + 10 * US, 0)]
