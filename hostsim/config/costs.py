"""The cost model: the cost of each step, in cycles or in time, with the provenance of each number."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from hostsim.config.field import UNHASHED, Spec
from hostsim.config.quantity import Cycles, Duration
from hostsim.units import SECOND, US, cycles_to_ps

__all__ = ["LATER_GENERATIONS", "Cost", "CostModel", "Factor", "Generation", "Provenance", "share"]


class Provenance(Spec):
    """Provenance of a number: a source, which may have a range, or an assumption, which has one; and the prior median of one that a calibration moves."""

    source: Annotated[str | None, UNHASHED] = None
    """A row of the facts, a paper or a data sheet."""
    assumed: Annotated[str | None, UNHASHED] = None
    """Why this value is assumed; needs ``range``."""

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
"""Most cycles of a cost: a thousand seconds of the slowest processor, so that four thousand packets end before `hostsim.units.END`."""


class Cost(Provenance):
    """A cost: processor cycles (scaled by generation and clock) or a time that no clock changes."""

    cycles: Cycles | None = None
    """Westmere-equivalent cycles."""
    time: Duration | None = None
    """A fixed time."""
    range: Annotated[tuple[Cycles, Cycles] | tuple[Duration, Duration] | None, UNHASHED] = None
    """Low and high end of where the value may lie, in its unit; of a source too, where it leaves one."""
    prior: Annotated[Cycles | Duration | None, UNHASHED] = None
    """Median of the prior distribution, where a calibration has moved the value: the value that source or reason gave, in the same unit."""

    @model_validator(mode="after")
    def _one_value(self) -> Cost:
        if (self.cycles is None) == (self.time is None):
            raise ValueError("needs exactly one value|one of cycles, time")
        if (self.cycles or 0) > MOST_CYCLES or (self.time or 0) > MOST_CYCLES * US:
            allowed = f"at most {MOST_CYCLES:g} cycles, or {MOST_CYCLES * US // SECOND} s"
            raise ValueError(f"is longer than any step of work|{allowed}")
        beside = [*(self.range or ()), *(() if self.prior is None else (self.prior,))]
        # times are whole picoseconds, and cycles never are integers
        if any(isinstance(number, int) == (self.time is None) for number in beside):
            raise ValueError("is not of one unit|value, range and prior in cycles, or all of them times")
        return self

    def ps(self, hertz: float) -> int:
        """The cost in picoseconds on a processor that does ``hertz`` Westmere-equivalent cycles in a second."""
        return self.time if self.time is not None else cycles_to_ps(self.cycles or 0.0, hertz)

    def per_byte(self, hertz: float) -> float:
        """The cost of one byte in picoseconds, not rounded: it is multiplied by a number of bytes first."""
        return float(self.time) if self.time is not None else (self.cycles or 0.0) * SECOND / hertz


class Factor(Provenance):
    """A dimensionless factor with its provenance."""

    value: Annotated[float, Field(gt=0)]
    range: Annotated[tuple[float, float] | None, UNHASHED] = None
    prior: Annotated[float | None, UNHASHED] = None
    """As of a cost."""


def _smt_throughput(factor: Factor) -> Factor:
    if not 1 <= factor.value <= 2:
        raise ValueError("two hyperthreads do no less than one and no more than two cores|1..2")
    return factor


def _line_fills(factor: Factor) -> Factor:
    if factor.value < 1:
        raise ValueError("a processor that copies has a cache line in flight|at least 1")
    return factor


def share(factor: Factor) -> Factor:
    """Refuse a share above 1."""
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
    """True where no cost of a packet was measured on this generation or on one with its core, so that all costs on it are extrapolated."""


LATER_GENERATIONS = ("cascade-lake", "emerald-rapids", "zen2", "zen3", "zen4")
"""Generations that are newer than stored runs: those of other processors than a host's own do not count in its hash."""


def _not_calibrated(factor: Generation) -> Generation:
    if factor.prior is not None:
        raise ValueError("is never calibrated|no prior beside its value")
    return factor


class CostModel(Spec):
    """The cost model of the host: every cost, with one value for all experiments."""

    # --- PCPU and scheduler
    context_switch: Cost
    """A PCPU turns from one world, or from its idle loop, to another world."""
    cache_refill_same: Cost
    """A world resumes on the PCPU where it last ran, after others, or the idle loop, ran there."""
    cache_refill_migrated: Cost
    """A world resumes on another PCPU than it last ran on."""
    guest_cache_refill: Cost
    """Private caches of a guest refilled after an interlude: a call into the VMkernel, or another world on its PCPU. Beside ``vmk_call`` or ``cache_refill_same``."""
    halt_exit: Cost
    """A halted PCPU starts to execute again."""
    preemption: Cost
    """Cutting a running world short, on the bill of the world that preempts."""
    reschedule_ipi: Cost
    """A PCPU makes another one reschedule by an interprocessor interrupt, until it is taken there; on the bill of the world that is woken."""
    vcpu_preemption_lead: Cost
    """Virtual time by which a waking vCPU must lag behind a running one to cut it short. A threshold, never charged."""
    smt_throughput: Annotated[Factor, AfterValidator(_smt_throughput)]
    """Throughput of a core with both hyperthreads busy, one thread alone being 1. Between 1 and 2."""
    # --- copies and memory
    copy_per_byte: Cost
    """One byte copied, by the VMkernel into guest memory or by a guest between stack and application, both ends in the last-level cache of the node."""
    line_fills: Annotated[Factor, AfterValidator(_line_fills)]
    """Cache lines that a processor has in flight to and from memory while it copies: the latency of memory is shared by so many. At least 1."""
    memory_service: Annotated[Cost, AfterValidator(_is_time)]
    """Time that memory takes for a cache line, its latency apart: what other lines queue for. A time."""
    memory_usable: Annotated[Factor, AfterValidator(share)]
    """Share of the peak bandwidth of a node's memory channels that can be used. At most 1."""
    reserved_far: Annotated[Factor, AfterValidator(share)]
    """Share of the memory accesses of a VM whose memory is reserved that go to another node, over that of a VM whose memory is not. At most 1."""
    # --- physical NIC and receive path
    interrupt: Cost
    """A physical interrupt, from the vector to the poll world made ready."""
    poll_entry: Cost
    """A receive or transmit context that was woken enters its poll loop."""
    driver_rx: Cost
    """The NIC driver takes one frame off its ring."""
    vmklinux_conversion: Cost
    """Conversion of one frame between the structures of a Linux driver and the VMkernel's."""
    switch_forward: Cost
    """Port look-up and forwarding of one packet in the virtual switch."""
    sw_lro: Cost
    """Software LRO looks at one frame and joins it to those before it of the same connection."""
    vxlan_decap: Cost
    """One VXLAN frame taken out of its outer headers."""
    replicate_clone: Cost
    """One further copy of a multicast packet: clone of its descriptor and of its bookkeeping."""
    vnic_deliver: Cost
    """One packet put on a vNIC's receive ring: mapping of guest memory, completion."""
    vnic_hand_over: Cost
    """The lock of a vNIC passes from one receive context to another, with the cache lines that it guards, where they deliver one at a time."""
    shared_lines: Cost
    """Cache lines of one frame that NIC, VMkernel and guest write in turn: descriptors, completions, headers. Between nodes they take as much longer as memory does."""
    split_enqueue: Cost
    """One packet queued to a vNIC's own receive context."""
    # --- transmit path
    vmk_call: Cost
    """A guest's call into the VMkernel that wakes a sleeping transmit context: exit, wake-up, entry. ``guest_cache_refill`` comes on top."""
    e1000_doorbell: Cost
    """A guest's write to a register of an e1000 that announces packets: an exit that the monitor answers by itself."""
    e1000_interrupt: Cost
    """What a guest reads and writes in registers of an e1000 for an interrupt, in exits, beside the interrupt itself."""
    networld_tx: Cost
    """One packet taken off a vNIC's transmit ring: descriptor, mapping of guest memory."""
    networld_tx_completion: Cost
    """One packet that the NIC has sent, or that was copied, completed: mapping undone, completion descriptor for the guest."""
    driver_tx: Cost
    """The NIC driver puts one packet on its ring."""
    driver_tx_completion: Cost
    """The NIC driver finds one packet sent, and frees its descriptors."""
    segment_software: Cost
    """One frame cut off a large TCP packet by the VMkernel, where the NIC cannot: its headers, its share of the data found."""
    segment_per_byte: Cost
    """One byte of such a frame: read for its checksum, or copied."""
    vxlan_encap: Cost
    """One packet put into VXLAN headers: look-up of the tunnel's end, headers."""
    # --- vCPU and guest
    vcpu_wake: Cost
    """A halted vCPU resumes: return from the halt, exit and entry, guest's own wake-up."""
    virtual_interrupt: Cost
    """A running guest is made to take an interrupt: exit and entry. A halted one pays ``vcpu_wake`` instead."""
    guest_interrupt: Cost
    """The guest's part of an interrupt, halted or running before: injection, handler, end of interrupt."""
    guest_rx_packet: Cost
    """Guest network stack, one packet received, socket look-up included."""
    guest_rx_ack: Cost
    """Guest network stack, one acknowledgement without data received, up to what it lets the connection send."""
    guest_gro_frame: Cost
    """One further frame that GRO of the guest joins to a packet: taken off the driver's ring, compared, chained."""
    guest_tx_packet: Cost
    """Guest network stack, one packet of data sent: stack, driver."""
    guest_ack: Cost
    """Guest network stack, one acknowledgement made and sent."""
    guest_tx_completion: Cost
    """A guest's driver finds one packet completed, and frees it: descriptors, buffer, the socket's account."""
    guest_ipi: Cost
    """A guest's interrupt from one of its vCPUs to another that is halted: exit on the sender's side."""
    guest_process_wake: Cost
    """A process that sleeps in a system call is made to run: its waker's part, the guest's scheduler, the switch. Once for all that it then finds."""
    guest_timer_tick: Cost
    """One tick of a guest's timer: its interrupts, their handlers, what the kernel does at each tick."""
    guest_housekeeping: Cost
    """Housekeeping of an idle guest: its daemons and the kernel's own timers, each ``housekeeping_period`` of the guest."""
    # --- processor generations
    generations: dict[str, Annotated[Generation, AfterValidator(_not_calibrated)]]
    """Cycles that the same work takes on a processor family, Westmere-EX being 1. Never calibrated: ratios of a host cannot tell a slow processor from more work."""

    def cycle_rate(self, family: str, clock_hz: float) -> float:
        """Westmere-equivalent cycles in a second of a processor.

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
