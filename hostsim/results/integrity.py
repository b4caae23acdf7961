"""Integrity of a results folder: the format of its files, and digests that detect changes.

A digest detects damage and manual edits. It has no key, so it does not detect forgery: anyone who writes a file can write its digest.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["BLANK", "DIGEST_KEY", "FORMAT", "json_digest", "require_digest", "require_whole", "with_digest"]

_log = logging.getLogger(__name__)

FORMAT = 8
"""Version of the layout of stored runs and results folders."""

DIGEST_KEY = "hostsim.digest"
"""Metadata key of the digest of a Parquet file."""
BLANK = "0" * 64
"""Placeholder of a digest during its computation."""
_LEAD = DIGEST_KEY.encode() + b"\x18\x40"
"""Bytes before a digest: Thrift's type and length of the value. JSON has no such character, so that no other metadata match."""


def json_digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of a mapping of JSON values, independent of layout."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


def with_digest(file: bytes) -> bytes:
    """A Parquet file with a blank digest, filled with the SHA-256 of its bytes."""
    start, end = _place(file)
    assert file[start:end] == BLANK.encode()
    return file[:start] + hashlib.sha256(file).hexdigest().encode() + file[end:]


def require_whole(file: bytes) -> bool:
    """Check the bytes of a Parquet file before parsing, as a damaged footer can end the process.

    Returns:
        True if it has a digest.

    Raises:
        ValueError: it has one that does not match.
    """
    start, end = _place(file)
    if start < 0:
        return False
    digest = hashlib.sha256(file[:start] + BLANK.encode() + file[end:]).hexdigest()
    if file[start:end] != digest.encode():
        raise ValueError("does not match its digest: it is damaged or was edited")
    return True


def require_digest(results: Path, given: int, earlier: int, *, has_digest: bool) -> None:
    """Check the format of a file. The older format has no digest, which is logged once for each results folder.

    Args:
        results: the results folder.
        given: format of the file.
        earlier: format before `FORMAT` of such files.
        has_digest: whether it has a valid digest.

    Raises:
        ValueError: it is of another format, or lacks its digest.
    """
    if given not in (FORMAT, earlier):
        raise ValueError(f"has format {given}, not {FORMAT}")
    if given == FORMAT and not has_digest:
        raise ValueError("has no digest: it is damaged or was edited")
    if not has_digest:
        _warn(results)


@functools.cache
def _warn(results: Path) -> None:
    _log.warning(
        "%s: contains files of an earlier version of hostsim without a digest: damage to them is not detected", results
    )


def _place(file: bytes) -> tuple[int, int]:
    """Position of the digest; negative without one."""
    start = file.rfind(_LEAD) + len(_LEAD)
    return (start, start + len(BLANK)) if start >= len(_LEAD) else (-1, -1)
