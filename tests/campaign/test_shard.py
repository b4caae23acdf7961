"""Shards of a campaign: assigned equally by every job, run separately, and merged to the runs of one job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from toy_runs import Bisection, plan, point, simulate, tasks, toy_record

from hostsim.campaign.shard import Shard, deal, merge, read_shard
from hostsim.campaign.store import Store
from hostsim.errors import InputError
from hostsim.scenario.plan import Plan, Search, Task
from tests.single_plan import run_all


def points(*efforts: int) -> list[Task]:
    """One run of each of some points, with a given effort."""
    return list(tasks([replace(point(n=n), effort=effort) for n, effort in enumerate(efforts)], replications=1))


class Counted(Bisection):
    """A toy search with a known largest number of runs."""

    def most(self) -> int:
        return 5 * self.replications


def all_shards(whole: Plan, count: int) -> list[Plan]:
    return [deal([whole], Shard(number, count))[0] for number in range(1, count + 1)]


def test_every_run_and_every_search_is_in_one_shard() -> None:
    """For any number of shards, even more than runs."""
    searches: list[Search] = [Counted(5.0, "a"), Counted(9.0, "b")]
    whole = plan(points(5, 1, 1, 9, 1), searches)
    for count in (1, 2, 3, 20):
        shards = all_shards(whole, count)
        assert sorted(task.key for shard in shards for task in shard.tasks) == sorted(task.key for task in whole.tasks)
        assert sorted(search.name for shard in shards for search in shard.searches) == ["a", "b"]


def test_shards_have_about_equal_work() -> None:
    """The largest runs are assigned first: 9 against 5 + 3 + 1."""
    first, second = all_shards(plan(points(5, 1, 3, 9)), 2)
    assert [task.point.effort for task in first.tasks] == [9]
    assert [task.point.effort for task in second.tasks] == [5, 1, 3]


def test_plans_share_the_load() -> None:
    """A second plan's only run goes to the shard that the first plan has left free."""
    plans = [plan(points(4)), plan(points(3))]
    assert [len(part.tasks) for part in deal(plans, Shard(1, 2))] == [1, 0]
    assert [len(part.tasks) for part in deal(plans, Shard(2, 2))] == [0, 1]


def test_a_search_stays_with_the_runs_that_it_asks_for_at_first() -> None:
    """Otherwise two shards would make them."""
    search = Counted(5.0)
    work = [*points(1, 1), *search.wants({})]
    for shard in all_shards(plan(work, [search]), 3):
        wanted = {task.key for task in search.wants({})}
        held = wanted & {task.key for task in shard.tasks}
        assert held == (wanted if shard.searches else set())


def test_merged_shards_are_what_one_job_stores(tmp_path: Path) -> None:
    """The whole plan then finds every run there, including those of searches."""
    whole = plan(points(5, 1, 3), [Counted(5.0)])
    for number, part in enumerate(all_shards(whole, 2)):
        run_all(part, Store(tmp_path / str(number)), jobs=1, simulate=simulate)
    counts = merge([tmp_path / "0", tmp_path / "1"], tmp_path / "all")
    assert sum(count.added for count in counts) == len(list(Store(tmp_path / "all").runs()))
    outcome = run_all(whole, Store(tmp_path / "all"), jobs=1, simulate=simulate)
    assert outcome.ran == 0
    assert outcome.answers == run_all(whole, Store(tmp_path / "one"), jobs=1, simulate=simulate).answers


def test_a_finished_run_takes_the_place_of_a_failed_one(tmp_path: Path) -> None:
    """A failed run never replaces a finished one, for any order of merged folders."""
    bad, good = toy_record(1, 0, error="boom"), toy_record(1, 0)
    for folder, record in (("bad", bad), ("good", good)):
        Store(tmp_path / folder).put(record)
    for order in (("bad", "good"), ("good", "bad")):
        target = tmp_path / "-".join(order)
        counts = merge([tmp_path / folder for folder in order], target)
        kept = Store(target).get(("ab" * 16, 0, 1))
        assert kept is not None
        assert kept.error is None
        assert sum(count.failed for count in counts) == 1


def test_two_records_of_a_run_that_differ_are_an_error(tmp_path: Path) -> None:
    """Wall-clock time and the axes of the requesting point may differ; a counter may not, and then the target keeps its record."""
    one = toy_record(1, 0)
    slower = replace(one, facts={**one.facts, "wall_s": 9.0}, axes={"label": "of an equal host"})
    other = replace(one, facts={**one.facts, "events": 18})
    for folder, record in (("one", one), ("slower", slower), ("other", other)):
        Store(tmp_path / folder).put(record)
    [_, again] = merge([tmp_path / "one", tmp_path / "slower"], tmp_path / "all")
    assert (again.added, again.there) == (0, 1)
    with pytest.raises(InputError, match="has a different record of a run"):
        merge([tmp_path / "other"], tmp_path / "all")
    kept = Store(tmp_path / "all").get(("ab" * 16, 0, 1))
    assert kept is not None
    assert kept.facts["events"] == 17


def test_a_torn_file_is_counted_and_not_taken(tmp_path: Path) -> None:
    """The other runs of its folder are merged."""
    store = Store(tmp_path / "a")
    store.put(toy_record(1, 0))
    store.put(toy_record(1, 1))
    store.path(("ab" * 16, 0, 1)).write_bytes(b"PAR1 torn")
    [counts] = merge([tmp_path / "a"], tmp_path / "all")
    assert (counts.added, counts.unreadable) == (1, 1)


@pytest.mark.parametrize("folder", ["nowhere", "all"])
def test_a_folder_without_runs_and_the_target_itself_are_bad_input(tmp_path: Path, folder: str) -> None:
    """Before anything is merged."""
    for name in ("a", "all"):
        Store(tmp_path / name).put(toy_record(len(name), 0))
    with pytest.raises(InputError, match=folder):
        merge([tmp_path / "a", tmp_path / folder], tmp_path / "all")
    assert len(list(Store(tmp_path / "all").runs())) == 1


def test_a_shard_is_read() -> None:
    """Number and count, from 1."""
    assert read_shard(" 2/8 ") == Shard(2, 8)


@pytest.mark.parametrize("text", ["", "2", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "a/b", "1/100001", "9" * 99])
def test_what_is_no_shard_is_bad_input(text: str) -> None:
    """The error has an example."""
    with pytest.raises(InputError, match="2/8"):
        read_shard(text)
