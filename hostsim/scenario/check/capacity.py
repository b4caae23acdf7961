"""Capacity checks: VMs on a host, queues on a NIC, packets in a frame, streams on a wire; warnings of slow traffic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import singledispatch

from hostsim.config.effective_settings import PNIC_LRO, PNIC_RSS
from hostsim.config.host import HardwareSpec, VmGroupSpec, links
from hostsim.config.nic import FRAME_OVERHEAD, UDP_HEADERS, VSwitchSpec, packet_on_wire, segment_size
from hostsim.config.platform import VNICS, PlatformSpec
from hostsim.config.quantity import LONGEST
from hostsim.config.traffic import Connected, Traffic
from hostsim.config.workload import (
    BridgedSpec,
    ExchangeSpec,
    ForwardedStreamSpec,
    HttpSpec,
    MulticastSpec,
    TcpSpec,
    UdpStreamSpec,
    WorkSpec,
)
from hostsim.errors import Fault, with_article
from hostsim.scenario.check.reference import numa_nodes
from hostsim.scenario.schema import PointFile
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree
from hostsim.units import SECOND

__all__ = [
    "feature_warnings",
    "load_faults",
    "nic_faults",
    "traffic_faults",
    "vm_faults",
]


_LAST_PORT = 65535


def nic_faults(tree: Tree, file: PointFile, hardware: HardwareSpec, platform: PlatformSpec) -> Iterator[Fault]:
    """Faults of NICs: unsupported driver options, and switches that the platform does not have."""
    for name, options in file.host.nics.items():
        path: KeyPath = ("host", "nics", name)
        nic = hardware.nics[name]
        if options.max_vfs > (most := nic.functions if platform.features.functions is not None else 0):
            reason = "its model has" if most or nic.functions == 0 else f"{platform.platform} makes"
            allowed = f"an integer 0..{most}" if most else "0"
            yield tree.fault((*path, "max_vfs"), f"is more virtual functions than {reason}", allowed)
        if options.tx_queues > nic.rx_queues:
            message = "is more transmit queues than there are receive queues, whose interrupts they share"
            yield tree.fault((*path, "tx_queues"), message, f"an integer 1..{nic.rx_queues}")
        used_options = [key for key in ("rss_rings", "drss") if getattr(options, key) > 1]
        if used_options and not nic.rss:
            yield from (
                tree.fault((*path, key), f"is more than the one ring of {name}, which has no RSS", "1")
                for key in used_options
            )
            continue
        rings = options.drss + (options.rss_rings if options.rss_rings > 1 else 0)
        if rings > nic.rx_queues:
            message = f"needs {rings} receive queues, those of rss_rings and of drss together"
            yield tree.fault((*path, used_options[0]), message, f"at most the {nic.rx_queues} that {name} has")
    for name, switch in file.network.items():
        if switch.vxlan and not platform.features.vxlan:
            yield tree.fault(("network", name, "vxlan"), "is not known to this platform", "false")


def _exclusive_faults(
    tree: Tree, file: PointFile, groups: Iterable[VmGroupSpec], hardware: HardwareSpec
) -> Iterator[Fault]:
    """Faults of VMs that need exclusive cores. Each node keeps one core for all other worlds."""
    cpu = hardware.cpu
    taken = 0
    for group in groups:
        if not group.settings.exclusive or not group.count:
            continue
        path: KeyPath = ("vms", group.name, "vmx", "sched.cpu.latencySensitivity")
        vcpus = group.count * group.vcpus
        taken += vcpus
        for pcpus, nodes in ((taken, cpu.nodes), (vcpus, len(group.settings.nodes) or cpu.nodes)):
            most = (cpu.node_cores - 1) * nodes
            if pcpus > most:
                message = f"needs {pcpus} exclusive cores, one for each vCPU with this setting"
                allowed = f"at most {most} such vCPUs: each NUMA node keeps a core for other worlds"
                yield tree.fault(path, message, allowed)
                break


def _affinity_faults(tree: Tree, groups: Iterable[VmGroupSpec]) -> Iterator[Fault]:
    """Faults of affinity: fewer PCPUs than vCPUs, which ESXi also refuses, or a combination with exclusive cores."""
    exclusive = [group.name for group in groups if group.settings.exclusive and group.count]
    for group in groups:
        count = len(group.settings.affinity)
        path: KeyPath = ("vms", group.name, "vmx", "sched.cpu.affinity")
        if count and count < group.vcpus:
            yield tree.fault(path, "names fewer PCPUs than the VM has vCPUs", f"at least {group.vcpus} PCPUs, or all")
        if count and group.count and exclusive:
            message = (
                f"is not modelled together with the exclusive cores of {exclusive[0]} (sched.cpu.latencySensitivity)"
            )
            yield tree.fault(path, message, "all")


def vm_faults(tree: Tree, file: PointFile, groups: Iterable[VmGroupSpec], hardware: HardwareSpec) -> Iterator[Fault]:
    """Faults of VMs: larger than the host, or with contradictory settings."""
    cpu = hardware.cpu
    groups = list(groups)
    yield from _exclusive_faults(tree, file, groups, hardware)
    yield from _affinity_faults(tree, groups)
    for group in groups:
        path: KeyPath = ("vms", group.name)
        if group.vcpus > cpu.pcpus:
            yield tree.fault((*path, "vcpus"), "is more than the host has PCPUs", f"an integer 1..{cpu.pcpus}")
        if (queues := group.settings.queues) is not None and queues > group.vcpus:
            allowed = f"an integer 1..{group.vcpus}"
            yield tree.fault((*path, "queues"), "is more than a VM has vCPUs, and drivers ask for one each", allowed)
        if any(node >= cpu.nodes for node in group.settings.nodes):
            allowed = numa_nodes(cpu).replace("a NUMA node", "NUMA nodes")
            yield tree.fault(
                (*path, "vmx", "numa.nodeAffinity"), "names a NUMA node that the host does not have", allowed
            )
        for key in ("rx_ring", "tx_ring"):
            for device in dict.fromkeys(vnic.device for vnic in group.settings.vnics):
                size, kind = getattr(file.vms[group.name], key), VNICS[device]
                if size is not None and (size < kind.least_ring or size % kind.ring_step):
                    allowed = f"a multiple of {kind.ring_step}, {kind.least_ring}..4096"
                    yield tree.fault((*path, key), f"is not a ring of {with_article(device)}", allowed)
        for vnic_index, vnic in enumerate(group.settings.vnics):
            if vnic.split_rx and vnic.rss and _rings(file, group.networks[vnic_index]) > 1:
                key = f"ethernet{vnic_index}.emuRxMode"
                message = f"requires a single receive queue, and ethernet{vnic_index}.pnicFeatures gets several"
                yield tree.fault((*path, "vmx", key), message, '"0", or no RSS')


@dataclass(frozen=True)
class _Host:
    """Limits for traffic."""

    tree: Tree
    file: PointFile
    hardware: HardwareSpec
    switches: Mapping[str, list[VSwitchSpec]]
    """Switch of each NIC, by group of VMs."""
    load: dict[str, float]
    """Load of earlier streams on the wire of each NIC, in bits per second."""
    groups: Mapping[str, VmGroupSpec]
    """Groups of VMs by name."""
    traffic: Mapping[str, Traffic]
    """All traffic by name."""


def traffic_faults(
    tree: Tree,
    file: PointFile,
    groups: Iterable[VmGroupSpec],
    hardware: HardwareSpec,
    traffic: Mapping[str, Traffic],
) -> Iterator[Fault]:
    """Faults of traffic: packets larger than a frame, impossible connections, streams faster than the wire."""
    groups = list(groups)
    switches = {group.name: links(group, file.network, file.host.nics) for group in groups}
    host = _Host(tree, file, hardware, switches, {}, {group.name: group for group in groups}, traffic)
    for name, flow in traffic.items():
        yield from _faults(flow, ("traffic", name), host)


@singledispatch
def _faults(flow: Traffic, path: KeyPath, host: _Host) -> Iterable[Fault]:
    """Faults of traffic on a host; a derived kind is checked like its base."""
    return ()


@_faults.register
def _(flow: MulticastSpec, path: KeyPath, host: _Host) -> Iterable[Fault]:
    switch = host.file.network[host.file.vms[flow.to[0]].networks[0]]
    return _stream_faults(host, path, switch, flow.packet_size, flow.pace.rate, host.load, flow.pace.key)


@_faults.register
def _(flow: UdpStreamSpec, path: KeyPath, host: _Host) -> Iterable[Fault]:
    return _number_faults(host, path, flow) or _datagram_faults(host, path, flow)


@_faults.register
def _(flow: Connected, path: KeyPath, host: _Host) -> Iterable[Fault]:
    return _number_faults(host, path, flow) or [*_cost_faults(host, path, flow), *_connection_faults(host, path, flow)]


def _cost_faults(host: _Host, path: KeyPath, flow: Connected) -> Iterator[Fault]:
    """Faults of connections that fetch a single file, in guests without a cost for opening one."""
    if isinstance(flow, HttpSpec) and not flow.keep_alive:
        for name in flow.to:
            if host.groups[name].guest.connection is None:
                message = f"opens connections for single files, whose cost the guest of {name} does not have"
                yield host.tree.fault((*path, "keep_alive"), message, "true, or a guest with connection")


@_faults.register
def _(flow: ForwardedStreamSpec, path: KeyPath, host: _Host) -> Iterable[Fault]:
    return _number_faults(host, path, flow) or [
        *_forward_faults(host, path, flow),
        *_connection_faults(host, path, flow),
    ]


def _forward_faults(host: _Host, path: KeyPath, flow: ForwardedStreamSpec) -> Iterator[Fault]:
    """Faults of the NIC that sends the data."""
    least = min(len(host.switches[group]) for group in flow.to)
    if flow.leaves >= least or flow.leaves == flow.vnic:
        message = (
            "is also the vNIC that receives the data" if flow.leaves == flow.vnic else "is not a vNIC of all its groups"
        )
        others = [str(vnic) for vnic in range(least) if vnic != flow.vnic]
        allowed = " or ".join(others) or "no value: they have one vNIC"
        yield host.tree.fault((*path, "leaves"), message, allowed, given=str(flow.leaves))


def _stream_faults(
    host: _Host,
    path: KeyPath,
    switch: VSwitchSpec,
    octets: int,
    rate: float,
    load: dict[str, float],
    pace: str = "rate",
    count: float = 1.0,
) -> Iterator[Fault]:
    """Faults of ``count`` streams of datagrams: frame size, and rate on the first uplink, which already has a ``load``."""
    if octets + UDP_HEADERS > switch.mtu:
        allowed = f"at most {switch.mtu - UDP_HEADERS} B: one frame at an MTU of {switch.mtu}"
        yield host.tree.fault((*path, "packet_size"), "does not fit in a frame", allowed)
        return
    nic = switch.uplinks[0]
    most = host.hardware.nics[nic].rate
    frame_bits = 8 * packet_on_wire(octets + UDP_HEADERS, vxlan=switch.vxlan, tag=switch.tag)
    room = most - load.get(nic, 0.0)
    load[nic] = load.get(nic, 0.0) + rate * count * frame_bits
    if count and load[nic] >= most:
        left = f"{max(room, 0.0) / frame_bits / count:.0f} pps{'' if count == 1 else ' for each stream'}"
        allowed = f"below {left}, the rate that {nic} has left for frames of {frame_bits // 8} B"
        yield host.tree.fault((*path, pace), "is more than the wire carries", allowed)


@_faults.register
def _bridge_faults(flow: BridgedSpec, path: KeyPath, host: _Host) -> Iterator[Fault]:
    """Faults of a bridge: its vNICs, and frames on both switches and their uplinks."""
    tree, file = host.tree, host.file
    for group in flow.to:
        networks, switches = file.vms[group].networks, host.switches[group]
        for key in ("enters", "leaves"):
            if getattr(flow, key) >= len(switches):
                allowed = f"an integer 0..{len(switches) - 1}" if len(switches) > 1 else "0"
                yield tree.fault((*path, key), f"is not a vNIC of {group}", allowed, given=str(getattr(flow, key)))
                return
        names = [networks[vnic] if vnic < len(networks) else "" for vnic in (flow.enters, flow.leaves)]
        enters = names[0] or switches[flow.enters].uplinks[0]
        if flow.enters == flow.leaves or (names[0] and names[0] == names[1]):
            message = (
                "is also the vNIC that receives the frames"
                if flow.enters == flow.leaves
                else "bridges a switch with itself"
            )
            yield tree.fault((*path, "leaves"), message, f"a vNIC that is not on {enters}", given=str(flow.leaves))
            return
        faults = list(_forwarder_faults(host, path, flow, group))
        yield from faults
        if faults:
            return
        mtu = min(switches[vnic].mtu for vnic in (flow.enters, flow.leaves))
        if flow.packet > mtu:
            allowed = f"at most {mtu + FRAME_OVERHEAD} B: a frame at an MTU of {mtu}"
            yield tree.fault((*path, "frame_size"), "does not fit in a frame", allowed)
            return
        switch = switches[flow.enters]
        room = sum(host.hardware.nics[nic].rate for nic in switch.uplinks)
        bits = 8 * packet_on_wire(flow.packet, vxlan=switch.vxlan, tag=switch.tag) * file.vms[group].count
        if flow.pace.rate * bits >= room:
            allowed = f"below {room / bits:.0f} pps, the rate that the uplinks of {enters} carry for each VM"
            yield tree.fault((*path, flow.pace.key), "is more than the wire carries", allowed)


def _forwarder_faults(host: _Host, path: KeyPath, flow: BridgedSpec, group: str) -> Iterator[Fault]:
    """Faults of bridges on virtual functions, which drop frames with foreign addresses, and of polling processes."""
    tree, spec = host.tree, host.groups[group]
    for key in ("enters", "leaves"):
        device = spec.settings.devices[getattr(flow, key)].device
        if device == "sriov" and not flow.routed:
            message = (
                "is a virtual function: its NIC checks addresses, and neither receives nor sends frames of other hosts"
            )
            yield tree.fault(
                (*path, key), message, "routed: true, a vNIC, or a whole NIC", given=str(getattr(flow, key))
            )
        if flow.forwarded_by == "poll" and device in VNICS and not VNICS[device].polled:
            message = f"is {with_article(device)} of {group}; polling {with_article(device)} is not modelled"
            yield tree.fault(
                (*path, key), message, "a vmxnet3, or a passed-through device", given=str(getattr(flow, key))
            )
    if flow.forwarded_by == "kernel":
        if flow.vcpu:
            yield tree.fault((*path, "vcpu"), "applies to a process that polls only", "forwarded_by: poll, or no vcpu")
        return
    if spec.guest.paths is None:
        yield tree.fault((*path, "forwarded_by"), f"is not supported by the guest of {group}", "kernel")
    elif flow.vcpu >= spec.vcpus:
        yield tree.fault(
            (*path, "vcpu"), f"is not a vCPU of {group}", f"an integer 0..{spec.vcpus - 1}", given=str(flow.vcpu)
        )
    for name, other in host.traffic.items():
        if group not in (*other.to, *getattr(other, "sender", ())) or ("traffic", name) == path:
            continue
        if (
            isinstance(other, BridgedSpec)
            and other.forwarded_by == "poll"
            and other.vcpu != flow.vcpu
            and other.enters != flow.enters
            and other.leaves != flow.leaves
        ):
            continue  # the other direction has its own process, with its own queues
        message = f"needs vNICs and a vCPU of {group} for its polling process alone, and {name} uses them too"
        allowed = "groups whose only other traffic is a process that polls in the opposite direction on another vCPU"
        yield tree.fault((*path, "forwarded_by"), message, allowed)


@_faults.register
def _worker_faults(flow: WorkSpec, path: KeyPath, host: _Host) -> Iterator[Fault]:
    """Faults of CPU work on more vCPUs than a VM has."""
    least = min(host.groups[group].vcpus for group in flow.to)
    if flow.vcpus != "all" and flow.vcpus > least:
        group = next(group for group in flow.to if host.groups[group].vcpus == least)
        allowed = f"an integer 1..{least}, or all" if least > 1 else "1, or all"
        yield host.tree.fault((*path, "vcpus"), f"is more vCPUs than a VM of {group} has", allowed)


def _datagram_faults(host: _Host, path: KeyPath, flow: UdpStreamSpec) -> Iterator[Fault]:
    """Faults of datagrams of each VM: frame sizes and wire rates; the two directions are independent."""
    for group in flow.to:
        switch = host.switches[group][flow.vnic]
        count = flow.streams * host.file.vms[group].count / len(switch.uplinks)
        wires = host.load if flow.direction == "receive" else {}
        pace = flow.pace
        yield from _stream_faults(host, path, switch, flow.packet_size, pace.rate * pace.burst, wires, pace.key, count)


def _number_faults(host: _Host, path: KeyPath, flow: Connected | UdpStreamSpec) -> list[Fault]:
    """Faults of traffic through a vNIC that a group does not have."""
    counts = {group: len(host.switches[group]) for group in flow.to}
    least = min(counts.values())
    if flow.vnic < least:
        return []
    group = next(group for group, count in counts.items() if count == least)
    allowed = f"an integer 0..{least - 1}" if least > 1 else "0" if least else "no value: it has no vNIC"
    return [host.tree.fault((*path, "vnic"), f"is not a vNIC of {group}", allowed, given=str(flow.vnic))]


def _connection_faults(host: _Host, path: KeyPath, flow: Connected) -> Iterator[Fault]:
    """Faults of connections: segment sizes of their switches, and the range of ports."""
    tree, connections = host.tree, flow.ports
    segment = max(segment_size(host.switches[group][flow.vnic].mtu) for group in flow.to)
    least = min(segment_size(host.switches[group][flow.vnic].mtu) for group in flow.to)
    if isinstance(flow, ExchangeSpec) and flow.reply_size > least:
        for group in flow.to:
            offloads = host.file.vms[group].offloads
            if not (offloads.tso and offloads.tx_checksum):
                message = f"needs several frames, and {group} has TSO off: only single frames and streams are modelled without TSO"
                yield tree.fault((*path, "reply_size"), message, f"at most {least} B, or TSO and checksums on")
    if flow.request > least:
        yield tree.fault((*path, "request_size"), "does not fit in a segment", f"at most {least} B")
    if isinstance(flow, TcpSpec) and flow.window < segment:
        yield tree.fault((*path, "window"), "is smaller than a segment", f"at least {segment} B")
    if flow.port + connections - 1 > _LAST_PORT:
        allowed = f"at most {_LAST_PORT + 1 - connections}: {connections} connections have a port each"
        yield tree.fault((*path, "port"), "leaves too few ports", allowed, given=str(flow.port))


def feature_warnings(file: PointFile, platform: PlatformSpec) -> Iterator[str]:
    """Warnings about features that vNICs request and the physical NICs lack."""
    netqueue = "netNetqueueEnabled"
    for name, group in file.vms.items():
        for vnic, switch in enumerate(group.networks):
            key = f"ethernet{vnic}.pnicFeatures"
            value = int(group.vmx.get(key, 0))
            if value & PNIC_LRO:
                yield f"vms.{name}: {key} requests LRO of the vNIC, which is not modelled: only Net.Vmxnet3HwLRO has an effect"
            if not value & PNIC_RSS:
                continue
            if not platform.features.vnic_rss:
                yield f"vms.{name}: {key} asks for RSS, but this platform gives a vNIC one receive queue"
            elif _rings(file, switch) == 1:
                yield f"vms.{name}: {key} asks for RSS, but no uplink of {switch} has rss_rings above 1"
            elif file.host.kernel.get(netqueue, platform.kernel[netqueue].default) == "FALSE":
                yield f"vms.{name}: {key} asks for RSS, but {netqueue} is FALSE, so that each NIC has only its default queue"


def _rings(file: PointFile, switch: str) -> int:
    """Largest number of rings of an RSS queue on an uplink of a switch."""
    options = (file.host.nics.get(nic) for nic in file.network[switch].uplinks)
    return max((entry.rss_rings for entry in options if entry is not None), default=1)


_FASTEST = float(SECOND)
"""Largest number of arrivals per second, one in each picosecond."""


def load_faults(tree: Tree, file: PointFile, traffic: Mapping[str, Traffic], length_ps: int) -> Iterator[Fault]:
    """Faults of arrivals (none in a run, or several in one picosecond), and of connections with equal ports.

    Args:
        tree: the scenario.
        file: the parsed scenario.
        traffic: its flows, each valid.
        length_ps: simulated time of a run.
    """
    for name, flow in traffic.items():
        path: KeyPath = ("traffic", name)
        vms = sum(file.vms[group].count for group in flow.to)
        if not vms:
            continue
        yield from _pace_faults(tree, path, flow, flow.stream_count(vms), length_ps)
        if isinstance(flow, Connected):
            yield from _delay_faults(tree, path, flow, vms, length_ps)
    yield from _port_faults(tree, file, traffic)


def _words(length_ps: int) -> str:
    return f"{length_ps / SECOND:g} s"


def _pace_faults(tree: Tree, path: KeyPath, flow: Traffic, streams: int, length_ps: int) -> Iterator[Fault]:
    """Faults of arrivals in a run, for all streams together and for each."""
    run = _words(length_ps)
    pace = flow.pace
    if pace is None:
        return
    if pace.instants is not None and pace.instants[0] >= length_ps:
        key_path, last = (*path, "arrivals", "file"), f"instants below {run}"
        yield tree.fault(key_path, f"has no instant within a run of {run}", last)
    rate, key, unit, each = pace.rate, pace.key, pace.unit, pace.burst
    if not rate:
        return  # recorded instants
    least = max(SECOND / (length_ps * streams), 1 / LONGEST)
    if rate < least * (1 - 1e-12):
        allowed = f"at least {least * each:.6g} {unit}" if key == "rate" else f"up to {1 / least:.6g} s"
        yield tree.fault((*path, key), f"has no traffic in a run of {run}", allowed)
    elif rate > _FASTEST:
        yield tree.fault((*path, key), "is more than one in a picosecond", f"up to {_FASTEST * each:g} {unit}")


def _delay_faults(tree: Tree, path: KeyPath, flow: Connected, vms: int, length_ps: int) -> Iterator[Fault]:
    """Waiting times of peers and users, compared with the length of a run."""
    run = _words(length_ps)
    if flow.delay >= length_ps:
        yield tree.fault((*path, "delay"), "has no arrivals in a run", f"below {run}, the length of a run")
    if flow.pause and flow.pause > length_ps * flow.connections * vms:
        most = f"up to {_words(length_ps * flow.connections * vms)}: one request of all users together in a run"
        yield tree.fault((*path, "think_time"), f"has no request in a run of {run}", most)


def _port_faults(tree: Tree, file: PointFile, traffic: Mapping[str, Traffic]) -> Iterator[Fault]:
    """Faults of connections of a VM that cannot be distinguished, as their ports at server and peer are equal."""
    taken: dict[tuple[str, int, int], list[tuple[str, range]]] = {}
    for name, flow in traffic.items():
        if not isinstance(flow, Connected):
            continue
        ports = range(flow.port, flow.port + flow.ports)
        for group in flow.to:
            if not file.vms[group].count:
                continue
            others = taken.setdefault((group, flow.vnic, flow.server_port), [])
            clash = next(
                (other for other in others if other[1].start < ports.stop and ports.start < other[1].stop), None
            )
            others.append((name, ports))
            if clash is not None:
                message = f"has ports that connections of {clash[0]} already use in the same VMs, {group}"
                free = f"at least {max(other.stop for _, other in others[:-1])}"
                yield tree.fault(("traffic", name, "port"), message, free, given=str(flow.port))
                break
