"""Columns of tables and frames beside the axes: the names that no axis may have."""

from __future__ import annotations

from hostsim.metrics.catalogue import CATALOGUE

__all__ = ["FACTS", "MEMBER", "RESERVED", "SIDE", "WINDOW"]

WINDOW = {"cut_s": "s", "length_s": "s"}
"""Start and end of the measured window, with their units."""
FACTS = {"events": "", "run_dispatches": "", "wall_s": "s"}
"""Of the whole run, with their units."""
MEMBER = "member"
"""Of tables of an ensemble: the host that a replication ran."""
SIDE = "what_if"
"""Of tables of both sides of a what-if: ``before`` or ``after``."""
_TABLE = ("point", "replication", "seed", *CATALOGUE, *WINDOW, *FACTS, "bottleneck", "flags", "error")
_CURVE = ("measure", "unit", "mean", "low", "high", "prediction_low", "prediction_high", "runs")
_DIFFERENCES = ("metric", "before", "after", "difference", "change", "pairing")
_DISTRIBUTION = ("count", "share", "cumulative")
_JUDGED = ("value", "raw")
"""Of the points that a verdict rests on, beside their axes."""
RESERVED = frozenset((*_TABLE, MEMBER, SIDE, *_CURVE, *_DIFFERENCES, *_DISTRIBUTION, *_JUDGED))
"""Names of the columns of every table and frame of a sweep, and of the points of its verdicts."""
