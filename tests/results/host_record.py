"""A record of a host with two nodes, two receive queues and two VMs, one of them with a split-receive context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hostsim.engine.record import RunRecord, Series

WINDOW = 10**12
"""One second, after one slice of warm-up."""

_WORLDS = {
    "netpoll": ("poll0", "poll1"),
    "splitrx": ("b.splitRx",),
    "networld": ("a.NetWorld", "b.NetWorld"),
    "vcpu": ("a.vcpu0", "a.vcpu1", "b.vcpu0"),
}
_ENTITIES = {
    **_WORLDS,
    "pcpu": ("pcpu0", "pcpu1", "pcpu2", "pcpu3"),
    "queue": ("vmnic0-rx0", "vmnic0-rx1"),
    "port": ("a.eth0", "a.eth1", "b.eth0"),
    "tx": ("a.eth0", "a.eth1", "b.eth0"),
    "nic": ("vmnic0",),
}
_FIXED: Mapping[str, tuple[int, ...]] = {
    "pcpu.node": (0, 0, 1, 1),
    "queue.context": (1, 0),  # not in their own order
    "queue.capacity": (512, 256),
    "port.context": (-1, -1, 0),
    "port.vcpu": (0, 0, 2),
    "port.split_capacity": (0, 0, 80),
    "port.ring_capacity": (256, 256, 256),
    "tx.context": (0, 0, 1),
    "tx.capacity": (1512, 1512, 1512),
}
_GROWING = (
    *(f"{kind}.{counter}" for kind in _WORLDS for counter in ("used_ps", "ready_ps", "dispatches")),
    *("pcpu.busy_ps", "pcpu.dispatches"),
    *("queue.taken", "queue.dropped", "port.received", "port.ring_dropped", "port.split_taken", "port.split_dropped"),
    *(
        "tx.taken",
        "tx.dropped",
        "nic.rx_wire_ps",
        "nic.tx_wire_ps",
        "nic.rx_frames",
        "nic.rx_dropped",
        "nic.tx_packets",
        "nic.tx_dropped",
    ),
)
_LEVELS = (
    *(f"{kind}.node" for kind in _WORLDS),
    *("queue.inside", "port.ring_inside", "port.split_inside", "tx.inside"),
)


def host_record(changes: Mapping[str, tuple[int, ...]] | None = None, **fields: object) -> RunRecord:
    """A record of an idle host with some changes.

    Args:
        changes: by counter, its growth over the window for each entity (it grew as much before, which does not count); of a level its
            value in the middle of the window, 0 at both ends.
        fields: of the record.
    """
    said = changes or {}
    series = {}
    for name in (*_FIXED, *_GROWING, *_LEVELS):
        entities = _ENTITIES[name.partition(".")[0]]
        values = np.array(said.get(name, _FIXED.get(name, (0,) * len(entities))), np.int64)
        if name in _FIXED:
            rows = [values] * 4
        elif name in _LEVELS:
            rows = (
                [0 * values, 7 + 0 * values, values, 0 * values]
                if name.endswith("inside")
                else [0 * values, *[values] * 3]
            )
        else:
            rows = [0 * values, values, values, 2 * values]
        series[name] = Series(entities, np.array(rows))
    instants = np.array([0, WINDOW, WINDOW + WINDOW // 2, 2 * WINDOW], np.int64)
    known = {"point_id": "p", "replication": 0, "seed": 1, "axes": {}} | fields
    return RunRecord(instants_ps=instants, series=series, histograms={}, cut=1, **known)  # type: ignore[arg-type]


def percent(*shares: float) -> tuple[int, ...]:
    """Shares of the window as times."""
    return tuple(round(share * WINDOW / 100) for share in shares)


def with_function(record: RunRecord) -> RunRecord:
    """The record with ``a.eth0`` as a virtual function: its ring is the first queue of the NIC, which a.vcpu0 polls."""
    names, name = {"a.eth0", "vmnic0-rx0"}, "vmnic0-vf0-rx0"
    series = {
        counter: Series(tuple(name if entity in names else entity for entity in found.entities), found.values)
        if counter.startswith(("port.", "queue."))
        else found
        for counter, found in record.series.items()
    }
    return replace(record, series=series)
