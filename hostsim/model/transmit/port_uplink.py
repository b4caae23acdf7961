"""The uplink of a virtual port, with the policies of its virtual switch."""

from __future__ import annotations

from hostsim.config.network import Allocation, SystemTraffic
from hostsim.model.host import Host
from hostsim.model.receive.nic import Pnic
from hostsim.model.transmit.egress import ManagedUplink, TokenBucket, TrafficQueue, UplinkScheduler
from hostsim.model.transmit.networld import Uplink

__all__ = ["port_uplink"]


def port_uplink(host: Host, nic: Pnic, network: str, traffic: SystemTraffic, group: str = "") -> Uplink:
    """Create the uplink of a virtual port.

    Args:
        host: host of the port.
        nic: physical NIC that teaming selected.
        network: name of the virtual switch.
        traffic: kind of system traffic of the port.
        group: group of the VM behind the port; empty for a VMkernel port.
    """
    spec = host.spec
    vswitch, hardware = spec.vswitches[network], spec.hardware.nics[nic.name]
    vxlan, driver = vswitch.vxlan, spec.drivers[hardware.driver]
    tso = spec.settings.hw_tso and (hardware.vxlan_tso if vxlan else hardware.tso)
    shaping, nioc = vswitch.shaping, vswitch.nioc
    if shaping is None and nioc is None:
        return Uplink(nic, hardware.rate, host.costs, driver, vxlan=vxlan, tso=tso, tag=vswitch.tag)
    bucket = None if shaping is None else TokenBucket(shaping.average, shaping.peak, shaping.burst)
    uplink = ManagedUplink(
        host.clock, nic, hardware.rate, host.costs, driver, vxlan=vxlan, tso=tso, tag=vswitch.tag, bucket=bucket
    )
    if nioc is not None:
        scheduler = host.schedulers.get(nic.name)
        if scheduler is None:
            scheduler = host.schedulers[nic.name] = UplinkScheduler(host.clock, nic, hardware.rate)
        of_class = scheduler.traffic_class(traffic, nioc.of_system(traffic))
        TrafficQueue(nioc.of_group(group) if group else Allocation(), of_class, uplink)
    return uplink
