"""Fitted numbers, and the claims that can fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostsim_docs.fitted_count import FittedCount, FittedInput, count_fitted, read_fitted_inputs

from hostsim.errors import InputError
from hostsim.scenario.cost_model import scenario_inputs, shipped_constants
from hostsim.scenario.shipped_data import claims, shipped
from tests.loaded import loaded

CHOSEN = FittedInput(claims=("numa.10g.cpu",), evidence="seen")


def test_effective_parameters_and_choices_count() -> None:
    """Each choice once; an input with the same key and value in several scenarios is one choice."""
    count, listed = count_fitted(), read_fitted_inputs()
    assert count.fitted == round(count.effective) + len(count.chosen)
    assert set(count.chosen) <= listed.keys()
    assert 1 < count.effective < len(count.moved)


def test_what_the_fit_moved_has_its_stated_value_beside_it() -> None:
    """Only moved numbers have a prior: the shipped files and the fit's summary belong to one calibration."""
    inputs = {f"{name}.{path}": one for name in shipped() for path, one in scenario_inputs(loaded(name)).items()}
    numbers = {one.name: one for one in shipped_constants()} | inputs
    moved = {name for name, one in numbers.items() if one.prior is not None}
    counted = set(count_fitted().moved)
    assert counted <= moved


def test_the_same_choice_in_two_scenarios_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A packet size is one number; a network delay of two scenarios is one number for both."""

    def chosen(*names: str) -> int:
        monkeypatch.setattr("hostsim_docs.fitted_count.read_fitted_inputs", lambda: dict.fromkeys(names, CHOSEN))
        return len(count_fitted().chosen)

    assert chosen() == 0
    assert chosen("directpath-udp.traffic.stream.packet_size") == 1
    assert chosen(*(f"40gbe-{name}.traffic.netperf.delay" for name in ("single", "multi"))) == 1
    assert chosen("esxi.costs.poll_entry") == 1


def test_rules_arithmetic_and_ratios_of_claims_cannot_fail() -> None:
    """Dense-mode gains, which are ratios of claimed thresholds, cannot; the thresholds can."""
    informative = set(count_fitted().informative)
    assert {"dense.medium.default.cpu", "numa.10g.cpu", "latency.tuned", "vxlan.cpu"} <= informative
    assert not {"dense.medium.gain.cpu", "splitrx.gain.40k", "numa.threshold", "80gbe.send.linear"} & informative
    assert {claims()[name].kind for name in informative} == {"scale", "ratio", "direction"}


def test_the_sentence_has_all_counts() -> None:
    sentence = FittedCount(2.2, ("a", "b", "c"), ("c",), ("d",)).sentence
    assert sentence.startswith("3 numbers count as fitted: 2.2 effective parameters of the calibration, which moved 3 ")
    assert "They face 1 claims that can fail" in sentence


def test_a_misspelt_input_or_claim_is_a_fault_with_its_line(tmp_path: Path) -> None:
    """The fault has the nearest name; without it the count would miss a number."""
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
