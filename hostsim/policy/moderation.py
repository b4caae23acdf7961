"""Adaptive interrupt moderation: rules by which drivers of physical NICs choose the least interval between two interrupts of a vector.

A rule is evaluated once an interrupt, with the frames and bytes since the one before. The interval that it gives holds from that interrupt to the next. Drivers with
a fixed interval have `hostsim.policy.coalescing.Moderation`. Times are in picoseconds.
"""

from __future__ import annotations

from typing import Final

from hostsim.policy.coalescing import Moderation
from hostsim.units import MS, NS, SECOND, US

__all__ = [
    "EventScore",
    "FrameSizeModeration",
    "LatencyClasses",
    "PacketCountModeration",
    "PacketRateModeration",
    "SmoothedClasses",
]

_LOWEST: Final = 0
_LOW: Final = 1
_BULK: Final = 2


class FrameSizeModeration(Moderation):
    """Interrupt moderation by the mean size of frames (igb): the longer they are, the rarer interrupts become.

    The interval is that of the larger mean, of received and of sent frames: an eighth of a microsecond a byte, a twelfth for middle sizes, preamble, gap and check sequence
    included. Source: ``igb_update_ring_itr`` of VMware's igb driver, 2.1.11.1 (ESXi 5.0), which starts at 162 us; 5.0.5.1 (ESXi 6.0) has a least interval of 49 us.
    """

    def __init__(self, least: int = 1 * US) -> None:
        """Make a rule whose interval is ``least`` or longer."""
        super().__init__(162 * US, adapts=True)
        self._least = least

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        mean = max(rx_octets // received if received else 0, tx_octets // sent if sent else 0)
        if not mean:
            return
        size = min(mean + 24, 3000)
        quarters = size // 3 if 300 < size < 1200 else size // 2  # of a microsecond; the register counts whole ones
        self._interval = max(quarters // 4 * US, self._least)


class LatencyClasses(Moderation):
    """Interrupt moderation by latency classes (ixgbe with a dynamic rate): 100,000, 20,000 or 8,000 interrupts a second by the bytes in a microsecond.

    Up to 10 bytes in a microsecond are the lowest latency, up to 20 low latency, and more are bulk; a class changes by one step an interrupt, and the
    interval goes a tenth of the way in rates. The busier of the two directions decides. Source: ``ixgbe_update_itr`` and ``ixgbe_set_itr`` of the Linux driver up to 4.14, and of
    VMware's with ``InterruptThrottleRate=1``.
    """

    def __init__(self) -> None:
        super().__init__(50 * US, adapts=True)
        self._rx = self._tx = _LOWEST

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        microseconds = self._interval // US
        if received:
            self._rx = _next_class(self._rx, rx_octets // microseconds)
        if sent:
            self._tx = _next_class(self._tx, tx_octets // microseconds)
        found = max(self._rx, self._tx)
        wanted = 10 * US if found == _LOWEST else 50 * US if found == _LOW else 125 * US
        interval = self._interval
        if wanted != interval:
            self._interval = 10 * wanted * interval // (9 * wanted + interval)


def _next_class(now: int, rate: int) -> int:
    """Return the latency class after an interrupt, of ``rate`` bytes in a microsecond."""
    if now == _LOWEST:
        return _LOW if rate > 10 else _LOWEST
    if now == _LOW:
        return _BULK if rate > 20 else _LOW if rate > 10 else _LOWEST
    return _BULK if rate > 20 else _LOW


class PacketRateModeration(Moderation):
    """Interrupt moderation by the packet rate of a queue (mlx4): none up to 400,000 frames a second, 128 us or 128 KiB from 450,000 on.

    The rate is taken four times a second; small frames, of up to 256 bytes, are never held back. Source: ``mlx4_en_auto_moderation`` of VMware's mlx4_en driver, 1.9.7.0
    (ESXi 5.5 and 6.0), which starts at 16 us.
    """

    def __init__(self) -> None:
        super().__init__(16 * US, adapts=True)
        self._since = self._frames = self._octets = 0

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        self._frames += received
        self._octets += rx_octets
        passed = now - self._since
        if passed < 250 * MS:
            return
        rate, octets = self._frames * SECOND // passed, self._octets
        if octets > 256 * self._frames and rate > 400_000:
            usecs = min(128, (rate - 400_000) * 128 // 50_000)
            self._interval = min(usecs * US, 131_072 * passed // octets)
        else:
            self._interval = 0
        self._since, self._frames, self._octets = now, 0, 0


class PacketCountModeration(Moderation):
    """Interrupt moderation by the packets that an interrupt announces (i40e): 56 to 112 of them are right, and the two directions have an interval each.

    Less of them raise an interval by 2 us, up to 126 us; more halve the shorter of both, and more than 256 set it by the size of frames and the line rate. One to three
    received frames of less than 9,000 bytes are answered by half of that, unless what is sent is a bulk. A direction that was not looked at for a tick of the kernel
    or two begins anew: received frames at 2 us, sent ones at 126 us. One register is written an interrupt, and nothing is adapted for three interrupts
    after that. Source: ``i40e_update_itr`` and ``i40e_update_enable_itr`` of the Linux driver from 4.17 on, which starts at 50 us.
    """

    def __init__(self, line_rate: float, tick: int = 1 * MS) -> None:
        """Make a rule.

        Args:
            line_rate: bits a second, by which the intervals are scaled.
            tick: of the kernel's timer, at 1,000 a second as a rule.
        """
        super().__init__(_START * US, adapts=True)
        self._tick = tick
        self._unit = 2048 if line_rate >= 40e9 else 1024 if line_rate >= 20e9 else 512 if line_rate > 1e9 else 64
        # what is wanted, and what the registers have: microseconds, with the flag of low latency above them, which takes part in comparisons
        self._rx = self._tx = self._rx_set = self._tx_set = _START
        self._looked, self._settling = 1, 0
        self._sent = Moderation(_START * US)

    def for_completions(self) -> Moderation:
        return self._sent

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        tick = now // self._tick
        if tick > self._looked:
            self._rx, self._tx = _SHORTEST + _LATENCY, _LONGEST + _LATENCY
        elif not self._settling:
            self._tx = self._wanted_sent(sent, tx_octets)
            self._rx = self._wanted_received(received, rx_octets)
        self._looked = tick + 1
        self._write()

    def _wanted_sent(self, packets: int, octets: int) -> int:
        """Return the interval wanted for what is sent."""
        wanted = self._tx
        if packets < 4:
            if wanted == _LONGEST and self._rx % _LATENCY == _LONGEST:
                return _LONGEST + _LATENCY
        elif packets > 32:
            wanted %= _LATENCY
        return self._wanted(wanted, packets, octets)

    def _wanted_received(self, packets: int, octets: int) -> int:
        """Return the interval wanted for what is received."""
        if 0 < packets < 4 and octets < 9000 and self._tx >= _LATENCY:
            return self._by_size(octets // packets, 2) + _LATENCY
        return self._wanted(self._rx, packets, octets)

    def _wanted(self, before: int, packets: int, octets: int) -> int:
        """Return the interval that a number of packets makes of the one before."""
        if packets < 56:
            return min(before % _LATENCY + 2, _LONGEST) + before // _LATENCY * _LATENCY
        if packets > 256:
            return self._by_size(octets // packets, 1)
        shorter = min(self._rx_set, self._tx_set) % _LATENCY
        return shorter if packets <= 112 else max(shorter // 4 * 2, _SHORTEST)

    def _by_size(self, size: int, part: int) -> int:
        """Return a part of the interval for frames of a mean size, in microseconds: 170 times what such a frame takes of the wire, over what it takes of memory."""
        if size <= 60:
            scaled = 4096
        elif size <= 380:
            scaled = 40 * size + 1696
        elif size <= 1084:
            scaled = 15 * size + 11_452
        else:
            scaled = 5 * size + 22_420 if size <= 1980 else 32_256
        return min(2 * -(-(scaled // part) // self._unit), _LONGEST)

    def _write(self) -> None:
        """Write one of the two registers: a fall before a rise, what is received before what is sent, and of two rises the larger."""
        rx_rise, tx_rise = self._rx - self._rx_set, self._tx - self._tx_set
        if rx_rise >= 0 and (tx_rise < 0 or rx_rise < tx_rise):
            self._tx_set = self._tx
            self._sent.set_interval(self._tx % _LATENCY * US)
        elif rx_rise:
            self._rx_set = self._rx
            self._interval = self._rx % _LATENCY * US
        else:
            self._settling = max(0, self._settling - 1)
            return
        self._settling = 3


_START: Final = 50
_SHORTEST: Final = 2
_LONGEST: Final = 126
_LATENCY: Final = 1 << 15
"""Intervals of i40e in microseconds, and its flag of low latency."""


class SmoothedClasses(Moderation):
    """Interrupt moderation by latency classes over a hundred interrupts (i40e up to Linux 4.16): 50,000, 20,000, 18,000 or 8,000 interrupts a second.

    Up to 10 bytes in a microsecond are the lowest latency, up to 20 low latency, and more are bulk; a class changes by one step, and more than 40,000 received frames a
    second are the fourth class at once. The slower of the two directions decides. Source: ``i40e_set_new_dynamic_itr``, whose register counts in 2 us; it starts at 50 us.
    """

    def __init__(self) -> None:
        super().__init__(50 * US, adapts=True)
        self._rx = self._tx = _LOW
        self._countdown = 100
        self._received = self._rx_octets = self._went = self._tx_octets = 0

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        self._received += received
        self._rx_octets += rx_octets
        self._went += sent
        self._tx_octets += tx_octets
        if self._countdown:
            self._countdown -= 1
            return
        self._countdown = 100
        microseconds = self._interval // US * 100  # what a hundred intervals take, whatever they took
        wanted = 0
        if self._received:
            fast = self._received * 1_000_000 // microseconds > 40_000
            self._rx = _ULTRA if fast else _next_class(min(self._rx, _BULK), self._rx_octets // microseconds)
            wanted = _CLASS_INTERVALS[self._rx]
        if self._went:
            self._tx = _next_class(self._tx, self._tx_octets // microseconds)
            wanted = max(wanted, _CLASS_INTERVALS[self._tx])
        if wanted:
            self._interval = wanted * US
        self._received = self._rx_octets = self._went = self._tx_octets = 0


_ULTRA: Final = 3
_CLASS_INTERVALS: Final = (20, 50, 54, 124)


class EventScore(Moderation):
    """Interrupt moderation by the frames of a thousand interrupts (sfc): less than 4,000 shorten it by a step, more than 8,000 lengthen it by one, up to 60 us.

    Source: ``efx_poll`` of the Linux driver, whose score is two a received frame and whose thresholds are 8,000 and 16,000; it starts with the longest. The step is the timer's
    quantum, 6,144 ns in the SFC9000 (``siena_probe_nvconfig``), and intervals are whole ones.
    """

    def __init__(self, step: int = 6_144 * NS) -> None:
        """Make a rule whose intervals are multiples of ``step``."""
        self._step, self._longest = step, 60 * US // step * step
        super().__init__(self._longest, adapts=True)
        self._interrupts = self._frames = 0

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        self._interrupts += 1
        self._frames += received
        if self._interrupts < 1000:
            return
        if self._frames < 4000:
            self._interval = max(self._interval - self._step, self._step)
        elif self._frames > 8000:
            self._interval = min(self._interval + self._step, self._longest)
        self._interrupts = self._frames = 0
