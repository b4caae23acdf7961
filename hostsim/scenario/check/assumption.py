"""Warnings of silent assumptions: what a host of this version would do by itself, and senders that the scenario leaves to a default.

ESXi from 5.1 on turns splitRx on for a vmxnet3 when one queue of a NIC is heavily loaded and gets more than 10,000 broadcast or multicast
packets a second ("Optimizing ESXi host networking"); the model leaves it off. Whether splitRx helps depends on how many packets arrive
together: each of them wakes a context for each VM, or several packets do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hostsim.config.host import VmGroupSpec
from hostsim.config.peer import PeerSpec
from hostsim.config.platform import HostSettings, PlatformSpec
from hostsim.config.traffic import Traffic
from hostsim.config.workload import MulticastSpec
from hostsim.scenario.schema import PointFile
from hostsim.scenario.yaml.source_tree import Tree
from hostsim.units import SECOND

__all__ = ["assumption_warnings"]

AUTOMATIC = "Net.NetSplitRxMode"
"""The advanced setting of automatic splitRx."""
TRIGGER = 10_000
"""Multicast packets a second above which it acts."""


def assumption_warnings(
    tree: Tree,
    file: PointFile,
    platform: PlatformSpec,
    peer: PeerSpec,
    groups: Iterable[VmGroupSpec],
    traffic: Mapping[str, Traffic],
    settings: HostSettings,
) -> Iterator[str]:
    """Warnings of what decides a result and was not written.

    Args:
        tree: the scenario.
        file: the same, read.
        platform: whose defaults apply.
        peer: the sender of multicast.
        groups: VMs with their effective settings.
        traffic: what comes at them.
        settings: of the host.
    """
    written = file.host.advanced.get(AUTOMATIC, platform.advanced[AUTOMATIC].default)
    is_automatic = platform.advanced[AUTOMATIC].read(written) == 1
    is_open = tree.get(("peer",)) is None or not peer.timer_jitter
    for group in groups:
        rate = sum(
            _rate(flow) for flow in traffic.values() if isinstance(flow, MulticastSpec) and group.name in flow.to
        )
        if not group.count or not group.settings.vnics or not rate:
            continue
        vnic, key = group.settings.vnics[0], "ethernet0.emuRxMode"
        if (
            is_automatic
            and rate > TRIGGER
            and vnic.device == "vmxnet3"
            and not vnic.split_rx
            and key not in file.vms[group.name].vmx
        ):
            yield (
                f"vms.{group.name}: {rate:.0f} multicast packets/s reach each VM, and {platform.platform} turns splitRx on by itself above "
                f"{TRIGGER} where a queue of a NIC is heavily loaded ({AUTOMATIC} = 1): not modelled, it is off here; "
                f'{key}: "1" turns it on, "0" keeps it off on the host too'
            )
        # an ESXi VM that sends faster than it may call its hypervisor sends several packets with each call
        if vnic.split_rx and is_open and peer.tx_coalescing is None and rate > settings.tx_call_rate:
            name = file.peer if tree.get(("peer",)) is not None else f"{file.peer} (the default)"
            yield (
                f"vms.{group.name}: with splitRx, losses and CPU depend on how many multicast packets arrive together: the peer {name} sends "
                "them one by one, peer: esxi-vm in batches, as an ESXi VM does"
            )


def _rate(flow: MulticastSpec) -> float:
    """Mean number of packets in a second."""
    instants = flow.arrivals.timestamps_ps
    if not instants:
        return flow.pace.rate
    span = instants[-1] - instants[0]
    return (len(instants) - 1) * SECOND / span if span else 0.0
