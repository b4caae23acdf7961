"""Fingerprints of runs: a 64-bit hash of all events on a host, and one of the results.

A fingerprint has ingredients, each with its own running hash, so that a changed ingredient shows the kind of change:

=====  =================================================================================================================
``t``  instants of events, in picoseconds
``p``  the part of the host: its kind and position, never a name that a user gave
``k``  kind of event: wake, start, preempt, end, a PCPU's interrupt, a guest's interrupt
``v``  value of the event: length of the stay, time charged so far, state of the world
``r`` random streams: their scopes, and the final state of each
``s``  final scalars: the counters of `SCALARS`, latencies
=====  =================================================================================================================

Everything in ``t``, ``p``, ``k``, ``v`` and ``s`` is an integer. Hooks wrap methods of the model only while a run is
recorded, so other runs have no additional cost.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hostsim.config.host import PointSpec
from hostsim.engine.clock import Clock
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.host import Host
from hostsim.model.receive.context import NetPoll

SCALARS = [
    "pcpu.busy_ps",
    "pcpu.dispatches",
    "pcpu.switches",
    "pcpu.preemptions",
    "node.waiting_ps",
    "vcpu.used_ps",
    "vcpu.ready_ps",
    "netpoll.used_ps",
    "netpoll.ready_ps",
    "splitrx.used_ps",
    "splitrx.ready_ps",
    "networld.used_ps",
    "networld.ready_ps",
    "guest.interrupts",
    "guest.came",
    "guest.socket_dropped",
    "guest.read",
    "queue.arrived",
    "queue.dropped",
    "queue.interrupts",
    "port.copies",
    "port.split_dropped",
    "port.ring_dropped",
    "port.received",
    "tx.posted",
    "tx.dropped",
    "tx.taken",
    "nic.tx_frames",
    "work.come",
    "work.dropped",
    "work.started",
    "flow.sent",
    "flow.delivered",
    "flow.octets",
]
"""Counters in the fingerprint; further counters of the model do not change it."""
INGREDIENTS = "tpkvrs"


class _Hash:
    """A running hash of integers and short texts, 64 bits wide."""

    def __init__(self) -> None:
        self._state = hashlib.blake2b(digest_size=8)

    def add(self, *parts: int | str) -> None:
        self._state.update(repr(parts).encode())

    def __str__(self) -> str:
        text = self._state.hexdigest()
        return f"{text[:8]}-{text[8:]}"


class Recorder:
    """Records the events on one host."""

    def __init__(self) -> None:
        self.hashes = {name: _Hash() for name in (*INGREDIENTS, "tpkv")}
        self.events = 0
        self.generators: list[tuple[tuple[str | int, ...], np.random.Generator]] = []
        self._place: dict[object, str] = {}

    def know(self, host: Host) -> None:
        """Record the position of each part."""
        parts: dict[str, int] = {}
        for pcpu in host.scheduler.pcpus:
            self._place[pcpu] = f"pcpu{pcpu.index}"
        for world in host.worlds():
            number = parts.get(world.kind, 0)
            parts[world.kind] = number + 1
            self._place[world] = f"{world.kind}{number}"

    def event(self, now: int, place: object, kind: str, value: int) -> None:
        """Something happened."""
        path = self._place[place]
        self.events += 1
        for name, part in zip("tpkv", (now, path, kind, value), strict=True):
            self.hashes[name].add(part)
        self.hashes["tpkv"].add(now, path, kind, value)

    def finish(self, host: Host) -> dict[str, str]:
        """The fingerprint of a host that has run."""
        for scope, generator in self.generators:
            self.hashes["r"].add(*scope, str(generator.bit_generator.state["state"]))
        _, series, histograms = host.probe.collect()
        for name in SCALARS:
            if name in series:
                self.hashes["s"].add(name, *series[name].values[-1].tolist())
        for name, histogram in sorted(histograms.items()):
            self.hashes["s"].add(name, *histogram.sums_ps[-1].tolist(), *histogram.counts[-1].sum(axis=1).tolist())
        return {name: str(found) for name, found in self.hashes.items()} | {"events": str(self.events)}


def fingerprint(spec: PointSpec, until: int, clock: Clock | None = None) -> dict[str, str]:
    """Run a host and compute its fingerprint: ``tpkv``, the trajectory; each ingredient; the number of events.

    Args:
        spec: the point.
        until: end of the run, in picoseconds.
        clock: the host's; a new one by default.
    """
    recorder = Recorder()
    with _hooks(recorder):
        host = build_host(spec, Streams(1, 0), clock=clock)
        recorder.know(host)
        host.probe.start()
        host.clock.advance(until)
        host.probe.sample()
    return recorder.finish(host)


@contextmanager
def _hooks(recorder: Recorder) -> Iterator[None]:
    """Install the recorder's hooks around methods of hosts."""
    undo: list[Callable[[], None]] = []

    def around(owner: type, name: str, before: Callable[..., None] | None, after: Callable[..., None] | None) -> None:
        original = getattr(owner, name)

        def hooked(self: Any, *args: Any, **more: Any) -> Any:
            if before is not None:
                before(self, *args)
            result = original(self, *args, **more)
            if after is not None:
                after(self, result, *args)
            return result

        setattr(owner, name, hooked)
        undo.append(lambda: setattr(owner, name, original))

    event = recorder.event
    states = ("SLEEPING", "READY", "RUNNING", "COSTOPPED")
    around(
        Scheduler, "wake", lambda _, world, now, *__: event(now, world, "wake", states.index(world.state.name)), None
    )
    around(
        Pcpu,
        "start",
        lambda pcpu, world, now, *_: event(now, pcpu, "start", world.left),
        lambda pcpu, _, world, now, *__: event(now, world, "runs", pcpu._ends - now),
    )
    around(Pcpu, "preempt", lambda pcpu, world, now, *_: event(now, pcpu, "preempt", pcpu._ends - now), None)
    around(
        Pcpu,
        "_end",
        None,
        lambda pcpu, _: event(pcpu._event_queue.now, pcpu, "end", 0 if pcpu.running is None else pcpu.running.used),
    )
    around(NetPoll, "interrupt", lambda world, now: event(now, world, "interrupt", world.queue.interrupts), None)
    around(Vcpu, "interrupt", lambda world, now, _: event(now, world, "interrupt", world.interrupts), None)
    around(Streams, "stream", None, lambda _, generator, *scope: recorder.generators.append((scope, generator)))
    try:
        yield
    finally:
        for put_back in undo:
            put_back()


def differences(found: dict[str, str], accepted: list[dict[str, str]]) -> str:
    """The ingredients that differ from the newest accepted fingerprint, in words; empty if it is accepted.

    It is held against the newest accepted one.
    """
    if found in accepted:
        return ""
    latest = accepted[-1] if accepted else {}
    meanings = {
        "t": "instants",
        "p": "parts",
        "k": "kinds of events",
        "v": "values",
        "r": "random streams",
        "s": "final scalars",
        "tpkv": "trajectory",
        "events": "number of events",
    }
    return "\n".join(
        f"  {name:7}{'moved' if found[name] != latest.get(name) else 'same ':6} {latest.get(name, 'none'):>18} -> "
        f"{found[name]}  {meaning}"
        for name, meaning in meanings.items()
    )
