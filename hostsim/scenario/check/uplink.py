"""Checks of what shares uplinks: allocations of Network I/O Control, traffic that policies of a port do not reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hostsim.config.host import HardwareSpec, VmGroupSpec
from hostsim.config.network import NiocSpec
from hostsim.config.nic import VSwitchSpec
from hostsim.config.platform import PlatformSpec
from hostsim.errors import Fault, nearest_name
from hostsim.scenario.schema import PointFile
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree

__all__ = ["local_policy", "uplink_faults"]

_RESERVABLE = 0.75
"""Share of the slowest uplink that system traffic may reserve together (vSphere Networking, "Bandwidth Allocation for System Traffic")."""


def _gbit(rate: float) -> str:
    return f"{rate / 1e9:g} Gbit/s" if rate >= 1e9 else f"{rate / 1e6:g} Mbit/s"


def uplink_faults(
    tree: Tree, file: PointFile, groups: Iterable[VmGroupSpec], hardware: HardwareSpec, platform: PlatformSpec
) -> Iterator[Fault]:
    """Faults of virtual switches whose uplinks do not have what is allocated of them.

    Args:
        tree: the scenario.
        file: the same, read; what it names is there.
        groups: its groups of VMs.
        hardware: the server.
        platform: what it runs.
    """
    groups = list(groups)
    for name, switch in file.network.items():
        if switch.nioc is None:
            continue
        path: KeyPath = ("network", name, "nioc")
        if not platform.features.nioc:
            yield tree.fault(path, "is not known to this platform", "nothing; or ESXi 6.0 or later", given="")
            continue
        yield from _reservation_faults(
            tree, path, switch.nioc, [hardware.nics[uplink].rate for uplink in switch.uplinks]
        )
        yield from _group_faults(tree, path, name, switch.nioc, groups, len(switch.uplinks))


def _reservation_faults(tree: Tree, path: KeyPath, nioc: NiocSpec, rates: list[float]) -> Iterator[Fault]:
    reserved = sum(allocation.reservation or 0.0 for allocation in nioc.system.values())
    most = _RESERVABLE * min(rates)
    if reserved > most:
        message = "reserves more than 75 % of the slowest uplink"
        yield tree.fault((*path, "system"), message, f"at most {_gbit(most)} together", given=_gbit(reserved))


def _group_faults(
    tree: Tree, path: KeyPath, switch: str, nioc: NiocSpec, groups: list[VmGroupSpec], uplinks: int
) -> Iterator[Fault]:
    """Allocations of groups without a vNIC on the switch; reservations that admission control refuses at power-on."""
    here = {group.name: group.networks.count(switch) for group in groups if switch in group.networks}
    quota = nioc.of_system("virtual_machine").reservation or 0.0
    reserved = 0.0
    for name, allocation in nioc.vms.items():
        key = (*path, "vms", name)
        if name not in here:
            allowed = "one of " + ", ".join(here) if here else "nothing: no VM is connected to it"
            yield tree.fault(key, f"has no vNIC on {switch}", allowed, nearest_name(name, list(here)), given=repr(name))
            continue
        own = allocation.reservation or 0.0
        if own > quota:
            message = "is more than virtual_machine has reserved of an uplink: admission control refuses to power on"
            yield tree.fault((*key, "reservation"), message, f"at most {_gbit(quota)}", given=_gbit(own))
            return
        reserved += own * here[name] * next(group.count for group in groups if group.name == name)
    if reserved > quota * uplinks:
        message = "reserve more than virtual_machine has on all uplinks: admission control refuses to power on"
        yield tree.fault((*path, "vms"), message, f"at most {_gbit(quota * uplinks)} together", given=_gbit(reserved))


def local_policy(switch: VSwitchSpec, group: str) -> str:
    """Return the policy of a VM's port that would slow traffic to another VM of the host down, in words; empty without one."""
    if switch.shaping is not None:
        return "traffic shaping"
    if switch.nioc is not None and switch.nioc.of_group(group).limit is not None:
        return "the limit of Network I/O Control"
    return ""
