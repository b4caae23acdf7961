"""The record of one run: cumulative counters and histograms in time slices, with their origin.

A record is the only value that passes from the simulation to the tables. Counters are cumulative and are never reset:
the growth over a window is the difference of two instants. Some are levels, such as the packets inside a stage, so that
packets balance over any window.

Counters of the model, by name ``kind.counter``, with one column for each entity and durations in picoseconds;
cumulative unless marked as a level or fixed:

=================================  =====================================================================================
``pcpu.busy_ps``                   time a PCPU was not idle: worlds, switches, cache refills and halt exits
``pcpu.used_ps``                   time charged by %USED: half of it while the other hyperthread of the core is busy too
``pcpu.dispatches``                worlds that the PCPU started to run
``pcpu.switches``                  of these, another world than the last one on this PCPU; the idle loop counts as one
``pcpu.preemptions``               running worlds that were preempted
``pcpu.node``                      fixed: NUMA node of the PCPU
``node.waiting_ps``                time worlds waited for a PCPU of the NUMA node, added over worlds
``node.memory_ps``                 time the node's memory was busy with copies
``KIND.used_ps``                   time charged to worlds; KIND is one of ``vcpu``, ``netpoll``, ``splitrx``, ``networld``,
                                   ``vmkernel`` (if such threads exist), ``firmware``
``KIND.ready_ps``                  time worlds waited for a PCPU
``KIND.costop_ps``                 time vCPUs were co-stopped for their siblings
``KIND.dispatches``                dispatches of worlds of the kind
``KIND.node``                      a level: home NUMA node
``vcpu.limited_ps``                time vCPUs waited because of a limit (if there is one)
``numa_io.in_force_ps``            time NUMA-aware I/O placement was active
``tuning.dense_ps``                time dense mode was active
``guest.interrupts``               virtual interrupts taken by a vCPU
``guest.came``                     frames for processes of a vCPU that the guest's stack has processed
``guest.socket_dropped``           of these, dropped at a full socket buffer
``guest.read``                     of these, read by the application
``guest.unread``                   a level: frames in socket buffers
``queue.arrived``                  frames from the wire for a receive queue of a physical NIC
``queue.dropped``                  of these, dropped because no descriptor was free
``queue.taken``                    of these, taken by the NetPoll world
``queue.interrupts``               physical interrupts of the queue
``queue.inside``                   a level: frames that wait in the ring
``queue.inside_copies``            a level: copies that the switch will make of these frames
``queue.capacity``                 fixed: descriptors of the ring
``queue.context``                  fixed: index of the NetPoll that serves it, from 0 (-1: the guest)
``port.copies``                    packets for a receive queue of a vNIC, after replication and large receive offload
``port.frames``                    frames of the wire in these packets
``port.split_dropped``             of these, dropped at the full queue of the port's own receive context
``port.split_taken``               of these, taken by that context (0 without one)
``port.ring_dropped``              packets dropped at the full receive ring of the vNIC
``port.ring_lost``                 frames in these packets
``port.received``                  packets that the guest's stack took from the vNIC's ring
``port.split_inside``              a level: packets in, or on their way to, the queue of the port's own context
``port.ring_inside``               a level: packets in, or on their way to, the vNIC's ring
``port.split_capacity``            fixed: packets that fit in the queue of the port's own context (0 without one)
``port.ring_capacity``             fixed: descriptors of the vNIC's ring
``port.context``                   fixed: index of the split-receive context that serves it (-1: none)
``port.vcpu``                      fixed: index of the vCPU that takes its packets
``port.nic``                       fixed: index of the physical NIC that is the uplink of its vNIC
``tx.posted``                      packets that a guest posted on a transmit queue of a vNIC
``tx.dropped``                     of these, dropped as this queue and the guest's queue before it were full
``tx.taken``                       of these, taken by the transmit context
``tx.inside``                      a level: packets that wait in the queue
``tx.completed``                   of those taken, completed, so that the guest may free them
``tx.in_flight``                   a level: packets taken but not completed, as the NIC may still read guest memory
``tx.forced`` ... ``tx.timed``     wake-ups of the transmit context for the queue: by a call of the guest (``forced``), by another
                                   context (``opportunistic``), as the guest halted (``halted``), by the timer (``timed``)
``tx.capacity``                    fixed: packets that fit in the queue and in the guest's queue before it
``tx.context``                     fixed: index of the NetWorld that serves it
``nic.rx_frames``                  packets taken from the queues of a physical NIC, as the host sees them
``nic.rx_octets``                  bytes of their Ethernet frames without check sequences
``nic.rx_dropped``                 packets dropped as no receive descriptor of the NIC was free
``nic.tx_packets``                 packets sent through a physical NIC; a TSO packet counts once
``nic.tx_data``                    of these, packets with data
``nic.tx_frames``                  frames on the wire of these packets
``nic.tx_octets``                  bytes of data in them
``nic.tx_dropped``                 packets dropped as its transmit queue was full
``nic.rx_wire_ps``                 time that received frames took on the wire, or on the slot if that is slower
``nic.tx_wire_ps``                 time that sent frames took on the wire, or on the slot if that is slower
``nic.in_slot``                    fixed: 1 if the slot is slower than the wire (if that is so for a NIC of the host)
``slot.frames``                    frames that the switch inside a NIC forwarded (if functions send to each other)
``slot.out_ps``, ``slot.in_ps``    time these and other frames took on the NIC's slot, out of memory and into memory
``local.came``                     packets from other VMs of the host for a vNIC (if VMs send to each other)
``local.delivered``                of these, copied to the receiver
``local.dropped``                  of these, dropped at its full receive list
``local.lost``                     frames in these dropped packets
``local.inside``                   a level: packets on the receive list
``switched.packets``               of the packets of a transmit queue, those for another VM of the host
``work.come``                      bursts of CPU work that arrived at a guest
``work.dropped``                   of these, dropped as too many waited
``work.started``                   of these, started
``work.inside``                    a level: bursts that wait
``work.in_service``                a level: bursts started and not finished
``flow.sent``                      packets that a sender put on the wire, or bursts of work that arrived
``flow.intended``                  packets times their receivers, or bursts
``flow.dropped_nic``               of these, dropped as no receive descriptor of the physical NIC was free
``flow.dropped_split``             copies dropped at the queues of split-receive contexts
``flow.dropped_ring``              frames dropped at the receive rings of vNICs
``flow.dropped_list``              frames from other VMs of the host, dropped at full receive lists
``flow.dropped_socket``            datagrams dropped at full socket buffers
``flow.groups``                    fixed: VM groups that send or receive it, as bits in the order of the groups; 0: unknown
``flow.receivers``                 fixed: receivers of each frame on a wire; 0 for packets between VMs, which use no wire
``flow.delivered``                 of those intended, read by the guest or taken for forwarding, or bursts finished
``flow.dropped_out``               frames that guests sent or forwarded, dropped on the transmit side
``flow.out``                       frames of guests' own traffic that reached physical NICs
``flow.to_forward``                of those delivered, frames that a guest is to forward
``flow.forwarded``                 of these, handed to a physical NIC
``flow.octets``                    bytes of data that the receiving application got, on the host or outside
``flow.users``                     fixed: users, each with one request at a time
``flow.asked``                     requests of clients
``flow.answered``                  of these, answered in full
``tcp.connections``                fixed: TCP connections of a traffic entry that stay open
``tcp.window``                     fixed: bytes of data that all their receive windows allow in flight
``tcp.allowed``                    a level: bytes of data that all their congestion windows allow in flight
``tcp.in_flight``                  a level: bytes of data sent and not yet acknowledged
``migration.rounds``               rounds of memory copies of a complete migration to another host
``migration.stopped_ps``           time for which the VM was stopped
``migration.done``                 complete migrations
``trip.count``                     round trips of one request and its reply
``trip.STAGE_ps``                  time of these round trips in a stage; STAGE is ``wire``, ``moderation``, ``netpoll_wait``, ``vswitch``,
                                   ``coalescing``, ``wake``, ``guest``, ``transmit``
=================================  =====================================================================================

Histograms: ``flow.latency`` of packets, from the end of the frame on the wire to the application's read; ``work.time`` of bursts of work,
from arrival to end; ``flow.response`` from a client's request to the end of its answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Histogram", "RunRecord", "Series"]

IntArray = NDArray[np.int64]
"""An array of integers: picoseconds, counts."""
FloatArray = NDArray[np.float64]
"""An array of numbers."""
Scalar = str | int | float | bool
"""A value of an axis."""
AxisValues = Mapping[str, Scalar]
"""A point: value of each axis, as written in the scenario."""


@dataclass(frozen=True, repr=False)
class Series:
    """A time series of one counter of one kind of entity, sampled at the boundaries of the time slices."""

    entities: tuple[str, ...]
    """Names of the entities, one for each column."""
    values: IntArray
    """Cumulative values, or levels, shape (boundaries, entities); the first row is the start of the run (zeros)."""

    def thinned(self, rows: list[int]) -> Self:
        """The series at some of its boundaries."""
        return replace(self, values=self.values[rows])

    def __repr__(self) -> str:
        return f"<Series of {len(self.entities)} entities at {len(self.values)} boundaries>"


@dataclass(frozen=True, repr=False)
class Histogram:
    """A histogram of a duration in logarithmic buckets, cumulative at the boundaries of the time slices."""

    entities: tuple[str, ...]
    edges_ps: IntArray
    """Lower edges of the buckets and the upper edge of the last, in picoseconds; length buckets + 1."""
    counts: IntArray
    """Cumulative counts, shape (boundaries, entities, buckets)."""
    sums_ps: IntArray
    """Cumulative sum of the durations, shape (boundaries, entities)."""

    def thinned(self, rows: list[int]) -> Self:
        """The histogram at some of its boundaries."""
        return replace(self, counts=self.counts[rows], sums_ps=self.sums_ps[rows])

    def __repr__(self) -> str:
        return f"<Histogram of {len(self.entities)} entities in {len(self.edges_ps) - 1} buckets>"


@dataclass(frozen=True, repr=False)
class RunRecord:
    """The record of one run, which is a replication of a point.

    The run is finished if ``error`` is None; else it failed, and ``error`` is the traceback.
    """

    point_id: str
    """Hash of the resolved point."""
    replication: int
    """0-based."""
    seed: int
    """Root seed of the campaign; the streams of the replication derive from (seed, replication)."""
    axes: AxisValues
    """Value of each axis at this point, as written in the scenario."""
    instants_ps: IntArray
    """Boundaries of the time slices, shape (boundaries,); the first is 0, the last the end of the run."""
    series: Mapping[str, Series]
    """Samples by name of the counter, ``kind.counter``: ``pcpu.busy_ps``, ``vnic.delivered``; see above."""
    histograms: Mapping[str, Histogram]
    cut: int
    """Index into ``instants_ps`` of the start of the measured window, after the warm-up (MSER-5)."""
    flags: tuple[str, ...] = ()
    """Warnings about the numbers: ``warm-up``, ``setting not modelled: ...``."""
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    """Facts of the run: events, dispatches, wall_s (wall clock), versions."""
    error: str | None = None

    def __repr__(self) -> str:
        """Return the run in at most ten lines, without machine-dependent facts."""
        kinds = dict.fromkeys(name.partition(".")[0] for name in self.series)
        instants = [int(self.instants_ps[index]) / 1e12 for index in (self.cut, -1)]
        facts = [f"{name} {value}" for name, value in self.facts.items() if not name.startswith("wall_")]
        lines = [
            f"<RunRecord of point {self.point_id}, replication {self.replication}, seed {self.seed}>",
            "axes: " + ", ".join(f"{axis}={value}" for axis, value in self.axes.items()),
            f"measured window: {instants[0]:g} s to {instants[1]:g} s, {len(self.instants_ps) - 1 - self.cut} slices",
            f"counters: {len(self.series)} of {', '.join(kinds)}",
            "histograms: " + ", ".join(self.histograms),
            *(["flags: " + "; ".join(self.flags)] if self.flags else []),
            "facts: " + ", ".join(facts),
        ]
        if self.error is not None:
            lines.append("error: " + (self.error.splitlines() or [""])[-1])
        lines.append("see hostsim.contexts, cpu_time, bottleneck, entities and series_frame of it")
        return "\n".join(line if len(line) <= 300 else line[:299] + "…" for line in lines)

    @property
    def window_ps(self) -> int:
        """Length of the measured window in picoseconds."""
        return int(self.instants_ps[-1] - self.instants_ps[self.cut])

    def thinned(self, kept: Sequence[int], cut: int = 0) -> RunRecord:
        """Return the run with some of its boundaries.

        Args:
            kept: indices into ``instants_ps``, ascending; the last one is the end of the run.
            cut: index into these of the start of the measured window.
        """
        rows = list(kept)
        return replace(
            self,
            instants_ps=self.instants_ps[rows],
            series={name: series.thinned(rows) for name, series in self.series.items()},
            histograms={name: histogram.thinned(rows) for name, histogram in self.histograms.items()},
            cut=cut,
        )

    def window(self, counter: str) -> IntArray:
        """Growth of a counter over the measured window for each entity, shape (entities,).

        Raises:
            KeyError: the run does not have the counter.
        """
        values = self.series[counter].values
        growth: IntArray = values[-1] - values[self.cut]
        return growth

    def total(self, counter: str) -> int:
        """Growth of a counter over the measured window, summed over its entities; 0 without the counter."""
        return int(self.window(counter).sum()) if counter in self.series else 0
