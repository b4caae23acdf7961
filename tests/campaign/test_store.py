"""The results store: records are read as they were written, complete or not at all."""

from __future__ import annotations

import dataclasses
import logging
import os
from copy import copy
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from toy_runs import Bisection, plan, point, simulate, tasks, toy_record

from hostsim.campaign.code_version import ABOUT
from hostsim.campaign.driver import Observer, Outcome, run_together, stored_outcome
from hostsim.campaign.store import CondensedRecords, Origin, RunKey, SavedRecords, SavedRun, Store, code_digest
from hostsim.campaign.stored_run import runs_in
from hostsim.engine.record import Histogram, RunRecord, Series
from hostsim.errors import StoreError
from hostsim.scenario.plan import Plan
from tests.single_plan import run_all

POINT = "ab" * 16


def assert_same(actual: RunRecord | None, expected: RunRecord) -> None:
    """Every field is equal, arrays by value, shape and type."""
    assert actual is not None
    for name in ("point_id", "replication", "seed", "cut", "flags", "error"):
        assert getattr(actual, name) == getattr(expected, name)
    assert list(actual.axes.items()) == list(expected.axes.items())
    assert [type(value) for value in actual.axes.values()] == [type(value) for value in expected.axes.values()]
    assert actual.facts == expected.facts
    np.testing.assert_array_equal(actual.instants_ps, expected.instants_ps, strict=True)
    assert list(actual.series) == list(expected.series)
    for name, series in expected.series.items():
        assert actual.series[name].entities == series.entities
        np.testing.assert_array_equal(actual.series[name].values, series.values, strict=True)
    assert list(actual.histograms) == list(expected.histograms)
    for name, histogram in expected.histograms.items():
        assert actual.histograms[name].entities == histogram.entities
        for field in ("edges_ps", "counts", "sums_ps"):
            np.testing.assert_array_equal(
                getattr(actual.histograms[name], field), getattr(histogram, field), strict=True
            )


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    """Including counters without entities, every kind of axis value, the order of axes and the largest integers."""
    axes = {"split": "0", "receivers": 20, "share": 0.1, "rss": True}
    record = toy_record(3, 1, axes=axes, flags=("warm-up", "µ"))
    record.series["flow.sent"].values[-1] = 2**63 - 1
    store = Store(tmp_path)
    store.put(record)
    assert_same(store.get((POINT, 1, 3)), record)


def test_a_failed_run_comes_back_with_its_error(tmp_path: Path) -> None:
    """It has no slices and no counters."""
    record = dataclasses.replace(
        toy_record(1, 0), instants_ps=np.zeros(1, np.int64), series={}, histograms={}, cut=0, error="Traceback\nboom"
    )
    store = Store(tmp_path)
    store.put(record)
    assert_same(store.get((POINT, 0, 1)), record)


def test_an_empty_histogram_comes_back(tmp_path: Path) -> None:
    """A flow without deliveries keeps the shape of its buckets."""
    empty = Histogram(("a",), np.arange(5), np.zeros((9, 1, 4), np.int64), np.zeros((9, 1), np.int64))
    record = dataclasses.replace(toy_record(1, 0), histograms={"flow.latency": empty})
    store = Store(tmp_path)
    store.put(record)
    assert_same(store.get((POINT, 0, 1)), record)


def test_runs_are_told_apart_by_point_replication_and_seed(tmp_path: Path) -> None:
    """None of the three may be confused with another, and a run that was never made is missing."""
    store = Store(tmp_path)
    for seed, replication in ((1, 2), (2, 1)):
        store.put(toy_record(seed, replication))
    assert_same(store.get((POINT, 2, 1)), toy_record(1, 2))
    assert_same(store.get((POINT, 1, 2)), toy_record(2, 1))
    assert store.get((POINT, 1, 1)) is None
    assert store.get(("cd" * 16, 2, 1)) is None


def test_a_later_run_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    """A failed run that is repeated leaves nothing behind."""
    store = Store(tmp_path)
    store.put(dataclasses.replace(toy_record(1, 0), error="boom"))
    store.put(toy_record(1, 0))
    assert_same(store.get((POINT, 0, 1)), toy_record(1, 0))
    assert len([path for path in tmp_path.rglob("*") if path.is_file() and path.name != ABOUT]) == 1


def test_bytes_depend_on_the_record_alone_but_for_the_wall_clock(tmp_path: Path) -> None:
    """Two runs of the same point differ only in the wall-clock key of the metadata."""
    stores = [Store(tmp_path / name) for name in ("one", "two", "three")]
    for store, wall_s in zip(stores, (0.25, 0.25, 9.0), strict=True):
        store.put(toy_record(1, 0, facts={"events": 17, "wall_s": wall_s}))
    one, two, three = (store.path((POINT, 0, 1)) for store in stores)
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes() != three.read_bytes()
    tables = [pq.read_table(path) for path in (one, three)]
    heads = [dict(table.schema.metadata) for table in tables]
    assert [head.pop(b"hostsim.wall_clock") for head in heads] == [b'{"wall_s": 0.25}', b'{"wall_s": 9.0}']
    assert heads[0].pop(b"hostsim.digest") != heads[1].pop(b"hostsim.digest")
    assert heads[0] == heads[1]
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize("damage", ["torn", "empty", "foreign", "of another format"])
def test_what_cannot_be_read_counts_as_missing(tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str) -> None:
    """One message has the file's name, however often the run is looked up, and the next run overwrites it."""
    store = Store(tmp_path)
    store.put(toy_record(1, 0))
    path = store.path((POINT, 0, 1))
    if damage == "torn":
        path.write_bytes(path.read_bytes()[:-100])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "foreign":
        path.write_bytes(b"not Parquet at all, by no means, but long enough")
    else:
        table = pq.read_table(path)
        pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"hostsim.format": b"0"}), path)
    with caplog.at_level(logging.WARNING):
        assert [store.get((POINT, 0, 1)) for _ in range(2)] == [None, None]
    assert str(path) in caplog.text
    assert caplog.text.count("counts as missing") == 1
    store.put(toy_record(1, 0))
    assert store.get((POINT, 0, 1)) is not None


def small_store(folder: Path) -> tuple[Store, Path, RunRecord]:
    """A store of one small run, its file, and its record."""
    series = {"flow.sent": Series(("stream",), np.array([[0], [5], [9]]))}
    latency = Histogram(("a",), np.arange(3), np.array([[[0, 0]], [[1, 2]], [[2, 3]]]), np.array([[0], [4], [9]]))
    fields = {"series": series, "histograms": {"flow.latency": latency}, "axes": {"receivers": 2}, "cut": 1}
    record = dataclasses.replace(toy_record(1, 0), instants_ps=np.array([0, 10**10, 2 * 10**10]), **fields)
    store = Store(folder)
    store.put(record, Origin("tiny", {"vms.x.count": 2}))
    return store, store.path((POINT, 0, 1)), record


@pytest.mark.parametrize("step", [37, pytest.param(1, marks=pytest.mark.slow)])
def test_a_flipped_bit_is_noticed(tmp_path: Path, step: int) -> None:
    """Every bit of a file, or a sample: nothing of it is parsed, as a damaged footer can end the process."""
    store, path, _ = small_store(tmp_path)
    whole = path.read_bytes()
    for bit in range(0, 8 * len(whole), step):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        assert (bit, store.get((POINT, 0, 1)), store.origin((POINT, 0, 1))) == (bit, None, None)


EDITS = {b"hostsim.run": (b"20000000000", b"30000000000"), b"hostsim.origin": (b"tiny", b"tony")}


@pytest.mark.parametrize("key", EDITS)
def test_an_edited_head_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture, key: bytes) -> None:
    """Readers that read nothing else of a run notice it, too."""
    store, path, _ = small_store(tmp_path)
    whole = path.read_bytes()
    assert whole.count(EDITS[key][0]) == 1
    path.write_bytes(whole.replace(*EDITS[key]))
    assert store.get((POINT, 0, 1)) is None
    assert "does not match its digest: it is damaged or was edited" in caplog.text
    assert store.origin((POINT, 0, 1)) is None
    [run] = runs_in(tmp_path)
    assert run.head() is None


def test_a_run_that_another_program_wrote_anew_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is noticed with the previous digest, and without one."""
    store, path, _ = small_store(tmp_path)
    table = pq.read_table(path)
    pq.write_table(table, path)
    assert store.get((POINT, 0, 1)) is None
    assert "does not match its digest" in caplog.text
    rest = {key: text for key, text in table.schema.metadata.items() if key != b"hostsim.digest"}
    pq.write_table(table.replace_schema_metadata(rest), path)
    assert store.get((POINT, 0, 1)) is None
    assert "has no digest" in caplog.text


def test_the_name_of_the_digest_may_occur_anywhere(tmp_path: Path) -> None:
    """In axes, counters and origins."""
    store = Store(tmp_path)
    record = toy_record(1, 0, axes={"hostsim.digest": "hostsim.digest" + 80 * "0"})
    record.series["hostsim.digest" + 80 * "0"] = record.series["flow.sent"]  # type: ignore[index]
    store.put(record, Origin("hostsim.digest", {"hostsim.digest": "0" * 80}))
    assert_same(store.get((POINT, 0, 1)), record)


def test_a_run_of_the_format_before_is_read_and_said_once_to_have_no_digest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Earlier versions also wrote the schema of Arrow, which is not needed."""
    store, path, record = small_store(tmp_path)
    table = pq.read_table(path)
    texts = {key: text for key, text in table.schema.metadata.items() if key != b"hostsim.digest"}
    pq.write_table(table.replace_schema_metadata(texts | {b"hostsim.format": b"1"}), path)
    assert b"ARROW:schema" in pq.read_metadata(path).metadata
    for _ in range(2):
        assert_same(Store(tmp_path).get((POINT, 0, 1)), record)
    assert store.origin((POINT, 0, 1)) == Origin("tiny", {"vms.x.count": 2})
    assert caplog.text.count("without a digest") == 1


@pytest.mark.parametrize("other", [("cd" * 16, 0, 1), (POINT, 1, 1), (POINT, 0, 2)])
def test_a_run_under_the_name_of_another_counts_as_missing(tmp_path: Path, other: tuple[str, int, int]) -> None:
    """Of another point, replication or root seed."""
    store, path, _ = small_store(tmp_path)
    store.path(other).parent.mkdir(exist_ok=True)
    store.path(other).write_bytes(path.read_bytes())
    assert store.get(other) is None


def test_a_folder_in_place_of_a_run_says_what_to_do(tmp_path: Path) -> None:
    """It is not removed, because its content is unknown."""
    store, path, record = small_store(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(
        StoreError, match=f"{path}: a run cannot be written, as a folder has its name; remove the folder"
    ):
        store.put(record)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """There is a file in place of the folder."""
    (tmp_path / "runs").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be written"):
        Store(tmp_path).put(toy_record(1, 0))


def test_runs_of_other_code_are_not_seen(tmp_path: Path) -> None:
    """The digest of the code is part of the path."""
    store = Store(tmp_path)
    store.put(toy_record(1, 0))
    folder = tmp_path / "runs" / code_digest()
    assert store.path((POINT, 0, 1)).is_relative_to(folder)
    folder.rename(tmp_path / "runs" / "0123456789abcdef")
    assert store.get((POINT, 0, 1)) is None


def test_a_large_run_is_kept_small(tmp_path: Path) -> None:
    """A full-size record: 256 slices, 40 PCPUs, 100 worlds, 15 counters, 2,000 buckets of which a tenth has counts."""
    draw = np.random.default_rng(1)

    def grow(entities: int, most: int) -> np.ndarray:
        steps = draw.integers(0, most, (256, entities)).cumsum(0)
        return np.vstack([np.zeros((1, entities), np.int64), steps])

    series = {
        f"{kind}.c{n}": Series(tuple(f"{kind}{e}" for e in range(entities)), grow(entities, most))
        for kind, entities, most in (("pcpu", 40, 10**9), ("vcpu", 100, 1000))
        for n in range(15)
    }
    counts = np.zeros((257, 1, 2000), np.int64)
    counts[:, 0, 900:1100] = grow(200, 50)
    latency = Histogram(("stream",), np.arange(2001) ** 3, counts, grow(1, 10**12))
    record = dataclasses.replace(
        toy_record(1, 0), instants_ps=np.arange(257) * 10**10, series=series, histograms={"flow.latency": latency}
    )
    store = Store(tmp_path)
    store.put(record)
    assert_same(store.get((POINT, 0, 1)), record)
    raw = sum(s.values.nbytes for s in series.values()) + counts.nbytes
    assert store.path((POINT, 0, 1)).stat().st_size < raw / 4


def test_a_pipe_in_place_of_a_run_counts_as_missing_and_is_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Opening it would wait for a writer."""
    store, record = Store(tmp_path), toy_record(1, 0)
    store.path((POINT, 0, 1)).parent.mkdir(parents=True)
    os.mkfifo(store.path((POINT, 0, 1)))
    assert store.get((POINT, 0, 1)) is None
    assert "is a pipe or a device" in caplog.text
    store.put(record)
    assert_same(store.get((POINT, 0, 1)), record)


def test_runs_are_kept_through_no_link_that_leads_out(tmp_path: Path) -> None:
    """Nothing is written there, and existing files are not read."""
    (tmp_path / "outside").mkdir()
    away = Store(tmp_path / "outside")
    away.put(toy_record(1, 0))
    (tmp_path / "results").mkdir()
    (tmp_path / "results/runs").symlink_to(tmp_path / "outside/runs")
    store = Store(tmp_path / "results")
    assert store.get((POINT, 0, 1)) is None
    with pytest.raises(StoreError, match="leads out of"):
        store.put(toy_record(2, 0))
    assert away.get((POINT, 0, 2)) is None


def test_what_killed_writers_left_is_swept_when_a_run_is_kept(tmp_path: Path) -> None:
    """Of any run and version of the code, once it is a day old."""
    young, old = (tmp_path / f"runs/0123/ab/x.parquet.{letter * 32}.tmp" for letter in "ab")
    young.parent.mkdir(parents=True)
    for file in (young, old):
        file.write_bytes(b"half")
    os.utime(old, (0, 0))
    Store(tmp_path).put(toy_record(1, 0))
    assert (young.exists(), old.exists()) == (True, False)


class CountingStore(Store):
    """A store that records reads."""

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
    """A run is observed when it ends, or when it is found; a new run is not read back, and a stored one is read once."""
    store, work = CountingStore(tmp_path), tasks([point(n=n) for n in range(3)])
    for read in (0, len(work)):
        seen: list[RunRecord] = []
        observer = Observer(lambda _plan, _task: copy, lambda _plan, record, to=seen: to.append(record))
        run_together([plan(work)], store, jobs=1, observe=observer, simulate=simulate)
        assert [record.axes for record in seen] == [task.point.axes for task in work]
        assert len(store.read) == read


def test_what_is_known_without_a_record_is_not_read_for(tmp_path: Path) -> None:
    """Axes, wall-clock time, existence; looking up a run that has left the store is an error."""
    outcome = run(plan(tasks([point(n=1)], 1)), Store(tmp_path))
    for file in tmp_path.rglob("*.parquet"):
        file.unlink()
    [key] = outcome.records
    assert key in outcome.records
    assert ("another", 0) not in outcome.records
    assert outcome.records.axes(key) == {"n": 1}
    assert outcome.records.wall_s(key) > 0
    with pytest.raises(StoreError, match="no longer exists"):
        outcome.records[key]


def test_a_saved_point_whose_id_has_a_number_has_the_run_of_what_it_simulates(tmp_path: Path) -> None:
    """Or, in results of earlier versions, its own run."""
    plain = "ab" * 16
    saved = SavedRun(f"{plain}-2", 0, 1, {"n": 2}, ("has no effect",), "")
    for folder, stored in (("today", plain), ("earlier", saved.point)):
        Store(tmp_path / folder).put(toy_record(1, 0, point_id=stored))
        record = SavedRecords(Store(tmp_path / folder), [saved], "hostsim run")[saved.point, 0]
        assert (record.point_id, record.axes, record.flags) == (saved.point, {"n": 2}, ("has no effect",))


def test_records_of_two_plans_are_one_mapping(tmp_path: Path) -> None:
    """Records of the other plan are first; for a run that both have, this plan's axes are used."""
    mine, same = point(n=1), point(n=2)
    renamed = type(same)(same.id, {"m": 2}, same.spec, ())
    store = Store(tmp_path)
    here = run(plan(tasks([mine, same], 1)), store).records
    there = run(plan(tasks([renamed, point(n=3)], 1)), store).records
    assert [dict(record.axes) for record in here.after(there).values()] == [{"n": 2}, {"n": 3}, {"n": 1}]


def test_an_outcome_of_stored_runs_needs_all_of_them(tmp_path: Path) -> None:
    """Including those that searches request; nothing is run."""
    store, sweep = Store(tmp_path), plan(tasks([point(n=7)]), [Bisection(9e9)])
    run(plan(sweep.tasks), store)
    assert stored_outcome(sweep, store) is None
    done = run(sweep, store)
    found = stored_outcome(sweep, store)
    assert found is not None
    assert (found.answers, list(found.records)) == (done.answers, list(done.records))


def test_a_search_reads_again_what_was_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest few are in memory; the answer is the same with space for one only."""
    sweep = plan(tasks([point(n=7)]), [Bisection(9e9)])
    answers = run(sweep, Store(tmp_path / "roomy")).answers
    monkeypatch.setattr("hostsim.campaign.store._KEPT", 1)
    narrow = CountingStore(tmp_path / "narrow")
    assert run(sweep, narrow).answers == answers
    assert len(narrow.read) > len(set(narrow.read)) > 2
    kept = CondensedRecords(narrow)
    for one in sweep.tasks:
        kept.add(one)
    assert kept[sweep.tasks[0].key] is kept[sweep.tasks[0].key]
