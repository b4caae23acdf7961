"""Perfetto trace (protobuf) of a timeline, for ui.perfetto.dev and ``trace_processor``.

A trace counts nanoseconds. Instants are rounded down, so that adjacent slices stay adjacent, and each length is exact to a nanosecond.
"""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from typing import Any

from hostsim.units import NS
from hostsim.views.trace.recorder import Timeline, WorldLine

__all__ = ["to_perfetto"]

_GROUPS = ("host", "NICs", "vNICs")
"""Groups of counters and events, in the order in which they are shown, below PCPUs and worlds."""


def to_perfetto(timeline: Timeline, title: str) -> bytes:
    """Returns the content of the Perfetto trace file of a timeline.

    Tracks: one for each PCPU, with a slice for each stay of a world; one for each world, with a slice where it ran (named by the
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
    for number, (node, stays) in enumerate(zip(timeline.nodes, timeline.stays(), strict=True)):
        track = writer.track(f"pcpu{number} (node {node})", group)
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
        """Adds a track below those before, and returns its number; with a unit, even an empty one, it is a counter."""
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
        """Adds a slice to a track; slices of a track come in order and do not overlap."""
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
