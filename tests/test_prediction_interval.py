"""Prediction intervals against closed forms: coverage of the truth, and noise separated from the model."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hostsim.results.curve import measure_intervals
from hostsim.results.estimate import (
    first_runs,
    member_of,
    members_of,
    most_replications,
    noise_share,
    prediction_interval,
    replication_interval,
    span,
)

TRIALS = 1500
BETWEEN, WITHIN = 3.0, 1.0


def runs(replications: int, random: np.random.Generator, draw: str = "normal") -> tuple[dict[int, float], np.ndarray]:
    """Values of an ensemble by replication, and the true means of its members: a linear effect of one constant, plus noise."""
    constants = getattr(random, "standard_" + draw)(members_of(replications))
    means = 10 + BETWEEN * np.array([constants[member_of(r)] for r in range(replications)])
    return dict(enumerate((means + WITHIN * random.standard_normal(replications)).tolist())), means


def test_in_each_five_replications_three_members_run_two_of_them_twice():
    """For any number of replications; so that stored runs can be used."""
    assert [member_of(r) for r in range(11)] == [0, 1, 2, 0, 1, 3, 4, 5, 3, 4, 6]
    assert [members_of(n) for n in range(12)] == [len({member_of(r) for r in range(n)}) for n in range(12)]
    assert [members_of(most_replications(n)) for n in range(2, 9)] == list(range(2, 9))
    assert members_of(most_replications(50) + 1) == 51
    assert sorted(first_runs({0: 1.0, 1: 2.0, 2: 3.0, 3: 9.0, 4: 9.0})) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("replications", "draw"), [(5, "normal"), (20, "normal"), (35, "normal"), (35, "exponential")])
def test_a_run_of_another_member_lies_in_the_prediction_interval_nine_times_of_ten(replications, draw):
    """Student's of 3 and of 12 normal members; quantiles of 21, for any distribution."""
    random, hits = np.random.default_rng(7), 0
    for _ in range(TRIALS):
        values, _ = runs(replications, random, draw)
        another = 10 + BETWEEN * getattr(random, "standard_" + draw)() + WITHIN * random.standard_normal()
        found = prediction_interval(values)
        hits += found.low <= another <= found.high
    assert hits / TRIALS == pytest.approx(0.9, abs=0.025)


@pytest.mark.parametrize("replications", [5, 20])
def test_the_replications_interval_holds_the_mean_of_the_members_and_knows_nothing_of_their_spread(replications):
    """Student's interval of the noise alone: its coverage is correct, and its width that of the closed form, for any members."""
    random, hits, squares = np.random.default_rng(8), 0, 0.0
    for _ in range(TRIALS):
        values, means = runs(replications, random)
        found = replication_interval(values)
        hits += found.low <= means.mean() <= found.high
        squares += found.half**2
    assert hits / TRIALS == pytest.approx(0.95, abs=0.02)
    from scipy.special import stdtrit

    freedom = replications - members_of(replications)
    expected = float(stdtrit(freedom, 0.975)) * WITHIN / math.sqrt(replications)
    assert math.sqrt(squares / TRIALS) == pytest.approx(expected, rel=0.06)


def test_noise_is_told_from_the_model():
    """Of a variance of 9 between members and 1 within them a tenth is noise."""
    values, _ = runs(5000, np.random.default_rng(9))
    assert noise_share(values) == pytest.approx(WITHIN**2 / (BETWEEN**2 + WITHIN**2), abs=0.01)
    assert math.isnan(noise_share({0: 1.0, 1: 2.0}))
    assert math.isnan(noise_share({0: math.inf, 1: 2.0, 2: 3.0, 3: math.inf}))


def test_what_cannot_be_known_has_no_bound_and_what_never_moves_no_width():
    """No member twice, a single member, unbounded values, equal ones; a measure that cannot be negative."""
    assert math.isinf(replication_interval({0: 1.0, 1: 2.0, 2: 3.0}).half)
    assert math.isinf(prediction_interval({0: 1.0}).half)
    assert prediction_interval({0: math.inf, 1: 2.0}).low == 2.0
    assert prediction_interval(dict.fromkeys(range(5), 4.0)).half == 0.0
    assert prediction_interval({0: 0.1, 1: 5.0, 2: 0.2}, 0.0).low == 0.0
    assert prediction_interval({0: 0.9, 1: 0.1, 2: 0.2}, 0.0, 1.0).high == 1.0
    assert (span({0: 1.0, 1: 0.0, 2: 1.0}).low, span({0: 1.0, 1: 1.0}).low) == (0.0, 1.0)


def test_the_prediction_of_a_share_ends_at_a_hundred():
    """Of 80, 90 and 99 %; the worlds of a VM may use more than one PCPU."""
    values = {0: 80.0, 1: 90.0, 2: 99.0}
    assert measure_intervals(values, "%", ensemble=True)[1].high == 100.0
    assert measure_intervals(values, "% of a PCPU", ensemble=True)[1].high > 100.0
