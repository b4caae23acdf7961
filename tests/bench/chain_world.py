"""The chains of worlds on a hostsim host, with all accounting on. Compiled together with the hot modules if there is a
compiler.

`tests.bench.chains` compares it with SimPy alone.
"""

from __future__ import annotations

import random
import time
from typing import Final

from hostsim.engine.clock import Alarm, Clock
from hostsim.engine.probe import Probe
from hostsim.engine.ring import Ring, Train
from hostsim.model.contract import Flow
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.pcpu import Node, Pcpu, World, ready_times
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.host import SLICES_AT_FIRST
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from hostsim.units import SECOND, US
from tests.bench.chains import CHAINS, PCPUS, RATE, STAGES

ENTRY_PS: Final = 3 * US
PACKET_PS: Final = 60 * US


class ChainWorld(World):
    """A stage as a world: takes all packets of its ring, and passes each on when its work is done."""

    def __init__(self, scheduler: Scheduler, node: Node, last: Pcpu, flow: Flow, following: ChainWorld | None) -> None:
        super().__init__("chain", "stage", system=False, node=node, last=last)
        self.ring: Ring[Flow] = Ring(1 << 20)
        self._scheduler, self._flow, self._following = scheduler, flow, following
        self._taken: list[tuple[Train[Flow], int]] = []
        self._hand_over = Alarm(scheduler.clock, self._first_done)

    def offer(self, train: Train[Flow], now: int) -> None:
        self.ring.push(train)
        self._scheduler.wake(self, now)

    def _first_done(self, _alarm: Alarm) -> None:
        assert self._following is not None
        self._scheduler.wake(self._following, self._scheduler.clock.now)

    def begin(self, start: int) -> int | None:
        end = start + ENTRY_PS
        following = self._following
        first = end + PACKET_PS
        count = 0
        while (train := self.ring.take_next(1 << 20, start)) is not None:
            count += train.count
            if following is None:
                self._taken.append((train, end))
            else:
                train.restamp(end + PACKET_PS, PACKET_PS)
                following.ring.push(train)
            end += train.count * PACKET_PS
        if not count:
            return None
        if count > 1 and following is not None:
            self._scheduler.clock.at(self._hand_over, first)
        return end - start

    def end(self, now: int) -> None:
        if self._following is not None:
            self._scheduler.wake(self._following, now)
        for train, start in self._taken:
            self._flow.delivered += train.count
            self._flow.latency.add(start + PACKET_PS - train.arrived, PACKET_PS - train.gap, train.count)
        self._taken.clear()

    def has_work(self, now: int) -> bool:
        self.ring.settle(now)
        return self.ring.held > 0


def hostsim_us(seconds: float = 2.0) -> tuple[float, float]:
    """Microseconds of processor time, and events, per dispatch: the same chains on hostsim's scheduler, PCPUs, rings and probe.

    Costs of switches are 0, as in the comparison with SimPy alone; everything is counted and charged.
    """
    spec = point_at(load("splitrx"), {}).spec
    clock = Clock()
    costs = CostTable(spec.costs, spec.hardware.cpu)
    for name in (
        "context_switch",
        "cache_refill_same",
        "cache_refill_migrated",
        "halt_exit",
        "preemption",
        "reschedule_ipi",
    ):
        setattr(costs, name, 0)
    costs.vcpu_lead = SECOND
    scheduler = Scheduler(clock, 1, PCPUS, costs, spec.settings)
    node = scheduler.nodes[0]
    flow = Flow("chains", 64, CHAINS)
    draw = random.Random(1)
    worlds: list[ChainWorld] = []
    for chain in range(CHAINS):
        head: ChainWorld | None = None
        for _ in range(STAGES):
            head = ChainWorld(scheduler, node, node.pcpus[chain % PCPUS], flow, head)
            worlds.append(head)
        assert head is not None
        _feed(clock, head, flow, draw)
    probe = Probe(clock, round(seconds * SECOND) // SLICES_AT_FIRST)
    probe.watch(
        "pcpu",
        [str(p.index) for p in node.pcpus],
        {
            "busy_ps": lambda now: [p.busy(now) for p in node.pcpus],
            "dispatches": lambda _: [p.dispatches for p in node.pcpus],
        },
    )
    probe.watch(
        "chain",
        [str(i) for i in range(len(worlds))],
        {"used_ps": lambda _: [world.used for world in worlds], "ready_ps": lambda now: ready_times([*worlds], now)},
    )
    probe.watch_latency("flow.latency", flow.name, flow.latency)
    probe.start()
    started = time.process_time()
    clock.advance(round(seconds * SECOND))
    took_s = time.process_time() - started
    dispatches = sum(pcpu.dispatches for pcpu in node.pcpus)
    return took_s / dispatches * 1e6, clock.scheduled() / dispatches


def _feed(clock: Clock, head: ChainWorld, flow: Flow, draw: random.Random) -> None:
    def arrive(alarm: Alarm) -> None:
        now = clock.now
        head.offer(Train(flow, 1, now, 0, now, 0), now)
        clock.at(alarm, now + round(draw.expovariate(RATE) * SECOND))

    clock.at(Alarm(clock, arrive), round(draw.expovariate(RATE) * SECOND))
