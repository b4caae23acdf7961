"""The cost table of a host: the constants of the cost model on its processors, in picoseconds."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from hostsim.config.costs import Cost, CostModel
from hostsim.config.cpu import CpuSpec
from hostsim.units import rounded

__all__ = ["ACROSS", "BESIDE", "FAR", "SAME_NODE", "CostTable"]

SAME_NODE: Final = 0
"""Distance of cache lines that are shared within a NUMA node, and within one of its core complexes."""
FAR: Final = 1
"""Distance between nodes of different sockets."""
BESIDE: Final = 2
"""Distance between nodes of a socket."""
ACROSS: Final = 3
"""Distance between core complexes of a node."""


class CostTable:
    """Costs of `CostModel`, which documents them, on a given processor, in integer picoseconds.

    Costs per byte remain fractions of a picosecond, as they are multiplied before they are rounded.
    """

    __slots__ = (
        "_copy",
        "_lines",
        "_segmented",
        "cache_refill_migrated",
        "cache_refill_same",
        "context_switch",
        "driver_tx_completion",
        "e1000_doorbell",
        "e1000_interrupt",
        "far_refill",
        "guest_ack",
        "guest_cache_refill",
        "guest_gro_frame",
        "guest_housekeeping",
        "guest_interrupt",
        "guest_ipi",
        "guest_process_wake",
        "guest_rx_ack",
        "guest_rx_packet",
        "guest_timer_tick",
        "guest_tx_completion",
        "guest_tx_packet",
        "halt_exit",
        "interrupt",
        "networld_tx_completion",
        "poll_entry",
        "preemption",
        "replicate_clone",
        "reschedule_ipi",
        "rx_packet",
        "segment_software",
        "smt_throughput",
        "split_enqueue",
        "sw_lro",
        "tx_frame",
        "tx_packet",
        "vcpu_lead",
        "vcpu_wake",
        "virtual_interrupt",
        "vmk_call",
        "vnic_deliver",
        "vnic_hand_over",
        "vxlan_decap",
        "vxlan_encap",
    )

    cache_refill_migrated: int
    cache_refill_same: int
    context_switch: int
    driver_tx_completion: int
    e1000_doorbell: int
    e1000_interrupt: int
    far_refill: int
    guest_ack: int
    guest_cache_refill: int
    guest_gro_frame: int
    guest_housekeeping: int
    guest_interrupt: int
    guest_ipi: int
    guest_process_wake: int
    guest_rx_ack: int
    guest_rx_packet: int
    guest_timer_tick: int
    guest_tx_completion: int
    guest_tx_packet: int
    halt_exit: int
    interrupt: int
    networld_tx_completion: int
    poll_entry: int
    preemption: int
    replicate_clone: int
    reschedule_ipi: int
    segment_software: int
    split_enqueue: int
    sw_lro: int
    vcpu_wake: int
    virtual_interrupt: int
    vmk_call: int
    vnic_deliver: int
    vnic_hand_over: int
    vxlan_decap: int
    vxlan_encap: int

    def __init__(self, costs: CostModel, cpu: CpuSpec) -> None:
        hertz = costs.cycle_rate(cpu.family, cpu.hertz)
        for name in CostModel.model_fields:
            if isinstance(cost := getattr(costs, name), Cost) and hasattr(CostTable, name):
                setattr(self, name, cost.ps(hertz))
        self.vcpu_lead = costs.vcpu_preemption_lead.ps(hertz)
        self.smt_throughput = Fraction(costs.smt_throughput.value).limit_denominator(1000)
        conversion = {"native": 0, "vmklinux": costs.vmklinux_conversion.ps(hertz)}
        forward = costs.switch_forward.ps(hertz)
        self.rx_packet = {driver: costs.driver_rx.ps(hertz) + forward + own for driver, own in conversion.items()}
        """Receive cost of a frame before delivery to ports, by kind of the NIC's driver."""
        self.tx_packet = costs.networld_tx.ps(hertz) + forward
        """Cost of a packet in a transmit context before the NIC's driver."""
        self.tx_frame = {driver: costs.driver_tx.ps(hertz) + own for driver, own in conversion.items()}
        """Cost of a packet in the NIC's driver, by its kind."""
        self._copy = costs.copy_per_byte.per_byte(hertz)
        lines, caches = costs.shared_lines.ps(hertz), cpu.core_complex
        across = 1.0 if caches is None else caches.far / caches.near
        self._lines = [lines, *(round(lines * ratio) for ratio in (cpu.remote_ratio, cpu.in_socket_ratio, across))]
        """Cost of a frame's shared cache lines, by distance."""
        self.far_refill = round((across - 1) * self.cache_refill_migrated)
        """Additional cost of a world that was on another core complex: its lines come from that cache."""
        self._segmented = costs.segment_per_byte.per_byte(hertz)

    def copied(self, octets: int, wait_ps: float = 0.0) -> int:
        """Return the cost of a copy in picoseconds.

        Args:
            octets: number of bytes.
            wait_ps: wait for memory for each byte; 0 with both ends in the cache.
        """
        return rounded(octets * (self._copy + wait_ps))

    def segmented(self, octets: int) -> int:
        """Return the cost per byte of software segmentation for a large packet, in picoseconds."""
        return rounded(octets * self._segmented)

    def frame(self, octets: int, wait_ps: float = 0.0, *, far: int = SAME_NODE) -> int:
        """Return the cost of copying a frame into guest memory with its shared lines, at distance ``far``."""
        return self.copied(octets, wait_ps) + self._lines[far]

    def deliver(self, octets: int, wait_ps: float = 0.0, *, far: int = SAME_NODE) -> int:
        """Return the cost of delivering a packet: copy into guest memory, and a descriptor on the vNIC's ring."""
        return self.frame(octets, wait_ps, far=far) + self.vnic_deliver

    def port_copy(self, octets: int, wait_ps: float = 0.0, *, far: int = SAME_NODE) -> int:
        """Return the cost of replicating a multicast packet to a port: clone, copy, and a descriptor."""
        return self.replicate_clone + self.deliver(octets, wait_ps, far=far)
