"""The page of the joint calibration has the content of a summary, and its scores are those of the intervals."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostsim_docs.calibration_page import page, shipped_page
from hostsim_docs.interval_coverage import PredictedInterval, interval_score, rows

from hostsim.results.expect import Band


def interval(published: float | None, low: float, high: float, **changes: object) -> PredictedInterval:
    found = {"name": "a", "group": "one", "kind": "scale", "band": Band(9, 11), "value": 10.0, "prior": (5.0, 15.0)}
    return PredictedInterval(published=published, low=low, high=high, **(found | changes))  # type: ignore[arg-type]


def test_an_interval_that_misses_costs_twenty_times_the_miss() -> None:
    """Gneiting and Raftery's score at 90 %."""
    assert interval_score(1.0, 3.0, 2.0) == 2.0
    assert interval_score(1.0, 3.0, 4.0) == pytest.approx(2.0 + 20.0)


def test_a_score_is_the_width_and_twenty_times_the_miss() -> None:
    """Scores are shares of the published value: for the prior, which is wider and misses nothing, and for 20 % of the value."""
    assert rows([interval(10.0, 11.0, 12.0)]) == [
        ("one", "scale", "1", "0 (0 %)", "10 %", "0 %", "210 %", "100 %", "40 %"),
        ("all", "all", "1", "0 (0 %)", "10 %", "0 %", "210 %", "100 %", "40 %"),
    ]


@pytest.mark.parametrize(
    ("kind", "band", "low", "high", "inside"),
    [
        ("direction", Band(None, 0.99), 0.98, 1.2, True),
        ("direction", Band(None, 0.99), 1.0, 1.2, False),
        ("ratio", Band(1.1, None), 1.0, 1.1, True),
        ("scale", Band(9, 11), 9.5, 10.5, True),
        ("scale", Band(9, 11), 10.2, 10.9, False),
    ],
)
def test_a_band_alone_has_to_meet_the_interval_and_a_number_to_be_in_it(
    kind: str, band: Band, low: float, high: float, *, inside: bool
) -> None:
    """A band that overlaps the interval is not enough if a number is published."""
    assert interval(10.0 if kind == "scale" else None, low, high, kind=kind, band=band).is_inside is inside


def test_kinds_are_counted_in_each_group_and_together() -> None:
    """A group of one kind, another of two, then both kinds, and all."""
    found = [
        interval(10.0, 9.0, 11.0),
        interval(10.0, 9.0, 11.0, group="two"),
        interval(None, 0.5, 0.9, group="two", kind="direction", band=Band(None, 0.95)),
    ]
    assert [row[:4] for row in rows(found)] == [
        ("one", "scale", "1", "1 (100 %)"),
        ("two", "scale", "1", "1 (100 %)"),
        ("two", "direction", "1", "1 (100 %)"),
        ("all", "scale", "2", "2 (100 %)"),
        ("all", "direction", "1", "1 (100 %)"),
        ("all", "all", "3", "3 (100 %)"),
    ]
    assert set(rows(found)[2][4:]) == {"–"}


def test_what_the_fit_moved_is_told_from_the_rest() -> None:
    """Changed numbers come first, each with its prior and origin; numbers that matter to claims but did not change are in another table."""
    number = {"unit": "cycles", "stated": 2.0, "prior": [1.0, 2.0, 3.0], "value": 2.6, "posterior": [2.5, 2.6, 2.7]}
    left = {"name": "numa.10g.cpu", "experiment": "numa", "centre": 0.92, "half": 0.02}
    text = page(
        {
            "processor_h": 2.5,
            "objectives": [30.0, 12.5, 12.0],
            "effective": 7.25,
            "numbers": [
                {"name": "a.moved", **number, "moved": 1.4, "kept": 0.1, "held_by": ["numa.10g.cpu"]},
                {"name": "a.still", **number, "moved": 0.05, "kept": 0.95, "held_by": ["numa.10g.cpu"]},
                {"name": "a.loose", **number, "moved": 0.0, "kept": 1.0, "held_by": []},
            ],
            "claims": [
                {"name": "numa.10g.cpu", "published": 0.92, "value": 0.9, "interval": [0.85, 0.95], "residual": -1.0}
            ],
            "choices": [{"name": "a.word", "word": "plain", "objective": 12.0, "is_kept": True}],
            "discrepancies": {"scale": 0.08, "ratio": 0.04},
            "factor": [0.01, 0.16, 0.4],
            "left_out": [
                {**left, "low": 0.8, "median": 0.85, "high": 0.94, "hosts": [0.82, 0.88], "prior": [0.7, 0.99]}
            ],
        },
        "COUNT",
    )
    moved, still = text.split("## Numbers that the claims moved")[1].split("## Numbers that affect claims")
    assert "| `a.moved` | cycles | 2 (1 to 3) | 2.6 (2.5 to 2.7) | +1.40 | 10 % | numa.10g.cpu |" in moved
    assert "`a.still`" not in moved
    assert "| `a.still` |" in still
    assert "1 other numbers move no claim" in text
    assert "Objective: 30.0 before the first step, then 12.5, 12.0." in text
    assert "COUNT" in text
    assert "8 % of a scale and 4 % of a ratio" in text
    assert "16 % (1 to 40 %, 90 %)" in text
    assert "| `a.word` | plain | 12.0 | shipped |" in text
    assert "| `numa.10g.cpu` | 0.92 | 0.9 (0.85 to 0.95) | -1.00 |" in text
    assert "| `numa.10g.cpu` | ratio | 0.92 | 0.85 (0.8 to 0.94) | 0.7 to 0.99 |" in text
    assert "| numa | ratio | 1 | 1 (100 %) | 15 % |" in text
    alone = text.split("## The same without the model's own error")[1].split("\n## ")[0]
    assert "| ratio | 1 | 0 (0 %) | 7 % |" in alone


def test_the_page_says_what_is_shipped() -> None:
    """`make calibration-page` writes it."""
    assert (Path(__file__).parents[2] / "docs" / "calibration.md").read_text(encoding="utf-8") == shipped_page()
