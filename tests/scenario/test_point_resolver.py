"""Resolving points: each once from loading to the table, and none confused with another."""

from __future__ import annotations

from pathlib import Path

import pytest

import hostsim
from hostsim.campaign.what_if import sides
from hostsim.errors import InputError
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.planner import make_plan
from hostsim.scenario.resolve import Resolver
from tests.scenario.small_scenario import changed, load_text
from tests.tiny_scenario import TINY

FILE = 1
"""Resolutions of the file as written, in addition to those of its points."""


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Requests of every resolution from here on: values at paths."""
    asked: list[object] = []
    resolve = Resolver.resolve

    def counted(self, changes, length_ps):
        changes = list(changes)
        asked.append(tuple((path, repr(value)) for path, value, _ in changes))
        return resolve(self, changes, length_ps)

    monkeypatch.setattr(Resolver, "resolve", counted)
    return asked


def test_a_sweep_resolves_each_point_once(tmp_path: Path, resolved: list[object]) -> None:
    """A scenario is loaded, and planned at both fidelities and for expectations: each point is resolved once."""
    (tmp_path / "small.yaml").write_text(changed())
    scenario = load(tmp_path / "small.yaml", axes={"receivers": "1..50"})
    for fidelity in (Fidelity(), Fidelity(quick=True)):
        assert len(make_plan(scenario, fidelity).swept) == 100
        make_plan(scenario, fidelity, sweep=False)
    assert len(resolved) == 100 + FILE


def test_a_run_resolves_each_point_once_up_to_the_table(tmp_path: Path, resolved: list[object]) -> None:
    """This includes points of searches, and points that table and verdicts request again."""
    (tmp_path / "tiny.yaml").write_text(TINY)
    scenario = hostsim.load(tmp_path / "tiny.yaml")
    results = hostsim.run(scenario, quick=True, jobs=1, results=tmp_path, expectations=True)
    assert [verdict.expectation.name for verdict in results.verdicts] == ["nothing lost", "room", "room ratio"]
    assert results.table["point"].nunique() == 4
    hostsim.run(scenario, quick=True, jobs=1, results=tmp_path)
    hostsim.check(scenario, quick=True, jobs=1, results=tmp_path)
    searched = 1  # three receivers, which are not in the sweep
    assert len(resolved) == 4 + searched + FILE
    assert len(set(resolved)) == len(resolved)


def test_what_if_reads_the_side_before_once(tmp_path: Path, resolved: list[object]) -> None:
    """It is loaded to find the varied values, and is itself a side if no axis changes."""
    (tmp_path / "tiny.yaml").write_text(TINY)
    sides(tmp_path / "tiny.yaml", {"traffic.stream.packet_size": "300 B"})
    assert len(resolved) == 2 * (4 + 1 + FILE)  # one of the search, which probes three receivers


def test_a_point_of_another_length_is_the_one_that_a_file_of_that_length_makes(tmp_path: Path) -> None:
    """A quick run differs from a full one only in its length: same spec, same id."""
    quick = make_plan(load_text(tmp_path), Fidelity(quick=True), expectations=False)
    short = make_plan(load_text(tmp_path, overrides={"run.length": "500 ms"}), Fidelity(), expectations=False)
    assert quick.swept == short.swept


def test_values_that_are_equal_in_python_are_two_points(tmp_path: Path) -> None:
    """A Boolean in place of a number is distinguished from the equal number."""
    with pytest.raises(InputError) as error:
        load_text(tmp_path, ("values: [1, 2]", "values: [1, true]"))
    assert [(fault.path, fault.given) for fault in error.value.faults] == [("vms.receiver.count", "true")]
