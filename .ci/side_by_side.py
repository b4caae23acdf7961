"""Put the verdicts of two ways of running side by side, the short way and ``--thorough``, as a Markdown table; ends with 1 where one differs.

Each way is a results folder of its own and what ``hostsim check --json`` printed with it::

    hostsim check --results build/short --json > build/short.json
    hostsim check --thorough --results build/long --json > build/long.json
    python .ci/side_by_side.py build/short build/long

Below the table stand the simulated seconds, runs and processor time that the folders hold.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

HEADINGS = ("claim", "band", "short", "verdict", "thorough", "verdict", "same")


def main(arguments: list[str]) -> int:
    """Print the table of two results folders; returns the exit status."""
    short, thorough = map(Path, arguments)
    first, second = (verdicts(folder) for folder in (short, thorough))
    rows = [row(name, first.get(name), second.get(name)) for name in dict.fromkeys([*first, *second])]
    print(line(HEADINGS), line(["---"] * len(HEADINGS)), *map(line, rows), sep="\n")
    different = sum(not cells[-1] for cells in rows)
    print(f"\n{len(rows)} verdicts, {different} of them different")
    for folder in (short, thorough):
        runs, simulated_s, processor_s = spent(folder)
        print(
            f"- {folder.name}: {runs} runs, {simulated_s:,.0f} simulated seconds, {processor_s:,.0f} s of processor time"
        )
    return 1 if different else 0


def verdicts(folder: Path) -> dict[str, dict[str, Any]]:
    """Verdicts by claim: what was printed, beside the folder."""
    return {entry["claim"]: entry for entry in json.loads(folder.with_suffix(".json").read_text(encoding="utf-8"))}


def row(name: str, one: dict[str, Any] | None, other: dict[str, Any] | None) -> tuple[str, ...]:
    """Cells of a claim; the last one is empty where the verdicts differ."""
    low, high = ((one or other or {}).get(end) for end in ("low", "high"))
    band = f"{'' if low is None else f'{low:.4g}'} to {'' if high is None else f'{high:.4g}'}"
    cells = [cell for side in (one, other) for cell in side_cells(side)]
    is_same = one is not None and other is not None and one["verdict"] == other["verdict"]
    return name, band, *cells, "yes" if is_same else ""


def side_cells(verdict: dict[str, Any] | None) -> tuple[str, str]:
    """Value with its interval, and verdict."""
    if verdict is None:
        return "", "not asked"
    value, low, high = (
        "–" if verdict[name] is None else f"{verdict[name]:.4g}" for name in ("value", "ci_low", "ci_high")
    )
    return f"{verdict['bound'] or ''} {value} ({low} to {high})".strip(), verdict["verdict"]


def spent(folder: Path) -> tuple[int, float, float]:
    """Runs in a results folder, their simulated seconds and their processor time."""
    simulated_s, processor_s, files = 0.0, 0.0, list(folder.glob("runs/*/*/*.parquet"))
    for file in files:
        facts = pq.read_metadata(file).metadata
        simulated_s += float(json.loads(facts[b"hostsim.run"])["facts"].get("simulated_s", 0.0))
        processor_s += float(json.loads(facts[b"hostsim.wall_clock"]).get("wall_processor_s", 0.0))
    return len(files), simulated_s, processor_s


def line(cells: Any) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
