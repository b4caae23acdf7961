"""Timeline of a host during a window of a run: scheduling of worlds, queue lengths, interrupts.

Instants are picoseconds since the start of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from hostsim.model.cpu.world import WorldState

__all__ = ["Marks", "Span", "Timeline", "Track", "WorldLine"]


class Span(NamedTuple):
    """Span of time that a world spent in one scheduling state."""

    state: WorldState
    """Running, ready or co-stopped."""
    pcpu: int
    """Index of the PCPU that it runs on, or ran on last."""
    start: int
    end: int


@dataclass(frozen=True)
class WorldLine:
    """Scheduling spans of a world; there is none while it slept."""

    name: str
    kind: str
    spans: list[Span] = field(default_factory=list)


@dataclass(frozen=True)
class Track:
    """Counter track: values over time, recorded where they change."""

    group: str
    """Group of its owner: ``NICs``, ``vNICs`` or ``host``."""
    owner: str
    name: str
    unit: str
    points: list[tuple[int, float]] = field(default_factory=list)
    """Instants, and the value from then on."""

    def note(self, now: int, value: float) -> None:
        """Records the value from now on, if it has changed."""
        if not self.points or self.points[-1][1] != value:
            self.points.append((now, value))


@dataclass(frozen=True)
class Marks:
    """Instant events of a component: interrupts, wake-ups."""

    group: str
    owner: str
    name: str
    points: list[tuple[int, str]] = field(default_factory=list)
    """Instants, and the event at each."""


@dataclass(frozen=True)
class Timeline:
    """Timeline of a host between two instants: spans of its worlds, counter tracks and events."""

    begin: int
    end: int
    nodes: tuple[int, ...]
    """NUMA node of every PCPU."""
    busy: tuple[int, ...]
    """Busy time of every PCPU, from the counter that metrics use."""
    worlds: tuple[WorldLine, ...]
    tracks: tuple[Track, ...]
    marks: tuple[Marks, ...]

    def stays(self) -> list[list[tuple[WorldLine, Span]]]:
        """Returns for every PCPU the worlds that ran on it with their spans, in order."""
        found: list[list[tuple[WorldLine, Span]]] = [[] for _ in self.nodes]
        for line in self.worlds:
            for span in line.spans:
                if span.state is WorldState.RUNNING:
                    found[span.pcpu].append((line, span))
        for stays in found:
            stays.sort(key=lambda stay: (stay[1].start, stay[1].end))
        return found
