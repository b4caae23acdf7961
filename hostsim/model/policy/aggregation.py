"""Aggregation of frames by large receive offload (LRO): largest packet, sessions, and back-off.

``Net.VmxnetLROMaxLength``, ``Net.VmxnetLROThreshold``, ``Net.VmxnetLROUseRatio`` and ``Net.VmxnetLROBackoffPeriod`` as listed for 6.0.
"""

from __future__ import annotations

from typing import Final

from hostsim.config.platform import HostSettings, LroSpec

__all__ = ["Aggregation", "Backoff", "software_lro"]

USE_RATIO: Final = 2 / 3
"""Ratio of packets to frames above which LRO backs off (``Net.VmxnetLROUseRatio``)."""


class Aggregation:
    """Aggregation of the frames of a connection to packets of a bounded length.

    This base is LRO of a NIC, which is always on.

    Attributes:
        sessions: number of connections with growing packets; frames of others are passed on separately.

    Args:
        octets: largest number of data bytes in a packet.
        sessions: number of sessions.
    """

    def __init__(self, octets: int, sessions: int) -> None:
        self._octets, self.sessions = octets, sessions

    @property
    def on(self) -> bool:
        """True while frames are joined."""
        return True

    def frames(self, size: int) -> int:
        """Return the largest number of frames with ``size`` bytes of data in a packet."""
        most = self._octets // size
        return most if most > 1 else 1

    def count(self, frames: int, packets: int) -> None:
        """Record the numbers of frames and of resulting packets."""


class Backoff(Aggregation):
    """Software LRO of a vNIC with its back-off.

    It is off for some time if joining does not reduce the number of packets.

    Args:
        octets: largest number of data bytes in a packet.
        sessions: number of connections with growing packets.
        threshold: frames between two checks.
        period: number of thresholds for which it stays off.
    """

    def __init__(self, octets: int, sessions: int, threshold: int, period: int) -> None:
        super().__init__(octets, sessions)
        self._threshold, self._period = threshold, period
        self._frames = self._packets = 0
        self._off = 0

    @property
    def on(self) -> bool:
        return self._off <= 0

    def count(self, frames: int, packets: int) -> None:
        if self._off > 0:
            self._off -= frames
            return
        self._frames += frames
        self._packets += packets
        if self._frames >= self._threshold:
            if self._packets > USE_RATIO * self._frames:
                self._off = self._period * self._threshold
            self._frames = self._packets = 0


def software_lro(host: HostSettings, lro: LroSpec) -> Aggregation | None:
    """Return new software LRO for a receive queue of a vNIC; None if it is off."""
    return Backoff(host.lro_bytes, lro.sessions, host.lro_threshold, host.lro_backoff) if host.sw_lro else None
