"""A virtual switch: unicast to the vNIC that it is for, multicast replication in the receive context or split to one of each vNIC's own."""

from __future__ import annotations

from hostsim.engine.ring import Ring
from hostsim.engine.train import Train
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Node, Scheduler
from hostsim.model.cpu.world import World
from hostsim.model.net.vnic import Vnic
from hostsim.model.timing import Timing
from hostsim.model.traffic.flow import Sender

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
        self._vnic.is_far = False
        for train in taken:
            copy = self._timing.port_copy(train.flow.size, far=train.flow.queue.memory is not self.node)  # type: ignore[attr-defined]  # frames belong to senders
            self._vnic.receive(train.again(end + copy, copy))
            end += train.count * copy
        return end - start

    def has_work(self, now: int) -> bool:
        self.ring.settle(now)
        return self.ring.held > 0


class Port:
    """A receive queue of a vNIC at its virtual port and, in splitRxMode, the context in between."""

    __slots__ = ("split", "vnic")

    def __init__(self, vnic: Vnic, split: SplitRx | None) -> None:
        self.vnic, self.split = vnic, split


class VSwitch:
    """A virtual switch.

    Multicast packets are replicated one by one, port after port; each copy is handed on at the instant its own work is done.
    Split contexts that sleep are woken together when the poll is over, as a kernel sends such wake-ups off at the end of its
    receive loop; those that run find the copies at their instants.

    Frames of a connection that follow each other in a poll are joined to packets for the guest, as far as LRO goes; a packet
    is handed on when the last of its frames is done.

    Attributes:
        runs_on: True when no receiver waits for the end of the poll, so that a poll may run on while frames keep coming.

    Args:
        scheduler: wakes split contexts.
        timing: costs.
        lro_octets: bytes of a packet that software LRO makes at most; 0 where it is off.
        vxlan: frames come and go in VXLAN.
    """

    __slots__ = (
        "_filled",
        "_known",
        "_lro_octets",
        "_outer_ps",
        "_ports",
        "_scheduler",
        "_served",
        "_timing",
        "runs_on",
    )

    def __init__(self, scheduler: Scheduler, timing: Timing, *, lro_octets: int = 0, vxlan: bool = False) -> None:
        self._scheduler, self._timing = scheduler, timing
        self._lro_octets = lro_octets
        self._outer_ps = timing.vxlan_decap if vxlan else 0
        self._ports: dict[Sender, list[Port]] = {}
        self._known: dict[Sender, tuple[int, Node, list[int], int]] = {}
        self._filled: list[SplitRx] = []
        self._served: dict[Vnic, None] = {}
        self.runs_on = True

    def join(self, sender: Sender, port: Port) -> None:
        """The guest behind a port joins the group that a flow is sent to."""
        self._ports.setdefault(sender, []).append(port)
        if port.split is not None:
            self.runs_on = False

    def work_ps(self, train: Train, packet_ps: int, where: Node, memory: Node) -> int:
        """Time that `receive` would take for a train by itself; of frames that may be joined, the least."""
        sender = train.flow
        assert isinstance(sender, Sender)
        vnic = sender.vnic
        if vnic is not None:
            far = where is not memory or where is not vnic.vcpu.node
            return train.count * (packet_ps + self._outer_ps + self._timing.frame(sender.size * train.frames, far=far))
        return train.count * (packet_ps + self._outer_ps + self._steps(sender, where, memory)[1])

    def _steps(self, sender: Sender, where: Node, memory: Node) -> tuple[list[int], int]:
        """Time of each port's copy and their sum; worked out anew when a VM has moved to another node."""
        known = self._known.get(sender)
        moves = self._scheduler.homes_changed
        if known is None or known[0] != moves or known[1] is not where:
            steps = [self._port_ps(port, sender.size, where, memory) for port in self._ports.get(sender, ())]
            known = self._known[sender] = (moves, where, steps, sum(steps))
        return known[2], known[3]

    def _port_ps(self, port: Port, octets: int, where: Node, memory: Node) -> int:
        if port.split is not None:
            return self._timing.split_enqueue
        return self._timing.port_copy(octets, far=where is not memory or where is not port.vnic.vcpu.node)

    def receive(self, batch: list[Train], start: int, packet_ps: int, where: Node, memory: Node) -> int:
        """Work through a batch from ``start``, ``packet_ps`` a frame before it is handed on; returns the end.

        The receive context runs on the node ``where``; the frames lie in the memory of the node ``memory``.
        """
        at = start
        packet_ps += self._outer_ps
        place, trains = 0, len(batch)
        while place < trains:
            train = batch[place]
            place += 1
            sender = train.flow
            assert isinstance(sender, Sender)
            vnic = sender.vnic
            if vnic is None:
                at = self._replicate(train, at, packet_ps, where, memory)
                continue
            vnic.is_far = is_far = where is not vnic.vcpu.node
            self._served[vnic] = None
            far = is_far or where is not memory
            if not (sender.joins and self._lro_octets and train.frames == 1):
                if sender.trip is not None:
                    sender.trip.off_nic(train.born, sender.queue.interrupted, start)
                step = packet_ps + self._timing.deliver(sender.size * train.frames, far=far)
                vnic.receive(train.again(at + step, step))
                at += train.count * step
                continue
            count, last = train.count, train
            while place < trains and batch[place].flow is sender and batch[place].frames == 1:
                last = batch[place]
                count += last.count
                place += 1
            at = self._join(train, last, count, at, packet_ps, far)
        return at

    def _join(self, first: Train, last: Train, count: int, at: int, packet_ps: int, far: bool) -> int:
        """Hand on a run of frames of one connection, joined to packets."""
        sender, timing = first.flow, self._timing
        vnic: Vnic = sender.vnic  # type: ignore[attr-defined]  # joined frames are unicast
        most = max(1, self._lro_octets // sender.size) if vnic.lro.on else 1
        frame = packet_ps + timing.frame(sender.size, far=far) + (timing.sw_lro if vnic.lro.on else 0)
        born = first.born
        gap = (last.born + (last.count - 1) * last.gap - born) // (count - 1) if count > 1 else 0
        vnic.lro.count(count, -(-count // most))
        deliver = timing.vnic_deliver
        while count:
            frames = most if count > most else count
            at += frames * frame + deliver
            vnic.receive(Train(sender, 1, at, 0, born, gap, None, frames))
            born += frames * gap
            count -= frames
        return at

    def _replicate(self, train: Train, start: int, packet_ps: int, where: Node, memory: Node) -> int:
        sender = train.flow
        ports = self._ports.get(sender, ())  # type: ignore[call-overload]
        steps, total = self._steps(sender, where, memory)  # type: ignore[arg-type]  # frames belong to senders
        step = packet_ps + total
        ready = start + packet_ps
        for port, own in zip(ports, steps, strict=True):
            ready += own
            split = port.split
            if split is None:
                port.vnic.is_far = where is not port.vnic.vcpu.node
                port.vnic.receive(train.again(ready, step))
            else:
                split.ring.push(train.again(ready, step))
                self._filled.append(split)
        return start + train.count * step

    def poll_done(self, now: int) -> None:
        """The poll is over: wake split contexts, and transmit contexts of the vNICs that got something."""
        filled = self._filled
        if filled:
            self._filled = []
            for split in filled:
                self._scheduler.wake(split, now)
        served = self._served
        if served:
            self._served = {}
            for vnic in served:
                for queue in vnic.transmits:
                    queue.look(now)
