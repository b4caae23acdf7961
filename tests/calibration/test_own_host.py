"""Calibration to a user's host: agreement with measurements, output files, and resuming a killed calibration."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from hostsim.campaign.driver import Outcome
from hostsim.campaign.ensemble import own_values, read_ensemble
from hostsim.campaign.pipeline import ExecutionOptions
from hostsim.campaign.store import Store
from hostsim.errors import InputError
from hostsim.lab.calibration import joint, prior
from hostsim.lab.calibration.host_calibration import Calibrated, Calibration, calibrated
from hostsim.lab.calibration.joint import IDENTITY, LOG, Waves
from hostsim.lab.calibration.measured import expected_at
from hostsim.lab.calibration.own_host import OwnHost, calibrate_host, explained, hosts_within, prepare
from hostsim.lab.calibration.prior import Evaluated
from hostsim.scenario.cost_model import with_constants
from hostsim.scenario.load import load
from hostsim.scenario.plan import Plan
from hostsim.scenario.scenario import Scenario
from tests.tiny_scenario import TINY

WAVES = Waves(60, (8, 6))
POINT = {"receivers": 1, "rate": "5 kpps"}
WANTED = ("host_cpu", {"receivers": 2, "rate": "5 kpps"})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    (folder / "tiny.yaml").write_text(TINY)
    return folder


@pytest.fixture(scope="module")
def scenario(home: Path) -> Scenario:
    return load(home / "tiny.yaml", axes={"rate": "5 kpps"})


def prepared(scenario: Scenario, folder: Path, value: float = 6.8, seed: int = 1) -> OwnHost:
    measured = [expected_at("guest_cpu", POINT, value, 0.1), expected_at("latency_mean", POINT, 120.0, 5.0)]
    return prepare(scenario, measured, folder, predicted=WANTED, seed=seed)


def execution(folder: Path) -> ExecutionOptions:
    return ExecutionOptions(Store(folder), jobs=1)


@pytest.fixture(scope="module")
def found(scenario: Scenario, home: Path) -> Calibrated:
    host = prepared(scenario, home / "out")
    calibrate_host(host, execution(home / "results"), WAVES)
    result = calibrated(host)
    result.write("Measured.")
    return result


def test_the_ensemble_comes_nearer_to_what_was_measured_than_the_priors(found: Calibrated) -> None:
    """By real runs of both; the constant behind it is determined, and most others are not."""
    outputs = {number: one.claims for number, one in found.joint.evaluated().items()}
    name = found.residuals[0].name
    before = np.sqrt(np.mean([(outputs[number][name] - 6.8) ** 2 for number in range(WAVES.first)]))
    after = np.sqrt(np.mean([(outputs[number][name] - 6.8) ** 2 for number in found.ensemble]))
    assert after < before / 2
    assert "rhel6.applications.udp_sink" in [one.name for one in found.held]
    assert len(found.held) < len(found.summary.learnt) / 3


def test_everything_is_written(found: Calibrated, home: Path) -> None:
    """The written files are read again: the same ensemble, and the summary as strict JSON."""
    names = {file.name for file in (home / "out").iterdir()}
    assert {LOG, IDENTITY, "ensemble.csv", "summary.json", "residuals.png", "residuals.svg"} <= names
    ensemble = read_ensemble(home / "out" / "ensemble.csv")
    assert len(ensemble.members) == 6
    kept = json.loads((home / "out" / "summary.json").read_text(), parse_constant=pytest.fail)
    assert kept["centre"]["member"] in found.ensemble
    assert [one["name"] for one in kept["residuals"]] == [one.name for one in found.residuals]
    assert {one["metric"] for one in kept["predictions"]} == {"host_cpu", "guest_cpu", "latency_mean"}


def test_a_host_with_parts_of_its_own_is_the_member_nearest_the_centre(
    found: Calibrated, scenario: Scenario, home: Path
) -> None:
    """The scenario with these parts has the member's costs, to the written digits."""
    own = load(
        home / "tiny.yaml",
        {
            "platform": "out/platforms/esxi-5.0.yaml",
            "hardware": "out/hardware/dell-r810.yaml",
            "vms.receiver.guest": "out/guests/rhel6.yaml",
            "peer": "out/peers/linux.yaml",
        },
        {"rate": "5 kpps"},
    )
    member = with_constants(scenario, own_values(scenario, found.ensemble[found.centre]))
    mine, its = (one.spec(one.first(), 10**11)[0] for one in (own, member))
    for name in type(mine.costs).model_fields:
        if name != "generations":
            [key] = [
                key for key in ("cycles", "time", "value") if getattr(getattr(its.costs, name), key, None) is not None
            ]
            wanted = getattr(getattr(its.costs, name), key)
            assert getattr(getattr(mine.costs, name), key) == pytest.approx(wanted, rel=1e-5), name
    sinks = [spec.vms[0].guest.applications.udp_sink.cycles for spec in (mine, its)]
    assert sinks[0] == pytest.approx(sinks[1], rel=1e-5)
    assert mine.peer.timer_jitter == pytest.approx(its.peer.timer_jitter, rel=1e-5)
    assert mine.peer.timer_jitter != scenario.spec(scenario.first(), 10**11)[0].peer.timer_jitter
    assert own.spec(own.first(), 10**11)[0].digest() != scenario.spec(scenario.first(), 10**11)[0].digest()


def test_predictions_of_a_metric_are_drawn(found: Calibrated) -> None:
    """A row for each point; another metric, or another number of known values, is an error."""
    calibration = Calibration(found, {})
    points = len(calibration.predictions.query("metric == 'guest_cpu'"))
    axes = calibration.plot_predictions("guest_cpu", known=[7.0] * points)
    assert len(axes.get_yticklabels()) == points > 0
    with pytest.raises(InputError, match="was not predicted"):
        calibration.plot_predictions("loss")
    with pytest.raises(InputError, match="are not as many"):
        calibration.plot_predictions("guest_cpu", known=[7.0] * (points + 1))


def test_a_counter_with_two_names_counts_once(scenario: Scenario, tmp_path: Path) -> None:
    """%Util Time and %Processor Time of esxtop are equal without hyperthreads: two numbers, but one piece of evidence."""
    metrics = ("host_cpu", "host_used", "guest_cpu")
    host = prepare(scenario, [expected_at(metric, POINT, 1.0, 0.1) for metric in metrics], tmp_path)
    names = host.joint.host.names
    random = np.random.default_rng(1)
    rows: list[list[object]] = [["member", *names, "processor_s", "error"]]
    for member in range(16):
        used, guest = random.random(2)
        value = {"host_cpu": used, "host_used": used, "guest_cpu": guest}
        rows.append([member, *(value[name.partition(" ")[0]] for name in names), 1, ""])
    with (tmp_path / LOG).open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert [name.partition(" ")[0] for name in host.joint.emulators()] == ["host_cpu", "guest_cpu"]


def test_the_log_is_read_once_for_all_that_is_predicted(found: Calibrated, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read for each point of the sweep: every host has a row for it."""
    reads: list[Path] = []
    whole = joint.read_log

    def counted(log: Path, names: list[str]) -> Iterator[Evaluated]:
        reads.append(log)
        return whole(log, names)

    monkeypatch.setattr(joint, "read_log", counted)
    assert found.host is not None
    assert len(found.host.predictions()) > 1
    assert len(found.host.next_measurements()) > 1
    assert len(reads) == 2


def test_what_was_killed_goes_on(found: Calibrated, scenario: Scenario, home: Path, tmp_path: Path) -> None:
    """From an incomplete row: that host is run again, all others are not, and the values are the same."""
    folder = tmp_path / "out"
    folder.mkdir()
    rows = (home / "out" / LOG).read_bytes().splitlines(keepends=True)
    (folder / LOG).write_bytes(b"".join(rows[:23]) + rows[23][:20])
    (folder / IDENTITY).write_bytes((home / "out" / IDENTITY).read_bytes())
    told: list[int] = []
    host = prepared(scenario, folder)
    host.joint.run(Waves(24, ()), execution(home / "results"), report=lambda one: told.append(one.member))
    assert told == [22, 23]
    before, after = found.joint.evaluated(), host.joint.evaluated()
    assert all(after[number].claims == before[number].claims for number in range(24))


def test_hosts_that_ctrl_c_cut_short_are_no_rows(scenario: Scenario, home: Path, tmp_path: Path, monkeypatch) -> None:
    """Finished ones stay, and the rest is run when the calibration resumes."""
    whole = prior.execute_all

    def cut(plans: Sequence[Plan], options: ExecutionOptions) -> list[Outcome]:
        if len(rows()) > 1:
            raise KeyboardInterrupt
        return whole(plans, options)

    def rows() -> list[str]:
        log = tmp_path / "out" / LOG
        return log.read_text().splitlines() if log.exists() else []

    monkeypatch.setattr(prior, "execute_all", cut)
    host = prepared(scenario, tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        host.joint.run(Waves(24, ()), execution(home / "results"))
    kept = rows()
    assert 1 < len(kept) < 25
    monkeypatch.undo()
    host.joint.run(Waves(24, ()), execution(home / "results"))
    assert len(rows()) == 25
    assert rows()[: len(kept)] == kept


def test_a_folder_of_another_calibration_is_refused(found: Calibrated, scenario: Scenario, home: Path) -> None:
    """The error states the difference: the measurements, the seed, or the host."""
    longer = load(home / "tiny.yaml", {"traffic.stream.packet_size": "400 B"}, {"rate": "5 kpps"})
    for host, word in (
        (prepared(scenario, home / "out", 6.9), "other measurements"),
        (prepared(scenario, home / "out", seed=2), "other seed"),
        (prepared(longer, home / "out"), "other hosts"),
    ):
        with pytest.raises(InputError, match=f"contains another calibration; given {word}"):
            calibrate_host(host, execution(home / "results"), WAVES)


def test_a_budget_says_how_many_hosts(scenario: Scenario) -> None:
    """Three fifths for the design, a fifth for each wave; forty at least and four hundred at most."""
    assert hosts_within(100.0, 1.0) == Waves(60, (20, 20))
    assert hosts_within(1e6, 1.0) == Waves(240, (80, 80))
    with pytest.raises(InputError, match=r"budget: is too little.*given 39 s; allowed: at least 40 s"):
        hosts_within(39.0, 1.0)


def test_a_measurement_takes_away_what_goes_with_it() -> None:
    """The share of variance that a straight line explains, less the noise's part; zero for a constant."""
    random = np.random.default_rng(1)
    aim = random.standard_normal(100_000)
    other = 10 + aim + random.standard_normal(len(aim))
    assert explained(other, aim, 0.0) == pytest.approx(0.5, abs=0.01)
    assert explained(other, aim, 2**0.5 / 10) == pytest.approx(0.25, abs=0.01)
    assert explained(np.full(len(aim), 3.0), aim, 0.1) == 0.0


def test_what_would_narrow_most_is_named_first(found: Calibrated) -> None:
    """The desired measure explains most of itself, and never more than all."""
    narrows = {one.name: one.narrows for one in found.host.next_measurements()}
    assert list(narrows.values()) == sorted(narrows.values(), reverse=True)
    assert set(narrows) == {one.name for one in (found.host.question, *found.host.candidates)}
    assert 0.0 <= min(narrows.values()) <= max(narrows.values()) <= 1.0
    assert narrows["host_cpu at receivers=2, rate=5 kpps"] > 0.2


def test_what_was_measured_is_not_predicted_and_nothing_is_no_measurement(scenario: Scenario, tmp_path: Path) -> None:
    """Both are faults before anything is run."""
    one = expected_at("host_cpu", WANTED[1], 1.0, 0.1)
    with pytest.raises(InputError, match="predict: was measured"):
        prepare(scenario, [one], tmp_path, predicted=WANTED)
    with pytest.raises(InputError, match="has no measurements to calibrate to"):
        prepare(scenario, [expected_at(*WANTED)], tmp_path)
    assert list(tmp_path.iterdir()) == []
