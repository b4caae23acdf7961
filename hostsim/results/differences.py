"""Paired differences between two runs: a tuple with look-up by metric and a tidy frame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from hostsim.errors import Fault, InputError
from hostsim.estimate import Interval
from hostsim.expect import NOT_ESTIMABLE
from hostsim.metrics.catalogue import CATALOGUE, NO_BOUND, nearest_metric
from hostsim.results.scoreboard import PREDICTION, ends_text, number

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HEADINGS", "Differences", "PairedDifference", "difference_rows", "require_metrics"]

HEADINGS = ("metric", "unit", "before", "after", "difference", "95 % interval", "change")


@dataclass(frozen=True)
class PairedDifference:
    """Paired difference of a metric at a point, before and after."""

    metric: str
    unit: str
    at: Mapping[str, Any]
    """Value of each axis: the curve, and where on it."""
    before: float
    """Mean over the replications; NaN where there was nothing to measure it on."""
    after: float
    difference: Interval
    """After minus before, paired by replication."""

    ratio: float
    """Variance of the paired difference over that of two independent runs: what common random numbers are worth. NaN for
    fewer than three pairs, and where nothing varies."""
    prediction: Interval | None = None
    """Of runs of an ensemble its 90 % prediction interval; that of the difference then says how noisy the runs are."""

    @property
    def relative(self) -> float:
        """The difference as a share of what was before; infinite when that was 0 and no longer is."""
        if self.difference.mean == 0:
            return 0.0
        return self.difference.mean / abs(self.before) if self.before else math.copysign(math.inf, self.difference.mean)

    @property
    def is_certain(self) -> bool:
        """True when the interval of the difference excludes 0."""
        return self.difference.low > 0 or self.difference.high < 0

    def __str__(self) -> str:
        place = ", ".join(f"{axis}={value}" for axis, value in self.at.items())
        where = f"{self.metric}{f' at {place}' if place else ''}: "
        before, after = (_words(self.metric, value) for value in (self.before, self.after))
        if not math.isfinite(self.difference.mean):
            return f"{where}{before} -> {after} {self.unit}"
        told = ""
        if self.prediction is not None:
            told = f"; {PREDICTION} {self.prediction.low:.4g} to {self.prediction.high:.4g}"
        paired = "" if math.isnan(self.ratio) else f"; pairing leaves {self.ratio:.2g} of its variance"
        return (
            f"{where}{before} -> {after} {self.unit}"
            f" ({self.relative:+.2%}; difference {self.difference.low:.4g} to {self.difference.high:.4g}{paired}{told})"
        )


class Differences(tuple[PairedDifference, ...]):
    """Paired differences of metrics at points, in the order of the points and of the catalogue."""

    __slots__ = ()

    def only(self, *metrics: str) -> Self:
        """The differences of some metrics.

        Raises:
            InputError: there is no such metric.
        """
        require_metrics(metrics)
        return type(self)(entry for entry in self if entry.metric in metrics)

    @property
    def certain(self) -> Self:
        """The significant differences: those whose 95 % interval excludes 0."""
        return type(self)(entry for entry in self if entry.is_certain)

    def frame(self) -> pd.DataFrame:
        """The differences as a tidy frame, a row for each metric and point.

        Columns: the axes, with units in ``attrs["units"]``; ``metric``, ``unit``; ``before``, ``after``, ``difference`` and the ends ``low``, ``high`` of its 95 %
        interval, in that unit; of an ensemble ``prediction_low`` and ``prediction_high``, the ends of its 90 % prediction interval; ``change``, the difference as a share of what was before; ``pairing``, the share of the variance
        that common random numbers leave.
        """
        import pandas as pd

        from hostsim.results.axis_column import as_numbers

        ends = ("low", "high") if any(entry.prediction for entry in self) else ()
        rows = [
            {
                **entry.at,
                "metric": entry.metric,
                "unit": entry.unit,
                "before": entry.before,
                "after": entry.after,
                "difference": entry.difference.mean,
                "low": _finite(entry.difference.low),
                "high": _finite(entry.difference.high),
                "change": entry.relative,
                "pairing": entry.ratio,
            }
            | {f"prediction_{name}": _end(entry.prediction, name) for name in ends}
            for entry in self
        ]
        axes = list(dict.fromkeys(axis for entry in self for axis in entry.at))
        names = ["metric", "unit", "before", "after", "difference", "low", "high", "change", "pairing"]
        names += [f"prediction_{name}" for name in ends]
        return as_numbers(pd.DataFrame(rows, columns=[*axes, *names]), axes)

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no differences"


def require_metrics(names: Iterable[str]) -> None:
    """Check that the catalogue has these metrics.

    Raises:
        InputError: with every one that it does not have.
    """
    unknown = [name for name in names if name not in CATALOGUE]
    if unknown:
        allowed = "a name that `metrics` lists"
        raise InputError(Fault("unknown metric", "", name, allowed, nearest_metric(name)) for name in unknown)


def difference_rows(found: Differences) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Differences as a table: headings, axes first, and the cells."""
    axes = tuple(dict.fromkeys(axis for entry in found for axis in entry.at))
    is_predicted = any(entry.prediction for entry in found)
    rows = [
        (
            *(str(entry.at.get(axis, "")) for axis in axes),
            entry.metric,
            entry.unit,
            number(entry.before),
            number(entry.after),
            number(entry.difference.mean),
            _ends_text(entry.difference),
            *([_ends_text(entry.prediction)] if is_predicted else []),
            "–" if not math.isfinite(entry.relative) else f"{entry.relative:+.1%}",
        )
        for entry in found
    ]
    more = (PREDICTION,) if is_predicted else ()
    return (*axes, *HEADINGS[:-1], *more, HEADINGS[-1]), rows


def _ends_text(interval: Interval | None) -> str:
    return "–" if interval is None or not math.isfinite(interval.half) else ends_text(interval.low, interval.high)


def _end(interval: Interval | None, name: str) -> float:
    return math.nan if interval is None else _finite(getattr(interval, name))


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def _words(metric: str, value: float) -> str:
    if math.isfinite(value):
        return f"{value:.6g}"
    if value == math.inf:
        return NO_BOUND
    return NOT_ESTIMABLE if CATALOGUE[metric].least > 1 else "nothing"
