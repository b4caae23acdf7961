r"""A run in the format of ``esxtop -b``: CSV with a column for each counter and a row for each sample.

The first row covers the run up to the measured window, as the first sample of esxtop covers the time since the host started; each other row
is a time slice of the window. Only counters that the simulator has are written, in the order and with the names of a public capture
(docs/guide/files-of-your-host.md): each group before its worlds, the transmit context of a VM in its group.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

import numpy as np

from hostsim.config.host import PointSpec
from hostsim.engine.record import AxisValues, FloatArray, RunRecord
from hostsim.results.record_frame import require_finished
from hostsim.units import SECOND

__all__ = ["capture_name", "to_esxtop"]

_START = datetime(2000, 1, 1)
_MILLISECOND = SECOND // 1000
_SYSTEM = 1
"""Number of the group ``system``, which has the contexts of the VMkernel."""
_FIRST_GROUP, _FIRST_WORLD = 10_001, 20_001
_PORTSET = 1 << 24
"""The port numbers of each switch start at a multiple of this number."""
_CPU = {"% Used": "used_ps", "% Ready": "ready_ps", "% CoStop": "costop_ps"}
Columns = Iterator[tuple[str, str, FloatArray]]
"""A counter: object with its instance, name, and a value for each row."""


def to_esxtop(record: RunRecord, spec: PointSpec, host: str) -> str:
    """The CSV of a run.

    Args:
        record: a finished run of a host with a hypervisor.
        spec: its point.
        host: name of the host.

    Raises:
        InputError: the run has failed.
    """
    require_finished(record)
    rows = _Rows(record)
    columns = [*_pcpus(rows), *_worlds(rows), *_uplinks(rows, spec), *_ports(rows, spec)]
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(
        ["(PDH-CSV 4.0) (UTC)(0)", *(f"\\\\{host}\\{instance}\\{counter}" for instance, counter, _ in columns)]
    )
    values = np.array([column for _, _, column in columns]).T
    for time, row in zip(rows.times(), values, strict=True):
        writer.writerow([time, *(f"{value:.2f}" for value in row)])
    return text.getvalue()


def capture_name(axes: AxisValues) -> str:
    """Name of the file of a point: ``receivers-8_rate-40-kpps.csv``."""
    words = [re.sub(r"[^A-Za-z0-9.]+", "-", f"{axis} {value}").strip("-") for axis, value in axes.items()]
    return ("_".join(words)[:150] or "point") + ".csv"


class _Rows:
    """Growth of counters from row to row."""

    def __init__(self, record: RunRecord) -> None:
        self.record = record
        self._ends = record.instants_ps[record.cut :]
        self._lengths = np.diff(self._ends, prepend=0).astype(np.float64)

    def times(self) -> Iterator[str]:
        """The ends of the rows as perfmon times, with enough digits to distinguish them."""
        if not (self._ends % SECOND).any():
            digits = 0
        else:
            digits = 3 if np.diff(self._ends).min(initial=_MILLISECOND) >= _MILLISECOND else 6
        for end in self._ends.tolist():
            time = _START + timedelta(microseconds=round(end * 1_000_000 / SECOND))
            fraction = f".{time.microsecond:06d}"[: digits + 1] if digits else ""
            yield f"{time:%m/%d/%Y %H:%M:%S}{fraction}"

    def names(self, counter: str) -> tuple[str, ...]:
        """Entities of a counter; empty if the record has no such counter."""
        return self.record.series[counter].entities if counter in self.record.series else ()

    def growth(self, counter: str) -> FloatArray:
        """Growth in each row, shape (rows, entities)."""
        values = self.record.series[counter].values[self.record.cut :]
        return np.diff(values, axis=0, prepend=0).astype(np.float64)

    def rate(self, counter: str) -> FloatArray:
        """Growth per second in each row, shape (rows, entities); 0 in a row of no duration."""
        lengths = self._lengths[:, None]
        return np.divide(
            self.growth(counter) * SECOND,
            lengths,
            out=np.zeros((len(lengths), len(self.names(counter)))),
            where=lengths > 0,
        )

    def percent(self, counter: str) -> FloatArray:
        """A time as a share of each row, in percent."""
        return self.rate(counter) * (100 / SECOND)


def _pcpus(rows: _Rows) -> Columns:
    for counter, name in (("% Processor Time", "pcpu.used_ps"), ("% Util Time", "pcpu.busy_ps")):
        if rows.names(name):
            table = rows.percent(name)
            for pcpu in range(table.shape[1]):
                yield f"Physical Cpu({pcpu})", counter, table[:, pcpu]
            yield "Physical Cpu(_Total)", counter, table.mean(axis=1)


def _worlds(rows: _Rows) -> Columns:
    """Groups, each before its worlds: ``system`` with the VMkernel contexts, then each VM with its transmit context and vCPUs."""
    vms = _vms(rows)
    groups: dict[str, list[tuple[str, str, int]]] = {"": [], **{vm: [] for vm in vms}}
    for kind in ("netpoll", "splitrx", "vmkernel", "networld", "vcpu"):
        for index, name in enumerate(rows.names(f"{kind}.used_ps")):
            vm = _vm(name) if kind in ("networld", "vcpu") and _vm(name) in vms else ""
            called = name
            if vm:
                world = f"NetWorld-VM-{vms[vm].first_world}"
                called = world if kind == "networld" else f"vmx-vcpu-{name.rpartition('vcpu')[2]}:{vm}"
            groups[vm].append((kind, called, index))
    numbers = count(_FIRST_WORLD + len(vms))
    tables = {
        (kind, counter): rows.percent(f"{kind}.{name}")
        for kind in dict.fromkeys(kind for worlds in groups.values() for kind, _, _ in worlds)
        for counter, name in _CPU.items()
    }
    for vm, worlds in groups.items():
        group = f"{vms[vm].group}:{vm}" if vm else f"{_SYSTEM}:system"
        for counter in _CPU if worlds else ():
            columns = [tables[kind, counter][:, index] for kind, _, index in worlds]
            yield f"Group Cpu({group})", counter, np.sum(columns, axis=0)
        for kind, called, index in worlds:
            instance = f"Vcpu({group}:{next(numbers)}:{called})"
            for counter in _CPU:
                yield instance, counter, tables[kind, counter][:, index]


def _vm(entity: str) -> str:
    """The VM of one of its parts: ``web[0]`` of ``web[0].vcpu1``."""
    return entity.partition(".")[0]


@dataclass(frozen=True)
class _Vm:
    """Numbers of a VM in the counter paths."""

    group: int
    first_world: int
    """The VM's first world, whose number identifies its ports and transmit context."""


def _vms(rows: _Rows) -> dict[str, _Vm]:
    names = dict.fromkeys(map(_vm, rows.names("vcpu.used_ps")))
    return {name: _Vm(_FIRST_GROUP + index, _FIRST_WORLD + index) for index, name in enumerate(names)}


def _switches(spec: PointSpec) -> Mapping[str, int]:
    """The first port of each switch."""
    switches = [name for name, vswitch in spec.vswitches.items() if vswitch.port_group_of is None]
    return {name: (index + 2) * _PORTSET for index, name in enumerate(switches)}


def _uplinks(rows: _Rows, spec: PointSpec) -> Columns:
    ports = _switches(spec)
    for index, nic in enumerate(rows.names("nic.rx_frames")):
        for switch, first in ports.items():
            if nic in spec.vswitches[switch].uplinks:
                instance = f"Network Port({switch}:{first + 2 + spec.vswitches[switch].uplinks.index(nic)}:{nic})"
                received, sent = (rows.rate(name)[:, index] for name in ("nic.rx_frames", "nic.tx_packets"))
                yield instance, "Link Up?", np.ones(len(sent))
                yield instance, "Link Speed (Mb/s)", np.full(len(sent), spec.hardware.nics[nic].rate / 1e6)
                yield instance, "Packets Transmitted/sec", sent
                yield instance, "Packets Received/sec", received
                yield instance, "MBits Received/sec", rows.rate("nic.rx_octets")[:, index] * (8 / 1e6)
                yield instance, "% Outbound Packets Dropped", _share(rows.rate("nic.tx_dropped")[:, index], sent)
                yield instance, "% Received Packets Dropped", _share(rows.rate("nic.rx_dropped")[:, index], received)


def _ports(rows: _Rows, spec: PointSpec) -> Columns:
    """Ports of the VMs' vNICs, each the sum of its queues."""
    vms, ports = _vms(rows), _switches(spec)
    groups = {group.name: group for group in spec.vms}
    received, lost = (_by_vnic(rows, name) for name in ("port.received", "port.ring_dropped"))
    sent, refused = (_by_vnic(rows, name) for name in ("tx.taken", "tx.dropped"))
    taken = dict.fromkeys(ports, 100)
    for vnic in received:
        vm, _, device = vnic.partition(".")
        networks = groups[vm.rpartition("[")[0]].networks if vm.rpartition("[")[0] in groups else ()
        nic = device.removeprefix("eth")
        if vm not in vms or not nic.isdecimal() or int(nic) >= len(networks):
            continue
        switch = spec.vswitches[networks[int(nic)]].port_group_of or networks[int(nic)]
        taken[switch] += 1
        instance = f"Network Port({switch}:{ports[switch] + taken[switch]}:{vms[vm].first_world}:{vm})"
        out, away = sent.get(vnic), refused.get(vnic)
        if out is not None:
            yield instance, "Packets Transmitted/sec", out
        yield instance, "Packets Received/sec", received[vnic]
        if out is not None and away is not None:
            yield instance, "% Outbound Packets Dropped", _share(away, out)
        yield instance, "% Received Packets Dropped", _share(lost[vnic], received[vnic])


def _by_vnic(rows: _Rows, counter: str) -> dict[str, FloatArray]:
    """A rate of each vNIC (``web[0].eth0``), the sum over its queues (``web[0].eth0-rx1``)."""
    totals: dict[str, FloatArray] = {}
    if not rows.names(counter):
        return totals
    table = rows.rate(counter)
    for index, name in enumerate(rows.names(counter)):
        vm, _, device = name.partition(".")
        vnic = f"{vm}.{device.partition('-')[0]}"
        totals[vnic] = totals[vnic] + table[:, index] if vnic in totals else table[:, index]
    return totals


def _share(dropped: FloatArray, passed: FloatArray) -> FloatArray:
    """Dropped packets in percent of all; 0 without packets."""
    whole = dropped + passed
    return np.divide(100 * dropped, whole, out=np.zeros(len(whole)), where=whole > 0)
