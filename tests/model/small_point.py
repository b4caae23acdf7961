"""Whole hosts that are small enough for hand calculation: a clock of 1 GHz, so that a cycle is a nanosecond, and separate costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hostsim.config.costs import CostModel
from hostsim.config.cpu import CpuSpec
from hostsim.config.guest import GuestSpec, PacketPaths
from hostsim.config.host import HardwareSpec, PointSpec, VmGroupSpec
from hostsim.config.nic import NicOptions, NicSpec, VSwitchSpec
from hostsim.config.platform import (
    Coalescing,
    FunctionSettings,
    HostSettings,
    LroSpec,
    NetQueueSpec,
    NumaIoSpec,
    PassthroughSettings,
    TuningSpec,
    VmSettings,
    VnicSettings,
)
from hostsim.config.traffic import Traffic
from hostsim.config.workload import (
    HttpSpec,
    MulticastSpec,
    RequestResponseSpec,
    TcpStreamSpec,
    TransactionsSpec,
    UdpStreamSpec,
    VmDatagramsSpec,
    VmTcpStreamSpec,
    WebSpec,
    WorkSpec,
)
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.cost_table import CostTable
from hostsim.model.host import Host
from hostsim.model.invariants import check_invariants, check_slices
from hostsim.units import MS, SECOND

SOURCE = "a number that is easy to reckon with"
FREE = {"line_fills": 1.0, "memory_usable": 1.0, "reserved_far": 1.0, "smt_throughput": 1.0}
ROUND = {
    "context_switch": 100, "cache_refill_same": 200, "cache_refill_migrated": 500, "halt_exit": 50, "preemption": 30, "reschedule_ipi": 65,
    "interrupt": 300, "poll_entry": 400, "driver_rx": 70, "vmklinux_conversion": 110, "switch_forward": 30,
    "sw_lro": 20, "vxlan_decap": 60, "vnic_deliver": 150, "vnic_hand_over": 15, "shared_lines": 40, "copy_per_byte": 0.25,
    "replicate_clone": 90, "split_enqueue": 25, "vmk_call": 600, "networld_tx": 170, "driver_tx": 80, "segment_software": 35, "segment_per_byte": 0.5,
    "vxlan_encap": 45, "vcpu_wake": 800, "virtual_interrupt": 700, "guest_interrupt": 220, "guest_gro_frame": 55, "guest_rx_packet": 250, "guest_tx_packet": 350,
    "guest_ack": 130, "guest_rx_ack": 190, "guest_ipi": 450, "guest_process_wake": 900,
}  # fmt: skip
"""Costs in cycles, which are nanoseconds here; all differ, so that none can replace another."""
TURNS = ("context_switch", "cache_refill_same", "cache_refill_migrated", "halt_exit", "preemption", "reschedule_ipi")
CALM = ROUND | dict.fromkeys(TURNS, 0)
"""Costs without context switches, so that it does not matter which idle PCPU a world gets."""


def costs(values: Mapping[str, float] = ROUND) -> CostModel:
    """A cost model; costs that are not named are zero."""
    named: dict[str, Any] = {"generations": {"round": {"value": 1.0, "source": SOURCE}}}
    named["vcpu_preemption_lead"] = {"time": "1000 s", "source": SOURCE}
    named["memory_service"] = {"time": f"{values.get('memory_service', 0)} ns", "source": SOURCE}
    for name in CostModel.model_fields:
        if name in FREE:
            named[name] = {"value": float(values.get(name, FREE[name])), "source": SOURCE}
        elif name not in named:
            named[name] = {"cycles": float(values.get(name, 0)), "source": SOURCE}
    return CostModel.model_validate(named)


AWAY = 0.5
"""Nanoseconds that a byte waits for memory of another node with one cache line in flight, and half of it for the local node."""


def cpu(sockets: int = 1, cores: int = 4, **changes: Any) -> CpuSpec:
    """Processors with DDIO and unlimited memory bandwidth; another node's memory is twice as far."""
    memory = {"latency": "16 ns", "hop": "16 ns", "channels": 1, "transfers": "1e15 /s"}
    values = {"model": "round", "family": "round", "sockets": sockets, "cores": cores, "clock": "1 GHz", "ddio": True}
    return CpuSpec.model_validate(values | {"memory": memory} | changes)


def cost_table(values: Mapping[str, float] = ROUND) -> CostTable:
    """What a small host charges."""
    return CostTable(costs(values), cpu())


def nic(**changes: Any) -> NicSpec:
    values = {"model": "round", "line_rate": "10 Gbit/s", "node": 0, "rx_ring": 4096, "driver": "round"}
    # completions only for tests that request them
    return NicSpec.model_validate(values | {"interrupt_interval": "0 s", "tx_interrupt_delay": "1000 s"} | changes)


def guest(**changes: Any) -> GuestSpec:
    """A guest without ticks, whose applications take 1 us per packet, 2 us per write and 50 us per request."""
    values = {
        "guest": "round", "napi_budget": 64, "rx_ring": 4096, "tx_ring": 4096, "ack_every": 2, "initial_window": 1,
        "tso_divisor": 1, "socket_buffer": "1 GiB", "socket_overhead": "0 B", "timer_period": "200 h",
    }  # fmt: skip
    applications = {
        name: {"cycles": cycles, "source": SOURCE}
        for name, cycles in {
            "udp_sink": 1000.0,
            "udp_source": 2000.0,
            "tcp_sink": 1000.0,
            "tcp_source": 2000.0,
            "bridge": 4000.0,
            "http_server": 50000.0,
            "web_server": 40000.0,
            "transaction": 100000.0,
        }.items()
    }
    return GuestSpec.model_validate({"applications": applications} | values | changes)


STATIC = Coalescing(scheme="static", rate=4000, depth=64, timeout=4 * MS)


def vnic(**changes: Any) -> VnicSettings:
    coalescing = Coalescing(scheme="disabled", rate=4000, depth=1, timeout=4 * MS)
    values = {"split_rx": False, "rx_ring": 4096, "tx_ring": 4096, "coalescing": coalescing, "rss": False}
    return VnicSettings.model_validate(values | {"tx_context": "vm", "dense": STATIC} | changes)


def group(name: str = "vm", *, vnics: tuple[VnicSettings, ...] | None = None, **changes: Any) -> VmGroupSpec:
    """VMs with a vNIC on each of ``networks`` (vSwitch0 by default), the NICs of ``passthrough``, and a function of each NIC of ``functions``."""
    networks = changes.pop("networks", ("vSwitch0",))
    nodes, shares = changes.pop("nodes", ()), changes.pop("shares", 1000)
    others = {name: changes.pop(name) for name in ("reserved", "exclusive", "offloads", "queues") if name in changes}
    whole = tuple(PassthroughSettings(nic=name) for name in changes.pop("passthrough", ()))
    functions = tuple(FunctionSettings(nic=name, queues=64) for name in changes.pop("functions", ()))
    others["passthrough"] = whole + functions
    settings = VmSettings(shares=shares, nodes=nodes, vnics=vnics or (vnic(),) * len(networks), **others)
    values = {"count": 1, "vcpus": 1, "guest": guest()} | changes
    return VmGroupSpec(name=name, networks=networks, settings=settings, **values)


def stream(direction: str, **changes: Any) -> TcpStreamSpec:
    values = {
        "kind": "tcp_stream",
        "direction": direction,
        "to": "vm",
        "window": "64 KiB",
        "delay": "10 us",
        "burst": 4,
    }
    return TcpStreamSpec.model_validate(values | changes)


def files(method: str, **changes: Any) -> HttpSpec:
    values = {"kind": "http", "method": method, "to": "vm", "window": "64 KiB", "delay": "10 us", "burst": 4}
    return HttpSpec.model_validate(values | {"size": "100 kB", "connections": 1} | changes)


def pages(*instants: int, **changes: Any) -> WebSpec:
    """Clients that request a page with one object of 1448 bytes at given instants."""
    arrivals = {"process": "replay", "timestamps_ps": instants}
    values = {"kind": "web", "to": "vm", "window": "64 KiB", "delay": "10 us", "objects": 1, "size": "1448 B"}
    return WebSpec.model_validate(values | {"write_size": "1448 B", "arrivals": arrivals} | changes)


def multicast(*instants: int, size: str = "1000 B", to: str = "vm") -> MulticastSpec:
    """A stream of datagrams sent at given instants."""
    arrivals = {"process": "replay", "timestamps_ps": instants}
    return MulticastSpec.model_validate({"kind": "multicast", "to": to, "packet_size": size, "arrivals": arrivals})


def datagrams(direction: str, **changes: Any) -> UdpStreamSpec:
    """Datagrams of 1,000 bytes at a constant rate."""
    values = {"kind": "udp_stream", "direction": direction, "to": "vm", "packet_size": "1000 B", "rate": "1 kpps"}
    return UdpStreamSpec.model_validate(values | changes)


def users(count: int = 1, **changes: Any) -> TransactionsSpec:
    """Users who do not think."""
    values = {"kind": "transactions", "to": "vm", "users": count, "request_size": "100 B", "reply_size": "2000 B"}
    return TransactionsSpec.model_validate(values | {"delay": "10 us"} | changes)


def echoes(connections: int = 1, **changes: Any) -> RequestResponseSpec:
    """Requests of 100 bytes with replies of the same size."""
    values = {"kind": "request_response", "to": "vm", "connections": connections, "request_size": "100 B"}
    return RequestResponseSpec.model_validate(values | {"reply_size": "100 B", "delay": "10 us"} | changes)


PATHS = {
    "poll_tx": 60, "poll_rx": 45, "xdp_drop": 110, "xdp_tx": 75, "xdp_skb_drop": 310, "xdp_skb_tx": 240, "packet_socket": 520,
    "forward": 2900,
}  # fmt: skip
"""Costs of a packet in cycles, except those of a guest's sockets."""


def paths() -> PacketPaths:
    return PacketPaths.model_validate({name: {"cycles": float(c), "source": SOURCE} for name, c in PATHS.items()})


def to_vm(**changes: Any) -> VmDatagramsSpec:
    """Datagrams of 1,000 bytes from group ``a`` to group ``b`` of the same host, as fast as a polling guest can send."""
    values = {"kind": "vm_datagrams", "sender": "a", "to": "b", "packet_size": "1000 B"}
    return VmDatagramsSpec.model_validate(values | ({} if "rate" in changes else {"sent_by": "poll"}) | changes)


def vm_stream(**changes: Any) -> VmTcpStreamSpec:
    """A TCP stream from group ``a`` to group ``b`` of the same host."""
    values = {"kind": "vm_tcp_stream", "sender": "a", "to": "b", "window": "64 KiB"}
    return VmTcpStreamSpec.model_validate(values | changes)


def work(rate: str, length: str, to: str = "vm") -> WorkSpec:
    """Bursts of constant length at a constant rate."""
    service = {"distribution": "constant", "mean": length}
    return WorkSpec.model_validate({"kind": "work", "to": to, "rate": rate, "service": service})


def settings(**changes: Any) -> HostSettings:
    values = {
        "quantum": 50 * MS, "lag_quanta": 8, "costop_threshold": 3 * MS, "costart_threshold": 2 * MS, "cosched_period": 1 * MS, "rebalance_period": 0,
        "numa_rebalance_period": 1000 * SECOND, "package_rebalance_period": 0, "numa_imbalance": 10, "port_rx_queue": 80, "poll_budget": 64,
        "tx_poll_bound": 64, "tx_timeout": 4 * MS, "tx_depth_cap": 40, "tx_call_rate": 4000, "sw_lro": False, "hw_lro": False,
        "lro_bytes": 32000, "lro_threshold": 1000, "lro_backoff": 8, "hw_tso": True, "netqueue": True, "netqueue_dynamic": False,
        "numa_io_threshold": 0, "tune_dense": False, "tune_interval": 10 * MS, "tune_vms": 1, "tune_vcpus": 2, "tune_utilisation": 50.0,
    }  # fmt: skip
    return HostSettings.model_validate(values | changes)


def point(
    *vms: VmGroupSpec,
    traffic: Mapping[str, Traffic],
    sockets: int = 1,
    cores: int = 4,
    nics: Mapping[str, NicSpec] | None = None,
    options: Mapping[str, NicOptions] | None = None,
    switches: Mapping[str, VSwitchSpec] | None = None,
    cost: Mapping[str, float] = ROUND,
    processors: Mapping[str, Any] | None = None,
    netqueue: Mapping[str, str] | None = None,
    **changed: Any,
) -> PointSpec:
    """A host; ``processors`` changes its CPU, ``changed`` its advanced settings."""
    marks = {"period": "10 ms", "pack_below": "70 %", "unpack_above": "90 %", "open_below": "100 %"} | dict(
        netqueue or {}
    )
    return PointSpec(
        hardware=HardwareSpec(
            hardware="round", cpu=cpu(sockets, cores, **processors or {}), nics=dict(nics or {"vmnic0": nic()})
        ),
        costs=costs(cost),
        settings=settings(**changed),
        nics=dict(options or {}),
        drivers={"round": "native", "linux": "vmklinux"},
        netqueue=NetQueueSpec.model_validate(marks),
        lro=LroSpec(sessions=8),
        numa_io=NumaIoSpec.model_validate({"fill_below": "75 %", "relieve_above": "90 %", "fade": 8}),
        tuning=TuningSpec.model_validate({"tx_timeout": "8 ms"}),
        vswitches=dict(switches or {"vSwitch0": VSwitchSpec(uplinks="vmnic0")}),
        vms=vms or (group(),),
        traffic=dict(traffic),
        length="1 s",
    )


def run(spec: PointSpec, until: int = 20 * MS, seed: int = 1) -> Host:
    """The host after a run in which every invariant held in every time slice."""
    host = build_host(spec, Streams(seed, 0))
    host.probe.start()
    host.clock.advance(until)
    host.probe.sample()
    check_invariants(host)
    check_slices(*host.probe.collect())
    return host


def arrived(host: Host) -> int:
    """Bytes of data of the first traffic that have reached their destination."""
    for port in host.nics.values():
        port.depart(host.clock.now)
    return host.flows[0].octets
