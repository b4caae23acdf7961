"""Result tables of records that a test holds; a sweep keeps none of its own (`hostsim.results.sweep_summary`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from hostsim.engine.record import RunRecord
from hostsim.results.table import table_of, table_row


def to_table(records: Iterable[RunRecord], provenance: Mapping[str, str] | None = None) -> pd.DataFrame:
    """A row for each record, in their order."""
    return table_of([table_row(record) for record in records], provenance)
