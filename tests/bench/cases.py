"""Two points of the multicast experiment, timed; as a program, it prints JSON for one case."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from hostsim.campaign.simulate import simulate
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at

CASES: dict[str, tuple[int, str]] = {"splitrx_20_default": (20, "0"), "splitrx_28_split": (28, "1")}
"""Number of receivers, and whether the vNICs have split-receive contexts; 40,000 packets per second."""


def run(name: str, seconds: float) -> dict[str, float]:
    """Figures of one case; processor times are only those of the run."""
    receivers, split = CASES[name]
    scenario = load("splitrx", {"run.length": f"{seconds} s"})
    point = point_at(scenario, {"receivers": receivers, "split": split, "rate": "40 kpps"})
    record = simulate(point.spec, point_id=point.id, axes=point.axes, seed=1, replication=0)
    took_s, simulated = float(record.facts["wall_processor_s"]), float(record.facts["simulated_s"])
    events, dispatches = int(record.facts["events"]), int(record.facts["dispatches"])
    delivered = int(record.series["guest.read"].values[-1].sum())
    interrupts = sum(int(record.series[kind].values[-1].sum()) for kind in ("queue.interrupts", "guest.interrupts"))
    return {
        "dispatch_us": took_s / dispatches * 1e6,
        "events_per_dispatch": events / dispatches,
        "events_per_packet": events / delivered,
        "interrupts_per_s": interrupts / simulated,
        "deliveries_per_s": delivered / took_s,
        "processor_per_sim_s": took_s / simulated,
        "peak_rss_mib": peak_rss_kib() / 1024,
    }


def peak_rss_kib() -> int:
    """Peak memory of this program; the resource module would include its parent's memory before the start."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], float(sys.argv[2]))))
