"""Dense mode (dynamic host-wide performance tuning): the condition under which a host counts as dense."""

from __future__ import annotations

__all__ = ["is_dense"]


def is_dense(
    vms: int, vcpus: int, pcpus: int, utilisation: float, *, vms_each: int, vcpus_each: int, least_utilisation: float
) -> bool:
    """True for a dense host, on which fewer context switches are worth more latency.

    Three thresholds must be reached: the ratios of VMs and of vCPUs to PCPUs, and the utilisation of the PCPUs
    ("Dynamic Host-Wide Performance Tuning in vSphere 6.0": 1, 2 and 50 %, ``Net.NetTuneThreshold`` ``1n 2n 50``).

    Args:
        vms: number of powered-on VMs.
        vcpus: number of their vCPUs.
        pcpus: number of PCPUs of the host.
        utilisation: utilisation of all PCPUs since the last check, in percent.
        vms_each: minimum number of VMs per PCPU.
        vcpus_each: minimum number of vCPUs per PCPU.
        least_utilisation: least utilisation, in percent.
    """
    return vms >= vms_each * pcpus and vcpus >= vcpus_each * pcpus and utilisation >= least_utilisation
