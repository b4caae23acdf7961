"""Verdicts on expectations: a tuple with look-up by name, acceptance and a tidy frame."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

from hostsim.expect import Verdict
from hostsim.results.scoreboard import OUTCOMES, as_json, as_rows, is_accepted
from hostsim.results.tally import outcomes, tally

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Verdicts"]


class Verdicts(tuple[Verdict, ...]):  # noqa: SLOT001  a tuple has no room for `quick` otherwise
    """The verdicts of one or more scenarios, in the order of their expectations."""

    quick: bool
    """True for verdicts at quick fidelity, where an undecided one whose value lies in its band counts as a pass."""

    def __new__(cls, verdicts: Iterable[Verdict] = (), *, quick: bool = False) -> Self:
        """Make verdicts of one fidelity."""
        made = super().__new__(cls, verdicts)
        made.quick = quick
        return made

    def only(self, *patterns: str) -> Self:
        """The verdicts whose names match one of the patterns (``splitrx.*``)."""
        kept = (v for v in self if any(fnmatch.fnmatchcase(v.expectation.name, pattern) for pattern in patterns))
        return type(self)(kept, quick=self.quick)

    @property
    def accepted(self) -> bool:
        """True when each verdict is as expected: a pass, or a known red."""
        return all(is_accepted(verdict, quick=self.quick) for verdict in self)

    def frame(self) -> pd.DataFrame:
        """The verdicts as a tidy frame, one row each, with the columns of ``hostsim check --json`` but the cases: values, ends of intervals and of bands in ``unit``."""
        import pandas as pd

        columns = [
            "claim",
            "scenario",
            "kind",
            "unit",
            "published",
            "value",
            "bound",
            "ci_low",
            "ci_high",
            "low",
            "high",
            "verdict",
            "outcome",
            "known",
            "reason",
            "notes",
            "deterministic",
        ]
        numbers = ["value", "ci_low", "ci_high", "low", "high"]
        if any(verdict.prediction for verdict in self):
            columns += ["prediction_low", "prediction_high", "prediction_members", "prediction_verdict"]
            numbers += ["prediction_low", "prediction_high"]
        return pd.DataFrame(as_json(self, quick=self.quick), columns=columns).astype(dict.fromkeys(numbers, "float64"))

    def tally(self) -> pd.DataFrame:
        """Counts by kind of claim as a tidy frame: in band, undecided, known red, red and missing, each by itself."""
        import pandas as pd

        rows = tally(outcomes(self, quick=self.quick))
        frame = pd.DataFrame([counter[each] for each in OUTCOMES] for counter in rows.values())
        return frame.set_axis(pd.Index(rows, name="kind")).set_axis(list(OUTCOMES), axis="columns")

    def __repr__(self) -> str:
        rows = (f"{row[0]}: {row[2]} {row[3]}, band {row[4]}: {row[5]}" for row in as_rows(self, quick=self.quick))
        return "\n".join(rows) or "no verdicts"
