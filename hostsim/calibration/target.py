"""Calibration targets: groups of constants with starting values, and the claims that they are fitted to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import Field

from hostsim.errors import Fault, InputError, nearest_name
from hostsim.files import display_name
from hostsim.scenario.shipped_data import claims, data_root
from hostsim.scenario.yaml.source_tree import Tree
from hostsim.scenario.yaml.validation import validate
from hostsim.spec.base import Spec

__all__ = ["Calibration", "Group", "Start", "read_calibration"]


class Start(Spec):
    """Starting value of a constant."""

    start: float = Field(gt=0)
    """In the constant's unit; the prior pulls towards it."""
    source: str = Field(min_length=1)
    """Why there."""


class Group(Spec):
    """Group of constants that are fitted together."""

    constants: Mapping[str, Start] = Field(min_length=1)
    """By name, as the cost model's page lists them."""
    claims: tuple[str, ...] = Field(min_length=1)
    """Ids of the claims whose residuals are made small."""


class Calibration(Spec):
    """Calibration file: the prior and the groups in their order."""

    prior: float = Field(gt=1)
    """A constant this many times its start, or this part of it, costs as much as a claim at an end of its band."""
    groups: Mapping[str, Group] = Field(min_length=1)
    """In the order in which they are fitted; each holds what those before it have found."""


def read_calibration(file: Path | None = None) -> Calibration:
    """Read a calibration file; the shipped one by default.

    Raises:
        InputError: carries every fault with its line.
    """
    file = file or data_root() / "calibration" / "groups.yaml"
    tree = Tree.of(file, display_name(file))
    found, faults = validate(Calibration, tree)
    if found is None or faults:
        raise InputError(faults)
    faults = list(_faults(found, tree))
    if faults:
        raise InputError(faults)
    return found


def _faults(calibration: Calibration, tree: Tree) -> Iterator[Fault]:
    fitted: dict[str, str] = {}
    for name, group in calibration.groups.items():
        for place, claim in enumerate(group.claims):
            if claim not in claims():
                nearest = nearest_name(claim, list(claims()))
                yield tree.fault(("groups", name, "claims", place), "unknown claim", "an id of claims.csv", nearest)
        for constant in group.constants:
            if ".generations." in constant:
                allowed = (
                    "a source, or an assumption with its range: a fit cannot tell a processor from what runs on it"
                )
                yield tree.fault(("groups", name, "constants", constant), "is never fitted", allowed)
            if constant in fitted:
                yield tree.fault(
                    ("groups", name, "constants", constant), f"is fitted in group {fitted[constant]}", "one group each"
                )
            fitted[constant] = name
