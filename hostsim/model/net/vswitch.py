"""A virtual switch: multicast replication to ports, in the receive context or split to a context of each vNIC's own."""

from __future__ import annotations

from hostsim.engine.ring import Ring
from hostsim.engine.train import Train
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Node, Scheduler
from hostsim.model.cpu.world import World
from hostsim.model.net.vnic import Vnic
from hostsim.model.timing import Timing
from hostsim.model.traffic.flow import Flow

__all__ = ["Port", "SplitRx", "VSwitch"]


class SplitRx(World):
    """A vNIC's own receive context (splitRxMode): copies into the guest what the NetPoll only queued."""

    __slots__ = ("_budget", "_timing", "_vnic", "ring")

    def __init__(
        self, name: str, node: Node, last: Pcpu, vnic: Vnic, timing: Timing, capacity: int, budget: int
    ) -> None:
        super().__init__("splitrx", name, system=True, node=node, last=last)
        self._vnic, self._timing, self._budget = vnic, timing, budget
        self.ring = Ring(capacity)

    def begin(self, start: int) -> int | None:
        ring = self.ring
        if ring.pushed == ring.taken + ring.dropped:  # the usual way to sleep: nothing here, nothing coming
            return None
        taken = ring.take(self._budget, start)
        if not taken:
            return None
        end = start
        for train in taken:
            copy = self._timing.port_copy(train.flow.size)
            self._vnic.receive(train.again(end + copy, copy))
            end += train.count * copy
        return end - start

    def has_work(self, now: int) -> bool:
        self.ring.settle(now)
        return self.ring.held > 0


class Port:
    """A virtual port with the vNIC behind it and, in splitRxMode, the context in between."""

    __slots__ = ("split", "vnic")

    def __init__(self, vnic: Vnic, split: SplitRx | None) -> None:
        self.vnic, self.split = vnic, split


class VSwitch:
    """A virtual switch.

    Packets are replicated one by one, port after port; each copy is handed on at the instant its own work is done. Split
    contexts that sleep are woken together when the poll is over, as a kernel sends such wake-ups off at the end of its
    receive loop; those that run find the copies at their instants.
    """

    __slots__ = ("_filled", "_ports", "_scheduler", "_steps", "_timing", "runs_on")

    def __init__(self, scheduler: Scheduler, timing: Timing) -> None:
        self._scheduler, self._timing = scheduler, timing
        self._ports: dict[Flow, list[Port]] = {}
        self._steps: dict[Flow, int] = {}
        self._filled: list[SplitRx] = []
        self.runs_on = True

    def join(self, flow: Flow, port: Port) -> None:
        """The guest behind a port joins the group that a flow is sent to."""
        self._ports.setdefault(flow, []).append(port)
        self._steps[flow] = self._steps.get(flow, 0) + self._port_ps(port, flow.size)
        if port.split is not None:
            self.runs_on = False

    def _port_ps(self, port: Port, octets: int) -> int:
        return self._timing.port_copy(octets) if port.split is None else self._timing.split_enqueue

    def replication_ps(self, flow: Flow) -> int:
        return self._steps.get(flow, 0)

    def receive(self, train: Train, start: int, packet_ps: int) -> int:
        flow = train.flow
        assert isinstance(flow, Flow)
        step = packet_ps + self._steps.get(flow, 0)
        ready = start + packet_ps
        copy = self._timing.port_copy(flow.size)
        enqueue = self._timing.split_enqueue
        for port in self._ports.get(flow, ()):
            split = port.split
            if split is None:
                ready += copy
                port.vnic.receive(train.again(ready, step))
            else:
                ready += enqueue
                split.ring.push(train.again(ready, step))
                self._filled.append(split)
        return start + train.count * step

    def poll_done(self, now: int) -> None:
        filled = self._filled
        if filled:
            self._filled = []
            for split in filled:
                self._scheduler.wake(split, now)
