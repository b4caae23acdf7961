"""The lock of a vNIC that receive contexts deliver to one at a time."""

from __future__ import annotations

from hostsim.config.nic import NicOptions
from hostsim.model.net.rx_queue import RxQueue
from hostsim.model.net.vnic import VnicLock
from hostsim.units import MS, NS

from .small_point import CALM, ROUND, datagrams, group, nic, point, run, vnic

HAND_OVER = 10
TRAIN = {"count": 4, "outside": 20, "inside": 80}


def rings(count: int) -> list[RxQueue]:
    """Different rings; the lock only compares them."""
    return [object.__new__(RxQueue) for _ in range(count)]


def test_a_context_alone_pays_once_and_never_waits() -> None:
    """The lock was nobody's before; from then on its lines are in the context's own cache."""
    lock, (one,) = VnicLock(HAND_OVER), rings(1)
    assert lock.enter(one, 0, **TRAIN) == HAND_OVER
    assert [lock.enter(one, at, **TRAIN) for at in (110, 210, 1000)] == [0, 0, 0]


def test_two_contexts_take_turns_by_hand() -> None:
    """Each frame of one that comes while the other is at work costs a hand-over, and the time that the lock is taken beyond its own way is spun away."""
    lock, (one, other) = VnicLock(HAND_OVER), rings(2)
    assert lock.enter(one, 0, **TRAIN) == HAND_OVER  # it has the lock for 90 until 110
    # at 30: four turns; 60 of the first one's 90 are left, and 120 of its own make it free at 210, 40 after 30 + 20 + 120
    assert lock.enter(other, 30, **TRAIN) == 4 * HAND_OVER + 40
    # at 110, the other one until 210: 20 + 120 are over at 250, the lock is free at 210 + 120
    assert lock.enter(one, 110, **TRAIN) == 4 * HAND_OVER + 80
    # at 400 the other's time is over: a single hand-over
    assert lock.enter(other, 400, **TRAIN) == HAND_OVER


def test_work_in_front_of_the_lock_is_done_side_by_side() -> None:
    """Contexts that have more to do in front of it than behind never wait."""
    lock, (one, other) = VnicLock(0), rings(2)
    for at in (0, 100, 200):
        assert lock.enter(one, at, count=1, outside=60, inside=40) == 0
        assert lock.enter(other, at, count=1, outside=60, inside=40) == 0


def spent(*, parallel: bool, cost: float = ROUND["vnic_hand_over"]) -> tuple[int, int]:
    """Time of the NetPolls of two rings that get a burst of eight datagrams each at the same instants, and the packets that the guest got."""
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
    """What a hand-over costs is on the bill of NetPolls; nothing of it is left where they deliver at the same time, whatever it would cost."""
    free, same = spent(parallel=True), spent(parallel=True, cost=10 * ROUND["vnic_hand_over"])
    assert same == free
    locked, dear = spent(parallel=False), spent(parallel=False, cost=10 * ROUND["vnic_hand_over"])
    assert locked[1] == dear[1] == free[1]
    bursts = free[1] // 8
    # at least one hand-over for each burst, as the other ring had one in between
    assert locked[0] - free[0] >= bursts * ROUND["vnic_hand_over"] * NS
    assert dear[0] - locked[0] >= 9 * bursts * ROUND["vnic_hand_over"] * NS
