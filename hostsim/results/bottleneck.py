"""Bottleneck of a host or a subject: the place of loss or waiting, or else the limit of its load.

The answer is derived from the stages in a record: each is a server (a context, a wire, the memory of a node) with
queues before it. The path of a subject consists of the stages of its VMs and of their NICs. The rules are applied in
this order:

1. A queue on the path drops packets. The bottleneck is its server if that is saturated all the time, or for longer than
the longest queue can absorb; otherwise it is the queue, which is too short for a burst.
2. A stage on the path is saturated, and packets of the subject wait before it; or a world on the path waits for a PCPU.
3. Nothing is saturated. A closed loop is then limited by the largest stage of its round trip, by its window, or by its
number of users. An open loop is limited by the offered load.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from hostsim.engine.record import FloatArray, RunRecord
from hostsim.errors import Fault, InputError
from hostsim.results.metrics.subject import KINDS, Subject, group_masks, groups_of, subject_of, subjects
from hostsim.units import SECOND

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FULL", "HOST", "Bottleneck", "PackedBottlenecks", "bottleneck", "bottlenecks_frame", "packed_bottlenecks"]

FULL: Final = 95.0
"""Utilisation in percent from which a stage counts as full."""
WAITS: Final = 5.0
"""Ready time in percent from which a world counts as delayed: the %RDY of a vCPU that VMware calls a problem."""
LOSS: Final = 0.1
"""Loss in percent from which a traffic entry is limited by loss, except TCP connections that loss slows down."""
HELD: Final = 0.9
"""Share of the window below which congestion windows count as reduced, or in-flight data as less than allowed."""
MOST_THINKING: Final = 0.5
"""Share of a user's time from which think time is the larger part."""
QUEUED: Final = 0.5
"""Smallest mean queue before a full stage in packets; a shorter one is a batch that the stage takes at once."""
BACKED_UP: Final = 0.25
"""Mean occupancy of a queue, as a share of its size, from which its sender waits; moderation alone fills it less."""
PILES_UP: Final = 0.01
"""Smallest growth of a queue, as a share of arriving packets, at which arrivals count as more than is served."""
LONGEST: Final = 4096
"""Size of the longest ring in packets: more consecutive losses are not due to a burst."""
LARGE_PART: Final = 0.3
"""Share of a latency from which the wait in one queue is reported."""
_KINDS: Final = ("netpoll", "splitrx", "networld", "vcpu", "vmkernel")
_OF: Final = ("traffic", "group", "vm")
"""Kinds of subjects that have a bottleneck."""
_STAGES: Final = {
    "wire": ("delay", "the way between client and host", "a client that is nearer, or answers sooner (delay)"),
    "moderation": (
        "moderation",
        "interrupt moderation of the physical NIC",
        "a shorter interrupt_interval of the NIC (0 us: none)",
    ),
    "netpoll_wait": ("wait", "the wait for the receive context", "PCPUs and NIC queues that are shared with less"),
    "vswitch": ("vswitch", "the receive context and virtual switch", "a faster processor, or DirectPath I/O"),
    "coalescing": ("coalescing", "interrupt coalescing of the vNIC", "ethernetX.coalescingScheme: disabled"),
    "wake": ("wake", "the wake-up of the vCPU", "latency sensitivity high, or PCPUs that are shared with less"),
    "guest": ("service", "the guest and its application", "a cheaper application (service), or a faster processor"),
    "transmit": ("transmit", "the transmit context", "PCPUs that are shared with less, or DirectPath I/O"),
}
"""Stages of a round trip: resource, words, and how to shorten them."""


@dataclass(frozen=True)
class Bottleneck:
    """Bottleneck of a run or of one of its subjects, with its reason and remedy."""

    resource: str
    """The limit: ``wire``, a direction of a link; ``slot``, the PCI Express slot of a NIC; ``memory`` or ``node``, the channels or the PCPUs of a NUMA node; ``context``, a world that needs
    all of a PCPU; ``ring``, ``socket`` or ``list``, a queue that is too short for bursts; ``forwarding``, a guest that
    refuses packets to forward; ``shaping``, traffic shaping or Network I/O Control that drops packets or holds them back; the largest stage of a round trip (``coalescing``, ``moderation``, ``delay``,
    ``service``, ...); ``window`` of TCP connections; ``users``, their number; ``load``, the offered load; ``none``
    without traffic, or if only the VMkernel sends and nothing is full."""
    name: str
    """Its name: ``vmnic0 receive``, the world, ``node0`` or the queue; for other limits the traffic entry."""
    share: float = 0.0
    """Percentage of time busy or waited for, of packets lost, of the round trip, or of the window; for ``load``, the
    utilisation of the busiest stage on the path."""
    context: str = ""
    """The busiest context on the path, even if it is not the limit; empty without contexts."""
    used: float = 0.0
    """Its charged time in percent of a PCPU."""
    reason: str = ""
    """The reason: a sentence with the numbers."""
    relief: str = ""
    """The remedy: a sentence."""

    def __str__(self) -> str:
        return f"{self.resource} {self.name}".rstrip()

    @property
    def sentence(self) -> str:
        """The reason and the remedy; empty without traffic."""
        return f"{self.reason} {self.relief}".strip()


def bottleneck(record: RunRecord, of: str | None = None) -> Bottleneck:
    """Find the bottleneck of a run or of one of its subjects.

    With several traffic entries, the answer is about one of them: the entry with the most loss; without losses, one that
    waits at the fullest stage; without a full stage, one that waits for replies. CPU work counts only if there is no other traffic. A busy stage
    is not a bottleneck if no packets of the subject wait for it.

    Args:
        record: a finished run.
        of: a traffic entry, a group of VMs or a VM; the host by default.

    Raises:
        InputError: the run has no such traffic entry, group or VM.
    """
    return _Path(record, _subject(record, of) if of else None).bottleneck()


def _subject(record: RunRecord, of: str) -> Subject:
    subject = subject_of(record, of) if " " in of else None
    for kind in _OF:
        if subject is None and of in subjects(record, kind):
            subject = Subject(kind, of)
    if subject is None or subject.kind not in _OF:
        names_of_kind = {KINDS[kind].words: subjects(record, kind) for kind in _OF}
        allowed = "; ".join(f"{words} {', '.join(names[:6])}" for words, names in names_of_kind.items() if names)
        raise InputError(Fault("has no bottleneck: no such traffic entry, VM group or VM", "of", repr(of), allowed))
    return subject


HOST: Final = "host"
"""The kind of the rows of `bottlenecks_frame` about the whole host."""
PackedBottlenecks = Sequence[tuple[str, str, str, str, str]]
"""Kind and name of each subject of a run, its bottleneck, the reason and the relief."""


def packed_bottlenecks(record: RunRecord, of: Iterable[str] = ()) -> PackedBottlenecks:
    """The bottlenecks of a finished run: of the host, and of VM groups and traffic entries if there are several.

    Args:
        record: a finished run.
        of: names of further subjects; subjects that are not in the run, or have no bottleneck, are omitted.
    """
    names_of_kind = {kind: subjects(record, kind) for kind in _OF}
    own: list[Subject | None] = [None]
    own += [
        Subject(kind, name)
        for kind in ("group", "traffic")
        for name in names_of_kind[kind]
        if len(names_of_kind[kind]) > 1
    ]
    own += [Subject("vm", name) for name in dict.fromkeys(of) if name in names_of_kind["vm"]]
    rows = [(subject, _Path(record, subject).bottleneck()) for subject in own]
    return [
        (
            subject.kind if subject else HOST,
            subject.name if subject else "",
            str(bottleneck),
            bottleneck.reason,
            bottleneck.relief,
        )
        for subject, bottleneck in rows
    ]


def bottlenecks_frame(points: Mapping[str, PackedBottlenecks]) -> pd.DataFrame:
    """The bottlenecks of points as one frame: ``point``, ``kind``, ``subject`` (empty for the ``host``),
    ``bottleneck``, ``reason``, ``relief``.
    """
    import pandas as pd

    rows = [(point, *row) for point, packed in points.items() for row in packed]
    return pd.DataFrame(rows, columns=["point", "kind", "subject", "bottleneck", "reason", "relief"], dtype="str")


@dataclass(frozen=True)
class _Queue:
    """A queue on a path."""

    place: str
    """As in ``flow.dropped_PLACE``."""
    resource: str
    name: str
    words: str
    server: str
    """The context that empties the queue; empty if no world does."""
    drops: FloatArray
    """Packets that found it full, in each slice of the window."""
    waiting: FloatArray
    """Packets in it at each boundary of the window."""
    taken: int
    room: int
    """Capacity in packets; 0 if it is not in the record."""
    key: str
    """Setting that enlarges the queue."""

    @property
    def dropped(self) -> int:
        """Packets that found it full."""
        return int(self.drops.sum())

    @property
    def is_backed_up(self) -> bool:
        """True for a queue that is full for a long time, so that its sender waits."""
        return bool(self.room) and float(self.waiting.mean()) >= BACKED_UP * self.room


@dataclass(frozen=True)
class _World:
    """A context on a path, in percent of the window."""

    kind: str
    name: str
    node: int
    used: float
    waits: float
    """Time without a PCPU: ready, or co-stopped for a sibling."""
    limited: float
    """Part of it that is due to a CPU limit of the VM or its resource pool."""
    during: str = "of the time"
    """The part of the window that the shares refer to."""

    @property
    def wants(self) -> float:
        """Running time that it would have on an exclusive PCPU."""
        return min(100.0, self.used + self.waits)

    @property
    def is_held_up(self) -> bool:
        """True for a world with a long ready time, absolute and relative to its running time."""
        return self.waits >= WAITS and self.waits >= 0.1 * self.used


@dataclass(frozen=True)
class _Flow:
    """A traffic entry over the window."""

    name: str
    place: int
    is_work: bool
    is_local: bool
    groups: int
    """As bits; 0: none, -1: all."""
    octets: int
    packets: int
    """Delivered."""
    out: int
    """Sent by VMs over a wire."""
    offered: int
    lost: int
    refused: int
    """Packets that a guest was to forward and has not forwarded."""
    loss: float
    """Loss in percent of lost and delivered packets."""
    users: int
    asked: int
    answered: int
    connections: int
    window: float
    allowed: float
    in_flight: float
    """Mean bytes of windows, of congestion windows and of data in flight, over the boundaries."""

    @property
    def is_cut(self) -> bool:
        """True for TCP connections whose congestion windows are below their windows because of losses."""
        return bool(self.connections) and self.lost > 0 and self.allowed < HELD * self.window

    @property
    def waits_for_host(self) -> bool:
        """True for traffic whose sender waits for the host."""
        return bool(self.asked or self.connections or self.users)


class _Path:
    """The stages and the traffic of a subject in a run."""

    def __init__(self, record: RunRecord, subject: Subject | None) -> None:
        self._record, self._subject = record, subject
        self._own = flows = [flow for flow in self._all_flows() if self._is_mine(flow)]
        packets = [flow for flow in flows if not flow.is_work and (flow.packets or flow.lost or flow.offered)]
        self.flows = packets or [flow for flow in flows if flow.is_work and flow.offered]
        self._senders = [flow for flow in flows if flow.out and not (flow.is_work or flow.packets or flow.offered)]

    # --- what a record has

    def _grown(self, counter: str) -> FloatArray:
        if counter not in self._record.series:
            return np.zeros(0)
        return np.asarray(self._record.window(counter), dtype=np.float64)

    def _levels(self, counter: str) -> FloatArray:
        """A level of each entity at the boundaries of the window, shape (boundaries, entities)."""
        if counter not in self._record.series:
            return np.zeros((1, 0))
        values = self._record.series[counter].values[self._record.cut :]  # noqa: PD011  of a record
        return np.asarray(values, dtype=np.float64)

    def _by_slice(self, counter: str) -> FloatArray:
        """Growth of a counter in each slice of the window, shape (slices, entities)."""
        return np.diff(self._levels(counter), axis=0)

    def _has(self, kind: str, *counters: str) -> bool:
        """True for a record with all of these counters of a kind; hand-made records may lack some."""
        return all(f"{kind}.{counter}" in self._record.series for counter in counters)

    def _last(self, counter: str) -> list[int]:
        return [int(value) for value in self._levels(counter)[-1]]

    def _entities(self, counter: str) -> tuple[str, ...]:
        return self._record.series[counter].entities if counter in self._record.series else ()

    def _percent(self, counter: str) -> list[tuple[str, float]]:
        shares = 100.0 * self._grown(counter) / self._record.window_ps
        return list(zip(self._entities(counter), shares.tolist(), strict=True))

    def _all_flows(self) -> Iterator[_Flow]:
        names = self._entities("flow.sent")
        work = self._record.histograms.get("work.time")
        bursts = work.entities if work is not None else ()

        def grown(counter: str) -> list[int]:
            values = self._grown(f"flow.{counter}")
            return [int(value) for value in values] if len(values) else [0] * len(names)

        def fixed(counter: str) -> list[int]:
            return self._last(f"flow.{counter}") or [0] * len(names)

        windows = {
            name: [float(self._levels(f"tcp.{level}")[:, index].mean()) for level in _TCP]
            for index, name in enumerate(self._entities("tcp.window"))
        }
        counts = {counter: grown(counter) for counter in (*_FLOW, *(f"dropped_{kind}" for kind in _PLACES))}
        users, groups, receivers = (
            fixed("users"),
            group_masks(self._record),
            self._last("flow.receivers") or [1] * len(names),
        )
        for index, name in enumerate(names):
            own = {counter: values[index] for counter, values in counts.items()}
            lost = sum(own[f"dropped_{cause}"] for cause in _PLACES)
            got = own["delivered"] - own["to_forward"] + own["forwarded"] + own["out"]
            if name in bursts:
                lost, got = (self._bursts(counter, groups[index]) for counter in ("dropped", "started"))
            connections, window, allowed, in_flight = windows.get(name, [0, 0.0, 0.0, 0.0])
            yield _Flow(
                name=name,
                place=index,
                is_work=name in bursts,
                is_local=not receivers[index],
                groups=groups[index],
                octets=own["octets"],
                packets=own["delivered"],
                out=own["out"],
                offered=own["intended"],
                lost=lost,
                refused=own["to_forward"] - own["forwarded"],
                loss=100.0 * lost / (lost + got) if lost else 0.0,
                users=users[index],
                asked=own["asked"],
                answered=own["answered"],
                connections=int(connections),
                window=window,
                allowed=allowed,
                in_flight=in_flight,
            )

    def _bursts(self, counter: str, groups: int) -> int:
        """Bursts of CPU work that the vCPUs of some groups dropped or started; a group has one traffic entry of work."""
        own = {name for index, name in enumerate(groups_of(self._record)) if groups >> index & 1}
        counts = zip(self._entities(f"work.{counter}"), self._grown(f"work.{counter}"), strict=True)
        return int(sum(count for vcpu, count in counts if groups < 0 or vcpu.partition("[")[0] in own))

    # --- the path

    def _is_mine(self, flow: _Flow) -> bool:
        if self._subject is None:
            return True
        if self._subject.kind == "traffic":
            return flow.name == self._subject.name
        group = self._subject.name.partition("[")[0]
        return bool(flow.groups >> groups_of(self._record).index(group) & 1)

    @property
    def _is_work(self) -> bool:
        """True if CPU work is the only traffic."""
        return bool(self.flows) and all(flow.is_work for flow in self.flows)

    @property
    def _only_sends(self) -> bool:
        """True for a traffic entry that only leaves the host, so that neither received frames nor NetPolls delay it."""
        return bool(self._senders) and not self.flows and self._subject is not None

    @property
    def _only_receives(self) -> bool:
        """True for a traffic entry that no VM answers or forwards, so that no frame of it waits for a wire to the peer."""
        return (
            self._subject is not None
            and self._subject.kind == "traffic"
            and not (self._senders or any(flow.out or flow.refused or flow.waits_for_host for flow in self.flows))
        )

    @property
    def _sends(self) -> bool:
        """True if VMs send more frames than they receive, for all traffic, and none of it answers requests."""
        return all(flow.out > flow.packets and not flow.asked for flow in [*self.flows, *self._senders])

    @cached_property
    def _groups(self) -> list[str] | None:
        """VM groups of the traffic; None for all."""
        groups = groups_of(self._record)
        flows = [*self.flows, *self._senders]
        if not flows and self._subject is not None:
            if self._subject.kind == "group":
                return [self._subject.name]
            flows = self._own
        if (
            any(flow.groups < 0 for flow in flows)
            or not flows
            or (self._subject is None and not all(flow.groups for flow in flows))
        ):
            return None
        return [group for index, group in enumerate(groups) if any(flow.groups >> index & 1 for flow in flows)]

    def _of_path(self, entity: str) -> bool:
        """True for an entity of a VM on the path."""
        if self._subject is not None and self._subject.kind == "vm":
            return self._subject.holds(self._record, "", entity)
        return self._groups is None or entity.partition("[")[0] in self._groups

    @cached_property
    def _nics(self) -> set[str]:
        """Physical NICs of the VMs on the path, if packets use a wire."""
        if self.flows and all(flow.is_local or flow.is_work for flow in self.flows) and not self._slots():
            return set()
        names = self._entities("nic.rx_frames")
        links = self._last("port.nic")
        if not links or not all(flow.groups for flow in self._own):  # of an earlier version, or of the VMkernel
            return set(names)
        ports = zip(self._entities("port.nic"), links, strict=True)
        return {names[nic] for port, nic in ports if nic >= 0 and self._of_path(port)}

    @cached_property
    def worlds(self) -> dict[str, _World]:
        """The contexts on the path with charged time, by name."""
        worlds = {}
        for kind in _KINDS:
            used = self._percent(f"{kind}.used_ps")
            waits = [dict(self._percent(f"{kind}.{state}_ps")) for state in ("ready", "costop")]
            limited = dict(self._percent(f"{kind}.limited_ps"))
            homes = self._levels(f"{kind}.node").astype(np.int64)
            for index, (name, share) in enumerate(used):
                if kind == "netpoll":
                    mine = name in self._polls
                elif kind == "vmkernel":  # a thread of a traffic entry
                    mine = any(flow.name == name.rpartition(".")[0] for flow in self._own)
                else:
                    mine = self._of_path(name)
                waited = sum(shares.get(name, 0.0) for shares in waits)
                if mine and share + waited > 0.0:
                    node = int(np.bincount(homes[:, index]).argmax()) if homes.shape[1] else 0
                    worlds[name] = _World(kind, name, node, share, waited, limited.get(name, 0.0))
        return worlds

    @cached_property
    def _polls(self) -> set[str]:
        """NetPolls that take frames of the NICs on the path."""
        if self._only_sends:
            return set()
        polls = self._entities("netpoll.used_ps")
        owners = zip(self._entities("queue.context"), self._last("queue.context"), strict=True)
        return {polls[owner] for queue, owner in owners if owner >= 0 and queue.rpartition("-rx")[0] in self._nics}

    @cached_property
    def queues(self) -> list[_Queue]:
        """The queues on the path, first those of the receive path, then those of the transmit path."""
        of_nic = [queue.rpartition("-rx")[0] in self._nics for queue in self._entities("queue.taken")]
        queues = self._queues_of("nic", "queue", of_nic) + self._guest_rings()
        for place, kind in (("split", "port"), ("ring", "port"), ("list", "local"), ("socket", "guest")):
            queues += self._queues_of(place, kind)
        queues += self._queues_of("work", "work") if self._is_work else []
        return [*queues, *self._queues_of("out", "tx"), *self._nic_transmits()]

    def _guest_rings(self) -> list[_Queue]:
        """The receive rings of passed-through ports and functions, each served by the vCPU of its port."""
        vcpus = self._entities("vcpu.used_ps")
        owners = dict(zip(self._entities("port.vcpu"), self._last("port.vcpu"), strict=False))
        servers = {name: vcpus[owners[name]] for name in self._entities("queue.taken") if name in owners}
        mine = [name in servers and self._of_path(servers[name]) for name in self._entities("queue.taken")]
        return [replace(queue, server=servers[queue.name]) for queue in self._queues_of("nic", "queue", mine)]

    def _queues_of(self, place: str, kind: str, mine: Sequence[bool] = ()) -> list[_Queue]:
        """The queues at a place that are on the path, by default those of the VMs on it."""
        form = _QUEUES[place]
        if not self._has(kind, form.dropped, form.inside):
            return []
        names = self._entities(f"{kind}.{form.taken}")
        mine = mine or [self._of_path(name) for name in names]
        counts, drops = self._grown(f"{kind}.{form.taken}"), self._by_slice(f"{kind}.{form.dropped}")
        levels = self._levels(f"{kind}.{form.inside}")
        rooms = self._last(f"{kind}.{form.capacity}") or [0] * len(names)
        owners = self._last(f"{kind}.{form.owner}") or [-1] * len(names)
        worlds = self._entities(f"{form.server}.used_ps")
        return [
            _Queue(
                place=place,
                resource=form.resource,
                name=name,
                words=form.words,
                server=worlds[owners[index]] if owners[index] >= 0 else self._server(place, name),
                drops=drops[:, index],
                waiting=levels[:, index],
                taken=int(counts[index]),
                room=rooms[index],
                key=form.key,
            )
            for index, name in enumerate(names)
            if mine[index] and counts[index] + drops[:, index].sum()
        ]

    def _server(self, place: str, name: str) -> str:
        """The context that serves a queue without a recorded owner: a vCPU its own queues, a transmit context receive lists."""
        if place != "list":
            return name if place in ("socket", "work") else ""
        vm = name.rpartition(".")[0]
        worlds = self._entities("networld.used_ps")
        owners = zip(self._entities("tx.context"), self._last("tx.context"), strict=True)
        serving = (worlds[owner] for queue, owner in owners if owner >= 0 and queue.startswith(f"{vm}."))
        return next(serving, "")

    def _nic_transmits(self) -> Iterator[_Queue]:
        """Transmit rings of physical NICs with drops; the wire empties them."""
        if not self._has("nic", "tx_dropped", "tx_packets"):
            return
        drops, sent = self._by_slice("nic.tx_dropped"), self._grown("nic.tx_packets")
        for index, name in enumerate(self._entities("nic.tx_dropped")):
            if name in self._nics and drops[:, index].any():
                yield _Queue(
                    place="out",
                    resource="ring",
                    name=f"{name} transmit",
                    words="the transmit ring of",
                    server=f"{name} transmit",
                    drops=drops[:, index],
                    waiting=np.zeros(1),
                    taken=int(sent[index]),
                    room=0,
                    key="tx_queue of the NIC",
                )

    # --- the answer

    def bottleneck(self) -> Bottleneck:
        """The bottleneck by loss, else by a full stage or a wait for a PCPU, else by the limit of the load."""
        busiest = max(self.worlds.values(), key=lambda world: world.used, default=None)
        bottleneck = self._lossy() or self._full() or self._held_up() or self._unhindered() or Bottleneck("none", "")
        if busiest is None:
            return bottleneck
        return replace(bottleneck, context=busiest.name, used=busiest.used)

    def _lossy(self) -> Bottleneck | None:
        """The place with the most loss, of the traffic entry with the most loss."""
        losing = [flow for flow in self.flows if flow.loss >= LOSS or flow.is_cut]
        if self._entities("flow.sent") and not losing:
            return None
        flow = max(losing, key=lambda flow: flow.lost, default=None)
        places = {queue.place for queue in self.queues if queue.dropped}
        if flow is not None:
            lost = {cause: self._grown(f"flow.dropped_{cause}")[flow.place] for cause in _PLACES}
            most = max(lost, key=lambda cause: lost[cause])
            places = {most} if not flow.is_work else {"work"}
        dropping = [queue for queue in self.queues if queue.place in places and queue.dropped]
        queue = max(dropping, key=lambda queue: queue.dropped, default=None)
        whose = f"the packets of {flow.name}" if flow is not None else "packets"
        share = flow.loss if flow is not None else 0.0
        if queue is None:
            if flow is None:
                return None
            if "out" in places:
                return self._refused(flow) if flow.refused >= 0.5 * flow.lost else self._shaped(flow)
            return self._before_guest(flow) if "nic" in places else None
        if queue.place == "work":
            whose = f"the bursts of {flow.name}" if flow is not None else "bursts"
        size = f", which has room for {queue.room:,} packets" if queue.room else ""
        where = f"{share:.3g} % of {whose} are lost, most of them at {queue.words} {queue.name}{size}"
        servers = {queue.server, self._wire_behind(queue)}
        wire = next((name for name, busy in self._wires() if name in servers and busy >= FULL), None)
        if wire is not None:
            return self._wire(wire, FULL, where)
        server = self._while_losing(queue)
        if server is not None and server.is_held_up and server.used < FULL:
            return self._node(server, f"{where}. ")
        if server is not None and (queue.place == "work" or (server.wants >= FULL and self._is_overload(queue))):
            return self._context(server, f"{where}. ")
        whole = self.worlds.get(queue.server)
        idle = f": {whole.name} is busy for {whole.used:.3g} % of the time" if whole is not None else ""
        reason = f"{where}, too short for the bursts{idle}."
        longer = f"a larger {queue.key}" if queue.key else "a longer queue"
        fewer = "senders with shorter bursts"
        if queue.place == "socket":  # an interrupt makes its packets one burst, whatever the senders do
            longer = f"a larger socket buffer (vms.{queue.name.partition('[')[0]}.guest.socket_buffer)"
            fewer = "fewer packets for each interrupt (coalescing of the vNIC, moderation of the NIC)"
        return Bottleneck(
            queue.resource,
            queue.name,
            share,
            reason=reason,
            relief=_relief(f"{longer}, or {fewer}"),
        )

    def _wire_behind(self, queue: _Queue) -> str:
        """The wire of a vNIC's transmit queue whose context is not full: it passes on no more than the wire takes."""
        world = self.worlds.get(queue.server)
        if queue.place != "out" or (world is not None and world.wants >= FULL):
            return ""
        nics, port = self._entities("nic.rx_frames"), queue.name.rpartition("-tx")[0]
        names = (name.partition("-rx")[0] for name in self._entities("port.nic"))
        links = dict(zip(names, self._last("port.nic"), strict=True))
        return f"{nics[links[port]]} transmit" if links.get(port, -1) >= 0 else ""

    def _while_losing(self, queue: _Queue) -> _World | None:
        """The context that empties a queue, over slices with drops only, as an intermittent load is high only in these."""
        world = self.worlds.get(queue.server)
        losing = queue.drops > 0
        if world is None or not losing.any():
            return world
        index = self._entities(f"{world.kind}.used_ps").index(world.name)
        time = np.diff(self._record.instants_ps[self._record.cut :])[losing].sum() / 100.0
        spent = {}
        for state in ("used", "ready", "costop", "limited"):
            grown = self._by_slice(f"{world.kind}.{state}_ps")
            spent[state] = float(grown[losing, index].sum() / time) if grown.shape[1] else 0.0
        waits = spent["ready"] + spent["costop"]
        during = world.during if losing.all() else "of the time with losses"
        return replace(world, used=spent["used"], waits=waits, limited=spent["limited"], during=during)

    def _is_overload(self, queue: _Queue) -> bool:
        """True for losses at a full server that a longer queue cannot prevent: it is always full, or the overload lasts too long."""
        if queue.server in self.worlds and self.worlds[queue.server].wants >= FULL:
            return True
        stretches = np.split(queue.drops, np.flatnonzero(queue.drops == 0))
        return max(float(stretch.sum()) for stretch in stretches) > LONGEST

    def _refused(self, flow: _Flow) -> Bottleneck:
        """Frames that a guest refused to send: receive offload has joined them beyond the MTU of the outgoing interface."""
        vms = [name for name in subjects(self._record, "vm") if self._of_path(name)]
        name = vms[0] if len(vms) == 1 else flow.name
        reason = f"{flow.loss:.3g} % of the packets of {flow.name} are refused by {name}, which is to forward them: receive offload has joined them to more than a frame."
        relief = "large receive offload turned off (in the guest, or Net.Vmxnet3SwLRO: 0)"
        return Bottleneck("forwarding", name, flow.loss, reason=reason, relief=_relief(relief))

    def _shaped(self, flow: _Flow) -> Bottleneck:
        """Losses on transmit before the NIC: at the queue of a shaped port, or of Network I/O Control."""
        reason = f"{flow.loss:.3g} % of the packets of {flow.name} are lost, most of them at queues of traffic shaping or Network I/O Control."
        relief = f"{_UNSHAPED} (network), or senders with less load"
        return Bottleneck("shaping", flow.name, flow.loss, reason=reason, relief=_relief(relief))

    def _before_guest(self, flow: _Flow) -> Bottleneck:
        """Losses at a passed-through port or function, whose ring has no counters: due to a full context or a short ring."""
        where = f"{flow.loss:.3g} % of the packets of {flow.name} are lost at passed-through ports"
        world = max(self.worlds.values(), key=lambda world: world.wants, default=None)
        if world is not None and world.wants >= FULL:
            return self._context(world, f"{where}. ")
        reason = f"{where}, whose receive rings are too short for the bursts."
        relief = _relief("a larger rx_ring of the NIC, or senders with shorter bursts")
        return Bottleneck("ring", flow.name, flow.loss, reason=reason, relief=relief)

    def _wires(self) -> list[tuple[str, float]]:
        """Busy share of each direction of the wires on the path; transmit is omitted if neither the VMs nor the VMkernel send."""
        sent = [
            count
            for queue, count in zip(self._entities("tx.taken"), self._grown("tx.taken"), strict=True)
            if self._of_path(queue)
        ]
        of_vmkernel = any(flow.out and not flow.groups for flow in [*self.flows, *self._senders])
        is_silent = bool(sent) and not any(sent) and not of_vmkernel
        return [
            (f"{nic} {way}", share)
            for way, counter in (("receive", "nic.rx_wire_ps"), ("transmit", "nic.tx_wire_ps"))
            for nic, share in self._percent(counter)
            if nic in self._nics and not (is_silent or self._only_receives if way == "transmit" else self._only_sends)
        ]

    def _slots(self) -> list[tuple[str, float]]:
        """Busy share of each direction of the slots of NICs that switch frames between their functions."""
        return [
            (f"{nic} {way}", share)
            for way, counter in (("out of memory", "slot.out_ps"), ("into memory", "slot.in_ps"))
            for nic, share in self._percent(counter)
        ]

    def _memories(self) -> list[tuple[str, float]]:
        """Busy share of the memory of the home nodes of the contexts on the path."""
        homes = {f"node{world.node}" for world in self.worlds.values()}
        return [(node, share) for node, share in self._percent("node.memory_ps") if node in homes]

    def _full(self) -> Bottleneck | None:
        """The fullest stage with waiting packets of the subject."""
        causes: list[tuple[float, Bottleneck]] = []
        for name, share in self._wires():
            if share >= FULL:
                causes.append((share, self._wire(name, share)))
        for name, share in self._slots() if any(flow.is_local for flow in self.flows) else ():
            if share >= FULL:
                reason = f"The slot of {name} is busy for {share:.3g} % of the time: frames between functions cross it twice."
                relief = "more lanes or a later PCI Express, or VMs that reach each other by vNICs"
                causes.append((share, Bottleneck("slot", name, share, reason=reason, relief=_relief(relief))))
        for name, share in self._memories():
            if share >= FULL:
                reason = f"The channels of the memory of {name} are busy for {share:.3g} % of the time: copies wait for them."
                relief = "more memory channels, or VMs, contexts and NICs spread over both nodes"
                causes.append((share, Bottleneck("memory", name, share, reason=reason, relief=_relief(relief))))
        for world in self.worlds.values():
            if world.wants >= FULL and self._has_waiting(world):
                is_held_up = world.is_held_up and world.used < FULL
                causes.append((world.wants, self._node(world) if is_held_up else self._context(world)))
        if not causes:
            causes += [
                (world.used, self._context(world)) for world in self.worlds.values() if self._is_full_sender(world)
            ]
        return max(causes, key=lambda entry: entry[0])[1] if causes else None

    def _is_full_sender(self, world: _World) -> bool:
        """True for a full thread of the VMkernel, or a full vCPU without CPU work whose VM sends more than it receives: unsent data wait in its process."""
        if world.kind == "vmkernel":
            return world.used >= FULL
        vm = world.name.rpartition(".")[0]
        if world.kind != "vcpu" or world.used < FULL or world.name in self._entities("work.started"):
            return False
        sent, received = (
            math.fsum(queue.taken for queue in self.queues if queue.place in places and queue.name.startswith(f"{vm}."))
            for places in (("out",), ("ring", "split"))
        )
        return sent > received

    def _has_waiting(self, world: _World) -> bool:
        """True if packets wait for a full context: on average in a closed loop, in growing numbers in an open loop."""
        queues = [queue for queue in self.queues if queue.server == world.name]
        if any(queue.is_backed_up for queue in queues):
            return True
        mean = sum(float(queue.waiting.mean()) for queue in queues)
        if any(flow.waits_for_host or flow.is_work for flow in self.flows) or not self.flows:
            return mean >= QUEUED
        growth = sum(float(queue.waiting[-1] - queue.waiting[0]) for queue in queues)
        return growth >= PILES_UP * max(1, sum(queue.taken for queue in queues))

    def _held_up(self) -> Bottleneck | None:
        """The world with the longest wait for a PCPU."""
        waiting = [world for world in self.worlds.values() if world.is_held_up]
        return self._node(max(waiting, key=lambda world: world.waits)) if waiting else None

    def _wire(self, name: str, share: float, before: str = "") -> Bottleneck:
        share = dict(self._wires()).get(name, share)
        nic = name.partition(" ")[0]
        if dict(zip(self._entities("nic.in_slot"), self._last("nic.in_slot"), strict=True)).get(nic):
            resource, what = "slot", f"slot of {nic}, which is slower than its wire,"
            relief = "more lanes or a later PCI Express"
        else:
            resource, what, relief = "wire", f"wire {name}", "a faster link, or a second uplink"
        reason = f"The {what} is busy for {share:.3g} % of the time."
        return Bottleneck(
            resource, name, share, reason=f"{before}. {reason}" if before else reason, relief=_relief(relief)
        )

    def _node(self, world: _World, before: str = "") -> Bottleneck:
        name = f"node{world.node}"
        homes, busy = self._last("pcpu.node"), dict(self._percent("pcpu.busy_ps"))
        on_node = [pcpu for pcpu, home in zip(self._entities("pcpu.node"), homes, strict=True) if home == world.node]
        shares = [busy.get(pcpu, 0.0) for pcpu in on_node]
        mean = math.fsum(shares) / len(shares) if shares else 0.0
        waits = f"{world.name} has to wait for a PCPU for {world.waits:.3g} % {world.during} and has one for {world.used:.3g} %"
        reason = f"{before}The context {waits}; the PCPUs of {name} are busy for {mean:.3g} %."
        relief = "fewer busy vCPUs on the node, more shares, or latency sensitivity high for the VM"
        if world.limited >= 0.5 * world.waits:
            reason = f"{before}The context {waits}: a CPU limit holds it back for {world.limited:.3g} %."
            relief = "a higher CPU limit of the VM (sched.cpu.max) or of its resource pool"
        return Bottleneck("node", name, world.waits, reason=reason, relief=_relief(relief))

    def _context(self, world: _World, before: str = "") -> Bottleneck:
        waiting = "Bursts of work wait" if self._is_work else "Packets wait"
        reason = f"{before}{waiting} for {world.name}, which is busy for {world.used:.3g} % {world.during}"
        spread = self._spread(world)
        return Bottleneck("context", world.name, world.wants, reason=f"{reason}{spread[0]}.", relief=_relief(spread[1]))

    def _spread(self, world: _World) -> tuple[str, str]:
        """Other contexts that could do a context's work, in words, and the remedy."""
        if world.kind == "netpoll":
            copies = max(
                (flow.offered / max(1, self._grown("flow.sent")[flow.place]) for flow in self.flows), default=1.0
            )
            if copies >= 2.0:
                return (
                    f", and copies each frame of multicast to {copies:.3g} receivers",
                    "a receive context for each VM (splitRx: ethernetX.emuRxMode: 1), or fewer receivers",
                )
            return "", "more receive queues and contexts for this traffic (NetQueue or RSS), or larger packets"
        if world.kind == "splitrx":
            return "", "fewer packets to this VM, or a faster processor"
        if world.kind == "networld":
            return "", "more transmit contexts (ethernetX.ctxPerDev), or larger packets (TSO)"
        if world.kind == "vmkernel":
            return "", "more streams (streams), each of which has a thread"
        if self._is_work:
            return "", "more vCPUs for this work (vcpus), fewer bursts, or shorter ones (service)"
        vm = world.name.rpartition(".")[0]
        siblings = [share for name, share in self._percent("vcpu.used_ps") if name.startswith(f"{vm}.vcpu")]
        others = math.fsum(siblings) - world.used
        count = len(siblings) - 1
        if count and others < 0.5 * world.used * count:
            more = "traffic spread over the vCPUs of the VM (RSS: ethernetX.pnicFeatures, udpRSS)"
            more = "more streams (streams), whose processes run on other vCPUs" if self._sends else more
            rest = "the other vCPU" if count == 1 else f"the other {count} vCPUs"
            return (
                f", while {rest} of {vm} {'is' if count == 1 else 'are'} busy for {others / count:.3g} %",
                f"{more}, or a cheaper application (service)",
            )
        more = (
            "more vCPUs with further streams (streams), more VMs"
            if self._sends
            else "more vCPUs or VMs for this traffic"
        )
        return "", f"{more}, or a cheaper application (service)"

    # --- nothing is full

    def _unhindered(self) -> Bottleneck | None:
        """The limit if nothing is full: of closed loops, whose senders wait for the host, else of open loops."""
        waiting = [flow for flow in self.flows if flow.waits_for_host]
        if waiting:
            return self._round_trip(max(waiting, key=lambda flow: (flow.octets, flow.answered)))
        # traffic of the VMkernel may be endless, and its windows are not in the record
        open_loops = self.flows or [flow for flow in self._senders if flow.groups and not flow.waits_for_host]
        flow = max(open_loops, key=lambda flow: flow.packets or flow.out, default=None)
        return None if flow is None else self._load(flow)

    def _round_trip(self, flow: _Flow) -> Bottleneck:
        thinking, took_us = self._thinking(flow)
        if flow.asked and (not flow.users or thinking >= MOST_THINKING):
            return self._load(flow)
        held = self._held_back(flow)
        if held >= MOST_THINKING:
            reason = f"{100.0 * held:.3g} % of the data in flight of {flow.name} wait between transmit contexts and a wire that is not full: traffic shaping or Network I/O Control holds them back."
            return Bottleneck(
                "shaping", flow.name, 100.0 * held, reason=reason, relief=_relief(f"{_UNSHAPED} (network)")
            )
        if flow.name in self._entities("trip.count"):
            return self._largest_stage(flow)
        if flow.connections and flow.in_flight >= MOST_THINKING * flow.allowed and flow.octets:
            per_connection, count = flow.window / flow.connections, flow.connections
            trip_us = flow.in_flight / flow.octets * self._record.window_ps / 1e6
            many = f"{count} connections of {flow.name} have" if count > 1 else f"The connection of {flow.name} has"
            is_cut = flow.allowed < HELD * flow.window
            grows = (
                f", of which congestion control allows {_plain(flow.allowed / flow.connections / 1024)} KiB"
                if is_cut
                else ""
            )
            reason = f"{many} a window of {_plain(per_connection / 1024)} KiB{' each' if count > 1 else ''}{grows}, at a round trip of {_plain(trip_us)} us: nothing on the way is full."
            first = "fewer losses outside the host (loss)" if is_cut else "a larger window"
            relief = f"{first}, more connections (streams), or a shorter delay"
            share = 100.0 * flow.in_flight / flow.window if flow.window else 0.0
            return Bottleneck("window", flow.name, share, reason=reason, relief=_relief(relief))
        if flow.users:
            reason = f"{flow.users} users of {flow.name} wait for their answers, {_plain(took_us)} us each: nothing on the way is full."
            relief = "more users or connections at a time"
            return Bottleneck("users", flow.name, 100.0 * (1.0 - thinking), reason=reason, relief=_relief(relief))
        return self._load(flow)

    def _held_back(self, flow: _Flow) -> float:
        """Share of the data in flight of TCP whose packets, or acknowledgements, have left transmit contexts and are not on the wire.

        0 beside other traffic, or if packets were lost on transmit, as packets are not counted by traffic entry there.
        """
        counters = [name for name in ("flow.delivered", "flow.out") if name in self._record.series]
        carried = [self._last(name) for name in counters]  # also before the window
        traffic = [f for f in self._all_flows() if not f.is_work and any(counts[f.place] for counts in carried)]
        taken, sent = (self._levels(counter).sum(axis=1) for counter in ("tx.taken", "nic.tx_packets"))
        grown = float(taken[-1] - taken[0])
        if (
            len(traffic) > 1
            or not flow.in_flight
            or not grown
            or not sent[-1]
            or self._levels("flow.dropped_out").any()
        ):
            return 0.0
        return float((taken - sent).mean()) / grown * flow.octets / flow.in_flight

    def _thinking(self, flow: _Flow) -> tuple[float, float]:
        """Share of think time in a user's time, and the mean response time in us."""
        times = self._record.histograms.get("flow.response")
        if times is None or not flow.answered:
            return 0.0, 0.0
        index = times.entities.index(flow.name)
        total = int(times.sums_ps[-1][index] - times.sums_ps[self._record.cut][index])
        waiting = total / (flow.users * self._record.window_ps) if flow.users else 1.0
        return max(0.0, 1.0 - waiting), total / flow.answered / 1e6

    def _largest_stage(self, flow: _Flow) -> Bottleneck:
        index = self._entities("trip.count").index(flow.name)
        times = {stage: float(self._grown(f"trip.{stage}_ps")[index]) for stage in _STAGES}
        whole, count = math.fsum(times.values()), float(self._grown("trip.count")[index])
        if not count or not whole:
            return self._load(flow)
        stage = max(times, key=lambda stage: times[stage])
        resource, words, shorter = _STAGES[stage]
        share, trip_us = 100.0 * times[stage] / whole, whole / count / 1e6
        reason = f"A round trip of {flow.name} takes {_plain(trip_us)} us, of which {words} {_plain(times[stage] / count / 1e6)} us: nothing on the way is full."
        return Bottleneck(resource, flow.name, share, reason=reason, relief=_relief(shorter))

    def _load(self, flow: _Flow) -> Bottleneck:
        """All offered traffic is carried."""
        serving = {queue.server for queue in self.queues}
        sends = any(flow.out or flow.is_local for flow in [*self.flows, *self._senders])
        worlds = [
            world
            for world in self.worlds.values()
            if world.name in serving or (sends and world.kind in ("vcpu", "vmkernel"))  # their processes write
        ] or list(self.worlds.values())
        stages = [
            *((share, f"wire {name}") for name, share in self._wires()),
            *((world.used, f"context {world.name}") for world in worlds),
        ]
        share, name = max(stages, default=(0.0, ""))
        count = flow.answered if flow.asked else flow.packets or flow.out
        unit = "requests" if flow.asked else "bursts" if flow.is_work else "packets"
        rate = count * SECOND / self._record.window_ps
        whole = len(self.flows) + len(self._senders) == 1  # otherwise other traffic may use the fullest stage
        fullest = f"the busiest stage{' on the way' if whole else ''}, {name}, is busy for {share:.3g} % of the time"
        fullest = fullest if name else "nothing is busy"
        world = self.worlds.get(name.partition(" ")[2])
        spread = self._spread(world) if world is not None and world.kind == "vcpu" else ("", "")
        spread = spread if spread[0] else ("", "")
        until = "" if whole or not name else f" until {name} is full"
        carried = f"{rate:,.0f} {unit} a second"
        if not whole:
            offered = f"All offered traffic is carried, including {carried} of {flow.name}"
        elif flow in self._senders:  # it offers less if its process misses ticks of its timer
            offered = f"{flow.name} sends {carried}"
        else:
            offered = f"All offered traffic of {flow.name} is carried, {carried}"
        reason = f"{offered}; {fullest}{spread[0]}.{self._longest_wait(flow)}"
        return Bottleneck(
            "load",
            flow.name,
            share,
            reason=reason,
            relief=f"A higher load can be carried{until}{', and more with ' if spread[1] else ''}{spread[1]}.",
        )

    def _longest_wait(self, flow: _Flow) -> str:
        """A sentence on the queue with the longest wait of an open loop, by Little's law, if it dominates the latency."""
        times = self._record.histograms.get("flow.latency")
        if times is None or flow.name not in times.entities or flow.asked:
            return ""
        index = times.entities.index(flow.name)
        count = int((times.counts[-1][index] - times.counts[self._record.cut][index]).sum())
        total = int(times.sums_ps[-1][index] - times.sums_ps[self._record.cut][index])
        waits = [
            (float(queue.waiting.mean()) * self._record.window_ps / queue.taken, queue)
            for queue in _Path(self._record, Subject("traffic", flow.name)).queues
            if queue.place != "out" and queue.taken * 100 >= flow.packets
        ]
        longest, queue = max(waits, key=lambda entry: entry[0], default=(0.0, None))
        if queue is None or not count or not LARGE_PART * total <= longest * count <= total:
            return ""
        latency_us, wait_us = total / count / 1e6, longest / 1e6
        return f" Of their latency, {_plain(latency_us)} us on average, about {_plain(wait_us)} us pass in {queue.words} {queue.name}."


def _plain(value: float) -> str:
    """Three significant digits, without an exponent for large values."""
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"


_UNSHAPED: Final = "a higher rate of shaping or limit of Network I/O Control"
_TCP: Final = ("connections", "window", "allowed", "in_flight")
_FLOW: Final = ("intended", "delivered", "to_forward", "forwarded", "out", "octets", "asked", "answered")
_PLACES: Final = ("nic", "split", "ring", "list", "socket", "out")
"""Places of loss, as in ``flow.dropped_PLACE``."""


@dataclass(frozen=True)
class _Form:
    """Common properties of the queues at a place."""

    resource: str
    words: str
    key: str = ""
    """Setting that enlarges them."""
    taken: str = "taken"
    dropped: str = "dropped"
    inside: str = "inside"
    capacity: str = "capacity"
    owner: str = "context"
    """Counter with the world that empties the queue, among those of kind ``server``."""
    server: str = ""


_QUEUES: Final = {
    "nic": _Form("ring", "the receive ring", "rx_ring of the NIC", server="netpoll"),
    "split": _Form(
        "ring",
        "the queue of the receive context of",
        taken="split_taken",
        dropped="split_dropped",
        inside="split_inside",
        capacity="split_capacity",
        server="splitrx",
    ),
    "ring": _Form(
        "ring",
        "the receive ring",
        "rx_ring of the VM",
        taken="received",
        dropped="ring_dropped",
        inside="ring_inside",
        capacity="ring_capacity",
        owner="vcpu",
        server="vcpu",
    ),
    "list": _Form("list", "the receive list of", taken="came", server="networld"),
    "socket": _Form("socket", "the sockets read on", taken="read", dropped="socket_dropped", inside="unread"),
    "work": _Form("context", "the work of", taken="started"),
    "out": _Form("ring", "the transmit queue", "tx_ring of the VM", server="networld"),
}
"""Queues by place of loss."""


def _relief(text: str) -> str:
    return f"Relief: {text}."
