"""Transactions and users with think time: the cost of a request, and the request rate."""

from __future__ import annotations

import pytest

from hostsim.config.costs import Factor
from hostsim.model.host import Host
from hostsim.units import MS, SECOND
from tests.model.small_point import CALM, SOURCE, arrived, echoes, files, group, guest, point, run, users, vnic

NS = 1000
REQUEST = 800 + 220 + 250 + 900 + 1000 + 25
"""The guest wakes; a packet goes through its stack; the process wakes, takes it and copies 100 bytes."""
REPLY = 2000 + 350 + 500
"""A write, the stack, the copy of 2,000 bytes."""


def guest_ns(host: Host) -> float:
    """Time charged to the vCPU for each request, in nanoseconds."""
    return host.vcpus[0].used / NS / host.flows[0].answered


def served() -> Host:
    """A single user for a while; the vNIC interrupts at once."""
    return run(point(group(vnics=(vnic(),)), traffic={"db": users()}, cost=CALM), 40 * MS)


def test_a_transaction_is_a_request_a_burst_and_a_reply() -> None:
    """100 us of the application, and otherwise the cost of any packet; one user has one request at a time."""
    host = served()
    assert guest_ns(host) == pytest.approx(REQUEST + 100_000 + REPLY, rel=0.01)
    assert arrived(host) == pytest.approx(host.flows[0].answered * 2100, rel=0.01)


@pytest.mark.parametrize(
    ("stall", "reserved", "sockets", "longer"),
    [(0.4, 1.0, 2, 0.1), (0.4, 0.5, 2, 0.05), (0.4, 0.0, 2, 0), (None, 1.0, 2, 0), (0.4, 1.0, 1, 0)],
)
def test_a_transaction_takes_longer_where_reserved_memory_is_far(
    stall: float | None, reserved: float, sockets: int, longer: float
) -> None:
    """A quarter of the accesses go to a node twice as far, and two fifths of the time are waits for them: a tenth more, and less with less reservation."""
    work = guest()
    if stall is not None:
        waits = Factor(value=stall, source=SOURCE)
        work = work.model_copy(
            update={"applications": work.applications.model_copy(update={"transaction_stall": waits})}
        )
    vm = group(vnics=(vnic(),), guest=work, reserved=reserved)
    cost = CALM | {"reserved_far": 0.25}
    host = run(point(vm, traffic={"db": users()}, cost=cost, sockets=sockets), 40 * MS)
    assert guest_ns(host) == pytest.approx(REQUEST + 100_000 * (1 + longer) + REPLY, rel=0.01)


def test_the_stack_goes_before_transactions() -> None:
    """Four users, one vCPU: requests are taken off the ring between two transactions, so there is always a next one."""
    host = run(point(traffic={"db": users(4)}, cost=CALM), 200 * MS)
    assert host.vcpus[0].used / (200 * MS) > 0.99
    assert host.vcpus[0].interrupts > 0.4 * host.flows[0].answered


def test_users_think() -> None:
    """A hundred users who think for 10 ms make some 10,000 requests per second, minus their waits."""
    host = run(point(traffic={"db": users(100, think_time="1 s")}, cost=CALM), 2 * SECOND)
    assert host.flows[0].users == 100
    assert host.flows[0].answered == pytest.approx(200, rel=0.2)


def test_a_browser_thinks_between_files_and_acknowledges_the_end_of_each() -> None:
    """Ten full segments cause five acknowledgements and one request; an odd one has its own acknowledgement."""
    for segments, acks in ((10, 5), (11, 6)):
        web = files("get", size=f"{1448 * segments} B", connections=20, think_time="100 ms", request_size="400 B")
        host = run(point(traffic={"web": web}, cost=CALM), 1 * SECOND)
        nic = host.nics["vmnic0"]
        frames = sum(queue.ring.pushed for queue in nic.queues)
        assert host.flows[0].answered > 100
        assert frames == pytest.approx(host.flows[0].answered * (acks + 1), rel=0.2)
        assert nic.rx_octets == pytest.approx(host.flows[0].answered * (66 * acks + 466), rel=0.2)


def test_a_request_and_a_response_are_a_read_and_a_write() -> None:
    """No burst of the application is between them."""
    host = run(
        point(group(vnics=(vnic(),)), traffic={"echo": echoes(reply_size="2000 B")}, cost=CALM | {"vmk_call": 0})
    )
    assert guest_ns(host) == pytest.approx(REQUEST + REPLY, rel=0.002)
    assert host.flows[0].users == 1


def test_echoes_may_think() -> None:
    """Ten connections with 5 ms think time: fewer requests than connections over think time, and than the vCPU serves; as many as the sum of both times gives."""
    traffic = echoes(10, think_time="5 ms", service="50 us")
    host = run(point(traffic={"rr": traffic}, cost=CALM), 1 * SECOND)
    flow = host.flows[0]
    response_s = flow.response.total / flow.answered / SECOND
    assert flow.answered < min(10 / 0.005, 1 / 50e-6) * 1.05
    assert flow.answered == pytest.approx(10 / (0.005 + response_s), rel=0.06)


@pytest.mark.parametrize("users_", [10, 40, 400])
def test_closed_users_keep_within_the_asymptotic_bounds(users_: int) -> None:
    """Throughput is at most N / (R + Z) with the response time of one user alone, and at most one request in a service demand (operational laws; P. Denning, J. Buzen, 1978)."""
    alone = run(point(traffic={"db": users(1)}, cost=CALM), 200 * MS)
    least_s = alone.flows[0].response.total / alone.flows[0].answered / SECOND
    demand_s = guest_ns(alone) / 1e9
    host = run(point(traffic={"db": users(users_, think_time="20 ms")}, cost=CALM), 2 * SECOND)
    rate = host.flows[0].answered / 2
    bound = min(users_ / (least_s + 0.02), 1 / demand_s)
    assert rate < 1.1 * bound  # a thousand think times are known to 3 %
    assert rate > 0.6 * bound


def test_every_connection_of_every_vm_has_a_user() -> None:
    """So many requests are in flight at most."""
    host = run(point(group(count=2), traffic={"echo": echoes(connections=3)}, cost=CALM), 1 * MS)
    assert host.flows[0].users == 6
