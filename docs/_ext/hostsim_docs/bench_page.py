"""Page of speed and scale: figures of a benchmark, its chart, and sums for large campaigns.

``python -m hostsim_docs.bench_page BENCH PAGE CHART`` writes it, as `make bench-page` does for the documentation.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hostsim.config.files import write_whole
from hostsim_docs.markdown import table
from tests.bench.bar import BARS
from tests.bench.busy import BUSY
from tests.bench.cases import CASES
from tests.bench.chart import draw, panels
from tests.bench.scale import HOSTS
from tests.bench.sweep import POINTS

__all__ = ["page"]

WORKERS = 100
"""Workers of the large campaigns."""
FOLDERS = 256
"""Folders of a results folder for the runs of one version of the code."""
CAMPAIGNS = (
    ("1,000,000 small points", "small", 1_000_000),
    ("10,000 dense points", "dense", 10_000),
    ("1,000,000 dense points", "dense", 1_000_000),
)
DENSE_S = 0.5
"""Simulated time of a quick dense run."""

Figures = Mapping[str, float | None]


def page(about: Mapping[str, Any], figures: Figures, chart: str) -> str:
    """The page as Markdown.

    Args:
        about: date, code and machine.
        figures: figures by key, see `tests.bench.__main__`; those that were not measured are left out.
        chart: path of the chart from the page.
    """
    introduction = Path(__file__).with_name("bench.md").read_text(encoding="utf-8").rstrip()
    machine = (
        f"Measured on {about['date']} at commit {about['commit']}, on {about['processors']} processors "
        f"({about['processor']}) with Python {about['python']}; the load average at the start was {about['load']:.1f}."
    )
    blocks = [introduction, machine, _laws(figures, chart, about["processors"]), _figures(figures), _campaigns(figures)]
    return "\n\n".join(block.rstrip() for block in blocks) + "\n"


def _laws(figures: Figures, chart: str, processors: int) -> str:
    vms, points, workers = (panel.fitted(figures) for panel in panels(processors))
    lines = [
        "## Cost against VMs, points and workers",
        "",
        f"![Cost against VMs, points and workers, each with its law]({chart})",
        "",
    ]
    if vms:
        few, most = (
            (HOSTS[name][0], figures[f"scale_{name}.processor_per_sim_s"] or 0.0) for name in ("small", "large")
        )
        lines.append(
            f"- **VMs**: with the same load on each core, processor time is {vms[2]} of the number of VMs. A VM takes "
            f"{few[1] / few[0] * 1e3:.1f} ms a simulated second among {few[0]:,}, and {most[1] / most[0] * 1e3:.1f} ms among {most[0]:,}, "
            f"and {figures['scale.kib_per_vm']:.0f} KiB of memory."
        )
    if points:
        lines.append(
            f"- **Points**: a sweep of 2 ms runs takes {points[2]} point in addition to the runs, up to {max(POINTS.values()):,} points."
        )
    if workers:
        lines.append(
            f"- **Workers**: four sweeps take {workers[2]}, up to as many workers as processors; more workers share these processors."
        )
    return "\n".join(lines)


def _figures(figures: Figures) -> str:
    bars = [
        [
            bar.name,
            f"{value:.2f}",
            f"at {'least' if bar.at_least else 'most'} {bar.limit:g}",
            "yes" if bar.is_met(value) else "no",
        ]
        for bar in BARS
        if (value := bar.value(figures)) is not None
    ]
    busy = [
        [name, *(f"{figures[f'{name}.{key}']:.2f}" for key in ("packet_us", "dispatch_us", "events_per_packet"))]
        for name in BUSY
        if f"{name}.packet_us" in figures
    ]
    peers = [
        [
            name,
            *(f"{(figures[f'{name}.{key}'] or 0) / 1e3:,.0f}" for key in ("deliveries_per_s", "ns3_deliveries_per_s")),
        ]
        for name in CASES
        if figures.get(f"{name}.ns3_deliveries_per_s")
    ]
    blocks = ["## Figures", "### Against the bars", table(("figure", "value", "bar", "met"), bars)]
    blocks += [
        "### A busy point of each scenario",
        table(("scenario", "us a packet", "us a dispatch", "events a packet"), busy),
    ]
    if peers:
        blocks += ["### Thousand deliveries a second", table(("multicast", "hostsim", "ns-3"), peers)]
    return "\n\n".join(block.rstrip() for block in blocks)


def _campaigns(figures: Figures) -> str:
    dense_s = (figures.get("dense-medium.processor_per_sim_s") or 0.0) * DENSE_S
    run_s = {"small": figures.get("points_of_4_ms.one_worker.run_s") or 0.0, "dense": dense_s}
    if not all(run_s.values()) or any(figures.get(f"campaign_{kind}.record_ms") is None for kind in run_s):
        return ""
    pieces = [
        [
            f"{kind}: {vms}",
            f"{run_s[kind] * 1e3:,.0f}",
            f"{_of(figures, kind, 'record_ms'):.2f}",
            f"{_of(figures, kind, 'point_ms'):.2f}",
            f"{_of(figures, kind, 'file_kib'):,.1f}",
            f"{_of(figures, kind, 'records_per_s'):,.0f}",
            f"{run_s[kind] * _of(figures, kind, 'records_per_s'):,.0f}",
            f"{_of(figures, kind, 'peak_rss_mib'):,.0f}",
        ]
        for kind, vms in (("small", "one VM"), ("dense", "470 VMs"))
    ]
    sums = [
        [
            name,
            f"{count * run_s[kind] / WORKERS / 3600:.2g}",
            f"{count * (_of(figures, kind, 'record_ms') + _of(figures, kind, 'point_ms')) / 3.6e6:,.2f}",
            f"{min(1.0, _of(figures, kind, 'record_ms') / 1e3 * WORKERS / run_s[kind]):.0%}".replace("%", " %"),
            f"{count * _of(figures, kind, 'file_kib') / 1024**2:,.1f}",
            f"{count / FOLDERS:,.0f}",
        ]
        for name, kind, count in CAMPAIGNS
    ]
    headings = (
        "run",
        "run, ms",
        "main, ms a record",
        "main, ms a point",
        "file, KiB",
        "records/s",
        "workers fed",
        "peak, MiB",
    )
    return "\n\n".join(
        [
            "## Large campaigns",
            "Measured pieces: 10,000 points each, with two workers that make one run and then return its encoded record for every point at once, so that the main process alone is measured.",
            "*A record* is the main process's work while runs take place (submit a task, receive the record, write the file, keep its row); *a point* is the work before and after (load, plan, tables). *Workers fed* is the length of a run, without its packing, over the time of a record: more workers than these wait for the main process. On a Dask cluster the scheduler and the client add their own work per task, which is not measured here.",
            table(headings, pieces).rstrip(),
            f"Sums for {WORKERS} workers of the same speed. A sweep has at most 10,000 points, so a million are a hundred files or `--axis` ranges. *Main process busy* is its share while the workers run; at 100 % it limits the campaign, and `--shard` divides the runs among several main processes ({{doc}}`../guide/cluster`).",
            table(
                (
                    "campaign",
                    "runs, hours",
                    "main process, hours",
                    "main process busy",
                    "files, GiB",
                    "files in a folder",
                ),
                sums,
            ).rstrip(),
            "On a network file system each run costs a lookup of the missing file when the plan is made and again before the run starts, the creation of a temporary file with one write, and a rename onto the final name. There are no locks and no `fsync`. A rename within a folder is atomic for all clients, so another client sees a whole file or none; a digest in each file shows damage. If two clients make the same run, the second rename replaces an equal file. After a power failure of the file server a file may be empty; it counts as missing, and its run is repeated.",
        ]
    )


def _of(figures: Figures, kind: str, key: str) -> float:
    """A figure of a campaign with simulated workers."""
    return figures[f"campaign_{kind}.{key}"] or 0.0


def main() -> None:
    """Write the page and its chart."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    for name in ("bench", "page", "chart"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    bench = json.loads(options.bench.read_text(encoding="utf-8"))
    draw(bench["figures"], options.chart, bench["about"]["processors"])
    chart = os.path.relpath(options.chart, options.page.parent)
    write_whole(options.page, page(bench["about"], bench["figures"], chart).encode())


if __name__ == "__main__":
    main()
