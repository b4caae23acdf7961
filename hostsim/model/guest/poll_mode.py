"""Poll-mode drivers of guests (DPDK): a process that polls a NIC, takes no interrupts from it and keeps its vCPU busy for ever.

What a process does in a burst is worked out at its start, as for every world. Where it finds nothing to do it spins, and the
arrival of packets, or of transmit completions, ends that: a poll that finds nothing is no event.
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
"""Packets of a burst at most: four of DPDK's usual 32."""
LONGEST_WAIT: Final = 50 * US
"""Time from its beginning up to which a burst waits for packets whose instants are known, so that each needs no burst of its own."""
SPIN: Final = 1 * SECOND
"""Time after which a process that finds nothing begins another burst: longer than a quantum."""


class PollMode(RingDriver):
    """A process that polls a vNIC: base of senders and receivers. It is always runnable."""

    def __init__(self, clock: Clock, vcpu: Vcpu, vnic: GuestRing) -> None:
        self._clock, self._vcpu, self._vnic = clock, vcpu, vnic
        self._timer = Timer(clock, self._found)
        self._spins, self._since = False, 0
        if vnic.poller is not None:
            raise WiringError(f"{vcpu.name} would poll {vnic.name}, which another process polls")
        vnic.poll_by(self)

    def begin(self, at: int) -> None:
        """Start the process at an instant."""
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
        """Do what there is to do from ``start`` on; returns the end."""
        raise NotImplementedError

    def spin(self) -> None:
        """Begin to wait in a loop."""

    def expect(self, at: int) -> None:
        """Stop waiting at an instant, past or future."""
        if self._spins:
            self._timer.arm_by(max(at, self._since))

    def _found(self, now: int) -> None:
        if self._spins:
            self._spins = False
            self._vcpu.stop_spinning(now)


class PollingReceiver(PollMode):
    """A process that takes packets off a vNIC's ring; what they are says what becomes of them (`InboundStream.handle`)."""

    def work(self, start: int) -> int:
        """Take packets, and those that are known to come soon, for which it waits; returns the end."""
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
                end = train.flow.handle(train, end)
        return end

    def spin(self) -> None:
        """Wait for the first packet, if one is known to come."""
        following = self._vnic.ring.first()
        if following is not None:
            self.expect(following)
        self._vnic.watch(self._since)

    def packets_come(self, at: int) -> None:
        """Stop waiting when the packets are there."""
        self.expect(at)


class TxDescriptors:
    """Transmit descriptors of a driver in a process.

    Attributes:
        left: those that it may use.
    """

    def __init__(self, left: int) -> None:
        self.left = left


class PollingForwarder(PollingReceiver):
    """A process that takes packets off one NIC's ring and puts them on another's, as long as its driver has transmit descriptors."""

    def __init__(self, clock: Clock, vcpu: Vcpu, vnic: GuestRing, out: GuestRing, descriptors: TxDescriptors) -> None:
        """Make a process that polls ``vnic``, and ``out`` for completions of the ``descriptors`` that packets leave by."""
        super().__init__(clock, vcpu, vnic)
        self._out, self._descriptors = out, descriptors

    def work(self, start: int) -> int:
        """Free what is sent, and forward what has come; returns the end."""
        self._descriptors.left += self._out.reclaim(start)
        return super().work(start)


class PollingSender(PollMode):
    """A process that posts packets as fast as it can: as long as its driver has descriptors, which it gets back as packets are completed."""

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
        """Make a sender of ``packets`` that takes ``packet_ps`` for each, with so many transmit descriptors."""
        super().__init__(clock, vcpu, vnic)
        self._queue, self._packets, self._packet_ps = queue, packets, packet_ps
        self._room = descriptors

    def work(self, start: int) -> int:
        """Post as many packets as there are descriptors for; returns the end."""
        self._room += self._vnic.reclaim(start)
        count = min(self._room, LOOK_AHEAD)
        if not count:
            return start
        self._room -= count
        each = self._packet_ps
        self._vcpu.post_to(self._queue, Train(self._packets, count, start + each, each, start, each))
        return start + count * each

    def completions_come(self, now: int) -> None:
        """Stop waiting: there are descriptors."""
        self.expect(now)
