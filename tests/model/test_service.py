"""Service times of a scenario: each application takes the time given by its traffic, in mean and distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hostsim.config.arrival import ArrivalSpec, ServiceSpec
from hostsim.config.host import PointSpec
from hostsim.config.traffic import Traffic
from hostsim.engine.random_stream import Streams
from hostsim.model.host import Host
from hostsim.model.traffic.arrival_source import make_lengths
from hostsim.model.traffic.service import make_service
from hostsim.units import MS, SECOND, US
from tests.model.small_point import (
    CALM,
    datagrams,
    echoes,
    files,
    group,
    multicast,
    pages,
    point,
    run,
    stream,
    to_vm,
    users,
    vm_stream,
    vnic,
    work,
)

GHZ = 1e9


def lengths(count: int = 200_000, **service: Any) -> Any:
    spec = ServiceSpec.model_validate(service)
    return make_lengths(spec, GHZ, Streams(1, 0).stream("lengths"))(count)


@pytest.mark.parametrize(
    ("service", "mean_us", "cv"),
    [
        ({"distribution": "constant", "mean": "30 us"}, 30, 0),
        ({"mean": "30 us"}, 30, 1),
        ({"cycles": 30_000.0}, 30, 1),
        ({"distribution": "lognormal", "mean": "30 us", "cv": 2.0}, 30, 2),
        ({"distribution": "gamma", "mean": "30 us", "cv": 0.5}, 30, 0.5),
        ({"distribution": "empirical", "values": ("10 us", "10 us", "10 us", "90 us")}, 30, 1200**0.5 / 30),
    ],
)
def test_lengths_have_the_mean_and_the_variation_that_were_asked_for(
    service: dict[str, Any], mean_us: float, cv: float
) -> None:
    """For each distribution, as time and as cycles at 1 GHz; the mean of a log-normal one converges slowly because of its third moment."""
    drawn = lengths(**service)
    assert np.mean(drawn) / US == pytest.approx(mean_us, rel=0.02)
    assert np.std(drawn) / np.mean(drawn) == pytest.approx(cv, rel=0.05)


def test_a_lognormal_length_is_lognormal() -> None:
    """The logarithm is normal: the median is below the mean by the square root of 1 + cv^2."""
    drawn = lengths(distribution="lognormal", mean="30 us", cv=1.0)
    assert np.median(drawn) / US == pytest.approx(30 / 2**0.5, rel=0.02)


def test_constant_service_draws_nothing() -> None:
    """No random stream is created for it."""

    def no_stream() -> np.random.Generator:
        raise AssertionError("a stream was made")

    spec = ServiceSpec.model_validate({"distribution": "constant", "mean": "1 us"})
    assert make_service(spec, GHZ, no_stream) is None
    assert make_service(None, GHZ, no_stream) is None


TWO = (group("a"), group("b"))
"""A sender and a receiver."""
KINDS: dict[str, tuple[Callable[..., Traffic], dict[str, Any], Callable[[Host], float]]] = {
    # name: traffic, its settings, number of services at the end
    "transactions": (users, {}, lambda host: host.flows[0].answered),
    "request_response": (echoes, {}, lambda host: host.flows[0].answered),
    "http get": (files, {"method": "get", "size": "1000 B"}, lambda host: host.flows[0].answered),
    "http post": (files, {"method": "post", "size": "1000 B"}, lambda host: host.flows[0].answered),
    "udp receive": (datagrams, {"direction": "receive"}, lambda host: host.flows[0].delivered),
    "udp send": (datagrams, {"direction": "send"}, lambda host: host.flows[0].out),
}


def used_us(host: Host, vm: int = 0) -> float:
    return host.vcpus[vm].used / US


def own(service: Any) -> ServiceSpec:
    """A service time as written in a scenario."""
    found = users(service=service).service
    assert found is not None
    return found


def one(traffic: Traffic) -> PointSpec:
    return point(group(vnics=(vnic(),)), traffic={"flow": traffic}, cost=CALM)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("distribution", ["constant", "exponential", "empirical"])
def test_a_service_time_is_charged_for_each_service(name: str, distribution: str) -> None:
    """300 us more service is 300 us more of the vCPU per request or datagram; a doubled mean adds as much for any distribution."""
    make, settings, count = KINDS[name]

    def spent(mean_us: int) -> float:
        service: dict[str, Any] = {"distribution": distribution, "mean": f"{mean_us} us"}
        if distribution == "empirical":
            service = {"distribution": distribution, "values": (f"{mean_us - 50} us", f"{mean_us + 50} us")}
        host = run(one(make(**settings, service=service)), 600 * MS)
        return used_us(host) / count(host)

    assert spent(400) - spent(100) == pytest.approx(300, rel=0.12)


@pytest.mark.parametrize("name", ["transactions", "request_response", "http get", "http post", "udp receive", "web"])
def test_an_exponential_service_time_varies(name: str) -> None:
    """The shortest of some hundred services takes less than a third of the mean, everything included."""
    instants = tuple(place * 2 * MS for place in range(1, 150))
    make, settings, _ = KINDS.get(name, (lambda **more: pages(*instants, **more), {}, None))
    for distribution, quick in (("exponential", True), ("constant", False)):
        service = {"distribution": distribution, "mean": "400 us"}
        flow = run(one(make(**settings, service=service)), 300 * MS).flows[0]
        log = flow.latency if name == "udp receive" else flow.response
        log.flush()
        least = int(log.EDGES_PS[np.flatnonzero(log.counts)[0]])
        assert (least < 130 * US) is quick


def test_the_guests_cost_counts_where_a_scenario_names_none() -> None:
    """A constant service time equal to the guest's own cost changes nothing, to the picosecond."""
    bare, same = (run(one(users(**more)), 40 * MS) for more in ({}, {"service": "100 us"}))
    assert same.vcpus[0].used == bare.vcpus[0].used
    assert same.flows[0].answered == bare.flows[0].answered


def test_a_web_object_takes_its_service_time() -> None:
    """Constant or not."""
    instants = tuple(place * 2 * MS for place in range(1, 200))
    bare = used_us(run(one(pages(*instants, service="1 us")), 500 * MS))
    for service in ("301 us", {"mean": "301 us"}):
        host = run(one(pages(*instants, service=service)), 500 * MS)
        assert host.flows[0].answered == len(instants)
        assert (used_us(host) - bare) / len(instants) == pytest.approx(300, rel=0.1)


@pytest.mark.parametrize("service", ["10 us", ["5 us", "15 us"]])
def test_each_vm_reads_multicast_for_its_own_time(service: Any) -> None:
    """Two receivers of one stream, the VMs of a group."""
    instants = tuple(place * 50 * US for place in range(1, 400))
    traffic = multicast(*instants)
    more = traffic.model_copy(update={"service": own(service)})
    hosts = [run(point(group(count=2), traffic={"flow": flow}, cost=CALM), 40 * MS) for flow in (traffic, more)]
    assert hosts[1].flows[0].delivered == 2 * len(instants)
    for vm in (0, 1):
        assert (used_us(hosts[1], vm) - used_us(hosts[0], vm)) / len(instants) == pytest.approx(9, rel=0.1)


@pytest.mark.parametrize(("service", "longer"), [("21 us", "400 us"), ({"mean": "21 us"}, {"mean": "400 us"})])
def test_streams_take_their_service_time_for_each_packet_or_write(service: Any, longer: Any) -> None:
    """Received, sent and VM-to-VM datagrams: the service time limits the packet rate."""
    received = run(one(stream("receive", service=service)), 200 * MS)
    assert received.vcpus[0].read * 21 == pytest.approx(200_000, rel=0.15)
    sent = run(one(stream("send", service=longer)), 200 * MS)
    rest = run(one(stream("send", service="1 us")), 200 * MS)
    assert sent.flows[0].octets < 0.5 * rest.flows[0].octets
    local, quick = (
        run(point(*TWO, traffic={"flow": vm_stream(service=one_read)}, cost=CALM), 100 * MS)
        for one_read in (longer, "1 us")
    )
    assert local.flows[0].octets < 0.5 * quick.flows[0].octets
    assert local.vcpus[1].used > 4 * local.vcpus[0].used  # the receiver takes longer


@pytest.mark.parametrize("service", ["20 us", {"mean": "20 us"}])
def test_datagrams_between_vms_take_their_readers_time(service: Any) -> None:
    """The receiver is charged it."""
    host, bare = (
        run(point(*TWO, traffic={"flow": to_vm(rate="2 kpps", **more)}, cost=CALM), 200 * MS)
        for more in ({"service": service}, {})
    )
    assert (used_us(host, 1) - used_us(bare, 1)) / host.flows[0].delivered == pytest.approx(19, rel=0.1)


def test_datagrams_with_service_of_their_own_queue_as_in_theory() -> None:
    """M/M/1 at half load plus some microseconds of the stack: the mean time in the system is twice the service time."""
    changes = {"arrivals": ArrivalSpec(process="poisson"), "rate": 500.0, "service": own({"mean": "1 ms"})}
    flow = multicast(10).model_copy(update=changes)
    host = run(point(group(), traffic={"flow": flow}, cost=CALM), 60 * SECOND)
    log = host.flows[0].latency
    assert log.total / host.flows[0].delivered / MS == pytest.approx(2.0, rel=0.08)


def test_work_may_load_several_vcpus_of_a_vm() -> None:
    """Each vCPU has its own stream at the given rate; one vCPU by default, all on request."""
    flow = work("100 /s", "5 ms")
    vm = group(vcpus=3)
    for vcpus, busy in ((1, 1), (2, 2), ("all", 3)):
        more = flow.model_copy(update={"vcpus": vcpus})
        host = run(point(vm, traffic={"flow": more}, cost=CALM), SECOND)
        loaded = [vcpu.used / SECOND for vcpu in host.vcpus]
        assert loaded == pytest.approx([0.5] * busy + [0.0] * (3 - busy), abs=0.02)


def test_a_point_without_service_times_keeps_its_hash() -> None:
    """Stored runs remain valid: newer keys count only if they are set."""
    bare, own = one(users()), one(users(service="100 us"))
    assert one(users(service=None)).digest() == bare.digest()
    assert own.digest() != bare.digest()
