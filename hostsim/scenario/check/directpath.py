"""DirectPath I/O checks: a passed-through NIC belongs to one VM and excludes some features.

Incompatible are NIC sharing, memory overcommit, vMotion and Network I/O Control ("Performance and Use Cases of VMware
DirectPath I/O for Networking", table 3). Each is refused by its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hostsim.errors import Fault, nearest_name
from hostsim.scenario.schema import PointFile
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree
from hostsim.spec.host import HardwareSpec, VmGroupSpec

__all__ = ["passthrough_faults", "passthrough_warnings"]


def passthrough_faults(
    tree: Tree, file: PointFile, groups: Iterable[VmGroupSpec], hardware: HardwareSpec
) -> Iterator[Fault]:
    """Faults of passthrough: NICs that do not exist or are in use, and features that such a VM cannot have; a group without VMs has none."""
    owners: dict[str, str] = {}
    uplinks = {nic: switch for switch, vswitch in file.network.items() for nic in vswitch.uplinks}
    for group in groups:
        if not group.settings.passthrough or not group.count:
            continue
        path: KeyPath = ("vms", group.name)
        for nic in (entry.nic for entry in group.settings.passthrough):
            key: KeyPath = (*path, "vmx", _key(file, group.name, nic))
            sharing = "DirectPath I/O does not go with NIC sharing"
            if nic not in hardware.nics:
                known = list(hardware.nics)
                yield tree.fault(key, "unknown physical NIC", "one of " + ", ".join(known), nearest_name(nic, known))
            elif nic in uplinks:
                yield tree.fault(key, f"is an uplink of {uplinks[nic]}; {sharing}", "a NIC that nothing else uses")
            elif nic in owners:
                yield tree.fault(key, f"is passed through to {owners[nic]} already; {sharing}", "a NIC of its own")
            elif group.count > 1:
                yield tree.fault((*path, "count"), f"VMs would have {nic}; {sharing}", "an integer 0..1")
            owners.setdefault(nic, group.name)
        if group.settings.reserved < 1:
            message = "leaves memory of the VM unreserved; DirectPath I/O does not go with memory overcommit"
            yield tree.fault((*path, "vmx", "sched.mem.min"), message, "as much as memSize")
        for feature in file.vms[group.name].uses:
            message = f"asks for {feature}; DirectPath I/O does not go with {feature}"
            yield tree.fault((*path, "uses"), message, "nothing, for a VM that a NIC is passed through to")


def _key(file: PointFile, group: str, nic: str) -> str:
    vmx = file.vms[group].vmx
    return next(key for key in vmx if key.startswith("pciPassthru") and key.endswith(".id") and vmx[key] == nic)


def passthrough_warnings(file: PointFile) -> Iterator[str]:
    """Warnings of features of passed-through NICs that are not simulated."""
    for name, group in file.vms.items():
        for feature in group.uses:
            yield f"vms.{name}: {feature} is not modelled"
