"""A results folder comes back as it was written, and says so when it cannot."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hostsim.errors import StoreError
from hostsim.results.folder import as_csv, read, write
from hostsim.results.table import write_table
from tests.sample_results import VERDICTS, results, table


@pytest.fixture(scope="module")
def written_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results."""
    folder = tmp_path_factory.mktemp("written")
    write(results(), folder)
    return folder


@pytest.fixture
def folder(written_once: Path, tmp_path: Path) -> Path:
    """A copy of it to spoil."""
    return Path(shutil.copytree(written_once, tmp_path / "copy"))


def test_results_come_back_as_they_were_written(tmp_path):
    """Everything but the records is kept: forms, tuples, units, attributes."""
    written = results()
    files = write(written, tmp_path)
    kept = read(tmp_path)
    pd.testing.assert_frame_equal(kept.table, written.table)
    assert kept.table.attrs == written.table.attrs
    assert kept.verdicts == VERDICTS
    for name in (
        "scenario",
        "question",
        "figures",
        "settings",
        "assumptions",
        "warnings",
        "provenance",
        "quick",
        "usage",
    ):
        assert getattr(kept, name) == getattr(written, name)
    names = ["table.parquet", "table.csv", "contexts.parquet", "cpu.parquet", "results.json"]
    assert [file.name for file in files] == names
    assert all(file.is_file() for file in files)


def test_a_form_of_expectation_is_read_by_its_former_name_too(folder: Path) -> None:
    """What was written before the form got its present name is still an earlier run to compare with."""
    file = folder / "results.json"
    text = file.read_text()
    assert '"form": "RSquared"' in text
    file.write_text(text.replace('"form": "RSquared"', '"form": "Fit"'))
    assert read(folder).verdicts == VERDICTS


def test_the_facts_are_strict_json(folder):
    """Any program can read them."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    json.loads((folder / "results.json").read_text(), parse_constant=refuse)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-x", "@cmd", "\tx"])
def test_text_in_csv_is_never_a_formula(text):
    """A spreadsheet that opens the table runs nothing."""
    odd = table()
    odd.loc[0, "flags"] = text
    assert f"'{text}" in as_csv(odd)
    assert "'-" not in as_csv(table().assign(loss=-1.0))


def test_headings_in_csv_are_never_formulas():
    """An axis has whatever name the scenario gives it."""
    heading = as_csv(table().rename(columns={"receivers": "=1+1"})).splitlines()[0]
    assert "'=1+1" in heading.split(",")


def test_tables_of_another_run_are_refused(folder, written_once):
    """A command that was killed while it wrote leaves no mixture of two runs."""
    changed = table()
    changed.loc[0, "loss"] = 9.0
    write_table(changed, folder / "table.parquet")
    with pytest.raises(StoreError, match="its tables are of another run"):
        read(folder)
    assert read(written_once).scenario


def test_a_percentile_that_cannot_be_told_stands_in_words():
    """In the row of the run that could not tell it; a failed run has told nothing at all, and other measures stay empty."""
    told = table().assign(latency_p99=[1.0, np.nan, 2.0, 3.0, 4.0, np.nan], latency_mean=0.5)
    rows = pd.read_csv(io.StringIO(as_csv(told)), dtype=str, keep_default_na=False)
    assert rows["latency_p99"].tolist() == ["1.0", "not estimable", "2.0", "3.0", "4.0", ""]
    assert set(rows["host_cpu"]) == {""}


def test_percentiles_of_nothing_are_empty_and_their_column_stays_one_of_numbers():
    """There was no request, so there is nothing that could not be told of it."""
    rows = pd.read_csv(io.StringIO(as_csv(table())))
    assert rows[["response_mean", "response_p50", "latency_p9999"]].isna().all(axis=None)
    assert rows["response_p50"].dtype == float


def test_failed_runs_are_rows_of_their_own():
    """The traceback is at hand."""
    assert list(results().failed["point"]) == ["p2"]


def test_a_folder_without_results_says_what_writes_them(tmp_path):
    """The reader learns the next command."""
    with pytest.raises(StoreError, match="hostsim run"):
        read(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1}', '{"format": 99}', '{"format": 1, "figures": 3}'])
def test_a_damaged_folder_is_an_error_of_the_family(folder, content):
    """No traceback, whatever stands in the file."""
    (folder / "results.json").write_text(content)
    with pytest.raises(StoreError):
        read(folder)
