"""Ensemble of the priors: hosts drawn from the sources of the constants and inputs alone, before any claim is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hostsim.calibration.design import Design, Subjects
from hostsim.calibration.ensemble import Ensemble, write_ensemble
from hostsim.calibration.prior import priors_of
from hostsim.errors import InputError
from hostsim.interim_analysis import make_plan
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.selection import select
from hostsim.scenario.shipped_data import predictions, shipped_ensemble

__all__ = ["draw_from_priors", "write_prior_ensemble"]

MEMBERS = 50
ABOUT = (
    "Ensemble of hosts: a row a member, a column a constant or an input, in their units.",
    "These members are independent draws from the priors, which are the sources and the assumed ranges by themselves: they know no claim yet.",
    "The joint calibration puts draws from the posterior in their place.",
)


def draw_from_priors(subjects: Subjects, count: int, seed: int = 1) -> list[dict[str, float]]:
    """Draw hosts from the priors, independently of each other; one that a scenario cannot be is drawn again.

    Args:
        subjects: scenarios with the names of their expectations.
        count: of the hosts.
        seed: of the draws.
    """
    design, random = Design(priors_of(subjects)), np.random.default_rng(seed)
    found: list[dict[str, float]] = []
    while len(found) < count:
        values = design.values(random.random(len(design.priors)))
        if _can_be([scenario for scenario, _ in subjects], Ensemble((values,))):
            found.append(values)
    return found


def _can_be(scenarios: Sequence[Scenario], ensemble: Ensemble) -> bool:
    """True when every point of some scenarios can be the host of the first member."""
    try:
        for scenario in scenarios:
            make_plan(scenario, Fidelity(replications=1, ensemble=ensemble))
    except InputError:
        return False
    return True


def write_prior_ensemble(file: Path | None = None) -> None:
    """Write the ensemble of the priors behind all shipped claims and predictions; in the place of the shipped one by default."""
    members = draw_from_priors([*select(), *select(among=predictions())], MEMBERS)
    write_ensemble(file or shipped_ensemble(), dict(enumerate(members)), ABOUT)
