"""Home nodes of NetPolls on whole hosts: with the VMs that they serve, or else with their NIC."""

from __future__ import annotations

import pytest

from hostsim.config.host import PointSpec
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.units import MS, NS

from .small_point import CALM, datagrams, group, multicast, nic, point, run

LOOK = 10 * MS
MANY = {"vmnic0": nic(rx_queues=8)}


def two_nodes(*vms, **changes) -> PointSpec:
    """Two sockets, the NIC on the first; each VM gets a thousand datagrams per second, and NetPolls are checked every 10 ms."""
    values = {
        "sockets": 2,
        "traffic": {"u": datagrams("receive")},
        "package_rebalance_period": LOOK,
        "cost": CALM,
        "nics": MANY,
    }
    return point(*vms, **(values | changes))


def build(spec: PointSpec) -> Host:
    return build_host(spec, Streams(1, 0))


def homes(host: Host) -> list[int]:
    return [poll.node.index for poll in host.polls]


def test_a_netpoll_lives_with_its_vm_and_reads_frames_from_the_other_node() -> None:
    """By hand, for each datagram of 1,000 bytes: the copy waits 500 ns for the other node's memory, as it would beside the NIC; the guest's copy does not wait."""
    spent = {}
    for home, period in ((0, LOOK), (1, LOOK), (1, 0)):
        host = run(two_nodes(group(nodes=(home,)), package_rebalance_period=period), 50 * MS)
        assert homes(host)[1:] == [home if period else 0]  # the default queue serves no VM
        spent[home, period] = [sum(poll.used for poll in host.polls), host.vcpus[0].used]
    frames = host.queues[1].ring.taken
    assert frames > 40
    near, follows, stays = spent.values()
    # frames arrive in memory beside the NIC, so one end of the copy is on the other node in either case
    assert follows[0] - near[0] == stays[0] - near[0] == frames * (500 + 40) * NS
    assert follows[1] == near[1]
    assert stays[1] - near[1] == frames * 500 * NS


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [0, 0, 1]),  # the default queue, and one for each VM
        ({"netqueue": None}, [0, 0, 1]),
        ({"netqueue_dynamic": True}, [0, 0, 0]),  # both VMs start on the default queue
        ({"package_rebalance_period": 0}, [0, 0, 0]),  # the ablation
    ],
)
def test_a_queue_of_vms_on_several_nodes_stays_with_its_nic(changes: dict[str, object], expected: list[int]) -> None:
    """VMs are assigned to nodes in turn; by default each has a queue."""
    host = build(two_nodes(group(count=2), **{name: value for name, value in changes.items() if value is not None}))
    host.clock.advance(5 * LOOK)
    assert homes(host) == expected


def test_a_shared_queue_lives_on_a_third_node_if_its_nic_does() -> None:
    """VMs on the first two nodes, the NIC on the third: the NetPoll goes to neither VM's node."""
    spec = two_nodes(group(count=2), sockets=3, netqueue_dynamic=True, nics={"vmnic0": nic(node=2, rx_queues=8)})
    host = build(spec)
    host.clock.advance(5 * LOOK)
    assert homes(host)[0] == 2


def test_a_vm_that_gets_little_is_not_related() -> None:
    """At 400 packets per second the NetPoll returns to its NIC at the first check, at 600 it does not."""
    for rate, home in (("400 pps", 0), ("600 pps", 1)):
        host = build(two_nodes(group(nodes=(1,)), traffic={"u": datagrams("receive", rate=rate)}))
        assert homes(host) == [0, 1]
        host.clock.advance(3 * LOOK)
        assert homes(host) == [0, home]


def test_it_follows_a_vm_that_moves_at_the_next_look() -> None:
    """It loses no packets."""
    host = build(two_nodes(group(nodes=(0,))))
    host.clock.advance(2 * LOOK + 1)
    host.move(host.vms[0], host.scheduler.nodes[1], host.clock.now)
    host.clock.advance(3 * LOOK)
    assert homes(host) == [0, 0]
    host.clock.advance(3 * LOOK + 1)
    assert homes(host) == [0, 1]
    host.clock.advance(6 * LOOK)
    assert host.flows[0].delivered > 50
    assert host.queues[1].ring.dropped == 0


def test_numa_io_in_force_pins_it_to_its_nic() -> None:
    """A VM that may not move stays, and its NetPoll is beside the NIC; above the threshold the NetPoll follows the VM."""
    for threshold, home in ((200, 0), (1, 1)):
        busy = {"u": datagrams("receive", rate="40 kpps")}
        host = build(two_nodes(group(nodes=(1,)), numa_io_threshold=threshold, traffic=busy))
        host.clock.advance(5 * LOOK)
        assert homes(host) == [0, home]


def test_multicast_counts_as_traffic_of_the_default_queue() -> None:
    """Its NetPoll follows receivers that are all on one node."""
    instants = tuple(range(1 * MS, 60 * MS, 1 * MS))
    for nodes, home in (((1,), 1), ((), 0)):
        spec = two_nodes(group(count=2, nodes=nodes), traffic={"m": multicast(*instants)}, nics={"vmnic0": nic()})
        host = build(spec)
        host.clock.advance(5 * LOOK)
        assert homes(host)[0] == home
