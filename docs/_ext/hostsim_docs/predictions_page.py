"""Page of the predictions: first and today's value of each measurement, both commits, errors by kind, and coverage of
the prediction intervals.

``python -m hostsim_docs.predictions_page FILE`` runs them all and writes it, as `make predictions` does for the documentation.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from hostsim import api
from hostsim.campaign.ensemble import Ensemble, read_ensemble
from hostsim.campaign.run_option import RunOptions
from hostsim.config.files import write_whole
from hostsim.lab.calibration.shipped_claims import draw_from_priors
from hostsim.lab.prediction import (
    SCORE_HEADINGS,
    Prediction,
    first_commit_with,
    percent,
    predict,
    score_rows,
    value_cell,
)
from hostsim.results.claim import Measurement
from hostsim.results.estimate import most_replications
from hostsim.results.expect import PredictionInterval
from hostsim.results.verdicts import band_text, number
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.shipped_data import LEDGER, data_root, predictions, shipped_ensemble
from hostsim_docs.interval_coverage import HEADINGS, MEANING, PredictedInterval, one_by_one, rows
from hostsim_docs.markdown import code, row, table

__all__ = ["baselines", "main", "page"]

HEAD = """\
# Predictions

These are published measurements that no constant was fitted to and no input was chosen by. Their inputs were committed before the first run, from the sources and documented facts; the first values were added in a later commit. The page always shows the first value and the value of today's model. {ref}`How a prediction is made <predict-first>`. {doc}`explanation/missed-predictions` explains the large misses.

Errors are relative to the published value. An order is a published ratio above or below 1, or two measurements of one source whose bands do not overlap. Measurements whose inputs have changed, or for which a mechanism was changed, are scored separately.
"""
SURE = f"""\
## Prediction intervals

Every host of the shipped ensemble predicts each measurement, in quick runs ({{doc}}`guide/how-sure`, {{doc}}`calibration`): the interval contains 90 % of the hosts, and includes an error that is common to all costs, but not the error of each value. The same number of hosts drawn from the priors also predicts each measurement. {MEANING}"""
BASELINE = """\
## Baseline

These measurements need a mechanism that the model did not have before. The baseline is the prediction of the nearest scenario without it, with a VM instead of a VMkernel port. Its inputs were committed together with those of the prediction (`scenarios/predictions/baselines`). Intervals are those of the shipped ensemble, as below.
"""
NOT_YET = "not yet"
AS_IT_IS = "model as it was"
NO_INTERVAL = "–"
BASELINE_HEADINGS = ("measurement", "published", "today", "error", "90 %", "baseline", "error", "90 %")


def page(
    found: Sequence[Prediction],
    intervals: Sequence[PredictedInterval],
    baselines: Sequence[tuple[Prediction, Prediction]] = (),
    *,
    quick: bool,
) -> str:
    """The page as Markdown: the scores by kind, each measurement with its two values, its prediction interval, and its two commits.

    Args:
        found: the predictions.
        intervals: intervals of the shipped ensemble.
        baselines: baselines of some measurements, by the shipped host and by the ensemble.
        quick: fidelity of today's values.
    """
    fidelity = "quick" if quick else "full"
    lines = [HEAD, "## Error by kind", "", table(SCORE_HEADINGS, score_rows(found)).rstrip(), ""]
    lines += ["## First and today", "", f"Today's values are of {fidelity} fidelity.", ""]
    lines += [row(("measurement", "published", "band", "first", "error", "today", "error", "scored apart"))]
    lines += [row(("---",) * 8), *map(_values, found), ""]
    lines += [BASELINE, table(BASELINE_HEADINGS, _beside(found, intervals, baselines))]
    lines += [
        SURE,
        table(("scored apart", *HEADINGS), rows(intervals)),
        one_by_one(intervals, "measurement"),
        "## Commits",
        "",
    ]
    lines += [
        "Commits of the inputs and of the first value. The ledger is `scenarios/predictions/first.yaml`.",
        "",
        row(("measurement", "scenario", "inputs", "first value", "on", "fidelity, root seed")),
        row(("---",) * 6),
        *map(_commits, found),
    ]
    return "\n".join(lines) + "\n"


def _values(each: Prediction) -> str:
    one, apart = each.measurement, each.apart
    if each.first is not None and each.first.changed_for:
        apart += f": {each.first.changed_for}"
    first = value_cell(each, "first") if each.first else NOT_YET
    errors = (percent(each.error("first"), sign=True), percent(each.error("today"), sign=True))
    return row(
        (
            code(one.id),
            _published(one),
            band_text(one.band),
            first,
            errors[0],
            value_cell(each, "today"),
            errors[1],
            apart,
        )
    )


def _beside(
    found: Sequence[Prediction],
    intervals: Sequence[PredictedInterval],
    baselines: Sequence[tuple[Prediction, Prediction]],
) -> list[tuple[str, ...]]:
    """Rows of measurements with a baseline."""
    today = {each.measurement.id: each for each in found}
    ends = {one.name: (one.low, one.high) for one in intervals}
    lines = []
    for each, of_ensemble in baselines:
        one, ahead = each.measurement, of_ensemble.verdict.prediction
        with_it = _cells(today[one.id], ends.get(one.id))
        without = _cells(each, None if ahead is None else _ends(ahead))
        lines.append((code(one.id), _published(one), *with_it, *without))
    return lines


def _cells(each: Prediction, ends: tuple[float, float] | None) -> tuple[str, str, str]:
    """Today's value, its error and its prediction interval."""
    interval = NO_INTERVAL if ends is None else " to ".join(map(number, ends))
    return value_cell(each, "today"), percent(each.error("today"), sign=True), interval


def _published(one: Measurement) -> str:
    """The published value with its unit, and commas from 10,000 on."""
    is_large = one.value.isdigit() and int(one.value) >= 10_000
    return f"{int(one.value):,} {one.unit}" if is_large else f"{one.value} {one.unit}"


def _predicted(of_ensemble: Sequence[Prediction], of_priors: Sequence[Prediction]) -> list[PredictedInterval]:
    """Prediction intervals by the shipped ensemble and by the priors, for measurements that have both."""
    found = []
    for one, other in zip(of_ensemble, of_priors, strict=True):
        ahead, before = one.verdict.prediction, other.verdict.prediction
        if one.verdict.value is None or ahead is None or before is None:
            continue
        row, (low, high) = one.measurement, _ends(ahead)
        found.append(
            PredictedInterval(
                name=row.id,
                group=one.apart or AS_IT_IS,
                kind=row.kind,
                published=row.number,
                band=row.band,
                low=low,
                value=one.verdict.value,
                high=high,
                prior=_ends(before),
            )
        )
    return found


def _ends(found: PredictionInterval) -> tuple[float, float]:
    return -math.inf if found.low is None else found.low, math.inf if found.high is None else found.high


def _commits(each: Prediction) -> str:
    name, first = each.measurement.id, each.first
    if first is None:
        return row((code(name), code(each.verdict.scenario), NOT_YET, NOT_YET, NOT_YET, ""))
    came = first_commit_with(data_root() / "predictions" / LEDGER, f"{name}:")
    cells = (code(first.inputs[:12]), code(came[:12]) if came else NOT_YET, first.date)
    return row((code(name), code(each.verdict.scenario), *cells, f"{first.fidelity}, {first.seed}"))


def main() -> None:
    """Run all predictions and write the page."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()
    options = RunOptions(quick=given.quick, results=given.results)
    chosen, execution = api.select(among=predictions()), options.execution()
    found = predict(chosen, options.fidelity(), execution)
    shipped = read_ensemble(shipped_ensemble())
    priors = Ensemble(tuple(draw_from_priors(chosen, len(shipped.members))), "priors")
    of_ensemble, of_priors = (predict(chosen, _all_of(each), execution) for each in (shipped, priors))
    without = baselines()
    alone, around = (predict(without, each, execution) for each in (options.fidelity(), _all_of(shipped)))
    pairs = list(zip(alone, around, strict=True))
    text = page(found, _predicted(of_ensemble, of_priors), pairs, quick=given.quick)
    write_whole(given.file, text.encode())


def baselines() -> list[tuple[Scenario, frozenset[str]]]:
    """Scenarios without the mechanism of a prediction, each in a file with its name."""
    folder = data_root() / "predictions"
    files = [folder / "baselines" / f"{name}.yaml" for name in predictions()]
    scenarios = [load(file, root=folder) for file in files if file.is_file()]
    return [(scenario, frozenset(entry.name for entry in scenario.expectations)) for scenario in scenarios]


def _all_of(ensemble: Ensemble) -> Fidelity:
    """At least one run of each member; quick runs suffice, as members differ by more than noise."""
    return Fidelity(quick=True, replications=most_replications(len(ensemble.members)), ensemble=ensemble)


if __name__ == "__main__":
    main()
