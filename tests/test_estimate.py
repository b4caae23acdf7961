"""Estimates against hand-computed cases and published tables."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hostsim.results.estimate import (
    Interval,
    batch_means,
    histogram_quantile,
    least_count,
    paired_difference,
    r_squared,
    rises,
    student,
    variance_ratio,
)

EDGES = np.array([0, 10, 20, 40])


@pytest.mark.parametrize(
    ("counts", "share", "expected"),
    [
        ([4, 4, 2], 0.50, 12.5),  # the fifth of ten: a quarter of the way through the second bucket
        ([4, 4, 2], 0.40, 10.0),
        ([4, 4, 2], 0.95, 35.0),
        ([4, 4, 2], 1.00, 40.0),
        ([0, 8, 0], 0.00, 10.0),
        ([0, 8, 0], 1.00, 20.0),
    ],
)
def test_quantile_is_linear_inside_a_bucket(counts: list[int], share: float, expected: float) -> None:
    """A quantile interpolates inside its bucket and never in an empty one."""
    assert histogram_quantile(np.array(counts), EDGES, share) == pytest.approx(expected)


def test_quantile_of_nothing_is_nan() -> None:
    """An empty histogram has no quantile."""
    assert math.isnan(histogram_quantile(np.zeros(3, dtype=np.int64), EDGES, 0.5))


@pytest.mark.parametrize(("count", "quantile"), [(5, 2.7764), (10, 2.2622), (20, 2.0930), (30, 2.0452), (100, 1.9842)])
def test_student_uses_the_published_quantiles(count: int, quantile: float) -> None:
    """The half-width is t times the standard error."""
    values = [float(v) for v in range(count)]
    expected = quantile * float(np.std(values, ddof=1)) / math.sqrt(count)
    assert student(values).half == pytest.approx(expected, rel=3e-5)


def test_student_by_hand() -> None:
    """Mean 3, deviation sqrt(2.5), t of 4 degrees of freedom 2.7764."""
    interval = student([1, 2, 3, 4, 5])
    assert (interval.mean, interval.count) == (3, 5)
    assert interval.low == pytest.approx(3 - 2.7764 * math.sqrt(0.5), abs=1e-4)
    assert interval.high == pytest.approx(3 + 2.7764 * math.sqrt(0.5), abs=1e-4)


def test_student_of_one_value_is_unbounded() -> None:
    """One replication gives no spread."""
    assert (student([0.3]).low, student([0.3]).high) == (-math.inf, math.inf)


def test_student_of_equal_values_has_no_width() -> None:
    """Ten times 0.1 is exactly 0.1, not the mean of their rounded sum."""
    interval = student([0.1] * 10)
    assert (interval.low, interval.mean, interval.high) == (0.1, 0.1, 0.1)


def test_student_passes_nan_on() -> None:
    """A measure that one replication lacks is not an interval of the others."""
    assert math.isnan(student([1.0, math.nan]).mean)


def test_student_of_the_infinite() -> None:
    """If all are infinite, it is certain; if some are, it extends upwards from the smallest."""
    assert student([math.inf, math.inf]) == Interval(math.inf, math.inf, math.inf, 2)
    assert student([3.0, math.inf, 5.0]) == Interval(math.inf, 3.0, math.inf, 3)
    assert student([-math.inf, -2.0]) == Interval(-math.inf, -math.inf, -2.0, 2)
    assert math.isnan(student([-math.inf, math.inf]).mean)


def test_student_needs_values() -> None:
    """No values are an error of the caller."""
    with pytest.raises(ValueError, match="at least one value"):
        student([])


def test_paired_difference_sees_through_common_noise() -> None:
    """With common random numbers the interval of the difference is far narrower than either mean's."""
    noise = np.random.default_rng(2).normal(0, 5, 20)
    own = np.random.default_rng(3).normal(0, 0.1, 20)
    first, second = list(10 + noise + own), list(9 + noise)
    difference = paired_difference(first, second)
    assert difference.low < 1 < difference.high
    assert difference.half < student(first).half / 10


def test_what_is_infinite_on_both_sides_does_not_differ() -> None:
    """On one side only, the difference is unbounded."""
    assert paired_difference([math.inf, math.inf], [math.inf, math.inf]) == Interval(0.0, 0.0, 0.0, 2)
    assert paired_difference([math.inf, math.inf], [3.0, 4.0]) == Interval(math.inf, math.inf, math.inf, 2)


def test_paired_difference_needs_pairs() -> None:
    """Values without a partner are an error of the caller."""
    with pytest.raises(ValueError, match="shorter"):
        paired_difference([1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10, 11, 12, 13, 14, 15, 16, 17], True),
        ([10, 12, 11, 14, 13, 15, 17, 16], True),
        ([17, 16, 15, 14, 13, 12, 11, 10], False),
        ([10, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7], False),  # certain, and less than a tenth
        ([10, 19, 8, 18, 11, 20, 12, 17], False),  # a third from end to end, and by chance
        ([5] * 8, False),
        ([0] * 8, False),
        ([10, 11, 12, math.nan, 14, 15, 16, 17], False),
    ],
)
def test_what_rises(values: list[float], expected: bool) -> None:
    """By a tenth of the mean or more along the straight line, and significantly."""
    assert rises(values) is expected


def test_what_rises_by_too_little_in_its_own_unit() -> None:
    """From 10 to 17: by 7, and by more than a tenth."""
    values = [10.0, 11, 12, 13, 14, 15, 16, 17]
    assert rises(values, amount=6.9)
    assert not rises(values, amount=7.1)


def test_noise_hardly_ever_rises() -> None:
    """At most a fortieth of independent series counts as rising, for any scatter; and none with a scatter of 2 %."""
    draws = np.random.default_rng(1).normal(0, 1, size=(4000, 8))
    assert sum(rises(values.tolist()) for values in 100 + 30 * draws) <= 4000 / 40 + 3 * math.sqrt(4000 / 40)
    assert not any(rises(values.tolist()) for values in 100 + 2 * draws)


def test_r_squared() -> None:
    """A line fits completely, one half-explained case by hand, and a constant has nothing to explain."""
    assert r_squared([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(1)
    assert r_squared([1, 2, 3], [0, 1, 0]) == 0
    assert r_squared([0, 1, 2], [0, 0, 3]) == pytest.approx(0.75)
    assert math.isnan(r_squared([1, 2, 3], [0.1, 0.1, 0.1]))


# --- one long run


def test_batch_means_of_independent_values_are_students_interval_of_40_batches() -> None:
    """Eighty values, two per batch; the five that fill no batch are the first."""
    values = np.random.default_rng(5).normal(size=85)
    interval, note = batch_means(values)
    assert interval == student(values[5:].reshape(40, 2).mean(axis=1).tolist())
    assert note == "40 batch means of one run"


def test_correlated_batches_become_fewer_and_then_overlap() -> None:
    """A mean-reverting random walk; the slower it reverts, the longer the batches."""
    random = np.random.default_rng(4)

    def pulled_back(memory: float) -> list[float]:
        level, values = 0.0, []
        for shock in random.normal(size=240):
            level = memory * level + shock
            values.append(level)
        return values

    notes = {batch_means(pulled_back(memory))[1].split()[0] for memory in (0.0, 0.7, 0.7, 0.8, 0.98, 0.99)}
    assert notes == {"40", "20", "overlapping"}


def test_overlapping_batches_are_as_worked_out_by_hand() -> None:
    """A ramp of 20 values: batches of two, 19 of them, means 0.5 to 18.5 around 9.5."""
    interval, note = batch_means(list(range(20)))
    assert note.startswith("overlapping")
    variance = 2 * sum((i + 0.5 - 9.5) ** 2 for i in range(19)) / (19 * 18)
    assert interval.mean == 9.5
    assert interval.half == pytest.approx(2.1523 * variance**0.5, rel=1e-3)  # Student, 13.5 degrees of freedom


def test_too_few_slices_have_no_interval() -> None:
    """Nineteen observations, or one that is missing."""
    for values in ([1.0] * 19, [1.0] * 30 + [math.nan]):
        interval, note = batch_means(values)
        assert (interval.low, interval.high) == (-math.inf, math.inf)
        assert "too few" in note
    with pytest.raises(ValueError, match="at least one"):
        batch_means([])


def test_a_constant_has_batches_without_width() -> None:
    """Rounding is no correlation."""
    interval, note = batch_means([0.1] * 100)
    assert interval.high - interval.low < 1e-15
    assert note == "40 batch means of one run"


# --- what can be told


@pytest.mark.parametrize(
    ("share", "least"), [(0.5, 6), (0.1, 36), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3688), (0.9999, 36887)]
)
def test_the_fewest_values_of_which_a_quantile_can_be_told(share: float, least: int) -> None:
    """All values are on one side of the quantile in at most 2.5 % of the cases; with one value fewer in more."""
    assert least_count(share) == least
    all_on_one_side = [max(share, 1 - share) ** count for count in (least, least - 1)]
    assert all_on_one_side[0] <= 0.025 < all_on_one_side[1]


def test_pairing_is_measured_by_what_it_does_to_the_variance() -> None:
    """All of it gone, none of it, doubled; undefined for two pairs and for constants."""
    assert variance_ratio([1, 2, 3], [11, 12, 13]) == 0
    assert variance_ratio([1, 2, 3], [3, 2, 1]) == 2
    assert variance_ratio([1, 2, 3, 2], [2, 1, 2, 3]) == 1
    assert math.isnan(variance_ratio([1, 2], [1, 2]))
    assert math.isnan(variance_ratio([1, 1, 1], [2, 2, 2]))
    with pytest.raises(ValueError, match="equally many"):
        variance_ratio([1, 2, 3], [1, 2])
