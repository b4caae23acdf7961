"""Receive contexts of the VMkernel, NetPolls and split-receive contexts, with the virtual switch.

For all contexts, including NetWorlds, a woken context pays for the entry of its poll loop, and for the interrupt if one
woke it. The context switch of the PCPU is added, as for every world.

A NetPoll polls the driver and runs LRO and the virtual switch (as NAPI does): unicast delivery with software LRO, and
multicast replication in the NetPoll itself or in split-receive contexts.
"""

from __future__ import annotations

from typing import Final

from hostsim.engine.ring import Ring, Train
from hostsim.model.contract import GuestRing, RxPoller, Sender, TransmitQueue
from hostsim.model.cost_table import ACROSS
from hostsim.model.cpu.pcpu import Node, Pcpu, World, WorldState
from hostsim.model.policy.aggregation import Aggregation
from hostsim.model.receive.nic import RxQueue
from hostsim.model.receive.vnic import Vnic
from hostsim.model.services import Services

__all__ = ["NetContext", "NetPoll", "Port", "SplitRx", "VSwitch"]

_SLEEPING: Final = WorldState.SLEEPING


class NetContext(World):
    """A networking context of the VMkernel: a system world that polls queues of packets.

    Attributes:
        woken: True if it was woken and has not begun; its first batch takes `wake_ps` longer.
        wake_ps: cost of its wake-up, in picoseconds.
    """

    def __init__(
        self,
        services: Services,
        kind: str,
        name: str,
        node: Node,
        last: Pcpu,
        interrupt_ps: int = 0,
    ) -> None:
        """Create a sleeping context.

        Args:
            services: services of the host.
            kind: kind of world.
            name: name in tables.
            node: home node.
            last: PCPU of its first dispatch.
            interrupt_ps: cost of the interrupt that wakes it, in picoseconds; 0 if another world does.
        """
        super().__init__(kind, name, system=True, node=node, last=last)
        self._scheduler, self._costs = services.scheduler, services.costs
        self.wake_ps = self._costs.poll_entry + interrupt_ps
        self.woken = False

    def wake(self, now: int, source: Pcpu | None = None) -> None:
        """Wake the context from the PCPU ``source`` (`Scheduler.wake`).

        A running or waiting context needs no wake-up.
        """
        if self.state is _SLEEPING:
            self.woken = True
            self._scheduler.wake(self, now, source)


class SplitRx(NetContext):
    """The split-receive context of a vNIC (splitRxMode): copies packets that the NetPoll has queued."""

    switch: VSwitch

    def __init__(self, services: Services, name: str, last: Pcpu, vnic: Vnic) -> None:
        super().__init__(services, "splitrx", name, last.node, last)
        self._vnic, self._budget = vnic, services.settings.poll_budget
        self.ring: Ring[Sender] = Ring(services.settings.port_rx_queue)
        self.ring.on_drop = self._dropped
        self._sender: Sender | None = None
        self._readers = self._readers_at = 0
        """Number of contexts of this node that read packets of that sender; number of moves at which it was
        computed.
        """

    def begin(self, start: int) -> int | None:
        ring, end = self.ring, start
        if self.woken:
            self.woken = False
            end += self.wake_ps
        elif ring.pushed == ring.taken + ring.dropped:  # the usual reason to sleep: no packet here or on its way
            return None
        at, budget = end, self._budget
        vnic, node = self._vnic, self.node
        self._scheduler.look_at_memory(start)
        while budget and (train := ring.take_next(budget, at)) is not None:
            count = train.count
            budget -= count
            across = node.memory.across_ps
            vnic.wait_ps = across if across and self.last.ccx != vnic.vcpu.last.ccx else 0.0
            sender = train.stream
            memory = sender.queue.memory
            if sender is not self._sender or self._readers_at != self._scheduler.homes_changed:
                self._sender, self._readers_at = sender, self._scheduler.homes_changed
                self._readers = self.switch.readers(sender, node)
            # the first of these contexts fetches the packet for all contexts of the node
            wait = node.read_wait(memory) / self._readers + node.write_wait(node)
            copy = self._costs.port_copy(sender.size, wait, far=node.distance(memory, memory))
            node.memory.octets += count * sender.size
            train.restamp(end + copy, copy)
            vnic.receive(train)
            end += count * copy
        return end - start if end > start else None

    def _dropped(self, train: Train[Sender]) -> None:
        train.stream.totals.lost_split += train.count

    def has_work(self, now: int) -> bool:
        self.ring.settle(now)
        return self.ring.held > 0


class Port:
    """A virtual port: a receive queue of a vNIC and, in splitRxMode, its split-receive context.

    Attributes:
        is_split: True if the context copies multicast; False if it only may (automatic splitRx).
    """

    def __init__(self, vnic: Vnic, split: SplitRx | None) -> None:
        self.vnic, self.split = vnic, split
        self.is_split = split is not None


class VSwitch:
    """A virtual switch, which runs in the receive context that calls it.

    Multicast packets are replicated one by one, port after port; each copy is passed on when its own work is done.
    Sleeping split-receive contexts are woken together at the end of the poll, as a kernel does at the end of its
    receive loop; running ones find the copies at their times (docs/design/receive.md).

    LRO joins frames of a connection to packets for the guest, also if frames of other connections lie in between, up to
    its number of sessions. A packet is passed on when it is full, or at the end of the poll.

    Attributes:
        runs_on: True if no receiver waits for the end of the poll, so that a poll may continue while frames arrive.

    Args:
        services: services of the host.
        vxlan: True if frames are encapsulated in VXLAN.
    """

    def __init__(self, services: Services, *, vxlan: bool = False) -> None:
        self._scheduler, self._costs = services.scheduler, services.costs
        self._outer_ps = self._costs.vxlan_decap if vxlan else 0
        self._ports: dict[Sender, list[Port]] = {}
        self._cached_steps: dict[Sender, tuple[int, Node, list[int], int]] = {}
        self._readers: dict[tuple[Sender, Node], int] = {}
        self._readers_at = 0
        self._filled: list[SplitRx] = []
        self._served: list[GuestRing] = []
        self._growing: dict[Sender, Train[Sender]] = {}
        """Sessions of software LRO by connection: packets that grow in this poll."""
        self._began = 0
        self.runs_on = True

    def join(self, sender: Sender, port: Port) -> None:
        """Join the multicast group of a flow with the guest behind a port."""
        self._ports.setdefault(sender, []).append(port)
        if port.split is not None:
            port.split.switch = self
            if port.is_split:
                self.runs_on = False

    def split(self, ring: RxQueue) -> int:
        """Activate split-receive contexts for multicast on a ring; returns the number of activated ones."""
        ports = [port for sender, members in self._ports.items() if sender.queue is ring for port in members]
        ports = [port for port in ports if port.split is not None and not port.is_split]
        for port in ports:
            port.is_split, self.runs_on = True, False
        if ports:
            self._cached_steps.clear()
            self._readers.clear()
        return len(ports)

    def receivers(self, sender: Sender) -> list[GuestRing]:
        """Return the receive queues of vNICs for packets of a sender without a filter."""
        vnic = sender.vnic
        return [port.vnic for port in self._ports.get(sender, ())] if vnic is None else [vnic]

    def work_ps(self, train: Train[Sender], packet_ps: int, where: Node, memory: Node) -> int:
        """Return the time of `receive` for a single train; for frames that LRO may join, a lower bound."""
        sender = train.stream
        vnic = sender.vnic
        if vnic is not None:
            node = vnic.vcpu.node
            copy = self._costs.frame(
                sender.size * train.frames,
                where.copy_wait(memory, node),
                far=where.distance(memory, node),
            )
            return train.count * (packet_ps + self._outer_ps + copy)
        return train.count * (packet_ps + self._outer_ps + self._steps(sender, where, memory)[1])

    def _steps(self, sender: Sender, where: Node, memory: Node) -> tuple[list[int], int]:
        """Return the time of each port's copy and their sum.

        They are cached until a VM moves to another node, or a wait for memory changes.
        """
        steps_of_sender = self._cached_steps.get(sender)
        changes = self._scheduler.homes_changed + self._scheduler.waits_changed
        if steps_of_sender is None or steps_of_sender[0] != changes or steps_of_sender[1] is not where:
            steps, fetches = [], True  # the first copy fetches the packet into the cache for the others
            for port in self._ports.get(sender, ()):
                if port.is_split:
                    steps.append(self._costs.split_enqueue)
                    continue
                node = port.vnic.vcpu.node
                wait = where.write_wait(node) + (where.read_wait(memory) if fetches else 0.0)
                steps.append(self._costs.port_copy(sender.size, wait, far=where.distance(memory, node)))
                fetches = False
            steps_of_sender = self._cached_steps[sender] = (changes, where, steps, sum(steps))
        return steps_of_sender[2], steps_of_sender[3]

    def readers(self, sender: Sender, node: Node) -> int:
        """Return the number of split-receive contexts of a node that copy each packet of a flow."""
        moves = self._scheduler.homes_changed
        if moves != self._readers_at:
            self._readers_at, self._readers = moves, {}
        count = self._readers.get((sender, node))
        if count is None:
            ports = self._ports[sender]
            count = sum(port.is_split and port.split is not None and port.split.node is node for port in ports)
            self._readers[(sender, node)] = count
        return count

    def receive(
        self,
        batch: list[Train[Sender]],
        start: int,
        packet_ps: int,
        where: Node,
        memory: Node,
        ccx: int = 0,
    ) -> int:
        """Forward a batch from ``start`` on; returns the end.

        Args:
            batch: received trains.
            start: start of the processing.
            packet_ps: time of each frame in addition to its delivery, in picoseconds.
            where: node of the receive context.
            memory: node of the memory with the frames.
            ccx: core complex of the receive context.
        """
        at = self._began = start
        across = where.memory.across_ps
        packet_ps += self._outer_ps
        growing, octets = self._growing, 0
        for train in batch:
            sender = train.stream
            copied = sender.size * train.frames
            octets += train.count * copied
            vnic = sender.vnic
            if vnic is None:
                at = self._replicate(train, at, packet_ps, where, memory, ccx)
                continue
            node = vnic.vcpu.node
            vnic.wait_ps = where.left_wait(node)
            if not vnic.is_served:
                vnic.is_served = True
                self._served.append(vnic)
            far = where.distance(memory, node)
            if across and where is node and vnic.vcpu.last.ccx != ccx:
                vnic.wait_ps = across
                far = far or ACROSS
            wait = where.copy_wait(memory, node)
            lro, lock = vnic.lro, vnic.lock
            node.memory.octets += train.count * copied
            looked = 0
            if lro is not None and sender.joins:
                if train.frames == 1 and lro.on and (sender in growing or len(growing) < lro.sessions):
                    frame = packet_ps + self._costs.frame(copied, wait, far=far) + self._costs.sw_lro
                    if lock is not None:
                        count = train.count
                        at += lock.enter(sender.queue, start, at, count, count * packet_ps, count * (frame - packet_ps))
                    at = self._join(train, lro, at, frame)
                    continue
                if growing and (packet := growing.pop(sender, None)) is not None:  # its frames arrived before these
                    at = self._hand_on(packet, lro, at)
                if train.frames == 1:
                    looked = self._costs.sw_lro if lro.on else 0
                    lro.count(train.count, train.count)
            if sender.round_trip is not None:
                sender.round_trip.off_nic(train.arrived, sender.queue.interrupted, start)
            step = packet_ps + looked + self._costs.deliver(copied, wait, far=far)
            count = train.count
            if lock is not None:
                at += lock.enter(sender.queue, start, at, count, count * packet_ps, count * (step - packet_ps))
            vnic.unicast += count
            train.restamp(at + step, step)
            vnic.receive(train)
            at += count * step
        if growing:
            for packet in growing.values():
                vnic = packet.stream.vnic
                assert vnic is not None  # its frames are unicast
                assert vnic.lro is not None  # and joined
                at = self._hand_on(packet, vnic.lro, at)
            growing.clear()
        memory.memory.received(octets)
        return at

    def _join(self, train: Train[Sender], lro: Aggregation, at: int, step: int) -> int:
        """Join frames to the packet of a connection by software LRO, at ``step`` for each; returns the end."""
        growing, sender = self._growing, train.stream
        most = lro.frames(sender.size)
        count, arrived, gap = train.count, train.arrived, train.gap
        packet = growing.get(sender)
        while count:
            if packet is None:
                packet = growing[sender] = Train(sender, 1, at, 0, arrived, 0, None, 0)
            room = most - packet.frames
            frames = count if count < room else room
            packet.frames += frames
            at += frames * step
            count -= frames
            arrived += frames * gap
            if packet.frames > 1:
                packet.gap = (arrived - gap - packet.arrived) // (packet.frames - 1)
            if packet.frames == most:
                at = self._hand_on(packet, lro, at)
                del growing[sender]
                packet = None
        return at

    def _hand_on(self, packet: Train[Sender], lro: Aggregation, at: int) -> int:
        """End a session of software LRO: deliver its packet; returns the end."""
        vnic = packet.stream.vnic
        assert vnic is not None  # joined frames are unicast
        lro.count(packet.frames, 1)
        vnic.unicast += 1
        deliver = self._costs.vnic_deliver
        if vnic.lock is not None:
            at += vnic.lock.enter(packet.stream.queue, self._began, at, 0, 0, deliver)
        packet.ready = at = at + deliver
        vnic.receive(packet)
        return at

    def _replicate(self, train: Train[Sender], start: int, packet_ps: int, where: Node, memory: Node, ccx: int) -> int:
        sender = train.stream
        sender.queue.multicast += train.count
        ports = self._ports.get(sender, ())
        steps, total = self._steps(sender, where, memory)
        step = packet_ps + total
        ready = start + packet_ps
        for index, port in enumerate(ports):
            ready += steps[index]
            split = port.split
            if split is None or not port.is_split:
                if split is not None:
                    port.vnic.unicast += train.count  # as unicast, it bypasses the split-receive context
                node = port.vnic.vcpu.node
                port.vnic.wait_ps = where.left_wait(node)
                across = node.memory.across_ps
                if across and where is node and port.vnic.vcpu.last.ccx != ccx:
                    port.vnic.wait_ps = across
                node.memory.octets += train.count * sender.size
                port.vnic.receive(train.restamped(ready, step))
            else:
                split.ring.push(train.restamped(ready, step))
                self._filled.append(split)
        return start + train.count * step

    def poll_done(self, now: int) -> None:
        """End a poll: wake split-receive contexts, and transmit contexts of the vNICs that received packets."""
        filled = self._filled
        if filled:
            self._filled = []
            for split in filled:
                split.wake(now)
        served = self._served
        if served:
            self._served = []
            for vnic in served:
                vnic.is_served = False
                for queue in vnic.transmits:
                    queue.look(now)


class NetPoll(NetContext, RxPoller):
    """The receive context of a queue of a physical NIC: polls frames and runs the virtual switch.

    First it frees the descriptors of sent packets. It continues while its budget is used up. A poll that finds the ring
    empty is the last: it forwards its batch, and the context sleeps until the next interrupt (docs/design/receive.md).

    Attributes:
        queue: queue of the context.
    """

    def __init__(
        self,
        services: Services,
        name: str,
        last: Pcpu,
        queue: RxQueue,
        switch: VSwitch,
        driver: str,
    ) -> None:
        costs = services.costs
        super().__init__(services, "netpoll", name, last.node, last, costs.interrupt)
        self._switch, self._budget = switch, services.settings.poll_budget
        self.queue = queue
        self._packet_ps = costs.rx_packet[driver]
        self._free_ps = costs.driver_tx_completion
        self._freed: list[TransmitQueue] = []
        self._armed = False
        queue.poll = self

    def interrupt(self, now: int) -> None:
        """Take the interrupt of the receive queue, on the PCPU where the context last ran."""
        self.wake(now, self.last)

    def begin(self, start: int) -> int | None:
        queue, switch, budget, packet_ps = self.queue, self._switch, self._budget, self._packet_ps
        where, memory = self.node, queue.memory
        self._scheduler.look_at_memory(start)
        end = start
        woken = self.woken
        if woken:
            self.woken = self._armed = False
            end += self.wake_ps
        elif self._armed:
            return None
        if sent := queue.clean():
            end += sent * self._free_ps
            for transmit, count in queue.mapped().items():
                end += transmit.freed(count, start)
                self._freed.append(transmit)
        at = end
        batch: list[Train[Sender]] = []
        while not self._armed:
            looked, before = end, budget
            queue.admit(looked)
            while budget and (train := queue.take_next(budget, looked)) is not None:
                budget -= train.count
                end += switch.work_ps(train, packet_ps, where, memory)
                if not (batch and batch[-1].merge(train)):
                    batch.append(train)
            queue.report_drops()
            if budget == before:  # the driver has found the ring empty
                self._armed = True  # and enables interrupts, which moderation may delay
            # Frames that arrive during the work belong to the same poll within the budget, without another event
            # (docs/design/receive.md).
            elif not budget or not switch.runs_on:
                break
        if not batch:
            return end - start if woken or sent else None
        return switch.receive(batch, at, packet_ps, where, memory, self.last.ccx) - start

    def end(self, now: int) -> None:
        self._switch.poll_done(now)
        if self._freed:
            freed, self._freed = self._freed, []
            for transmit in freed:
                transmit.poll_done(now)

    def has_work(self, now: int) -> bool:
        self.queue.settle(now)
        return self.woken or (not self._armed and self.queue.ring.held > 0)

    def rest(self, now: int) -> None:
        self.queue.unmask(now)
