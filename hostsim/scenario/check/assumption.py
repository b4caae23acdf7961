"""Warnings of implicit assumptions: senders with default properties, and costs on processors that none was measured on.

The effect of splitRx depends on the number of packets that arrive together, because they share the wake-up of a context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hostsim.config.host import HardwareSpec, VmGroupSpec
from hostsim.config.peer import PeerSpec
from hostsim.config.platform import HostSettings, PlatformSpec
from hostsim.config.traffic import Traffic
from hostsim.config.workload import MulticastSpec
from hostsim.scenario.schema import PointFile
from hostsim.scenario.yaml.source_tree import Tree
from hostsim.units import SECOND

__all__ = ["assumption_warnings", "extrapolation_warnings"]


def assumption_warnings(
    tree: Tree,
    file: PointFile,
    peer: PeerSpec,
    groups: Iterable[VmGroupSpec],
    traffic: Mapping[str, Traffic],
    settings: HostSettings,
) -> Iterator[str]:
    """Warnings of defaults that decide a result.

    Args:
        tree: the scenario.
        file: the parsed scenario.
        peer: the sender of multicast.
        groups: VMs with their effective settings.
        traffic: their traffic.
        settings: of the host.
    """
    is_open = tree.get(("peer",)) is None or not peer.timer_jitter
    for group in groups:
        rate = sum(
            _rate(flow) for flow in traffic.values() if isinstance(flow, MulticastSpec) and group.name in flow.to
        )
        if not group.count or not group.settings.vnics or not rate:
            continue
        vnic = group.settings.vnics[0]
        # above the ceiling of calls, an ESXi VM sends several packets with each call
        if vnic.split_rx and is_open and peer.tx_coalescing is None and rate > settings.tx_call_rate:
            name = file.peer if tree.get(("peer",)) is not None else f"{file.peer} (the default)"
            yield (
                f"vms.{group.name}: with splitRx, losses and CPU depend on how many multicast packets arrive together: the peer {name} sends "
                "them one by one, peer: esxi-vm in batches, as an ESXi VM does"
            )


def extrapolation_warnings(hardware: HardwareSpec, platform: PlatformSpec) -> Iterator[str]:
    """The warning of a processor that no cost of a packet was measured on.

    Args:
        hardware: the server; the platform has its processor family.
        platform: whose costs apply.
    """
    family = hardware.cpu.family
    factor = platform.costs.generations[family]
    if factor.extrapolated:
        ends = "" if factor.range is None else f", {factor.range[0]:g} to {factor.range[1]:g}"
        yield (
            f"costs are extrapolated to {family}: no packet path was measured on it; work takes {factor.value:g}{ends} times the cycles of a Westmere"
        )


def _rate(flow: MulticastSpec) -> float:
    """Mean number of packets in a second."""
    instants = flow.arrivals.timestamps_ps
    if not instants:
        return flow.pace.rate
    span = instants[-1] - instants[0]
    return (len(instants) - 1) * SECOND / span if span else 0.0
