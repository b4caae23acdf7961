"""Generic receive offload (GRO) of a guest: the frames of a connection that one poll of a driver takes are joined to large packets."""

from __future__ import annotations

from typing import Final

from hostsim.engine.packet_train import Train
from hostsim.model.workload.flow import Sender

__all__ = ["joined"]

MOST_OCTETS: Final = 65535
"""Bytes of a packet that it makes at most: the length field of IPv4."""
MOST_HELD: Final = 8
"""Connections whose packets grow at the same time; frames of others go on as they are (Linux ``MAX_GRO_SKBS``)."""


def joined(batch: list[Train[Sender]]) -> tuple[list[Train[Sender]], int]:
    """Join the frames of a poll; returns the packets, and the number of frames that were joined to one before them.

    Only full segments are joined, and not what LRO has made already. A packet is complete at the end of the poll, or when it is full.
    Its frames count as if they had come evenly.
    """
    packets: list[Train[Sender]] = []
    growing: dict[Sender, Train[Sender]] = {}
    saved = 0
    for train in batch:
        sender = train.flow
        packet = growing.get(sender)
        if not sender.is_full or train.frames != 1 or (packet is None and len(growing) == MOST_HELD):
            packets.append(train)
            continue
        most = max(1, MOST_OCTETS // (sender.size + sender.headers))
        count, arrived, gap = train.count, train.arrived, train.gap
        if train.timestamps is not None and count > 1:
            gap = (train.timestamps[-1] - arrived) // (count - 1)
        while count:
            if packet is None or packet.frames == most:
                packet = growing[sender] = Train(sender, 1, train.ready, 0, arrived, 0, None, 0)
                packets.append(packet)
                saved -= 1
            frames = min(count, most - packet.frames)
            packet.frames += frames
            saved += frames
            count -= frames
            arrived += frames * gap
            if packet.frames > 1:
                packet.gap = (arrived - gap - packet.arrived) // (packet.frames - 1)
    return packets, saved
