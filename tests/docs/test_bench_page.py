"""The page of speed and scale says the laws, figures and sums of a benchmark."""

from __future__ import annotations

from pathlib import Path

from hostsim_docs import bench_page

import hostsim
from tests.bench.scale import HOSTS
from tests.bench.sweep import POINTS
from tests.bench.workers import WORKERS

PAGE = Path(hostsim.__file__).parent.parent / "docs" / "project" / "speed.md"
ABOUT = {"date": "2026-01-02", "commit": "abc", "processor": "a CPU", "processors": 2, "python": "3.11", "load": 0.1}
FIGURES: dict[str, float | None] = {
    **{f"scale_{name}.processor_per_sim_s": 1e-4 * n**2 for name, (n, _) in HOSTS.items()},
    "scale.kib_per_vm": 200.0,
    **{f"{name}.beside_s": 1 + 0.002 * n for name, n in POINTS.items()},
    **{f"{name}.wall_s": 4 + 6 / n for name, n in WORKERS.items()},
    "dense-medium.processor_per_sim_s": 4.0,
    "points_of_4_ms.one_worker.run_s": 0.01,
    **{
        f"campaign_{kind}.{key}": value
        for kind in ("small", "dense")
        for key, value in {
            "record_ms": 2,
            "records_per_s": 500,
            "point_ms": 1,
            "file_kib": 1024,
            "peak_rss_mib": 9,
        }.items()
    },
}


def test_the_page_says_the_laws_and_sums() -> None:
    """A square, 1 s and 2 ms a point, 4 s and 6 s over workers; a million runs of 2 s take 5.6 hours of a hundred workers."""
    text = bench_page.page(ABOUT, FIGURES, "chart.svg")
    for words in (
        "on 2 processors (a CPU)",
        "the power 2.00 of the number of VMs. A VM takes 40.0 ms",
        "1 s + 2 ms for each point",
        "4 s + 6 s / workers",
        "| 1,000,000 dense points | 5.6 | 0.83 | 10 % | 976.6 | 3,906 |",
        "| small: one VM | 10 | 2.00 | 1.00 | 1,024.0 | 500 | 5 | 9 |",
    ):
        assert words in text
    assert "Thousand deliveries" not in text


def test_the_page_begins_with_its_introduction() -> None:
    """Prose is edited in one place."""
    introduction = Path(bench_page.__file__).with_name("bench.md").read_text(encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8").startswith(introduction)
