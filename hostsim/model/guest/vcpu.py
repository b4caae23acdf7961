"""A vCPU and its guest: virtual interrupts, NAPI polling, the network stack, sockets and processes.

One burst of the guest is one visit: exit and interrupt, a poll of at most the budget, then its processes handle what came for
them. A process on another vCPU finds it in that vCPU's inbox. The instants of all that a burst does are known when it begins; a
preempted burst accounts for the datagrams it read, and posts its remaining packets when it is resumed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, TypeVar

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.packet_train import Stream, Train
from hostsim.engine.ring import Ring
from hostsim.errors import InvariantError
from hostsim.model.contract import GuestProcess, InboundStream, PacketSink, TransmitQueue
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.node import Node
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.cpu.world import World, WorldState
from hostsim.model.net.vnic import Vnic
from hostsim.model.workload.cpu_work import CpuWork
from hostsim.model.workload.flow import Sender
from hostsim.spec.guest import GuestSpec

__all__ = ["Vcpu"]

S = TypeVar("S", bound=Stream)
UNBOUNDED = 1 << 62
"""Capacity of an inbox, which is bounded by the windows of TCP."""


class Vcpu(World):
    """A virtual CPU with the guest that runs on it.

    Attributes:
        halted: the guest executes HLT; only an interrupt or its timer brings it back.
        interrupts: virtual interrupts taken from the vNICs.
        came: frames for the processes of this vCPU, through the stack or on their way through it.
        socket_dropped: of these, dropped at a full socket buffer.
        read: of these, read by the application.
        pending_ps: time to be charged with the next burst, in picoseconds.
        ipi_sender: the vCPU that posted to the inbox last; it pays for the interprocessor interrupt.
        vnics: receive queues whose interrupts it takes.
        halt_queues: transmit queues that it posts to and tells when the guest halts.
        burst_queues: those that it tells when a burst begins and when it ends.
        costs: cost table of the host.
        work: bursts of CPU that the guest has to do besides, if any.
    """

    def __init__(
        self,
        clock: Clock,
        name: str,
        node: Node,
        last: Pcpu,
        scheduler: Scheduler,
        costs: CostTable,
        guest: GuestSpec,
        read_ps: int,
        shares: int,
    ) -> None:
        super().__init__("vcpu", name, system=False, node=node, last=last, shares=shares)
        self._scheduler, self.costs = scheduler, costs
        self._budget, self._read_ps = guest.napi_budget, read_ps
        self._socket_buffer, self._socket_overhead = guest.socket_buffer, guest.socket_overhead
        self._period = guest.timer_period
        self._timer = Timer(clock, self._tick)
        self._work_timer = Timer(clock, self._work_comes)
        self._ticks = 0
        self._raised: list[Vnic] = []
        self._polling: list[Vnic] = []
        self._drained: Vnic | None = None
        self._polled: Vnic | None = None
        self._inbox: Ring[InboundStream] = Ring(UNBOUNDED)
        self._inbox_timer = Timer(clock, self._inbox_due)
        self.ipi_sender: Vcpu | None = None
        self._handed: list[tuple[PacketSink[Any], Train[Any]]] = []
        self._held_back: list[tuple[PacketSink[Any], Train[Any]]] = []
        self._in_socket: list[tuple[Train[Sender], int]] = []
        self._reading = self._cut_at = 0
        self._newest: dict[Sender, int] = {}
        self._awake: set[object] = set()
        self._processes: deque[GuestProcess] = deque()
        self.halted = True
        self.interrupts = self.came = self.socket_dropped = self.read = self.pending_ps = 0
        self.vnics: list[Vnic] = []
        self.halt_queues: list[TransmitQueue] = []
        self.burst_queues: list[TransmitQueue] = []
        self.work: CpuWork | None = None

    def boot(self, phase: int) -> None:
        """Boot the guest: start its periodic timer, whose first tick comes at ``phase``, and its CPU work."""
        self._timer.arm(phase)
        self._await_work()

    def interrupt(self, now: int, vnic: Vnic) -> None:
        """Take a virtual interrupt of a vNIC that has packets."""
        self._raised.append(vnic)
        self._scheduler.wake(self, now)

    def start(self, process: GuestProcess, now: int) -> None:
        """Make a process runnable, in a burst of its own."""
        self._processes.append(process)
        self._scheduler.wake(self, now, self.last)

    # --- inbox and outgoing packets

    def post(self, train: Train[InboundStream]) -> None:
        """Post packets, or a turn to send, to the inbox of a process of this vCPU, at instants that may lie ahead."""
        self.came += train.count * train.frames
        self._inbox.push(train)
        if self.state is WorldState.SLEEPING:
            self._await_inbox()

    def cancel(self, trains: Iterable[Train[InboundStream]], now: int) -> list[Train[InboundStream]]:
        """Take back those of the packets that have not reached the inbox by ``now``."""
        back = self._inbox.recall(trains, now)
        self.came -= sum(train.count * train.frames for train in back)
        return back

    def _await_inbox(self) -> None:
        first = self._inbox.first()
        if first is not None:
            self._inbox_timer.arm_by(first)

    def _inbox_due(self, now: int) -> None:
        if self.state is WorldState.SLEEPING:
            if self.ipi_sender is not None:
                self.ipi_sender.pending_ps += self.costs.guest_ipi
            self._scheduler.wake(self, now)

    def _inbox_waits(self, now: int) -> bool:
        inbox = self._inbox
        if inbox.pushed == inbox.taken:
            return False
        inbox.settle(now)
        return inbox.held > 0

    def post_to(self, target: PacketSink[S], train: Train[S]) -> None:
        """Post packets of this burst to a sink, to be cancelled if the burst is preempted."""
        self._handed.append((target, train))
        target.post(train)

    # --- as a world

    def _tick(self, now: int) -> None:
        self._timer.arm(now + self._period)
        self._ticks += 1
        self._scheduler.wake(self, now, self.last)

    def begin(self, start: int) -> int | None:
        costs = self.costs
        end = start
        raised = self._raised
        has_inbox = self._inbox_waits(start)
        process = None
        if not (raised or self._polling or self._ticks or has_inbox):
            if self._processes:
                process = self._processes.popleft()
            elif self.work is not None and (burst := self.work.start(start)) is not None:
                end += burst
            elif not self._announced(start):
                return None
        if self.halted:
            self.halted = False
            end += costs.vcpu_wake
        elif raised:
            end += costs.virtual_interrupt
        if self.pending_ps:
            end += self.pending_ps
            self.pending_ps = 0
        if self._ticks:
            end += self._ticks * costs.guest_timer_tick
            self._ticks = 0
        if self._handed:
            self._handed = []
        if self._awake:
            self._awake = set()
        if raised:
            self.interrupts += len(raised)
            self._polling += raised
            self._raised = []
        if has_inbox:
            end = self._handle_inbox(end)
        if self._polling:
            end = self._poll(end)
        if process is not None:
            end = process.run(end)
        for queue in self.burst_queues:
            queue.send_early(end)
        return end - start

    def _announced(self, now: int) -> bool:
        """Let the monitor deliver a coalesced interrupt when the guest executes HLT; True if there is one."""
        for vnic in self.vnics:
            vnic.announce(now)
        return bool(self._raised)

    def _handle_inbox(self, start: int) -> int:
        """Let the processes of this vCPU handle the packets in its inbox, up to the budget; returns the end."""
        end, budget = start, self._budget
        while budget and (taken := self._inbox.take(budget, end)):
            for train in taken:
                budget -= train.count
                stream = train.flow
                end = stream.handle(train, end)
        return end

    def _poll(self, start: int) -> int:
        """NAPI poll: take a batch off a ring, through the stack into sockets, and let the processes handle it; returns the end."""
        costs = self.costs
        stack = costs.guest_rx_packet
        vnic = self._polled = self._polling.pop(0)
        budget = vnic.batch(self._budget)
        end = start + vnic.reclaim(start) * costs.guest_tx_completion
        count = octets = 0
        own: list[Train[Sender]] = []
        for train in vnic.take(budget, start):
            flow = train.flow
            count += train.count
            vcpu = flow.vcpu
            if vcpu is not None:
                if flow.round_trip is not None:
                    flow.round_trip.off_ring(train.ready, vnic.raised, start)
                if vcpu is self:
                    own.append(train)
                else:
                    vcpu.ipi_sender = self
                    self.post_to(vcpu, train.restamped(end + stack, stack))
                end += train.count * stack
                continue
            self.came += train.count
            size = flow.size
            end += train.count * stack
            room = (self._socket_buffer - octets) // (size + self._socket_overhead)
            if train.count > room:
                self.socket_dropped += train.count - room
                if not room:
                    continue
                train = train.split(room)
            octets += train.count * (size + self._socket_overhead)
            self._in_socket.append((train, self._read_ps + costs.guest_copy(size, far=vnic.is_far)))
        for train in own:
            self.came += train.count * train.frames
            flow = train.flow
            end = flow.handle(train, end)
        if count == budget:
            self._polling.append(vnic)
        else:
            self._drained = vnic
        reading = 0
        for train, read in self._in_socket:
            reading += train.count * read
        self._reading = reading
        return end + reading

    def end(self, now: int) -> None:
        if self._in_socket:
            at = now - self._reading
            for train, read in self._in_socket:
                self._count_reads(train, at, read)
                at += train.count * read
            self._in_socket.clear()
        if self.work is not None:
            self.work.finish(now)
        for queue in self.burst_queues:
            queue.send(now)
        drained, self._drained = self._drained, None
        if self._polled is not None:
            self._polled.handled(now, drained=drained is not None)
            self._polled = None
        if drained is not None:
            drained.unmask(now)

    def cut(self, now: int, left: int) -> None:
        """Handle preemption: account for the reads done by now, and take back the packets not yet posted."""
        handed, self._handed = self._handed, []
        targets: list[PacketSink[Any]] = []
        for target, _ in handed:
            if target not in targets:
                targets.append(target)
        for target in targets:
            mine = [train for other, train in handed if other is target]
            for train in target.cancel(mine, now):
                self._held_back.append((target, train))
        self._cut_at = now
        for queue in self.burst_queues:
            queue.send(now)
        socket = self._in_socket
        while socket and left < self._reading:
            train, read = socket[0]
            done = (self._reading - left) // read
            if not done:
                break
            if done < train.count:
                train = train.split(done)
            else:
                socket.pop(0)
            self._count_reads(train, now + left - self._reading, read)
            self._reading -= train.count * read

    def resume(self, start: int) -> None:
        """Resume a preempted burst: post the packets that were held back, as much later."""
        held, self._held_back = self._held_back, []
        for target, train in held:
            train.ready += start - self._cut_at
            self.post_to(target, train)
        for queue in self.burst_queues:
            queue.send_early()

    def wakes(self, process: object) -> bool:
        """True for the first time that a process is woken in a burst."""
        if process in self._awake:
            return False
        self._awake.add(process)
        return True

    def count_read(self, train: Train[InboundStream], start: int, end: int) -> None:
        """Count packets of a connection that a process reads between ``start`` and ``end``."""
        stream = train.flow
        totals = stream.totals
        frames = train.count * train.frames
        totals.delivered += frames
        self.read += frames
        if train.count > 1:
            each = (end - start) // train.count
            totals.latency.add(start + each - train.arrived, each - train.gap, frames)
        else:
            totals.latency.add(end - train.arrived, -train.gap, frames)

    def _count_reads(self, train: Train[Sender], start: int, read: int) -> None:
        """Count a train that the process reads, one packet after another, from ``start``."""
        sender = train.flow
        flow = sender.totals
        count = train.count
        newest = self._newest
        if train.arrived < newest.get(sender, 0):
            raise InvariantError(
                f"a packet that arrived at {train.arrived} ps is read after one that arrived at {newest[sender]} ps",
                f"{self.name}, {flow.name}",
                start,
            )
        newest[sender] = train.arrived
        flow.delivered += count
        flow.octets += count * sender.size
        self.read += count
        if train.timestamps is None:
            flow.latency.add(start + read - train.arrived, read - train.gap, count)
        else:
            flow.latency.add_each([start + read * i - arrived for i, arrived in enumerate(train.timestamps, 1)])

    def in_socket(self) -> int:
        """Return the number of frames in socket buffers that processes have not read."""
        waiting = sum(train.count * train.frames for train in self._inbox.trains())
        return waiting + sum(train.count for train, _ in self._in_socket)

    def coming(self, now: int) -> int:
        """Return the number of frames in the inbox whose instants lie ahead; a preempted poster takes them back."""
        return sum(count * train.frames for train, count in self._inbox.coming(now))

    def has_work(self, now: int) -> bool:
        if self._raised or self._polling or self._ticks or self._processes or self._inbox_waits(now):
            return True
        if self.work is None:
            return False
        self.work.settle(now)
        return self.work.ring.held > 0

    def rest(self, now: int) -> None:
        self.halted = True
        for vnic in self.vnics:
            vnic.guest_halts(now)
        for queue in self.halt_queues:
            queue.guest_halts(now)
        self._await_inbox()
        self._await_work()

    def _await_work(self) -> None:
        due = self.work.upcoming() if self.work is not None else None
        if due is not None:
            self._work_timer.arm(due)

    def _work_comes(self, now: int) -> None:
        self._scheduler.wake(self, now, self.last)
