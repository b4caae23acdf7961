"""Invariants of a run: conservation of packets and CPU time, checked at its end.

Each balance is closed with an independent count, never with a difference of the counters under test. `check_invariants`
checks the state of the host; `check_slices` checks the samples of all counters, so that a violation is reported with
its slice (docs/decisions/0007). The order of packets is checked where they are read (`hostsim.model.guest.vcpu`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hostsim.engine.record import Histogram, IntArray, Series
from hostsim.errors import InvariantError
from hostsim.model.host import Host
from hostsim.model.telemetry import VMKERNEL, WORLD_KINDS

__all__ = ["LEVELS", "check_invariants", "check_slices"]

LEVELS = frozenset(
    {
        "queue.inside",
        "queue.inside_copies",
        "port.split_inside",
        "port.ring_inside",
        "guest.unread",
        "tx.inside",
        "tx.in_flight",
        "tcp.allowed",
        "tcp.in_flight",
        "local.inside",
        *(f"{kind}.node" for kind in (*WORLD_KINDS, VMKERNEL)),
        "work.inside",
        "work.in_service",
    }
)
"""Counters that may fall: contents of stages, and congestion windows."""

_STAGES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("frames", "queue.arrived", ("queue.dropped", "queue.taken", "queue.inside")),
    (
        "packets",
        "port.copies",
        ("port.split_dropped", "port.split_inside", "port.ring_dropped", "port.ring_inside", "port.received"),
    ),
    ("frames", "guest.came", ("guest.socket_dropped", "guest.unread", "guest.read")),
    ("packets", "tx.posted", ("tx.dropped", "tx.taken", "tx.inside")),
    ("packets", "tx.taken", ("tx.completed", "tx.in_flight")),
    ("packets", "local.came", ("local.delivered", "local.dropped", "local.inside")),
    ("bursts", "work.come", ("work.dropped", "work.started", "work.inside")),
)
"""Input of a stage and all its possible results, for each entity; stages that a host does not have are skipped."""
_TOTALS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("packets", ("flow.intended",), ("flow.dropped_nic", "queue.inside_copies", "port.frames", "work.come")),
    *(
        ("packets", (counter,), (f"flow.dropped_{place}",))
        for place, counter in (
            ("split", "port.split_dropped"),
            ("ring", "port.ring_lost"),
            ("list", "local.lost"),
            ("socket", "guest.socket_dropped"),
        )
    ),
    ("packets", ("switched.packets",), ("local.came",)),
    ("packets and bursts", ("flow.delivered", "work.in_service"), ("guest.read", "work.started")),
)
"""Input and results for the whole host, where the entities of a stage differ from those of the one before."""
_TIMED = {"flow.latency": "flow.delivered", "work.time": "flow.delivered", "flow.response": "flow.answered"}
"""Counter that equals the number of times in each histogram."""


def check_invariants(host: Host) -> None:
    """Check the invariants that samples do not cover.

    Charged and busy time, split-receive copies, negative latencies, and forwarded packets.

    Raises:
        InvariantError: an invariant is violated; with its values, entity and time.
    """
    now = host.clock.now
    charged = sum(world.used for world in host.worlds())
    busy = sum(pcpu.busy(now) for pcpu in host.scheduler.pcpus)
    if charged != busy:
        raise InvariantError(f"{charged} ps charged to worlds but PCPUs were busy for {busy} ps", "the host", now)
    for port in host.ports:
        if port.split is None:
            continue
        sent = port.split.ring.taken + port.vnic.unicast  # unicast bypasses the split-receive context
        if sent != port.vnic.ring.pushed:
            message = f"{sent} packets copied and delivered but {port.vnic.ring.pushed} put on the ring"
            raise InvariantError(message, port.vnic.name, now)
    for flow in host.flows:
        for log, message in ((flow.latency, "a packet was read"), (flow.work_time, "a burst was done")):
            if log.least < 0:
                raise InvariantError(f"{message} {-log.least} ps before its arrival", flow.name, now)
        if flow.to_forward > flow.delivered or flow.forwarded > flow.to_forward:
            message = (
                f"{flow.forwarded} packets forwarded of {flow.to_forward} to forward of {flow.delivered} delivered"
            )
            raise InvariantError(message, flow.name, now)


def check_slices(instants: IntArray, series: Mapping[str, Series], histograms: Mapping[str, Histogram]) -> None:
    """Check the samples of a run in every time slice: conservation per stage and port, and CPU time.

    A balance that holds at both ends of a window holds over the window: packets inside at its start and arrivals equal
    deliveries, drops, and packets inside at its end.

    Args:
        instants: boundaries of the slices in picoseconds, shape (boundaries,).
        series: all counters.
        histograms: all histograms.

    Raises:
        InvariantError: an invariant is violated; with its values, entity, and the end of the first such slice.
    """
    values = {name: counter.values for name, counter in series.items()}
    widths = np.diff(instants)[:, np.newaxis]

    def law(broken: NDArray[np.bool_], where: tuple[str, ...], message: str, *sides: IntArray) -> None:
        """Report the first element of ``broken``.

        ``broken`` and the sides have a row for each boundary, or for all but the first, and a column for each entity.
        """
        if not broken.any():
            return
        row, column = (int(index[0]) for index in np.nonzero(broken))
        when = int(instants[row - len(broken)])
        raise InvariantError(message.format(*(int(side[row, column]) for side in sides)), where[column], when)

    busy = np.diff(values["pcpu.busy_ps"], axis=0)
    law(busy > widths, series["pcpu.busy_ps"].entities, "busy for {} ps of a slice of {}", busy, widths + 0 * busy)
    for kind in (*WORLD_KINDS, VMKERNEL):
        if f"{kind}.used_ps" not in series:  # a host without VMkernel ports
            continue
        spent = np.diff(sum(values[f"{kind}.{state}_ps"] for state in ("used", "ready", "costop")), axis=0)
        message = "ran and waited for {} ps of a slice of {}"
        law(spent > widths, series[f"{kind}.used_ps"].entities, message, spent, widths + 0 * spent)
    for name, counter in series.items():
        if name in LEVELS:
            law(counter.values < 0, counter.entities, f"{name} is {{}}", counter.values)
        else:
            earlier, later = counter.values[:-1], counter.values[1:]
            if (later < earlier).any():  # most counters, so differences are not computed for all
                law(later < earlier, counter.entities, f"{name} fell by {{}}", earlier - later)
    for things, source, sinks in _STAGES:
        if source not in values:
            continue
        come, gone = values[source], np.sum([values[sink] for sink in sinks], axis=0)
        message = f"{{}} {things} arrived ({source}), but {{}} are accounted for ({' + '.join(sinks)})"
        law(come != gone, series[source].entities, message, come, gone)
    for things, sources, sinks in _TOTALS:
        if sources[0] not in values:
            continue
        come, gone = (
            np.sum([values[name].sum(axis=1, keepdims=True) for name in names], axis=0) for names in (sources, sinks)
        )
        message = f"{{}} {things} ({' + '.join(sources)}), but {{}} ({' + '.join(sinks)})"
        law(come != gone, ("the host",), message, come, gone)
    for name, histogram in histograms.items():
        counter = series[_TIMED[name]]
        columns = [counter.entities.index(entity) for entity in histogram.entities]
        counted, events = histogram.counts.sum(axis=2), counter.values[:, columns]
        law(counted != events, histogram.entities, f"{{}} times in {name} of {{}} in {_TIMED[name]}", counted, events)
    asked, answered = values["flow.asked"], values["flow.answered"]
    law(answered > asked, series["flow.asked"].entities, "{} answers to {} requests", answered, asked)
