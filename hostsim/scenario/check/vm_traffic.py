"""Checks of VM-to-VM traffic: both ends on one virtual switch, guests with the requested abilities, devices without other users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hostsim.config.host import VmGroupSpec
from hostsim.config.nic import UDP_HEADERS, VSwitchSpec, segment_size
from hostsim.config.traffic import Traffic
from hostsim.config.workload import TiersSpec, VmDatagramsSpec, VmTcpStreamSpec, VmTraffic
from hostsim.errors import Fault
from hostsim.scenario.check.uplink import local_policy
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree

__all__ = ["vm_traffic_faults"]

_OF_SOCKETS = ("socket", "stack")
"""Receive paths that every guest has."""


def vm_traffic_faults(
    tree: Tree, groups: Mapping[str, VmGroupSpec], switches: Mapping[str, VSwitchSpec], traffic: Mapping[str, Traffic]
) -> Iterator[Fault]:
    """Faults of traffic between VMs of the host.

    Args:
        tree: the scenario.
        groups: its groups of VMs by name, each valid.
        switches: its virtual switches.
        traffic: its flows, each valid.
    """
    for name, flow in traffic.items():
        if not isinstance(flow, VmTraffic):
            continue
        path: KeyPath = ("traffic", name)
        found = list(_end_faults(tree, path, flow, groups))
        yield from found
        if found:
            continue
        switch = groups[flow.sender[0]].networks[flow.vnic]
        yield from _switch_faults(tree, path, flow, groups, switches, switch)
        if isinstance(flow, VmDatagramsSpec):
            yield from _guest_faults(tree, path, flow, groups)
            yield from _device_faults(tree, name, flow, groups, traffic)


def _end_faults(tree: Tree, path: KeyPath, flow: VmTraffic, groups: Mapping[str, VmGroupSpec]) -> Iterator[Fault]:
    """Groups at both ends, and missing vNICs."""
    both = next((name for name in flow.sender if name in flow.to), None)
    if both is not None:
        yield tree.fault((*path, "sender"), f"also receives: {both}", "groups that are not in to", given=repr(both))
        return
    for names, key in ((flow.sender, "vnic"), (flow.to, "to_vnic")):
        number = getattr(flow, key)
        for name in names:
            vnics = len(groups[name].networks)
            if number >= vnics:
                allowed = f"an integer 0..{vnics - 1}" if vnics > 1 else "0" if vnics else "nothing: it has none"
                yield tree.fault((*path, key), f"is not a vNIC of {name}", allowed, given=str(number))
                return


def _switch_faults(
    tree: Tree,
    path: KeyPath,
    flow: VmTraffic,
    groups: Mapping[str, VmGroupSpec],
    switches: Mapping[str, VSwitchSpec],
    switch: str,
) -> Iterator[Fault]:
    """VMs on different switches, and packets that are too large."""
    for names, number in ((flow.sender, flow.vnic), (flow.to, flow.to_vnic)):
        for name in names:
            other = groups[name].networks[number]
            if other != switch:
                message = f"is on another virtual switch, {other}, by this vNIC"
                yield tree.fault((*path, "to"), message, f"groups with a vNIC on {switch}", given=repr(name))
                return
    for name in flow.sender:
        policy = local_policy(switches[switch], name)
        if policy:
            message = f"would be slowed down by {policy} on {switch}, which is modelled towards uplinks only"
            yield tree.fault((*path, "sender"), message, "groups without it; or another switch", given=repr(name))
            return
    mtu = switches[switch].mtu
    if isinstance(flow, VmDatagramsSpec) and flow.packet_size + UDP_HEADERS > mtu:
        allowed = f"at most {mtu - UDP_HEADERS} B: one frame at an MTU of {mtu}"
        yield tree.fault((*path, "packet_size"), "does not fit in a frame", allowed)
    if isinstance(flow, VmTcpStreamSpec) and flow.window < segment_size(mtu):
        yield tree.fault((*path, "window"), "is smaller than a segment", f"from {segment_size(mtu)} B on")


def _guest_faults(
    tree: Tree, path: KeyPath, flow: VmDatagramsSpec, groups: Mapping[str, VmGroupSpec]
) -> Iterator[Fault]:
    """Guests without costs of a requested path, and missing devices or vCPUs of polling processes."""
    for name in flow.sender if flow.sent_by == "poll" else ():
        group = groups[name]
        settings = group.settings.vnics[flow.vnic]
        if group.guest.paths is None:
            yield tree.fault((*path, "sent_by"), f"is not supported by the guest of {name}", "process")
        elif settings.device != "vmxnet3":
            yield tree.fault((*path, "vnic"), f"is an {settings.device} of {name}", "a vmxnet3", given=str(flow.vnic))
        elif flow.vcpu + flow.streams > group.vcpus:
            message = f"need a vCPU each of {name}, from number {flow.vcpu} on"
            yield tree.fault((*path, "streams"), message, f"at most {max(0, group.vcpus - flow.vcpu)}")
        elif flow.streams > (queues := group.queue_pairs(settings)):
            yield tree.fault((*path, "streams"), f"need a transmit queue each of {name}", f"at most {queues}")
    for name in flow.to if flow.taken_by not in _OF_SOCKETS else ():
        group, key = groups[name], (*path, "taken_by")
        if group.guest.paths is None:
            yield tree.fault(key, f"is not supported by the guest of {name}", "socket, stack")
        elif flow.taken_by == "poll" and group.settings.vnics[flow.to_vnic].device != "vmxnet3":
            yield tree.fault(key, f"asks for a vmxnet3, which vNIC {flow.to_vnic} of {name} is not", "socket, stack")


def _device_faults(
    tree: Tree, name: str, flow: VmDatagramsSpec, groups: Mapping[str, VmGroupSpec], traffic: Mapping[str, Traffic]
) -> Iterator[Fault]:
    """Other traffic on the device or vCPU of a polling process."""
    ends = (("sent_by", flow.sent_by, flow.sender, flow.vnic), ("taken_by", flow.taken_by, flow.to, flow.to_vnic))
    for key, how, names, number in ends:
        if how != "poll":
            continue
        for other, rest in traffic.items():
            if other == name:
                continue
            used = _uses(rest)
            clash = next((group for group in names if (group, number) in used or (group, -1) in used), None)
            if clash is not None and groups[clash].count:
                message = f"leaves vNIC {number} of {clash} to one process, and {other} needs it too"
                if (clash, -1) in used:
                    message = f"keeps a vCPU of {clash} busy, and {other} is CPU work there"
                yield tree.fault(("traffic", name, key), message, "groups without other traffic of that vNIC")


def _uses(flow: Traffic) -> set[tuple[str, int]]:
    """The vNICs whose interrupts or vCPUs traffic needs, by group; -1 for CPU work."""
    if isinstance(flow, VmTraffic):
        return {(name, flow.vnic) for name in flow.sender} | {(name, flow.to_vnic) for name in flow.to}
    if isinstance(flow, TiersSpec):
        return {(name, flow.vnic) for name in flow.groups}
    if flow.kind == "work":
        return {(name, -1) for name in flow.to}
    if flow.kind == "bridged":
        return {(name, getattr(flow, key)) for name in flow.to for key in ("enters", "leaves")}
    return {(name, getattr(flow, "vnic", 0)) for name in flow.to}
