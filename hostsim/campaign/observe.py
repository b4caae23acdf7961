"""Watching a run: the host is built and run as `hostsim.campaign.simulate` does it, and only looked at.

It is looked at after every instant at which something happened, and at regular ones for what fills and empties in between. The
model knows nothing of it: a run that nobody watches pays nothing, and one that is watched does what it would have done anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hostsim.campaign.hold import advance, hold
from hostsim.campaign.timeline import Marks, Span, Timeline, Track, WorldLine
from hostsim.engine.probe import Level
from hostsim.engine.ring import Ring
from hostsim.engine.streams import Streams
from hostsim.model.cpu.world import World, WorldState
from hostsim.model.host import Host, build_host
from hostsim.model.net.networld import TxQueue
from hostsim.model.net.pnic import RxQueue
from hostsim.model.net.vnic import Vnic
from hostsim.spec.host import PointSpec
from hostsim.units import US

__all__ = ["observe", "watch"]

_Level = tuple[Track, Callable[[int], int]]
"""A number over time, and how it is read."""

SAMPLES = 1000
"""Instants of a window at which rings and levels are read."""
WAKES = ("called", "woken by another context", "woken by the halt", "woken by the timer")
"""Why a transmit context runs, in the order of `TxQueue.wakes`."""


@hold()
def observe(spec: PointSpec, *, seed: int, replication: int, begin: int, end: int) -> Timeline:
    """Run a point up to the end of a window, and watch it from the window's beginning on.

    Args:
        spec: the resolved point.
        seed: root seed.
        replication: number of the replication, from 0.
        begin: start of the window, in picoseconds.
        end: end of the window.

    Raises:
        WiringError: the host cannot be built.
        KeyboardInterrupt: Ctrl-C.
    """
    host = build_host(spec, Streams(seed, replication))
    host.probe.start()
    return watch(host, begin, end)


@hold()
def watch(host: Host, begin: int, end: int) -> Timeline:
    """Let a host run up to the end of a window that lies ahead, and watch it from the window's beginning on."""
    clock, pcpus = host.clock, host.scheduler.pcpus
    advance(clock, begin)
    before = [pcpu.busy(begin) for pcpu in pcpus]
    worlds = [_World(world, begin) for world in host.worlds()]
    held = [_Interrupts(port.vnic) for vm in host.vms for vnic in vm.vnics for port in vnic.ports]
    counted = _counted(host)
    levels = _levels(host)
    watched: tuple[_World | _Interrupts | _Counted, ...] = (*worlds, *held, *counted)
    step = max(1, (end - begin) // SAMPLES)
    sample = begin
    while True:
        due = min(clock.peek(), end)
        while sample <= due and sample < end:
            clock.advance(sample)
            for track, read in levels:
                track.note(sample, read(sample))
            sample += step
        if due >= end:
            break
        now = int(due)
        advance(clock, now + 1)
        for entry in watched:
            entry.look(now)
    clock.advance(end)
    for world in worlds:
        world.leave(end)
    return Timeline(
        begin,
        end,
        nodes=tuple(pcpu.node.index for pcpu in pcpus),
        busy=tuple(pcpu.busy(end) - already for pcpu, already in zip(pcpus, before, strict=True)),
        worlds=tuple(world.line for world in worlds),
        tracks=(*(track for track, _ in levels), *(entry.held for entry in held)),
        marks=(*(entry.marks for entry in held), *(entry.marks for entry in counted)),
    )


class _World:
    """A world's states."""

    __slots__ = ("_dispatches", "_pcpu", "_since", "_state", "_world", "line")

    def __init__(self, world: World, now: int) -> None:
        self._world = world
        self.line = WorldLine(world.name, world.kind)
        self._enter(now)

    def _enter(self, now: int) -> None:
        world = self._world
        self._state, self._dispatches, self._pcpu, self._since = world.state, world.dispatches, world.last.index, now

    def look(self, now: int) -> None:
        world = self._world
        if world.state is not self._state or world.dispatches != self._dispatches:
            self.leave(now)
            self._enter(now)

    def leave(self, now: int) -> None:
        """The state ends now."""
        if self._state is not WorldState.SLEEPING:
            self.line.spans.append(Span(self._state, self._pcpu, self._since, now))


class _Interrupts:
    """The interrupts of a vNIC's queue, and for how long its first packet had waited for each."""

    __slots__ = ("_first", "_raised", "_vnic", "held", "marks")

    def __init__(self, vnic: Vnic) -> None:
        self._vnic = vnic
        self._raised, self._first = vnic.raised, vnic.ring.first()
        self.held = Track("vNICs", vnic.name, "held back", "us")
        self.marks = Marks("vNICs", vnic.name, "interrupts")

    def look(self, now: int) -> None:
        vnic = self._vnic
        if vnic.raised != self._raised:
            self._raised = vnic.raised
            first = self._first if self._first is not None else now
            self.held.points.append((now, max(now - first, 0) / US))
            self.marks.points.append((now, "interrupt"))
        self._first = vnic.ring.first()


class _Counted:
    """Something whose counters say by growing that it has happened."""

    __slots__ = ("_names", "_read", "_seen", "marks")

    def __init__(self, marks: Marks, names: Sequence[str], read: Callable[[], tuple[int, ...]]) -> None:
        self.marks, self._names, self._read = marks, names, read
        self._seen = read()

    def look(self, now: int) -> None:
        found = self._read()
        if found != self._seen:
            for name, before, after in zip(self._names, self._seen, found, strict=True):
                self.marks.points.extend([(now, name)] * (after - before))
            self._seen = found


def _counted(host: Host) -> list[_Counted]:
    """Interrupts of physical NICs, and wake-ups of transmit contexts by their cause."""

    def interrupts(queue: RxQueue) -> _Counted:
        return _Counted(Marks("NICs", queue.name, "interrupts"), ("interrupt",), lambda: (queue.interrupts,))

    def wakes(queue: TxQueue) -> _Counted:
        return _Counted(Marks("vNICs", queue.name, "transmit context"), WAKES, lambda: tuple(queue.wakes))

    return [*map(interrupts, host.queues), *map(wakes, host.transmits)]


def _levels(host: Host) -> list[_Level]:
    """What waits, and what is in force."""
    levels = [_value("host", f"node{node.index}", "worlds waiting", node.waiting) for node in host.scheduler.nodes]
    levels.append(_value("host", "tuning", "dense mode", host.tuning.state))
    levels.append(_value("host", "tuning", "NUMA I/O", host.numa_io.state))
    levels += [_settled(queue) for queue in host.queues]
    for port in (port for vm in host.vms for vnic in vm.vnics for port in vnic.ports):
        name = port.vnic.name
        if port.split is not None:
            levels.append(_waiting(Track("vNICs", name, "port queue", "packets"), port.split.ring))
        levels.append(_waiting(Track("vNICs", name, "receive ring", "packets"), port.vnic.ring))
    levels += [_waiting(Track("vNICs", queue.name, "transmit ring", "packets"), queue.ring) for queue in host.transmits]
    return levels


def _value(group: str, owner: str, name: str, level: Level) -> _Level:
    return Track(group, owner, name, ""), lambda _: level.value


def _settled(queue: RxQueue) -> _Level:
    """Frames in a ring of a NIC; it is settled, which changes nothing for anybody."""

    def read(now: int) -> int:
        queue.settle(now)
        return queue.ring.held

    return Track("NICs", queue.name, "receive ring", "frames"), read


def _waiting(track: Track, ring: Ring) -> _Level:
    """Packets in a ring that is not settled: senders would learn of drops before its consumer looks."""

    def read(now: int) -> int:
        here = ring.count_inside() - sum(count for _, count in ring.coming(now))
        return min(here, ring.capacity)

    return track, read
