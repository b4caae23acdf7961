"""Checks between the parts of a scenario: names that must exist, contradictions, DirectPath I/O and SR-IOV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hostsim.config.cpu import CpuSpec
from hostsim.config.host import HardwareSpec, VmGroupSpec
from hostsim.config.nic import NicOptions, NicSpec
from hostsim.config.platform import FunctionSettings, PassthroughSettings, PlatformSpec, SettingSpec
from hostsim.errors import Fault, nearest_name
from hostsim.scenario.schema import PointFile
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree

__all__ = [
    "contradictions",
    "network_faults",
    "numa_nodes",
    "passthrough_faults",
    "passthrough_warnings",
    "server_faults",
]


def _unknown_driver(tree: Tree, name: str, nic: NicSpec, platform: PlatformSpec) -> Fault:
    """The fault of a NIC for which the platform has no driver; for a model from the catalogue, at the line that names it."""
    path: KeyPath = ("nics", name, "driver")
    allowed = f"one of {', '.join(platform.drivers)}, or another model or platform"
    nearest = nearest_name(nic.driver, platform.drivers)
    fault = tree.fault(path, f"unknown to {platform.platform}", allowed, nearest, given=repr(nic.driver))
    here = tree.place(path[:2])
    return fault if fault.file == here.file else replace(fault, file=here.file, line=here.line)


def _mapping(tree: Tree, path: KeyPath) -> Mapping[str, Any]:
    value = tree.get(path)
    return value if isinstance(value, dict) else {}


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [name for name in value if isinstance(name, str)] if isinstance(value, tuple) else []


def network_faults(tree: Tree, hardware: HardwareSpec | None) -> Iterator[Fault]:
    """Faults of the network: unknown groups, switches and NICs; multicast streams whose receivers are on several
    switches.

    Args:
        tree: the scenario, valid or not.
        hardware: its server, if it could be read.
    """
    options = _mapping(tree, ("host", "nics")) if hardware is not None else {}
    nics = hardware.nics if hardware is not None else {}
    yield from (
        tree.unknown(("host", "nics", name), "physical NIC", name, nics) for name in options if name not in nics
    )
    groups, switches, flows = (_mapping(tree, (key,)) for key in ("vms", "network", "traffic"))
    for group in groups:
        path: KeyPath = ("vms", group, "networks")
        names = _names(tree.get(path))
        yield from (tree.unknown(path, "virtual switch", name, switches) for name in names if name not in switches)
    owners: dict[str, str] = {}
    for switch in switches:
        group = tree.get(("network", switch, "port_group_of"))
        owner = group if isinstance(group, str) else switch  # a port group shares the adapters of its switch
        for key in ("uplinks", "standby"):
            path = ("network", switch, key)
            names = _names(tree.get(path))
            if len(set(names)) < len(names):
                yield tree.fault(path, "names a NIC twice", "each NIC once")
            for name in names:
                if hardware is not None and name not in hardware.nics:
                    yield tree.unknown(path, "physical NIC", name, hardware.nics)
                elif owners.setdefault(name, owner) != owner:
                    yield tree.fault(path, f"is already the uplink of {owners[name]}", "a NIC that is not in use")
    workers: dict[str, str] = {}
    for flow in flows:
        for key in ("sender", "to"):
            path = ("traffic", flow, key)
            names = _names(tree.get(path))
            yield from (tree.unknown(path, "group of VMs", name, groups) for name in names if name not in groups)
            if len(set(names)) < len(names):
                yield tree.fault(path, "names a group twice", "each group once")
        port = ("traffic", flow, "network")
        yield from (
            tree.unknown(port, "virtual switch", name, switches)
            for name in _names(tree.get(port))
            if name not in switches
        )
        kind = tree.get(("traffic", flow, "kind"))
        if kind == "work":
            yield from (
                tree.fault(path, f"{name} already has work from {workers[name]}", "groups without work")
                for name in dict.fromkeys(names)
                if name in workers
            )
            workers.update(dict.fromkeys(names, flow))
        elif kind == "multicast":
            homes = {home for name in names for home in _names(tree.get(("vms", name, "networks")))[:1]}
            bare = [name for name in names if name in groups and not _names(tree.get(("vms", name, "networks")))]
            if bare:
                yield tree.fault(path, f"{bare[0]} has no vNIC", "groups with a vNIC")
            if len(homes) > 1:
                message = f"has receivers on {' and '.join(sorted(homes))}"
                yield tree.fault(path, message, "groups whose first vNIC is on one virtual switch")


def numa_nodes(cpu: CpuSpec) -> str:
    """The NUMA nodes of a server, as allowed values of an error."""
    of_socket = "one" if cpu.nodes_per_socket == 1 else str(cpu.nodes_per_socket)
    return f"a NUMA node 0..{cpu.nodes - 1}: {of_socket} for each socket"


def server_faults(tree: Tree, hardware: HardwareSpec, platform: PlatformSpec | None) -> Iterator[Fault]:
    """Faults of the server: references to missing parts, and parts that the platform does not support.

    Args:
        tree: the hardware file.
        hardware: the parsed server.
        platform: the platform it runs.
    """
    for name, nic in hardware.nics.items():
        if nic.node >= hardware.cpu.nodes:
            allowed = numa_nodes(hardware.cpu)
            yield tree.fault(("nics", name, "node"), "is not a node of this server", allowed)
        if platform is not None and nic.driver not in platform.drivers:
            yield _unknown_driver(tree, name, nic, platform)
    family = hardware.cpu.family
    if platform is not None and family not in platform.costs.generations:
        yield tree.unknown(("cpu", "family"), "processor family", family, platform.costs.generations)


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
"""Value of a limit that means unlimited."""
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
    most = platform.features.most_vcpus
    for name, group in file.vms.items():
        path: KeyPath = ("vms", name, "vmx")
        if group.vcpus > most:
            message = f"is more than a VM has on {platform.platform}"
            yield tree.fault(("vms", name, "vcpus"), message, f"an integer 1..{most}")
        yield from _in_order(tree, path, group.vmx, platform.vmx)
        if _AFFINITY in group.vmx and not _is_affinity(str(group.vmx[_AFFINITY]), hardware.cpu.pcpus):
            allowed = f"all, or PCPUs 0..{hardware.cpu.pcpus - 1} separated by commas: 0,2,4-7"
            yield tree.fault((*path, _AFFINITY), "names PCPUs that the server does not have", allowed)


def _in_order(
    tree: Tree, path: KeyPath, written: Mapping[str, object], table: Mapping[str, SettingSpec]
) -> Iterator[Fault]:
    """Invalid limits, and pairs whose first value exceeds the second."""
    for name in dict.fromkeys(high for _, high in ORDERED[path[-1]] if high in written):  # type: ignore[index]
        if _number(written[name]) is None and str(written[name]) not in _OPEN:
            yield tree.fault((*path, name), "is not a limit", 'a number of at least 0, or "unlimited"')
    for low, high in ORDERED[path[-1]]:  # type: ignore[index]
        if low not in table or high not in table or (low not in written and high not in written):
            continue
        least, most = (_number(written.get(name, table[name].default)) for name in (low, high))
        if least is None or most is None or least <= most:
            continue
        if low in written:
            yield tree.fault((*path, low), f"is above {high}, which is {most}", f"an integer up to {most}")
        else:
            yield tree.fault((*path, high), f"is below {low}, which is {least}", f"an integer of at least {least}")


def _number(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isdecimal() and len(text) < 20 else None


def _is_affinity(text: str, pcpus: int) -> bool:
    if text.strip() == "all":
        return True
    ranges = [_PCPUS.fullmatch(piece.strip()) for piece in text.split(",")]
    return all(match is not None and int(match[1]) <= int(match[2] or match[1]) < pcpus for match in ranges)


def passthrough_faults(
    tree: Tree, file: PointFile, groups: Iterable[VmGroupSpec], hardware: HardwareSpec, platform: PlatformSpec
) -> Iterator[Fault]:
    """Faults of passthrough: missing or used NICs, and features that such a VM cannot use."""
    owners: dict[str, str] = {}
    uplinks = {
        nic: switch
        for switch, vswitch in file.network.items()
        for nic in (*vswitch.uplinks, *vswitch.standby, *vswitch.link_down)
    }
    groups = [group for group in groups if group.settings.passthrough and group.count]
    for group in groups:
        path: KeyPath = ("vms", group.name)
        kind = "DirectPath I/O" if any(map(_is_whole, group.settings.passthrough)) else "SR-IOV"
        for nic in (entry.nic for entry in group.settings.passthrough if _is_whole(entry)):
            key: KeyPath = (*path, "vmx", _key(file, group.name, nic))
            sharing = "DirectPath I/O is incompatible with NIC sharing"
            if nic not in hardware.nics:
                yield tree.unknown(key, "physical NIC", nic, hardware.nics)
            elif nic in uplinks:
                yield tree.fault(key, f"is an uplink of {uplinks[nic]}; {sharing}", "a NIC that nothing else uses")
            elif nic in owners:
                yield tree.fault(
                    key, f"is already passed through to {owners[nic]}; {sharing}", "a NIC that is not in use"
                )
            elif group.count > 1:
                yield tree.fault((*path, "count"), f"VMs would have {nic}; {sharing}", "an integer 0..1")
            owners.setdefault(nic, group.name)
        if group.settings.reserved < 1:
            message = f"leaves memory of the VM unreserved; {kind} is incompatible with memory overcommit"
            yield tree.fault((*path, "vmx", "sched.mem.min"), message, "as much as memSize")
        for feature in file.vms[group.name].uses:
            message = f"asks for {feature}; {kind} is incompatible with {feature}"
            yield tree.fault((*path, "uses"), message, "no value, for a VM with a passed-through NIC")
    yield from _function_faults(tree, file, groups, hardware, platform, owners)


def _is_whole(entry: PassthroughSettings | FunctionSettings) -> bool:
    return isinstance(entry, PassthroughSettings)


def _function_faults(
    tree: Tree,
    file: PointFile,
    groups: Iterable[VmGroupSpec],
    hardware: HardwareSpec,
    platform: PlatformSpec,
    owners: Mapping[str, str],
) -> Iterator[Fault]:
    """Faults of virtual functions (SR-IOV): NICs with none or too few, and ports that cannot be shared.

    Args:
        tree: the scenario.
        file: the same, read.
        groups: groups of VMs with passed-through devices.
        hardware: the server.
        platform: the platform whose rules apply.
        owners: group that has a whole NIC, by name of the NIC.
    """
    rules, nics = platform.features.functions, hardware.nics
    uplinks = {nic: switch for switch, vswitch in file.network.items() for nic in vswitch.uplinks}
    taken: dict[str, int] = {}
    used = 0
    for group in groups:
        for name in (entry.nic for entry in group.settings.passthrough if not _is_whole(entry)):
            key: KeyPath = ("vms", group.name, "vmx", _key(file, group.name, name, "pfId"))
            options = file.host.nics.get(name, NicOptions())
            taken[name] = taken.get(name, 0) + group.count
            used += group.count
            if rules is None:
                message = f"asks for SR-IOV, which {platform.platform} does not have"
                yield tree.fault(key, message, "esxi-5.1 or a later platform, or a whole NIC in pciPassthruX.id")
            elif name not in nics:
                yield tree.unknown(key, "physical NIC", name, nics)
            elif name in owners:
                allowed = "a NIC that is only passed through by functions"
                yield tree.fault(key, f"is passed through to {owners[name]} as a whole", allowed)
            elif name in uplinks and not rules.beside_uplink:
                message = f"is an uplink of {uplinks[name]}; on {platform.platform} a port with functions is hidden from switches"
                yield tree.fault(key, message, "a NIC that is not an uplink")
            elif taken[name] > options.max_vfs:
                message = f"has {options.max_vfs} virtual functions, and VMs ask for {taken[name]}"
                yield tree.fault(key, message, _enough(name, nics[name], taken[name]))
            elif used > rules.most:
                message = f"is virtual function {used} of the host, which has interrupt vectors for {rules.most}"
                yield tree.fault(key, message, f"at most {rules.most} functions of all NICs together")
            elif name in uplinks and options.mtu > (mtu := file.network[uplinks[name]].mtu):
                message = f"is more than that of the port, which is an uplink of {uplinks[name]}"
                yield tree.fault(("host", "nics", name, "mtu"), message, f"at most {mtu}")


def _enough(name: str, nic: NicSpec, count: int) -> str:
    """The allowed number if VMs request more functions than a port has."""
    if count <= nic.functions:
        return f"host.nics.{name}.max_vfs: an integer {count}..{nic.functions}"
    if nic.functions:
        return f"VMs with at most {nic.functions} functions of {name}, the number of its model"
    return f"a NIC whose model has functions; the number of {name} is unknown"


def _key(file: PointFile, group: str, nic: str, last: str = "id") -> str:
    vmx = file.vms[group].vmx
    return next(key for key in vmx if key.startswith("pciPassthru") and key.endswith(f".{last}") and vmx[key] == nic)


def passthrough_warnings(file: PointFile) -> Iterator[str]:
    """Warnings about features of passed-through NICs that are not simulated."""
    for name, group in file.vms.items():
        for feature in group.uses:
            yield f"vms.{name}: {feature} is not modelled"
