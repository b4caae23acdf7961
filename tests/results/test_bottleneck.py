"""Bottlenecks of a host by its counters: waiting packets, or the limit of the load if nothing is full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from host_record import WINDOW, host_record, percent, with_function

import hostsim
from hostsim.engine.record import Histogram, RunRecord, Series
from hostsim.errors import InputError
from hostsim.results.bottleneck import Bottleneck, bottleneck

QUEUES = {
    "queue.taken": (10, 10),
    "port.received": (10, 10, 10),
    "port.split_taken": (0, 0, 10),
    "tx.taken": (10, 10, 10),
}
"""Packets pass every queue; in the record some wait in each."""
_FLOW = (
    *("sent", "intended", "delivered", "to_forward", "forwarded", "out", "octets", "asked", "answered"),
    *(f"dropped_{place}" for place in ("nic", "split", "ring", "list", "socket", "out")),
)


def with_traffic(record: RunRecord, **flows: Mapping[str, int]) -> RunRecord:
    """The record with traffic entries, each with the growth of its counters over the window, 0 by default; ``users`` and ``receivers`` are fixed."""
    names = tuple(flows)

    def grown(values: list[int]) -> Series:
        rows = np.array(values, np.int64)
        return Series(names, np.array([0 * rows, 0 * rows, 0 * rows, rows]))

    def fixed(values: list[int]) -> Series:
        return Series(names, np.array([values] * 4, np.int64))

    series = {f"flow.{counter}": grown([flow.get(counter, 0) for flow in flows.values()]) for counter in _FLOW}
    series |= {"flow.users": fixed([flow.get("users", 0) for flow in flows.values()])}
    series |= {"flow.receivers": fixed([flow.get("receivers", 1) for flow in flows.values()])}
    series |= {"flow.groups": fixed([0 for _ in flows])}
    return replace(record, series={**record.series, **series})


FEED = {"sent": 1000, "intended": 1000, "delivered": 1000}


@pytest.mark.parametrize(
    ("busy", "expected"),
    [
        ({}, "none"),
        ({"netpoll.used_ps": percent(94.9, 0)}, "none"),
        ({"netpoll.used_ps": percent(20, 95)}, "context poll1"),
        ({"vcpu.used_ps": percent(0, 99, 96)}, "context b.vcpu0"),  # a.vcpu1 computes and has no queue
        ({"nic.tx_wire_ps": percent(97)}, "wire vmnic0 transmit"),
        ({"vcpu.used_ps": percent(30, 0, 0), "vcpu.ready_ps": percent(6, 0, 0)}, "node node0"),
        ({"vcpu.used_ps": percent(30, 0, 0), "vcpu.ready_ps": percent(4, 0, 0)}, "none"),
        ({"vcpu.used_ps": percent(60, 0, 0), "vcpu.ready_ps": percent(40, 0, 0)}, "node node0"),
        ({"pcpu.busy_ps": percent(50, 50, 100, 92)}, "none"),  # busy PCPUs, but no world waits for one
        ({"nic.rx_wire_ps": percent(99), "netpoll.used_ps": percent(99, 0)}, "wire vmnic0 receive"),
        ({"nic.rx_wire_ps": percent(96), "netpoll.used_ps": percent(99, 0)}, "context poll0"),
        ({"networld.used_ps": percent(0, 100), "splitrx.used_ps": percent(97)}, "context b.NetWorld"),
    ],
)
def test_what_is_full_is_named_where_something_waits_for_it(busy: Mapping[str, tuple[int, ...]], expected: str) -> None:
    """From 95 % on; the fullest stage, and among equal ones the wire; a world without a PCPU names the node."""
    assert str(bottleneck(host_record({**QUEUES, **busy}))) == expected


def test_the_fullest_of_a_host_is_not_said_to_be_on_the_way_of_its_largest_traffic() -> None:
    """A database's vCPU does not serve pages, and a higher total load is possible until it is full."""
    record = host_record({**QUEUES, "vcpu.used_ps": percent(20, 0, 90), "port.ring_inside": (0, 0, 0)})
    alone, mixed = (
        bottleneck(with_traffic(record, **flows)) for flows in ({"feed": FEED}, {"feed": FEED, "other": FEED})
    )
    assert alone.reason.startswith("All offered traffic of feed is carried, ")
    assert "the busiest stage on the way, context b.vcpu0, is busy for 90 %" in alone.reason
    assert mixed.reason.startswith("All offered traffic is carried, including ")
    assert "the busiest stage, context b.vcpu0, is busy for 90 %" in mixed.reason
    assert mixed.relief == "A higher load can be carried until context b.vcpu0 is full."


def test_what_is_merely_busy_is_not_a_bottleneck() -> None:
    """A full context without a growing queue, with an open-loop feed that is fully delivered: the load is the limit."""
    record = host_record({**QUEUES, "netpoll.used_ps": percent(100, 100), "port.ring_inside": (0, 0, 0)})
    found = bottleneck(with_traffic(record, feed=FEED))
    assert str(found) == "load feed"
    assert found.share == pytest.approx(100.0)
    waiting = {
        name: Series(series.entities, series.values * 0) for name, series in record.series.items() if "inside" in name
    }
    piled = replace(record.series["queue.inside"], values=np.array([[0, 0], [0, 0], [50, 0], [90, 0]]))
    grows = replace(record, series={**record.series, **waiting, "queue.inside": piled})
    assert str(bottleneck(with_traffic(grows, feed=FEED))) == "context poll1"  # it serves the first queue


@pytest.mark.parametrize(
    ("used", "ready", "expected"),
    [(30, 0, "ring a.eth0"), (100, 0, "context a.vcpu0"), (30, 40, "node node0")],
)
def test_lost_packets_are_the_server_s_fault_or_the_queue_s(used: int, ready: int, expected: str) -> None:
    """A full ring whose vCPU has idle time is too short; otherwise the vCPU is full or waits for a PCPU."""
    record = host_record(
        {
            **QUEUES,
            "port.ring_dropped": (50, 0, 0),
            "vcpu.used_ps": percent(used, 0, 0),
            "vcpu.ready_ps": percent(ready, 0, 0),
        }
    )
    found = bottleneck(with_traffic(record, feed={**FEED, "delivered": 950, "dropped_ring": 50}))
    assert str(found) == expected
    assert "5 % of the packets of feed are lost, most of them at the receive ring a.eth0" in found.reason
    assert "room for 256 packets" in found.reason
    assert found.relief.startswith("Relief: ")


def test_few_losses_of_a_feed_are_none_and_those_of_tcp_count_where_they_cut_its_window() -> None:
    """5 of 100,000 lost; congestion control allows half of the window because of a ring."""
    record = host_record({**QUEUES, "port.ring_dropped": (5, 0, 0)})
    few = {"sent": 100_000, "intended": 100_000, "delivered": 100_000, "dropped_ring": 5, "octets": 10**8}
    lossy = with_traffic(record, feed=few)
    assert str(bottleneck(lossy)) == "load feed"

    def cut(allowed: int) -> str:
        levels = {"connections": 2, "window": 1000, "allowed": allowed, "in_flight": allowed}
        tcp = {f"tcp.{name}": Series(("feed",), np.array([[value]] * 4)) for name, value in levels.items()}
        return str(bottleneck(replace(lossy, series={**lossy.series, **tcp})))

    assert (cut(500), cut(1000)) == ("ring a.eth0", "window feed")


def test_a_window_limits_with_the_round_trip_of_little_s_law() -> None:
    """200 kB in flight at 40 MB/s are 5 ms."""
    record = with_traffic(host_record(QUEUES), copy={**FEED, "octets": 40_000_000})
    levels = {"connections": 4, "window": 262_144, "allowed": 262_144, "in_flight": 200_000}
    tcp = {f"tcp.{name}": Series(("copy",), np.array([[value]] * 4)) for name, value in levels.items()}
    found = bottleneck(replace(record, series={**record.series, **tcp}))
    assert str(found) == "window copy"
    assert "4 connections of copy have a window of 64 KiB each, at a round trip of 5,000 us" in found.reason
    assert found.relief.startswith("Relief: a larger window")
    short = replace(tcp["tcp.allowed"], values=tcp["tcp.allowed"].values * 4 // 5)
    lossy = bottleneck(replace(record, series={**record.series, **tcp, "tcp.allowed": short}))
    assert lossy.relief.startswith("Relief: fewer losses outside the host")
    large = {name: replace(level, values=level.values * 16) for name, level in tcp.items() if name != "tcp.connections"}
    assert "a window of 1,024 KiB each" in bottleneck(replace(record, series={**record.series, **tcp, **large})).reason


def test_of_requests_and_replies_the_largest_stage_limits() -> None:
    """By the time that round trips spend in each stage."""
    record = with_traffic(host_record(QUEUES), rr={**FEED, "asked": 10, "answered": 10, "users": 1})
    stages = dict.fromkeys(("wire", "netpoll_wait", "vswitch", "coalescing", "wake", "guest", "transmit"), 10**6)
    stages["moderation"] = 7 * 10**6
    trips = {f"trip.{stage}_ps": Series(("rr",), np.array([[0], [0], [0], [time]])) for stage, time in stages.items()}
    trips["trip.count"] = Series(("rr",), np.array([[0], [0], [0], [2]]))
    found = bottleneck(replace(record, series={**record.series, **trips}))
    assert (str(found), found.share) == ("moderation rr", pytest.approx(50.0))
    assert "A round trip of rr takes 7 us" in found.reason


@pytest.mark.parametrize(("waiting", "expected"), [(0.3, "load db"), (0.8, "users db")])
def test_users_limit_unless_they_think(waiting: float, expected: str) -> None:
    """Four users who wait for replies for a given share of the time."""
    record = with_traffic(host_record(QUEUES), db={**FEED, "asked": 100, "answered": 100, "users": 4})
    total = round(4 * waiting * WINDOW)
    counts = np.array([[[0]], [[0]], [[0]], [[100]]])
    times = Histogram(("db",), np.array([0, WINDOW]), counts, np.array([[0], [0], [0], [total]]))
    assert str(bottleneck(replace(record, histograms={"flow.response": times}))) == expected


def test_a_guest_that_refuses_what_it_is_to_forward_is_named() -> None:
    """Packets are lost on the transmit path, and no queue is full."""
    lossy = {**FEED, "to_forward": 1000, "forwarded": 400, "dropped_out": 600}
    found = bottleneck(with_traffic(host_record(QUEUES), up=lossy))
    assert (str(found), found.share) == ("forwarding up", pytest.approx(60.0))


def test_packets_that_no_guest_forwards_and_no_queue_drops_are_lost_in_traffic_shaping() -> None:
    """A VM sends more than the average of its port: the queues of shaping have no counters."""
    lossy = {"out": 400, "dropped_out": 600}
    found = bottleneck(with_traffic(host_record(QUEUES), up=lossy))
    assert (str(found), found.share) == ("shaping up", pytest.approx(60.0))
    assert "offload" not in found.sentence


def test_a_vcpu_at_its_cpu_limit_does_not_wait_for_other_vcpus() -> None:
    """All of its ready time is limited time, on an idle node: fewer busy vCPUs would not help."""
    waits = {"vcpu.used_ps": percent(30, 0, 0), "vcpu.ready_ps": percent(60, 0, 0)}
    record = host_record({**QUEUES, **waits})
    limited = {**record.series, "vcpu.limited_ps": record.series["vcpu.ready_ps"]}
    found = bottleneck(replace(record, series=limited))
    assert "a CPU limit holds it back for 60 %" in found.reason
    assert "sched.cpu.max" in found.relief
    assert "fewer busy vCPUs" in bottleneck(record).relief


@pytest.mark.parametrize(("used", "expected"), [(99, "context a.vcpu0"), (50, "ring up")])
def test_losses_of_a_passed_through_port_are_those_of_a_full_context_or_a_short_ring(used: int, expected: str) -> None:
    """Its ring has no counters."""
    lossy = {**FEED, "delivered": 400, "dropped_nic": 600}
    record = host_record({**QUEUES, "vcpu.used_ps": percent(used, 0, 0)})
    assert str(bottleneck(with_traffic(record, up=lossy))) == expected


@pytest.mark.parametrize(("used", "expected"), [(99, "context a.vcpu0"), (50, "ring vmnic0-vf0-rx0")])
def test_losses_of_a_function_name_its_ring(used: int, expected: str) -> None:
    """Its ring is a queue of the NIC that a vCPU empties."""
    lossy = {**FEED, "delivered": 400, "dropped_nic": 600}
    counters = {"queue.dropped": (600, 0), "queue.context": (-1, 0), "vcpu.used_ps": percent(used, 0, 0)}
    found = bottleneck(with_traffic(with_function(host_record({**QUEUES, **counters})), up=lossy))
    assert str(found) == expected
    assert "60 % of the packets of up are lost, most of them at the receive ring vmnic0-vf0-rx0" in found.reason


def test_losses_in_sockets_have_the_setting_of_their_guest_as_relief() -> None:
    """An interrupt brings packets together, so that shorter bursts of the sender do not help."""
    counters = {"guest.read": (400, 0, 0), "guest.socket_dropped": (600, 0, 0), "guest.unread": (9, 0, 0)}
    record = with_traffic(host_record(QUEUES), up={**FEED, "delivered": 400, "dropped_socket": 600})
    rows = {name: np.array([[0, 0, 0]] * 3 + [values]) for name, values in counters.items()}
    series = {name: Series(("a[0].vcpu0", "a[0].vcpu1", "b[0].vcpu0"), values) for name, values in rows.items()}
    found = bottleneck(replace(record, series={**record.series, **series}))
    assert str(found) == "socket a[0].vcpu0"
    assert "vms.a.guest.socket_buffer" in found.relief
    assert "senders" not in found.relief


def test_the_fullest_context_is_given_whether_or_not_it_binds() -> None:
    """It is given with its charged time."""
    found = bottleneck(host_record({**QUEUES, "netpoll.used_ps": percent(60, 70), "nic.rx_wire_ps": percent(98)}))
    assert (found.resource, found.name, found.context) == ("wire", "vmnic0 receive", "poll1")
    assert (found.share, found.used) == pytest.approx((98.0, 70.0))


def test_a_stream_that_a_vm_sends_is_limited_by_its_own_vm() -> None:
    """The vCPU of its sender is full; frames for another group fill the wire and its NetPoll."""
    sends = {
        "vcpu.used_ps": percent(0, 0, 99),
        "tx.taken": (0, 0, 10),
        "port.received": (10, 10, 0),
        "port.split_taken": (0, 0, 0),
    }
    full = {**QUEUES, **sends, "netpoll.used_ps": percent(100, 100), "nic.rx_wire_ps": percent(97)}
    record = with_traffic(host_record(full), feed=FEED, up={"out": 1000})
    series = {**record.series, "flow.groups": Series(("feed", "up"), np.array([[1, 2]] * 4))}
    of_vms = {
        name: replace(
            values, entities=tuple(entity.replace("a.", "a[0].").replace("b.", "b[0].") for entity in values.entities)
        )
        for name, values in series.items()
    }
    record = replace(record, series=of_vms)
    assert str(bottleneck(record, of="up")) == "context b[0].vcpu0"
    assert str(bottleneck(record, of="feed")) == "wire vmnic0 receive"


def test_without_counters_there_is_none() -> None:
    """A record of something else."""
    assert bottleneck(replace(host_record(), series={})) == Bottleneck("none", "")


def test_a_subject_that_has_no_bottleneck_is_refused_with_those_that_have() -> None:
    """Traffic entries, groups and VMs."""
    record = with_traffic(host_record(QUEUES), feed=FEED)
    assert str(bottleneck(record, of="feed")) == str(bottleneck(record, of="traffic feed")) == "load feed"
    for of in ("fed", "poll0", "world poll0"):
        with pytest.raises(InputError, match=r"no such traffic entry, VM group or VM.*traffic entries feed"):
            bottleneck(record, of=of)


def test_loss_goes_before_what_is_full() -> None:
    """A short ring drops packets that a full wire has carried: the ring is the bottleneck."""
    record = host_record({**QUEUES, "port.ring_dropped": (50, 0, 0), "nic.rx_wire_ps": percent(99)})
    assert str(bottleneck(with_traffic(record, feed={**FEED, "delivered": 950, "dropped_ring": 50}))) == "ring a.eth0"
    assert str(bottleneck(with_traffic(record, feed=FEED))) == "wire vmnic0 receive"


def test_cpu_work_counts_where_there_is_no_other_traffic() -> None:
    """Bursts of a neighbour wait for its vCPU; the feed beside it does not."""
    record = with_traffic(
        host_record({**QUEUES, "vcpu.used_ps": percent(0, 100, 0)}), feed=FEED, batch={"sent": 10, "intended": 10}
    )
    work = {
        f"work.{name}": Series(("a.vcpu1",), np.array([[0], [0], [5], [9]]))
        for name in ("started", "dropped", "inside")
    }
    work["work.dropped"] = Series(("a.vcpu1",), np.array([[0]] * 4))
    times = Histogram(("batch",), np.array([0, WINDOW]), np.zeros((4, 1, 1), np.int64), np.zeros((4, 1), np.int64))
    whole = replace(record, series={**record.series, **work}, histograms={"work.time": times})
    assert [str(bottleneck(whole, of)) for of in (None, "feed", "batch")] == [
        "load feed",
        "load feed",
        "context a.vcpu1",
    ]


def run_alone(folder: Path, network: str, vcpus: int, traffic: str) -> RunRecord:
    """The record of a short run with one VM and one traffic entry, ``up``."""
    path = folder / "alone.yaml"
    path.write_text(f"""
scenario: alone
question: What limits it?
platform: esxi-7.0
hardware: xeon-8160
network: {{vSwitch0: {{uplinks: [vmnic0], {network}}}}}
vms: {{a: {{count: 1, guest: rhel8, vcpus: {vcpus}, networks: [vSwitch0]}}}}
traffic: {{up: {{{traffic}}}}}
run: {{length: 60 ms, replications: 1, quick: {{length: 60 ms, replications: 1}}}}
""")
    return hostsim.run(path, quick=True, jobs=1, results=folder / "results").record()


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        ("shaping: {average: 1 Gbit/s, peak: 1 Gbit/s, burst: 1 MB}", "shaping up"),
        ("nioc: {system: {virtual_machine: {limit: 1 Gbit/s}}}", "shaping up"),
        ("mtu: 1500", "window up"),
    ],
)
def test_tcp_that_waits_before_the_wire_is_held_back_by_shaping(tmp_path: Path, control: str, expected: str) -> None:
    """Without losses the windows are full in all three hosts; only without a limit would larger ones help."""
    stream = "to: a, kind: tcp_stream, direction: send, streams: 2, window: 64 KiB, delay: 50 us"
    found = bottleneck(run_alone(tmp_path, control, 2, stream))
    assert str(found) == expected
    assert ("a higher rate of shaping" in found.relief) == (expected == "shaping up")


def test_streams_between_vms_do_not_wait_before_the_wire_that_other_vms_use(tmp_path: Path) -> None:
    """Their packets never reach it, and those that a bridge forwards are not counted as sent."""
    path = tmp_path / "beside.yaml"
    path.write_text("""
scenario: beside
question: What limits the stream?
platform: esxi-7.0
hardware: xeon-8160
network: {vSwitch0: {uplinks: [vmnic0]}, vSwitch1: {uplinks: [vmnic1]}}
vms:
  source: {count: 1, guest: rhel8, networks: [vSwitch0]}
  sink: {count: 1, guest: rhel8, networks: [vSwitch0]}
  bridge: {count: 1, guest: rhel8, networks: [vSwitch0, vSwitch1]}
traffic:
  stream: {kind: vm_tcp_stream, sender: source, to: sink, window: 16 KiB}
  frames: {kind: bridged, to: bridge, frame_size: 64 B, rate: 20 kpps}
run: {length: 60 ms, replications: 1, quick: {length: 60 ms, replications: 1}}
""")
    found = bottleneck(hostsim.run(path, quick=True, jobs=1, results=tmp_path / "results").record(), "stream")
    assert found.resource == "window"


def test_other_traffic_before_the_window_is_not_taken_for_waiting_packets(tmp_path: Path) -> None:
    """A VM whose CPU limit stops it has sent to another VM only before."""
    path = tmp_path / "stopped.yaml"
    path.write_text("""
scenario: stopped
question: What limits the stream?
platform: esxi-8.0
hardware: xeon-6448y
network: {vSwitch0: {uplinks: [vmnic0]}}
vms:
  sender: {count: 1, guest: ideal, vcpus: 4, networks: [vSwitch0], vmx: {sched.cpu.max: 500}}
  other: {count: 1, guest: sles11, vcpus: 4, networks: [vSwitch0], vmx: {sched.cpu.max: 500}}
traffic:
  stream: {kind: tcp_stream, to: sender, direction: send, window: 1 MiB, streams: 1, delay: 1 ms, loss: 0.1 %}
  datagrams: {kind: vm_datagrams, sender: other, to: sender, packet_size: 1400 B, rate: 500 kpps}
run: {length: 60 ms, replications: 1, quick: {length: 60 ms, replications: 1}}
""")
    record = hostsim.run(path, quick=True, jobs=1, results=tmp_path / "results").record()
    assert record.total("flow.delivered") < record.series["flow.delivered"].values[-1].sum()
    assert bottleneck(record, "stream").resource == "window"


@pytest.mark.parametrize(
    ("direction", "vcpus", "relief"),
    [
        ("send", 4, "Relief: more streams (streams), whose processes run on other vCPUs, or a cheaper application"),
        ("send", 1, "Relief: more vCPUs with further streams (streams), more VMs, or a cheaper application"),
        ("receive", 4, "Relief: traffic spread over the vCPUs of the VM (RSS: "),
        ("receive", 1, "Relief: more vCPUs or VMs for this traffic, or a cheaper application"),
    ],
)
def test_a_full_vcpu_that_sends_needs_more_streams(tmp_path: Path, direction: str, vcpus: int, relief: str) -> None:
    """RSS spreads only what a VM receives; further vCPUs alone would be idle."""
    stream = f"to: a, kind: udp_stream, direction: {direction}, packet_size: 200 B, rate: 1000 kpps, service: 2 us"
    found = bottleneck(run_alone(tmp_path, "mtu: 1500", vcpus, stream))
    assert str(found).startswith("context a[0].vcpu")
    assert found.relief.startswith(relief)


@pytest.mark.parametrize(
    ("stream", "expected", "reason"),
    [
        ("kind: udp_stream, to: a, direction: send, packet_size: 1400 B, rate: 5 kpps", "load up", "up sends "),
        ("kind: vmkernel_stream, network: vSwitch0, system: vsan, window: 4 MiB", "wire vmnic0 transmit", "The wire "),
        ("kind: vmkernel_stream, network: vSwitch0, system: vsan, window: 64 KiB, delay: 200 us", "none", ""),
    ],
)
def test_a_host_that_only_sends_is_limited_by_its_load_or_by_the_wire(
    tmp_path: Path, stream: str, expected: str, reason: str
) -> None:
    """A record has no windows of the VMkernel's connections, so that its traffic is not taken for an offered load."""
    found = bottleneck(run_alone(tmp_path, "mtu: 1500", 1, stream))
    assert str(found) == expected
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(("lanes", "expected"), [(1, "slot vmnic0 receive"), (16, "context ")])
def test_a_slot_that_is_slower_than_its_wire_is_named(tmp_path: Path, lanes: int, expected: str) -> None:
    """A lane of PCI Express 3 carries 7 of 100 Gbit/s: a faster link would not help."""
    path = tmp_path / "slot.yaml"
    path.write_text(f"""
scenario: slot
question: What limits it?
platform: esxi-7.0
hardware:
  hardware: own
  cpu: {{model: any, family: skylake-sp, sockets: 1, cores: 8, threads: 1, clock: 2.5 GHz}}
  nics: {{vmnic0: {{model: ConnectX-5, pcie: {{generation: 3, lanes: {lanes}}}}}}}
network: {{vSwitch0: {{uplinks: vmnic0}}}}
vms: {{a: {{guest: rhel8, vcpus: 4, networks: vSwitch0}}}}
traffic: {{up: {{kind: tcp_stream, to: a, direction: receive, window: 256 KiB, streams: 8, delay: 20 us}}}}
run: {{length: 30 ms, replications: 1}}
""")
    found = bottleneck(hostsim.run(path, jobs=1, results=tmp_path / "results").record())
    assert str(found).startswith(expected)
    assert ("faster link" in found.relief) is False
