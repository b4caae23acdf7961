"""A scenario small enough to run in an instant."""

from __future__ import annotations

TINY = """
scenario: tiny
question: Does it run?
platform: esxi-5.0
hardware: dell-r810
network: {vSwitch0: {uplinks: [vmnic0]}}
vms: {receiver: {count: 1, guest: rhel6, networks: [vSwitch0]}}
traffic: {stream: {kind: multicast, to: receiver, packet_size: 200 B, rate: 5 kpps}}
run: {length: 100 ms, replications: 2, quick: {length: 50 ms, replications: 1}}
sweep:
  receivers: {set: vms.receiver.count, values: [1, 2]}
  rate: {set: traffic.stream.rate, values: [2 kpps, 5 kpps]}
figures:
  cpu: {x: receivers, y: host_cpu, series: rate}
expect:
  - {name: nothing lost, metric: loss, at: {receivers: 2, rate: 5 kpps}, between: [0, 0.01 %]}
  - name: room
    find: {largest: receivers, from: 1, to: 3, where: {metric: host_cpu, below: 0.7 %}, at: {rate: 2 kpps}}
    between: [2, 2]
  - name: room ratio
    ratio: {of: room, to: room}
    between: [1, 1]
"""
