"""A metric: name, unit, exact meaning and function; and families of metrics for several statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hostsim.engine.record import RunRecord
from hostsim.results.estimate import least_count
from hostsim.results.metrics.functions import quantile, quantile_slices, scaled, settled

EXTREME = 0.999
"""Smallest percentile share beyond which a single stall may cause all observations."""

__all__ = ["Metric", "percentile", "settled_response"]


@dataclass(frozen=True)
class Metric:
    """A metric: its name, unit, meaning and function."""

    name: str
    unit: str
    meaning: str
    kind: str
    """``instant`` ratio or level over the window, ``rate`` per second, or ``percentile``."""
    evaluate: Callable[[RunRecord], float]
    """Value over the measured window; NaN with no or too few observations."""
    least: int = 1
    """Smallest number of observations of a percentile."""
    slices: Callable[[RunRecord], int] | None = None
    """For a percentile from the 99.9th on: number of time slices with observations beyond it
    (`hostsim.results.estimate.slices_beyond`).
    """
    raw: str = ""
    """For a settled response time: the raw measure of the same requests, which is always finite."""


def percentile(prefix: str, name: str, share: float, histogram: str, what: str) -> Metric:
    """Metric of a percentile: NaN with too few observations."""
    least, is_latency = least_count(share), prefix == "latency"
    return Metric(
        f"{prefix}_{name.replace('.', '')}",
        "us" if is_latency else "ms",
        f"{_rank(share)} of {what}; needs at least {least}.",
        "percentile",
        quantile(histogram, share) if is_latency else scaled(quantile(histogram, share), 1e-3),
        least,
        quantile_slices(histogram, share) if share >= EXTREME else None,
    )


def settled_response(statistic: str, share: float | None) -> Metric:
    """Metric of a settled response time: infinite if requests accumulate, else the raw measure."""
    raw = f"response_time_{statistic}"
    return Metric(
        f"settled_response_{statistic}",
        "ms",
        f"{raw} of a host that keeps up with its requests; infinite if they accumulate until the end of the run.",
        "instant" if share is None else "percentile",
        scaled(settled("flow.response", share), 1e-3),
        1 if share is None else least_count(share),
        quantile_slices("flow.response", share) if share is not None and share >= EXTREME else None,
        raw,
    )


def _rank(share: float) -> str:
    return "Median" if share == 0.5 else f"{100 * share:g}th percentile"
