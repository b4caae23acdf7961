"""Checks of what shares uplinks: allocations of Network I/O Control, traffic that policies of a port do not reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hostsim.config.host import HardwareSpec, VmGroupSpec
from hostsim.config.network import NiocSpec
from hostsim.config.nic import VSwitchSpec
from hostsim.config.platform import PlatformSpec
from hostsim.errors import Fault, nearest_name
from hostsim.scenario.schema import PointFile
from hostsim.scenario.teaming import OF_SWITCH
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree

__all__ = ["local_policy", "team_faults", "uplink_faults"]

_RESERVABLE = 0.75
"""Share of the slowest uplink that system traffic may reserve together (vSphere Networking, "Bandwidth Allocation for System Traffic")."""


def team_faults(tree: Tree, file: PointFile) -> Iterator[Fault]:
    """Faults of teams and port groups: names that there are not, adapters of other switches, links that all are down.

    Args:
        tree: the scenario.
        file: the same, read; each part by itself is sound.
    """
    switches = [name for name, switch in file.network.items() if switch.port_group_of is None]
    for name, switch in file.network.items():
        path: KeyPath = ("network", name)
        down = switch.link_down
        twice = next((nic for nic in switch.standby if nic in switch.uplinks), None)
        if twice is not None:
            allowed = "NICs that are not among the uplinks"
            yield tree.fault((*path, "standby"), "is an active uplink, too", allowed, given=repr(twice))
        if switch.port_group_of is not None:
            parent = file.network.get(switch.port_group_of)
            if parent is None or parent.port_group_of is not None:
                allowed = "one of " + ", ".join(switches) if switches else "nothing: there is no virtual switch"
                near = nearest_name(switch.port_group_of, switches)
                yield tree.fault((*path, "port_group_of"), "is not a virtual switch", allowed, near)
                continue
            for key in OF_SWITCH:
                if key in switch.model_fields_set:
                    message = f"is of the switch: a port group has that of {switch.port_group_of}"
                    yield tree.fault((*path, key), message, f"network.{switch.port_group_of}.{key}")
            adapters = (*parent.uplinks, *parent.standby)
            for key in ("uplinks", "standby"):
                other = next((nic for nic in getattr(switch, key) if nic not in adapters), None)
                if other is not None:
                    message = f"is not an adapter of {switch.port_group_of}"
                    yield tree.fault((*path, key), message, "one of " + ", ".join(adapters), given=repr(other))
            down = parent.link_down
        else:
            adapters = (*switch.uplinks, *switch.standby)
            other = next((nic for nic in down if nic not in adapters), None)
            if other is not None:
                allowed = "one of " + ", ".join(adapters)
                yield tree.fault((*path, "link_down"), "is not an adapter of the switch", allowed, given=repr(other))
        if all(nic in down for nic in (*switch.uplinks, *switch.standby)):
            message = "have no link, none of them"
            yield tree.fault((*path, "uplinks"), message, "at least one, or one of standby, that is not in link_down")


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
        if switch.nioc is None or switch.port_group_of is not None:
            continue
        path: KeyPath = ("network", name, "nioc")
        if not platform.features.nioc:
            yield tree.fault(path, "is not known to this platform", "nothing; or ESXi 6.0 or later", given="")
            continue
        yield from _reservation_faults(
            tree, path, switch.nioc, [hardware.nics[uplink].rate for uplink in switch.uplinks]
        )
        vnics = {
            group.name: sum((file.network[network].port_group_of or network) == name for network in group.networks)
            for group in groups
        }
        here = {group.name: (vnics[group.name], group.count) for group in groups if vnics[group.name]}
        yield from _group_faults(tree, path, name, switch.nioc, here, len(switch.uplinks))


def _reservation_faults(tree: Tree, path: KeyPath, nioc: NiocSpec, rates: list[float]) -> Iterator[Fault]:
    reserved = sum(allocation.reservation for allocation in nioc.system.values())
    most = _RESERVABLE * min(rates)
    if reserved > most:
        message = "reserves more than 75 % of the slowest uplink"
        yield tree.fault((*path, "system"), message, f"at most {_gbit(most)} together", given=_gbit(reserved))


def _group_faults(
    tree: Tree, path: KeyPath, switch: str, nioc: NiocSpec, here: Mapping[str, tuple[int, int]], uplinks: int
) -> Iterator[Fault]:
    """Allocations of groups without a vNIC on the switch; reservations that admission control refuses at power-on.

    ``here`` has the vNICs of a VM on the switch, and the number of VMs, by group.
    """
    quota = nioc.of_system("virtual_machine").reservation
    reserved = 0.0
    for name, allocation in nioc.vms.items():
        key = (*path, "vms", name)
        if name not in here:
            allowed = "one of " + ", ".join(here) if here else "nothing: no VM is connected to it"
            yield tree.fault(key, f"has no vNIC on {switch}", allowed, nearest_name(name, list(here)), given=repr(name))
            continue
        own = allocation.reservation
        if own > quota:
            message = "is more than virtual_machine has reserved of an uplink: admission control refuses to power on"
            yield tree.fault((*key, "reservation"), message, f"at most {_gbit(quota)}", given=_gbit(own))
            return
        vnics, count = here[name]
        reserved += own * vnics * count
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
