"""Page of the leave-one-out cross-validation: each experiment predicted by constants fitted to all others.

``python -m hostsim_docs.leave_one_out_page FILE`` writes it, as `make cost-model` does for the documentation.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from hostsim.analysis.cost_model import shipped_constants
from hostsim.calibration.fit import Prediction, shipped_predictions
from hostsim.files import write_whole
from hostsim.results.scoreboard import band_text, number
from hostsim.scenario.shipped_data import claims
from hostsim_docs.markdown import row

__all__ = ["page"]

HEAD = """\
# Each experiment predicted from the others

`hostsim calibrate --quick --leave-out EXPERIMENT` fits again without the claims of an experiment, and asks for what its claims come to then. A constant that only this experiment held goes back to where the facts, or an assumption that is written down, let it start
(`scenarios/calibration/groups.yaml`). An experiment that nothing is fitted to is predicted by the shipped constants already. What was chosen by hand among inputs (ports, bursts, windows, the stop of a firmware) stays as it is; where such a choice counts as fitted, the experiment's page says so.

Values are what `hostsim check --quick` would print with these constants. A band is what `hostsim check` holds a claim to. A threshold at the end of what its search looks through, as 560 and 329 VMs in dense mode, lies there or beyond.
"""


def page(predictions: Sequence[Prediction]) -> str:
    """The page of predictions as Markdown: a summary, then claim by claim."""
    known, shipped = claims(), {constant.name: constant.value for constant in shipped_constants()}
    lines = [HEAD, "| left out | fitted again | claims in their bands |", "| --- | --- | --- |"]
    lines += [
        f"| {found.experiment} | {len(found.constants)} constant{'s' * (len(found.constants) != 1)} | {sum(map(found.holds, found.values))} of {len(found.values)} |"
        for found in predictions
    ]
    for found in predictions:
        lines += ["", f"## Without {found.experiment}", ""]
        moved = [f"`{name}` {value:,.6g} ({shipped[name]:,.6g})" for name, value in found.constants.items()]
        lines += [f"Fitted again, shipped values in brackets: {', '.join(moved)}.", ""] if moved else []
        lines += ["| claim | published | band | predicted | |", "| --- | --- | --- | --- | --- |"]
        for name, value in found.values.items():
            claim, verdict = known[name], "" if found.holds(name) else "**out**"
            cells = (name, f"{claim.published} {claim.unit}", band_text(claim.band), number(value), verdict)
            lines.append(row(cells))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_whole(Path(sys.argv[1]), page(shipped_predictions()).encode())
