"""A vCPU and its guest: interrupts, softirqs with NAPI and GRO, timer ticks, network stack, processes.

A burst of the guest is one batch: exit and interrupt, a softirq that polls its rings, then processes. All times of a
burst are known at its start. An interrupt within a burst is taken at once: handler and softirq run first, and the rest
of the burst is delayed by their time (docs/design/guest.md). A process on another vCPU gets its packets through that
vCPU's inbox.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from hostsim.config.guest import GuestSpec
from hostsim.engine.arrivals import ServiceTimes
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Ring, Stream, Train
from hostsim.model.contract import (
    UNBOUNDED,
    GuestProcess,
    GuestRing,
    InboundStream,
    InterruptTarget,
    PacketSink,
    Sender,
)
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.pcpu import Pcpu, WorldState
from hostsim.model.guest.socket import DatagramSocket
from hostsim.model.services import Services
from hostsim.model.traffic.cpu_work import CpuWork

__all__ = ["DatagramInbox", "Inbox", "NetworkSoftirq", "Postings", "Ticks", "Vcpu", "joined"]

MOST_OCTETS: Final = 65535
"""Largest packet after GRO, in bytes: the length field of IPv4."""
MOST_HELD: Final = 8
"""Largest number of connections whose packets grow simultaneously; frames of others are passed on separately (Linux
``MAX_GRO_SKBS``).
"""


def joined(batch: list[Train[Sender]]) -> tuple[list[Train[Sender]], int]:
    """Join the frames of a poll (GRO); returns the packets, and the number of frames appended to others.

    Only full segments are joined, and not packets of LRO. A packet is complete at the end of the poll, or when it is
    full. Its frames count as equally spaced.
    """
    packets: list[Train[Sender]] = []
    growing: dict[Sender, Train[Sender]] = {}
    saved = 0
    for train in batch:
        sender = train.stream
        packet = growing.get(sender)
        if not sender.is_full or train.frames != 1 or (packet is None and len(growing) == MOST_HELD):
            packets.append(train)
            continue
        most = max(1, MOST_OCTETS // (sender.size + sender.headers))
        count, arrived, gap = train.count, train.arrived, train.gap
        if train.timestamps is not None and count > 1:
            gap = (train.timestamps[-1] - arrived) // (count - 1)
        while count:
            if packet is None or packet.frames == most:
                packet = growing[sender] = Train(sender, 1, train.ready, 0, arrived, 0, None, 0)
                packets.append(packet)
                saved -= 1
            frames = min(count, most - packet.frames)
            packet.frames += frames
            saved += frames
            count -= frames
            arrived += frames * gap
            if packet.frames > 1:
                packet.gap = (arrived - gap - packet.arrived) // (packet.frames - 1)
    return packets, saved


class Ticks:
    """Timer ticks and housekeeping of a guest on one vCPU.

    The tick of a periodic kernel wakes it from a halt. Ticks that find the vCPU without a PCPU are taken later, one by
    one, as a virtual timer catches up. Ticks of a tickless kernel are counted over its running time, and take no event.

    Args:
        clock: clock of the host.
        guest: spec of its kernel.
        costs: cost table of the host.
        wake: called with the current time when a tick or housekeeping is due.

    Attributes:
        is_due: True if ticks or housekeeping are due.
    """

    def __init__(self, clock: Clock, guest: GuestSpec, costs: CostTable, wake: Callable[[int], None]) -> None:
        self._period, self._is_tickless, self._wake = guest.timer_period, guest.tickless, wake
        self._housekeeping_period = guest.housekeeping_period or 0
        self._tick_ps, self._housekeeping_ps = costs.guest_timer_tick, costs.guest_housekeeping
        self._timer, self._housekeeping_timer = Timer(clock, self._tick), Timer(clock, self._housekeep)
        self._ticks = self._phase = 0
        self._is_to_keep_house = self.is_due = False

    def start(self, phase: int) -> None:
        """Start both timers at a phase in picoseconds."""
        if self._period:
            self._phase = phase % self._period
            if not self._is_tickless:
                self._timer.arm(self._phase)
        if self._housekeeping_period:
            self._housekeeping_timer.arm(phase % self._housekeeping_period)

    def take(self) -> int:
        """Take all due ticks and housekeeping; returns the cost in picoseconds."""
        cost = self._ticks * self._tick_ps
        if self._is_to_keep_house:
            cost += self._housekeeping_ps
        self._ticks = 0
        self._is_to_keep_house = self.is_due = False
        return cost

    def until(self, now: int) -> int:
        """Return the time from ``now`` to the next tick of a running guest."""
        period = self._period
        return period - (now - self._phase) % period if period else UNBOUNDED

    def passed(self, since: int, now: int) -> int:
        """Return the cost of the ticks of a tickless guest that has run for this time."""
        if not self._is_tickless or since > now:  # a burst that is preempted before its start has run for no time
            return 0
        phase, period = self._phase, self._period
        return ((now - phase) // period - (since - phase) // period) * self._tick_ps

    def _tick(self, now: int) -> None:
        self._timer.arm(now + self._period)
        self._ticks += 1
        self.is_due = True
        self._wake(now)

    def _housekeep(self, now: int) -> None:
        self._housekeeping_timer.arm(now + self._housekeeping_period)
        self._is_to_keep_house = self.is_due = True
        self._wake(now)


class NetworkSoftirq:
    """The network softirq on one vCPU.

    A driver polls its ring until it is empty, and then enables interrupts. A softirq that has used its budget of
    packets or of time leaves the rest to a thread, ``ksoftirqd``, which shares the vCPU with processes, in time slices,
    until all rings are empty. A process that has slept during its turn is owed time. It preempts the thread after the
    round in which the thread has woken it. In kernels whose softirqs do not wait for the thread, a turn of processes
    ends with the next tick, or with the first system call that reads a datagram, since it enables bottom halves: a
    softirq with a full budget follows.

    A process that reads datagrams runs on the vCPU whose softirqs receive them, until it has to wait for it: for the
    thread, or with a full socket for longer than a turn. Then it moves to an idle vCPU of the guest and stays there, as
    Linux wakes a process where it last ran.

    Attributes:
        polling: rings that drivers poll with masked interrupts.
        paused_until: end of the turn of processes.
        received: packets for processes of this vCPU that are not handled yet.
        socket: datagram sockets that it fills.
    """

    def __init__(
        self, vcpu: Vcpu, costs: CostTable, guest: GuestSpec, ticks: Ticks, socket: DatagramSocket, read_ps: int
    ) -> None:
        """Create the softirq of a vCPU.

        Args:
            vcpu: the vCPU.
            costs: cost table of the host.
            guest: spec of the guest.
            ticks: timer ticks of the vCPU.
            socket: datagram sockets of the vCPU.
            read_ps: time of the process for a datagram without its copy, in picoseconds.
        """
        self._vcpu, self._costs, self._ticks = vcpu, costs, ticks
        self._weight, self._read_ps = guest.napi_budget, read_ps
        self._budget = guest.netdev_budget * guest.softirq_restarts
        self._time = guest.netdev_time * guest.softirq_restarts
        self._round, self._round_time = guest.netdev_budget, guest.netdev_time
        if guest.softirq_time is not None:
            self._time = min(self._time, guest.softirq_time)
        self._waits, self._slice, self._pause = guest.softirqs_wait, guest.softirq_slice, guest.softirq_pause
        self._left = self._deadline = 0
        self._goes_on, self._is_done = False, True
        self._reader, self._caught_up = vcpu, 0
        self.polling: list[GuestRing] = []
        self.paused_until = 0
        self.received: list[Train[Sender]] = []
        self.socket = socket

    def may_poll(self, now: int, *, raised: bool) -> bool:
        """True if rings may be polled.

        Either processes have had their turn, or an interrupt was raised and softirqs do not wait for the thread.
        """
        return now >= self.paused_until or (raised and (self._is_done or not self._waits))

    def poll_on(self, vnic: GuestRing) -> None:
        """Poll a ring again in the same softirq, as packets arrived before the end of its last poll.

        The softirq continues with the rest of its budget.
        """
        self.polling.append(vnic)
        self._goes_on = self._is_done

    def run(self, start: int) -> int:
        """Poll all rings from ``start`` on, round robin, up to the budget; returns the end."""
        polling, end = self.polling, start
        sleeps, self.paused_until = start < self.paused_until, 0
        if self.socket.waiting is None:
            self._caught_up = start
        if self._goes_on:
            self._goes_on = False
        elif self._is_done or not self._waits:
            self._left, self._deadline = self._budget, start + self._time
        elif sleeps:
            self._left, self._deadline = self._round, start + min(self._slice, self._round_time)
        else:
            self._left, self._deadline = UNBOUNDED, start + self._slice
        while polling:
            if self._left <= 0 or end >= self._deadline:
                self._is_done = False
                if self.socket.waiting is not None:
                    self._move_reader()
                self.paused_until = end + self._turn(end)
                return end
            vnic = polling.pop(0)
            allowed = vnic.batch(min(self._weight, self._left))
            end += vnic.reclaim(end) * self._costs.guest_tx_completion
            left, end = self._poll(vnic, allowed, end)
            self._left -= allowed - left
            vnic.handled(end, drained=left > 0)
            if left:
                vnic.unmask(end)
            else:
                polling.append(vnic)
        self._is_done = True
        return end

    def _move_reader(self) -> None:
        """Move the process that reads datagrams to an idle vCPU, if any, as softirqs keep this one busy."""
        here = self._vcpu
        if self._reader is here:
            self._reader = next((vcpu for vcpu in here.siblings if vcpu.is_idle()), here)

    def _turn(self, now: int) -> int:
        """Return the longest turn of processes from ``now`` on."""
        if self._waits:
            return self._pause
        turn, tick, call = self._pause, self._ticks.until(now), self.socket.call_ps()
        if tick < turn:
            turn = tick
        return call if call is not None and call < turn else turn

    def _poll(self, vnic: GuestRing, budget: int, start: int) -> tuple[int, int]:
        """Take packets from a ring, with those that arrive meanwhile, and pass them through the stack.

        Returns:
            The remaining budget, and the end.
        """
        end = start
        if not vnic.gro:
            while budget and (taken := vnic.take(budget, end)):
                for train in taken:
                    budget -= train.count
                    end = self._receive(train, vnic, end, start)
                if vnic.is_drained():
                    break
            return budget, end
        batch: list[Train[Sender]] = []
        frame = self._costs.guest_gro_frame
        while budget and (taken := vnic.take(budget, end)):
            for train in taken:
                budget -= train.count
                end += train.count * frame
            batch += taken
        packets, saved = joined(batch)
        end = start + saved * frame
        for train in packets:
            end = self._receive(train, vnic, end, start)
        return budget, end

    def _admit_each(self, train: Train[Sender], copied: int) -> int:
        """Put packets into the socket, each with its own reading time; returns the number of dropped ones.

        Args:
            train: the packets.
            copied: additional time of each for its copy, in picoseconds.
        """
        reads = train.stream.reads
        assert reads is not None
        while True:
            packet = train.split(1) if train.count > 1 else train
            if self.socket.admit(packet, copied + reads.take()):
                return packet.count if packet is train else 1 + train.count
            if packet is train:
                return 0

    def _receive(self, train: Train[Sender], vnic: GuestRing, at: int, taken: int) -> int:
        """Pass packets through the stack from ``at`` on, to a socket or a process; returns the end.

        Args:
            train: the packets.
            vnic: ring that they were on.
            at: start of the processing.
            taken: start of the poll that took them.
        """
        here, costs = self._vcpu, self._costs
        stream = train.stream
        stack = costs.guest_rx_packet if stream.path_ps is None else stream.path_ps
        end = at + train.count * stack
        vcpu = stream.vcpu
        if vcpu is None:
            copied = costs.copied(stream.size, vnic.wait_ps + vnic.sum_ps)
            read = copied + (self._read_ps if stream.read_ps is None else stream.read_ps)
            reader = self._reader
            if reader is not here:
                reader.ipi_sender = here
                reader.datagrams.expect(stream, read, copied)
                train.restamp(at + stack, stack)
                here.post_to(reader.datagrams, train)
                return end
            here.came += train.count
            dropped = self.socket.admit(train, read) if stream.reads is None else self._admit_each(train, copied)
            if dropped:
                here.socket_dropped += dropped
                stream.totals.lost_socket += dropped
                if at - self._caught_up > self._pause:
                    self._move_reader()
            return end
        if stream.round_trip is not None:
            stream.round_trip.off_ring(train.ready, vnic.raised, taken)
        if vcpu is not here:
            assert isinstance(vcpu, Vcpu)
            vcpu.ipi_sender = here
            train.restamp(at + stack, stack)
            here.post_to(vcpu.inbox, train)
            return end
        here.came += train.count * train.frames
        if stream.in_softirq:
            return stream.handle(train, end)
        self.received.append(train)
        return end


class Inbox(PacketSink[InboundStream]):
    """The inbox of a vCPU for packets from other vCPUs.

    Attributes:
        ring: packets in it, or on their way.
    """

    def __init__(self, vcpu: Vcpu) -> None:
        self._vcpu = vcpu
        self.ring: Ring[InboundStream] = Ring(UNBOUNDED)  # TCP windows limit it

    def post(self, train: Train[InboundStream]) -> None:
        """Post packets, or a turn to send, at times that may be in the future."""
        self._vcpu.came += train.count * train.frames
        self.ring.push(train)
        self._vcpu.posted()

    def cancel(self, trains: Iterable[Train[InboundStream]], now: int) -> list[Train[InboundStream]]:
        """Remove and return the packets that have not reached the inbox by ``now``."""
        back = self.ring.recall(trains, now)
        for train in back:
            self._vcpu.came -= train.count * train.frames
        return back

    def waits(self, now: int) -> bool:
        """True if a process has packets to handle."""
        ring = self.ring
        if ring.pushed != ring.taken:
            ring.settle(now)
        return ring.held > 0

    def frames(self) -> int:
        """Return the number of frames that wait or are on their way."""
        frames, ring = 0, self.ring
        if ring.pushed != ring.taken:
            for train in ring.trains():
                frames += train.count * train.frames
        return frames

    def coming(self, now: int) -> int:
        """Return the number of frames whose times are in the future; a preempted poster takes them back."""
        frames, ring = 0, self.ring
        if ring.pushed != ring.taken:
            for train, count in ring.coming(now):
                frames += count * train.frames
        return frames


class DatagramInbox(PacketSink[Sender]):
    """The buffers of datagram sockets with a reader on this vCPU, which softirqs of another one fill.

    The capacity is that for the largest datagram so far. A datagram leaves the buffer when the reader begins with its
    batch, which is limited by the budget.

    Attributes:
        ring: datagrams in the buffers, or on their way.
    """

    def __init__(self, vcpu: Vcpu, socket: DatagramSocket, budget: int) -> None:
        """Create the inbox of a vCPU.

        Args:
            vcpu: the vCPU.
            socket: sockets of the vCPU, which count the reads.
            budget: largest number of datagrams read in a burst.
        """
        self._vcpu, self._socket, self._budget = vcpu, socket, budget
        self.ring: Ring[Sender] = Ring(UNBOUNDED)
        self.ring.on_drop = self._dropped
        self._read_ps, self._copied, self._sleeps = 0, 0, True

    def expect(self, flow: Sender, read: int, copied: int) -> None:
        """Expect datagrams of a flow, each read in ``read`` picoseconds, of which ``copied`` are for its copy."""
        self._read_ps, self._copied = read, copied
        room = self._socket.room(flow)
        if room < self.ring.capacity:
            self.ring.capacity = room

    def post(self, train: Train[Sender]) -> None:
        """Post datagrams, at times that may be in the future."""
        self._vcpu.came += train.count
        self.ring.push(train)
        self._vcpu.posted()

    def cancel(self, trains: Iterable[Train[Sender]], now: int) -> list[Train[Sender]]:
        """Remove and return the datagrams that have not reached their socket by ``now``."""
        back = self.ring.recall(trains, now)
        for train in back:
            self._vcpu.came -= train.count
        return back

    def waits(self, now: int) -> bool:
        """True if there are datagrams to read."""
        ring = self.ring
        if ring.pushed != ring.taken + ring.dropped:
            ring.settle(now)
        return ring.held > 0

    def read(self, start: int) -> int:
        """Read from ``start`` on, up to the budget; returns the end. A reader without datagrams sleeps."""
        ring, budget, end, looked = self.ring, self._budget, start, -1
        read_ps = self._read_ps
        while budget and looked < end:
            looked = end
            while budget and (train := ring.take_next(budget, looked)) is not None:
                if self._sleeps:
                    self._sleeps = False
                    end += self._socket.wake_ps
                budget -= train.count
                reads = train.stream.reads
                if reads is not None:
                    end = self._read_each(train, end, reads)
                    continue
                self._socket.count(train, end, read_ps)
                self._vcpu.read += train.count
                end += train.count * read_ps
        if budget:
            self._sleeps = True
        return end

    def _read_each(self, train: Train[Sender], start: int, reads: ServiceTimes) -> int:
        """Read packets from ``start`` on, each with its own time; returns the end."""
        end = start
        while True:
            packet = train.split(1) if train.count > 1 else train
            read_ps = self._copied + reads.take()
            self._socket.count(packet, end, read_ps)
            self._vcpu.read += 1
            end += read_ps
            if packet is train:
                return end

    def _dropped(self, train: Train[Sender]) -> None:
        self._vcpu.socket_dropped += train.count
        train.stream.totals.lost_socket += train.count


S = TypeVar("S", bound=Stream)
Posted: TypeAlias = tuple[PacketSink[Any], Train[Any]]


class Postings:
    """The packets that the burst of a vCPU has posted, and those held back since it was preempted."""

    def __init__(self) -> None:
        self._sink: PacketSink[Any] | None = None
        """First sink of this burst; usually the only one."""
        self._posted: list[Train[Any]] = []
        self._to_others: list[Posted] = []
        self._held_back: list[Posted] = []

    def forget(self) -> None:
        """Begin another burst; packets of the last one remain posted."""
        self._sink = None
        if self._to_others:
            self._to_others = []

    def post(self, target: PacketSink[S], train: Train[S]) -> None:
        """Post packets to a sink, at times that may be in the future."""
        sink = self._sink
        if sink is target:
            self._posted.append(train)
        elif sink is None:
            self._sink = target
            self._posted = [train]
        else:
            self._to_others.append((target, train))
        target.post(train)

    def take_back(self, now: int) -> None:
        """Take back packets posted for later than ``now``, and hold them back."""
        sink, others = self._sink, self._to_others
        if sink is not None:
            self._sink = None
            self._cancel(sink, self._posted, now)
        if others:
            self._to_others = []
        while others:
            target = others[0][0]
            self._cancel(target, [train for other, train in others if other is target], now)
            others = [posted for posted in others if posted[0] is not target]

    def _cancel(self, target: PacketSink[Any], trains: list[Train[Any]], now: int) -> None:
        for train in target.cancel(trains, now):
            self._held_back.append((target, train))

    def post_again(self, later: int) -> None:
        """Post the packets that were held back, ``later`` picoseconds after their original times."""
        held = self._held_back
        if not held:
            return
        self._held_back = []
        for target, train in held:
            train.ready += later
            self.post(target, train)


_SLEEPING: Final = WorldState.SLEEPING
_RUNNING: Final = WorldState.RUNNING


class Vcpu(InterruptTarget):
    """A virtual CPU with its guest.

    Attributes:
        halted: True while the guest executes HLT; only an interrupt or its timer resumes it.
        interrupts: number of virtual interrupts from vNICs.
        came: number of frames for processes of this vCPU that have passed the stack or are in it.
        socket_dropped: number of these dropped at a full socket buffer.
        read: number of these read by the application.
        pending_ps: time to charge with the next burst, in picoseconds.
        ipi_sender: last vCPU that posted to the inbox, which pays for the interprocessor interrupt.
        inbox: packets from other vCPUs for its processes.
        datagrams: datagrams from another vCPU for a reader that has moved here.
        siblings: all vCPUs of its VM.
        vnics: receive queues whose interrupts it takes.
        costs: cost table of the host.
        work: additional CPU work of the guest, with lower priority than all other processes; may be None.
    """

    def __init__(
        self,
        services: Services,
        name: str,
        last: Pcpu,
        guest: GuestSpec,
        read_ps: int,
        shares: int,
    ) -> None:
        super().__init__("vcpu", name, system=False, node=last.node, last=last, shares=shares)
        clock, costs = services.clock, services.costs
        self._scheduler, self.costs = services.scheduler, costs
        self._budget = guest.napi_budget
        self._ticks = Ticks(clock, guest, costs, self._timer_due)
        self._socket = DatagramSocket(name, costs.guest_process_wake, guest.socket_buffer, guest.socket_overhead)
        self._softirq = NetworkSoftirq(self, costs, guest, self._ticks, self._socket, read_ps)
        self._work_timer = Timer(clock, self._timer_due)
        self._attend_timer = Timer(clock, self._attend)
        self._raised: list[GuestRing] = []
        self.inbox = Inbox(self)
        self.datagrams = DatagramInbox(self, self._socket, guest.napi_budget)
        self.siblings: Sequence[Vcpu] = ()
        self._inbox_timer = Timer(clock, self._inbox_due)
        self.ipi_sender: Vcpu | None = None
        self._postings = Postings()
        self._softirq_end = self._cut_at = self._work_ps = self._since = 0
        self._awake: set[object] = set()
        self._processes: deque[GuestProcess] = deque()
        self.halted, self._attends = True, False
        self.interrupts = self.came = self.socket_dropped = self.read = self.pending_ps = 0
        self.vnics: list[GuestRing] = []
        self.halt_queues = []  # annotated in the base only: in compiled code, the garbage collector would visit a field with two declarations twice
        self.burst_queues = []
        self.work: CpuWork | None = None

    def boot(self, phase: int) -> None:
        """Boot the guest: start its timers at a ``phase`` in picoseconds, and its CPU work."""
        self._ticks.start(phase)
        self._await_work()

    def interrupt(self, now: int, vnic: GuestRing) -> None:
        """Take a virtual interrupt of a vNIC with packets.

        If the packets arrived within the last poll, poll on without an interrupt.
        """
        if vnic.is_polled_on:
            vnic.is_polled_on = False
            self._softirq.poll_on(vnic)
        else:
            self._raised.append(vnic)
        self._due(now)

    def start(self, process: GuestProcess, now: int) -> None:
        """Make a process runnable, in its own burst."""
        self._processes.append(process)
        self._due(now, self.last)

    def stop_spinning(self, now: int) -> None:
        """End the burst of a process that waits in a loop, after the interrupt in it."""
        if self.state is _RUNNING and self.last.running is self and not self.last.turning:
            self.last.finish(max(now, self._softirq_end))
        self.left = min(self.left, 1)

    def _due(self, now: int, source: Pcpu | None = None) -> None:
        """Handle arrivals within the current burst, or in one that the scheduler starts."""
        if self.state is _RUNNING:
            self._attend(now)
        else:
            self._scheduler.wake(self, now, source)

    def _timer_due(self, now: int) -> None:
        self._scheduler.wake(self, now, self.last)  # a running vCPU handles it anyway

    def posted(self) -> None:
        """Expect packets, which were put into the inbox."""
        if self._work_ps or self.state is _SLEEPING:
            self._await_inbox()

    def _await_inbox(self) -> None:
        first = self.inbox.ring.first()
        if first is not None:
            self._inbox_timer.arm_by(first)
        first = self.datagrams.ring.first()
        if first is not None:
            self._inbox_timer.arm_by(first)

    def _inbox_due(self, now: int) -> None:
        works = self._work_ps and self.state is _RUNNING
        if not works and self.state is not _SLEEPING:
            return
        if self.ipi_sender is not None:
            self.ipi_sender.pending_ps += self.costs.guest_ipi
        self.pending_ps += self.costs.guest_interrupt
        if works:
            self.pending_ps += self.costs.virtual_interrupt
            self._attend(now)
        else:
            self._scheduler.wake(self, now)

    def post_to(self, target: PacketSink[S], train: Train[S]) -> None:
        """Post packets of this burst to a sink; they are cancelled if the burst is preempted."""
        self._postings.post(target, train)

    # --- as a world

    def begin(self, start: int) -> int | None:
        costs, work, softirq = self.costs, self.work, self._softirq
        end = start
        raised = self._raised
        has_inbox = self.inbox.waits(start) or self.datagrams.waits(start)
        process = None
        polls = softirq.may_poll(start, raised=bool(raised))
        if not (raised or (polls and softirq.polling) or softirq.received or self._ticks.is_due or has_inbox):
            if self._processes:
                process = self._processes.popleft()
            elif work is not None and (burst := work.start(start)) is not None:
                self._work_ps = burst
            elif softirq.polling or self._announced(start):
                polls = True
            else:
                return None
        if self.halted:
            self.halted = False
            end += costs.vcpu_wake
        elif raised:
            end += costs.virtual_interrupt
        self._postings.forget()
        self._awake, self._since = self._awake and set(), start
        self._softirq_end = end = self._interrupts(end, polls=polls)
        if softirq.polling and work is not None and not self._work_ps and (burst := work.start(start)) is not None:
            self._work_ps = burst  # work is a process, to which the softirq yields
        if has_inbox:
            end = self._handle_inbox(end)
        if softirq.received:
            end = self._handle_received(end)
        if process is not None:
            end = process.run(end)
        end += self._socket.reading + self._work_ps
        if self._work_ps:
            self._await_inbox()
        for queue in self.burst_queues:
            queue.send_early(end)
        return end - start

    def _attend(self, now: int) -> None:
        """Handle arrivals within a burst, which becomes longer.

        Handler and softirq run first, and all processes before CPU work.
        """
        pcpu = self.last
        if self._attends or self.state is not _RUNNING or pcpu.running is not self or pcpu.turning:
            return
        if now < self._softirq_end:
            self._attend_timer.arm_by(self._softirq_end)
            return
        left = pcpu.remaining(now)
        if left <= 0:
            return  # the next burst begins at this time
        raised, works = bool(self._raised), left <= self._work_ps
        polls = self._softirq.may_poll(now, raised=raised)
        if not works and not (polls and (raised or self._softirq.polling)):
            self._await_turn(now + left - self._work_ps)
            return
        self._attends = True
        self.cut(now, left)
        reading = self._socket.reading
        self._softirq_end = end = self._interrupts(now + self.costs.virtual_interrupt * raised, polls=polls)
        if works:
            self._work_ps = left
            self._awake = set()
            end = self._handle_inbox(end)
            end = self._handle_received(end)
            while self._processes:
                end = self._processes.popleft().run(end)
            self._await_inbox()
        else:
            self._postings.post_again(end - self._cut_at)
            self._await_turn(end + left - self._work_ps)
        pcpu.extend(end - now + self._socket.reading - reading)
        for queue in self.burst_queues:
            queue.send_early()
        self._attends = False

    def _await_turn(self, at: int) -> None:
        """Handle arrivals again when CPU work would begin, or when the turn of processes ends."""
        if self._work_ps:
            self._attend_timer.arm_by(at)
        if self._softirq.polling:
            self._attend_timer.arm_by(self._softirq.paused_until)

    def _announced(self, now: int) -> bool:
        """Deliver coalesced interrupts when the guest executes HLT; True if there is one, or a ring to poll."""
        for vnic in self.vnics:
            vnic.announce(now)
        return bool(self._raised or self._softirq.polling)

    def _handle_inbox(self, start: int) -> int:
        """Handle the packets in the inbox of this vCPU by its processes, up to the budget; returns the end."""
        end, budget = start, self._budget
        inbox, looked = self.inbox.ring, -1
        while budget and looked < end:
            looked = end
            while budget and (train := inbox.take_next(budget, looked)) is not None:
                budget -= train.count
                stream = train.stream
                end = stream.handle(train, end)
        return self.datagrams.read(end)

    def _handle_received(self, start: int) -> int:
        """Handle the packets that softirqs have received for processes of this vCPU; returns the end."""
        received, end = self._softirq.received, start
        if received:
            self._softirq.received = []
        for train in received:
            stream = train.stream
            end = stream.handle(train, end)
        return end

    def _interrupts(self, start: int, *, polls: bool = True) -> int:
        """Run the handlers of raised interrupts, other due work, and then the softirq; returns the end."""
        end = start + self.pending_ps
        self.pending_ps = 0
        if self._ticks.is_due:
            end += self._ticks.take()
        raised, softirq = self._raised, self._softirq
        if raised:
            count = len(raised)
            end += count * self.costs.guest_interrupt
            self.interrupts += count
            polling = softirq.polling
            if polling:
                polling.extend(raised)
                self._raised = []
            else:
                softirq.polling, self._raised = raised, polling
        if softirq.polling:
            if polls:
                end = softirq.run(end)
            if softirq.polling:
                self._attend_timer.arm_by(softirq.paused_until)
        return end

    def end(self, now: int) -> None:
        if self._socket.waiting is not None:
            self.read += self._socket.read(now - self._work_ps)
        if self._work_ps:
            self._work_ps = 0
            assert self.work is not None
            self.work.finish(now)
        for queue in self.burst_queues:
            queue.send(now)
        self.pending_ps += self._ticks.passed(self._since, now)

    def cut(self, now: int, left: int) -> None:
        """Handle an interruption: count the reads done by now, and take back the packets not yet posted."""
        self._postings.take_back(now)
        self._cut_at = now
        for queue in self.burst_queues:
            queue.send(now)
        ahead = left - self._work_ps
        self.read += self._socket.read(now + min(ahead, 0), max(ahead, 0))
        self.pending_ps += self._ticks.passed(self._since, now)
        self._since = now

    def resume(self, start: int) -> None:
        """Resume a preempted burst: post the packets that were held back, delayed; then handle arrivals."""
        if self._softirq_end > self._cut_at:
            self._softirq_end += start - self._cut_at
        self._postings.post_again(start - self._cut_at)
        for queue in self.burst_queues:
            queue.send_early()
        self._since = start
        if self._raised or self._softirq.polling or self._work_ps:
            self._attend_timer.arm(max(start, self._softirq_end))

    def wakes(self, process: object) -> bool:
        """True for the first wake-up of a process in a burst."""
        if process in self._awake:
            return False
        self._awake.add(process)
        return True

    def count_read(self, train: Train[InboundStream], start: int, end: int) -> None:
        """Count packets of a connection that a process reads between ``start`` and ``end``."""
        stream = train.stream
        totals = stream.totals
        frames = train.count * train.frames
        totals.delivered += frames
        self.read += frames
        if train.count > 1:
            per_packet = (end - start) // train.count
            totals.latency.add(start + per_packet - train.arrived, per_packet - train.gap, frames)
        else:
            totals.latency.add(end - train.arrived, -train.gap, frames)

    def in_socket(self) -> int:
        """Return the number of frames in socket buffers that processes have not read."""
        waiting = self._socket.held() + self.inbox.frames() + self.datagrams.ring.count_inside()
        for train in self._softirq.received:
            waiting += train.count * train.frames
        return waiting

    def coming(self, now: int) -> int:
        """Return the number of frames in the inbox whose times are in the future."""
        return self.inbox.coming(now) + self.datagrams.ring.count_coming(now)

    def is_idle(self) -> bool:
        """True if the guest's scheduler would find this vCPU idle: it halts, and has no CPU work."""
        return self.state is _SLEEPING and self.work is None

    def has_work(self, now: int) -> bool:
        if (
            self._raised
            or self._softirq.polling
            or self._softirq.received
            or self._ticks.is_due
            or self._processes
            or self.inbox.waits(now)
            or self.datagrams.waits(now)
        ):
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
