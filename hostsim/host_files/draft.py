"""Draft of a host from its files: ``hardware.yaml``, ``scenario.yaml``, measurements, arrivals and all readings.

Each value of the draft is followed by its place in the files. Nothing is guessed: a missing key is a comment that
begins with ``unknown``, and a draft is not valid until its required keys have values.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from hostsim.config.files import MAX_BYTES, require_folder, write_whole
from hostsim.config.quantity import LONGEST
from hostsim.errors import Fault, InputError
from hostsim.host_files.contents import Arrivals, Contents, Reading, Series, mean_of
from hostsim.results.integrity import confined

__all__ = ["HARDWARE", "MEASURED", "SCENARIO", "Draft", "Measured"]

HARDWARE, SCENARIO, MEASURED, ALL = "hardware.yaml", "scenario.yaml", "measured.csv", "found.csv"
_CPU = {
    "model": "name on the data sheet",
    "family": "processor generation, a key of the platform's generations",
    "sockets": "number of sockets",
    "cores": "cores in each socket",
    "threads": "PCPUs in each core, 1 or 2",
    "clock": "nominal clock",
}
_NIC = {
    "model": "name on the data sheet",
    "line_rate": "rate of the wire",
    "node": "NUMA node of the PCIe slot",
    "driver": "name of the driver",
    "rx_ring": "receive descriptors of a queue, `esxcli network nic ring current get`",
    "moderation": "rule of the driver, or interrupt_interval instead",
}
_OPTIONAL = {"rx_queues": "receive queues, 1 by default", "rss": "false by default", "lro": "false by default"}
_NO_CPU = "memory (latency, hop, channels, transfers; without it copies do not wait for memory); ddio, false by default"
_VM = {"guest": "name of a shipped guest, or a guest file", "vcpus": "1 by default"}


@dataclass(frozen=True)
class Measured:
    """A metric with its 95 % interval, from the samples of a file."""

    metric: str
    value: float
    half: float | None
    """Half-width of the interval; None for a single sample."""
    samples: int
    source: str


@dataclass(frozen=True)
class Draft:
    """A draft of a host from its files."""

    name: str
    contents: Contents

    # --- values

    @cached_property
    def measured(self) -> list[Measured]:
        """The metrics with samples, each from the file with the most samples."""
        return [_measured(series) for series in self._best.values()]

    @cached_property
    def _best(self) -> Mapping[str, Series]:
        """The series of each metric with the most samples, the first of several."""
        best: dict[str, Series] = {}
        for series in self.contents.series:
            if series.metric not in best or len(series.samples) > len(best[series.metric].samples):
                best[series.metric] = series
        return best

    @property
    def unknown(self) -> list[str]:
        """The required keys that no file states, by dotted path."""
        missing = [f"{HARDWARE}: cpu.{key}" for key in _CPU if f"cpu.{key}" not in self._values and key != "threads"]
        nics = self._nics
        for nic in nics:
            missing += [f"{HARDWARE}: nics.{nic}.{key}" for key in _NIC if f"nics.{nic}.{key}" not in self._values]
        missing += [] if nics else [f"{HARDWARE}: nics"]
        missing += [] if "platform" in self._values else [f"{SCENARIO}: platform"]
        missing += [f"{SCENARIO}: network.{name}.uplinks" for name in self._without_uplinks]
        missing += [] if self._switches or self._without_uplinks else [f"{SCENARIO}: network"]
        vms = self._groups("vms")
        missing += [f"{SCENARIO}: vms.{vm}.guest" for vm in vms] or [f"{SCENARIO}: vms"]
        return [*missing, f"{SCENARIO}: traffic"]

    @cached_property
    def _values(self) -> Mapping[str, Reading]:
        """The first reading of each key of the draft."""
        return {reading.to: reading for reading in reversed(self.contents.readings) if reading.given is not None}

    def _groups(self, kind: str) -> list[str]:
        """Names of NICs, switches or VMs in the order of the files."""
        names = (reading.to.split(".")[1] for reading in self.contents.readings if reading.to.startswith(f"{kind}."))
        return list(dict.fromkeys(names))

    @cached_property
    def _nics(self) -> list[str]:
        """NICs whose link is not known to be down."""
        down = {reading.to.split(".")[1] for reading in self.contents.readings if reading.to.endswith(".down")}
        uplinks = {reading.given for reading in self.contents.readings if reading.to.endswith(".uplinks")}
        return sorted({*self._groups("nics"), *uplinks} - down, key=lambda nic: (len(nic), nic))

    @cached_property
    def _switches(self) -> dict[str, list[Reading]]:
        """Uplinks of each switch whose link is up."""
        nics = self._nics
        switches: dict[str, dict[str, Reading]] = {}
        for reading in self.contents.readings:
            if reading.to.endswith(".uplinks") and reading.given in nics:
                switches.setdefault(reading.to.split(".")[1], {}).setdefault(str(reading.given), reading)
        return {name: list(uplinks.values()) for name, uplinks in switches.items()}

    @cached_property
    def _without_uplinks(self) -> list[str]:
        """Switches of VMs without an uplink whose link is up, according to the files."""
        used = dict.fromkeys(
            str(reading.given) for reading in self.contents.readings if reading.to.endswith(".networks")
        )
        return [name for name in used if name not in self._switches]

    def conflicts(self) -> list[str]:
        """Keys for which the files contradict each other; the draft has the first value."""
        values: dict[str, dict[str, Reading]] = {}
        for reading in self.contents.readings:
            if (
                reading.given is not None
                and reading.to.partition(".")[0] not in ("network", "traffic")
                and "networks" not in reading.to
            ):
                values.setdefault(reading.to, {}).setdefault(str(reading.given), reading)
        return [
            f"{key}: " + ", then ".join(f"{value} ({first.place})" for value, first in stated.items())
            for key, stated in values.items()
            if len(stated) > 1
        ]

    def unused_measures(self) -> list[str]:
        """Measures whose values differ between two files, for each pair of a used and an unused file."""
        differing: dict[tuple[str, str], list[str]] = {}
        for series in self.contents.series:
            best = self._best[series.metric]
            value, other = _measured(best).value, _measured(series).value
            if value != other:
                text = f"{series.metric} ({value:.4g}, not {other:.4g})"
                differing.setdefault((best.file, series.file), []).append(text)
        return [
            f"contradictory measures, those of {used} are used, not those of {unused}: {', '.join(texts)}"
            for (used, unused), texts in differing.items()
        ]

    @cached_property
    def readings(self) -> list[Reading]:
        """All readings in the order of the files; those of an unused measure have no use."""
        return [
            replace(reading, to="")
            if reading.to in self._best and reading.file != self._best[reading.to].file
            else reading
            for reading in self.contents.readings
        ]

    def _ordered(self) -> list[Reading]:
        """All readings, by file, line and column."""
        files = {
            file: index for index, file in enumerate(dict.fromkeys(reading.file for reading in self.contents.readings))
        }
        return sorted(self.readings, key=lambda reading: (files[reading.file], reading.line, reading.column))

    # --- files

    def hardware(self) -> str:
        """Content of the hardware file."""
        lines = [f"hardware: {self.name}", "cpu:", *self._keys("cpu", _CPU, "  ", optional={"threads"})]
        lines += [f"  # unknown: {_NO_CPU}", "nics:"]
        for nic in self._nics:
            lines += [f"  {nic}:", *self._keys(f"nics.{nic}", _NIC, "    ")]
            lines += self._keys(f"nics.{nic}", _OPTIONAL, "    ", optional=set(_OPTIONAL))
        if not self._nics:
            lines.append("  # unknown, required: the physical NICs; `esxcli network nic list`")
        down = [reading for reading in self.contents.readings if reading.to.endswith(".down")]
        lines += [f"  # {uplink.to.split('.')[1]} is left out: its link is not up ({uplink.place})" for uplink in down]
        return "\n".join([*self._heading(), *lines, ""])

    def scenario(self) -> str:
        """Content of the scenario file."""
        question = "What does the model make of this host?"
        lines = [f"scenario: {self.name}", f"question: {question}"]
        lines += self._keys("", {"platform": "a shipped platform, such as esxi-7.0"}, "")
        lines += [f"hardware: ./{HARDWARE}", "network:", *self._network(), "vms:", *self._vms()]
        lines += ["traffic:", *self._traffic()]
        return "\n".join([*self._heading(), *lines, ""])

    def _heading(self) -> list[str]:
        files = dict.fromkeys(
            [
                *(reading.file for reading in self.contents.readings),
                *(arrival.file for arrival in self.contents.arrivals),
            ]
        )
        return [
            f"# Draft of `hostsim import` from {_comment(', '.join(files))}.",
            "# Each value is followed by the file and line that states it. Give a value to each key that is marked as required.",
        ]

    def _keys(self, path: str, keys: Mapping[str, str], indent: str, optional: Iterable[str] = ()) -> Iterator[str]:
        """A line for each key: its value, or that it is unknown."""
        for key, meaning in keys.items():
            reading = self._values.get(f"{path}.{key}" if path else key)
            if reading is not None:
                yield f"{indent}{key}: {_scalar(reading.given)}  # {_comment(reading.place)}"
            else:
                how = "unknown" if key in optional else "unknown, required"
                yield f"{indent}# {how}: {key} ({meaning})"

    def _network(self) -> list[str]:
        lines = []
        for switch, uplinks in self._switches.items():
            places = _comment(", ".join(dict.fromkeys(uplink.place for uplink in uplinks)))
            names = ", ".join(str(uplink.given) for uplink in uplinks)
            sizes = {
                self._values[f"mtu.{uplink.given}"].given for uplink in uplinks if f"mtu.{uplink.given}" in self._values
            }
            mtu = next(iter(sizes)) if len(sizes) == 1 else None
            lines += [f"  {switch}:", f"    uplinks: [{names}]  # {places}"]
            if isinstance(mtu, int) and 1280 <= mtu <= 9000:
                place = self._values[f"mtu.{uplinks[0].given}"].place
                lines.append(f"    mtu: {mtu}  # {_comment(place)}, of the uplinks")
            else:
                lines.append("    # unknown: mtu (1500 by default)")
        for name in self._without_uplinks:
            lines += [
                f"  {name}:",
                "    # unknown, required: uplinks (the files have none; a switch needs at least one)",
            ]
        return lines or ["  # unknown, required: the virtual switches and their uplinks; `esxtop -b` or `net-stats -A`"]

    def _vms(self) -> list[str]:
        lines = []
        for vm in self._groups("vms"):
            path = f"vms.{vm}"
            lines += [f"  {vm}:", "    count: 1", *self._keys(path, _VM, "    ", optional={"vcpus"})]
            ports = [reading for reading in self.contents.readings if reading.to == f"{path}.networks"]
            own = list({port.subject: port for port in ports if port.file == ports[0].file}.values()) if ports else []
            if ports and ports[0].column:  # esxtop has a column for each port, all with the VM's name
                own = [port for port in ports if port.file == ports[0].file]
            if own:
                places = _comment(", ".join(dict.fromkeys(network.place for network in own)))
                lines.append(f"    networks: [{', '.join(str(network.given) for network in own)}]  # {places}")
            else:
                lines.append("    # unknown, required: networks (the switch of each vNIC)")
            ring = self._values.get(f"{path}.rx_ring")
            if ring is not None:
                lines.append(f"    rx_ring: {_scalar(ring.given)}  # {_comment(ring.place)}")
        return lines or ["  # unknown, required: the VMs; `esxtop -b -a` or `net-stats -A -t vW`"]

    def _traffic(self) -> list[str]:
        lines = ["  # unknown, required: the traffic of the VMs, whose kinds no file states (hostsim schema)"]
        lines += [
            f"  # {_comment(reading.subject)} {_comment(str(reading.given))} ({_comment(reading.place)})"
            for reading in self.contents.readings
            if reading.to.startswith("traffic.")
        ]
        for index, arrivals in enumerate(self.contents.arrivals):
            _, kept, seconds = _trace(arrivals)
            words = f"{kept} packets in {seconds:.6g} s"
            if arrivals.octets:
                mean = math.fsum(arrivals.octets) / len(arrivals.octets)
                words += f", frames of {min(arrivals.octets)} to {max(arrivals.octets)} B, {mean:.0f} B on average"
            lines.append(f"  # {_comment(arrivals.file)}: {words}; an entry of open-loop traffic replays it with")
            lines.append(f"  #   arrivals: {{process: replay, file: {_trace_name(index)}}}")
        return lines

    def write(self, folder: Path) -> list[Path]:
        """Write the files of the draft; existing files are not overwritten.

        Returns:
            The files.

        Raises:
            InputError: a file exists already.
            StoreError: a file cannot be written.
        """
        contents: dict[str, str] = {
            HARDWARE: self.hardware(),
            SCENARIO: self.scenario(),
            **{_trace_name(index): _trace(arrival)[0] for index, arrival in enumerate(self.contents.arrivals)},
            ALL: _table(_ALL_COLUMNS, map(_row, self._ordered())),
        }
        if rows := [
            (entry.metric, f"{entry.value:.6g}", f"{entry.half:.3g}")
            for entry in self.measured
            if entry.half is not None
        ]:
            contents[MEASURED] = _table(("metric", "value", "interval"), rows)
        taken = [name for name in contents if (folder / name).exists() or (folder / name).is_symlink()]
        if taken:
            given = ", ".join(str(folder / name) for name in taken)
            raise InputError(Fault("exists and is not overwritten", "--output", given, "a folder without these files"))
        require_folder(folder)
        return [write_whole(confined(folder, folder / name), text.encode()) for name, text in contents.items()]


def _measured(series: Series) -> Measured:
    value, half, count = mean_of(series.samples, series.rounding)
    return Measured(series.metric, value, half, count, series.source)


_ALL_COLUMNS = ("file", "line", "column", "subject", "name", "value", "samples", "interval", "used_for")


def _row(reading: Reading) -> tuple[object, ...]:
    value = "" if isinstance(reading.value, float) and math.isnan(reading.value) else reading.value
    text = f"{value:.6g}" if isinstance(value, float) else value
    half = "" if reading.half is None else f"{reading.half:.3g}"
    return (
        reading.file,
        reading.line,
        reading.column or "",
        reading.subject,
        reading.name,
        text,
        reading.samples or "",
        half,
        reading.to,
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """CSV; a text that a spreadsheet would read as a formula gets a leading apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+@" and cell else cell for cell in row])
    return text.getvalue()


def _scalar(value: Any) -> str:
    """A value as YAML on one line, in ASCII."""
    text = value if isinstance(value, str) else json.dumps(value)
    return yaml.safe_dump(value, width=math.inf, allow_unicode=False).removesuffix("\n...\n").strip() if text else '""'


def _comment(text: str) -> str:
    """A text in a comment: on one line, without control characters."""
    return "".join(c if c.isprintable() else "?" for c in text[:400])


def _trace_name(index: int) -> str:
    return f"arrivals-{index + 1}.txt"


def _trace(arrivals: Arrivals) -> tuple[str, int, float]:
    """Text of an arrival trace, cut at the limit of a scenario; number of its packets; length in seconds."""
    lines: list[str] = []
    size = 0
    for nanoseconds in _within(arrivals.instants_ns):
        line = f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09d}"
        size += len(line) + 1
        if size > MAX_BYTES:
            break
        lines.append(line)
    last = arrivals.instants_ns[len(lines) - 1] if lines else 0
    return "\n".join([*lines, ""]), len(lines), last / 1e9


def _within(instants_ns: Sequence[int]) -> Iterator[int]:
    most = int(LONGEST) * 10**9
    return (instant for instant in instants_ns if instant <= most)
