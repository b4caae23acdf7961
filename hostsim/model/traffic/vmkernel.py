"""VMkernel ports: threads of the VMkernel that send to other hosts over TCP.

A thread sends one TSO packet after the other, as fast as its PCPU and the window of its connection allow; its packets
share the uplink with those of VMs. The other host acknowledges data a fixed time after it has left the wire.
Acknowledgements use no wire and no time of a receive context: their cost is included in the published rate of a thread,
which is that of a whole stream.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from hostsim.config.nic import TCP_HEADERS, frame_size, segment_size
from hostsim.config.vmkernel import VmkernelStreamSpec, VmkernelTraffic, VmotionSpec
from hostsim.engine.clock import Clock, OneShot, Timer
from hostsim.engine.random_stream import Streams
from hostsim.engine.ring import Train
from hostsim.errors import WiringError
from hostsim.model.contract import Flow, GuestStream
from hostsim.model.cpu.pcpu import Node, Pcpu
from hostsim.model.host import Host, next_uplink
from hostsim.model.services import Services
from hostsim.model.traffic.migration import Migration, Supply, SupplyThread
from hostsim.model.traffic.tcp import ENDLESS, RETRANSMIT_AFTER
from hostsim.model.traffic.tcp_sender import MOST_TSO
from hostsim.model.transmit.networld import Uplink
from hostsim.model.transmit.port_uplink import port_uplink
from hostsim.units import SECOND, rounded

__all__ = ["VmkernelStream", "attach_vmkernel"]


class _Packets(GuestStream):
    """The packets of a stream."""

    headers = TCP_HEADERS

    def __init__(self, totals: Flow, size: int, stream: VmkernelStream) -> None:
        self.totals, self.size, self._stream = totals, size, stream
        self.octets = frame_size(size + self.headers)

    def sent(self, train: Train[GuestStream], first: int, step: int, frame_ps: int) -> None:
        """Schedule the acknowledgement of packets that have left the wire."""
        self.totals.out += train.count * train.frames
        self._stream.sent(train.count * train.frames, first + (train.count - 1) * step)

    def dropped(self, frames: int) -> None:
        """Send dropped packets again."""
        self.totals.lost_out += frames
        self._stream.lost(frames)


class VmkernelStream(SupplyThread):
    """The thread of a stream: a system world.

    Attributes:
        in_flight: number of unacknowledged bytes.
    """

    def __init__(
        self,
        services: Services,
        name: str,
        node: Node,
        last: Pcpu,
        uplink: Uplink,
        flow: Flow,
        supply: Supply,
        *,
        rate: float,
        window: int,
        delay: int,
    ) -> None:
        """Create a sleeping thread.

        Args:
            services: services of the host.
            name: name in tables.
            node: home node.
            last: PCPU of its first dispatch.
            uplink: uplink of its VMkernel port.
            flow: flow with its counters; its size is that of a full segment.
            supply: data to send.
            rate: throughput of the thread, in bits/s of data.
            window: largest number of bytes in flight.
            delay: time to an acknowledgement, in picoseconds.
        """
        super().__init__(services, "vmkernel", name, node, last)
        self._clock: Clock = services.clock
        self._uplink, self._supply = uplink, supply
        self._size, self._most = flow.size, MOST_TSO // flow.size
        self._octet_ps, self._window, self._delay = 8 * SECOND / rate, window, delay
        self._data = _Packets(flow, flow.size, self)
        self.in_flight = self._blocked_until = 0
        self._acks: deque[tuple[int, int]] = deque()
        self._sizes: deque[int] = deque()
        self._timer = _AckTimer(services.clock, self)
        self._again = Timer(services.clock, self.look)
        self._written: Train[GuestStream] | None = None
        """The packet of the batch that runs, or that has just ended."""
        self._end = Timer(services.clock, self._pass_on)
        supply.streams.append(self)

    def _frames(self) -> int:
        """Return the number of frames of the next packet; 0 without data, or if the window is full."""
        left, room = self._supply.left, self._window - self.in_flight
        if left <= 0 or (room < self._most * self._size and self.in_flight):
            return 0
        frames = -(-left // self._size)
        return frames if frames < self._most else self._most

    def begin(self, start: int) -> int | None:
        if self._written is not None:
            self._pass_on(start)
        end = start
        woken = self.woken
        if woken:
            self.woken = False
            end += self.wake_ps
        frames = self._frames()
        if not frames or start < self._blocked_until:
            return end - start if woken else None
        supply = self._supply
        octets = min(frames * self._size, supply.left)
        end += rounded(octets * self._octet_ps)
        supply.left -= octets
        self.in_flight += octets
        self._sizes.append(octets)
        self.node.memory.sent(octets)
        # passed on when the batch ends: a thread may need milliseconds for a packet, and the wire would wait for it
        self._written = Train(self._data, 1, end, 0, start, 0, None, frames)
        self._end.arm(end)
        return end - start

    def _pass_on(self, _now: int) -> None:
        """Pass the packet of the last batch to the uplink."""
        written, self._written = self._written, None
        if written is not None:
            self._uplink.send(written)

    def sent(self, frames: int, last: int) -> None:
        """Expect the acknowledgement of the next packet, whose last bit leaves the wire at ``last``."""
        octets = self._sizes.popleft()
        self._acks.append((last + self._delay, octets))
        self._timer.arm_by(last + self._delay)

    def lost(self, frames: int) -> None:
        """Send a dropped packet again after the timeout of TCP."""
        octets = self._sizes.pop()
        self.in_flight -= octets
        self._supply.left += octets
        self._blocked_until = self._clock.now + RETRANSMIT_AFTER
        self._again.arm(self._blocked_until)

    def acknowledged(self, now: int) -> None:
        """Process the acknowledgements that have arrived by now."""
        acks = self._acks
        arrived = 0
        while acks and acks[0][0] <= now:
            arrived += acks.popleft()[1]
        self.in_flight -= arrived
        if acks:
            self._timer.arm(acks[0][0])
        self._supply.arrived(arrived, now)
        self.look(now)

    def look(self, now: int) -> None:
        if self.has_work(now):
            self.wake(now)

    def has_work(self, now: int) -> bool:
        return now >= self._blocked_until and self._frames() > 0


class _AckTimer(OneShot):
    """The timer of a stream's next acknowledgement."""

    def __init__(self, clock: Clock, stream: VmkernelStream) -> None:
        super().__init__(clock)
        self._stream = stream

    def expire(self, now: int) -> None:
        self._stream.acknowledged(now)


class _Source:
    """The data of a stream with a rate: equally spaced TSO packets."""

    def __init__(self, clock: Clock, supply: Supply, octets: int, rate: float, phase: float) -> None:
        self._supply, self._octets, self._interval = supply, octets, rounded(8 * SECOND * octets / rate)
        self._timer = Timer(clock, self._fire)
        self._timer.arm(rounded(self._interval * phase))

    def _fire(self, now: int) -> None:
        self._timer.arm(now + self._interval)
        self._supply.add(self._octets, now)


def attach_vmkernel(host: Host, name: str, traffic: VmkernelTraffic, _members: list[Any], streams: Streams) -> None:
    """Attach a VMkernel port with its threads to a host.

    Raises:
        WiringError: the host does not have its network.
    """
    spec = host.spec
    if traffic.network not in spec.vswitches:
        raise WiringError(f"the network {traffic.network!r} of {name!r} is not a virtual switch of the host")
    position = len(host.flows)
    vswitch = spec.vswitches[traffic.network]
    flow = Flow(name, segment_size(vswitch.mtu), 1)
    host.flows.append(flow)
    nic = host.nics[next_uplink(host, traffic.network)]
    host.vmkernel_ports.append(traffic.network)
    assert isinstance(traffic, VmkernelStreamSpec | VmotionSpec)
    uplink = port_uplink(host, nic, traffic.network, traffic.system)
    random = streams.stream("traffic", position)
    migration: Migration | None = None
    if isinstance(traffic, VmotionSpec):
        migration = Migration(traffic.memory, traffic.dirty_rate or 0.0)
        host.migrations[name] = migration
    packet = MOST_TSO // flow.size * flow.size
    for stream_index in range(traffic.streams):
        supply: Supply
        if migration is not None:
            supply = migration
        elif isinstance(traffic, VmkernelStreamSpec) and traffic.rate is not None:
            supply = Supply(0)
            _Source(host.clock, supply, packet, traffic.rate, float(random.random()))
        else:
            supply = Supply(ENDLESS)
        start = nic.node.pcpus[(len(host.polls) + len(host.vmkernel)) % len(nic.node.pcpus)]
        stream = VmkernelStream(
            host.services,
            f"{name}.stream{stream_index}",
            nic.node,
            start,
            uplink,
            flow,
            supply,
            rate=traffic.stream_rate,
            window=traffic.window,
            delay=traffic.delay,
        )
        host.vmkernel.append(stream)
        if supply.left:
            Timer(host.clock, stream.look).arm(0)
    if migration is not None and isinstance(traffic, VmotionSpec):
        Timer(host.clock, migration.begin).arm(traffic.start)
