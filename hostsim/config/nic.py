"""NICs and virtual switches: data sheets, driver behaviour, sizes of frames."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from hostsim.config.field import UNHASHED, Count, Name, SmallCount, Spec, StandbyNames, UplinkNames, later
from hostsim.config.network import NiocSpec, ShapingSpec
from hostsim.config.quantity import Bandwidth, Duration

__all__ = [
    "ETHERNET_OVERHEAD",
    "FRAME_OVERHEAD",
    "LEAST_PAYLOAD",
    "TCP_HEADERS",
    "UDP_HEADERS",
    "VLAN_TAG",
    "VXLAN_HEADERS",
    "NicOptions",
    "NicSpec",
    "PcieSpec",
    "VSwitchSpec",
    "datagram_on_wire",
    "frame_size",
    "packet_on_wire",
    "segment_size",
]


UDP_HEADERS = 28
"""Bytes of the IPv4 and UDP headers of a datagram."""
ETHERNET_OVERHEAD = 38
"""Bytes on the wire around the payload of a frame: header 14, check sequence 4, preamble 8, inter-frame gap 12."""
FRAME_OVERHEAD = 18
"""Bytes of these that belong to the frame: header 14, check sequence 4."""
LEAST_PAYLOAD = 46
"""Smallest payload of an Ethernet frame, in bytes."""
TCP_HEADERS = 52
"""Bytes of the IPv4 and TCP headers of a segment, including timestamps (RFC 7323)."""
VLAN_TAG = 4
"""Bytes of a VLAN tag (IEEE 802.1Q)."""
VXLAN_HEADERS = 50
"""Bytes of VXLAN headers around an Ethernet frame without check sequence: Ethernet 14, IPv4 20, UDP 8, VXLAN 8 (RFC
7348).
"""


def datagram_on_wire(octets: int, *, vxlan: bool = False, tag: int = 0) -> int:
    """Bytes on the wire of a datagram in one frame.

    Args:
        octets: bytes of data.
        vxlan: True inside VXLAN.
        tag: bytes of a VLAN tag.
    """
    return packet_on_wire(octets + UDP_HEADERS, vxlan=vxlan, tag=tag)


def packet_on_wire(octets: int, *, vxlan: bool = False, tag: int = 0) -> int:
    """Bytes on the wire of an IP packet in one frame.

    Args:
        octets: bytes of the packet, including headers.
        vxlan: True inside VXLAN.
        tag: bytes of a VLAN tag.
    """
    return max(octets, LEAST_PAYLOAD) + ETHERNET_OVERHEAD + (VXLAN_HEADERS if vxlan else 0) + tag


def frame_size(octets: int) -> int:
    """Bytes of the Ethernet frame of an IP packet of ``octets`` bytes, without check sequence."""
    return max(octets, LEAST_PAYLOAD) + 14


def segment_size(mtu: int) -> int:
    """Bytes of data in a full TCP segment."""
    return mtu - TCP_HEADERS


class VSwitchSpec(Spec):
    """A virtual switch with its uplinks, or a port group of a switch."""

    uplinks: UplinkNames
    """Names of the physical NICs (``vmnic0``) of the switch, in the order of the active adapters. A port group has a
    subset of those of its switch.
    """
    mtu: Annotated[int, Field(ge=1280, le=9000)] = 1500
    """Largest IP packet of its guests, in bytes; VXLAN headers come on top on the wire."""
    vxlan: bool = False
    """True if the switch encapsulates the frames of its guests in VXLAN (RFC 7348)."""
    shaping: ShapingSpec | None = later(None)
    """Traffic shaping of each virtual port, for what its VM sends; none by default."""
    nioc: NiocSpec | None = later(None)
    """Network I/O Control of each uplink's transmit side; off by default."""
    teaming: Literal["port_id", "explicit_failover", "ip_hash"] = later("port_id")
    """Uplink of a virtual port: ``port_id``, uplinks in turn by the order of the ports (originating port id);
    ``explicit_failover``, the first uplink; ``ip_hash``, the uplink of the last octets of both IP addresses. The other
    side of ``ip_hash`` is a static port channel.
    """
    standby: StandbyNames = later(())
    """Standby NICs, each of which replaces an uplink whose link is down."""
    link_down: StandbyNames = later(())
    """NICs of ``uplinks`` and ``standby`` whose link is down for the whole run."""
    vlan: Annotated[int, Field(ge=1, le=4094)] | None = later(None)
    """VLAN ID, with which the switch tags the frames of these ports on their uplinks; no tag by default."""
    port_group_of: Name | None = later(None)
    """The virtual switch of a port group; None for a switch."""

    @property
    def tag(self) -> int:
        """Bytes of the VLAN tag of a frame on the wire."""
        return 0 if self.vlan is None else VLAN_TAG


_LANE_RATE = {1: 2.5e9 * 0.8, 2: 5e9 * 0.8, 3: 8e9 * 128 / 130, 4: 16e9 * 128 / 130, 5: 32e9 * 128 / 130}
"""Bits/s of a lane after its line code, by generation of PCI Express (Base Specification 1.1 to 5.0)."""
_PAYLOAD_SHARE = 256 / (256 + 24)
"""Share of data in a memory write of 256 B: header, sequence number, checks and framing take 24 B (PCI Express Base
Specification).
"""


class PcieSpec(Spec):
    """The PCIe slot of an adapter."""

    generation: Literal[1, 2, 3, 4, 5]
    """Generation of PCI Express."""
    lanes: Literal[1, 4, 8, 16]
    """Number of lanes in use."""

    @property
    def bandwidth(self) -> float:
        """Bits of data/s, each way."""
        return _LANE_RATE[self.generation] * self.lanes * _PAYLOAD_SHARE


def _model_name(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class NicSpec(Spec):
    """A port of a physical NIC: a model of the catalogue with differences from it, or all keys."""

    model: Annotated[
        str,
        BeforeValidator(_model_name),
        UNHASHED,
        Field(
            json_schema_extra={
                "x-allowed": "a model that `hostsim list nics` prints, a path that ends in .yaml, or any other text"
            }
        ),
    ]
    """Model of the catalogue (``X710``), or the path of a file of the same form, which has the defaults of all keys
    below. Any other text is a name from a data sheet without effect on results, and all keys below are required.
    """
    line_rate: Bandwidth
    """Bits/s of the wire."""
    node: Annotated[int, Field(ge=0)] = 0
    """NUMA node of the NIC's I/O hub."""
    rx_ring: Annotated[int, Field(ge=1, le=65536)]
    """Receive descriptors of a queue; frames without a free descriptor are dropped at no cost to the host."""
    driver: str
    """Name of the driver, one of the platform's ``drivers``; the platform's version determines its kind."""
    other_drivers: Annotated[tuple[str, ...], UNHASHED] = ()
    """Names of its drivers on other platforms. If the platform does not have ``driver``, the first one that it has
    replaces it.
    """
    moderation: Literal["igb", "igb-conservative", "ixgbe", "mlx4", "i40e", "i40e-classes", "mlx5", "sfc"] | None = None
    """Rule by which the driver moderates the interrupts of a queue: ``igb`` by the mean size of frames,
    ``igb-conservative`` with at least 49 us, ``ixgbe`` by classes of latency (its dynamic rate), ``mlx4`` by the packet
    rate, ``i40e`` by the packets of an interrupt, ``i40e-classes`` by classes of latency over a hundred interrupts (the
    same driver up to Linux 4.16), ``mlx5`` by a search among profiles, ``sfc`` by the packets of a thousand
    interrupts.
    """
    interrupt_interval: Duration | None = None
    """Shortest time between two interrupts of a queue, for a driver with a fixed one; overrides ``moderation``."""
    tx_interrupt_delay: Duration | None = None
    """Longest delay of the interrupt for a transmit completion, if the driver sets one; None if completions use the
    moderation of a queue.
    """
    interrupt_step: Duration = 0
    """Resolution of the NIC's clock for that interval: a moderated interrupt may be late by up to this time."""
    rx_queues: SmallCount = 1
    """Receive queues that the host may use, including the default queue. 1 for a NIC without NetQueue: one context
    serves all received frames.
    """
    tx_queue: Annotated[int, Field(ge=64, le=65536)] = 4096
    """Packets that wait for the wire, in descriptors of the NIC and in the host's queue before them; for a
    passed-through NIC the descriptors of each transmit ring.
    """
    rss: bool = False
    """True if the NIC distributes the packets of a queue over several rings by the Toeplitz hash of addresses and
    ports.
    """
    tso: bool = True
    """True if the NIC segments TSO packets."""
    lro: bool = False
    """True if the NIC joins frames of a connection before the host receives them."""
    lro_sessions: Count = 32
    """Connections whose frames LRO of the NIC joins simultaneously in a queue; frames of others are passed on
    separately (bnx2x: 64, or 32 in the 57710; 82599: 32, from general knowledge).
    """
    vxlan_tso: bool = False
    """True if the NIC can segment TSO packets inside VXLAN."""
    pcie: PcieSpec | None = None
    """Slot of the adapter; None if it is never a limit."""
    ports_on_adapter: Annotated[int, Field(ge=1, le=8)] = 1
    """Number of ports that share the slot."""
    functions: Annotated[int, Field(ge=0, le=256), UNHASHED] = 0
    """Largest number of virtual functions (SR-IOV) of the port; 0 if it has none, or without a source."""
    function_queues: Annotated[int, Field(ge=1, le=64), UNHASHED] = 1
    """Largest number of queue pairs of a virtual function."""

    @model_validator(mode="after")
    def _moderated(self) -> NicSpec:
        if self.interrupt_interval is None and self.moderation is None:
            raise ValueError("has no interrupt moderation|interrupt_interval, or moderation: the rule of a driver")
        return self

    @property
    def rate(self) -> float:
        """Bits/s that reach the host: the line rate, or the port's share of the bus if that is smaller.

        Pause frames (IEEE 802.3x) slow the sender down to the bus.
        """
        if self.pcie is None:
            return self.line_rate
        return min(self.line_rate, self.pcie.bandwidth / self.ports_on_adapter)


class NicOptions(Spec):
    """Module options of a NIC's driver."""

    rss_rings: Annotated[int, Field(ge=1, le=16)] = 1
    """Rings of a queue with RSS (``num_rings_per_rss_queue``), for a vNIC that requests it and for a VXLAN tunnel; 1 is
    off.
    """
    drss: Annotated[int, Field(ge=1, le=16)] = 1
    """Rings of the default queue (``DRSS``); 1 is off."""
    tx_queues: Annotated[int, Field(ge=1, le=64)] = later(1)
    """Transmit queues in use, to which the virtual ports of the NIC are assigned in turn. Each shares the interrupt of
    a receive queue, whose context processes its completions. The VMkernel uses one below ``Net.NetNetqTxPackKpps`` and
    several above ``Net.NetNetqTxUnpackKpps``; here the number is fixed.
    """
    interrupt_interval: Duration | None = None
    """Shortest time between two interrupts of a queue; default: the moderation of the hardware file."""
    mtu: Annotated[int, Field(ge=1280, le=9000)] = 1500
    """Largest IP packet in bytes, as guests set it, of a NIC that is passed through whole or by its functions; an
    uplink has the MTU of its switch.
    """
    max_vfs: Annotated[int, Field(ge=0, le=256), UNHASHED] = 0
    """Virtual functions (SR-IOV) that the driver creates on the port, for VMs with ``pciPassthruX.pfId``; 0 is SR-IOV
    off.
    """
