"""What counts as fitted, by code, and how many claims are left to test the model with."""

from __future__ import annotations

from pathlib import Path

import pytest

import hostsim
from hostsim.analysis.cost_model import scenario_inputs, shipped_constants
from hostsim.calibration.assumption import Move, Study, flipping, shipped_studies
from hostsim.calibration.freedom import FittedCount, count_fitted, read_fitted_inputs
from hostsim.errors import InputError
from hostsim.scenario.load import load
from hostsim.scenario.shipped_data import claims, shipped

README = Path(hostsim.__file__).parent.parent / "README.md"


def study(*moves: Move) -> Study:
    return Study("small", "2026-11-22", "0" * 64, True, 1, None, {}, moves)


def test_the_readme_says_how_many_numbers_were_chosen() -> None:
    """The count of today, in the sentence after that of the claims that hold."""
    assert count_fitted().sentence in README.read_text(encoding="utf-8")


def test_what_was_fitted_what_flips_a_verdict_and_what_is_listed_count() -> None:
    """Each once, whatever says so."""
    count = count_fitted()
    names = {constant.name for constant in shipped_constants() if constant.is_calibrated}
    names |= {name for name in (*flipping(shipped_studies()), *read_fitted_inputs()) if not name.count(".traffic.")}
    assert set(count.constants) <= names
    assert {constant.name for constant in shipped_constants() if constant.is_calibrated} <= set(count.constants)
    assert len(set(count.constants)) == len(count.constants)
    assert not set(count.constants) & set(count.inputs)


def test_only_a_verdict_that_is_another_one_is_a_flip() -> None:
    """A value may move as it likes inside its band, and one that is known to be out may stay out; a red that comes in is one."""
    kept = Move("a.b", "1", "splitrx.guest_cpu", 12.0, 14.9, "in", "in")
    red = Move("a.c", "1", "splitrx.guest_cpu", 18.0, 14.0, "out", "in")
    assert list(flipping([study(kept, red)])) == ["a.c"]


def test_a_flip_in_a_study_raises_the_count_and_a_choice_in_several_scenarios_does_not_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The packet size of one scenario is one number more; the delay of a network that two scenarios have is one for both."""
    out = ("1", "splitrx.guest_cpu", 12.0, 20.0, "in", "out")
    monkeypatch.setattr("hostsim.calibration.freedom.shipped_studies", tuple)
    before = count_fitted()
    found = study(Move("directpath-udp.traffic.stream.packet_size", *out))
    monkeypatch.setattr("hostsim.calibration.freedom.shipped_studies", lambda: (found,))
    assert count_fitted().fitted == before.fitted + 1
    both = study(*(Move(f"40gbe-{name}.traffic.netperf.delay", *out) for name in ("single", "multi")))
    monkeypatch.setattr("hostsim.calibration.freedom.shipped_studies", lambda: (found, both))
    assert count_fitted().fitted == before.fitted + 2


def test_rules_arithmetic_and_ratios_of_claims_leave_no_freedom() -> None:
    """Of the dense-mode gains, which are ratios of thresholds that are claims, none; the thresholds themselves are."""
    informative = set(count_fitted().informative)
    assert {"dense.medium.default.cpu", "numa.10g.cpu", "latency.tuned", "vxlan.cpu"} <= informative
    assert not {"dense.medium.gain.cpu", "splitrx.gain.40k", "numa.threshold", "80gbe.send.linear"} & informative
    assert {claims()[name].kind for name in informative} == {"scale", "ratio", "direction"}


def test_the_sentence_says_when_there_is_no_freedom_left() -> None:
    """As many chosen numbers as claims, or more, and when there are fewer how many are left."""
    assert FittedCount(("a",), ("b",), ("c",)).sentence.endswith(
        "Of the 1 claims that could fail, none has a freedom left."
    )
    assert FittedCount(("a",), (), ("c", "d", "e")).sentence.endswith(
        "Of the 3 claims that could fail, 2 have a freedom left."
    )


def test_the_sentence_tells_what_was_chosen_from_what_has_a_stated_value() -> None:
    """A calibration moved the first, or a verdict had been seen; of the second an end of a range flips one."""
    sentence = FittedCount(("a", "b"), ("c",), ("d",), 1).sentence
    assert sentence.startswith(
        "3 numbers count as fitted, 2 constants and 1 inputs: 1 were chosen, and 2 have stated values"
    )
    today = count_fitted()
    inputs = {f"{name}.{path}": one for name in shipped() for path, one in scenario_inputs(load(name)).items()}
    moved = {name for name, one in inputs.items() if one.is_calibrated}
    moved |= {constant.name for constant in shipped_constants() if constant.is_calibrated}
    moved |= {name for name, entry in read_fitted_inputs().items() if entry.how == "chosen"}
    assert today.chosen == len(moved & {*today.constants, *today.inputs}) > 10


def test_an_experiment_with_a_study_has_no_entry_that_the_study_would_make() -> None:
    """The file is for what was not run yet, and for what was chosen by looking."""
    done = {found.name for found in shipped_studies()}
    for name, entry in read_fitted_inputs().items():
        of = {claims()[claim].experiment for claim in entry.claims}
        assert entry.how == "chosen" or not of <= done, name


def test_a_misspelt_input_or_claim_is_a_fault_with_its_line(tmp_path: Path) -> None:
    """With the nearest name; else it would count as a number that nobody has chosen."""
    file = tmp_path / "own.yaml"
    entry = "  {name}: {{claims: [{claim}], how: moved, evidence: seen}}\n"
    text = "fitted:\n" + entry.format(name="esxi.costs.drive_tx", claim="numa.10g.cpuu")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_fitted_inputs(file)
    assert [(fault.message, fault.line, fault.nearest) for fault in error.value.faults] == [
        ("is not known", 2, "esxi.costs.driver_tx"),
        ("unknown claim", 2, "numa.10g.cpu"),
    ]
