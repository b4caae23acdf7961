"""A whole point: one host, its VMs and what comes at it, resolved and ready to be built.

`PointSpec` is all that the simulated side ever sees: no names of scenarios, no axes, no expectations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from hostsim.spec.base import Spec
from hostsim.spec.costs import CostModel
from hostsim.spec.cpu import CpuSpec
from hostsim.spec.guest import GuestSpec
from hostsim.spec.name import SwitchNames
from hostsim.spec.network import VSwitchSpec
from hostsim.spec.nic import NicOptions, NicSpec
from hostsim.spec.quantity import Duration
from hostsim.spec.settings import HostSettings, NetQueueSpec, NumaIoSpec, TuningSpec, VmSettings
from hostsim.spec.workload import TrafficSpec

__all__ = ["FirmwareSpec", "HardwareSpec", "PointSpec", "VmGroupSpec", "links"]


class FirmwareSpec(Spec):
    """What a server's firmware does beside the hypervisor."""

    stop: Annotated[Duration, Field(gt=0)]
    """Time for which it stops all processors at once (a system management interrupt)."""
    period: Annotated[Duration, Field(gt=0)]
    """Mean time from one stop to the next."""

    @model_validator(mode="after")
    def _leaves_time(self) -> FirmwareSpec:
        if self.period < 2 * self.stop:
            raise ValueError("leaves the host less than half of its time|period: at least twice as long as stop")
        return self


class HardwareSpec(Spec):
    """A server as its data sheet says."""

    hardware: str
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


class VmGroupSpec(Spec):
    """A number of equal VMs, settings resolved."""

    name: str
    count: Annotated[int, Field(ge=0, le=4096)]
    guest: GuestSpec
    settings: VmSettings
    vcpus: Annotated[int, Field(ge=1, le=64)]
    networks: SwitchNames
    """Name of the virtual switch that each vNIC is connected to."""


def links(group: VmGroupSpec, vswitches: Mapping[str, VSwitchSpec]) -> list[VSwitchSpec]:
    """What each NIC of the VMs of a group is on, in the order of their numbers: the switches of its vNICs; a passed-through NIC is on its own."""
    passed = [VSwitchSpec(uplinks=(nic,)) for nic in group.settings.passthrough]
    return [vswitches[name] for name in group.networks] + passed


class PointSpec(Spec):
    """Everything a run depends on, but its seed and replication."""

    hardware: HardwareSpec
    costs: CostModel
    settings: HostSettings
    nics: dict[str, NicOptions]
    """Driver options of each physical NIC."""
    drivers: dict[str, Literal["vmklinux", "native"]]
    """Kind of each driver on this platform."""
    netqueue: NetQueueSpec
    numa_io: NumaIoSpec
    tuning: TuningSpec
    vswitches: dict[str, VSwitchSpec]
    vms: tuple[VmGroupSpec, ...]
    """In the order of the scenario: the first VM of the first group is VM 0."""
    traffic: dict[str, TrafficSpec]
    length: Duration
    """Simulated time of a run, warm-up included."""

    def digest(self) -> str:
        """Hash of the resolved point: 32 hexadecimal digits, equal on every machine."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:32]
