"""Baseline of a comparison: earlier results of the same scenario, fidelity and seed."""

from __future__ import annotations

from pathlib import Path

from hostsim.errors import Fault, InputError
from hostsim.results.folder import read
from hostsim.results.results import Results

__all__ = ["read_baseline"]


def read_baseline(before: Results | str | Path, scenario: str, *, quick: bool, seed: int) -> Results:
    """Read the baseline of a scenario and check that runs can be paired with it.

    Args:
        before: the results, a folder that `hostsim run` wrote, or one with such folders by scenario.
        scenario: name of the scenario to compare.
        quick: its fidelity.
        seed: its root seed.

    Raises:
        InputError: they are of another scenario, seed or fidelity.
        StoreError: there are none.
    """
    if isinstance(before, Results):
        found, place = before, ""
    else:
        folder, place = Path(before) / scenario, str(before)
        found = read(folder if folder.is_dir() else Path(before))
    faults = [
        Fault(f"the earlier run has another {name}", "--against" if place else "", then, now, file=place)
        for name, then, now in (
            ("scenario", found.scenario, scenario),
            ("fidelity", "quick" if found.quick else "full", "quick" if quick else "full"),
            ("seed", str(found.provenance["seed"]), str(seed)),
        )
        if then != now
    ]
    if faults:
        raise InputError(faults)
    return found
