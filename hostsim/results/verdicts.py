"""Verdicts: a tuple with look-up by name, the rule for outcomes, the tally by kind, text and strict JSON."""

from __future__ import annotations

import fnmatch
import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

from hostsim.results.claim import CLAIM_KINDS
from hostsim.results.estimate import DETERMINISTIC, NOT_ESTIMABLE
from hostsim.results.expect import Band, Expectation, KnownRed, Verdict, VerdictState
from hostsim.results.metrics.catalogue import NO_BOUND
from hostsim.results.rich_view import rich_view

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ALL",
    "OUTCOMES",
    "OWN",
    "PREDICTION",
    "TALLY_HEADINGS",
    "Verdicts",
    "as_json",
    "as_rows",
    "awaiting_words",
    "band_text",
    "ends_text",
    "finite",
    "headings",
    "interval_cell",
    "interval_text",
    "is_accepted",
    "known_text",
    "label",
    "number",
    "outcome",
    "outcomes",
    "prediction_text",
    "published_text",
    "range_text",
    "sentence",
    "tally",
    "tally_rows",
    "tally_words",
    "value_text",
    "verdict_text",
]


class Verdicts(tuple[Verdict, ...]):  # noqa: SLOT001  for the attribute `quick`
    """The verdicts of one or more scenarios, in the order of their expectations; a notebook shows a scoreboard."""

    quick: bool
    """True at quick fidelity, where an undecided verdict with its value in the band counts as a pass."""

    def __new__(cls, verdicts: Iterable[Verdict] = (), *, quick: bool = False) -> Self:
        """Make verdicts of one fidelity."""
        instance = super().__new__(cls, verdicts)
        instance.quick = quick
        return instance

    def only(self, *patterns: str) -> Self:
        """The verdicts whose names match one of the patterns (``splitrx.*``)."""
        kept = (v for v in self if any(fnmatch.fnmatchcase(v.expectation.name, pattern) for pattern in patterns))
        return type(self)(kept, quick=self.quick)

    @property
    def accepted(self) -> bool:
        """True if every verdict is as expected: a pass, or a known red."""
        return all(is_accepted(verdict, quick=self.quick) for verdict in self)

    def frame(self) -> pd.DataFrame:
        """The verdicts as a tidy frame, one row each, with the columns of ``hostsim check --json`` except the cases: values, ends of intervals and of bands in ``unit``."""
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
        """Counts by kind of claim as a tidy frame: in band, undecided, known red, red and missing, each separately."""
        import pandas as pd

        rows = tally(outcomes(self, quick=self.quick))
        frame = pd.DataFrame([counter[outcome] for outcome in OUTCOMES] for counter in rows.values())
        return frame.set_axis(pd.Index(rows, name="kind")).set_axis(list(OUTCOMES), axis="columns")

    def __repr__(self) -> str:
        rows = (f"{row[0]}: {row[2]} {row[3]}, band {row[4]}: {row[5]}" for row in as_rows(self, quick=self.quick))
        return "\n".join(rows) or "no verdicts"

    def _repr_html_(self) -> str:
        page: str = rich_view("notebook.page").verdicts_html(self, quick=self.quick)
        return page


OUTCOMES = {
    "in band": "The whole interval lies in the accepted band (pass).",
    "undecided": "The interval crosses an end of the band or is too wide (pass? if the value is in the band, else open).",
    "known red": "A listed miss: its reason and the range of its value are known, and the value is in that range.",
    "red": "Outside the band and not listed, or listed with another range (fail).",
    "missing": "There is no value.",
}
"""The outcomes of verdicts with their meanings; `outcome` is the rule."""

KNOWN = "known"
"""Text of a known red within its range."""
AWAITS = f"{KNOWN}, awaits calibration"
"""Text of a known red within its range that awaits the next calibration."""
ROUNDING = 1e-9
"""Tolerated rounding of the ends of a range, as a share of the larger."""

HEADINGS = ("claim", "published", "value", "interval", "band", "verdict")


PREDICTION = "90 % prediction"
"""Heading of prediction intervals."""


def headings(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """The headings of the scoreboard: `HEADINGS`, with the prediction before the verdict if there is any."""
    return _with_prediction(verdicts, HEADINGS, PREDICTION)


def _with_prediction(verdicts: Iterable[Verdict], cells: tuple[str, ...], cell: str) -> tuple[str, ...]:
    return (*cells[:-1], cell, cells[-1]) if any(verdict.prediction for verdict in verdicts) else cells


def number(value: float | None) -> str:
    """A number with four significant digits, and commas from 10,000 on; words for infinity, a dash for None and NaN."""
    if value == math.inf:
        return NO_BOUND
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:.4g}"
    return f"{float(text):,.0f}" if "e+" in text else text


_PLAIN_UNITS = {"ratio": "", "boolean": "", "R2": "R²"}
"""Units of expectations that a sentence leaves out."""


def _plain_unit(unit: str) -> str:
    return _PLAIN_UNITS.get(unit, unit)


def published_text(expectation: Expectation) -> str:
    """The published value, with its unit if it is a number: ``20 VMs``, ``1.40``, ``line rate``; empty for an expectation that is not published."""
    if not expectation.is_claim:
        return ""
    ends_in_number = re.search(r"\d\+?$", expectation.published)
    return f"{expectation.published} {_plain_unit(expectation.unit) if ends_in_number else ''}".rstrip()


def band_text(band: Band, unit: str = "") -> str:
    """A band in words: ``19 to 21 VMs``, ``at most 0.01 %``, ``yes``."""
    if unit == "boolean" and band.low == band.high and band.low is not None:
        return _yes_or_no(band.low)
    unit = _plain_unit(unit)
    low, high = number(band.low), number(band.high)
    if band.low is None:
        words = "any" if band.high is None else f"at most {high}"
    elif band.high is None:
        words = f"at least {low}"
    else:
        words = low if band.low == band.high else f"{low} to {high}"
    return f"{words} {unit}".rstrip()


def _yes_or_no(value: float | None) -> str:
    return "–" if value is None else "yes" if value == 1 else "no"


def _is_in_band(verdict: Verdict) -> bool:
    return verdict.value is not None and verdict.expectation.band.holds(verdict.value)


def label(verdict: Verdict, *, quick: bool) -> str:
    """Label of a verdict; ``pass?`` for an undecided one with a value in the band at quick fidelity."""
    if quick and verdict.state is VerdictState.OPEN and verdict.bound is None and _is_in_band(verdict):
        return "pass?"
    return verdict.state.value


def is_accepted(verdict: Verdict, *, quick: bool) -> bool:
    """True if the verdict is as expected: a pass, or a known red within its range."""
    if verdict.known is not None:
        return known_text(verdict) in (KNOWN, AWAITS)
    return label(verdict, quick=quick) in ("pass", "pass?")


def outcome(verdict: Verdict, *, quick: bool) -> str:
    """The outcome in `OUTCOMES` of a verdict, on every page and in every count.

    A listed claim is a known red even if its interval reaches into the band. A claim that awaits the calibration is red, as its missing
    mechanism is not confirmed. Undecided includes ``pass?``, a value in the band with too wide an interval.
    """
    match verdict.state:
        case VerdictState.PASS:
            return "in band"
        case VerdictState.MISSING:
            return "missing"
        case _ if verdict.known:
            as_listed = is_accepted(verdict, quick=quick) and not verdict.known.awaiting
            return "known red" if as_listed else "red"
        case VerdictState.OPEN:
            return "undecided"
        case VerdictState.FAIL:
            return "red"


def verdict_text(verdict: Verdict, *, quick: bool) -> str:
    """The verdict in tables: ``known red`` if it counts as one, else its label, with the deviation of a listed one."""
    counted = outcome(verdict, quick=quick)
    if counted == "known red":
        return counted
    return label(verdict, quick=quick) + (f" ({known_text(verdict)})" if verdict.known else "")


def known_text(verdict: Verdict) -> str:
    """A known red in words: `KNOWN` or `AWAITS` within its range, else the deviation; empty for other verdicts."""
    if verdict.known is None:
        return ""
    if verdict.state is VerdictState.PASS and not verdict.known.by_interval:
        return "known to be red: remove it from the list"
    if verdict.value is None:
        return "known, but no value"
    if verdict.bound is not None:
        return "known, but only a bound"
    if _is_in_range(verdict, verdict.value, verdict.known):
        return AWAITS if verdict.known.awaiting else KNOWN
    return f"known, but outside its range {range_text(verdict.known)}"


def _is_in_range(verdict: Verdict, value: float, red: KnownRed) -> bool:
    """True if a value is in the range of a known red; for other runs, if its interval overlaps the range."""
    low, high = red.range.low, red.range.high
    assert low is not None  # the loader requires both ends
    assert high is not None
    tolerance = ROUNDING * max(abs(low), abs(high))  # a range of zero width is one decimal number
    least, greatest = value, value
    if red.by_interval and verdict.ci_low is not None and verdict.ci_high is not None:
        least, greatest = verdict.ci_low, verdict.ci_high
    return least <= high + tolerance and greatest >= low - tolerance


def range_text(red: KnownRed) -> str:
    """The range of a known red in words, with all digits, as it is narrower than a band; one number if the ends are equal."""
    low, high = f"{red.range.low:.10g}", f"{red.range.high:.10g}"
    return low if low == high else f"{low} to {high}"


def as_rows(verdicts: Iterable[Verdict], *, quick: bool) -> list[tuple[str, ...]]:
    """The scoreboard as a table, one row for each verdict, below `headings`."""
    shown = list(verdicts)
    rows: list[tuple[str, ...]] = []
    for verdict in shown:
        expectation = verdict.expectation
        cells = (
            expectation.name,
            published_text(expectation) or "–",
            value_text(verdict),
            interval_cell(verdict),
            band_text(expectation.band, expectation.unit),
            verdict_text(verdict, quick=quick),
        )
        rows.append(_with_prediction(shown, cells, prediction_text(verdict)))
    return rows


def value_text(verdict: Verdict) -> str:
    """The value in words: ``at least 189``, ``yes``, "not estimable" for too few observations, a dash without a value."""
    if verdict.value is None and NOT_ESTIMABLE in verdict.reason:
        return NOT_ESTIMABLE
    if verdict.expectation.unit == "boolean":
        return _yes_or_no(verdict.value)
    return f"{verdict.bound} {number(verdict.value)}" if verdict.bound else number(verdict.value)


def interval_text(verdict: Verdict) -> str:
    """The interval of the value in words: one end for a bound, a dash without one and for yes or no."""
    if verdict.expectation.unit == "boolean":
        return "–"
    ends = [end for end in (verdict.ci_low, verdict.ci_high) if end is not None]
    if verdict.bound is not None and len(ends) == 1:
        return f"{verdict.bound} {number(ends[0])}"
    if verdict.ci_low is None or verdict.ci_high is None:
        return "–"
    if not (math.isfinite(verdict.ci_low) or math.isfinite(verdict.ci_high)):
        return "–"
    return ends_text(verdict.ci_low, verdict.ci_high)


_IN_BAND = {VerdictState.PASS: "in the band", VerdictState.FAIL: "outside", VerdictState.OPEN: "across an end"}
"""Position of a prediction interval in words."""


def prediction_text(verdict: Verdict | None) -> str:
    """The prediction interval of a value and its position, ``[12, 19] across an end``; a dash without one."""
    interval = None if verdict is None else verdict.prediction
    if interval is None or (interval.low is None and interval.high is None):
        return "–"
    return f"{ends_text(interval.low, interval.high)} {_IN_BAND[interval.state]}"


def ends_text(low: float | None, high: float | None) -> str:
    """An interval by its ends; a dash for an unbounded one."""
    return f"[{number(low)}, {number(high)}]"


def interval_cell(verdict: Verdict) -> str:
    """The interval of the value for a table; ``deterministic`` for zero width without randomness."""
    is_number = verdict.expectation.unit != "boolean"
    return DETERMINISTIC if verdict.equal_replications and is_number else interval_text(verdict)


def finite(value: float | None) -> float | None:
    """A number for strict JSON: None if it is absent or infinite."""
    return None if value is None or not math.isfinite(value) else float(value)


def as_json(verdicts: Iterable[Verdict], *, quick: bool) -> list[dict[str, object]]:
    """The verdicts as plain values for strict JSON: an absent or infinite number is None."""
    return [
        {
            "claim": verdict.expectation.name,
            "scenario": verdict.scenario,
            "kind": verdict.expectation.kind or None,
            "unit": verdict.expectation.unit,
            "published": verdict.expectation.published,
            "value": finite(verdict.value),
            "bound": verdict.bound and verdict.bound.value,
            "ci_low": finite(verdict.ci_low),
            "ci_high": finite(verdict.ci_high),
            "low": finite(verdict.expectation.band.low),
            "high": finite(verdict.expectation.band.high),
            "verdict": label(verdict, quick=quick),
            "outcome": outcome(verdict, quick=quick),
            "known": verdict.known is not None,
            "awaiting": (verdict.known and verdict.known.awaiting) or None,
            "reason": verdict.reason,
            "notes": list(verdict.notes),
            "deterministic": verdict.equal_replications > 0,
            "cases": [
                {name: finite(value) if isinstance(value, float) else value for name, value in case.items()}
                for case in verdict.points
            ],
            **_plain_prediction(verdict),
        }
        for verdict in verdicts
    ]


def _plain_prediction(verdict: Verdict) -> dict[str, object]:
    """The prediction interval as plain values; empty without one."""
    interval = verdict.prediction
    if interval is None:
        return {}
    return {
        "prediction_low": interval.low,
        "prediction_high": interval.high,
        "prediction_members": interval.members,
        "prediction_verdict": interval.state.value,
    }


def sentence(verdict: Verdict, *, quick: bool) -> str:
    """One verdict in a sentence for a log."""
    expectation = verdict.expectation
    text = f"{verdict_text(verdict, quick=quick)}: {value_text(verdict)} {_plain_unit(expectation.unit)} {interval_text(verdict)}"
    text += f", {PREDICTION} {prediction_text(verdict)}" if verdict.prediction else ""
    text += f", band {band_text(expectation.band, expectation.unit)}"
    text = "; ".join([text, *([verdict.reason] if verdict.reason else []), *verdict.notes])
    return "".join(letter if letter.isprintable() else " " for letter in text)


OWN = "own"
"""Kind of an expectation that is not published."""
ALL = "all"
"""Heading of the counts of all kinds together."""
TALLY_HEADINGS = ("kind", "expectations", *OUTCOMES)


def awaiting_words(verdicts: Iterable[Verdict]) -> str:
    """The number of verdicts that await the calibration, in words; empty without any."""
    names = [verdict.expectation.name for verdict in verdicts if verdict.known is not None and verdict.known.awaiting]
    if not names:
        return ""
    return f"{len(names)} of them await{'s' * (len(names) == 1)} calibration, counted as red: {', '.join(names)}"


def outcomes(verdicts: Iterable[Verdict], *, quick: bool) -> list[tuple[str, str]]:
    """Kind and outcome of each verdict."""
    return [(verdict.expectation.kind or OWN, outcome(verdict, quick=quick)) for verdict in verdicts]


def tally(outcomes: Iterable[tuple[str, str]]) -> dict[str, Counter[str]]:
    """Counts of outcomes by kind, in the order of kinds; with several kinds also those of `ALL`.

    Args:
        outcomes: kinds with outcomes, of `outcomes`.
    """
    pairs = list(outcomes)
    counts = {kind: Counter(result for of, result in pairs if of == kind) for kind in (*CLAIM_KINDS, OWN)}
    counts = {kind: counter for kind, counter in counts.items() if counter}
    return counts | {ALL: Counter(result for _, result in pairs)} if len(counts) > 1 else counts


def tally_rows(outcomes: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The tally as a table, one row for each kind, below `TALLY_HEADINGS`."""
    return [
        (kind, str(counter.total()), *(str(counter[outcome]) for outcome in OUTCOMES))
        for kind, counter in tally(outcomes).items()
    ]


def tally_words(outcomes: Iterable[tuple[str, str]]) -> str:
    """The tally in words, without kinds: ``3 in band, 1 known red``; empty outcomes except ``in band`` are left out."""
    counter = Counter(outcome for _, outcome in outcomes)
    return ", ".join(
        f"{counter[outcome]} {outcome}" for outcome in OUTCOMES if counter[outcome] or outcome == "in band"
    )
