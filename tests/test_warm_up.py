"""MSER-5 against hand-computed cases."""

from __future__ import annotations

import numpy as np
import pytest

from hostsim.results.warm_up import mser5

# Nine batches with these means. Squared deviations from their mean, summed over batches d+1 to 9:
# d = 0: 2.72, d = 1: 2, d = 2: 12/7, d = 3: 3/2, d = 4: 6/5.
HAND_CASE = np.repeat([1.4, 0, 1, 0, 1, 0, 1, 0, 1], 5)


def test_mser5_hand_case() -> None:
    """2.72/81 > 2/64 < (12/7)/49 < 1.5/36 < 1.2/25: one batch is cut, that is five observations."""
    assert mser5(HAND_CASE) == 5


def test_mser5_is_not_the_published_misimplementation() -> None:
    """Dividing by (n - d) cubed, like one public implementation, would cut nothing in the hand case."""
    sums = np.array([2.72, 2, 12 / 7, 3 / 2, 6 / 5])
    left = np.array([9, 8, 7, 6, 5])
    assert int(np.argmin(sums / left**3)) == 0
    assert int(np.argmin(sums / left**2)) * 5 == mser5(HAND_CASE)


def test_mser5_uses_batch_means() -> None:
    """Changes inside a batch do not move the cut, nor does an incomplete last batch."""
    rocking = HAND_CASE + np.tile([-2.0, 2.0, 0.0, 1.0, -1.0], 9)
    assert mser5(rocking) == 5
    assert mser5(np.append(HAND_CASE, [1e9] * 4)) == 5


@pytest.mark.parametrize("level", [0.0, 0.1, 1e12 / 7])
def test_mser5_keeps_a_constant_series(level: float) -> None:
    """A constant series has no warm-up, for any rounding of its value."""
    assert mser5(np.full(256, level)) == 0


def test_mser5_cuts_a_ramp_where_it_ends() -> None:
    """A ramp of 40 observations before 160 level ones is cut completely."""
    level = np.tile(np.repeat([0.9, 1.1], 5), 16)
    assert mser5(np.concatenate([np.linspace(0, 0.7, 40), level])) == 40


def test_mser5_of_few_observations_keeps_all() -> None:
    """At least five batches are needed for a useful standard error."""
    assert mser5(np.arange(29.0)) == 0
    assert mser5(np.array([])) == 0
