"""Uplinks of virtual switches and port groups, and checks of the traffic that shares them.

Teaming selects the uplinks that each switch uses, by the order of its adapters and the links that are down. Checks
concern allocations of Network I/O Control, policies of ports, and VM-to-VM traffic: both ends are on one virtual
switch, guests support the requested path, devices have no other users, and calls of tiers fit in a segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from hostsim.config.host import HardwareSpec, VmGroupSpec
from hostsim.config.network import NiocSpec
from hostsim.config.nic import UDP_HEADERS, NicOptions, NicSpec, VSwitchSpec, segment_size
from hostsim.config.platform import PassthroughSettings, PlatformSpec
from hostsim.config.traffic import Traffic
from hostsim.config.workload import TiersSpec, VmDatagramsSpec, VmTcpStreamSpec, VmTraffic
from hostsim.errors import Fault, nearest_name, with_article
from hostsim.scenario.schema import PointFile
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree

__all__ = [
    "OF_SWITCH",
    "in_use",
    "local_policy",
    "settled",
    "team_faults",
    "tier_faults",
    "uplink_faults",
    "vm_traffic_faults",
    "without_teaming",
]

OF_SWITCH = ("mtu", "vxlan", "nioc", "link_down")
"""Keys that a port group inherits from its switch."""


def in_use(switch: VSwitchSpec) -> tuple[str, ...]:
    """Return the active uplinks: standby adapters replace those whose link is down; explicit failover uses only the first."""
    up = [name for name in switch.uplinks if name not in switch.link_down]
    spare = [name for name in switch.standby if name not in switch.link_down]
    if switch.teaming == "explicit_failover":
        return tuple([*up, *spare][:1])
    return (*up, *spare[: len(switch.uplinks) - len(up)])


def settled(network: Mapping[str, VSwitchSpec]) -> dict[str, VSwitchSpec]:
    """Return the switches with their active uplinks, and the port groups with inherited keys. All must be valid."""
    switches: dict[str, VSwitchSpec] = {}
    for name, switch in network.items():
        if switch.port_group_of is not None:
            parent = network[switch.port_group_of]
            switch = switch.model_copy(update={key: getattr(parent, key) for key in OF_SWITCH})
        uplinks = in_use(switch)
        switches[name] = switch if uplinks == switch.uplinks else switch.model_copy(update={"uplinks": uplinks})
    return switches


def without_teaming(network: Mapping[str, VSwitchSpec]) -> dict[str, VSwitchSpec]:
    """Return settled switches without the keys that determined their uplinks, so that hosts with equal uplinks share runs.

    IP hash stays where several uplinks are active, because the model applies it to each port.
    """
    keys = ("teaming", "standby", "link_down")
    plain = {key: VSwitchSpec.model_fields[key].default for key in keys}
    switches = {}
    for name, switch in network.items():
        hashed = {"teaming": "ip_hash"} if switch.teaming == "ip_hash" and len(switch.uplinks) > 1 else {}
        update = plain | hashed
        is_plain = all(getattr(switch, key) == value for key, value in update.items())
        switches[name] = switch if is_plain else switch.model_copy(update=update)
    return switches


_RESERVABLE = 0.75
"""Largest share of the slowest uplink that system traffic may reserve (vSphere Networking, "Bandwidth Allocation for System Traffic")."""


def team_faults(tree: Tree, file: PointFile) -> Iterator[Fault]:
    """Faults of teams and port groups: unknown names, adapters of other switches, all links down.

    Args:
        tree: the scenario.
        file: the parsed scenario; each part of it is valid.
    """
    switches = [name for name, switch in file.network.items() if switch.port_group_of is None]
    for name, switch in file.network.items():
        path: KeyPath = ("network", name)
        down = switch.link_down
        twice = next((nic for nic in switch.standby if nic in switch.uplinks), None)
        if twice is not None:
            allowed = "NICs that are not among the uplinks"
            yield tree.fault((*path, "standby"), "is also an active uplink", allowed, given=repr(twice))
        elif switch.standby and switch.teaming == "ip_hash":
            message = "is used with IP hash, whose uplinks are all active links of a port channel"
            yield tree.fault((*path, "standby"), message, "nothing; or teaming: explicit_failover or port_id")
        if switch.port_group_of is not None:
            parent = file.network.get(switch.port_group_of)
            if parent is None or parent.port_group_of is not None:
                allowed = (
                    "one of " + ", ".join(switches) if switches else "nothing, because no virtual switch is defined"
                )
                near = nearest_name(switch.port_group_of, switches)
                yield tree.fault((*path, "port_group_of"), "is not a virtual switch", allowed, near)
                continue
            for key in OF_SWITCH:
                if key in switch.model_fields_set:
                    message = f"belongs to the switch: a port group uses that of {switch.port_group_of}"
                    yield tree.fault((*path, key), message, f"network.{switch.port_group_of}.{key}")
            adapters = (*parent.uplinks, *parent.standby)
            if "ip_hash" in (switch.teaming, parent.teaming) and switch.teaming != parent.teaming:
                message = f"differs from the teaming of {switch.port_group_of}; all ports of a port channel use IP hash"
                allowed = "ip_hash" if parent.teaming == "ip_hash" else f"{parent.teaming}; or ip_hash for both"
                yield tree.fault((*path, "teaming"), message, allowed)
            elif switch.teaming == "ip_hash" and {*switch.uplinks} != {*parent.uplinks}:
                message = f"differ from those of {switch.port_group_of}; all ports of a port channel use all its links"
                yield tree.fault((*path, "uplinks"), message, ", ".join(parent.uplinks))
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
            message = "all have no link"
            yield tree.fault(
                (*path, "uplinks"), message, "at least one active or standby uplink that is not in link_down"
            )


def _gbit(rate: float) -> str:
    return f"{rate / 1e9:g} Gbit/s" if rate >= 1e9 else f"{rate / 1e6:g} Mbit/s"


def uplink_faults(
    tree: Tree, file: PointFile, groups: Iterable[VmGroupSpec], hardware: HardwareSpec, platform: PlatformSpec
) -> Iterator[Fault]:
    """Faults of virtual switches whose uplinks cannot provide the allocated bandwidth.

    Args:
        tree: the scenario.
        file: the parsed scenario; the parts that it names exist.
        groups: its groups of VMs.
        hardware: the server.
        platform: the platform that it runs.
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
    """Faults of allocations: for groups without a vNIC on the switch, and reservations that admission control refuses.

    ``here`` contains, by group, the number of a VM's vNICs on the switch and the number of VMs.
    """
    quota = nioc.of_system("virtual_machine").reservation
    reserved = 0.0
    for name, allocation in nioc.vms.items():
        key = (*path, "vms", name)
        if name not in here:
            allowed = "one of " + ", ".join(here) if here else "none: no VM is connected to it"
            yield tree.fault(key, f"has no vNIC on {switch}", allowed, nearest_name(name, here), given=repr(name))
            continue
        own = allocation.reservation
        if own > quota:
            message = (
                "exceeds the reservation of virtual_machine on an uplink: admission control refuses to power the VM on"
            )
            yield tree.fault((*key, "reservation"), message, f"at most {_gbit(quota)}", given=_gbit(own))
            return
        vnics, count = here[name]
        reserved += own * vnics * count
    if reserved > quota * uplinks:
        message = "exceed together the reservation of virtual_machine on all uplinks: admission control refuses to power the VMs on"
        yield tree.fault((*path, "vms"), message, f"at most {_gbit(quota * uplinks)} together", given=_gbit(reserved))


def local_policy(switch: VSwitchSpec, group: str) -> str:
    """Return the port policy that would slow down VM-to-VM traffic, in words; an empty text if there is none."""
    if switch.shaping is not None:
        return "traffic shaping"
    if switch.nioc is not None and switch.nioc.of_group(group).limit is not None:
        return "the limit of Network I/O Control"
    return ""


_OF_SOCKETS = ("socket", "stack")
"""Receive paths that every guest has."""


def vm_traffic_faults(
    tree: Tree,
    file: PointFile,
    groups: Mapping[str, VmGroupSpec],
    hardware: HardwareSpec,
    traffic: Mapping[str, Traffic],
) -> Iterator[Fault]:
    """Faults of traffic between VMs of the host.

    Args:
        tree: the scenario.
        file: the parsed scenario.
        groups: its groups of VMs by name, each valid.
        hardware: the server.
        traffic: its flows, each valid.
    """
    for name, flow in traffic.items():
        if not isinstance(flow, VmTraffic):
            continue
        path: KeyPath = ("traffic", name)
        faults = list(_end_faults(tree, path, flow, groups))
        yield from faults
        if faults:
            continue
        if nics := list(dict.fromkeys(_functions(flow, groups))):
            yield from _nic_switch_faults(tree, path, flow, groups, file, hardware.nics, nics)
            continue
        switch = groups[flow.sender[0]].networks[flow.vnic]
        yield from _switch_faults(tree, path, flow, groups, file.network, switch)
        if isinstance(flow, VmDatagramsSpec):
            yield from _guest_faults(tree, path, flow, groups)
            yield from _device_faults(tree, name, flow, groups, traffic)


def _ends(flow: VmTraffic) -> Iterator[tuple[str, str, int]]:
    """The ends of traffic: the key that names the NIC, the group of VMs, and the number of the NIC."""
    for names, key in ((flow.sender, "vnic"), (flow.to, "to_vnic")):
        for name in names:
            yield key, name, getattr(flow, key)


def _functions(flow: VmTraffic, groups: Mapping[str, VmGroupSpec]) -> Iterator[str]:
    """Names of physical NICs with functions that are ends of traffic."""
    for _, name, vnic in _ends(flow):
        group = groups[name]
        if vnic >= len(group.networks):
            yield group.settings.passthrough[vnic - len(group.networks)].nic


def _end_faults(tree: Tree, path: KeyPath, flow: VmTraffic, groups: Mapping[str, VmGroupSpec]) -> Iterator[Fault]:
    """Faults of traffic: the same group at both ends, missing NICs, and whole NICs."""
    both = next((name for name in flow.sender if name in flow.to), None)
    if both is not None:
        yield tree.fault((*path, "sender"), f"also receives: {both}", "groups that are not in to", given=repr(both))
        return
    for key, name, vnic in _ends(flow):
        vnics, passed = len(groups[name].networks), groups[name].settings.passthrough
        most = vnics + len(passed)
        if vnic >= most:
            allowed = f"an integer 0..{most - 1}" if most > 1 else "0" if most else "nothing: it has none"
            ends = "a vNIC" if not passed else "a vNIC or a virtual function"
            yield tree.fault((*path, key), f"is not {ends} of {name}", allowed, given=str(vnic))
            return
        if vnic >= vnics and isinstance(passed[vnic - vnics], PassthroughSettings):
            message = f"is a whole NIC that is passed through to {name}: no switch on the host forwards its frames"
            yield tree.fault((*path, key), message, "a vNIC, or a virtual function", given=str(vnic))
            return


def _nic_switch_faults(
    tree: Tree,
    path: KeyPath,
    flow: VmTraffic,
    groups: Mapping[str, VmGroupSpec],
    file: PointFile,
    nics_by_name: Mapping[str, NicSpec],
    nics: list[str],
) -> Iterator[Fault]:
    """Faults of ends that the internal switch of the NIC does not connect, and of unsupported features."""
    nic = nics[0]
    reaches = f"functions of {nic}, and vNICs on a virtual switch that has no other uplink"
    if len(nics) > 1:
        message = f"has functions of {nic} and of {nics[1]} at its ends; no NIC switches frames between them"
        yield tree.fault((*path, "to"), message, f"functions of one port: {nic}")
        return
    if nics_by_name[nic].pcie is None:
        message = f"goes through {nic}, whose slot limits the rate and is unknown"
        yield tree.fault((*path, "kind"), message, f"pcie of the NIC {nic} in the hardware file", given=repr(flow.kind))
        return
    options = file.host.nics.get(nic, NicOptions())
    sizes = {options.mtu}
    for key, name, vnic in _ends(flow):
        if vnic >= len(groups[name].networks):
            continue
        network = groups[name].networks[vnic]
        switch = file.network[network]
        if in_use(switch) != (nic,):
            message = f"is on {network} with this vNIC, and not all ports of the network use {nic}"
            yield tree.fault((*path, key), message, reaches, given=f"{vnic} of {name}")
            return
        if switch.vlan is not None or switch.vxlan:
            feature = f"VLAN {switch.vlan}" if switch.vlan is not None else "VXLAN"
            message = f"is on {network} with this vNIC, in {feature}; virtual functions are not in one"
            yield tree.fault((*path, key), message, "a network without one", given=f"{vnic} of {name}")
            return
        policy = local_policy(switch, name)
        if policy and key == "vnic":
            message = f"would be limited by {policy} on {network}, which is modelled for traffic to uplinks only"
            yield tree.fault((*path, "sender"), message, "groups without it; or functions", given=repr(name))
            return
        sizes.add(switch.mtu)
    if len(sizes) > 1:
        message = f"has an MTU of {min(sizes)} at one end and of {max(sizes)} at the other"
        allowed = f"one MTU, in host.nics.{nic}.mtu and in the network"
        yield tree.fault((*path, "to"), message, allowed)
        return
    yield from _size_faults(tree, path, flow, options.mtu)
    if isinstance(flow, VmDatagramsSpec):
        for key, how, ways in (("sent_by", flow.sent_by, ("process",)), ("taken_by", flow.taken_by, _OF_SOCKETS)):
            if how not in ways:
                message = "is modelled between vNICs only, and one end is a virtual function"
                yield tree.fault((*path, key), message, ", ".join(ways))


def _switch_faults(
    tree: Tree,
    path: KeyPath,
    flow: VmTraffic,
    groups: Mapping[str, VmGroupSpec],
    switches: Mapping[str, VSwitchSpec],
    switch: str,
) -> Iterator[Fault]:
    """Faults of VMs on different switches, and of packets that are too large."""
    for _, name, vnic in _ends(flow):
        other = groups[name].networks[vnic]
        if other != switch:
            message = f"is on another virtual switch, {other}, with this vNIC"
            yield tree.fault((*path, "to"), message, f"groups with a vNIC on {switch}", given=repr(name))
            return
    for name in flow.sender:
        policy = local_policy(switches[switch], name)
        if policy:
            message = f"would be limited by {policy} on {switch}, which is modelled for traffic to uplinks only"
            yield tree.fault((*path, "sender"), message, "groups without it; or another switch", given=repr(name))
            return
    yield from _size_faults(tree, path, flow, switches[switch].mtu)


def _size_faults(tree: Tree, path: KeyPath, flow: VmTraffic, mtu: int) -> Iterator[Fault]:
    """Faults of packets that are too large for the ends, and of windows that are too small."""
    if isinstance(flow, VmDatagramsSpec) and flow.packet_size + UDP_HEADERS > mtu:
        allowed = f"at most {mtu - UDP_HEADERS} B: one frame at an MTU of {mtu}"
        yield tree.fault((*path, "packet_size"), "does not fit in a frame", allowed)
    if isinstance(flow, VmTcpStreamSpec) and flow.window < segment_size(mtu):
        yield tree.fault((*path, "window"), "is smaller than a segment", f"at least {segment_size(mtu)} B")


def _guest_faults(
    tree: Tree, path: KeyPath, flow: VmDatagramsSpec, groups: Mapping[str, VmGroupSpec]
) -> Iterator[Fault]:
    """Faults of guests without costs for a requested path, and of missing devices or vCPUs of polling processes."""
    for name in flow.sender if flow.sent_by == "poll" else ():
        group = groups[name]
        settings = group.settings.vnics[flow.vnic]
        if group.guest.paths is None:
            yield tree.fault((*path, "sent_by"), f"is not supported by the guest of {name}", "process")
        elif not settings.kind.polled:
            message = f"is {with_article(settings.device)} of {name}"
            yield tree.fault((*path, "vnic"), message, "a vmxnet3", given=str(flow.vnic))
        elif flow.vcpu + flow.streams > group.vcpus:
            message = f"need one vCPU of {name} each, starting with number {flow.vcpu}"
            yield tree.fault((*path, "streams"), message, f"at most {max(0, group.vcpus - flow.vcpu)}")
        elif flow.streams > (queues := group.queue_pairs(settings)):
            yield tree.fault((*path, "streams"), f"need one transmit queue of {name} each", f"at most {queues}")
    for name in flow.to if flow.taken_by not in _OF_SOCKETS else ():
        group, key = groups[name], (*path, "taken_by")
        if group.guest.paths is None:
            yield tree.fault(key, f"is not supported by the guest of {name}", "socket, stack")
        elif flow.taken_by == "poll" and not group.settings.vnics[flow.to_vnic].kind.polled:
            yield tree.fault(
                key, f"needs a vmxnet3, and vNIC {flow.to_vnic} of {name} is another device", "socket, stack"
            )


def _device_faults(
    tree: Tree, name: str, flow: VmDatagramsSpec, groups: Mapping[str, VmGroupSpec], traffic: Mapping[str, Traffic]
) -> Iterator[Fault]:
    """Faults of other traffic that uses the device or vCPU of a polling process."""
    ends = (("sent_by", flow.sent_by, flow.sender, flow.vnic), ("taken_by", flow.taken_by, flow.to, flow.to_vnic))
    for key, how, names, vnic in ends:
        if how != "poll":
            continue
        for other, rest in traffic.items():
            if other == name:
                continue
            used = _uses(rest)
            clash = next((group for group in names if (group, vnic) in used or (group, -1) in used), None)
            if clash is not None and groups[clash].count:
                message = f"needs vNIC {vnic} of {clash} for one process alone, and {other} uses it too"
                if (clash, -1) in used:
                    message = f"keeps a vCPU of {clash} busy, and {other} is CPU work on it"
                yield tree.fault(("traffic", name, key), message, "groups without other traffic on that vNIC")


def _uses(flow: Traffic) -> set[tuple[str, int]]:
    """The vNICs, by group, whose interrupts or vCPUs traffic needs; -1 for CPU work."""
    if isinstance(flow, VmTraffic):
        return {(name, flow.vnic) for name in flow.sender} | {(name, flow.to_vnic) for name in flow.to}
    if isinstance(flow, TiersSpec):
        return {(name, flow.vnic) for name in flow.groups}
    if flow.kind == "work":
        return {(name, -1) for name in flow.to}
    if flow.kind == "bridged":
        return {(name, getattr(flow, key)) for name in flow.to for key in ("enters", "leaves")}
    return {(name, getattr(flow, "vnic", 0)) for name in flow.to}


def tier_faults(
    tree: Tree, groups: Mapping[str, VmGroupSpec], switches: Mapping[str, VSwitchSpec], traffic: Mapping[str, Traffic]
) -> Iterator[Fault]:
    """Faults of services of several tiers.

    Args:
        tree: the scenario.
        groups: its groups of VMs by name, each valid.
        switches: its virtual switches.
        traffic: its flows, each valid.
    """
    for name, flow in traffic.items():
        if not isinstance(flow, TiersSpec):
            continue
        path: KeyPath = ("traffic", name)
        taken = [other for other in traffic if other in {f"{name}-{n + 2}" for n in range(len(flow.behind))}]
        if taken:
            message = f"is already the name of the calls of a tier of {name}"
            yield tree.fault(("traffic", taken[0]), message, "another name", given=repr(taken[0]))
        faults = list(_tier_group_faults(tree, path, flow, groups))
        yield from faults
        if not faults:
            yield from _network_faults(tree, path, flow, groups, switches)
            yield from _join_faults(tree, path, flow, groups)


def _tier_group_faults(
    tree: Tree, path: KeyPath, flow: TiersSpec, groups: Mapping[str, VmGroupSpec]
) -> Iterator[Fault]:
    """Faults of groups that do not exist, have no VMs, or are in two tiers."""
    groups_before, is_there = set(flow.to), any(groups[name].count for name in flow.to)
    for index, tier in enumerate(flow.behind):
        key = (*path, "behind", index, "to")
        for group in tier.to or ():
            if group not in groups:
                yield tree.unknown(key, "group of VMs", group, groups)
            elif group in groups_before:
                yield tree.fault(key, f"is in another tier too: {group}", "each group once", given=repr(group))
            groups_before.add(group)
        counts = [groups[group].count for group in tier.to or () if group in groups]
        if is_there and tier.to is not None and counts and not any(counts):
            yield tree.fault(key, "has no VMs to call", "a group with a count of at least 1")


def _network_faults(
    tree: Tree,
    path: KeyPath,
    flow: TiersSpec,
    groups: Mapping[str, VmGroupSpec],
    switches: Mapping[str, VSwitchSpec],
) -> Iterator[Fault]:
    """Faults of vNICs that do not exist or are not on the previous tier's switch, and of calls longer than a segment."""
    home = groups[flow.to[0]].networks
    if flow.vnic >= len(home):
        yield tree.fault((*path, "vnic"), "is not a vNIC", "the number of a vNIC of all groups", given=str(flow.vnic))
        return
    for index, tier in enumerate(flow.behind):
        key = (*path, "behind", index)
        for group in (*flow.to, *(tier.to or ())):
            networks = groups[group].networks
            if tier.to is not None and (flow.vnic >= len(networks) or networks[flow.vnic] != home[flow.vnic]):
                message = f"has no vNIC {flow.vnic} on {home[flow.vnic]}, the switch that connects the tiers"
                allowed = "groups whose vNICs of this number are on one virtual switch"
                yield tree.fault((*key, "to"), message, allowed, given=repr(group))
                return
        least = segment_size(switches[home[flow.vnic]].mtu)
        if tier.request_size > least:
            yield tree.fault((*key, "request_size"), "does not fit in a segment", f"at most {least} B")


def _join_faults(tree: Tree, path: KeyPath, flow: TiersSpec, groups: Mapping[str, VmGroupSpec]) -> Iterator[Fault]:
    """Faults of instances that join out of order, or are more than the VMs."""
    tiers = [(path, flow.to, flow.joins)]
    tiers += [((*path, "behind", index), tier.to or (), tier.joins) for index, tier in enumerate(flow.behind)]
    for key, names, joins in tiers:
        vms = sum(groups[name].count for name in names)
        if joins and vms and len(joins) >= vms:
            allowed = f"at most {vms - 1}: the others of the {vms} VMs start with the run"
            yield tree.fault((*key, "joins"), "has an instant for each VM", allowed)
        elif any(later < earlier for earlier, later in pairwise(joins)):
            yield tree.fault((*key, "joins"), "goes back in time", "ascending instants")
