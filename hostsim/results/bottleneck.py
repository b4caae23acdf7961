"""Bottleneck of a run: the busy wire, context or node that limits the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hostsim.record import RunRecord

__all__ = ["FULL", "Bottleneck", "bottleneck"]

FULL = 95.0
"""Percent of its time from which on something counts as full."""
_KINDS = ("netpoll", "splitrx", "networld", "vcpu")


@dataclass(frozen=True)
class Bottleneck:
    """Bottleneck of a run, and its busiest context."""

    resource: Literal["wire", "context", "node", "none"]
    """``wire``: one direction of a NIC's wire is busy; ``context``: a world has a PCPU to itself and needs all of it; ``node``: all
    PCPUs of a node are busy; ``none``: nothing of these is full."""
    name: str
    """What is full: ``vmnic0 receive``, the world, ``node0``; empty where nothing is."""
    share: float
    """Percent of the window it was busy; 0 where nothing is full."""
    context: str
    """The world that was charged most, whether or not it binds; empty where there are none."""
    used: float
    """What it was charged, in percent of a PCPU."""

    def __str__(self) -> str:
        return f"{self.resource} {self.name}".rstrip()


def bottleneck(record: RunRecord) -> Bottleneck:
    """Find the bottleneck of a run by its counters: the resource busy for at least 95 % of the measured window.

    Of several the fullest counts, and of equally full ones a wire before a context and a context before a node. A limit that keeps
    nothing busy (a window, a rate) is none.

    Args:
        record: a finished run.
    """
    wires = [
        (share, f"{name} {way}")
        for way, counter in (("receive", "nic.rx_wire_ps"), ("transmit", "nic.tx_wire_ps"))
        for share, name in _shares(record, counter)
    ]
    worlds = [entry for kind in _KINDS for entry in _shares(record, f"{kind}.used_ps")]
    candidates: list[tuple[float, str, Literal["wire", "context", "node"]]] = [
        *((share, name, "wire") for share, name in wires),
        *((share, name, "context") for share, name in worlds),
        *((share, name, "node") for share, name in _nodes(record)),
    ]
    used, context = max(worlds, key=_share, default=(0.0, ""))
    full = [entry for entry in candidates if entry[0] >= FULL]
    if not full:
        return Bottleneck("none", "", 0.0, context, used)
    share, name, resource = max(full, key=lambda entry: entry[0])
    return Bottleneck(resource, name, share, context, used)


def _share(entry: tuple[float, str]) -> float:
    return entry[0]


def _shares(record: RunRecord, counter: str) -> list[tuple[float, str]]:
    """Percent of the window for each entity; nothing where the run has no such counter."""
    if counter not in record.series:
        return []
    shares = 100.0 * record.window(counter) / record.window_ps
    return list(zip(shares.tolist(), record.series[counter].entities, strict=True))


def _nodes(record: RunRecord) -> list[tuple[float, str]]:
    """Mean %UTIL of the PCPUs of each node."""
    if "pcpu.node" not in record.series:
        return []
    homes = record.series["pcpu.node"].values[-1]
    busy = np.bincount(homes, weights=record.window("pcpu.busy_ps"))
    count = np.bincount(homes)
    return [(100.0 * busy[node] / count[node] / record.window_ps, f"node{node}") for node in np.flatnonzero(count)]
