"""NICs and virtual switches: data-sheet facts, driver behaviour, sizes of packets on the wire and in a frame."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from hostsim.config.field import UNHASHED, Count, Name, SmallCount, Spec, StandbyNames, UplinkNames
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
"""Bytes on the wire around the payload of a frame: header 14, check sequence 4, preamble 8, gap 12."""
FRAME_OVERHEAD = 18
"""Of these the bytes that count as the frame's own: header 14, check sequence 4."""
LEAST_PAYLOAD = 46
"""Bytes that an Ethernet frame carries at least."""
TCP_HEADERS = 52
"""Bytes of the IPv4 and TCP headers of a segment, timestamps included (RFC 7323)."""
VLAN_TAG = 4
"""Bytes of the tag of a VLAN (IEEE 802.1Q)."""
VXLAN_HEADERS = 50
"""Bytes that VXLAN puts around an Ethernet frame without its check sequence: Ethernet 14, IPv4 20, UDP 8, VXLAN 8 (RFC 7348)."""


def datagram_on_wire(octets: int, *, vxlan: bool = False, tag: int = 0) -> int:
    """Bytes on the wire of a datagram with ``octets`` bytes of data, in one frame; inside VXLAN or not, with the bytes of a VLAN tag."""
    return packet_on_wire(octets + UDP_HEADERS, vxlan=vxlan, tag=tag)


def packet_on_wire(octets: int, *, vxlan: bool = False, tag: int = 0) -> int:
    """Bytes on the wire of an IP packet of ``octets`` bytes, headers included, in one frame; inside VXLAN or not, with the bytes of a VLAN tag."""
    return max(octets, LEAST_PAYLOAD) + ETHERNET_OVERHEAD + (VXLAN_HEADERS if vxlan else 0) + tag


def frame_size(octets: int) -> int:
    """Bytes of the Ethernet frame around an IP packet of ``octets`` bytes, as counters of NICs see it: without check sequence."""
    return max(octets, LEAST_PAYLOAD) + 14


def segment_size(mtu: int) -> int:
    """Bytes of data in a full TCP segment."""
    return mtu - TCP_HEADERS


class VSwitchSpec(Spec):
    """A virtual switch with its uplinks, or a port group of one."""

    uplinks: UplinkNames
    """Names of the physical NICs (``vmnic0``) that connect the switch, in the order of the active adapters. A port group has some of those of its switch."""
    mtu: Annotated[int, Field(ge=1280, le=9000)] = 1500
    """Bytes of an IP packet of its guests at most; frames on the wire are larger by the headers of VXLAN."""
    vxlan: bool = False
    """True where the switch puts the frames of its guests into VXLAN (RFC 7348)."""
    shaping: ShapingSpec | None = None
    """Traffic shaping of what each virtual port sends; none by default."""
    nioc: NiocSpec | None = None
    """Network I/O Control of what leaves by each uplink; off by default."""
    teaming: Literal["port_id", "explicit_failover"] = "port_id"
    """Uplink of a virtual port: ``port_id``, the uplinks in turn in the order of the ports (originating port id); ``explicit_failover``, the first one."""
    standby: StandbyNames = ()
    """Further physical NICs, each of which takes the place of an uplink whose link is down."""
    link_down: StandbyNames = ()
    """Those of ``uplinks`` and ``standby`` whose link is down for the whole run."""
    vlan: Annotated[int, Field(ge=1, le=4094)] | None = None
    """VLAN ID: the switch tags the frames of these ports on their uplinks. Without a tag by default."""
    port_group_of: Name | None = None
    """The virtual switch that this is a port group of; nothing for a switch."""

    @property
    def tag(self) -> int:
        """Bytes of the VLAN tag of a frame on the wire."""
        return 0 if self.vlan is None else VLAN_TAG


_LANE_RATE = {1: 2.5e9 * 0.8, 2: 5e9 * 0.8, 3: 8e9 * 128 / 130, 4: 16e9 * 128 / 130, 5: 32e9 * 128 / 130}
"""Bits a second of a lane after its line code, by generation of PCI Express (Base Specification 1.1 to 5.0)."""
_PAYLOAD_SHARE = 256 / (256 + 24)
"""Data in a memory write of 256 B: header, sequence number, checks and framing take 24 B (PCI Express Base Specification)."""


class PcieSpec(Spec):
    """The PCIe slot of an adapter."""

    generation: Literal[1, 2, 3, 4, 5]
    """Generation of PCI Express."""
    lanes: Literal[1, 4, 8, 16]
    """Lanes in use."""

    @property
    def bandwidth(self) -> float:
        """Bits of data a second, each way."""
        return _LANE_RATE[self.generation] * self.lanes * _PAYLOAD_SHARE


def _model_name(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class NicSpec(Spec):
    """One port of a physical NIC: a model of the catalogue and what differs from it, or all keys."""

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
    """Model of the catalogue (``X710``), or the path of a file of the same form; every key below is then the catalogue's by default. Any other text is a name on
    a data sheet, on which nothing depends, and the keys below are written here."""
    line_rate: Bandwidth
    """Rate of the wire."""
    node: Annotated[int, Field(ge=0)] = 0
    """NUMA node whose I/O hub the NIC sits behind."""
    rx_ring: Annotated[int, Field(ge=1, le=65536)]
    """Receive descriptors of a queue; packets that find none are dropped at no cost to the host."""
    driver: str
    """Name of the driver, one of the platform's ``drivers``: the platform's version decides of what kind it is."""
    other_drivers: Annotated[tuple[str, ...], UNHASHED] = ()
    """Names of its drivers on other platforms: the first one that the platform lists takes the place of ``driver``, where that is not listed."""
    moderation: Literal["igb", "igb-conservative", "ixgbe", "mlx4", "i40e", "i40e-classes", "mlx5", "sfc"] | None = None
    """Rule by which the driver moderates the interrupts of a queue: ``igb`` by the mean size of frames, ``igb-conservative`` with 49 us at least, ``ixgbe`` by
    classes of latency (its dynamic rate), ``mlx4`` by the packet rate, ``i40e`` by the packets of an interrupt, ``i40e-classes`` by classes of latency over a hundred interrupts (the same
    driver up to Linux 4.16), ``mlx5`` by a search among profiles, ``sfc`` by the packets of a thousand interrupts."""
    interrupt_interval: Duration | None = None
    """Least time between two interrupts of a queue, of a driver with a fixed one; it goes before ``moderation``."""
    tx_interrupt_delay: Duration | None = None
    """Longest wait of a transmit completion for its interrupt, where the driver sets one; nothing where completions share the moderation of a queue."""
    interrupt_step: Duration = 0
    """Step in which its own clock counts that interval: an interrupt that moderation holds back may be late by up to so much."""
    rx_queues: SmallCount = 1
    """Receive queues that the host may use, the default queue included. 1 is a NIC without NetQueue: one context serves all that comes."""
    tx_queue: Annotated[int, Field(ge=64, le=65536)] = 4096
    """Packets that wait for the wire, in descriptors of the NIC and in the host's queue before them; the descriptors of each transmit ring where the NIC is passed through."""
    rss: bool = False
    """True where the NIC spreads the packets of a queue over several rings by the Toeplitz hash of addresses and ports."""
    tso: bool = True
    """True where the NIC cuts large TCP packets into frames."""
    lro: bool = False
    """True where the NIC joins frames of a connection before the host sees them."""
    lro_sessions: Count = 32
    """Connections whose frames it joins at the same time in a queue, where it does; frames of others go on by themselves (bnx2x: 64, or 32 in the
    57710; of the 82599 32, from general knowledge)."""
    vxlan_tso: bool = False
    """True where the NIC can cut large TCP packets inside VXLAN."""
    pcie: PcieSpec | None = None
    """Slot of the adapter; nothing where it never limits."""
    ports_on_adapter: Annotated[int, Field(ge=1, le=8)] = 1
    """Ports that share the slot."""
    functions: Annotated[int, Field(ge=0, le=256), UNHASHED] = 0
    """Virtual functions (SR-IOV) that the port has at most; 0 where it has none, or no source gives their number."""
    function_queues: Annotated[int, Field(ge=1, le=64), UNHASHED] = 1
    """Queue pairs of a virtual function at most."""

    @model_validator(mode="after")
    def _moderated(self) -> NicSpec:
        if self.interrupt_interval is None and self.moderation is None:
            raise ValueError("has no interrupt moderation|interrupt_interval, or moderation: the rule of a driver")
        return self

    @property
    def rate(self) -> float:
        """Bits a second that reach the host: the wire's, or the port's share of the bus where that is less.

        Pause frames (IEEE 802.3x) make the sender as slow as the bus.
        """
        if self.pcie is None:
            return self.line_rate
        return min(self.line_rate, self.pcie.bandwidth / self.ports_on_adapter)


class NicOptions(Spec):
    """Module options of a NIC's driver."""

    rss_rings: Annotated[int, Field(ge=1, le=16)] = 1
    """Rings of a queue with RSS (``num_rings_per_rss_queue``): that of a vNIC that asks for it, and that of a VXLAN tunnel; 1 is off."""
    drss: Annotated[int, Field(ge=1, le=16)] = 1
    """Rings of the default queue (``DRSS``); 1 is off."""
    tx_queues: Annotated[int, Field(ge=1, le=64)] = 1
    """Transmit queues in use, dealt to the virtual ports of the NIC in turn; each shares the interrupt of a receive queue, whose context takes its completions. The
    VMkernel uses one below ``Net.NetNetqTxPackKpps`` and several above ``Net.NetNetqTxUnpackKpps``; here the number is fixed."""
    interrupt_interval: Duration | None = None
    """Least time between two interrupts of a queue; the hardware file's moderation where nothing is said."""
    mtu: Annotated[int, Field(ge=1280, le=9000)] = 1500
    """Bytes of an IP packet at most, of a NIC that is passed through to a VM, whole or by its functions, as its guests set them; an uplink has the MTU of its switch."""
    max_vfs: Annotated[int, Field(ge=0, le=256), UNHASHED] = 0
    """Virtual functions (SR-IOV) that the driver makes of the port, for VMs that name it in ``pciPassthruX.pfId``; 0 is SR-IOV off."""
