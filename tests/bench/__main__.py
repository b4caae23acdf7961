"""``make bench``: times on this machine into ``build/bench.json``, and ``build/bench.svg``.

Figures of one process are processor times, each the median of three; hostsim and its peers take turns in one run, so that a drift
of the machine's speed affects both. Figures of several processes are wall times.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from hostsim.campaign.processors import processor_count
from tests.bench import chains, commands, ns3
from tests.bench.bar import BARS
from tests.bench.busy import BUSY
from tests.bench.campaign import CAMPAIGNS
from tests.bench.cases import CASES
from tests.bench.chart import draw
from tests.bench.scale import HOSTS
from tests.bench.sweep import POINTS
from tests.bench.workers import TINY, WORKERS

TURNS = 3
OUTPUT = Path("build/bench.json")


def main() -> None:
    OUTPUT.parent.mkdir(exist_ok=True)
    figures: dict[str, float | None] = {}
    about = _about()
    chains.build()
    turns = [_in_its_own_process("chains") for _ in range(TURNS)]
    figures |= {key: median(turn[key] for turn in turns) for key in turns[0]}
    program = ns3.build(OUTPUT.parent)
    for name, (receivers, _) in CASES.items():
        turns = [
            (
                _in_its_own_process("cases", name, "1"),
                ns3.deliveries_per_s(program, receivers, 40_000, 1.0) if program else None,
            )
            for _ in range(TURNS)
        ]
        figures |= {f"{name}.{key}": median(turn[key] for turn, _ in turns) for key in turns[0][0]}
        theirs = [figure for _, figure in turns if figure is not None]
        figures[f"{name}.ns3_deliveries_per_s"] = median(theirs) if theirs else None
        figures[f"{name}.peak_rss_mib_10x"] = _in_its_own_process("cases", name, "10")["peak_rss_mib"]
    for name in BUSY:
        runs = [_in_its_own_process("busy", name) for _ in range(TURNS)]
        figures |= {f"{name}.{key}": median(run[key] for run in runs) for key in runs[0]}
    for name in HOSTS:
        runs = [_in_its_own_process("scale", name) for _ in range(TURNS)]
        figures |= {f"scale_{name}.{key}": median(run[key] for run in runs) for key in runs[0]}
    small, large = HOSTS["small"][0], HOSTS["large"][0]
    grown = figures["scale_large.peak_rss_mib"] - figures["scale_small.peak_rss_mib"]
    figures["scale.kib_per_vm"] = grown * 1024 / (large - small)
    for name, points in POINTS.items():
        with TemporaryDirectory() as folder:
            for again in ("", "_again"):
                sweep = _in_its_own_process("sweep", folder, str(points))
                figures |= {f"{name}{again}.{key}": value for key, value in sweep.items()}
    for name, jobs in WORKERS.items():
        figures |= {f"{name}.{key}": value for key, value in _in_its_own_process("workers", str(jobs)).items()}
    for jobs, name in itertools.product(("one_worker", "two_workers"), TINY):
        timed = _in_its_own_process("workers", str(WORKERS[jobs]), name)
        figures |= {f"{name}.{jobs}.{key}": value for key, value in timed.items()}
    for name in CAMPAIGNS:
        figures |= {f"{name}.{key}": value for key, value in _in_its_own_process("campaign", name).items()}
    if "--commands" in sys.argv:
        figures |= commands.run()
    OUTPUT.write_text(json.dumps({"about": about, "figures": figures}, indent=2) + "\n", encoding="utf-8")
    draw(figures, OUTPUT.with_suffix(".svg"), about["processors"])
    _tell(figures)


def _about() -> dict[str, Any]:
    """Date, code and machine of a benchmark, and its load before the first measurement."""
    model = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "processor": model[1] if model else platform.machine(),
        "processors": processor_count(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


def _in_its_own_process(module: str, *arguments: str) -> dict[str, float]:
    run = subprocess.run(
        [sys.executable, "-m", f"tests.bench.{module}", *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout)


def _tell(figures: dict[str, float | None]) -> None:
    say: Callable[[str], None] = print
    for key, value in figures.items():
        say(f"{key:45} {'not measured' if value is None else f'{value:14.3f}'}")
    for bar in BARS:
        say(bar.line(figures))


if __name__ == "__main__":
    main()
