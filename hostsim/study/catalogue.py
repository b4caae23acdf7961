"""All oracles.

Their lengths are numbers of arrivals over all replications, chosen so that an interval of the whole is about a tenth narrower than
it must be: computed from theory where it knows the variance, else from short runs. A replication is handed its portion of them.
"""

from __future__ import annotations

from hostsim.study.interrupt import paced, static, ticks
from hostsim.study.little import stages
from hostsim.study.oracle import Oracle
from hostsim.study.order import classes, polled, several, sharing
from hostsim.study.queue import batches, bulk, lossy, single

__all__ = ["oracles"]


def oracles() -> list[Oracle]:
    """Every oracle, in the order of the report."""
    found = [*single(), *lossy(), *batches(), *bulk(), *several(), *classes(), *sharing()]
    found += [*polled(), *static(), *paced(), *ticks(), *stages()]
    assert len({oracle.name for oracle in found}) == len(found)
    return found
