"""The record of one run: cumulative counters and histograms in time slices, with their origin.

A record is the only value that crosses from the simulation to the tables. Counters
are cumulative and are never reset: a window is the difference of two instants. A few are levels (the table says
which): what is inside a stage, so that every balance can be drawn up over any window.

Counters that the model keeps (names are ``kind.counter``; one column an entity; durations in picoseconds; what is
neither a level nor fixed is cumulative):

=================================  =====================================================================================
``pcpu.busy_ps``                   time a PCPU was not idle: worlds, switches, refills and halt exits
``pcpu.used_ps``                   time charged by %USED: half of it while the other hyperthread of the core is busy too
``pcpu.dispatches``                hand-overs of the PCPU to a world
``pcpu.switches``                  of these, with another world than the last one on this PCPU, the idle loop included
``pcpu.preemptions``               running worlds cut short
``pcpu.node``                      fixed: NUMA node of the PCPU
``KIND.used_ps``                   time charged to worlds; KIND is ``vcpu``, ``netpoll``, ``splitrx``, ``networld``,
                                   ``vmkernel`` (where there are such threads), ``firmware``
``KIND.ready_ps``                  time worlds waited for a PCPU
``KIND.costop_ps``                 time vCPUs were held back for their siblings
``KIND.dispatches``                times a world of the kind got a PCPU
``KIND.node``                      a level: NUMA node that is its home
``numa_io.in_force_ps``            time NUMA-aware I/O placement was in force
``tuning.dense_ps``                time dense mode was in force
``guest.interrupts``               virtual interrupts taken by a vCPU
``guest.came``                     frames for the processes of a vCPU that went through the stack
``guest.socket_dropped``           of these, dropped at the full socket buffer
``guest.read``                     of these, taken by the application
``guest.unread``                   a level: frames in sockets
``queue.arrived``                  frames that came off the wire to a receive queue of a physical NIC
``queue.dropped``                  of these, dropped because no descriptor was free
``queue.taken``                    of these, taken by the NetPoll world
``queue.interrupts``               physical interrupts of the queue
``queue.inside``                   a level: frames that wait in the ring
``queue.inside_copies``            a level: copies that these frames will be replicated to
``queue.capacity``                 fixed: descriptors of the ring
``queue.context``                  fixed: which of the NetPolls serves it, in their order, from 0 (-1: the guest)
``port.copies``                    packets meant for a receive queue of a vNIC, after replication and large receive offload
``port.frames``                    frames of the wire in these packets
``port.split_dropped``             of these, dropped at the full queue of the port's own receive context
``port.split_taken``               of these, taken by that context (0 without one)
``port.ring_dropped``              dropped at the full receive ring of the vNIC
``port.ring_lost``                 frames in the packets dropped there
``port.received``                  taken off the vNIC's ring by the guest's stack
``port.split_inside``              a level: packets in, or on their way into, the queue of the port's own context
``port.ring_inside``               a level: packets in, or on their way into, the vNIC's ring
``port.split_capacity``            fixed: packets that fit in the queue of the port's own context (0 without one)
``port.ring_capacity``             fixed: descriptors of the vNIC's ring
``port.context``                   fixed: which of the split-receive contexts serves it, in their order (-1: none)
``port.vcpu``                      fixed: which of the vCPUs takes its packets, in their order
``port.nic``                       fixed: which of the physical NICs its vNIC is linked to, in their order
``tx.posted``                      packets that a guest posted on a transmit queue of a vNIC
``tx.dropped``                     of these, dropped because it and the guest's queue before it were full
``tx.taken``                       of these, taken by the transmit context
``tx.inside``                      a level: packets that wait there
``tx.completed``                   of those taken, completed: the guest may free them
``tx.in_flight``                   a level: taken and not completed, for the NIC may still read the guest's memory
``tx.forced`` ... ``tx.timed``     wake-ups of the transmit context for the queue: by a call of the guest (``forced``), by another
                                   context (``opportunistic``), because the guest halted (``halted``), by the timer (``timed``)
``tx.capacity``                    fixed: packets that fit there and in the guest's queue before it
``tx.context``                     fixed: which of the NetWorlds serves it, in their order
``nic.rx_frames``                  packets taken off the queues of a physical NIC, as the host sees them
``nic.rx_octets``                  bytes of their Ethernet frames, check sequences left out
``nic.rx_dropped``                 packets that found no descriptor there
``nic.tx_packets``                 packets sent through a physical NIC; one that it cuts into frames counts once
``nic.tx_data``                    of these, packets with data
``nic.tx_frames``                  frames that they became
``nic.tx_octets``                  bytes of data in them
``nic.tx_dropped``                 packets that found its transmit queue full
``nic.rx_wire_ps``                 time that the wire (or the slot, where that is slower) took for the frames that came
``nic.tx_wire_ps``                 likewise for the frames that were sent
``work.come``                      bursts of work that came at a guest
``work.dropped``                   of these, dropped because too many waited
``work.started``                   of these, started
``work.inside``                    a level: bursts that wait
``work.in_service``                a level: bursts started and not done
``flow.sent``                      packets a sender put on the wire, or bursts of work that came
``flow.intended``                  packets times their receivers, or bursts
``flow.dropped_nic``               of these, dropped because no descriptor of the physical NIC was free
``flow.dropped_split``             copies dropped at the queues of split-receive contexts
``flow.dropped_ring``              frames dropped at the receive rings of vNICs
``flow.dropped_list``              frames of other VMs of the host, dropped at full receive lists
``flow.dropped_socket``            datagrams dropped at full socket buffers
``flow.groups``                    fixed: groups of VMs that send or receive it, as bits in the order of the groups; 0: unknown
``flow.receivers``                 fixed: receivers of each frame of a wire; 0 of packets between VMs, which no wire carries
``flow.delivered``                 of those intended, taken by the guest or to be forwarded by it, or bursts done
``flow.dropped_out``               frames that guests sent or were to forward, dropped on their way out
``flow.out``                       frames of their own that guests handed to physical NICs
``flow.to_forward``                of those delivered, frames that a guest is to forward
``flow.forwarded``                 of these, handed to a physical NIC
``flow.octets``                    bytes of data that reached the application at their end, on the host or outside
``flow.users``                     fixed: users that wait for answers, one request at a time
``flow.asked``                     requests that clients made
``flow.answered``                  of these, answered in full
``tcp.connections``                fixed: TCP connections of a traffic entry that last from its beginning on
``tcp.window``                     fixed: bytes of data that their windows let be in flight, all of them together
``tcp.allowed``                    a level: the same of their congestion windows
``tcp.in_flight``                  a level: bytes of data sent and not yet acknowledged
``migration.rounds``               copies of the memory of a VM that was migrated to another host, once that is complete
``migration.stopped_ps``           time for which the VM stood still
``migration.done``                 migrations that are complete
``trip.count``                     round trips of requests and replies in turns
``trip.STAGE_ps``                  time that they spent in a stage; STAGE is ``wire``, ``moderation``, ``netpoll_wait``, ``vswitch``,
                                   ``coalescing``, ``wake``, ``guest``, ``transmit``
=================================  =====================================================================================

Histograms: ``flow.latency`` of packets, from the end of the frame on the wire to the application's read; ``work.time`` of bursts of work,
from the arrival to the end; ``flow.response`` from a client's request to the end of its answer.
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
"""A point: the value of each axis, as written in the scenario."""


@dataclass(frozen=True, repr=False)
class Series:
    """A time series of one counter of one kind of entity, sampled at the boundaries of the time slices."""

    entities: tuple[str, ...]
    """Names of the entities, one per column."""
    values: IntArray
    """Cumulative values, or levels, shape (boundaries, entities); the first row is the start of the run (zeros)."""

    def thinned(self, rows: list[int]) -> Self:
        """The series at some of its boundaries only."""
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
        """The histogram at some of its boundaries only."""
        return replace(self, counts=self.counts[rows], sums_ps=self.sums_ps[rows])

    def __repr__(self) -> str:
        return f"<Histogram of {len(self.entities)} entities in {len(self.edges_ps) - 1} buckets>"


@dataclass(frozen=True, repr=False)
class RunRecord:
    """The record of one run, a replication of a point: finished (``error`` is None) or failed (``error`` holds the traceback)."""

    point_id: str
    """Hash of the resolved point."""
    replication: int
    """0-based."""
    seed: int
    """Root seed of the campaign; the replication's streams derive from (seed, replication)."""
    axes: AxisValues
    """Value of each axis at this point, as written in the scenario."""
    instants_ps: IntArray
    """Boundaries of the time slices, shape (boundaries,); the first is 0, the last the end of the run."""
    series: Mapping[str, Series]
    """Counter name -> samples. Names are ``kind.counter``: ``pcpu.busy_ps``, ``vnic.delivered``; see above."""
    histograms: Mapping[str, Histogram]
    cut: int
    """Index into ``instants_ps`` where the measured window starts: what MSER-5 left."""
    flags: tuple[str, ...] = ()
    """Reasons to look before trusting the numbers: ``warm-up``, ``setting not modelled: ...``."""
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    """Plain facts of the run: events, dispatches, wall_s (wall clock), versions."""
    error: str | None = None

    def __repr__(self) -> str:
        """The run in at most ten lines, without what differs from one machine to the next."""
        kinds = dict.fromkeys(name.partition(".")[0] for name in self.series)
        instants = [int(self.instants_ps[place]) / 1e12 for place in (self.cut, -1)]
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
        """The run with some of its boundaries only.

        Args:
            kept: indices into ``instants_ps``, in order; the last one kept is where the run ends.
            cut: index into these where its measured window starts.
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
        """Growth of a counter over the measured window, one value per entity, shape (entities,).

        Raises:
            KeyError: the run has no such counter.
        """
        values = self.series[counter].values
        growth: IntArray = values[-1] - values[self.cut]
        return growth

    def total(self, counter: str) -> int:
        """Growth of a counter over the measured window, summed over its entities; 0 where the run has no such counter."""
        return int(self.window(counter).sum()) if counter in self.series else 0
