"""Ensemble of the priors: hosts drawn from the priors of constants and inputs, before any claim is used."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hostsim.campaign.ensemble import Ensemble
from hostsim.campaign.interim_analysis import make_plan
from hostsim.errors import InputError
from hostsim.lab.calibration.design import Design, Subjects
from hostsim.lab.calibration.prior import priors_of
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.scenario import Scenario

__all__ = ["can_be", "draw_from_priors"]


def draw_from_priors(subjects: Subjects, count: int, seed: int = 1) -> list[dict[str, float]]:
    """Draw independent hosts from the priors; an impossible host is drawn again.

    Args:
        subjects: scenarios with the names of their expectations.
        count: of the hosts.
        seed: of the draws.
    """
    design, random = Design(priors_of(subjects)), np.random.default_rng(seed)
    found: list[dict[str, float]] = []
    while len(found) < count:
        values = design.values(random.random(len(design.priors)))
        if can_be([scenario for scenario, _ in subjects], Ensemble((values,))):
            found.append(values)
    return found


def can_be(scenarios: Sequence[Scenario], ensemble: Ensemble) -> bool:
    """True if every point of some scenarios is possible on the first member."""
    try:
        for scenario in scenarios:
            make_plan(scenario, Fidelity(replications=1, ensemble=ensemble))
    except InputError:
        return False
    return True
