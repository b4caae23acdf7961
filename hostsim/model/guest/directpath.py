"""DirectPath I/O and SR-IOV: a passed-through NIC or virtual function, with the guest's driver.

There is no VMkernel context, virtual switch or copy on the path. The VMkernel takes each interrupt of the NIC, which
the guest's driver moderates, and injects it. The NIC gets the packets that a guest writes every 20 us of a burst
(docs/design/transmit.md). A descriptor of a sent packet is in use until the guest's driver frees it in its next poll;
without free descriptors the driver stops its queue.

Functions share their port's wire and slot with each other and with the uplink, packet by packet in the order of
writing: functions have no rate control. Receive filters of the port steer frames to the queues of a function. A port in
SR-IOV mode joins no frames (Linux ixgbe driver: "Disable RSC when in SR-IOV mode").
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from hostsim.config.platform import FunctionSettings, PassthroughSettings
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.random_stream import Streams
from hostsim.engine.ring import Ring, Train
from hostsim.errors import WiringError
from hostsim.model.contract import (
    UNBOUNDED,
    GuestStream,
    InterruptTarget,
    RingDriver,
    RxPoller,
    Sender,
    TransmitQueue,
)
from hostsim.model.cpu.pcpu import Node, WorldState
from hostsim.model.guest.device import GuestDevice, VirtualMachine
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.guest.virtual_nic import QUEUE_DISCIPLINE
from hostsim.model.host import Host, add_nic, add_rx_queue
from hostsim.model.policy.moderation import CoalescingScheme
from hostsim.model.receive.nic import Pnic, RxQueue
from hostsim.model.receive.vnic import Vnic
from hostsim.model.transmit.networld import Uplink
from hostsim.model.transmit.nic_transmit import descriptors
from hostsim.units import US

__all__ = ["MOST_JOINED", "DirectDevice", "DirectPath", "DirectRing", "DirectTx", "VirtualFunction"]

MOST_JOINED = 65536
"""Largest packet after LRO of a NIC, in bytes: the length field of IPv4."""
LAG: Final = 20 * US
"""Longest wait of a written packet for more of the same burst, shorter than the interval of a NIC's interrupts, so that
no answer is delayed.
"""


class DirectRing(Vnic, RxPoller):
    """A receive queue of a passed-through NIC, polled by the guest's driver.

    Args:
        clock: clock of the host.
        queue: the queue.
        vcpu: the vCPU that takes its interrupts.
        behind: NUMA node of the NIC.
        look_at_memory: updates the load of memory.
    """

    def __init__(
        self, clock: Clock, queue: RxQueue, vcpu: InterruptTarget, behind: Node, look_at_memory: Callable[[int], None]
    ) -> None:
        scheme = CoalescingScheme()  # only the NIC's moderation delays interrupts
        super().__init__(clock, queue.name, queue.ring.capacity, scheme, vcpu)
        self.queue, self._behind, self._look_at_memory = queue, behind, look_at_memory
        self._is_polled = False

    def poll_by(self, poller: RingDriver | None) -> None:
        """Keep the NIC's interrupt masked, as a driver in a process owns the device.

        ``poller`` polls the queue, if any.
        """
        super().poll_by(poller)
        self.queue.never_interrupt()
        self._is_polled = True

    def first_packet(self, now: int) -> int | None:
        return self.queue.first_frame(now)

    def watch(self, now: int) -> None:
        self.queue.unmask(now)

    def interrupt(self, now: int) -> None:
        """Take the NIC's interrupt, which the VMkernel handles and injects.

        For a polling driver, it announces a frame.
        """
        if self._is_polled:
            if self.poller is not None:
                self.poller.packets_come(now)
            return
        self.vcpu.pending_ps += self.interrupt_ps
        self.vcpu.interrupt(now, self)

    def take(self, limit: int, now: int) -> list[Train[Sender]]:
        """Poll the NIC with its interrupt masked."""
        taken = self.queue.take(limit, now)
        ring, octets = self.ring, 0
        for train in taken:
            ring.pushed += train.count
            ring.taken += train.count
            frames = train.count * train.frames
            self.frames += frames
            sender = train.stream
            octets += frames * sender.size
            if sender.round_trip is not None:
                sender.round_trip.off_nic(train.arrived, self.queue.interrupted, 0)
        if octets:
            self._look_at_memory(now)
            node = self.vcpu.node
            if node is self._behind:  # a NIC can write only into the cache of its own node
                node.memory.received(octets)
                self.wait_ps = node.memory.dma_ps
            else:
                node.memory.octets += 2 * octets
                self.wait_ps = node.memory.near_ps
        return taken

    def is_drained(self) -> bool:
        return False

    def reclaim(self, now: int) -> int:
        """Free the descriptors of sent packets, as the VMkernel's driver would; returns the number of packets."""
        count = self.queue.clean()
        for transmit, packets in self.queue.mapped().items():
            transmit.freed(packets, now)
        return count

    def unmask(self, at: int) -> None:
        """Unmask the interrupt at the end of the driver's poll, which may be in the future.

        Moderation may delay the next interrupt.
        """
        self.queue.unmask(at)

    def guest_halts(self, now: int) -> None:
        """Ignore a halt of the guest, which the NIC cannot observe."""


class DirectTx(TransmitQueue):
    """A transmit queue of a passed-through NIC.

    Packets go to the wire when they are written, if descriptors are free.

    They are passed on when their burst ends or is preempted, and every `LAG` of a longer burst, as written packets are
    known only then. The interrupt of its receive queue announces completions. A packet without a free descriptor waits
    in the guest's queue discipline until the driver frees one, in the order of the ring.
    """

    def __init__(self, clock: Clock, uplink: Uplink, vcpu: Vcpu, vector: RxQueue, size: int) -> None:
        """Create a queue.

        Args:
            clock: clock of the host.
            uplink: transmit side of the port.
            vcpu: vCPU that posts.
            vector: receive queue whose interrupt announces completions.
            size: number of descriptors.
        """
        self._clock, self._uplink, self.poster, self._vector = clock, uplink, vcpu, vector
        self.doorbell_ps = 0
        self._ring: Ring[GuestStream] = Ring(QUEUE_DISCIPLINE + size)
        self._ring.on_drop = self._drop
        self._room, self._in_use = size, deque[tuple[int, int]]()
        self._freed = self._freed_at = self._restarted = 0
        self._is_stopped = False
        self._timer = Timer(clock, self._go_on)

    def attach(self, vcpu: InterruptTarget) -> None:
        if self not in vcpu.burst_queues:
            vcpu.burst_queues.append(self)

    def post(self, train: Train[GuestStream]) -> None:
        """Post packets that the guest writes, at times that may be in the future."""
        self._ring.push(train)
        if self.poster.state is WorldState.SLEEPING:  # a timer of the stack, outside any burst
            self.send(self._clock.now)

    def cancel(self, trains: Iterable[Train[GuestStream]], now: int) -> list[Train[GuestStream]]:
        """Remove and return the packets that a preempted guest has not written by ``now``."""
        self._settle(now)
        return self._ring.recall(trains, now)

    def send(self, now: int) -> None:
        """Transmit the packets written by ``now`` at the end of a burst, within the free descriptors."""
        self._timer.disarm()
        self._settle(now)
        ring = self._ring
        while (train := ring.oldest(now)) is not None:
            octets = train.frames * train.stream.size
            per_packet = descriptors(octets)
            count = self._room // per_packet
            self._is_stopped = not count
            if not count:
                return
            if waited := train.ready < self._restarted:
                count = min(count, train.count_by(self._restarted))
            taken = ring.take_next(count, now)
            assert taken is not None
            if waited:
                taken.restamp(self._restarted, 0)
            count = taken.count
            self._room -= count * per_packet
            ring.capacity -= count * per_packet
            self._in_use.append((count, per_packet))
            self.poster.node.memory.sent(count * octets)
            self._uplink.send(taken, self, self._vector)

    def freed(self, count: int, now: int) -> int:
        """Free the descriptors of the oldest packets at ``now``, which may be in the future."""
        in_use = self._in_use
        while count:
            packets, per_packet = in_use.popleft()
            if packets > count:
                in_use.appendleft((packets - count, per_packet))
                packets = count
            count -= packets
            self._freed += packets * per_packet
        self._freed_at = now
        return 0

    def send_early(self, end: int = UNBOUNDED) -> None:
        """Schedule the transmission of early packets of a long burst, before its ``end``."""
        first = self._ring.first()
        if first is None or (self._is_stopped and not self._freed):
            return
        at = max(first, self._freed_at) if self._is_stopped else first
        if at + LAG < end:
            self._timer.arm_by(at + LAG)

    def _settle(self, now: int) -> None:
        """Make the descriptors available that the guest has freed by ``now``."""
        if self._freed and self._freed_at <= now:
            self._ring.settle(self._freed_at)  # packets written before were admitted with the old capacity
            self._room += self._freed
            self._ring.capacity += self._freed
            self._freed = 0
            if self._is_stopped:
                self._is_stopped, self._restarted = False, self._freed_at

    def _go_on(self, now: int) -> None:
        self.send(now)
        self.send_early()

    def _drop(self, train: Train[GuestStream]) -> None:
        """Drop packets at the full queue discipline."""
        self._uplink.nic.tx_dropped += train.count
        train.stream.dropped(train.count * train.frames)


class DirectDevice(GuestDevice):
    """A device with the queues of a physical NIC; with RSS one pair for each vCPU, up to the NIC's number."""

    def __init__(self, host: Host, vm: VirtualMachine, port: Pnic, queues: int, function: str = "") -> None:
        """Add queues of a port to a VM.

        Args:
            host: the host.
            vm: the VM.
            port: the port.
            queues: largest number of queue pairs.
            function: name of the virtual function that owns them; empty for the whole port.
        """
        spec = host.spec
        nic = spec.hardware.nics[port.name]
        super().__init__(port, lro=True, tso=nic.tso, interrupt_ps=host.costs.interrupt)
        uplink = Uplink(
            port, nic.rate, host.costs, spec.drivers[nic.driver], vxlan=False, tso=nic.tso, bounded=not function
        )
        queues = min(queues, len(vm.vcpus), vm.group.settings.queues or queues)
        for vcpu in self.vectors(vm, queues if nic.rss else 1):
            queue = add_rx_queue(host, port, vcpu.node, 0 if function else MOST_JOINED, function)
            ring = DirectRing(host.clock, queue, vcpu, port.node, host.scheduler.look_at_memory)
            queue.poll = ring
            self.rings.append(queue)
            self.add_queues(vcpu, ring, DirectTx(host.clock, uplink, vcpu, queue, nic.tx_queue))


class DirectPath(DirectDevice):
    """A physical NIC that is assigned to one VM (DirectPath I/O)."""

    def __init__(self, host: Host, vm: VirtualMachine, settings: PassthroughSettings, streams: Streams) -> None:
        """Pass a NIC through to a VM.

        Raises:
            WiringError: the host does not have the NIC, or it is in use.
        """
        name = settings.nic
        nic = host.spec.hardware.nics.get(name)
        if nic is None or name in host.nics:
            state = "in use" if nic else "not a NIC of the host"
            raise WiringError(f"{name!r} cannot be passed through: it is {state}")
        port = add_nic(
            host, name, streams, UNBOUNDED
        )  # the rings of the guest's driver limit the packets that wait for the wire
        super().__init__(host, vm, port, nic.rx_queues)


class VirtualFunction(DirectDevice):
    """A virtual function (SR-IOV) of a physical NIC that other VMs or the VMkernel also use."""

    def __init__(self, host: Host, vm: VirtualMachine, settings: FunctionSettings, streams: Streams) -> None:
        """Pass a function of a NIC through to a VM.

        Raises:
            WiringError: the host does not have the NIC, or a VM owns all of it.
        """
        name = settings.nic
        if name not in host.spec.hardware.nics:
            raise WiringError(f"no function of {name!r} can be passed through: it is not a NIC of the host")
        others = [device for other in (*host.vms, vm) for device in other.devices if device.nic.name == name]
        if any(isinstance(device, DirectPath) for device in others):
            raise WiringError(f"no function of {name!r} can be passed through: a VM has all of it")
        port = host.nics.get(name) or add_nic(host, name, streams)
        vector = port.vector
        index = sum(isinstance(device, VirtualFunction) for device in others)
        super().__init__(host, vm, port, settings.queues, f"{name}-vf{index}")
        port.vector = vector  # the VMkernel's transmit queue shares no interrupt with a function
