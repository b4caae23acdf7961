"""Reader of ``.vmx`` files: the keys of processors, memory and networks, each with its line.

A file says much that no network depends on: disks, displays, addresses, slots. That is passed over. A key of a kind that matters here is
kept whether or not the platform knows it; `hostsim.scenario.yaml.machine` makes a group of VMs of them.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from hostsim.errors import Fault
from hostsim.scenario.yaml.foreign_text import format_of, has_controls, lines_of

__all__ = ["DEVICE", "FileSetting", "FileSettings", "read_vmx"]

DEVICE = re.compile(r"(?P<kind>ethernet|pcipassthru)(?P<number>\d{1,3})\.(?P<key>.+)", re.IGNORECASE)
"""A key of a vNIC or of a device that is passed through."""
_LINE = re.compile(r'\s*(?P<key>[^\s="#]+)\s*=\s*"(?P<value>[^"]*)"\s*(?:#.*)?')
_ESCAPE = re.compile(r"\|([0-9A-Fa-f]{2})")
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
        "bsdname",
        "checkmacaddress",
        "connectiontype",
        "customlabel",
        "deviceid",
        "displayname",
        "externalid",
        "features",
        "generatedaddress",
        "generatedaddressoffset",
        "hwversion",
        "macaddress",
        "macaddresstype",
        "networkname",
        "noforgedsrcaddr",
        "nopromisc",
        "pcislotnumber",
        "pvnid",
        "pxm",
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
"""Similar keys, by how they begin."""
_USUAL = {
    "reservation": ("0",),
    "limit": ("-1", "unlimited"),
    "shares": ("normal", "50"),
    "sched.mem.affinity": ("all", ""),
    "numa.nodeaffinity": ("all", ""),
    "virtualdev": ("",),
}
"""Values that ask for nothing, of keys of a vNIC and of the VM."""
_OWN_NOTES = "numa.autosize.vcpu.maxpervirtualnode"
"""What the hypervisor wrote down for itself, as in each key that ends with ``.cookie``."""


@dataclass(frozen=True)
class FileSetting:
    """A setting read from a file of the trade, with its line."""

    name: str
    value: int | str
    line: int
    is_default: bool = False
    """True where the file says that this is the default."""
    nearest: str = ""
    """The name that it was probably meant to have, where its first word is none of a setting."""


FileSettings = tuple[tuple[FileSetting, ...], tuple[Fault, ...]]
"""The settings of a file, and what is wrong with it."""


def read_vmx(text: str, file: str) -> FileSettings:
    """Read a ``.vmx`` file: ``key = "value"`` on each line; ``#`` and ``//`` begin a comment, case does not matter in keys.

    Args:
        text: of the file.
        file: what faults call it.
    """
    faults: list[Fault] = []
    lines: dict[str, int] = {}
    found: list[FileSetting] = []
    for number, line in enumerate(lines_of(text), 1):
        if not line.strip() or line.lstrip().startswith(("#", "//")):
            continue
        match = _LINE.fullmatch(line)
        if match is None or has_controls(line) or not match["key"].isprintable():
            given = ascii(line.strip()[:60])
            faults.append(Fault("is not a line of a .vmx file", "", given, 'key = "value"', file=file, line=number))
            continue
        key, folded = match["key"], match["key"].casefold()
        if folded in lines:
            message = f"is given twice, already on line {lines[folded]}"
            faults.append(Fault(message, key, repr(match["value"]), "each key once", file=file, line=number))
            continue
        lines[folded] = number
        value, nearest = _value(match["value"]), _meant(key)
        if nearest or _is_kept(folded, value):
            found.append(FileSetting(key, value, number, nearest=nearest))
    if not lines and faults:
        seen = format_of(text)
        message = f"is {seen}, not a .vmx file" if seen else "is not a .vmx file"
        faults = [Fault(message, "", faults[0].given, 'key = "value" on each line', file=file, line=faults[0].line)]
    elif not lines:
        faults.append(Fault("contains no keys", allowed='key = "value" on each line', file=file))
    return tuple(found), tuple(faults)


def _is_kept(key: str, value: str) -> bool:
    if key.endswith(".cookie") or key == _OWN_NOTES:
        return False
    device = DEVICE.fullmatch(key)
    own = key if device is None else device["key"]
    if value.casefold() in _USUAL.get(own, ()):
        return False
    if device is not None:
        return own not in _NAMED and not own.startswith(_GROUPS)
    return key.startswith(_KEPT)


def _value(text: str) -> str:
    """A value as the platform's choices spell it: truth in capitals, characters that stand as their codes (``|22``)."""
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    return plain.upper() if plain.upper() in ("TRUE", "FALSE") else plain


def _meant(key: str) -> str:
    """The key that one was meant to be, where its first word is nearly one that matters here; empty where it is not."""
    head, dot, rest = key.partition(".")
    word = head.rstrip("0123456789").casefold()
    if word == "ethernet":  # without a number, or with nothing behind it
        return f"ethernet0.{rest}" if DEVICE.fullmatch(key) is None else ""
    near = difflib.get_close_matches(word, [other for other in _WORDS if other != word], n=1, cutoff=0.85)
    return _WORDS[near[0]] + head[len(word) :] + dot + rest if near and word not in _WORDS else ""
