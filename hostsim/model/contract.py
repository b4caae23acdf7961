"""Contracts between the parts of a packet's path: wires, receive queues, pollers, interrupted vCPUs, transmit queues, packet sinks, guest processes.

Frames are pulled and packets are pushed. A `Wire` is polled: a port asks it for the frames that have come, whenever a receive queue is looked at.
A queue interrupts its `RxPoller`, which polls the queue until it is empty and unmasks the interrupt. A vNIC interrupts an `InterruptTarget`,
which polls the vNIC's ring likewise. What a guest sends is pushed into a `PacketSink` before its instants have come; so the sink must be able
to give back the packets that a preempted burst has not written.

Parts that handle each packet are compiled base classes; protocols serve calls that are rare or come once a batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from hostsim.engine.compiled import mypyc_attr, trait
from hostsim.engine.packet_train import Stream, Train
from hostsim.engine.probe import Level
from hostsim.model.cpu.pcpu import World

if TYPE_CHECKING:
    from simpy.events import ProcessGenerator

    from hostsim.engine.arrivals import Arrivals
    from hostsim.model.guest.vcpu import Vcpu
    from hostsim.model.receive.rx_queue import RxQueue
    from hostsim.model.receive.vnic import Vnic
    from hostsim.model.traffic.flow import Flow, Sender
    from hostsim.model.transmit.local_delivery import LocalRoute

__all__ = [
    "ControlLoop",
    "GuestProcess",
    "GuestStream",
    "InboundStream",
    "InterruptTarget",
    "PacketSink",
    "RxPoller",
    "TransmitQueue",
    "Wire",
]

S = TypeVar("S", bound=Stream)
UNBOUNDED: Final = 1 << 62
"""An instant that no run reaches, or a capacity that nothing fills."""


class InboundStream(Stream):
    """Packets that a process of a guest handles: frames of a peer, or the process's own turn to send.

    Attributes:
        totals: flow that counts them.
        in_softirq: the guest's kernel handles them by itself, in the softirq that receives them; else a process does.
    """

    totals: Flow
    in_softirq: bool = False

    def handle(self, train: Train[InboundStream], start: int) -> int:
        """Let the process handle packets from ``start`` on; returns the instant at which it is done."""
        raise NotImplementedError


class GuestStream(Stream):
    """Packets that a guest sends: data, acknowledgements or datagrams.

    Exactly one of `sent` and `dropped` is called for each packet.

    Attributes:
        totals: flow that counts its bytes.
        headers: bytes of the headers in front of the data, from that of IP on.
        octets: bytes of a frame, its check sequence left out.
        route: to another VM of the host; None of what goes out by a wire.
    """

    totals: Flow
    headers: int
    octets: int
    route: LocalRoute | None = None

    def sent(self, train: Train[GuestStream], first: int, step: int, frame_ps: int) -> None:
        """The packets of a train have left the wire: the first at ``first``, each further one ``step`` later; a frame takes ``frame_ps``."""
        raise NotImplementedError

    def dropped(self, frames: int) -> None:
        """Frames were dropped at a full queue."""
        raise NotImplementedError


class Wire:
    """The receive direction of a link, polled by the port behind it.

    A wire is evaluated lazily: neither the times nor the number of polls affect the frames.
    """

    def collect(self, now: int) -> list[Train[Sender]]:
        """Frames that began by ``now`` and were not collected before, in order; their last bits may come a little later."""
        raise NotImplementedError

    def upcoming(self, queue: RxQueue) -> int | None:
        """Lower bound of the instant at which the next frame for a queue ends; None when none is known to come."""
        raise NotImplementedError

    def carry(self, sender: Sender, arrivals: Arrivals) -> None:
        """Add an open-loop flow to the wire."""
        raise NotImplementedError

    def resteer(self) -> None:
        """Follow senders to other receive queues, as set in `Sender.queue`."""
        raise NotImplementedError


@trait
class RxPoller:
    """The consumer of a receive queue: a NetPoll world, or a guest's driver with DirectPath I/O."""

    def interrupt(self, now: int) -> None:
        """Take the queue's interrupt, which stays masked until the poller has emptied the queue and calls `RxQueue.unmask`."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)  # where a vNIC is tested alone
class InterruptTarget(World):
    """The vCPU that takes the interrupts of a vNIC, or of a NIC with DirectPath I/O; its home node has its memory.

    Attributes:
        halted: the guest executes HLT.
        pending_ps: time to be charged with the next burst, in picoseconds.
    """

    halted: bool
    pending_ps: int

    def interrupt(self, now: int, vnic: Vnic) -> None:
        """Take an interrupt, at once or when the vCPU runs; it polls the ring and calls `Vnic.unmask` when that is empty."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)  # where a vCPU is tested alone
class PacketSink(Generic[S]):
    """A queue that a burst of a vCPU posts packets to ahead of time: a transmit queue, or the inbox of another vCPU."""

    def post(self, train: Train[S]) -> None:
        """Accept packets at instants that may lie ahead."""
        raise NotImplementedError

    def cancel(self, trains: Iterable[Train[S]], now: int) -> list[Train[S]]:
        """Give back those of the packets whose instants lie after ``now``, because the burst that posts them was preempted."""
        raise NotImplementedError


class TransmitQueue(PacketSink[GuestStream]):
    """A transmit queue of a guest device, which vCPUs post packets to: a context of the VMkernel serves it, or the NIC itself does.

    A packet's instant may lie ahead, so the queue learns from its vCPUs when to look: at a halt, at the ends of bursts, as it asks for in `attach`.

    Attributes:
        poster: the vCPU that posts here; of several, the last one.
        doorbell_ps: cost for the guest of announcing a packet.
    """

    poster: Vcpu
    doorbell_ps: int

    def attach(self, vcpu: Vcpu) -> None:
        """Let a further vCPU post here: list the queue in its `Vcpu.halt_queues` or `Vcpu.burst_queues`, once."""
        raise NotImplementedError

    def post(self, train: Train[GuestStream]) -> None:
        """Post packets that the guest writes at instants that may lie ahead."""
        raise NotImplementedError

    def cancel(self, trains: Iterable[Train[GuestStream]], now: int) -> list[Train[GuestStream]]:
        """Take back those of the packets that a preempted guest has not written by ``now``."""
        raise NotImplementedError

    def freed(self, count: int, now: int) -> int:
        """The NIC has sent packets of this queue, and its driver has freed them; returns the time that the driver's context takes to complete them."""
        return 0

    def poll_done(self, now: int) -> None:
        """The poll in which packets were freed is over."""

    def guest_halts(self, now: int) -> None:
        """Have waiting packets sent: a vCPU that lists the queue in `Vcpu.halt_queues` halts."""

    def send(self, now: int) -> None:
        """Transmit the packets written by ``now``: a burst of a vCPU that lists the queue in `Vcpu.burst_queues` ends."""

    def send_early(self, end: int = UNBOUNDED) -> None:
        """Arrange to transmit before the ``end`` of such a burst the packets written early in it."""


class GuestProcess(Protocol):
    """A process of a guest that runs in a burst of its own, after the network stack."""

    def run(self, start: int) -> int:
        """Work from ``start`` on; returns the instant at which it is done."""
        ...


@mypyc_attr(allow_interpreted_subclasses=True)  # control loops are not compiled
class ControlLoop:
    """A periodic control loop of the host that switches a feature on and off: its `run` is a SimPy process.

    Attributes:
        state: 1 while the feature is in force, else 0.
    """

    def __init__(self) -> None:
        self.state = Level()

    def run(self) -> ProcessGenerator:
        """Return the process."""
        raise NotImplementedError
