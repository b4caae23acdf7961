"""Tables of runs, their files, and frames of a run's data."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from sample_runs import failed, run

from hostsim.engine.record import RunRecord
from hostsim.errors import StoreError
from hostsim.results.folder import as_csv
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.table import WALL_CLOCK, as_written, is_value, read_table, write_table
from tests.tables import to_table


@pytest.fixture
def records() -> list[RunRecord]:
    good = run(host_cpu=30, loss=0.5, receivers=20, split="0")
    return [good, failed(run(replication=1, receivers=20, split="0"), "Traceback\nInvariantError: a packet was lost")]


def test_a_row_a_run_with_metrics_over_the_measured_window(records: list[RunRecord]) -> None:
    """Axes, metrics and facts of a run are in its row; events before the cut do not count."""
    row = to_table(records).iloc[0]
    assert (row["receivers"], row["split"], row["replication"], row["seed"]) == (20, "0", 0, 1)
    assert row["host_cpu"] == pytest.approx(30)
    assert row["loss"] == pytest.approx(0.5)
    assert (row["cut_s"], row["length_s"], row["events"], row["run_dispatches"]) == (1, 4, 40, 30)
    assert row["error"] == ""


def test_columns_stand_in_the_order_of_the_catalogue(records: list[RunRecord]) -> None:
    """Keys, axes, metrics, facts, texts: no run changes the order of columns."""
    columns = ["point", "replication", "seed", "receivers", "split", *CATALOGUE]
    columns += ["cut_s", "length_s", "events", "run_dispatches", "wall_s", "bottleneck", "flags", "error"]
    assert list(to_table(records).columns) == columns
    assert set(WALL_CLOCK) <= set(columns)


def test_a_failed_run_is_a_row_of_nan_with_its_error(records: list[RunRecord]) -> None:
    """It stays visible, and is not averaged as a number."""
    row = to_table(records).iloc[1]
    assert all(math.isnan(row[metric]) for metric in CATALOGUE)
    assert row["error"].endswith("a packet was lost")


def test_units_come_from_the_catalogue(records: list[RunRecord]) -> None:
    """Every metric has its unit in the attributes."""
    units = to_table(records).attrs["units"]
    assert units["latency_p95"] == "us"
    assert units.keys() >= CATALOGUE.keys()


def test_parts_of_a_table_have_units_of_their_own() -> None:
    """Pandas copies the units like any attribute."""
    table = to_table([run(loss=1.0, n=1)])
    part = table[["loss"]]
    part.attrs["units"]["loss"] = "ppm"
    assert table.attrs["units"]["loss"] == "%"


def test_an_axis_of_several_kinds_becomes_text() -> None:
    """Parquet and pandas require one type per column; integers and fractions become one."""
    table = to_table([run(receivers=1, depth=1), run(receivers="all", depth=1.5)])
    assert table["receivers"].tolist() == ["1", "all"]
    assert table["depth"].tolist() == [1.0, 1.5]


def test_rows_of_a_deterministic_point_are_flagged() -> None:
    """All finished replications equal to the last digit in every measure; a single one gives no information."""
    equal, single = (run(replication=r, host_cpu=30, n=1) for r in range(3)), run(host_cpu=30, n=2)
    other = [run(replication=r, host_cpu=30, loss=r, n=3) for r in range(2)]
    crashed = failed(run(replication=3, n=1), "Traceback")
    table = to_table([*equal, crashed, single, *other])
    assert table["flags"].tolist() == ["deterministic: 3 replications equal"] * 3 + [""] * 4


def test_a_deterministic_run_keeps_its_other_flags() -> None:
    """Each is a separate reason to look."""
    records = [replace(run(replication=r, n=1), flags=("warm-up",)) for r in range(2)]
    assert set(to_table(records)["flags"]) == {"warm-up; deterministic: 2 replications equal"}


def test_a_table_survives_its_file(tmp_path: Path, records: list[RunRecord]) -> None:
    """Values, units and provenance are read as they were written."""
    table = to_table(records, provenance={"scenario": "mine"})
    write_table(table, tmp_path / "deep" / "table.parquet")
    again = read_table(tmp_path / "deep" / "table.parquet")
    pd.testing.assert_frame_equal(again, table)
    assert again.attrs == table.attrs
    assert again.attrs["provenance"]["scenario"] == "mine"
    assert again.attrs["provenance"].keys() >= {"hostsim", "numpy", "simpy", "python", "seed"}


def test_equal_tables_have_equal_bytes(tmp_path: Path, records: list[RunRecord]) -> None:
    """Only the table is in the file, and no other file is beside it."""
    for name in ("one", "two"):
        write_table(to_table(records), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_what_is_no_table_is_said_so(tmp_path: Path) -> None:
    """Missing, truncated and foreign files give errors in words."""
    with pytest.raises(StoreError, match="cannot be read"):
        read_table(tmp_path / "nothing.parquet")
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(StoreError, match="cannot be read"):
        read_table(tmp_path / "torn.parquet")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "foreign.parquet")
    with pytest.raises(StoreError, match="not a table of hostsim"):
        read_table(tmp_path / "foreign.parquet")


def test_an_axis_of_quantities_has_numbers_and_is_written_back() -> None:
    """In the base unit, which the CSV file has in its heading; points are named as in the scenario."""
    table = to_table([run(rate=rate, name="fast") for rate in ("0.5 Mpps", "40 kpps")])
    assert table["rate"].tolist() == [500_000.0, 40_000.0]
    assert table.attrs["units"]["rate"] == "pps"
    assert as_csv(table).startswith("point,replication,seed,rate (pps),name,")
    written = as_written(table[table["rate"] > 100_000])
    assert written["rate"].tolist() == ["0.5 Mpps"]
    assert is_value(as_written(table)["rate"], "500 kpps").tolist() == [True, False]
    assert to_table([run(rate=rate) for rate in ("40 kpps", "full")])["rate"].tolist() == ["40 kpps", "full"]
