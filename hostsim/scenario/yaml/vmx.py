"""Reader of ``.vmx`` files: the keys of processors, memory and networks, each with its line.

A file says much that no network depends on: disks, displays, addresses, slots. That is passed over. A key of a kind that matters here is
kept whether or not the platform knows it, and told as unknown where a scenario's own keys are.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from hostsim.errors import Fault

__all__ = ["FileSetting", "FileSettings", "read_vmx", "vnic_of"]

_LINE = re.compile(r'\s*(?P<key>[^\s="#]+)\s*=\s*"(?P<value>[^"]*)"\s*')
_ESCAPE = re.compile(r"\|([0-9A-Fa-f]{2})")
_DEVICE = re.compile(r"(?P<kind>ethernet|pcipassthru)(?P<number>\d{1,3})\.(?P<key>.+)", re.IGNORECASE)
_KEPT = ("sched.cpu.", "sched.mem.", "numa.", "cpuid.corespersocket", "cpuid.numsmt", "memsize", "numvcpus")
_WORDS = {
    word.casefold(): word for word in ("ethernet", "pciPassthru", "sched", "numa", "cpuid", "memSize", "numvcpus")
}
"""First words of keys that matter here, by their lower case."""
_NAMED = frozenset(
    [
        "address",
        "addresstype",
        "allowguestconnectioncontrol",
        "checkmacaddress",
        "connectiontype",
        "deviceid",
        "displayname",
        "externalid",
        "features",
        "generatedaddress",
        "generatedaddressoffset",
        "hwversion",
        "limit",
        "networkname",
        "pcislotnumber",
        "reservation",
        "shares",
        "startconnected",
        "subsystemid",
        "subsystemvendorid",
        "systemid",
        "vendorid",
        "vnet",
        "wakeonpcktrcv",
    ]
)
"""Keys of a device that say what it is called, where it is plugged in and what it is connected to."""
_GROUPS = ("dvs.", "filter", "linkstatepropagation.", "opaquenetwork.", "bandwidth.")
"""Likewise, by how they begin."""
_NO_EFFECT = frozenset({"numa.autosize.cookie", "numa.autosize.vcpu.maxpervirtualnode"})
"""What the hypervisor wrote down for itself."""


@dataclass(frozen=True)
class FileSetting:
    """A setting read from a file of the trade, with its line."""

    name: str
    value: int | str
    line: int
    is_default: bool = False
    """True where the file says that this is the default."""


FileSettings = tuple[tuple[FileSetting, ...], tuple[Fault, ...]]
"""The settings of a file, and what is wrong with it."""


def vnic_of(name: str) -> int | None:
    """The number of the vNIC of a key; None for any other key."""
    device = _DEVICE.fullmatch(name)
    return int(device["number"]) if device is not None and device["kind"].casefold() == "ethernet" else None


def read_vmx(text: str, file: str) -> FileSettings:
    """Read a ``.vmx`` file: ``key = "value"`` on each line; ``#`` begins a comment, case does not matter in keys.

    Args:
        text: of the file.
        file: what faults call it.
    """
    faults: list[Fault] = []
    lines: dict[str, int] = {}
    found: list[FileSetting] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        value = _value(match["value"]) if match is not None else ""
        if match is None or not (line.replace("\t", " ") + value).isprintable():
            given = ascii(line.strip()[:60])
            faults.append(Fault("is not a line of a .vmx file", "", given, 'key = "value"', file=file, line=number))
            continue
        key, folded = match["key"], match["key"].casefold()
        if folded in lines:
            message = f"stands twice, already on line {lines[folded]}"
            faults.append(Fault(message, key, repr(match["value"]), "each key once", file=file, line=number))
            continue
        lines[folded] = number
        if _is_kept(folded):
            found.append(FileSetting(key, value, number))
        elif nearest := _meant(key):
            allowed = "keys of ethernetX, pciPassthruX, sched.cpu, sched.mem, numa and cpuid, memSize, numvcpus"
            faults.append(Fault("unknown key", key, repr(match["value"]), allowed, nearest, file, number))
    if not lines and not faults:
        faults.append(Fault("holds no keys", allowed='key = "value" on each line', file=file))
    gone = {entry.name.casefold().partition(".")[0] for entry in found if _is_absent(entry)}
    return tuple(entry for entry in found if entry.name.casefold().partition(".")[0] not in gone), tuple(faults)


def _is_kept(key: str) -> bool:
    device = _DEVICE.fullmatch(key)
    if device is not None:
        return device["key"] not in _NAMED and not device["key"].startswith(_GROUPS)
    return key.startswith(_KEPT) and key not in _NO_EFFECT


def _is_absent(entry: FileSetting) -> bool:
    return entry.name.casefold().endswith(".present") and entry.value == "FALSE"


def _value(text: str) -> str:
    """A value as the platform's choices spell it: truth in capitals, characters that stand as their codes (``|22``)."""
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    return plain.upper() if plain.upper() in ("TRUE", "FALSE") else plain


def _meant(key: str) -> str:
    """The word that the first one of a key was meant to be, where it is nearly one that matters here; empty where it is not."""
    head = key.partition(".")[0]
    word = head.rstrip("0123456789").casefold()
    if word == "ethernet":  # without a number, or with nothing behind it
        return "ethernet0." if _DEVICE.fullmatch(key) is None else ""
    near = difflib.get_close_matches(word, [other for other in _WORDS if other != word], n=1, cutoff=0.85)
    return _WORDS[near[0]] + head[len(word) :] if near and word not in _WORDS else ""
