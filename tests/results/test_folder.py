"""A results folder is read as it was written, or refused with an error."""

from __future__ import annotations

import io
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hostsim.errors import StoreError
from hostsim.results.figure import AnswersSpec, AxisNames, FigureSpec, TableSpec
from hostsim.results.folder import as_csv, read, rerun_command, write
from hostsim.results.table import read_table, write_table
from hostsim.views.report import folder as drawn
from tests.sample_results import VERDICTS, results, table


@pytest.fixture(scope="module")
def written_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results with its figures."""
    folder = tmp_path_factory.mktemp("written")
    drawn.write(results(), folder)
    return folder


@pytest.fixture
def folder(written_once: Path, tmp_path: Path) -> Path:
    """A copy of it to damage."""
    return Path(shutil.copytree(written_once, tmp_path / "copy"))


def test_results_come_back_as_they_were_written(tmp_path):
    """Everything except the records is stored: forms, tuples, units, attributes."""
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
        "citations",
        "warnings",
        "provenance",
        "quick",
        "usage",
    ):
        assert getattr(kept, name) == getattr(written, name)
    names = ["table.parquet", "table.csv", "contexts.parquet", "cpu.parquet", "runs.parquet", "results.json"]
    assert [file.name for file in files] == names
    assert all(file.is_file() for file in files)


def test_the_facts_are_strict_json(folder):
    """Any program can read them."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    json.loads((folder / "results.json").read_text(), parse_constant=refuse)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-x", "@cmd", "\tx"])
def test_text_in_csv_is_never_a_formula(text):
    """A spreadsheet that opens the table executes nothing."""
    odd = table()
    odd.loc[0, "flags"] = text
    assert f"'{text}" in as_csv(odd)
    assert "'-" not in as_csv(table().assign(loss=-1.0))


def test_headings_in_csv_are_never_formulas():
    """An axis may have any name."""
    heading = as_csv(table().rename(columns={"receivers": "=1+1"})).splitlines()[0]
    assert "'=1+1" in heading.split(",")


def test_tables_of_another_run_are_refused(folder, written_once):
    """A command killed while writing leaves no mixture of two runs."""
    changed = table()
    changed.loc[0, "loss"] = 9.0
    write_table(changed, folder / "table.parquet")
    with pytest.raises(StoreError, match=r"its tables and its results\.json come from different runs"):
        read(folder)
    assert read(written_once).scenario


def test_a_percentile_without_a_number_is_an_empty_cell():
    """Of a run with too few observations, and of a failed run: a program reads the column as numbers."""
    told = table().assign(latency_p99=[1.0, np.nan, 2.0, 3.0, 4.0, np.nan], latency_mean=0.5)
    text = as_csv(told)
    rows = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    assert rows["latency_p99"].tolist() == ["1.0", "", "2.0", "3.0", "4.0", ""]
    assert pd.read_csv(io.StringIO(text))["latency_p99"].dtype == float


def test_failed_runs_are_rows_of_their_own():
    """The traceback is at hand."""
    assert list(results().failed["point"]) == ["p2"]


def test_a_folder_without_results_says_what_writes_them(tmp_path):
    """The error contains the next command."""
    with pytest.raises(StoreError, match="hostsim run"):
        read(tmp_path)


def test_a_missing_table_is_named(folder):
    """The folder has other results, so it is not taken for one without any."""
    (folder / "cpu.parquet").unlink()
    with pytest.raises(StoreError, match=r"cpu\.parquet: is missing; run the scenario again"):
        read(folder)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1}', '{"format": 99}', '{"format": 1, "figures": 3}'])
def test_a_damaged_folder_is_an_error_of_the_family(folder, content):
    """No traceback, for any content of the file."""
    (folder / "results.json").write_text(content)
    with pytest.raises(StoreError):
        read(folder)


def outside(folder: Path) -> Path:
    """A folder beside the results folder, with a file that must not be changed."""
    (folder.parent / "outside").mkdir()
    (folder.parent / "outside/mine").write_text("untouched")
    return folder.parent / "outside"


@pytest.mark.parametrize("name", ["results.json", "table.csv", "figures/loss.svg", "figures/loss.png"])
def test_results_are_written_through_no_link_that_leads_out(folder, name):
    """The target of the link is unchanged."""
    mine = outside(folder) / "mine"
    (folder / name).unlink()
    (folder / name).symlink_to(mine)
    with pytest.raises(StoreError, match=f"{name}: leads out of .*copy; put a folder or a file"):
        drawn.write(results(), folder)
    assert mine.read_text() == "untouched"


def test_a_table_that_is_a_link_is_not_followed(folder):
    """Tables replace anything with their name."""
    mine = outside(folder) / "mine"
    (folder / "cpu.parquet").unlink()
    (folder / "cpu.parquet").symlink_to(mine)
    with pytest.raises(StoreError, match="leads out"):
        drawn.write(results(), folder)
    assert mine.read_text() == "untouched"


def test_a_folder_of_figures_that_is_a_link_is_refused(folder):
    """Nothing is written to the target folder."""
    away = outside(folder)
    shutil.rmtree(folder / "figures")
    (folder / "figures").symlink_to(away)
    with pytest.raises(StoreError, match="leads out"):
        drawn.draw_figures(read(folder), folder)
    assert [file.name for file in away.iterdir()] == ["mine"]


def test_links_inside_a_results_folder_are_followed(folder, tmp_path):
    """The folder itself may be a link, and so may a file in it that points to another file of the folder."""
    (folder / "table.csv").rename(folder / "first.csv")
    (folder / "table.csv").symlink_to("first.csv")
    (tmp_path / "link").symlink_to(folder)
    drawn.write(results(), tmp_path / "link")
    assert read(tmp_path / "link").scenario == results().scenario
    assert (folder / "table.csv").is_symlink()


@pytest.mark.parametrize("name", ["results.json", "table.parquet", "cpu.parquet"])
def test_a_pipe_or_a_device_is_refused_before_it_is_opened(folder, name):
    """Opening a pipe waits for a writer, which never comes."""
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(StoreError, match=f"{name}: is a pipe or a device, not a file"):
        read(folder)
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    with pytest.raises(StoreError, match=f"{name}: leads out of"):
        read(folder)


def test_a_file_that_is_too_large_is_refused_before_it_is_opened(folder):
    """A file with a hole of a gigabyte takes no disk space."""
    os.truncate(folder / "results.json", 2**30)
    with pytest.raises(StoreError, match=r"results\.json: is too large: 1073741824 bytes; at most 268435456"):
        read(folder)


BOMBS = {
    "many rows of one value": (
        lambda: pa.array(np.zeros(60_000_000, np.int8)),
        "60000000 values; at most 50000000",
    ),
    "one long text in many rows": (
        lambda: pa.DictionaryArray.from_arrays(pa.array(np.zeros(3000, np.int32)), pa.array(["x" * 100_000])).cast(
            "string"
        ),
        "300000000 bytes of text; at most 268435456",
    ),
    "a text of megabytes": (lambda: pa.array(["x" * 269_000_000]), "bytes unpacked; at most 268435456"),
    "lists": (lambda: pa.array([[0]]), "is not a table of hostsim"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_unpacks_to_a_large_table_is_refused(tmp_path, name):
    """Its head gives the number of values, and how often each text is used."""
    column, words = BOMBS[name]
    table = pa.table({"a": column()})
    pq.write_table(table, tmp_path / "table.parquet", compression="zstd", write_statistics=False)
    assert (tmp_path / "table.parquet").stat().st_size < 300_000
    with pytest.raises(StoreError, match=words):
        read_table(tmp_path / "table.parquet")


def test_a_table_whose_units_are_no_mapping_is_refused(tmp_path):
    """Any tool may have written the file."""
    metadata = {f"hostsim.{name}": "5" for name in ("units", "provenance", "written")}
    pq.write_table(pa.table({"a": [0]}).replace_schema_metadata(metadata), tmp_path / "table.parquet")
    with pytest.raises(StoreError, match="the table cannot be read"):
        read_table(tmp_path / "table.parquet")


def test_what_killed_writers_left_is_swept(folder):
    """Unfinished files that are a day old, and none that is younger or has another name."""
    left = [f"table.parquet.{'a' * 32}.tmp", ".results.json.0123abcd.tmp", "figures/.loss.svg.0123abcd.tmp"]
    kept = [".table.csv.0123abcd.tmp", "notes.tmp", "figures/loss.0123.tmp"]
    for name in (*left, *kept):
        (folder / name).write_text("half")
    for name in (*left, *kept[1:]):
        os.utime(folder / name, (0, 0))
    drawn.write(results(), folder)
    there = {str(file.relative_to(folder)) for file in folder.rglob("*.tmp")}
    assert there == set(kept)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (
            6,
            "format 6, of an earlier version of hostsim; this one reads 8: `hostsim run small --quick --output .*` writes it again.*give its file",
        ),
        (
            9,
            "format 9, of a later version of hostsim; this one reads 8: install that one, or run `hostsim run small --quick --output ",
        ),
    ],
)
def test_a_folder_of_another_version_names_the_command(folder, version, words):
    """Older and newer ones alike."""
    kept = json.loads((folder / "results.json").read_text())
    (folder / "results.json").write_text(json.dumps(kept | {"format": version}))
    with pytest.raises(StoreError, match=words):
        read(folder)


@pytest.mark.parametrize("key", ["question", "digest"])
def test_an_edited_results_json_is_refused(folder, key):
    """Its digest covers everything except the layout."""
    kept = json.loads((folder / "results.json").read_text())
    (folder / "results.json").write_text(json.dumps(kept, sort_keys=True))
    assert read(folder).question == results().question
    (folder / "results.json").write_text(json.dumps(kept | {key: f"{kept[key]}!"}))
    with pytest.raises(StoreError, match=r"results\.json: does not match its digest; run the scenario again"):
        read(folder)


def test_a_folder_of_the_format_before_is_read_and_said_once_to_have_no_digest(folder, caplog):
    """Its results.json has no digest; in the current format a digest is required."""
    kept = json.loads((folder / "results.json").read_text())
    del kept["digest"]
    (folder / "results.json").write_text(json.dumps(kept | {"format": 7}))
    assert [read(folder).question for _ in range(2)] == [results().question] * 2
    assert caplog.text.count("without a digest") == 1
    (folder / "results.json").write_text(json.dumps(kept))
    with pytest.raises(StoreError, match="has no digest: it is damaged or was edited"):
        read(folder)


def test_csv_has_no_wall_clock_time():
    """The same runs give the same bytes at any time."""
    slow, fast = (as_csv(table().assign(wall_s=seconds)) for seconds in (9.0, 0.5))
    assert slow == fast
    assert "loss" in slow.splitlines()[0].split(",")


def test_the_command_has_what_the_run_was_asked_for():
    """File, fidelity, seed and changes, quoted for a shell; any text of an untrusted file is one word."""
    told = {"file": "my hosts/a.yaml", "seed": "7", "set": "hardware.cpu.clock=2 GHz; vms.x.count=1, 2"}
    asked = "hostsim run 'my hosts/a.yaml' --seed 7 --set 'hardware.cpu.clock=2 GHz' --axis 'vms.x.count=1, 2'"
    assert rerun_command({"scenario": "a", "quick": False, "provenance": told}) == asked
    assert rerun_command({"scenario": "a; rm\n-r", "provenance": 3}, Path("a; rm\n-r")) == "hostsim run 'a; rm-r'"


def test_figures_and_tables_come_back_with_their_references_limits_and_names(tmp_path: Path) -> None:
    """Figures of a new run can also be drawn from its folder."""
    axes = {"receivers": AxisNames("Receiving VMs", {"1": "one"})}
    figures = (
        FigureSpec("saved", "receivers", "loss", less={"split": 0}, per="host_cpu", lines=(1.0, 2.5), axes=axes),
        AnswersSpec("steps", ("passes",), "Steps", "column"),
        TableSpec("t", (), "receivers", ("loss",), title="Loss", axes=axes),
        TableSpec("u", ("passes",), conditions={"passes": "two receivers: loss"}),
    )
    write(results(figures=figures), tmp_path)
    assert read(tmp_path).figures == figures
