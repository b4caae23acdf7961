"""UDP senders in guests: bursts of datagrams at constant intervals (netperf UDP_STREAM)."""

from __future__ import annotations

from hostsim.config.nic import UDP_HEADERS, frame_size
from hostsim.engine.arrivals import Jitter, ServiceTimes
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Train
from hostsim.model.contract import Flow, GuestStream, PacketSink
from hostsim.model.guest.vcpu import Vcpu
from hostsim.units import rounded

__all__ = ["Datagram", "UdpSource"]


class Datagram(GuestStream):
    """Datagrams that a guest sends, neither acknowledged nor retransmitted."""

    headers = UDP_HEADERS

    def __init__(self, totals: Flow, size: int) -> None:
        self.totals, self.size = totals, size
        self.octets = frame_size(size + self.headers)

    def sent(self, train: Train[GuestStream], first: int, step: int, frame_ps: int) -> None:
        """Count datagrams that reached the wire of a physical NIC."""
        if self.route is None:
            self.totals.out += train.count * train.frames

    def dropped(self, frames: int) -> None:
        """Count dropped datagrams."""
        self.totals.lost_out += frames


class UdpSource:
    """A process that writes a burst of datagrams whenever its interval timer fires.

    Ticks missed while it works merge into one.

    Args:
        clock: clock of the host.
        data: datagrams of the process.
        vcpu: vCPU of the process.
        queue: transmit queue.
        interval: time between two bursts, in picoseconds.
        burst: number of datagrams in each burst.
        write_ps: time of the process for a datagram without stack and copy, in picoseconds.
        jitter: lateness of the timer.
        writes: service times instead of ``write_ps``, if not constant.
        sum_ps: time of the checksum of a byte if the guest's kernel computes it, in picoseconds.
    """

    def __init__(
        self,
        clock: Clock,
        data: Datagram,
        vcpu: Vcpu,
        queue: PacketSink[GuestStream],
        *,
        interval: int,
        burst: int,
        write_ps: int,
        jitter: Jitter,
        writes: ServiceTimes | None = None,
        sum_ps: float = 0.0,
    ) -> None:
        self._vcpu, self._queue = vcpu, queue
        self._sum_ps = rounded(data.size * sum_ps)
        self._interval, self._burst, self._write_ps = interval, burst, write_ps
        self._jitter, self._writes = jitter, writes
        self._data = data
        self._due = 0
        self._timer = Timer(clock, self._fire)

    def begin(self, at: int) -> None:
        """Start the interval timer; the first burst is due at the given time."""
        self._due = at
        self._timer.arm(at + self._jitter.draw())

    def _fire(self, now: int) -> None:
        vcpu = self._vcpu
        costs = vcpu.costs
        vcpu.pending_ps += costs.guest_interrupt + (0 if vcpu.halted else costs.virtual_interrupt)
        vcpu.start(self, now)

    def run(self, start: int) -> int:
        """Write a burst from ``start`` on; returns the end."""
        vcpu = self._vcpu
        costs = vcpu.costs
        # datagrams of a burst leave equally spaced: each takes the mean of their drawn times
        write = self._write_ps if self._writes is None else self._writes.total(self._burst) // self._burst
        work = costs.guest_tx_packet + write + costs.copied(self._data.size) + self._sum_ps
        begin = start + costs.guest_process_wake
        vcpu.post_to(self._queue, Train(self._data, self._burst, begin + work, work, begin, 0))
        end = begin + self._burst * work
        late = (end - self._due) // self._interval
        self._due += max(1, late) * self._interval
        self._timer.arm(max(self._due + self._jitter.draw(), start))
        return end
