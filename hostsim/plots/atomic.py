"""Writing a file so that it is there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hostsim.errors import StoreError

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file beside its place and rename it there; folders are made.

    Returns:
        The path.

    Raises:
        StoreError: the folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(unfinished).chmod(0o644)
            Path(unfinished).replace(path)
        finally:
            Path(unfinished).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
    return path
