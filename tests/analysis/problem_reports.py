"""Public problem reports as small scenarios, each with its documented cause and a change that relieves it.

Servers are small and runs are short: tests check which part is the limit, not by how much.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import hostsim

__all__ = ["REPORTS", "Report"]

NIC = {
    "model": "Intel 82599",
    "line_rate": "10 Gbit/s",
    "node": 0,
    "driver": "ixgben",
    "rx_ring": 512,
    "interrupt_step": "2 us",
    "interrupt_interval": "62 us",
    "rx_queues": 8,
    "rss": True,
    "tso": True,
    "lro": False,
}
SERVER: dict[str, Any] = {
    "cpu": {"model": "4 cores", "family": "sandy-bridge", "sockets": 1, "cores": 4, "clock": "2.6 GHz", "ddio": True},
    "nics": {"vmnic0": NIC, "vmnic1": NIC},
}


@dataclass(frozen=True)
class Report:
    """A problem report: the host, the stated cause, and the change made by the author or suggested in the answers."""

    name: str
    source: str
    """Page of the report: a question, a knowledge-base article or a guide."""
    vms: Mapping[str, Any]
    traffic: Mapping[str, Any]
    cause: str
    """Beginning of the bottleneck's text."""
    change: Mapping[str, Any]
    """Changes that relieve it, by path."""
    measure: str
    """Measure of the subject that the change improves."""
    is_better: int
    """1 if a larger value is better, -1 if a smaller one is."""
    of: str
    """Whose bottleneck it is."""
    length: str = "40 ms"
    server: Mapping[str, Any] = field(default_factory=dict)
    """Values of the NIC vmnic0 that replace those of `NIC`."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of guests, by path."""

    def scenario(self) -> hostsim.Scenario:
        """The report as a scenario of one point."""
        hardware = copy.deepcopy(SERVER)
        hardware["nics"]["vmnic0"] = {**NIC, **self.server}
        vms = {
            name: {"count": 1, "vcpus": 1, "guest": "rhel7", "networks": ["vSwitch0"], **vm}
            for name, vm in self.vms.items()
        }
        described = {
            "scenario": self.name,
            "question": self.source,
            "platform": "esxi-7.0",
            "hardware": hardware,
            "network": {"vSwitch0": {"uplinks": ["vmnic0"]}, "lan": {"uplinks": ["vmnic1"]}},
            "vms": vms,
            "traffic": dict(self.traffic),
            "run": {"length": self.length, "replications": 3, "quick": {"length": self.length, "replications": 3}},
        }
        return hostsim.load(described).with_(set=dict(self.settings))


def _udp(**values: Any) -> dict[str, Any]:
    return {"kind": "udp_stream", "direction": "receive", **values}


def _work(mean: str, **values: Any) -> dict[str, Any]:
    return {"kind": "work", "service": {"distribution": "constant", "mean": mean}, **values}


def _pair(**values: Any) -> dict[str, Any]:
    return {"kind": "request_response", "request_size": "100 B", "reply_size": "100 B", "delay": "5 us", **values}


REPORTS = [
    Report(
        "vnic-coalescing",
        "Round trips of a VM are long until interrupt coalescing of its vNIC is disabled",
        {"t": {"vmx": {"ethernet0.coalescingScheme": "rbc"}}},
        {"rr": _pair(to="t")},
        "coalescing rr",
        {"vms.t.vmx.ethernet0.coalescingScheme": "disabled"},
        "round_trip_mean",
        -1,
        "rr",
    ),
    Report(
        "one-vcpu-takes-all",
        "A collector of datagrams with many vCPUs uses one of them (udpRSS)",
        {"v": {"vcpus": 3, "guest": "linux5", "vmx": {"ethernet0.udpRSS": 2, "ethernet0.pnicFeatures": "0"}}},
        {"u": _udp(to="v", packet_size="200 B", rate="20 kpps", streams=30)},
        "context v[0].vcpu",
        {"vms.v.vmx.ethernet0.udpRSS": 1},
        "loss",
        -1,
        "u",
    ),
    Report(
        "ring-bursts",
        "Bursts overflow the receive ring of a vmxnet3 (VMware KB 2039495)",
        {"r": {"rx_ring": 256}},
        {"u": _udp(to="r", packet_size="1000 B", interval="10 ms", burst=1000)},
        "ring r[0].eth0",
        {"vms.r.rx_ring": 4096},
        "loss",
        -1,
        "u",
        settings={"vms.r.guest.socket_buffer": "16 MiB"},
    ),
    Report(
        "router-with-lro",
        "A router VM forwards next to nothing while large receive offload is on",
        {"router": {"networks": ["vSwitch0", "lan"]}},
        {
            "up": {
                "kind": "forwarded_stream",
                "to": "router",
                "vnic": 0,
                "leaves": 1,
                "streams": 1,
                "window": "64 KiB",
                "delay": "200 us",
            }
        },
        "forwarding router[0]",
        {"vms.router.guest.lro_while_forwarding": False},
        "throughput",
        1,
        "up",
        length="1 s",
        settings={"vms.router.guest.gro": [], "vms.router.guest.lro_while_forwarding": True},
    ),
    Report(
        "udp-collector",
        "A collector of syslog or NetFlow drops at its socket",
        {"c": {}},
        {"u": _udp(to="c", packet_size="1400 B", interval="5 ms", burst=200)},
        "socket c[0]",
        {"vms.c.guest.socket_buffer": "16 MiB"},
        "loss",
        -1,
        "u",
    ),
    Report(
        "vm-to-vm-contention",
        "TCP between two VMs becomes slow when neighbours use the CPU",
        {"s": {}, "r": {}, "n": {"count": 8}},
        {
            "t": {"kind": "vm_tcp_stream", "sender": "s", "to": "r", "streams": 2, "window": "256 KiB"},
            "w": _work("99 ms", to="n", rate="10 /s"),
        },
        "node node0",
        {"vms.n.count": 0},
        "throughput",
        1,
        "t",
        length="200 ms",
    ),
    Report(
        "voice-beside-busy",
        "A telephone exchange stutters on a host whose CPU is overcommitted",
        {
            "pbx": {"vmx": {"sched.cpu.latencySensitivity": "normal", "memSize": 512, "sched.mem.min": 512}},
            "n": {"count": 9},
        },
        {
            "rtp": _udp(to="pbx", packet_size="172 B", rate="50 pps", streams=100),
            "mix": _work("2 ms", to="pbx", rate="200 /s"),
            "w": _work("20 ms", to="n", rate="40 /s"),
        },
        "node node0",
        {"vms.pbx.vmx.sched.cpu.latencySensitivity": "high"},
        "latency_mean",
        -1,
        "rtp",
        length="400 ms",
    ),
    # further public ones
    Report(
        "wan-window",
        "A copy over a long line stays at a few Mbit/s (RFC 7323: windows of 64 KiB)",
        {"a": {}},
        {"copy": {"kind": "tcp_stream", "direction": "send", "to": "a", "window": "64 KiB", "delay": "10 ms"}},
        "window copy",
        {"traffic.copy.window": "256 KiB"},
        "throughput",
        1,
        "copy",
        length="400 ms",
    ),
    Report(
        "nic-moderation",
        "Latency falls when InterruptThrottleRate is turned off (VMware, Latency-Sensitive Workloads in vSphere VMs)",
        {"t": {"vmx": {"ethernet0.coalescingScheme": "disabled"}}},
        {"rr": _pair(to="t")},
        "moderation rr",
        {"hardware.nics.vmnic0.interrupt_interval": "0 us"},
        "round_trip_mean",
        -1,
        "rr",
        server={"interrupt_interval": "125 us"},
    ),
    Report(
        "backup-on-1gbe",
        "Backups of several VMs do not get faster than one 1GbE uplink",
        {"b": {"count": 2}},
        {"save": {"kind": "tcp_stream", "direction": "send", "to": "b", "window": "256 KiB", "delay": "50 us"}},
        "wire vmnic0 transmit",
        {"hardware.nics.vmnic0.line_rate": "10 Gbit/s"},
        "throughput",
        1,
        "save",
        server={"line_rate": "1 Gbit/s"},
    ),
    Report(
        "multicast-feed",
        "Many VMs that receive one multicast group lose packets (VMware, splitRx mode in vSphere 5)",
        {"m": {"count": 20, "vmx": {"ethernet0.emuRxMode": 0}}},
        {"feed": {"kind": "multicast", "to": "m", "packet_size": "800 B", "rate": "80 kpps"}},
        "context vmnic0-pollWorld",
        {"vms.m.count": 2},
        "loss",
        -1,
        "feed",
    ),
    Report(
        "transmit-context",
        "A VM that sends small packets is held to one transmit context (VMware, Tuning vCloud NFV: ctxPerDev)",
        {"x": {"guest": "linux5", "vcpus": 2}, "y": {"guest": "linux5"}},
        {
            "small": {
                "kind": "vm_datagrams",
                "sender": "x",
                "to": "y",
                "packet_size": "18 B",
                "sent_by": "poll",
                "taken_by": "poll",
            }
        },
        "context x[0].NetWorld",
        {"hardware.cpu.clock": "3.9 GHz"},
        "delivered",
        1,
        "small",
        length="10 ms",
    ),
    Report(
        "database-vcpu",
        "A database VM with one vCPU answers no faster, whatever the network",
        {"db": {}},
        {
            "query": {
                "kind": "transactions",
                "to": "db",
                "users": 8,
                "request_size": "300 B",
                "reply_size": "4 kB",
                "service": "500 us",
            }
        },
        "context db[0].vcpu0",
        {"vms.db.vcpus": 3},
        "transactions",
        1,
        "query",
        length="100 ms",
    ),
    Report(
        "nic-ring-microburst",
        "A physical NIC drops packets of bursts until its ring is longer (rx_missed_errors, ethtool -G)",
        {"r": {"rx_ring": 4096}},
        {"u": _udp(to="r", packet_size="18 B", interval="5 ms", burst=1000)},
        "ring vmnic0-rx",
        {"hardware.nics.vmnic0.rx_ring": 4096},
        "loss",
        -1,
        "u",
        server={"rx_ring": 128},
        settings={"vms.r.guest.socket_buffer": "16 MiB"},
    ),
    Report(
        "busy-neighbour",
        "A VM that computes all the time on a core of its own alarms, and slows nothing",
        {"feed": {}, "n": {}},
        {"ticks": _udp(to="feed", packet_size="200 B", rate="10 kpps"), "w": _work("30 ms", to="n", rate="50 /s")},
        "load ticks",
        {"traffic.ticks.rate": "20 kpps"},
        "delivered",
        1,
        "ticks",
    ),
    Report(
        "slow-application",
        "Round trips are long because the server thinks, not the network",
        {"t": {"vmx": {"ethernet0.coalescingScheme": "disabled"}}},
        {"rr": _pair(to="t", service="400 us")},
        "service rr",
        {"traffic.rr.service": "20 us"},
        "round_trip_mean",
        -1,
        "rr",
    ),
]
