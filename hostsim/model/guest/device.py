"""VMs and their network devices: interface to guest and host, and transmit queues that vCPUs share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hostsim.config.host import VmGroupSpec
from hostsim.config.platform import Coalescing, OffloadedCosts
from hostsim.engine.ring import Train
from hostsim.model.contract import GuestStream, PacketSink, TransmitQueue
from hostsim.model.cpu.pcpu import Node, World
from hostsim.model.cpu.scheduler import NumaClient
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.receive.context import Port, SplitRx
from hostsim.model.receive.netqueue import VnicFilter
from hostsim.model.receive.nic import Pnic, RxQueue
from hostsim.model.receive.vnic import Vnic
from hostsim.model.transmit.networld import TxQueue

__all__ = [
    "GuestDevice",
    "SharedTxQueue",
    "VirtualMachine",
]


class SharedTxQueue(PacketSink[GuestStream]):
    """A shared transmit queue as seen by one vCPU.

    The last poster pays for a call, and a halt of any vCPU sends the waiting packets.

    Attributes:
        queue: the queue.
    """

    def __init__(self, queue: TransmitQueue, vcpu: Vcpu) -> None:
        self.queue, self._vcpu = queue, vcpu
        queue.attach(vcpu)

    def post(self, train: Train[GuestStream]) -> None:
        """Post packets that the vCPU writes, at times that may be in the future."""
        self.queue.poster = self._vcpu
        self.queue.post(train)

    def cancel(self, trains: Iterable[Train[GuestStream]], now: int) -> list[Train[GuestStream]]:
        """Remove and return the packets that it has not written by ``now``."""
        self.queue.poster = self._vcpu
        return self.queue.cancel(trains, now)


class GuestDevice:
    """A network device of a VM, the base of all kinds.

    Default methods are those of a device without a VMkernel context.

    Attributes:
        nic: port of the physical NIC with its traffic.
        switch: name of its virtual switch; empty if the guest uses the NIC directly.
        ports: receive queues.
        transmits: transmit queues.
        filter: receive filter of its MAC address.
        rings: receive queues of the NIC that the guest polls; empty if NetPolls do.
        rss: True if it may have an RSS queue of the NIC, and has several queues for it.
        udp_rss: True if hashes of datagrams to it include ports.
        lro: True if frames of its connections may be joined to larger packets.
        tso: True if its guest may send packets larger than a frame.
        sum_ps: time of the checksum of a sent byte if the guest's kernel computes it, in picoseconds.
        interrupt_ps: cost of an interrupt in addition to its delivery: register accesses, or the VMkernel's part, in
            picoseconds.
        doorbell_ps: the guest's cost of announcing packets or descriptors in a register, in picoseconds.
    """

    def __init__(
        self, nic: Pnic, switch: str = "", *, lro: bool, tso: bool, interrupt_ps: int = 0, doorbell_ps: int = 0
    ) -> None:
        self.nic, self.switch = nic, switch
        self.lro, self.tso = lro, tso
        self.interrupt_ps, self.doorbell_ps = interrupt_ps, doorbell_ps
        self.ports: list[Port] = []
        self.transmits: list[TransmitQueue] = []
        self._shared: dict[tuple[int, int], SharedTxQueue] = {}
        self.filter = VnicFilter([])
        self.rings: list[RxQueue] = []
        self.rss = self.udp_rss = False
        self.sum_ps = 0.0

    def turn_off(self, offloads: OffloadedCosts, hertz: float) -> None:
        """Turn off offloads that the guest has off.

        Args:
            offloads: effective offloads with their costs.
            hertz: Westmere-equivalent cycles/s of the processor.
        """
        self.tso, self.lro = self.tso and offloads.tso, self.lro and offloads.lro
        if offloads.tx_checksum is not None:
            self.sum_ps = offloads.tx_checksum.per_byte(hertz)
        for port in self.ports:
            if offloads.rx_checksum is not None:
                port.vnic.sum_ps = offloads.rx_checksum.per_byte(hertz)

    def add_queues(self, vcpu: Vcpu, receive: Vnic, transmit: TransmitQueue, split: SplitRx | None = None) -> None:
        """Add a pair of queues whose interrupt a vCPU takes, with the device's register costs.

        Args:
            vcpu: the vCPU.
            receive: the receive queue.
            transmit: the transmit queue.
            split: split-receive context of the receive queue, if any.
        """
        receive.interrupt_ps, receive.doorbell_ps = self.interrupt_ps, self.doorbell_ps
        transmit.doorbell_ps = self.doorbell_ps
        vcpu.vnics.append(receive)
        transmit.attach(vcpu)
        self.ports.append(Port(receive, split))
        self.transmits.append(transmit)
        self.filter.vnics.append(receive)

    def vectors(self, vm: VirtualMachine, queues: int) -> list[Vcpu]:
        """Return the vCPUs for the interrupts of a number of queues.

        They follow those of the VM's other devices, as irqbalance distributes them.
        """
        first = sum(len(device.ports) for device in vm.devices)
        return [vm.vcpus[(first + index) % len(vm.vcpus)] for index in range(queues)]

    def port(self, packet: bytes) -> Port:
        """Return the receive queue of a flow without a filter of a NIC.

        Examples are multicast, and frames to addresses behind a bridge.
        """
        vnic = self.filter.vnic(packet, 0)
        return next(port for port in self.ports if port.vnic is vnic)

    def transmit(self, vm: VirtualMachine, number: int, packet: bytes) -> PacketSink[GuestStream]:
        """Return the transmit queue of a flow for a vCPU.

        By default it is the vCPU's own queue, as in drivers of multi-queue NICs.

        Args:
            vm: the VM.
            number: index of the vCPU that writes.
            packet: bytes of the flow's packets that a kernel may hash instead, see `rss_input`.
        """
        return self.posted(vm, number, number)

    def posted(self, vm: VirtualMachine, number: int, which: int) -> PacketSink[GuestStream]:
        """Return transmit queue ``which``, modulo their number, for posts of vCPU ``number``."""
        queue_index = which % len(self.transmits)
        if len(vm.vcpus) == 1:
            return self.transmits[queue_index]
        key = queue_index, number
        if key not in self._shared:  # one for all flows: a preempted burst takes packets back by queue
            self._shared[key] = SharedTxQueue(self.transmits[queue_index], vm.vcpus[number])
        return self._shared[key]

    def transmit_contexts(self) -> list[tuple[str, TxQueue]]:
        """Return the transmit queues that NetWorlds serve, each with the suffix of its context's name."""
        return []

    def near(self, node: Node) -> bool:
        """True if NUMA-aware I/O would place the VM on this node, where the contexts of the device run."""
        return False

    def frames(self) -> int:
        """Return the number of packets that VMkernel contexts have processed, as its NUMA-aware I/O weight."""
        return 0

    def coalesce(self, coalescing: Coalescing | None, now: int) -> None:
        """Change its interrupt coalescing at run time; None for its settings.

        Without effect on interrupts that the VMkernel does not raise.
        """

    def follow_dense_mode(self, now: int, *, dense: bool, tx_timeout: int) -> None:
        """Switch to the tuning of dense mode, or back.

        ``tx_timeout`` is the longest wait of its transmit contexts, in picoseconds.
        """


@dataclass(eq=False)
class VirtualMachine:
    """A VM: its vCPUs, its NICs, and the VMkernel worlds that serve it."""

    name: str
    group: VmGroupSpec
    vcpus: list[Vcpu]
    address: str
    """IPv4 address, by which NICs hash its flows."""
    devices: list[GuestDevice] = field(default_factory=list)
    """Network devices in the order of their numbers: vNICs, then passed-through NICs."""
    worlds: list[World] = field(default_factory=list)
    """NetWorlds and split-receive contexts."""
    numa_clients: list[NumaClient] = field(default_factory=list)
    """NUMA clients: one, or several for a wide VM."""

    @property
    def is_bound(self) -> bool:
        """True if NUMA balancing must not migrate the VM, as it has an affinity or exclusive PCPUs."""
        settings = self.group.settings
        return bool(settings.nodes) or bool(settings.affinity) or settings.exclusive

    def frames(self) -> int:
        """Number of packets that VMkernel contexts have processed for it."""
        return sum(device.frames() for device in self.devices)

    def coalesce(self, coalescing: Coalescing, now: int) -> None:
        """Switch the interrupts of its vNICs to another coalescing scheme."""
        for device in self.devices:
            device.coalesce(coalescing, now)

    def near(self, node: Node) -> bool:
        """True if one of its devices is best served from this NUMA node."""
        return any(device.near(node) for device in self.devices)
