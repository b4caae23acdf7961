"""The guest on a vCPU: processes on the same and other vCPUs, and preempted bursts with packets on their way out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest

from hostsim.engine.clock import Alarm, Clock
from hostsim.engine.ring import Ring, Train
from hostsim.model.contract import Flow, PacketSink, Sender
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.policy.moderation import CoalescingScheme
from hostsim.model.receive.vnic import Vnic
from hostsim.model.services import Services
from hostsim.units import MS, NS, US

from .small_host import Labourer
from .small_point import ROUND, cost_table, guest, run, settings
from .test_guest import answering, response

COST = cost_table()
STACK = ROUND["guest_rx_packet"] * NS
FIRST = (ROUND["halt_exit"] + ROUND["context_switch"] + ROUND["cache_refill_same"]) * NS
"""An idle PCPU dispatches its last world: halt exit, switch and refill."""
WAKE = (ROUND["vcpu_wake"] + ROUND["guest_interrupt"]) * NS


class Process(Sender):
    """A consumer of a connection's packets, 1 us each; it records packets, times and the running vCPU."""

    def __init__(self, vcpu: Vcpu, vnic: Vnic) -> None:
        super().__init__(Flow("any", 100, 1), 100, 0, 1)
        self.vcpu, self.vnic = vcpu, vnic
        self.had: list[tuple[int, int]] = []
        self.then: Callable[[int], None] | None = None

    def handle(self, train: Train, start: int) -> int:
        self.had.append((start, train.count))
        self.vcpu.count_read(train, start, start)
        if self.then is not None:
            self.then(start)
        return start + train.count * US


class Shelf(PacketSink):
    """Destination of packets that a guest sends."""

    def __init__(self) -> None:
        self.ring = Ring(1000)

    def post(self, train: Train) -> None:
        self.ring.push(train)

    def cancel(self, trains: Iterable[Train], now: int) -> list[Train]:
        return self.ring.recall(trains, now)

    def instants(self) -> list[int]:
        return [train.ready + place * train.step for train in self.ring.trains() for place in range(train.count)]


class Rig:
    """A VM with a number of vCPUs and as many PCPUs, one vNIC whose interrupts the first vCPU takes, and a process on each vCPU."""

    def __init__(self, vcpus: int = 1, *, pcpus: int | None = None, budget: int = 64) -> None:
        self.clock = Clock()
        self.scheduler = Scheduler(self.clock, 1, pcpus or vcpus, COST, settings())
        node = self.scheduler.nodes[0]
        services = Services(self.clock, COST, self.scheduler, settings())
        self.vcpus = [
            Vcpu(services, f"vcpu{n}", node.pcpus[n % len(node.pcpus)], guest(napi_budget=budget), 0, 1000)
            for n in range(vcpus)
        ]  # fmt: skip
        self.vnic = Vnic(self.clock, "eth0", 4096, CoalescingScheme(), self.vcpus[0])
        self.vcpus[0].vnics.append(self.vnic)
        self.processes = [Process(vcpu, self.vnic) for vcpu in self.vcpus]

    def packets(self, count: int, ready: int, step: int = 0, *, process: int = 0) -> None:
        self.vnic.receive(Train(self.processes[process], count, ready, step, ready, step))

    def interrupt_at(self, when: int, *lengths: int) -> Labourer:
        """A system world that takes the first PCPU at an instant."""
        labourer = Labourer(self.scheduler, "system", system=True)
        self.clock.at(Alarm(self.clock, lambda _: labourer.give(*lengths)), when)
        return labourer


def test_a_process_on_the_same_vcpu_has_its_packets_in_the_same_burst():
    """Wake-up, the stack for all of them, then the process."""
    rig = Rig()
    rig.packets(3, 10 * US)
    rig.clock.advance(1 * MS)
    assert rig.processes[0].had == [(10 * US + FIRST + WAKE + 3 * STACK, 3)]
    vcpu = rig.vcpus[0]
    assert vcpu.used == FIRST + WAKE + 3 * STACK + 3 * US
    assert (vcpu.interrupts, vcpu.came, vcpu.read, vcpu.in_socket()) == (1, 3, 3, 0)


def test_a_process_on_another_vcpu_is_woken_for_the_first_packet():
    """At the instant at which the stack has finished with it; the hand-over costs an inter-processor interrupt."""
    rig = Rig(2)
    rig.packets(3, 10 * US, process=1)
    rig.clock.advance(1 * MS)
    handed = 10 * US + FIRST + WAKE + STACK
    begun = handed + FIRST + WAKE
    there = 1 + (begun - WAKE - handed) // STACK  # packets that have passed the stack when the other vCPU looks
    assert rig.processes[1].had[0] == (begun, there)
    assert sum(count for _, count in rig.processes[1].had) == 3
    first, other = rig.vcpus
    assert (first.pending_ps, first.came, other.came, other.read) == (ROUND["guest_ipi"] * NS, 0, 3, 3)
    assert (first.interrupts, other.interrupts) == (1, 0)


def test_what_is_owed_is_paid_with_the_next_burst():
    """For the second packet, the vCPU still has to pay for the first one's hand-over, and for the dispatch on its idle PCPU."""
    rig = Rig(2)
    rig.packets(1, 10 * US, process=1)
    rig.clock.advance(1 * MS)
    before = rig.vcpus[0].used
    rig.packets(1, 1 * MS, process=0)
    rig.clock.advance(2 * MS)
    assert rig.vcpus[0].used - before == FIRST + ROUND["guest_ipi"] * NS + WAKE + STACK + US
    assert rig.vcpus[0].pending_ps == 0


def test_a_vcpu_that_runs_needs_no_interrupt_between_processors():
    """It finds the packets when its burst ends, and no interrupt is paid."""
    rig = Rig(2)
    work = Train(rig.processes[1], 50, 0, 0, 0, 0)
    rig.vcpus[1].inbox.post(work)
    rig.packets(1, 10 * US, process=1)
    rig.clock.advance(1 * MS)
    assert rig.processes[1].had == [(FIRST + WAKE, 50), (FIRST + WAKE + 50 * US, 1)]
    assert (rig.vcpus[0].pending_ps, rig.vcpus[1].dispatches) == (0, 1)


def test_a_ring_longer_than_the_budget_takes_several_polls():
    """Four at a time, in one softirq, and then the process; one interrupt for all."""
    rig = Rig(budget=4)
    rig.packets(10, 10 * US)
    rig.clock.advance(1 * MS)
    start = 10 * US + FIRST + WAKE
    through = start + 10 * STACK
    assert rig.processes[0].had == [(through, 4), (through + 4 * US, 4), (through + 8 * US, 2)]
    assert (rig.vcpus[0].interrupts, rig.vcpus[0].dispatches) == (1, 1)


def test_a_running_guest_takes_an_interrupt_dearer_than_a_poll_and_cheaper_than_a_wake_up():
    """A packet that arrives after the ring was drained, while the guest still works."""
    rig = Rig()
    other = Vnic(rig.clock, "eth1", 64, CoalescingScheme(), rig.vcpus[0])
    rig.vcpus[0].vnics.append(other)
    rig.packets(5, 10 * US)
    rig.clock.advance(12 * US)
    other.receive(Train(rig.processes[0], 1, 12 * US, 0, 12 * US, 0))
    rig.clock.advance(1 * MS)
    first = FIRST + WAKE + 5 * STACK + 5 * US
    assert rig.vcpus[0].used == first + (ROUND["virtual_interrupt"] + ROUND["guest_interrupt"]) * NS + STACK + US
    assert (rig.vcpus[0].interrupts, rig.vcpus[0].dispatches) == (2, 1)


@pytest.mark.parametrize("cut", [11, 14, 19, 25, 33, 41])
def test_what_a_burst_that_is_cut_had_still_to_post_is_posted_as_much_later(cut: int):
    """Ten packets, 3 us apart. A system world takes the PCPU for 5 us: written packets stay written, and the rest waits for it."""
    rig, shelf = Rig(), Shelf()
    process = rig.processes[0]
    start = FIRST + WAKE + STACK
    process.then = lambda at: rig.vcpus[0].post_to(shelf, Train(process, 10, at + 3 * US, 3 * US, 0, 0))
    process.handle = lambda train, at: Process.handle(process, train, at) - US + 30 * US
    rig.packets(1, 0)
    when = cut * US
    system = rig.interrupt_at(when, 5 * US)
    rig.clock.advance(1 * MS)
    switch = (ROUND["context_switch"] + ROUND["cache_refill_same"]) * NS
    away = (ROUND["reschedule_ipi"] + ROUND["preemption"]) * NS + switch + 5 * US + switch
    due = [start + 3 * US * n for n in range(1, 11)]
    if when >= due[-1]:
        away = 0
    assert shelf.instants() == [at if at <= when else at + away for at in due]
    assert rig.vcpus[0].used == start + 30 * US + (switch if away else 0)
    assert system.done == [(when + 5 * US + (away - switch - 5 * US if away else switch + ROUND["halt_exit"] * NS), 0)]


def test_a_burst_may_be_cut_more_than_once():
    """Each time the rest is delayed; nothing is lost, duplicated or reordered."""
    rig, shelf = Rig(), Shelf()
    process = rig.processes[0]
    process.then = lambda at: rig.vcpus[0].post_to(shelf, Train(process, 10, at + 3 * US, 3 * US, 0, 0))
    process.handle = lambda train, at: Process.handle(process, train, at) - US + 30 * US
    rig.packets(1, 0)
    for when in (5, 12, 13, 30):
        rig.interrupt_at(when * US, 2 * US)
    rig.clock.advance(1 * MS)
    instants = shelf.instants()
    assert len(instants) == shelf.ring.pushed == 10
    assert all(after - before >= 3 * US for before, after in pairwise(instants))
    assert rig.scheduler.pcpus[0].preemptions == 3  # the third finds the second at work
    assert instants[-1] == rig.scheduler.pcpus[0].busy(1 * MS)  # the last thing that is done


def test_a_cut_in_front_of_another_vcpu_keeps_the_books():
    """Packets on their way to a process elsewhere come later, except those that it has looked ahead to; each is counted once."""
    rig = Rig(2)
    rig.packets(40, 0, process=1)
    rig.interrupt_at(4 * US, 20 * US)
    rig.clock.advance(5 * US)
    other = rig.vcpus[1]
    written = (4 * US - FIRST - WAKE) // STACK
    assert other.came >= written
    assert other.read + other.in_socket() == other.came
    rig.clock.advance(1 * MS)
    assert (other.came, other.read, other.in_socket()) == (40, 40, 0)
    assert rig.scheduler.pcpus[0].preemptions == 1


def test_a_process_is_woken_once_in_a_burst():
    """For any number of packets found; again in the next burst."""
    rig = Rig(budget=2)
    woken: list[bool] = []
    rig.processes[0].then = lambda _: woken.append(rig.vcpus[0].wakes(rig.processes[0]))
    for at in (0, 0, 100 * US):
        rig.packets(1, at)
    rig.clock.advance(1 * MS)
    assert woken == [True, False, True]


def test_without_interrupts_in_its_midst_a_burst_of_work_delays_every_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request waits for the end of a burst, which is 5 ms."""
    monkeypatch.setattr(Vcpu, "_attend", lambda _self, _now: None)
    host = run(answering(works=True), 100 * MS)
    assert response(host) > 4 * MS
