"""Points of a sweep that come to the same host keep their own axes in the table, whoever else asks for them."""

from __future__ import annotations

from pathlib import Path

import hostsim


def test_each_point_of_a_sweep_has_its_row(tmp_path: Path) -> None:
    """Latency sensitivity high switches coalescing off, whatever its scheme; the claim asks for the second of the two points."""
    options = {"run.quick.length": "40 ms", "run.quick.replications": "1"}
    found = hostsim.run("latency", overrides=options, quick=True, results=tmp_path, jobs=1)
    axes = [tuple(row) for row in found.table[["moderation", "coalescing", "sensitivity"]].to_numpy()]
    assert len(set(axes)) == len(axes) == 8
