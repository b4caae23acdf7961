"""Frames: the size of a packet on the wire."""

from __future__ import annotations

from hostsim.config.nic import datagram_on_wire, packet_on_wire, segment_size


def test_a_full_frame_carries_a_segment() -> None:
    """1,448 B of data in 1,538 B on the wire: 9.41 of 10 Gbit/s."""
    assert (segment_size(1500), packet_on_wire(1500)) == (1448, 1538)
    assert (segment_size(9000), packet_on_wire(9000)) == (8948, 9038)


def test_short_packets_are_padded_and_vxlan_adds_its_headers() -> None:
    """64-byte frames are 84 B on the wire; VXLAN carries the padded frame."""
    assert (datagram_on_wire(1), packet_on_wire(40), packet_on_wire(40, vxlan=True)) == (84, 84, 134)
    assert (datagram_on_wire(800), packet_on_wire(1500, vxlan=True)) == (866, 1588)
