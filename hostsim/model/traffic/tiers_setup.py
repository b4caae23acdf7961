"""Attaches services of several tiers: clients, front ends, and connections between tiers.

Each connection is opened when it is first needed.
"""

from __future__ import annotations

from functools import partial
from itertools import count

from hostsim.config.arrival import ServiceSpec
from hostsim.config.nic import segment_size
from hostsim.config.workload import TierSpec, TiersSpec
from hostsim.engine.arrivals import Jitter, ServiceTimes
from hostsim.engine.random_stream import Streams
from hostsim.model.contract import Flow, GuestStream, PacketSink
from hostsim.model.guest.device import VirtualMachine
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.host import Host
from hostsim.model.policy.steering import rss_input
from hostsim.model.receive.wire import ClosedLoopWire
from hostsim.model.traffic.address import PEER, nic_hash
from hostsim.model.traffic.arrival_source import ArrivalTimer, make_arrivals
from hostsim.model.traffic.service import constant_ps, make_service
from hostsim.model.traffic.tcp import Application, Endpoints, Think
from hostsim.model.traffic.tcp_setup import (
    PORTS_A_VCPU,
    START_WITHIN,
    cycle_rate,
    endpoints_of,
    filter_frames,
    switch_of,
    thinking,
    wire_ps,
)
from hostsim.model.traffic.tiers import (
    Answered,
    ClientExchange,
    Clients,
    Exchange,
    Hop,
    Instances,
    LocalExchange,
    LocalHop,
    Message,
    RemoteHop,
    RemoteServers,
)
from hostsim.model.traffic.vm_datagram import local_port, queue_of
from hostsim.model.transmit.networld import LocalRoute

__all__ = ["attach_tiers"]


def attach_tiers(host: Host, name: str, traffic: TiersSpec, members: list[VirtualMachine], streams: Streams) -> None:
    """Attach the clients of a service to its front ends, and each tier to the one before it."""
    position = len(host.flows)
    flow = Flow(name, 0, 1)
    flow.users = traffic.users or 0
    host.flows.append(flow)
    if not members:
        return
    tiers: list[_Tier] = []
    callers, groups = members, traffic.to
    for tier_index, spec in enumerate(traffic.behind):
        vms = [vm for group in spec.to or () for vm in host.vms if vm.group.name == group]
        groups = spec.to or groups
        own = Flow(f"{name}-{tier_index + 2}", 0, 1)
        own.groups, own.is_local = groups, spec.to is not None
        host.flows.append(own)
        tiers.append(_Tier(host, own, traffic, spec, vms, tier_index))
        for vm in (*callers, *vms) if vms else ():
            for port in vm.devices[traffic.vnic].ports:
                local_port(host, vm.devices[traffic.vnic], port)
        callers = vms
    for tier, behind in zip(tiers, [*tiers[1:], None], strict=True):
        tier.behind = behind
    front = _FrontEnd(host, flow, traffic, members, tiers[0])
    random = streams.stream("traffic", position)
    think: Think | None = None
    if traffic.users is not None:
        think = thinking(traffic.think_time, streams.stream("traffic", position, "think"))
    unused = PORTS_A_VCPU * max(len(vm.vcpus) for vm in members)
    instances = Instances(len(members), list(traffic.joins))
    clients = Clients(host.clock, instances, front.connect, think, len(members), unused)
    if traffic.users is not None:
        for start in random.integers(0, START_WITHIN, traffic.users):
            clients.ask(int(start) + (think() if think is not None else 0))
    else:
        arrivals = make_arrivals(traffic.arrivals, traffic.rate, random, host.spec.peer.timer_jitter)
        ArrivalTimer(host.clock, arrivals, flow, clients.come)


def _application(host: Host, vm: VirtualMachine, service: ServiceSpec) -> Application:
    """Return the costs of a tier's process in a VM."""
    guest, hertz = vm.group.guest, cycle_rate(host)
    return Application(
        per_packet=guest.applications.tcp_sink.ps(hertz),
        per_write=guest.applications.tcp_source.ps(hertz),
        per_request=constant_ps(service, hertz, 0),
        write_copies=False,
        ack_every=guest.ack_every,
        tso_divisor=guest.tso_divisor,
    )


def _times(host: Host, flow: Flow, service: ServiceSpec, *path: int) -> ServiceTimes | None:
    """Return the service times of a tier if not constant, from a random stream of its connection."""
    scope: tuple[str | int, ...] = ("service", host.flows.index(flow), *path)
    return make_service(service, cycle_rate(host), partial(host.streams.stream, *scope))


def _reply(host: Host, vm: VirtualMachine, traffic: TiersSpec, octets: int) -> Message:
    """Return a reply of ``octets`` bytes, in the smallest number of equal segments."""
    frames = -(-octets // segment_size(switch_of(host, vm, traffic).mtu))
    return Message(frames, -(-octets // frames))


class _FrontEnd:
    """Opens connections of clients to front ends."""

    def __init__(self, host: Host, flow: Flow, traffic: TiersSpec, vms: list[VirtualMachine], behind: _Tier) -> None:
        self._host, self._flow, self._traffic, self._vms, self._behind = host, flow, traffic, vms, behind
        self._places, position = count(), host.flows.index(flow)
        jitter = host.spec.peer.answer_jitter
        self._late = [
            Jitter(jitter, host.streams.stream("traffic", position, member, "answers")) for member in range(len(vms))
        ]
        self._applications = [_application(host, vm, traffic.service) for vm in vms]

    def connect(self, member: int, answered: Answered) -> ClientExchange:
        """Open another connection to a front end."""
        host, traffic, vm, connection = self._host, self._traffic, self._vms[member], next(self._places)
        ends = endpoints_of(host, self._flow, vm, traffic, self._applications[member], connection, self._late[member])
        exchange = ClientExchange(
            ends,
            Message(1, traffic.request_size),
            wire_ps(host, vm, traffic, traffic.request_size),
            _reply(host, vm, traffic, traffic.reply_size),
            _times(host, self._flow, traffic.service, connection),
            answered,
        )
        filter_frames(host, vm, traffic, connection, [exchange.requests])
        self._behind.follow(exchange, vm)
        return exchange


FIRST_PORT, SERVER_PORT = 20000, 9000
"""Ports of the first connection to a tier, and of the second tier's servers; further ones have the next ports."""


class _Tier:
    """A tier after another one: opens connections from each caller's connection to each of its instances.

    Attributes:
        behind: tier that it calls; None for the last one.
    """

    def __init__(
        self,
        host: Host,
        flow: Flow,
        traffic: TiersSpec,
        spec: TierSpec,
        vms: list[VirtualMachine],
        tier: int,
    ) -> None:
        self._host, self._flow, self._traffic, self._spec, self._vms, self._tier = (
            host,
            flow,
            traffic,
            spec,
            vms,
            tier,
        )
        self.behind: _Tier | None = None
        self._callers: dict[Exchange, VirtualMachine] = {}
        self._hops: dict[tuple[Exchange, int], Hop] = {}
        self._places = count()
        self._instances = Instances(max(1, len(vms)), list(spec.joins))
        self._applications = [_application(host, vm, spec.service) for vm in vms]
        self._request = Message(1, spec.request_size)
        self._none = Jitter(0, host.streams.stream("traffic", host.flows.index(flow), "none"))
        self._late = self._none
        self._servers: RemoteServers | None = None
        if spec.servers is not None:
            hertz, times = cycle_rate(host), _times(host, flow, spec.service)
            self._servers = RemoteServers(spec.servers, constant_ps(spec.service, hertz, 0), times, spec.delay)
            late = host.streams.stream("traffic", host.flows.index(flow), "answers")
            self._late = Jitter(host.spec.peer.answer_jitter, late)

    def follow(self, caller: Exchange, vm: VirtualMachine) -> None:
        """Attach this tier to an exchange of a VM, which calls it."""
        self._callers[caller] = vm
        caller.call_for_each(self._spec.calls, self.hop)

    def hop(self, caller: Exchange, at: int) -> Hop:
        """Return the connection for a call at a given time."""
        instance = self._instances.choose(at)
        hop = self._hops.get((caller, instance))
        if hop is None:
            open_to = self._open if self._servers is None else self._open_remote
            hop = self._hops[caller, instance] = open_to(caller, instance)
        return hop

    def _vcpu_index(self, caller: Exchange, vm: VirtualMachine) -> int:
        """Return the number of the vCPU that a caller's process runs on."""
        return next(index for index, vcpu in enumerate(vm.vcpus) if vcpu is caller.endpoints.vcpu)

    def _open(self, caller: Exchange, instance: int) -> Hop:
        """Open a connection to an instance on this host."""
        host, spec, vm, target = self._host, self._spec, self._callers[caller], self._vms[instance]
        connection, vnic = next(self._places), self._traffic.vnic
        ports = (1 + (FIRST_PORT + connection - 1) % 65535, SERVER_PORT + self._tier)
        forth = rss_input(vm.address, target.address, *ports)
        back = rss_input(target.address, vm.address, *ports[::-1])
        sends, takes = vm.devices[vnic], target.devices[vnic]
        home, there = sends.port(back), takes.port(forth)
        queue = sends.transmit(vm, self._vcpu_index(caller, vm), forth)
        near = self._ends(caller.endpoints.vcpu, caller.endpoints.application, queue)
        vcpu_index = connection % len(target.vcpus)
        if len(takes.ports) >= len(target.vcpus) > 1:  # a process moves to the vCPU where its packets arrive
            vcpu_index = next(index for index, vcpu in enumerate(target.vcpus) if vcpu is there.vnic.vcpu)
        far = self._ends(
            target.vcpus[vcpu_index], self._applications[instance], takes.transmit(target, vcpu_index, back)
        )
        reply = _reply(host, target, self._traffic, spec.reply_size)
        hop = LocalHop(caller, near, self._request, reply)
        server = LocalExchange(far, hop, self._request, reply, _times(host, self._flow, spec.service, connection))
        hop.connect(server)
        hop.asks.route = LocalRoute(server.requests, queue_of(host, near.queue), local_port(host, takes, there))
        server.reply.route = LocalRoute(hop.answers, queue_of(host, far.queue), local_port(host, sends, home))
        if self.behind is not None:
            self.behind.follow(server, target)
        return hop

    def _ends(self, vcpu: Vcpu, application: Application, queue: PacketSink[GuestStream]) -> Endpoints:
        return Endpoints(self._host.clock, self._flow, None, queue, vcpu, application, delay=0, jitter=self._none)

    def _open_remote(self, caller: Exchange, instance: int) -> Hop:
        """Open a connection over the wire to a tier on another host."""
        host, traffic, vm = self._host, self._traffic, self._callers[caller]
        device, connection = vm.devices[traffic.vnic], next(self._places)
        ports = (SERVER_PORT + self._tier, 1 + (FIRST_PORT + connection - 1) % 65535)
        packet = rss_input(PEER, vm.address, *ports)
        wire = device.nic.wire
        assert isinstance(wire, ClosedLoopWire)
        queue = device.transmit(vm, self._vcpu_index(caller, vm), packet)
        ends = Endpoints(
            host.clock,
            self._flow,
            wire,
            queue,
            caller.endpoints.vcpu,
            caller.endpoints.application,
            delay=0,
            jitter=self._late,
        )
        reply = _reply(host, vm, traffic, self._spec.reply_size)
        assert self._servers is not None
        hop = RemoteHop(caller, ends, self._request, reply, wire_ps(host, vm, traffic, reply.size), self._servers)
        hop.answers.joins = hop.answers.joins and device.lro
        value = nic_hash(packet, vxlan=switch_of(host, vm, traffic).vxlan)
        host.netqueues[device.nic.name].add(device.filter, hop.answers, value, packet)
        return hop
