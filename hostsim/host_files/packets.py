"""Reader of packet captures: instants and sizes from pcap, pcapng, or the text output of ``tshark``.

Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. Only the headers of records are read, never the contents of packets.
"""

from __future__ import annotations

import csv
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Protocol

from hostsim.errors import Fault, InputError
from hostsim.host_files.contents import Arrivals, Contents
from hostsim.scenario.yaml.foreign_text import lines_of

__all__ = ["PCAPNG", "PCAP_STARTS", "is_tshark", "read_pcap", "read_tshark"]

PCAP_STARTS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""Byte order, and nanoseconds per unit of time, by the first bytes of a pcap file."""
PCAPNG = b"\x0a\x0d\x0d\x0a"
"""First bytes of a pcapng file."""
_PACKETS = {6: "IIIII", 2: "HxxIIII"}
"""Types of the blocks that have a packet and its time: the enhanced and the obsolete one. The simple block has no
time.
"""
_LONGEST_RECORD = 1 << 20
MOST_PACKETS = 10_000_000
_SECOND_NS = 1_000_000_000
_BILLION = Decimal(_SECOND_NS)
_EPOCH = re.compile(r"\s*(?P<time>\d{1,12}(?:\.\d{1,12})?)(?:[\t,; ]+(?P<size>\d{1,6}))?\s*")
_FIELD = re.compile(r'"?(?:frame|[a-z_]+)\.[a-z0-9_.]+"?')
_TIMES, _SIZE = ("frame.time_epoch", "frame.time_relative"), "frame.len"
_SUMMARY = re.compile(r"\s*\d+\s+(?P<time>\d{1,9}\.\d{1,12})\s+\S+\s+(?:→|->)\s.*")
Packet = tuple[int, int]
"""Nanoseconds since the epoch of the file, and bytes of the frame; 0 if unknown."""


class Source(Protocol):
    """A stream of bytes."""

    def read(self, count: int, /) -> bytes:
        """Read a number of bytes, or fewer at the end of the file."""


def read_pcap(stream: Source, file: str, contents: Contents) -> None:
    """Read the instants and sizes of the packets of a pcap or pcapng file.

    Raises:
        InputError: no packets, or an invalid record.
    """
    start = stream.read(4)
    read = _Reader(stream, file)
    packets = _pcapng(read) if start == PCAPNG else _pcap(read, *PCAP_STARTS[start])
    _keep(packets, file, contents)


def is_tshark(text: str) -> bool:
    """True if the first lines are packet times, as from ``tshark -T fields -e frame.time_epoch``, or a packet list."""
    lines = [line for line in lines_of(text[:4096])[:5] if line.strip()]
    if lines and _columns(lines[0]) is not None:
        return True
    times = [_time(line) for line in lines[:3]]
    return bool(times) and None not in times and ("." in lines[0])


def read_tshark(text: str, file: str, contents: Contents) -> None:
    """Read the instants, and the sizes from a second column, or from the columns named in the first line.

    Raises:
        InputError: a line that is not a time, or no packets.
    """
    lines = lines_of(text)
    columns = _columns(next(filter(str.strip, lines), ""))

    def packets() -> Iterator[Packet]:
        is_head = columns is not None
        for line_number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            if is_head:
                is_head = False
                continue
            packet = _time(line if columns is None else columns.of(line))
            if packet is None:
                given, allowed = ascii(line.strip()[:60]), "seconds, and optionally bytes"
                raise InputError(Fault("is not a time of tshark", "", given, allowed, file=file, line=line_number))
            yield packet

    _keep(packets(), file, contents)


@dataclass(frozen=True)
class _Columns:
    """Positions of time and size among the fields of a line."""

    separator: str
    time: int
    size: int | None

    def of(self, line: str) -> str:
        """The time and size of a line; a missing one is an empty text."""
        try:
            cells = next(csv.reader([line], delimiter=self.separator), [])
        except csv.Error:
            return ""
        places = [index for index in (self.time, self.size) if index is not None and index < len(cells)]
        return " ".join(cells[index] for index in places)


def _columns(head: str) -> _Columns | None:
    """The columns of a first line with names, as from ``tshark -E header=y``; None if none of them is a time."""
    first = _FIELD.match(head)
    if first is None:
        return None
    separator = head[first.end() : first.end() + 1] or "\t"
    names = [name.strip().strip('"') for name in head.split(separator)]
    times = [names.index(name) for name in _TIMES if name in names]
    return _Columns(separator, times[0], names.index(_SIZE) if _SIZE in names else None) if times else None


def _time(line: str) -> Packet | None:
    match = _EPOCH.fullmatch(line) or _SUMMARY.fullmatch(line)
    if match is None:
        return None
    try:
        nanoseconds = int(Decimal(match["time"]) * _BILLION)
    except InvalidOperation:
        return None
    size = match.groupdict().get("size")
    return nanoseconds, int(size) if size else 0


class _Reader:
    """Reads bytes and counts its position."""

    def __init__(self, stream: Source, file: str) -> None:
        self._stream, self._at = stream, 4
        self.file = file

    def take(self, count: int) -> bytes | None:
        """The next bytes; None at the end of the file, even if truncated."""
        if not 0 <= count <= _LONGEST_RECORD:
            allowed = f"at most {_LONGEST_RECORD} bytes"
            raise InputError(
                Fault(
                    f"has a record that is too long, at byte {self._at}",
                    given=str(count),
                    allowed=allowed,
                    file=self.file,
                )
            )
        data = self._stream.read(count)
        self._at += len(data)
        return data if len(data) == count else None


def _pcap(read: _Reader, order: str, unit_ns: int) -> Iterator[Packet]:
    read.take(20)
    header = struct.Struct(order + "IIII")
    while (data := read.take(16)) is not None:
        seconds, fraction, captured, length = header.unpack(data)
        if read.take(captured) is None:
            return
        yield seconds * _SECOND_NS + fraction * unit_ns, length


def _pcapng(read: _Reader) -> Iterator[Packet]:
    order = "<"
    units: list[Callable[[int], int]] = []
    kind: int | None = 0x0A0D0D0A
    while True:
        if kind == 0x0A0D0D0A:  # a section header: the byte order follows the length
            head = read.take(8)
            if head is None:
                return
            order = "<" if head[4:] == b"\x4d\x3c\x2b\x1a" else ">"
            (length,) = struct.unpack(order + "I", head[:4])
            body = read.take(length - 12)
            units = []
        else:
            head = read.take(4)
            if head is None:
                return
            (length,) = struct.unpack(order + "I", head)
            body = read.take(length - 8)
            if body is not None and kind == 1 and len(body) >= 12:
                units.append(_unit(body[8:-4], order))
            elif body is not None and kind in _PACKETS and len(body) >= 24:
                interface, high, low, _, size = struct.unpack(order + _PACKETS[kind], body[:20])
                if interface < len(units):
                    yield units[interface](high << 32 | low), size
        head = read.take(4) if body is not None else None
        if head is None:
            return
        (kind,) = struct.unpack(order + "I", head)


def _unit(options: bytes, order: str) -> Callable[[int], int]:
    """Conversion of an interface's times to nanoseconds, by its option ``if_tsresol``; the default is microseconds."""
    at = 0
    while at + 4 <= len(options):
        code, length = struct.unpack(order + "HH", options[at : at + 4])
        if code == 9 and length == 1 and at + 4 < len(options):
            exponent = options[at + 4]
            if exponent & 0x80:
                return lambda time: (time * _SECOND_NS) >> (exponent & 0x7F)
            return lambda time: time * _SECOND_NS // 10**exponent
        if code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return lambda time: time * 1000


def _keep(packets: Iterator[Packet], file: str, contents: Contents) -> None:
    times: list[int] = []
    sizes: list[int] = []
    for time, size in packets:
        if len(times) == MOST_PACKETS:
            contents.note(f"{file}: has more than {MOST_PACKETS} packets; the others are not read")
            break
        times.append(time)
        sizes.append(size)
    if not times:
        raise InputError(Fault("has no packets with a time", allowed="a capture of pcap, pcapng or tshark", file=file))
    order = sorted(range(len(times)), key=times.__getitem__)
    if order != list(range(len(times))):
        contents.note(f"{file}: packets are not in order of time, and are sorted")
    first = times[order[0]]
    octets = tuple(sizes[index] for index in order) if all(sizes) else ()
    contents.arrivals.append(Arrivals(file, tuple(times[index] - first for index in order), octets))
