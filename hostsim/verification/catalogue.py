"""Catalogue of all test oracles.

Their lengths are numbers of arrivals over all replications, chosen so that an interval of the whole is about a tenth narrower than
it must be: computed from theory where it knows the variance, else from short runs. A replication is handed its portion of them.
"""

from __future__ import annotations

from hostsim.verification.interrupt import interrupt_moderation, periodic_polling, static_coalescing
from hostsim.verification.littles_law import littles_law_stages
from hostsim.verification.oracle import Oracle
from hostsim.verification.scheduling import multiple_servers, polling, priority_classes, processor_sharing
from hostsim.verification.single_server import batch_arrivals, bulk_service, finite_buffer, single_server

__all__ = ["oracles"]


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
