"""Fitted numbers, and the claims that can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.lab.calibration.freedom import FittedCount, FittedInput, count_fitted, read_fitted_inputs
from hostsim.scenario.cost_model import scenario_inputs, shipped_constants
from hostsim.scenario.load import load
from hostsim.scenario.shipped_data import claims, shipped

CHOSEN = FittedInput(claims=("numa.10g.cpu",), evidence="seen")


def test_what_the_calibration_moved_and_what_was_chosen_count() -> None:
    """All of these and no others; an input with the same key and value in several scenarios is one choice."""
    count, listed = count_fitted(), read_fitted_inputs()
    inputs = {f"{name}.{path}": one for name in shipped() for path, one in scenario_inputs(load(name)).items()}
    constants = {one.name: one for one in shipped_constants()}
    fitted = {name for name, one in {**constants, **inputs}.items() if one.is_calibrated} | listed.keys()
    assert set(count.constants) == fitted & constants.keys()
    assert set(count.inputs) <= fitted - constants.keys()
    values = {name: inputs[name].value if name in inputs else None for name in count.inputs}  # switches have none
    assert len(count.inputs) == len({(name.rpartition(".")[2], value) for name, value in values.items()})
    assert count.fitted == len(count.constants) + len(count.inputs) > 10


def test_a_choice_raises_the_count_and_the_same_choice_in_two_scenarios_does_not_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A packet size is one number; the delay of a network that two scenarios have is one for both; a calibrated constant counts already."""

    def fitted(*names: str) -> int:
        monkeypatch.setattr("hostsim.lab.calibration.freedom.read_fitted_inputs", lambda: dict.fromkeys(names, CHOSEN))
        return count_fitted().fitted

    before = fitted()
    assert fitted("directpath-udp.traffic.stream.packet_size") == before + 1
    assert fitted(*(f"40gbe-{name}.traffic.netperf.delay" for name in ("single", "multi"))) == before + 1
    assert fitted("esxi.costs.poll_entry") == before


def test_rules_arithmetic_and_ratios_of_claims_cannot_fail() -> None:
    """Of the dense-mode gains, which are ratios of thresholds that are claims, none can; the thresholds can."""
    informative = set(count_fitted().informative)
    assert {"dense.medium.default.cpu", "numa.10g.cpu", "latency.tuned", "vxlan.cpu"} <= informative
    assert not {"dense.medium.gain.cpu", "splitrx.gain.40k", "numa.threshold", "80gbe.send.linear"} & informative
    assert {claims()[name].kind for name in informative} == {"scale", "ratio", "direction"}


def test_the_sentence_has_all_counts() -> None:
    sentence = FittedCount(("a", "b"), ("c",), ("d",)).sentence
    assert sentence.startswith("3 numbers count as fitted, 2 constants and 1 inputs: ")
    assert "They face 1 claims that can fail" in sentence


def test_a_misspelt_input_or_claim_is_a_fault_with_its_line(tmp_path: Path) -> None:
    """With the nearest name; otherwise the count would miss a number."""
    file = tmp_path / "own.yaml"
    entry = "  {name}: {{claims: [{claim}], evidence: seen}}\n"
    text = "fitted:\n" + entry.format(name="esxi.costs.drive_tx", claim="numa.10g.cpuu")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_fitted_inputs(file)
    assert [(fault.message, fault.line, fault.nearest) for fault in error.value.faults] == [
        ("is not known", 2, "esxi.costs.driver_tx"),
        ("unknown claim", 2, "numa.10g.cpu"),
    ]
