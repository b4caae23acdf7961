"""What holds a constant: every claim that it moves, whatever experiment it is of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from hostsim.calibration.identifiability import (
    experiments_of,
    fitted_constants,
    identifying_claims,
    measure_identifiability,
    shipped_identifiability,
)
from hostsim.calibration.objective import ClaimEvaluator, ClaimValue
from hostsim.scenario.shipped_data import claims

CONSTANT = "esxi.costs.driver_rx"


class Linear(ClaimEvaluator):
    """An evaluator whose claims follow one constant, each with its own noise."""

    def __init__(self, slopes: Mapping[str, tuple[float, float]]) -> None:
        object.__setattr__(self, "_slopes", slopes)

    def evaluate(self, names: Sequence[str], hosts: Sequence[Mapping[str, float]]) -> list[dict[str, ClaimValue]]:
        shipped = fitted_constants()[CONSTANT]
        found = []
        for host in hosts:
            share = host.get(CONSTANT, shipped) / shipped - 1
            values = {}
            for name in names:
                low, high = claims()[name].band.low, claims()[name].band.high
                assert low is not None
                assert high is not None
                slope, noise = self._slopes.get(name, (0.0, 0.0))
                half = (high - low) / 2
                values[name] = ClaimValue(1.0, 1.0 + slope * share * half, noise * half)
            found.append(values)
        return found


def test_a_claim_that_moves_by_a_tenth_of_a_half_width_and_more_than_its_noise_holds_a_constant() -> None:
    """For a tenth more of the constant; one that moves less, or no more than it may without any reason, does not."""
    slopes = {
        "numa.40g.cpu": (-2.0, 0.1),
        "numa.40g.throughput": (3.0, 0.3),
        "numa.10g.cpu": (0.9, 0.0),
        "splitrx.host_cpu": (5.0, 0.0),
    }
    found = measure_identifiability(Linear(slopes), "numa-io")
    assert found.moves[CONSTANT] == {"numa.40g.cpu": pytest.approx(-0.2)}
    assert not any(moves for name, moves in found.moves.items() if name != CONSTANT)
    assert found.constants == fitted_constants()
    assert measure_identifiability(Linear(slopes), "splitrx").moves[CONSTANT] == {
        "splitrx.host_cpu": pytest.approx(0.5)
    }


def test_what_is_shipped_is_of_the_constants_that_are_shipped() -> None:
    """`hostsim calibrate --quick --held-by EXPERIMENT -o scenarios/calibration/held-by` after any fitted constant has changed; of dense mode with `--replications 3`."""
    found = shipped_identifiability()
    assert sorted(result.experiment for result in found) == sorted({claim.experiment for claim in claims().values()})
    for asked in found:
        assert asked.constants == fitted_constants()
        assert set(asked.moves) == set(fitted_constants())
        assert {experiments_of(moves) for moves in asked.moves.values()} <= {(), (asked.experiment,)}


def test_most_fitted_constants_of_the_platform_are_held_by_more_than_one_experiment() -> None:
    """One that only its own experiment holds is a number placed on it; what an application costs is known where it runs."""
    holders = {
        name: experiments_of(found) for name, found in identifying_claims().items() if ".applications." not in name
    }
    several = [name for name, names in holders.items() if len(names) > 1]
    assert 2 * len(several) > len(holders)


def test_claims_of_one_experiment_are_one_experiment() -> None:
    """Each experiment once, in the order of the claims."""
    assert experiments_of(["dense.medium.default.cpu", "dense.high.default.cpu"]) == ("dense-mode",)
    assert experiments_of(["splitrx.guest_cpu", "numa.40g.cpu", "numa.10g.cpu"]) == ("splitrx", "numa-io")
