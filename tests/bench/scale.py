"""The same load a core on a small and a large host, timed. Run as a program, one host in its own process, it prints JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

from hostsim.campaign.simulate import simulate
from hostsim.scenario.load import load
from hostsim.scenario.plan import Point, point_at

HOSTS = {"small": (400, 10), "large": (4000, 85)}
"""VMs, and cores of each of four sockets."""


def host(vms: int, cores: int, length: str) -> Point:
    """Web servers in dense mode's default form on a machine with so many cores."""
    point = point_at(load("dense-medium", {"run.length": length}), {"vms": vms, "mode": "default"})
    hardware = point.spec.hardware
    larger = hardware.model_copy(update={"cpu": hardware.cpu.model_copy(update={"cores": cores})})
    return replace(point, spec=point.spec.model_copy(update={"hardware": larger}))


def run(vms: int, cores: int, length: str = "200 ms") -> dict[str, float]:
    """Microseconds of wall time an event, of the run alone."""
    point = host(vms, cores, length)
    facts = simulate(point.spec, point_id=point.id, axes=point.axes, seed=1, replication=0).facts
    return {"event_us": float(facts["wall_s"]) / int(facts["events"]) * 1e6, "events": int(facts["events"])}


if __name__ == "__main__":
    print(json.dumps(run(*HOSTS[sys.argv[1]])))
