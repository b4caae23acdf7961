"""Network softirqs of a guest: NAPI polling within a budget, GRO, and the guest's timer ticks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from hostsim.config.guest import GuestSpec
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.packet_train import Train
from hostsim.model.contract import UNBOUNDED
from hostsim.model.cost_table import CostTable
from hostsim.model.guest.socket import DatagramSocket
from hostsim.model.receive.vnic import Vnic
from hostsim.model.traffic.flow import Sender

if TYPE_CHECKING:
    from hostsim.model.guest.vcpu import Vcpu

__all__ = [
    "NetworkSoftirq",
    "Ticks",
    "joined",
]


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
        self.polling: list[Vnic] = []
        self.paused_until = 0
        self.received: list[Train[Sender]] = []
        self.socket = socket

    def may_poll(self, now: int, *, raised: bool) -> bool:
        """True when rings may be polled: processes have had their turn, or an interrupt has come and softirqs do not wait for the thread."""
        return now >= self.paused_until or (raised and (self._is_done or not self._waits))

    def poll_on(self, vnic: Vnic) -> None:
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

    def _poll(self, vnic: Vnic, budget: int, start: int) -> tuple[int, int]:
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

    def _receive(self, train: Train[Sender], vnic: Vnic, at: int, taken: int) -> int:
        """Put packets, taken off a ring at ``taken``, through the stack from ``at`` on, to a socket or a process; returns the end."""
        here, costs = self._vcpu, self._costs
        flow = train.flow
        stack = costs.guest_rx_packet if flow.path_ps is None else flow.path_ps
        end = at + train.count * stack
        vcpu = flow.vcpu
        if vcpu is None:
            read = self._read_ps + costs.copied(flow.size, vnic.wait_ps)
            reader = self._reader
            if reader is not here:
                reader.ipi_sender = here
                reader.datagrams.expect(flow, read)
                train.restamp(at + stack, stack)
                here.post_to(reader.datagrams, train)
                return end
            here.came += train.count
            dropped = self.socket.admit(train, read)
            if dropped:
                here.socket_dropped += dropped
                if at - self._caught_up > self._pause:
                    self._move_reader()
            return end
        if flow.round_trip is not None:
            flow.round_trip.off_ring(train.ready, vnic.raised, taken)
        if vcpu is not here:
            vcpu.ipi_sender = here
            train.restamp(at + stack, stack)
            here.post_to(vcpu.inbox, train)
            return end
        here.came += train.count * train.frames
        if flow.in_softirq:
            return flow.handle(train, end)
        self.received.append(train)
        return end
