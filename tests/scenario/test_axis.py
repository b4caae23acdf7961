"""Axes with named steps: linked paths that are selected by one word or number."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.results.expect import RSquared
from hostsim.units import SECOND
from tests.scenario.small_scenario import load_text

COUNT = "{set: vms.receiver.count, values: [1, 2]}"
LINKED = (
    "{set: [vms.receiver.count, traffic.stream.rate], values: [[1, 10 kpps], [2, 20 kpps], [4, 5 kpps]], "
    "labels: [few, 2, many]}"
)
AT = ("at: {receivers: 2}", "at: {receivers: many}")


def hosts(scenario) -> dict[object, tuple[int, float]]:
    """Count and rate at each value of the axis."""
    specs = {
        value: scenario.spec({**scenario.first(), "receivers": value}, SECOND)[0]
        for value in scenario.axes["receivers"].values
    }
    return {value: (spec.vms[0].count, spec.traffic["stream"].rate) for value, spec in specs.items()}


def faults(tmp_path: Path, *changes: tuple[str, str], **options: dict[str, str]) -> str:
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, *changes, **options)
    return "\n".join(fault.on_command_line() for fault in caught.value.faults).replace(f"{tmp_path}/", "")


def test_labels_name_the_steps_of_linked_paths(tmp_path: Path) -> None:
    """Points, expectations and figures use the names."""
    scenario = load_text(tmp_path, (COUNT, LINKED), AT)
    assert hosts(scenario) == {"few": (1, 10_000), 2: (2, 20_000), "many": (4, 5_000)}
    assert scenario.expectations[0].form.at["receivers"] == "many"


def test_numbers_as_labels_make_a_line_to_fit(tmp_path: Path) -> None:
    """A list of settings for the host is one number in verdicts."""
    scenario = load_text(
        tmp_path,
        (COUNT, LINKED.replace("few", "1").replace("many", "4")),
        (
            "metric: loss\n    at: {receivers: 2}\n    between: [0, 1 %]",
            "r2: {metric: loss, against: receivers, values: [1, 2, 4]}\n    between: [0.9, 1]",
        ),
    )
    (expectation,) = scenario.expectations
    assert expectation.form == RSquared("loss", "receivers", (1, 2, 4), {"split": "0"})


def test_an_option_chooses_among_labels(tmp_path: Path) -> None:
    """In its own order; expectations keep the steps that the selection omits."""
    scenario = load_text(tmp_path, (COUNT, LINKED), AT, axes={"receivers": "2,few"})
    assert hosts(scenario) == {2: (2, 20_000), "few": (1, 10_000)}
    spec, _ = scenario.spec({**scenario.first(), "receivers": "many"}, SECOND)
    assert spec.vms[0].count == 4


@pytest.mark.parametrize(
    ("changes", "options", "expected"),
    [
        (
            (AT,),
            {"axes": {"receivers": "few,mary"}},
            "--axis: receivers: is not a label of the axis; given 'mary'; allowed: one of few, 2, many; did you mean 'many'?",
        ),
        (
            (("at: {receivers: 2}", "at: {receivers: 3}"),),
            {},
            "small.yaml:22: receivers: is not a label of the axis; given 3; allowed: one of few, 2, many",
        ),
        (
            (AT, ("[few, 2, many]", "[few, many]")),
            {},
            "small.yaml:17: sweep.receivers: has a number of labels that differs from that of values; allowed: 3 labels, or none",
        ),
        (
            (AT, ("[few, 2, many]", "[few, few, many]")),
            {},
            "small.yaml:17: sweep.receivers.values: is given twice; given 'few'; allowed: each value once",
        ),
        (
            (AT, ("[vms.receiver.count, traffic.stream.rate]", "vms.receiver.count"),
             ("[[1, 10 kpps], [2, 20 kpps], [4, 5 kpps]]", "[1, 2, 4]")),
            {},
            ("small.yaml:17: sweep.receivers: has labels, but each step has one value; "
            "allowed: labels with several paths"),
        ),
    ],
)  # fmt: skip
def test_what_is_no_label_is_refused(
    tmp_path: Path, changes: tuple[tuple[str, str], ...], options: dict[str, dict[str, str]], expected: str
) -> None:
    """There are no values between names."""
    assert faults(tmp_path, (COUNT, LINKED), *changes, **options).splitlines()[0] == expected
