"""Named random streams: one for each component, so that added devices do not change other draws.

A scope identifies a stream: a path of fixed words and indices such as ``("vm", 0, 17)``. It has no name of a user's, as
no result may depend on a name.
"""

from __future__ import annotations

import zlib

import numpy as np

__all__ = ["Streams"]


class Streams:
    """The independent random streams of one replication, each determined by seed, replication and scope."""

    def __init__(self, seed: int, replication: int) -> None:
        self.seed, self.replication = seed, replication

    def stream(self, *scope: str | int) -> np.random.Generator:
        """Return a new generator for a scope, at the start of its stream: call once and keep the result."""
        key = [zlib.crc32(part.encode()) if isinstance(part, str) else part for part in scope]
        sequence = np.random.SeedSequence(self.seed, spawn_key=(self.replication, *key))
        return np.random.Generator(np.random.PCG64(sequence))
