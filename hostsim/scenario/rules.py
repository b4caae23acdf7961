"""Rules between the parts of a scenario: what one part names another must have, what comes down a wire must fit on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hostsim.errors import Fault, nearest_name
from hostsim.scenario.document import PointFile
from hostsim.scenario.tree import Tree
from hostsim.scenario.yaml import KeyPath
from hostsim.spec.host import HardwareSpec
from hostsim.spec.network import MTU, UDP_HEADERS, datagram_on_wire
from hostsim.spec.settings import PlatformSpec
from hostsim.spec.workload import MulticastSpec, TrafficSpec

__all__ = ["line_rate_faults", "network_faults", "server_faults"]


def _unknown(tree: Tree, path: KeyPath, name: str, known: Iterable[str], what: str) -> Fault:
    names = list(known)
    allowed = "one of " + ", ".join(names) if names else f"nothing: there is no {what}"
    return tree.fault(path, f"unknown {what}", allowed, nearest_name(name, names), given=repr(name))


def _mapping(tree: Tree, path: KeyPath) -> Mapping[str, Any]:
    value = tree.get(path)
    return value if isinstance(value, dict) else {}


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [name for name in value if isinstance(name, str)] if isinstance(value, tuple) else []


def network_faults(tree: Tree, hardware: HardwareSpec | None) -> list[Fault]:
    """Names that lead nowhere: receivers, virtual switches, uplinks; and streams that no one switch could replicate.

    Args:
        tree: the scenario, whether or not it is sound otherwise.
        hardware: its server, when that could be read.
    """
    faults: list[Fault] = []
    groups, switches, flows = (_mapping(tree, (key,)) for key in ("vms", "network", "traffic"))
    for group in groups:
        path: KeyPath = ("vms", group, "networks")
        names = _names(tree.get(path))
        faults += [_unknown(tree, path, name, switches, "virtual switch") for name in names if name not in switches]
    owners: dict[str, str] = {}
    for switch in switches:
        path = ("network", switch, "uplinks")
        for name in _names(tree.get(path)):
            if hardware is not None and name not in hardware.nics:
                faults.append(_unknown(tree, path, name, hardware.nics, "physical NIC"))
            elif owners.setdefault(name, switch) != switch:
                faults.append(tree.fault(path, f"is already the uplink of {owners[name]}", "a NIC of its own"))
    workers: dict[str, str] = {}
    for flow in flows:
        path = ("traffic", flow, "to")
        names = _names(tree.get(path))
        faults += [_unknown(tree, path, name, groups, "group of VMs") for name in names if name not in groups]
        if tree.get(("traffic", flow, "kind")) == "work":
            faults += [
                tree.fault(path, f"{name} has work from {workers[name]} already", "groups without work")
                for name in names
                if name in workers
            ]
            workers.update(dict.fromkeys(names, flow))
            continue
        homes = {home for name in names for home in _names(tree.get(("vms", name, "networks")))}
        if len(homes) > 1:
            message = f"has receivers on {' and '.join(sorted(homes))}"
            faults.append(tree.fault(path, message, "groups on one virtual switch"))
        if len(set(names)) < len(names):
            faults.append(tree.fault(path, "names a group twice", "each group once"))
    return faults


def server_faults(tree: Tree, hardware: HardwareSpec, platform: PlatformSpec | None) -> list[Fault]:
    """What a server says about itself and does not have, or has and the platform does not know.

    Args:
        tree: the hardware file.
        hardware: what it says.
        platform: the platform it runs.
    """
    faults: list[Fault] = []
    for name, nic in hardware.nics.items():
        if nic.node >= hardware.cpu.sockets:
            allowed = f"a NUMA node 0..{hardware.cpu.sockets - 1}: one for each socket"
            faults.append(tree.fault(("nics", name, "node"), "is not a node of this server", allowed))
    family = hardware.cpu.family
    if platform is not None and family not in platform.costs.generations:
        faults.append(_unknown(tree, ("cpu", "family"), family, platform.costs.generations, "processor family"))
    return faults


def line_rate_faults(
    tree: Tree, file: PointFile, hardware: HardwareSpec, traffic: Mapping[str, TrafficSpec]
) -> list[Fault]:
    """Streams that do not fit on their wire, packet by packet or all together. Replayed instants are taken as they are."""
    faults: list[Fault] = []
    load: dict[str, float] = {}
    for name, flow in traffic.items():
        path: KeyPath = ("traffic", name)
        if not isinstance(flow, MulticastSpec):
            continue
        if flow.packet_size + UDP_HEADERS > MTU:
            allowed = f"at most {MTU - UDP_HEADERS} B: one frame at an MTU of {MTU}"
            faults.append(tree.fault((*path, "packet_size"), "does not fit in a frame", allowed))
            continue
        switch = file.vms[flow.to[0]].networks[0]
        nic = file.network[switch].uplinks[0]
        line_rate = hardware.nics[nic].line_rate
        frame_bits = 8 * datagram_on_wire(flow.packet_size)
        room = line_rate - load.get(nic, 0.0)
        load[nic] = load.get(nic, 0.0) + (flow.rate or 0.0) * frame_bits
        if load[nic] >= line_rate:
            allowed = f"below {max(room, 0.0) / frame_bits:.0f} pps, which is what {nic} has left at {frame_bits // 8} B a frame"
            faults.append(tree.fault((*path, "rate"), "is more than the wire carries", allowed))
    return faults
