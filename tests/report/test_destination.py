"""Places for output are looked at before the work, and what is no file or folder is left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hostsim.errors import StoreError
from hostsim.report.destination import require_file, require_folder


def test_a_pipe_is_taken_as_it_is() -> None:
    """As a shell's ``>(...)`` hands it over, in a folder that nobody writes into."""
    reading, writing = os.pipe()
    require_file(Path(f"/dev/fd/{writing}"))
    os.close(reading)
    os.close(writing)


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """Not even folders that are still to be made."""
    require_file(tmp_path / "new" / "claims.xml")
    require_folder(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="is a folder"):
        require_file(tmp_path)
    with pytest.raises(StoreError, match="cannot be written"):
        require_folder(tmp_path / "file" / "below")
