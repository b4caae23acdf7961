"""Two small hosts that together have every stage, run like points of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hostsim.campaign.simulate import simulate
from hostsim.config.plugin import PluginSpec
from hostsim.engine.record import RunRecord
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at

__all__ = ["OPEN", "STREAMS", "run"]

OPEN = """
scenario: small
question: Multicast with and without split receive contexts, and work besides.
platform: esxi-5.0
hardware: dell-r810
network:
  vSwitch0: {uplinks: [vmnic0]}
vms:
  receiver: {count: 3, guest: rhel6, networks: [vSwitch0], vmx: {ethernet0.emuRxMode: "1"}}
  worker: {count: 2, guest: rhel6, networks: [vSwitch0], vmx: {ethernet0.emuRxMode: "0"}}
traffic:
  stream: {kind: multicast, to: [receiver, worker], packet_size: 200 B, rate: 60 kpps, arrivals: {process: poisson}}
  load: {kind: work, to: worker, rate: 1000 /s, batch: 2, service: {mean: 100 us}}
run: {length: 20 ms, replications: 1}
"""

STREAMS = """
scenario: streams
question: TCP both ways, in more vCPUs than there are PCPUs, so that bursts are cut short.
platform: esxi-6.0
hardware: dell-r810
network:
  vSwitch0: {uplinks: [vmnic0]}
vms:
  sender: {count: 16, vcpus: 2, guest: sles11, networks: [vSwitch0]}
  receiver: {count: 4, vcpus: 2, guest: sles11, networks: [vSwitch0]}
traffic:
  out: {kind: tcp_stream, to: sender, direction: send, streams: 8, window: 256 KiB, message_size: 256 B, nodelay: true, delay: 20 us}
  in: {kind: tcp_stream, to: receiver, direction: receive, streams: 4, window: 256 KiB, burst: 16, delay: 20 us}
run: {length: 20 ms, replications: 1}
"""


def run(text: str, folder: Path, replication: int = 0, plugins: Sequence[PluginSpec] = ()) -> RunRecord:
    """The record of a run.

    Raises:
        InvariantError: a law was broken.
    """
    file = folder / "small.yaml"
    file.write_text(text)
    point = point_at(load(file, plugins=plugins), {})
    return simulate(point.spec, point_id=point.id, axes=point.axes, seed=1, replication=replication)
