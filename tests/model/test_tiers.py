"""Services of several tiers: the cost and waits of a request, and the destinations of its calls."""

from __future__ import annotations

from typing import Any

import pytest

from hostsim.config.workload import TiersSpec
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.units import MS, SECOND, US
from tests.model.small_point import CALM, group, nic, point, run, vnic

FRONT, BACK, STORE = "100 us", "200 us", "50 us"


def tier(**changes: Any) -> dict[str, Any]:
    """A back end of 200 us, called once per request."""
    return {"to": "db", "request_size": "200 B", "reply_size": "2000 B", "service": const(BACK)} | changes


def const(time: str) -> dict[str, Any]:
    return {"distribution": "constant", "mean": time}


def shop(*behind: dict[str, Any], **changes: Any) -> TiersSpec:
    """One user of a front end of 100 us with these tiers behind it."""
    values = {"kind": "tiers", "to": "web", "request_size": "100 B", "reply_size": "4000 B", "service": const(FRONT)}
    load = {} if "rate" in changes or "arrivals" in changes else {"users": 1}
    return TiersSpec.model_validate(values | load | {"behind": behind or (tier(),)} | changes)


def host_of(traffic: TiersSpec, until: int = 50 * MS, *, web: int = 1, db: int = 1, **changes: Any) -> Host:
    """The host after a run: VMs of one vCPU, whose vNICs interrupt at once."""
    vms = [group("web", count=web, vnics=(vnic(),)), group("db", count=db, vnics=(vnic(),))]
    return run(
        point(*vms, group("kv", vnics=(vnic(),)), traffic={"shop": traffic}, cost=CALM, cores=8, **changes), until
    )


def mean_us(host: Host, number: int) -> float:
    """Mean response time of a tier."""
    flow = host.flows[number]
    return flow.response.total / flow.answered / US


@pytest.mark.parametrize("calls", [1, 3])
def test_a_front_end_waits_for_its_calls_one_after_the_other(calls: int) -> None:
    """Its response time is at least its own work plus its calls, and one call is at least the work of the back end."""
    host = host_of(shop(tier(calls=calls)))
    front, back = host.flows
    assert [flow.name for flow in host.flows] == ["shop", "shop-2"]
    assert front.answered > 20
    assert calls * front.answered <= back.answered <= calls * (front.answered + 1)
    assert mean_us(host, 1) > 200
    assert mean_us(host, 0) > 100 + calls * mean_us(host, 1)
    assert mean_us(host, 0) < 100 + calls * mean_us(host, 1) + 100  # reading, writing and the wire


def test_a_chain_of_three_tiers_multiplies_its_calls() -> None:
    """Two calls of the second tier for each request, and three of the third for each of these."""
    host = host_of(shop(tier(calls=2), tier(to="kv", calls=3, service=const(STORE))))
    front, back, store = host.flows
    assert back.answered == pytest.approx(2 * front.answered, abs=2)
    assert store.answered == pytest.approx(6 * front.answered, abs=6)
    assert mean_us(host, 1) > 200 + 3 * mean_us(host, 2)
    used = {vm.group.name: sum(vcpu.used for vcpu in vm.vcpus) for vm in host.vms}
    assert used["web"] / front.answered > 100 * US
    assert used["db"] / back.answered > 200 * US
    assert used["kv"] / store.answered > 50 * US


def test_users_of_a_service_keep_within_the_asymptotic_bounds() -> None:
    """The back end is busiest: N users have at most N requests per response time, and the back end at most one per service time."""
    one = host_of(shop())
    alone = mean_us(one, 0)
    used = max(sum(vcpu.used for vcpu in vm.vcpus) for vm in one.vms) / one.flows[0].answered / US
    for users in (2, 20):
        host = host_of(shop(users=users), 200 * MS)
        rate = host.flows[0].answered / 0.2
        bound = min(users / alone, 1 / used) * 1e6
        assert 0.6 * bound < rate < 1.1 * bound
    assert sum(vcpu.used for vcpu in host.vms[1].vcpus) > 0.9 * 200 * MS


def test_a_tier_on_another_host_is_behind_the_wire() -> None:
    """Calls leave by the NIC, wait for one of the servers there, and return by the NIC; this host's switch forwards none."""
    remote = tier(to=None, servers=1, delay="30 us")
    host = host_of(shop(remote))
    assert not host.local_ports
    assert mean_us(host, 1) > 230
    frames = sum(queue.ring.pushed for queue in host.queues)
    # one frame per request arrives by the wire, and two per reply
    assert frames == pytest.approx(3 * host.flows[0].answered, abs=3)
    assert sum(vcpu.used for vcpu in host.vms[1].vcpus) == 0


def test_calls_wait_for_servers_of_another_host() -> None:
    """Ten users of one server that serves one at a time: 200 us each, for any time of the front end."""
    for servers, rate in ((1, 5000.0), (2, 10_000.0)):
        remote = tier(to=None, servers=servers)
        host = host_of(shop(remote, users=10, service=const("1 us")), 200 * MS)
        assert host.flows[1].answered / 0.2 == pytest.approx(rate, rel=0.02)


def test_requests_go_to_instances_in_turn_and_to_one_more_from_when_it_joins() -> None:
    """Two of three back ends from the start, the third from the middle on: it gets a third of the calls of the second half."""
    spec = point(
        group("web", vnics=(vnic(),)),
        group("db", count=3, vnics=(vnic(),)),
        traffic={"shop": shop(tier(joins=("100 ms",)))},
        cost=CALM,
        cores=8,
    )
    host = build_host(spec, Streams(1, 0))
    host.clock.advance(100 * MS)
    before = [sum(vcpu.used for vcpu in vm.vcpus) for vm in host.vms]
    host.clock.advance(200 * MS)
    after = [sum(vcpu.used for vcpu in vm.vcpus) - used for vm, used in zip(host.vms, before, strict=True)]
    assert before[3] == 0
    assert before[1] == pytest.approx(before[2], rel=0.1)
    assert after[3] == pytest.approx(after[1], rel=0.1)
    assert not shop(tier(joins=("100 ms",))).is_stationary


def test_requests_of_a_rate_come_whether_or_not_those_before_are_answered() -> None:
    """Two thousand per second for a back end that can serve five thousand: all are answered; six thousand: it is always busy."""
    host = host_of(shop(rate="2000 /s"), SECOND)
    assert host.flows[0].answered == pytest.approx(2000, abs=4 * 2000**0.5)
    host = host_of(shop(rate="6000 /s"), 200 * MS)
    assert host.flows[0].asked == pytest.approx(1200, abs=4 * 1200**0.5)
    assert host.flows[0].answered < 1000


@pytest.mark.parametrize("where", ["list", "nic"])
def test_lost_packets_of_a_service_go_again(where: str) -> None:
    """A receive list of one packet, or a ring of two descriptors, loses calls, replies or requests: each is repeated, and users continue."""
    vms = [group(name, vnics=(vnic(),)) for name in ("web", "db")]
    ports = {"vmnic0": nic(rx_ring=2, interrupt_interval="50 us")} if where == "nic" else None
    behind = tier() if where == "list" else tier(to=None, servers=64)
    traffic = {"shop": shop(behind, users=40, service=const("1 us"))}
    host = run(point(*vms, traffic=traffic, cost=CALM, nics=ports, rx_list=1), 2 * SECOND)
    assert sum(flow.lost_list + flow.lost_nic for flow in host.flows) > 10
    before = host.flows[0].answered
    host.clock.advance(3 * SECOND)
    assert host.flows[0].answered > before > 100
    under_way = sum(flow.asked - flow.answered for flow in host.flows[:1])
    assert under_way == 40
