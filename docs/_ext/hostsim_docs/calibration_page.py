"""Page of the shipped calibration: the best fit, the claims that determine each number, and each experiment predicted
from all others.

``python -m hostsim_docs.calibration_page FILE`` writes it from ``scenarios/calibration/fit.json``, as `make calibration-page` does for the documentation.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy import format_float_positional

from hostsim.config.files import write_whole
from hostsim.lab.calibration.shipped_claims import LEAST_MOVED
from hostsim.scenario.shipped_data import claims, data_root
from hostsim_docs.fitted_count import count_fitted
from hostsim_docs.interval_coverage import ALL, HEADINGS, MEANING, PredictedInterval, one_by_one, rows
from hostsim_docs.markdown import code, table

__all__ = ["page", "shipped_page"]

HEAD = """\
# Calibration

The shipped host is the most likely one (*maximum a posteriori*): among all values that the sources allow, its values minimise the sum of the squared residuals of the published claims and the squared distances from the stated values. All experiments are fitted together, and no claim has a special weight.

- **Distance of a number**: in standard deviations of its prior. The prior has half of its probability on each side of the stated value, up to the ends of the range ({doc}`decisions/index`, 0158).
- **Residual of a claim**: (simulated - published) / half-width of its band. For a direction, or a band with one end, only the distance beyond that end counts, in units of 5 % of it. Rules do not count, and neither does the ratio of two claims that count separately.
- **Runs**: quick, with common random numbers. A threshold is interpolated between fixed values of its axis; on the host of each step, a threshold with its own run length is searched for as by `hostsim check`. The fit makes Gauss-Newton steps, with derivatives from differences of runs; a difference within the noise counts as zero.

The objectives below have the thresholds of dense mode at 100 ms from short runs. With searches, that of the shipped host is 38.5, and a host with 33.9 is known ({doc}`dense-mode`).

`hostsim calibrate` repeats the calibration and resumes in its folder if stopped; `python .ci/ship_calibration.py FOLDER` ships its result. {doc}`cost-model` has the source of each number.
"""
MOVED = """\
## Numbers that the claims moved

*Stated*: stated value and 90 % interval of the prior. *Fitted*: shipped value and 90 % interval of the posterior, by the linear model around the best fit. *Moved*: distance from the stated value. *sd left*: posterior over prior standard deviation. *Determined by*: the claims that the number moves most, in half-widths.
"""
LEFT_OUT = f"""\
## Each experiment predicted by all others

For each experiment the fit is repeated without its published values, from the stated values and by the linear model around the best fit, and the resulting host is run. The interval includes the uncertainty of constants, noise and the model's own error, which is estimated from the errors of these predictions: {{errors}} of a value. {MEANING}"""
HOSTS_ALONE = """\
## The same without the model's own error

These intervals include only constants and noise. The members of `--ensemble` ({{doc}}`guide/how-sure`) also have a factor common to all of their costs. Each member draws the standard deviation of its factor, {factor}, from the errors of these predictions; the more a claim depends on costs, the greater its weight. The factor does not change values that are limited by a wire or a timer.
"""
ONE_BY_ONE = """\
## Claim by claim

An interval is bold if the published value is outside it.
"""


def page(found: Mapping[str, Any], count: str = "") -> str:
    """The page as Markdown.

    Args:
        found: content of ``fit.json``.
        count: a sentence on the fitted numbers.
    """
    moved = [one for one in found["numbers"] if abs(one["moved"]) >= LEAST_MOVED]
    still = [one for one in found["numbers"] if one not in moved and one["held_by"]]
    intervals = [_predicted(one) for one in found["left_out"]]
    alone = [
        replace(interval, low=one["hosts"][0], high=one["hosts"][1], group=ALL)
        for interval, one in zip(intervals, found["left_out"], strict=True)
    ]
    errors = " and ".join(f"{100 * size:.0f} % of a {kind}" for kind, size in found["discrepancies"].items())
    low, middle, high = (100 * size for size in found["factor"])
    lines = [
        HEAD,
        _run(found),
        "",
        count,
        "",
        MOVED,
        _numbers(moved),
        "",
        "## Numbers that affect claims but did not move",
        "",
        _numbers(still),
        "",
        f"{len(found['numbers']) - len(moved) - len(still)} other numbers move no claim by more than the noise of a run, and keep their stated values.",
        "",
    ]
    if found["choices"]:
        lines += [
            "## Choices\n\nThe sources do not decide these choices, so their values are equally likely. The table has the objective of the best fit with each value:\n",
            table(
                ("choice", "value", "objective", ""),
                [
                    (code(o["name"]), o["word"], f"{o['objective']:.1f}", "shipped" if o["is_kept"] else "")
                    for o in found["choices"]
                ],
            ),
            "",
        ]
    lines += ["## Residuals", "", _residuals(found["claims"]), "", LEFT_OUT.format(errors=errors)]
    lines += [
        table(("experiment", *HEADINGS), rows(intervals)),
        "",
        HOSTS_ALONE.format(factor=f"{middle:.0f} % ({low:.0f} to {high:.0f} %, 90 %)"),
        table(HEADINGS, [cells for _, *cells in rows(alone)]),
        "",
        ONE_BY_ONE,
        one_by_one(intervals, "claim"),
    ]
    return "\n".join(line.rstrip("\n") if line.startswith("|") else line for line in lines).rstrip() + "\n"


def _run(found: Mapping[str, Any]) -> str:
    first, *others = found["objectives"]
    steps = (
        f"{first:.1f} before the first step, then {', '.join(f'{value:.1f}' for value in others)}"
        if others
        else f"{first:.1f}; no step lowered it"
    )
    return (
        f"{len(found['numbers'])} numbers, {len(found['claims'])} claims, {found['processor_h']:.1f} core-hours. Objective: {steps}. "
        f"The claims determine the equivalent of {found['effective']:.1f} free parameters (the trace of the identity minus the ratio of posterior to prior covariance)."
    )


def _written(value: float) -> str:
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10_000 else format_float_positional(rounded, trim="-")


def _spread(middle: float, ends: Sequence[float]) -> str:
    return f"{_written(middle)} ({_written(ends[0])} to {_written(ends[-1])})"


def _numbers(found: Sequence[Mapping[str, Any]]) -> str:
    cells = [
        (
            code(one["name"]),
            one["unit"],
            _spread(one["stated"], one["prior"]),
            _spread(one["value"], one["posterior"]),
            f"{one['moved']:+.2f}",
            f"{100 * one['kept']:.0f} %",
            ", ".join(one["held_by"]),
        )
        for one in sorted(found, key=lambda one: -abs(float(one["moved"])))
    ]
    return table(("number", "unit", "stated", "fitted", "moved, in sd", "sd left", "determined by"), cells)


def _residuals(found: Sequence[Mapping[str, Any]]) -> str:
    cells = [
        (
            code(one["name"]),
            _written(one["published"]),
            _spread(one["value"], one["interval"]),
            f"{one['residual']:+.2f}",
        )
        for one in found
    ]
    return table(
        ("claim", "published, or the middle or end of its band", "fitted, 90 %", "residual, in half-widths"), cells
    )


def _predicted(one: Mapping[str, Any]) -> PredictedInterval:
    claim = claims()[one["name"]]
    return PredictedInterval(
        name=one["name"],
        group=one["experiment"],
        kind=claim.kind,
        published=one["centre"],
        band=claim.band,
        low=one["low"],
        value=one["median"],
        high=one["high"],
        prior=(one["prior"][0], one["prior"][1]),
    )


def shipped_page() -> str:
    """The page of the shipped calibration."""
    found = json.loads((data_root() / "calibration" / "fit.json").read_text(encoding="utf-8"))
    return page(found, count_fitted().sentence)


if __name__ == "__main__":
    write_whole(Path(sys.argv[1]), shipped_page().encode())
