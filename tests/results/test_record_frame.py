"""Counters of a run as frames: values by hand, units, and refusals in words."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from hostsim import contexts, cpu_time
from hostsim.engine import record
from hostsim.engine.record import RunRecord, Series
from hostsim.errors import InputError
from hostsim.results.record_frame import counter_unit, entities, is_level, series_frame


@pytest.fixture
def small_run() -> RunRecord:
    instants = np.array([0, 1, 3], np.int64) * 10**12
    series = {
        "pcpu.busy_ps": Series(("pcpu0", "pcpu1"), np.array([[0, 0], [1, 10], [3, 40]], np.int64)),
        "pcpu.dispatches": Series(("pcpu0", "pcpu1"), np.array([[0, 0], [5, 6], [7, 9]], np.int64)),
        "splitrx.used_ps": Series((), np.zeros((3, 0), np.int64)),
        "queue.inside": Series(("q",), np.array([[0], [4], [3]], np.int64)),
    }
    return RunRecord("a", 0, 1, {}, instants, series, {}, cut=1)


def test_entities_over_the_window(small_run: RunRecord) -> None:
    """One row per entity and counter: the growth since the cut, or a level at the end, with the unit."""
    frame = entities(small_run, "pcpu")
    assert list(frame.itertuples(index=False, name=None)) == [
        ("pcpu0", "pcpu.busy_ps", 2, "ps"),
        ("pcpu1", "pcpu.busy_ps", 30, "ps"),
        ("pcpu0", "pcpu.dispatches", 2, ""),
        ("pcpu1", "pcpu.dispatches", 3, ""),
    ]
    assert frame.attrs["units"] == {"pcpu.busy_ps": "ps", "pcpu.dispatches": ""}
    assert entities(small_run, "queue")["value"].tolist() == [3]
    assert entities(small_run, "splitrx").empty


def test_an_unknown_kind_is_refused_with_the_nearest(small_run: RunRecord) -> None:
    """An empty frame would look like a host without counters."""
    with pytest.raises(InputError, match=r"unknown kind; given 'pcpus'; allowed: one of pcpu, .*did you mean 'pcpu'"):
        entities(small_run, "pcpus")


def test_series_slice_by_slice(small_run: RunRecord) -> None:
    """Growth in every slice from the start of the run, whose sum is the counter's last value; levels at the ends of slices."""
    frame = series_frame(small_run)
    rows = frame[(frame["entity"] == "pcpu1") & (frame["counter"] == "pcpu.busy_ps")]
    assert rows[["start_s", "end_s", "value"]].to_numpy().tolist() == [[0, 1, 10], [1, 3, 30]]
    assert frame.loc[frame["counter"] == "queue.inside", "value"].tolist() == [4, 3]
    assert len(frame) == 2 * 2 * 2 + 2
    assert frame.attrs["units"]["start_s"] == "s"


@pytest.mark.parametrize("frame", [contexts, cpu_time, series_frame, lambda run: entities(run, "pcpu")])
def test_a_failed_run_has_no_counters(small_run: RunRecord, frame) -> None:
    """Its error is repeated."""
    with pytest.raises(InputError, match="the run has failed and has no counters; given ValueError: x"):
        frame(replace(small_run, series={}, error="Traceback\nValueError: x\n"))


def test_results_are_no_record(small_run: RunRecord) -> None:
    """The message says how to get a record."""
    with pytest.raises(TypeError, match=r"such as results\.record\(\) or one of results\.records, not list"):
        contexts([small_run])


def test_levels_and_units_are_those_of_the_counters() -> None:
    """They are those documented in the table of counters."""
    rows = re.findall(r"^``(\w+)\.(\w+)``(?: \.\.\. ``\w+``)? +(.+)$", record.__doc__, flags=re.MULTILINE)
    assert len(rows) > 60
    for kind, name, meaning in rows:
        assert is_level(f"{kind}.{name}") == meaning.startswith(("a level", "fixed")), name
        assert (counter_unit(f"{kind}.{name}") == "B") == meaning.startswith("bytes"), name
