"""Automatic splitRx: the control loop that starts split-receive contexts under multicast load."""

from __future__ import annotations

from hostsim.model.contract import GuestRing
from hostsim.model.cpu.pcpu import World
from hostsim.model.host import Host
from hostsim.model.policy.split_rx import splits_receive
from hostsim.model.receive.nic import RxQueue
from hostsim.units import SECOND

__all__ = ["AutomaticSplitRx"]


class AutomaticSplitRx:
    """The control loop of automatic splitRx (``Net.NetSplitRxMode``).

    It checks as often as the NetQueue balancer. It considers a queue heavily utilised at the load at which the balancer
    unpacks it. Both are assumptions, as neither is documented. An activated splitRx stays active, as only its
    activation is documented.

    Attributes:
        activated: number of vNIC queues with activated contexts.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._used: dict[RxQueue, int] = {}
        self._copied: dict[RxQueue, int] = {}
        self._received: dict[GuestRing, int] = {}
        self.activated = 0

    def look(self, now: int) -> None:
        """Check all queues with multicast, at the end of a period."""
        host = self._host
        rule, marks = host.spec.settings.split_rx_rule, host.spec.netqueue
        received: dict[GuestRing, int] = {}
        looked: set[str] = set()
        for name, vswitch in host.spec.vswitches.items():
            switch = host.switches[name]
            for uplink in vswitch.uplinks:
                if uplink in looked:  # already checked for the switch; this is a port group
                    continue
                looked.add(uplink)
                for rings, vnics in host.netqueues[uplink].served(switch.receivers):
                    members = []
                    for vnic in vnics:
                        received[vnic] = vnic.frames - vnic.local_frames
                        members.append(received[vnic] - self._received.get(vnic, 0))
                    for ring in rings:
                        if not isinstance(ring.poll, World):
                            continue
                        used = ring.poll.used - self._used.get(ring, 0)
                        rate = (ring.multicast - self._copied.get(ring, 0)) * SECOND / marks.period
                        self._used[ring], self._copied[ring] = ring.poll.used, ring.multicast
                        if splits_receive(rule, used / marks.period, marks.unpack_above / 100, rate, members):
                            self.activated += switch.split(ring)
        self._received = received
