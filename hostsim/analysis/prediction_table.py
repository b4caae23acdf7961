"""Tables of predictions and of their scores, as texts and as plain values for strict JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hostsim.analysis.prediction import TIMES, Prediction, Score, scores
from hostsim.results.scoreboard import PREDICTION, band_text, interval_cell, number, prediction_text, value_text

__all__ = ["HEADINGS", "SCORE_HEADINGS", "as_json", "headings", "percent", "rows", "score_rows", "value_cell"]

HEADINGS = (
    "measurement",
    "published",
    "band",
    "predicted",
    "value",
    "interval",
    "error",
    "in band",
    "order",
    "note",
)
_PLACE = HEADINGS.index("interval") + 1
"""Of the column of prediction intervals, where there are any."""
SCORE_HEADINGS = ("kind", "predicted", "measurements", "median error", "in band", "orders right", "scored apart")
NONE = "–"
"""In the place of what there is not."""


def rows(predictions: Sequence[Prediction]) -> list[tuple[str, ...]]:
    """Two rows a prediction, the first and today's, under `headings`."""
    found = [(each, time, _row(each, time, predictions)) for each in predictions for time in TIMES]
    if not _is_predicted(predictions):
        return [row for _, _, row in found]
    cells = [prediction_text(each.verdict) if time == "today" else NONE for each, time, _ in found]
    return [(*row[:_PLACE], cell, *row[_PLACE:]) for (_, _, row), cell in zip(found, cells, strict=True)]


def headings(predictions: Sequence[Prediction]) -> tuple[str, ...]:
    """`HEADINGS`, with that of the prediction interval where there are any."""
    return (*HEADINGS[:_PLACE], PREDICTION, *HEADINGS[_PLACE:]) if _is_predicted(predictions) else HEADINGS


def _is_predicted(predictions: Sequence[Prediction]) -> bool:
    return any(each.verdict.prediction for each in predictions)


def _row(each: Prediction, time: str, others: Sequence[Prediction]) -> tuple[str, ...]:
    row, held, orders = each.measurement, each.in_band(time), each.orders(others, time)
    is_first = time == "first"
    recorded = f"{each.first.date}, {each.first.fidelity}" if each.first else "not recorded"
    return (
        row.id if is_first else "",
        f"{row.value} {row.unit}" if is_first else "",
        band_text(row.band) if is_first else "",
        time,
        value_cell(each, time),
        _interval(each, time),
        percent(each.error(time), sign=True),
        NONE if held is None else "yes" if held else "no",
        f"{sum(orders)} of {len(orders)}" if orders else NONE,
        recorded if is_first else each.apart,
    )


def value_cell(each: Prediction, time: str) -> str:
    """A value in words; a dash where there is none."""
    if time == "today":
        return value_text(each.verdict)
    first = each.first
    if first is None:
        return NONE
    return f"{first.bound} {number(first.value)}" if first.bound else number(first.value)


def _interval(each: Prediction, time: str) -> str:
    if time == "today":
        return interval_cell(each.verdict)
    low, high = each.first.interval if each.first else (None, None)
    return NONE if low is None or high is None else f"[{number(low)}, {number(high)}]"


def percent(share: float | None, *, sign: bool = False) -> str:
    """A share in percent; a dash for None."""
    return NONE if share is None else f"{100 * share:{'+' if sign else ''}.1f} %"


def score_rows(predictions: Sequence[Prediction]) -> list[tuple[str, ...]]:
    """The scores, one row a kind and time, under `SCORE_HEADINGS`."""
    return [
        (
            score.kind,
            score.time,
            str(score.predicted),
            percent(score.median_error),
            _share(score.in_band, score.predicted),
            _share(score.right, score.orders),
            score.apart,
        )
        for score in scores(predictions)
    ]


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else NONE


def as_json(predictions: Sequence[Prediction]) -> dict[str, list[dict[str, object]]]:
    """Predictions and scores as plain values for strict JSON: an absent or infinite number is None."""
    return {
        "predictions": [_plain(each, predictions) for each in predictions],
        "scores": [_plain_score(score) for score in scores(predictions)],
    }


def _plain(each: Prediction, others: Sequence[Prediction]) -> dict[str, object]:
    row, verdict = each.measurement, each.verdict
    first = None if each.first is None else each.first.model_dump(mode="json")
    today: dict[str, object] = {
        "digest": each.digest,
        "value": _finite(verdict.value),
        "interval": [_finite(verdict.ci_low), _finite(verdict.ci_high)],
        "bound": verdict.bound and verdict.bound.value,
        "reason": verdict.reason,
        "notes": list(verdict.notes),
    }
    if found := verdict.prediction:
        today["prediction"] = [found.low, found.high]
        today["members"] = found.members
    judged = {
        time: {"error": _finite(each.error(time)), "in_band": each.in_band(time), "orders": each.orders(others, time)}
        for time in TIMES
    }
    return {
        "measurement": row.id,
        "scenario": verdict.scenario,
        "kind": row.kind,
        "unit": row.unit,
        "published": row.value,
        "low": row.band.low,
        "high": row.band.high,
        "source": row.source,
        "first": None if first is None else first | judged["first"],
        "today": today | judged["today"],
        "apart": each.apart,
    }


def _plain_score(score: Score) -> dict[str, object]:
    return {
        "kind": score.kind,
        "predicted": score.time,
        "apart": score.apart,
        "measurements": score.predicted,
        "median_error": _finite(score.median_error),
        "in_band": score.in_band,
        "orders": score.orders,
        "orders_right": score.right,
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
