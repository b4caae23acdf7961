"""CPU per Gbit/s of large TCP rises from native to passed-through, SR-IOV, paravirtual and emulated; no coalescing is never later."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hostsim
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.scenario.plan import point_at
from hostsim.units import MS

PATHS = ["native", "whole port", "function", "vmxnet3", "e1000"]
"""Paths in the order of the law."""
EQUAL = 0.02
"""Share of CPU by which a function may differ from a whole port, as frames alternate at other instants."""
QUICK, MANY = 1, 8
"""Number of random hosts before a merge, and in `make verify`."""
OUT = {"pciPassthru0.present": "TRUE", "memSize": 4096, "sched.mem.min": 4096}
VMX: dict[str, dict[str, Any]] = {
    "native": {},
    "whole port": OUT | {"pciPassthru0.id": "vmnic0"},
    "function": OUT | {"pciPassthru0.pfId": "vmnic0"},
    "vmxnet3": {"ethernet0.virtualDev": "vmxnet3"},
    "e1000": {"ethernet0.virtualDev": "e1000"},
}


def drawn(number: int) -> dict[str, Any]:
    """Properties of a random host that are equal for all paths: processor, clock, MTU, direction, window and delay."""
    random = np.random.default_rng(number)
    return {
        "family": str(random.choice(["sandy-bridge", "haswell", "broadwell"])),
        "clock": f"{random.uniform(2.0, 3.2):.2f} GHz",
        "mtu": int(random.choice([1500, 9000])),
        "direction": str(random.choice(["receive", "send"])),
        "window": f"{int(random.choice([64, 128, 256]))} KiB",
        "delay": f"{int(random.choice([40, 100, 200]))} us",
    }


def scenario(
    path: str, host: dict[str, Any], traffic: dict[str, Any], vmx: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A VM on a host, or the host itself, with one port; joining and segmenting packets is off on every path."""
    is_passed = path in ("whole port", "function")
    memory = {"latency": "80 ns", "hop": "50 ns", "channels": 4, "transfers": "1.6e9 /s"}
    cpu = {
        "model": "x",
        "family": host["family"],
        "sockets": 1,
        "cores": 4,
        "clock": host["clock"],
        "ddio": True,
        "memory": memory,
    }
    options = {"mtu": host["mtu"]} | ({"max_vfs": 1} if path == "function" else {}) if is_passed else {}
    return {
        "scenario": "law",
        "question": "Which path costs more?",
        "platform": "native" if path == "native" else "esxi-6.0",
        "hardware": {
            "hardware": "law",
            "cpu": cpu,
            "nics": {"vmnic0": {"model": "82599"}, "vmnic1": {"model": "82599"}},
        },
        "host": {"nics": {"vmnic0": options}} if options else {},
        "network": {"vSwitch0": {"uplinks": "vmnic1" if is_passed else "vmnic0", "mtu": host["mtu"]}},
        "vms": {
            "vm": {
                "guest": "rhel6",
                "vcpus": 1,
                "networks": [] if is_passed else ["vSwitch0"],
                "vmx": VMX[path] | (vmx or {}),
                "offloads": {"tso": False, "lro": False, "gro": False},
            }
        },
        "traffic": {"tcp": {"to": "vm", **traffic}},
    }


def cpu_per_gbit(path: str, host: dict[str, Any]) -> float:
    """Picoseconds of all processors per byte of data."""
    traffic = {"kind": "tcp_stream", **{key: host[key] for key in ("direction", "window", "delay")}}
    spec = point_at(hostsim.load(scenario(path, host, traffic)), {}).spec
    built = build_host(spec, Streams(1, 0))
    built.clock.advance(10 * MS)

    def seen() -> tuple[int, int]:
        for port in built.nics.values():
            port.depart(built.clock.now)
        return built.busy(built.clock.now), built.flows[0].octets

    before = seen()
    built.clock.advance(30 * MS)
    busy, octets = (now - then for now, then in zip(seen(), before, strict=True))
    assert octets > 1_000_000
    return busy / octets


def check_order(number: int) -> None:
    host = drawn(number)
    native, whole, function, paravirtual, emulated = (cpu_per_gbit(path, host) for path in PATHS)
    assert native <= whole * (1 + EQUAL), (host, native, whole)
    assert function == pytest.approx(whole, rel=EQUAL), (host, whole, function)
    assert function <= paravirtual * (1 + EQUAL), (host, function, paravirtual)
    assert paravirtual <= emulated * (1 + EQUAL), (host, paravirtual, emulated)


@pytest.mark.parametrize("number", range(QUICK))
def test_each_layer_costs_cpu(number: int) -> None:
    """At equal aggregation (none), segmentation (none), MTU and placement."""
    check_order(number)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(QUICK, MANY))
def test_each_layer_costs_cpu_on_random_hosts(number: int) -> None:
    """The same over more hosts."""
    check_order(number)


def mean_response(scheme: str, number: int) -> float:
    """Mean picoseconds from a request to its reply, for a client with one request at a time."""
    random = np.random.default_rng(1000 + number)
    size = int(random.choice([64, 256, 1024]))
    delay = f"{int(random.integers(10, 500))} us"
    traffic = {
        "kind": "request_response",
        "connections": 1,
        "request_size": f"{size} B",
        "reply_size": f"{size} B",
        "delay": delay,
    }
    vmx = {"ethernet0.coalescingScheme": scheme}
    built = build_host(point_at(hostsim.load(scenario("vmxnet3", drawn(number), traffic, vmx)), {}).spec, Streams(1, 0))
    built.clock.advance(60 * MS)
    (flow,) = built.flows
    return flow.response.total / flow.answered


@pytest.mark.parametrize("number", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, MANY))])
def test_coalescing_off_is_never_later_at_low_load(number: int) -> None:
    """Compared with any scheme: an interrupt without coalescing is never later."""
    off = mean_response("disabled", number)
    assert off <= min(mean_response(scheme, number) for scheme in ("rbc", "static")) * 1.001
