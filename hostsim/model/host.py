"""The host: the one file that wires parts together and names them."""

from __future__ import annotations

from dataclasses import dataclass, field

from hostsim.engine.clock import Clock
from hostsim.engine.probe import Probe
from hostsim.engine.streams import Streams
from hostsim.errors import WiringError
from hostsim.model.connect import connect
from hostsim.model.cpu.balancer import Balancer
from hostsim.model.cpu.firmware import Firmware
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Node, Scheduler, Unit
from hostsim.model.cpu.world import World
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.net.link import Link
from hostsim.model.net.netpoll import NetPoll
from hostsim.model.net.netqueue import NetQueue, VnicFilter
from hostsim.model.net.networld import NetWorld, TxCoalescing, TxQueue, Uplink
from hostsim.model.net.pnic import Pnic, RxQueue
from hostsim.model.net.vnic import Vnic
from hostsim.model.net.vswitch import Port, SplitRx, VSwitch
from hostsim.model.net.wire import Wire
from hostsim.model.passthrough import PassedNic, pass_through
from hostsim.model.placement import NumaIo
from hostsim.model.timing import Timing
from hostsim.model.traffic.flow import Flow
from hostsim.model.tuning import Tuning
from hostsim.model.watch import watch
from hostsim.policy.aggregation import Backoff
from hostsim.policy.scheduling import home_nodes
from hostsim.spec.host import PointSpec, VmGroupSpec
from hostsim.spec.nic import NicOptions, NicSpec
from hostsim.spec.settings import VnicSettings
from hostsim.spec.workload import ExchangeSpec, TcpSpec

__all__ = ["Host", "VirtualMachine", "VirtualNic", "build_host"]

SLICES_AT_FIRST = 128
QUEUE_DISCIPLINE = 1000
"""Packets that wait in a guest for a full transmit ring (Linux ``txqueuelen``)."""


@dataclass(eq=False)
class VirtualNic:
    """A vNIC of a VM."""

    settings: VnicSettings
    vswitch: VSwitch
    switch: str
    nic: Pnic
    """The uplink that teaming gave its port."""
    ports: list[Port] = field(default_factory=list)
    """One for each receive queue."""
    transmits: list[TxQueue] = field(default_factory=list)
    filter: VnicFilter = field(default_factory=lambda: VnicFilter([]))


@dataclass(eq=False)
class VirtualMachine:
    """A VM: what belongs together."""

    name: str
    group: VmGroupSpec
    vcpus: list[Vcpu]
    vnics: list[VirtualNic] = field(default_factory=list)
    passed: list[PassedNic] = field(default_factory=list)
    """Physical NICs that it has to itself."""
    worlds: list[World] = field(default_factory=list)
    """Its NetWorlds and split-receive contexts."""
    units: list[Unit] = field(default_factory=list)
    """What of it has a home together: all of it, or a block of a wide one."""

    @property
    def devices(self) -> list[VirtualNic | PassedNic]:
        """What its guest sees as NICs, in the order of their numbers."""
        return [*self.vnics, *self.passed]

    @property
    def is_bound(self) -> bool:
        """Its nodes are set, or its vCPUs have PCPUs to themselves, so that nothing moves it."""
        return bool(self.group.settings.nodes) or self.group.settings.exclusive

    def frames(self) -> int:
        """Packets through its vNICs."""
        received = sum(port.vnic.frames for vnic in self.vnics for port in vnic.ports)
        return received + sum(queue.ring.taken for vnic in self.vnics for queue in vnic.transmits)

    def near(self, node: Node) -> bool:
        """One of its uplinks is behind this node."""
        return any(vnic.nic.node is node for vnic in self.vnics)


class Host:
    """A wired host, ready to run.

    Attributes:
        spec: what it was built from.
        clock: its time.
        timing: costs on its processors.
        scheduler: its PCPUs.
        nics: ports of its physical NICs that a switch or a VM uses.
        netqueues: their receive queues, by name of the port.
        polls: NetPoll worlds.
        switches: virtual switches by name.
        vms: in order of power-on.
        flows: what comes at it, in the order of the scenario.
        numa_io: placement of VMs next to their NICs.
        tuning: dynamic tuning of the whole host.
        balancer: moves worlds between busy PCPUs of a node.
        firmware: what takes its PCPUs away, if anything does.
        probe: its counters in time slices.
    """

    numa_io: NumaIo
    tuning: Tuning
    balancer: Balancer

    def __init__(self, spec: PointSpec) -> None:
        self.spec = spec
        self.clock = Clock()
        cpu = spec.hardware.cpu
        self.timing = Timing(spec.costs, cpu)
        self.scheduler = Scheduler(self.clock, cpu.sockets, cpu.cores, self.timing, spec.settings, cpu.threads)
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
        """Receive queues of physical NICs that somebody serves."""
        return [queue for nic in self.nics.values() for queue in nic.queues]

    def worlds(self) -> list[World]:
        """All worlds."""
        stops = self.firmware.worlds if self.firmware else []
        return [*self.polls, *(world for vm in self.vms for world in (*vm.worlds, *vm.vcpus)), *stops]


def build_host(spec: PointSpec, streams: Streams) -> Host:
    """Wire a host as its spec says; time has not started.

    Raises:
        WiringError: a part lacks its other end.
    """
    host = Host(spec)
    settings = spec.settings
    for name, vswitch in spec.vswitches.items():
        lro = settings.lro_bytes if settings.sw_lro else 0
        host.switches[name] = VSwitch(host.scheduler, host.timing, lro_octets=lro, vxlan=vswitch.vxlan)
        for uplink in vswitch.uplinks:
            _add_nic(host, name, uplink, streams)
    for group in spec.vms:
        for number in range(group.count):
            _add_vm(host, group, f"{group.name}[{number}]", streams)
    for name in (uplink for vswitch in spec.vswitches.values() for uplink in vswitch.uplinks):
        _add_queues(host, name)
    connect(host, streams)
    host.balancer = Balancer(host.scheduler, host.worlds(), settings.rebalance_period, host.timing.vcpu_lead)
    if spec.hardware.firmware is not None:  # its worlds stay where they are
        host.firmware = Firmware(host.scheduler, spec.hardware.firmware, streams.stream("firmware"))
    for place, group in enumerate(spec.vms):
        members = [vm for vm in host.vms if vm.group is group]
        for number, vm in enumerate(members):
            for which, vcpu in enumerate(vm.vcpus):
                scope = ("vm", place, number, which) if which else ("vm", place, number)
                vcpu.boot(int(streams.stream(*scope).integers(0, group.guest.timer_period)))
    for poll in host.polls:
        poll.rest(host.clock.now)
    for port in (port for vm in host.vms for passed in vm.passed for port in passed.ports):
        port.vnic.unmask(host.clock.now)
    host.numa_io = NumaIo(host)
    host.tuning = Tuning(host)
    watch(host)
    return host


def _closed_loop(spec: PointSpec) -> bool:
    """True where something waits for the host's answers."""
    return any(isinstance(traffic, TcpSpec | ExchangeSpec) for traffic in spec.traffic.values())


def _wire(spec: PointSpec, number: int, streams: Streams) -> Wire | Link:
    """The wire in front of a port, the host's ``number``-th."""
    return Link(streams.stream("nic", number)) if _closed_loop(spec) else Wire()


def _add_nic(host: Host, switch: str, name: str, streams: Streams) -> None:
    """A port of a physical NIC, with no queue yet."""
    spec = host.spec
    nic = spec.hardware.nics.get(name)
    if nic is None:
        raise WiringError(f"the uplink {name!r} of {switch!r} is not a NIC of the host")
    joins = spec.settings.lro_bytes if nic.lro and spec.settings.hw_lro else 0
    host.nics[name] = Pnic(
        name, host.scheduler.nodes[nic.node], _wire(spec, len(host.nics), streams), nic.tx_queue, joins=joins
    )


def _add_vm(host: Host, group: VmGroupSpec, name: str, streams: Streams) -> None:
    """A VM: homes are dealt round robin over the nodes in order of power-on, ports over the uplinks of their switch."""
    spec, scheduler, clock = host.spec, host.scheduler, host.clock
    hertz = spec.costs.cycle_rate(spec.hardware.cpu.family, spec.hardware.cpu.clock)
    read_ps = group.guest.applications.udp_sink.ps(hertz)
    position = len(host.vms)
    allowed = [scheduler.nodes[node] for node in group.settings.nodes] or scheduler.nodes
    homes = [allowed[home] for home in home_nodes(position, group.vcpus, len(allowed), spec.hardware.cpu.cores)]
    first = position // len(allowed)
    vcpus = []
    for number, node in enumerate(homes):
        start = node.pcpus[(first * group.vcpus + number) % len(node.pcpus)]
        vcpus.append(
            Vcpu(
                clock,
                f"{name}.vcpu{number}",
                node,
                start,
                scheduler,
                host.timing,
                group.guest,
                read_ps,
                group.settings.shares,
            )
        )
    vm = VirtualMachine(name, group, vcpus)
    for number, (settings, network) in enumerate(zip(group.settings.vnics, group.networks, strict=True)):
        _add_vnic(host, vm, number, settings, network)
    for passed in group.settings.passthrough:
        vm.passed.append(pass_through(host, passed, vcpus, _wire(spec, len(host.nics), streams)))
    _add_networlds(host, vm)
    if exclusive := group.settings.exclusive:
        for vcpu in vcpus:
            scheduler.dedicate(vcpu, allowed, [*host.worlds(), *vm.worlds])
    for node in dict.fromkeys(world.node for world in (*vcpus, *vm.worlds)):
        together = [world for world in (*vcpus, *vm.worlds) if world.node is node]
        vm.units.append(scheduler.adopt(together, movable=not exclusive, nodes=group.settings.nodes or None))
    if len(vcpus) > 1 and not exclusive:
        scheduler.coschedule(vcpus)
    host.vms.append(vm)


def _add_vnic(host: Host, vm: VirtualMachine, number: int, settings: VnicSettings, network: str) -> None:
    """A vNIC: receive and transmit queues, each on a vCPU of its own as far as there are some."""
    spec, clock = host.spec, host.clock
    vswitch = spec.vswitches[network]
    on_switch = sum(vnic.switch == network for other in host.vms for vnic in other.vnics)
    name = vswitch.uplinks[(on_switch + sum(vnic.switch == network for vnic in vm.vnics)) % len(vswitch.uplinks)]
    nic, hardware = host.nics[name], spec.hardware.nics[name]
    options = spec.nics.get(name, NicOptions())
    queues = min(len(vm.vcpus), options.rss_rings) if settings.rss else 1
    uplink = Uplink(
        nic,
        hardware.rate,
        host.timing,
        spec.drivers[hardware.driver],
        vxlan=vswitch.vxlan,
        tso=spec.settings.hw_tso and (hardware.vxlan_tso if vswitch.vxlan else hardware.tso),
    )
    emulated = settings.device == "e1000"
    coalescing = TxCoalescing(
        spec.settings.tx_timeout, spec.settings.tx_depth_cap, spec.settings.tx_call_rate, calls=not emulated
    )
    made = VirtualNic(settings, host.switches[network], network, nic)
    for place in range(queues):
        vcpu = vm.vcpus[place]
        label = f"{vm.name}.eth{number}" + (f"-rx{place}" if queues > 1 else "")
        backoff = Backoff(spec.settings.lro_threshold, spec.settings.lro_backoff)
        vnic = Vnic(clock, label, settings.rx_ring, settings.coalescing, vcpu, backoff, settings.refill)
        split = None
        if settings.split_rx:
            capacity, budget = spec.settings.port_rx_queue, spec.settings.poll_budget
            split = SplitRx(f"{vm.name}.splitRx", vcpu.node, vcpu.last, vnic, host.timing, capacity, budget)
            vm.worlds.append(split)
        transmit = TxQueue(
            clock, label.replace("-rx", "-tx"), settings.tx_ring + QUEUE_DISCIPLINE, coalescing, uplink, vcpu
        )
        if emulated:
            vnic.interrupt_ps, transmit.copied = host.timing.e1000_interrupt, spec.settings.e1000_tx_copy
            vnic.doorbell_ps = transmit.doorbell_ps = host.timing.e1000_doorbell
        vcpu.vnics.append(vnic)
        vcpu.transmits.append(transmit)
        made.ports.append(Port(vnic, split))
        made.transmits.append(transmit)
        made.filter.vnics.append(vnic)
    for port in made.ports:
        port.vnic.transmits = made.transmits
    vm.vnics.append(made)


def _add_networlds(host: Host, vm: VirtualMachine) -> None:
    """Transmit contexts: of the VM, of each vNIC that asks for one of its own, of each of its queues."""
    shared: list[TxQueue] = []
    contexts: list[tuple[str, list[TxQueue]]] = []
    for number, vnic in enumerate(vm.vnics):
        if vnic.settings.tx_context == "vm":
            shared += vnic.transmits
        elif vnic.settings.tx_context == "vnic":
            contexts.append((f"{vm.name}.NetWorld-eth{number}", vnic.transmits))
        else:
            contexts += [
                (f"{vm.name}.NetWorld-eth{number}-{place}", [queue]) for place, queue in enumerate(vnic.transmits)
            ]
    if shared:
        contexts.insert(0, (f"{vm.name}.NetWorld", shared))
    for name, queues in contexts:
        start = _beside(vm.vcpus[-1].last)
        world = NetWorld(name, vm.vcpus[0].node, start, host.scheduler, host.timing, host.spec.settings.tx_poll_bound)
        world.queues = queues
        for queue in queues:
            queue.serve(world)
        vm.worlds.append(world)


def _beside(pcpu: Pcpu) -> Pcpu:
    """The next PCPU of the same node."""
    pcpus = pcpu.node.pcpus
    return pcpus[(pcpus.index(pcpu) + 1) % len(pcpus)]


def _add_queues(host: Host, name: str) -> None:
    """Receive queues of a port with their NetPolls, and what frames for each vNIC come by."""
    spec = host.spec
    nic, options = spec.hardware.nics[name], spec.nics.get(name, NicOptions())
    (switch,) = (switch for switch, vswitch in spec.vswitches.items() if name in vswitch.uplinks)
    here = [vnic for vm in host.vms for vnic in vm.vnics if vnic.nic.name == name]
    hashed = [vnic for vnic in here if len(vnic.ports) > 1]
    tunnelled = spec.vswitches[switch].vxlan  # so that the NIC sees one address, and all is for the default queue
    left = nic.rx_queues - options.drss
    shared = [_rings(host, name, nic, options.drss)]
    owned = []
    if spec.settings.netqueue and not tunnelled:
        for vnic in hashed:
            if left >= options.rss_rings:
                owned.append((vnic, _rings(host, name, nic, options.rss_rings)))
                left -= options.rss_rings
        dealt = len(here) - len(owned)
        shared += [_rings(host, name, nic, 1) for _ in range(min(left, dealt))]
    dynamic, wire = spec.settings.netqueue_dynamic, host.nics[name].wire
    netqueue = NetQueue(host.clock, shared, spec.netqueue, dynamic=dynamic, resteer=wire.resteer)
    for vnic, rings in owned:
        netqueue.give(vnic.filter, rings)
    alone = [vnic for vnic in here if not any(vnic is other for other, _ in owned)]
    for position, vnic in enumerate(alone):
        netqueue.deal(vnic.filter, position)
    host.netqueues[name] = netqueue


def _rings(host: Host, name: str, nic: NicSpec, count: int) -> list[RxQueue]:
    """Rings of a queue, each with a NetPoll, on the NIC's node."""
    spec, port = host.spec, host.nics[name]
    options = spec.nics.get(name, NicOptions())
    interval = nic.interrupt_interval if options.interrupt_interval is None else options.interrupt_interval
    switch = next(switch for switch, vswitch in spec.vswitches.items() if name in vswitch.uplinks)
    rings = []
    for _ in range(count):
        number = len(port.queues)
        queue = RxQueue(host.clock, f"{name}-rx{number}", nic.rx_ring, interval, port, port.node)
        port.queues.append(queue)
        start = port.node.pcpus[len(host.polls) % len(port.node.pcpus)]
        poll = NetPoll(
            f"{name}-pollWorld-{number}",
            port.node,
            start,
            host.scheduler,
            queue,
            host.switches[switch],
            host.timing,
            spec.drivers[nic.driver],
            spec.settings.poll_budget,
        )
        host.polls.append(poll)
        rings.append(queue)
    return rings
