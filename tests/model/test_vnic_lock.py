"""The lock of a vNIC to which receive contexts deliver one at a time."""

from __future__ import annotations

from hostsim.config.nic import NicOptions
from hostsim.model.receive.nic import RxQueue
from hostsim.model.receive.vnic import VnicLock
from hostsim.units import MS, NS

from .small_point import CALM, ROUND, datagrams, group, nic, point, run, vnic

HAND_OVER = 10


def rings(count: int) -> list[RxQueue]:
    """Different rings; the lock only compares them."""
    return [object.__new__(RxQueue) for _ in range(count)]


def enter(lock: VnicLock, ring: RxQueue, at: int, start: int | None = None) -> int:
    """A train of four frames, with 5 each before the lock and 20 under it."""
    return lock.enter(ring, at if start is None else start, at, 4, 20, 80)


def test_a_context_alone_pays_nothing() -> None:
    """The lines of the lock are in its own cache."""
    lock, (one,) = VnicLock(HAND_OVER), rings(1)
    assert [enter(lock, one, at) for at in (0, 100, 200, 1000)] == [0, 0, 0, 0]


def test_two_contexts_take_turns_by_hand() -> None:
    """Each frame that comes while the other context is at work costs a hand-over, and the time that the lock is busy beyond the context's own path is spent spinning."""
    lock, (one, other) = VnicLock(HAND_OVER), rings(2)
    assert enter(lock, one, 0) == 0  # it has the lock for 80 until 100
    # at 30: four turns; 50 of the first one's 80 are left, and 120 of its own make it free at 200, 30 after 30 + 20 + 120
    assert enter(lock, other, 30) == 4 * HAND_OVER + 30
    # at 110, the other one until 200: 20 + 120 are over at 250, the lock is free at 200 + 120
    assert enter(lock, one, 110) == 4 * HAND_OVER + 70
    # at 400 the other's time is over: a single hand-over
    assert enter(lock, other, 400) == HAND_OVER


def test_work_in_front_of_the_lock_is_done_side_by_side() -> None:
    """Two trains of a poll hold it for 160 of 200; another context spins for the time not covered by its own 20 before it, and not for the first one's 40."""
    lock, (one, other) = VnicLock(0), rings(2)
    assert [enter(lock, one, at, start=0) for at in (0, 100)] == [0, 0]
    # from 0 on as well: the lock is free at 160 + 80, and its own way is 100
    assert enter(lock, other, 0) == 140
    # its second train follows at 240 and takes 80 more: the lock is free at 320, and its own path ends at 340
    assert enter(lock, other, 240, start=0) == 0


def spent(*, parallel: bool, cost: float = ROUND["vnic_hand_over"]) -> tuple[int, int]:
    """Time of the NetPolls of two rings that get bursts of eight datagrams at the same instants, and the packets of the guest."""
    vm = group(vcpus=2, vnics=(vnic(rss=True, queues=2, udp_rss=True),))
    traffic = {"u": datagrams("receive", streams=2, burst=8, rate="8 kpps", port=2)}
    host = run(
        point(
            vm,
            traffic=traffic,
            cores=8,
            cost=CALM | {"vnic_hand_over": cost},
            nics={"vmnic0": nic(rx_queues=8, rss=True)},
            options={"vmnic0": NicOptions(rss_rings=2)},
            vnic_parallel=parallel,
        ),
        50 * MS,
    )
    used = [poll.used for poll in host.polls if poll.queue.ring.taken]
    assert len(used) == 2
    return sum(used), host.flows[0].delivered


def test_a_host_with_the_lock_delivers_the_same_for_more_cpu() -> None:
    """Hand-overs are charged to NetPolls; without simultaneous deliveries their cost has no effect."""
    free, same = spent(parallel=True), spent(parallel=True, cost=10 * ROUND["vnic_hand_over"])
    assert same == free
    locked, dear = spent(parallel=False), spent(parallel=False, cost=10 * ROUND["vnic_hand_over"])
    assert locked[1] == dear[1] == free[1]
    bursts = free[1] // 8 - 1
    # at least one hand-over per burst except the first, as the other ring had one in between
    assert locked[0] - free[0] >= bursts * ROUND["vnic_hand_over"] * NS
    assert dear[0] - locked[0] >= 9 * bursts * ROUND["vnic_hand_over"] * NS
