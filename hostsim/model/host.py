"""A host as data: PCPUs, physical NICs, virtual switches, VMs with their devices, and the flows that come at it.

`hostsim.model.build` wires one from its spec.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hostsim.config.host import PointSpec, VmGroupSpec
from hostsim.config.platform import Coalescing
from hostsim.engine.clock import Clock
from hostsim.engine.probe import Probe
from hostsim.engine.random_stream import Streams
from hostsim.model.contract import ControlLoop
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.balancer import Balancer
from hostsim.model.cpu.firmware import Firmware
from hostsim.model.cpu.memory import node_memory
from hostsim.model.cpu.pcpu import CoreStates, Node, World
from hostsim.model.cpu.scheduler import NumaClient, Scheduler
from hostsim.model.guest.device import GuestDevice
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.policy.scheduler import PolicyMaker
from hostsim.model.receive.netpoll import NetPoll
from hostsim.model.receive.netqueue import NetQueue
from hostsim.model.receive.pnic import Pnic
from hostsim.model.receive.rx_queue import RxQueue
from hostsim.model.receive.vswitch import Port, VSwitch
from hostsim.model.traffic.flow import Flow
from hostsim.model.traffic.process_sender import ProcessSender, add_sender
from hostsim.model.transmit.local_delivery import LocalPort
from hostsim.model.transmit.networld import TxQueue

if TYPE_CHECKING:
    from simpy.events import ProcessGenerator

__all__ = ["Host", "HostProcess", "VirtualMachine"]

SLICES_AT_FIRST = 128

HostProcess: TypeAlias = "Callable[[Clock, Host], ProcessGenerator]"
"""A SimPy process of a user's own: a generator function of the clock and the host."""


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
        """True when NUMA balancing must not move the VM: it has a node affinity, or its vCPUs have exclusive PCPUs."""
        return bool(self.group.settings.nodes) or self.group.settings.exclusive

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


class Host:
    """A virtualization host with its parts, its VMs and its counters.

    Attributes:
        spec: point of a scenario that it is built from.
        streams: its random streams.
        clock: simulated time.
        costs: cost table of its processors.
        scheduler: its PCPUs.
        nics: ports of its physical NICs that a switch or a VM uses.
        netqueues: their receive queues, by name of the port.
        polls: NetPoll worlds.
        switches: virtual switches by name.
        vms: in order of power-on.
        flows: its traffic, in the order of the scenario.
        local_ports: local sides of the virtual ports that VMs of the host send to.
        numa_io: NUMA-aware I/O, the placement of VMs next to their NICs.
        dense_mode: dynamic tuning of the whole host.
        balancer: moves waiting worlds between the PCPUs of a node.
        firmware: stops its PCPUs for system management interrupts; None without.
        probe: its counters in time slices.
        is_wired: True when nothing more can be added to it; time may start.
    """

    numa_io: ControlLoop
    dense_mode: ControlLoop
    balancer: Balancer

    def __init__(self, spec: PointSpec, streams: Streams, policy: PolicyMaker, clock: Clock | None = None) -> None:
        self.spec, self.streams = spec, streams
        self.clock = Clock() if clock is None else clock
        cpu = spec.hardware.cpu
        self.costs = CostTable(spec.costs, cpu)
        states = CoreStates(spec.idle, spec.settings, cpu.family)
        self.scheduler = Scheduler(
            self.clock, cpu.sockets, cpu.cores, self.costs, spec.settings, cpu.threads, policy, states
        )
        for node in self.scheduler.nodes:
            node.memory = node_memory(spec.costs, cpu)
        self.probe = Probe(self.clock, max(1, spec.length // SLICES_AT_FIRST))
        self.nics: dict[str, Pnic] = {}
        self.netqueues: dict[str, NetQueue] = {}
        self.polls: list[NetPoll] = []
        self.switches: dict[str, VSwitch] = {}
        self.vms: list[VirtualMachine] = []
        self.flows: list[Flow] = []
        self.local_ports: list[LocalPort] = []
        self.firmware: Firmware | None = None
        self.is_wired = False
        self._random_streams = 0

    def start(self, process: HostProcess) -> None:
        """Start a SimPy process of a user's own: a source of traffic, or a control loop.

        It is a generator function, ``def loop(env, host)``, that yields events of its environment, most often
        ``env.timeout(us(10))`` (`hostsim.engine.delay`). What it does before its first ``yield`` is done at once, while the
        host is wired: there it makes its senders and its random numbers.

        Args:
            process: called with the clock, which is a ``simpy.Environment``, and this host.
        """
        self.clock.start(process(self.clock, self))

    def sender(
        self, vm: VirtualMachine, *, size: int, name: str = "process", device: int = 0, burst: int = 64
    ) -> ProcessSender:
        """Make a sender of datagrams to a VM, which a process lets send: ``sender.send(8)``.

        On a wire with such a sender frames are worked out as time goes on and not ahead, so that of several senders with
        something to send any may be the next.

        Args:
            vm: receiver.
            size: bytes of data in a frame.
            name: flow that counts the frames; senders of one name share it.
            device: number of the VM's NIC.
            burst: frames that it puts on the wire before another sender may have its turn.

        Raises:
            WiringError: the process has yielded already, or the VM has no such NIC.
        """
        return add_sender(self, vm, name=name, size=size, device=device, burst=burst)

    def random(self) -> np.random.Generator:
        """Make a random stream for a process: each call another one, the same ones in every run of a replication."""
        self._random_streams += 1
        return self.streams.stream("process", self._random_streams - 1)

    def busy(self, now: int) -> int:
        """Return the time for which PCPUs were busy up to now, all of them together, in picoseconds."""
        total = 0
        for pcpu in self.scheduler.pcpus:
            total += pcpu.busy(now)
        return total

    def move(self, vm: VirtualMachine, node: Node, now: int) -> None:
        """Migrate a VM to a NUMA node. The NUMA balancer may migrate it again, unless its clients are ``pinned``."""
        for unit in vm.numa_clients:
            self.scheduler.rehome(unit.worlds, node, now)

    @property
    def vcpus(self) -> list[Vcpu]:
        """All vCPUs, VM after VM."""
        return [vcpu for vm in self.vms for vcpu in vm.vcpus]

    @property
    def ports(self) -> list[Port]:
        """All receive queues of guest devices, VM after VM."""
        return [port for vm in self.vms for device in vm.devices for port in device.ports]

    @property
    def transmits(self) -> list[TxQueue]:
        """All transmit queues that contexts serve, VM after VM."""
        return [queue for vm in self.vms for device in vm.devices for _, queue in device.transmit_contexts()]

    @property
    def queues(self) -> list[RxQueue]:
        """All receive queues of physical NICs."""
        return [queue for nic in self.nics.values() for queue in nic.queues]

    def worlds(self) -> list[World]:
        """All worlds: NetPolls, then those of each VM, then the firmware's."""
        stops = self.firmware.worlds if self.firmware else []
        return [*self.polls, *(world for vm in self.vms for world in (*vm.worlds, *vm.vcpus)), *stops]
