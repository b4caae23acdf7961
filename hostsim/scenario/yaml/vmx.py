"""Reader of ``.vmx`` files: the keys of processors, memory and networks, each with its line.

Keys without effect on networks are ignored: disks, displays, addresses, slots. Relevant keys are kept, even if unknown to the platform;
`hostsim.scenario.yaml.machine` makes a group of VMs of them.
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
"""First words of relevant keys, by their lower case."""
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
"""Keys of a device for its name, slot and connection."""
_GROUPS = ("dvs.", "filter", "linkstatepropagation.", "opaquenetwork.", "bandwidth.")
"""Prefixes of similar keys."""
_USUAL = {
    "reservation": ("0",),
    "limit": ("-1", "unlimited"),
    "shares": ("normal", "50"),
    "sched.mem.affinity": ("all", ""),
    "numa.nodeaffinity": ("all", ""),
    "virtualdev": ("",),
}
"""Values without a request, of keys of a vNIC and of the VM."""
_OWN_NOTES = "numa.autosize.vcpu.maxpervirtualnode"
"""Keys that the hypervisor writes for itself, such as those with the suffix ``.cookie``."""


@dataclass(frozen=True)
class FileSetting:
    """A setting of a product's file, with its line."""

    name: str
    value: int | str
    line: int
    is_default: bool = False
    """True if the file marks it as the default."""
    nearest: str = ""
    """The probable name, if its first word is unknown."""


FileSettings = tuple[tuple[FileSetting, ...], tuple[Fault, ...]]
"""The settings of a file, and its faults."""


def read_vmx(text: str, file: str) -> FileSettings:
    """Read a ``.vmx`` file: ``key = "value"`` on each line; ``#`` and ``//`` begin a comment, case does not matter in keys.

    Args:
        text: of the file.
        file: its name in faults.
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
    """A value in the spelling of the platform's choices: booleans in capitals, escaped characters (``|22``) decoded."""
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    return plain.upper() if plain.upper() in ("TRUE", "FALSE") else plain


def _meant(key: str) -> str:
    """The probable key, if its first word resembles a relevant one; else empty."""
    head, dot, rest = key.partition(".")
    word = head.rstrip("0123456789").casefold()
    if word == "ethernet":  # without a number or a name
        return f"ethernet0.{rest}" if DEVICE.fullmatch(key) is None else ""
    near = difflib.get_close_matches(word, [other for other in _WORDS if other != word], n=1, cutoff=0.85)
    return _WORDS[near[0]] + head[len(word) :] + dot + rest if near and word not in _WORDS else ""
