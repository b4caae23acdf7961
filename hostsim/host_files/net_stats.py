"""Reader of ``net-stats -A``: JSON with the ports, worlds and PCPUs of a host for each interval."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from hostsim.engine.record import FloatArray
from hostsim.errors import Fault, InputError
from hostsim.host_files.contents import Contents, Reading, group_name, mean_of

__all__ = ["read_net_stats"]

_NETPOLL = re.compile(r"vmnic\d+-pollWorld")
_NETWORLD = re.compile(r"\bNetWorld-")
_PORT = re.compile(r"(?P<vm>.+)\.eth\d+", re.DOTALL)
_HUNDREDTH, _ONE = 0.005, 0.5
"""Rounding errors of shares, which have two decimals, and of packets per second."""
_MOST_DEPTH = 8
_WORLDS = {"used": "guest_cpu", "ready": "guest_ready", "cstp": "guest_costop"}
Values = dict[str, float]


def read_net_stats(text: str, file: str, contents: Contents) -> None:
    """Read the output of ``net-stats -A``, with any counters selected by ``-t``.

    Args:
        text: of the file; text before the first brace is ignored.
        file: its name in faults and places.
        contents: gets the readings.

    Raises:
        InputError: not JSON, or without intervals.
    """
    start = max(text.find("{"), 0)
    try:
        document, _ = json.JSONDecoder().raw_decode(text, start)
    except ValueError as error:
        where = getattr(error, "lineno", 1)
        message = f"is not JSON: {getattr(error, 'msg', error)}"
        raise InputError(Fault(message, allowed="output of `net-stats -A`", file=file, line=where)) from None
    except RecursionError:
        raise InputError(Fault("is nested too deeply", allowed="output of `net-stats -A`", file=file)) from None
    intervals = [entry for entry in _list(_dict(document).get("stats")) if isinstance(entry, dict)]
    if not intervals:
        raise InputError(Fault("has no intervals", "stats", allowed="output of `net-stats -A`", file=file))
    seconds = [_number(entry.get("interval")) for entry in intervals]
    contents.note(f"{file}: number of intervals: {len(intervals)}, each of {seconds[0]:g} s")
    if any(port.get("ens") in ("true", True) for entry in intervals for port in _ports(entry).values()):
        contents.note(f"{file}: has ports in Enhanced Data Path mode (ens), which hostsim does not model")
    lines = _lines(text)
    used = _measure(intervals, file, contents)
    _draft(intervals, file, lines, contents)
    for subject, name, samples in _counters(intervals):
        mean, half, count = mean_of(samples, _HUNDREDTH)
        to = used(subject, name)
        contents.add(Reading(file, lines.get(subject, 1), subject, name, mean, count, half, to))
    keys = {"time", "interval", "iteration", "ports", "vcpus", "sys", "cpu"}
    if rest := sorted({key for entry in intervals for key, value in entry.items() if value} - keys):
        contents.note(f"{file}: not read: {', '.join(ascii(key[:40]).strip(chr(39)) for key in rest[:20])}")


def _lines(text: str) -> dict[str, int]:
    """First lines of ports and worlds in the file, as the JSON parser does not provide them."""
    lines: dict[str, int] = {}
    line, at = 1, 0
    for match in re.finditer(r'"name"\s*:\s*("(?:[^"\\]|\\.)*")', text):
        line += text.count("\n", at, match.start())
        at = match.start()
        try:
            lines.setdefault(str(json.loads(match[1])), line)
        except ValueError:
            continue
    return lines


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> float:
    """A number; NaN for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value) if math.isfinite(value) else math.nan
        except OverflowError:
            return math.nan
    return math.nan


def _ports(entry: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Ports of an interval by name."""
    return _by_name(_list(entry.get("ports")))


def _worlds(entry: Mapping[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """Worlds of an interval by name: vCPUs (``vcpus``) or others (``sys``)."""
    return _by_name(_dict(entry.get(kind)).values())


def _by_name(entries: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """Entries by name; the id is added to a repeated name, as VMs may have the same name."""
    entries_by_name: dict[str, dict[str, Any]] = {}
    for entry in map(_dict, entries):
        name = entry.get("name")
        if isinstance(name, str):
            entries_by_name[name if name not in entries_by_name else f"{name} ({entry.get('id')})"] = entry
    return entries_by_name


def _is_uplink(port: Mapping[str, Any]) -> bool:
    return port.get("uplink") in ("true", True)


# --- measures


def _measure(intervals: list[dict[str, Any]], file: str, contents: Contents) -> Callable[[str, str], str]:
    """Add samples of metrics; returns a function that gives the metric of a counter of a port or world."""

    def over(values: Iterator[float]) -> FloatArray:
        return np.array(list(values), dtype=np.float64)

    def worlds(kind: str, key: str, chosen: Callable[[str], object]) -> dict[str, FloatArray]:
        names = {name for entry in intervals for name in _worlds(entry, kind) if chosen(name)}
        tables = [_worlds(entry, kind) for entry in intervals]
        return {name: over(_number(table.get(name, {}).get(key)) for table in tables) for name in sorted(names)}

    for key, metric in _WORLDS.items():
        samples = list(worlds("vcpus", key, lambda name: True).values())
        contents.measure(metric, samples, _HUNDREDTH, file, f": {key} of {len(samples)} vCPUs", mean=True)
    polls = worlds("sys", "used", _NETPOLL.search)
    contents.measure(
        "netpoll_cpu", list(polls.values()), _HUNDREDTH, file, f": used of {len(polls)} NetPolls", mean=False
    )
    if polls:
        name = max(polls, key=lambda poll: float(np.nan_to_num(polls[poll]).mean()))
        contents.measure("busiest_netpoll", [polls[name]], _HUNDREDTH, file, f": used of {name}", mean=True)
    nets = worlds("sys", "used", _NETWORLD.search)
    contents.measure(
        "networld_cpu", list(nets.values()), _HUNDREDTH, file, f": used of {len(nets)} NetWorlds", mean=False
    )
    _measure_host(intervals, file, contents)
    uplinks = {name for entry in intervals for name, port in _ports(entry).items() if _is_uplink(port)}
    rates = {"rxpps": "rx_rate", "txpps": "tx_rate"}
    for key, metric in rates.items():
        columns = [
            over(_number(_dict(_ports(entry).get(name, {}).get("vmnic")).get(key)) / 1e3 for entry in intervals)
            for name in sorted(uplinks)
        ]
        contents.measure(metric, columns, _ONE / 1e3, file, f": vmnic.{key} of {len(columns)} uplinks", mean=False)

    def used(subject: str, name: str) -> str:
        if subject in uplinks and name.startswith("vmnic."):
            return rates.get(name.removeprefix("vmnic."), "")
        if name == "used" and subject in polls:
            return "netpoll_cpu"
        if name == "used" and subject in nets:
            return "networld_cpu"
        return _WORLDS.get(name, "") if subject.startswith("vmx-vcpu-") else ""

    return used


def _measure_host(intervals: list[dict[str, Any]], file: str, contents: Contents) -> None:
    """%USED of the PCPUs: the last number of the list is the sum of the others."""
    means = []
    above = False
    for entry in intervals:
        numbers = [_number(value) for value in _list(_dict(entry.get("cpu")).get("used"))]
        pcpus, total = numbers[:-1], numbers[-1:]
        is_sum = bool(pcpus) and math.isclose(math.fsum(pcpus), total[0], rel_tol=0.01, abs_tol=0.05 * len(numbers))
        means.append(math.fsum(pcpus) / len(pcpus) if is_sum else math.nan)
        above = above or any(value > 100 for value in pcpus)
    if not all(map(math.isnan, means)):
        contents.measure("host_used", [np.array(means)], _HUNDREDTH, file, ": cpu.used", mean=True)
    if above:
        contents.note(
            f"{file}: PCPUs have %USED above 100: they run above their nominal clock, which hostsim does not model"
        )


def _counters(intervals: list[dict[str, Any]]) -> Iterator[tuple[str, str, FloatArray]]:
    """All numbers: object, name and samples."""
    columns: dict[tuple[str, str], Values | FloatArray] = {}

    def walk(subject: str, prefix: str, value: Any, at: int, depth: int = 0) -> None:
        if isinstance(value, dict) and depth < _MOST_DEPTH:
            for key, inner in value.items():
                walk(subject, f"{prefix}.{key}" if prefix else str(key), inner, at, depth + 1)
        elif isinstance(value, list) and depth < _MOST_DEPTH:
            for index, inner in enumerate(value):
                walk(subject, f"{prefix}[{index}]", inner, at, depth + 1)
        elif not math.isnan(number := _number(value)):
            samples = columns.setdefault((subject, prefix), np.full(len(intervals), np.nan))
            samples[at] = number  # type: ignore[index]

    for at, entry in enumerate(intervals):
        for name, port in _ports(entry).items():
            walk(name, "", port, at)
        for kind in ("vcpus", "sys"):
            for name, world in _worlds(entry, kind).items():
                walk(name, "", world, at)
        walk("cpu", "", _dict(entry.get("cpu")), at)
    for (subject, name), samples in columns.items():
        yield subject, name, np.asarray(samples)


# --- draft


def _draft(intervals: list[dict[str, Any]], file: str, lines: Mapping[str, int], contents: Contents) -> None:
    """Uplinks with their drivers and queues, VMs with their vCPUs, ports and rings."""
    ports = {name: port for entry in reversed(intervals) for name, port in _ports(entry).items()}

    def state(subject: str, name: str, to: str, given: str | int) -> None:
        contents.add(Reading(file, lines.get(subject, 1), subject, name, given, to=to, given=given))

    for name, port in ports.items():
        switch = port.get("switch")
        if name != port["name"]:
            contents.note(f"{file}: several ports are called {port['name'][:60]!a}; the draft has the first")
            continue
        if _is_uplink(port):
            if group_name(name) != name:
                continue  # not the name of a NIC
            if isinstance(switch, str):
                state(name, "switch", f"network.{contents.called('switch', switch)}.uplinks", name)
            driver = str(_dict(port.get("vmnic")).get("devname", "")).partition(".")[2]
            if driver:
                state(name, "vmnic.devname", f"nics.{name}.driver", driver)
            queues = _number(_dict(port.get("rxqueue")).get("count"))
            if queues >= 1:
                state(name, "rxqueue.count", f"nics.{name}.rx_queues", int(queues))
            continue
        match = _PORT.fullmatch(name)
        if match is None:
            continue  # of the VMkernel
        vm = contents.called("vm", match["vm"])
        group = f"vms.{vm}"
        if isinstance(switch, str):
            state(name, "switch", f"{group}.networks", contents.called("switch", switch))
        if vcpus := len(_list(port.get("vcpu"))):
            state(name, "vcpu", f"{group}.vcpus", vcpus)
        ring = _number(_dict(port.get("vnic")).get("ring1sz"))
        if ring >= 1:
            state(name, "vnic.ring1sz", f"{group}.rx_ring", int(ring))
        rates = {key: _number(port.get(key)) for key in ("rxpps", "rxsize", "txpps", "txsize")}
        if not any(map(math.isnan, rates.values())):
            words = (
                f"receives {rates['rxpps']:g} packets/s of {rates['rxsize']:g} B, "
                f"sends {rates['txpps']:g} packets/s of {rates['txsize']:g} B"
            )
            state(name, "rxpps, rxsize, txpps, txsize", f"traffic.{vm}", words)
