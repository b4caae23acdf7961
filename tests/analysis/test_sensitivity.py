"""Sensitivity of small hosts with computable answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hostsim.campaign.store import Store
from hostsim.errors import InputError
from hostsim.lab.sensitivity import SampleSize, Sensitivity, variable_constants
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.scenario.load import load
from hostsim.scenario.option_text import parse_point
from hostsim.scenario.plan import Fidelity
from tests.cli.conftest import TINY
from tests.single_plan import run_all

SIZE = SampleSize(trajectories=2, samples=8, most=2)
ONLY = ("*.udp_sink", "*.guest_housekeeping", "*.e1000_*", "*.copy_per_byte")


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    """The smallest scenario of the command line's tests."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.yaml"
    path.write_text(TINY)
    return load(path)


def asked(scenario, metric="guest_cpu", size=SIZE, fidelity=Fidelity(quick=True, replications=1), only=ONLY):  # noqa: B008
    at = parse_point(scenario, {"rate": "5 kpps"})
    return Sensitivity(scenario, metric, at, variable_constants(scenario, at, only), fidelity, size)


def answered(question, folder):
    outcome = run_all(question.plan(), Store(folder), jobs=1)
    return question.result(outcome.records), outcome


@pytest.fixture(scope="module")
def done(scenario, tmp_path_factory):
    """One analysis, and the folder that stores its runs."""
    folder = tmp_path_factory.mktemp("results")
    question = asked(scenario)
    return question, *answered(question, folder), folder


def test_guest_cpu_hangs_on_the_process_by_what_its_cycles_take(scenario, done):
    """250 packets in 50 ms with this many more cycles at 2.67 GHz; the last one is not read yet. Other varied constants hardly matter."""
    _, result, _, _ = done
    first = result.factors[0]
    assert first.constant.name == "rhel6.applications.udp_sink"
    low, high = first.at_ends
    assert low < result.base < high
    spec, _ = scenario.spec(parse_point(scenario, {"rate": "5 kpps"}), 10**9)
    hertz = spec.costs.cycle_rate(spec.hardware.cpu.family, spec.hardware.cpu.clock)
    expected = 100 * 249 / 0.05 * (first.constant.ends[1] - first.constant.ends[0]) / hertz
    assert high - low == pytest.approx(expected, rel=1e-6)
    assert first.effect.mean == pytest.approx(expected, rel=1e-6)
    assert first.share.total > 0.9


def test_what_no_packet_meets_does_not_move_it_at_all(done):
    """Common random numbers: not even by noise."""
    _, result, _, _ = done
    still = [one for one in result.factors if "e1000" in one.constant.name]
    assert len(still) == 2
    assert [(one.effect.mean, one.effect.spread, one.share) for one in still] == [(0.0, 0.0, None)] * 2


def test_only_what_matters_is_looked_at_closely(done):
    """The process and the timer matter; the copy cost per byte has less than a twentieth of the process' effect."""
    _, result, _, _ = done
    assert [one.constant.name for one in result.influential] == [
        "rhel6.applications.udp_sink",
        "esxi.costs.guest_housekeeping",
    ]


def test_the_number_of_runs_is_known_beforehand(done):
    """The base, trajectories x (constants + 1), both ends of influential ones, and samples x (influential + 2); equal runs are made once."""
    question, result, outcome, _ = done
    constants, left = len(result.factors), len(result.influential)
    screening = 1 + SIZE.trajectories * (constants + 1)
    assert question.most() == screening + 2 * left + SIZE.samples * (left + 2)
    assert len(question.plan().tasks) <= screening
    assert len({task.key for task in question.plan().tasks}) == len(question.plan().tasks)
    assert screening < outcome.ran <= question.most()


def test_asked_again_it_runs_nothing_and_says_the_same(scenario, done):
    _, result, outcome, folder = done
    again, second = answered(asked(scenario), folder)
    assert (second.ran, second.reused) == (0, outcome.ran)
    assert again == result


def test_it_goes_on_where_it_was_stopped(scenario, done, tmp_path):
    """Half of its runs are stored: the other half is run, and the result is the same."""
    _, result, outcome, _ = done
    store = Store(tmp_path)
    records = [outcome.records[key] for key in outcome.records]
    for record in records[: len(records) // 2]:
        store.put(record)
    again, second = answered(asked(scenario), tmp_path)
    assert second.reused == len(records) // 2
    assert second.ran == len(records) - len(records) // 2
    assert again == result


def test_unfinished_or_failed_runs_leave_no_findings(scenario, done):
    question, _, outcome, _ = done
    records = dict(outcome.records)
    some = dict(list(records.items())[:5])
    assert asked(scenario).result(some) is None
    last = next(reversed(records))
    assert question.result(records | {last: replace(records[last], error="it broke")}) is None
    fresh = asked(scenario)
    first = next(iter(records))
    failed = records | {first: replace(records[first], error="it broke")}
    assert fresh.wants(failed) == []
    assert fresh.result(failed) is None


def test_a_metric_that_the_runs_do_not_tell_leaves_no_findings(scenario, tmp_path):
    """A percentile that needs 36,887 packets is not estimable from 250, so Sobol's method makes no runs."""
    question = asked(scenario, metric="latency_p9999")
    result, outcome = answered(question, tmp_path)
    assert result is None
    assert outcome.ran <= len(question.plan().tasks)


def test_what_nothing_moves_needs_no_closer_look(scenario, tmp_path):
    """Nothing is lost, for any cost of an e1000."""
    question = asked(scenario, metric="loss", only=("*e1000*",))
    result, outcome = answered(question, tmp_path)
    assert result.influential == []
    assert outcome.ran <= len(question.plan().tasks)
    assert {one.effect.mean for one in result.factors} == {0.0}


def test_replications_are_averaged(scenario, done):
    """Each set of values is run that often, and its mean is used."""
    question, result, outcome, _ = done
    twice = asked(scenario, fidelity=Fidelity(quick=True, replications=2))
    assert len(twice.plan().tasks) == 2 * len(question.plan().tasks)
    assert twice.most() == 2 * question.most()
    assert {task.replication for task in twice.plan().tasks} == {0, 1}
    records = {key: outcome.records[key] for key in outcome.records}
    base, other = twice.plan().tasks[0].point.id, twice.plan().tasks[2].point.id
    second = {(point, 1): record for (point, _), record in records.items()} | {(base, 1): records[other, 0]}
    measured = CATALOGUE["guest_cpu"].evaluate(records[other, 0])
    assert measured != result.base
    assert twice.result(records | second).base == pytest.approx((result.base + measured) / 2)


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ({"receiver": "1"}, "did you mean 'receivers'"),
        ({"receivers": "1..4"}, "several values"),
        ({"receivers": ""}, "is not a list of values"),
    ],
)
def test_a_point_that_cannot_be_is_refused(scenario, at, said):
    with pytest.raises(InputError, match=said):
        parse_point(scenario, at)


def test_a_point_is_written_as_the_sweep_writes_it(scenario):
    assert parse_point(scenario, {"rate": "5000 pps"}) == {"receivers": 1, "rate": "5 kpps"}
    assert parse_point(scenario, {"receivers": "7"}) == {"receivers": 7, "rate": "2 kpps"}


def test_a_pattern_that_matches_nothing_is_refused(scenario):
    at = parse_point(scenario, {})
    with pytest.raises(InputError, match=r"did you mean 'esxi\.costs\.driver_rx'"):
        variable_constants(scenario, at, ["esxi.costs.driver_rxs"])


def test_a_host_on_which_nothing_can_be_varied_is_refused(scenario, monkeypatch):
    monkeypatch.setattr("hostsim.lab.sensitivity.constants_at", lambda scenario, at: ())
    with pytest.raises(InputError, match="no constant that could be varied"):
        variable_constants(scenario, parse_point(scenario, {}))


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (replace(SIZE, samples=100), "is not a power of 2"),
        (replace(SIZE, trajectories=1), "is too few"),
        (replace(SIZE, most=0), "from 1"),
    ],
)
def test_an_effort_that_cannot_be_is_refused(scenario, size, said):
    with pytest.raises(InputError, match=said):
        asked(scenario, size=size)


def test_an_unknown_metric_is_refused_with_the_nearest(scenario):
    with pytest.raises(InputError, match="did you mean 'guest_cpu'"):
        asked(scenario, metric="guest_cpus")
