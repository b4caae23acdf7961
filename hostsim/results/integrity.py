"""Integrity of a results folder: files are confined to it, small, of a known format, and undamaged.

A results folder may come from another user, and reading it must be harmless. So each file is checked before it is opened: its target,
kind and size.

A digest detects damage and manual edits. It has no key, so it does not detect forgery: anyone who writes a file can write its digest.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import re
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hostsim.config.files import is_below
from hostsim.errors import StoreError

__all__ = [
    "BLANK",
    "DIGEST_KEY",
    "FORMAT",
    "MOST_BYTES",
    "MOST_CELLS",
    "confined",
    "json_digest",
    "require_digest",
    "require_inside",
    "require_small_table",
    "require_small_text",
    "require_whole",
    "sweep_unfinished",
    "with_digest",
]

MOST_BYTES = 256 * 1024 * 1024
"""Largest size of a file in a results folder, and of a decompressed table, in bytes."""
MOST_CELLS = 50_000_000
"""Largest number of values of a table, half a gigabyte in memory. The file size does not limit it, as equal values take
no space in a file.
"""
_ABANDONED_S = 24 * 3600
"""Age after which an unfinished file has no writer; writing takes seconds."""
_UNFINISHED = re.compile(r".+\.[0-9a-f]{8,32}\.tmp")


def confined(folder: Path, file: Path) -> Path:
    """Check a file of a results folder before it is opened or written; it may be missing.

    Args:
        folder: the results folder, which may be a link.
        file: path of the file, below the folder.

    Returns:
        The file.

    Raises:
        StoreError: a link leads out of the folder, or the file is not regular or too large.
    """
    require_inside(folder, file)
    try:
        status = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return file
    except OSError as error:
        raise StoreError(f"{file}: cannot be reached: {error.strerror or error}") from error
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{file}: is a {'folder' if stat.S_ISDIR(status.st_mode) else 'pipe or a device'}, not a file")
    if status.st_size > MOST_BYTES:
        raise StoreError(f"{file}: is too large: {status.st_size} bytes; at most {MOST_BYTES}")
    return file


def require_inside(folder: Path, path: Path) -> None:
    """Check that no link leads from a path below a results folder out of it.

    Raises:
        StoreError: a link does, or links are circular.
    """
    try:
        inside = is_below(path, folder)
    except (OSError, RuntimeError) as error:
        raise StoreError(f"{path}: cannot be reached: {error}") from error
    if not inside:
        raise StoreError(f"{path}: leads out of {folder}; put a folder or a file in place of the link")


def require_small_table(file: Path, metadata: Any) -> None:
    """Check the size of a table by the head of its Parquet file, before decompression.

    Args:
        file: the table.
        metadata: a ``pyarrow.parquet.FileMetaData``.

    Raises:
        StoreError: it is too large.
    """
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    columns = [group.column(index) for group in groups for index in range(group.num_columns)]
    cells = max(metadata.num_rows * metadata.num_columns, sum(column.num_values for column in columns))
    if cells > MOST_CELLS:
        raise StoreError(f"{file}: is too large a table: {cells} values; at most {MOST_CELLS}")
    size = sum(column.total_uncompressed_size for column in columns)
    if size > MOST_BYTES:
        raise StoreError(f"{file}: is too large a table: {size} bytes unpacked; at most {MOST_BYTES}")


def require_small_text(file: Path, size: int) -> None:
    """Check the size of a column of text with a separate text in each row.

    Raises:
        StoreError: it is too large.
    """
    if size > MOST_BYTES:
        raise StoreError(f"{file}: is too large a table: {size} bytes of text; at most {MOST_BYTES}")


def sweep_unfinished(folder: Path, pattern: str = "*.tmp") -> None:
    """Remove unfinished files of killed writers that are older than a day.

    Args:
        folder: the folder; may be missing.
        pattern: of folders to search; by default the folder only.
    """
    oldest = time.time() - _ABANDONED_S
    for file in folder.glob(pattern):
        if _UNFINISHED.fullmatch(file.name) is None:
            continue
        with contextlib.suppress(OSError):  # another process removes them, or permission is missing
            status = file.lstat()
            if stat.S_ISREG(status.st_mode) and status.st_mtime < oldest:
                file.unlink()


_log = logging.getLogger(__name__)

FORMAT = 8
"""Version of the layout of stored runs and results folders."""

DIGEST_KEY = "hostsim.digest"
"""Metadata key of the digest of a Parquet file."""
BLANK = "0" * 64
"""Placeholder of a digest during its computation."""
_LEAD = DIGEST_KEY.encode() + b"\x18\x40"
"""Bytes before a digest: Thrift's type and length of the value. No other metadata match, as JSON does not have these characters."""


def json_digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of a mapping of JSON values, independent of layout."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


def with_digest(file: bytes) -> bytes:
    """A Parquet file with a blank digest, filled with the SHA-256 of its bytes."""
    start, end = _digest_span(file)
    assert file[start:end] == BLANK.encode()
    return file[:start] + hashlib.sha256(file).hexdigest().encode() + file[end:]


def require_whole(file: bytes) -> bool:
    """Check the bytes of a Parquet file before parsing, as a damaged footer can end the process.

    Returns:
        True if it has a digest.

    Raises:
        ValueError: it has one that does not match.
    """
    start, end = _digest_span(file)
    if start < 0:
        return False
    digest = hashlib.sha256(file[:start] + BLANK.encode() + file[end:]).hexdigest()
    if file[start:end] != digest.encode():
        raise ValueError("does not match its digest: it is damaged or was edited")
    return True


def require_digest(results: Path, format_number: int, earlier: int, *, has_digest: bool) -> None:
    """Check the format of a file. The older format has no digest, which is logged once for each results folder.

    Args:
        results: the results folder.
        format_number: format of the file.
        earlier: format before `FORMAT` of such files.
        has_digest: whether it has a valid digest.

    Raises:
        ValueError: it has another format, or lacks its digest.
    """
    if format_number not in (FORMAT, earlier):
        raise ValueError(f"has format {format_number}, not {FORMAT}")
    if format_number == FORMAT and not has_digest:
        raise ValueError("has no digest: it is damaged or was edited")
    if not has_digest:
        _warn(results)


@functools.cache
def _warn(results: Path) -> None:
    _log.warning(
        "%s: contains files of an earlier version of hostsim without a digest: damage to them is not detected", results
    )


def _digest_span(file: bytes) -> tuple[int, int]:
    """Position of the digest; negative without one."""
    start = file.rfind(_LEAD) + len(_LEAD)
    return (start, start + len(BLANK)) if start >= len(_LEAD) else (-1, -1)
