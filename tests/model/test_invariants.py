"""The laws of a host: something is broken in a real small one, and the run fails with what, where and when."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from hostsim.campaign.simulate import simulate
from hostsim.engine.probe import LatencyLog
from hostsim.engine.ring import Ring
from hostsim.errors import InvariantError
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.net.pnic import RxQueue
from hostsim.model.net.vnic import Vnic
from hostsim.model.traffic.work import Work
from hostsim.record import RunRecord
from hostsim.scenario.load import load
from hostsim.scenario.points import point_at
from hostsim.units import MS

TEXT = """
scenario: small
question: Is a broken law found?
platform: esxi-5.0
hardware: dell-r810
network:
  vSwitch0: {uplinks: [vmnic0]}
vms:
  receiver: {count: 3, guest: rhel6, networks: [vSwitch0], vmx: {ethernet0.emuRxMode: "1"}}
  worker: {count: 2, guest: rhel6, networks: [vSwitch0], vmx: {ethernet0.emuRxMode: "0"}}
traffic:
  stream: {kind: multicast, to: [receiver, worker], packet_size: 200 B, rate: 60 kpps, arrivals: {process: poisson}}
  load: {kind: work, to: worker, rate: 2000 /s, service: {mean: 100 us}}
run: {length: 20 ms, replications: 1}
"""


def run(folder: Path) -> RunRecord:
    file = folder / "small.yaml"
    file.write_text(TEXT)
    point = point_at(load(file), {})
    return simulate(point.spec, point_id=point.id, axes=point.axes, seed=1, replication=0)


def broken(folder: Path) -> InvariantError:
    with pytest.raises(InvariantError) as caught:
        run(folder)
    error = caught.value
    assert 0 < error.when_ps <= 80 * MS
    assert error.where in str(error)
    assert re.search(r"\d", error.what)
    return error


def once(method, number: int, change):
    """The method, with something else done at its ``number``-th call."""
    calls = itertools.count(1)
    return lambda self, *args: change(method, self, *args) if next(calls) == number else method(self, *args)


def always(method, change):
    """The method, with something else done at every call."""
    return lambda self, *args: change(method, self, *args)


def test_a_sound_host_keeps_all_laws_and_its_record_closes_every_balance(tmp_path: Path) -> None:
    """Inside at the start of the window and what came is what was delivered, what was dropped, and what is inside at its end."""
    record = run(tmp_path)
    start, end = (
        {name: int(series.values[at].sum()) for name, series in record.series.items()} for at in (record.cut, -1)
    )
    inside = (
        "queue.inside_copies",
        "port.split_inside",
        "port.ring_inside",
        "port.unread",
        "work.inside",
        "work.in_service",
    )
    dropped = ("flow.dropped_nic", "port.split_dropped", "port.ring_dropped", "port.socket_dropped", "work.dropped")
    came = end["flow.intended"] - start["flow.intended"]
    gone = sum(end[name] - start[name] for name in ("flow.delivered", *dropped))
    assert came > 1000
    assert sum(start[name] for name in inside) + came == gone + sum(end[name] for name in inside)


def test_a_packet_lost_in_a_ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It came and became nothing."""

    def lose(method, self, train):
        method(self, train)
        train.count -= 1

    monkeypatch.setattr(Ring, "push", once(Ring.push, 50, lose))
    assert " in, but " in broken(tmp_path).what


def test_a_packet_lost_and_found_again_by_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A balance that is open in the middle of a run only is found in the slice in which it opens."""
    original = Vcpu.in_socket
    monkeypatch.setattr(Vcpu, "in_socket", once(original, 200, lambda method, self: method(self) + 1))
    error = broken(tmp_path)
    assert "port.unread" in error.what
    assert error.when_ps < 20 * MS


def test_a_packet_that_a_context_takes_and_does_not_hand_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two stages, each of them sound by itself."""

    def swallow(method, self, train):
        if train.count > 1:
            train.count -= 1
        method(self, train)

    monkeypatch.setattr(Vnic, "receive", always(Vnic.receive, swallow))
    assert "copied" in broken(tmp_path).what


def test_a_frame_that_the_nic_counts_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More was sent than ever came off the wire."""

    def twice(method, self, now):
        sent = [flow.sent for flow in self.wire._flows]
        method(self, now)
        for flow, before in zip(self.wire._flows, sent, strict=True):
            flow.sent += flow.sent > before

    monkeypatch.setattr(RxQueue, "settle", once(RxQueue.settle, 60, twice))
    assert "frames sent" in broken(tmp_path).what


def test_a_burst_of_work_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started and never done."""
    lost = []

    def forget(method, self, now):
        if self._in_service and not lost:
            lost.append(self._in_service.pop())
        method(self, now)

    monkeypatch.setattr(Work, "finish", always(Work.finish, forget))
    assert "delivered" in broken(tmp_path).what


def test_a_double_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A world pays for time in which no PCPU was busy."""

    def twice(method, self, now):
        if self.running is not None:
            self.running.used += 1000
        method(self, now)

    monkeypatch.setattr(Pcpu, "charge", always(Pcpu.charge, twice))
    error = broken(tmp_path)
    assert "charged" in error.what


def test_more_busy_than_there_is_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PCPU that was idle for less than no time in one slice."""

    def more(method, self, now):
        return method(self, now) + MS

    monkeypatch.setattr(Pcpu, "busy", once(Pcpu.busy, 16 * 8 + 3, more))
    error = broken(tmp_path)
    assert error.where == "pcpu2"
    assert "of a slice of" in error.what


def test_packets_read_out_of_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two trains of one flow change places in the ring of a vNIC; it fails where and when the second is read."""

    def swapped(method, self, limit, now):
        taken = method(self, limit, now)
        return taken[::-1]

    monkeypatch.setattr(Vnic, "take", always(Vnic.take, swapped))
    error = broken(tmp_path)
    assert "is read after" in error.what
    assert re.match(r"(receiver|worker)\[\d\]\.vcpu0, stream", error.where)


def test_a_packet_read_before_it_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its age would be negative."""
    changed = once(LatencyLog.add_each, 9, lambda method, self, values: method(self, [-5, *values[1:]]))
    monkeypatch.setattr(LatencyLog, "add_each", changed)
    error = broken(tmp_path)
    assert "5 ps before it came" in error.what
    assert error.where in ("stream", "load")


def test_a_latency_that_nobody_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many latencies as deliveries, in every slice."""
    changed = once(LatencyLog.add_each, 9, lambda method, self, values: method(self, [*values, values[0]]))
    monkeypatch.setattr(LatencyLog, "add_each", changed)
    assert "latencies of" in broken(tmp_path).what


def test_a_counter_that_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters only grow."""
    original = RxQueue._interrupt
    changed = once(original, 40, lambda method, self, now: (method(self, now), setattr(self, "interrupts", 1)))
    monkeypatch.setattr(RxQueue, "_interrupt", changed)
    assert "queue.interrupts fell" in broken(tmp_path).what
