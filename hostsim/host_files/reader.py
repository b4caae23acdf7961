"""Selection of a file's reader by content, with size limits for untrusted files."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from hostsim.config.files import MAX_BYTES, display_name, why_not
from hostsim.errors import Fault, InputError, raise_faults
from hostsim.host_files.contents import Contents
from hostsim.host_files.esxcli_output import is_esxcli_output, read_esxcli_output
from hostsim.host_files.esxtop import read_esxtop
from hostsim.host_files.net_stats import read_net_stats
from hostsim.host_files.packets import PCAP_STARTS, PCAPNG, is_tshark, read_pcap, read_tshark
from hostsim.scenario.yaml.foreign_text import decoded, format_of

__all__ = ["MAX_CAPTURE", "MAX_JSON", "read_host_files"]

MAX_CAPTURE = 512 << 20
"""Largest decompressed capture of esxtop or packets; an hour of a large host takes 300 MB."""
MAX_JSON = 64 << 20
"""Largest output of net-stats."""
MAX_LINES = 100_000
"""Largest number of lines of other command output, such as a list of settings."""
MOST_FILES = 200
_HEAD = 64 << 10
_LONGEST_LINE = 32 << 20
"""Longest line of a capture; esxtop needs about 60 bytes for each counter."""
_KINDS = "esxtop -b, net-stats -A, esxcli network nic and hardware cpu, vsish, pcap, pcapng, tshark"
_SETTINGS = {
    "a .vmx file": "vms: GROUP: {vmx: {file: NAME}}",
    "the output of `esxcli system settings advanced list`": "host: {advanced: {file: NAME}}",
}
"""Formats that scenarios read directly, with the keys for them."""


def read_host_files(files: Iterable[str | Path]) -> Contents:
    """Read the files of a host, each by its content.

    Args:
        files: files, and folders of an unpacked ``vm-support`` bundle: files of a known format in the folder and its ``commands``
            are read, others are ignored.

    Returns:
        Their contents, with the place of each value.

    Raises:
        InputError: a file cannot be read, or its format is unknown; carries the faults of all files.
    """
    contents = Contents()
    faults: list[Fault] = []
    for file in map(Path, files):
        try:
            if file.is_dir():
                _read_folder(file, contents)
            else:
                _read(file, contents)
        except InputError as error:
            faults += error.faults
    raise_faults(faults)
    return contents


def _read_folder(folder: Path, contents: Contents) -> None:
    places = [folder, folder / "commands"]
    files = [
        file
        for file_or_folder in places
        if file_or_folder.is_dir() and not (file_or_folder != folder and file_or_folder.is_symlink())
        for file in sorted(file_or_folder.iterdir())
        if file.is_file() and not file.is_symlink()  # a symbolic link in an untrusted bundle may point to any file
    ]
    read, passed = 0, 0
    for file in files:
        try:
            _read(file, contents)
            read += 1
        except InputError:
            passed += 1
        if read == MOST_FILES:
            contents.note(
                f"{display_name(folder)}: has more than {MOST_FILES} files of known formats; the others are not read"
            )
            break
    if not read:
        raise InputError(Fault("has no file of a known format", file=display_name(folder), allowed=_KINDS))
    if passed:
        contents.note(f"{display_name(folder)}: {passed} files of other formats, or with faults, are skipped")


def _read(file: Path, contents: Contents) -> None:
    name = display_name(file)
    if not file.is_file():
        raise InputError(
            Fault(why_not(file), file=name, allowed="a file, or a folder of an unpacked vm-support bundle")
        )
    try:
        with file.open("rb") as raw:
            head = raw.read(2)
            raw.seek(0)
            if head == b"\x1f\x8b":
                with gzip.GzipFile(fileobj=raw) as inner:
                    _read_stream(_Limited(inner, name), name, contents)
            else:
                _read_stream(_Limited(raw, name), name, contents)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(Fault(f"cannot be decompressed: {error}", file=name)) from None
    except OSError as error:
        raise InputError(Fault(f"cannot be read: {error.strerror or error}", file=name)) from None


def _read_stream(stream: _Limited, name: str, contents: Contents) -> None:
    head = stream.peek(_HEAD)
    if head[:4] in PCAP_STARTS or head[:4] == PCAPNG:
        stream.most = MAX_CAPTURE
        read_pcap(stream, name, contents)
        return
    if head[257:262] == b"ustar":
        remedy = "unpack it with `tar xzf`, and give the folder"
        raise InputError(Fault("is an archive", file=name, allowed=remedy))
    start = decoded(head)
    if "(PDH-CSV" in start:
        stream.most = MAX_CAPTURE
        read_esxtop(_lines(stream, name), name, contents)
        return
    is_json = format_of(start) == "the output of `net-stats -A`" or '"sysinfo"' in start[:1000]
    stream.most = MAX_JSON if is_json else MAX_BYTES
    text = decoded(stream.read())
    if is_json:
        read_net_stats(text, name, contents)
        return
    if (lines := text.count("\n")) > MAX_LINES and not is_tshark(text):
        raise InputError(Fault("has too many lines", given=str(lines), allowed=f"at most {MAX_LINES}", file=name))
    if is_tshark(text):
        read_tshark(text, name, contents)
    elif is_esxcli_output(text):
        read_esxcli_output(text, name, contents)
    else:
        if text.lstrip().startswith("structure[") or "/esxcli" in text[:1000]:
            remedy = "the same command without --formatter"
            raise InputError(Fault("is written by esxcli --formatter", file=name, allowed=remedy, line=1))
        other_format = format_of(text)
        remedy = f"; a scenario reads it: {_SETTINGS[other_format]}" if other_format in _SETTINGS else ""
        message = f"is {other_format}, which is not imported" if other_format else "has an unknown format"
        raise InputError(Fault(message + remedy, file=name, allowed=_KINDS, line=1))


class _Limited:
    """A stream that raises a fault if its size limit is exceeded."""

    def __init__(self, stream: BinaryIO | gzip.GzipFile, name: str) -> None:
        self._stream, self._name = stream, name
        self._start, self._count = b"", 0
        self.most = MAX_BYTES

    def peek(self, count: int) -> bytes:
        """The first bytes, without reading past them."""
        self._start = self._take(count)
        return self._start

    def read(self, count: int = -1, /) -> bytes:
        """Read a number of bytes, or all remaining ones."""
        most = self.most + 1 if count < 0 else count
        data, self._start = self._start[:most], self._start[most:]
        data += self._take(most - len(data))
        self._count += len(data)
        if self._count > self.most:
            allowed = f"at most {self.most} bytes, {self.most >> 20} MiB"
            raise InputError(Fault("is too long", file=self._name, given="more", allowed=allowed))
        return data

    def _take(self, count: int) -> bytes:
        parts: list[bytes] = []
        while count > 0 and (data := self._stream.read(count)):
            parts.append(data)
            count -= len(data)
        return b"".join(parts)


def _lines(stream: _Limited, name: str) -> Iterator[str]:
    """The lines of a capture one by one, decoded as UTF-8 or by the byte order mark."""
    rest = b""
    start = stream.read(1 << 20)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in start[:64]:
        text = start + stream.read()
        yield from decoded(text).splitlines(keepends=True)
        return
    chunk = start.removeprefix(b"\xef\xbb\xbf")
    while chunk:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise InputError(Fault("has a line that is too long", file=name, allowed=f"at most {_LONGEST_LINE} bytes"))
        for line in lines:
            yield line.decode("utf-8", "replace") + "\n"
        chunk = stream.read(1 << 20)
    if rest:
        yield rest.decode("utf-8", "replace")
