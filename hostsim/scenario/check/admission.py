"""Resource pools and CPU admission control: reservations must be available when VMs are powered on and pools are
created.

Documented in vSphere Resource Management ("CPU Admission Control", "Expandable Reservations Example", "Admission Control") and, for a VM with
high latency sensitivity, in "Full CPU Reservation" (8.0). As documented, affinity is not considered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from hostsim.config.host import HardwareSpec, ResourcePoolSpec, VmGroupSpec
from hostsim.errors import Fault
from hostsim.scenario.schema import ROOT_POOL, PointFile
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree

__all__ = ["admission_faults", "pool_faults", "pools"]

_HOST_REFUSES = "The host does not have sufficient CPU resources to satisfy the reservation."
_POOL_REFUSES = "The available CPU resources in the parent resource pool are insufficient for the operation."


def pool_faults(tree: Tree, file: PointFile) -> Iterator[Fault]:
    """Faults of resource pools and their names: unknown pools, pools inside themselves, limits below reservations."""
    pools = [ROOT_POOL, *file.resource_pools]
    if ROOT_POOL in file.resource_pools:
        message = "is the name of the root resource pool, which is the host itself"
        yield tree.fault(("resource_pools", ROOT_POOL), message, "another name", given=ROOT_POOL)
        return
    names_at: list[tuple[KeyPath, str]] = [
        (("resource_pools", name, "parent"), pool.parent) for name, pool in file.resource_pools.items()
    ]
    names_at += [(("vms", name, "resource_pool"), group.resource_pool) for name, group in file.vms.items()]
    unknown = [(path, name) for path, name in names_at if name not in pools]
    for path, name in unknown:
        yield tree.unknown(path, "resource pool", name, pools)
    for name, pool in file.resource_pools.items():
        if pool.limit is not None and pool.limit < pool.reservation:
            allowed = f"from {pool.reservation} MHz on, or unlimited"
            yield tree.fault(("resource_pools", name, "limit"), "is below the reservation", allowed)
        if not unknown and _is_in_itself(file, name):
            yield tree.fault(("resource_pools", name, "parent"), "puts the pool in itself", "a pool that is not in it")


def _is_in_itself(file: PointFile, name: str) -> bool:
    pools_on_the_way = {ROOT_POOL, name}
    parent = file.resource_pools[name].parent
    while parent not in pools_on_the_way:
        pools_on_the_way.add(parent)
        parent = file.resource_pools[parent].parent
    return parent == name


def pools(file: PointFile) -> Iterator[ResourcePoolSpec]:
    """The valid resource pools of a file: those directly in the host first, then their children."""
    around = [ROOT_POOL]
    while around:
        inside = [(name, pool) for name, pool in file.resource_pools.items() if pool.parent in around]
        for name, pool in inside:
            yield ResourcePoolSpec(
                name=name,
                parent="" if pool.parent == ROOT_POOL else pool.parent,
                shares=pool.shares,
                reservation_mhz=pool.reservation,
                limit_mhz=pool.limit,
                expandable=pool.expandable,
            )
        around = [name for name, _ in inside]


@dataclass
class _Reserved:
    """CPU that is reserved in a resource pool, or in the host."""

    pool: ResourcePoolSpec | None
    capacity_mhz: int
    taken_mhz: int = 0

    @property
    def unreserved_mhz(self) -> int:
        return self.capacity_mhz - self.taken_mhz


class _Admission:
    """Reservations of a host, in the order in which they are requested."""

    def __init__(self, capacity_mhz: int) -> None:
        self._accounts = {"": _Reserved(None, capacity_mhz)}

    def refusal(self, pool: str, requested_mhz: int) -> tuple[str, int] | None:
        """Reserve CPU in a pool, and in its ancestors if it is expandable; on refusal, return a message and the available MHz."""
        steps: list[tuple[_Reserved, int]] = []
        remaining, name, borrowed = requested_mhz, pool, 0
        while True:
            account = self._accounts[name]
            limit = account.pool.limit_mhz if account.pool else None
            if limit is not None and account.taken_mhz + remaining > limit:
                return _POOL_REFUSES, limit - account.taken_mhz + borrowed
            here = min(remaining, account.unreserved_mhz)
            steps.append((account, remaining))
            if here == remaining:
                break
            if account.pool is None:
                return (_POOL_REFUSES if pool else _HOST_REFUSES), here + borrowed
            if not account.pool.expandable:
                return _POOL_REFUSES, here + borrowed
            borrowed += here
            remaining -= here
            name = account.pool.parent
        for account, amount in steps:
            # a pool borrows from its parent, and owns the borrowed CPU from then on
            account.taken_mhz += amount
        for (account, _), (_, lent) in pairwise(steps):
            account.capacity_mhz += lent
        return None

    def add(self, pool: ResourcePoolSpec) -> None:
        """Add a pool whose own reservation has been made."""
        self._accounts[pool.name] = _Reserved(pool, pool.reservation_mhz)


def admission_faults(
    tree: Tree, file: PointFile, groups: Iterable[VmGroupSpec], hardware: HardwareSpec
) -> Iterator[Fault]:
    """Reservations that admission control refuses: pools are created in order, then VMs are powered on in order.

    The host's capacity is the nominal clock of all its cores; hyperthreads add nothing. ESXi's own reservations are not
    subtracted.
    """
    cpu = hardware.cpu
    clock = round(cpu.clock / 1e6)
    admission = _Admission(clock * cpu.cores * cpu.sockets)
    path: KeyPath
    for pool in pools(file):
        refusal = admission.refusal(pool.parent, pool.reservation_mhz)
        if refusal is not None:
            path = ("resource_pools", pool.name, "reservation")
            yield _fault(tree, path, "", pool.reservation_mhz, (_POOL_REFUSES, refusal[1]))
            return
        admission.add(pool)
    for group in groups:
        path = ("vms", group.name, "vmx", "sched.cpu.min")
        reservation = group.settings.cpu_reservation_mhz
        if group.settings.exclusive:
            full = group.vcpus * clock
            if path[-1] in file.vms[group.name].vmx and reservation < full:
                message = "is less than the full CPU reservation that sched.cpu.latencySensitivity = high demands"
                allowed = f"from {full} MHz on: {group.vcpus} x {clock} MHz; or no value, which reserves as much"
                yield tree.fault(path, message, allowed)
                return
            reservation = max(reservation, full)
            if path[-1] not in file.vms[group.name].vmx:
                path = (*path[:-1], "sched.cpu.latencySensitivity")
        for index in range(group.count if reservation else 0):
            refusal = admission.refusal(group.pool, reservation)
            if refusal is not None:
                yield _fault(tree, path, f"{group.name}[{index}] ", reservation, refusal)
                return


def _fault(tree: Tree, path: KeyPath, who: str, requested: int, refusal: tuple[str, int]) -> Fault:
    message, unreserved = refusal
    effect = f"{who}is not powered on" if who else "is not made"
    shown = f'{effect}: "{message}" (requested {requested} MHz, unreserved {max(unreserved, 0)} MHz)'
    return tree.fault(path, shown, f"at most {max(unreserved, 0)} MHz")
