"""Results that later ones are held against: of the same scenario, at the same fidelity, from the same seed."""

from __future__ import annotations

from pathlib import Path

from hostsim.errors import Fault, InputError
from hostsim.report.folder import read
from hostsim.report.results import Results

__all__ = ["earlier"]


def earlier(before: Results | str | Path, scenario: str, *, quick: bool, seed: int) -> Results:
    """The earlier results of a scenario, once they are known to be such that runs can be paired with theirs.

    Args:
        before: the results, a folder that `hostsim run` wrote, or one with such folders by scenario.
        scenario: name of the scenario that is held against them.
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
