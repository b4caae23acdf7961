"""Checks between the parts of a scenario: names that must exist, contradictions, DirectPath I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hostsim.config.host import HardwareSpec, VmGroupSpec
from hostsim.config.nic import NicSpec
from hostsim.config.platform import PlatformSpec, SettingSpec
from hostsim.errors import Fault, nearest_name
from hostsim.scenario.schema import PointFile
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree

__all__ = [
    "contradictions",
    "network_faults",
    "passthrough_faults",
    "passthrough_warnings",
    "server_faults",
]


def _unknown(tree: Tree, path: KeyPath, name: str, known: Iterable[str], what: str) -> Fault:
    names = list(known)
    allowed = "one of " + ", ".join(names) if names else f"nothing: there is no {what}"
    return tree.fault(path, f"unknown {what}", allowed, nearest_name(name, names), given=repr(name))


def _unknown_driver(tree: Tree, name: str, nic: NicSpec, platform: PlatformSpec) -> Fault:
    """The fault of a NIC whose driver the platform does not have; for a model of the catalogue, at the line that names it."""
    path: KeyPath = ("nics", name, "driver")
    here = tree.place(path[:2])
    if here.file == tree.place(path).file:
        return _unknown(tree, path, nic.driver, platform.drivers, "driver")
    drivers = ", ".join((nic.driver, *nic.other_drivers))
    allowed = f"a model or a driver that it has, one of {', '.join(platform.drivers)}"
    return replace(
        tree.fault(path, f"{platform.platform} has no driver of this model", allowed, given=drivers),
        file=here.file,
        line=here.line,
    )


def _mapping(tree: Tree, path: KeyPath) -> Mapping[str, Any]:
    value = tree.get(path)
    return value if isinstance(value, dict) else {}


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [name for name in value if isinstance(name, str)] if isinstance(value, tuple) else []


def network_faults(tree: Tree, hardware: HardwareSpec | None) -> list[Fault]:
    """Faults of the network: unknown groups, virtual switches and physical NICs; streams that no single switch can replicate.

    Args:
        tree: the scenario, valid or not.
        hardware: its server, if it could be read.
    """
    faults: list[Fault] = []
    options = _mapping(tree, ("host", "nics")) if hardware is not None else {}
    known = hardware.nics if hardware is not None else {}
    faults += [
        _unknown(tree, ("host", "nics", name), name, known, "physical NIC") for name in options if name not in known
    ]
    groups, switches, flows = (_mapping(tree, (key,)) for key in ("vms", "network", "traffic"))
    for group in groups:
        path: KeyPath = ("vms", group, "networks")
        names = _names(tree.get(path))
        faults += [_unknown(tree, path, name, switches, "virtual switch") for name in names if name not in switches]
    owners: dict[str, str] = {}
    for switch in switches:
        path = ("network", switch, "uplinks")
        names = _names(tree.get(path))
        if len(set(names)) < len(names):
            faults.append(tree.fault(path, "names a NIC twice", "each NIC once"))
        for name in names:
            if hardware is not None and name not in hardware.nics:
                faults.append(_unknown(tree, path, name, hardware.nics, "physical NIC"))
            elif owners.setdefault(name, switch) != switch:
                faults.append(tree.fault(path, f"is already the uplink of {owners[name]}", "a NIC of its own"))
    workers: dict[str, str] = {}
    for flow in flows:
        for key in ("sender", "to"):
            path = ("traffic", flow, key)
            names = _names(tree.get(path))
            faults += [_unknown(tree, path, name, groups, "group of VMs") for name in names if name not in groups]
            if len(set(names)) < len(names):
                faults.append(tree.fault(path, "names a group twice", "each group once"))
        kind = tree.get(("traffic", flow, "kind"))
        if kind == "work":
            faults += [
                tree.fault(path, f"{name} has work from {workers[name]} already", "groups without work")
                for name in dict.fromkeys(names)
                if name in workers
            ]
            workers.update(dict.fromkeys(names, flow))
        elif kind == "multicast":
            homes = {home for name in names for home in _names(tree.get(("vms", name, "networks")))[:1]}
            bare = [name for name in names if name in groups and not _names(tree.get(("vms", name, "networks")))]
            if bare:
                faults.append(tree.fault(path, f"{bare[0]} has no vNIC", "groups with a vNIC"))
            if len(homes) > 1:
                message = f"has receivers on {' and '.join(sorted(homes))}"
                faults.append(tree.fault(path, message, "groups whose first vNIC is on one virtual switch"))
    return faults


def server_faults(tree: Tree, hardware: HardwareSpec, platform: PlatformSpec | None) -> list[Fault]:
    """Faults of the server: references to missing parts, and parts that the platform does not support.

    Args:
        tree: the hardware file.
        hardware: the parsed server.
        platform: the platform it runs.
    """
    faults: list[Fault] = []
    for name, nic in hardware.nics.items():
        if nic.node >= hardware.cpu.sockets:
            allowed = f"a NUMA node 0..{hardware.cpu.sockets - 1}: one for each socket"
            faults.append(tree.fault(("nics", name, "node"), "is not a node of this server", allowed))
        if platform is not None and nic.driver not in platform.drivers:
            faults.append(_unknown_driver(tree, name, nic, platform))
    family = hardware.cpu.family
    if platform is not None and family not in platform.costs.generations:
        faults.append(_unknown(tree, ("cpu", "family"), family, platform.costs.generations, "processor family"))
    return faults


ORDERED = {
    "advanced": (
        ("Cpu.CoschedCostartThreshold", "Cpu.CoschedCostopThreshold"),
        ("Net.NetNetqTxPackKpps", "Net.NetNetqTxUnpackKpps"),
    ),
    "vmx": (
        ("sched.cpu.min", "sched.cpu.max"),
        ("sched.mem.min", "sched.mem.max"),
        ("sched.mem.minSize", "sched.mem.max"),
    ),
}
"""Pairs of settings; the first must not exceed the second."""
_OPEN = ("unlimited", "-1")
"""Value of a limit that means no limit."""
_AFFINITY = "sched.cpu.affinity"
_PCPUS = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def contradictions(tree: Tree, file: PointFile, hardware: HardwareSpec, platform: PlatformSpec) -> Iterator[Fault]:
    """Contradicting settings, modelled or not.

    Args:
        tree: the scenario.
        file: the parsed scenario; each setting alone is valid.
        hardware: the server.
        platform: whose settings and defaults apply.
    """
    yield from _in_order(tree, ("host", "advanced"), file.host.advanced, platform.advanced)
    for name, group in file.vms.items():
        path: KeyPath = ("vms", name, "vmx")
        yield from _in_order(tree, path, group.vmx, platform.vmx)
        if _AFFINITY in group.vmx and not _is_affinity(str(group.vmx[_AFFINITY]), hardware.cpu.pcpus):
            allowed = f"all, or PCPUs 0..{hardware.cpu.pcpus - 1} with commas between: 0,2,4-7"
            yield tree.fault((*path, _AFFINITY), "names PCPUs that the server does not have", allowed)


def _in_order(
    tree: Tree, path: KeyPath, written: Mapping[str, object], table: Mapping[str, SettingSpec]
) -> Iterator[Fault]:
    """Invalid limits, and pairs whose first value exceeds the second."""
    for name in dict.fromkeys(high for _, high in ORDERED[path[-1]] if high in written):  # type: ignore[index]
        if _number(written[name]) is None and str(written[name]) not in _OPEN:
            yield tree.fault((*path, name), "is not a limit", 'a number from 0 on, or "unlimited"')
    for low, high in ORDERED[path[-1]]:  # type: ignore[index]
        if low not in table or high not in table or (low not in written and high not in written):
            continue
        least, most = (_number(written.get(name, table[name].default)) for name in (low, high))
        if least is None or most is None or least <= most:
            continue
        if low in written:
            yield tree.fault((*path, low), f"is above {high}, which is {most}", f"an integer up to {most}")
        else:
            yield tree.fault((*path, high), f"is below {low}, which is {least}", f"an integer from {least} on")


def _number(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isdecimal() and len(text) < 20 else None


def _is_affinity(text: str, pcpus: int) -> bool:
    if text.strip() == "all":
        return True
    ranges = [_PCPUS.fullmatch(piece.strip()) for piece in text.split(",")]
    return all(match is not None and int(match[1]) <= int(match[2] or match[1]) < pcpus for match in ranges)


def passthrough_faults(
    tree: Tree, file: PointFile, groups: Iterable[VmGroupSpec], hardware: HardwareSpec
) -> Iterator[Fault]:
    """Faults of passthrough: missing or used NICs, and features that such a VM cannot have; a group without VMs has no faults."""
    owners: dict[str, str] = {}
    uplinks = {nic: switch for switch, vswitch in file.network.items() for nic in vswitch.uplinks}
    for group in groups:
        if not group.settings.passthrough or not group.count:
            continue
        path: KeyPath = ("vms", group.name)
        for nic in (entry.nic for entry in group.settings.passthrough):
            key: KeyPath = (*path, "vmx", _key(file, group.name, nic))
            sharing = "DirectPath I/O does not go with NIC sharing"
            if nic not in hardware.nics:
                known = list(hardware.nics)
                yield tree.fault(key, "unknown physical NIC", "one of " + ", ".join(known), nearest_name(nic, known))
            elif nic in uplinks:
                yield tree.fault(key, f"is an uplink of {uplinks[nic]}; {sharing}", "a NIC that nothing else uses")
            elif nic in owners:
                yield tree.fault(key, f"is passed through to {owners[nic]} already; {sharing}", "a NIC of its own")
            elif group.count > 1:
                yield tree.fault((*path, "count"), f"VMs would have {nic}; {sharing}", "an integer 0..1")
            owners.setdefault(nic, group.name)
        if group.settings.reserved < 1:
            message = "leaves memory of the VM unreserved; DirectPath I/O does not go with memory overcommit"
            yield tree.fault((*path, "vmx", "sched.mem.min"), message, "as much as memSize")
        for feature in file.vms[group.name].uses:
            message = f"asks for {feature}; DirectPath I/O does not go with {feature}"
            yield tree.fault((*path, "uses"), message, "nothing, for a VM that a NIC is passed through to")


def _key(file: PointFile, group: str, nic: str) -> str:
    vmx = file.vms[group].vmx
    return next(key for key in vmx if key.startswith("pciPassthru") and key.endswith(".id") and vmx[key] == nic)


def passthrough_warnings(file: PointFile) -> Iterator[str]:
    """Warnings of features of passed-through NICs that are not simulated."""
    for name, group in file.vms.items():
        for feature in group.uses:
            yield f"vms.{name}: {feature} is not modelled"
