"""Longest warm-up of earlier results: the run whose initial transient took the largest share of its length."""

from __future__ import annotations

from hostsim.errors import Fault, InputError
from hostsim.record import RunRecord
from hostsim.results.results import Results

__all__ = ["longest_warm_up"]


def longest_warm_up(found: Results) -> RunRecord:
    """The run with the longest warm-up, as a share of its length.

    Args:
        found: the results, with their records.

    Raises:
        InputError: none of the runs has finished.
        StoreError: the results folder does not hold the run any more.
    """
    share = (found.table["cut_s"] / found.table["length_s"]).dropna()
    if share.empty:
        raise InputError(Fault("no run has finished", given=found.scenario))
    row = found.table.loc[[share.idxmax()]].to_dict("records")[0]
    return found.record_of(str(row["point"]), int(row["replication"]))
