"""Warm-up of a run (its initial transient): the counters that must settle, and MSER-5, which finds the cut."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hostsim.engine.record import FloatArray

__all__ = ["MSER_BATCH", "SETTLED", "mser5"]

SETTLED: Mapping[str, tuple[str, ...]] = {
    "busy": ("pcpu.busy_ps",),
    "read": ("guest.read",),
    "dropped": ("queue.dropped", "port.split_dropped", "port.ring_dropped"),
}
"""Counters that must settle before the measured window of a run; the counters of a group are added."""

MSER_BATCH = 5
"""Observations in a batch of `mser5`, and the number of batches that it always keeps."""


def mser5(values: FloatArray) -> int:
    """End of the warm-up: the index of the first observation to keep, a multiple of 5.

    Observations are averaged in batches of five, Z_1 to Z_n; the cut d minimises the squared standard error of the
    rest, ``sum over i > d of (Z_i - mean)^2 / (n - d)^2``, the smallest such d on ties. At least five batches are always
    kept, as the error of one is zero by definition. Observations that do not fill a batch are ignored.

    A cut of more than half of the observations is not reliable; the caller handles it.

    Args:
        values: observations in order of time, shape (observations,); fewer than 30 are all kept.
    """
    batches = len(values) // MSER_BATCH
    means = np.asarray(values[: batches * MSER_BATCH], dtype=np.float64).reshape(batches, MSER_BATCH).mean(axis=1)
    if batches <= MSER_BATCH:
        return 0
    means -= means[0]  # a constant series becomes exact zeros, so that rounding cannot choose the cut
    errors = []
    for cut in range(batches - MSER_BATCH + 1):
        kept, count = means[cut:], batches - cut
        apart = kept - np.add.reduce(kept) / count
        errors.append(np.add.reduce(apart * apart) / count / count)  # `kept.var() / count` in a third of its time
    return int(np.argmin(errors)) * MSER_BATCH
