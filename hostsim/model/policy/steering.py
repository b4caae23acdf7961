"""Steering of received frames: the receive queue of a vNIC (NetQueue) and the ring of a flow (RSS).

RSS selects the ring by the Toeplitz hash of addresses and ports; a user's rule may replace it. The hash and its
verification suite are Microsoft's ("Verifying the RSS Hash Calculation", NDIS driver documentation), and NICs of all
manufacturers compute it equally.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from ipaddress import ip_address
from typing import Final, NamedTuple

from hostsim.config.platform import NetQueueSpec
from hostsim.engine.compiled import mypyc_attr

__all__ = [
    "DEFAULT_KEY",
    "INDIRECTION",
    "STEERING_RULES",
    "SYMMETRIC_KEY",
    "DynamicNetQueue",
    "Move",
    "SteeringRule",
    "fixed_queue",
    "rebalance",
    "rss_input",
    "rss_queue",
    "toeplitz_hash",
    "toeplitz_once",
]


class Move(NamedTuple):
    """The move of a vNIC to another receive queue."""

    source: int
    """Position of its queue."""
    member: int
    """Position among the vNICs of that queue."""
    target: int
    """Position of the other queue."""


def fixed_queue(position: int, queues: int) -> int:
    """Return the static queue of the vNIC at a position in the order of power-on.

    Each vNIC gets a queue of its own until all are used; then queues are shared.

    Queue 0 is the default queue for frames without a filter; vNICs get it only if there is no other.
    """
    return 1 + position % (queues - 1) if queues > 1 else 0


def rebalance(
    loads: Sequence[float],
    members: Sequence[Sequence[float]],
    pack_below: float,
    unpack_above: float,
    *,
    may_open: bool = True,
) -> list[Move]:
    """Return the moves of the NetQueue balancer in one period: unpack a busy queue, or pack two idle ones.

    The busiest queue with several vNICs loses one if its receive context is busy: to the least busy queue in use if
    that stays below the threshold, else to an unused one, if there are PCPUs for another context. If no such queue is
    too busy, the least busy one is closed if the next can take all its vNICs.

    Args:
        loads: load of the receive context of each queue as a share of a PCPU, 0 to 1.
        members: numbers of packets of each vNIC of a queue, by queue; in any unit.
        pack_below: share of a PCPU up to which two queues are combined.
        unpack_above: share of a PCPU from which a queue loses a vNIC.
        may_open: True if another queue may be opened.
    """
    used = [queue for queue, vnics in enumerate(members) if vnics]
    if not used:
        return []
    by_load = sorted(used, key=lambda queue: loads[queue])
    # a queue with one vNIC has nothing to lose, however busy it is
    fullest = next((queue for queue in reversed(by_load) if len(members[queue]) > 1), by_load[-1])
    if loads[fullest] > unpack_above and len(members[fullest]) > 1:
        total = sum(members[fullest])
        shares = [loads[fullest] * packets / total for packets in members[fullest]] if total else []
        if not shares:
            return []
        member = min(range(len(shares)), key=lambda m: abs(loads[fullest] / 2 - shares[m]))
        target = by_load[0]
        if target == fullest or loads[target] + shares[member] > unpack_above:
            spare = [queue for queue, vnics in enumerate(members) if not vnics]
            if not spare or not may_open:
                return []
            target = spare[0]
        return [Move(fullest, member, target)]
    if len(by_load) > 1 and loads[by_load[0]] + loads[by_load[1]] < pack_below:
        return [Move(by_load[0], member, by_load[1]) for member in reversed(range(len(members[by_load[0]])))]
    return []


DEFAULT_KEY = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")
"""Key of the verification suite, the default of most drivers."""
SYMMETRIC_KEY = bytes.fromhex("6d5a") * 20
"""A key with a period of 16 bits, so that both directions of a connection have the same hash."""
INDIRECTION: Final = 128
"""Number of entries of a NIC's indirection table (Intel 82599 data sheet)."""


@mypyc_attr(allow_interpreted_subclasses=True)  # plug-ins subclass rules
class SteeringRule:
    """Steering rule of a physical NIC: the receive queue of a vNIC, and the ring of a flow in a queue.

    Each port has a separate object. This base is NetQueue without a balancer (each vNIC keeps a queue), and RSS for
    queues with several rings.
    """

    def queue(self, position: int, queues: int) -> int:
        """Return the receive queue, 0 to ``queues`` - 1, of the vNIC at a position in the order of power-on.

        Queue 0 is the default queue.
        """
        return fixed_queue(position, queues)

    def ring(self, value: int, size: int, rings: int) -> int:
        """Return the ring, 0 to ``rings`` - 1, of a flow.

        Called when the flow begins or its vNIC moves to another queue, if that has several rings.

        Args:
            value: RSS hash of its frames, 32 bits.
            size: bytes of data in a full frame.
            rings: number of rings of the queue, at least 2.
        """
        return rss_queue(value, _indirection(rings))

    def period(self) -> int | None:
        """Return the time between two calls of `moves` in picoseconds; None for no balancing."""
        return None

    def moves(self, loads: Sequence[float], members: Sequence[Sequence[float]], node_use: float) -> list[Move]:
        """Return the moves of vNICs to other queues after a period, in order.

        Args:
            loads: load of the receive contexts of each queue in the period, as a share of a PCPU.
            members: number of frames of each vNIC of a queue in the period, by queue.
            node_use: utilisation of the PCPUs of the NIC's NUMA node in the period, 0 to 1.
        """
        return []


class DynamicNetQueue(SteeringRule):
    """NetQueue with its balancer (Dynamic NetQueue), which packs and unpacks queues.

    All vNICs begin on the default queue, which is unpacked while it is busy; idle queues are packed.

    No further queue is opened on a NUMA node with almost no idle PCPU, as its context would displace others.
    """

    def __init__(self, period: int, pack_below: float, unpack_above: float, open_below: float) -> None:
        """Create a rule that balances once per ``period``.

        Args:
            period: picoseconds between two checks.
            pack_below: share of a PCPU, see `rebalance`.
            unpack_above: share of a PCPU, see `rebalance`.
            open_below: utilisation of the node's PCPUs from which no other queue is opened.
        """
        self._period, self._pack_below, self._unpack_above = period, pack_below, unpack_above
        self._open_below = open_below

    def queue(self, position: int, queues: int) -> int:
        return 0

    def period(self) -> int | None:
        return self._period

    def moves(self, loads: Sequence[float], members: Sequence[Sequence[float]], node_use: float) -> list[Move]:
        may_open = node_use < self._open_below
        return rebalance(loads, members, self._pack_below, self._unpack_above, may_open=may_open)


@cache
def _indirection(rings: int) -> tuple[int, ...]:
    """Return the indirection table of a queue: entries spread evenly over its rings, as by drivers."""
    return tuple(entry % rings for entry in range(INDIRECTION))


def toeplitz_hash(key: bytes, data: bytes) -> int:
    """Return the 32-bit Toeplitz hash of ``data``.

    For every bit that is set, the 32 bits of the key from that position are added modulo 2.

    Args:
        key: at least four bytes longer than the data; 40 bytes are sufficient for all kinds of packets.
        data: in network byte order, see `rss_input`.

    Raises:
        ValueError: the key is too short.
    """
    table = _table(key)
    if len(data) > len(table):
        raise ValueError(f"a key of {len(key)} bytes hashes at most {len(table)} bytes, not {len(data)}")
    value = 0
    for row, octet in zip(table, data, strict=False):
        value ^= row[octet]
    return value


def toeplitz_once(key: bytes, data: bytes) -> int:
    """Return the Toeplitz hash of ``data`` without a look-up table, for keys with few hashes.

    Raises:
        ValueError: the key is too short.
    """
    width, left = 8 * len(key), 8 * len(data)
    if left + 32 > width:
        raise ValueError(f"a key of {len(key)} bytes hashes at most {len(key) - 4} bytes, not {len(data)}")
    bits, value = int.from_bytes(key, "big"), 0
    for octet in data:
        for bit in range(7, -1, -1):
            width -= 1
            if octet >> bit & 1:
                value ^= bits >> (width - 31) & 0xFFFF_FFFF
    return value


@lru_cache(maxsize=16)
def _table(key: bytes) -> tuple[tuple[int, ...], ...]:
    """Return the look-up table of a key: the contribution of each octet at each position to the hash."""
    bits, width = int.from_bytes(key, "big"), 8 * len(key)
    rows = []
    for position in range(len(key) - 4):
        windows = [bits >> (width - 32 - 8 * position - bit) & 0xFFFF_FFFF for bit in range(8)]
        row = [0] * 256
        for octet in range(1, 256):
            lowest = octet & -octet
            row[octet] = row[octet ^ lowest] ^ windows[8 - lowest.bit_length()]
        rows.append(tuple(row))
    return tuple(rows)


@cache  # many connections have the same addresses
def _packed(address: str) -> bytes:
    """Return an address in network byte order."""
    return ip_address(address).packed


def rss_input(
    source: str, destination: str, source_port: int | None = None, destination_port: int | None = None
) -> bytes:
    """Return the RSS hash input of a packet: addresses and, for TCP and UDP, ports.

    Args:
        source: IPv4 or IPv6 address in text.
        destination: of the same family.
        source_port: None for a hash of addresses only (other protocols, fragments), together with the other port.
        destination_port: as ``source_port``.

    Raises:
        ValueError: an invalid address, two families, a single port, or a port above 65535.
    """
    addresses = _packed(source), _packed(destination)
    if len(addresses[0]) != len(addresses[1]):
        raise ValueError(f"{source} and {destination} are of different families")
    ports = [port for port in (source_port, destination_port) if port is not None]
    if len(ports) == 1:
        raise ValueError("a hash needs both ports or none, not one")
    if not all(0 <= port < 1 << 16 for port in ports):
        raise ValueError(f"a port is a number from 0 to 65535, not {max(ports)}")
    return b"".join([*addresses, *(port.to_bytes(2, "big") for port in ports)])


def rss_queue(hash_value: int, indirection: Sequence[int]) -> int:
    """Return the receive queue of a hash: the entry of the indirection table at its low-order bits.

    Args:
        hash_value: result of `toeplitz_hash`.
        indirection: queue of each entry; the number of entries is a power of two (128 on an Intel 82599).

    Raises:
        ValueError: the number of entries is not a power of two.
    """
    size = len(indirection)
    if not size or size & (size - 1):
        raise ValueError(f"an indirection table has a power of two entries, not {size}")
    return indirection[hash_value & (size - 1)]


STEERING_RULES: Final[dict[str, Callable[[NetQueueSpec], SteeringRule]]] = {
    "static": lambda spec: SteeringRule(),
    "dynamic": lambda spec: DynamicNetQueue(
        spec.period, spec.pack_below / 100, spec.unpack_above / 100, spec.open_below / 100
    ),
}
"""Steering rules of physical NICs: NetQueue without and with its balancer (``Net.NetNetqRxDynamicLB``)."""
