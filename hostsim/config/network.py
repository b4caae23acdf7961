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
"""Kinds of system traffic in Network I/O Control."""


class ShapingSpec(Spec):
    """Traffic shaping of each virtual port, for what its VM sends: a token bucket."""

    average: Bandwidth
    """Rate of the burst bonus, and of transmission without a bonus."""
    peak: Bandwidth
    """Rate of transmission with a burst bonus; at least ``average``."""
    burst: Annotated[Size, Field(ge=1)]
    """Largest burst bonus of the port, in bytes."""

    @model_validator(mode="after")
    def _peak_above_average(self) -> ShapingSpec:
        if self.peak < self.average:
            raise ValueError("has a peak below its average|peak: at least average")
        return self


Shares: TypeAlias = Annotated[int, Field(ge=1, le=100)]
"""Shares of bandwidth."""


class Allocation(Spec):
    """The bandwidth of each uplink for a kind of system traffic, or for a vNIC, in Network I/O Control."""

    shares: Shares = 50
    """Shares of the bandwidth beyond reservations, among all competitors with traffic; 50 by default."""
    reservation: ReservedBandwidth = 0.0
    """Guaranteed bandwidth, whose unused part is available to others; 0 by default."""
    limit: Bandwidth | None = None
    """Largest bandwidth, also on an idle uplink; None by default."""

    @model_validator(mode="after")
    def _limit_above_reservation(self) -> Allocation:
        if self.limit is not None and self.limit < self.reservation:
            raise ValueError("has a limit below its reservation|limit: at least reservation")
        return self


class NiocSpec(Spec):
    """Network I/O Control (version 3) of a switch."""

    system: dict[SystemTraffic, Allocation] = Field(default_factory=dict)
    """Allocation of each kind of system traffic; default: 100 shares for ``virtual_machine``, 50 for others."""
    vms: dict[str, Allocation] = Field(default_factory=dict)
    """Allocation of each vNIC of a VM group on this switch, within ``virtual_machine``; default: 50 shares."""

    def of_system(self, traffic: SystemTraffic) -> Allocation:
        """Return the allocation of a kind of system traffic."""
        return self.system.get(traffic, Allocation(shares=100 if traffic == "virtual_machine" else 50))

    def of_group(self, group: str) -> Allocation:
        """Return the allocation of each vNIC of a VM group."""
        return self.vms.get(group, Allocation())
