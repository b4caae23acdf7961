"""Faults planted in the simulator: each is found by an invariant, by theory, or by a schedule computed by hand.

(That fingerprints move with such faults is shown in `tests/test_fingerprint.py`.) Every check passes without the fault, here or in
`test_oracles.py`: what it finds is the fault.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hostsim.engine.random_stream import Streams
from hostsim.engine.ring import Ring
from hostsim.errors import InvariantError
from hostsim.lab.verification.rig import measure, point
from hostsim.lab.verification.runner import QUICK, oracles, verify
from hostsim.model.build import build_host
from hostsim.model.cpu.pcpu import Node, Pcpu
from hostsim.model.policy.moderation import CoalescingDepth
from hostsim.model.policy.scheduler import ProportionalShare
from hostsim.model.traffic.cpu_work import CpuWork
from hostsim.units import MS, US
from tests.model.small_host import Labourer, bare_host

Patch = Callable[[pytest.MonkeyPatch], None]

# --- faults


def lose_a_packet(patch: pytest.MonkeyPatch) -> None:
    """The hundredth packet put on a ring is lost, and no counter has it."""
    original, pushes = Ring.push, [0]

    def push(self, train):
        pushes[0] += 1
        if pushes[0] != 100:
            original(self, train)

    patch.setattr(Ring, "push", push)


def lose_a_taken_packet(patch: pytest.MonkeyPatch) -> None:
    """The hundredth take is counted, but its packets are lost."""
    original, takes = Ring.take, [0]

    def take(self, limit, now):
        taken = original(self, limit, now)
        takes[0] += bool(taken)
        return [] if taken and takes[0] == 100 else taken

    patch.setattr(Ring, "take", take)


def charge_twice(patch: pytest.MonkeyPatch) -> None:
    """A world whose batch ends is charged twice for it."""
    original = Pcpu._end

    def end(self):
        world, before = self.running, self.charged
        original(self)
        world.used += self.charged - before

    patch.setattr(Pcpu, "_end", end)


def cost_twice(patch: pytest.MonkeyPatch) -> None:
    """Every tenth burst takes twice its time: PCPU and world agree on it, and no balance is violated."""
    original, starts = CpuWork.start, [0]

    def start(self, now):
        starts[0] += 1
        length = original(self, now)
        return length if length is None or starts[0] % 10 else 2 * length

    patch.setattr(CpuWork, "start", start)


def last_come_first_served(patch: pytest.MonkeyPatch) -> None:
    """Among equal waiting worlds, the last one runs first."""
    original = Node.enqueue

    def enqueue(self, pcpu, world, now):
        original(self, pcpu, world, now)
        for queue in (pcpu.systems, pcpu.vcpus):
            if queue and queue[-1] is world:
                queue.remove(world)
                queue.insert(0, world)

    patch.setattr(Node, "enqueue", enqueue)


def most_used_first(patch: pytest.MonkeyPatch) -> None:
    """The vCPU with the most virtual time runs first instead of the one with the least."""
    patch.setattr(
        ProportionalShare,
        "first_vcpu",
        lambda self, queue, now: max(queue.vcpus, key=lambda waiting: waiting.vtime),
    )


def wait_although_a_pcpu_is_idle(patch: pytest.MonkeyPatch) -> None:
    """An idle PCPU takes nothing from the others' queues."""
    patch.setattr(Node, "steal", lambda self, pcpu, now: None)


def announce_one_late(patch: pytest.MonkeyPatch) -> None:
    """Coalescing counts one packet too many."""
    original = Ring.nth
    patch.setattr(Ring, "nth", lambda self, count: original(self, count + 1))


def forget_the_rate(patch: pytest.MonkeyPatch) -> None:
    """Rate-based coalescing interrupts for every packet at any rate."""
    patch.setattr(CoalescingDepth, "count", lambda self, packets, at: None)


def streams_in_order_of_asking(patch: pytest.MonkeyPatch) -> None:
    """A component's stream depends on the number of earlier requests instead of its scope."""
    original = Streams.stream
    asked: dict[Streams, int] = {}

    def stream(self, *scope):
        asked[self] = asked.get(self, 0) + 1
        return original(self, asked[self])

    patch.setattr(Streams, "stream", stream)


# --- checks


def laws() -> None:
    """A whole host with work, and one with packets, keep every balance."""
    measure(point("queue.yaml"), Streams(1, 0), 20 * MS)
    measure(point("stream.yaml"), Streams(1, 0), 50 * MS)


def is_excluded_by_theory(name: str) -> bool:
    """True if an oracle's interval, at quick fidelity, does not contain theory."""
    [oracle] = [oracle for oracle in oracles() if oracle.name == name]
    results = verify([oracle], effort=QUICK, jobs=1)
    return any(not f.interval.low <= f.quantity.theory <= f.interval.high for f in results)


def order_of_equals(system: bool) -> list[str]:
    """Names in order of completion: one runs, and three with equal right arrive meanwhile."""
    host = bare_host(free=True)
    done: list[tuple[int, str]] = []
    worlds = [Labourer(host, name, system=system) for name in "abcd"]
    for number, world in enumerate(worlds):
        world.give_at(number * US, 10 * US)
    host.clock.advance(MS)
    for world in worlds:
        done += [(when, world.name) for when, _ in world.done]
    assert [when for when, _ in sorted(done)] == [10 * US, 20 * US, 30 * US, 40 * US]
    return [name for _, name in sorted(done)]


def first_arrival(further_vms: int) -> int:
    """First instant at which work arrives at a VM, with a number of further VMs that also have work."""
    spec = point("queue.yaml", **{"vms.worker.count": str(1 + further_vms)})
    upcoming = build_host(spec, Streams(1, 0)).vcpus[0].work.upcoming()
    assert upcoming is not None
    return upcoming


# --- each fault is found


@pytest.mark.parametrize("fault", [lose_a_packet, lose_a_taken_packet, charge_twice])
def test_a_law_finds_it(fault: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packets and time are conserved, and the violation is reported with its place."""
    laws()
    fault(monkeypatch)
    with pytest.raises(InvariantError):
        laws()


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (cost_twice, "M/M/1, load 0.5"),
        (most_used_first, "Two classes, non-preemptive"),
        pytest.param(wait_although_a_pcpu_is_idle, "M/M/4, load 0.8", marks=pytest.mark.slow),
        (announce_one_late, "Timer 50 us and depth 4, 100 kpps"),
        pytest.param(forget_the_rate, "Rate-based vNIC coalescing, 400 kpps", marks=pytest.mark.slow),
    ],
)
def test_theory_finds_it(fault: Patch, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No balance is violated; the answer differs."""
    fault(monkeypatch)
    assert is_excluded_by_theory(name)  # that it is not without the fault is shown in test_oracles.py


@pytest.mark.parametrize("system", [True, False])
def test_a_schedule_computed_by_hand_finds_a_wrong_tie_break(system: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equals go in order of arrival; means of theory would not show it."""
    assert order_of_equals(system) == ["a", "b", "c", "d"]
    last_come_first_served(monkeypatch)
    assert order_of_equals(system) == ["a", "d", "c", "b"]


def drawn(*asked_before: tuple[str | int, ...]) -> float:
    """First number of a component's stream after others have requested theirs."""
    streams = Streams(1, 0)
    for scope in asked_before:
        streams.stream(*scope)
    return float(streams.stream("traffic", 0, 0, "lengths").random())


def test_streams_do_not_shift(monkeypatch: pytest.MonkeyPatch) -> None:
    """More VMs leave the first one's arrivals unchanged; streams in order of request would change with every device."""
    assert first_arrival(0) == first_arrival(3)
    assert drawn() == drawn(("vm", 0, 99))
    streams_in_order_of_asking(monkeypatch)
    assert drawn() != drawn(("vm", 0, 99))
