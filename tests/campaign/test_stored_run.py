"""Stored runs: which ones may be removed, and that no others are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from toy_runs import toy_record

from hostsim.campaign.shard import merge
from hostsim.campaign.store import Origin, Store, code_digest
from hostsim.campaign.stored_run import StoredRun, prunable, remove, runs_in

OTHER = "0123456789abcdef"


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, StoredRun]:
    """Two runs of this version and two of another one, stored a second apart."""
    made = []
    for code in (code_digest(), OTHER):
        for seed, scenario in ((1, "one"), (2, "two")):
            store = Store(tmp_path, code)
            store.put(toy_record(seed, 0), Origin(scenario, {"a.b": 1}) if code == OTHER else None)
            path = store.path(("ab" * 16, 0, seed))
            os.utime(path, (len(made), len(made)))
            made.append(path)
    found = {run.path: run for run in runs_in(tmp_path)}
    assert len(found) == 4
    return dict(zip(("mine1", "mine2", "old1", "old2"), (found[path] for path in made), strict=True))


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, "old1 old2"),
        ({"usable": True}, "mine1 mine2 old1 old2"),
        ({"usable": True, "before": 2.5}, "mine1 mine2 old1"),
        ({"scenario": "two"}, "old2"),
        ({"scenario": "two", "usable": True}, "old2"),
        ({"most_bytes": 10**9}, ""),
        ({"most_bytes": 0}, "old1 old2"),
    ],
)
def test_only_what_is_asked_for_may_be_removed(runs, asked, names) -> None:
    """Runs of the installed version and those without an origin stay unless selected; the oldest are removed first."""
    assert [name for run in prunable(runs.values(), (), **asked) for name in runs if runs[name] == run] == names.split()


def test_runs_go_until_the_rest_fits(runs) -> None:
    """No more than needed, and never those that saved results need."""
    most = sum(run.bytes for run in runs.values()) - 1
    assert prunable(runs.values(), (), most_bytes=most) == [runs["old1"]]
    assert prunable(runs.values(), {runs["old1"].id}, most_bytes=most) == [runs["old2"]]


def test_removed_are_the_runs_and_empty_folders(runs, tmp_path) -> None:
    """Everything else in the results folder is unchanged."""
    remove([runs["old1"]])
    assert runs["old2"].path.exists()
    remove([runs["old2"]])
    assert [folder.name for folder in (tmp_path / "runs").iterdir()] == [code_digest()]
    assert {run.path for run in runs_in(tmp_path)} == {runs["mine1"].path, runs["mine2"].path}


def test_a_link_out_of_the_folder_is_not_followed(runs, tmp_path) -> None:
    """The target of the link belongs to another user."""
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "runs" / OTHER).rename(elsewhere)
    inner = tmp_path / "mine"
    (inner / "runs").mkdir(parents=True)
    (inner / "runs" / OTHER).symlink_to(elsewhere)
    assert list(runs_in(inner)) == []


def test_a_merged_run_keeps_its_origin(tmp_path) -> None:
    """A query by its scenario finds it everywhere."""
    origin = Origin("mine", {"traffic.stream.rate": "5 kpps"})
    Store(tmp_path / "part").put(toy_record(1, 0), origin)
    merge([tmp_path / "part"], tmp_path / "whole")
    [run] = runs_in(tmp_path / "whole")
    assert run.head().origin == origin
