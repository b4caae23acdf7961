"""One busy point of each scenario except splitrx, timed; as a program, it prints JSON for one point."""

from __future__ import annotations

import json
import sys

from hostsim.campaign.simulate import simulate
from hostsim.engine.record import Scalar
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at

BUSY: dict[str, tuple[dict[str, Scalar], str]] = {
    "40gbe-single": ({"platform": "esxi-6.0"}, "300 ms"),
    "40gbe-multi": ({"platform": "esxi-6.0", "vms": 16}, "300 ms"),
    "numa-io": ({"nic": "vmnic0", "threshold": 200}, "600 ms"),
    "80gbe": ({"nics": 8, "method": "post"}, "100 ms"),
    "dense-medium": ({"vms": 470, "mode": "default"}, "500 ms"),
    "small-udp": ({}, "2 s"),
    "directpath-udp": ({"rate": "100 kpps"}, "500 ms"),
    "vxlan": ({"vxlan": True, "message": "256 B", "direction": "receive", "vms": 16}, "100 ms"),
}
"""Axes of the point, and length of a run; a run that has not settled by then is extended."""


def run(name: str) -> dict[str, float]:
    """Figures of one scenario's point; processor times are only those of the run.

    A packet is one that the host takes from a physical NIC's queue or passes to a NIC; packets of TSO and LRO count once.
    """
    axes, length = BUSY[name]
    point = point_at(load(name, {"run.length": length}), axes)
    record = simulate(point.spec, point_id=point.id, axes=point.axes, seed=1, replication=0)
    facts = record.facts
    events, dispatches, took_s = int(facts["events"]), int(facts["dispatches"]), float(facts["wall_processor_s"])
    packets = sum(int(record.series[counter].values[-1].sum()) for counter in ("nic.rx_frames", "nic.tx_packets"))
    return {
        "processor_per_sim_s": took_s / float(facts["simulated_s"]),
        "simulated_s": float(facts["simulated_s"]),
        "events": events,
        "dispatches": dispatches,
        "packets": packets,
        "dispatch_us": took_s / dispatches * 1e6,
        "packet_us": took_s / packets * 1e6,
        "events_per_dispatch": events / dispatches,
        "events_per_packet": events / packets,
    }


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1])))
