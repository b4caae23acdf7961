"""Wiring of a host: builds PCPUs, NICs, switches, VMs and traffic from their specs and connects them."""

from __future__ import annotations

from hostsim.engine.random_stream import Streams
from hostsim.errors import WiringError
from hostsim.model.contract import Wire
from hostsim.model.control.dense_mode import DenseMode
from hostsim.model.control.numa_io import NumaIo
from hostsim.model.cpu.balancer import Balancer
from hostsim.model.cpu.firmware import Firmware
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.host import Host, PassthroughNic, VirtualMachine, VirtualNic
from hostsim.model.net.closed_loop_wire import ClosedLoopWire
from hostsim.model.net.directpath import DirectRing, DirectTx
from hostsim.model.net.netpoll import NetPoll
from hostsim.model.net.netqueue import NetQueue
from hostsim.model.net.networld import NetWorld, TxCoalescing, TxQueue, Uplink
from hostsim.model.net.open_loop_wire import OpenLoopWire
from hostsim.model.net.pnic import Pnic, RxQueue
from hostsim.model.net.vnic import Vnic
from hostsim.model.net.vswitch import Port, SplitRx, VSwitch
from hostsim.model.telemetry import register_probes
from hostsim.model.workload.attach import attach_control_loops, attach_workloads
from hostsim.policy.aggregation import Backoff
from hostsim.policy.scheduling import home_nodes
from hostsim.spec.host import PointSpec, VmGroupSpec
from hostsim.spec.nic import NicOptions, NicSpec
from hostsim.spec.platform import VnicSettings

__all__ = ["build_host"]

QUEUE_DISCIPLINE = 1000
"""Packets that wait in a guest for a full transmit ring (Linux ``txqueuelen``)."""
MOST_JOINED = 65536
"""Bytes of a packet that LRO of a NIC makes at most: the length field of IPv4."""


def build_host(spec: PointSpec, streams: Streams) -> Host:
    """Build a host from its spec; simulated time has not started.

    Raises:
        WiringError: a part refers to one that is missing.
    """
    host = Host(spec)
    settings = spec.settings
    for name, vswitch in spec.vswitches.items():
        lro = settings.lro_bytes if settings.sw_lro else 0
        host.switches[name] = VSwitch(host.scheduler, host.costs, lro_octets=lro, vxlan=vswitch.vxlan)
        for uplink in vswitch.uplinks:
            _add_nic(host, name, uplink, streams)
    for group in spec.vms:
        for number in range(group.count):
            _add_vm(host, group, f"{group.name}[{number}]", streams)
    for name in (uplink for vswitch in spec.vswitches.values() for uplink in vswitch.uplinks):
        _add_queues(host, name)
    attach_workloads(host, streams)
    host.balancer = Balancer(host.scheduler, host.worlds(), settings.rebalance_period, host.costs.vcpu_lead)
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
    for port in (port for vm in host.vms for passed in vm.passthrough for port in passed.ports):
        port.vnic.unmask(host.clock.now)
    host.numa_io = NumaIo(host)
    host.dense_mode = DenseMode(host)
    attach_control_loops(host)
    register_probes(host)
    return host


def _closed_loop(spec: PointSpec) -> bool:
    """True when some traffic is closed-loop: a peer waits for the host's answers."""
    return any(traffic.closed_loop for traffic in spec.traffic.values())


def _wire(spec: PointSpec, number: int, streams: Streams) -> Wire:
    """Make the wire in front of the host's ``number``-th port."""
    return ClosedLoopWire(streams.stream("nic", number)) if _closed_loop(spec) else OpenLoopWire()


def _add_nic(host: Host, switch: str, name: str, streams: Streams) -> None:
    """Add a port of a physical NIC, without receive queues."""
    spec = host.spec
    nic = spec.hardware.nics.get(name)
    if nic is None:
        raise WiringError(f"the uplink {name!r} of {switch!r} is not a NIC of the host")
    joins = spec.settings.lro_bytes if nic.lro and spec.settings.hw_lro else 0
    host.nics[name] = Pnic(
        name, host.scheduler.nodes[nic.node], _wire(spec, len(host.nics), streams), nic.tx_queue, joins=joins
    )


def _add_vm(host: Host, group: VmGroupSpec, name: str, streams: Streams) -> None:
    """Power on a VM: home nodes are assigned round robin, and so are the uplinks of its switch to virtual ports."""
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
                host.costs,
                group.guest,
                read_ps,
                group.settings.shares,
            )
        )
    vm = VirtualMachine(name, group, vcpus)
    for number, (settings, network) in enumerate(zip(group.settings.vnics, group.networks, strict=True)):
        _add_vnic(host, vm, number, settings, network)
    for passed in group.settings.passthrough:
        vm.passthrough.append(_pass_through(host, passed, vcpus, _wire(spec, len(host.nics), streams)))
    _add_networlds(host, vm)
    if exclusive := group.settings.exclusive:
        for vcpu in vcpus:
            scheduler.dedicate(vcpu, allowed, [*host.worlds(), *vm.worlds])
    for node in dict.fromkeys(world.node for world in (*vcpus, *vm.worlds)):
        together = [world for world in (*vcpus, *vm.worlds) if world.node is node]
        vm.numa_clients.append(scheduler.adopt(together, movable=not exclusive, nodes=group.settings.nodes or None))
    if len(vcpus) > 1 and not exclusive:
        scheduler.coschedule(vcpus)
    host.vms.append(vm)


def _add_vnic(host: Host, vm: VirtualMachine, number: int, settings: VnicSettings, network: str) -> None:
    """Add a vNIC to a VM: receive and transmit queues, spread over the vCPUs."""
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
        host.costs,
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
            split = SplitRx(f"{vm.name}.splitRx", vcpu.node, vcpu.last, vnic, host.costs, capacity, budget)
            vm.worlds.append(split)
        transmit = TxQueue(
            clock, label.replace("-rx", "-tx"), settings.tx_ring + QUEUE_DISCIPLINE, coalescing, uplink, vcpu
        )
        if emulated:
            vnic.interrupt_ps, transmit.copied = host.costs.e1000_interrupt, spec.settings.e1000_tx_copy
            vnic.doorbell_ps = transmit.doorbell_ps = host.costs.e1000_doorbell
        vcpu.vnics.append(vnic)
        vcpu.transmits.append(transmit)
        made.ports.append(Port(vnic, split))
        made.transmits.append(transmit)
        made.filter.vnics.append(vnic)
    for port in made.ports:
        port.vnic.transmits = made.transmits
    vm.vnics.append(made)


def _pass_through(host: Host, name: str, vcpus: list[Vcpu], wire: Wire) -> PassthroughNic:
    """Pass a NIC through to a VM (DirectPath I/O): with RSS it has a queue for each vCPU, as far as there are queues.

    Raises:
        WiringError: it is not a NIC of the host, or in use.
    """
    spec = host.spec
    nic = spec.hardware.nics.get(name)
    if nic is None or name in host.nics:
        raise WiringError(f"{name!r} cannot be passed through: it is {'in use' if nic else 'not a NIC of the host'}")
    options = spec.nics.get(name, NicOptions())
    interval = nic.interrupt_interval if options.interrupt_interval is None else options.interrupt_interval
    joins = MOST_JOINED if nic.lro else 0
    port = host.nics[name] = Pnic(name, host.scheduler.nodes[nic.node], wire, nic.tx_queue, joins=joins)
    uplink = Uplink(port, nic.rate, host.costs, spec.drivers[nic.driver], vxlan=False, tso=nic.tso)
    made = PassthroughNic(port)
    for place in range(min(len(vcpus), nic.rx_queues) if nic.rss else 1):
        vcpu = vcpus[place]
        queue = RxQueue(host.clock, f"{name}-rx{place}", nic.rx_ring, interval, port, vcpu.node)
        ring = DirectRing(host.clock, queue, vcpu, host.costs.interrupt)
        queue.poll = ring
        port.queues.append(queue)
        transmit = DirectTx(host.clock, uplink, vcpu)
        vcpu.vnics.append(ring)
        vcpu.direct.append(transmit)
        made.ports.append(Port(ring, None))
        made.transmits.append(transmit)
        made.filter.vnics.append(ring)
    rings = NetQueue(host.clock, [port.queues], spec.netqueue, dynamic=False, resteer=wire.resteer)
    rings.deal(made.filter, 0)
    host.netqueues[name] = rings
    return made


def _add_networlds(host: Host, vm: VirtualMachine) -> None:
    """Add the NetWorlds of a VM: one transmit context for the VM, for a vNIC, or for a queue, as configured."""
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
        world = NetWorld(name, vm.vcpus[0].node, start, host.scheduler, host.costs, host.spec.settings.tx_poll_bound)
        world.queues = queues
        for queue in queues:
            queue.serve(world)
        vm.worlds.append(world)


def _beside(pcpu: Pcpu) -> Pcpu:
    """Return the next PCPU of the same node."""
    pcpus = pcpu.node.pcpus
    return pcpus[(pcpus.index(pcpu) + 1) % len(pcpus)]


def _add_queues(host: Host, name: str) -> None:
    """Add the receive queues of a port with their NetPolls, and assign the vNICs to them."""
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
    """Make the rings of a receive queue, each with a NetPoll, on the NIC's NUMA node."""
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
            host.costs,
            spec.drivers[nic.driver],
            spec.settings.poll_budget,
        )
        host.polls.append(poll)
        rings.append(queue)
    return rings
