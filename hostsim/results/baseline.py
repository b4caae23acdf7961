"""Baseline of a comparison: earlier results of the same scenario, fidelity and seed."""

from __future__ import annotations

from pathlib import Path

from hostsim.errors import Fault, InputError
from hostsim.results.folder import read
from hostsim.results.results import Results

__all__ = ["read_baseline"]


def read_baseline(
    before: Results | str | Path, scenario: str, *, quick: bool, seed: int, ensemble: str = ""
) -> Results:
    """Read the baseline of a scenario and check that runs can be paired with it.

    Args:
        before: the results, a folder that `hostsim run` wrote, or one with such folders by scenario.
        scenario: name of the scenario to compare.
        quick: its fidelity.
        seed: its root seed.
        ensemble: words of the ensemble that it is run with (`hostsim.pipeline.ensemble_words`); empty for none.

    Raises:
        InputError: they are of another scenario, seed, fidelity or ensemble.
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
            (
                "ensemble",
                *(told.rpartition(" ")[2] or "none" for told in (found.provenance.get("ensemble", ""), ensemble)),
            ),
        )
        if then != now
    ]
    if faults:
        raise InputError(faults)
    return found
