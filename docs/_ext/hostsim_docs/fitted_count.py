"""Fitted numbers, and the claims that can fail."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from hostsim.config.field import Spec
from hostsim.config.files import display_name
from hostsim.engine.record import Scalar
from hostsim.errors import InputError, nearest_name
from hostsim.lab.calibration.shipped_claims import LEAST_MOVED
from hostsim.results.expect import Ratio
from hostsim.scenario.cost_model import Constant, scenario_inputs, shipped_constants
from hostsim.scenario.load import load
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.shipped_data import claims, data_root, shipped, shipped_parts
from hostsim.scenario.yaml.source_tree import Tree
from hostsim.scenario.yaml.validation import validate

__all__ = [
    "INFORMATIVE",
    "FittedCount",
    "FittedInput",
    "count_fitted",
    "read_fitted_inputs",
]

INFORMATIVE = ("scale", "ratio", "direction")
"""Kinds of claims that the arithmetic of the wire or a coded rule does not make true by construction."""


class FittedInput(Spec):
    """A constant or input whose value was chosen after the verdict of a claim was known."""

    claims: tuple[str, ...] = Field(min_length=1)
    """Ids of the claims with known verdicts."""
    evidence: str = Field(min_length=1)
    """The known outcome, and the page or decision about it."""


class _FittedInputs(Spec):
    """File of the chosen numbers."""

    fitted: Mapping[str, FittedInput]
    """Chosen numbers by name: file and path."""
    fixed: Mapping[str, str] = Field(default_factory=dict)
    """Reasons to leave a number out of the fit, by name."""


@dataclass(frozen=True)
class FittedCount:
    """The numbers that were fitted to published claims, and the claims that can fail."""

    effective: float
    """Effective number of parameters of the calibration."""
    moved: tuple[str, ...]
    """Names of the constants and inputs that the calibration moved from their stated values; one name for each
    number.
    """
    chosen: tuple[str, ...]
    """Names of numbers that were chosen with a known outcome."""
    informative: tuple[str, ...]
    """Ids of the claims that can fail."""

    @property
    def fitted(self) -> int:
        """Number of fitted numbers: effective parameters plus chosen values."""
        return round(self.effective) + len(self.chosen)

    @property
    def sentence(self) -> str:
        """The count in a sentence."""
        return (
            f"{self.fitted} numbers count as fitted: {self.effective:.1f} effective parameters of the calibration, which moved {len(self.moved)} constants and inputs "
            f"within the ranges of their sources, and {len(self.chosen)} values that were chosen after an outcome had been seen. They face {len(self.informative)} claims that can "
            "fail; rules, the arithmetic of the wire and ratios of other claims are not counted."
        )


def count_fitted() -> FittedCount:
    """Count the fitted numbers, and the claims that can fail.

    An input that several scenarios have under the same key with the same value is one choice. A claim can fail when it is of kind scale,
    ratio or direction and is not computed from other expectations: rules and the arithmetic of a wire hold by
    construction, and a ratio of two claimed thresholds adds nothing to them. Known reds are included.
    """
    fit = json.loads((data_root() / "calibration" / "fit.json").read_text(encoding="utf-8"))
    moved = tuple(entry["name"] for entry in fit["numbers"] if abs(entry["moved"]) >= LEAST_MOVED)
    shipped, inputs = {constant.name for constant in shipped_constants()}, _inputs()
    choices: dict[tuple[str, Scalar], str] = {}
    for name in read_fitted_inputs():
        entry = None if name in shipped else inputs.get(name)
        choices.setdefault((name.rpartition(".")[2], entry.written(entry.value)) if entry else (name, ""), name)
    return FittedCount(fit["effective"], moved, tuple(choices.values()), _informative())


def read_fitted_inputs(file: Path | None = None) -> Mapping[str, FittedInput]:
    """Read a file of numbers that were chosen with a known verdict; the shipped file by default.

    Raises:
        InputError: carries every fault with its line.
    """
    file = file or data_root() / "calibration" / "fitted-inputs.yaml"
    tree = Tree.of(file, display_name(file))
    inputs, faults = validate(_FittedInputs, tree)
    if inputs is None or faults:
        raise InputError(faults)
    all_names = [*(constant.name for constant in shipped_constants()), *_inputs(), *_switches(), *_defaults()]
    for part, names in (("fitted", inputs.fitted), ("fixed", inputs.fixed)):
        for name in names:
            if name not in all_names:
                allowed = "a constant, an input of a scenario or a setting of a platform"
                faults.append(tree.fault((part, name), "is not known", allowed, nearest_name(name, all_names)))
    for name, entry in inputs.fitted.items():
        for index, claim in enumerate(entry.claims):
            if claim not in claims():
                nearest = nearest_name(claim, list(claims()))
                faults.append(
                    tree.fault(("fitted", name, "claims", index), "unknown claim", "an id of claims.csv", nearest)
                )
    if faults:
        raise InputError(faults)
    return inputs.fitted


@functools.cache
def _scenarios() -> Mapping[str, Scenario]:
    """The shipped scenarios by name. Loading them takes a second."""
    return {name: load(name) for name in shipped()}


@functools.cache
def _inputs() -> Mapping[str, Constant]:
    """Every input of the shipped scenarios by its name."""
    by_scenario = {name: scenario_inputs(scenario) for name, scenario in _scenarios().items()}
    return {f"{name}.{path}": constant for name, inputs in by_scenario.items() for path, constant in inputs.items()}


def _switches() -> list[str]:
    """Names of boolean assumed inputs of shipped scenarios, which no study or calibration varies."""
    return [
        f"{name}.{assumption.path}"
        for name, scenario in _scenarios().items()
        for assumption in scenario.assumptions
        if isinstance(assumption.value, bool)
    ]


def _defaults() -> list[str]:
    """Names of the settings for which a shipped platform has a default."""
    trees = {name: Tree.of(file, display_name(file)) for name, file in shipped_parts("platforms").items()}
    return [
        f"{name}.{section}.{setting}"
        for name, tree in trees.items()
        for section in ("advanced", "kernel", "vmx")
        for setting in tree.get((section,)) or ()
    ]


def _informative() -> tuple[str, ...]:
    """Claims of shipped scenarios whose kind can fail and that are not computed from other expectations."""
    forms = {
        entry.name: entry.form
        for scenario in _scenarios().values()
        for entry in scenario.expectations
        if entry.is_claim
    }
    return tuple(
        claim.id
        for claim in claims().values()
        if claim.kind in INFORMATIVE and claim.id in forms
        if not (isinstance(form := forms[claim.id], Ratio) and isinstance(form.of, str))
    )
