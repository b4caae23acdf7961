"""Laws that hold in every host at every instant; checked at the end of every run at no cost to it.

Each balance is closed with a count made on the spot, never with a difference of the counters it checks. `check_invariants`
looks at the host as it stands; `check_slices` at the samples of all its counters, so that a law that was broken on the way
is found together with the slice in which that happened. The order of packets is checked where they are read
(`hostsim.model.guest.vcpu`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hostsim.engine.ring import Ring
from hostsim.errors import InvariantError
from hostsim.model.host import Host
from hostsim.record import Histogram, Series

__all__ = ["LEVELS", "check_invariants", "check_slices"]

LEVELS = frozenset(
    {
        "queue.inside",
        "queue.inside_copies",
        "port.split_inside",
        "port.ring_inside",
        "port.unread",
        "work.inside",
        "work.in_service",
    }
)
"""Counters that go down as well as up: what is inside."""

_STAGES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("frames", "queue.arrived", ("queue.dropped", "queue.taken", "queue.inside")),
    (
        "packets",
        "port.copies",
        ("port.split_dropped", "port.split_inside", "port.ring_dropped", "port.ring_inside", "port.received"),
    ),
    ("packets", "port.received", ("port.socket_dropped", "port.unread", "port.read")),
    ("bursts", "work.come", ("work.dropped", "work.started", "work.inside")),
)
"""What comes into a stage, and all that can have become of it: at each entity."""
_TOTALS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("packets", ("flow.intended",), ("flow.dropped_nic", "queue.inside_copies", "port.copies", "work.come")),
    ("packets and bursts", ("flow.delivered", "work.in_service"), ("port.read", "work.started")),
)
"""The same for the host as a whole, where a stage has other entities than the one before it."""


def check_invariants(host: Host) -> None:
    """Check conservation at every ring, switch and flow, and that no PCPU was busy for longer than time passed.

    Raises:
        InvariantError: with what, where and when.
    """
    now = host.clock.now

    def law(holds: bool, what: str, where: str) -> None:
        if not holds:
            raise InvariantError(what, where, now)

    def balance(ring: Ring, where: str) -> None:
        inside = ring.count_inside()
        what = f"{ring.pushed} packets in, but {ring.taken} taken + {ring.dropped} dropped + {inside} inside"
        law(ring.pushed == ring.taken + ring.dropped + inside, what, where)

    for queue in host.queues:
        balance(queue.ring, queue.name)
    for port, vcpu in zip(host.ports, host.vcpus, strict=True):
        ring = port.vnic.ring
        balance(ring, port.vnic.name)
        if port.split is not None:
            balance(port.split.ring, port.split.name)
            law(
                port.split.ring.taken == ring.pushed,
                f"{port.split.ring.taken} packets copied but {ring.pushed} put on the ring",
                port.vnic.name,
            )
        law(
            ring.taken == vcpu.received,
            f"{ring.taken} packets left the ring but the guest took {vcpu.received}",
            vcpu.name,
        )
        unread = vcpu.received - vcpu.socket_dropped - vcpu.read
        law(unread == vcpu.in_socket(), f"{unread} packets unread but {vcpu.in_socket()} in the socket", vcpu.name)
        if vcpu.work is not None:
            balance(vcpu.work.ring, f"the work of {vcpu.name}")
    taken = sum(queue.ring.taken for queue in host.queues)
    lost = sum(flow.lost_nic for flow in host.flows)
    works = [vcpu.work for vcpu in host.vcpus if vcpu.work is not None]
    come = sum(work.ring.pushed for work in works)
    sent = sum(flow.sent for flow in host.flows) - come
    inside = sum(queue.ring.count_inside() for queue in host.queues)
    law(
        sent == taken + lost + inside,
        f"{sent} frames sent, but {taken} taken + {lost} dropped + {inside} inside",
        "the wires",
    )
    delivered = sum(flow.delivered for flow in host.flows)
    done = sum(vcpu.read for vcpu in host.vcpus) + sum(work.ring.taken - work.unfinished() for work in works)
    law(
        delivered == done,
        f"{delivered} packets and bursts delivered by flow but {done} read or done by guests",
        "the host",
    )
    for pcpu in host.scheduler.pcpus:
        law(0 <= pcpu.busy(now) <= now, f"busy for {pcpu.busy(now)} ps of {now}", f"pcpu{pcpu.index}")
    charged = sum(world.used for world in host.worlds())
    busy = sum(pcpu.busy(now) for pcpu in host.scheduler.pcpus)
    law(charged == busy, f"{charged} ps charged to worlds but PCPUs were busy for {busy} ps", "the host")
    for flow in host.flows:
        law(flow.latency.least >= 0, f"a packet was read {-flow.latency.least} ps before it came", flow.name)


def check_slices(
    instants: NDArray[np.int64], series: Mapping[str, Series], histograms: Mapping[str, Histogram]
) -> None:
    """Check the samples of a run: conservation per stage and port, time on PCPUs and of worlds, in every time slice.

    A balance that holds at both ends of a window holds over the window: inside at its start and what came equal what was
    delivered, what was dropped, and what is inside at its end.

    Args:
        instants: boundaries of the slices in picoseconds, shape (boundaries,).
        series: all counters.
        histograms: all histograms.

    Raises:
        InvariantError: with what, where, and the end of the first slice in which it was so.
    """
    values = {name: counter.values for name, counter in series.items()}
    widths = np.diff(instants)[:, np.newaxis]

    def law(broken: NDArray[np.bool_], where: tuple[str, ...], what: str, *sides: NDArray[np.int64]) -> None:
        """``broken`` and the sides have a row for each boundary, or each but the first, and a column for each entity."""
        if not broken.any():
            return
        row, column = (int(index[0]) for index in np.nonzero(broken))
        when = int(instants[row - len(broken)])
        raise InvariantError(what.format(*(int(side[row, column]) for side in sides)), where[column], when)

    busy = np.diff(values["pcpu.busy_ps"], axis=0)
    law(busy > widths, series["pcpu.busy_ps"].entities, "busy for {} ps of a slice of {}", busy, widths + 0 * busy)
    for kind in ("vcpu", "netpoll", "splitrx"):
        spent = np.diff(values[f"{kind}.used_ps"] + values[f"{kind}.ready_ps"], axis=0)
        what = "ran and waited for {} ps of a slice of {}"
        law(spent > widths, series[f"{kind}.used_ps"].entities, what, spent, widths + 0 * spent)
    for name, counter in series.items():
        if name in LEVELS:
            law(counter.values < 0, counter.entities, f"{name} is {{}}", counter.values)
        else:
            growth = np.diff(counter.values, axis=0)
            law(growth < 0, counter.entities, f"{name} fell by {{}}", -growth)
    for things, source, sinks in _STAGES:
        come, gone = values[source], np.sum([values[sink] for sink in sinks], axis=0)
        what = f"{{}} {things} came ({source}), but {{}} became something ({' + '.join(sinks)})"
        law(come != gone, series[source].entities, what, come, gone)
    for things, sources, sinks in _TOTALS:
        come, gone = (
            np.sum([values[name].sum(axis=1, keepdims=True) for name in names], axis=0) for names in (sources, sinks)
        )
        what = f"{{}} {things} ({' + '.join(sources)}), but {{}} ({' + '.join(sinks)})"
        law(come != gone, ("the host",), what, come, gone)
    for histogram in histograms.values():
        counted, delivered = histogram.counts.sum(axis=2), values["flow.delivered"]
        law(counted != delivered, histogram.entities, "{} latencies of {} deliveries", counted, delivered)
