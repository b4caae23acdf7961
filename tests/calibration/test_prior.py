"""Priors: quantiles of ranges, magnitudes and choices, and numbers shared by scenarios."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hostsim.errors import InputError
from hostsim.lab.calibration.prior import Prior, priors_of
from hostsim.scenario.selection import select
from hostsim.scenario.shipped_data import data_root


def prior(value: float, low: float, high: float, **more: object) -> Prior:
    return Prior("a", ("a",), value, low, high, "", **more)


def test_half_of_the_probability_lies_on_either_side_of_the_value() -> None:
    """A quarter of the probability is half of the way to each end."""
    shares = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    assert prior(4, 2, 8).quantiles(shares).tolist() == [2, 3, 4, 6, 8]


def test_a_range_over_magnitudes_is_even_in_the_logarithm() -> None:
    """From 1 to 100 around 10, a quarter is below the root of 10."""
    found = prior(10, 1, 100).quantiles(np.array([0.25, 0.5, 0.75]))
    assert found == pytest.approx([10**0.5, 10, 10**1.5])


@pytest.mark.parametrize("value", [2.0, 8.0])
def test_a_value_at_an_end_has_all_probability_on_the_other_side(value: float) -> None:
    """The density is constant over the whole range."""
    even = prior(value, 2, 8).quantiles(np.linspace(0.001, 0.999, 500))
    assert stats.kstest(even, stats.uniform(2, 6).cdf).pvalue > 0.99


def test_choices_and_whole_numbers_are_rounded() -> None:
    """All words are equally likely."""
    words = prior(1, 0, 2, words=("a", "b", "c")).quantiles(np.linspace(0, 1, 301))
    assert np.bincount(words.astype(int)).tolist() == [100, 100, 101]
    assert set(prior(2, 1, 4, is_whole=True).quantiles(np.linspace(0, 1, 50))) == {1.0, 2.0, 3.0, 4.0}


@pytest.mark.parametrize(("value", "low", "high"), [(1, 2, 3), (2, 2, 2)])
def test_a_number_outside_its_range_has_no_prior(value: float, low: float, high: float) -> None:
    """A number that cannot vary has none either."""
    with pytest.raises(InputError, match="has no prior"):
        prior(value, low, high)


def test_the_median_is_the_prior_beside_a_calibrated_value_and_what_a_source_leaves_open_has_one(
    tmp_path: Path,
) -> None:
    """Of a cost and of an input; a source without a range is known exactly."""
    (tmp_path / "own.yaml").write_text(
        "platform: own\nextends: esxi-5.0\ncosts:\n"
        "  driver_rx: {cycles: 359, prior: 400, assumed: so, range: [200, 900]}\n"
        "  interrupt: {cycles: 1500, source: a row, range: [720, 2400]}\n  switch_forward: {cycles: 250, source: a row}\n"
        "netqueue: {period: {value: 200 ms, prior: 100 ms, assumed: so, range: [50 ms, 1 s]}}\n",
        encoding="utf-8",
    )
    text = (
        (data_root() / "splitrx.yaml").read_text(encoding="utf-8").replace("platform: esxi-5.0", "platform: ./own.yaml")
    )
    (tmp_path / "scenario.yaml").write_text(text, encoding="utf-8")
    [(scenario, names)] = select(str(tmp_path / "scenario.yaml"))
    found = {one.name.rpartition("/")[2]: (one.value, one.low, one.high) for one in priors_of([(scenario, names)])}
    assert found["own.yaml.costs.driver_rx"] == (400, 200, 900)
    assert found["own.yaml.costs.interrupt"] == (1500, 720, 2400)
    assert found["own.yaml.netqueue.period"] == (100, 50, 1000)
    assert "own.yaml.costs.switch_forward" not in found


def test_an_input_that_scenarios_share_is_one_number() -> None:
    """The web servers of dense mode use the same write size at both rates."""
    found = priors_of(select("dense.medium.default.cpu", "dense.high.default.cpu"))
    [shared] = [one for one in found if one.name.endswith("clients.write_size")]
    assert {name.partition(".")[0] for name in shared.members} == {"dense-medium", "dense-high"}
    names = [name for one in found for name in one.members]
    assert len(names) == len(set(names))
    assert "esxi.costs.interrupt" in names
