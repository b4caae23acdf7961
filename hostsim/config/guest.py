"""Guests: documented behaviour of an operating system, and one cost a transaction for each application it runs."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from hostsim.config.costs import Cost, Factor, share
from hostsim.config.field import UNHASHED, Descriptors, SmallCount, Spec
from hostsim.config.platform import TxInterrupts
from hostsim.config.quantity import Duration, PositiveDuration, Size
from hostsim.units import MS

__all__ = ["ApplicationCosts", "E1000Driver", "GuestSpec", "PacketPaths"]


class ApplicationCosts(Spec):
    """Costs of one transaction of each application inside the guest, network stack excluded."""

    udp_sink: Cost
    """One datagram taken by a process: the system call and what it does with it. A process that slept costs ``guest_process_wake`` besides."""
    udp_source: Cost
    """One datagram written to a socket by a process that its interval timer woke (netperf UDP_STREAM)."""
    tcp_sink: Cost
    """One packet's data taken from a TCP socket by a process that throws it away (netperf): its share of a ``recv``."""
    tcp_source: Cost
    """One write to a TCP socket by a process that has always more (netperf)."""
    http_server: Cost
    """One request served: parsed, file looked up, answer begun."""
    web_server: Cost
    """One object of a page served from memory: request parsed, object looked up and written, the call for each write included."""
    bridge: Cost
    """One frame forwarded from one vNIC to another in a software interrupt: addresses looked up, hooks of the bridge passed."""
    transaction: Cost
    """One transaction of a database server, from its request to its reply."""
    transaction_stall: Annotated[Factor, AfterValidator(share)] | None = None
    """Share of a transaction's time that waits for memory, all of it near; what is far makes that part longer. Where nothing is said, none waits."""


class E1000Driver(Spec):
    """The driver of an emulated e1000 in a guest."""

    rx_ring: Annotated[int, Field(ge=80, le=4096)]
    """Receive descriptors that it asks for by default."""
    tx_ring: Annotated[int, Field(ge=80, le=4096)]
    """Transmit descriptors that it asks for by default."""
    refill: SmallCount
    """Receive descriptors that it gives back together; what is left, at the end of a poll."""
    interrupt_rate: Annotated[int, Field(ge=100, le=100_000)]
    """Interrupts a second that it asks the device to keep to."""
    tx_interrupts: TxInterrupts
    """Transmit completions for which it asks for an interrupt."""


class PacketPaths(Spec):
    """Packet paths of a guest that do not end in a socket of its network stack: costs of one packet, all of the guest's part of it included."""

    poll_tx: Cost
    """Made and posted by a process that polls its device (DPDK): buffer, headers, descriptor, and the buffer freed once it is sent."""
    poll_rx: Cost
    """Taken off the ring and thrown away by such a process: descriptor, buffer, refill."""
    xdp_drop: Cost
    """Taken off the ring and dropped by an XDP program in the driver, its buffer used again."""
    xdp_tx: Cost
    """Sent back out of the same vNIC by an XDP program in the driver, on top of ``xdp_drop``."""
    xdp_skb_drop: Cost
    """Taken off the ring, put into a socket buffer, and dropped by an XDP program behind that (generic XDP)."""
    xdp_skb_tx: Cost
    """Sent back out of the same vNIC by such a program, on top of ``xdp_skb_drop``."""
    packet_socket: Cost
    """Taken off the ring, put into a socket buffer, and copied into the mapped ring of a packet socket (``TPACKET``)."""
    forward: Cost | None = None
    """Taken off the ring, routed or bridged in the softirq, and put on the ring of another device, all but its completion; where nothing is said, what receiving it into the stack,
    ``bridge`` and sending it cost."""


class GuestSpec(Spec):
    """A guest operating system."""

    guest: Annotated[str, UNHASHED]
    """Name of the guest; nothing depends on it."""
    napi_budget: Annotated[int, Field(ge=1, le=1024)]
    """Packets one poll of the receive ring may take before others get their turn."""
    rx_ring: Descriptors
    """Receive descriptors that the vNIC driver asks for by default."""
    tx_ring: Descriptors
    """Transmit descriptors that the vNIC driver asks for by default."""
    queues: SmallCount = 1
    """Pairs of queues, receive and transmit, that the vmxnet3 driver asks for at most: as many as the VM has vCPUs, rounded down to a power of two. One where nothing is said."""
    refill_part: Annotated[int, Field(ge=2, le=64)] | None = None
    """Part of the receive ring, one over this, that must be used up before the vmxnet3 driver gives descriptors back; each at once where nothing is said."""
    tx_interrupts: TxInterrupts = "stopped"
    """Transmit completions for which the vmxnet3 driver asks for an interrupt, or for which the device raises one."""
    e1000: E1000Driver | None = None
    """Its driver for an e1000; none where nothing is said."""
    ack_every: SmallCount
    """TCP packets that the guest sees from one acknowledgement to the next."""
    initial_window: SmallCount
    """Segments that a new connection may have in flight."""
    tso_divisor: SmallCount
    """A packet for TSO is at most the congestion window over this (Linux ``tcp_tso_win_divisor``)."""
    socket_buffer: Size
    """Receive buffer of a datagram socket (``rmem_default``)."""
    socket_overhead: Size
    """Bytes charged to the buffer for each packet on top of its data (buffer head and rounding)."""
    timer_period: Duration
    """Period of the timer tick of the guest's kernel (``1 / HZ``); each tick costs the platform's ``guest_timer_tick``."""
    tickless: bool = False
    """An idle guest has no ticks (``CONFIG_NO_HZ``), and those that it missed merge. Else it ticks always, and takes each missed tick later."""
    housekeeping_period: Duration | None = None
    """Time from one wake-up of an idle guest by daemons and timers of its own to the next; each costs the platform's ``guest_housekeeping``. None where nothing is said."""
    netdev_budget: Annotated[int, Field(ge=1, le=65536)] = 300
    """Packets that a network softirq may take in one go (``net.core.netdev_budget``)."""
    netdev_time: PositiveDuration = 2 * MS
    """Time that it may take: two ticks, or ``net.core.netdev_budget_usecs``; 2 ms where nothing is said."""
    softirq_restarts: SmallCount = 10
    """Times that softirqs go on before they give way to processes (Linux ``MAX_SOFTIRQ_RESTART``)."""
    softirq_time: PositiveDuration | None = None
    """Time after which softirqs give way in any case (Linux ``MAX_SOFTIRQ_TIME``, from 3.9 on); none where nothing is said."""
    softirqs_wait: bool = True
    """Softirqs that have given way wait for their thread, ``ksoftirqd`` (Linux 4.9 to 6.3). Else each interrupt runs them, and each system call that takes a datagram."""
    softirq_pause: Duration = 3 * MS
    """Time that processes have before that thread goes on; less where they have less to do."""
    softirq_slice: PositiveDuration = 3 * MS
    """Time that the thread has before it gives way to processes."""
    gro: tuple[str, ...] = ()
    """Kinds of guest devices whose driver has GRO join the frames of a poll, ``directpath`` being any physical NIC, of a native host too; none where nothing is said."""
    lro_while_forwarding: bool = False
    """LRO of its vNICs stays on in a guest that forwards, though it cannot send what LRO has joined: so in FreeBSD; Linux turns it off."""
    autocorking: bool = False
    """Small writes wait while earlier packets of the socket do, even with ``TCP_NODELAY`` (``net.ipv4.tcp_autocorking``)."""
    checksum_per_byte: Annotated[Cost | None, UNHASHED] = None
    """The checksum of a byte, where the kernel makes or checks it in place of the device (``vms.X.offloads``); unknown where nothing is said."""
    connection: Cost | None = None
    """A TCP connection accepted and closed by a process, its packets apart: sockets made and taken apart, system calls (``keep_alive: false``); unknown where nothing is said."""
    paths: PacketPaths | None = None
    """Costs of packets that do not go through its sockets, for guests that poll their devices or run XDP programs; none where nothing is said."""
    timer_jitter: Duration = 0
    """How late an interval timer of its processes may be, all values up to it being equally likely."""
    applications: ApplicationCosts

    @property
    def longest_period(self) -> int:
        """The longest period of its timers, in picoseconds: what the phase of a VM is drawn from."""
        return max(self.timer_period, self.housekeeping_period or 0)
