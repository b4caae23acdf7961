"""Page of the cost model: every constant with its value, the value stated before a calibration, its range and its
reason.

``python -m hostsim_docs.cost_model_page FILE`` writes it, as `make cost-model` does for the documentation.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hostsim.config.files import write_whole
from hostsim.scenario.cost_model import Constant, Origin, shipped_constants
from hostsim_docs.fitted_count import FittedCount, FittedInput, count_fitted, read_fitted_inputs
from hostsim_docs.markdown import code, table

__all__ = ["page", "shipped_page"]


def page(
    constants: Sequence[Constant], count: FittedCount | None = None, chosen: Mapping[str, FittedInput] | None = None
) -> str:
    """The page of constants as Markdown.

    Args:
        constants: all of them.
        count: count of the fitted numbers, including inputs; omitted by default.
        chosen: numbers that were chosen after an outcome had been seen, by name; none by default.
    """
    lines = [Path(__file__).with_name("cost_model.md").read_text(encoding="utf-8").rstrip(), ""]
    of = {origin: [constant for constant in constants if constant.origin is origin] for origin in Origin}
    lines.append(
        f"{len(constants)} constants: {len(of[Origin.SOURCE])} from sources, {len(of[Origin.ASSUMED])} assumed. "
        f"{sum(map(_is_moved, constants))} of them are calibrated."
    )
    if count is not None:
        lines += ["", count.sentence]
    if chosen:
        rows = [(code(name), ", ".join(entry.claims), entry.evidence) for name, entry in chosen.items()]
        lines += ["", "## Chosen after an outcome", "", table(("number", "claims", "evidence"), rows).rstrip()]
    for title, group in zip(("Source", "Assumed"), of.values(), strict=True):
        rows = [(c.name, _value(c), _prior(c), _between(c), c.text) for c in group]
        lines += [
            "",
            f"## {title}",
            "",
            table(("constant", "value", "before calibration", "range", "why"), rows).rstrip(),
        ]
    return "\n".join(lines) + "\n"


def _is_moved(constant: Constant) -> bool:
    """True for a constant whose value differs from the median of its prior."""
    return constant.prior not in (None, constant.value)


def _value(constant: Constant) -> str:
    text = f"{constant.value:,.12g} {constant.unit}".rstrip()
    return f"{text}, calibrated" if _is_moved(constant) else text


def _prior(constant: Constant) -> str:
    """The median of the prior; empty if it equals the value."""
    return "" if constant.prior is None else f"{constant.prior:,.12g} {constant.unit}".rstrip()


def _between(constant: Constant) -> str:
    ends = constant.range
    return "" if ends is None else f"{ends[0]:,.12g} to {ends[1]:,.12g} {constant.unit}".rstrip()


def shipped_page() -> str:
    """The page of the shipped constants, with the count of fitted numbers."""
    return page(shipped_constants(), count_fitted(), read_fitted_inputs())


if __name__ == "__main__":
    write_whole(Path(sys.argv[1]), shipped_page().encode())
