"""Choice of queue, uplink and context: NetQueue, RSS, DRSS, VXLAN, teaming, several vNICs."""

from __future__ import annotations

import pytest

from hostsim.config.nic import NicOptions, VSwitchSpec
from hostsim.engine.random_stream import Streams
from hostsim.engine.ring import Train
from hostsim.errors import InvariantError
from hostsim.model.build import build_host
from hostsim.model.contract import Flow, Sender
from hostsim.model.guest.device import GuestDevice
from hostsim.model.guest.socket import DatagramSocket
from hostsim.model.host import Host
from hostsim.model.policy.steering import DEFAULT_KEY, STEERING_RULES, rss_input, toeplitz_hash
from hostsim.model.traffic.address import FIRST_TUNNEL_PORT, TUNNEL_PORTS, nic_hash
from hostsim.units import MS

from .small_point import ROUND, datagrams, group, multicast, nic, point, run, stream, vnic, work

MANY = {"vmnic0": nic(rx_queues=8, rss=True)}
VXLAN = {"vSwitch0": VSwitchSpec(uplinks="vmnic0", vxlan=True)}


def build(spec) -> Host:
    return build_host(spec, Streams(1, 0))


def vnics(host: Host) -> list[GuestDevice]:
    return [made for vm in host.vms for made in vm.devices]


def queues_of(made: GuestDevice) -> list[str]:
    """Queues by which frames to a vNIC arrive, in the order of its connections."""
    return [sender.queue.name for sender, _ in made.filter.senders]


def inside(address: str, place: int) -> bytes:
    """Hashed fields of a connection to a VM, in the frame that the guest gets."""
    return rss_input("10.1.0.1", address, 33000 + place, 5001)


def inner(address: str, place: int) -> int:
    """Its hash."""
    return toeplitz_hash(DEFAULT_KEY, inside(address, place))


LOADED = ROUND | {"driver_rx": 25000, "copy_per_byte": 0.125}
"""One receive context processes 38,000 frames per second."""


def test_each_vnic_has_a_queue_of_its_own():
    """Three vNICs of three VMs on queues 1 to 3; the default queue serves none."""
    host = build(point(group(count=3), traffic={"s": stream("receive", streams=2)}, nics=MANY))
    assert [queues_of(made) for made in vnics(host)] == [[f"vmnic0-rx{n}"] * 2 for n in (1, 2, 3)]
    assert [poll.queue.name for poll in host.polls] == [f"vmnic0-rx{n}" for n in range(4)]


def test_more_vnics_than_queues_share():
    """Two queues in addition to the default queue."""
    few = {"vmnic0": nic(rx_queues=3)}
    host = build(point(group(count=4), traffic={"s": stream("receive")}, nics=few))
    assert [queues_of(made) for made in vnics(host)] == [[f"vmnic0-rx{n}"] for n in (1, 2, 1, 2)]


@pytest.mark.parametrize("changes", [{"nics": {"vmnic0": nic(rx_queues=1)}}, {"nics": MANY, "netqueue": False}])
def test_without_netqueue_all_come_by_the_default_queue(changes):
    """One context for the host."""
    given = dict(changes)
    spec = point(group(count=3), traffic={"s": stream("receive")}, nics=given.pop("nics"))
    spec = spec.model_copy(update={"settings": spec.settings.model_copy(update=given)})
    host = build(spec)
    assert [queues_of(made) for made in vnics(host)] == [["vmnic0-rx0"]] * 3
    assert len(host.polls) == 1


def test_rss_spreads_the_connections_of_a_vnic_by_their_hashes():
    """Four rings, and four receive queues of the vNIC, each with a vCPU: the NIC's hash chooses the ring, and the guest's key the queue."""
    vm = group(vcpus=4, vnics=(vnic(rss=True, queues=4),))
    spec = point(
        vm, traffic={"s": stream("receive", streams=24)}, nics=MANY, options={"vmnic0": NicOptions(rss_rings=4)}
    )
    host = build(spec)
    (made,) = vnics(host)
    expected = [inner("10.0.0.1", place) % 128 % 4 for place in range(24)]
    assert queues_of(made) == [f"vmnic0-rx{1 + ring}" for ring in expected]
    own = [toeplitz_hash(made.filter.key, rss_input("10.1.0.1", "10.0.0.1", 33000 + n, 5001)) % 4 for n in range(24)]
    assert [made.filter.vnics.index(sender.vnic) for sender, _ in made.filter.senders] == own
    assert [host.vcpus.index(sender.vcpu) for sender, _ in made.filter.senders] == own
    assert min(len(set(expected)), len(set(own))) > 1
    assert own != expected


def test_a_connection_has_one_transmit_queue_by_a_hash():
    """For any writer: a connection's acknowledgements leave by one queue, those of 24 connections by all."""
    vm = group(vcpus=4, vnics=(vnic(rss=True, queues=4),))
    spec = point(
        vm, traffic={"s": stream("receive", streams=24)}, nics=MANY, options={"vmnic0": NicOptions(rss_rings=4)}
    )
    host = run(spec, 10 * MS)
    (made,) = vnics(host)
    key = made.filter.key
    own = [toeplitz_hash(key, rss_input("10.1.0.1", "10.0.0.1", 33000 + n, 5001)) >> 16 for n in range(24)]
    assert [transmit.ring.taken > 0 for transmit in made.transmits] == [n in {v % 4 for v in own} for n in range(4)]
    assert len({value % 4 for value in own}) > 2


@pytest.mark.parametrize(
    ("vcpus", "most", "expected"), [(1, 8, 1), (2, 8, 2), (3, 8, 2), (7, 8, 4), (8, 8, 8), (12, 8, 8), (8, 1, 1)]
)
@pytest.mark.parametrize("rss", [False, True])
def test_a_vnic_has_as_many_queues_as_vcpus_and_its_driver_allow(vcpus: int, most: int, expected: int, rss: bool):
    """A power of two, with or without rings of the NIC for it."""
    vm = group(vcpus=vcpus, vnics=(vnic(rss=rss, queues=most),))
    host = build(
        point(vm, traffic={"s": stream("receive")}, nics=MANY, options={"vmnic0": NicOptions(rss_rings=4)}, cores=12)
    )
    assert len(vnics(host)[0].ports) == len(vnics(host)[0].transmits) == expected


def test_when_rings_run_out_a_vnic_shares_a_queue_without_rss():
    """Eight queues: the default queue, four rings for the first vNIC, and the remaining three are too few for four more."""
    vm = group(count=2, vcpus=4, vnics=(vnic(rss=True, queues=4),))
    spec = point(
        vm, traffic={"s": stream("receive", streams=8)}, nics=MANY, options={"vmnic0": NicOptions(rss_rings=4)}
    )
    first, second = vnics(build(spec))
    assert set(queues_of(first)) <= {f"vmnic0-rx{n}" for n in (1, 2, 3, 4)}
    assert queues_of(second) == ["vmnic0-rx5"] * 8
    assert len({sender.vnic for sender, _ in second.filter.senders}) > 1  # frames of one ring are still distributed


def test_vxlan_comes_by_the_default_queue():
    """The NIC sees the tunnel endpoint's address: no filter matches, for any number of queues."""
    host = build(point(group(count=3), traffic={"s": stream("receive", streams=2)}, nics=MANY, switches=VXLAN))
    assert {queue for made in vnics(host) for queue in queues_of(made)} == {"vmnic0-rx0"}


def test_drss_spreads_multicast_by_the_hash_of_its_addresses():
    """Each stream has a group and a ring of the default queue; its packets reach every receiver from there."""
    streams = {f"s{number}": multicast(1 * MS, 2 * MS) for number in range(8)}
    host = run(point(group(count=2), traffic=streams, nics=MANY, options={"vmnic0": NicOptions(drss=4)}), 5 * MS)
    expected = [0] * 4
    for number in range(8):
        expected[toeplitz_hash(DEFAULT_KEY, rss_input("10.1.0.1", f"239.0.0.{number + 1}")) % 128 % 4] += 2
    assert [queue.ring.taken for queue in host.queues[:4]] == expected
    assert sum(count > 0 for count in expected) > 1
    assert sum(flow.delivered for flow in host.flows) == 8 * 2 * 2


def test_drss_spreads_the_default_queue_by_the_hash_of_the_tunnel():
    """The outer source port is derived from the inner hash (RFC 7348), and the NIC hashes that."""
    spec = point(
        group(count=3),
        traffic={"s": stream("receive", streams=8)},
        nics=MANY,
        switches=VXLAN,
        options={"vmnic0": NicOptions(drss=4)},
    )
    host = build(spec)
    for number, made in enumerate(vnics(host)):
        ports = [FIRST_TUNNEL_PORT + inner(f"10.0.0.{number + 1}", place) % TUNNEL_PORTS for place in range(8)]
        outer = [toeplitz_hash(DEFAULT_KEY, rss_input("10.2.0.1", "10.2.0.2", port, 8472)) for port in ports]
        assert queues_of(made) == [f"vmnic0-rx{value % 4}" for value in outer]
    assert len({queue for made in vnics(host) for queue in queues_of(made)}) == 4


def test_rss_spreads_a_tunnel_over_the_queue_of_its_one_address():
    """A queue of four rings beside the default queue, for all vNICs, which have no addresses of their own for the NIC."""
    vms, options = group(count=3), {"vmnic0": NicOptions(rss_rings=4)}
    spec = point(vms, traffic={"s": stream("receive", streams=8)}, nics=MANY, switches=VXLAN, options=options)
    host = build(spec)
    assert len(host.polls) == 5
    for number, made in enumerate(vnics(host)):
        hashes = [nic_hash(inside(f"10.0.0.{number + 1}", place), vxlan=True) for place in range(8)]
        assert queues_of(made) == [f"vmnic0-rx{1 + value % 4}" for value in hashes]
    assert len({queue for made in vnics(host) for queue in queues_of(made)}) == 4
    off = build(spec.model_copy(update={"settings": spec.settings.model_copy(update={"netqueue": False})}))
    assert {queue for made in vnics(off) for queue in queues_of(made)} == {"vmnic0-rx0"}


def test_all_kinds_of_traffic_share_the_one_address_of_a_tunnel():
    """TCP, datagrams and multicast: one context without RSS; with RSS, the outer headers' hash gives the ring."""
    both = {"t": stream("receive"), "d": datagrams("receive", rate="10 kpps"), "m": multicast(1 * MS, 2 * MS)}
    host = run(point(group(count=2), traffic=both, nics=MANY, switches=VXLAN), 5 * MS)
    assert [poll.used > 0 for poll in host.polls] == [True]
    options = {"vmnic0": NicOptions(drss=4)}
    host = run(point(group(), traffic={"m": both["m"]}, nics=MANY, switches=VXLAN, options=options), 5 * MS)
    ring = nic_hash(rss_input("10.1.0.1", "239.0.0.1"), vxlan=True) % 4
    assert [queue.ring.taken for queue in host.queues] == [2 * (place == ring) for place in range(4)]


def test_a_datagram_in_a_tunnel_takes_its_outer_headers_over_the_wire():
    """One multicast packet of 1,000 bytes: 1,066 on the wire, and 50 more with VXLAN."""
    plain, tunnel = (run(point(traffic={"m": multicast(1 * MS)}, switches=sw), 5 * MS) for sw in (None, VXLAN))
    assert tunnel.nics["vmnic0"].rx_wire_ps - plain.nics["vmnic0"].rx_wire_ps == 50 * 800


def test_a_tunnel_without_rss_is_as_fast_as_one_context():
    """Sequential frames of 25.461 us: 1,963 in 50 ms for any number of VMs and queues. Four rings process more than twice as many."""
    taken = {}
    for rings in (1, 4):
        options = {"vmnic0": NicOptions(rss_rings=rings)}
        vms, traffic = group(count=4), {"s": stream("receive", streams=4)}
        host = run(
            point(vms, traffic=traffic, nics=MANY, switches=VXLAN, options=options, cores=12, cost=LOADED), 50 * MS
        )
        taken[rings] = sum(queue.ring.taken for queue in host.queues)
    assert taken[1] == pytest.approx(50e6 / 25461, rel=0.03)
    assert taken[4] > 2 * taken[1]


def test_teaming_deals_ports_over_uplinks():
    """By originating port id: vNICs in order of power-on, separately for each switch."""
    nics = {f"vmnic{n}": nic() for n in range(3)}
    switches = {"vSwitch0": VSwitchSpec(uplinks=("vmnic0", "vmnic1")), "vSwitch1": VSwitchSpec(uplinks="vmnic2")}
    vm = group(count=2, networks=("vSwitch0", "vSwitch1", "vSwitch0", "vSwitch0"))
    spec = point(vm, traffic={"s": stream("receive", vnic=3)}, nics=nics, switches=switches)
    host = run(spec, 5 * MS)
    assert [made.nic.name for made in vnics(host)] == [
        *("vmnic0", "vmnic2", "vmnic1", "vmnic0"),
        *("vmnic1", "vmnic2", "vmnic0", "vmnic1"),
    ]
    frames = [[port.vnic.frames for port in made.ports] for made in vnics(host)]
    assert [count > [0] for count in frames] == [False, False, False, True] * 2
    assert [host.nics[name].tx_packets > 0 for name in nics] == [True, True, False]


def test_a_multicast_stream_enters_by_the_first_uplink():
    """For any uplinks that teaming gave its receivers."""
    nics = {f"vmnic{n}": nic() for n in range(2)}
    switches = {"vSwitch0": VSwitchSpec(uplinks=("vmnic0", "vmnic1"))}
    host = run(point(group(count=4), traffic={"m": multicast(1, 2, 3)}, nics=nics, switches=switches), 5 * MS)
    assert {queue.name: queue.ring.taken for queue in host.queues if queue.ring.taken} == {"vmnic0-rx0": 3}
    assert [port.vnic.frames for port in host.ports] == [3, 3, 3, 3]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("vm", "vm"), [["eth0", "eth1"]]),
        (("vnic", "vm"), [["eth1"], ["eth0"]]),
        (("vnic", "vnic"), [["eth0"], ["eth1"]]),
        (("queue", "vm"), [["eth1"], ["eth0-tx0"], ["eth0-tx1"]]),
    ],
)
def test_transmit_contexts_of_the_vm_of_a_vnic_or_of_a_queue(kinds: tuple[str, str], expected: list[list[str]]):
    """Each transmit queue has one context; vNICs without a setting share the VM's."""
    rss = kinds[0] == "queue"
    settings = (vnic(tx_context=kinds[0], rss=rss, queues=2 if rss else 1), vnic(tx_context=kinds[1]))
    spec = point(
        group(vcpus=2, networks=("vSwitch0", "vSwitch0"), vnics=settings),
        traffic={"a": stream("send", streams=8), "b": stream("send", vnic=1)},
        nics=MANY,
        options={"vmnic0": NicOptions(rss_rings=2)},
    )
    host = run(spec, 10 * MS)
    contexts = [world for world in host.vms[0].worlds if world.kind == "networld"]
    assert [[queue.name.removeprefix("vm[0].") for queue in context.queues] for context in contexts] == expected
    assert all((context.used > 0) == any(queue.ring.taken for queue in context.queues) for context in contexts)
    assert sum(context.used > 0 for context in contexts) >= len(expected) - 1


def balanced(window: str = "32 KiB", delay: str = "100 us", **changes) -> Host:
    """Four VMs, all on the default queue at first; the balancer checks every 10 ms."""
    values = {"cost": LOADED, "cores": 8, "netqueue_dynamic": True} | changes
    traffic = {"s": stream("receive", window=window, delay=delay)}
    return build(point(group(count=4), traffic=traffic, nics=MANY, **values))


def in_use(host: Host) -> int:
    """Queues that serve some vNIC."""
    return len({queue for made in vnics(host) for queue in queues_of(made)})


def test_an_overloaded_queue_is_unpacked_one_vnic_a_look():
    """A saturated context gives one vNIC away at each check, until each vNIC has a queue."""
    host = balanced()
    seen = []
    for look in range(7):
        host.clock.advance(look * 10 * MS + 5 * MS)
        seen.append(in_use(host))
    assert seen == [1, 2, 3, 4, 4, 4, 4]


@pytest.mark.parametrize(
    ("mark", "node", "expected"), [("50 %", 0, 1), ("70 %", 0, 2), ("80 %", 0, 3), ("90 %", 0, 4), ("50 %", 1, 4)]
)
def test_the_use_of_its_node_bounds_the_number_of_queues(mark: str, node: int, expected: int):
    """Four busy vCPUs and a context per queue on eight PCPUs: 62.5 % used with one queue, 75 % with two, 87.5 % with three. The next queue is used below the threshold. If the vCPUs are on the other node, four contexts are half of theirs."""
    vms = group(count=4, nodes=(1,)), group("worker", count=4, nodes=(node,))
    traffic = {"s": stream("receive", window="32 KiB", delay="100 us"), "w": work("1000 /s", "1 ms", "worker")}
    values = {"sockets": 2, "cores": 8, "netqueue_dynamic": True, "netqueue": {"open_below": mark}}
    assert in_use(run(point(*vms, traffic=traffic, nics=MANY, cost=LOADED, **values), 95 * MS)) == expected


@pytest.mark.parametrize("changes", [{"nics": {"vmnic0": nic(rx_queues=1)}}, {"nics": MANY, "netqueue_dynamic": False}])
def test_a_nic_without_netqueue_is_as_fast_as_one_context(changes):
    """Frames of 25.401 us: one context processes 1,968 in 50 ms for any number of VMs; with a queue for each of four VMs there are more than three times as many."""
    vms, traffic = group(count=4), {"s": stream("receive", streams=4)}
    host = run(point(vms, traffic=traffic, cores=12, cost=LOADED, **changes), 50 * MS)
    taken = sum(queue.ring.taken for queue in host.queues)
    if len(host.polls) == 1:
        assert taken == pytest.approx(50e6 / 25401, rel=0.03)
    else:
        assert taken > 3 * 50e6 / 25401


def test_moves_lose_nothing_and_serve_more():
    """All invariants hold in all slices, every VM makes progress, and the host delivers more than with one queue."""
    spec = balanced().spec
    packed = run(spec.model_copy(update={"settings": spec.settings.model_copy(update={"netqueue": False})}), 100 * MS)
    spread = run(spec, 100 * MS)
    assert spread.flows[0].octets > 2 * packed.flows[0].octets
    assert spread.flows[0].lost_nic == 0
    assert min(port.vnic.frames for port in spread.ports) > 0.5 * max(port.vnic.frames for port in spread.ports)


def test_datagrams_that_a_move_overtakes_are_read_after_later_ones():
    """A VM leaves an overloaded queue of 1.7 ms for an idle one: packets in the old ring arrive after those of the new one, which is not an error."""
    traffic = {"s": datagrams("receive", packet_size="500 B", rate="12 kpps")}
    spec = point(group(count=4), traffic=traffic, nics=MANY, cost=LOADED, cores=8, netqueue_dynamic=True)
    host = run(spec, 100 * MS)
    assert in_use(host) > 1
    moved = {sender.moved for made in vnics(host) for sender, _ in made.filter.senders} - {0}
    assert moved
    # the last look of a poll before the balancer's check, or a look ahead of it
    assert all(abs(at - round(at / (10 * MS)) * 10 * MS) < 2 * MS for at in moved)


@pytest.mark.parametrize("moved", [0, 29, 30, 35])
def test_packets_of_a_sender_are_read_in_order_unless_it_was_moved_between_them(moved: int):
    """A frame from 30 is read after one from 40: an error, unless it arrived before the sender was moved."""
    sender = Sender(Flow("s", 100, 1), 100, 8000, 1)
    sender.moved = moved
    socket = DatagramSocket("vcpu0", 0, 10**6, 0)
    for arrived in (10, 40, 30):
        socket.admit(Train(sender, 1, arrived, 0, arrived, 0), 1)
    if moved < 30:
        with pytest.raises(InvariantError, match="30 ps is read after one that arrived at 40 ps"):
            socket.read(100)
    else:
        assert socket.read(100) == 3


def test_quiet_queues_are_packed_again():
    """VMs that an eager balancer spread over four queues are packed on one by a thrifty one; all keep receiving."""
    eager = {"pack_below": "1 %", "unpack_above": "2 %"}
    host = balanced("2048 B", "1 ms", netqueue=eager)
    host.clock.advance(85 * MS)
    assert in_use(host) == 4
    host.netqueues["vmnic0"]._rule = STEERING_RULES["dynamic"](balanced().spec.netqueue)
    host.clock.advance(205 * MS)
    assert in_use(host) == 1
    before = [port.vnic.frames for port in host.ports]
    host.clock.advance(225 * MS)
    assert all(now > then + 10 for now, then in zip([p.vnic.frames for p in host.ports], before, strict=True))


def test_the_balancer_moves_nothing_where_it_is_off():
    """Each vNIC has its own queue from beginning to end."""
    host = balanced(netqueue_dynamic=False)
    before = [queues_of(made) for made in vnics(host)]
    host.clock.advance(50 * MS)
    assert [queues_of(made) for made in vnics(host)] == before == [[f"vmnic0-rx{n}"] for n in (1, 2, 3, 4)]
