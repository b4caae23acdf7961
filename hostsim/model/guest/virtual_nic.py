"""Virtual NICs, vmxnet3 and e1000: guest devices on a virtual switch, served by VMkernel contexts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hostsim.config.platform import Coalescing, VnicSettings
from hostsim.config.workload import MulticastSpec
from hostsim.engine.random_stream import Streams
from hostsim.model.contract import GuestStream, PacketSink
from hostsim.model.cpu.pcpu import Node
from hostsim.model.guest.device import GuestDevice, VirtualMachine
from hostsim.model.host import Host, next_uplink
from hostsim.model.policy.aggregation import software_lro
from hostsim.model.policy.moderation import (
    CoalescingDepth,
    CoalescingScheme,
    RateBoundCalls,
    TxCoalescing,
    coalescing_scheme,
)
from hostsim.model.policy.steering import toeplitz_once
from hostsim.model.policy_maker import policy_maker
from hostsim.model.receive.context import SplitRx
from hostsim.model.receive.vnic import Vnic, VnicLock
from hostsim.model.transmit.networld import TxQueue
from hostsim.model.transmit.port_uplink import port_uplink
from hostsim.model.transmit.tx_completion import CompletionRule

__all__ = ["E1000", "VirtualNic", "Vmxnet3"]

HALF: Final = 16
"""Number of bits of half an RSS hash."""
KEY_SIZE: Final = 40
"""Bytes of a vmxnet3's RSS key (Linux vmxnet3 driver: ``UPT1_RSS_MAX_KEY_SIZE``)."""
MOST_CONTEXTS: Final = 8
"""Largest number of transmit contexts of a vNIC with a context for each queue: two to eight (facts 1.1)."""
QUEUE_DISCIPLINE = 1000
"""Packets that wait in a guest for a full transmit ring (Linux ``txqueuelen``)."""


class VirtualNic(GuestDevice):
    """A vNIC: its queues, distributed over the vCPUs, and the uplink of its virtual port."""

    def __init__(
        self,
        host: Host,
        vm: VirtualMachine,
        settings: VnicSettings,
        streams: Streams,
        *,
        tx_coalescing: Callable[[], TxCoalescing],
        copied: int,
        interrupt_ps: int = 0,
        doorbell_ps: int = 0,
    ) -> None:
        """Connect the next vNIC of a VM.

        Args:
            host: host of the VM.
            vm: the VM, with its earlier devices.
            settings: settings of this vNIC.
            streams: random streams of the replication.
            tx_coalescing: creates the transmit coalescing of a queue.
            copied: largest packet in bytes that the VMkernel copies out of guest memory, and completes at once.
            interrupt_ps: the guest's cost of register accesses for an interrupt, in picoseconds.
            doorbell_ps: the guest's cost of announcing packets or descriptors, in picoseconds.
        """
        spec = host.spec
        number = len(vm.devices)
        network = vm.group.networks[number]
        nic = host.nics[next_uplink(host, network, vm)]
        super().__init__(
            nic, network, lro=settings.kind.lro, tso=True, interrupt_ps=interrupt_ps, doorbell_ps=doorbell_ps
        )
        self._settings, self._index = settings, number
        self._queues: list[TxQueue] = []
        self._has_own_scheme = "coalescing" in spec.policies
        uplink = port_uplink(host, nic, network, "virtual_machine", vm.group.name)
        vcpus = self.vectors(vm, vm.group.queue_pairs(settings))
        if len(vcpus) > 1:  # drivers of that era draw a key when they load
            position, index = spec.vms.index(vm.group), len(host.vms)
            self.filter.key = streams.stream("vm", position, index, "rss", number).bytes(KEY_SIZE)
        self.rss = settings.rss and len(vcpus) > 1
        self.udp_rss = settings.udp_rss
        is_candidate = bool(settings.split_rx_auto and spec.settings.split_rx_rule) and not self.rss
        is_candidate = is_candidate and number == 0 and _gets_multicast(host, vm)
        rule = CompletionRule(
            descriptors=settings.tx_ring,
            copied=copied,
            all_interrupt=settings.tx_interrupts == "all",
            deferred=spec.settings.defer_tx_completion,
            delay=spec.settings.tx_completion_delay,
            packet_ps=host.costs.networld_tx_completion,
        )
        lock = None if spec.settings.vnic_parallel else VnicLock(host.costs.vnic_hand_over)
        make_scheme = policy_maker(spec, "coalescing", CoalescingScheme, coalescing_scheme)
        for index, vcpu in enumerate(vcpus):
            label = f"{vm.name}.eth{number}" + (f"-rx{index}" if len(vcpus) > 1 else "")
            scheme, aggregation = make_scheme(settings.coalescing), software_lro(spec.settings, spec.lro)
            receive = Vnic(host.clock, label, settings.rx_ring, scheme, vcpu, lro=aggregation, refill=settings.refill)
            receive.lock = lock
            split = None
            if settings.split_rx or is_candidate:
                split = SplitRx(host.services, f"{vm.name}.splitRx", vcpu.last, receive)
                vm.worlds.append(split)
            name, room = label.replace("-rx", "-tx"), settings.tx_ring + QUEUE_DISCIPLINE
            transmit = TxQueue(host.clock, name, room, tx_coalescing(), uplink, vcpu, rule=rule, vnic=receive)
            receive.transmits = self.transmits
            self._queues.append(transmit)
            self.add_queues(vcpu, receive, transmit, split)
            self.ports[-1].is_split = settings.split_rx

    def transmit_contexts(self) -> list[tuple[str, TxQueue]]:
        if self._settings.tx_context == "vm":
            return [("NetWorld", queue) for queue in self._queues]
        name = f"NetWorld-eth{self._index}"
        if self._settings.tx_context == "vnic":
            return [(name, queue) for queue in self._queues]
        return [(f"{name}-{index % MOST_CONTEXTS}", queue) for index, queue in enumerate(self._queues)]

    def transmit(self, vm: VirtualMachine, number: int, packet: bytes) -> PacketSink[GuestStream]:
        """Return the transmit queue of a flow, by a hash of the guest's kernel, for any writing vCPU.

        The hash is that of Linux ``skb_tx_hash``.
        """
        key = self.filter.key
        # the upper half of the RSS hash replaces the kernel's hash, as the lower half selects the receive queue
        return self.posted(vm, number, toeplitz_once(key, packet) >> HALF if key else 0)

    def near(self, node: Node) -> bool:
        return self.nic.node is node

    def frames(self) -> int:
        return self.filter.frames() + sum(queue.ring.taken for queue in self._queues)

    def coalesce(self, coalescing: Coalescing | None, now: int) -> None:
        for port in self.ports:
            port.vnic.coalesce(None if coalescing is None else coalescing_scheme(coalescing), now)

    def follow_dense_mode(self, now: int, *, dense: bool, tx_timeout: int) -> None:
        """Switch to static coalescing and transmit contexts with a longer timeout, or back.

        Without effect on a vNIC with its own settings.
        """
        tuned = self._settings.dense
        if tuned is None:
            return
        if not self._has_own_scheme:
            self.coalesce(tuned if dense else None, now)
        for queue in self._queues:
            queue.coalesce(TxCoalescing(tx_timeout, in_passing=False) if dense else None)


class Vmxnet3(VirtualNic):
    """A vmxnet3, the paravirtual vNIC.

    Register accesses cost its guest nothing, and calls wake its context.
    """

    def __init__(self, host: Host, vm: VirtualMachine, settings: VnicSettings, streams: Streams) -> None:
        platform = host.spec.settings

        def calls() -> TxCoalescing:
            law = CoalescingDepth(
                platform.tx_call_rate,
                platform.tx_depth_cap,
                platform.tx_low_packets,
                platform.tx_timeout,
                platform.rate_window,
            )
            return RateBoundCalls(platform.tx_timeout, law)

        super().__init__(host, vm, settings, streams, tx_coalescing=calls, copied=platform.vmxnet_tx_copy)


class E1000(VirtualNic):
    """An emulated e1000: each register access is an exit; it has no LRO."""

    def __init__(self, host: Host, vm: VirtualMachine, settings: VnicSettings, streams: Streams) -> None:
        super().__init__(
            host,
            vm,
            settings,
            streams,
            tx_coalescing=lambda: TxCoalescing(host.spec.settings.tx_timeout),
            copied=host.spec.settings.e1000_tx_copy,
            interrupt_ps=host.costs.e1000_interrupt,
            doorbell_ps=host.costs.e1000_doorbell,
        )


def _gets_multicast(host: Host, vm: VirtualMachine) -> bool:
    """True if the VM receives a multicast stream."""
    return any(isinstance(flow, MulticastSpec) and vm.group.name in flow.to for flow in host.spec.traffic.values())
