"""Measure the ranges of the known reds: ``python .ci/red_ranges.py FILE ...`` takes what ``hostsim check --json`` printed, of several root seeds and fidelities.

It writes the range of each known red anew, and names claims that are red in a file without being listed, and listed ones that pass.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

from hostsim.scenario.shipped_data import data_root, known_red

WIDER = 0.25
"""Of the distance between the least and the greatest value, added to either side."""
DIGITS = 12


def main(files: list[Path]) -> None:
    """Write the ranges, and print what has to be looked at."""
    found: dict[str, list[tuple[float | None, str]]] = {}
    for file in files:
        for one in json.loads(file.read_text(encoding="utf-8")):
            found.setdefault(one["claim"], []).append((None if one["bound"] else one["value"], one["verdict"]))
    target, listed = data_root() / "known_red.yaml", known_red()
    text = target.read_text(encoding="utf-8")
    for claim, answers in found.items():
        is_red = any(not verdict.startswith("pass") for _, verdict in answers)
        values = [value for value, _ in answers if value is not None]
        if claim not in listed:
            if is_red:
                print(f"not listed: {claim} {answers}")
        elif len(values) < len(answers):
            print(f"has no value, or a bound: {claim} {answers}")
        elif not is_red:
            print(f"passes: {claim} {answers}")
        else:
            if any(verdict == "pass" for _, verdict in answers):
                print(f"passes in some: {claim} {answers}")
            low, high = ends(values)
            text, count = re.subn(rf"(?m)^({re.escape(claim)}:\n  range: )\[.*\]$", rf"\g<1>[{low!r}, {high!r}]", text)
            assert count == 1, claim
    target.write_text(text, encoding="utf-8")


def ends(values: list[float]) -> tuple[float, float]:
    """The least and the greatest value with room for another seed, rounded towards them: wider by at most half."""
    low, high = min(values), max(values)
    if low == high:
        return low, high
    room = WIDER * (high - low)
    unit = 10.0 ** (math.floor(math.log10(high - low)) - 1)
    rounded = math.ceil((low - room) / unit) * unit, math.floor((high + room) / unit) * unit
    return float(f"{rounded[0]:.{DIGITS}g}"), float(f"{rounded[1]:.{DIGITS}g}")  # without the digits of a sum in binary


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
