"""The spec of a point: one host, its VMs and their traffic, resolved and ready to be built.

`PointSpec` is all that the simulated side ever sees: no names of scenarios, no axes, no expectations.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, SerializeAsAny, model_validator

from hostsim.config.arrival import ArrivalSpec
from hostsim.config.costs import LATER_GENERATIONS, CostModel
from hostsim.config.cpu import LATER_KEYS, CpuSpec
from hostsim.config.field import UNHASHED, Positive, Spec, SwitchNames, VcpuCount
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
"""Share by which a run is lengthened where nothing else is asked for: little, as a warm-up that seems to last is often chance."""


class FirmwareSpec(Spec):
    """The firmware of a server: system management interrupts that stop its processors."""

    stop: PositiveDuration
    """Time for which it stops all processors at once (a system management interrupt)."""
    period: PositiveDuration
    """Mean time from one stop to the next."""

    @model_validator(mode="after")
    def _leaves_time(self) -> FirmwareSpec:
        if self.period < 2 * self.stop:
            raise ValueError("leaves the host less than half of its time|period: at least twice as long as stop")
        return self


class HardwareSpec(Spec):
    """The hardware of a server: processors, NICs, firmware."""

    hardware: Annotated[str, UNHASHED]
    """Name of the server; nothing depends on it."""
    cpu: CpuSpec
    nics: Annotated[dict[str, NicSpec], Field(min_length=1)]
    """Physical NIC ports by the names that administrators see: ``vmnic0``, ``vmnic1``."""
    firmware: FirmwareSpec | None = None
    """Where it is known to take the processors away; nothing is known of a server on the compatibility list."""

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

    def with_drivers(self, known: Collection[str]) -> HardwareSpec:
        """The same server with each NIC's driver of a platform, where the platform lists one of them.

        Args:
            known: names of the platform's drivers.
        """
        found = {
            name: next((driver for driver in (nic.driver, *nic.other_drivers) if driver in known), nic.driver)
            for name, nic in self.nics.items()
        }
        if all(self.nics[name].driver == driver for name, driver in found.items()):
            return self
        nics = {name: nic.model_copy(update={"driver": found[name]}) for name, nic in self.nics.items()}
        return self.model_copy(update={"nics": nics})


class VmGroupSpec(Spec):
    """A group of equal VMs with effective settings."""

    name: str
    count: Annotated[int, Field(ge=0, le=4096)]
    guest: GuestSpec
    settings: VmSettings
    vcpus: VcpuCount
    networks: SwitchNames
    """Name of the virtual switch that each vNIC is connected to."""
    pool: str = ""
    """Name of the resource pool of each of them; empty for the host itself."""

    def queue_pairs(self, vnic: VnicSettings) -> int:
        """Number of the queue pairs of a vNIC, as far as the guest has not fewer of them."""
        return vnic.queue_pairs(min(self.vcpus, self.settings.queues or self.vcpus))


class ResourcePoolSpec(Spec):
    """A resource pool: CPU that its VMs and the pools in it share."""

    name: str
    parent: str = ""
    """Name of the pool that it is in; empty for the host itself."""
    shares: Positive
    """Shares among its siblings, pools and VMs."""
    reservation_mhz: Annotated[int, Field(ge=0)] = 0
    """CPU that it is guaranteed, in MHz."""
    limit_mhz: Annotated[int, Field(ge=1)] | None = None
    """Most CPU that all in it may have, in MHz; None for no limit."""
    expandable: Annotated[bool, UNHASHED] = True
    """True if it may reserve unreserved CPU of its parent; admission control alone depends on it."""


def links(
    group: VmGroupSpec, vswitches: Mapping[str, VSwitchSpec], options: Mapping[str, NicOptions]
) -> list[VSwitchSpec]:
    """The virtual switch of each NIC of the VMs of a group, in the order of their numbers; a passed-through NIC has one of its own, with the MTU of its options, a NIC of a native host with that of its network."""
    passed = [
        VSwitchSpec(uplinks=(entry.nic,), mtu=entry.mtu or options.get(entry.nic, NicOptions()).mtu)
        for entry in group.settings.passthrough
    ]
    return [vswitches[name] for name in group.networks] + passed


def _later_keys(traffic: Traffic) -> dict[str, Any]:
    """Keys of a traffic entry that are newer than stored runs, where they are at their defaults: they do not count in the hash."""
    keys: dict[str, Any] = {
        key: True for key, default in traffic.later_defaults.items() if getattr(traffic, key) == default
    }
    service = traffic.own_service
    if service is not None:
        keys["service"] = {key for key in ("cycles", "values") if getattr(service, key) is None}
    elif "service" in type(traffic).model_fields:
        keys["service"] = True
    if getattr(traffic, "vcpus", None) == 1:
        keys["vcpus"] = True
    arrivals = getattr(traffic, "arrivals", None)
    if isinstance(arrivals, ArrivalSpec):
        keys["arrivals"] = {key for key in ("on", "off", "phases", "period") if getattr(arrivals, key) is None}
    if traffic.kind == "bridged":
        fields = type(traffic).model_fields
        keys |= {
            key: True for key in ("routed", "forwarded_by", "vcpu") if getattr(traffic, key) == fields[key].default
        }
    return keys


_LATER_SETTINGS = (
    *("offloads", "queues"),
    *("cpu_reservation_mhz", "cpu_limit_mhz", "affinity", "prefer_ht", "max_per_virtual_node"),
)


def _later_settings(settings: VmSettings) -> dict[str, Any]:
    """Settings of VMs that are newer than stored runs, where they are at their defaults: they do not count in the hash."""
    fields = type(settings).model_fields
    return dict.fromkeys((name for name in _LATER_SETTINGS if getattr(settings, name) == fields[name].default), True)


def _later_cpu_keys(cpu: CpuSpec) -> dict[str, Any]:
    """Keys of processors that are newer than stored runs, where they are at their defaults: they do not count in the hash."""
    fields = type(cpu).model_fields
    keys: dict[str, Any] = {name: True for name in LATER_KEYS if getattr(cpu, name) == fields[name].default}
    if cpu.memory is not None and cpu.memory.hop_in_socket is None:
        keys["memory"] = {"hop_in_socket"}
    return keys


def _later_vm_keys(group: VmGroupSpec, *, opens: bool) -> dict[str, Any]:
    """Keys of a group of VMs that are newer than stored runs, where they are at their defaults: they do not count in the hash; ``opens``: its VMs open connections for single files."""
    keys: dict[str, Any] = {} if group.pool else {"pool": True}
    if not opens:
        keys["guest"] = {"connection"}
    if settings := _later_settings(group.settings):
        keys["settings"] = settings
    return keys


def _later_switch_keys(switch: VSwitchSpec) -> set[str]:
    """Keys of a virtual switch that are newer than stored runs, where they are at their defaults: they do not count in the hash."""
    later = ("shaping", "nioc", "teaming", "standby", "link_down", "vlan", "port_group_of")
    return {key for key in later if getattr(switch, key) == VSwitchSpec.model_fields[key].default}


class PointSpec(Spec):
    """The spec of a point: all that a run depends on, except its seed and replication."""

    hardware: HardwareSpec
    hypervisor: bool = True
    """False of a native host: its only VM is the machine itself, each vCPU a processor."""
    peer: PeerSpec = PeerSpec(peer="ideal")
    """What stands at the other ends of its traffic."""
    costs: CostModel
    settings: HostSettings
    nics: dict[str, NicOptions]
    """Driver options of each physical NIC."""
    drivers: dict[str, Literal["vmklinux", "native"]]
    """Kind of each driver on this platform."""
    netqueue: NetQueueSpec
    lro: LroSpec
    numa_io: NumaIoSpec
    tuning: TuningSpec
    idle: IdleSpec = IdleSpec(fade=8, exit_share=1.0, states={})
    """With the core states of its processor family alone."""
    vswitches: dict[str, VSwitchSpec]
    vms: tuple[VmGroupSpec, ...]
    """In the order of the scenario: the first VM of the first group is VM 0."""
    pools: tuple[ResourcePoolSpec, ...] = ()
    """Resource pools, a pool before those in it."""
    traffic: dict[str, SerializeAsAny[Traffic]]
    length: Duration
    """Simulated time of a run, warm-up included."""
    lengthening: float = Field(default=LENGTHENING, gt=0, le=1)
    """Share of itself by which a run is lengthened, each time its warm-up takes more than half of it."""
    policies: dict[str, ChoiceSpec] = Field(default_factory=dict)
    """Policies that are not the shipped ones, by their role: ``scheduler``, ``coalescing``, ``steering``."""
    control_loops: dict[str, ChoiceSpec] = Field(default_factory=dict)
    """Control loops of plug-ins, by the names that the scenario gives them."""
    plugins: tuple[PluginSpec, ...] = ()
    """Plug-ins that some of its traffic, policies or control loops come from."""

    @property
    def effort(self) -> int:
        """Rough work of a run: simulated picoseconds times virtual CPUs. Runs of one scenario compare by it."""
        return self.length * max(1, sum(group.count * group.vcpus for group in self.vms))

    def digest(self) -> str:
        """Hash of what a run depends on in the resolved point: 32 hexadecimal digits, equal on every machine."""
        # a point without plug-ins keeps the hash that it had before there were any
        unused: dict[str, Any] = dict.fromkeys(
            (name for name in ("pools", "policies", "control_loops", "plugins") if not getattr(self, name)), True
        )
        if later := _later_cpu_keys(self.hardware.cpu):
            unused["hardware"] = {"cpu": later}
        if others := set(LATER_GENERATIONS) - {self.hardware.cpu.family}:
            unused["costs"] = {"generations": others}
        if self.hardware.cpu.core_complex is None:  # it has an effect with core complexes alone
            unused["settings"] = {"llc_sched"}
        if options := {name: {"tx_queues"} for name, nic in self.nics.items() if nic.tx_queues == 1}:
            unused["nics"] = options
        if self.hypervisor:
            unused["hypervisor"] = True
        if self.lengthening == LENGTHENING:  # the code that is the default for all is in the store's key
            unused["lengthening"] = True
        opening = {
            name
            for traffic in self.traffic.values()
            if isinstance(traffic, HttpSpec) and not traffic.keep_alive
            for name in traffic.to
        }
        if of_vms := {
            place: left_out
            for place, group in enumerate(self.vms)
            if (left_out := _later_vm_keys(group, opens=group.name in opening))
        }:
            unused["vms"] = of_vms
        if of_traffic := {
            name: left_out for name, traffic in self.traffic.items() if (left_out := _later_keys(traffic))
        }:
            unused["traffic"] = of_traffic
        if plain := {name: keys for name, switch in self.vswitches.items() if (keys := _later_switch_keys(switch))}:
            unused["vswitches"] = plain
        return hashlib.sha256(self.model_dump_json(exclude=unused).encode()).hexdigest()[:32]

    def __getstate__(self) -> Any:
        """The state for another process; with plug-ins these first, and the rest packed, for it may need their modules."""
        state = super().__getstate__()
        return (self.plugins, pickle.dumps(state)) if self.plugins else state

    def __setstate__(self, state: Any) -> None:
        """Take the state from another process; the modules of plug-ins are made where this one does not have them."""
        if isinstance(state, tuple):
            plugins, packed = state
            for plugin in plugins:
                module_of(plugin)
            state = pickle.loads(packed)  # noqa: S301  as much to be trusted as what it was packed in
        super().__setstate__(state)
