"""Adaptive interrupt moderation: rules by which drivers of physical NICs choose the least interval between two interrupts of a vector.

A rule is evaluated once an interrupt, with the frames and bytes since the one before. The interval that it gives holds from that interrupt to the next. Drivers with
a fixed interval have `hostsim.policy.coalescing.Moderation`. Times are in picoseconds.
"""

from __future__ import annotations

from typing import Final

from hostsim.policy.coalescing import Moderation
from hostsim.units import MS, SECOND, US

__all__ = ["FrameSizeModeration", "LatencyClasses", "PacketRateModeration"]

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
