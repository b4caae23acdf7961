"""A vCPU and the guest on it: interrupts, a NAPI-like poll, a datagram socket, and the process that reads it.

One burst of the guest is one visit: exit and interrupt, a poll of at most the budget, then the process reads what the poll
put into its socket. The instants of all reads are known when the burst begins; a burst that is cut short accounts for the
reads it did.
"""

from __future__ import annotations

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.train import Train
from hostsim.errors import InvariantError
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Node, Scheduler
from hostsim.model.cpu.world import World
from hostsim.model.net.vnic import Vnic
from hostsim.model.timing import Timing
from hostsim.model.traffic.flow import Flow
from hostsim.model.traffic.work import Work
from hostsim.spec.guest import GuestSpec

__all__ = ["Vcpu"]


class Vcpu(World):
    """A virtual processor with the guest that runs on it.

    Attributes:
        halted: the guest executes HLT; only an interrupt or its timer brings it back.
        interrupts: virtual interrupts taken from the vNIC.
        received: packets taken off the vNIC's ring.
        socket_dropped: of these, dropped at the full socket buffer.
        read: taken by the application.
        work: bursts of CPU that the guest has to do besides, if any.
    """

    __slots__ = (
        "_budget",
        "_in_socket",
        "_interrupted",
        "_newest",
        "_period",
        "_polling",
        "_read_ps",
        "_reading",
        "_scheduler",
        "_socket_buffer",
        "_socket_overhead",
        "_ticks",
        "_timer",
        "_timing",
        "_work_timer",
        "halted",
        "interrupts",
        "read",
        "received",
        "socket_dropped",
        "vnic",
        "work",
    )

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
        self._scheduler, self._timing = scheduler, timing
        self._budget, self._read_ps = guest.napi_budget, read_ps
        self._socket_buffer, self._socket_overhead = guest.socket_buffer, guest.socket_overhead
        self._period = guest.timer_period
        self._timer = Timer(clock, self._tick)
        self._work_timer = Timer(clock, self._work_comes)
        self._ticks = 0
        self._interrupted = self._polling = False
        self._in_socket: list[tuple[Train, int]] = []
        self._reading = 0
        self._newest: dict[Flow, int] = {}
        self.halted = True
        self.interrupts = self.received = self.socket_dropped = self.read = 0
        self.vnic: Vnic
        self.work: Work | None = None

    def boot(self, phase: int) -> None:
        """Start the guest: its timer, whose first tick comes at ``phase``, and its work."""
        self._timer.arm(phase)
        self._await_work()

    def interrupt(self, now: int) -> None:
        self._interrupted = True
        self._scheduler.wake(self, now)

    def _tick(self, now: int) -> None:
        self._timer.arm(now + self._period)
        self._ticks += 1
        self._scheduler.wake(self, now)

    def begin(self, start: int) -> int | None:
        timing = self._timing
        end = start
        if not (self._interrupted or self._polling or self._ticks):
            burst = self.work.start(start) if self.work is not None else None
            if burst is None:
                return None
            end += burst
        if self.halted:
            self.halted = False
            end += timing.vcpu_wake
        elif self._interrupted:
            end += timing.virtual_interrupt
        if self._ticks:
            end += self._ticks * timing.guest_timer_tick
            self._ticks = 0
        if self._interrupted:
            self._interrupted = False
            self._polling = True
            self.interrupts += 1
        if self._polling:
            end = self._poll(end)
        return end - start

    def _poll(self, start: int) -> int:
        """Take a batch off the ring, put it through the stack into the socket, let the process read it."""
        end = start
        count = octets = 0
        for train in self.vnic.take(self._budget, start):
            size = train.flow.size
            count += train.count
            end += train.count * self._timing.guest_rx_packet
            room = (self._socket_buffer - octets) // (size + self._socket_overhead)
            if train.count > room:
                self.socket_dropped += train.count - room
                if not room:
                    continue
                train = train.split(room)
            octets += train.count * (size + self._socket_overhead)
            self._in_socket.append((train, self._read_ps + self._timing.guest_copy(size)))
        self.received += count
        self._polling = count == self._budget
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
        if not self._polling:
            self.vnic.unmask(now)

    def cut(self, now: int, left: int) -> None:
        """Account for the reads done by now."""
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

    def _count_reads(self, train: Train, start: int, read: int) -> None:
        """The process reads a train, one packet after another, from ``start``."""
        flow = train.flow
        assert isinstance(flow, Flow)
        count = train.count
        newest = self._newest
        if train.born < newest.get(flow, 0):
            raise InvariantError(
                f"a packet born at {train.born} ps is read after one born at {newest[flow]} ps",
                f"{self.name}, {flow.name}",
                start,
            )
        newest[flow] = train.born
        flow.delivered += count
        self.read += count
        if train.births is None:
            flow.latency.add(start + read - train.born, read - train.gap, count)
        else:
            flow.latency.add_each([start + read * i - born for i, born in enumerate(train.births, 1)])

    def in_socket(self) -> int:
        """Packets in the socket buffer that the process has yet to read."""
        return sum(train.count for train, _ in self._in_socket)

    def has_work(self, now: int) -> bool:
        if self._interrupted or self._polling or self._ticks:
            return True
        if self.work is None:
            return False
        self.work.settle(now)
        return self.work.ring.held > 0

    def rest(self, now: int) -> None:
        self.halted = True
        self.vnic.guest_halts(now)
        self._await_work()

    def _await_work(self) -> None:
        due = self.work.upcoming() if self.work is not None else None
        if due is not None:
            self._work_timer.arm(due)

    def _work_comes(self, now: int) -> None:
        self._scheduler.wake(self, now)
