"""Catalogue of all test oracles, and their results as a text table."""

from __future__ import annotations

from collections.abc import Iterable

from hostsim.lab.verification.interrupt import interrupt_moderation, periodic_polling, static_coalescing
from hostsim.lab.verification.littles_law import littles_law_stages
from hostsim.lab.verification.oracle import Oracle, OracleResult
from hostsim.lab.verification.scheduling import multiple_servers, polling, priority_classes, processor_sharing
from hostsim.lab.verification.single_server import batch_arrivals, bulk_service, finite_buffer, single_server

__all__ = [
    "HEADINGS",
    "oracles",
    "rows",
]


def oracles() -> list[Oracle]:
    """All test oracles, in the order of the report."""
    found = [
        *single_server(),
        *finite_buffer(),
        *batch_arrivals(),
        *bulk_service(),
        *multiple_servers(),
        *priority_classes(),
        *processor_sharing(),
    ]
    found += [*polling(), *static_coalescing(), *interrupt_moderation(), *periodic_polling(), *littles_law_stages()]
    assert len({oracle.name for oracle in found}) == len(found)
    return found


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
