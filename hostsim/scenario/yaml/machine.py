"""A ``.vmx`` file: its keys, and its machine as a group of VMs with vNICs and devices.

Keys without effect on networks (disks, displays, addresses, slots) are ignored. Other keys are kept, even if the
platform does not know them; warnings list those that are not simulated.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from hostsim.config.effective_settings import vmx_table
from hostsim.config.platform import VNICS, PlatformSpec, SettingSpec
from hostsim.errors import Fault, with_article
from hostsim.scenario.yaml.foreign_text import format_of, has_controls, lines_of

__all__ = [
    "DEVICE",
    "FileSetting",
    "FileSettings",
    "Group",
    "Machine",
    "canonical",
    "listed",
    "read_vmx",
    "without_effect_warning",
]

DEVICE = re.compile(r"(?P<kind>ethernet|pcipassthru)(?P<number>\d{1,3})\.(?P<key>.+)", re.IGNORECASE)
"""A key of a vNIC or of a passed-through device."""
_LINE = re.compile(r'\s*(?P<key>[^\s="#]+)\s*=\s*"(?P<value>[^"]*)"\s*(?:#.*)?')
_ESCAPE = re.compile(r"\|([0-9A-Fa-f]{2})")
_KEPT = ("sched.cpu.", "sched.mem.", "numa.", "cpuid.corespersocket", "cpuid.numsmt", "memsize", "numvcpus")
_WORDS = {
    word.casefold(): word for word in ("ethernet", "pciPassthru", "sched", "numa", "cpuid", "memSize", "numvcpus")
}
"""First words of relevant keys, by their lower-case form."""
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
"""Values with which a key of a vNIC or a VM has no effect."""
_OWN_NOTES = "numa.autosize.vcpu.maxpervirtualnode"
"""Keys that the hypervisor writes for its own use, such as those with the suffix ``.cookie``."""


@dataclass(frozen=True)
class FileSetting:
    """A setting of a product's file, with its line."""

    name: str
    value: int | str
    line: int
    is_default: bool = False
    """True if the file marks the value as the default."""
    nearest: str = ""
    """The probable intended name, if the first word is unknown."""


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
    settings: list[FileSetting] = []
    for line_number, line in enumerate(lines_of(text), 1):
        if not line.strip() or line.lstrip().startswith(("#", "//")):
            continue
        match = _LINE.fullmatch(line)
        if match is None or has_controls(line) or not match["key"].isprintable():
            given = ascii(line.strip()[:60])
            faults.append(
                Fault("is not a line of a .vmx file", "", given, 'key = "value"', file=file, line=line_number)
            )
            continue
        key, folded = match["key"], match["key"].casefold()
        if folded in lines:
            message = f"is given twice, already on line {lines[folded]}"
            faults.append(Fault(message, key, repr(match["value"]), "each key once", file=file, line=line_number))
            continue
        lines[folded] = line_number
        value, nearest = _spelt(match["value"]), _meant(key)
        if nearest or _is_kept(folded, value):
            settings.append(FileSetting(key, value, line_number, nearest=nearest))
    if not lines and faults:
        other_format = format_of(text)
        message = f"is {other_format}, not a .vmx file" if other_format else "is not a .vmx file"
        faults = [Fault(message, "", faults[0].given, 'key = "value" on each line', file=file, line=faults[0].line)]
    elif not lines:
        faults.append(Fault("contains no keys", allowed='key = "value" on each line', file=file))
    return tuple(settings), tuple(faults)


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


def _spelt(text: str) -> str:
    """A value in the spelling of the platform's choices: booleans in upper case, escaped characters (``|22``) decoded."""
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    return plain.upper() if plain.upper() in ("TRUE", "FALSE") else plain


def _meant(key: str) -> str:
    """The probable intended key, if its first word resembles a relevant one; else empty."""
    head, dot, rest = key.partition(".")
    word = head.rstrip("0123456789").casefold()
    if word == "ethernet":  # without number and name
        return f"ethernet0.{rest}" if DEVICE.fullmatch(key) is None else ""
    near = difflib.get_close_matches(word, [other for other in _WORDS if other != word], n=1, cutoff=0.85)
    return _WORDS[near[0]] + head[len(word) :] + dot + rest if near and word not in _WORDS else ""


_STAND_INS = {
    "e1000e": "e1000",
    "vlance": "e1000",
    "flexible": "vmxnet3",
    "vmxnet": "vmxnet3",
    "vmxnet2": "vmxnet3",
    "vmxnet3vrdma": "vmxnet3",
    "vrdma": "vmxnet3",
}
"""The nearest modelled device to others; a row has no effect if the platform has the device."""
_OLD_SCHEMES = ("adapt", "calibrate")
"""Coalescing schemes of older versions."""
_OF_VMXNET3 = ("pnicFeatures", "coalescingScheme", "coalescingParams", "udpRSS")
"""Keys without effect on an e1000 and its family."""
_SHOWN = 8
"""Largest number of names in a warning."""
_NEAR = 0.9
"""Smallest similarity of a mistyped name to a known one; different names of products are less similar."""


def _is_e1000(device: str) -> bool:
    return device in VNICS and VNICS[device].family == "e1000"


@dataclass(frozen=True)
class Group:
    """Values that the scenario has for the VM group of a file."""

    name: str
    networks: int
    """Number of networks, and so of vNICs."""
    own: Mapping[str, object]
    """Keys that the scenario sets, which have priority over the file."""
    has_e1000: bool
    """True if the guest has an e1000 driver."""


def canonical(setting: SettingSpec, value: int | str) -> int | str:
    """A value of a file in the platform's spelling, as products ignore case."""
    words = setting.choices or ((setting.default,) if isinstance(setting.default, str) else ())
    return next((word for word in words if word.casefold() == str(value).casefold()), value)


def is_passed_over(setting: SettingSpec, value: int | str) -> bool:
    """True for a value without effect in the model."""
    try:
        return setting.is_missed(setting.read(value))
    except ValueError:
        return not setting.modelled


def listed(names: Iterable[str]) -> str:
    """Names separated by commas, truncated to the first few."""
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def without_effect_warning(file: str, entries: list[FileSetting], names: Collection[str]) -> Iterator[str]:
    """One warning that lists all settings of a file that have no effect.

    Args:
        file: its name in warnings.
        entries: the settings.
        names: names of the platform, for the nearest name.
    """
    if not entries:
        return
    shown = []
    for index, entry in enumerate(entries):
        near = [entry.nearest] if entry.nearest else []
        if not near and index < _SHOWN and entry.name not in names:
            near = difflib.get_close_matches(entry.name, names, n=1, cutoff=_NEAR)
        shown.append(f"{entry.name} (line {entry.line}" + (f"; did you mean {near[0]!r}?)" if near else ")"))
    count = (
        "1 setting has no effect, as it is"
        if len(entries) == 1
        else f"{len(entries)} settings have no effect, as they are"
    )
    yield f"{file}: {count} not modelled: {listed(shown)}"


@dataclass
class Machine:
    """The settings of a file, sorted for a group of VMs."""

    file: str
    """Name of the file in warnings."""
    group: Group
    platform: PlatformSpec
    settings: dict[str, FileSetting] = field(default_factory=dict)
    """Settings by their names on the platform."""
    vcpus: FileSetting | None = None
    warnings: list[str] = field(default_factory=list)
    _missed: list[FileSetting] = field(default_factory=list)

    @classmethod
    def of(cls, file: str, entries: Iterable[FileSetting], group: Group, platform: PlatformSpec) -> Machine:
        """Sort the entries of a file.

        Args:
            file: its name in warnings.
            entries: from its reader.
            group: of its VMs.
            platform: with the known settings.
        """
        machine = cls(file, group, platform)
        table = vmx_table(platform, group.networks)
        spellings = {name.casefold(): name for name in table}
        devices: dict[str, dict[int, list[FileSetting]]] = {"ethernet": {}, "pcipassthru": {}}
        for entry in entries:
            device = DEVICE.fullmatch(entry.name)
            if device is not None:
                devices[device["kind"].casefold()].setdefault(int(device["number"]), []).append(entry)
            elif entry.name.casefold() == "numvcpus":
                machine.vcpus = entry
            else:
                machine._add(entry, spellings, table)
        for entry in [*machine._vnics(devices["ethernet"]), *machine._passed(devices["pcipassthru"])]:
            machine._add(entry, spellings, table)
        machine._missed.sort(key=lambda entry: entry.line)
        machine.warnings += without_effect_warning(file, machine._missed, list(table))
        return machine

    def _add(self, entry: FileSetting, spellings: Mapping[str, str], table: Mapping[str, SettingSpec]) -> None:
        name = spellings.get(entry.name.casefold())
        if name in self.group.own:
            return
        value = entry.value if name is None else canonical(table[name], entry.value)
        if name is None or is_passed_over(table[name], value):
            self._missed.append(entry)
        else:
            self.settings[name] = replace(entry, name=name, value=value)

    def _path(self, name: str) -> str:
        return f"vms.{self.group.name}.vmx.{name}"

    # --- vNICs

    def _vnics(self, by_number: Mapping[int, list[FileSetting]]) -> Iterator[FileSetting]:
        """The settings of the connected vNICs, which get the networks in numerical order."""
        group = self.group
        present = {vnic: value for vnic, entries in by_number.items() if (value := _value(entries, "present"))}
        left_out = [vnic for vnic in by_number if vnic not in present] if present else []
        there = sorted(vnic for vnic in by_number if (present.get(vnic, "TRUE" if not present else "FALSE")) != "FALSE")
        networks = f"{group.networks} network" + ("" if group.networks == 1 else "s")
        if left_out:
            names = _vnic_names(sorted(left_out))
            self.warnings.append(f'{self.file}: {names} left out: no line sets its ethernetX.present to "TRUE"')
        if len(there) > group.networks:
            names = _vnic_names(there[group.networks :])
            self.warnings.append(f"{self.file}: {names} left out: vms.{group.name}.networks names {networks}")
        elif len(there) < group.networks:
            vnics = "no vNIC" if not there else "1 vNIC" if len(there) == 1 else f"{len(there)} vNICs"
            rest = "the VM" if not there else "each further one"
            self.warnings.append(
                f"{self.file}: has {vnics}, and vms.{group.name}.networks names {networks}: {rest} gets a vNIC with default settings"
            )
        there = there[: group.networks]
        moved = [f"ethernet{vnic} is ethernet{index}" for index, vnic in enumerate(there) if index != vnic]
        if moved:
            self.warnings.append(
                f"{self.file}: vNICs take the networks of vms.{group.name} in the order of their numbers: in the scenario {listed(moved)}"
            )
        bare = [vnic for index, vnic in enumerate(there) if self._has_no_device(by_number[vnic], index)]
        if bare:
            self.warnings.append(
                f"{self.file}: {_vnic_names(bare, 'has', 'have')} no virtualDev: ESXi makes it a flexible adapter or an e1000, "
                f"and a vmxnet3 is simulated; {self._path(f'ethernet{there.index(bare[0])}.virtualDev')} in the scenario has priority over the file"
            )
        for index, vnic in enumerate(there):
            yield from self._vnic(by_number[vnic], index, vnic)

    def _has_no_device(self, entries: Iterable[FileSetting], index: int) -> bool:
        return not _value(entries, "virtualDev") and f"ethernet{index}.virtualDev" not in self.group.own

    def _vnic(self, entries: list[FileSetting], index: int, vnic: int) -> Iterator[FileSetting]:
        device = ""
        for entry in entries:
            if _key(entry) == "virtualdev":
                stand_in = self._device(entry, f"ethernet{index}.virtualDev")
                device = str(stand_in.value).casefold()
        for entry in entries:
            name, key = f"ethernet{index}.{entry.name.partition('.')[2]}", _key(entry)
            if key == "startconnected":
                if entry.value == "FALSE":
                    self.warnings.append(
                        f"{self.file}:{entry.line}: ethernet{vnic} is not connected when the VM starts; it is simulated as connected, "
                        f"as vms.{self.group.name}.networks gives it a network"
                    )
            elif key == "virtualdev":
                yield replace(entry, name=name, value=device)
            elif (key == "coalescingscheme" and str(entry.value).casefold() in _OLD_SCHEMES) or (
                _is_e1000(device) and key in map(str.casefold, _OF_VMXNET3)
            ):
                self._missed.append(entry)
            else:
                yield replace(entry, name=name)

    def _device(self, entry: FileSetting, name: str) -> FileSetting:
        """The simulated virtual device."""
        device = str(entry.value).casefold()
        choices = self.platform.vmx["ethernetX.virtualDev"].choices or ()
        value = device if device in choices else _STAND_INS.get(device, device)
        if _is_e1000(value) and not self.group.has_e1000:
            value = "vmxnet3"
        if value != device and name not in self.group.own:
            reason = f"the guest has no driver for {with_article(device)}" if device in choices else "is not modelled"
            self.warnings.append(
                f"{self.file}:{entry.line}: {entry.name} = {entry.value!r}: {reason}, and {with_article(value)} is simulated; "
                f"{self._path(name)} in the scenario has priority over the file"
            )
        return replace(entry, value=value)

    # --- passed-through devices

    def _passed(self, by_number: Mapping[int, list[FileSetting]]) -> Iterator[FileSetting]:
        """The settings of passed-through NICs and NIC functions; one warning lists the other devices, which are ignored."""
        unknown: list[str] = []
        for device, entries in sorted(by_number.items()):
            name = f"pciPassthru{device}"
            stated = self.group.own.get(f"{name}.present", _value(entries, "present"))
            if stated != "TRUE":
                continue
            if f"{name}.pfId" in self.group.own or not _is_foreign(_value(entries, "pfId")):
                yield from (entry for entry in entries if _key(entry) in ("present", "pfid"))
                continue
            if f"{name}.id" in self.group.own or not _is_foreign(_value(entries, "id")):
                yield from (entry for entry in entries if _key(entry) in ("present", "id"))
                continue
            device_text = _value(entries, "vgpu") or _value(entries, "id") or _value(entries, "allowedDevices")
            kind = (
                "SR-IOV, a virtual function of a NIC"
                if _value(entries, "pfId")
                else ascii(device_text)
                if device_text
                else "without a name"
            )
            unknown.append(f"{name} ({kind})")
        if unknown:
            first = unknown[0].partition(" ")[0]
            key = f"{first}.pfId" if "SR-IOV" in unknown[0] else f"{first}.id"
            self.warnings.append(
                f"{self.file}: passed-through devices are not simulated, other than NICs and functions of NICs by their names: {listed(unknown)}; "
                f'{self._path(key)} in the scenario names a NIC instead, {first}.present: "FALSE" leaves the device out'
            )


def _key(entry: FileSetting) -> str:
    return entry.name.partition(".")[2].casefold()


def _value(entries: Iterable[FileSetting], key: str) -> str:
    """The value of a device's key; empty without one."""
    return next((str(entry.value) for entry in entries if _key(entry) == key.casefold()), "")


def _is_foreign(name: str) -> bool:
    """True for a PCI address, which does not identify a server's NIC, and for an unnamed device."""
    return not name or ":" in name


def _vnic_names(numbers: Iterable[int], one: str = "is", several: str = "are") -> str:
    names = [f"ethernet{vnic}" for vnic in numbers]
    return f"{listed(names)} {one if len(names) == 1 else several}"
