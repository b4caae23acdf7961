"""Longest warm-up of earlier results: the run whose initial transient took the largest share of its length."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from hostsim.campaign.store import Store
from hostsim.errors import Fault, InputError, StoreError
from hostsim.record import RunRecord
from hostsim.results.axis_column import as_written
from hostsim.results.results import Results
from hostsim.results.table import axes_of

__all__ = ["longest_warm_up"]


def longest_warm_up(found: Results, results: str | Path) -> RunRecord:
    """The run with the longest warm-up, as a share of its length, of earlier results; read from the results folder.

    Args:
        found: the results.
        results: folder that keeps every run.

    Raises:
        InputError: none of the runs has finished.
        StoreError: the folder does not hold the run, or another version of the code made it.
    """
    share = (found.table["cut_s"] / found.table["length_s"]).dropna()
    if share.empty:
        raise InputError(Fault("no run has finished", given=found.scenario))
    row: dict[Any, Any] = as_written(found.table).loc[[share.idxmax()]].to_dict("records")[0]
    record = Store(Path(results)).get((str(row["point"]), int(row["replication"]), int(row["seed"])))
    if record is None:
        raise StoreError(
            f"{results}: does not hold the runs of {found.scenario} as this version makes them; run it again"
        )
    # another scenario may have run the same point under other axes
    return replace(record, axes={axis: row[axis] for axis in axes_of(found.table)})
