"""Laws that hold in every host at every instant; checked at the end of every run at no cost to it.

Each balance is closed with a count made on the spot, never with a difference of the counters it checks.
"""

from __future__ import annotations

from hostsim.engine.ring import Ring
from hostsim.errors import InvariantError
from hostsim.model.host import Host

__all__ = ["check_invariants"]


def check_invariants(host: Host) -> None:
    """Check conservation at every ring, switch and flow, and that no PCPU was busy for longer than time passed.

    Raises:
        InvariantError: with what, where and when.
    """
    now = host.clock.now

    def law(holds: bool, what: str, where: str) -> None:
        if not holds:
            raise InvariantError(what, where, now)

    def balance(ring: Ring, where: str) -> None:
        inside = ring.count_inside()
        what = f"{ring.pushed} packets in, but {ring.taken} taken + {ring.dropped} dropped + {inside} inside"
        law(ring.pushed == ring.taken + ring.dropped + inside, what, where)

    for queue in host.queues:
        balance(queue.ring, queue.name)
    for port, vcpu in zip(host.ports, host.vcpus, strict=True):
        ring = port.vnic.ring
        balance(ring, port.vnic.name)
        if port.split is not None:
            balance(port.split.ring, port.split.name)
            law(
                port.split.ring.taken == ring.pushed,
                f"{port.split.ring.taken} packets copied but {ring.pushed} put on the ring",
                port.vnic.name,
            )
        law(
            ring.taken == vcpu.received,
            f"{ring.taken} packets left the ring but the guest took {vcpu.received}",
            vcpu.name,
        )
        unread = vcpu.received - vcpu.socket_dropped - vcpu.read
        law(unread == vcpu.in_socket(), f"{unread} packets unread but {vcpu.in_socket()} in the socket", vcpu.name)
        if vcpu.work is not None:
            balance(vcpu.work.ring, f"the work of {vcpu.name}")
    taken = sum(queue.ring.taken for queue in host.queues)
    lost = sum(flow.lost_nic for flow in host.flows)
    works = [vcpu.work for vcpu in host.vcpus if vcpu.work is not None]
    come = sum(work.ring.pushed for work in works)
    sent = sum(flow.sent for flow in host.flows) - come
    inside = sum(queue.ring.count_inside() for queue in host.queues)
    law(
        sent == taken + lost + inside,
        f"{sent} frames sent, but {taken} taken + {lost} dropped + {inside} inside",
        "the wires",
    )
    delivered = sum(flow.delivered for flow in host.flows)
    done = sum(vcpu.read for vcpu in host.vcpus) + sum(work.ring.taken - work.unfinished() for work in works)
    law(
        delivered == done,
        f"{delivered} packets and bursts delivered by flow but {done} read or done by guests",
        "the host",
    )
    for pcpu in host.scheduler.pcpus:
        law(0 <= pcpu.busy(now) <= now, f"busy for {pcpu.busy(now)} ps of {now}", f"pcpu{pcpu.index}")
    charged = sum(world.used for world in host.worlds())
    busy = sum(pcpu.busy(now) for pcpu in host.scheduler.pcpus)
    law(charged == busy, f"{charged} ps charged to worlds but PCPUs were busy for {busy} ps", "the host")
    for flow in host.flows:
        law(flow.latency.least >= 0, f"a packet was read {-flow.latency.least} ps before it came", flow.name)
