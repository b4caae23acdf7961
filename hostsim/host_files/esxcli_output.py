"""Reader of the output of ``esxcli network nic``, ``esxcli hardware cpu``, ``vsish`` and ``vmware -v``.

A file may contain the output of one command, a terminal session with several, or a part of a ``vm-support`` bundle such
as ``commands/nicinfo.sh.txt``. Blocks are recognised by their first lines; other text is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hostsim.host_files.contents import Contents, Reading, rate_of
from hostsim.scenario.yaml.foreign_text import has_controls, lines_of

__all__ = ["is_esxcli_output", "read_esxcli_output"]

_NIC = re.compile(r"(?:vmnic|vusb)\d+")
_KEY = re.compile(r"\s*(?P<key>[#\w][^:{}]*?)\s*:\s*(?P<value>.*?)\s*")
_TABLE = re.compile(r"\s*Name\s+PCI(?: Device)?\s+Driver\b.*")
_HEADING = re.compile(r"PCI(?: Device)?|Admin Status|Link(?: Status)?|MAC Address|\S+")
"""A heading of a list of NICs. Headings of `esxcfg-nics -l` may be separated by a single space."""
_STATS = re.compile(r"\s*NIC statistics for (?P<nic>\S+)\s*", re.IGNORECASE)
_CPU = re.compile(r"\s*CPU:\s?(?P<number>\d{1,5})\s*")
_VSISH = re.compile(r"\s*(?P<title>\S.*?)\s*\{\s*")
_VERSION = re.compile(r".*\bVMware ESXi (?P<version>\d+\.\d+(?:\.\d+)?)\b.*")
_NAMED = re.compile(r".*(?:\bNIC:\s*|-n[= ]|--nic-name[= ]|/pNics/)(?P<nic>vmnic\d+)\b.*")
"""A line that names the NIC of the following text: a command, or the heading of ``nicinfo.sh``."""
_PORT = re.compile(r".*/net/portsets/(?P<switch>[^/\s]+)/ports/(?P<port>\d+)/.*")
_CLIENT = re.compile(r"\s*(?:clientName|client name)\s*:\s*(?P<name>.+?)\s*", re.IGNORECASE)
_PLATFORM = {"4.0", "4.1", "5.0", "5.1", "5.5", "6.0", "6.5", "6.7", "7.0", "8.0"}
"""Releases for which hostsim has a platform."""
_FAMILIES = {
    (6, 26): "nehalem",
    (6, 46): "nehalem",
    (6, 47): "westmere-ex",
    (6, 45): "sandy-bridge",
    (6, 63): "haswell",
    (6, 79): "broadwell",
    (6, 106): "ice-lake-sp",
    (6, 143): "sapphire-rapids",
    (6, 207): "emerald-rapids",
}
"""Generations of the platform files by family and model of CPUID (Intel 64 Software Developer's Manual, volume 4, table 2-1)."""
_AMD_FAMILIES = {(23, 49): "zen2", (25, 1): "zen3", (25, 17): "zen4"}
"""Generations of AMD: EPYC 7002, 7003 and 9004 (Linux arch/x86/kernel/cpu/amd.c; WikiChip on Genoa)."""
_SKYLAKE_SP, _LAST_SKYLAKE = (6, 85), 4
"""Skylake-SP shares this model with two later generations; higher steppings are Cascade Lake."""
_CASCADE_LAKE = range(5, 8)
_HEAD = 2000
"""Number of leading lines that are searched for a known block."""
_GLOBAL = {"CPU Packages", "CPU Cores", "CPU Threads"}


def is_esxcli_output(text: str) -> bool:
    """True if the first lines have a known block."""
    contents = Contents()
    _Reader("", contents).read(lines_of(text)[:_HEAD])
    return bool(contents.readings)


def read_esxcli_output(text: str, file: str, contents: Contents) -> None:
    """Read the blocks of a text.

    Args:
        text: of the file.
        file: its name in places.
        contents: gets the readings.
    """
    _Reader(file, contents).read(lines_of(text))


class _Reader:
    """Reader of lines: keeps the open block, and the last NIC and port."""

    def __init__(self, file: str, contents: Contents) -> None:
        self._file, self._contents = file, contents
        self._block = ""
        """``table``, ``get``, ``stats``, ``cpu``, ``global``, ``ring``, ``preset``, ``vsish`` or none."""
        self._subject = ""
        self._nic = ""
        self._port = ""
        self._clients: dict[str, str] = {}
        """Users of ports by switch and number."""
        self._pending: list[tuple[int, str, str]] = []
        """Lines of ``nic get`` that precede the line with the NIC's name."""
        self._columns: list[tuple[str, int]] = []
        self._aligned = False
        """True if dashes below the headings mark the columns, so that a cell may be empty."""
        self._cpus: dict[str, dict[str, tuple[int, str]]] = {}
        self._totals: dict[str, tuple[int, int]] = {}

    def read(self, lines: list[str]) -> None:
        for line_number, line in enumerate(lines, 1):
            if has_controls(line) or not line.strip():
                if self._block == "table":
                    self._block = ""
                continue
            if not self._opens(line_number, line):
                self._continue(line_number, line)
        self._flush()
        self._state_cpu()

    def _opens(self, line_number: int, line: str) -> bool:
        """True if a line begins a block."""
        for pattern, block in ((_TABLE, "table"), (_STATS, "stats"), (_CPU, "cpu")):
            if match := pattern.fullmatch(line):
                self._flush()
                self._block = block
                if block == "table":
                    self._columns = [(m[0], m.start()) for m in _HEADING.finditer(line)]
                    self._aligned = False
                elif block == "stats":
                    self._subject = match["nic"]
                else:
                    self._subject = f"CPU:{match['number']}"
                    self._cpus[self._subject] = {}
                return True
        key = line.partition(":")[0].strip()
        if key == "Advertised Auto Negotiation":
            self._flush()
            self._block = "get"
        elif key in _GLOBAL:
            self._block = "global"
        elif key in ("RX", "RX Mini") and self._block not in ("ring", "get"):
            self._block = "ring"
        elif key in ("Max RX", "Max RX Mini"):
            self._block = "preset"
        elif match := _VSISH.fullmatch(line):
            self._flush()
            self._block, self._subject = "vsish", match["title"]
            return True
        elif match := _VERSION.fullmatch(line):
            self._platform(line_number, match["version"])
            return True
        elif match := _PORT.fullmatch(line):
            self._flush()
            self._port, self._nic = f"{match['switch']} port {match['port']}", ""
            return True
        elif match := _NAMED.fullmatch(line):
            self._flush()
            self._block, self._nic = "", match["nic"]
            return True
        elif match := _CLIENT.fullmatch(line):
            self._clients[self._port] = match["name"]
            return True
        return False

    def _continue(self, line_number: int, line: str) -> None:
        if self._block == "table":
            self._row(line_number, line)
            return
        match = _KEY.fullmatch(line)
        if match is None:
            if self._block == "vsish" and line.strip() == "}":
                self._block = ""
            return
        key, value = match["key"].strip(), match["value"]
        if self._block == "get":
            self._pending.append((line_number, key, value))
        elif self._block == "stats":
            self._add(line_number, self._subject, key, value)
        elif self._block == "cpu":
            self._cpus[self._subject].setdefault(key, (line_number, value))
        elif self._block == "global":
            if key in _GLOBAL and value.isdecimal() and len(value) < 6:
                self._totals.setdefault(key, (line_number, int(value)))
            else:
                self._add(line_number, "CPU", key, value)
        elif self._block == "ring":
            self._ring(line_number, key, value)
        elif self._block == "preset":
            self._add(line_number, self._nic or "a NIC that is not named", key, value)
        elif self._block == "vsish":
            self._vsish(line_number, key, value)
        elif key == "Version" and (version := re.fullmatch(r"\d+\.\d+(?:\.\d+)?", value)):
            self._platform(line_number, version[0])

    def _add(self, line_number: int, subject: str, name: str, value: str, to: str = "", given: object = None) -> None:
        self._contents.add(Reading(self._file, line_number, subject[:200], name, value, to=to, given=given))

    # --- blocks

    def _row(self, line_number: int, line: str) -> None:
        """A line of ``esxcli network nic list`` below its heading."""
        if set(line.strip()) <= {"-", " "}:
            # headings of numbers are right-aligned, so only the dashes below them mark the columns
            dashes = list(re.finditer("-+", line))
            if len(dashes) == len(self._columns) and all(
                dash.start() <= start < dash.end() for dash, (_, start) in zip(dashes, self._columns, strict=True)
            ):
                self._columns = [(name, dash.start()) for dash, (name, _) in zip(dashes, self._columns, strict=True)]
                self._aligned = True
            return
        cells = self._cells(line_number, line)
        nic = cells.get("Name", "")
        if not _NIC.fullmatch(nic):
            self._block = ""
            return
        link = cells.get("Link Status", cells.get("Link", ""))
        for name, value in cells.items():
            if name == "Driver" and value:
                self._add(line_number, nic, name, value, f"nics.{nic}.driver", value)
            elif name == "Description" and value:
                self._add(line_number, nic, name, value, f"nics.{nic}.model", value)
            elif name == "Speed" and link.casefold() == "up" and (speed := re.match(r"\d{1,7}", value)):
                self._add(line_number, nic, name, value, f"nics.{nic}.line_rate", rate_of(int(speed[0])))
            elif name in ("Link Status", "Link") and value.casefold() != "up":
                self._add(line_number, nic, name, value, f"nics.{nic}.down", value)
            elif name == "MTU" and value.isdecimal():
                self._add(line_number, nic, name, value, f"mtu.{nic}", int(value[:6]))
            elif value:
                self._add(line_number, nic, name, value)

    def _cells(self, line_number: int, line: str) -> dict[str, str]:
        """The cells of a row, split at words with the description last, or at the dashes if a cell is empty."""
        names = [name for name, _ in self._columns]
        words = dict(zip(names, map(str.strip, line.split(None, len(names) - 1)), strict=False))
        if words.get("MTU", "").isdecimal() and words.get("Speed", "")[:1].isdecimal():
            return words
        if self._aligned:
            ends = [start for _, start in self._columns[1:]] + [None]
            return {name: line[start:end].strip() for (name, start), end in zip(self._columns, ends, strict=True)}
        if _NIC.fullmatch(name := words.get("Name", "")):
            self._contents.note(
                f"{self._file}:{line_number}: the cells of {name} cannot be separated, and are not read"
            )
        return {"Name": name}

    def _flush(self) -> None:
        """Collect the lines of ``esxcli network nic get`` until the line with the NIC's name."""
        lines, self._pending = self._pending, []
        nic = next((value for _, key, value in lines if key == "Name"), self._nic)
        for line_number, key, value in lines:
            if key == "Driver" and value and _NIC.fullmatch(nic):
                self._add(line_number, nic, key, value, f"nics.{nic}.driver", value)
            elif value:
                self._add(line_number, nic or "a NIC that is not named", key, value)
        if self._block == "get":
            self._block = ""

    def _ring(self, line_number: int, key: str, value: str) -> None:
        if not self._nic:
            if key == "RX":
                self._contents.note(
                    f"{self._file}:{line_number}: the ring sizes are ignored, as no line names their NIC"
                )
            self._add(line_number, "a NIC that is not named", key, value)
        elif key == "RX" and value.isdecimal() and 0 < int(value[:6]) <= 65536:
            self._add(line_number, self._nic, key, value, f"nics.{self._nic}.rx_ring", int(value))
        else:
            self._add(line_number, self._nic, key, value)

    def _vsish(self, line_number: int, key: str, value: str) -> None:
        if self._subject == "rx queues info" and key == "# queues supported" and self._nic and value.isdecimal():
            given = int(value[:4])
            self._add(line_number, self._nic, key, value, f"nics.{self._nic}.rx_queues", given)
        elif self._subject.startswith("stats of a vmxnet3 vNIC rx queue"):
            client = self._clients.get(self._port, "")
            subject = client or self._port or "a vNIC that is not named"
            size = re.match(r"\d{1,5}", value)  # a remark may follow the number
            if key == "1st ring size" and size is not None and client:
                vm = re.sub(r"\.eth\d+$", "", client)
                self._add(
                    line_number, subject, key, value, f"vms.{self._contents.called('vm', vm)}.rx_ring", int(size[0])
                )
            else:
                self._add(line_number, subject, key, value)
        elif self._subject == "rx queues info":
            self._add(line_number, self._nic or "a NIC that is not named", key, value)
        else:
            self._add(line_number, self._subject, key, value)

    def _platform(self, line_number: int, version: str) -> None:
        release = ".".join(version.split(".")[:2])
        if release in _PLATFORM:
            self._add(line_number, "host", "version", version, "platform", f"esxi-{release}")
        else:
            self._add(line_number, "host", "version", version)
            self._contents.note(f"{self._file}:{line_number}: hostsim has no platform for ESXi {version}")

    def _state_cpu(self) -> None:
        """Record the processors: packages, cores, threads, generation and clock."""
        for name, values in self._cpus.items():
            for key, (line_number, value) in values.items():
                self._add(line_number, name, key, value)
        totals = {key: value for key, (_, value) in self._totals.items()}
        lines = {key: line_number for key, (line_number, _) in self._totals.items()}
        packages, cores, threads = (totals.get(key, 0) for key in ("CPU Packages", "CPU Cores", "CPU Threads"))
        if packages:
            self._add(lines["CPU Packages"], "CPU", "CPU Packages", str(packages), "cpu.sockets", packages)
        if packages and cores and cores % packages == 0:
            self._add(lines["CPU Cores"], "CPU", "CPU Cores", str(cores), "cpu.cores", cores // packages)
        if cores and threads and threads % cores == 0:
            self._add(lines["CPU Threads"], "CPU", "CPU Threads", str(threads), "cpu.threads", threads // cores)
        if not self._cpus:
            return
        name, first = next(iter(self._cpus.items()))
        sockets = list(self._values_of("Package Id"))
        numbers = [int(name.partition(":")[2]) for name in self._cpus]
        if not packages and sockets:
            line_number, _ = first.get("Package Id", (0, ""))
            if len(numbers) > 1 and sorted(numbers) == list(range(len(numbers))):
                self._add(line_number, "CPU", "Package Id", ", ".join(sockets), "cpu.sockets", len(sockets))
            note = f"list of {len(numbers)} PCPUs; `esxcli hardware cpu global get` states sockets, cores and threads"
            self._contents.note(f"{self._file}:{line_number}: {note}")
        nodes = list(self._values_of("Node"))
        if nodes and len(nodes) != len(sockets):
            line_number = next(values["Node"][0] for values in self._cpus.values() if "Node" in values)
            per_socket = len(nodes) // len(sockets) if sockets and len(nodes) % len(sockets) == 0 else 0
            if per_socket in (2, 4):
                self._add(line_number, "CPU", "Node", ", ".join(nodes), "cpu.nodes_per_socket", per_socket)
            else:
                note = f"number of NUMA nodes {len(nodes)}, of sockets {len(sockets)}; hostsim has 1, 2 or 4 nodes in each socket"
                self._contents.note(f"{self._file}:{line_number}: {note}")
        self._generation(name, first)

    def _values_of(self, key: str) -> Iterator[str]:
        yield from dict.fromkeys(values[key][1] for values in self._cpus.values() if key in values)

    def _generation(self, name: str, first: dict[str, tuple[int, str]]) -> None:
        numbers = [first[key][1] for key in ("Family", "Model", "Stepping") if key in first]
        if "Brand" in first and len(numbers) == 3:
            line_number, brand = first["Brand"]
            model = f"{brand} family {numbers[0]} model {numbers[1]} stepping {numbers[2]}"
            self._add(line_number, name, "Brand", brand, "cpu.model", model)
        if len(numbers) == 3 and all(text.isdecimal() and len(text) < 5 for text in numbers):
            family, model_number, stepping = map(int, numbers)
            generation = None
            if first.get("Brand", (0, ""))[1] == "GenuineIntel":
                generation = _FAMILIES.get((family, model_number))
                if (family, model_number) == _SKYLAKE_SP and stepping <= _LAST_SKYLAKE:
                    generation = "skylake-sp"
                if (family, model_number) == _SKYLAKE_SP and stepping in _CASCADE_LAKE:
                    generation = "cascade-lake"
            elif first.get("Brand", (0, ""))[1] == "AuthenticAMD":
                generation = _AMD_FAMILIES.get((family, model_number))
            if generation is not None:
                self._add(first["Model"][0], name, "Model", numbers[1], "cpu.family", generation)
        line_number, clock = first.get("Core Speed", (0, ""))
        if clock.isdecimal() and 6 < len(clock) < 12:
            self._add(line_number, name, "Core Speed", clock, "cpu.clock", f"{int(clock) / 1e9:.3f} GHz")
