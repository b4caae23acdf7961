"""Files are there whole or not at all."""

from __future__ import annotations

import pytest

from hostsim.errors import StoreError
from hostsim.plots.atomic import write_whole


def test_an_existing_file_is_replaced_and_folders_are_made(tmp_path):
    """A second writing leaves the second content only."""
    path = tmp_path / "a" / "b.txt"
    write_whole(path, b"first")
    assert write_whole(path, b"second").read_bytes() == b"second"
    assert [entry.name for entry in path.parent.iterdir()] == ["b.txt"]


def test_a_folder_that_cannot_be_written_is_an_error_of_the_family(tmp_path):
    """A file in the place of a folder is told, not thrown as an operating system's error."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot be written"):
        write_whole(tmp_path / "file" / "below", b"x")
