"""Published effects are due to their stated mechanisms: an effect disappears without its mechanism, and not without
another one.

Every comparison is between two runs of a shipped scenario on common random numbers, short ones whose first half is cut.
"""

from __future__ import annotations

from functools import cache

import pytest

from hostsim.config.host import PointSpec
from hostsim.engine.random_stream import Streams
from hostsim.engine.record import RunRecord, Scalar
from hostsim.model.build import build_host
from hostsim.model.invariants import check_invariants
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from hostsim.units import MS

MOST = 0.75
"""Share of an effect that counts as most of it."""
LRO_OFF = {"host.advanced.Net.Vmxnet3SwLRO": "0"}
UNPACKED = {"host.advanced.Net.NetNetqRxDynamicLB": "0"}
SATURATED = {"platform": "esxi-5.5"}
ONE_QUEUE = {"vms.receiver.vmx.ethernet0.pnicFeatures": "0"}
"""With both, the single VM of the 40GbE scenario has one queue, whose NetPoll is the bottleneck."""
SMALL = {"vms": 16, "message": "256 B", "direction": "receive"}
"""Small messages to sixteen VMs, with VXLAN or without."""


def record(name: str, axes: dict[str, Scalar], overrides: dict[str, str] | None = None, length: str = "200 ms"):
    """A run at a point, made once."""
    return _record(name, tuple(axes.items()), tuple((overrides or {}).items()), length)


@cache
def _record(
    name: str, axes: tuple[tuple[str, Scalar], ...], overrides: tuple[tuple[str, str], ...], length: str
) -> RunRecord:
    spec = _spec(name, axes, overrides, length)
    host = build_host(spec, Streams(1, 0))
    host.probe.start()
    host.clock.advance(spec.length)
    host.probe.sample()
    check_invariants(host)
    instants, series, histograms = host.probe.collect()
    # not `simulate`: if it finds no warm-up, it makes the run four times as long
    return RunRecord("", 0, 1, dict(axes), instants, series, histograms, cut=len(instants) // 2)


def _spec(
    name: str, axes: tuple[tuple[str, Scalar], ...], overrides: tuple[tuple[str, str], ...], length: str
) -> PointSpec:
    return point_at(load(name, {**dict(overrides), "run.length": length}), dict(axes)).spec


def value(run: RunRecord, metric: str) -> float:
    return CATALOGUE[metric].evaluate(run)


def split_overhead(overrides: dict[str, str] | None = None) -> float:
    """Share by which split receive raises the host's CPU: 16 receivers at 40,000 packets per second, with nothing saturated."""
    off, on = (
        value(record("splitrx", {"receivers": 16, "split": split, "rate": "40 kpps"}, overrides), "host_cpu")
        for split in ("0", "1")
    )
    return on / off - 1


def test_split_receive_is_cheap_by_packets_that_share_a_wake_up() -> None:
    """Its sender is a VM, whose host coalesces: separate packets wake each context for each of them."""
    assert 0 < split_overhead() < 0.1
    assert split_overhead({"peer.tx_coalescing.depth_cap": "1"}) > 0.25


@pytest.mark.parametrize("cost", ["switch_forward", "driver_rx", "guest_interrupt"])
def test_split_receive_is_as_cheap_without_other_costs(cost: str) -> None:
    """Costs paid once per packet, or by the guest in either mode, are not part of it."""
    assert split_overhead({f"platform.costs.{cost}.cycles": "0"}) == pytest.approx(split_overhead(), abs=0.005)


NO_BALANCER = {"host.advanced.Net.NetNetqRxDynamicLB": "0"}
"""The NetPoll is so busy that NetQueue's balancer opens a second queue in one run and not in the next."""


def numa_gain(overrides: dict[str, str]) -> dict[str, float]:
    """The benefit of NUMA I/O at the 40GbE NIC: shares by which throughput grows, and CPU per gigabit falls."""
    off, on = (
        record("numa-io", {"nic": "vmnic0", "threshold": threshold}, NO_BALANCER | overrides) for threshold in (0, 200)
    )
    return {
        "throughput": value(on, "throughput") / value(off, "throughput") - 1,
        "cpu_per_gbit": 1 - value(on, "cpu_per_gbit") / value(off, "cpu_per_gbit"),
    }


def test_numa_io_is_worth_what_waiting_for_another_node_costs() -> None:
    """Without memory waits, and with remote shared lines at local cost, most of the gain in throughput and CPU is gone."""
    gain = numa_gain({})
    assert gain["throughput"] > 0.1
    assert gain["cpu_per_gbit"] > 0.1
    left = numa_gain({"hardware.cpu.memory.hop": "0 ns", "platform.costs.line_fills.value": "1e6"})
    for metric, whole in gain.items():
        assert abs(left[metric]) < (1 - MOST) * whole


@pytest.mark.parametrize(
    "costs",
    [
        ("context_switch", "poll_entry", "virtual_interrupt"),
        ("guest_ack", "guest_process_wake", "guest_timer_tick"),
        ("sw_lro",),
        ("split_enqueue", "segment_software", "vxlan_encap", "replicate_clone"),
    ],
    ids=" ".join,
)
def test_numa_io_is_worth_as_much_without_other_costs(costs: tuple[str, ...]) -> None:
    """With zero costs of other steps, including those of the same packets, most of the gain remains."""
    gain = numa_gain({})
    left = numa_gain({f"platform.costs.{cost}.cycles": "0" for cost in costs})
    for metric, whole in gain.items():
        assert left[metric] > MOST * whole


def test_numa_io_is_worth_more_where_netpolls_stay_with_their_nic() -> None:
    """By default the NetPoll is with the VM. At its NIC it writes to another node, whose guest reads it: most CPU is saved there."""
    gain, apart = numa_gain({}), numa_gain({"host.advanced.Cpu.PackageRebalancePeriod": "0"})
    assert apart["cpu_per_gbit"] > 1.3 * gain["cpu_per_gbit"]


def test_the_price_of_several_queues_before_6_0_is_that_of_the_lock() -> None:
    """Several queues of a vNIC deliver one at a time: with a free hand-over, or without the lock, it receives more with much less CPU."""
    locked = record("40gbe-single", SATURATED)
    for without in ({"platform.costs.vnic_hand_over.cycles": "0"}, {"platform.features.vnic_parallel": "true"}):
        freed = record("40gbe-single", SATURATED, without)
        assert value(freed, "throughput") > 1.2 * value(locked, "throughput")
        assert value(freed, "cpu_per_gbit") < MOST * value(locked, "cpu_per_gbit")
    same = {"platform.costs.vnic_hand_over.cycles": "0"}
    assert value(record("40gbe-single", {"platform": "esxi-6.0"}, same), "throughput") == value(
        record("40gbe-single", {"platform": "esxi-6.0"}), "throughput"
    )


def _per_frame_ps(run: RunRecord) -> float:
    """Total time of NetPolls per frame."""
    return run.total("netpoll.used_ps") / run.total("queue.taken")


@pytest.mark.parametrize(("cost", "cycles"), [("driver_rx", 50), ("vmklinux_conversion", 1200)], ids=str)
def test_the_limit_of_one_queue_moves_with_the_cost_of_a_frame(cost: str, cycles: int) -> None:
    """Throughput is that of the base run times f / (f + d): f is the NetPoll's time per frame there, d the added time."""
    base = record("40gbe-single", SATURATED, ONE_QUEUE)
    path = f"platform.costs.{cost}.cycles"
    moved = record("40gbe-single", SATURATED, ONE_QUEUE | {path: str(cycles)})
    spec = _spec("40gbe-single", tuple(SATURATED.items()), (), "200 ms")
    rate = spec.costs.cycle_rate(spec.hardware.cpu.family, spec.hardware.cpu.clock)
    added = (cycles - getattr(spec.costs, cost).cycles) / rate * 1e12
    frame = _per_frame_ps(base)
    assert value(base, "busiest_netpoll") > 99
    assert value(moved, "busiest_netpoll") > 99
    assert value(moved, "throughput") == pytest.approx(value(base, "throughput") * frame / (frame + added), rel=0.05)


@pytest.mark.parametrize("generation", [0.75, 1.0])
def test_the_limit_of_one_queue_moves_with_the_processor(generation: float) -> None:
    """A frame takes longer in proportion to the cycles."""
    base = record("40gbe-single", SATURATED, ONE_QUEUE)
    moved = record(
        "40gbe-single", SATURATED, ONE_QUEUE | {"platform.costs.generations.sandy-bridge.value": str(generation)}
    )
    spec = _spec("40gbe-single", tuple(SATURATED.items()), (), "200 ms")
    factor = spec.costs.generations["sandy-bridge"].value / generation
    assert value(moved, "busiest_netpoll") > 99
    assert value(moved, "throughput") == pytest.approx(value(base, "throughput") * factor, rel=0.05)


@pytest.mark.parametrize(
    ("name", "axes"), [("80gbe", {"nics": 1, "method": "post"}), ("40gbe-single", SATURATED)], ids=["80gbe", "40gbe"]
)
def test_without_lro_a_guest_gets_the_frames_of_the_wire(name: str, axes: dict[str, Scalar]) -> None:
    """With it, packets of several frames; without, as many packets as frames, whether or not its ring has room for all."""
    on, off = record(name, axes), record(name, axes, LRO_OFF)
    assert value(on, "guest_rx_per_nic") < 0.5 * value(on, "rx_per_nic")
    assert off.total("port.copies") == off.total("port.frames")
    offered = off.total("port.received") + off.total("port.ring_dropped")
    assert offered == pytest.approx(off.total("nic.rx_frames"), rel=0.01)


def test_without_rss_one_queue_bounds_vxlan() -> None:
    """All frames arrive at the default queue, and one NetPoll is busy with them alone."""
    undelayed = {"traffic.netperf.nodelay": "true"}  # small writes that do not join
    spread = record("vxlan", {**SMALL, "vxlan": True}, undelayed, "100 ms")
    bound = record("vxlan", {**SMALL, "vxlan": True}, {"host.nics.vmnic0.drss": "1", **undelayed}, "100 ms")
    assert (value(spread, "rx_queues_used"), value(bound, "rx_queues_used")) == (4, 1)
    assert value(bound, "busiest_netpoll") > 95
    assert value(bound, "throughput") < 0.5 * value(spread, "throughput")


def test_plain_traffic_needs_no_rss_to_use_several_queues() -> None:
    """Filters on the addresses of vNICs distribute them."""
    plain = record("vxlan", {**SMALL, "vxlan": False}, {"host.nics.vmnic0.drss": "1"}, "60 ms")
    assert value(plain, "rx_queues_used") > 4


def test_dynamic_netqueue_packs_what_fits() -> None:
    """Switched off, every vNIC has its own queue: more contexts, and more CPU for the same throughput. A vNIC moves once per period of 100 ms: the third queue is in use after the third."""
    on = record("40gbe-multi", {"vms": 8, "platform": "esxi-6.0"}, length="600 ms")
    off = record("40gbe-multi", {"vms": 8, "platform": "esxi-6.0"}, UNPACKED, "150 ms")
    assert value(off, "throughput") == pytest.approx(value(on, "throughput"), rel=0.01)
    assert (value(on, "rx_queues_used"), value(off, "rx_queues_used")) == (3, 8)
    assert value(off, "netpoll_cpu") > 1.1 * value(on, "netpoll_cpu")
    assert value(off, "host_cpu") > 1.01 * value(on, "host_cpu")


def test_what_the_linux_driver_costs_is_its_conversion() -> None:
    """Without the conversion most of its additional cost over a native driver is gone, with Dynamic NetQueue off in both."""
    native = record("40gbe-multi", {"vms": 8, "platform": "esxi-6.0"}, UNPACKED, "150 ms")
    linux = record("40gbe-multi", {"vms": 8, "platform": "esxi-5.5"}, length="150 ms")
    without = record(
        "40gbe-multi", {"vms": 8, "platform": "esxi-5.5"}, {"platform.costs.vmklinux_conversion.cycles": "0"}, "150 ms"
    )
    whole = value(linux, "host_cpu") - value(native, "host_cpu")
    assert whole > 0.1 * value(native, "host_cpu")
    assert abs(value(without, "host_cpu") - value(native, "host_cpu")) < (1 - MOST) * whole


FULL = {
    "hardware.cpu.cores": "2",
    "hardware.cpu.threads": "1",
    "vms.web.count": "40",
    "host.advanced.Net.NetTuneThreshold": "0n 0n 0",
}
"""Dense mode's host with a fifth of its cores and VMs, at 90 % of the CPU, and always tuned. A core has one thread: with two, run times would depend on the sibling, for any switch cost."""
TURNING = ("context_switch", "cache_refill_same", "cache_refill_migrated", "halt_exit", "preemption", "reschedule_ipi")
INTERLUDE = ("guest_cache_refill",)
"""Cache lines that a guest fetches again after an interlude of the VMkernel."""
CROSSING = ("vmk_call", "poll_entry", "vcpu_wake", "virtual_interrupt", "guest_interrupt")
"""Costs of leaving a guest, entering a VMkernel context, and returning: in the publication, a monitor and a VMkernel that communicate less have fewer context switches."""


@cache
def dense_gain(*free: str) -> float:
    """Share of the CPU that dense mode saves at 50 requests per second and VM, with some costs at zero."""
    overrides = FULL | {f"platform.costs.{cost}.cycles": "0" for cost in free}
    used = []
    for mode in ("default", "dense"):
        spec = _spec("dense-high", (("mode", mode),), tuple(overrides.items()), "1 s")
        short = spec.settings.model_copy(update={"tune_interval": 1 * MS})  # the setting is in whole seconds
        host = build_host(spec.model_copy(update={"settings": short}), Streams(1, 0))
        host.clock.advance(150 * MS)
        before = sum(pcpu.busy(host.clock.now) for pcpu in host.scheduler.pcpus)
        host.clock.advance(600 * MS)
        assert host.dense_mode.state.value == (mode == "dense")
        used.append(sum(pcpu.busy(host.clock.now) for pcpu in host.scheduler.pcpus) - before)
    return 1 - used[1] / used[0]


def test_dense_mode_is_worth_what_calls_into_the_vmkernel_cost() -> None:
    """There is no gain if calls, switches and refills are free. Most of it is due to calls and their cache refills; it
    remains with free switches, as worlds then alternate more often and each alternation costs a guest its caches.
    """
    whole = dense_gain()
    assert whole > 0.05
    assert abs(dense_gain(*TURNING, *CROSSING, *INTERLUDE)) < 0.1 * whole
    assert dense_gain(*CROSSING, *INTERLUDE) < 0.5 * whole
    assert dense_gain(*TURNING) > MOST * whole


@pytest.mark.parametrize("cost", ["guest_timer_tick", "guest_tx_packet", "driver_rx"])
def test_dense_mode_is_worth_as_much_without_other_costs(cost: str) -> None:
    """With zero costs of an idle guest's ticks, the guest's stack, or the driver, most of the gain remains."""
    assert dense_gain(cost) > MOST * dense_gain()


FREE_WAKE_UPS = {
    f"platform.costs.{cost}.cycles": "0"
    for cost in (
        "context_switch",
        "cache_refill_same",
        "cache_refill_migrated",
        "guest_cache_refill",
        "halt_exit",
        "interrupt",
        "poll_entry",
        "vcpu_wake",
        "virtual_interrupt",
        "guest_interrupt",
        "reschedule_ipi",
    )
}


FREE_READER = {"platform.costs.guest_process_wake.cycles": "0"}
"""A process that reads datagrams wakes up for free."""
FREE_COMPLETIONS = {
    f"platform.costs.{cost}.cycles": "0"
    for cost in ("driver_tx_completion", "networld_tx_completion", "guest_tx_completion")
}


UNCOALESCED = {"host.advanced.Net.CoalesceScheme": "disabled"}


def saved(rate: str, overrides: dict[str, str] | None = None, direction: str = "receive") -> float:
    """Saving of a passed-through NIC, in percent of a core."""
    vnic, direct = (
        record("directpath-udp", {"path": path, "rate": rate, "direction": direction}, overrides)
        for path in ("vnic", "directpath")
    )
    return value(vnic, "cpu_total") - value(direct, "cpu_total")


def test_at_a_low_rate_directpath_saves_wake_ups() -> None:
    """A vNIC without coalescing wakes its guest as often as the NIC would: the NetPoll's wake-ups are saved, and with free ones three quarters of the saving are gone."""
    assert saved("10 kpps", FREE_WAKE_UPS | UNCOALESCED) < (1 - MOST) * saved("10 kpps", UNCOALESCED)


@pytest.mark.parametrize("direction", ["receive", "send"])
def test_without_wake_ups_directpath_saves_the_same_for_every_packet(direction: str) -> None:
    """With free completions, which come together, and free ticks, which a tickless guest takes while it runs, the rest is the VMkernel's work per packet: driver, conversion, switch, copy. So the saving per packet falls because of wake-ups."""
    free = FREE_WAKE_UPS | FREE_READER | FREE_COMPLETIONS | {"platform.costs.guest_timer_tick.cycles": "0"}
    low, high = (saved(f"{kilo} kpps", free, direction) / kilo for kilo in (10, 100))
    assert low == pytest.approx(high, rel=0.03)
    assert saved("10 kpps", direction=direction) / 10 > 1.15 * saved("100 kpps", direction=direction) / 100


def test_directpath_pays_for_interrupts_that_a_vnic_holds_back() -> None:
    """At 10,000 packets per second a vNIC waits for three (10,000 over a ceiling of 4,000, rounded up), while a guest that drives the NIC is woken for each: it saves less by the cost of a wake-up, and loses nothing if the vNIC does not coalesce."""
    axes: dict[str, Scalar] = {"rate": "10 kpps", "direction": "receive"}
    for overrides, packets in (({}, 3), (UNCOALESCED, 1)):
        vnic, direct = (record("directpath-udp", axes | {"path": path}, overrides) for path in ("vnic", "directpath"))
        assert value(direct, "guest_interrupts") == pytest.approx(packets * value(vnic, "guest_interrupts"), rel=0.02)
    spec = _spec("directpath-udp", tuple(axes.items()), (), "200 ms")
    costs, rate = spec.costs, spec.costs.cycle_rate(spec.hardware.cpu.family, spec.hardware.cpu.clock)
    woken = (costs.guest_interrupt, costs.guest_process_wake)
    parts = (costs.context_switch, costs.cache_refill_same, costs.halt_exit, costs.vcpu_wake, *woken)
    lost = saved("10 kpps", UNCOALESCED) - saved("10 kpps")
    assert lost == pytest.approx(100 * 2 / 3 * 10_000 * sum(part.cycles or 0 for part in parts) / rate, rel=0.05)
    free = FREE_WAKE_UPS | FREE_READER
    assert abs(saved("10 kpps", free | UNCOALESCED) - saved("10 kpps", free)) < (1 - MOST) * lost
