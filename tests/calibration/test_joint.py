"""Joint calibration: emulators and chains against closed forms, waves that resume, files of ensembles."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import qmc

from hostsim.campaign.ensemble import Ensemble, read_ensemble, write_ensemble
from hostsim.campaign.interim_analysis import plan_with_looks
from hostsim.errors import InputError
from hostsim.lab.calibration.observation import Observation, observations_of
from hostsim.lab.calibration.posterior import sample, train
from hostsim.lab.calibration.prior import priors_of
from hostsim.lab.calibration.shipped_claims import draw_from_priors
from hostsim.results.expect import At, Band, Expectation
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.shipped_data import predictions, shipped, shipped_ensemble
from tests.loaded import loaded
from tests.tiny_scenario import TINY

COUNT, MEMBERS = 30, 128


@pytest.fixture(scope="module")
def design() -> np.ndarray:
    return qmc.Sobol(COUNT, seed=3).random(MEMBERS)


def observation(name: str = "a", *, is_aimed: bool = True, low: float = -1.0, high: float = 1.0) -> Observation:
    return Observation(name, "x", 0.0, 1.0, is_aimed, low, high)


def test_an_emulator_finds_the_few_inputs_that_matter(design: np.ndarray) -> None:
    """Two linear inputs and one nonlinear one among thirty; its error on left-out members is little more than the noise."""
    inputs = 2 * design - 1
    noise = 0.1 * np.random.default_rng(1).standard_normal(MEMBERS)
    found = train(design, 5 * inputs[:, 3] - 2 * inputs[:, 7] + np.sin(3 * inputs[:, 11]) + noise)
    assert {3, 7} <= set(found.active)
    assert found.error < 0.35 < 0.1 * found.spread * 2
    assert found.predict(np.full((1, COUNT), 0.5)) == pytest.approx([0.0], abs=0.3)


def test_an_output_of_noise_alone_has_an_emulator_that_knows_nothing(design: np.ndarray) -> None:
    """Its error is as large as the spread."""
    found = train(design, np.random.default_rng(2).standard_normal(MEMBERS))
    assert found.error == pytest.approx(found.spread, rel=0.15)


def test_an_output_that_never_moves_is_no_matter_of_chance(design: np.ndarray) -> None:
    """Too few members are an error."""
    assert train(design, np.full(MEMBERS, 2.0)).error == 0.0
    with pytest.raises(ValueError, match="11 members"):
        train(design, np.where(np.arange(MEMBERS) < 11, 1.0, math.nan))


def test_chains_find_the_posterior_of_a_straight_line(design: np.ndarray) -> None:
    """Linear in one standard normal input: the posterior is the product of two normal distributions; other inputs keep their priors.

    The output is 4 z with z standard normal and the observation 0 with the standard deviation s: the variance of z is 1 / (1 + 16 / s^2).
    """
    from scipy.special import ndtri

    class Line:
        error = 1.0
        spread = 4.0

        def predict(self, shares: np.ndarray, features: np.ndarray) -> np.ndarray:
            return 4 * (ndtri(shares[:, 0]) - 1)

    found = sample([(observation(), Line())], COUNT, chains=400, steps=1500, seed=5)
    z = ndtri(found.shares)
    wide = 1 / 2**2 + 1 + np.mean(found.discrepancies**2)
    assert np.mean(z[:, 0]) == pytest.approx(16 / (16 + wide), abs=0.1)
    assert np.var(z[:, 0]) == pytest.approx(wide / (16 + wide), abs=0.1)
    assert abs(np.mean(z[:, 1:])) < 0.05
    assert np.var(z[:, 1:]) == pytest.approx(1.0, abs=0.05)
    assert found.mixing < 1.1
    assert 0.1 < found.accepted < 0.5


def test_a_band_is_as_good_everywhere_and_an_open_end_no_bound(design: np.ndarray) -> None:
    """Above 0: half of the prior is cut off."""
    inputs = 2 * design - 1
    emulator = train(design, 50 * inputs[:, 0])
    above = observation(is_aimed=False, low=0.0, high=math.inf)
    found = sample([(above, emulator)], COUNT, chains=200, steps=600, seed=1)
    assert np.mean(found.shares[:, 0] > 0.5) > 0.93
    assert np.quantile(found.shares[:, 0], 0.9) > 0.9


def expectation(low: float | None, high: float | None, published: str, kind: str) -> Expectation:
    return Expectation("a", At("host_cpu", {}), Band(low, high), "%", published, is_claim=False, kind=kind)


@pytest.mark.parametrize(
    ("low", "high", "published", "kind", "is_aimed", "inside", "outside"),
    [
        (9.0, 11.0, "10", "scale", True, 10.0, 12.0),
        (10.0, 12.0, "10", "scale", True, 11.0, 13.0),
        (1.0, 1.1, "a little", "direction", False, 1.05, 1.2),
        (0.0, 0.85, "<1", "direction", False, 0.1, 0.9),
        (80.0, None, "80", "scale", False, 200.0, 79.0),
    ],
)
def test_bands_become_observations(
    low: float, high: float | None, published: str, kind: str, is_aimed: bool, inside: float, outside: float
) -> None:
    """In half-widths of the band; an open end has none."""
    [one] = observations_of([("x", expectation(low, high, published, kind))])
    assert one.is_aimed == is_aimed
    assert one.low <= one.distance(inside) <= one.high
    assert not one.low <= one.distance(outside) <= one.high


@pytest.mark.parametrize("value", [-1e4, 8.0, 9.5, 10.0, 10.4, 12.5, 5e3])
def test_a_far_value_is_as_far_as_its_logarithm(value: float) -> None:
    """Unchanged within the band, to a hundredth; the distance gives the value back."""
    [one] = observations_of([("x", expectation(9.0, 11.0, "10", "scale"))])
    plain, distance = value - 10.0, one.distance(value)
    assert distance == pytest.approx(plain, rel=0.01) if abs(plain) <= 1 else abs(distance) < abs(plain)
    assert one.value(distance) == pytest.approx(value)
    assert one.distance(1e6) - one.distance(1e5) == pytest.approx(10 * math.log(10), rel=1e-4)


def test_yes_or_no_is_no_observation() -> None:
    """A band without width gives no distance of a host."""
    assert observations_of([("x", expectation(1.0, 1.0, "exact", "direction"))]) == []


def test_an_ensemble_is_read_as_it_was_written(tmp_path: Path) -> None:
    """To six digits; another member makes another ensemble."""
    members = {2000: {"a.b": 1.25, "c.d": 3e6}, 2001: {"a.b": 1.5, "c.d": 2e6}}
    write_ensemble(tmp_path / "e.csv", members)
    found = read_ensemble(tmp_path / "e.csv")
    assert found.members == tuple(members.values())
    assert found.digest != Ensemble(found.members[:1]).digest


def test_an_ensemble_is_told_apart_by_every_digit() -> None:
    """A hand-written file may have more than six digits; its digest is part of a run's key."""
    one, other = (Ensemble(({"a.b": value},)) for value in (1.25, math.nextafter(1.25, 2)))
    assert one.digest != other.digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "is not an ensemble"),
        ("member,a\n1,x\n", ":2: is not a row"),
        ('member,a\n1,"2', ":2: is not CSV"),
        (f"member,a\n1,{'2' * 200_000}\n", ":2: is not CSV"),
        ("# about\nmember,a.b,c.d,a.b\n1,2,3,4\n", ":2: has a column twice; given 'a.b'"),
    ],
)
def test_a_file_that_is_no_ensemble_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """The error has the line."""
    (tmp_path / "e.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        read_ensemble(tmp_path / "e.csv")


def test_the_first_two_of_three_members_run_twice_and_the_same_on_both_sides(tmp_path: Path) -> None:
    """A toy ensemble of one cost: the host of each replication has its member's value, whatever else changes."""
    (tmp_path / "tiny.yaml").write_text(TINY)
    costs = (1000.0, 2000.0, 4000.0)
    toy = Ensemble(tuple({"esxi.costs.context_switch": cost} for cost in costs))
    for overrides in ({}, {"hardware.cpu.clock": "2 GHz"}):
        plan = plan_with_looks(
            load(tmp_path / "tiny.yaml", overrides), Fidelity(replications=5, ensemble=toy), expectations=False
        )
        found = {task.replication: task.point.spec.costs.context_switch.cycles for task in plan.tasks}
        assert found == dict(enumerate((*costs, *costs[:2])))


def test_the_shipped_ensemble_is_of_every_shipped_scenario() -> None:
    """All its names are known: every member is a possible host of each scenario."""
    found = read_ensemble(shipped_ensemble())
    assert len(found.members) >= 30  # what 50 replications need
    for name in (*shipped(), *predictions()):
        found.require(loaded(name))


def test_draws_from_the_priors_lie_in_their_ranges_and_are_hosts_that_can_be(tmp_path: Path) -> None:
    """The same ones for the same seed."""
    (tmp_path / "tiny.yaml").write_text(TINY)
    subjects = [(scenario := load(tmp_path / "tiny.yaml"), {"nothing lost"})]
    drawn = draw_from_priors(subjects, 4)
    assert drawn == draw_from_priors(subjects, 4) != draw_from_priors(subjects, 4, seed=2)
    ends = {prior.name: (prior.low, prior.high) for prior in priors_of(subjects)}
    assert all(ends[n][0] <= v <= ends[n][1] for values in drawn for n, v in values.items())
    Ensemble(tuple(drawn)).require(scenario)
