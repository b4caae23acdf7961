"""A sweep of tiny points, timed; as a program, it prints JSON for one sweep."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import hostsim
from tests.bench.cases import peak_rss_kib

POINTS = {"sweep_100": 100, "sweep_1000": 1_000, "sweep": 10_000}
TINY = """\
scenario: tiny
question: What does a point cost beside its run?
platform: esxi-5.0
hardware: dell-r810
network: {{vSwitch0: {{uplinks: [vmnic0]}}}}
vms: {{receiver: {{count: 1, guest: rhel6, networks: [vSwitch0], vmx: {{ethernet0.virtualDev: vmxnet3}}}}}}
traffic: {{ticker: {{kind: multicast, to: receiver, packet_size: 200 B, rate: 20 kpps}}}}
run: {{length: {length}, replications: 1}}
sweep: {{rate: {{set: traffic.ticker.rate, values: [{rates}]}}}}
"""


def tiny(folder: Path, points: int, length: str = "2 ms", slowest_pps: int = 1_000) -> Path:
    """The file of a sweep of small hosts, each with another packet rate."""
    file = folder / "tiny.yaml"
    rates = ", ".join(f"{slowest_pps + index} pps" for index in range(points))
    file.write_text(TINY.format(rates=rates, length=length), encoding="utf-8")
    return file


def run(folder: Path, points: int) -> dict[str, float]:
    """Processor time in addition to the runs, and peak memory; runs of an earlier call are read from the store."""
    file = tiny(folder, points)
    again = (folder / "results").exists()
    before = sum(os.times()[:4])
    results = hostsim.run(str(file), results=str(folder / "results"), jobs=1)
    took, peak = sum(os.times()[:4]) - before, peak_rss_kib() / 1024
    own = 0.0 if again else sum(float(record.facts["wall_processor_s"]) for record in results.records)
    return {"beside_s": took - own, "beside_ms": (took - own) / points * 1e3, "peak_rss_mib": peak}


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]))))
