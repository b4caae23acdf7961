"""The summary of a sweep: tables made from its records, none of which is kept."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from host_record import host_record

from hostsim.engine.record import RunRecord
from hostsim.results.context import contexts_frame, cpu_frame, packed_contexts, packed_cpu
from hostsim.results.results import LazyRecords
from hostsim.results.sweep_summary import SweepSummary
from tests.tables import to_table

WARNED = {"q": "precision"}


def run(point: str, replication: int, busy: int, **fields) -> RunRecord:
    times = {"netpoll.used_ps": (busy * 10**9, 0), "pcpu.busy_ps": (busy * 10**9, 0, 0, 0)}
    return replace(
        host_record(times, point_id=point, replication=replication),
        axes={"n": point},
        facts={"dispatches": busy, "wall_s": 0.5},
        **fields,
    )


RECORDS = [
    run("p", 0, 1, error="boom"),
    run("p", 1, 20),
    run("p", 2, 30),
    run("q", 0, 40, flags=("warm-up",)),
    run("q", 1, 40, flags=("warm-up",)),
    run("lost", 0, 1, error="boom"),
]
KEYS = [(record.point_id, record.replication) for record in RECORDS]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 5), (4, 2, 5, 0, 3, 1)])
def test_the_frames_are_those_of_the_records(order: tuple[int, ...]) -> None:
    """For any order of runs: a search's point has no row, a run's flag applies to its point, equal runs are flagged. Failed runs do not count."""
    summary = SweepSummary(["p", "q", "lost"], single=False)
    for place in order:
        for record in (RECORDS[place], replace(RECORDS[place], axes={"n": "of another plan"})):
            summary.add(summary.taking(*KEYS[place])(record))
    summary.add(summary.taking("searched", 0)(run("searched", 0, 7)))
    keys = [*KEYS, ("searched", 0)]
    flagged = [replace(r, flags=(*r.flags, *filter(None, [WARNED.get(r.point_id)]))) for r in RECORDS]
    table = summary.table(keys, WARNED, {})
    pd.testing.assert_frame_equal(table, to_table(flagged))
    assert table["flags"].tolist()[-2] == "warm-up; precision; deterministic: 2 replications equal"
    first = {RECORDS[place].point_id: packed_contexts(RECORDS[place]) for place in (1, 3)}
    pd.testing.assert_frame_equal(summary.contexts(), contexts_frame(first))
    finished = [(record.point_id, packed_cpu(record)) for record in RECORDS[1:5]]
    pd.testing.assert_frame_equal(summary.cpu(keys), cpu_frame(finished))
    usage = summary.usage(keys)
    assert (usage.runs, usage.dispatches, usage.wall_s) == (5, 20 + 30 + 40 + 40 + 7, 2.5)


def test_records_are_read_when_they_are_asked_for() -> None:
    """Indices from both ends, slices, iteration; only requested records are read."""
    read: list[tuple[str, int]] = []

    class Reading(dict[tuple[str, int], RunRecord]):
        def __getitem__(self, key: tuple[str, int]) -> RunRecord:
            read.append(key)
            return super().__getitem__(key)

    lazy = LazyRecords(Reading(zip(KEYS, RECORDS, strict=True)))
    assert len(lazy) == 6
    assert read == []
    assert (lazy[-1], lazy[1]) == (RECORDS[-1], RECORDS[1])
    assert read == [KEYS[-1], KEYS[1]]
    assert lazy[1:3] == tuple(RECORDS[1:3])
    assert [record.replication for record in lazy] == [0, 1, 2, 0, 1, 0]
    with pytest.raises(IndexError):
        lazy[6]
