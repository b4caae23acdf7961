"""Warnings of settings without effect, and of implicit assumptions that decide a result.

Only settings that the scenario sets to a value other than the default are judged. A warning names a setting that has no
effect at any point of a sweep. Implicit assumptions are default properties of senders, and costs on processors on which
no cost was measured. The effect of splitRx depends on the number of packets that arrive together, as they share a
context's wake-up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from hostsim.config.cpu import L1TF
from hostsim.config.effective_settings import vmx_table
from hostsim.config.host import HardwareSpec, PointSpec, VmGroupSpec
from hostsim.config.nic import NicOptions, NicSpec, VSwitchSpec
from hostsim.config.peer import PeerSpec
from hostsim.config.platform import (
    FunctionSettings,
    HostSettings,
    OffloadSettings,
    PlatformSpec,
    SettingSpec,
    VnicSettings,
)
from hostsim.config.traffic import Connected, Traffic
from hostsim.config.vmkernel import VmkernelStreamSpec, VmotionSpec
from hostsim.config.workload import (
    BridgedSpec,
    ForwardedStreamSpec,
    MulticastSpec,
    TcpSpec,
    UdpStreamSpec,
    VmDatagramsSpec,
    VmTcpStreamSpec,
    VmTraffic,
    WorkSpec,
)
from hostsim.scenario.check.network import OF_SWITCH
from hostsim.scenario.schema import PointFile
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree, dotted, show_value
from hostsim.units import SECOND

__all__ = [
    "Effects",
    "assumption_warnings",
    "depends_on_length",
    "effects",
    "extrapolation_warnings",
    "side_channel_reason",
    "without_effect",
]


def assumption_warnings(
    tree: Tree,
    file: PointFile,
    peer: PeerSpec,
    groups: Iterable[VmGroupSpec],
    traffic: Mapping[str, Traffic],
    settings: HostSettings,
) -> Iterator[str]:
    """Warnings about defaults that decide a result.

    Args:
        tree: the scenario.
        file: the parsed scenario.
        peer: the sender of multicast.
        groups: VMs with their effective settings.
        traffic: their traffic.
        settings: of the host.
    """
    is_open = tree.get(("peer",)) is None or not peer.timer_jitter
    for group in groups:
        rate = sum(
            _rate(flow) for flow in traffic.values() if isinstance(flow, MulticastSpec) and group.name in flow.to
        )
        if not group.count or not group.settings.vnics or not rate:
            continue
        vnic = group.settings.vnics[0]
        # above the limit of calls, an ESXi VM sends several packets per call
        if vnic.split_rx and is_open and peer.tx_coalescing is None and rate > settings.tx_call_rate:
            name = file.peer if tree.get(("peer",)) is not None else f"{file.peer} (the default)"
            yield (
                f"vms.{group.name}: with splitRx, losses and CPU depend on how many multicast packets arrive together: the peer {name} sends "
                "them one by one, peer: esxi-vm in batches, as an ESXi VM does"
            )


def extrapolation_warnings(hardware: HardwareSpec, platform: PlatformSpec) -> Iterator[str]:
    """The warning about a processor on which no packet cost was measured.

    Args:
        hardware: the server; the platform has its processor family.
        platform: the platform whose costs apply.
    """
    family = hardware.cpu.family
    factor = platform.costs.generations[family]
    if factor.extrapolated:
        ends = "" if factor.range is None else f", {factor.range[0]:g} to {factor.range[1]:g}"
        yield (
            f"costs are extrapolated to {family}, on which no packet path was measured; work takes {factor.value:g}{ends} times the cycles of a Westmere"
        )


def _rate(flow: MulticastSpec) -> float:
    """Mean number of packets per second."""
    instants = flow.arrivals.timestamps_ps
    if not instants:
        return flow.pace.rate
    span = instants[-1] - instants[0]
    return (len(instants) - 1) * SECOND / span if span else 0.0


Effects: TypeAlias = Mapping[str, str]
"""Warning for each judged setting at a point, by path; an empty text if the setting has an effect."""

_NUMBERED = re.compile(r"(ethernet|pciPassthru)(\d+)\.")
_LOOKS = 10
"""Part of its period after which dynamic tuning makes its first check, see `hostsim.model.control.dense_mode`."""


@dataclass(frozen=True)
class _Vnic:
    """A vNIC of a group that has VMs."""

    group: VmGroupSpec
    number: int
    settings: VnicSettings
    uplinks: tuple[str, ...]
    queues: int


class _Point:
    """Argument of the rules: a point with its VMs and NICs."""

    def __init__(self, spec: PointSpec, file: PointFile, threads: int) -> None:
        self.spec, self.file, self.threads = spec, file, threads
        self.groups = {group.name: group for group in spec.vms if group.count}
        self.vnics = [
            _Vnic(group, vnic, settings, spec.vswitches[switch].uplinks, group.queue_pairs(settings))
            for group in self.groups.values()
            for vnic, (settings, switch) in enumerate(zip(group.settings.vnics, group.networks, strict=True))
        ]
        self.vmkernel = [f for f in spec.traffic.values() if isinstance(f, VmkernelStreamSpec | VmotionSpec)]
        ports = (spec.vswitches[flow.network].uplinks for flow in self.vmkernel)
        self.uplinks = dict.fromkeys(nic for uplinks in (*(v.uplinks for v in self.vnics), *ports) for nic in uplinks)
        passed = [entry for group in self.groups.values() for entry in group.settings.passthrough]
        self.passed = dict.fromkeys(entry.nic for entry in passed)
        self.shared = dict.fromkeys(entry.nic for entry in passed if isinstance(entry, FunctionSettings))
        self.flows = [flow for flow in spec.traffic.values() if self.groups.keys() & set(flow.to)]

    def is_written(self, vnic: _Vnic, key: str) -> bool:
        return f"ethernet{vnic.number}.{key}" in self.file.vms[vnic.group.name].vmx

    def has(self, family: str) -> bool:
        """True if a VM has a vNIC of a family of emulated devices."""
        return any(vnic.settings.kind.family == family for vnic in self.vnics)

    def dealt(self) -> bool:
        """True if a NIC has receive queues for vNICs in addition to the default queue."""
        plain = {nic for switch in self.spec.vswitches.values() if not switch.vxlan for nic in switch.uplinks}
        nics = self.spec.hardware.nics
        return any(
            nics[nic].rx_queues > self.spec.nics.get(nic, NicOptions()).drss for nic in self.uplinks if nic in plain
        )

    def tunnelled(self) -> bool:
        """True if a NIC has a queue with RSS for a tunnel."""
        ends = {nic for switch in self.spec.vswitches.values() if switch.vxlan for nic in switch.uplinks}
        return any(self.spec.nics.get(nic, NicOptions()).rss_rings > 1 for nic in self.uplinks if nic in ends)


def side_channel_reason(kernel: Mapping[str, object], threads: int, family: str) -> str:
    """The reason if side-channel aware scheduling disables no hyperthreads; empty otherwise."""
    if kernel.get("hyperthreadingMitigation") != "TRUE":
        return "it is off"
    if kernel.get("hyperthreadingMitigationIntraVM") == "FALSE":
        return "version 2 of the scheduler (hyperthreadingMitigationIntraVM = FALSE) is not modelled"
    if threads == 1:
        return "the server has no hyperthreads"
    return "" if family in L1TF else f"processors of the family {family} do not have the L1 terminal fault"


# --- rules: the reason if a setting has no effect at a point

Rule: TypeAlias = Callable[[_Point], str]


def _needs(test: Callable[[_Point], bool], reason: str) -> Rule:
    return lambda point: "" if test(point) else reason


def _after(*rules: Rule) -> Rule:
    """The first of several reasons."""
    return lambda point: next((reason for rule in rules if (reason := rule(point))), "")


_VNIC = _needs(lambda point: bool(point.vnics), "no VM has a vNIC")
_VMXNET3 = _needs(lambda point: point.has("vmxnet3"), "no VM has a vmxnet3")
_E1000 = _needs(lambda point: point.has("e1000"), "no VM has an e1000")
_NODES = _needs(lambda point: point.spec.hardware.cpu.nodes > 1, "the server has one NUMA node")
_COMPLEXES = _needs(
    lambda point: point.spec.hardware.cpu.core_complex is not None, "a NUMA node of the server has one last-level cache"
)
_SMP = _needs(
    lambda point: any(group.vcpus > 1 and not group.settings.exclusive for group in point.groups.values()),
    "no VM has several vCPUs that share PCPUs with others",
)
_DATA_IN = _needs(lambda point: any(flow.receives for flow in point.flows), "no VM receives TCP data")
_DENSE = _needs(lambda point: point.spec.settings.tune_dense, "Net.NetTuneHostMode is not dense")
_SW_LRO = _needs(lambda point: point.spec.settings.sw_lro, "Net.Vmxnet3SwLRO is 0")
_OPEN_SCHEME = _needs(
    lambda point: any(
        vnic.settings.kind.family == "vmxnet3"
        and not vnic.group.settings.exclusive
        and not point.is_written(vnic, "coalescingScheme")
        for vnic in point.vnics
    ),
    "each vmxnet3 sets its own scheme",
)
_NETQUEUE = _needs(lambda point: point.spec.settings.netqueue, "netNetqueueEnabled is FALSE")
_QUEUES = _needs(_Point.dealt, "no uplink of the VMs has receive queues besides its default one")


def _several_queues(vnics: list[_Vnic]) -> bool:
    """True if transmit queues of a VM can have separate contexts."""
    return len(vnics) > 1 or any(vnic.queues > 1 for vnic in vnics)


def _contexts(point: _Point) -> bool:
    open_to = [vnic for vnic in point.vnics if not point.is_written(vnic, "ctxPerDev")]
    groups = {vnic.group.name for vnic in open_to}
    return any(_several_queues([vnic for vnic in point.vnics if vnic.group.name == name]) for name in groups)


def _is_posted(flow: Traffic) -> bool:
    """True for open-loop traffic from the peer."""
    if isinstance(flow, UdpStreamSpec):
        return flow.direction == "receive"
    return isinstance(flow, MulticastSpec | BridgedSpec)


_POSTED = _needs(lambda point: any(map(_is_posted, point.flows)), "no open-loop traffic comes from the peer")


def _switched(point: _Point, flow: Traffic) -> bool:
    """True for traffic between vNICs, which the virtual switch forwards."""
    if not isinstance(flow, VmTraffic):
        return False
    ends = ((flow.sender, flow.vnic), (flow.to, flow.to_vnic))
    return all(vnic < len(point.groups[name].networks) for names, vnic in ends for name in names)


_LOCAL = _needs(
    lambda point: any(_switched(point, flow) for flow in point.flows), "no VM sends from a vNIC to a vNIC of another VM"
)


def _gets_multicast(point: _Point, vnic: _Vnic) -> bool:
    return vnic.number == 0 and any(
        isinstance(flow, MulticastSpec) and vnic.group.name in flow.to for flow in point.flows
    )


def _first_look(point: _Point) -> bool:
    """True if dynamic tuning makes a check before the run ends; a slow warm-up lengthens the run."""
    return point.spec.settings.tune_interval < _LOOKS * point.spec.length


_STATES = _needs(
    lambda point: point.spec.hardware.cpu.family in point.spec.idle.states,
    "the only known core state of the processor is C1",
)
_CUSTOM = _needs(
    lambda point: point.file.host.advanced.get("Power.CpuPolicy") == "Custom", "Power.CpuPolicy is not Custom"
)


def _looks_beyond(point: _Point) -> bool:
    """True if the balancer has a separate period for moves across core complexes."""
    return point.spec.hardware.cpu.core_complex is not None and not point.spec.settings.llc_sched


ADVANCED: dict[str, Rule] = {
    "Power.CpuPolicy": _STATES,
    **dict.fromkeys(("Power.UseCStates", "Power.CStateMaxLatency"), _after(_STATES, _CUSTOM)),
    **dict.fromkeys(("Power.CStateResidencyCoef", "Power.CStatePredictionCoef"), _after(_STATES, _CUSTOM)),
    "Cpu.HTRebalancePeriod": _needs(
        lambda point: point.spec.hardware.cpu.threads > 1, "the server has no hyperthreads"
    ),
    **dict.fromkeys(("Cpu.CoschedCostopThreshold", "Cpu.CoschedCostartThreshold", "Cpu.CoschedPollUsec"), _SMP),
    **dict.fromkeys(("Numa.RebalancePeriod", "Numa.MigImbalanceThreshold"), _NODES),
    "Net.NetNetqNumaIOCpuPinThreshold": _NODES,
    "Cpu.PackageRebalancePeriod": lambda point: "" if _looks_beyond(point) else _after(_NODES, _VNIC)(point),
    "Cpu.CommRateThreshold": _after(
        _NODES,
        _VNIC,
        _needs(lambda point: point.spec.settings.package_rebalance_period > 0, "Cpu.PackageRebalancePeriod is 0"),
    ),
    "Net.NetSplitRxMode": _needs(
        lambda point: any(
            vnic.settings.split_rx_auto and not vnic.settings.rss and _gets_multicast(point, vnic)
            for vnic in point.vnics
        ),
        "no multicast reaches a vmxnet3 that leaves ethernetX.emuRxMode to the host",
    ),
    "Net.CoalesceScheme": _after(_VMXNET3, _OPEN_SCHEME),
    **dict.fromkeys(("Net.CoalesceRBCRate", "Net.CoalesceTxQDepthCap", "Net.CoalesceRxQDepthCap"), _VMXNET3),
    **dict.fromkeys(("Net.CoalesceLowTxRate", "Net.CoalesceLowRxRate", "Net.CoalesceDefaultOn"), _VMXNET3),
    "Net.vmxnetThroughputWeight": _VMXNET3,
    **dict.fromkeys(
        ("Net.CoalesceTxTimeout", "Net.vNicTxPollBound", "Net.NetDeferTxCompletion", "Net.MaxTxCompDelay"), _VNIC
    ),
    "Net.VmxnetTxCopySize": _VMXNET3,
    **dict.fromkeys(("Net.E1000IntrCoalesce", "Net.E1000TxCopySize"), _E1000),
    "Net.MaxPortRxQueueLen": _needs(
        lambda point: any(
            vnic.settings.split_rx
            or (point.spec.settings.split_rx_rule and vnic.settings.split_rx_auto and _gets_multicast(point, vnic))
            for vnic in point.vnics
        ),
        'no vNIC has its own receive context (ethernetX.emuRxMode = "1")',
    ),
    "Net.NetRxCopyInTx": _LOCAL,
    "Numa.PreferHT": lambda point: min(
        (_prefers_threads(point, group) for group in point.groups.values()), key=len, default="there is no VM"
    ),
    "Net.MaxPktRxListQueue": _after(
        _LOCAL, _needs(lambda point: not point.spec.settings.rx_copy_in_tx, "Net.NetRxCopyInTx is 1")
    ),
    "Net.VmxnetDoTsoSplit": _needs(
        lambda point: any(isinstance(flow, VmTcpStreamSpec) and _switched(point, flow) for flow in point.flows),
        "no VM sends TCP to another VM",
    ),
    "Net.NetVMTxType": _needs(_contexts, "no VM that follows it has several transmit queues"),
    "Net.NetNetqRxDynamicLB": _after(_NETQUEUE, _QUEUES),
    "Net.NetTuneHostMode": _needs(
        _first_look, "its first check comes after the run: at a tenth of Net.NetTuneInterval"
    ),
    **dict.fromkeys(("Net.NetTuneInterval", "Net.NetTuneThreshold"), _DENSE),
    "Net.Vmxnet3SwLRO": _DATA_IN,
    **dict.fromkeys(("Net.VmxnetLROThreshold", "Net.VmxnetLROBackoffPeriod"), _after(_DATA_IN, _SW_LRO)),
    "Net.VmxnetLROMaxLength": _after(
        _DATA_IN,
        _needs(lambda point: point.spec.settings.sw_lro or point.spec.settings.hw_lro, "both kinds of LRO are off"),
    ),
    "Net.Vmxnet3HwLRO": _after(
        _DATA_IN,
        _needs(lambda point: any(point.spec.hardware.nics[nic].lro for nic in point.uplinks), "no uplink does LRO"),
    ),
    "Net.UseHwTSO": _after(
        _needs(lambda point: any(isinstance(flow, Connected) for flow in point.flows), "no traffic is TCP"),
        _needs(lambda point: any(point.spec.hardware.nics[nic].tso for nic in point.uplinks), "no uplink does TSO"),
    ),
}
"""Rules of advanced settings; others always have an effect."""
KERNEL: dict[str, Rule] = {
    "hyperthreadingMitigation": lambda point: side_channel_reason(
        point.file.host.kernel, point.threads, point.spec.hardware.cpu.family
    ),
    "llcSchedEnable": _COMPLEXES,
    "netNetqueueEnabled": lambda point: "" if point.tunnelled() else _QUEUES(point),
}
"""Rules of kernel settings."""


def _vmx(point: _Point, group: VmGroupSpec, key: str, vnic_index: int | None) -> str:
    """The reason if a ``.vmx`` key (with the number of its vNIC or device) has no effect."""
    settings, cpu = group.settings, point.spec.hardware.cpu
    if key in ("ethernetX.coalescingScheme", "ethernetX.coalescingParams") and settings.exclusive:
        return "sched.cpu.latencySensitivity = high turns coalescing off"
    if key == "ethernetX.ctxPerDev" and not point.spec.settings.tune_dense:
        own = [vnic for vnic in point.vnics if vnic.group.name == group.name]
        return "" if _several_queues(own) else "the VM has one transmit queue"
    if key == "ethernetX.udpRSS":
        here = [vnic for vnic in point.vnics if vnic.group.name == group.name and vnic.number == vnic_index]
        if all(vnic.queues == 1 for vnic in here):
            return "the vNIC has one queue"
        is_used = any(_unicast_into(flow) == vnic_index for flow in point.flows if group.name in flow.to)
        return "" if is_used else "the vNIC receives no unicast datagrams"
    if key == "numa.nodeAffinity":
        nodes = point.spec.hardware.cpu.nodes
        return "" if len(settings.nodes) < nodes else f"it names all NUMA nodes of the server: {nodes}"
    if key.startswith("pciPassthruX.") and key != "pciPassthruX.present":
        is_on = point.file.vms[group.name].vmx.get(f"pciPassthru{vnic_index}.present") == "TRUE"
        return "" if is_on else f"pciPassthru{vnic_index}.present is not TRUE"
    if key.startswith("sched.cpu.") and key != "sched.cpu.latencySensitivity" and settings.exclusive:
        return "sched.cpu.latencySensitivity = high reserves a core for each vCPU"
    if key == "sched.cpu.affinity":
        return "" if len(settings.affinity) < cpu.pcpus else f"it names all {cpu.pcpus} PCPUs of the server"
    if key == "numa.vcpu.preferHT":
        return _prefers_threads(point, group)
    if key == "numa.vcpu.maxPerVirtualNode":
        if not settings.max_per_virtual_node:
            return "the VM has fewer than 9 vCPUs, and no virtual NUMA topology"
        room = cpu.node_cores * cpu.threads if settings.prefer_ht else cpu.node_cores
        same = _blocks(point, group, room) == _blocks(point, group, min(room, settings.max_per_virtual_node))
        return "the VM is on as many NUMA nodes without it" if same else ""
    if key == "sched.cpu.max" and settings.cpu_limit_mhz is not None:
        most = group.vcpus * cpu.clock / 1e6
        return f"the vCPUs can use {most:g} MHz at most" if settings.cpu_limit_mhz >= most else ""
    if key == "sched.cpu.latencySensitivity" and not settings.exclusive:
        return "of its values only high is modelled"
    return ""


def _unicast_into(flow: Traffic) -> int | None:
    """Number of the vNIC that receives unicast datagrams; None for other traffic."""
    if isinstance(flow, VmDatagramsSpec):
        return flow.to_vnic
    return flow.vnic if isinstance(flow, UdpStreamSpec) and flow.direction == "receive" else None


def _prefers_threads(point: _Point, group: VmGroupSpec) -> str:
    """The reason if counting hyperthreads does not change the placement of a group's VMs."""
    cpu = point.spec.hardware.cpu
    if cpu.threads == 1:
        return "the server has no hyperthreads"
    same = _blocks(point, group, cpu.node_cores) == _blocks(point, group, cpu.node_cores * cpu.threads)
    return "the VM is on as many NUMA nodes without it" if same else ""


def _blocks(point: _Point, group: VmGroupSpec, room: int) -> int:
    """Initial number of NUMA nodes of a VM, if each node takes the given number of vCPUs."""
    nodes = len(group.settings.nodes) or point.spec.hardware.cpu.nodes
    return min(nodes, -(-group.vcpus // room))


def _offload(point: _Point, group: VmGroupSpec, key: str) -> str:
    """The reason if disabling a guest offload has no effect."""
    there = [flow for flow in point.flows if group.name in flow.to]
    sends = [flow for flow in point.flows if isinstance(flow, VmTraffic) and group.name in flow.sender]
    connected = [flow for flow in there if isinstance(flow, Connected)]
    tcp_in = [flow for flow in there if flow.receives or isinstance(flow, VmTcpStreamSpec)]
    if key == "tso":
        out = [flow for flow in connected if not flow.receives]
        return "" if out or any(isinstance(flow, VmTcpStreamSpec) for flow in sends) else "no TCP data leaves the VMs"
    if key == "tx_checksum":
        datagrams = [flow for flow in there if isinstance(flow, UdpStreamSpec) and flow.direction == "send"]
        return "" if connected or sends or datagrams else "the VMs send nothing"
    if key == "rx_checksum":
        into = [flow for flow in there if not isinstance(flow, WorkSpec | ForwardedStreamSpec | BridgedSpec)]
        return "" if into else "the sockets of the VMs receive nothing"
    if not tcp_in:
        return "the VMs receive no TCP data"
    if key == "gro":
        return "" if group.guest.gro else "its drivers have no GRO"
    nics = point.spec.hardware.nics
    has_lro = any(vnic.kind.lro for vnic in group.settings.vnics) or any(
        nics[entry.nic].lro for entry in group.settings.passthrough if not isinstance(entry, FunctionSettings)
    )
    return "" if has_lro else "no NIC of the VMs has LRO"


def _queues(group: VmGroupSpec, nics: Mapping[str, NicSpec]) -> str:
    """The reason if a guest's number of queue pairs has no effect."""
    settings = group.settings
    pairs = [vnic.queue_pairs(group.vcpus) for vnic in settings.vnics]
    for entry in settings.passthrough:
        nic = nics[entry.nic]
        most = entry.queues if isinstance(entry, FunctionSettings) else nic.rx_queues
        pairs.append(min(most, group.vcpus) if nic.rss else 1)
    is_less = settings.queues is not None and settings.queues < max(pairs, default=1)
    return "" if is_less else "no NIC of the VMs has more queues than that"


def _nic(point: _Point, name: str, key: str) -> str:
    """The reason if a NIC driver option has no effect."""
    if key == "max_vfs":
        return "" if name in point.shared else f"no VM uses a virtual function of {name} (pciPassthruX.pfId)"
    if key == "mtu" and name in point.uplinks and name not in point.shared:
        return f"{name} is an uplink, and has the MTU of its switch"
    if name not in point.uplinks and not (name in point.passed and key in ("interrupt_interval", "mtu")):
        return f"no VM uses {name}" if name not in point.passed else f"{name} is passed through to a VM"
    if key == "tx_queues":
        here = sum(
            group.count
            for group in point.spec.vms
            for network in group.networks
            if name in point.spec.vswitches[network].uplinks
        )
        return "" if here > 1 else f"{name} has one virtual port"
    if key != "rss_rings":
        return ""
    if any(switch.vxlan and name in switch.uplinks for switch in point.spec.vswitches.values()):
        return "" if point.spec.settings.netqueue else "netNetqueueEnabled is FALSE"
    asking = [vnic for vnic in point.vnics if vnic.settings.rss and name in vnic.uplinks]
    if not asking:
        return f"no vNIC with uplink {name} requests RSS (ethernetX.pnicFeatures) on a platform that supports it"
    if all(vnic.queues == 1 for vnic in asking):
        return "each VM that requests RSS has one vCPU, and so its vNIC has one queue"
    return ""


def _flow(flow: TcpSpec, key: str) -> str:
    if key == "burst":
        return "" if flow.receives else "the peer sends no data; the VMs do"
    return "the peer sends data and does not acknowledge any" if flow.receives else ""


# --- written settings, and their rules


def effects(tree: Tree, file: PointFile, platform: PlatformSpec, spec: PointSpec, threads: int) -> dict[str, str]:
    """The judged settings of a valid point, each with the warning that it has no effect, or with an empty text.

    Args:
        tree: the scenario with the settings of files that it names.
        file: the same, read.
        platform: the platform whose settings and defaults apply.
        spec: the resolved point.
        threads: PCPUs in each core of the server; side-channel aware scheduling leaves ``spec`` one.
    """
    messages: dict[str, str] = {}
    for path, reason in _judged(_Point(spec, file, threads), platform):
        place, shown = tree.place(path), dotted(path)
        value = tree.get(path)  # keys of a named part are in the part's file
        given = "" if value is None or isinstance(value, dict) else f" = {show_value(value)}"
        messages[shown] = f"{place}: {shown}{given} has no effect: {reason}" if reason else ""
    return messages


def depends_on_length(path: str) -> bool:
    """True if a setting might have an effect in a longer run of the same point."""
    return path == "host.advanced.Net.NetTuneHostMode"


def without_effect(points: Iterable[Effects]) -> list[str]:
    """Warnings of settings without effect at any point."""
    warned: dict[str, str] = {}
    for judged in points:
        for path, warning in judged.items():
            warned[path] = warning and warned.get(path, warning)
    return [warning for warning in warned.values() if warning]


def _judged(point: _Point, platform: PlatformSpec) -> Iterator[tuple[KeyPath, str]]:
    file = point.file
    if point.spec.peer.tx_coalescing is not None:
        yield ("peer", "tx_coalescing"), _POSTED(point)
    for section, rules in (("advanced", ADVANCED), ("kernel", KERNEL)):
        table = getattr(platform, section)
        for name, value in getattr(file.host, section).items():
            if (state := _state(table[name], value)) is not None:
                rule = rules.get(name)
                yield ("host", section, name), state or (rule(point) if rule is not None else "")
    for group in point.groups.values():
        table = vmx_table(platform, len(file.vms[group.name].networks)) if file.vms[group.name].vmx else {}
        for name, value in file.vms[group.name].vmx.items():
            if (state := _state(table[name], value)) is None:
                continue
            device = _NUMBERED.match(name)
            key = name if device is None else f"{device[1]}X.{name[device.end() :]}"
            reason = state or _vmx(point, group, key, None if device is None else int(device[2]))
            yield ("vms", group.name, "vmx", name), reason
        for key in ("rx_ring", "tx_ring"):
            if getattr(file.vms[group.name], key) is not None:
                yield ("vms", group.name, key), "" if group.networks else "the VMs have no vNIC"
        for key in _changed(file.vms[group.name].offloads, OffloadSettings()):
            yield ("vms", group.name, "offloads", key), _offload(point, group, key)
        if group.settings.queues is not None:
            yield ("vms", group.name, "queues"), _queues(group, point.spec.hardware.nics)
    for name in file.resource_pools:
        yield ("resource_pools", name), "" if _is_used(file, name) else "no VM is in it"
    for nic, options in file.host.nics.items():
        for key in _changed(options, NicOptions()):
            yield ("host", "nics", nic, key), _nic(point, nic, key)
    connected = {name for group in point.groups for name in file.vms[group].networks} | {
        flow.network for flow in point.vmkernel
    }
    for switch, spec in file.network.items():
        groups = {name for name, other in file.network.items() if other.port_group_of == switch}
        for key in _changed(spec, VSwitchSpec(uplinks=spec.uplinks)):
            if spec.port_group_of is not None and key in OF_SWITCH:  # judged with the setting of the switch
                continue
            used = connected if key in _OF_PORTS else connected | ({switch} if groups & connected else set())
            reason = "no link is down" if key == "standby" and not spec.link_down else ""
            if key == "teaming" and len((*spec.uplinks, *spec.standby)) == 1:
                reason = "there is one uplink"
            yield ("network", switch, key), reason if switch in used else f"no VM is connected to {switch}"
        if (
            spec.nioc is not None
            and spec.port_group_of is None
            and switch in connected | ({switch} if groups else set())
        ):
            sent = {flow.system for flow in point.vmkernel if flow.network in {switch, *groups}} | {"virtual_machine"}
            for kind in spec.nioc.system:
                yield (
                    ("network", switch, "nioc", "system", kind),
                    "" if kind in sent else f"nothing sends {kind} traffic",
                )
    for name, flow in point.spec.traffic.items():
        if isinstance(flow, TcpSpec):
            written = flow.model_fields_set & {"burst", "peer_acks_every"}
            yield from ((("traffic", name, key), _flow(flow, key)) for key in sorted(written))


def _is_used(file: PointFile, pool: str) -> bool:
    """True if a VM is in the pool or in one of its descendants."""
    inside = {pool}
    for name in [*file.resource_pools] * len(file.resource_pools):
        if file.resource_pools[name].parent in inside:
            inside.add(name)
    return any(group.count and group.resource_pool in inside for group in file.vms.values())


_OF_PORTS = ("shaping", "teaming", "standby", "vlan")
"""Keys that port groups override on their virtual switch."""


def _state(setting: SettingSpec, value: object) -> str | None:
    """None for a default; the reason for a setting that is not modelled; an empty text for a modelled one."""
    read = setting.read(value)
    if not setting.modelled:
        return "it is not modelled" if setting.is_missed(read) else None
    return None if read == setting.default else ""


def _changed(options: Any, default: Any) -> list[str]:
    return [key for key in sorted(options.model_fields_set) if getattr(options, key) != getattr(default, key)]
