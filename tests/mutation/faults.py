"""Seeded faults: edits of the source or of a cost, each with the tests that must detect it.

`test_seeded_faults` plants them one by one. A fault whose old text is no longer in its file is an error, not a pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COSTS = "scenarios/platforms/esxi.yaml"
HAND = "tests/theory/test_seeded_faults.py::test_a_schedule_computed_by_hand_finds_a_wrong_tie_break"


@dataclass(frozen=True)
class Fault:
    """An edit and the tests that must fail with it.

    Attributes:
        name: unique, in plain words.
        path: the file.
        old: text that occurs in it exactly once.
        new: text in its place.
        tests: pytest node ids; each must fail.
    """

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]


def small_host(*names: str) -> tuple[str, ...]:
    """Return the node ids of fingerprints."""
    return tuple(f"tests/test_fingerprint.py::test_a_small_host_does_what_it_did[{name}]" for name in names)


def model(file: str, *tests: str) -> tuple[str, ...]:
    """Return the node ids of tests of the model."""
    return tuple(f"tests/model/test_{file}.py::{test}" for test in tests)


_NODE, _PCPU, _SCHEDULER = "hostsim/model/cpu/pcpu.py", "hostsim/model/cpu/pcpu.py", "hostsim/model/cpu/scheduler.py"
_COALESCING = "hostsim/model/policy/moderation.py"
_POLICY = "hostsim/model/policy/scheduler.py"
_RING, _VNIC, _NETWORLD = (
    "hostsim/engine/ring.py",
    "hostsim/model/receive/vnic.py",
    "hostsim/model/transmit/networld.py",
)
_VCPU, _SENDER, _RX_QUEUE = (
    "hostsim/model/guest/vcpu.py",
    "hostsim/model/traffic/tcp_sender.py",
    "hostsim/model/receive/nic.py",
)
_TIES = (
    Fault(
        "tie: an admitted world waits in the last of the shortest queues",
        _POLICY,
        "if queue.queued < shortest.queued:",
        "if queue.queued <= shortest.queued:",
        model(
            "scheduler_homes",
            "test_of_equally_short_queues_the_first_is_taken[waits]",
            "test_of_equally_short_queues_the_first_is_taken[sleeps]",
        ),
    ),
    Fault(
        "tie: of vCPUs with equal virtual time the newest goes first",
        _POLICY,
        "if waiting.vtime < world.vtime:",
        "if waiting.vtime <= world.vtime:",
        (f"{HAND}[False]",),
    ),
    Fault(
        "tie: of waiting system worlds the newest goes first",
        _POLICY,
        "return queue.systems[0] if",
        "return queue.systems[-1] if",
        (f"{HAND}[True]",),
    ),
    Fault(
        "tie: an idle PCPU steals from the last of the longest queues",
        _POLICY,
        "if queue.queued > longest.queued:",
        "if queue.queued >= longest.queued:",
        small_host("work"),
    ),
    Fault(
        "tie: a waking world takes the PCPU that has been idle longest",
        _POLICY,
        "idle.latest()",
        "idle.queues()[0]",
        model("scheduler_rules", "test_else_it_goes_to_the_pcpu_that_became_idle_most_recently"),
    ),
    Fault(
        "tie: of events at one instant the newest comes first",
        "hostsim/engine/clock.py",
        "else priority << _RANK_BITS) + self.entered",
        "else priority << _RANK_BITS) - self.entered",
        ("tests/engine/test_event_queue.py",),
    ),
)
_DROPS = (
    Fault(
        "drop: one train in 100,000 of each ring, counted as a drop",
        _RING,
        "        self.pushed += train.count\n        if self._next is None:\n",
        "        before = self.pushed\n        self.pushed += train.count\n"
        "        if before // 100_000 != self.pushed // 100_000:\n            self.dropped += train.count\n"
        "            return\n        if self._next is None:\n",
        ("tests/engine/test_ring.py::test_a_ring_with_room_never_drops",),
    ),
    Fault(
        "drop: one train in 1,000 of each ring, counted nowhere",
        _RING,
        "        self.pushed += train.count\n        if self._next is None:\n",
        "        before = self.pushed\n        self.pushed += train.count\n"
        "        if before // 1_000 != self.pushed // 1_000:\n            return\n        if self._next is None:\n",
        model("invariants", "test_a_sound_host_keeps_all_laws_and_its_record_closes_every_balance"),
    ),
    Fault(
        "drop: a full ring drops one packet too few",
        _RING,
        "room = self.capacity - self.held\n",
        "room = self.capacity - self.held + 1\n",
        ("tests/engine/test_ring.py::test_a_full_ring_drops_the_last",),
    ),
    Fault(
        "drop: frames lost at the physical NIC are not counted for their flow",
        _RX_QUEUE,
        "        sender.totals.lost_nic += train.count * train.frames\n",
        "",
        model("loss", "test_an_overflowing_nic_ring_is_repaired_without_the_timer[8]"),
    ),
    Fault(
        "drop: a sender is not told of frames lost at the physical NIC",
        _RX_QUEUE,
        "        self._losses.append(train)\n",
        "",
        model("loss", "test_lost_segments_go_again"),
    ),
    Fault(
        "drop: a packet of several frames that a vNIC has no room for counts as one lost frame",
        _VNIC,
        "        frames = train.count * train.frames\n        self.lost += frames\n",
        "        frames = train.count * train.frames\n        self.lost += train.count\n",
        model("vnic", "test_a_lost_packet_counts_with_all_its_frames"),
    ),
)
_TIMERS = (
    Fault(
        "timer doubled: static receive coalescing",
        _COALESCING,
        "return first + self._timeout\n",
        "return first + 2 * self._timeout\n",
        small_host("static", "dense"),
    ),
    Fault(
        "timer doubled: transmit coalescing in dense mode",
        _COALESCING,
        "self.timeout, self.in_passing = timeout, in_passing",
        "self.timeout, self.in_passing = timeout if in_passing else 2 * timeout, in_passing",
        (
            *small_host("dense"),
            *model("dense_mode", "test_while_the_guest_runs_packets_leave_after_exactly_that_timer"),
        ),
    ),
    Fault(
        "timer doubled: transmit coalescing",
        _COALESCING,
        "super().__init__(timeout)\n",
        "super().__init__(2 * timeout)\n",
        model("networld", "test_what_nobody_calls_for_goes_by_the_timer"),
    ),
    Fault(
        "timer doubled: interrupt moderation of a physical NIC",
        _COALESCING,
        "paced_to = last + self._interval",
        "paced_to = last + 2 * self._interval",
        small_host("poisson"),
    ),
    Fault(
        "timer doubled: window of rate-based coalescing",
        _COALESCING,
        "if passed >= self._window:",
        "if passed >= 2 * self._window:",
        model("vnic", "test_rate_based_coalescing_interrupts_for_as_many_packets_as_keep_to_the_ceiling"),
    ),
    Fault(
        "timer doubled: TCP retransmission",
        "hostsim/model/traffic/tcp.py",
        "RETRANSMIT_AFTER: Final = 200 * MS",
        "RETRANSMIT_AFTER: Final = 400 * MS",
        model("loss", "test_a_segment_goes_again_200_ms_after_its_loss_is_known"),
    ),
    Fault(
        "timer doubled: a client's second attempt to connect",
        "hostsim/model/traffic/web.py",
        "OPEN_AGAIN_AFTER: Final = 3 * SECOND",
        "OPEN_AGAIN_AFTER: Final = 6 * SECOND",
        model("web", "test_a_connection_that_finds_no_room_is_opened_again"),
    ),
    Fault(
        "timer doubled: delayed acknowledgement",
        _SENDER,
        "DELAYED_ACK: Final = 40 * MS",
        "DELAYED_ACK: Final = 80 * MS",
        model("tcp", "test_a_pause_longer_than_the_delayed_acknowledgement_has_one"),
    ),
    Fault(
        "timer doubled: tick of a guest",
        "hostsim/model/guest/vcpu.py",
        "self._timer.arm(now + self._period)",
        "self._timer.arm(now + 2 * self._period)",
        small_host("work"),
    ),
    Fault(
        "timer doubled: load balancer between PCPUs",
        "hostsim/model/build.py",
        "periodic(host.clock, settings.rebalance_period, ",
        "periodic(host.clock, 2 * settings.rebalance_period, ",
        small_host("threads"),
    ),
    Fault(
        "timer doubled: NUMA balancer",
        "hostsim/model/control/numa.py",
        "yield env.timeout(self._period)\n            self._balance",
        "yield env.timeout(2 * self._period)\n            self._balance",
        small_host("nodes"),
    ),
    Fault(
        "timer doubled: co-scheduling check",
        "hostsim/model/cpu/pcpu.py",
        "self._timer.arm(now + self._period)",
        "self._timer.arm(now + 2 * self._period)",
        model("scheduler_coscheduling", "test_looks_come_one_period_apart_while_a_vcpu_waits"),
    ),
    Fault(
        "timer doubled: NetQueue balancer",
        "hostsim/model/build.py",
        "periodic(host.clock, netqueue.period, ",
        "periodic(host.clock, 2 * netqueue.period, ",
        small_host("queues"),
    ),
    Fault(
        "timer doubled: check of dense mode",
        "hostsim/model/control/dense_mode.py",
        "            wait = settings.tune_interval\n",
        "            wait = 2 * settings.tune_interval\n",
        model("dense_mode", "test_it_is_withdrawn_when_the_load_falls"),
    ),
    Fault(
        "timer doubled: NUMA-aware I/O",
        "hostsim/model/control/numa.py",
        "yield env.timeout(self._period)\n            self._look",
        "yield env.timeout(2 * self._period)\n            self._look",
        small_host("nodes"),
    ),
    Fault(
        "timer doubled: quantum",
        _POLICY,
        "if now - queue.since < self.quantum:",
        "if now - queue.since < 2 * self.quantum:",
        model("scheduler", "test_the_quantum_lets_worlds_take_turns"),
    ),
    Fault(
        "timer doubled: period of the firmware's interrupts",
        "hostsim/model/control/periodic.py",
        "round(spec.period *",
        "round(2 * spec.period *",
        ("tests/model/test_firmware.py::test_stops_come_a_period_apart_give_or_take_a_tenth",),
    ),
    Fault(
        "timer doubled: wait of packets for a passed-through NIC",
        "hostsim/model/guest/directpath.py",
        "LAG: Final = 20 * US",
        "LAG: Final = 40 * US",
        model("directpath", "test_what_is_written_early_in_a_long_burst_goes_20_us_later"),
    ),
)
_DRAWS = (
    Fault(
        "biased draw: the wire favours some senders",
        "hostsim/model/receive/wire.py",
        "index = int(self._draws[left] * len(active))",
        "index = int(self._draws[left] ** 1.05 * len(active))",
        model("closed_loop_wire", "test_each_sender_has_an_equal_part_of_what_is_drawn"),
    ),
    Fault(
        "biased draw: exponential gaps are 2 % longer",
        "hostsim/model/traffic/arrival_source.py",
        "random.exponential(mean, count)",
        "random.exponential(1.02 * mean, count)",
        small_host("poisson", "work"),
    ),
    Fault(
        "biased draw: every constant stream begins at once",
        "hostsim/model/traffic/arrival_source.py",
        "start = int(random.uniform(0, SECOND / rate))",
        "start = 0",
        small_host("default"),
    ),
    Fault(
        "biased draw: the firmware is never early",
        "hostsim/model/control/periodic.py",
        "random.uniform(1 - DRIFT, 1 + DRIFT)",
        "random.uniform(1, 1 + DRIFT)",
        ("tests/model/test_firmware.py::test_stops_come_a_period_apart_give_or_take_a_tenth",),
    ),
    Fault(
        "biased draw: all replications draw the same numbers",
        "hostsim/engine/random_stream.py",
        "spawn_key=(self.replication, *key)",
        "spawn_key=(0, *key)",
        ("tests/mutation/test_seeded_faults.py::test_replications_draw_different_numbers",),
    ),
)
_SIGNS = (
    Fault(
        "sign: after a loss, segments that the peer holds are taken off",
        _SENDER,
        "congestion.in_flight <= self._carry + self._lost",
        "congestion.in_flight <= self._carry - self._lost",
        model("tcp", "test_what_remains_goes_at_once_when_nothing_is_on_its_way_after_a_loss"),
    ),
    Fault(
        "sign: a peer's carried segments are taken off those that it acknowledges",
        _SENDER,
        "        total = self._carry + frames - owed\n",
        "        total = frames - self._carry - owed\n",
        small_host("senders"),
    ),
    Fault(
        "sign: latencies inside a packet train grow with its gap",
        "hostsim/model/guest/socket.py",
        "flow.latency.add(start + read - train.arrived, read - train.gap, count)",
        "flow.latency.add(start + read - train.arrived, read + train.gap, count)",
        small_host("default"),
    ),
    Fault(
        "sign: the virtual time of a migrating world is shifted the wrong way",
        _POLICY,
        "world.vtime += shift",
        "world.vtime -= shift",
        model("scheduler_homes", "test_virtual_time_keeps_its_distance_to_the_node_in_a_move"),
    ),
)
_WAKES = (
    Fault(
        "missed wake-up: packets for a sleeping process",
        _VCPU,
        "if self._work_ps or self.state is _SLEEPING:\n            self._await_inbox()\n",
        "if self._work_ps:\n            self._await_inbox()\n",
        small_host("senders"),
    ),
    Fault(
        "missed wake-up: packets held back when the guest halts",
        _VNIC,
        "            self._timer.arm(max(now, self._first_held()))\n",
        "            pass\n",
        model("vnic", "test_static_delivers_at_once_to_a_guest_that_sleeps_or_falls_asleep"),
    ),
    Fault(
        "missed wake-up: a frame that comes earlier than the NIC was told",
        _RX_QUEUE,
        "        self._timer.arm_by(self._due(self._moderation, at))\n",
        "",
        small_host("senders"),
    ),
    Fault(
        "missed wake-up: packets posted while the transmit context falls asleep",
        _NETWORLD,
        "        for queue in self.queues:\n            queue.await_wake()\n",
        "        return\n",
        model("networld", "test_what_is_written_while_it_falls_asleep_is_not_forgotten"),
    ),
    Fault(
        "missed wake-up: no receive context wakes a transmit context",
        _NETWORLD,
        "            self._wake(_OPPORTUNISTIC, now)\n",
        "            return\n",
        model("networld", "test_the_receive_context_wakes_it_in_passing"),
    ),
    Fault(
        "missed wake-up: an idle PCPU steals nothing",
        _NODE,
        "steal_queue(pcpus).take_first(now) if pcpus else None",
        "steal_queue(pcpus).take_first(now) if not pcpus else None",
        model("scheduler", "test_a_pcpu_that_goes_idle_takes_the_first_of_the_longest_queue"),
    ),
)
_RULES = (
    Fault(
        "rule: shares are not heeded",
        _POLICY,
        "world.vtime += spent * 1000 // world.shares",
        "world.vtime += spent",
        model("scheduler_rules", "test_a_world_with_more_shares_ages_more_slowly"),
    ),
    Fault(
        "rule: a batch is charged twice",
        _PCPU,
        "        world.used += spent\n        self._policy.charge(world, spent)\n        self.charged = now\n        if not world.system",
        "        world.used += 2 * spent\n        self._policy.charge(world, spent)\n        self.charged = now\n"
        "        if not world.system",
        model("invariants", "test_a_sound_host_keeps_all_laws_and_its_record_closes_every_balance"),
    ),
    Fault(
        "rule: the vCPU with the most virtual time goes first",
        _POLICY,
        "if waiting.vtime < world.vtime:",
        "if waiting.vtime > world.vtime:",
        model("scheduler_rules", "test_the_vcpu_with_the_least_virtual_time_goes_first"),
    ),
    Fault(
        "rule: coalescing counts a packet more than its depth",
        _VNIC,
        "self.ring.nth(depth)",
        "self.ring.nth(depth + 1)",
        small_host("static"),
    ),
    Fault(
        "rule: rate-based coalescing takes half of the depth that keeps to the ceiling",
        _COALESCING,
        "depth = -(-counted * SECOND // (passed * self._ceiling))",
        "depth = -(-counted * SECOND // (2 * passed * self._ceiling))",
        model("vnic", "test_rate_based_coalescing_interrupts_for_as_many_packets_as_keep_to_the_ceiling"),
    ),
)
_COST = re.compile(
    r"^ {2}( {2})?(?P<name>[\w-]+): \{(?P<kind>cycles|time|value): (?P<value>[\d.]+)(?P<unit> [mn]s)?,", re.M
)
_COST_HOSTS = {
    "default": ("replicate_clone", "westmere-ex"),
    "queues": ("sandy-bridge",),
    "senders": ("memory_service", "memory_usable", "sw_lro", "vxlan_decap", "vxlan_encap", "guest_ack", "guest_rx_ack"),
    "split": ("split_enqueue",),
    "threads": (
        "vcpu_preemption_lead", "smt_throughput", "e1000_doorbell", "e1000_interrupt", "segment_software",
        "segment_per_byte", "guest_ipi",
    ),
    "direct": ("reserved_far",),
    "work": ("preemption", "reschedule_ipi"),
}  # fmt: skip
"""Costs that the fingerprint of ``dense`` does not cover, with a host that does."""


_LEAST = {"nehalem": 1.04}
"""Factors that cannot be raised by 5 %, because that is out of their range."""
UNUSED = {
    *("opteron-k10", "haswell", "broadwell", "skylake-sp", "cascade-lake", "ice-lake-sp", "sapphire-rapids"),
    *("emerald-rapids", "zen2", "zen3", "zen4"),
}
"""Processor families that no test host has."""


def cost_faults() -> tuple[Fault, ...]:
    """Return one fault for each cost of the root platform: 5 % more."""
    text = (ROOT / COSTS).read_text(encoding="utf-8")
    section = text[text.index("\ncosts:\n") : text.index("\nadvanced:\n")]
    hosts = {cost: host for host, costs in _COST_HOSTS.items() for cost in costs}
    faults = []
    for found in _COST.finditer(section):
        if found["name"] in UNUSED:
            continue
        old = found.group()
        factor = _LEAST.get(found["name"], 1.05)
        new = old.replace(found["value"], f"{float(found['value']) * factor:g}", 1)
        faults.append(
            Fault(f"cost + 5 %: {found['name']}", COSTS, old, new, small_host(hosts.get(found["name"], "dense")))
        )
    return tuple(faults)


FAULTS = (*_TIES, *_DROPS, *_TIMERS, *_DRAWS, *_SIGNS, *_WAKES, *_RULES)
"""The named faults, without those of costs."""
