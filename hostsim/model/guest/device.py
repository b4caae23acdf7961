"""VMs and their devices: what a guest sees of a NIC, what the host may ask of it, and transmit queues that vCPUs share."""

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
    """A shared transmit queue as seen by one vCPU: the last poster is charged for a call, and a halt of any sends the waiting packets.

    Attributes:
        queue: the queue.
    """

    def __init__(self, queue: TransmitQueue, vcpu: Vcpu) -> None:
        self.queue, self._vcpu = queue, vcpu
        queue.attach(vcpu)

    def post(self, train: Train[GuestStream]) -> None:
        """Post packets that the vCPU writes at instants that may lie ahead."""
        self.queue.poster = self._vcpu
        self.queue.post(train)

    def cancel(self, trains: Iterable[Train[GuestStream]], now: int) -> list[Train[GuestStream]]:
        """Take back those of the packets that it has not written by ``now``."""
        self.queue.poster = self._vcpu
        return self.queue.cancel(trains, now)


class GuestDevice:
    """A network device of a VM: base of all kinds. What it answers by itself holds for a device that no context of the VMkernel serves.

    Attributes:
        nic: port of the physical NIC that carries its traffic.
        switch: name of its virtual switch; empty where the guest uses the NIC directly.
        ports: its receive queues.
        transmits: its transmit queues.
        filter: receive filter of its MAC address.
        rings: receive queues of the NIC that the guest polls by itself; none where NetPolls do.
        rss: it may have an RSS queue of the NIC, and has several queues of its own for it.
        udp_rss: the ports of datagrams to it are hashed too.
        lro: frames of its connections may be joined to larger packets.
        tso: its guest may send packets that are larger than a frame.
        sum_ps: time for the checksum of a byte sent, where its guest's kernel makes it.
        interrupt_ps: what an interrupt costs beside its delivery: accesses to registers, or the VMkernel's own part.
        doorbell_ps: cost for the guest of announcing packets or descriptors in a register.
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
        """Turn off what the guest has off; its costs are of a processor that does ``hertz`` Westmere-equivalent cycles in a second."""
        self.tso, self.lro = self.tso and offloads.tso, self.lro and offloads.lro
        if offloads.tx_checksum is not None:
            self.sum_ps = offloads.tx_checksum.per_byte(hertz)
        for port in self.ports:
            if offloads.rx_checksum is not None:
                port.vnic.sum_ps = offloads.rx_checksum.per_byte(hertz)

    def add_queues(self, vcpu: Vcpu, receive: Vnic, transmit: TransmitQueue, split: SplitRx | None = None) -> None:
        """Add a pair of queues whose vector a vCPU takes, with the device's costs of registers; ``split`` is the receive context of the receive queue."""
        receive.interrupt_ps, receive.doorbell_ps = self.interrupt_ps, self.doorbell_ps
        transmit.doorbell_ps = self.doorbell_ps
        vcpu.vnics.append(receive)
        transmit.attach(vcpu)
        self.ports.append(Port(receive, split))
        self.transmits.append(transmit)
        self.filter.vnics.append(receive)

    def vectors(self, vm: VirtualMachine, queues: int) -> list[Vcpu]:
        """Return the vCPUs that take the vectors of so many queues: the next ones after those of the VM's other devices, as irqbalance spreads them."""
        first = sum(len(device.ports) for device in vm.devices)
        return [vm.vcpus[(first + index) % len(vm.vcpus)] for index in range(queues)]

    def port(self, packet: bytes) -> Port:
        """Return the receive queue of a flow that matches no filter of a NIC: multicast, or frames to addresses behind a bridge."""
        vnic = self.filter.vnic(packet, 0)
        return next(port for port in self.ports if port.vnic is vnic)

    def transmit(self, vm: VirtualMachine, number: int, packet: bytes) -> PacketSink[GuestStream]:
        """Return the transmit queue of a flow as vCPU ``number`` posts to it; here that vCPU's own, as drivers of multi-queue NICs choose.

        Args:
            vm: the VM.
            number: of the vCPU that writes.
            packet: what the guest's kernel may hash of the flow's packets instead, see `rss_input`.
        """
        return self.posted(vm, number, number)

    def posted(self, vm: VirtualMachine, number: int, which: int) -> PacketSink[GuestStream]:
        """Return transmit queue ``which``, the queues counted round, as vCPU ``number`` posts to it."""
        place = which % len(self.transmits)
        if len(vm.vcpus) == 1:
            return self.transmits[place]
        key = place, number
        if key not in self._shared:  # one for all flows: a burst that is cut short takes back what it wrote by queue
            self._shared[key] = SharedTxQueue(self.transmits[place], vm.vcpus[number])
        return self._shared[key]

    def transmit_contexts(self) -> list[tuple[str, TxQueue]]:
        """Return the transmit queues that NetWorlds serve, each with the name of its context after the VM's."""
        return []

    def near(self, node: Node) -> bool:
        """True when NUMA-aware I/O would have the VM on this node for it: contexts that serve the device run there."""
        return False

    def frames(self) -> int:
        """Return the number of packets that contexts of the VMkernel have carried for it: its weight in NUMA-aware I/O."""
        return 0

    def coalesce(self, coalescing: Coalescing | None, now: int) -> None:
        """Change its interrupt coalescing at run time; None for that of its settings. Interrupts that the VMkernel does not raise stay as they are."""

    def follow_dense_mode(self, now: int, *, dense: bool, tx_timeout: int) -> None:
        """Change to the tuning of dense mode, or back; its transmit contexts then wait for ``tx_timeout`` at most."""


@dataclass(eq=False)
class VirtualMachine:
    """A VM: its vCPUs, its NICs, and the VMkernel worlds that serve it."""

    name: str
    group: VmGroupSpec
    vcpus: list[Vcpu]
    address: str
    """Its IPv4 address, by which NICs hash its flows."""
    devices: list[GuestDevice] = field(default_factory=list)
    """Its network devices, in the order of their numbers: vNICs, then NICs that are passed through."""
    worlds: list[World] = field(default_factory=list)
    """Its NetWorlds and split-receive contexts."""
    numa_clients: list[NumaClient] = field(default_factory=list)
    """One, or several for a wide VM."""

    @property
    def is_bound(self) -> bool:
        """True when NUMA balancing must not move the VM: it has an affinity, or its vCPUs have exclusive PCPUs."""
        settings = self.group.settings
        return bool(settings.nodes) or bool(settings.affinity) or settings.exclusive

    def frames(self) -> int:
        """Packets that contexts of the VMkernel have carried for it."""
        return sum(device.frames() for device in self.devices)

    def coalesce(self, coalescing: Coalescing, now: int) -> None:
        """Switch the interrupts of its vNICs to another coalescing scheme."""
        for device in self.devices:
            device.coalesce(coalescing, now)

    def near(self, node: Node) -> bool:
        """True when one of its devices is best served from this NUMA node."""
        return any(device.near(node) for device in self.devices)
