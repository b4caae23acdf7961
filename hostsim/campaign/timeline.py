"""What can be seen of a host during a window of a run: who ran where, what waited, who was interrupted.

Instants are picoseconds since the start of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from hostsim.model.cpu.world import WorldState

__all__ = ["Marks", "Span", "Timeline", "Track", "WorldLine"]


class Span(NamedTuple):
    """Time that a world spent in one state."""

    state: WorldState
    """Running, ready or co-stopped."""
    pcpu: int
    """Index of the PCPU that it runs on, or ran on last."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class WorldLine:
    """A world and what it did; while it slept there is nothing."""

    name: str
    kind: str
    spans: list[Span] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Track:
    """A number over time, noted where it changes."""

    group: str
    """What its owner is one of: ``NICs``, ``vNICs``, ``host``."""
    owner: str
    name: str
    unit: str
    points: list[tuple[int, float]] = field(default_factory=list)
    """Instants, and the value from then on."""

    def note(self, now: int, value: float) -> None:
        """The value is this from now on."""
        if not self.points or self.points[-1][1] != value:
            self.points.append((now, value))


@dataclass(frozen=True, slots=True)
class Marks:
    """What happens to a part at an instant: interrupts, wake-ups."""

    group: str
    owner: str
    name: str
    points: list[tuple[int, str]] = field(default_factory=list)
    """Instants, and what happened."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """What was seen of a host between two instants."""

    begin: int
    end: int
    nodes: tuple[int, ...]
    """NUMA node of every PCPU."""
    busy: tuple[int, ...]
    """Time that every PCPU was busy, by the counter that the measures are made of."""
    worlds: tuple[WorldLine, ...]
    tracks: tuple[Track, ...]
    marks: tuple[Marks, ...]

    def stays(self) -> list[list[tuple[WorldLine, Span]]]:
        """For every PCPU who had it, in order."""
        found: list[list[tuple[WorldLine, Span]]] = [[] for _ in self.nodes]
        for line in self.worlds:
            for span in line.spans:
                if span.state is WorldState.RUNNING:
                    found[span.pcpu].append((line, span))
        for stays in found:
            stays.sort(key=lambda stay: (stay[1].start, stay[1].end))
        return found
