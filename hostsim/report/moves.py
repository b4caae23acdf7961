"""Differences between two runs as one value: a tuple that a notebook shows as a table, that is filtered and put into a frame."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hostsim.errors import Fault, InputError, nearest_name
from hostsim.metrics import CATALOGUE
from hostsim.report.scoreboard import number

if TYPE_CHECKING:
    import pandas as pd

    from hostsim.results.compare import Move
else:
    Move = object

__all__ = ["HEADINGS", "Moves", "move_rows", "require_metrics"]

HEADINGS = ("metric", "unit", "before", "after", "difference", "95 % interval", "change")


class Moves(tuple[Move, ...]):
    """Metrics at points, before and after, in the order of the points and of the catalogue."""

    __slots__ = ()

    def only(self, *metrics: str) -> Moves:
        """Those of some metrics.

        Raises:
            InputError: there is no such metric.
        """
        require_metrics(metrics)
        return Moves(move for move in self if move.metric in metrics)

    @property
    def certain(self) -> Moves:
        """Those whose 95 % interval excludes 0."""
        return Moves(move for move in self if move.is_certain)

    def frame(self) -> pd.DataFrame:
        """A row a metric and point.

        Columns: the axes; ``metric``, ``unit``; ``before``, ``after``, ``difference`` and the ends ``low``, ``high`` of its 95 %
        interval, in that unit; ``change``, the difference as a share of what was before; ``pairing``, the share of the variance
        that common random numbers leave.
        """
        import pandas as pd

        rows = [
            {
                **move.at,
                "metric": move.metric,
                "unit": move.unit,
                "before": move.before,
                "after": move.after,
                "difference": move.difference.mean,
                "low": _finite(move.difference.low),
                "high": _finite(move.difference.high),
                "change": move.relative,
                "pairing": move.ratio,
            }
            for move in self
        ]
        axes = list(dict.fromkeys(axis for move in self for axis in move.at))
        names = ["metric", "unit", "before", "after", "difference", "low", "high", "change", "pairing"]
        return pd.DataFrame(rows, columns=[*axes, *names])

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no differences"

    def _repr_html_(self) -> str:
        from hostsim.report.notebook import moves_html

        return moves_html(self)


def require_metrics(names: Iterable[str]) -> None:
    """Check that the catalogue has these metrics.

    Raises:
        InputError: with every one that it does not have.
    """
    known = list(CATALOGUE)
    unknown = [name for name in names if name not in known]
    if unknown:
        allowed = "a name that `metrics` lists"
        raise InputError(Fault("unknown metric", "", name, allowed, nearest_name(name, known)) for name in unknown)


def move_rows(moves: Moves) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings, axes first, and the cells of a table."""
    axes = tuple(dict.fromkeys(axis for move in moves for axis in move.at))
    rows = [
        (
            *(str(move.at.get(axis, "")) for axis in axes),
            move.metric,
            move.unit,
            number(move.before),
            number(move.after),
            number(move.difference.mean),
            f"[{number(move.difference.low)}, {number(move.difference.high)}]"
            if math.isfinite(move.difference.half)
            else "–",
            "–" if not math.isfinite(move.relative) else f"{move.relative:+.1%}",
        )
        for move in moves
    ]
    return (*axes, *HEADINGS), rows


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan
