"""Deterministic points: those whose replications are equal to the last digit, since nothing random acts on them.

The confidence interval of such a point has no width, which says nothing about how certain its value is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from hostsim.record import RunRecord

__all__ = ["DETERMINISTIC", "deterministic_note", "digest_of", "equal_replications"]

DETERMINISTIC = "deterministic"
"""What a flag of such a point, and a note on its value, begins with."""


def digest_of(record: RunRecord) -> bytes:
    """Digest of what a finished run measured: its window, and the growth of every counter and histogram over it."""
    totals = [f"{name} {record.total(name)}" for name in sorted(record.series)]
    for name, histogram in sorted(record.histograms.items()):
        growth = (histogram.counts[-1] - histogram.counts[record.cut]).sum(axis=0)
        time_ps = (histogram.sums_ps[-1] - histogram.sums_ps[record.cut]).sum()
        totals.append(f"{name} {growth.tolist()} {time_ps}")
    return hashlib.blake2b("\n".join([str(record.window_ps), *totals]).encode(), digest_size=16).digest()


def equal_replications(digests: Sequence[bytes]) -> int:
    """Number of the replications of a point that are all equal to the last digit; 0 where two differ, and of a single one."""
    return len(digests) if len(digests) > 1 and len(set(digests)) == 1 else 0


def deterministic_note(count: int) -> str:
    """The note on a value of so many equal replications."""
    equal = f"{count} replications equal to the last digit"
    return f"{DETERMINISTIC}: {equal}, the interval has no width because nothing random acts"
