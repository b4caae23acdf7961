"""A vCPU and the guest on it: interrupts, a NAPI-like poll, a datagram socket, and the process that reads it.

One burst of the guest is one visit: exit and interrupt, a poll of at most the budget, then its processes handle what came for
them. A process on another vCPU finds it in that vCPU's inbox. The instants of all that a burst does are known when it begins; a
burst that is cut short accounts for the datagrams it read, and what it had still to hand on is handed on when it goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Ring
from hostsim.engine.train import Train
from hostsim.errors import InvariantError
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Node, Scheduler
from hostsim.model.cpu.world import World, WorldState
from hostsim.model.guest.process import Process, Target
from hostsim.model.net.directpath import DirectTx
from hostsim.model.net.networld import TxQueue
from hostsim.model.net.vnic import Vnic
from hostsim.model.timing import Timing
from hostsim.model.traffic.flow import Flow, Sender
from hostsim.model.traffic.work import Work
from hostsim.spec.guest import GuestSpec

__all__ = ["Vcpu"]

UNBOUNDED = 1 << 62
"""Capacity of an inbox: what waits for processes is bounded by the windows of TCP."""


class Vcpu(World):
    """A virtual processor with the guest that runs on it.

    Attributes:
        halted: the guest executes HLT; only an interrupt or its timer brings it back.
        interrupts: virtual interrupts taken from the vNICs.
        came: frames for the processes of this vCPU, through the stack or on their way through it.
        socket_dropped: of these, dropped at a full socket buffer.
        read: taken by the application.
        owed: time to be charged with the next burst, in picoseconds.
        asker: the vCPU that handed over last.
        vnics: receive queues whose interrupts it takes.
        transmits, direct: transmit queues that it posts to, those of passed-through NICs apart.
        timing: costs.
        work: bursts of CPU that the guest has to do besides, if any.
    """

    __slots__ = (
        "_awake", "_budget", "_cut_at", "_drained", "_handed", "_held_back", "_in_socket", "_inbox",
        "_inbox_timer", "_newest", "_period", "_polled", "_polling", "_processes", "_raised", "_read_ps", "_reading",
        "_scheduler", "_socket_buffer", "_socket_overhead", "_ticks", "_timer", "_work_timer", "asker", "came",
        "direct", "halted", "interrupts", "owed", "read", "socket_dropped", "timing", "transmits", "vnics", "work",
    )  # fmt: skip

    def __init__(
        self,
        clock: Clock,
        name: str,
        node: Node,
        last: Pcpu,
        scheduler: Scheduler,
        timing: Timing,
        guest: GuestSpec,
        read_ps: int,
        shares: int,
    ) -> None:
        super().__init__("vcpu", name, system=False, node=node, last=last, shares=shares)
        self._scheduler, self.timing = scheduler, timing
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
        self._inbox = Ring(UNBOUNDED)
        self._inbox_timer = Timer(clock, self._inbox_due)
        self.asker: Vcpu | None = None
        self._handed: list[tuple[Target, Train]] = []
        self._held_back: list[tuple[Target, Train]] = []
        self._in_socket: list[tuple[Train, int]] = []
        self._reading = self._cut_at = 0
        self._newest: dict[Sender, int] = {}
        self._awake: set[object] = set()
        self._processes: deque[Process] = deque()
        self.halted = True
        self.interrupts = self.came = self.socket_dropped = self.read = self.owed = 0
        self.vnics: list[Vnic] = []
        self.transmits: list[TxQueue] = []
        self.direct: list[DirectTx] = []
        self.work: Work | None = None

    def boot(self, phase: int) -> None:
        """Start the guest: its timer, whose first tick comes at ``phase``, and its work."""
        self._timer.arm(phase)
        self._await_work()

    def interrupt(self, now: int, vnic: Vnic) -> None:
        """A vNIC has packets."""
        self._raised.append(vnic)
        self._scheduler.wake(self, now)

    def start(self, process: Process, now: int) -> None:
        """A process has something to do, in a burst of its own."""
        self._processes.append(process)
        self._scheduler.wake(self, now)

    # --- what others hand over, and what it hands to others

    def hand(self, train: Train) -> None:
        """Packets for a process of this vCPU, or its turn, at instants that may lie ahead."""
        self.came += train.count * train.frames
        self._inbox.push(train)
        if self.state is WorldState.SLEEPING:
            self._await_inbox()

    def take_back(self, trains: Iterable[Train], now: int) -> list[Train]:
        """Those of the packets that are not there by ``now``."""
        back = self._inbox.recall(trains, now)
        self.came -= sum(train.count * train.frames for train in back)
        return back

    def _await_inbox(self) -> None:
        first = self._inbox.first()
        if first is not None:
            self._inbox_timer.arm_by(first)

    def _inbox_due(self, now: int) -> None:
        if self.state is WorldState.SLEEPING:
            if self.asker is not None:
                self.asker.owed += self.timing.guest_ipi
            self._scheduler.wake(self, now)

    def _inbox_waits(self, now: int) -> bool:
        inbox = self._inbox
        if inbox.pushed == inbox.taken:
            return False
        inbox.settle(now)
        return inbox.held > 0

    def post(self, target: Target, train: Train) -> None:
        """Packets that this burst hands on at their instants."""
        self._handed.append((target, train))
        target.hand(train)

    # --- as a world

    def _tick(self, now: int) -> None:
        self._timer.arm(now + self._period)
        self._ticks += 1
        self._scheduler.wake(self, now)

    def begin(self, start: int) -> int | None:
        timing = self.timing
        end = start
        raised = self._raised
        letters = self._inbox_waits(start)
        process = None
        if not (raised or self._polling or self._ticks or letters):
            if self._processes:
                process = self._processes.popleft()
            elif self.work is not None and (burst := self.work.start(start)) is not None:
                end += burst
            elif not self._announced(start):
                return None
        if self.halted:
            self.halted = False
            end += timing.vcpu_wake
        elif raised:
            end += timing.virtual_interrupt
        if self.owed:
            end += self.owed
            self.owed = 0
        if self._ticks:
            end += self._ticks * timing.guest_timer_tick
            self._ticks = 0
        if self._handed:
            self._handed = []
        if self._awake:
            self._awake = set()
        if raised:
            self.interrupts += len(raised)
            self._polling += raised
            self._raised = []
        if letters:
            end = self._handle_letters(end)
        if self._polling:
            end = self._poll(end)
        if process is not None:
            end = process.run(end)
        for queue in self.direct:
            queue.send_early(end)
        return end - start

    def _announced(self, now: int) -> bool:
        """The guest executes HLT: the monitor lets it go on with an interrupt if packets wait that coalescing has held back."""
        for vnic in self.vnics:
            vnic.announce(now)
        return bool(self._raised)

    def _handle_letters(self, start: int) -> int:
        """The processes of this vCPU take what others handed over, and what comes meanwhile, up to the budget."""
        end, budget = start, self._budget
        while budget and (taken := self._inbox.take(budget, end)):
            for train in taken:
                budget -= train.count
                end = train.flow.handle(train, end)  # type: ignore[attr-defined]  # only what is handled is handed over
        return end

    def _poll(self, start: int) -> int:
        """Take a batch off a ring, put it through the stack into sockets, let the processes of this vCPU have it."""
        timing = self.timing
        stack = timing.guest_rx_packet
        vnic = self._polled = self._polling.pop(0)
        budget = vnic.batch(self._budget)
        end = start
        count = octets = 0
        own: list[Train] = []
        for train in vnic.take(budget, start):
            flow: Sender = train.flow  # type: ignore[assignment]  # packets belong to senders
            count += train.count
            vcpu = flow.vcpu
            if vcpu is not None:
                if flow.trip is not None:
                    flow.trip.off_ring(train.ready, vnic.raised, start)
                if vcpu is self:
                    own.append(train)
                else:
                    vcpu.asker = self
                    self.post(vcpu, train.again(end + stack, stack))
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
            self._in_socket.append((train, self._read_ps + timing.guest_copy(size, far=vnic.is_far)))
        for train in own:
            self.came += train.count * train.frames
            flow = train.flow  # type: ignore[assignment]
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
        for queue in self.direct:
            queue.send(now)
        drained, self._drained = self._drained, None
        if self._polled is not None:
            self._polled.handled(now, drained=drained is not None)
            self._polled = None
        if drained is not None:
            drained.unmask(now)

    def cut(self, now: int, left: int) -> None:
        """Account for the reads done by now; hold back what is not handed on by now."""
        handed, self._handed = self._handed, []
        targets: list[Target] = []
        for target, _ in handed:
            if target not in targets:
                targets.append(target)
        for target in targets:
            mine = [train for other, train in handed if other is target]
            for train in target.take_back(mine, now):
                self._held_back.append((target, train))
        self._cut_at = now
        for queue in self.direct:
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
        """The rest of a burst that was cut goes on: hand on what was held back, as much later."""
        held, self._held_back = self._held_back, []
        for target, train in held:
            train.ready += start - self._cut_at
            self.post(target, train)
        for queue in self.direct:
            queue.send_early()

    def wakes(self, process: object) -> bool:
        """True for the first time in a burst that a process gets something to do: it slept until then."""
        if process in self._awake:
            return False
        self._awake.add(process)
        return True

    def count_read(self, train: Train, start: int, end: int) -> None:
        """A process takes packets of a connection between ``start`` and ``end``."""
        totals: Flow = train.flow.totals  # type: ignore[attr-defined]  # packets belong to senders
        frames = train.count * train.frames
        totals.delivered += frames
        self.read += frames
        if train.count > 1:
            each = (end - start) // train.count
            totals.latency.add(start + each - train.born, each - train.gap, frames)
        else:
            totals.latency.add(end - train.born, -train.gap, frames)

    def _count_reads(self, train: Train, start: int, read: int) -> None:
        """The process reads a train, one packet after another, from ``start``."""
        sender = train.flow
        assert isinstance(sender, Sender)
        flow = sender.totals
        count = train.count
        newest = self._newest
        if train.born < newest.get(sender, 0):
            raise InvariantError(
                f"a packet born at {train.born} ps is read after one born at {newest[sender]} ps",
                f"{self.name}, {flow.name}",
                start,
            )
        newest[sender] = train.born
        flow.delivered += count
        flow.octets += count * sender.size
        self.read += count
        if train.births is None:
            flow.latency.add(start + read - train.born, read - train.gap, count)
        else:
            flow.latency.add_each([start + read * i - born for i, born in enumerate(train.births, 1)])

    def in_socket(self) -> int:
        """Frames in socket buffers that processes have yet to take."""
        waiting = sum(train.count * train.frames for train in self._inbox.trains())
        return waiting + sum(train.count for train, _ in self._in_socket)

    def coming(self, now: int) -> int:
        """Frames that another vCPU's burst has handed over for instants that lie ahead; where it is cut short it takes them back."""
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
        for queue in self.transmits:
            queue.guest_halts(now)
        self._await_inbox()
        self._await_work()

    def _await_work(self) -> None:
        due = self.work.upcoming() if self.work is not None else None
        if due is not None:
            self._work_timer.arm(due)

    def _work_comes(self, now: int) -> None:
        self._scheduler.wake(self, now)
