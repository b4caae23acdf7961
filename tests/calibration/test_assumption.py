"""Assumptions at the ends of their ranges, on a host small enough to run in a blink."""

from __future__ import annotations

from pathlib import Path

import pytest

import hostsim
from hostsim.calibration.assumption import Study, assumptions_of, flipping, run_study
from hostsim.campaign.simulate import simulate
from hostsim.campaign.store import Store
from hostsim.errors import InputError
from hostsim.pipeline import ExecutionOptions
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.selection import select

QUICK = Fidelity(quick=True)
SMALL = """
scenario: small
question: What hangs on the packets?
platform: esxi-5.0
hardware: dell-r810
network: {vSwitch0: {uplinks: [vmnic0]}}
vms: {receiver: {count: 1, guest: rhel6, networks: [vSwitch0]}}
traffic:
  stream:
    kind: multicast
    to: receiver
    packet_size: {value: 200 B, assumed: nobody said, range: [100 B, 400 B]}
    rate: {value: 5 kpps, assumed: nobody said, range: [2 kpps, 10 kpps]}
    arrivals: {process: {value: constant, assumed: nobody said, range: [constant, poisson]}}
run: {length: 60 ms, replications: 1, quick: {length: 60 ms, replications: 1}}
sweep:
  receivers: {set: vms.receiver.count, values: [1, 2]}
  rate: {set: traffic.stream.rate, values: [5 kpps, 3 kpps]}
expect:
  - {name: its packets, metric: rx_rate, at: {receivers: 1, rate: 5 kpps}, between: [4.5, 5.5]}
  - {name: another rate, metric: rx_rate, at: {receivers: 1, rate: 3 kpps}, between: [2.7, 3.3]}
"""
SEARCHED = """
scenario: small
question: How many receivers has a host room for?
platform: esxi-5.0
hardware: dell-r810
network: {vSwitch0: {uplinks: [vmnic0]}}
vms: {receiver: {count: 1, guest: rhel6, networks: [vSwitch0]}}
traffic:
  stream:
    kind: multicast
    to: receiver
    packet_size: {value: 200 B, assumed: nobody said, range: [200 B, 1400 B]}
    rate: 40 kpps
run: {length: 60 ms, replications: 1, quick: {length: 60 ms, replications: 1}}
sweep:
  receivers: {set: vms.receiver.count, values: [1, 2]}
  rate: {set: traffic.stream.rate, values: [40 kpps, 10 kpps]}
expect:
  - name: room
    find: {largest: receivers, from: 1, to: 30, where: {metric: host_cpu, below: 30 %}, at: {rate: 40 kpps}}
    between: [1, 30]
  - name: idle room
    find: {largest: receivers, from: 1, to: 2, where: {metric: loss, below: 90 %}, at: {rate: 10 kpps}}
    between: [1, 2]
  - name: room to room
    ratio: {of: room, to: idle room}
    between: [0, 30]
"""
OWN = ("small.traffic.stream.packet_size", "small.traffic.stream.rate", "small.traffic.stream.arrivals.process")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL, encoding="utf-8")
    return file


def studied(file: Path, results: Path, only: tuple[str, ...] = OWN) -> Study:
    """Of these assumptions only: a platform has dozens."""
    return run_study("small", select(str(file)), QUICK, ExecutionOptions(Store(results), jobs=1), only=only)


def test_what_is_moved_is_every_assumption_behind_the_points(small: Path) -> None:
    """Inputs of the scenario, also one that an axis varies, a word by its alternatives; of parts what is assumed and not calibrated."""
    found = {one.name: one for one in assumptions_of(select(str(small)), QUICK)}
    assert [found[name].ends for name in OWN] == [[100.0, 400.0], [2.0, 10.0], [1.0]]
    assert found[OWN[2]].constant.written(1.0) == "poisson"
    assert "esxi.costs.context_switch" in found
    assert "dell-r810.nics.vmnic0.interrupt_step" in found
    assert not {"esxi.costs.poll_entry", "rhel6.applications.udp_sink"} & found.keys()


def test_a_word_is_one_of_the_words_that_may_stand_in_its_place(small: Path) -> None:
    """A choice between two others would have no end to be moved from."""
    small.write_text(SMALL.replace("range: [constant, poisson]", "range: [poisson, poisson]"), encoding="utf-8")
    with pytest.raises(InputError, match=r"process: lies outside its own range; .* allowed: one of its range"):
        hostsim.load(small)


def test_a_verdict_that_an_input_flips_is_found(small: Path, tmp_path: Path) -> None:
    """Twice the rate is out of the band of packets; no size of a packet is. An axis that puts another rate leaves nothing to move."""
    study = studied(small, tmp_path / "results")
    assert {(move.end, move.claim, move.was, move.now) for move in study.flips} == {
        ("2 kpps", "its packets", "in", "out"),
        ("10 kpps", "its packets", "in", "out"),
    }
    assert list(flipping([study])) == ["small.traffic.stream.rate"]
    rate = [move.claim for move in study.moves if move.assumption == "small.traffic.stream.rate"]
    assert rate == ["its packets", "its packets"]
    size = [move.after for move in study.moves if move.assumption == "small.traffic.stream.packet_size"]
    assert sorted(size) == pytest.approx([3, 3, 5, 5], rel=0.1)


def test_a_run_that_fails_is_no_pass(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict on a host whose run ends with an error is missing, which is another one than it was."""

    def failing(spec, **named):
        if spec.traffic["stream"].rate > 9000:
            raise ZeroDivisionError("a defect")
        return simulate(spec, **named)

    monkeypatch.setattr("hostsim.campaign.driver._simulate", lambda: failing)
    study = studied(small, tmp_path / "results", ("small.traffic.stream.rate",))
    assert [(move.end, move.after, move.now) for move in study.flips] == [
        ("2 kpps", pytest.approx(2.0, rel=0.1), "out"),
        ("10 kpps", None, "missing"),
    ]


def test_a_verdict_that_chance_flips_in_one_run_is_judged_by_three(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One replication of three has a quarter more packets at one end: alone it is out of the band, and the mean is not."""

    def by_chance(spec, replication, **named):
        stream = spec.traffic["stream"]
        if stream.packet_size == 100 and stream.rate == 5000 and replication == 0:
            stream = stream.model_copy(update={"rate": 6250})
            spec = spec.model_copy(update={"traffic": {"stream": stream}})
        return simulate(spec, replication=replication, **named)

    monkeypatch.setattr("hostsim.campaign.driver._simulate", lambda: by_chance)
    study = studied(small, tmp_path / "results", OWN[:2])
    found = {(move.assumption, move.end, move.claim): move for move in study.moves}
    size = found[OWN[0], "100 B", "its packets"]
    assert size.confirmed
    assert not size.flips
    assert size.after == pytest.approx((5 + 5 + 6.25) / 3, rel=0.01)
    rate = found[OWN[1], "10 kpps", "its packets"]
    assert rate.confirmed
    assert rate.flips
    assert not found[OWN[0], "400 B", "its packets"].confirmed


def test_an_end_at_which_no_host_can_be_is_refused_and_flips_nothing(small: Path, tmp_path: Path) -> None:
    """Packets that no wire takes: the claim is not judged there, and the reason is kept."""
    text = SMALL.replace("[100 B, 400 B]", "[100 B, 65000 B]")
    small.write_text(text, encoding="utf-8")
    study = studied(small, tmp_path / "results", ("small.traffic.stream.packet_size",))
    assert {(one.end, one.claim) for one in study.refused} == {
        ("65000 B", "its packets"),
        ("65000 B", "another rate"),
    }
    assert {move.end for move in study.moves} == {"100 B"}
    assert study.flips == ()


def test_a_threshold_moves_and_with_it_the_ratio_that_is_computed_from_it(tmp_path: Path) -> None:
    """Larger packets leave room for fewer receivers: where two points beside it say, a search says too, and the ratio follows."""
    file = tmp_path / "small.yaml"
    file.write_text(SEARCHED, encoding="utf-8")
    study = studied(file, tmp_path / "results", ("small.traffic.stream.packet_size",))
    found = {(move.end, move.claim): move for move in study.moves}
    room = found["1400 B", "room"]
    assert room.before is not None
    assert room.after is not None
    assert 2 < room.after < room.before < 30
    ratio = found["1400 B", "room to room"]
    assert ratio.after == pytest.approx(room.after / 2, rel=1e-4)
    moved = SEARCHED.replace("value: 200 B", "value: 1400 B")
    file.write_text(moved, encoding="utf-8")
    [searched] = [
        v
        for v in hostsim.check(str(file), quick=True, results=tmp_path / "results", jobs=1)
        if v.expectation.name == "room"
    ]
    assert room.after == pytest.approx(searched.value, abs=1.0)


@pytest.mark.parametrize("farthest", [10.0, 0.0])
def test_a_threshold_that_two_points_do_not_say_is_searched_near_them_and_then_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, farthest: float
) -> None:
    """Whichever it takes, it is that of a search in the whole bracket."""
    monkeypatch.setattr("hostsim.calibration.moved_host.moved_threshold", lambda *_: None)
    monkeypatch.setattr("hostsim.calibration.local_threshold.FARTHEST", farthest)
    file = tmp_path / "small.yaml"
    file.write_text(SEARCHED, encoding="utf-8")
    study = studied(file, tmp_path / "results", ("small.traffic.stream.packet_size",))
    [room] = [move for move in study.moves if (move.end, move.claim) == ("1400 B", "room")]
    assert room.before is not None
    assert room.after is not None
    assert room.after < room.before
    file.write_text(SEARCHED.replace("value: 200 B", "value: 1400 B"), encoding="utf-8")
    verdicts = hostsim.check(str(file), quick=True, results=tmp_path / "results", jobs=1)
    assert room.after == next(verdict.value for verdict in verdicts if verdict.expectation.name == "room")


@pytest.mark.parametrize(
    ("assumption", "runs", "moves"),
    [("esxi.costs.vxlan_decap", 2, {True}), ("esxi.costs.context_switch", 3, {False})],
)
def test_an_end_that_changes_neither_the_busiest_nor_the_idlest_point_is_run_at_no_other(
    tmp_path: Path, assumption: str, runs: int, moves: set[bool]
) -> None:
    """Of three points there are two runs where a cost is not paid, and three where one is."""
    file = tmp_path / "small.yaml"
    more = "  - {name: between, metric: host_cpu, at: {receivers: 1, rate: 4 kpps}, between: [0, 100]}\n"
    text = SMALL.replace("values: [5 kpps, 3 kpps]", "values: [5 kpps, 4 kpps, 3 kpps]").replace("rx_rate", "host_cpu")
    file.write_text(text + more, encoding="utf-8")
    study = studied(file, tmp_path / "results", (assumption,))
    [moved] = study.assumptions.values()
    ends = len(moved["ends"].split(", "))
    assert len(list((tmp_path / "results").rglob("*.parquet"))) == 3 + runs * ends
    assert {move.claim for move in study.moves} == {"its packets", "another rate", "between"}
    assert {move.before == move.after for move in study.moves} == moves


def test_a_study_goes_on_where_it_was_stopped_and_runs_nothing_twice(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time every run is in the results folder, and the result is the same."""
    first = studied(small, tmp_path / "results")
    runs = sorted((tmp_path / "results").rglob("*"))
    assert runs
    monkeypatch.setattr("hostsim.campaign.driver.open_executor", None)  # nothing is left to execute
    assert studied(small, tmp_path / "results") == first
    assert sorted((tmp_path / "results").rglob("*")) == runs
