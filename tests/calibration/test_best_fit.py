"""The best fit: Gauss-Newton steps on hosts whose claims are known functions, with priors as standard normal variables."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest

from hostsim.engine.record import FloatArray
from hostsim.lab.calibration.best_fit import BestFit, Fitted, Runs, Step, covariance, updated
from hostsim.lab.calibration.observation import Observation
from hostsim.lab.calibration.prior import Prior
from hostsim.lab.calibration.shipped_claims import LeftOut, factor_spreads

PRIORS = (
    Prior("a.slope", ("a.slope",), 0.0, -10.0, 10.0, ""),
    Prior("a.other", ("a.other",), 0.0, -10.0, 10.0, ""),
    Prior("a.word", ("a.word",), 0.0, 0.0, 1.0, "", words=("plain", "shifted")),
)


def observation(name: str, centre: float, half: float = 1.0) -> Observation:
    return Observation(name, "x", centre, half, is_aimed=True)


@dataclass
class Analytic:
    """Hosts with claims by a formula: two scenarios with one claim each; the second depends on the second number only."""

    noise: float = 0.0
    bias: float = 0.0
    """Error of claims that no search has measured."""
    asked: int = 0
    hosts: tuple[Any, ...] = field(default_factory=lambda: (Named("one", ["first"]), Named("two", ["second"])))
    seeds: tuple[int, ...] = (2, 2)
    processor_s: float = 0.0

    def values(self, variables: FloatArray) -> dict[str, float]:
        return {prior.name: prior.at(variable) for prior, variable in zip(PRIORS, variables, strict=True)}

    def is_behind(self, place: int, host: int) -> bool:
        return host == 0 or place == 1

    def evaluate(
        self, asked: Sequence[tuple[FloatArray, int, int]], measurement: str = "fixed"
    ) -> list[dict[str, float]]:
        found = []
        for variables, seed, host in asked:
            self.asked += 1
            slope, other, word = variables
            value = 3 * slope + 0.2 * slope**2 + 5 * (word > 0) if host == 0 else 2 * other
            value += self.bias if measurement == "fixed" else 0.0
            noise = self.noise * np.random.default_rng([seed, int(abs(value) * 1e6)]).standard_normal()
            found.append({"host_cpu.0" if measurement == "trial" else self.hosts[host].names[0]: float(value + noise)})
        return found


@dataclass
class Named:
    """A scenario with its claims."""

    name: str
    names: list[str]


def fit(model: Analytic, *observations: Observation) -> BestFit:
    return BestFit(cast("Runs", model), PRIORS, observations, lambda line: None)


WORD = PRIORS[2].variable(0)
START = np.array([0.0, 1.0, WORD])


def test_the_best_fit_is_the_ridge_solution() -> None:
    """For a linear claim 2 z = 6 with half-width 1 and a standard normal prior: z = 12 / 5; for the other one, the root of its derivative."""
    found = fit(Analytic(), observation("first", 6.0), observation("second", 6.0)).fit(START).best
    assert found.variables[1] == pytest.approx(12 / 5, abs=0.02)
    z = found.variables[0]
    assert (3 * z + 0.2 * z**2 - 6) * (3 + 0.4 * z) + z == pytest.approx(0.0, abs=0.1)
    assert found.objective == pytest.approx(
        float(found.residuals @ found.residuals + found.variables[:2] @ found.variables[:2])
    )


def test_an_error_of_short_runs_changes_no_best_fit() -> None:
    """They give derivatives only; searches measure each step."""
    observations = observation("first", 6.0), observation("second", 6.0)
    plain, biased = (fit(Analytic(bias=bias), *observations).fit(START).best for bias in (0.0, 4.0))
    assert list(biased.variables) == pytest.approx(list(plain.variables), abs=1e-6)
    assert biased.objective == pytest.approx(plain.objective)


def test_a_claim_within_its_band_moves_nothing_and_one_beyond_its_end_does() -> None:
    """A band without a value counts only beyond its nearest end: 5 % of that end is a unit."""
    band = Observation("second", "x", 1.0, 0.05, is_aimed=False, low=-math.inf, high=0.0)
    inside = fit(Analytic(), observation("first", 0.0), band).fit(np.array([0.0, 0.4, WORD])).best
    assert inside.residuals[1] == 0.0
    beyond = fit(Analytic(), observation("first", 0.0), band).fit(np.array([0.0, 2.0, WORD])).best
    assert 0.0 <= beyond.residuals[1] < 0.1


def test_a_number_that_moves_a_claim_far_is_moved_less() -> None:
    """So that the derivative is that at the host: 3, and 3.14 over a step of 0.7, which is 22 half-widths of 0.1."""
    found = fit(Analytic(), observation("first", 0.0, 0.1), observation("second", 0.0))
    jacobian = found._derivatives(
        np.array([0.0, 0.0, WORD]), np.array([[True, False]] + 2 * [[False] * 2]), np.zeros(2)
    )
    assert jacobian[0, 0] == pytest.approx(3.0, abs=0.05)


def test_what_noise_explains_moves_nothing() -> None:
    """A number whose effect is a fifth of a run's noise keeps its value."""
    found = fit(Analytic(noise=20.0), observation("first", 6.0), observation("second", 6.0)).fit(START)
    assert not found.jacobian.any()
    assert list(found.best.variables) == list(START)


def test_a_choice_keeps_its_word_and_the_others_are_tried() -> None:
    """It adds nothing to the objective itself; the shifted word is off by five half-widths."""
    found = fit(Analytic(), observation("first", 0.0), observation("second", 0.0)).fit(START)
    kept, tried = found.choices
    assert (kept.word, kept.is_kept, tried.word, tried.is_kept) == ("plain", True, "shifted", False)
    assert kept.objective == found.best.objective == pytest.approx(0.0, abs=1e-6)
    assert tried.objective == pytest.approx(25.0, abs=1e-3)


def test_an_update_explains_the_last_step_and_keeps_zeros() -> None:
    before = np.array([[1.0, 0.0, 2.0]])
    at, then = (Step(np.array(z), np.array([v]), np.array([v]), 0.0) for z, v in (([0, 0, 0], 1.0), ([1, 5, 1], 10.0)))
    after = updated(before, at, then)
    assert after[0, 1] == 0.0
    assert after[0] @ then.variables == pytest.approx(9.0)


def spread_of_the_factor(*claims: tuple[float, float]) -> float:
    """Mean of the posterior discrepancy, for claims published as 10, each with an elasticity and a prediction from the other experiments."""
    cost = Prior("a.cost", ("a.cost",), 4000.0, 1000.0, 16000.0, "cycles")
    names = [f"claim{place}" for place in range(len(claims))]
    # by the slope of a log-uniform prior at its median, d z / d log c = sqrt(pi / 2) / log 4
    slope = math.sqrt(math.pi / 2) / math.log(4)
    found = Fitted(
        (Step(np.zeros(1), np.full(len(claims), 10.0), np.zeros(len(claims)), 0.0),),
        np.array([[10.0 * elasticity / slope] for elasticity, _ in claims]),
        np.zeros(len(claims)),
        (),
        0.0,
    )
    fitting = BestFit(cast("Runs", None), (cost,), tuple(observation(name, 10.0, 0.2) for name in names), print)
    left = [
        LeftOut(name, "x", 10.0, 0.2, 0.0, value, 0.0, (value - 0.1, value + 0.1), (0.0, 0.0))
        for name, (_, value) in zip(names, claims, strict=True)
    ]
    sizes, chances = factor_spreads(fitting, found, left)
    return float(sizes @ chances)


def test_errors_of_values_that_depend_on_costs_set_the_spread_of_their_common_factor() -> None:
    """Without claims it is that of the half-normal prior; claims limited by a wire do not count, however well they were predicted."""
    quantile = math.log(16) * 0.9 / (2 * 1.6449)  # between the 5 and 95 % quantiles of the prior of the cost
    assert spread_of_the_factor() == pytest.approx(quantile * math.sqrt(2 / math.pi), rel=0.04)
    assert spread_of_the_factor(*[(0.0, 10.0)] * 8) == pytest.approx(spread_of_the_factor())
    assert spread_of_the_factor(*[(1.0, 10.0)] * 8) < 0.03
    assert spread_of_the_factor(*[(1.0, 14.0), (-1.0, 7.0)] * 4) == pytest.approx(0.37, abs=0.07)
    assert spread_of_the_factor(*[(0.5, 14.0), (0.5, 7.0)] * 4) > 0.5


def test_the_covariance_of_one_claim_is_the_conjugate_one() -> None:
    """Slope 3 against a standard deviation of 1.5: 1 / (1 + 4) is left of the prior's variance."""
    assert covariance(np.array([[3.0]]), np.array([1.5])) == pytest.approx(np.array([[0.2]]))


@pytest.mark.parametrize(
    "prior",
    [
        Prior("a", ("a",), 3.0, 1.0, 9.0, ""),
        Prior("a", ("a",), 3.0, 1.0, 4.0, ""),
        Prior("a", ("a",), 1.0, 1.0, 16.0, ""),
        Prior("a", ("a",), 4.0, 3.0, 4.0, ""),
    ],
    ids=["magnitudes", "plain", "stated at its low end", "stated at its high end"],
)
def test_a_number_is_its_stated_value_at_zero_and_comes_back(prior: Prior) -> None:
    """Its prior is that of the quantiles: the share of draws below the middle of the range is the same."""
    assert prior.at(0.0) == pytest.approx(prior.value)
    for variable in (0.3, 1.1):
        assert prior.variable(prior.at(variable)) == pytest.approx(variable)
    drawn = np.array([prior.at(z) for z in np.random.default_rng(1).standard_normal(4000)])
    even = prior.quantiles((np.arange(4000) + 0.5) / 4000)
    assert np.quantile(drawn, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(even, [0.1, 0.5, 0.9]), rel=0.05)
    assert prior.low <= drawn.min() <= drawn.max() <= prior.high


def test_a_word_comes_back() -> None:
    assert [PRIORS[2].at(PRIORS[2].variable(place)) for place in (0, 1)] == [0, 1]


@pytest.mark.slow  # both read all shipped scenarios, and it runs a whole experiment
def test_a_fit_that_was_killed_goes_on_from_its_log(tmp_path, monkeypatch) -> None:
    """Logged hosts are not run again; a number that no point of a scenario uses does not make another host of it."""
    from hostsim.campaign.pipeline import ExecutionOptions
    from hostsim.campaign.store import Store
    from hostsim.lab.calibration.shipped_claims import prepare_shipped

    execution = ExecutionOptions(Store(tmp_path / "runs"), jobs=1)
    first, start = prepare_shipped(tmp_path, execution, experiments=["latency"])
    answers = first.runs.evaluate([(start, 1, 0)])
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["claims"] for line in lines] == answers
    again, _ = prepare_shipped(tmp_path, execution, experiments=["latency"])
    monkeypatch.setattr(Runs, "_run", lambda *_: pytest.fail("ran again"))
    assert again.runs.evaluate([(start, 1, 0)]) == answers
    assert again.runs.processor_s == pytest.approx(first.runs.processor_s, abs=0.01)
