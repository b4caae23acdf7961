"""Result tables of records in a test; a sweep does not keep its records (`hostsim.results.sweep_summary`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from hostsim.engine.record import RunRecord
from hostsim.results.bottleneck import bottleneck
from hostsim.results.table import table_of, table_row


def to_table(records: Iterable[RunRecord], provenance: Mapping[str, str] | None = None) -> pd.DataFrame:
    """A row for each record, in order."""
    limits = [(record, "" if record.error else str(bottleneck(record))) for record in records]
    return table_of([table_row(record, limit, single=False, of_subjects=()) for record, limit in limits], provenance)
