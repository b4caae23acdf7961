"""The shipped calibration: all published claims that can fail and do not follow from others, with the priors of everything behind them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from hostsim.lab.calibration.design import Design
from hostsim.lab.calibration.fixed_point import FixedPoints
from hostsim.lab.calibration.freedom import count_fitted
from hostsim.lab.calibration.joint import Joint
from hostsim.lab.calibration.observation import observations_of
from hostsim.lab.calibration.prior import priors_of
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.selection import select
from hostsim.scenario.shipped_data import claims

__all__ = ["shipped_joint"]


def shipped_joint(folder: Path, seed: int = 1, *, experiments: Collection[str] = ()) -> tuple[Joint, list[Scenario]]:
    """Prepare the joint calibration against the published claims: nothing is run.

    Args:
        folder: for everything that is run and found.
        seed: root seed.
        experiments: names of those whose claims it is to; all by default.

    Returns:
        The calibration, and the scenarios of the claims.
    """
    selected = select(*count_fitted().informative)
    entries = [
        (claims()[entry.name].experiment, entry)
        for scenario, names in selected
        for entry in scenario.expectations
        if entry.name in names and (not experiments or claims()[entry.name].experiment in experiments)
    ]
    observations = observations_of(entries)
    observed = {one.name for one in observations}
    subjects = [(scenario, names & observed) for scenario, names in selected if names & observed]
    hosts = tuple(FixedPoints(scenario, names) for scenario, names in subjects)
    return Joint(Design(priors_of(subjects), seed), hosts, tuple(observations), folder), [
        scenario for scenario, _ in subjects
    ]
