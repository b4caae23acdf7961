"""The library's methods are called correctly: functions with known indices give these indices."""

from __future__ import annotations

import numpy as np
import pytest

from hostsim.lab.sensitivity import elementary_effects, morris_sample, sobol_indices, sobol_sample

ENDS = [(-np.pi, np.pi)] * 3
"""Of Ishigami's function."""


def ishigami(rows: np.ndarray) -> list[float]:
    """Sin x1 + 7 sin^2 x2 + 0.1 x3^4 sin x1."""
    x1, x2, x3 = rows.T
    return list(np.sin(x1) + 7 * np.sin(x2) ** 2 + 0.1 * x3**4 * np.sin(x1))


def test_the_shares_of_ishigamis_function():
    """Its variance is known in closed form: Sobol' and Levitan, 1999."""
    rows = sobol_sample(ENDS, 2048, seed=1)
    assert len(rows) == 2048 * (len(ENDS) + 2)
    found = sobol_indices(ENDS, ishigami(rows), seed=1)
    assert [share.first for share in found] == pytest.approx([0.3139, 0.4424, 0.0], abs=0.03)
    assert [share.total for share in found] == pytest.approx([0.5576, 0.4424, 0.2437], abs=0.03)
    for share, exact in zip(found, (0.5576, 0.4424, 0.2437), strict=True):
        assert abs(share.total - exact) < 1.5 * share.total_half


def test_the_effect_of_a_straight_line_is_what_a_whole_interval_changes():
    """For any units: 3 a x over an interval of 100, and zero for inputs that do not occur."""
    ends = [(0.0, 100.0), (5e6, 5.5e6), (-1.0, 1.0)]
    rows = morris_sample(ends, 4, seed=1)
    assert len(rows) == 4 * (len(ends) + 1)
    found = elementary_effects(ends, rows, list(3 * rows[:, 0] - 2e-6 * rows[:, 1]), seed=1)
    assert [effect.mean for effect in found] == pytest.approx([300, 1, 0])
    assert [effect.spread for effect in found] == pytest.approx([0, 0, 0], abs=1e-9)


def test_an_effect_that_depends_on_another_constant_is_spread():
    ends = [(0.0, 1.0), (0.0, 1.0)]
    rows = morris_sample(ends, 20, seed=1)
    found = elementary_effects(ends, rows, list(rows[:, 0] * rows[:, 1]), seed=1)
    assert all(effect.spread > 0.2 for effect in found)


def test_values_lie_between_the_ends_and_depend_on_the_seed_alone():
    ends = [(1500.0, 2400.0), (0.28, 0.38)]
    for sample, size in ((morris_sample, 6), (sobol_sample, 16)):
        rows = sample(ends, size, 1)
        np.testing.assert_array_equal(rows, sample(ends, size, 1))
        assert (rows != sample(ends, size, 2)).any()
        for column, (low, high) in zip(rows.T, ends, strict=True):
            assert column.min() >= low
            assert column.max() <= high
