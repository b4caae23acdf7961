"""DirectPath I/O: a physical NIC that is passed through to a VM, its rings as the guest's driver uses them.

No context of the VMkernel, no virtual switch and no copy is in between. The VMkernel takes each interrupt of the NIC, as often as the
guest's driver lets the NIC raise it, and injects it. The NIC gets what a guest writes every 20 us of a burst (docs/decisions/0085).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from hostsim.config.platform import PassthroughSettings
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.packet_train import Train
from hostsim.engine.ring import Ring
from hostsim.errors import WiringError
from hostsim.model.contract import UNBOUNDED, GuestStream, InterruptTarget, RxPoller, TransmitQueue
from hostsim.model.cpu.node import Node
from hostsim.model.cpu.world import WorldState
from hostsim.model.net.device import GuestDevice
from hostsim.model.net.netqueue import add_nic, add_rx_queue
from hostsim.model.net.networld import Uplink
from hostsim.model.net.pnic import Pnic
from hostsim.model.net.rx_queue import RxQueue
from hostsim.model.net.vnic import Vnic
from hostsim.model.policy.moderation import CoalescingScheme
from hostsim.units import US

if TYPE_CHECKING:
    from hostsim.engine.random_stream import Streams
    from hostsim.model.guest.vcpu import Vcpu
    from hostsim.model.host import Host, VirtualMachine
    from hostsim.model.workload.flow import Sender

__all__ = ["MOST_JOINED", "DirectDevice", "DirectPath", "DirectRing", "DirectTx"]

MOST_JOINED = 65536
"""Bytes of a packet that LRO of a NIC makes at most: the length field of IPv4."""
LAG: Final = 20 * US
"""How long what was written may wait for more of the same burst: less than interrupts of a NIC are apart, so that no answer is seen later for it."""


class DirectRing(Vnic, RxPoller):
    """A receive queue of a passed-through NIC, polled by the guest's driver straight into the guest's stack.

    Args:
        clock: the host's.
        queue: the queue.
        vcpu: the vCPU that takes its interrupts.
        behind: NUMA node that the NIC sits behind.
        look_at_memory: looks at the load of memory.
    """

    def __init__(
        self, clock: Clock, queue: RxQueue, vcpu: InterruptTarget, behind: Node, look_at_memory: Callable[[int], None]
    ) -> None:
        scheme = CoalescingScheme()  # nothing but the NIC's moderation holds an interrupt back
        super().__init__(clock, queue.name, queue.ring.capacity, scheme, vcpu)
        self.queue, self._behind, self._look_at_memory = queue, behind, look_at_memory

    def interrupt(self, now: int) -> None:
        """Take the NIC's interrupt: the VMkernel handles it and injects it into the guest."""
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
            sender = train.flow
            octets += frames * sender.size
            if sender.round_trip is not None:
                sender.round_trip.off_nic(train.arrived, self.queue.interrupted, 0)
        if octets:
            self._look_at_memory(now)
            node = self.vcpu.node
            if node is self._behind:  # a NIC's node is the only one in whose cache it can write
                node.memory.received(octets)
                self.wait_ps = node.memory.dma_ps
            else:
                node.memory.octets += 2 * octets
                self.wait_ps = node.memory.near_ps
        return taken

    def is_drained(self) -> bool:
        return False

    def reclaim(self, now: int) -> int:
        """Free the descriptors of what the NIC has sent, as the VMkernel's driver would."""
        return self.queue.clean()

    def unmask(self, at: int) -> None:
        """Unmask the interrupt at an instant that may lie ahead: the driver's poll is done. Moderation may delay the next interrupt."""
        self.queue.unmask(at)

    def guest_halts(self, now: int) -> None:
        """Ignore that the guest halts: the NIC does not know."""


class DirectTx(TransmitQueue):
    """A transmit queue of a passed-through NIC: packets go to the wire when the guest writes them.

    It is put there when the burst ends that wrote it, or is cut short, and every `LAG` of a longer burst: by then it is certain what was
    written. The interrupt of its receive queue announces its completions.
    """

    def __init__(self, clock: Clock, uplink: Uplink, vcpu: Vcpu, vector: RxQueue) -> None:
        self._clock, self._uplink, self.poster, self._vector = clock, uplink, vcpu, vector
        self.doorbell_ps = 0
        self._ring: Ring[GuestStream] = Ring(UNBOUNDED)
        self._timer = Timer(clock, self._go_on)

    def attach(self, vcpu: Vcpu) -> None:
        if self not in vcpu.burst_queues:
            vcpu.burst_queues.append(self)

    def post(self, train: Train[GuestStream]) -> None:
        """Post packets that the guest writes at instants that may lie ahead."""
        self._ring.push(train)
        if self.poster.state is WorldState.SLEEPING:  # nobody's burst: a timer of the stack
            self.send(self._clock.now)

    def cancel(self, trains: Iterable[Train[GuestStream]], now: int) -> list[Train[GuestStream]]:
        """Take back those of the packets that a preempted guest has not written by ``now``."""
        return self._ring.recall(trains, now)

    def send(self, now: int) -> None:
        """Transmit the packets written by ``now``, at the end of a burst."""
        self._timer.disarm()
        for train in self._ring.take(UNBOUNDED, now):
            stream = train.flow
            self.poster.node.memory.sent(train.count * train.frames * stream.size)
            self._uplink.send(train, None, self._vector)

    def send_early(self, end: int = UNBOUNDED) -> None:
        """Arrange to transmit before the ``end`` of a long burst the packets written early in it."""
        first = self._ring.first()
        if first is not None and first + LAG < end:
            self._timer.arm_by(first + LAG)

    def _go_on(self, now: int) -> None:
        self.send(now)
        self.send_early()


class DirectDevice(GuestDevice):
    """A device whose queues are those of a physical NIC: with RSS one pair for each vCPU, as far as there are queues."""

    def __init__(self, host: Host, vm: VirtualMachine, port: Pnic, queues: int) -> None:
        """Add queues of a port to a VM, at most so many."""
        spec = host.spec
        nic = spec.hardware.nics[port.name]
        super().__init__(port, lro=True, tso=nic.tso, interrupt_ps=host.costs.interrupt)
        uplink = Uplink(port, nic.rate, host.costs, spec.drivers[nic.driver], vxlan=False, tso=nic.tso)
        for vcpu in self.vectors(vm, min(queues, len(vm.vcpus)) if nic.rss else 1):
            queue = add_rx_queue(host, port, vcpu.node, MOST_JOINED)
            ring = DirectRing(host.clock, queue, vcpu, port.node, host.scheduler.look_at_memory)
            queue.poll = ring
            self.rings.append(queue)
            self.add_queues(vcpu, ring, DirectTx(host.clock, uplink, vcpu, queue))


class DirectPath(DirectDevice):
    """A physical NIC that is assigned to one VM (DirectPath I/O)."""

    def __init__(self, host: Host, vm: VirtualMachine, settings: PassthroughSettings, streams: Streams) -> None:
        """Pass a NIC through to a VM.

        Raises:
            WiringError: it is not a NIC of the host, or in use.
        """
        name = settings.nic
        nic = host.spec.hardware.nics.get(name)
        if nic is None or name in host.nics:
            state = "in use" if nic else "not a NIC of the host"
            raise WiringError(f"{name!r} cannot be passed through: it is {state}")
        super().__init__(host, vm, add_nic(host, name, streams), nic.rx_queues)
