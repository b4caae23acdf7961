"""The cost of an event does not grow with the number of VMs; operations are counted instead of time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from hostsim.engine import compiled
from hostsim.engine.arrivals import Jitter
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.model.policy.steering import DEFAULT_KEY, toeplitz_hash
from hostsim.model.traffic import tcp_setup
from hostsim.units import MS

from .small_point import group, nic, pages, point

pytestmark = pytest.mark.skipif(compiled.in_use(), reason="operations of the interpreter are counted")


class Walked(list[Any]):
    """A list that counts the items examined during a search."""

    looked_at = 0

    def __iter__(self) -> Iterator[Any]:
        for item in super().__iter__():
            Walked.looked_at += 1
            yield item

    def __contains__(self, wanted: object) -> bool:
        return any(item is wanted for item in self)

    def index(self, wanted: Any, *_within: Any) -> int:
        return next(place for place, item in enumerate(self) if item is wanted)


def operations(work: Callable[[], object]) -> int:
    """Number of interpreter operations in functions of hostsim, except the heap's, which grow with the logarithm of its entries."""
    done = 0

    def count(frame: Any, event: str, _argument: object) -> Any:
        nonlocal done
        file = frame.f_code.co_filename
        if "hostsim" not in file or frame.f_code.co_qualname.startswith(("Heap.", "_link", "_gather")):
            return None
        frame.f_trace_opcodes = True
        done += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return done


def host_of(vms: int, cores: int) -> Host:
    """VMs with one page each, on a NIC with a receive queue for every two cores, so that a poll has packets of equally many VMs on any host."""
    traffic, nics = {"p": pages(1 * MS)}, {"vmnic0": nic(rx_queues=cores // 2)}
    return build_host(point(group(count=vms), traffic=traffic, cores=cores, nics=nics), Streams(1, 0))


def test_a_connection_costs_the_same_among_many_vms() -> None:
    """For the last VM of 4 and of 64 the number of operations is equal, and no list of VMs or filters is searched."""
    on_time = Jitter(0, np.random.default_rng(0))
    costs = []
    for vms in (4, 64):
        host = host_of(vms, 4)
        host.vms = Walked(host.vms)
        queues = host.netqueues["vmnic0"]
        queues._filters = [Walked(filters) for filters in queues._filters]
        connect = tcp_setup._visits(host, host.flows[0], host.vms[-1], host.spec.traffic["p"], on_time)
        connect(lambda _: None)  # makes the hash look up the address
        Walked.looked_at = 0
        costs.append(operations(lambda connect=connect: connect(lambda _: None)))
        assert Walked.looked_at == 0
    assert costs[0] == costs[1]


def test_an_event_costs_the_same_on_a_large_host() -> None:
    """Eight times the VMs on eight times the cores and receive queues: the number of operations per event changes by at most a tenth."""
    toeplitz_hash(DEFAULT_KEY, b"")  # builds the table of the key
    costs = []
    for vms, cores in ((4, 2), (32, 16)):
        host = host_of(vms, cores)
        before = host.clock.scheduled()
        done = operations(lambda host=host: host.clock.advance(4 * MS))
        costs.append(done / (host.clock.scheduled() - before))
    assert costs[1] == pytest.approx(costs[0], rel=0.1)
