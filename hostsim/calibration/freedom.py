"""Degrees of freedom: the numbers that count as fitted, and the claims that are left to test the model with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from hostsim.analysis.constant import Constant
from hostsim.analysis.cost_model import scenario_inputs, shipped_constants
from hostsim.calibration.assumption import flipping, shipped_studies
from hostsim.errors import InputError, nearest_name
from hostsim.expect import Ratio
from hostsim.files import display_name
from hostsim.record import Scalar
from hostsim.scenario.load import load
from hostsim.scenario.shipped_data import claims, data_root, shipped, shipped_parts
from hostsim.scenario.yaml.source_tree import Tree
from hostsim.scenario.yaml.validation import validate
from hostsim.spec.base import Spec

__all__ = ["INFORMATIVE", "FittedCount", "FittedInput", "count_fitted", "read_fitted_inputs"]

INFORMATIVE = ("scale", "ratio", "direction")
"""Kinds of claims that can fail for another reason than arithmetic of the wire or a rule that is coded as it was published."""


class FittedInput(Spec):
    """An assumed constant or input that is known to count as fitted."""

    claims: tuple[str, ...] = Field(min_length=1)
    """Ids of the claims whose verdict it is."""
    how: Literal["moved", "chosen"]
    """``moved``: an end of its range flips the verdict. ``chosen``: its value was chosen after the verdict had been seen."""
    evidence: str = Field(min_length=1)
    """What was seen, and where that is written."""


class _FittedInputs(Spec):
    """The file of them."""

    fitted: Mapping[str, FittedInput]
    """By name: the file and the path in it."""


@dataclass(frozen=True)
class FittedCount:
    """Count of the numbers that claims may have come out by, and of the claims that could tell."""

    constants: tuple[str, ...]
    """Names of constants of platforms, servers, peers and guests."""
    inputs: tuple[str, ...]
    """Names of inputs of scenarios; one name for each choice."""
    informative: tuple[str, ...]
    """Ids of the claims that could fail."""
    chosen: int = 0
    """Of the constants and inputs those that a calibration moved, or that were chosen after a verdict had been seen; the others have stated values."""

    @property
    def fitted(self) -> int:
        """Numbers that count as fitted."""
        return len(self.constants) + len(self.inputs)

    @property
    def freedom(self) -> int:
        """Claims with a freedom left: each fitted number can bring one claim into its band."""
        return len(self.informative) - self.fitted

    @property
    def sentence(self) -> str:
        """The count in a sentence."""
        left = f"{self.freedom} have" if self.freedom > 0 else "none has"
        return (
            f"{self.fitted} numbers count as fitted, {len(self.constants)} constants and {len(self.inputs)} inputs: {self.chosen} were chosen, "
            f"and {self.fitted - self.chosen} have stated values and an end of their range at which a verdict flips. "
            f"Of the {len(self.informative)} claims that could fail, {left} a freedom left."
        )


def count_fitted() -> FittedCount:
    """Count what is fitted, and the claims with a freedom left.

    A number counts as fitted when a calibration moves it (its prior stands beside it), when moving it to an end of its range flips a verdict
    in a shipped study, or when ``fitted-inputs.yaml`` lists it. An input that several scenarios have under the same key with the same value is one choice.

    A claim is informative when it is of kind scale, ratio or direction and is not computed from other expectations: a rule, the
    arithmetic of a wire and a ratio of two thresholds that are claims themselves add nothing that could fail. Known reds are among
    them, as they did fail. The freedom left is their number less that of the fitted numbers, so that it does not grow by claims that
    follow from others, by rows for rules, or by a number that is written in two files.
    """
    known = {constant.name: constant for constant in shipped_constants()}
    inputs = _inputs()
    listed = read_fitted_inputs()
    chosen = [
        *(name for name, one in {**known, **inputs}.items() if one.is_calibrated),
        *(name for name, entry in listed.items() if entry.how == "chosen"),
    ]
    names = [*chosen, *flipping(shipped_studies()), *listed]
    constants = tuple(dict.fromkeys(name for name in names if name in known))
    choices: dict[tuple[str, Scalar], str] = {}
    for name in names:
        if name not in known:
            one = inputs.get(name)
            choices.setdefault((name.rpartition(".")[2], one.written(one.value) if one else name), name)
    fitted = (*constants, *choices.values())
    return FittedCount(constants, tuple(choices.values()), _informative(), len({*chosen} & {*fitted}))


def read_fitted_inputs(file: Path | None = None) -> Mapping[str, FittedInput]:
    """Read a file of inputs that are known to count as fitted; the shipped one by default.

    Raises:
        InputError: carries every fault with its line.
    """
    file = file or data_root() / "calibration" / "fitted-inputs.yaml"
    tree = Tree.of(file, display_name(file))
    found, faults = validate(_FittedInputs, tree)
    if found is None or faults:
        raise InputError(faults)
    known = [*(constant.name for constant in shipped_constants()), *_inputs(), *_defaults()]
    for name, entry in found.fitted.items():
        if name not in known:
            allowed = "a constant, an input of a scenario or a setting of a platform"
            faults.append(tree.fault(("fitted", name), "is not known", allowed, nearest_name(name, known)))
        for place, claim in enumerate(entry.claims):
            if claim not in claims():
                nearest = nearest_name(claim, list(claims()))
                faults.append(
                    tree.fault(("fitted", name, "claims", place), "unknown claim", "an id of claims.csv", nearest)
                )
    if faults:
        raise InputError(faults)
    return found.fitted


def _inputs() -> dict[str, Constant]:
    """Every input of the shipped scenarios by its name."""
    return {f"{name}.{path}": constant for name in shipped() for path, constant in scenario_inputs(load(name)).items()}


def _defaults() -> list[str]:
    """Names of the settings that shipped platforms give a default."""
    trees = {name: Tree.of(file, display_name(file)) for name, file in shipped_parts("platforms").items()}
    return [
        f"{name}.{section}.{setting}"
        for name, tree in trees.items()
        for section in ("advanced", "kernel", "vmx")
        for setting in tree.get((section,)) or ()
    ]


def _informative() -> tuple[str, ...]:
    """Claims that shipped scenarios expect, of a kind that can fail, and not computed from other expectations."""
    forms = {entry.name: entry.form for name in shipped() for entry in load(name).expectations if entry.is_claim}
    return tuple(
        claim.id
        for claim in claims().values()
        if claim.kind in INFORMATIVE and claim.id in forms
        if not (isinstance(form := forms[claim.id], Ratio) and isinstance(form.of, str))
    )
