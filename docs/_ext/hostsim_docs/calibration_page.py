"""Page of the joint calibration: priors beside posteriors, what pulls against what, and each experiment predicted by all others.

``python -m hostsim_docs.calibration_page FILE`` writes it from ``scenarios/calibration/summary.json``, as `make calibration-page` does for the documentation.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy import format_float_positional

from hostsim.config.files import write_whole
from hostsim.scenario.shipped_data import claims, data_root
from hostsim_docs.interval_coverage import ALL, HEADINGS, MEANING, PredictedInterval, one_by_one, rows
from hostsim_docs.markdown import code, table

__all__ = ["page", "shipped_page"]

HEAD = """\
# Joint calibration

All constants and assumed inputs behind the published claims were calibrated at once, from priors that know no claim ({doc}`decisions/index`, 0158). Hosts were spread over the priors and run; emulators learnt from these runs what each claim depends on; further hosts that agree with the claims
were drawn by Markov chains and run as well. The last of them are the shipped ensemble ({doc}`guide/how-sure`). Each experiment has a discrepancy: how far the model misses its claims beyond noise and constants.

`hostsim calibrate` repeats it, and goes on from its folder when it is stopped; `python .ci/ship_calibration.py FOLDER` ships what it has found. The log has a row for each host: `scenarios/calibration/log.csv`.
"""
LEARNT = """\
## Held by the data

Numbers whose posterior has less than 70 % of the prior's standard deviation, or a mean at least 0.3 standard deviations away, which is three times the noise of the chains. Quantiles of 5, 50 and 95 %. A shipped value of these stays where it lies in the middle half of the posterior, or is the stated one and the data pull towards it, and is the posterior's median elsewhere ({doc}`decisions/index`, 0171); with them stand those that an earlier calibration moved and whose value lies there still. Every other number keeps its stated value. That is the median of its prior, but for two kinds: one stated at an end of its range has all of the prior on the other side, and a choice among words is even over all of them. {doc}`cost-model` has the stated values.
"""
PULLS = """\
## What pulls against what

By how many standard deviations of its prior an experiment moves the mean of a number, up or down. Experiments on both sides pull against each other.
"""
LEFT_OUT = f"""\
## Each experiment predicted by all others

The chains run again without the experiment; nothing of what was published about it is used. The interval holds constants, noise, the emulator's error and a discrepancy as large as may be. {MEANING}"""
HOSTS_ALONE = """\
## The same without a discrepancy

Intervals of `--ensemble` ({doc}`guide/how-sure`) hold constants and noise, and nothing of how far the model itself is off: no discrepancy is known of a quantity that has no band. Those of the same hosts, experiment by experiment predicted by all others:
"""
ONE_BY_ONE = """\
## Claim by claim

Bold: the published value is outside.
"""


def page(found: Mapping[str, Any]) -> str:
    """The page as Markdown.

    Args:
        found: what ``summary.json`` holds.
    """
    summary, shipped = found["summary"], found["shipped"]
    intervals = [_predicted(one) for one in summary["left_out"]]
    alone = [
        replace(interval, low=one["hosts"][0], high=one["hosts"][1], group=ALL)
        for interval, one in zip(intervals, summary["left_out"], strict=True)
    ]
    learnt = summary["learnt"]
    moved = sum(abs(one["moved"]) > 1 for one in learnt)
    lines = [HEAD, _run(found), "", LEARNT]
    lines += [_learnt([one for one in learnt if one["name"] in shipped], shipped), ""]
    lines += [
        f"{code(name)} keeps its stated value all the same: {reason}.\n" for name, reason in found["kept"].items()
    ]
    lines.append(
        f"Moved by more than a standard deviation of the prior: {moved} of {len(learnt)} numbers. Not held: {len(learnt) - len(found['held'])}."
    )
    lines += [
        "",
        "![Claims on the calibrated hosts beside what was published](images/calibration.svg)",
        "",
    ]
    lines += [
        "## Discrepancies",
        "",
        _discrepancies(summary["discrepancies"]),
        "",
        PULLS,
        _pulls(summary["pulls"]),
        "",
        LEFT_OUT,
    ]
    lines += [
        table(("experiment", *HEADINGS), rows(intervals)),
        "",
        HOSTS_ALONE,
        table(HEADINGS, [cells for _, *cells in rows(alone)]),
        "",
        ONE_BY_ONE,
        one_by_one(intervals, "claim"),
        "",
        "## Not held by the data",
        "",
    ]
    lines.append(_learnt([one for one in learnt if one["name"] not in shipped], {}))
    return "\n".join(line.rstrip("\n") if line.startswith("|") else line for line in lines).rstrip() + "\n"


def _run(found: Mapping[str, Any]) -> str:
    summary = found["summary"]
    return (
        f"{summary['members']} hosts took {summary['processor_h']:.1f} core-hours. {len(summary['learnt'])} numbers, {len(summary['observed'])} claims. "
        f"The chains accepted {100 * summary['accepted']:.0f} % of their proposals; their potential scale reduction is {summary['mixing']:.2f}."
    )


def _spread(ends: Sequence[float]) -> str:
    low, middle, high = map(_written, ends)
    return f"{middle} ({low} to {high})"


def _written(value: float) -> str:
    return format_float_positional(float(f"{value:.3g}"), trim="-")


def _learnt(rows: Iterable[Mapping[str, Any]], shipped: Mapping[str, float]) -> str:
    """Priors beside posteriors, with the shipped values where there are some."""
    heads = ("number", "unit", "prior", "posterior", *(("shipped",) if shipped else ()), "moved, in sd", "sd left")
    cells = [
        (
            code(one["name"]),
            one["unit"],
            _spread(one["prior"]),
            _spread(one["posterior"]),
            *((_written(shipped[one["name"]]),) if shipped else ()),
            f"{one['moved']:+.1f}",
            f"{100 * one['kept']:.0f} %",
        )
        for one in sorted(rows, key=lambda one: float(one["kept"]))
    ]
    return table(heads, cells)


def _discrepancies(found: Mapping[str, Sequence[float]]) -> str:
    heads = ("experiment", "in half-widths of its bands, those beyond ten by their logarithm (5 to 95 %)")
    return table(heads, [(name, _spread(ends)) for name, ends in found.items()])


def _pulls(found: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for name in dict.fromkeys(one["name"] for one in found):
        own = [one for one in found if one["name"] == name]
        sides = [
            ", ".join(f"{one['experiment']} ({one['by']:+.1f})" for one in own if (one["by"] > 0) == up)
            for up in (True, False)
        ]
        rows.append((code(name), *sides))
    return table(("number", "up", "down"), rows)


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
    return page(json.loads((data_root() / "calibration" / "summary.json").read_text(encoding="utf-8")))


if __name__ == "__main__":
    write_whole(Path(sys.argv[1]), shipped_page().encode())
