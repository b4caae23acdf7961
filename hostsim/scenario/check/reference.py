"""Referential checks between the parts of a scenario: a name in one part must exist in another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hostsim.errors import Fault, nearest_name
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree
from hostsim.spec.host import HardwareSpec
from hostsim.spec.platform import PlatformSpec

__all__ = ["network_faults", "server_faults"]


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
    """Faults of the network: unknown groups, virtual switches and physical NICs; streams that no single switch could replicate.

    Args:
        tree: the scenario, whether or not it is sound otherwise.
        hardware: its server, when that could be read.
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
    """Faults of the server: parts that it names and does not have, or has and the platform does not know.

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
        if platform is not None and nic.driver not in platform.drivers:
            faults.append(_unknown(tree, ("nics", name, "driver"), nic.driver, platform.drivers, "driver"))
    family = hardware.cpu.family
    if platform is not None and family not in platform.costs.generations:
        faults.append(_unknown(tree, ("cpu", "family"), family, platform.costs.generations, "processor family"))
    return faults
