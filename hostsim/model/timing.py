"""The cost model on one host's processors: every constant in picoseconds, ready for the hot path."""

from __future__ import annotations

from fractions import Fraction

from hostsim.spec.costs import CostModel
from hostsim.spec.cpu import CpuSpec

__all__ = ["Timing"]


class Timing:
    """Costs of `CostModel` on a given processor, in integer picoseconds; prose stands there.

    Per-byte costs stay fractions of a picosecond: they are multiplied before they are rounded.
    """

    __slots__ = (
        "_copy",
        "_guest_copy",
        "_port",
        "cache_refill_migrated",
        "cache_refill_same",
        "context_switch",
        "guest_rx_packet",
        "guest_timer_tick",
        "halt_exit",
        "poll_wake",
        "preemption",
        "rx_packet",
        "smt_throughput",
        "split_enqueue",
        "vcpu_lead",
        "vcpu_wake",
        "virtual_interrupt",
    )

    def __init__(self, costs: CostModel, cpu: CpuSpec) -> None:
        hertz = costs.cycle_rate(cpu.family, cpu.clock)
        self.context_switch = costs.context_switch.ps(hertz)
        self.cache_refill_same = costs.cache_refill_same.ps(hertz)
        self.cache_refill_migrated = costs.cache_refill_migrated.ps(hertz)
        self.halt_exit = costs.halt_exit.ps(hertz)
        self.preemption = costs.preemption.ps(hertz)
        self.vcpu_lead = costs.vcpu_preemption_lead.ps(hertz)
        self.smt_throughput = Fraction(costs.smt_throughput.value).limit_denominator(1000)
        self.poll_wake = costs.interrupt.ps(hertz) + costs.poll_entry.ps(hertz)
        self.rx_packet = {
            driver: costs.driver_rx.ps(hertz) + costs.switch_forward.ps(hertz) + conversion
            for driver, conversion in (("native", 0), ("vmklinux", costs.vmklinux_conversion.ps(hertz)))
        }
        """Receive cost of a packet before it is handed to ports, by the NIC's driver."""
        self.split_enqueue = costs.split_enqueue.ps(hertz)
        self.vcpu_wake = costs.vcpu_wake.ps(hertz)
        self.virtual_interrupt = costs.virtual_interrupt.ps(hertz)
        self.guest_rx_packet = costs.guest_rx_packet.ps(hertz)
        self.guest_timer_tick = costs.guest_timer_tick.ps(hertz)
        uncached = 1.0 if cpu.ddio else costs.copy_uncached.value
        self._copy = costs.copy_per_byte.per_byte(hertz) * uncached
        self._guest_copy = costs.guest_copy_per_byte.per_byte(hertz)
        self._port = costs.replicate_clone.ps(hertz), costs.vnic_deliver.ps(hertz)

    def port_copy(self, octets: int) -> int:
        """One multicast packet cloned, put on a vNIC's ring and copied into guest memory."""
        clone, deliver = self._port
        return clone + deliver + round(octets * self._copy)

    def guest_copy(self, octets: int) -> int:
        """Data of one packet copied from the guest's stack to its application."""
        return round(octets * self._guest_copy)
