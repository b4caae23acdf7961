"""A table and verdicts to draw: loss that grows with the receivers, ten times as fast by default as with splitRx."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hostsim.results.expect import Band, Expectation, Form, Verdict, VerdictState
from hostsim.results.metrics.catalogue import CATALOGUE


def table(rates: tuple[str, ...] = ("40 kpps",), replications: int = 3) -> pd.DataFrame:
    """Loss of ten times the receivers by default, and once with splitRx, plus the replication."""
    rows = [
        {"point": f"{receivers}{split}{rate}", "replication": r, "seed": 1}
        | {"receivers": receivers, "split": split, "rate": rate}
        | dict.fromkeys(CATALOGUE, np.nan)
        | {"loss": receivers * (1.0 if split == "1" else 10.0) + r, "flags": "", "error": ""}
        for receivers in (1, 2, 4)
        for split in ("0", "1")
        for rate in rates
        for r in range(replications)
    ]
    return pd.DataFrame(rows)


def verdict(form: Form, low: float | None, high: float | None, published: str = "2") -> Verdict:
    """A verdict with these accepted values."""
    expectation = Expectation("a claim", form, Band(low, high), "VMs", published, is_claim=True)
    return Verdict(expectation, "a scenario", 2.0, 1.9, 2.1, VerdictState.PASS)
