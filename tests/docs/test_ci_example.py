"""The workflow of the page about CI: its steps in order, in a repository with only the files that it names."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hostsim_docs.session import EXAMPLES, run_session

from hostsim.scenario.cost_model import shipped_constants


def steps() -> list[dict[str, Any]]:
    (job,) = yaml.safe_load((EXAMPLES / "ci.yaml").read_text(encoding="utf-8"))["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The scenario, its server, and trusted results of the shipped platform."""
    for name in ("receiver.yaml", "my-server.yaml"):
        shutil.copyfile(EXAMPLES / name, tmp_path / name)  # without the mode of a read-only checkout
    [done] = run_session(["hostsim run receiver.yaml --quick -o trusted"], tmp_path)
    assert done.status == 0
    shutil.rmtree(tmp_path / "results")  # which is not committed
    return tmp_path


def statuses(repository: Path) -> list[int]:
    """Exit statuses of the hostsim steps."""
    commands = [step["run"] for step in steps() if step.get("run", "").startswith("hostsim ")]
    return [done.status for done in run_session(commands, repository)]


def test_the_job_is_green_on_its_first_day_and_on_the_next(repository: Path) -> None:
    """It also is if the cache has the runs; an unchanged cost is not a change."""
    assert statuses(repository) == [0, 0, 0]
    assert statuses(repository) == [0, 0, 0]
    own_platform(repository, "driver_rx", 1.0)
    assert statuses(repository) == [0, 0, 0]


@pytest.mark.parametrize("cost", ["guest_rx_packet", "driver_rx"])
def test_the_job_sees_one_percent_in_a_cost_that_no_claim_sees(repository: Path, cost: str) -> None:
    """The claims pass, the curves moved, and the cache is pruned anyway."""
    own_platform(repository, cost, 1.01)
    assert statuses(repository) == [0, 1, 0]


def own_platform(repository: Path, cost: str, factor: float) -> None:
    """Give the scenario its own platform with another cost."""
    [cycles] = [constant.value for constant in shipped_constants() if constant.name == f"esxi.costs.{cost}"]
    changed = f"{{cycles: {round(factor * cycles)}, source: measured again}}"
    text = f"platform: ours\nextends: esxi-5.5\ncosts: {{{cost}: {changed}}}\n"
    (repository / "ours.yaml").write_text(text, encoding="utf-8")
    file = repository / "receiver.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("platform: esxi-5.5", "platform: ./ours.yaml"), encoding="utf-8")


def test_what_the_job_installs_was_checked_out() -> None:
    """By an earlier step."""
    [(place, step)] = [(place, one) for place, one in enumerate(steps()) if "pip install" in one.get("run", "")]
    before = [one.get("with", {}).get("path") for one in steps()[:place] if "actions/checkout" in one.get("uses", "")]
    assert step["run"].removeprefix("pip install ./") in before
