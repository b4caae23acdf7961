"""Quantities: a number and a unit of the right kind, and nothing else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from hostsim.config.costs import Cost
from hostsim.config.quantity import UNITS, Bandwidth, Duration, Rate, Size, read_quantity
from hostsim.units import SECOND


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("2 s", "duration", 2.0),
        ("80us", "duration", 80e-6),
        (" .5 ms ", "duration", 0.5e-3),
        ("1 min", "duration", 60.0),
        ("40 kpps", "rate", 40_000.0),
        ("1.5 Mpps", "rate", 1_500_000.0),
        ("100 /s", "rate", 100.0),
        ("800 B", "size", 800.0),
        ("2 KiB", "size", 2048.0),
        ("2 kB", "size", 2000.0),
        ("10 Gbit/s", "bandwidth", 1e10),
        ("2.67 GHz", "frequency", 2.67e9),
        ("0.01 %", "percent", 0.01),
        ("1e3 pps", "rate", 1000.0),
    ],
)
def test_quantities_come_in_their_base_unit(text: str, kind: str, expected: float) -> None:
    """Seconds, 1/s, bytes, bit/s, Hz and percent."""
    assert read_quantity(text, kind) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("40", "has no unit|"),
        (40, "has no unit|"),
        ("40 s", "has the unit 's', which is not one of rate|"),
        ("40 Kpps", "has the unit 'Kpps', which is not one of rate|"),
        ("40 pps pps", "has the unit 'pps pps', which is not one of rate|"),
        ("kpps", "is not a rate|"),
        ("2 * 20 kpps", "has the unit '* 20 kpps', which is not one of rate|"),
        ("40 x\npps", "is not a rate|"),
        ("40 7 pps", "is not a rate|"),
        ("40 " + "p" * 50, f"has the unit '{'p' * 40}', which is not one of rate|"),
        (True, "is not a rate|"),
        (None, "is not a rate|"),
        ("1e400 pps", "is not finite|"),
    ],
)
def test_anything_else_is_refused_with_what_is_allowed(text: object, expected: str) -> None:
    """The part after the bar has the allowed values."""
    with pytest.raises(ValueError, match="a number and a unit of rate") as caught:
        read_quantity(text, "rate")
    assert str(caught.value) == f"{expected}a number and a unit of rate, one of pps, kpps, Mpps, /s"


@given(kind=st.sampled_from(sorted(UNITS)), text=st.text(max_size=20))
def test_no_text_makes_it_fail_otherwise(kind: str, text: str) -> None:
    """Any text is read as a number, or refused."""
    try:
        value = read_quantity(text, kind)
    except ValueError as error:
        value = str(error)
    assert isinstance(value, float) or value.endswith(
        f"|a number and a unit of {kind}, one of {', '.join(UNITS[kind])}"
    )


class Link(BaseModel):
    delay: Duration
    rate: Rate
    size: Size
    speed: Bandwidth


def test_fields_hold_plain_numbers() -> None:
    """Picoseconds and bytes are integers."""
    link = Link.model_validate({"delay": "80 us", "rate": "40 kpps", "size": "1 KiB", "speed": "10 Gbit/s"})
    assert (link.delay, link.rate, link.size, link.speed) == (80_000_000, 40_000.0, 1024, 1e10)
    assert isinstance(link.delay, int)
    assert isinstance(link.size, int)


@pytest.mark.parametrize("text", ["0.1 B", "64.5 B", "0.0001 kB", "0.3 KiB", "1.0000000001 GB"])
def test_a_size_is_a_whole_number_of_bytes(text: str) -> None:
    """Rounding would simulate another value than the written one."""
    with pytest.raises(ValidationError, match="is not a whole number of bytes"):
        TypeAdapter(Size).validate_python(text)


@pytest.mark.parametrize(
    ("text", "size"), [("1.5 kB", 1500), ("0.1 kB", 100), ("4.35 kB", 4350), ("1.1 GB", 1_100_000_000)]
)
def test_fractions_of_larger_units_may_be_whole_bytes(text: str, size: int) -> None:
    """They may be even if the floating-point product is off by its last digit."""
    assert TypeAdapter(Size).validate_python(text) == size


@pytest.mark.parametrize(
    ("field", "text"), [("delay", "-1 s"), ("rate", "0 pps"), ("size", "-1 B"), ("speed", "0 bit/s")]
)
def test_fields_refuse_what_makes_no_sense(field: str, text: str) -> None:
    """No negative time or size, no rate of zero."""
    given_values = {"delay": "1 s", "rate": "1 pps", "size": "1 B", "speed": "1 kbit/s", field: text}
    with pytest.raises(ValidationError) as caught:
        Link.model_validate(given_values)
    assert [error["loc"] for error in caught.value.errors()] == [(field,)]


def test_a_time_that_no_run_lasts_is_refused() -> None:
    """Picoseconds are counted in 64 bits."""
    duration = TypeAdapter(Duration)
    assert duration.validate_python("277 h") == 277 * 3600 * SECOND
    with pytest.raises(ValueError, match=r"is longer than any run\|at most 277 h"):
        duration.validate_python("278 h")


@pytest.mark.parametrize(
    ("field", "text", "allowed"),
    [
        ("speed", "999 bit/s", "1000 to 1e+18 bit/s"),
    ],
)
def test_rates_whose_gaps_no_clock_counts_are_refused(field: str, text: str, allowed: str) -> None:
    """An interval is also a time."""
    with pytest.raises(ValidationError, match=re.escape(f"cannot be simulated|{allowed}")):
        Link.model_validate({"delay": "1 s", "rate": "1 pps", "size": "1 B", "speed": "1 kbit/s", field: text})


@pytest.mark.parametrize("cost", [{"cycles": 1.1e9}, {"time": "1001 s"}])
def test_a_cost_that_no_step_of_work_has_is_refused(cost: dict[str, object]) -> None:
    """Thousands of packets may be processed in one batch."""
    with pytest.raises(ValidationError, match=r"at most 1e\+09 cycles, or 1000 s"):
        Cost.model_validate(cost | {"source": "nobody"})
