"""Fitting constants to claims: distances, crossings, the fit itself on a model whose answer is known, and one group of the real one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hostsim.analysis.cost_model import shipped_constants
from hostsim.calibration.fit import as_json, calibrate, most_evaluations, predict, shipped_fits, without_experiment
from hostsim.calibration.objective import ClaimEvaluator, residual, threshold_crossing
from hostsim.calibration.target import Calibration, Group, Start, read_calibration
from hostsim.campaign.store import Store
from hostsim.errors import InputError
from hostsim.pipeline import ExecutionOptions
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.shipped_data import claims

CLOCK = 1000.0
COPIES, LINES = "splitrx.default.40k", "splitrx.guest_cpu"
"""A claim of 20 within 19 to 21, and one of 12.5 within 10 to 15 that is published as a range."""


class Straight:
    """Two claims that hang on two constants in ways that one can invert."""

    def __init__(self) -> None:
        self.asked = 0

    def values(self, names, constants):
        self.asked += 1
        known = {COPIES: CLOCK * 20 / constants["copy"], LINES: 12.5 * constants["guest"] / 3000}
        return {name: known[name] for name in names}


def group(*names: str, start: float = 1.0) -> Calibration:
    starts = {name: Start(start=value, source="a test") for name, value in (("copy", 1.3 * CLOCK), ("guest", 2000.0))}
    return Calibration(prior=1000.0, groups={"both": Group(constants=starts, claims=names)})


def test_a_distance_is_in_half_widths_of_the_band():
    assert residual(20.5, claims()[COPIES]) == pytest.approx(0.5)
    assert residual(15.0, claims()[LINES]) == pytest.approx(1.0)
    assert residual(36.75, claims()["40gbe.single.esxi60"]) == 0  # published as more than 35, accepted from 35 to 38.5
    with pytest.raises(InputError, match="two ends"):
        residual(1.0, claims()["smalludp.tuned"])


@pytest.mark.parametrize(
    ("below", "above", "limit", "expected"),
    [
        ((20, 0.0), (21, 4.0), 0.01, 20.16),
        ((20, 0.0), (24, 50.0), 0.01, 20.0),
        ((100, 80.0), (110, 96.8), 88.0, 105.0),
    ],
)
def test_a_threshold_is_where_its_metric_crosses_the_limit(below, above, limit, expected):
    """What gets through carries a share that was nothing before; anything else grows by a factor."""
    assert threshold_crossing(below, above, limit=limit) == pytest.approx(expected)


def test_a_fit_finds_what_the_claims_ask_for():
    evaluator = Straight()
    told = []
    fit = calibrate(group(COPIES, LINES), evaluator, tell=told.append)
    values = fit.values
    assert values["copy"] == pytest.approx(CLOCK, rel=0.01)
    assert values["guest"] == pytest.approx(3000, rel=0.01)
    assert len(told) == evaluator.asked <= most_evaluations(group(COPIES, LINES).groups["both"])
    by_name = {constant.name: constant for constant in fit.constants}
    # 10 % of the copy's cost move its claim by two half-widths, 10 % of the guest's by one half
    assert (by_name["copy"].held_by, by_name["guest"].held_by) == ((COPIES,), (LINES,))
    assert by_name["guest"].high / by_name["guest"].value == pytest.approx(1.2, abs=0.01)
    assert [set(entry) for entry in as_json(fit).values()] == [{"constants", "claims", "log"}]


def test_a_claim_that_cannot_be_met_leaves_others_in_their_bands():
    """One constant, and twice as much of it makes a claim right that is five half-widths off; squares would take the other two half-widths out."""

    class Torn:
        def values(self, names, constants):
            share = constants["copy"] / CLOCK
            return {COPIES: 20 * share, LINES: 25 * share}

    starts = {"copy": Start(start=1.05 * CLOCK, source="a test")}
    fit = calibrate(Calibration(prior=1000.0, groups={"one": Group(constants=starts, claims=(COPIES, LINES))}), Torn())
    met, missed = fit.claims
    assert met.residual == pytest.approx(-0.5, abs=0.1)
    assert missed.residual > 4
    (constant,) = fit.constants
    # by the claim that is met, which moves by 20 half-widths
    assert constant.high / constant.value == pytest.approx(1.05, abs=0.005)


def test_without_a_claim_the_prior_holds():
    calibration = group(COPIES, LINES)
    cut = without_experiment(calibration, "splitrx")
    assert cut.groups["both"].claims == ()
    fit = calibrate(cut, Straight())
    assert fit.values == {"copy": 1.3 * CLOCK, "guest": 2000.0}
    assert all(constant.high is None and constant.held_by == () for constant in fit.constants)


def test_a_left_out_experiment_is_predicted_whole():
    """All of its claims, also those that nothing is fitted to."""

    class Told:
        def answers(self, names, constants):
            return dict.fromkeys(names, 0.05)

    found = predict(read_calibration(), "latency", Told())
    assert found.values == {"latency.tuned": 0.05}
    assert found.constants == {}


def test_the_shipped_calibration_fits_what_the_platform_calls_fitted():
    calibration = read_calibration()
    named = {name for group in calibration.groups.values() for name in group.constants}
    assert named == {constant.name for constant in shipped_constants() if constant.fitted_to}
    assert len(named) <= 30


def test_the_shipped_constants_are_what_their_fit_found():
    shipped = {constant.name: constant.value for constant in shipped_constants()}
    fits = shipped_fits()
    assert fits
    # a group is fitted before those behind it have moved
    assert {fit.name: fit.value for fit in fits} == pytest.approx(
        {fit.name: shipped[fit.name] for fit in fits}, rel=0.01
    )


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="its claim, directpath.10k, is known red until the joint calibration: the sourced moderation of VMware's bnx2x has moved it",
)
@pytest.mark.slow  # .ci/run runs it by itself
def test_a_group_refitted_from_its_start_lands_in_its_interval(tmp_path: Path):
    """The wake-up of a NetPoll: sought again from where the facts put it, on the real host."""
    fit = calibrate(
        read_calibration(),
        ClaimEvaluator(Fidelity(quick=True), ExecutionOptions(Store(tmp_path), jobs=1)),
        ("wake-up",),
    )
    (found,) = fit.constants
    (shipped,) = (entry for entry in shipped_fits() if entry.name == found.name)
    assert found.start != found.value
    assert shipped.low < found.value < shipped.high
    assert np.isclose(found.value, shipped.value, rtol=0.02)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prior: 2\ngroups: {a: {constants: {}, claims: [latency.tuned]}}", "groups.a.constants"),
        ("prior: 1\ngroups: {a: {constants: {x: {start: 1, source: s}}, claims: [latency.tuned]}}", "prior"),
        ("prior: 2\ngroups: {a: {constants: {x: {start: 1, source: s}}, claims: [latency.tune]}}", "latency.tuned"),
        (
            "prior: 2\ngroups: {a: {constants: {esxi.costs.generations.nehalem: {start: 1, source: s}}, claims: [latency.tuned]}}",
            "is never fitted",
        ),
        (
            (
                "prior: 2\ngroups:\n  a: {constants: {x: {start: 1, source: s}}, claims: [latency.tuned]}\n"
                "  b: {constants: {x: {start: 1, source: s}}, claims: [latency.tuned]}"
            ),
            "is fitted in group a",
        ),
    ],
)
def test_a_faulty_calibration_is_told_with_its_line(tmp_path: Path, text: str, said: str):
    file = tmp_path / "groups.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=said.replace(".", r"\.")) as told:
        read_calibration(file)
    assert told.value.faults[0].line is not None
