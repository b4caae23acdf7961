"""A vCPU and its guest: virtual interrupts, softirqs with NAPI polling and GRO, timer ticks, the network stack, and processes.

A burst of the guest is one batch: exit and interrupt, a softirq that polls its rings, then processes. The instants of all that a burst does
are known when it begins. An interrupt in the midst of it is taken at once: handler and softirq go first, and what the burst had still
to do is done as much later (docs/design/guest.md). A process on another vCPU finds its packets in that vCPU's inbox (`hostsim.model.guest.socket`).
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
"""Bytes of a packet that it makes at most: the length field of IPv4."""
MOST_HELD: Final = 8
"""Connections whose packets grow at the same time; frames of others go on as they are (Linux ``MAX_GRO_SKBS``)."""


def joined(batch: list[Train[Sender]]) -> tuple[list[Train[Sender]], int]:
    """Join the frames of a poll; returns the packets, and the number of frames that were joined to one before them.

    Only full segments are joined, and not what LRO has made already. A packet is complete at the end of the poll, or when it is full.
    Its frames count as if they had come evenly.
    """
    packets: list[Train[Sender]] = []
    growing: dict[Sender, Train[Sender]] = {}
    saved = 0
    for train in batch:
        sender = train.flow
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
    """The timer ticks and the housekeeping of a guest on one vCPU.

    A periodic kernel's tick wakes it from a halt; one that finds the vCPU without a PCPU is taken later, each for itself, as a virtual
    timer makes up for them. A tickless kernel's ticks are counted over the time that it runs, and take no event.

    Args:
        clock: the host's.
        guest: its kernel.
        costs: cost table of the host.
        wake: called with the instant when something is due.

    Attributes:
        is_due: ticks or housekeeping wait to be taken.
    """

    def __init__(self, clock: Clock, guest: GuestSpec, costs: CostTable, wake: Callable[[int], None]) -> None:
        self._period, self._is_tickless, self._wake = guest.timer_period, guest.tickless, wake
        self._housekeeping_period = guest.housekeeping_period or 0
        self._tick_ps, self._housekeeping_ps = costs.guest_timer_tick, costs.guest_housekeeping
        self._timer, self._housekeeping_timer = Timer(clock, self._tick), Timer(clock, self._housekeep)
        self._ticks = self._phase = 0
        self._is_to_keep_house = self.is_due = False

    def start(self, phase: int) -> None:
        """Start both at a phase."""
        if self._period:
            self._phase = phase % self._period
            if not self._is_tickless:
                self._timer.arm(self._phase)
        if self._housekeeping_period:
            self._housekeeping_timer.arm(phase % self._housekeeping_period)

    def take(self) -> int:
        """Take what is due; returns its cost in picoseconds."""
        cost = self._ticks * self._tick_ps
        if self._is_to_keep_house:
            cost += self._housekeeping_ps
        self._ticks = 0
        self._is_to_keep_house = self.is_due = False
        return cost

    def until(self, now: int) -> int:
        """Return the time from ``now`` to the next tick of a guest that runs."""
        period = self._period
        return period - (now - self._phase) % period if period else UNBOUNDED

    def passed(self, since: int, now: int) -> int:
        """Return the cost of the ticks of a tickless guest that has run for this time."""
        if not self._is_tickless or since > now:  # a burst that is cut before it begins has run for no time
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

    A driver polls its ring until it is empty, and asks for interrupts again. A softirq that has used its budget of packets or of
    time leaves the rest to a thread, ``ksoftirqd``, which shares the vCPU with processes, slice by slice, until all rings are empty. A
    process that has slept in its turn is owed time, and preempts the thread when that has woken it: after a round.
    In kernels whose softirqs do not wait for the thread, a turn of processes ends with the next tick, or with the first system call that
    takes a datagram, since it enables bottom halves: a softirq with a full budget follows.

    A process that reads datagrams runs on the vCPU whose softirqs receive them, until it has to wait for it: for the thread, or behind a
    full socket for longer than a turn. Then an idle vCPU of the guest takes it over, where it stays, as Linux wakes a process where it ran last.

    Attributes:
        polling: rings that drivers poll, their interrupts being masked.
        paused_until: instant up to which processes have their turn.
        received: packets for processes of this vCPU, which they have not handled.
        socket: datagram sockets that it fills.
    """

    def __init__(
        self, vcpu: Vcpu, costs: CostTable, guest: GuestSpec, ticks: Ticks, socket: DatagramSocket, read_ps: int
    ) -> None:
        """Make one for a vCPU, whose process takes ``read_ps`` for a datagram, its copy apart."""
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
        """True when rings may be polled: processes have had their turn, or an interrupt has come and softirqs do not wait for the thread."""
        return now >= self.paused_until or (raised and (self._is_done or not self._waits))

    def poll_on(self, vnic: GuestRing) -> None:
        """Poll a ring again whose packets came before its last poll was done: in the same softirq, with what is left of its budget."""
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
        """Let the process that reads datagrams run on an idle vCPU from now on, if there is one: it waits for this one, which softirqs keep busy."""
        here = self._vcpu
        if self._reader is here:
            self._reader = next((vcpu for vcpu in here.siblings if vcpu.is_idle()), here)

    def _turn(self, now: int) -> int:
        """Return the time that processes have from ``now`` on, if they need as much."""
        if self._waits:
            return self._pause
        turn, tick, call = self._pause, self._ticks.until(now), self.socket.call_ps()
        if tick < turn:
            turn = tick
        return call if call is not None and call < turn else turn

    def _poll(self, vnic: GuestRing, budget: int, start: int) -> tuple[int, int]:
        """Take packets off a ring, and those that come meanwhile, and put them through the stack; returns what is left of the budget, and the end."""
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
        """Put packets into the socket, each with a reading time of its own beside ``copied`` for its copy; returns the number that found no room."""
        reads = train.flow.reads
        assert reads is not None
        while True:
            packet = train.split(1) if train.count > 1 else train
            if self.socket.admit(packet, copied + reads.take()):
                return packet.count if packet is train else 1 + train.count
            if packet is train:
                return 0

    def _receive(self, train: Train[Sender], vnic: GuestRing, at: int, taken: int) -> int:
        """Put packets, taken off a ring at ``taken``, through the stack from ``at`` on, to a socket or a process; returns the end."""
        here, costs = self._vcpu, self._costs
        flow = train.flow
        stack = costs.guest_rx_packet if flow.path_ps is None else flow.path_ps
        end = at + train.count * stack
        vcpu = flow.vcpu
        if vcpu is None:
            copied = costs.copied(flow.size, vnic.wait_ps + vnic.sum_ps)
            read = copied + (self._read_ps if flow.read_ps is None else flow.read_ps)
            reader = self._reader
            if reader is not here:
                reader.ipi_sender = here
                reader.datagrams.expect(flow, read, copied)
                train.restamp(at + stack, stack)
                here.post_to(reader.datagrams, train)
                return end
            here.came += train.count
            dropped = self.socket.admit(train, read) if flow.reads is None else self._admit_each(train, copied)
            if dropped:
                here.socket_dropped += dropped
                flow.totals.lost_socket += dropped
                if at - self._caught_up > self._pause:
                    self._move_reader()
            return end
        if flow.round_trip is not None:
            flow.round_trip.off_ring(train.ready, vnic.raised, taken)
        if vcpu is not here:
            assert isinstance(vcpu, Vcpu)
            vcpu.ipi_sender = here
            train.restamp(at + stack, stack)
            here.post_to(vcpu.inbox, train)
            return end
        here.came += train.count * train.frames
        if flow.in_softirq:
            return flow.handle(train, end)
        self.received.append(train)
        return end


class Inbox(PacketSink[InboundStream]):
    """The inbox of a vCPU.

    Attributes:
        ring: what waits in it, or is on its way.
    """

    def __init__(self, vcpu: Vcpu) -> None:
        self._vcpu = vcpu
        self.ring: Ring[InboundStream] = Ring(UNBOUNDED)  # the windows of TCP bound it

    def post(self, train: Train[InboundStream]) -> None:
        """Post packets, or a turn to send, at instants that may lie ahead."""
        self._vcpu.came += train.count * train.frames
        self.ring.push(train)
        self._vcpu.posted()

    def cancel(self, trains: Iterable[Train[InboundStream]], now: int) -> list[Train[InboundStream]]:
        """Take back those of the packets that have not reached the inbox by ``now``."""
        back = self.ring.recall(trains, now)
        for train in back:
            self._vcpu.came -= train.count * train.frames
        return back

    def waits(self, now: int) -> bool:
        """True when there is something for a process."""
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
        """Return the number of frames whose instants lie ahead; a preempted poster takes them back."""
        frames, ring = 0, self.ring
        if ring.pushed != ring.taken:
            for train, count in ring.coming(now):
                frames += count * train.frames
        return frames


class DatagramInbox(PacketSink[Sender]):
    """The buffers of datagram sockets whose reader runs on this vCPU, and which the softirqs of another one fill.

    Room is as for the largest datagram that has come. A datagram leaves its room when the reader takes it in hand: with others, up to its budget.

    Attributes:
        ring: what waits in the buffers, or is on its way.
    """

    def __init__(self, vcpu: Vcpu, socket: DatagramSocket, budget: int) -> None:
        """Make the one of a vCPU, whose own ``socket`` counts what is read; ``budget`` datagrams are read in a burst at most."""
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
        """Post datagrams, at instants that may lie ahead."""
        self._vcpu.came += train.count
        self.ring.push(train)
        self._vcpu.posted()

    def cancel(self, trains: Iterable[Train[Sender]], now: int) -> list[Train[Sender]]:
        """Take back those of the datagrams that have not reached their socket by ``now``."""
        back = self.ring.recall(trains, now)
        for train in back:
            self._vcpu.came -= train.count
        return back

    def waits(self, now: int) -> bool:
        """True when there is something to read."""
        ring = self.ring
        if ring.pushed != ring.taken + ring.dropped:
            ring.settle(now)
        return ring.held > 0

    def read(self, start: int) -> int:
        """Read from ``start`` on, up to the budget; returns the end. A reader that has found nothing sleeps."""
        ring, budget, end, looked = self.ring, self._budget, start, -1
        each = self._read_ps
        while budget and looked < end:
            looked = end
            while budget and (train := ring.take_next(budget, looked)) is not None:
                if self._sleeps:
                    self._sleeps = False
                    end += self._socket.wake_ps
                budget -= train.count
                reads = train.flow.reads
                if reads is not None:
                    end = self._read_each(train, end, reads)
                    continue
                self._socket.count(train, end, each)
                self._vcpu.read += train.count
                end += train.count * each
        if budget:
            self._sleeps = True
        return end

    def _read_each(self, train: Train[Sender], start: int, reads: ServiceTimes) -> int:
        """Read packets from ``start`` on, each in a time of its own; returns the end."""
        end = start
        while True:
            packet = train.split(1) if train.count > 1 else train
            each = self._copied + reads.take()
            self._socket.count(packet, end, each)
            self._vcpu.read += 1
            end += each
            if packet is train:
                return end

    def _dropped(self, train: Train[Sender]) -> None:
        self._vcpu.socket_dropped += train.count
        train.flow.totals.lost_socket += train.count


S = TypeVar("S", bound=Stream)
Posted: TypeAlias = tuple[PacketSink[Any], Train[Any]]


class Postings:
    """The packets that the burst of a vCPU has posted, and those held back since it was cut short."""

    def __init__(self) -> None:
        self._sink: PacketSink[Any] | None = None
        """Whom this burst has posted to first; as a rule all of it is for one."""
        self._posted: list[Train[Any]] = []
        self._to_others: list[Posted] = []
        self._held_back: list[Posted] = []

    def forget(self) -> None:
        """Begin another burst: what the last one has posted stays posted."""
        self._sink = None
        if self._to_others:
            self._to_others = []

    def post(self, target: PacketSink[S], train: Train[S]) -> None:
        """Post packets to a sink, at instants that may lie ahead."""
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
        """Take back what is posted for later than ``now``, and hold it back."""
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
        """Post what was held back, ``later`` picoseconds later than it was to be."""
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
    """A virtual CPU with the guest that runs on it.

    Attributes:
        halted: the guest executes HLT; only an interrupt or its timer brings it back.
        interrupts: virtual interrupts taken from the vNICs.
        came: frames for the processes of this vCPU, through the stack or on their way through it.
        socket_dropped: of these, dropped at a full socket buffer.
        read: of these, read by the application.
        pending_ps: time to be charged with the next burst, in picoseconds.
        ipi_sender: the vCPU that posted to the inbox last; it pays for the interprocessor interrupt.
        inbox: where other vCPUs post packets for its processes.
        datagrams: where another vCPU posts datagrams for a reader that has moved here.
        siblings: all vCPUs of its VM.
        vnics: receive queues whose interrupts it takes.
        costs: cost table of the host.
        work: bursts of CPU that the guest has to do besides, if any. All other processes go before them.
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
        self.halt_queues = []  # annotated in the base alone: compiled, a field declared twice is visited twice by the garbage collector
        self.burst_queues = []
        self.work: CpuWork | None = None

    def boot(self, phase: int) -> None:
        """Boot the guest: start its timers, at a ``phase``, and its CPU work."""
        self._ticks.start(phase)
        self._await_work()

    def interrupt(self, now: int, vnic: GuestRing) -> None:
        """Take a virtual interrupt of a vNIC that has packets; or poll on, without one, where they came before its poll was done."""
        if vnic.is_polled_on:
            vnic.is_polled_on = False
            self._softirq.poll_on(vnic)
        else:
            self._raised.append(vnic)
        self._due(now)

    def start(self, process: GuestProcess, now: int) -> None:
        """Make a process runnable, in a burst of its own."""
        self._processes.append(process)
        self._due(now, self.last)

    def stop_spinning(self, now: int) -> None:
        """End the burst of a process that waits in a loop, when what has interrupted it is done."""
        if self.state is _RUNNING and self.last.running is self and not self.last.turning:
            self.last.finish(max(now, self._softirq_end))
        self.left = min(self.left, 1)

    def _due(self, now: int, source: Pcpu | None = None) -> None:
        """Attend to what has come: in the midst of a burst, or in one that begins as the scheduler says."""
        if self.state is _RUNNING:
            self._attend(now)
        else:
            self._scheduler.wake(self, now, source)

    def _timer_due(self, now: int) -> None:
        self._scheduler.wake(self, now, self.last)  # one that runs comes to it by itself

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
        """Post packets of this burst to a sink, to be cancelled if the burst is preempted."""
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
            self._work_ps = burst  # a process, to which the softirq gives way
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
        """Attend to what has come in the midst of a burst: handler and softirq first, and all processes before CPU work; the burst is that much longer."""
        pcpu = self.last
        if self._attends or self.state is not _RUNNING or pcpu.running is not self or pcpu.turning:
            return
        if now < self._softirq_end:
            self._attend_timer.arm_by(self._softirq_end)
            return
        left = pcpu.remaining(now)
        if left <= 0:
            return  # the next burst begins at this instant
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
        """Attend again when CPU work would begin, at an instant, or when the turn of processes ends."""
        if self._work_ps:
            self._attend_timer.arm_by(at)
        if self._softirq.polling:
            self._attend_timer.arm_by(self._softirq.paused_until)

    def _announced(self, now: int) -> bool:
        """Let the monitor deliver a coalesced interrupt when the guest executes HLT; True if there is one, or something to poll."""
        for vnic in self.vnics:
            vnic.announce(now)
        return bool(self._raised or self._softirq.polling)

    def _handle_inbox(self, start: int) -> int:
        """Let the processes of this vCPU handle the packets in its inbox, up to the budget; returns the end."""
        end, budget = start, self._budget
        inbox, looked = self.inbox.ring, -1
        while budget and looked < end:
            looked = end
            while budget and (train := inbox.take_next(budget, looked)) is not None:
                budget -= train.count
                stream = train.flow
                end = stream.handle(train, end)
        return self.datagrams.read(end)

    def _handle_received(self, start: int) -> int:
        """Let the processes of this vCPU handle the packets that its softirqs have received for them; returns the end."""
        received, end = self._softirq.received, start
        if received:
            self._softirq.received = []
        for train in received:
            flow = train.flow
            end = flow.handle(train, end)
        return end

    def _interrupts(self, start: int, *, polls: bool = True) -> int:
        """Run the handlers of raised interrupts, do what else is due, and then the softirq; returns the end."""
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
        """Handle an interruption: account for the reads done by now, and take back the packets not yet posted."""
        self._postings.take_back(now)
        self._cut_at = now
        for queue in self.burst_queues:
            queue.send(now)
        ahead = left - self._work_ps
        self.read += self._socket.read(now + min(ahead, 0), max(ahead, 0))
        self.pending_ps += self._ticks.passed(self._since, now)
        self._since = now

    def resume(self, start: int) -> None:
        """Resume a preempted burst: post the packets that were held back, as much later; then take what has come meanwhile."""
        if self._softirq_end > self._cut_at:
            self._softirq_end += start - self._cut_at
        self._postings.post_again(start - self._cut_at)
        for queue in self.burst_queues:
            queue.send_early()
        self._since = start
        if self._raised or self._softirq.polling or self._work_ps:
            self._attend_timer.arm(max(start, self._softirq_end))

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

    def in_socket(self) -> int:
        """Return the number of frames in socket buffers that processes have not read."""
        waiting = self._socket.held() + self.inbox.frames() + self.datagrams.ring.count_inside()
        for train in self._softirq.received:
            waiting += train.count * train.frames
        return waiting

    def coming(self, now: int) -> int:
        """Return the number of frames in the inbox whose instants lie ahead."""
        return self.inbox.coming(now) + self.datagrams.ring.count_coming(now)

    def is_idle(self) -> bool:
        """True when the guest's scheduler would find this vCPU idle: it halts, and no CPU work belongs to it."""
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
