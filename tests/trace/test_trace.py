"""A traced run is the same run, and its trace file has the recorded state."""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import yaml
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from hostsim.config.host import PointSpec
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.cpu.pcpu import WorldState
from hostsim.model.host import Host
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from hostsim.units import MS, NS
from hostsim.views.trace import Timeline, Track, observe, to_perfetto, watch
from tests.trace_processor import TraceProcessor
from tests.writable_copy import copy_tree

BASELINE = Path(__file__).parents[1] / "baseline"
SMALL = sorted(file.stem for file in BASELINE.glob("*.yaml"))
SHIPPED = {
    "40gbe-single": {},
    "splitrx": {"receivers": 4, "split": "1"},
    "small-udp": {},
    "latency": {},
}
"""Closed loop with losses, split contexts, firmware and a bridge, round trips."""
LENGTH = 8 * MS


def spec_of(name: str, folder: Path) -> PointSpec:
    """A small host of the fingerprints, or a point of a shipped scenario."""
    if name in SHIPPED:
        return point_at(load(name), SHIPPED[name]).spec
    copy_tree(BASELINE / "hardware", folder / "hardware")
    file = folder / "host.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load((BASELINE / f"{name}.yaml").read_text())["host"], sort_keys=False))
    return point_at(load(file), {}).spec


def started(spec: PointSpec) -> Host:
    host = build_host(spec, Streams(1, 0))
    host.probe.start()
    return host


@pytest.mark.parametrize("name", [*SMALL, *SHIPPED])
def test_what_is_seen_adds_up_and_changes_nothing(name: str, tmp_path: Path) -> None:
    """Per PCPU and per world, to the picosecond; counters and histograms are those of a run without a trace."""
    spec = spec_of(name, tmp_path)
    plain, watched = started(spec), started(spec)
    plain.clock.advance(LENGTH)
    seen = watch(watched, 0, LENGTH)

    stays = seen.stays()
    busy = [pcpu.busy(LENGTH) for pcpu in plain.scheduler.pcpus]
    assert [sum(span.end - span.start for _, span in pcpu) for pcpu in stays] == busy == list(seen.busy)
    assert sum(busy) > 0
    for pcpu in stays:
        assert all(one.end <= other.start for (_, one), (_, other) in itertools.pairwise(pcpu))

    for host in (plain, watched):
        host.probe.sample()
    counted = {line.name: line for line in seen.worlds}
    _, series, histograms = plain.probe.collect()
    for kind in {line.kind for line in seen.worlds}:
        for counter, state in (
            ("used_ps", WorldState.RUNNING),
            ("ready_ps", WorldState.READY),
            ("costop_ps", WorldState.COSTOPPED),
        ):
            names, values = series[f"{kind}.{counter}"].entities, series[f"{kind}.{counter}"].values[-1]
            found = [sum(s.end - s.start for s in counted[entity].spans if s.state is state) for entity in names]
            assert found == values.tolist(), f"{kind}.{counter}"

    # an observation may save an event that would only find that a frame comes later
    assert plain.clock.scheduled() * 0.98 < watched.clock.scheduled() <= plain.clock.scheduled()
    _, again, latencies = watched.probe.collect()
    for counter, expected in series.items():
        np.testing.assert_array_equal(again[counter].values, expected.values, counter)
    for latency, histogram in histograms.items():
        np.testing.assert_array_equal(latencies[latency].counts, histogram.counts, latency)


def test_a_window_shows_what_the_whole_run_shows_there(tmp_path: Path) -> None:
    """Stays that extend over its ends are cut there."""
    spec = spec_of("mixed", tmp_path)
    begin, end = 3 * MS, 6 * MS
    whole = observe(spec, seed=1, replication=0, begin=0, end=LENGTH)
    window = observe(spec, seed=1, replication=0, begin=begin, end=end)
    for line, part in zip(whole.worlds, window.worlds, strict=True):
        cut = [s._replace(start=max(s.start, begin), end=min(s.end, end)) for s in line.spans]
        assert [s for s in part.spans if s.start < s.end] == [s for s in cut if s.start < s.end]
    for entry, part in zip(whole.marks, window.marks, strict=True):
        assert part.points == [(now, what) for now, what in entry.points if begin <= now < end]


def test_another_replication_is_another_run(tmp_path: Path) -> None:
    """Seed and replication choose the random numbers."""
    spec = spec_of("mixed", tmp_path)
    runs = [
        observe(spec, seed=seed, replication=replication, begin=0, end=LENGTH)
        for seed, replication in ((1, 0), (1, 0), (1, 1), (2, 0))
    ]
    assert runs[0] == runs[1]
    assert all(runs[0].worlds != other.worlds for other in runs[2:])


def tracks(seen: Timeline, name: str) -> list[Track]:
    return [track for track in seen.tracks if track.name == name]


def test_marks_and_rings_are_those_of_the_counters(tmp_path: Path) -> None:
    """The trace has as many interrupts and wake-ups as the host counts; rings are within their size, and used."""
    spec = spec_of("40gbe-single", tmp_path)
    host = started(spec)
    seen = watch(host, 0, LENGTH)
    happened = {(marks.owner, marks.name): marks.points for marks in seen.marks}
    assert {queue.name: len(happened[queue.name, "interrupts"]) for queue in host.queues} == {
        queue.name: queue.interrupts for queue in host.queues
    }
    wakes = {queue.name: len(happened[queue.name, "transmit context"]) for queue in host.transmits}
    assert wakes == {queue.name: sum(queue.wakes) for queue in host.transmits}
    assert sum(wakes.values()) > 0
    vnics = [port.vnic for port in host.ports]
    assert all(happened[vnic.name, "interrupts"][-1][0] == vnic.raised for vnic in vnics if vnic.raised)
    assert all(0 <= value <= 4096 for track in tracks(seen, "receive ring") for _, value in track.points)
    assert max(value for track in tracks(seen, "transmit ring") for _, value in track.points) > 0


def test_coalescing_holds_interrupts_back_as_long_as_its_rate_says() -> None:
    """20,000 packets per second against 1,000 interrupts: most are delayed, none longer than the rate's timeout."""
    sweep = load("first-sweep")
    seen, fast = (watch(started(point_at(sweep, {"interrupts": n}).spec), 10 * MS, 50 * MS) for n in (1000, 16000))
    held, held_fast = ([v for track in tracks(s, "held back") for _, v in track.points] for s in (seen, fast))
    assert 4000 >= max(held) > 500
    assert np.mean(held) > 4 * np.mean(held_fast)
    interrupts = sum(len(marks.points) for marks in seen.marks if marks.group == "vNICs" and marks.name == "interrupts")
    assert interrupts <= 4 * 45  # four vNICs at 1,000 per second


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
    """A trace file, read as by a viewer: each slice is closed by the next end on its track."""

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
    """Rounding loses at most a nanosecond per slice; and slices of a track follow each other."""
    for number, (node, busy) in enumerate(zip(seen.nodes, seen.busy, strict=True)):
        slices = read.slices[f"PCPUs/pcpu{number} (node {node})"]
        assert abs(sum(s.end - s.start for s in slices) - busy / NS) <= max(len(slices), 1)
        assert all(one.end <= other.start for one, other in itertools.pairwise(slices))
    assert sum(seen.busy) > 0


def test_worlds_say_where_they_ran_and_when_they_waited(seen: Timeline, read: Read) -> None:
    """The stays on PCPUs, again by world; each world has its track, in the host's order."""
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
    """They have units; every value and every instant is there."""
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
    """The file describes its run."""
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
