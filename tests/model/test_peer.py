"""Datagrams of a plug-in's peer."""

from __future__ import annotations

import pytest

from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.traffic.peer import Peer
from hostsim.units import MS
from tests.model.small_point import echoes, group, point


def test_a_datagram_has_to_fit_in_a_frame() -> None:
    """It has one to 1,472 bytes at an MTU of 1500; each comes by itself."""
    host = build_host(point(group(), traffic={"echo": echoes()}), Streams(1, 0))
    peer = Peer(host, "own", echoes(), host.vms, Streams(1, 0))
    for size in (0, 1473):
        with pytest.raises(ValueError, match=f"^a datagram of {size} bytes: 1 to 1472 fit in a frame$"):
            peer.send(host.vms[0], size)
    peer.send(host.vms[0], 1472, 3)
    host.clock.advance(10 * MS)
    assert host.flows[-1].delivered == 3
