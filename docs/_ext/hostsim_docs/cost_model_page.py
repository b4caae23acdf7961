"""Page of the cost model: every constant with its value, its origin and the experiments that identify it.

``python -m hostsim_docs.cost_model_page FILE`` writes it, as `make cost-model` does for the documentation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hostsim.analysis.constant import Constant, Origin
from hostsim.analysis.cost_model import shipped_constants
from hostsim.calibration.fit import shipped_fits
from hostsim.calibration.freedom import FittedCount, count_fitted
from hostsim.calibration.identifiability import experiments_of, identifying_claims, shipped_identifiability
from hostsim.files import write_whole
from hostsim.scenario.shipped_data import claims
from hostsim_docs.markdown import table

__all__ = ["MOST_FITTED", "page", "shipped_page"]

MOST_FITTED = 30
"""Fitted constants that the model may have."""


def page(
    constants: Sequence[Constant],
    intervals: Mapping[str, tuple[float, float]] | None = None,
    holds: Mapping[str, Sequence[str]] | None = None,
    asked: Sequence[str] = (),
    count: FittedCount | None = None,
) -> str:
    """The page of constants as Markdown.

    Args:
        constants: all of them.
        intervals: by name of a fitted constant, where no claim of its group moves by more than half of the width of its band; the column says so where nothing is known.
        holds: by name of a fitted constant, ids of the claims that hold it; those that it was fitted to where nothing is said.
        asked: experiments that all fitted constants were moved in.
        count: of all that counts as fitted, inputs included; left out where nothing is known.
    """
    intervals, holds = intervals or {}, holds or {}
    fitted = [constant for constant in constants if constant.is_fitted]
    others = [constant for constant in constants if not constant.is_fitted]
    held = {c.name: experiments_of(holds.get(c.name, c.fitted_to)) for c in fitted}
    lines = [Path(__file__).with_name("cost_model.md").read_text(encoding="utf-8").rstrip(), ""]
    lines.append(_count(constants, held))
    if asked:
        unasked = set(experiments_of(claims())) - set(asked)
        rest = "; in other experiments only those that are fitted to them" if unasked else ", which are all"
        lines.append(f"All of them were moved in {', '.join(asked)}{rest}.")
    if count is not None:
        lines += ["", f"{count.sentence} ({{doc}}`assumptions`).".replace(". (", " (")]
    lines += _table(
        "Fitted",
        ("constant", "value", "interval", "fitted to", "held by experiments"),
        (
            (
                c.name,
                _value(c),
                _between(c, intervals.get(c.name, c.range)) or "not known",
                ", ".join(c.fitted_to) or c.text,
                ", ".join(held[c.name]) or "none",
            )
            for c in fitted
        ),
    )
    lines += _table(
        "Source",
        ("constant", "value", "source"),
        ((c.name, _value(c), c.text) for c in others if c.origin is Origin.SOURCE),
    )
    lines += _table(
        "Assumed",
        ("constant", "value", "range", "reason"),
        ((c.name, _value(c), _between(c, c.range), c.text) for c in others if c.origin is Origin.ASSUMED),
    )
    return "\n".join(lines) + "\n"


def _count(constants: Sequence[Constant], held: Mapping[str, Sequence[str]]) -> str:
    several = [name for name, names in held.items() if len(names) > 1]
    sourced = sum(c.origin is Origin.SOURCE for c in constants)
    which = f": {', '.join(several)}" if several else ""
    return (
        f"{len(constants)} constants: {len(held)} fitted, of at most {MOST_FITTED}; {sourced} from sources; {len(constants) - len(held) - sourced} assumed. "
        f"Of the fitted ones {len(several)} are held by claims of two experiments or more{which}; "
        f"{sum(len(names) == 1 for names in held.values())} by claims of one; {sum(not names for names in held.values())} by none that is named."
    )


def _table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return ["", f"## {title}", "", table(headings, rows).rstrip()]


def _value(constant: Constant) -> str:
    return f"{constant.value:.12g} {constant.unit}".rstrip()


def _between(constant: Constant, ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{ends[0]:.6g} to {ends[1]:.6g} {constant.unit}".rstrip()


def shipped_page() -> str:
    """The page of the shipped constants, with the intervals of their shipped fits and the claims that identify them."""
    intervals = {fit.name: (fit.low, fit.high) for fit in shipped_fits() if fit.high is not None}
    asked = [found.experiment for found in shipped_identifiability()]
    return page(shipped_constants(), intervals, identifying_claims(), asked, count_fitted())


if __name__ == "__main__":
    write_whole(Path(sys.argv[1]), shipped_page().encode())
