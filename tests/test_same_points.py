"""Points of a sweep with equal hosts keep their own axes in the table, whoever else requests them."""

from __future__ import annotations

from pathlib import Path

import hostsim


def test_each_point_of_a_sweep_has_its_row(tmp_path: Path) -> None:
    """Latency sensitivity high disables coalescing for any scheme; the claim requests the second of the two points."""
    options = {"run.quick.length": "40 ms", "run.quick.replications": "1"}
    found = hostsim.run("latency", overrides=options, quick=True, results=tmp_path, jobs=1)
    axes = [tuple(row) for row in found.table[["moderation", "coalescing", "sensitivity"]].to_numpy()]
    assert len(set(axes)) == len(axes) == 8
