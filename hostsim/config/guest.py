"""Guests: documented behaviour of an operating system, and costs of its applications per transaction."""

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
    """Costs of one transaction of each application inside the guest, without network stack."""

    udp_sink: Cost
    """Read of one datagram by a process: the system call and the processing. A process that slept has
    ``guest_process_wake`` in addition.
    """
    udp_source: Cost
    """Write of one datagram to a socket by a process that its interval timer woke (netperf UDP_STREAM)."""
    tcp_sink: Cost
    """Read of one packet's data from a TCP socket by a process that discards it (netperf): its share of a ``recv``."""
    tcp_source: Cost
    """One write to a TCP socket by a process that always has more data (netperf)."""
    http_server: Cost
    """One request: parsing, look-up of the file, start of the answer."""
    web_server: Cost
    """One object of a page, served from memory: parsing of the request, look-up and writing of the object, including
    the call for each write.
    """
    bridge: Cost
    """One frame forwarded from one vNIC to another in a softirq: address look-up, hooks of the bridge."""
    transaction: Cost
    """One transaction of a database server, from request to reply."""
    transaction_stall: Annotated[Factor, AfterValidator(share)] | None = None
    """Share of a transaction's time that waits for local memory; remote memory makes this part longer. Default:
    none.
    """


class E1000Driver(Spec):
    """The driver of an emulated e1000 in a guest."""

    rx_ring: Annotated[int, Field(ge=80, le=4096)]
    """Receive descriptors that it requests by default."""
    tx_ring: Annotated[int, Field(ge=80, le=4096)]
    """Transmit descriptors that it requests by default."""
    refill: SmallCount
    """Receive descriptors in one refill; the rest is refilled at the end of a poll."""
    interrupt_rate: Annotated[int, Field(ge=100, le=100_000)]
    """Interrupts/s that it sets as the device's limit."""
    tx_interrupts: TxInterrupts
    """Transmit completions for which it requests an interrupt."""


class PacketPaths(Spec):
    """Packet paths of a guest that do not end in a socket: the guest's whole cost of a packet."""

    poll_tx: Cost
    """Sent by a process that polls its device (DPDK): buffer, headers, descriptor, and free of the buffer after
    transmission.
    """
    poll_rx: Cost
    """Received and discarded by such a process: descriptor, buffer, refill."""
    xdp_drop: Cost
    """Received and dropped by an XDP program in the driver, with reuse of its buffer."""
    xdp_tx: Cost
    """Sent back through the same vNIC by an XDP program in the driver, in addition to ``xdp_drop``."""
    xdp_skb_drop: Cost
    """Received, converted to a socket buffer, and dropped by an XDP program after that (generic XDP)."""
    xdp_skb_tx: Cost
    """Sent back through the same vNIC by such a program, in addition to ``xdp_skb_drop``."""
    packet_socket: Cost
    """Received, converted to a socket buffer, and copied into the memory-mapped ring of a packet socket
    (``TPACKET``).
    """
    forward: Cost | None = None
    """Received, routed or bridged in the softirq, and put on the ring of another device, without its completion.
    Default: the costs of receiving it into the stack, ``bridge`` and sending it.
    """


class GuestSpec(Spec):
    """A guest operating system."""

    guest: Annotated[str, UNHASHED]
    """Name of the guest; without effect on results."""
    napi_budget: Annotated[int, Field(ge=1, le=1024)]
    """Packets of a poll of the receive ring before other devices have a turn."""
    rx_ring: Descriptors
    """Receive descriptors that the vNIC driver requests by default."""
    tx_ring: Descriptors
    """Transmit descriptors that the vNIC driver requests by default."""
    queues: SmallCount = 1
    """Largest number of queue pairs, receive and transmit, of the vmxnet3 driver: one for each vCPU of the VM, rounded
    down to a power of two. Default: 1.
    """
    refill_part: Annotated[int, Field(ge=2, le=64)] | None = None
    """Divisor of the receive ring: the vmxnet3 driver refills descriptors in lots of a ring over this number; default:
    each at once.
    """
    tx_interrupts: TxInterrupts = "stopped"
    """Transmit completions for which the vmxnet3 driver requests an interrupt, or for which the device raises one."""
    e1000: E1000Driver | None = None
    """Driver for an e1000; none by default."""
    ack_every: SmallCount
    """Received TCP packets for each acknowledgement, as counted by the guest."""
    initial_window: SmallCount
    """Initial congestion window of a connection, in segments."""
    tso_divisor: SmallCount
    """Largest TSO packet, as the congestion window over this number (Linux ``tcp_tso_win_divisor``)."""
    socket_buffer: Size
    """Receive buffer of a datagram socket (``rmem_default``)."""
    socket_overhead: Size
    """Bytes charged to the buffer for each packet in addition to its data (socket buffer head and rounding)."""
    timer_period: Duration
    """Period of the timer tick of the guest's kernel (``1 / HZ``); each tick costs the platform's ``guest_timer_tick``."""
    tickless: bool = False
    """True if an idle guest has no ticks (``CONFIG_NO_HZ``), and missed ones merge. Else it always has ticks, and
    handles each missed one later.
    """
    housekeeping_period: Duration | None = None
    """Time between two wake-ups of an idle guest by its daemons and timers; each costs the platform's
    ``guest_housekeeping``. Default: none.
    """
    netdev_budget: Annotated[int, Field(ge=1, le=65536)] = 300
    """Packets that a network softirq may take in one run (``net.core.netdev_budget``)."""
    netdev_time: PositiveDuration = 2 * MS
    """Time of one run of a network softirq: two ticks, or ``net.core.netdev_budget_usecs``; default: 2 ms."""
    softirq_restarts: SmallCount = 10
    """Restarts of softirqs before they yield to processes (Linux ``MAX_SOFTIRQ_RESTART``)."""
    softirq_time: PositiveDuration | None = None
    """Time after which softirqs always yield (Linux ``MAX_SOFTIRQ_TIME``, from 3.9 on); no limit by default."""
    softirqs_wait: bool = True
    """True if softirqs that have yielded wait for their thread, ``ksoftirqd`` (Linux 4.9 to 6.3). Else each interrupt
    runs them, and each system call that reads a datagram.
    """
    softirq_pause: Duration = 3 * MS
    """Time of processes before that thread resumes; shorter if they have less work."""
    softirq_slice: PositiveDuration = 3 * MS
    """Time of the thread before it yields to processes."""
    gro: tuple[str, ...] = ()
    """Kinds of guest devices whose driver uses GRO to join frames of a poll; ``directpath`` is any physical NIC, also
    of a native host. Default: none.
    """
    lro_while_forwarding: bool = False
    """True if a guest that forwards keeps LRO of its vNICs on, though it cannot send merged packets (FreeBSD); Linux
    turns LRO off.
    """
    autocorking: bool = False
    """Small writes wait for earlier packets of the socket in the transmit queue, even with ``TCP_NODELAY``
    (``net.ipv4.tcp_autocorking``).
    """
    checksum_per_byte: Annotated[Cost | None, UNHASHED] = None
    """Checksum of one byte by the kernel instead of the device (``vms.X.offloads``); unknown by default."""
    connection: Cost | None = None
    """Acceptance and close of a TCP connection by a process, without its packets: creation and release of sockets, system
    calls (``keep_alive: false``); unknown by default.
    """
    paths: PacketPaths | None = None
    """Costs of packets that bypass sockets, for guests that poll their devices or run XDP programs; none by default."""
    timer_jitter: Duration = 0
    """Largest lateness of an interval timer of a process; lateness is uniform from 0."""
    applications: ApplicationCosts

    @property
    def longest_period(self) -> int:
        """Longest period of the guest's timers in picoseconds, within which the phase of a VM is drawn."""
        return max(self.timer_period, self.housekeeping_period or 0)
