"""Writing a file so that it is there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from hostsim.errors import StoreError

__all__ = ["is_stdout", "write_whole"]

_STDOUT, _STDERR = 1, 2


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file beside its place and rename it there; folders are made.

    A link stays, and the file that it leads to is written. Into a pipe or a device, and into what is open as stdout or stderr, is
    written as it stands. A new file has the permissions that the umask leaves, one that was there keeps its own.

    Returns:
        The path.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        there = _status(path)
        descriptor = None if there is None else _descriptor(there)
        if there is None or (descriptor is None and stat.S_ISREG(there.st_mode)):
            _replace(Path(os.path.realpath(path)), content, there)
        else:
            with path.open("wb") if descriptor is None else os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(content)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
    return path


def is_stdout(path: Path) -> bool:
    """True where a path is what stdout is open on: what goes to one goes to the other."""
    with contextlib.suppress(OSError):
        return _descriptor(path.stat()) == _STDOUT
    return False


def _status(path: Path) -> os.stat_result | None:
    """What a path leads to; None where nothing is there yet."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _descriptor(there: os.stat_result) -> int | None:
    """The descriptor of stdout or stderr that is open on a file."""
    for descriptor in (_STDOUT, _STDERR):
        with contextlib.suppress(OSError):  # it is closed
            if os.path.samestat(there, os.fstat(descriptor)):
                return descriptor
    return None


def _replace(target: Path, content: bytes, there: os.stat_result | None) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with unfinished.open("xb") as file:
            file.write(content)
        if there is not None:
            unfinished.chmod(stat.S_IMODE(there.st_mode))
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
