"""Delays of processes: whole picoseconds for any notation of the number."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import simpy

from hostsim.engine.clock import Clock
from hostsim.engine.delay import ms, ns, ps, s, us


@pytest.mark.parametrize(
    ("delay", "expected"),
    [
        (ps(7), 7),
        (ns(2), 2_000),
        (us(10), 10_000_000),
        (ms(3), 3_000_000_000),
        (s(1), 1_000_000_000_000),
        (us(0.1), 100_000),  # as written, although no float equals a tenth
        (s("1e-12"), 1),
        (us(Decimal("12.5")), 12_500_000),
        (ms(Fraction(1, 8)), 125_000_000),
        (ns(np.float64(0.3)), 300),
        (us(np.int64(4)), 4_000_000),
        (us(0), 0),
    ],
)
def test_a_delay_is_a_whole_number_of_picoseconds(delay: int, expected: int) -> None:
    """For every unit and every numeric type."""
    assert (type(delay), delay) == (int, expected)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (1 / 3, r"us\(0.333.*\) is not a whole number of picoseconds: round a computed delay"),
        ("0.0000001", "not a whole number of picoseconds"),
        (-1, "negative delay"),
        (float("inf"), r"us\(inf\) is not a delay"),
        ("soon", r"us\('soon'\) is not a delay: write a number, such as us\(10\)"),
        (True, "is not a delay"),
    ],
)
def test_what_is_not_one_is_refused(number: object, message: str) -> None:
    """The error has the call as written, and its replacement."""
    with pytest.raises(ValueError, match=message):
        us(number)


def test_the_clock_refuses_delays_that_are_not_whole() -> None:
    """For any way of scheduling a SimPy event; integers of other libraries are integers."""
    clock = Clock()
    clock.timeout(np.int64(5))
    assert clock.peek() == 5
    message = r"whole number of picoseconds, but 0.5 is of type float: write ns\(...\), us\(...\).*hostsim.engine.delay"
    for schedule in (clock.timeout, lambda delay: simpy.Timeout(clock, delay), lambda until: clock.run(until=until)):
        with pytest.raises(TypeError, match=message):
            schedule(0.5)
    with pytest.raises(ValueError, match="Negative delay -1"):
        clock.schedule(clock.event(), delay=-1)
    assert type(clock.peek()) is int
