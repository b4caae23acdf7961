"""Packing of a run's record where the run was made, so that the process of a campaign does not need the whole record.

A record of a host with hundreds of VMs has millions of numbers. Its worker encodes the file, and takes from the record what searches and
tables need; the campaign's process writes the file.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hostsim.campaign.code_version import PACKAGE
from hostsim.campaign.store import Origin, dressed, file_of
from hostsim.engine.record import RunRecord
from hostsim.results.metrics.functions import condensed

if TYPE_CHECKING:
    from hostsim.scenario.plan import Task

__all__ = ["PackedRun", "Packing", "packing_digest"]


@functools.cache
def packing_digest() -> str:
    """Digest of all modules of the package and of the library that encodes files; equal ones pack a record alike."""
    whole = hashlib.sha256(pa.__version__.encode())
    for file in sorted(PACKAGE.rglob("*.py")):
        whole.update(file.relative_to(PACKAGE).as_posix().encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()


@dataclass(frozen=True)
class PackedRun:
    """A packed run."""

    record: RunRecord
    """With the axes of its task; without most slices, or without any counter if no search needs it."""
    file: bytes
    """Content of its file in the results folder."""
    taken: Any
    """What the observer of the campaign takes from the whole record."""


@dataclass(frozen=True)
class Packing:
    """Packs records of a task; can be pickled."""

    origin: Origin | None
    take: Callable[[RunRecord], Any]
    has_searches: bool
    """True if searches read the record."""

    def __call__(self, task: Task, record: RunRecord) -> PackedRun:
        """Packs a record; the spec of the task is not needed."""
        whole = dressed(record, task)
        short = condensed(whole) if self.has_searches else replace(whole, series={}, histograms={})
        return PackedRun(short, file_of(record, self.origin), self.take(whole))
