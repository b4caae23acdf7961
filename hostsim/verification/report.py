"""Result table of the oracles as text."""

from __future__ import annotations

from collections.abc import Iterable

from hostsim.verification.oracle import OracleResult

__all__ = ["HEADINGS", "rows"]

HEADINGS = ("case", "quantity", "theory", "simulated", "99.9 % interval", "half-width", "verdict")


def rows(results: Iterable[OracleResult]) -> list[tuple[str, ...]]:
    """The result table: a row for each quantity, under `HEADINGS`."""
    return [
        (
            result.oracle.name,
            result.quantity.name,
            f"{result.quantity.theory:.6g}",
            f"{result.interval.mean:.6g}",
            f"{result.interval.low:.6g} .. {result.interval.high:.6g}",
            f"{100 * result.half:.2f} %",
            result.outcome.value,
        )
        for result in results
    ]
