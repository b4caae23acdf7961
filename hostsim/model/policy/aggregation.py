"""Aggregation of frames by large receive offload (LRO): the longest packet and the sessions that it keeps, and the back-off where joining does not pay.

``Net.VmxnetLROMaxLength``, ``Net.VmxnetLROThreshold``, ``Net.VmxnetLROUseRatio`` and ``Net.VmxnetLROBackoffPeriod`` as listed for 6.0.
"""

from __future__ import annotations

from typing import Final

from hostsim.config.platform import HostSettings, LroSpec

__all__ = ["Aggregation", "Backoff", "software_lro"]

USE_RATIO: Final = 2 / 3
"""Packets over frames from which joining does not pay (``Net.VmxnetLROUseRatio``)."""


class Aggregation:
    """Aggregation of the frames of a connection to packets of a bounded length: LRO of a NIC, which is always on.

    Attributes:
        sessions: connections whose packets grow at the same time; frames of others go on by themselves.

    Args:
        octets: bytes of data in a packet at most.
        sessions: of them.
    """

    def __init__(self, octets: int, sessions: int) -> None:
        self._octets, self.sessions = octets, sessions

    @property
    def on(self) -> bool:
        """True while frames are looked at for joining."""
        return True

    def frames(self, size: int) -> int:
        """Return the most frames with ``size`` bytes of data that make a packet."""
        most = self._octets // size
        return most if most > 1 else 1

    def count(self, frames: int, packets: int) -> None:
        """Record that so many frames have become so many packets."""


class Backoff(Aggregation):
    """Software LRO of a vNIC with its back-off: on while joining frames makes fewer packets, off for a while where it does not.

    Args:
        octets: bytes of data in a packet at most.
        sessions: connections whose packets grow at the same time.
        threshold: frames after which it looks.
        period: such stretches of frames for which it stays off.
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
    """Return new software LRO for a receive queue of a vNIC; None where it is off."""
    return Backoff(host.lro_bytes, lro.sessions, host.lro_threshold, host.lro_backoff) if host.sw_lro else None
