"""Expectations of several points (worst, best or mean), as read from a file: a line or cases, values or ratios."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.results.expect import At, Difference, Expectation, Mean, Ratio, Worst
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.planner import make_plan
from tests.scenario.small_scenario import TEXT

MINE = "  - name: mine\n    metric: loss\n    at: {receivers: 2}\n    between: [0, 1 %]\n"


def written(folder: Path, question: str, between: str = "[1, 2]") -> Path:
    """A file with this expectation only, on line 22."""
    file = folder / "small.yaml"
    file.write_text(TEXT.replace(MINE, f"  - {{name: it, between: {between}, {question}}}\n"), encoding="utf-8")
    return file


def read(folder: Path, question: str, between: str = "[1, 2]") -> Expectation:
    (expectation,) = load(written(folder, question, between)).expectations
    return expectation


def test_a_line_and_its_cases_are_one(tmp_path: Path) -> None:
    """Both notations of points along an axis are equivalent, in the metric's unit."""
    line = read(tmp_path, "worst: {metric: loss, over: receivers, values: ['1', 3], at: {split: 1}}", "[0, 2 %]")
    cases = read(tmp_path, "worst: {metric: loss, cases: [{receivers: 1}, {receivers: 3}], at: {split: 1}}", "[0, 2 %]")
    assert line == cases
    assert line.form == Worst(tuple(At("loss", {"receivers": n, "split": "1"}) for n in (1, 3)))
    assert (line.unit, line.band.high) == ("%", 2)


def test_cases_lie_on_several_axes(tmp_path: Path) -> None:
    """An axis that one case omits and another names has its first value there."""
    found = read(tmp_path, "best: {metric: loss, cases: [{receivers: 2, split: 1}, {split: 1}, {receivers: 2}]}")
    at = [{"receivers": 2, "split": "1"}, {"receivers": 1, "split": "1"}, {"receivers": 2, "split": "0"}]
    assert found.form == Worst(tuple(At("loss", point) for point in at), best=True)


@pytest.mark.parametrize("where", ["over: receivers, values: [1, 3]", "cases: [{receivers: 1}, {receivers: 3}]"])
def test_a_ratio_is_taken_at_every_point(tmp_path: Path, where: str) -> None:
    """It has no unit, and both sides of every ratio are run, each point once."""
    file = written(tmp_path, f"worst: {{metric: loss, of: {{split: 1}}, to: {{split: 0}}, {where}}}")
    scenario = load(file)
    (found,) = scenario.expectations
    ratios = (Ratio("loss", {"split": "1"}, {"split": "0"}, {"receivers": n, "split": "0"}) for n in (1, 3))
    assert (found.form, found.unit) == (Worst(tuple(ratios)), "ratio")
    plan = make_plan(scenario, Fidelity(quick=True), sweep=False)
    assert [tuple(task.point.axes.values()) for task in plan.tasks] == [(1, "1"), (1, "0"), (3, "1"), (3, "0")]


def test_a_difference_is_taken_at_every_point_of_a_mean(tmp_path: Path) -> None:
    """In the unit of its metric; the mean has the same points as a worst case."""
    points = "{metric: loss, less: {split: 1}, cases: [{receivers: 1}, {receivers: 3}]}"
    found, worst = read(tmp_path, f"mean: {points}"), read(tmp_path, f"worst: {points}")
    apart = (Difference("loss", {"receivers": n, "split": "0"}, {"receivers": n, "split": "1"}) for n in (1, 3))
    assert (found.form, found.unit) == (Mean(tuple(apart)), "%")
    assert worst.form == Worst(found.form.points)


@pytest.mark.parametrize(
    ("points_", "expected"),
    [
        ("metric: los, cases: [{split: 1}]", ".metric: unknown metric; given 'los'"),
        ("metric: loss", ": needs one set of points; allowed: over: AXIS and values: [...]; or cases:"),
        ("metric: loss, over: receivers, values: [1], cases: [{split: 1}]", ": needs one set of points; allowed"),
        ("metric: loss, over: receivers", ": is an incomplete line; allowed: over: AXIS and values: [...]"),
        ("metric: loss, values: [1], cases: [{split: 1}]", ": is an incomplete line; allowed"),
        ("metric: loss, cases: []", ".cases: has too few entries; given []"),
        ("metric: loss, cases: [{split: 1}, {splt: 1}]", ".cases[1].splt: unknown axis; given 'splt'; allowed: one of"),
        ("metric: loss, cases: [{split: 1}, {split: '1'}]", ".cases: has a case twice; given"),
        ("metric: loss, cases: [{split: 0}, {receivers: 1}]", ".cases: has a case twice; given"),  # both are the first
        ("metric: loss, cases: [{split: 1}], at: {split: 0}", ".at.split: is the axis that is varied here; given 0"),
        ("metric: loss, over: receivers, values: [1, 1]", ".values: has a value twice; given [1, 1]"),
        (
            "metric: loss, of: {split: 1}, cases: [{receivers: 1}]",
            ": is an incomplete ratio; allowed: of: {AXIS: VALUE} and",
        ),
        (
            "metric: loss, of: {split: 1}, to: {split: 0}, cases: [{split: 1}]",
            ".of.split: is the axis that is varied here; given 1; allowed: the other axes",
        ),
        (
            "metric: loss, of: {receivers: 1}, to: {}, over: split, values: [0]",
            ".to: is the point that of is; given",
        ),
        (
            "metric: loss, less: {split: 0}, over: receivers, values: [1, 3], at: {split: 0}",
            ".less: would subtract the point from itself; given",
        ),
        (
            "metric: loss, of: {split: 1}, to: {split: 0}, less: {split: 1}, cases: [{receivers: 1}]",
            ": is a ratio and a",
        ),
    ],
)
@pytest.mark.parametrize("form", ["worst", "best", "mean"])
def test_what_is_wrong_is_told_at_its_place(tmp_path: Path, form: str, points_: str, expected: str) -> None:
    """An incomplete line or ratio, repeated points, axes in two places."""
    file = written(tmp_path, f"{form}: {{{points_}}}")
    with pytest.raises(InputError) as caught:
        load(file)
    told = [line.removeprefix(f"{file}:") for line in str(caught.value).splitlines()]
    assert told[0].startswith(f"22: expect[0].{form}{expected}")
