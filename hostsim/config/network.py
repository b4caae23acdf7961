"""Policies of virtual switches and port groups."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from hostsim.config.field import Spec
from hostsim.config.quantity import Bandwidth, ReservedBandwidth, Size

__all__ = ["Allocation", "NiocSpec", "ShapingSpec", "SystemTraffic"]

SystemTraffic: TypeAlias = Literal[
    "management",
    "fault_tolerance",
    "vmotion",
    "virtual_machine",
    "iscsi",
    "nfs",
    "vsphere_replication",
    "vsan",
    "backup",
]
"""Kinds of system traffic, as Network I/O Control distinguishes them."""


class ShapingSpec(Spec):
    """Traffic shaping of what VMs send, by each virtual port on its own: a token bucket."""

    average: Bandwidth
    """Rate at which the port earns its burst bonus, and at which it sends without one."""
    peak: Bandwidth
    """Rate at which the port sends while it has a burst bonus; at least ``average``."""
    burst: Annotated[Size, Field(ge=1)]
    """Bytes of burst bonus that the port has at most."""

    @model_validator(mode="after")
    def _peak_above_average(self) -> ShapingSpec:
        if self.peak < self.average:
            raise ValueError("has a peak below its average|peak: at least average")
        return self


Shares: TypeAlias = Annotated[int, Field(ge=1, le=100)]
"""Shares of bandwidth."""


class Allocation(Spec):
    """The bandwidth of each uplink that Network I/O Control allocates to a kind of system traffic, or to a vNIC."""

    shares: Shares = 50
    """Its part of what reservations leave, against all that want to send at the time; 50 by default."""
    reservation: ReservedBandwidth = 0.0
    """Bandwidth that is guaranteed; what is unused is there for others. 0 by default."""
    limit: Bandwidth | None = None
    """Bandwidth at most, even on an idle uplink. None by default."""

    @model_validator(mode="after")
    def _limit_above_reservation(self) -> Allocation:
        if self.limit is not None and self.limit < self.reservation:
            raise ValueError("has a limit below its reservation|limit: at least reservation")
        return self


class NiocSpec(Spec):
    """Network I/O Control (version 3) of a switch."""

    system: dict[SystemTraffic, Allocation] = Field(default_factory=dict)
    """Allocation of each kind of system traffic: by default 50 shares, those of ``virtual_machine`` 100."""
    vms: dict[str, Allocation] = Field(default_factory=dict)
    """Allocation of each vNIC on this switch of a group of VMs, within ``virtual_machine``; 50 shares by default."""

    def of_system(self, traffic: SystemTraffic) -> Allocation:
        """Return the allocation of a kind of system traffic."""
        return self.system.get(traffic, Allocation(shares=100 if traffic == "virtual_machine" else 50))

    def of_group(self, group: str) -> Allocation:
        """Return the allocation of each vNIC of a group of VMs."""
        return self.vms.get(group, Allocation())
