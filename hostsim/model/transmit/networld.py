"""NetWorlds: transmit contexts of the VMkernel, with transmit coalescing and delivery between VMs.

Posting a packet on a vmxnet3 costs a guest only the write of a descriptor. A sleeping transmit context is woken in one
of four ways, with separate counters: by a call from the guest when a number of packets wait (forced), by the receive
context when it serves the same vNIC (opportunistic), when the guest halts, or by a timer. The number of packets before
a call follows the send rate, so that the guest calls at most at a given rate, as receive coalescing limits interrupts
(docs/design/coalescing.md). In dense mode a context is woken only when the guest halts, or by a longer timer.

A guest never calls for an e1000: it writes to a register for each packet, which the monitor records, and the VMkernel
finds the packets when it polls, in the other three ways. A context also writes transmit completions
(`hostsim.model.transmit.tx_completion`).

Local packet delivery: the virtual switch forwards packets between VMs of the host without a wire.

The sender's transmit context forwards a packet to the receiver's port. Then either it copies the packet into the
receiver's memory (``Net.NetRxCopyInTx``), or it puts the packet on the receive list of that port, and the transmit
context of the receiver's VM copies it, as the one context that does device emulation for that VM (facts 1.1). A mapped
packet keeps its descriptor at the sender until it is copied.

Packets are not segmented if the receiver has LRO: a TSO packet arrives as two halves, or whole. A packet without a free
descriptor on the receiver's ring is dropped before it is copied, since the descriptor has the destination of the copy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hostsim.config.nic import VXLAN_HEADERS, packet_on_wire
from hostsim.engine.clock import Clock, OneShot
from hostsim.engine.ring import Ring, Train
from hostsim.model.contract import GuestRing, GuestStream, InterruptTarget, NicQueue, Route, Sender, TransmitQueue
from hostsim.model.cost_table import ACROSS, CostTable
from hostsim.model.cpu.pcpu import Node, Pcpu, WorldState
from hostsim.model.policy.moderation import NEVER, TxCoalescing
from hostsim.model.receive.context import NetContext
from hostsim.model.receive.nic import Pnic
from hostsim.model.receive.vnic import Vnic
from hostsim.model.services import Services
from hostsim.model.transmit.tx_completion import CompletionRule, TxCompletions
from hostsim.units import transmission_ps

__all__ = ["CAUSES", "LocalDelivery", "LocalPort", "LocalRoute", "NetWorld", "TxQueue", "Uplink"]

CAUSES = ("forced", "opportunistic", "halted", "timed")
"""Causes of a transmit context's wake-up."""
_FORCED: Final = 0
_OPPORTUNISTIC: Final = 1
_HALTED: Final = 2
_TIMED: Final = 3
_SLEEPING: Final = WorldState.SLEEPING


class Uplink:
    """The uplink of a virtual port: costs and framing on the path to the wire.

    Attributes:
        nic: port of a physical NIC.
        vector: receive queue whose interrupt announces departures; None for that of the port.
    """

    def __init__(
        self,
        nic: Pnic,
        rate: float,
        costs: CostTable,
        driver: str,
        *,
        vxlan: bool,
        tso: bool,
        bounded: bool = True,
        tag: int = 0,
    ) -> None:
        """Create an uplink.

        Args:
            nic: port of a physical NIC.
            rate: bits/s of the NIC.
            costs: cost table of the host.
            driver: kind of the NIC's driver.
            vxlan: True if packets are encapsulated in VXLAN.
            tso: True if the NIC segments these packets; else the VMkernel does.
            bounded: True if packets need room in the transmit queue of the port; else their own queue limits them.
            tag: bytes of the VLAN tag of a frame.
        """
        self.nic, self._bounded = nic, bounded
        self.vector: NicQueue | None = None
        self._rate, self._vxlan, self._segments, self._tag = rate, vxlan, not tso, tag
        self._costs = costs
        # a packet is encapsulated before it is segmented, and each frame copies the outer headers
        encap, outer = (costs.vxlan_encap, costs.copied(VXLAN_HEADERS)) if vxlan else (0, 0)
        self._packet_ps = costs.tx_packet + encap
        self._own_ps = costs.tx_frame[driver]
        self._cut_ps = costs.segment_software + outer + self._own_ps
        self._frames: dict[int, int] = {}

    def _frame_ps(self, octets: int) -> int:
        """Return the time of a frame on the wire."""
        frame = self._frames.get(octets)
        if frame is None:
            on_wire = packet_on_wire(octets, vxlan=self._vxlan, tag=self._tag)
            frame = self._frames[octets] = transmission_ps(on_wire, self._rate)
        return frame

    def work_ps(self, frames: int, size: int) -> int:
        """Return the time of a transmit context for a packet, including software segmentation.

        Args:
            frames: number of frames of the packet.
            size: bytes of data in each frame.
        """
        if self._segments and frames > 1:
            return self._packet_ps + frames * self._cut_ps + self._costs.segmented(frames * size)
        return self._packet_ps + self._own_ps

    def send(
        self, train: Train[GuestStream], queue: TransmitQueue | None = None, vector: NicQueue | None = None
    ) -> int:
        """Transmit packets at their times, see `Pnic.transmit`; returns the number that the NIC accepted."""
        stream = train.stream
        if stream.uplink is not self:
            stream.uplink, stream.frame_ps = self, self._frame_ps(stream.size + stream.headers)
        frame, nic, cut = stream.frame_ps, self.nic, self._segments
        fits = nic.admit(train, frame, cut=cut) if self._bounded else train.count
        if fits < train.count:
            refused = train
            if fits:
                train = refused.split(fits)
            stream.dropped(refused.count * refused.frames)
        if fits:
            vector = self.vector if vector is None else vector
            first, step = nic.transmit(train, frame, queue, vector, cut=cut, bounded=self._bounded)
            stream.sent(train, first, step, frame)
        return fits


class TxQueue(TransmitQueue):
    """A transmit queue of a vNIC, with the wake-ups of its context.

    Attributes:
        name: name in tables.
        ring: descriptors, and packets in the guest's queue discipline before them.
        size: capacity of both, in packets.
        uplink: uplink of its packets.
        completions: completions of packets taken from it.
        wakes: number of wake-ups of its context for it, by cause.
        switched: number of its packets for other VMs of the host.
    """

    def __init__(
        self,
        clock: Clock,
        name: str,
        capacity: int,
        coalescing: TxCoalescing,
        uplink: Uplink,
        vcpu: InterruptTarget,
        *,
        rule: CompletionRule | None = None,
        vnic: GuestRing | None = None,
    ) -> None:
        self.name, self.uplink, self.poster, self.size = name, uplink, vcpu, capacity
        self.ring: Ring[GuestStream] = Ring(capacity)
        self.ring.on_drop = _report_drop
        self.completions = TxCompletions(clock, self.ring, rule or CompletionRule(), vnic)
        self.wakes = [0, 0, 0, 0]
        self.doorbell_ps = self.switched = 0
        self._usual = self._coalescing = coalescing
        self._waiting = 0
        self._timer = _WakeTimer(clock, self)
        self._world: NetWorld

    @property
    def context(self) -> NetWorld:
        """Transmit context of the queue."""
        return self._world

    def serve(self, world: NetWorld) -> None:
        """Set the transmit context of this queue."""
        self._world = world
        self.completions.wakes(self._complete, self._timer.arm_by)

    def coalesce(self, coalescing: TxCoalescing | None) -> None:
        """Switch to another coalescing; None for the usual one, which restarts."""
        if coalescing is None:
            coalescing = self._usual
            coalescing.restart()
        self._coalescing = coalescing
        if self._world.state is _SLEEPING:
            self._timer.disarm()
            self.await_wake()

    def attach(self, vcpu: InterruptTarget) -> None:
        if self not in vcpu.halt_queues:
            vcpu.halt_queues.append(self)

    def post(self, train: Train[GuestStream]) -> None:
        """Post packets that the guest writes, at times that may be in the future."""
        self.ring.push(train)
        self.poster.pending_ps += train.count * self.doorbell_ps
        coalescing = self._coalescing
        coalescing.posted(train.count, train.ready)
        if self._world.state is not _SLEEPING:
            return
        if self.completions.is_blocked:
            self._await_descriptors(train.ready)
            return
        before = self._waiting
        self._waiting = before + train.count
        depth = coalescing.depth
        if before < depth <= self._waiting:
            due = train.ready + (depth - before - 1) * train.step
        elif not before:
            due = train.ready + coalescing.timeout
        else:
            return
        self._timer.arm_by(due)

    def cancel(self, trains: Iterable[Train[GuestStream]], now: int) -> list[Train[GuestStream]]:
        """Remove and return the packets that a preempted guest has not written by ``now``."""
        self.completions.settle(now)
        back = self.ring.recall(trains, now)
        count = sum(train.count for train in back)
        self._waiting -= count
        self._coalescing.cancelled(count)
        self.poster.pending_ps -= count * self.doorbell_ps
        return back

    def coming(self, now: int) -> int:
        """Return the number of packets with times in the future; a preempted guest takes them back."""
        return self.ring.count_coming(now)

    def await_wake(self) -> None:
        """Schedule the wake-up of the sleeping context, if packets wait or are known to arrive."""
        ring = self.ring
        self._waiting = ring.pushed - ring.taken - ring.dropped
        first = ring.first()
        if first is None:
            return
        if self.completions.is_blocked:
            self._await_descriptors(first)
            return
        coalescing = self._coalescing
        due = first + coalescing.timeout
        full = ring.nth(coalescing.depth) if coalescing.depth < NEVER else None
        if full is not None and full < due:
            due = full
        self._timer.arm_by(due)

    def _await_descriptors(self, first: int) -> None:
        """Check again when a packet ready at ``first`` may have a descriptor, or the driver stops its queue."""
        at = self.completions.opens(first)
        if at is not None:
            self._timer.arm_by(at)

    def _due(self, now: int) -> None:
        if self._world.state is not _SLEEPING:
            return
        self.completions.settle(now)
        if self.completions.is_blocked:
            self.completions.stop(now)
            return
        self.ring.settle(now)
        ring, held, coalescing = self.ring, self.ring.held, self._coalescing
        if held >= coalescing.depth:
            self.poster.pending_ps += self._world.call_ps
            self._wake(_FORCED, now)
        elif held and (oldest := ring.first()) is not None and oldest + coalescing.timeout <= now:
            self._wake(_TIMED, now)
        else:  # the packets for which it was set have been cancelled
            self.await_wake()

    def look(self, now: int) -> None:
        """Wake the transmit context opportunistically."""
        if self._coalescing.in_passing and self._world.state is _SLEEPING and self._waits(now):
            self._wake(_OPPORTUNISTIC, now)

    def guest_halts(self, now: int) -> None:
        """Wake the transmit context at a halt of the guest, if packets wait."""
        if self._world.state is _SLEEPING and self._waits(now):
            self._wake(_HALTED, now)

    def _waits(self, now: int) -> bool:
        ring = self.ring
        self.completions.settle(now)
        if ring.pushed == ring.taken + ring.dropped or self.completions.is_blocked:
            return False
        ring.settle(now)
        return ring.held > 0

    def freed(self, count: int, now: int) -> int:
        return self.completions.freed(count, now)

    def poll_done(self, now: int) -> None:
        """Report the completions of a poll, or leave them to the transmit context.

        The context is woken if the guest needs descriptors.
        """
        completions = self.completions
        asleep = self._world.state is _SLEEPING
        if not completions.rule.deferred:
            completions.report(now)
            if asleep:
                self.await_wake()  # descriptors may have been missing
            return
        completions.look(now)
        if asleep and completions.needs_context():
            self._timer.disarm()
            self._world.wake(now)
        else:
            completions.expire(now)

    def has_work(self, now: int) -> bool:
        """True if its context has packets to send, or urgent completions."""
        completions = self.completions
        completions.settle(now)
        self.ring.settle(now)
        return completions.needs_context() or (self.ring.held > 0 and not completions.is_blocked)

    def _complete(self, now: int) -> None:
        """Wake the context for overdue completions; the timer fires on its PCPU."""
        self._world.wake(now, self._world.last)

    def _wake(self, cause: int, now: int) -> None:
        self.wakes[cause] += 1
        self._timer.disarm()
        world = self._world
        # a guest calls on its own PCPU, and the timer fires on the context's
        world.wake(now, self.poster.last if cause == _FORCED else world.last if cause == _TIMED else None)


class _WakeTimer(OneShot):
    """The timer that wakes the context of a transmit queue."""

    def __init__(self, clock: Clock, queue: TxQueue) -> None:
        super().__init__(clock)
        self._queue = queue

    def expire(self, now: int) -> None:
        self._queue._due(now)


def _report_drop(train: Train[GuestStream]) -> None:
    stream = train.stream
    stream.dropped(train.count * train.frames)


class NetWorld(NetContext):
    """A NetWorld: the transmit context of a VM, of a vNIC, or of a queue.

    Attributes:
        call_ps: the guest's cost of a call that wakes it, including cache refill, in picoseconds.
        queues: transmit queues that it serves in turn.
        local: its part in traffic between VMs of the host; None without such traffic.
    """

    def __init__(self, services: Services, name: str, node: Node, last: Pcpu) -> None:
        super().__init__(services, "networld", name, node, last)
        costs = services.costs
        self._bound, self.call_ps = services.settings.tx_poll_bound, costs.vmk_call + costs.guest_cache_refill
        self.queues: list[TxQueue] = []
        self.local: LocalDelivery | None = None
        self._next = 0

    def begin(self, start: int) -> int | None:
        end = start
        if self.woken:
            self.woken = False
            end += self.wake_ps
        queues = self.queues
        completed = False
        for queue in queues:
            if queue.completions.sent:
                end += queue.completions.complete(start)
                completed = True
        local = self.local
        if local is not None:
            end = local.receive(end, self.node)
        for turn in range(len(queues)):
            queue = queues[(self._next + turn) % len(queues)]
            completions, uplink = queue.completions, queue.uplink
            completions.look(end)
            room = completions.room()
            bound = most = self._bound if self._bound < room else room
            looked, taken = -1, 0
            while bound and looked < end:  # including packets posted meanwhile
                looked = end
                while bound and (train := queue.ring.take_next(bound, looked)) is not None:
                    bound -= train.count
                    stream, frames = train.stream, train.frames
                    route = stream.route
                    if local is not None and isinstance(route, LocalRoute):
                        end = local.forward(route, train, end, self.node)
                        continue
                    size = stream.size
                    octets = size * frames
                    taken += train.count * octets
                    copied = octets <= completions.rule.copied
                    work = uplink.work_ps(frames, size)
                    if copied:
                        work += self._costs.copied(octets) + completions.rule.packet_ps
                    sent = uplink.send(train.restamped(end + work, work), None if copied else queue)
                    completions.took(sent, copied=copied)
                    if sent < train.count:
                        completions.took(train.count - sent, copied=True)
                    end += train.count * work
            self.node.memory.sent(taken)
            if bound < most:
                self._next = (self._next + turn + 1) % len(queues)
                break
        return end - start if completed or end > start else None

    def end(self, now: int) -> None:
        for queue in self.queues:
            queue.completions.report(now)
        if self.local is not None:
            self.local.batch_done(now, self.last)

    def has_work(self, now: int) -> bool:
        if any(queue.has_work(now) for queue in self.queues):
            return True
        return self.local is not None and self.local.waits(now)

    def rest(self, now: int) -> None:
        for queue in self.queues:
            queue.await_wake()


class LocalPort:
    """The local side of a virtual port: delivery from other VMs of the host into a vNIC's receive queue.

    Attributes:
        name: name in tables.
        vnic: the receive queue.
        context: transmit context of the receiver's VM, which serves the receive list.
        ring: receive list.
        in_tx: True if the sender's context copies; the list then stays empty.
        came: number of packets that senders' contexts have forwarded to it.
        delivered: number of these put on the ring of the vNIC, or dropped there.
        lost: number of frames dropped at the full receive list.
    """

    def __init__(
        self, vnic: Vnic, context: NetWorld, costs: CostTable, *, capacity: int, in_tx: bool, lro: bool, halved: bool
    ) -> None:
        """Create the local side of a port.

        Args:
            vnic: the receive queue.
            context: transmit context of the receiver's VM.
            costs: cost table of the host.
            capacity: capacity of the receive list, in packets.
            in_tx: True if the sender's context copies.
            lro: True if the guest accepts packets larger than a frame.
            halved: True if such packets arrive as two halves.
        """
        self.name, self.vnic, self.context, self.in_tx = vnic.name, vnic, context, in_tx
        self._costs, self._lro, self._halved = costs, lro, halved
        self.ring: Ring[Sender] = Ring(capacity)
        self.ring.on_drop = self._dropped
        self.came = self.delivered = self.lost = 0

    def put(self, train: Train[Sender], start: int, packet_ps: int, where: Node) -> int:
        """Copy packets into the receiver's memory from ``start`` on; returns the end.

        The copying context runs on the node ``where`` and takes ``packet_ps`` for each packet in addition. A dropped
        packet of its list costs it as much as an enqueued one.
        """
        vnic = self.vnic
        self.delivered += train.count
        vnic.local_frames += train.count * train.frames
        sender = route_of(train).source
        node, source = vnic.vcpu.node, sender.poster.node
        vnic.wait_ps = where.left_wait(node)
        cuts = 1
        if train.frames > 1 and not self._lro:
            cuts = train.frames
        elif train.frames > 1 and self._halved:
            cuts = 2
        room = vnic.room() // cuts
        if train.count > room:
            copied = train.split(room) if room else None
            vnic.refuse(train.restamped(start, 0))
            start += train.count * (packet_ps or self._costs.split_enqueue)
            if copied is None:
                return start
            train = copied
        # recently written packets are in a cache of the sender's node
        wait = where.write_wait(node) + (0.0 if where is source else where.fetch_wait(source))
        far = where.distance(node, source)
        if across := where.memory.across_ps:
            copier = sender.context if self.in_tx else self.context
            if where is source and sender.poster.last.ccx != copier.last.ccx:
                wait += across
                far = far or ACROSS
            if where is node and vnic.vcpu.last.ccx != copier.last.ccx:
                vnic.wait_ps = across
                far = far or ACROSS
        node.memory.octets += train.count * train.frames * train.stream.size
        return self._copy(train, start, packet_ps, cuts, wait, far=far)

    def _copy(self, train: Train[Sender], start: int, packet_ps: int, cuts: int, wait_ps: float, *, far: int) -> int:
        """Copy packets with free descriptors, each in ``cuts`` parts; returns the end."""
        costs, vnic, sender, count = self._costs, self.vnic, train.stream, train.count
        vnic.unicast += count * cuts
        if cuts == 1:
            step = packet_ps + costs.deliver(sender.size * train.frames, wait_ps, far=far)
            vnic.receive(train.restamped(start + step, step))
            return start + count * step
        frames, more = divmod(train.frames, cuts)
        cut_ps = 0 if self._lro else costs.segment_software
        first, last = (
            costs.deliver(sender.size * part, wait_ps, far=far) + cut_ps for part in (frames + (more > 0), frames)
        )
        step = packet_ps + more * first + (cuts - more) * last
        at = start + packet_ps
        for index in range(cuts):
            at += first if index < more else last
            part = train.restamped(at, step)
            part.frames = frames + (index < more)
            vnic.receive(part)
        return start + count * step

    def take(self, start: int, budget: int, where: Node) -> int:
        """Copy the packets of the receive list, up to a budget; returns the end."""
        end, looked = start, -1
        while budget and looked < end:
            looked = end
            while budget and (train := self.ring.take_next(budget, looked)) is not None:
                count, began = train.count, end
                self.vnic.listed -= count * train.frames
                self._release(train)
                end = self.put(train, end, 0, where)
                if end > began:  # packets without cost must not end a batch before its work
                    budget -= count
        return end

    def waits(self, now: int) -> bool:
        """True if packets are on the receive list."""
        ring = self.ring
        if ring.pushed == ring.taken + ring.dropped:
            return False
        ring.settle(now)
        return ring.held > 0

    def _dropped(self, train: Train[Sender]) -> None:
        """Drop packets at the full receive list."""
        self._release(train)
        self.lost += train.count * train.frames
        train.stream.totals.lost_list += train.count * train.frames
        train.stream.dropped(train.count * train.frames)

    def _release(self, train: Train[Sender]) -> None:
        """Return descriptors to the sender of mapped packets."""
        route = route_of(train)
        if not route.copies(train.stream.size * train.frames) and self.context.local is not None:
            self.context.local.owe(route.source, train.count)


class LocalRoute(Route):
    """The route of a stream of packets from a VM to another VM of the host.

    Attributes:
        inbound: sender of the packets as seen by the receiver.
        source: transmit queue of the packets.
        port: local side of their destination port.
    """

    def __init__(self, inbound: Sender, source: TxQueue, port: LocalPort) -> None:
        self.inbound, self.source, self.port = inbound, source, port
        inbound.route = self
        inbound.vnic = port.vnic

    def copies(self, octets: int) -> bool:
        """True if packets of this size are copied out of the sender's memory, and completed at once."""
        return octets <= self.source.completions.rule.copied


def route_of(train: Train[Sender]) -> LocalRoute:
    """Return the route of packets from another VM."""
    route = train.stream.route
    assert isinstance(route, LocalRoute)
    return route


class LocalDelivery:
    """The part of a transmit context in traffic between VMs of the host.

    It forwards packets from its guest, and copies packets to it.

    Attributes:
        ports: local ports whose receive lists it serves.
    """

    def __init__(self, costs: CostTable, budget: int) -> None:
        """Create the part of a context that copies at most ``budget`` packets of each list in a batch."""
        self._costs, self._budget = costs, budget
        self.ports: list[LocalPort] = []
        self._filled: dict[LocalPort, None] = {}
        self._owed: dict[TxQueue, int] = {}
        self._owed_ps = 0

    def forward(self, route: LocalRoute, train: Train[GuestStream], start: int, where: Node) -> int:
        """Forward packets of the guest from ``start`` on; returns the end."""
        port, source, inbound, costs = route.port, route.source, route.inbound, self._costs
        count, frames = train.count, train.frames
        octets = inbound.size * frames
        copied = route.copies(octets)
        work = costs.tx_packet
        if copied:
            work += costs.copied(octets)
        if copied or port.in_tx:
            work += source.completions.rule.packet_ps
        inbound.totals.sent += count * frames
        port.came += count
        source.switched += count
        self._filled[port] = None
        packets = Train(inbound, count, start, 0, train.arrived, train.gap, train.timestamps, frames)
        if port.in_tx:
            end = port.put(packets, start, work, where)
            source.completions.took(count, copied=True)
            return end
        step = work + costs.split_enqueue
        packets.ready, packets.step = start + step, step
        port.vnic.listed += count * frames
        port.ring.push(packets)
        source.completions.took(count, copied=copied)
        return start + count * step

    def receive(self, start: int, where: Node) -> int:
        """Copy waiting packets for the guest from ``start`` on; returns the end."""
        end = start + self._owed_ps
        self._owed_ps = 0
        for port in self.ports:
            end = port.take(end, self._budget, where)
        return end

    def owe(self, source: TxQueue, count: int) -> None:
        """Record descriptors of a sender that are returned at the end of the batch."""
        self._owed[source] = self._owed.get(source, 0) + count

    def batch_done(self, now: int, pcpu: Pcpu) -> None:
        """End a batch: wake the contexts with new packets, and return descriptors to senders."""
        if self._filled:
            filled, self._filled = self._filled, {}
            for port in filled:
                if not port.in_tx:
                    port.context.wake(now, pcpu)
                    continue
                for queue in port.vnic.transmits:
                    queue.look(now)
        if self._owed:
            owed, self._owed = self._owed, {}
            for queue, count in owed.items():
                self._owed_ps += queue.freed(count, now)
                queue.poll_done(now)

    def waits(self, now: int) -> bool:
        """True if packets are on a receive list."""
        return any(port.waits(now) for port in self.ports)
