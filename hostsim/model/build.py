"""Wiring of a host: builds PCPUs, NICs, switches, VMs and traffic from their specs, and connects them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from hostsim.config.host import PointSpec, VmGroupSpec
from hostsim.config.nic import NicOptions
from hostsim.engine.clock import Clock
from hostsim.engine.random_stream import Streams
from hostsim.errors import WiringError
from hostsim.model.control.dense_mode import DenseMode
from hostsim.model.control.numa import NetPollHomes, NumaBalancer, NumaIo
from hostsim.model.control.periodic import periodic, system_management_interrupts
from hostsim.model.control.resources import CpuResources, needs_cpu_resources
from hostsim.model.control.split_rx import AutomaticSplitRx
from hostsim.model.cpu.balancer import Balancer
from hostsim.model.cpu.firmware import Firmware
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.guest.device import GuestDevice, VirtualMachine
from hostsim.model.guest.directpath import DirectPath, VirtualFunction
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.guest.virtual_nic import E1000, Vmxnet3
from hostsim.model.host import Host, HostProcess, add_nic, add_rx_queue
from hostsim.model.policy.numa import home_nodes
from hostsim.model.policy.scheduler import ProportionalShare, SchedulerPolicy
from hostsim.model.policy.steering import STEERING_RULES, SteeringRule
from hostsim.model.policy_maker import policy_maker
from hostsim.model.receive.context import NetPoll, VSwitch
from hostsim.model.receive.netqueue import NetQueue
from hostsim.model.receive.nic import Pnic, RxQueue
from hostsim.model.telemetry import register_probes
from hostsim.model.traffic.address import vm_address
from hostsim.model.traffic.attach import attach_control_loops, attach_workloads
from hostsim.model.transmit.networld import NetWorld, TxQueue

__all__ = ["DEVICES", "build_host"]

DEVICES: Final[Mapping[str, Callable[[Host, VirtualMachine, Any, Streams], GuestDevice]]] = {
    "vmxnet3": Vmxnet3,
    "e1000": E1000,
    "directpath": DirectPath,
    "sriov": VirtualFunction,
}
"""Kinds of guest devices by name in the spec."""


def build_host(
    spec: PointSpec,
    streams: Streams,
    *,
    clock: Clock | None = None,
    processes: Iterable[HostProcess] = (),
) -> Host:
    """Build a host from its spec; simulated time has not started.

    Args:
        spec: the point.
        streams: random streams of the replication.
        clock: clock at time 0; default: a new one. `Clock(StockEventQueue())` runs the host on SimPy's stock
            environment.
        processes: traffic sources and control loops of the user (`Host.start`).

    Raises:
        WiringError: a part refers to one that is missing.
    """
    host = Host(spec, streams, policy_maker(spec, "scheduler", SchedulerPolicy, ProportionalShare), clock)
    settings = spec.settings
    for name, vswitch in spec.vswitches.items():
        if vswitch.port_group_of is None:
            host.switches[name] = VSwitch(host.services, vxlan=vswitch.vxlan)
        for uplink in vswitch.uplinks:
            if uplink not in spec.hardware.nics:
                raise WiringError(f"the uplink {uplink!r} of {name!r} is not a NIC of the host")
            if uplink not in host.nics:
                add_nic(host, uplink, streams)
    for name, vswitch in spec.vswitches.items():
        if vswitch.port_group_of is not None:
            host.switches[name] = host.switches[vswitch.port_group_of]
    for group in spec.vms:
        for member in range(group.count):
            _add_vm(host, group, f"{group.name}[{member}]", streams)
    if len(host.scheduler.nodes) > 1 and host.vms and spec.hypervisor:
        balancer = NumaBalancer(host.scheduler, settings.numa_rebalance_period, settings.numa_imbalance / 100)
        host.clock.start(balancer.run())
    for name, port in host.nics.items():
        _add_queues(host, name, port)
    for device in (device for vm in host.vms for device in vm.devices if len(device.nic.queues) == 1):
        for virtual_port in device.ports:
            virtual_port.vnic.lock = None  # a single context delivers, which never waits for it
    attach_workloads(host, streams)
    attach_control_loops(host)
    for process in processes:
        host.start(process)
    host.is_wired = True
    host.balancer = Balancer(
        host.scheduler, host.worlds(), settings.rebalance_period, settings.package_rebalance_period
    )
    if host.balancer.is_needed and spec.hypervisor:
        host.clock.start(periodic(host.clock, settings.rebalance_period, host.balancer.check))
    if spec.hypervisor and needs_cpu_resources(spec):
        host.clock.start(CpuResources(host).run())
    if spec.hardware.firmware is not None:  # its worlds never migrate
        host.firmware = Firmware(host.scheduler)
        random = streams.stream("firmware")
        host.clock.start(system_management_interrupts(host.clock, host.firmware, spec.hardware.firmware, random))
    for index, group in enumerate(spec.vms):
        members = [vm for vm in host.vms if vm.group is group]
        for member, vm in enumerate(members):
            for vcpu_index, vcpu in enumerate(vm.vcpus):
                scope = ("vm", index, member, vcpu_index) if vcpu_index else ("vm", index, member)
                vcpu.boot(int(streams.stream(*scope).integers(0, group.guest.longest_period)))
    for poll in host.polls:
        poll.rest(host.clock.now)
    for device in (device for vm in host.vms for device in vm.devices):
        for ring in device.rings:
            ring.unmask(host.clock.now)
    if settings.split_rx_rule and any(port.split is not None and not port.is_split for port in host.ports):
        host.clock.start(periodic(host.clock, spec.netqueue.period, AutomaticSplitRx(host).look))
    host.numa_io = NumaIo(host)
    if settings.numa_io_threshold and len(host.scheduler.nodes) > 1 and spec.hypervisor:
        host.clock.start(host.numa_io.run())
    if settings.package_rebalance_period and host.polls and len(host.scheduler.nodes) > 1:
        host.clock.start(NetPollHomes(host).run())
    host.dense_mode = DenseMode(host)
    if settings.tune_dense:
        host.clock.start(host.dense_mode.run())
    register_probes(host)
    return host


def _add_vm(host: Host, group: VmGroupSpec, name: str, streams: Streams) -> None:
    """Power on a VM.

    Home nodes are assigned round robin, and so are the uplinks of its switch to virtual ports. The only VM of a native
    host is the machine.
    """
    spec, scheduler = host.spec, host.scheduler
    hertz = spec.costs.cycle_rate(spec.hardware.cpu.family, spec.hardware.cpu.hertz)
    read_ps = group.guest.applications.udp_sink.ps(hertz)
    position = len(host.vms)
    allowed = [scheduler.nodes[node] for node in group.settings.nodes] or scheduler.nodes
    affinity = group.settings.affinity
    if affinity:
        allowed = [node for node in scheduler.nodes if any(pcpu.index in affinity for pcpu in node.pcpus)]
    cpu, settings = spec.hardware.cpu, group.settings
    room = cpu.node_cores * cpu.threads if settings.prefer_ht else cpu.node_cores
    homes = [
        allowed[home] for home in home_nodes(position, group.vcpus, len(allowed), room, settings.max_per_virtual_node)
    ]
    first = position // len(allowed)
    vcpus = []
    for index, node in enumerate(homes):
        pcpus = [pcpu for pcpu in node.pcpus if pcpu.index in affinity] if affinity else node.pcpus
        start = pcpus[(first * group.vcpus + index) % len(pcpus)]
        vcpus.append(Vcpu(host.services, f"{name}.vcpu{index}", start, group.guest, read_ps, group.settings.shares))
    for vcpu in vcpus:
        vcpu.siblings = vcpus
    vm = VirtualMachine(name, group, vcpus, vm_address(len(host.vms)))
    for device_settings in settings.devices:
        device = DEVICES[device_settings.device](host, vm, device_settings, streams)
        for port in device.ports:
            # the driver of a virtual function joins frames as that of a whole NIC does
            port.vnic.gro = (
                "directpath" if device_settings.device == "sriov" else device_settings.device
            ) in group.guest.gro
        if (offloads := group.settings.offloads) is not None:
            device.turn_off(offloads, hertz)
            # the driver of a vmxnet3 bypasses GRO if LRO is on (Linux vmxnet3_rq_rx_complete)
            has_gro = device_settings.device == "vmxnet3" and not offloads.lro and bool(group.guest.gro)
            for port in device.ports:
                port.vnic.gro = (port.vnic.gro or has_gro) and offloads.gro
        vm.devices.append(device)
    if not spec.hypervisor:
        _pin_processors(host, vcpus)
        host.vms.append(vm)
        return
    _add_networlds(host, vm)
    if exclusive := group.settings.exclusive:
        for vcpu in vcpus:
            scheduler.dedicate(vcpu, allowed, [*host.worlds(), *vm.worlds])
    for node in dict.fromkeys(world.node for world in (*vcpus, *vm.worlds)):
        together = [world for world in (*vcpus, *vm.worlds) if world.node is node]
        movable = not exclusive and not affinity
        vm.numa_clients.append(scheduler.adopt(together, movable=movable, nodes=group.settings.nodes or None))
    for world in (*vcpus, *vm.worlds) if affinity else ():
        scheduler.bind(world, affinity)
    if len(vcpus) > 1 and not exclusive:
        scheduler.coschedule(vcpus)
    host.vms.append(vm)


def _pin_processors(host: Host, processors: Iterable[Vcpu]) -> None:
    """Pin the processors of a native host to its PCPUs: on each node one thread per core, then the others."""
    threads = host.spec.hardware.cpu.threads
    free = {node: [node.pcpus[index::threads] for index in range(threads)] for node in host.scheduler.nodes}
    for processor in processors:
        threads_left = free[processor.node]
        host.scheduler.pin(processor, next(pcpus for pcpus in threads_left if pcpus).pop(0))


def _add_networlds(host: Host, vm: VirtualMachine) -> None:
    """Add the NetWorlds of a VM: one transmit context for the VM, for each vNIC, or for each queue."""
    contexts: dict[str, list[TxQueue]] = {"NetWorld": []}  # the first is the VM's
    for device in vm.devices:
        for name, queue in device.transmit_contexts():
            contexts.setdefault(name, []).append(queue)
    for name, queues in contexts.items():
        if not queues:
            continue
        node, start = vm.vcpus[0].node, _beside(vm.vcpus[-1].last)
        world = NetWorld(host.services, f"{vm.name}.{name}", node, start)
        world.queues = queues
        world.shares = vm.group.settings.shares
        if not vm.group.settings.exclusive:  # vCPUs with exclusive PCPUs do not share
            world.payers = tuple(vcpu for vcpu in vm.vcpus if vcpu.node is node)
        for queue in queues:
            queue.serve(world)
        vm.worlds.append(world)


def _beside(pcpu: Pcpu) -> Pcpu:
    """Return the next PCPU of the same node."""
    pcpus = pcpu.node.pcpus
    return pcpus[(pcpus.index(pcpu) + 1) % len(pcpus)]


def _add_queues(host: Host, name: str, port: Pnic) -> None:
    """Add the receive queues of a port with their NetPolls, and assign guest devices to them.

    Queues of passed-through devices exist already.
    """
    spec = host.spec
    nic, options = spec.hardware.nics[name], spec.nics.get(name, NicOptions())
    here = [device for vm in host.vms for device in vm.devices if device.nic is port]
    owned = [(device, device.rings) for device in here if device.rings]
    served = [device for device in here if not device.rings]
    left = nic.rx_queues - options.drss
    switch = next((switch for switch, vswitch in spec.vswitches.items() if name in vswitch.uplinks), None)
    # frames without a filter go to the default queue, or to the rings of the guest that owns the port
    shared = [_rings(host, switch, port, options.drss)] if switch is not None else [rings for _, rings in owned[:1]]
    if switch is not None and spec.settings.netqueue:
        wide = options.rss_rings
        if spec.vswitches[switch].vxlan:
            # the NIC filters on one address, the tunnel's: one queue for all, with or without RSS
            if wide > 1:
                tunnel = _rings(host, switch, port, wide)
                owned += [(device, tunnel) for device in served]
                served = []
        else:
            for device in [device for device in served if device.rss]:
                if left >= wide:
                    owned.append((device, _rings(host, switch, port, wide)))
                    served.remove(device)
                    left -= wide
            shared += [_rings(host, switch, port, 1) for _ in range(min(left, len(served)))]
    shipped = STEERING_RULES["dynamic" if spec.settings.netqueue_dynamic else "static"]
    rule = policy_maker(spec, "steering", SteeringRule, shipped)(spec.netqueue)
    netqueue = NetQueue(shared, rule, port.node, resteer=port.resteer)
    for device, rings in owned:
        netqueue.give(device.filter, rings)
    for position, device in enumerate(served):
        netqueue.deal(device.filter, position)
    host.netqueues[name] = netqueue
    if options.tx_queues > 1 and switch is not None:
        announcing = port.queues[: options.tx_queues]
        ports = [device for device in here if device.transmit_contexts()]
        for position, device in enumerate(ports):
            for _, queue in device.transmit_contexts():
                queue.uplink.vector = announcing[position % len(announcing)]
    if netqueue.period is not None:
        host.clock.start(periodic(host.clock, netqueue.period, netqueue.balance))


def _rings(host: Host, switch: str, port: Pnic, count: int) -> list[RxQueue]:
    """Create the rings of a receive queue, each with a NetPoll, on the NIC's NUMA node."""
    spec = host.spec
    rings = []
    for _ in range(count):
        index = len(port.queues)
        queue = add_rx_queue(host, port, port.node, spec.settings.lro_bytes if spec.settings.hw_lro else 0)
        start = port.node.pcpus[len(host.polls) % len(port.node.pcpus)]
        driver = spec.drivers[spec.hardware.nics[port.name].driver]
        poll = NetPoll(host.services, f"{port.name}-pollWorld-{index}", start, queue, host.switches[switch], driver)
        host.polls.append(poll)
        rings.append(queue)
    return rings
