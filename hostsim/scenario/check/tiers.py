"""Checks of services of several tiers: groups that exist and are reached through one virtual switch, calls that fit, instances that can join."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from hostsim.config.host import VmGroupSpec
from hostsim.config.nic import VSwitchSpec, segment_size
from hostsim.config.traffic import Traffic
from hostsim.config.workload import TiersSpec
from hostsim.errors import Fault, nearest_name
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree

__all__ = ["tier_faults"]


def tier_faults(
    tree: Tree, groups: Mapping[str, VmGroupSpec], switches: Mapping[str, VSwitchSpec], traffic: Mapping[str, Traffic]
) -> Iterator[Fault]:
    """Faults of services of several tiers.

    Args:
        tree: the scenario.
        groups: its groups of VMs by name, sound by themselves.
        switches: its virtual switches.
        traffic: its flows, sound by themselves.
    """
    for name, flow in traffic.items():
        if not isinstance(flow, TiersSpec):
            continue
        path: KeyPath = ("traffic", name)
        taken = [other for other in traffic if other in {f"{name}-{n + 2}" for n in range(len(flow.behind))}]
        if taken:
            message = f"is what calls of a tier of {name} are named"
            yield tree.fault(("traffic", taken[0]), message, "another name", given=repr(taken[0]))
        found = list(_group_faults(tree, path, flow, groups))
        yield from found
        if not found:
            yield from _network_faults(tree, path, flow, groups, switches)
            yield from _join_faults(tree, path, flow, groups)


def _group_faults(tree: Tree, path: KeyPath, flow: TiersSpec, groups: Mapping[str, VmGroupSpec]) -> Iterator[Fault]:
    """Groups that do not exist, have no VMs or are in two tiers."""
    seen, is_there = set(flow.to), any(groups[name].count for name in flow.to)
    for number, tier in enumerate(flow.behind):
        key = (*path, "behind", number, "to")
        for group in tier.to or ():
            if group not in groups:
                allowed = "one of " + ", ".join(groups)
                yield tree.fault(
                    key, "unknown group of VMs", allowed, nearest_name(group, list(groups)), given=repr(group)
                )
            elif group in seen:
                yield tree.fault(key, f"is in another tier too: {group}", "each group once", given=repr(group))
            seen.add(group)
        known = [groups[group].count for group in tier.to or () if group in groups]
        if is_there and tier.to is not None and known and not any(known):
            yield tree.fault(key, "has no VMs to call", "a group with a count of at least 1")


def _network_faults(
    tree: Tree,
    path: KeyPath,
    flow: TiersSpec,
    groups: Mapping[str, VmGroupSpec],
    switches: Mapping[str, VSwitchSpec],
) -> Iterator[Fault]:
    """VNICs that there are not, or that are on other switches than the tier before; calls that are longer than a segment."""
    home = groups[flow.to[0]].networks
    if flow.vnic >= len(home):
        yield tree.fault((*path, "vnic"), "is not a vNIC", "the number of a vNIC of all groups", given=str(flow.vnic))
        return
    for number, tier in enumerate(flow.behind):
        key = (*path, "behind", number)
        for group in (*flow.to, *(tier.to or ())):
            networks = groups[group].networks
            if tier.to is not None and (flow.vnic >= len(networks) or networks[flow.vnic] != home[flow.vnic]):
                message = f"has no vNIC {flow.vnic} on {home[flow.vnic]}, by which the tiers are called"
                allowed = "groups whose vNICs of this number are on one virtual switch"
                yield tree.fault((*key, "to"), message, allowed, given=repr(group))
                return
        least = segment_size(switches[home[flow.vnic]].mtu)
        if tier.request_size > least:
            yield tree.fault((*key, "request_size"), "does not fit in a segment", f"at most {least} B")


def _join_faults(tree: Tree, path: KeyPath, flow: TiersSpec, groups: Mapping[str, VmGroupSpec]) -> Iterator[Fault]:
    """Instances that join before others, or more than there are."""
    tiers = [(path, flow.to, flow.joins)]
    tiers += [((*path, "behind", number), tier.to or (), tier.joins) for number, tier in enumerate(flow.behind)]
    for key, names, joins in tiers:
        vms = sum(groups[name].count for name in names)
        if joins and vms and len(joins) >= vms:
            allowed = f"at most {vms - 1}: the others of {vms} VMs begin with the run"
            yield tree.fault((*key, "joins"), "has an instant for each VM", allowed)
        elif any(later < earlier for earlier, later in pairwise(joins)):
            yield tree.fault((*key, "joins"), "goes back in time", "ascending instants")
