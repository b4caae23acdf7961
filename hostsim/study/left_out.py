"""The page that predicts each experiment from all others, of what `hostsim calibrate --leave-out` found.

``python -m hostsim.study.left_out FILE`` writes it; `make cost-model` does so for the documentation.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from hostsim.plots.atomic import write_whole
from hostsim.report.scoreboard import band_text, number
from hostsim.scenario.published import claims
from hostsim.study.calibrate import Prediction, shipped_predictions
from hostsim.study.constants import shipped_constants
from hostsim.study.cost_model import line

__all__ = ["page"]

HEAD = """\
# Each experiment predicted from the others

`hostsim calibrate --quick --leave-out EXPERIMENT` fits again without the claims of an experiment, and asks for what its claims come to then. A constant that only this experiment held goes back to where the facts, or an assumption that is written down, let it start
(`scenarios/calibration/groups.yaml`). An experiment that nothing is fitted to is predicted by the shipped constants already. What was chosen by hand among inputs (ports, bursts, windows, the stop of a firmware) stays as it is; where such a choice counts as fitted, the experiment's page says so.

Values are what `hostsim check --quick` would print with these constants. A band is what `hostsim check` holds a claim to. A threshold at the end of what its search looks through, as 560 and 329 VMs in dense mode, lies there or beyond.
"""


def page(predictions: Sequence[Prediction]) -> str:
    """The page as Markdown: in short, then claim by claim."""
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
            lines.append(line(cells))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_whole(Path(sys.argv[1]), page(shipped_predictions()).encode())
