"""Effects of reservations, limits and shares, by documented arithmetic and an independent computation."""

from __future__ import annotations

from random import Random

import pytest

from hostsim.model.policy.entitlement import UNLIMITED, Consumer, divide


def vm(shares: float = 1000, *, demand: float = 1.0, reservation: float = 0.0, limit: float = UNLIMITED) -> Consumer:
    """A VM with a vCPU."""
    made = Consumer(shares, reservation, limit, most=min(limit, 1.0))
    made.demand = min(demand, limit)
    return made


def pool(*children: Consumer, shares: float = 4000, reservation: float = 0.0, limit: float = UNLIMITED) -> Consumer:
    return Consumer(shares, reservation, limit, children)


def shared_out(capacity: float, *children: Consumer) -> None:
    """Compute everything for the consumers of a host."""
    root = Consumer(1.0, children=children)
    root.look()
    root.share_out(capacity)
    root.guarantee = root.floor
    root.guarantee_below()
    root.cap_below()


def test_two_vms_with_1_ghz_reserved_of_2_ghz_and_one_that_uses_half_of_it():
    """The other one can use 1.5 GHz, as in vSphere Resource Management, "Resource Allocation Reservation"."""
    one, other = vm(demand=0.25, reservation=0.5), vm(demand=1.0, reservation=0.5)
    shared_out(1.0, one, other)
    assert divide(1.0, [1000, 1000], [one.floor, other.floor], [one.demand, other.demand])[0] == [0.25, 0.75]
    assert (one.floor, other.floor) == (0.25, 0.5)
    assert other.claim == pytest.approx(0.75)


def test_shares_of_siblings_and_a_new_one():
    """Two VMs of 1,000 shares each have a half of 8 GHz; with 2,000 and 1,000 two thirds and one; a third one with 2,000: 2/5, 1/5, 2/5."""
    for shares, parts in (
        ([1000, 1000], [1 / 2] * 2),
        ([2000, 1000], [2 / 3, 1 / 3]),
        ([2000, 1000, 2000], [0.4, 0.2, 0.4]),
    ):
        vms = [vm(number) for number in shares]
        shared_out(1.0, *vms)
        assert [one.claim for one in vms] == pytest.approx(parts)


def test_a_pool_divides_what_it_has_and_siblings_of_the_pool_lose_nothing():
    """Shares of a pool do not grow with its VMs: each further one takes only from the others in it."""
    for count in (1, 4):
        inside, outside = [vm() for _ in range(count)], [vm(4000) for _ in range(2)]
        shared_out(1.5, pool(*inside), *outside)
        assert [one.claim for one in inside] == pytest.approx([0.5 / count] * count)
        assert [one.claim for one in outside] == pytest.approx([0.5, 0.5])


def test_what_a_vm_of_a_pool_does_not_demand_goes_to_its_siblings_first():
    """The pool keeps its part as long as its VMs demand it."""
    idle, busy, outside = vm(demand=0.1), vm(), vm(4000)
    shared_out(1.0, pool(idle, busy), outside)
    assert busy.claim == pytest.approx(0.4)
    assert outside.claim == pytest.approx(0.5)


def test_a_reservation_of_a_pool_is_divided_among_its_vms():
    """By their shares, if none of them has its own."""
    inside = [vm(2000), vm(1000)]
    shared_out(1.0, pool(*inside, shares=1, reservation=0.6), vm(10_000))
    assert [one.guarantee for one in inside] == pytest.approx([0.4, 0.2])


def test_a_limit_of_a_pool_is_divided_by_shares_and_demand():
    """It is also divided on an idle host: caps of the VMs add up to the limit, and one with little demand leaves the rest."""
    first, second = vm(3000), vm(1000)
    shared_out(4.0, pool(first, second, limit=1.0))
    assert (first.cap, second.cap) == pytest.approx((0.75, 0.25))
    first, second = vm(3000, demand=0.2), vm(1000)
    shared_out(4.0, pool(first, second, limit=1.0))
    assert second.cap == pytest.approx(0.8)
    assert first.cap == UNLIMITED  # bursts of one that demands less than its part are not cut


def test_what_a_limit_leaves_goes_to_others():
    """A pool demands no more than its limit."""
    inside, outside = vm(8000), vm(1000)
    shared_out(1.0, pool(inside, limit=0.2), outside)
    assert outside.claim == pytest.approx(0.8)


def test_without_limits_nothing_is_capped():
    inside, outside = vm(), vm(limit=0.5)
    shared_out(4.0, pool(inside), outside)
    assert (inside.cap, outside.cap) == (UNLIMITED, 0.5)


@pytest.mark.parametrize("seed", range(20))
def test_a_division_is_that_of_small_portions(seed: int):
    """Handing out thousandths in turn, each to the one with the least relative to its shares, gives the same."""
    random = Random(seed)
    count = random.randint(1, 6)
    shares = [random.choice((500, 1000, 2000, 4000)) for _ in range(count)]
    least = [random.choice((0.0, random.uniform(0, 0.3))) for _ in range(count)]
    most = [low + random.uniform(0, 1) for low in least]
    capacity = random.uniform(sum(least), 1.2 * sum(most))
    given, portion = list(least), 1e-4
    for _ in range(int((min(capacity, sum(most)) - sum(least)) / portion)):
        hungry = [place for place in range(count) if given[place] + portion <= most[place]]
        if not hungry:
            break
        given[min(hungry, key=lambda place: given[place] / shares[place])] += portion
    amounts, _ = divide(capacity, shares, least, most)
    assert amounts == pytest.approx(given, abs=3 * count * portion)
    assert sum(amounts) == pytest.approx(min(capacity, sum(most)))


def test_more_guarantees_than_capacity_are_cut_alike():
    assert divide(1.0, [1, 5], [1.0, 3.0], [1.0, 3.0]) == ([0.25, 0.75], 0.0)
