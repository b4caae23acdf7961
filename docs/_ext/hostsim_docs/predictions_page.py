"""Page of the predictions: the first value of each measurement for ever beside today's, both commits, and the error by kind.

``python -m hostsim_docs.predictions_page FILE`` runs them all and writes it, as `make predictions` does for the documentation.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from hostsim import api
from hostsim.analysis.commit import first_commit_with
from hostsim.analysis.prediction import Prediction, predict
from hostsim.analysis.prediction_table import SCORE_HEADINGS, percent, score_rows, value_cell
from hostsim.files import write_whole
from hostsim.results.scoreboard import band_text
from hostsim.run_option import settle
from hostsim.scenario.shipped_data import LEDGER, data_root, predictions
from hostsim_docs.markdown import code, row, table

__all__ = ["main", "page"]

HEAD = """\
# Predictions

Published measurements that nothing is fitted to and no input is chosen by. The inputs of each were written down and committed from its source and from documented facts before it was run for the first time; its first value came in a later commit and stays here permanently,
beside the value of today, whatever the model has become since. A miss is a miss. {ref}`How a prediction is made <predict-first>`. {doc}`explanation/missed-predictions` has the mechanisms of the large misses.

An error is relative to the published value. Orders are those that were published without doubt: a quotient above or below 1, and two measurements of one source whose bands are apart. A measurement for which a mechanism was changed, or whose inputs are other ones now, is scored apart.
"""
NOT_YET = "not yet"


def page(found: Sequence[Prediction], *, quick: bool) -> str:
    """The page as Markdown: the scores by kind, then each measurement with its two values and its two commits.

    Args:
        found: the predictions.
        quick: fidelity of today's values.
    """
    fidelity = "quick" if quick else "full"
    lines = [HEAD, "## Error by kind", "", table(SCORE_HEADINGS, score_rows(found)).rstrip(), ""]
    lines += ["## First and today", "", f"Today's values are of {fidelity} fidelity.", ""]
    lines += [row(("measurement", "published", "band", "first", "error", "today", "error", "scored apart"))]
    lines += [row(("---",) * 8), *map(_values, found), "", "## Commits", ""]
    lines += [
        "The inputs as they were for the first value, and the commit that it came in. The ledger is `scenarios/predictions/first.yaml`.",
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
    published = f"{one.value} {one.unit}"
    first = value_cell(each, "first") if each.first else NOT_YET
    errors = (percent(each.error("first"), sign=True), percent(each.error("today"), sign=True))
    return row(
        (code(one.id), published, band_text(one.band), first, errors[0], value_cell(each, "today"), errors[1], apart)
    )


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
    options = settle({"quick": given.quick, "results": given.results})
    found = predict(api.select(among=predictions()), api.fidelity(options), api.execution_options(options))
    write_whole(given.file, page(found, quick=given.quick).encode())


if __name__ == "__main__":
    main()
