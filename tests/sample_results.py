"""Small results to write, read and report on: counts of two receivers, one failed run, one verdict of each kind."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from hostsim.results.claim import Citation, Publication
from hostsim.results.expect import (
    Always,
    At,
    Band,
    Compared,
    Expectation,
    Find,
    Form,
    KnownRed,
    Limit,
    Monotone,
    Ratio,
    RSquared,
    Switches,
    Verdict,
    VerdictState,
    Within,
    Worst,
)
from hostsim.results.figure import FigureSpec
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.results import AssumedInput, EffectiveSetting, ResourceUsage, Results
from hostsim.results.search_answer import Bound
from hostsim.results.verdicts import Verdicts

SWITCHES = Switches("loss", "host_cpu", ({"receivers": 1}, {"receivers": 2}), (40.0, 0.0))
AT_2 = At("loss", {"receivers": 2})
ALWAYS = Always(
    (
        Monotone("loss", "not falling", "receivers", (1, 2), {}),
        Within("loss", Limit(below=5.0), {"receivers": 1}),
        Compared("loss", {"receivers": 2}, {"receivers": 1}, Limit(above=1.2), {}),
    )
)


def verdict(
    name: str = "a.claim",
    form: Form = AT_2,
    band: tuple[float | None, float | None] = (1.0, 3.0),
    value: float | None = 2.0,
    interval: tuple[float | None, float | None] = (1.5, 2.5),
    state: VerdictState = VerdictState.PASS,
    *,
    known: bool = False,
    awaiting: Literal["", "calibration"] = "",
    known_range: tuple[float, float] = (0.0, 10.0),
    by_interval: bool = False,
    bound: Bound | None = None,
    reason: str = "",
    is_claim: bool = True,
) -> Verdict:
    expectation = Expectation(name, form, Band(*band), "%", "about 2", is_claim)
    points = ({"receivers": 2, "value": 2.0, "low": 1.5},)
    listed = KnownRed(Band(*known_range), reason, awaiting, by_interval) if known else None
    return Verdict(expectation, "small", value, *interval, state, listed, reason, points, ("look at it",), bound)


BOUNDED = (
    verdict("beyond", value=189.0, interval=(189.0, None), bound=Bound.AT_LEAST, state=VerdictState.OPEN),
    verdict(
        "drifted", value=490.0, state=VerdictState.FAIL, known=True, known_range=(500.25, 512.0), reason="no mechanism"
    ),
)
"""A threshold beyond its bracket, and a known red outside its range."""

VERDICTS = (
    verdict("passes"),
    verdict("fails", Find(True, "receivers", 1, 9, "loss", 0.01, {}), (1, 3), 5.0, (4.5, 5.5), VerdictState.FAIL),
    verdict(
        "open",
        Worst((AT_2, Ratio("loss", {"receivers": 1}, {"receivers": 2}))),
        (1, None),
        1.1,
        (0.9, 1.3),
        VerdictState.OPEN,
    ),
    verdict("missing", Ratio(None, "a", "b"), (1, 1), None, (None, None), VerdictState.MISSING, reason="no run"),
    verdict(
        "red", RSquared("loss", "receivers", (1, 2), {}), state=VerdictState.FAIL, known=True, reason="no mechanism"
    ),
    verdict("state", SWITCHES, (1, 1), 1.0, (1.0, 1.0)),
    verdict("mine", ALWAYS, (None, 1), 1.0, (1.0, 1.0), is_claim=False),
)


def table() -> pd.DataFrame:
    rows = [
        {"point": f"p{receivers}", "replication": r, "seed": 1, "receivers": receivers}
        | dict.fromkeys(CATALOGUE, np.nan)
        | {
            "loss": float(receivers + r),
            "guest_ready": 10.0 * receivers,
            "flags": "warm-up" if r == 2 else "",
            "error": "",
        }
        for receivers in (1, 2)
        for r in range(3)
    ]
    rows[-1] |= {
        "error": "Traceback <most recent>\n  a & b\nInvariantError: lost",
        "loss": np.nan,
        "guest_ready": np.nan,
    }
    made = pd.DataFrame(rows)
    made.attrs |= {"units": {"loss": "%"}, "provenance": {"seed": "1"}}
    return made


def results(**changes: object) -> Results:
    fields = {
        "scenario": "small",
        "question": "Is 1 < 2 & 3?",
        "table": table(),
        "figures": (
            FigureSpec("loss", "receivers", "loss"),
            FigureSpec("odd / name", "receivers", "loss", kind="bar", right="guest_ready"),
        ),
        "verdicts": Verdicts(VERDICTS, quick=True),
        "settings": (EffectiveSetting("Cpu.Quantum", "50", "a platform's default"),),
        "assumptions": (AssumedInput("traffic.x.rate", "1 kpps", "not published", "1 kpps to 2 kpps"),),
        "citations": {
            VERDICTS[0].expectation.name: (
                Citation(Publication("x-2015", "X", author=("A B",), year=2015), "figure 1"),
            )
        },
        "warnings": ("setting not modelled: Net.Y = 1",),
        "provenance": {"seed": "1"},
        "quick": True,
        "usage": ResourceUsage(6, 12.0, 1000, 3.5),
    }
    return Results(**(fields | changes))
