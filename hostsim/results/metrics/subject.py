"""Subjects of measures: parts of the host, from a traffic entry to a PCPU, and parts of a run.

A measure of a subject is a measure of the catalogue, evaluated on the record restricted to the counters and histograms
of that subject (`Subject.of`). A subject has a measure if it has every counter that the measure reads (`has`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol, Self, TypeVar

import numpy as np

from hostsim.engine.record import Histogram, RunRecord, Series
from hostsim.errors import Fault, InputError, unknown_name
from hostsim.results.metrics.functions import Metric

__all__ = [
    "IN_PART",
    "KINDS",
    "MOST_PARTS",
    "OF",
    "Kind",
    "SharedTrafficError",
    "Subject",
    "chosen",
    "group_masks",
    "groups_of",
    "has",
    "kinds_with",
    "named",
    "of_subject",
    "of_subject_name",
    "parsed",
    "part_names",
    "part_of",
    "parted",
    "reads_traffic",
    "require_kind",
    "shared_fault",
    "stretch",
    "subject_of",
    "subjects",
    "words",
]


class _Sampled(Protocol):
    def thinned(self, rows: list[int]) -> Self: ...


_Samples = TypeVar("_Samples", bound=_Sampled)
_Stored = TypeVar("_Stored")


class _Thinned(Mapping[str, _Samples]):
    """Series or histograms at some boundaries, computed on demand, as a measure reads few."""

    def __init__(self, whole: Mapping[str, _Samples], rows: list[int]) -> None:
        self._whole, self._rows = whole, rows

    def __getitem__(self, name: str) -> _Samples:
        return self._whole[name].thinned(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)


def stretch(record: RunRecord, rows: list[int]) -> RunRecord:
    """The run with some of its boundaries, as by `RunRecord.thinned`, but computed on demand."""
    series, histograms = _Thinned(record.series, rows), _Thinned(record.histograms, rows)
    return replace(record, instants_ps=record.instants_ps[rows], series=series, histograms=histograms, cut=0)


def part_of(record: RunRecord, part: int, count: int) -> RunRecord:
    """One of several equal parts of a run, including warm-up; it ends at the nearest ends of slices.

    Args:
        record: a finished run with all its slices.
        part: number of the part, from 1.
        count: number of parts of the run.
    """
    instants = record.instants_ps
    ends = [int(np.abs(instants - int(instants[-1]) * border // count).argmin()) for border in (part - 1, part)]
    return stretch(record, ends)


OF = " of "
"""Separator of a measure and its subject: ``latency_p99 of feed``."""
IN_PART = " in part "
"""Separator before one of several equal parts of the run, including warm-up: ``latency_p99 of feed in part 3/24``."""
MOST_PARTS = 64
"""Largest number of parts of a run, which has at least 128 slices; parts end at the nearest ends of slices."""
_PART = re.compile(r"(?:(.*) |)in part (\d{1,2})/(\d{1,2})")
_BY_VM = frozenset({"vcpu", "guest", "port", "tx", "networld", "splitrx", "work", "local", "switched"})
_VM = re.compile(r"(.+)\[\d+\]")
_WORLDS = {".vcpu": "vcpu", "-pollWorld": "netpoll", ".splitRx": "splitrx", ".NetWorld": "networld"}
_TRAFFIC = {
    "port.split_dropped": "flow.dropped_split",
    "port.ring_lost": "flow.dropped_ring",
    "local.lost": "flow.dropped_list",
    "guest.socket_dropped": "flow.dropped_socket",
    "guest.read": "flow.delivered",
}
"""Traffic counters whose sum equals counters of other entities."""
_QUEUE: dict[str, dict[str, str]] = {
    "queue": {"nic.rx_frames": "queue.taken", "nic.rx_dropped": "queue.dropped"},
    "port": {"nic.rx_frames": "port.received", "nic.rx_dropped": "port.ring_dropped"},
    "tx": {},
}
"""Counters of queues by the kind of their entities: receive queues of NICs, receive and transmit queues of vNICs."""


@dataclass(frozen=True)
class Kind:
    """A kind of subject, with the entities of its counters."""

    words: str
    """Name in the plural, for errors."""
    counters: frozenset[str]
    """Kinds of its counters: the part of a counter's name before the dot."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """Its counters that replace others of the same meaning."""
    has_traffic: bool = False
    """True if counters and histograms of traffic belong to it."""


KINDS = {
    "traffic": Kind("traffic entries", frozenset({"flow", "trip", "tcp"}), _TRAFFIC, has_traffic=True),
    "group": Kind("VM groups", _BY_VM | {"flow", "trip", "tcp"}, has_traffic=True),
    "vm": Kind("VMs", _BY_VM | {"flow", "trip", "tcp"}, has_traffic=True),
    "vnic": Kind("vNICs", frozenset({"port", "tx", "local", "switched"})),
    "port": Kind("ports of physical NICs", frozenset({"nic", "queue", "netpoll"})),
    "queue": Kind("queues", frozenset({"queue", "port", "tx"}), _QUEUE["queue"]),
    "world": Kind("worlds", frozenset({*_WORLDS.values(), "firmware", "guest", "work"})),
    "pcpu": Kind("PCPUs", frozenset({"pcpu"})),
    "node": Kind("NUMA nodes", frozenset({"pcpu", "node"})),
}
"""Kinds of subjects by name, in the order of look-up."""


class _Recording(Mapping[str, _Stored]):
    """Provides the same value for any name, and records which names a measure reads."""

    def __init__(self, value: _Stored, names: set[str], prefix: str = "") -> None:
        self._value, self._names, self._prefix = value, names, prefix

    def __getitem__(self, name: str) -> _Stored:
        self._names.add(self._prefix + name)
        return self._value

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@cache
def _reads(metric: Metric) -> frozenset[str]:
    """Counters that a measure reads, and ``time`` before the names of histograms."""
    names: set[str] = set()
    series = _Recording(Series(("one",), np.array([[0], [1]])), names)
    one_time = Histogram(("one",), np.array([0, 1]), np.array([[[0]], [[1]]]), np.array([[0], [1]]))
    histograms = _Recording(one_time, names, "time ")
    metric.evaluate(RunRecord("", 0, 0, {}, np.array([0, 10**12]), series, histograms, 0))
    return frozenset(names)


def _world_kind(name: str) -> str:
    return next((kind for part, kind in _WORLDS.items() if part in name), "firmware")


def has(metric: Metric, kind: str, name: str = "") -> bool:
    """True if a subject of a kind has a measure.

    Args:
        metric: metric of the catalogue.
        kind: one of `KINDS`.
        name: name of the subject; needed for a world, whose kind is in its name.
    """
    if metric.name.endswith("_per_nic"):  # equals the measure without this suffix
        return False
    subject_kind, instead = KINDS[kind], _instead(kind, name)
    return any(
        all(
            subject_kind.has_traffic
            if read.startswith("time ")
            else read in instead or read.partition(".")[0] in counters
            for read in _reads(metric)
        )
        for counters in _counters(kind, name)
    )


def _counters(kind: str, name: str) -> list[frozenset[str]]:
    """Kinds of the counters of a subject; for a world or queue without a name, those of each kind."""
    match kind:
        case "world":
            owns = [_world_kind(name)] if name else [*_WORLDS.values(), "firmware"]
            return [frozenset({own, *(("guest", "work") if own == "vcpu" else ())}) for own in owns]
        case "queue":
            owns = [_queue_kind(name)] if name else [*_QUEUE]
            return [frozenset({own}) for own in owns]
        case _:
            return [KINDS[kind].counters]


def _queue_kind(name: str) -> str:
    return "tx" if "-tx" in name else "port" if _VM.match(name) else "queue"


def _instead(kind: str, name: str) -> Mapping[str, str]:
    """Counters of a subject that replace others of the same meaning."""
    return _QUEUE[_queue_kind(name)] if kind == "queue" and name else KINDS[kind].instead


def kinds_with(metric: Metric) -> str:
    """The kinds of subjects that have a measure, in words."""
    return (
        ", ".join(KINDS[kind].words for kind in KINDS if has(metric, kind))
        or "no subject: it is a measure of the host only"
    )


def parsed(name: str) -> tuple[str, str]:
    """A measure and its subject from a name, with the part of the run; an empty subject without one."""
    measure, _, subject = name.partition(OF)
    if not subject and IN_PART in name:
        measure, _, part = name.partition(IN_PART)
        subject = f"{IN_PART.lstrip()}{part}"
    return measure, subject


def of_subject_name(measure: str, subject: str | None) -> str:
    """The name of a measure of a subject; of the host without a subject."""
    if not subject:
        return measure
    return f"{measure} {subject}" if subject.startswith(IN_PART.lstrip()) else f"{measure}{OF}{subject}"


def part_names(measure: str, parts: int) -> list[str]:
    """The names of a measure, with or without a subject, in each of ``parts`` equal parts of a run."""
    return [f"{measure}{IN_PART}{part}/{parts}" for part in range(1, parts + 1)]


def parted(subject: str) -> tuple[str, tuple[int, int] | None]:
    """A subject without its part of the run, and that part: its number from 1, and the number of parts.

    The part is None without one.

    Raises:
        InputError: the part does not exist.
    """
    match = _PART.fullmatch(subject)
    if match is None:
        return subject, None
    part, count = int(match[2]), int(match[3])
    if not 1 <= part <= count <= MOST_PARTS:
        allowed = f"1/N to N/N with N up to {MOST_PARTS}"
        raise InputError(Fault("is not a part of a run", given=f"{part}/{count}", allowed=allowed))
    return match[1] or "", (part, count)


def words(text: str) -> tuple[str, str]:
    """The kind and the name of a written subject, ``traffic feed``; the kind is empty for ``feed``."""
    kind, _, name = text.partition(" ")
    return (kind, name) if name and kind in KINDS else ("", text)


def groups_of(record: RunRecord) -> list[str]:
    """VM groups of a run, in their order."""
    return list(dict.fromkeys(name.partition("[")[0] for name in _vms(record)))


def group_masks(record: RunRecord) -> list[int]:
    """VM groups of each traffic entry as bits, in the order of `groups_of`; -1, all bits, if unknown.

    0 for traffic of the VMkernel, and for traffic without packets, as of groups without VMs.
    """
    names = _entities(record, "flow.sent")
    if "flow.groups" not in record.series:
        return [-1] * len(names)
    of_vmkernel = {world.rpartition(".")[0] for world in _entities(record, "vmkernel.used_ps")}
    counters = [
        record.series[f"flow.{counter}"].values[-1] for counter in ("sent", "out") if f"flow.{counter}" in record.series
    ]
    carried = np.sum(counters, axis=0)
    masks = record.series["flow.groups"].values[-1]
    return [
        int(mask) or (0 if name in of_vmkernel or not packets else -1)
        for name, mask, packets in zip(names, masks, carried, strict=True)
    ]


def _entities(record: RunRecord, counter: str) -> tuple[str, ...]:
    series = record.series.get(counter)
    return series.entities if series is not None else ()


def _vms(record: RunRecord) -> list[str]:
    names = (_VM.match(entity) for entity in _entities(record, "vcpu.used_ps"))
    return list(dict.fromkeys(name.group() for name in names if name))


def require_kind(kind: str) -> None:
    """Raises InputError for an unknown kind of subject."""
    if kind not in KINDS:
        raise InputError(unknown_name("kind of subject", "by", kind, KINDS))


def subjects(record: RunRecord, kind: str) -> list[str]:
    """Names of the subjects of a kind in a run, without duplicates.

    Args:
        record: a finished run.
        kind: one of `KINDS`.

    Raises:
        InputError: an unknown kind.
    """
    require_kind(kind)
    queues = [name for counter in ("port.received", "tx.taken") for name in _entities(record, counter)]
    listed: dict[str, Callable[[], list[str] | tuple[str, ...]]] = {
        "traffic": lambda: _entities(record, "flow.sent"),
        "group": lambda: groups_of(record),
        "vm": lambda: _vms(record),
        "vnic": lambda: [_without_queue(name) for name in queues],
        "port": lambda: _entities(record, "nic.rx_frames"),
        "queue": lambda: [*_entities(record, "queue.taken"), *queues],
        "world": lambda: [
            name for world in (*_WORLDS.values(), "firmware") for name in _entities(record, f"{world}.used_ps")
        ],
        "pcpu": lambda: _entities(record, "pcpu.busy_ps"),
        "node": lambda: _entities(record, "node.memory_ps"),
    }
    return list(dict.fromkeys(listed[kind]()))


def _without_queue(name: str) -> str:
    return re.sub(r"-(rx|tx)\d+$", "", name)


@dataclass(frozen=True)
class Subject:
    """A subject of measures: a part of the host, by its kind and name."""

    kind: str
    """One of `KINDS`."""
    name: str

    def of(self, record: RunRecord) -> RunRecord:
        """The record restricted to this subject: counters and histograms of its entities.

        Counters of other kinds are left out. A subject that the run lacks has no entities.
        """
        return replace(record, series=_Restricted(record, self), histograms=_RestrictedHistograms(record, self))

    def holds(self, record: RunRecord, kind: str, entity: str) -> bool:
        """True if an entity with counters of the given kind belongs to this subject."""
        match self.kind:
            case "group":
                return entity.startswith(f"{self.name}[")
            case "vm":
                return entity == self.name or entity.startswith((f"{self.name}.", f"{self.name}-"))
            case "vnic":
                return _without_queue(entity) == self.name
            case "port":
                return entity == self.name or entity.startswith(f"{self.name}-")
            case "node" if kind == "pcpu":
                nodes = record.series["pcpu.node"]
                home = nodes.values[-1][nodes.entities.index(entity)]
                return f"node{home}" == self.name
            case _:
                return entity == self.name

    def traffic(self, record: RunRecord) -> tuple[str, ...]:
        """Names of the traffic entries that belong to this subject only.

        Raises:
            InputError: the record does not have the groups of its traffic, or a traffic entry also belongs to other
            subjects.
        """
        entries = _entities(record, "flow.sent")
        if self.kind == "traffic":
            return tuple(name for name in entries if name == self.name)
        groups = groups_of(record)
        group = self.name.partition("[")[0]
        if "flow.groups" not in record.series:
            raise _lacking(f"the VM groups of its traffic, {', '.join(entries)}")
        if group not in groups:
            return ()
        bit = 1 << groups.index(group)
        masks = group_masks(record)
        own = [name for name, mask in zip(entries, masks, strict=True) if mask & bit]
        alone = [name for name, mask in zip(entries, masks, strict=True) if mask == bit]
        if self.kind == "vm" and own and len([name for name in _vms(record) if name.startswith(f"{group}[")]) > 1:
            raise _shared(own, f"all VMs of {group}")
        if len(own) > len(alone):
            raise _shared([name for name in own if name not in alone], "several VM groups")
        return tuple(alone)


class SharedTrafficError(InputError):
    """Traffic shared by several subjects, whose measures belong to none of them."""


def _lacking(missing: str) -> InputError:
    return InputError(Fault(f"the record of an earlier version does not have {missing}", allowed="after a new run"))


def _shared(traffic: Iterable[str], whose: str) -> SharedTrafficError:
    return SharedTrafficError(shared_fault(traffic, whose))


def shared_fault(traffic: Iterable[str], whose: str) -> Fault:
    """The fault of a measure of traffic with packets of several groups or VMs."""
    names = ", ".join(f"traffic {name}" for name in traffic)
    return Fault(f"has traffic of {whose}, whose packets are not counted separately", allowed=names)


def reads_traffic(metric: Metric) -> bool:
    """True for a measure that reads counters or histograms of traffic."""
    return any(read.startswith(("time ", "flow.", "trip.")) for read in _reads(metric))


class _Restricted(Mapping[str, Series]):
    """The counters of a subject, computed on demand, as a measure reads few."""

    def __init__(self, record: RunRecord, subject: Subject) -> None:
        self._record, self._subject, self._kind = record, subject, KINDS[subject.kind]
        self._instead = _instead(subject.kind, subject.name)

    def __getitem__(self, name: str) -> Series:
        if name not in self:
            raise KeyError(name)
        record, subject = self._record, self._subject
        source = self._instead.get(name, name)
        if source not in record.series:
            raise _lacking(source)
        series, kind = record.series[source], source.partition(".")[0]
        if kind in ("flow", "trip", "tcp") and subject.kind != "traffic":
            names = subject.traffic(record)
            kept = [index for index, entity in enumerate(series.entities) if entity in names]
        elif name == "guest.read" and subject.kind == "traffic" and subject.name in _bursts(record):
            kept = []  # bursts of work are not packets
        else:
            kept = [p for p, entity in enumerate(series.entities) if subject.holds(record, kind, entity)]
        return Series(tuple(series.entities[column] for column in kept), series.values[:, kept])

    def __contains__(self, name: object) -> bool:
        return name in self._record.series and (
            name in self._instead or str(name).partition(".")[0] in self._kind.counters
        )

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._record.series if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _bursts(record: RunRecord) -> tuple[str, ...]:
    """Traffic entries of CPU work."""
    work = record.histograms.get("work.time")
    return work.entities if work is not None else ()


class _RestrictedHistograms(Mapping[str, Histogram]):
    """The histograms of a subject's traffic."""

    def __init__(self, record: RunRecord, subject: Subject) -> None:
        self._record, self._subject = record, subject

    def __getitem__(self, name: str) -> Histogram:
        if not KINDS[self._subject.kind].has_traffic:
            raise KeyError(name)
        whole, names = self._record.histograms[name], self._subject.traffic(self._record)
        kept = [index for index, entity in enumerate(whole.entities) if entity in names]
        entities = tuple(whole.entities[row] for row in kept)
        return replace(whole, entities=entities, counts=whole.counts[:, kept], sums_ps=whole.sums_ps[:, kept])

    def __iter__(self) -> Iterator[str]:
        return iter(self._record.histograms if KINDS[self._subject.kind].has_traffic else ())

    def __len__(self) -> int:
        return sum(1 for _ in self)


def subject_of(record: RunRecord, text: str, metric: Metric | None = None) -> Subject | None:
    """The subject of a run by its name, or None.

    Args:
        record: a finished run.
        text: name of the subject, after its kind if names are not unique: ``traffic feed``.
        metric: metric to evaluate; of several subjects with the name, the one that has it is returned.

    Raises:
        InputError: several subjects have the name, or none of them has the measure.
    """
    kind, name = words(text)
    candidates = [
        Subject(kind_of, name) for kind_of in ([kind] if kind else KINDS) if name in subjects(record, kind_of)
    ]
    return chosen(candidates, text, metric) if candidates else None


def of_subject(metric: Metric, subject: str) -> Metric:
    """The metric of a subject: the same function on the restricted record.

    It is NaN without such a subject, or if its traffic is not counted separately.

    Args:
        metric: metric of the host.
        subject: name as for `subject_of`, with a part of the run as for `parted`.
    """
    whole, part = parted(subject)
    if part is not None:
        part_number, count = part
        inner = of_subject(metric, whole) if whole else metric
        return replace(
            inner,
            name=of_subject_name(metric.name, subject),
            meaning=f"{inner.meaning} In part {part_number} of {count} equal parts of the run.",
            evaluate=lambda record: inner.evaluate(part_of(record, part_number, count)),
            slices=None,
            raw=of_subject_name(metric.raw, subject) if metric.raw else "",
        )

    def evaluate(record: RunRecord) -> float:
        match = subject_of(record, subject, metric)
        try:
            return float("nan") if match is None else metric.evaluate(match.of(record))
        except SharedTrafficError:
            return float("nan")

    def slices(record: RunRecord) -> int:
        match = subject_of(record, subject, metric)
        return 0 if match is None or metric.slices is None else metric.slices(match.of(record))

    return replace(
        metric,
        name=f"{metric.name}{OF}{subject}",
        meaning=f"{metric.meaning} Only for {subject}.",
        evaluate=evaluate,
        slices=None if metric.slices is None else slices,
        raw=f"{metric.raw}{OF}{subject}" if metric.raw else "",
    )


def named(name: str, traffic: Iterable[str], groups: Iterable[str], ports: Iterable[str]) -> list[Subject]:
    """Possible subjects with a name in the runs of a scenario, by the names in its file.

    Args:
        name: name of the subject without its kind.
        traffic: names of traffic entries.
        groups: names of VM groups.
        ports: names of ports of physical NICs.
    """
    vm = rf"(?:{'|'.join(map(re.escape, groups)) or '(?!)'})\[\d+\]"
    port = f"(?:{'|'.join(map(re.escape, ports)) or '(?!)'})"
    patterns = {
        "traffic": "|".join(map(re.escape, traffic)) or "(?!)",
        "group": "|".join(map(re.escape, groups)) or "(?!)",
        "vm": vm,
        "vnic": rf"{vm}\.eth\d+",
        "port": port,
        "queue": rf"{vm}\.eth\d+(-(rx|tx)\d+)?|{port}(-vf\d+)?-rx\d+",
        "world": rf"{vm}\.(vcpu\d+|splitRx|NetWorld\S*)|{port}-pollWorld-\d+",
        "pcpu": r"pcpu\d+",
        "node": r"node\d+",
    }
    return [Subject(kind, name) for kind, pattern in patterns.items() if re.fullmatch(pattern, name)]


def chosen(candidates: list[Subject], text: str, metric: Metric | None) -> Subject:
    """Of several subjects with a name, the one that has a measure.

    Raises:
        InputError: several or none have it.
    """
    sound = [candidate for candidate in candidates if metric is None or has(metric, candidate.kind, candidate.name)]
    if not sound:
        assert metric is not None  # without a measure all are valid
        kinds = " and ".join(KINDS[candidate.kind].words for candidate in candidates)
        raise InputError(Fault(f"{metric.name} is not a measure of {kinds}", "of", repr(text), kinds_with(metric)))
    if len(sound) > 1:
        allowed = ", ".join(f"{candidate.kind} {candidate.name}" for candidate in sound)
        raise InputError(Fault("several subjects have this name", "of", repr(text), allowed))
    return sound[0]
