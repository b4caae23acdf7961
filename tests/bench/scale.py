"""About the same load per core on hosts of four sizes, timed; as a program, it prints JSON for one host."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

from hostsim.campaign.simulate import simulate
from hostsim.scenario.load import load
from hostsim.scenario.plan import Point, point_at
from tests.bench.cases import peak_rss_kib

HOSTS = {"small": (400, 10), "1000": (1000, 24), "2000": (2000, 45), "large": (4000, 85)}
"""Number of VMs, and of cores in each of four sockets."""


def host(vms: int, cores: int, length: str) -> Point:
    """Web servers as in dense mode's default case, on a machine with the given number of cores."""
    point = point_at(load("dense-medium", {"run.length": length}), {"vms": vms, "mode": "default"})
    hardware = point.spec.hardware
    larger = hardware.model_copy(update={"cpu": hardware.cpu.model_copy(update={"cores": cores})})
    return replace(point, spec=point.spec.model_copy(update={"hardware": larger}))


def run(vms: int, cores: int, length: str = "200 ms") -> dict[str, float]:
    """Processor time of the run alone, in seconds per simulated second and in microseconds per event; peak memory."""
    point = host(vms, cores, length)
    facts = simulate(point.spec, point_id=point.id, axes=point.axes, seed=1, replication=0).facts
    took_s = float(facts["wall_processor_s"])
    return {
        "event_us": took_s / int(facts["events"]) * 1e6,
        "dispatch_us": took_s / int(facts["dispatches"]) * 1e6,
        "events": int(facts["events"]),
        "processor_per_sim_s": took_s / float(facts["simulated_s"]),
        "peak_rss_mib": peak_rss_kib() / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(run(*HOSTS[sys.argv[1]])))
