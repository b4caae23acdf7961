"""Checks of a native host: one kernel owns the machine, and hypervisor features are refused.

Its NICs are the uplinks of the virtual switches of its group of VMs; such a switch is only a wire with an MTU. So a
change of the platform alone turns a scenario with one VM into one of a native host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hostsim.config.cpu import CpuSpec
from hostsim.config.effective_settings import vmx_table
from hostsim.config.host import HardwareSpec, VmGroupSpec
from hostsim.config.nic import NicOptions
from hostsim.config.platform import PassthroughSettings, PlatformSpec, SettingSpec
from hostsim.errors import Fault
from hostsim.plugin.registry import DEFAULT_POLICIES
from hostsim.scenario.schema import ROOT_POOL, PointFile
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree

__all__ = ["kernel_nics", "native_faults"]

_PLACEMENT = "numa.nodeAffinity"
"""The only VM key of a native kernel: the nodes of its processors (``numactl --cpunodebind``)."""
_NOTHING = "no value: the platform has no hypervisor"


def kernel_nics(file: PointFile, group: str) -> tuple[PassthroughSettings, ...]:
    """The physical NICs of the kernel of a group of VMs, one for each of its networks."""
    switches = [file.network[name] for name in file.vms[group].networks if name in file.network]
    return tuple(PassthroughSettings(nic=switch.uplinks[0], mtu=switch.mtu) for switch in switches)


def native_faults(
    tree: Tree, file: PointFile, groups: Iterable[VmGroupSpec], hardware: HardwareSpec, platform: PlatformSpec
) -> Iterator[Fault]:
    """Faults of hypervisor features: several VMs, a shared switch, and every setting with a value other than its default.

    Args:
        tree: the scenario.
        file: the parsed scenario with valid references.
        groups: its groups of VMs, including the machine.
        hardware: the server.
        platform: one without a hypervisor.
    """
    for section in ("advanced", "kernel"):
        yield from _set(tree, ("host", section), getattr(file.host, section), getattr(platform, section))
    for nic, options in file.host.nics.items():
        if options.max_vfs:
            message = "creates virtual functions for VMs, and a native host has no VMs"
            yield tree.fault(("host", "nics", nic, "max_vfs"), message, "0")
        for key in ("rss_rings", "drss", "tx_queues"):
            if getattr(options, key) != getattr(NicOptions(), key):
                message = "is a setting of NetQueue; a native kernel has a queue for each processor if the NIC has RSS"
                yield tree.fault(("host", "nics", nic, key), message, "1")
    for role, shipped in DEFAULT_POLICIES.items():
        policy = getattr(file.policies, role)
        if policy is not None and policy.name != shipped:
            yield tree.fault(("policies", role), "is a policy of a hypervisor", _NOTHING)
    running = [name for name, group in file.vms.items() if group.count]
    for name in running:
        path: KeyPath = ("vms", name)
        group = file.vms[name]
        if name != running[0]:
            message = f"are in addition to {running[0]}, which is the machine: a native host runs one kernel"
            yield tree.fault((*path, "count"), message, "0", given=str(group.count))
            continue
        if group.count > 1:
            yield tree.fault((*path, "count"), "is more than one: a native host runs one kernel", "an integer 0..1")
        kept = {key: value for key, value in group.vmx.items() if key != _PLACEMENT}
        yield from _set(tree, (*path, "vmx"), kept, vmx_table(platform, len(group.networks)))
        for key in ("rx_ring", "tx_ring"):
            if getattr(group, key) is not None:
                allowed = "no value: the hardware file defines the rings of a NIC"
                yield tree.fault((*path, key), "applies to vNICs only", allowed)
        if group.resource_pool != ROOT_POOL:
            yield tree.fault((*path, "resource_pool"), "is a feature of a hypervisor", _NOTHING)
        if group.uses:
            yield tree.fault((*path, "uses"), f"asks for {group.uses[0]}, a feature of a hypervisor", _NOTHING)
        yield from _network_faults(tree, file, name)
    for name in file.traffic:
        if isinstance(tree.get(("traffic", name, "network")), str):
            message = "is a VMkernel port, which a native host does not have"
            yield tree.fault(("traffic", name), message, _NOTHING, given="")
    yield from _processor_faults(tree, groups, hardware.cpu)


def _set(tree: Tree, path: KeyPath, written: Mapping[str, object], table: Mapping[str, SettingSpec]) -> Iterator[Fault]:
    """Settings with a value other than their default. Unknown settings and ranges are checked elsewhere."""
    for name, value in written.items():
        setting = table.get(name)
        try:
            is_default = setting is None or setting.read(value) == setting.default
        except ValueError:
            continue
        if not is_default:
            yield tree.fault((*path, name), "is a setting of a hypervisor", _NOTHING)


def _network_faults(tree: Tree, file: PointFile, group: str) -> Iterator[Fault]:
    """Switches with more than one NIC."""
    networks = file.vms[group].networks
    if len(set(networks)) < len(networks):
        allowed = "each network once, as it stands for one NIC of the kernel"
        yield tree.fault(("vms", group, "networks"), "names a network twice", allowed)
    for name in dict.fromkeys(networks):
        switch = file.network[name]
        if len(switch.uplinks) > 1:
            message = "has several NICs; teaming needs a hypervisor, and bonding by a kernel is not modelled"
            yield tree.fault(("network", name, "uplinks"), message, "one NIC")
        for key in ("shaping", "nioc", "standby", "link_down", "vlan", "port_group_of"):
            if getattr(switch, key):
                yield tree.fault(("network", name, key), "is a policy of a virtual switch", _NOTHING, given="")


def _processor_faults(tree: Tree, groups: Iterable[VmGroupSpec], cpu: CpuSpec) -> Iterator[Fault]:
    """Faults of a kernel with more processors than its nodes; a whole server is checked elsewhere."""
    for group in groups:
        nodes = group.settings.nodes
        most = len(nodes) * cpu.node_cores * cpu.threads
        if group.count and nodes and group.vcpus > most:
            message = f"is more processors than {_PLACEMENT} leaves to the kernel"
            yield tree.fault(("vms", group.name, "vcpus"), message, f"an integer 1..{most}")
