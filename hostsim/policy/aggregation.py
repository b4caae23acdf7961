"""Software large receive offload (LRO): the back-off that turns it off where it joins too few frames.

``Net.VmxnetLROMaxLength``, ``Net.VmxnetLROThreshold``, ``Net.VmxnetLROUseRatio`` and ``Net.VmxnetLROBackoffPeriod`` as listed for 6.0.
"""

from __future__ import annotations

from typing import Final

__all__ = ["Backoff"]

USE_RATIO: Final = 2 / 3
"""Packets over frames from which joining does not pay (``Net.VmxnetLROUseRatio``)."""


class Backoff:
    """LRO back-off of a vNIC: on while joining frames makes fewer packets, off for a while where it does not.

    Args:
        threshold: frames after which it looks.
        period: such stretches of frames for which it stays off.
    """

    def __init__(self, threshold: int, period: int) -> None:
        self._threshold, self._period = threshold, period
        self._frames = self._packets = 0
        self._off = 0

    @property
    def on(self) -> bool:
        """True while LRO joins frames."""
        return self._off <= 0

    def count(self, frames: int, packets: int) -> None:
        """Record that LRO has joined so many frames to so many packets."""
        if self._off > 0:
            self._off -= frames
            return
        self._frames += frames
        self._packets += packets
        if self._frames >= self._threshold:
            if self._packets > USE_RATIO * self._frames:
                self._off = self._period * self._threshold
            self._frames = self._packets = 0
