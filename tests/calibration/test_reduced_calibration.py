"""The joint calibration to published claims, reduced to two experiments and two dozen hosts: every step of it by real runs."""

from __future__ import annotations

import numpy as np
import pytest

from hostsim.campaign.pipeline import ExecutionOptions
from hostsim.campaign.store import Store
from hostsim.lab.calibration.joint import Joint, Waves
from hostsim.lab.calibration.shipped_claims import shipped_joint
from hostsim.lab.calibration.summary import summarize
from hostsim.scenario.shipped_data import claims

EXPERIMENTS = ("directpath", "latency")
WAVES = Waves(16, (8,))


@pytest.fixture(scope="module")
def joint(tmp_path_factory: pytest.TempPathFactory) -> Joint:
    """A calibration that was stopped by its budget after some hosts, and went on."""
    folder = tmp_path_factory.mktemp("calibration")
    execution = ExecutionOptions(Store(folder / "runs"), jobs=2)
    found, _ = shipped_joint(folder, experiments=EXPERIMENTS)
    assert not found.run(WAVES, execution, budget_s=1.0)
    begun = (folder / "log.csv").read_text()
    assert 2 <= len(begun.splitlines()) < WAVES.first
    assert found.run(WAVES, execution)
    assert (folder / "log.csv").read_text().startswith(begun)
    return found


def distances(joint: Joint, numbers: list[int]) -> np.ndarray:
    """By claim: the median distance of some hosts from what was published, in half-widths of the band."""
    members = joint.evaluated()
    return np.array(
        [np.nanmedian([abs(one.distance(members[n].claims[one.name])) for n in numbers]) for one in joint.observations]
    )


def test_the_hosts_that_chains_draw_agree_better_than_the_prior(joint: Joint) -> None:
    """On the whole; the last wave is the ensemble, and all of it was run."""
    numbers = list(joint.last_wave())
    assert numbers == list(range(1000, 1008))
    before, after = (np.minimum(distances(joint, each), 5) for each in (list(range(WAVES.first)), numbers))
    assert after.sum() < 0.9 * before.sum()


def test_every_member_lies_within_the_priors(joint: Joint) -> None:
    """And those that no claim tells anything about differ from member to member."""
    ensemble = list(joint.ensemble().values())
    for prior in joint.design.priors:
        drawn = [member[prior.name] for member in ensemble]
        assert prior.low <= min(drawn)
        assert max(drawn) <= prior.high
        assert prior.is_whole or prior.words or len(set(drawn)) == len(drawn), prior.name


def test_each_experiment_is_predicted_by_the_other(joint: Joint) -> None:
    """With an interval for every claim, narrower than the prior's where the other tells something, and never without a width."""
    summary = summarize(joint, chains=60)
    asked = {one.name: one.experiment for one in joint.observations}
    assert {one.name: one.experiment for one in summary.left_out} == asked
    assert set(asked.values()) == set(EXPERIMENTS)
    assert all(one.low < one.median < one.high for one in summary.left_out)
    assert {claims()[name].kind for name in asked} <= {"scale", "ratio", "direction"}
    assert np.median([one.kept for one in summary.learnt]) == pytest.approx(1.0, abs=0.1)
