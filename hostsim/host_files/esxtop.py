r"""Reader of ``esxtop -b``: CSV with counter paths in the first line, and a sample in each other line.

The grammar is taken from captures and scripts in public repositories. A capture may have a terminal message before its
first line and an incomplete last line; one that was edited in a spreadsheet may lack quotes and the host name.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from hostsim.engine.record import FloatArray
from hostsim.errors import Fault, InputError
from hostsim.host_files.contents import Contents, Reading, mean_of, rate_of

__all__ = ["read_esxtop"]

_START = "(PDH-CSV"
_PATH = re.compile(
    r"(?:\\\\(?P<host>[^\\]*)\\)?(?P<object>[^\\(]+?)\s*(?:\((?P<instance>.*)\))?\\(?P<counter>[^\\]+)", re.DOTALL
)
_VCPU = re.compile(r"vmx-vcpu-\d+")
_NETPOLL = re.compile(r"vmnic\d+-pollWorld")
_NETWORLD = re.compile(r"\bNetWorld-")
_UPLINK = re.compile(r"vmnic\d+")
MOST_COLUMNS = 200_000
MOST_CELLS = 40_000_000
"""Largest number of values; they would use 300 MiB of memory."""
_MOST_JUNK = 20
"""Number of leading lines that are searched for the header."""
_ROUNDING = 0.005
"""esxtop writes two decimals."""
_CPU = {"% Used": "guest_cpu", "% Ready": "guest_ready", "% CoStop": "guest_costop"}
_HOST = {"% Util Time": "host_cpu", "% Processor Time": "host_used"}
_RATES = {"Packets Received/sec": "rx_rate", "Packets Transmitted/sec": "tx_rate"}


@dataclass(frozen=True)
class _Column:
    """A counter of the header."""

    number: int
    """Number of the column, from 1; column 1 has the time."""
    path: str
    object: str
    instance: str
    counter: str

    @property
    def subject(self) -> str:
        return f"{self.object}({self.instance})" if self.instance else self.object


def read_esxtop(lines: Iterable[str], file: str, contents: Contents) -> None:
    """Read a capture. Its first sample covers the time since the host started, and is left out if there are others.

    Args:
        lines: of the file.
        file: its name in faults and places.
        contents: gets the readings.

    Raises:
        InputError: no header, no commas, too many columns or numbers, or no samples.
    """
    source = iter(lines)
    columns, line = _header(source, file)
    table, times = _samples(source, file, line, len(columns), contents)
    if len(table) > 1:
        table, times = table[1:], times[1:]
        contents.note(f"{file}: the first sample is left out, as it covers the time since the host started")
    contents.note(f"{file}: {len(table)} samples, from {times[0]} to {times[-1]}")
    values = {column.number: table[:, column.number - 2] for column in columns}
    used = _measure(columns, values, file, contents)
    _draft(columns, values, file, line, contents)
    for column in columns:
        mean, half, count = mean_of(values[column.number], _ROUNDING)
        contents.add(
            Reading(
                *(file, line, column.subject, column.counter, mean, count, half),
                used.get(column.number, ""),
                column=column.number,
            )
        )


def _header(source: Iterator[str], file: str) -> tuple[list[_Column], int]:
    """The counters, and the line number of the header."""
    for line_number, line in zip(range(1, _MOST_JUNK + 1), source, strict=False):
        at = line.find(_START)
        if at < 0:
            continue
        text = line[at - 1 :] if at and line[at - 1] == '"' else line[at:]
        if (separator := max(",;\t", key=text.count)) != ",":
            allowed = "commas, as esxtop writes them, and numbers with a decimal point"
            raise InputError(Fault(f"is separated by {separator!r}", allowed=allowed, file=file, line=line_number))
        try:
            cells = next(csv.reader([text]))
        except (csv.Error, StopIteration):
            break
        if len(cells) > MOST_COLUMNS:
            allowed = f"at most {MOST_COLUMNS}; choose the fields with a configuration file of esxtop"
            raise InputError(Fault("has too many columns", "", str(len(cells)), allowed, file=file, line=line_number))
        return [_column(index, cell.strip()) for index, cell in enumerate(cells[1:], 2)], line_number
    raise InputError(Fault("has no header of esxtop", allowed='a line that starts with "(PDH-CSV 4.0)', file=file))


def _column(index: int, path: str) -> _Column:
    match = _PATH.fullmatch(path)
    if match is None:
        return _Column(index, path, "", "", path)
    return _Column(index, path, match["object"], match["instance"] or "", match["counter"].strip())


def _samples(
    source: Iterator[str], file: str, header: int, count: int, contents: Contents
) -> tuple[FloatArray, list[str]]:
    """The samples, shape (samples, columns), and the time of each as written."""
    most = max(1, MOST_CELLS // max(count, 1))
    rows: list[FloatArray] = []
    times: list[str] = []
    short: list[int] = []
    strange = 0
    reader = csv.reader(source)
    try:
        for cells in reader:
            if not cells:
                continue
            if len(cells) != count + 1:
                short.append(header + reader.line_num)
                continue
            if len(rows) == most:
                allowed = f"at most {most} samples of {count} counters; take fewer samples or fields"
                raise InputError(
                    Fault("has too many samples", allowed=allowed, file=file, line=header + reader.line_num)
                )
            row, unread = _numbers(cells[1:])
            strange += unread
            rows.append(row)
            times.append(ascii(cells[0].strip()[:40]).strip("'"))
    except csv.Error as error:
        raise InputError(Fault(f"is not CSV: {error}", file=file, line=header + reader.line_num)) from None
    if short:
        contents.note(f"{file}:{short[0]}: left out, as they lack a value for a counter: {len(short)} of the lines")
    if strange:
        contents.note(f"{file}: {strange} cells are not numbers and count as missing")
    if not rows:
        raise InputError(Fault("has no samples", allowed="a line for each sample below the header", file=file))
    return np.array(rows), times


def _numbers(cells: list[str]) -> tuple[FloatArray, int]:
    """The numbers of a line, with NaN for empty cells, and the number of invalid cells."""
    try:
        row = np.array(cells, dtype=np.float64)
        unread = 0
    except ValueError:
        row = np.full(len(cells), math.nan)
        unread = 0
        for index, cell in enumerate(cells):
            try:
                row[index] = float(cell)
            except ValueError:
                unread += bool(cell.strip())
    row[~np.isfinite(row)] = math.nan
    return row, unread


# --- measures


def _measure(columns: list[_Column], values: dict[int, FloatArray], file: str, contents: Contents) -> dict[int, str]:
    """Add samples of metrics; returns the metric of each used column."""
    used: dict[int, str] = {}

    def take(metric: str, chosen: list[_Column], *, mean: bool, scale: float = 1.0) -> None:
        used.update({column.number: metric for column in chosen})
        samples = [values[column.number] * scale for column in chosen]
        contents.measure(metric, samples, _ROUNDING * scale, file, _source(chosen), mean=mean)

    for counter, metric in _HOST.items():
        pcpus = [c for c in columns if c.object == "Physical Cpu" and c.counter == counter]
        total = [c for c in pcpus if c.instance == "_Total"]
        take(metric, total or pcpus, mean=True)
    worlds = [c for c in columns if c.object == "Vcpu"]
    for counter, metric in _CPU.items():
        take(metric, [c for c in worlds if c.counter == counter and _VCPU.search(c.instance)], mean=True)
    busy = [c for c in worlds if c.counter == "% Used"]
    polls = [c for c in busy if _NETPOLL.search(c.instance)]
    take("netpoll_cpu", polls, mean=False)
    if polls:
        busiest = max(polls, key=lambda c: float(np.nan_to_num(values[c.number]).mean()))
        contents.measure("busiest_netpoll", [values[busiest.number]], _ROUNDING, file, _source([busiest]), mean=True)
    take("networld_cpu", [c for c in busy if _NETWORLD.search(c.instance)], mean=False)
    for counter, metric in _RATES.items():
        take(metric, [c for c in columns if _is_uplink(c) and c.counter == counter], mean=False, scale=1e-3)
    if not any(_VCPU.search(c.instance) for c in worlds):
        contents.note(f"{file}: has no vCPUs, so that guest_cpu and guest_ready are unknown; `esxtop -b -a` has them")
    if any(
        c.object == "Physical Cpu" and c.counter == "% Processor Time" and np.nanmax(values[c.number], initial=0) > 100
        for c in columns
    ):
        contents.note(
            f"{file}: PCPUs have %USED above 100: they run above their nominal clock, which hostsim does not model"
        )
    return used


def _source(columns: list[_Column]) -> str:
    if not columns:
        return ""
    more = f" and {len(columns) - 1} more" if len(columns) > 1 else ""
    return f", column {columns[0].number}{more}: {columns[0].counter}"


# --- draft


def _parts(column: _Column) -> list[str]:
    """Switch, port and user of a port; for a VM's port, also the world and the VM."""
    return column.instance.split(":", 3) if column.object == "Network Port" else []


def _largest(samples: FloatArray) -> float:
    """The largest sample; NaN without samples."""
    finite = samples[np.isfinite(samples)]
    return float(finite.max()) if len(finite) else math.nan


def _is_uplink(column: _Column) -> bool:
    parts = _parts(column)
    return len(parts) == 3 and _UPLINK.fullmatch(parts[2]) is not None


def _draft(columns: list[_Column], values: dict[int, FloatArray], file: str, line: int, contents: Contents) -> None:
    """Switches with their uplinks and line rates, and VMs with their vCPUs and ports."""
    seen: set[tuple[str, str]] = set()

    def once(column: _Column, subject: str, name: str, to: str, given: object) -> None:
        if (to, str(given)) not in seen:
            seen.add((to, str(given)))
            contents.add(Reading(file, line, subject, name, str(given), to=to, given=given, column=column.number))

    vcpus: dict[str, set[str]] = {}
    first: dict[str, _Column] = {}
    for column in columns:
        parts = _parts(column)
        if _is_uplink(column):
            once(column, parts[0], "uplink", f"network.{contents.called('switch', parts[0])}.uplinks", parts[2])
            if column.counter == "Link Speed (Mb/s)" and (speed := _largest(values[column.number])) >= 1:
                once(column, parts[2], column.counter, f"nics.{parts[2]}.line_rate", rate_of(int(speed)))
            elif column.counter == "Link Up?" and _largest(values[column.number]) == 0:
                once(column, parts[2], column.counter, f"nics.{parts[2]}.down", "0")
        elif len(parts) == 4:
            vm = re.sub(r"\.eth\d+$", "", parts[3])
            group = contents.called("vm", vm)
            if (port := (f"vms.{group}.port", parts[1])) not in seen:
                seen.add(port)
                to = f"vms.{group}.networks"
                given = contents.called("switch", parts[0])
                contents.add(Reading(file, line, vm, "port of switch", given, to=to, given=given, column=column.number))
        elif column.object == "Vcpu" and (world := _VCPU.search(column.instance)):
            name = column.instance[world.end() :].lstrip(":") or (column.instance.split(":")[1:2] or [""])[0]
            vcpus.setdefault(name, set()).add(world[0])
            first.setdefault(name, column)
    for name, worlds in vcpus.items():
        once(first[name], name, "vCPUs", f"vms.{contents.called('vm', name)}.vcpus", len(worlds))
