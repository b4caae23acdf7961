"""A host as data: PCPUs, physical NICs, virtual switches, VMs with their vNICs, and the flows that come at it.

`hostsim.model.build` wires one from its spec.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hostsim.engine.clock import Clock
from hostsim.engine.probe import Probe
from hostsim.model.contract import ControlLoop
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.balancer import Balancer
from hostsim.model.cpu.firmware import Firmware
from hostsim.model.cpu.node import Node
from hostsim.model.cpu.scheduler import NumaClient, Scheduler
from hostsim.model.cpu.world import World
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.net.directpath import DirectTx
from hostsim.model.net.netpoll import NetPoll
from hostsim.model.net.netqueue import NetQueue, VnicFilter
from hostsim.model.net.networld import TxQueue
from hostsim.model.net.pnic import Pnic, RxQueue
from hostsim.model.net.vswitch import Port, VSwitch
from hostsim.model.workload.flow import Flow
from hostsim.policy.scheduler import PolicyMaker
from hostsim.spec.host import PointSpec, VmGroupSpec
from hostsim.spec.platform import VnicSettings

__all__ = ["Host", "PassthroughNic", "VirtualMachine", "VirtualNic"]

SLICES_AT_FIRST = 128


@dataclass(eq=False)
class VirtualNic:
    """A vNIC of a VM: its receive and transmit queues, its virtual switch, and the uplink that carries its traffic."""

    settings: VnicSettings
    vswitch: VSwitch
    switch: str
    """Name of the virtual switch."""
    nic: Pnic
    """The uplink that teaming chose for its virtual port."""
    ports: list[Port] = field(default_factory=list)
    """Virtual ports, one for each receive queue."""
    transmits: list[TxQueue] = field(default_factory=list)
    filter: VnicFilter = field(default_factory=lambda: VnicFilter([]))


@dataclass(eq=False)
class PassthroughNic:
    """A physical NIC that is assigned to one VM (DirectPath I/O)."""

    nic: Pnic
    ports: list[Port] = field(default_factory=list)
    """Its receive queues as the guest's driver polls them."""
    transmits: list[DirectTx] = field(default_factory=list)
    """Its transmit queues, likewise."""
    filter: VnicFilter = field(default_factory=lambda: VnicFilter([]))


@dataclass(eq=False)
class VirtualMachine:
    """A VM: its vCPUs, its NICs, and the VMkernel worlds that serve it."""

    name: str
    group: VmGroupSpec
    vcpus: list[Vcpu]
    vnics: list[VirtualNic] = field(default_factory=list)
    passthrough: list[PassthroughNic] = field(default_factory=list)
    worlds: list[World] = field(default_factory=list)
    """Its NetWorlds and split-receive contexts."""
    numa_clients: list[NumaClient] = field(default_factory=list)
    """One, or several for a wide VM."""

    @property
    def devices(self) -> list[VirtualNic | PassthroughNic]:
        """NICs as the guest sees them, in the order of their numbers."""
        return [*self.vnics, *self.passthrough]

    @property
    def is_bound(self) -> bool:
        """True when NUMA balancing must not move the VM: it has a node affinity, or its vCPUs have exclusive PCPUs."""
        return bool(self.group.settings.nodes) or self.group.settings.exclusive

    def frames(self) -> int:
        """Packets through its vNICs."""
        received = sum(port.vnic.frames for vnic in self.vnics for port in vnic.ports)
        return received + sum(queue.ring.taken for vnic in self.vnics for queue in vnic.transmits)

    def near(self, node: Node) -> bool:
        """True when one of its uplinks is attached to this NUMA node."""
        return any(vnic.nic.node is node for vnic in self.vnics)


class Host:
    """A virtualization host with its parts, its VMs and its counters.

    Attributes:
        spec: point of a scenario that it is built from.
        clock: simulated time.
        costs: cost table of its processors.
        scheduler: its PCPUs.
        nics: ports of its physical NICs that a switch or a VM uses.
        netqueues: their receive queues, by name of the port.
        polls: NetPoll worlds.
        switches: virtual switches by name.
        vms: in order of power-on.
        flows: its traffic, in the order of the scenario.
        numa_io: NUMA-aware I/O, the placement of VMs next to their NICs.
        dense_mode: dynamic tuning of the whole host.
        balancer: moves waiting worlds between the PCPUs of a node.
        firmware: stops its PCPUs for system management interrupts; None without.
        probe: its counters in time slices.
    """

    numa_io: ControlLoop
    dense_mode: ControlLoop
    balancer: Balancer

    def __init__(self, spec: PointSpec, policy: PolicyMaker) -> None:
        self.spec = spec
        self.clock = Clock()
        cpu = spec.hardware.cpu
        self.costs = CostTable(spec.costs, cpu)
        self.scheduler = Scheduler(self.clock, cpu.sockets, cpu.cores, self.costs, spec.settings, cpu.threads, policy)
        self.probe = Probe(self.clock, max(1, spec.length // SLICES_AT_FIRST))
        self.nics: dict[str, Pnic] = {}
        self.netqueues: dict[str, NetQueue] = {}
        self.polls: list[NetPoll] = []
        self.switches: dict[str, VSwitch] = {}
        self.vms: list[VirtualMachine] = []
        self.flows: list[Flow] = []
        self.firmware: Firmware | None = None

    @property
    def vcpus(self) -> list[Vcpu]:
        """All vCPUs, VM after VM."""
        return [vcpu for vm in self.vms for vcpu in vm.vcpus]

    @property
    def ports(self) -> list[Port]:
        """All receive queues of vNICs and passed-through NICs, VM after VM."""
        return [port for vm in self.vms for device in vm.devices for port in device.ports]

    @property
    def transmits(self) -> list[TxQueue]:
        """All transmit queues of vNICs, VM after VM."""
        return [queue for vm in self.vms for vnic in vm.vnics for queue in vnic.transmits]

    @property
    def queues(self) -> list[RxQueue]:
        """All receive queues of physical NICs."""
        return [queue for nic in self.nics.values() for queue in nic.queues]

    def worlds(self) -> list[World]:
        """All worlds: NetPolls, then those of each VM, then the firmware's."""
        stops = self.firmware.worlds if self.firmware else []
        return [*self.polls, *(world for vm in self.vms for world in (*vm.worlds, *vm.vcpus)), *stops]
