"""Arrivals with a variable rate: on-off, Markov-modulated and profiles, against their closed forms."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
import pytest

from hostsim.config.arrival import ArrivalSpec
from hostsim.engine.random_stream import Streams
from hostsim.engine.record import IntArray
from hostsim.engine.ring import Stream
from hostsim.model.traffic.arrival_source import ModulatedGaps, RandomSegments, make_arrivals
from hostsim.units import END, MS, SECOND

FLOW = Stream()
ON_OFF = {"process": "on_off", "on": "1 ms", "off": "3 ms"}
STATES = {"process": "mmpp", "phases": ({"rate": "300 kpps", "length": "1 ms"}, {"rate": "50 kpps", "length": "2 ms"})}
THREE = {
    "process": "mmpp",
    "phases": tuple(
        {"rate": f"{rate} kpps", "length": f"{length} ms"} for rate, length in ((300, 1), (0, 2), (60, 0.5))
    ),
}
PHASES = (
    {"rate": "100 kpps", "length": "10 ms"},
    {"rate": "0 pps", "length": "10 ms"},
    {"rate": "200 kpps", "length": "5 ms"},
)
DAY = {"process": "profile", "phases": PHASES}


def instants(keys: dict[str, Any], rate: float | None, length_ps: int, seed: int = 1) -> IntArray:
    """Arrivals up to an instant."""
    arrivals = make_arrivals(ArrivalSpec.model_validate(keys), rate, Streams(seed, 0).stream("traffic", 0))
    found = [at for train in arrivals.collect(length_ps, FLOW) for at in train.arrival_times()]
    return np.array(found, dtype=np.int64)


def dispersion(first: float, second: float, leave_first: float, leave_second: float, seconds: float) -> float:
    """Index of dispersion of the counts of a two-state MMPP over a time (H. Heffes, D. Lucantoni, IEEE JSAC 4(6), 1986, equation 8).

    Args:
        first: rate of arrivals in one state.
        second: the same in the other.
        leave_first: rate of leaving the one.
        leave_second: rate of leaving the other.
        seconds: the time.
    """
    both = leave_first + leave_second
    limit = (
        2
        * (first - second) ** 2
        * leave_first
        * leave_second
        / (both**2 * (first * leave_second + second * leave_first))
    )
    return 1 + limit * (1 - (1 - exp(-both * seconds)) / (both * seconds))


@pytest.mark.parametrize(
    ("keys", "rate", "mean"),
    [(ON_OFF, 1e5, 1e5), (STATES, None, 400e3 / 3), (THREE, None, 330e3 / 3.5), (DAY, None, 8e4)],
    ids=["on_off", "mmpp", "three states", "profile"],
)
def test_the_rate_in_the_long_run_is_the_mean_of_the_phases(
    keys: dict[str, Any], rate: float | None, mean: float
) -> None:
    """Ten runs of a second: the mean count is within four standard errors, which are a few percent."""
    counts = np.array([len(instants(keys, rate, SECOND, seed)) for seed in range(10)])
    error = max(float(counts.std(ddof=1)), mean**0.5) / 10**0.5
    assert abs(float(counts.mean()) - mean) < 4 * error
    assert error < 0.04 * mean
    spec = ArrivalSpec.model_validate(keys)
    assert spec.own_rate in (None, pytest.approx(mean))


@pytest.mark.parametrize("window_ms", [1, 5])
@pytest.mark.parametrize(
    ("keys", "rate", "states"),
    [(ON_OFF, 1e5, (4e5, 0.0, 1000.0, 1000 / 3)), (STATES, None, (3e5, 5e4, 1000.0, 500.0))],
    ids=["on_off", "mmpp"],
)
def test_counts_of_an_mmpp_are_as_overdispersed_as_they_are_by_its_closed_form(
    keys: dict[str, Any], rate: float | None, states: tuple[float, float, float, float], window_ms: int
) -> None:
    """Twenty seconds have some thousand windows, whose variance is known to 10 %; a Poisson process would have 1."""
    found = instants(keys, rate, 20 * SECOND)
    counts = np.bincount(found // (window_ms * MS))
    expected = dispersion(*states, window_ms / 1e3)
    assert expected > 20
    assert counts.var() / counts.mean() == pytest.approx(expected, rel=0.1)


def test_a_random_process_is_stationary_from_its_start() -> None:
    """A state with nine tenths of the time is the first state in nine of ten runs: with 500 runs, a standard error is 1.3 %."""
    means, rates = np.array([1e9, 9e9]), np.array([3.0, 7.0])
    firsts = [RandomSegments(means, rates, Streams(seed, 0).stream("x")).draw()[1][0] for seed in range(500)]
    assert firsts.count(7.0) / 500 == pytest.approx(0.9, abs=0.04)


def test_a_profile_has_the_rate_of_each_phase_and_begins_again() -> None:
    """Forty periods of 25 ms: the counts of each phase are Poisson, with equal mean and variance."""
    found = instants(DAY, None, SECOND - 1)
    within = found % (25 * MS)
    assert not ((within >= 10 * MS) & (within < 20 * MS)).any()
    for first, last, mean in ((0, 10, 1000), (20, 25, 1000)):
        of_phase = found[(within >= first * MS) & (within < last * MS)] // (25 * MS)
        counts = np.bincount(of_phase, minlength=40)
        assert counts.mean() == pytest.approx(mean, abs=4 * (mean / 40) ** 0.5)
        assert counts.var(ddof=1) == pytest.approx(mean, rel=1.0)


def test_a_period_shortens_all_phases_alike() -> None:
    """A day in half the time: half the arrivals of a period, at the same rates."""
    found = instants(DAY | {"period": "12500 us"}, None, SECOND - 1)
    within = found % (12_500 * MS // 1000)
    assert not ((within >= 5 * MS) & (within < 10 * MS)).any()
    assert len(found) == pytest.approx(8e4, rel=0.02)


def test_arrivals_do_not_depend_on_when_they_are_collected() -> None:
    """Generated at once or in pieces: the same instants, in order."""
    for keys, rate in ((ON_OFF, 1e5), (THREE, None), (DAY, None)):
        at_once = instants(keys, rate, 200 * MS)
        arrivals = make_arrivals(ArrivalSpec.model_validate(keys), rate, Streams(1, 0).stream("traffic", 0))
        found: list[int] = []
        while (due := arrivals.upcoming()) is not None and due <= 200 * MS:
            found += [at for train in arrivals.collect(due, FLOW) for at in train.arrival_times()]
        assert found == at_once.tolist()
        assert (np.diff(at_once) >= 0).all()


def test_rare_arrivals_take_their_time() -> None:
    """One arrival per thousand rate changes: twenty per second with 20,000 phases."""
    keys = {"process": "profile", "phases": ({"rate": "40 /s", "length": "50 us"}, {"rate": "0 /s", "length": "50 us"})}
    assert len(instants(keys, None, 20 * SECOND)) == pytest.approx(400, abs=80)


def test_a_source_whose_phases_have_no_arrivals_left_is_silent_for_ever() -> None:
    """The next arrival is later than the end of any run, and drawing it ends."""
    quiet = np.array([2.0 * END]), np.array([0.0])
    gaps = ModulatedGaps(lambda: quiet, Streams(1, 0).stream("traffic", 0)).draw(3)
    assert (gaps[0] > END, np.isfinite(gaps).all()) == (True, True)
