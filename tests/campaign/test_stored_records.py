"""Records of a plan: in the store, and nowhere else for longer than somebody looks at them."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import Bisection, plan, point, simulate, tasks, toy_record

from hostsim.campaign import stored_records
from hostsim.campaign.driver import Outcome, run_together, stored_outcome
from hostsim.campaign.store import RunKey, Store
from hostsim.campaign.stored_records import CondensedRecords, SavedRecords, SavedRun
from hostsim.engine.record import RunRecord
from hostsim.errors import StoreError
from hostsim.scenario.plan import Plan
from tests.single_plan import run_all


class CountingStore(Store):
    """A store that notes what is read from it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.read: list[RunKey] = []

    def get(self, key: RunKey) -> RunRecord | None:
        record = super().get(key)
        self.read += [key] * (record is not None)
        return record


def run(sweep: Plan, store: Store) -> Outcome:
    return run_all(sweep, store, jobs=1, simulate=simulate)


def test_each_record_is_observed_once_with_the_axes_of_the_plan(tmp_path: Path) -> None:
    """As it ends, or as it is found; none is read back that has just been run, and a stored one once."""
    store, work = CountingStore(tmp_path), tasks([point(n=n) for n in range(3)])
    for read in (0, len(work)):
        seen: list[RunRecord] = []
        run_together(
            [plan(work)], store, jobs=1, observe=lambda _plan, record, to=seen: to.append(record), simulate=simulate
        )
        assert [record.axes for record in seen] == [task.point.axes for task in work]
        assert len(store.read) == read


def test_what_is_known_without_a_record_is_not_read_for(tmp_path: Path) -> None:
    """Axes, wall-clock time, whether it is there; a run that has gone from the store is an error when it is looked up."""
    outcome = run(plan(tasks([point(n=1)], 1)), Store(tmp_path))
    for file in tmp_path.rglob("*.parquet"):
        file.unlink()
    [key] = outcome.records
    assert key in outcome.records
    assert ("another", 0) not in outcome.records
    assert outcome.records.axes(key) == {"n": 1}
    assert outcome.records.wall_s(key) > 0
    with pytest.raises(StoreError, match="is gone"):
        outcome.records[key]


def test_a_saved_point_whose_id_has_a_number_has_the_run_of_what_it_simulates(tmp_path: Path) -> None:
    """Or, in results of earlier versions, a run of its own."""
    plain = "ab" * 16
    saved = SavedRun(f"{plain}-2", 0, 1, {"n": 2}, ("has no effect",), "")
    for folder, stored in (("today", plain), ("earlier", saved.point)):
        Store(tmp_path / folder).put(toy_record(1, 0, point_id=stored))
        record = SavedRecords(Store(tmp_path / folder), [saved], "hostsim run")[saved.point, 0]
        assert (record.point_id, record.axes, record.flags) == (saved.point, {"n": 2}, ("has no effect",))


def test_records_of_two_plans_are_one_mapping(tmp_path: Path) -> None:
    """Those of the other first; of a run that both have, this plan's axes count."""
    mine, same = point(n=1), point(n=2)
    renamed = type(same)(same.id, {"m": 2}, same.spec, ())
    store = Store(tmp_path)
    here = run(plan(tasks([mine, same], 1)), store).records
    there = run(plan(tasks([renamed, point(n=3)], 1)), store).records
    assert [dict(record.axes) for record in here.after(there).values()] == [{"n": 2}, {"n": 3}, {"n": 1}]


def test_an_outcome_of_stored_runs_needs_all_of_them(tmp_path: Path) -> None:
    """Those that searches ask for included; nothing is run."""
    store, sweep = Store(tmp_path), plan(tasks([point(n=7)]), [Bisection(9e9)])
    run(plan(sweep.tasks), store)
    assert stored_outcome(sweep, store) is None
    done = run(sweep, store)
    found = stored_outcome(sweep, store)
    assert found is not None
    assert (found.answers, list(found.records)) == (done.answers, list(done.records))


def test_a_search_reads_again_what_was_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest few are in memory; the answer is the same when there is room for one only."""
    sweep = plan(tasks([point(n=7)]), [Bisection(9e9)])
    answers = run(sweep, Store(tmp_path / "roomy")).answers
    monkeypatch.setattr(stored_records, "_KEPT", 1)
    narrow = CountingStore(tmp_path / "narrow")
    assert run(sweep, narrow).answers == answers
    assert len(narrow.read) > len(set(narrow.read)) > 2
    kept = CondensedRecords(narrow)
    for one in sweep.tasks:
        kept.add(one)
    assert kept[sweep.tasks[0].key] is kept[sweep.tasks[0].key]
