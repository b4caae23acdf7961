"""Page of hyperthreads: every claim with hyperthreads on and off, from the stored studies of that one assumption.

``python -m hostsim_docs.hyperthreads_page FILE`` writes it, as `make cost-model` does for the documentation.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from hostsim.calibration.assumption import Study, shipped_studies
from hostsim.files import write_whole
from hostsim.results.scoreboard import band_text, number
from hostsim.scenario.shipped_data import claims
from hostsim_docs.markdown import code, table

__all__ = ["page", "shipped_page"]

STUDIES = "hyperthreads"
"""Folder of the studies."""
HEAD = """\
# Hyperthreads

Where an account does not say whether its server had hyperthreads, the hardware file has them on, as the processor comes, with both in the range of the assumption. Of the accounts only one says: the server of the multicast experiment has a processor
without. The server of the bridging VM is assumed without, as firmware that stops hyperthreads is not modelled. `dense-trigger` checks a rule on 40 PCPUs, and `dense-latency` has eighty VMs, twice as many as PCPUs; both do so without them.

With them each core is two PCPUs, and the two do `smt_throughput` times what one does alone ({doc}`scheduler`). A share of the CPU is that of all PCPUs, so that on a host with every second PCPU busy it is half, though most of what its cores can do is in use.
With latency sensitivity `high` a vCPU has a whole core.

Every claim that hyperthreads reach is judged both ways, at the same points and on the same random numbers, a threshold at two points beside it; in **bold** what is out of its band. The command, of which every run is kept:

```
hostsim assumptions --quick --only '*.cpu.threads' --output scenarios/calibration/hyperthreads
```
"""


def page(studies: Sequence[Study]) -> str:
    """The page of some studies as Markdown."""
    lines = [HEAD]
    for study in studies:
        lines += [f"## {study.name}", "", *_study(study), ""]
    return "\n".join(lines).rstrip() + "\n"


def _study(study: Study) -> list[str]:
    fidelity = "quick" if study.quick else "full"
    lines = [f"Of {study.date}, {fidelity} fidelity, seed {study.seed}, code `{study.code[:12]}`.", ""]
    if not study.moves:
        return [*lines, "No claim of it is reached."]
    rows = []
    for move in study.moves:
        shipped = study.assumptions[move.assumption]["value"]
        both = {shipped: _cell(move.before, move.was), move.end: _cell(move.after, move.now)}
        band = band_text(claims()[move.claim].band)
        rows.append((code(move.assumption), move.claim, band, both.get("2", ""), both.get("1", ""), shipped))
    return [*lines, table(("assumption", "claim", "band", "on", "off", "threads as shipped"), rows).rstrip()]


def _cell(value: float | None, state: str) -> str:
    text = "missing" if value is None else number(value)
    return text if state == "in" else f"**{text}**"


def shipped_page() -> str:
    """The page of the shipped studies."""
    return page(shipped_studies(STUDIES))


if __name__ == "__main__":
    write_whole(Path(sys.argv[1]), shipped_page().encode())
