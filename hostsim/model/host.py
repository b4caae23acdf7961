"""A host: PCPUs, NICs, virtual switches, VMs with their devices, flows, and senders of processes.

`hostsim.model.build` builds one from its spec.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hostsim.config.host import PointSpec, links
from hostsim.config.nic import NicOptions, NicSpec, datagram_on_wire
from hostsim.config.workload import VmTraffic
from hostsim.engine.arrivals import Jitter
from hostsim.engine.clock import Clock
from hostsim.engine.probe import Probe
from hostsim.engine.random_stream import Streams
from hostsim.errors import WiringError
from hostsim.model.contract import ControlLoop, Flow, Sender, Wire
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.balancer import Balancer
from hostsim.model.cpu.firmware import Firmware
from hostsim.model.cpu.memory import node_memory
from hostsim.model.cpu.pcpu import CoreStates, Node, World
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.guest.device import VirtualMachine
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.policy.aggregation import Aggregation
from hostsim.model.policy.moderation import MODERATION_RULES, CoalescedCompletions, Moderation
from hostsim.model.policy.scheduler import PolicyMaker
from hostsim.model.policy.steering import rss_input
from hostsim.model.receive.context import NetPoll, Port, VSwitch
from hostsim.model.receive.netqueue import NetQueue
from hostsim.model.receive.nic import LroTable, Pnic, RxQueue
from hostsim.model.receive.wire import ClosedLoopWire, OpenLoopWire
from hostsim.model.services import Services
from hostsim.model.traffic.address import (
    FIRST_PORT,
    PEER,
    TUNNEL_ENDS,
    UDP_PORT,
    ip_hash,
    nic_hash,
    vmkernel_address,
)
from hostsim.model.traffic.migration import Migration
from hostsim.model.transmit.egress import UplinkScheduler
from hostsim.model.transmit.networld import LocalPort, TxQueue
from hostsim.model.transmit.nic_switch import SwitchingPnic
from hostsim.units import transmission_ps

if TYPE_CHECKING:
    from simpy.events import ProcessGenerator

__all__ = ["Host", "HostProcess", "ProcessSender", "add_nic", "add_rx_queue", "datagram_sender", "next_uplink"]

SLICES_AT_FIRST = 128

HostProcess: TypeAlias = "Callable[[Clock, Host], ProcessGenerator]"
"""A SimPy process of the user: a generator function of the clock and the host."""


class ProcessSender:
    """A sender of datagrams to a socket of a VM, driven by a process.

    Attributes:
        totals: flow with its counters: ``sent`` frames on the wire, of which ``lost_nic`` were dropped at the physical
            NIC and ``delivered`` were read by the application.
    """

    def __init__(self, clock: Clock, wire: ClosedLoopWire, sender: Sender) -> None:
        self.totals = sender.totals
        self._clock, self._wire, self._sender = clock, wire, sender

    def send(self, frames: int) -> None:
        """Send frames now: they go on the wire as soon as it is free, alternating with other senders.

        Raises:
            TypeError: the number is not an integer.
            ValueError: the number is negative.
        """
        count = index(frames)
        if count < 0:
            raise ValueError(f"send({frames}): the number of frames is negative")
        self._wire.release(self._sender, self._clock.now, 0, 1, count)


class Host:
    """A virtualization host with its parts, its VMs and its counters.

    Attributes:
        spec: point of a scenario.
        streams: random streams.
        clock: simulated time.
        costs: cost table of its processors.
        scheduler: CPU scheduler with all PCPUs.
        services: clock, costs, scheduler and settings, for its parts.
        nics: ports of physical NICs that a switch or a VM uses, by name.
        netqueues: receive queues of these ports, by name of the port.
        polls: NetPoll worlds.
        switches: virtual switches by name.
        schedulers: packet schedulers of uplinks with Network I/O Control, by name of the port.
        vms: VMs in order of power-on.
        vmkernel: threads of VMkernel ports.
        vmkernel_ports: networks of these ports.
        migrations: migrations of VMs to other hosts, by name of the traffic entry.
        flows: traffic, in the order of the scenario.
        local_ports: local sides of the virtual ports that receive from VMs of the host.
        numa_io: NUMA-aware I/O, which places VMs next to their NICs.
        dense_mode: dynamic tuning of the whole host.
        balancer: balancer of waiting worlds between the PCPUs of a node.
        firmware: source of system management interrupts; None without.
        probe: sampler of all counters.
        is_wired: True if the host is complete and time may start.
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
            self.clock,
            cpu.nodes,
            cpu.node_cores,
            self.costs,
            spec.settings,
            threads=cpu.threads,
            policy=policy,
            states=states,
        )
        self.services = Services(self.clock, self.costs, self.scheduler, spec.settings)
        for node in self.scheduler.nodes:
            node.memory = node_memory(spec.costs, cpu)
            node.socket = node.index // cpu.nodes_per_socket
        if cpu.core_complex is not None:
            knows = spec.settings.llc_sched
            self.scheduler.divide(cpu.core_complex.cores, self.costs.far_refill, knows=knows)
        self.probe = Probe(self.clock, max(1, spec.length // SLICES_AT_FIRST))
        self.nics: dict[str, Pnic] = {}
        self.netqueues: dict[str, NetQueue] = {}
        self.polls: list[NetPoll] = []
        self.switches: dict[str, VSwitch] = {}
        self.schedulers: dict[str, UplinkScheduler] = {}
        self.vms: list[VirtualMachine] = []
        self.vmkernel: list[World] = []
        self.vmkernel_ports: list[str] = []
        self.migrations: dict[str, Migration] = {}
        self.flows: list[Flow] = []
        self.local_ports: list[LocalPort] = []
        self.firmware: Firmware | None = None
        self.is_wired = False
        self._random_streams = 0

    def start(self, process: HostProcess) -> None:
        """Start a SimPy process of the user: a source of traffic, or a control loop.

        It is a generator function, ``def loop(env, host)``, that yields events of its environment, usually
        ``env.timeout(us(10))`` (`hostsim.engine.delay`). The code before its first ``yield`` runs immediately, while
        the host is being built, and creates its senders and random streams.

        Args:
            process: called with the clock, which is a ``simpy.Environment``, and this host.
        """
        self.clock.start(process(self.clock, self))

    def sender(
        self, vm: VirtualMachine, *, size: int, name: str = "process", device: int = 0, burst: int = 64
    ) -> ProcessSender:
        """Create a sender of datagrams to a VM, for use in a process: ``sender.send(8)``.

        On a wire with such a sender, frames are computed as time advances and not ahead, so that any sender with
        pending frames may be the next.

        Args:
            vm: receiver.
            size: bytes of data in a frame.
            name: flow with the counters; senders with the same name share it.
            device: number of the VM's NIC.
            burst: number of frames in one turn on the wire.

        Raises:
            WiringError: the process has already yielded, or the VM does not have the NIC.
        """
        if self.is_wired:
            raise WiringError(
                f"the sender {name!r} is created too late: create senders before the first yield of the process"
            )
        if not 0 <= device < len(vm.devices):
            raise WiringError(f"{vm.name} has no device {device} for the sender {name!r}")
        nic = vm.devices[device].nic
        wire = nic.wire
        if isinstance(wire, OpenLoopWire):  # computes frames ahead, so that none can be inserted before them
            index = list(self.nics).index(nic.name)
            nic.wire = wire = ClosedLoopWire(self.streams.stream("nic", index), wire.flows())
        assert isinstance(wire, ClosedLoopWire)
        flow = next((flow for flow in self.flows if flow.name == name and flow.receivers == 1), None)
        if flow is None:
            flow = Flow(name, size, 1)
            self.flows.append(flow)
        return ProcessSender(self.clock, wire, datagram_sender(self, flow, vm, device, size, burst))

    def random(self) -> np.random.Generator:
        """Create a random stream for a process.

        Each call returns a different one, the same in every run of a replication.
        """
        self._random_streams += 1
        return self.streams.stream("process", self._random_streams - 1)

    def busy(self, now: int) -> int:
        """Return the total busy time of all PCPUs up to now, in picoseconds."""
        total = 0
        for pcpu in self.scheduler.pcpus:
            total += pcpu.busy(now)
        return total

    def move(self, vm: VirtualMachine, node: Node, now: int) -> None:
        """Migrate a VM to a NUMA node.

        The NUMA balancer may migrate it again, unless its clients are ``pinned``.
        """
        for unit in vm.numa_clients:
            self.scheduler.rehome(unit.worlds, node, now)

    @property
    def vcpus(self) -> list[Vcpu]:
        """All vCPUs, by VM."""
        return [vcpu for vm in self.vms for vcpu in vm.vcpus]

    @property
    def ports(self) -> list[Port]:
        """All receive queues of guest devices, by VM."""
        return [port for vm in self.vms for device in vm.devices for port in device.ports]

    @property
    def transmits(self) -> list[TxQueue]:
        """All transmit queues with contexts, by VM."""
        return [queue for vm in self.vms for device in vm.devices for _, queue in device.transmit_contexts()]

    @property
    def queues(self) -> list[RxQueue]:
        """All receive queues of physical NICs."""
        return [queue for nic in self.nics.values() for queue in nic.queues]

    def worlds(self) -> list[World]:
        """All worlds: NetPolls, then those of each VM, of VMkernel ports, and the firmware's."""
        stops = self.firmware.worlds if self.firmware else []
        of_vms = (world for vm in self.vms for world in (*vm.worlds, *vm.vcpus))
        return [*self.polls, *of_vms, *self.vmkernel, *stops]


def next_uplink(host: Host, network: str, vm: VirtualMachine | None = None) -> str:
    """Return the uplink of the next virtual port of a virtual switch.

    The ports of all port groups of a switch take its uplinks in turn. With IP hash a port always has the uplink of its
    address and the peer's, because all its packets go to one peer; in a tunnel, that of the tunnel's endpoints.

    Args:
        host: the host.
        network: name of the virtual switch or port group.
        vm: a VM under construction whose devices count.
    """
    vswitches = host.spec.vswitches
    switch = vswitches[network].port_group_of or network
    vms = host.vms if vm is None else [*host.vms, vm]
    networks = [device.switch for other in vms for device in other.devices if device.switch] + host.vmkernel_ports
    before = sum((vswitches[name].port_group_of or name) == switch for name in networks)
    spec = vswitches[network]
    if spec.teaming == "ip_hash":
        own = vmkernel_address(len(host.vmkernel_ports)) if vm is None else vm.address
        return spec.uplinks[ip_hash(*(TUNNEL_ENDS if spec.vxlan else (own, PEER)), len(spec.uplinks))]
    return spec.uplinks[before % len(spec.uplinks)]


def datagram_sender(
    host: Host, flow: Flow, vm: VirtualMachine, device: int, size: int, burst: int, port: int = FIRST_PORT
) -> Sender:
    """Return a new sender of datagrams to a device of a VM, steered by its receive filter.

    NICs and vNICs hash addresses only, as fragments have no ports. With ``ethernetX.udpRSS`` the peer's ``port``
    counts, too.
    """
    target = vm.devices[device]
    switch = links(vm.group, host.spec.vswitches, host.spec.nics)[device]
    vxlan = switch.vxlan
    octets = datagram_on_wire(size, vxlan=vxlan, tag=switch.tag)
    sender = Sender(flow, size, transmission_ps(octets, host.spec.hardware.nics[target.nic.name].rate), burst)
    ports = (port, UDP_PORT) if target.udp_rss else ()
    packet = rss_input(PEER, vm.address, *ports)
    host.netqueues[target.nic.name].add(target.filter, sender, nic_hash(packet, vxlan=vxlan), packet)
    return sender


def add_nic(host: Host, name: str, streams: Streams, tx_limit: int | None = None) -> Pnic:
    """Add a port of a physical NIC without receive queues to a host.

    Args:
        host: the host.
        name: name of the port.
        streams: random streams.
        tx_limit: descriptors of packets that may wait for the wire; default: those of the NIC.
    """
    nic = host.spec.hardware.nics[name]
    limit = nic.tx_queue if tx_limit is None else tx_limit
    node, wire = host.scheduler.nodes[nic.node], _wire(host, streams)
    port = host.nics[name] = (
        SwitchingPnic(name, node, wire, limit, host.clock, _slot(nic))
        if _switches(host.spec, name)
        else Pnic(name, node, wire, limit)
    )
    return port


def _switches(spec: PointSpec, name: str) -> bool:
    """True for a port with functions over which VMs of the host send to other VMs."""
    groups = {group.name: group for group in spec.vms}
    for traffic in spec.traffic.values():
        if not isinstance(traffic, VmTraffic):
            continue
        for names, vnic in ((traffic.sender, traffic.vnic), (traffic.to, traffic.to_vnic)):
            for group in (groups[group_name] for group_name in names):
                function = vnic - len(group.networks)
                if function >= 0 and group.settings.passthrough[function].nic == name:
                    return True
    return False


def _slot(nic: NicSpec) -> float:
    """Return the bandwidth of the slot for a port in bits/s, each way."""
    if nic.pcie is None:
        raise WiringError(f"the slot of a {nic.model} is unknown, but limits its internal switch")
    return nic.pcie.bandwidth / nic.ports_on_adapter


def _wire(host: Host, streams: Streams) -> Wire:
    """Return the wire of the host's next port, which depends on whether traffic is closed-loop."""
    if any(traffic.closed_loop for traffic in host.spec.traffic.values()):
        return ClosedLoopWire(streams.stream("nic", len(host.nics)))
    return OpenLoopWire()


def add_rx_queue(host: Host, port: Pnic, memory: Node, lro_bytes: int, function: str = "") -> RxQueue:
    """Add a receive queue without a poller to a port, with moderation by the driver's options.

    Args:
        host: the host.
        port: the port.
        memory: NUMA node of the ring.
        lro_bytes: largest packet after LRO of the NIC; 0 if it is off.
        function: name of the virtual function of the queue; empty for the port itself.
    """
    nic, options = host.spec.hardware.nics[port.name], host.spec.nics.get(port.name, NicOptions())
    interval = nic.interrupt_interval if options.interrupt_interval is None else options.interrupt_interval
    moderation = Moderation(interval) if interval is not None else MODERATION_RULES[str(nic.moderation)](nic.line_rate)
    index = len(port.queues)
    delay = nic.tx_interrupt_delay
    completions = moderation.for_completions() if delay is None else CoalescedCompletions(delay)
    jitter = Jitter(nic.interrupt_step, host.streams.stream("nic", list(host.nics).index(port.name), "rx", index))
    name = (
        f"{function}-rx{sum(queue.name.startswith(f'{function}-') for queue in port.queues)}"
        if function
        else f"{port.name}-rx{index}"
    )
    table = LroTable(Aggregation(lro_bytes, nic.lro_sessions), moderation) if nic.lro and lro_bytes else None
    queue = RxQueue(host.clock, name, nic.rx_ring, moderation, jitter, port, memory, completions=completions, lro=table)
    port.queues.append(queue)
    if port.vector is None:
        port.vector = queue
    return queue
