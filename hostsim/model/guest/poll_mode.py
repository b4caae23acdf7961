"""Poll-mode drivers of guests (DPDK): a process polls a NIC, without interrupts, on a busy vCPU.

The work of a burst is computed at its start, as for every world. A process without work spins until packets or transmit
completions arrive: a poll without packets is not an event.
"""

from __future__ import annotations

from typing import Final

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Train
from hostsim.errors import WiringError
from hostsim.model.contract import GuestRing, GuestStream, PacketSink, RingDriver
from hostsim.model.guest.vcpu import Vcpu
from hostsim.units import SECOND, US

__all__ = ["PollMode", "PollingForwarder", "PollingReceiver", "PollingSender", "TxDescriptors"]

LOOK_AHEAD: Final = 128
"""Largest number of packets of a burst: four of DPDK's usual 32."""
LONGEST_WAIT: Final = 50 * US
"""Time from its start for which a burst waits for packets with known times, so that they need no separate bursts."""
SPIN: Final = 1 * SECOND
"""Time after which a process without packets begins another burst; longer than a quantum."""


class PollMode(RingDriver):
    """A process that polls a vNIC, the base of senders and receivers. It is always runnable."""

    def __init__(self, clock: Clock, vcpu: Vcpu, vnic: GuestRing) -> None:
        self._clock, self._vcpu, self._vnic = clock, vcpu, vnic
        self._timer = Timer(clock, self._end_spin)
        self._spins, self._since = False, 0
        if vnic.poller is not None:
            raise WiringError(f"{vcpu.name} would poll {vnic.name}, which another process polls")
        vnic.poll_by(self)

    def begin(self, at: int) -> None:
        """Start the process at a time."""
        Timer(self._clock, lambda now: self._vcpu.start(self, now)).arm(at)

    def run(self, start: int) -> int:
        """Work from ``start`` on, or spin; returns the end."""
        self._vcpu.start(self, self._clock.now)
        end = self.work(start)
        self._spins, self._since = end == start, start
        if not self._spins:
            return end
        self.spin()
        return start + SPIN

    def work(self, start: int) -> int:
        """Process the available work from ``start`` on; returns the end."""
        raise NotImplementedError

    def spin(self) -> None:
        """Begin to wait in a loop."""

    def expect(self, at: int) -> None:
        """Stop waiting at a time, past or future."""
        if self._spins:
            self._timer.arm_by(max(at, self._since))

    def _end_spin(self, now: int) -> None:
        if self._spins:
            self._spins = False
            self._vcpu.stop_spinning(now)


class PollingReceiver(PollMode):
    """A process that takes packets from a vNIC's ring and handles them (`InboundStream.handle`)."""

    def work(self, start: int) -> int:
        """Take available packets and those that are known to arrive soon, for which it waits; returns the end."""
        end, budget, latest = start, LOOK_AHEAD, start + LONGEST_WAIT
        vnic = self._vnic
        while budget and (first := vnic.first_packet(end)) is not None and first <= latest:
            end = max(end, first)
            taken = self._vnic.take(budget, end)
            if not taken:
                break
            for train in taken:
                budget -= train.count
                self._vcpu.came += train.count
                end = train.stream.handle(train, end)
        return end

    def spin(self) -> None:
        """Wait for the first packet, if one is known."""
        following = self._vnic.ring.first()
        if following is not None:
            self.expect(following)
        self._vnic.watch(self._since)

    def packets_come(self, at: int) -> None:
        """Stop waiting when the packets arrive."""
        self.expect(at)


class TxDescriptors:
    """Transmit descriptors of a driver in a process.

    Attributes:
        left: number of free descriptors.
    """

    def __init__(self, left: int) -> None:
        self.left = left


class PollingForwarder(PollingReceiver):
    """A process that moves packets from one NIC's ring to another's, while descriptors are free."""

    def __init__(self, clock: Clock, vcpu: Vcpu, vnic: GuestRing, out: GuestRing, descriptors: TxDescriptors) -> None:
        """Create a process.

        Args:
            clock: clock of the host.
            vcpu: vCPU of the process.
            vnic: receive ring that it polls.
            out: ring with the completions of sent packets.
            descriptors: transmit descriptors of the outgoing queue.
        """
        super().__init__(clock, vcpu, vnic)
        self._out, self._descriptors = out, descriptors

    def work(self, start: int) -> int:
        """Free sent packets and forward received ones; returns the end."""
        self._descriptors.left += self._out.reclaim(start)
        return super().work(start)


class PollingSender(PollMode):
    """A process that posts packets at its maximum rate, while descriptors are free."""

    def __init__(
        self,
        clock: Clock,
        vcpu: Vcpu,
        vnic: GuestRing,
        queue: PacketSink[GuestStream],
        packets: GuestStream,
        packet_ps: int,
        descriptors: int,
    ) -> None:
        """Create a sender.

        Args:
            clock: clock of the host.
            vcpu: vCPU of the process.
            vnic: ring with the completions of sent packets.
            queue: transmit queue.
            packets: packets to send.
            packet_ps: time for each packet, in picoseconds.
            descriptors: number of transmit descriptors.
        """
        super().__init__(clock, vcpu, vnic)
        self._queue, self._packets, self._packet_ps = queue, packets, packet_ps
        self._room = descriptors

    def work(self, start: int) -> int:
        """Post packets into the free descriptors; returns the end."""
        self._room += self._vnic.reclaim(start)
        count = min(self._room, LOOK_AHEAD)
        if not count:
            return start
        self._room -= count
        packet_ps = self._packet_ps
        self._vcpu.post_to(self._queue, Train(self._packets, count, start + packet_ps, packet_ps, start, packet_ps))
        return start + count * packet_ps

    def completions_come(self, now: int) -> None:
        """Stop waiting, as descriptors are free."""
        self.expect(now)
