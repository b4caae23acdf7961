"""Little's law at the stages of a packet's path through a whole host: packets in rings, observed from outside, and their waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from hostsim.config.costs import Cost
from hostsim.config.host import PointSpec
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.random_stream import Streams
from hostsim.engine.ring import Ring, Train
from hostsim.lab.verification.oracle import Oracle, Quantity
from hostsim.lab.verification.rig import WARM_UP, Lengths, point
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.model.invariants import check_invariants
from hostsim.units import SECOND

__all__ = ["littles_law_stages"]

RATE = 50_000
"""Packets a second."""
STAGES = ("NIC ring", "split-receive queue", "vNIC ring")
_COSTS_US = {"driver_rx": 4, "split_enqueue": 2, "vnic_deliver": 8, "guest_rx_packet": 5}
"""Utilisations: NetPoll 0.6, split-receive contexts and guests 0.4; all other costs are 0."""


class _TimedRing(Ring[Any]):
    """A ring that adds up the waits of the packets taken from it.

    A guest's poll removes at its start all packets that it will process until its end, each with the instant of its
    processing. An observer counts an arrived packet as in the ring until that instant.
    """

    def __init__(self, capacity: int, clock: Clock, *, from_wire: bool) -> None:
        super().__init__(capacity)
        self._clock, self._from_wire = clock, from_wire
        self._ahead: list[tuple[int, list[int]]] = []
        self.waited = 0

    def take_next(self, limit: int, now: int) -> Train[Any] | None:
        """See the overridden method."""
        train = super().take_next(limit, now)
        if train is not None:
            count = train.count
            came = (
                sum(train.arrival_times())
                if self._from_wire
                else count * train.ready + train.step * count * (count - 1) // 2
            )
            self.waited += count * now - came
            if now > self._clock.now:
                self._ahead.append((now, [train.ready + train.step * index for index in range(count)]))
        return train

    def held_at(self, now: int) -> int:
        """Return the number of packets in the ring, including those that a running poll has not processed yet."""
        self.settle(now)
        self._ahead = [(taken, ready) for taken, ready in self._ahead if taken > now]
        return self.held + sum(instant <= now for _, ready in self._ahead for instant in ready)


@lru_cache(maxsize=1)
def _spec() -> PointSpec:
    spec = point(
        "stream.yaml",
        **{
            "hardware.cpu.cores": "6",
            "vms.receiver.count": "4",
            "vms.receiver.vmx.ethernet0.coalescingScheme": "rbc",
            "vms.receiver.vmx.ethernet0.emuRxMode": "1",
            "traffic.packets.rate": f"{RATE} pps",
        },
    )
    costs = {
        name: Cost.model_validate({"time": f"{us} us", "source": "a round number"}) for name, us in _COSTS_US.items()
    }
    return spec.model_copy(update={"costs": spec.costs.model_copy(update=costs)})


class _Observer:
    """Observes rings at Poisson instants, as Poisson arrivals see time averages."""

    def __init__(self, host: Host, rings: list[list[_TimedRing]], gaps: Lengths) -> None:
        self._host, self._rings, self._gaps = host, rings, gaps
        self.looks = 0
        self.held = [0] * len(rings)
        self._timer = Timer(host.clock, self._look)
        self._timer.arm(gaps.next())

    def _look(self, now: int) -> None:
        self._timer.arm(now + self._gaps.next())
        self.looks += 1
        for queue in self._host.queues:
            queue.settle(now)
        for stage, rings in enumerate(self._rings):
            for ring in rings:
                self.held[stage] += ring.held_at(now)


def _stages(streams: Streams, portion: float, packets: float) -> Sequence[float]:
    host = build_host(_spec(), streams)
    rings: list[list[_TimedRing]] = [[], [], []]
    for queue in host.queues:
        queue.ring = ring = _TimedRing(queue.ring.capacity, host.clock, from_wire=True)
        rings[0].append(ring)
    for port in host.ports:
        assert port.split is not None
        for stage, part in ((1, port.split), (2, port.vnic)):
            part.ring = ring = _TimedRing(part.ring.capacity, host.clock, from_wire=False)
            rings[stage].append(ring)
    random = streams.stream("observer")
    mean_gap = SECOND / RATE
    observer = _Observer(host, rings, Lengths(lambda count: random.exponential(mean_gap, count)))
    length = round(packets * portion / RATE * SECOND)
    host.clock.advance(length // WARM_UP)
    looks, held = observer.looks, list(observer.held)
    waited = [sum(ring.waited for ring in stage) for stage in rings]
    host.clock.advance(length)
    host.probe.sample()
    check_invariants(host)
    ratios = []
    for stage, members in enumerate(rings):
        level = (observer.held[stage] - held[stage]) / (observer.looks - looks)
        rate_times_wait = (sum(ring.waited for ring in members) - waited[stage]) / (length - length // WARM_UP)
        ratios.append(level / rate_times_wait)
    return ratios


def littles_law_stages() -> Iterator[Oracle]:
    """Rings of the receive path, from the wire to the guest."""
    yield Oracle(
        "Little's law",
        "Receive path with split-receive contexts",
        "50 kpps to four VMs; packets in a stage (time average) over its rate times its mean wait",
        tuple(Quantity(f"L / (rate x W), {stage}", 1.0) for stage in STAGES),
        lambda streams, portion: _stages(streams, portion, 1e6),
    )
