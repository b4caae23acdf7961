"""A trace file holds what was seen: read back packet by packet, and by Perfetto's own trace_processor."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import NamedTuple

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from hostsim.units import MS, NS
from hostsim.views.trace import Timeline, observe, to_perfetto
from tests.trace_processor import TraceProcessor

TITLE = "splitrx: receivers=20; seed 1, replication 0"


@pytest.fixture(scope="module")
def seen() -> Timeline:
    spec = point_at(load("splitrx"), {"receivers": 20, "split": "1"}).spec
    return observe(spec, seed=1, replication=0, begin=2 * MS, end=5 * MS)


class Slice(NamedTuple):
    name: str
    start: int
    end: int


class Read:
    """A trace file, read as a viewer reads it: slices closed by the next end on their track."""

    def __init__(self, content: bytes) -> None:
        self.parents: dict[str, str] = {}
        self.units: dict[str, str] = {}
        self.slices: dict[str, list[Slice]] = defaultdict(list)
        self.values: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self.instants: dict[str, list[tuple[int, str]]] = defaultdict(list)
        paths: dict[int, str] = {}
        opened: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for packet in Trace.FromString(content).packet:
            if packet.HasField("track_descriptor"):
                track = packet.track_descriptor
                above = paths.get(track.parent_uuid)
                path = f"{above}/{track.name}" if above else track.name
                assert path not in self.units, f"two tracks {path}"
                paths[track.uuid] = path
                self.units[path] = track.counter.unit_name if track.HasField("counter") else ""
                continue
            event, now = packet.track_event, packet.timestamp
            path = paths[event.track_uuid]
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                opened[path].append((event.name, now))
            elif event.type == TrackEvent.TYPE_SLICE_END:
                name, start = opened[path].pop()
                self.slices[path].append(Slice(name, start, now))
            elif event.type == TrackEvent.TYPE_COUNTER:
                self.values[path].append((now, event.double_counter_value))
            else:
                self.instants[path].append((now, event.name))
        assert not any(opened.values())


@pytest.fixture(scope="module")
def read(seen: Timeline) -> Read:
    return Read(to_perfetto(seen, TITLE))


def test_slices_of_a_pcpu_last_as_long_as_it_was_busy(seen: Timeline, read: Read) -> None:
    """A nanosecond for each slice is lost by rounding, at most; and slices of a track follow each other."""
    for number, (node, busy) in enumerate(zip(seen.nodes, seen.busy, strict=True)):
        slices = read.slices[f"PCPUs/pcpu{number} (node {node})"]
        assert abs(sum(s.end - s.start for s in slices) - busy / NS) <= max(len(slices), 1)
        assert all(one.end <= other.start for one, other in itertools.pairwise(slices))
    assert sum(seen.busy) > 0


def test_worlds_say_where_they_ran_and_when_they_waited(seen: Timeline, read: Read) -> None:
    """The stays on PCPUs, told once more by world; each world has its track, in the host's order."""
    assert [path.removeprefix("worlds/") for path in read.units if path.startswith("worlds/")] == [
        line.name for line in seen.worlds
    ]
    on_pcpus = {
        (s.name, path.split()[0].removeprefix("PCPUs/"), s.start, s.end)
        for path, slices in read.slices.items()
        if path.startswith("PCPUs/")
        for s in slices
    }
    on_worlds = {
        (path.removeprefix("worlds/"), s.name, s.start, s.end)
        for path, slices in read.slices.items()
        if path.startswith("worlds/")
        for s in slices
        if s.name.startswith("pcpu")
    }
    assert on_worlds == on_pcpus
    waits = [s for path in read.slices if path.startswith("worlds/") for s in read.slices[path] if s.name == "ready"]
    assert waits


def test_counters_and_interrupts_stand_under_their_parts(seen: Timeline, read: Read) -> None:
    """With units; every value and every instant is there."""
    assert read.units["vNICs/receiver[0].eth0/held back"] == "us"
    assert read.units["NICs/vmnic0-rx0/receive ring"] == "frames"
    for track in seen.tracks:
        path = f"{track.group}/{track.owner}/{track.name}"
        assert read.values[path] == [(now // NS, value) for now, value in track.points]
    for marks in seen.marks:
        path = f"{marks.group}/{marks.owner}/{marks.name}"
        assert read.instants[path] == [(now // NS, name) for now, name in marks.points]
    assert max(value for _, value in read.values["vNICs/receiver[0].eth0/receive ring"]) > 0
    assert read.instants["NICs/vmnic0-rx0/interrupts"]


def test_the_window_itself_is_a_slice_that_says_what_was_run(read: Read) -> None:
    """Who finds the file later knows what it is."""
    assert read.slices["splitrx"] == [Slice(TITLE, 2_000_000, 5_000_000)]


def test_trace_processor_finds_the_same_sums(seen: Timeline) -> None:
    """By SQL, as users ask."""
    processor = TraceProcessor(to_perfetto(seen, TITLE))
    assert processor.query("select name, value from stats where severity != 'info' and value > 0") == []
    found = {
        row.name: (row.n, row.ns)
        for row in processor.query(
            "select track.name, count(*) as n, sum(dur) as ns from slice join track on slice.track_id = track.id group by 1"
        )
    }
    for number, (node, busy) in enumerate(zip(seen.nodes, seen.busy, strict=True)):
        slices, ns = found.get(f"pcpu{number} (node {node})", (0, 0))
        assert abs(ns - busy / NS) <= max(slices, 1)
