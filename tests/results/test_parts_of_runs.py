"""Measures over equal parts of runs: names, values, and figures against simulated time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hostsim
from hostsim.engine.record import RunRecord, Series
from hostsim.errors import InputError
from hostsim.results.curve import over_time
from hostsim.results.figure import FigureSpec
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.subject import of_subject_name, parsed, part_names, parted
from tests.scenario.small_scenario import load_text

SLICES = 128


def run() -> RunRecord:
    """A run of a second with two traffic entries: in each slice one has 10 answered requests, the other as many as there are earlier slices."""
    grown = np.stack([np.full(SLICES, 10), np.arange(SLICES)], axis=1)
    answered = np.concatenate([np.zeros((1, 2), dtype=np.int64), np.cumsum(grown, axis=0)])
    instants = np.linspace(0, 10**12, SLICES + 1).astype(np.int64)
    names = ("steady", "rising")
    series = {name: Series(names, answered) for name in ("flow.answered", "flow.sent")}
    return RunRecord("p", 0, 1, {}, instants, series, {}, 64)


def test_a_part_is_measured_over_its_own_slices_warm_up_included() -> None:
    """An eighth has sixteen slices: 160 requests of the steady entry, and the sum of the slice numbers for the rising one."""
    record = run()
    for number in (1, 4, 8):
        first = 16 * (number - 1)
        rising = sum(range(first, first + 16))
        assert CATALOGUE[f"transactions in part {number}/8"].evaluate(record) == pytest.approx(8 * (160 + rising))
        assert CATALOGUE[f"transactions of rising in part {number}/8"].evaluate(record) == pytest.approx(8 * rising)


def test_names_of_parts_are_read_as_they_are_written() -> None:
    """They are read with and without a subject."""
    for measure in ("latency_p99", "latency_p99 of feed"):
        for number, name in enumerate(part_names(measure, 3), 1):
            base, subject = parsed(name)
            assert of_subject_name(base, subject) == name
            assert parted(subject) == (measure.partition(" of ")[2], (number, 3))
    for wrong in ("in part 4/3", "in part 0/3", "feed in part 1/99"):
        with pytest.raises(InputError, match="is not a part of a run"):
            parted(wrong)


def test_a_figure_against_time_has_a_point_for_each_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packets delivered in quarters of a profile whose rate doubles half-way: table, curve and plot."""
    phases = "[{rate: 20 kpps, length: 10 ms}, {rate: 40 kpps, length: 10 ms}]"
    scenario = load_text(
        tmp_path,
        ("rate: 40 kpps", f"arrivals: {{process: profile, phases: {phases}}}"),
        (
            "run: {length: 1 s, replications: 2, quick: {length: 500 ms, replications: 1}}",
            "run: {length: 20 ms, replications: 2}",
        ),
        ('values: ["0", "1"]', 'values: ["0"]'),
        ("loss: {x: receivers, y: loss, series: split}", "loss: {x: time, parts: 4, y: delivered, series: receivers}"),
    )
    monkeypatch.chdir(tmp_path)
    results = hostsim.run(scenario, jobs=1)
    [drawn] = [one for one in results.figures if one.name == "loss"]
    frame = results.curve(x="time", y="delivered", parts=4)
    assert frame["time"].tolist() == pytest.approx([0.0025, 0.0075, 0.0125, 0.0175])
    assert frame["mean"].iloc[2] > 1.5 * frame["mean"].iloc[0] > 0
    axes = results.plot("loss")
    assert axes.get_xlabel() == "Simulated time (s)"
    assert drawn.parts == 4
    with pytest.raises(InputError, match="cannot divide runs into parts"):
        results.curve(x="receivers", y="delivered", parts=4)
    with pytest.raises(InputError, match=r"cannot divide runs into parts; given 0; allowed: 2 to 64"):
        results.curve(x="time", y="delivered")


def test_parts_of_a_lengthened_run_are_not_those_of_the_others() -> None:
    """A precision target has lengthened one of three replications: its parts are at other times, so it is left out."""
    table = pd.DataFrame(
        {
            "scenario": "s",
            "point": "p",
            "replication": [0, 1, 2],
            "seed": 1,
            "rx_rate": 10.0,
            "length_s": [1.0, 1.0, 1.25],
            "error": "",
            **{name: [10.0, 12.0, 99.0] for name in part_names("rx_rate", 2)},
        }
    )
    rows, _ = over_time(table, FigureSpec("f", "time", "rx_rate", parts=2))
    assert rows.groupby("time")["rx_rate"].apply(list).to_dict() == {"0.25 s": [10.0, 12.0], "0.75 s": [10.0, 12.0]}
