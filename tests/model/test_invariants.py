"""The invariants of a host: a fault is injected into a real small host, and the run fails with law, place and time."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hostsim.campaign import simulate
from hostsim.engine.probe import LatencyLog
from hostsim.engine.ring import Ring
from hostsim.errors import InvariantError
from hostsim.model.build import build_host
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.guest.vcpu import Inbox, Vcpu
from hostsim.model.host import Host
from hostsim.model.receive.context import VSwitch
from hostsim.model.receive.nic import RxQueue
from hostsim.model.receive.vnic import Vnic
from hostsim.model.traffic.cpu_work import CpuWork
from hostsim.model.transmit.networld import TxQueue
from hostsim.units import MS
from tests.model.small_runs import OPEN, STREAMS, run


def broken(folder: Path, text: str = OPEN) -> InvariantError:
    with pytest.raises(InvariantError) as caught:
        run(text, folder)
    error = caught.value
    assert 0 < error.when_ps <= 80 * MS
    assert error.where in str(error)
    assert re.search(r"\d", error.what)
    return error


def once(method, number: int, change):
    """The method, with another action at its ``number``-th call."""
    calls = itertools.count(1)
    return lambda self, *args: change(method, self, *args) if next(calls) == number else method(self, *args)


def always(method, change):
    """The method, with another action at every call."""
    return lambda self, *args: change(method, self, *args)


# --- sound hosts


def test_a_sound_host_keeps_all_laws_and_its_record_closes_every_balance(tmp_path: Path) -> None:
    """Packets inside at the start of the window plus arrivals equal deliveries, drops and packets inside at its end."""
    record = run(OPEN, tmp_path)
    start, end = (
        {name: int(series.values[at].sum()) for name, series in record.series.items()} for at in (record.cut, -1)
    )
    inside = (
        "queue.inside_copies",
        "port.split_inside",
        "port.ring_inside",
        "guest.unread",
        "work.inside",
        "work.in_service",
    )
    dropped = ("flow.dropped_nic", "port.split_dropped", "port.ring_dropped", "guest.socket_dropped", "work.dropped")
    came = end["flow.intended"] - start["flow.intended"]
    gone = sum(end[name] - start[name] for name in ("flow.delivered", *dropped))
    assert came > 1000
    assert sum(start[name] for name in inside) + came == gone + sum(end[name] for name in inside)


@pytest.mark.parametrize("replication", range(3))
def test_bursts_that_are_cut_short_keep_all_laws(
    replication: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that a burst was to hand on later is taken back: packets for the wire, and for a process on another vCPU.
    NetPolls preempt vCPUs, a VM's NetWorlds only those of VMs ahead of it; interrupts also take packets back.
    """
    back = {TxQueue: 0, Inbox: 0}
    for owner in back:

        def noted(method, self, trains, now, owner=owner):
            found = method(self, trains, now)
            back[owner] += len(found)
            return found

        monkeypatch.setattr(owner, "cancel", always(owner.cancel, noted))
    record = run(STREAMS, tmp_path, replication)
    assert int(record.series["pcpu.preemptions"].values[-1].sum()) > 100
    assert min(back.values()) > 0


# --- packets


Pick = Callable[[Host], Ring]


def first_split(host: Host) -> Ring:
    return next(port.split.ring for port in host.ports if port.split is not None)


@pytest.mark.parametrize(
    ("text", "pick", "said"),
    [
        (OPEN, lambda host: host.queues[0].ring, "(queue.arrived), but"),
        (OPEN, first_split, "(port.copies), but"),
        (OPEN, lambda host: host.ports[4].vnic.ring, "(port.copies), but"),
        (OPEN, lambda host: host.vcpus[3].work.ring, "(work.come), but"),
        (STREAMS, lambda host: host.transmits[0].ring, "(tx.posted), but"),
        (STREAMS, lambda host: host.vcpus[-1].inbox.ring, "(guest.came), but"),
    ],
    ids=["NIC", "split context", "vNIC", "work", "transmit queue", "another vCPU"],
)
def test_a_packet_lost_in_a_ring(
    text: str, pick: Pick, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A packet that arrived and vanished is reported with its stage."""
    rings: list[Ring] = []

    def built(spec, streams, **others: object):
        host = build_host(spec, streams, **others)
        rings[:] = [pick(host)]
        return host

    def lose(method, self, train):
        method(self, train)
        if rings and self is rings[0] and train.count * train.frames > 1:
            rings.clear()
            if train.count > 1:
                train.count -= 1
            else:
                train.frames -= 1

    monkeypatch.setattr(simulate, "build_host", built)
    monkeypatch.setattr(Ring, "push", always(Ring.push, lose))
    error = broken(tmp_path, text)
    assert said in error.what
    assert not rings
    assert error.where != "the host"


def test_a_packet_lost_and_found_again_by_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An imbalance in the middle of a run is found in the slice in which it begins."""
    original = Vcpu.in_socket
    monkeypatch.setattr(Vcpu, "in_socket", once(original, 200, lambda method, self: method(self) + 1))
    error = broken(tmp_path)
    assert "guest.unread" in error.what
    assert error.when_ps < 20 * MS


def test_a_packet_that_a_context_takes_and_does_not_hand_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault is between two stages that are each consistent."""

    def swallow(method, self, train):
        if train.count > 1:
            train.count -= 1
        method(self, train)

    monkeypatch.setattr(Vnic, "receive", always(Vnic.receive, swallow))
    assert "copied" in broken(tmp_path).what


@pytest.mark.parametrize("text", [OPEN, STREAMS], ids=["multicast", "unicast"])
def test_a_frame_that_gets_lost_between_the_nic_and_the_ports(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A packet is taken off the NIC but counts for no port, so that the flow knows of more packets than the ports."""

    def swallow(method, self, batch, *rest):
        return method(self, batch[1:], *rest)

    monkeypatch.setattr(VSwitch, "receive", once(VSwitch.receive, 40, swallow))
    error = broken(tmp_path, text)
    assert error.where == "the host"
    assert re.match(r"\d+ packets \(flow.intended\), but \d+ \(.*port.frames", error.what)


def test_a_frame_that_the_nic_counts_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More packets were sent than ever came off the wire."""

    def twice(method, self, now):
        method(self, now)
        (sender,) = self._nic.wire._flows
        sender.totals.sent += 1

    monkeypatch.setattr(RxQueue, "settle", once(RxQueue.settle, 60, twice))
    assert "packets (flow.intended), but" in broken(tmp_path).what


def test_a_frame_counted_twice_as_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The flow has more deliveries than vCPUs have reads."""

    def twice(method, self, train, start, end):
        method(self, train, start, end)
        train.stream.totals.delivered += 1

    monkeypatch.setattr(Vcpu, "count_read", once(Vcpu.count_read, 50, twice))
    assert "(flow.delivered + work.in_service), but" in broken(tmp_path, STREAMS).what


def test_a_burst_of_work_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started and never done."""
    lost = []

    def forget(method, self, now):
        if self._in_service and not lost:
            lost.append(self._in_service.pop())
        method(self, now)

    monkeypatch.setattr(CpuWork, "finish", always(CpuWork.finish, forget))
    assert "(flow.delivered + work.in_service), but" in broken(tmp_path).what


def test_less_than_nothing_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A level may fall, but not below zero."""
    monkeypatch.setattr(Ring, "count_inside", once(Ring.count_inside, 60, lambda *_: -1))
    assert re.match(r"(queue|port|tx|work)\.\w*inside is -1", broken(tmp_path).what)


# --- order and age


def test_packets_read_out_of_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two trains of a flow are swapped in a vNIC's ring; the run fails where and when the second is read."""

    def swapped(method, self, limit, now):
        taken = method(self, limit, now)
        return taken[::-1]

    monkeypatch.setattr(Vnic, "take", always(Vnic.take, swapped))
    error = broken(tmp_path)
    assert "is read after" in error.what
    assert re.match(r"(receiver|worker)\[\d\]\.vcpu0, stream", error.where)


def test_a_packet_read_before_it_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its age would be negative."""
    changed = once(
        LatencyLog.add_each,
        9,
        lambda method, self, came, first, step: method(self, [first + 5, *came[1:]], first, step),
    )
    monkeypatch.setattr(LatencyLog, "add_each", changed)
    error = broken(tmp_path)
    assert "5 ps before its arrival" in error.what
    assert error.where in ("stream", "load")


def test_a_latency_that_nobody_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every slice has as many latencies as deliveries."""
    changed = once(
        LatencyLog.add_each, 9, lambda method, self, came, first, step: method(self, [*came, came[0]], first, step)
    )
    monkeypatch.setattr(LatencyLog, "add_each", changed)
    assert "times in flow.latency of" in broken(tmp_path).what


# --- time


def test_a_double_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A world is charged for time in which no PCPU was busy."""

    def twice(method, self, now):
        if self.running is not None:
            self.running.used += 1000
        method(self, now)

    monkeypatch.setattr(Pcpu, "charge", always(Pcpu.charge, twice))
    error = broken(tmp_path)
    assert "charged" in error.what


def test_more_busy_than_there_is_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PCPU has negative idle time in one slice."""

    def more(method, self, now):
        return method(self, now) + MS

    monkeypatch.setattr(Pcpu, "busy", once(Pcpu.busy, 16 * 8 + 3, more))
    error = broken(tmp_path)
    assert error.where == "pcpu2"
    assert "of a slice of" in error.what


def test_a_world_that_waits_for_longer_than_there_is_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time on a PCPU and time without one do not overlap."""

    def waited(method, self, world, now, *surcharge):
        world.waited += MS
        method(self, world, now, *surcharge)

    monkeypatch.setattr(Pcpu, "start", once(Pcpu.start, 40, waited))
    error = broken(tmp_path)
    assert "ran and waited for" in error.what
    assert error.where not in ("the host", "pcpu2")


def test_a_counter_that_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters only grow."""
    original = RxQueue._interrupt
    changed = once(original, 40, lambda method, self, now: (method(self, now), setattr(self, "interrupts", 1)))
    monkeypatch.setattr(RxQueue, "_interrupt", changed)
    assert "queue.interrupts fell" in broken(tmp_path).what
