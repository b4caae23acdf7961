"""Timeline of a host during a window of a run: recorder and Perfetto file.

The unit of a trace is the nanosecond. Instants are rounded down, so adjacent slices remain adjacent and each length is
exact to a nanosecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, NamedTuple

from hostsim.campaign.deferred_sigint import deferred_sigint
from hostsim.config.host import PointSpec
from hostsim.engine.probe import Level
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.cpu.pcpu import World, WorldState
from hostsim.model.host import Host
from hostsim.model.receive.context import Port
from hostsim.model.receive.nic import RxQueue
from hostsim.model.receive.vnic import Vnic
from hostsim.model.transmit.networld import TxQueue
from hostsim.units import NS, US

__all__ = ["Marks", "Span", "Timeline", "Track", "WorldLine", "observe", "to_perfetto", "watch"]


class Span(NamedTuple):
    """Span of time that a world spent in one scheduling state."""

    state: WorldState
    """Running, ready or co-stopped."""
    pcpu: int
    """Index of the PCPU on which the world runs, or ran last."""
    start: int
    end: int


@dataclass(frozen=True)
class WorldLine:
    """Scheduling spans of a world, without sleep."""

    name: str
    kind: str
    spans: list[Span] = field(default_factory=list)


@dataclass(frozen=True)
class Track:
    """Counter track: values over time, recorded at each change."""

    group: str
    """Group of its owner: ``NICs``, ``vNICs`` or ``host``."""
    owner: str
    name: str
    unit: str
    points: list[tuple[int, float]] = field(default_factory=list)
    """Instants, each with the value from then on."""

    def note(self, now: int, value: float) -> None:
        """Records the current value if it has changed."""
        if not self.points or self.points[-1][1] != value:
            self.points.append((now, value))


@dataclass(frozen=True)
class Marks:
    """Instant events of a component: interrupts, wake-ups."""

    group: str
    owner: str
    name: str
    points: list[tuple[int, str]] = field(default_factory=list)
    """Instants, each with its event."""


@dataclass(frozen=True)
class Timeline:
    """Timeline of a host between two instants: spans of its worlds, counter tracks and events."""

    begin: int
    end: int
    nodes: tuple[int, ...]
    """NUMA node of every PCPU."""
    busy: tuple[int, ...]
    """Busy time of every PCPU, from the counter used by metrics."""
    worlds: tuple[WorldLine, ...]
    tracks: tuple[Track, ...]
    marks: tuple[Marks, ...]

    def stays(self) -> list[list[tuple[WorldLine, Span]]]:
        """Returns the worlds on every PCPU with their spans, in order."""
        by_pcpu: list[list[tuple[WorldLine, Span]]] = [[] for _ in self.nodes]
        for line in self.worlds:
            for span in line.spans:
                if span.state is WorldState.RUNNING:
                    by_pcpu[span.pcpu].append((line, span))
        for stays in by_pcpu:
            stays.sort(key=lambda stay: (stay[1].start, stay[1].end))
        return by_pcpu


_Level = tuple[Track, Callable[[int], int]]
"""A track, and the function that reads its value at an instant."""

SAMPLES = 1000
"""Number of instants of a window at which queue lengths and states are read."""
WAKES = ("called", "woken by another context", "woken by the halt", "woken by the timer")
"""Causes of a wake-up of a transmit context, in the order of `TxQueue.wakes`."""


@deferred_sigint()
def observe(spec: PointSpec, *, seed: int, replication: int, begin: int, end: int) -> Timeline:
    """Runs a point up to the end of a window, and records the timeline of the window.

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


@deferred_sigint()
def watch(host: Host, begin: int, end: int) -> Timeline:
    """Runs a host up to the end of a future window, and records the timeline of the window."""
    clock, pcpus = host.clock, host.scheduler.pcpus
    clock.advance(begin)
    before = [pcpu.busy(begin) for pcpu in pcpus]
    worlds = [_World(world, begin) for world in host.worlds()]
    held = [_Interrupts(port.vnic) for port in _switch_ports(host)]
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
        clock.advance(now + 1)
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
    """Recorder of the states of a world."""

    def __init__(self, world: World, now: int) -> None:
        self._world = world
        self.line = WorldLine(world.name, world.kind)
        self._enter(now)

    def _enter(self, now: int) -> None:
        world = self._world
        self._state, self._dispatches, self._pcpu, self._since = world.state, world.dispatches, world.last.index, now
        if self._state is WorldState.RUNNING:  # the PCPU first leaves its C-state, which is not busy time
            self._since = max(now, world.last.awake)

    def look(self, now: int) -> None:
        world = self._world
        if world.state is not self._state or world.dispatches != self._dispatches:
            self.leave(now)
            self._enter(now)

    def leave(self, now: int) -> None:
        """Records the state that has just ended."""
        if self._state is not WorldState.SLEEPING:
            self.line.spans.append(Span(self._state, self._pcpu, self._since, now))


class _Interrupts:
    """Recorder of the interrupts of a vNIC, and of the coalescing delay of each."""

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
    """Recorder of counted events."""

    def __init__(self, marks: Marks, names: Sequence[str], read: Callable[[], tuple[int, ...]]) -> None:
        self.marks, self._names, self._read = marks, names, read
        self._counts = read()

    def look(self, now: int) -> None:
        counts = self._read()
        if counts != self._counts:
            for name, before, after in zip(self._names, self._counts, counts, strict=True):
                self.marks.points.extend([(now, name)] * (after - before))
            self._counts = counts


def _counted(host: Host) -> list[_Counted]:
    """Recorders of interrupts of physical NICs, and of wake-ups of transmit contexts by their cause."""

    def interrupts(queue: RxQueue) -> _Counted:
        return _Counted(Marks("NICs", queue.name, "interrupts"), ("interrupt",), lambda: (queue.interrupts,))

    def wakes(queue: TxQueue) -> _Counted:
        return _Counted(Marks("vNICs", queue.name, "transmit context"), WAKES, lambda: tuple(queue.wakes))

    return [*map(interrupts, host.queues), *map(wakes, host.transmits)]


def _switch_ports(host: Host) -> list[Port]:
    """Receive queues of devices on a virtual switch; other queues are under their NICs."""
    return [port for vm in host.vms for device in vm.devices if device.switch for port in device.ports]


def _levels(host: Host) -> list[_Level]:
    """Tracks of queue lengths, and of the states of dense mode and NUMA I/O."""
    levels = [_value("host", f"node{node.index}", "worlds waiting", node.waiting) for node in host.scheduler.nodes]
    levels.append(_value("host", "tuning", "dense mode", host.dense_mode.state))
    levels.append(_value("host", "tuning", "NUMA I/O", host.numa_io.state))
    owned = {queue.name for vm in host.vms for device in vm.devices for queue in device.rings}
    # A guest's driver polls the rings that it owns. They are read up to its last poll: its packets reach the wire at the
    # end of its burst, so replies may precede frames that the recorder would take off the wire. Settling others for
    # their tracks changes no result.
    for queue in host.queues:
        waiting = queue.ring.waiting if queue.name in owned else queue.waiting
        levels.append((Track("NICs", queue.name, "receive ring", "frames"), waiting))
    # These rings are not settled, since senders would see drops before the consumer does.
    for port in _switch_ports(host):
        name = port.vnic.name
        if port.split is not None:
            levels.append((Track("vNICs", name, "port queue", "packets"), port.split.ring.waiting))
        levels.append((Track("vNICs", name, "receive ring", "packets"), port.vnic.ring.waiting))
    levels += [(Track("vNICs", tx.name, "transmit ring", "packets"), tx.ring.waiting) for tx in host.transmits]
    return levels


def _value(group: str, owner: str, name: str, level: Level) -> _Level:
    return Track(group, owner, name, ""), lambda _: level.value


_GROUPS = ("host", "NICs", "vNICs")
"""Groups of counters and events in display order, below PCPUs and worlds."""


def to_perfetto(timeline: Timeline, title: str) -> bytes:
    """Returns the content of the Perfetto trace file of a timeline.

    Tracks: one for each PCPU, with a slice for each interval in which a world runs; one for each world, with a slice
        where it ran (named by the
    PCPU) or waited (``ready``, ``co-stop``); counters of rings and coalescing, and interrupts, under the NICs and vNICs that they
    belong to.

    Args:
        timeline: the recorded window of a run.
        title: name of the run, and of a slice as long as the window.
    """
    writer = _Writer()
    run = writer.track(title.partition(":")[0])
    writer.slice(run, title, "run", timeline.begin, timeline.end)
    _write_pcpus(writer, timeline)
    _write_worlds(writer, timeline.worlds)
    for group in _GROUPS:
        _write_parts(writer, group, timeline)
    return writer.content()


def _write_pcpus(writer: _Writer, timeline: Timeline) -> None:
    group = writer.track("PCPUs")
    for pcpu, (node, stays) in enumerate(zip(timeline.nodes, timeline.stays(), strict=True)):
        track = writer.track(f"pcpu{pcpu} (node {node})", group)
        for line, span in stays:
            writer.slice(track, line.name, line.kind, span.start, span.end)


def _write_worlds(writer: _Writer, worlds: Iterable[WorldLine]) -> None:
    group = writer.track("worlds")
    for line in worlds:
        track = writer.track(line.name, group)
        for span in line.spans:
            name = {"running": f"pcpu{span.pcpu}", "ready": "ready", "costopped": "co-stop", "limited": "limited"}[
                span.state.value
            ]
            writer.slice(track, name, line.kind, span.start, span.end)


def _write_parts(writer: _Writer, name: str, timeline: Timeline) -> None:
    tracks = [track for track in timeline.tracks if track.group == name]
    marks = [entry for entry in timeline.marks if entry.group == name]
    group = writer.track(name)
    owners = [*(track.owner for track in tracks), *(entry.owner for entry in marks)]
    for owner in dict.fromkeys(owners):
        parent = writer.track(owner, group)
        for track in (track for track in tracks if track.owner == owner):
            writer.counter(writer.track(track.name, parent, unit=track.unit), track.points)
        for entry in (entry for entry in marks if entry.owner == owner):
            writer.instants(writer.track(entry.name, parent), entry.points)


class _Writer:
    """Writer of the packets of a Perfetto trace."""

    def __init__(self) -> None:
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackDescriptor, TrackEvent
        from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

        self._file = BytesIO()
        self._builder = StreamingTraceProtoBuilder(self._file)
        self._event, self._descriptor = TrackEvent, TrackDescriptor
        self._tracks = 0

    def content(self) -> bytes:
        """Returns the packets written so far."""
        return self._file.getvalue()

    def track(self, name: str, parent: int | None = None, *, unit: str | None = None) -> int:
        """Adds a track below the others, and returns its number; with a unit, even an empty one, it is a counter track."""
        self._tracks += 1
        packet = self._builder.create_packet()
        descriptor = packet.track_descriptor
        descriptor.uuid = self._tracks
        descriptor.name = name
        descriptor.child_ordering = self._descriptor.ChildTracksOrdering.EXPLICIT
        descriptor.sibling_order_rank = self._tracks
        if parent is not None:
            descriptor.parent_uuid = parent
        if unit is not None:
            descriptor.counter.unit_name = unit
        self._builder.write_packet(packet)
        return self._tracks

    def slice(self, track: int, name: str, category: str, start: int, end: int) -> None:
        """Adds a slice to a track; slices of a track are in order and do not overlap."""
        event = self._at(start, track, self._event.TYPE_SLICE_BEGIN)
        event.track_event.name = name
        event.track_event.categories.append(category)
        self._builder.write_packet(event)
        self._builder.write_packet(self._at(end, track, self._event.TYPE_SLICE_END))

    def counter(self, track: int, points: Iterable[tuple[int, float]]) -> None:
        """Adds the values of a counter track."""
        for now, value in points:
            event = self._at(now, track, self._event.TYPE_COUNTER)
            event.track_event.double_counter_value = value
            self._builder.write_packet(event)

    def instants(self, track: int, points: Iterable[tuple[int, str]]) -> None:
        """Adds instant events to a track."""
        for now, name in points:
            event = self._at(now, track, self._event.TYPE_INSTANT)
            event.track_event.name = name
            self._builder.write_packet(event)

    def _at(self, now: int, track: int, kind: int) -> Any:
        packet = self._builder.create_packet()
        packet.timestamp = now // NS
        packet.trusted_packet_sequence_id = 1
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        return packet
