"""The cost model: cycles or time of each step, with the provenance of each number."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from hostsim.config.field import UNHASHED, Spec
from hostsim.config.quantity import Cycles, Duration
from hostsim.units import SECOND, US, cycles_to_ps

__all__ = ["LATER_GENERATIONS", "Cost", "CostModel", "Factor", "Generation", "Provenance", "share"]


class Provenance(Spec):
    """Provenance of a number: a source or an assumption, its range, and its prior median.

    A source may have a range; an assumption has one. A number that a calibration has moved has a prior median.
    """

    source: Annotated[str | None, UNHASHED] = None
    """A row of the bibliography, a paper or a data sheet."""
    assumed: Annotated[str | None, UNHASHED] = None
    """Reason of an assumed value; needs ``range``."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Provenance:
        if (self.source is None) == (self.assumed is None):
            has = "none" if self.source is None else "source and assumed"
            raise ValueError(f"needs exactly one origin|one of source, assumed; has {has}")
        if getattr(self, "range", None) is None:
            if self.assumed is not None:
                raise ValueError("an assumed value needs its range|assumed: reason, range: [low, high]")
            if getattr(self, "prior", None) is not None:
                raise ValueError("a prior needs its range|prior: median, range: [low, high]")
        return self


MOST_CYCLES = 10**9
"""Largest number of cycles of a cost: a thousand seconds of the slowest processor, so that four thousand packets end
before `hostsim.units.END`.
"""


class Cost(Provenance):
    """A cost: processor cycles, which scale with generation and clock, or a time, which does not."""

    cycles: Cycles | None = None
    """Westmere-equivalent cycles."""
    time: Duration | None = None
    """A fixed time."""
    range: Annotated[tuple[Cycles, Cycles] | tuple[Duration, Duration] | None, UNHASHED] = None
    """Low and high end of the plausible values, in the unit of the value; also for a source that leaves a range."""
    prior: Annotated[Cycles | Duration | None, UNHASHED] = None
    """Median of the prior distribution if a calibration has moved the value: the value of the source or reason, in the
    same unit.
    """

    @model_validator(mode="after")
    def _one_value(self) -> Cost:
        if (self.cycles is None) == (self.time is None):
            raise ValueError("needs exactly one value|one of cycles, time")
        if (self.cycles or 0) > MOST_CYCLES or (self.time or 0) > MOST_CYCLES * US:
            allowed = f"at most {MOST_CYCLES:g} cycles, or {MOST_CYCLES * US // SECOND} s"
            raise ValueError(f"is longer than any step of work|{allowed}")
        beside = [*(self.range or ()), *(() if self.prior is None else (self.prior,))]
        # times are whole picoseconds, and cycles never are integers
        if any(isinstance(amount, int) == (self.time is None) for amount in beside):
            raise ValueError("is not of one unit|value, range and prior in cycles, or all of them times")
        return self

    def ps(self, hertz: float) -> int:
        """The cost in picoseconds.

        Args:
            hertz: Westmere-equivalent cycles/s of the processor.
        """
        return self.time if self.time is not None else cycles_to_ps(self.cycles or 0.0, hertz)

    def per_byte(self, hertz: float) -> float:
        """The cost of a byte in picoseconds, not rounded, as it is multiplied by a number of bytes."""
        return float(self.time) if self.time is not None else (self.cycles or 0.0) * SECOND / hertz


class Factor(Provenance):
    """A dimensionless factor with its provenance."""

    value: Annotated[float, Field(gt=0)]
    range: Annotated[tuple[float, float] | None, UNHASHED] = None
    prior: Annotated[float | None, UNHASHED] = None
    """Median of the prior distribution if a calibration has moved the value."""


def _smt_throughput(factor: Factor) -> Factor:
    if not 1 <= factor.value <= 2:
        raise ValueError("is not between the throughput of one core and that of two|1..2")
    return factor


def _line_fills(factor: Factor) -> Factor:
    if factor.value < 1:
        raise ValueError("is less than one cache line in flight|at least 1")
    return factor


def share(factor: Factor) -> Factor:
    """Reject a share above 1."""
    if factor.value > 1:
        raise ValueError("is more than 1|at most 1")
    return factor


def _is_time(cost: Cost) -> Cost:
    if cost.time is None:
        raise ValueError("does not depend on the processor's clock|time")
    return cost


class Generation(Factor):
    """The factor of a processor generation."""

    extrapolated: Annotated[bool, UNHASHED] = False
    """True if no cost of a packet was measured on this generation or on one with its core, so that all costs are
    extrapolated.
    """


LATER_GENERATIONS = ("cascade-lake", "emerald-rapids", "zen2", "zen3", "zen4")
"""Generations that are newer than stored runs. They do not enter the hash of a host with another processor."""


def _not_calibrated(factor: Generation) -> Generation:
    if factor.prior is not None:
        raise ValueError("is never calibrated|no prior beside its value")
    return factor


class CostModel(Spec):
    """The cost model of the host: every cost, with one value for all experiments."""

    # --- PCPU and scheduler
    context_switch: Cost
    """A PCPU switches from one world, or from its idle loop, to another world."""
    cache_refill_same: Cost
    """Refill of caches: a world resumes on the PCPU where it last ran, after other worlds or the idle loop ran
    there.
    """
    cache_refill_migrated: Cost
    """Refill of caches: a world resumes on another PCPU than its last one."""
    guest_cache_refill: Cost
    """Refill of a guest's private caches after a call into the VMkernel or another world on its PCPU. In addition to
    ``vmk_call`` or ``cache_refill_same``.
    """
    halt_exit: Cost
    """A halted PCPU resumes execution."""
    preemption: Cost
    """Preemption of a running world; charged to the preempting world."""
    reschedule_ipi: Cost
    """An interprocessor interrupt by which a PCPU makes another one reschedule, until that takes it; charged to the
    woken world.
    """
    vcpu_preemption_lead: Cost
    """Virtual time by which a waking vCPU must lag behind a running one to preempt it. A threshold, never charged."""
    smt_throughput: Annotated[Factor, AfterValidator(_smt_throughput)]
    """Throughput of a core with both hyperthreads busy, relative to one thread alone. Between 1 and 2."""
    # --- copies and memory
    copy_per_byte: Cost
    """Copy of one byte, by the VMkernel into guest memory or by a guest between stack and application, with both ends
    in the last-level cache of the node.
    """
    line_fills: Annotated[Factor, AfterValidator(_line_fills)]
    """Cache lines in flight to and from memory during a copy, which share the latency of memory. At least 1."""
    memory_service: Annotated[Cost, AfterValidator(_is_time)]
    """Service time of memory for a cache line without its latency, for which other lines queue. A time."""
    memory_usable: Annotated[Factor, AfterValidator(share)]
    """Usable share of the peak bandwidth of a node's memory channels. At most 1."""
    reserved_far: Annotated[Factor, AfterValidator(share)]
    """Share of memory accesses to other nodes of a VM with reserved memory, relative to a VM without reservation. At
    most 1.
    """
    # --- physical NIC and receive path
    interrupt: Cost
    """A physical interrupt, from the vector until the poll world is ready."""
    poll_entry: Cost
    """A woken receive or transmit context enters its poll loop."""
    driver_rx: Cost
    """The NIC driver takes one frame from its ring."""
    vmklinux_conversion: Cost
    """Conversion of one frame between the structures of a Linux driver and the VMkernel's."""
    switch_forward: Cost
    """Port look-up and forwarding of one packet in the virtual switch."""
    sw_lro: Cost
    """Software LRO examines one frame and appends it to earlier ones of its connection."""
    vxlan_decap: Cost
    """Decapsulation of one VXLAN frame."""
    replicate_clone: Cost
    """One further copy of a multicast packet: clone of its descriptor and its bookkeeping."""
    vnic_deliver: Cost
    """Delivery of one packet to a vNIC's receive ring: mapping of guest memory, completion."""
    vnic_hand_over: Cost
    """The lock of a vNIC passes from one receive context to another, with its protected cache lines, if they deliver
    one at a time.
    """
    shared_lines: Cost
    """Cache lines of one frame that NIC, VMkernel and guest write in turn: descriptors, completions, headers. Between
    nodes they take longer in the ratio of memory latencies.
    """
    split_enqueue: Cost
    """One packet queued to a vNIC's own receive context."""
    # --- transmit path
    vmk_call: Cost
    """A guest's call into the VMkernel that wakes a sleeping transmit context: exit, wake-up, entry.
    ``guest_cache_refill`` is added.
    """
    e1000_doorbell: Cost
    """A guest's write to an e1000 register that announces packets: an exit that the monitor handles."""
    e1000_interrupt: Cost
    """A guest's accesses to e1000 registers at an interrupt, as exits, in addition to the interrupt itself."""
    networld_tx: Cost
    """One packet taken from a vNIC's transmit ring: descriptor, mapping of guest memory."""
    networld_tx_completion: Cost
    """Completion of one packet that the NIC has sent or that was copied: mapping undone, completion descriptor for the
    guest.
    """
    driver_tx: Cost
    """The NIC driver puts one packet on its ring."""
    driver_tx_completion: Cost
    """The NIC driver detects one sent packet, and frees its descriptors."""
    segment_software: Cost
    """Segmentation by the VMkernel of one frame from a TSO packet, if the NIC cannot: its headers, its share of the
    data.
    """
    segment_per_byte: Cost
    """One byte of such a frame: read for its checksum, or copied."""
    vxlan_encap: Cost
    """Encapsulation of one packet in VXLAN: look-up of the tunnel endpoint, headers."""
    # --- vCPU and guest
    vcpu_wake: Cost
    """A halted vCPU resumes: return from the halt, exit and entry, the guest's wake-up."""
    virtual_interrupt: Cost
    """An interrupt of a running guest: exit and entry. A halted guest has ``vcpu_wake`` instead."""
    guest_interrupt: Cost
    """The guest's part of an interrupt, running or halted before: injection, handler, end of interrupt."""
    guest_rx_packet: Cost
    """Guest network stack, one received packet, including socket look-up."""
    guest_rx_ack: Cost
    """Guest network stack, one received acknowledgement without data, up to the transmission that it allows."""
    guest_gro_frame: Cost
    """Each further frame that the guest's GRO joins to a packet: taken from the driver's ring, compared, chained."""
    guest_tx_packet: Cost
    """Guest network stack, one sent data packet: stack, driver."""
    guest_ack: Cost
    """Guest network stack, one acknowledgement built and sent."""
    guest_tx_completion: Cost
    """The guest's driver detects one completed packet, and frees it: descriptors, buffer, socket accounting."""
    guest_ipi: Cost
    """An interrupt from a vCPU of a guest to a halted one: exit on the sender's side."""
    guest_process_wake: Cost
    """Wake-up of a process that sleeps in a system call: the waker's part, the guest's scheduler, the switch. Once for
    all data that it then finds.
    """
    guest_timer_tick: Cost
    """One tick of a guest's timer: interrupts, handlers, and the kernel's work at each tick."""
    guest_housekeeping: Cost
    """Housekeeping of an idle guest by daemons and kernel timers, once per ``housekeeping_period`` of the guest."""
    # --- processor generations
    generations: dict[str, Annotated[Generation, AfterValidator(_not_calibrated)]]
    """Cycles of the same work on a processor family, relative to Westmere-EX. Never calibrated: ratios of a host cannot
    distinguish a slow processor from more work.
    """

    def cycle_rate(self, family: str, clock_hz: float) -> float:
        """Westmere-equivalent cycles/s of a processor.

        Raises:
            KeyError: the family is not in ``generations``.
        """
        return clock_hz / self.generations[family].value

    def entries(self) -> dict[str, Cost | Factor]:
        """Every constant by dotted name, in the order of the reference."""
        flat: dict[str, Cost | Factor] = {}
        for name in type(self).model_fields:
            value: Any = getattr(self, name)
            if isinstance(value, dict):
                flat.update({f"{name}.{key}": item for key, item in value.items()})
            else:
                flat[name] = value
        return flat
