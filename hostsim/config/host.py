"""The spec of a point: one host, its VMs and their traffic, resolved and ready to be built.

`PointSpec` is the only input of the simulated side: no names of scenarios, no axes, no expectations.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, SerializeAsAny, model_validator

from hostsim.config.costs import LATER_GENERATIONS, CostModel
from hostsim.config.cpu import CpuSpec
from hostsim.config.field import UNHASHED, Positive, Spec, SwitchNames, VcpuCount, later
from hostsim.config.guest import GuestSpec
from hostsim.config.nic import NicOptions, NicSpec, VSwitchSpec
from hostsim.config.peer import PeerSpec
from hostsim.config.platform import (
    HostSettings,
    IdleSpec,
    LroSpec,
    NetQueueSpec,
    NumaIoSpec,
    TuningSpec,
    VmSettings,
    VnicSettings,
)
from hostsim.config.plugin import ChoiceSpec, PluginSpec
from hostsim.config.quantity import Duration, PositiveDuration
from hostsim.config.traffic import Traffic
from hostsim.config.workload import HttpSpec
from hostsim.plugin.module import module_of

__all__ = ["LENGTHENING", "FirmwareSpec", "HardwareSpec", "PointSpec", "ResourcePoolSpec", "VmGroupSpec", "links"]

LENGTHENING = 0.25
"""Default share by which a run is lengthened: small, as an apparently long warm-up is often chance."""


class FirmwareSpec(Spec):
    """The firmware of a server: system management interrupts that stop its processors."""

    stop: PositiveDuration
    """Duration of a stop of all processors (a system management interrupt)."""
    period: PositiveDuration
    """Mean time between two stops."""

    @model_validator(mode="after")
    def _leaves_time(self) -> FirmwareSpec:
        if self.period < 2 * self.stop:
            raise ValueError("leaves the host less than half of its time|period: at least twice as long as stop")
        return self


class HardwareSpec(Spec):
    """The hardware of a server: processors, NICs, firmware."""

    hardware: Annotated[str, UNHASHED]
    """Name of the server; without effect on results."""
    cpu: CpuSpec
    nics: Annotated[dict[str, NicSpec], Field(min_length=1)]
    """Ports of physical NICs by name as in the administrator's tools: ``vmnic0``, ``vmnic1``."""
    firmware: FirmwareSpec | None = None
    """Firmware with known stops of the processors; none are known of servers on the compatibility list."""

    @model_validator(mode="after")
    def _whole_cores(self) -> HardwareSpec:
        if self.firmware is not None and self.cpu.threads > 1:
            raise ValueError(
                "has firmware that stops hyperthreads, which is not modelled|firmware with threads: 1, or no firmware"
            )
        return self

    def without_hyperthreads(self) -> HardwareSpec:
        """The same server with one PCPU in each core."""
        return self.model_copy(update={"cpu": self.cpu.model_copy(update={"threads": 1})})

    def with_drivers(self, names: Collection[str]) -> HardwareSpec:
        """The same server, with the driver of each NIC that a platform has.

        A NIC without a driver of the platform keeps its own.

        Args:
            names: names of the platform's drivers.
        """
        drivers = {
            name: next((driver for driver in (nic.driver, *nic.other_drivers) if driver in names), nic.driver)
            for name, nic in self.nics.items()
        }
        if all(self.nics[name].driver == driver for name, driver in drivers.items()):
            return self
        nics = {name: nic.model_copy(update={"driver": drivers[name]}) for name, nic in self.nics.items()}
        return self.model_copy(update={"nics": nics})


class VmGroupSpec(Spec):
    """A group of equal VMs with effective settings."""

    name: str
    count: Annotated[int, Field(ge=0, le=4096)]
    guest: GuestSpec
    settings: VmSettings
    vcpus: VcpuCount
    networks: SwitchNames
    """Name of the virtual switch of each vNIC."""
    pool: str = later("")
    """Name of the resource pool of each VM; empty for the host."""

    def queue_pairs(self, vnic: VnicSettings) -> int:
        """Number of queue pairs of a vNIC; the guest may set a smaller one."""
        return vnic.queue_pairs(min(self.vcpus, self.settings.queues or self.vcpus))


class ResourcePoolSpec(Spec):
    """A resource pool: CPU for its VMs and child pools."""

    name: str
    parent: str = ""
    """Name of the parent pool; empty for the host."""
    shares: Positive
    """Shares among sibling pools and VMs."""
    reservation_mhz: Annotated[int, Field(ge=0)] = 0
    """Guaranteed CPU, in MHz."""
    limit_mhz: Annotated[int, Field(ge=1)] | None = None
    """CPU limit of all its members together, in MHz; None for no limit."""
    expandable: Annotated[bool, UNHASHED] = True
    """True if it may reserve unreserved CPU of its parent; only admission control depends on it."""


def links(
    group: VmGroupSpec, vswitches: Mapping[str, VSwitchSpec], options: Mapping[str, NicOptions]
) -> list[VSwitchSpec]:
    """The virtual switch of each NIC of a group's VMs, in the order of their numbers.

    A passed-through NIC has its own switch, with the MTU of the NIC's options; a NIC of a native host has the MTU of
    its network.
    """
    passed = [
        VSwitchSpec(uplinks=(entry.nic,), mtu=entry.mtu or options.get(entry.nic, NicOptions()).mtu)
        for entry in group.settings.passthrough
    ]
    return [vswitches[name] for name in group.networks] + passed


class PointSpec(Spec):
    """The spec of a point: all inputs of a run except seed and replication."""

    hardware: HardwareSpec
    hypervisor: bool = later(True)
    """False for a native host: its only VM is the machine itself, each vCPU a processor."""
    peer: PeerSpec = PeerSpec(peer="ideal")
    """The peers of its traffic."""
    costs: CostModel
    settings: HostSettings
    nics: dict[str, NicOptions]
    """Driver options of each physical NIC."""
    drivers: dict[str, Literal["vmklinux", "native"]]
    """Kind of each NIC driver on this platform."""
    netqueue: NetQueueSpec
    lro: LroSpec
    numa_io: NumaIoSpec
    tuning: TuningSpec
    idle: IdleSpec = IdleSpec(fade=8, exit_share=1.0, states={})
    """Core states; only those of its processor family."""
    vswitches: dict[str, VSwitchSpec]
    vms: tuple[VmGroupSpec, ...]
    """VM groups in the order of the scenario: the first VM of the first group is VM 0."""
    pools: tuple[ResourcePoolSpec, ...] = later(())
    """Resource pools; a parent precedes its children."""
    traffic: dict[str, SerializeAsAny[Traffic]]
    length: Duration
    """Simulated time of a run, including warm-up."""
    lengthening: float = later(LENGTHENING, gt=0, le=1)  # the code that sets the default is in the store's key
    """Share by which a run is lengthened, whenever its warm-up takes more than half of it."""
    policies: dict[str, ChoiceSpec] = later({})
    """Policies other than the shipped ones, by role: ``scheduler``, ``coalescing``, ``steering``."""
    control_loops: dict[str, ChoiceSpec] = later({})
    """Control loops of plug-ins, by their names in the scenario."""
    plugins: tuple[PluginSpec, ...] = later(())
    """Plug-ins of its traffic, policies and control loops."""

    @property
    def effort(self) -> int:
        """Estimated work of a run, as simulated picoseconds times vCPUs; for comparison within a scenario."""
        return self.length * max(1, sum(group.count * group.vcpus for group in self.vms))

    def digest(self) -> str:
        """Hash of all inputs of a run in the resolved point: 32 hexadecimal digits, equal on every machine."""
        opening = {
            name
            for traffic in self.traffic.values()
            if isinstance(traffic, HttpSpec) and not traffic.keep_alive
            for name in traffic.to
        }
        services = {name: service for name, flow in self.traffic.items() if (service := flow.own_service) is not None}
        unused: dict[str, Any] = {
            # newer than stored runs, and without effect on this host
            "costs": {"generations": set(LATER_GENERATIONS) - {self.hardware.cpu.family}},
            "settings": {"llc_sched"} if self.hardware.cpu.core_complex is None else set(),
            "vms": {i: {"guest": {"connection"}} for i, group in enumerate(self.vms) if group.name not in opening},
            "traffic": {
                name: {"service": {key for key in ("cycles", "values") if getattr(service, key) is None}}
                for name, service in services.items()
            },
        }
        return hashlib.sha256(self.model_dump_json(exclude=unused).encode()).hexdigest()[:32]

    def __getstate__(self) -> Any:
        """The state for another process.

        With plug-ins, these are first, and the rest is pickled, as it may need their modules.
        """
        state = super().__getstate__()
        return (self.plugins, pickle.dumps(state)) if self.plugins else state

    def __setstate__(self, state: Any) -> None:
        """Restore the state from another process, after importing missing modules of plug-ins."""
        if isinstance(state, tuple):
            plugins, packed = state
            for plugin in plugins:
                module_of(plugin)
            state = pickle.loads(packed)  # noqa: S301  as trusted as its container
        super().__setstate__(state)
