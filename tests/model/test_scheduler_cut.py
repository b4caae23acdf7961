"""Notifications of a world whose batch is preempted and resumed."""

from __future__ import annotations

from hostsim.units import MS, SECOND, US
from tests.model.small_host import HALT_EXIT, PREEMPTION, SAME, SWITCH, Labourer, bare_host, check_charges


class Witness(Labourer):
    """A labourer that records every preemption and resumption, and may wake another when it begins or goes to sleep."""

    __slots__ = ("heard", "wakes_on_begin", "wakes_on_rest")

    def __init__(self, scheduler, name, **more):
        super().__init__(scheduler, name, **more)
        self.heard = []
        self.wakes_on_begin = self.wakes_on_rest = None

    def begin(self, start):
        if self.wakes_on_begin is not None:
            self.wakes_on_begin.give(10 * US)
        return super().begin(start)

    def rest(self, now):
        if self.wakes_on_rest is not None:
            self.wakes_on_rest.give(10 * US)

    def cut(self, now, left):
        self.heard.append(("cut", now, left))

    def resume(self, start):
        self.heard.append(("resume", start))


def test_a_batch_that_was_cut_goes_on_after_what_turning_to_it_costs():
    """The reported instant is that at which the rest of its work starts."""
    host = bare_host()
    vcpu, system = Witness(host, "vcpu"), Labourer(host, "system", system=True)
    vcpu.give(100 * US)
    system.give_at(40 * US, 10 * US)
    host.clock.advance(SECOND)
    left = HALT_EXIT + SWITCH + SAME + 100 * US - 40 * US
    again = 40 * US + PREEMPTION + SWITCH + SAME + 10 * US + SWITCH + SAME
    assert vcpu.heard == [("cut", 40 * US, left), ("resume", again)]
    assert vcpu.done == [(again + left, 0)]


def test_a_batch_longer_than_a_quantum_that_goes_on_at_once_is_not_cut():
    """Alone on its PCPU it gets no notification."""
    host = bare_host()
    vcpu = Witness(host, "vcpu")
    vcpu.give(SECOND)
    host.clock.advance(2 * SECOND)
    assert vcpu.heard == []
    assert len(vcpu.done) == 1


def test_a_batch_longer_than_a_quantum_is_cut_when_another_has_its_turn():
    """Two vCPUs with 120 ms each alternate by 50 ms: each is preempted twice, and the remaining one not again."""
    host = bare_host(free=True)
    one, other = Witness(host, "one"), Witness(host, "other")
    one.give(120 * MS)
    other.give(120 * MS)
    host.clock.advance(SECOND)
    assert one.heard == [
        ("cut", 50 * MS, 70 * MS),
        ("resume", 100 * MS),
        ("cut", 150 * MS, 20 * MS),
        ("resume", 200 * MS),
    ]
    assert [event[:2] for event in other.heard] == [
        ("cut", 100 * MS),
        ("resume", 150 * MS),
        ("cut", 200 * MS),
        ("resume", 220 * MS),
    ]
    assert (one.done, other.done) == ([(220 * MS, 0)], [(240 * MS, 0)])


def test_whom_a_vcpu_wakes_as_it_begins_waits_for_its_batch():
    """A batch without an end yet cannot be preempted; a system world woken at another time would not wait."""
    host = bare_host(free=True)
    vcpu, system = Witness(host, "vcpu"), Labourer(host, "system", system=True)
    vcpu.wakes_on_begin = system
    vcpu.give(100 * US, 100 * US)
    host.clock.advance(300 * US)
    assert vcpu.done == [(100 * US, 0), (210 * US, 0)]
    assert system.done[:2] == [(110 * US, 0), (220 * US, 0)]
    assert host.pcpus[0].preemptions == 0


def test_whom_a_vcpu_wakes_as_it_goes_to_sleep_runs_next():
    """The vCPU's end has already been processed and is not processed again."""
    host = bare_host(free=True)
    vcpu, system = Witness(host, "vcpu"), Labourer(host, "system", system=True)
    vcpu.wakes_on_rest = system
    vcpu.give(100 * US)
    host.clock.advance(SECOND)
    assert vcpu.done == [(100 * US, 0)]
    assert system.done == [(110 * US, 0)]
    check_charges(host, [vcpu, system])
