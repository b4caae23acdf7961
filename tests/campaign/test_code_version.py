"""Runs of other versions of the code are kept, and named when one of them would have served."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest
from toy_runs import toy_record

from hostsim.campaign.code_version import ABOUT
from hostsim.campaign.store import Store, code_digest
from hostsim.errors import StoreError

WANTED = ("ab" * 16, 0, 1)


def left_by_another(results: Path, name: str, **parts: str) -> Path:
    """A folder of runs that another version of the code has left, which differs in some parts."""
    for seed in (1, 2):
        Store(results).put(toy_record(seed, 0))
    folder = (results / "runs" / code_digest()).rename(results / "runs" / name)
    about = json.loads((folder / ABOUT).read_text())
    about["parts"] |= {part.replace("__", "/"): value for part, value in parts.items()}
    (folder / ABOUT).write_text(json.dumps(about | {"hostsim": "0.0.7", "first_run": "2026-05-04"}))
    return folder


def notes(results: Path, caplog: pytest.LogCaptureFixture, *wanted: tuple[str, int, int]) -> list[str]:
    """What is said when runs are looked for that the code in use has not made."""
    caplog.clear()
    store = Store(results)
    with caplog.at_level(logging.WARNING):
        for key in wanted or (WANTED,):
            assert store.get(key) is None
    return [record.getMessage() for record in caplog.records]


def test_a_version_says_what_it_is_made_of(tmp_path: Path) -> None:
    """Beside its runs, and once: neither a second run nor a second store writes it again."""
    Store(tmp_path).put(toy_record(1, 0))
    file = tmp_path / "runs" / code_digest() / ABOUT
    about = json.loads(file.read_text())
    assert about.keys() == {"hostsim", "python", "first_run", "parts"}
    assert {"campaign/simulate", "model/receive/nic", "numpy"} <= about["parts"].keys()
    file.write_text("{}")
    Store(tmp_path).put(toy_record(2, 0))
    assert file.read_text() == "{}"


def test_modules_that_differ_are_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever asks for both runs again is told once, and both are still there."""
    folder = left_by_another(tmp_path, "0123456789abcdef", engine__ring="other", model__receive__nic="other")
    [note] = notes(tmp_path, caplog, WANTED, ("ab" * 16, 0, 2))
    assert note == (
        f"{tmp_path / 'runs'}: runs of other versions of the code are kept there and not reused:\n"
        "  0123456789abcdef: 2 runs of hostsim 0.0.7, the first on 2026-05-04; differs in engine/ring, model/receive/nic"
    )
    assert len(list(folder.rglob("*.parquet"))) == 2


def test_parts_that_came_and_went_are_named_and_long_lists_cut(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A part of the other version that is gone counts as one that differs."""
    left_by_another(tmp_path, "0123456789abcdef", **{f"model__gone{number}": "other" for number in range(8)})
    [note] = notes(tmp_path, caplog)
    assert note.endswith("differs in " + "".join(f"model/gone{number}, " for number in range(6)) + "and 2 more")


def test_nothing_is_said_of_runs_that_no_other_version_has(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A new question is run without a word, as soon as the version has runs of its own; so is one where there are none."""
    left_by_another(tmp_path, "0123456789abcdef")
    Store(tmp_path).put(toy_record(3, 0))
    assert notes(tmp_path, caplog, ("cd" * 16, 0, 1)) == []
    assert len(notes(tmp_path, caplog, ("cd" * 16, 0, 1), WANTED)) == 1
    (tmp_path / "new" / "runs" / "0123456789abcdef").mkdir(parents=True)
    assert notes(tmp_path / "new", caplog) == []
    assert notes(tmp_path / "elsewhere", caplog) == []


def test_a_version_without_runs_tells_of_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Points may have got other hashes, and then nothing else would say why all is run again."""
    left_by_another(tmp_path, "0123456789abcdef")
    assert len(notes(tmp_path, caplog, ("cd" * 16, 0, 1), ("cd" * 16, 0, 2))) == 1


@pytest.mark.parametrize("about", [None, "", "[]", '{"parts": 3}', '{"hostsim": "1", "first_run": "", "parts": []}'])
def test_a_version_that_did_not_note_its_modules_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, about: str | None
) -> None:
    """As those of hostsim before there were such notes, or a file that somebody put there."""
    folder = left_by_another(tmp_path, "0123456789abcdef")
    if about is None:
        (folder / ABOUT).unlink()
    else:
        (folder / ABOUT).write_text(about)
    [note] = notes(tmp_path, caplog)
    assert note.endswith("\n  0123456789abcdef: 2 runs of an earlier version, which did not note its modules")


def test_no_link_out_of_the_results_folder_is_followed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Neither to read the file of another version, nor to write that of the code in use, nor to look for runs."""
    results, mine = tmp_path / "results", tmp_path / "mine.json"
    folder = left_by_another(results, "0123456789abcdef")
    (folder / ABOUT).rename(mine)
    (folder / ABOUT).symlink_to(mine)
    [note] = notes(results, caplog)
    assert note.endswith("2 runs of an earlier version, which did not note its modules")
    folder.rename(tmp_path / "elsewhere")
    (results / "runs/0123456789abcdef").symlink_to(tmp_path / "elsewhere")
    assert notes(results, caplog) == []
    own = results / "runs" / code_digest() / ABOUT
    own.parent.mkdir()
    own.symlink_to(tmp_path / "new.json")
    with pytest.raises(StoreError, match="leads out of"):
        Store(results).put(toy_record(1, 0))
    assert not (tmp_path / "new.json").exists()


@pytest.mark.parametrize("about", ["[" * 60_000, json.dumps({"parts": {"engine/ring": "x" * 65_536}})])
def test_a_note_that_is_too_deep_or_too_large_is_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, about: str
) -> None:
    """The runs are counted all the same."""
    folder = left_by_another(tmp_path, "0123456789abcdef")
    whole = {"hostsim": "0.0.7", "first_run": "2026-05-04"}
    (folder / ABOUT).write_text(about if about.startswith("[") else json.dumps(json.loads(about) | whole))
    [note] = notes(tmp_path, caplog)
    assert note.endswith("2 runs of an earlier version, which did not note its modules")


def test_a_note_reaches_the_terminal_without_control_characters(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """They would move the cursor, and lines would be taken for those of hostsim; names that are too long are cut."""
    folder = left_by_another(tmp_path, "01234567\x1b[2J", **{"model__\x1b[31mgone": "other"})
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps(about | {"hostsim": "1\r\n2" + "3" * 100, "first_run": "\u202etoday"}))
    [note] = notes(tmp_path, caplog)
    assert note.splitlines()[1:] == [
        f"  01234567[2J: 2 runs of hostsim 12{'3' * 78}, the first on today; differs in model/[31mgone"
    ]


def test_of_many_versions_the_latest_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The others are counted."""
    for number in range(5):
        folder = left_by_another(tmp_path, f"{number}" * 16, numpy=f"{number}")
        os.utime(folder, (number, number))
    [note] = notes(tmp_path, caplog)
    lines = note.splitlines()[1:]
    assert [line.split(":")[0].strip() for line in lines[:3]] == ["4" * 16, "3" * 16, "2" * 16]
    assert lines[3] == "  4 runs of 2 older versions"
