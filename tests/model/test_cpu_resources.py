"""Reservation, limit and shares of VMs and resource pools on whole hosts, against arithmetic and laws over random hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from hostsim.config.host import PointSpec, ResourcePoolSpec, VmGroupSpec
from hostsim.config.plugin import ChoiceSpec
from hostsim.config.workload import WorkSpec
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.plugin.module import module_of
from hostsim.plugin.source import read_plugins
from hostsim.units import MS, SECOND
from tests.model.small_point import group, point, work

WARM_UP, END = 1 * SECOND, 4 * SECOND
QUANTUM = 50 * MS
BUSY = 1.3
"""Load of a vCPU that is always busy."""


def vm(
    name: str,
    *,
    count: int = 1,
    vcpus: int = 1,
    shares: int = 1000,
    reserved: int = 0,
    limit: int | None = None,
    pool: str = "",
    nodes: tuple[int, ...] = (),
) -> VmGroupSpec:
    """VMs, and amounts of CPU in MHz; a PCPU has 1,000."""
    made = group(name, count=count, vcpus=vcpus, shares=shares, networks=(), nodes=nodes)
    settings = made.settings.model_copy(update={"cpu_reservation_mhz": reserved, "cpu_limit_mhz": limit})
    return made.model_copy(update={"settings": settings, "pool": pool})


def spec_of(
    vms: Sequence[VmGroupSpec],
    pools: Sequence[ResourcePoolSpec] = (),
    loads: Mapping[str, float] | None = None,
    cores: int = 1,
    **changed: int,
) -> PointSpec:
    """A host of PCPUs without costs, whose vCPUs demand bursts of 10 ms."""
    loads = loads or {}
    traffic = {
        one.name: work(f"{100 * loads.get(one.name, BUSY)} /s", "10 ms", one.name).model_copy(update={"vcpus": "all"})
        for one in vms
    }
    changed.setdefault("rebalance_period", 20 * MS)
    spec = point(*vms, traffic=traffic, cores=cores, cost={}, **changed)
    lead = spec.costs.vcpu_preemption_lead.model_copy(update={"time": 1 * MS})
    costs = spec.costs.model_copy(update={"vcpu_preemption_lead": lead})
    return spec.model_copy(update={"costs": costs, "pools": tuple(pools)})


@dataclass
class Delivered:
    """CPU of VMs between the end of the warm-up and the end of the run: PCPUs, and shares of ready and limited time."""

    used: dict[str, float] = field(default_factory=dict)
    ready: dict[str, float] = field(default_factory=dict)
    limited: dict[str, float] = field(default_factory=dict)


def delivered(spec: PointSpec, seed: int = 1) -> Delivered:
    host = build_host(spec, Streams(seed, 0))
    host.clock.advance(WARM_UP)
    before = _times(host)
    host.clock.advance(END)
    found = Delivered()
    for name, times in _times(host).items():
        for to, now, then in zip((found.used, found.ready, found.limited), times, before[name], strict=True):
            to[name] = (now - then) / (END - WARM_UP)
    return found


def _times(host: Host) -> dict[str, tuple[int, int, int]]:
    for pcpu in host.scheduler.pcpus:
        pcpu.charge(host.clock.now)
    return {
        one.name: (
            sum(vcpu.used for vcpu in one.vcpus),
            sum(vcpu.waited for vcpu in one.vcpus),
            sum(vcpu.limited for vcpu in one.vcpus),
        )
        for one in host.vms
    }


SLACK = QUANTUM / (END - WARM_UP)
"""A quantum as a share of the time."""


def test_a_limit_holds_on_an_idle_host():
    found = delivered(spec_of([vm("a", limit=300), vm("b")], cores=2))
    assert found.used == pytest.approx({"a[0]": 0.3, "b[0]": 1.0}, abs=SLACK)
    assert found.limited["a[0]"] == pytest.approx(0.7, abs=SLACK)
    assert found.ready["a[0]"] == found.limited["a[0]"]  # %RDY includes %MLMTD
    assert found.limited["b[0]"] == 0


def test_a_reservation_holds_on_a_contended_host_and_the_rest_is_divided():
    found = delivered(spec_of([vm("a", reserved=600), vm("b", count=2)]))
    assert found.used == pytest.approx({"a[0]": 0.6, "b[0]": 0.2, "b[1]": 0.2}, abs=SLACK)


def test_a_reservation_holds_on_the_node_that_its_vm_is_bound_to():
    """Two nodes of one PCPU, the second idle: entitlements of 0.6 and three times 0.47 to both PCPUs would leave 0.3 of the first."""
    bound = [vm("a", reserved=600, nodes=(0,)), vm("b", count=3, nodes=(0,))]
    found = delivered(spec_of(bound, sockets=2))
    assert found.used == pytest.approx({"a[0]": 0.6} | {f"b[{place}]": 0.4 / 3 for place in range(3)}, abs=2 * SLACK)


@pytest.mark.parametrize("of_pool", [False, True])
def test_one_that_becomes_busy_has_its_reservation_at_once(*, of_pool: bool):
    """After two idle seconds beside nine busy VMs it gets 0.9 of the next second, minus a quantum of each of them, not
    the tenth by its shares. The same is true if its pool has the reservation.
    """
    pools = [ResourcePoolSpec(name="p", shares=1000, reservation_mhz=900)] if of_pool else []
    own = vm("a", pool="p") if of_pool else vm("a", reserved=900)
    spec = spec_of([own, vm("b", count=9)], pools)
    instants = tuple(range(2 * SECOND, 4 * SECOND, 10 * MS))
    late = {"kind": "work", "to": "a", "arrivals": {"process": "replay", "timestamps_ps": instants}}
    late["service"] = {"distribution": "constant", "mean": "13 ms"}
    traffic = spec.traffic | {"a": WorkSpec.model_validate(late)}
    host = build_host(spec.model_copy(update={"traffic": traffic}), Streams(1, 0))
    host.clock.advance(3 * SECOND)
    assert _times(host)["a[0]"][0] >= 900 * MS - 9 * QUANTUM


def test_many_small_vms_do_not_take_from_a_large_one():
    """A quantum of a VM with 1 % of the shares is 5 s of its part; the others lag behind it, and keep that lag."""
    found = delivered(spec_of([vm("a", shares=9000, reserved=1), vm("b", count=5, shares=200)]))
    assert found.used["a[0]"] == pytest.approx(0.9, abs=2 * SLACK)


def test_an_idle_reservation_is_used_by_others():
    found = delivered(spec_of([vm("a", reserved=600), vm("b")], loads={"a": 0.1}))
    assert found.used == pytest.approx({"a[0]": 0.1, "b[0]": 0.9}, abs=SLACK)


def test_shares_of_pools_do_not_grow_with_their_vms():
    """Two PCPUs: the only VM of a pool gets a PCPU, the three VMs of an equal pool a third each."""
    pools = [ResourcePoolSpec(name=name, shares=4000) for name in "pq"]
    found = delivered(spec_of([vm("a", count=3, pool="p"), vm("c", pool="q")], pools, cores=2))
    assert found.used == pytest.approx({"a[0]": 1 / 3, "a[1]": 1 / 3, "a[2]": 1 / 3, "c[0]": 1.0}, abs=SLACK)


def test_a_limited_pool_is_divided_by_shares_on_an_idle_host():
    pools = [ResourcePoolSpec(name="p", shares=4000, limit_mhz=1000)]
    found = delivered(spec_of([vm("a", shares=3000, pool="p"), vm("b", pool="p")], pools, cores=4))
    assert found.used == pytest.approx({"a[0]": 0.75, "b[0]": 0.25}, abs=SLACK)


def test_a_smp_vm_is_limited_as_a_whole():
    found = delivered(spec_of([vm("a", vcpus=4, limit=1500), vm("b", count=2)], cores=4))
    assert found.used == pytest.approx({"a[0]": 1.5, "b[0]": 1.0, "b[1]": 1.0}, abs=SLACK)


def test_a_policy_of_a_plug_in_gets_the_entitlements_as_shares():
    """EEVDF orders by virtual deadlines; reservations, limits and pools work as with the shipped policy."""
    (plugin,) = read_plugins([Path(__file__).parents[2] / "docs" / "examples" / "eevdf.py"])
    choice = ChoiceSpec(name="eevdf", settings=module_of(plugin).EevdfSettings())
    pools = [ResourcePoolSpec(name="p", shares=1000, reservation_mhz=500)]
    spec = spec_of([vm("a", pool="p", count=2), vm("b", count=2), vm("c", limit=100)], pools)
    found = delivered(spec.model_copy(update={"policies": {"scheduler": choice}, "plugins": (plugin,)}))
    assert found.used == pytest.approx({"a[0]": 0.25, "a[1]": 0.25, "b[0]": 0.2, "b[1]": 0.2, "c[0]": 0.1}, abs=SLACK)


# --- laws over random hosts


@dataclass
class Node:
    """A consumer in the tree whose expected division is computed by handing out small portions."""

    shares: float
    floor: float
    most: float
    children: list[Node] = field(default_factory=list)
    given: float = 0.0

    def room(self) -> float:
        """What it can still use."""
        below = sum(child.room() for child in self.children) if self.children else self.most
        return min(below, self.most - self.given) if self.children else self.most - self.given

    def give(self, portion: float) -> None:
        self.given += portion
        hungry = [child for child in self.children if child.room() > 1e-9]
        if not hungry:
            return
        below = [child for child in hungry if child.given < child.floor - 1e-9]
        min(below or hungry, key=lambda child: child.given / child.shares).give(portion)


def drawn(random: Random) -> tuple[PointSpec, dict[str, Node], Node]:
    """A random host with a tree of pools, and the expected CPU of its consumers."""
    cores = random.randint(1, 4)
    pools: list[ResourcePoolSpec] = []
    left = 900 * cores
    for name in "pqr"[: random.randint(0, 3)]:
        parent = random.choice(["", *(one.name for one in pools)])
        reserved = random.choice((0, random.randint(0, left // 3))) if not parent else 0
        left -= reserved
        limit = random.choice((None, max(reserved, 1) + random.randint(200, 1000 * cores)))
        shares = random.choice((500, 2000, 4000, 8000))
        pools.append(
            ResourcePoolSpec(name=name, parent=parent, shares=shares, reservation_mhz=reserved, limit_mhz=limit)
        )
    vms, loads = [], {}
    for number in range(random.randint(2, 6)):
        name, vcpus = f"vm{number}", random.choice((1, 1, 2)) if cores > 1 else 1
        pool = random.choice(["", *(one.name for one in pools)])
        reserved = random.choice((0, random.randint(0, min(left // 2, 1000 * vcpus)))) if not pool else 0
        left -= reserved
        limit = random.choice((None, None, reserved + random.randint(100, 900)))
        vms.append(
            vm(name, vcpus=vcpus, shares=random.choice((500, 1000, 2000)), reserved=reserved, limit=limit, pool=pool)
        )
        loads[name] = random.choice((BUSY, BUSY, random.uniform(0.1, 0.6)))
    leaves: dict[str, Node] = {}

    def below(pool: str) -> list[Node]:
        found = []
        for one in pools:
            if one.parent == pool:
                children = below(one.name)
                most = min([sum(child.most for child in children), *([one.limit_mhz / 1000] if one.limit_mhz else [])])
                floor = max(one.reservation_mhz / 1000, sum(child.floor for child in children))
                found.append(Node(one.shares, min(floor, most), most, children))
        for one in vms:
            if one.pool == pool:
                settings = one.settings
                demand = one.vcpus * min(loads[one.name], 1.0)
                most = min([demand, *([settings.cpu_limit_mhz / 1000] if settings.cpu_limit_mhz else [])])
                leaf = Node(settings.shares * one.vcpus, min(settings.cpu_reservation_mhz / 1000, most), most)
                leaves[f"{one.name}[0]"] = leaf
                found.append(leaf)
        return found

    children = below("")
    # without co-scheduling, which takes time from SMP VMs whose vCPUs cannot run together
    return (
        spec_of(vms, pools, loads, cores, costop_threshold=END),
        leaves,
        Node(1, 0, sum(child.most for child in children), children),
    )


def _inside(spec: PointSpec, pool: str) -> set[str]:
    """A pool, and the pools in it."""
    inside = {pool}
    for one in spec.pools:
        if one.parent in inside:
            inside.add(one.name)
    return inside


def check_laws(seed: int) -> None:
    """Every VM gets the CPU of the documented arithmetic; the scheduler is work-conserving."""
    random = Random(seed)
    spec, leaves, root = drawn(random)
    capacity, portion = spec.hardware.cpu.cores, 1e-3
    for _ in range(int(min(capacity, root.room()) / portion)):
        root.give(portion)
    found = delivered(spec, seed)
    used = found.used
    total = sum(leaf.given for leaf in leaves.values())
    # demand is random, so a host at exactly its capacity has idle moments
    assert sum(used.values()) == pytest.approx(total, abs=2 * SLACK * capacity), seed
    for group_spec in spec.vms:
        name, settings = f"{group_spec.name}[0]", group_spec.settings
        if settings.cpu_limit_mhz is not None:
            assert used[name] <= settings.cpu_limit_mhz / 1000 * (1 + 4 * SLACK) + 1e-9, (seed, name)
        assert used[name] >= leaves[name].floor - 2 * SLACK, (seed, name)
    for pool in spec.pools:
        if pool.limit_mhz is not None:
            names = [f"{one.name}[0]" for one in spec.vms if one.pool in _inside(spec, pool.name)]
            assert sum(used[name] for name in names) <= pool.limit_mhz / 1000 * (1 + 4 * SLACK) + 1e-9, (
                seed,
                pool.name,
            )
    expected = {name: leaf.given for name, leaf in leaves.items()}
    # on several PCPUs a vCPU may wait in a run queue while another PCPU runs one that is ahead of it, until the next
    # balancing
    assert used == pytest.approx(expected, abs=(2 if capacity == 1 else 5) * SLACK), seed


@pytest.mark.parametrize("seed", range(8))
def test_delivered_cpu_is_what_reservation_limit_and_shares_say(seed: int):
    """On random hosts, within some quanta: work conservation without limits, limits, reservations, and proportional shares."""
    check_laws(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 88))
def test_delivered_cpu_is_what_reservation_limit_and_shares_say_on_many_hosts(seed: int):
    """The same law on eighty more hosts."""
    check_laws(seed)
