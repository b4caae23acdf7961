"""Whether a file or folder can be written, found out before the work whose outcome belongs there."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hostsim.errors import StoreError

__all__ = ["require_file", "require_folder"]


def require_folder(folder: Path) -> None:
    """Check that files can be written into a folder, which need not exist yet; nothing is left behind.

    Raises:
        StoreError: it is no folder, or nothing can be written there.
    """
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists() or place.is_symlink())
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror or error}") from error


def require_file(file: Path) -> None:
    """Check that a file can be written, its folder too where there is none; nothing is left behind. A pipe or a device is left alone.

    Raises:
        StoreError: it is a folder, or nothing can be written there.
    """
    if file.is_dir():
        raise StoreError(f"{file}: cannot be written: is a folder")
    if file.exists() and not file.is_file():
        return
    require_folder(file.absolute().parent)
