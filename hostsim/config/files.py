"""Files that a user names: paths, text with a size limit, atomic writes, checks of destinations."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import stat
import tempfile
from pathlib import Path

from hostsim.errors import Fault, InputError, StoreError, nearest_name

__all__ = [
    "MAX_BYTES",
    "display_name",
    "find_below",
    "is_below",
    "is_stdout",
    "is_there",
    "read_bytes",
    "read_text",
    "require_file",
    "require_folder",
    "require_root",
    "why_not",
    "write_whole",
]

MAX_BYTES = 4 * 1024 * 1024
"""Largest size of a file, in bytes."""
_MOST_LOOKED_AT = 1000
"""Largest number of files of a folder in the search for the nearest name."""
_LONGEST_NAME = 255
"""Largest number of characters of a file name."""
_STDOUT, _STDERR = 1, 2


def display_name(file: Path) -> str:
    """A path for faults and tables: relative to the working folder if below it."""
    try:
        return str(file.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError, RuntimeError):  # outside; or too long a name, or circular links
        return str(file)


def is_there(file: Path) -> bool:
    """True if a path leads to a regular file, not to a folder, a device or a pipe."""
    try:
        return file.is_file()
    except (OSError, ValueError, RuntimeError):  # too long or an impossible name
        return False


def why_not(file: Path) -> str:
    """The reason why a path is not a regular file."""
    try:
        if file.is_dir():
            return "is a folder"
        if file.exists():
            return "is a device or a pipe"
        return "is a link that leads to no file" if file.is_symlink() else "file not found"
    except PermissionError:
        return "is in a folder that may not be searched"
    except (OSError, ValueError, RuntimeError):
        return "file not found"


def is_below(file: Path, folder: Path) -> bool:
    """True if a path leads into a folder, following links.

    Raises:
        OSError: the path cannot be resolved; also ValueError and RuntimeError for impossible names.
    """
    return file.resolve().is_relative_to(folder.resolve())


def find_below(name: str, beside: Path, root: Path) -> Path:
    """Find the file that another file names.

    Args:
        name: path, relative to ``beside``.
        beside: folder of the file that names it.
        root: folder that must contain it, also through links.

    Raises:
        InputError: missing, or outside of the root; without file and line.
    """
    file = beside / name
    given, allowed = repr(name), f"a file below {display_name(root)}"
    try:
        inside = is_below(file, root)
    except (OSError, ValueError, RuntimeError):
        inside = True  # is_there returns False
    if not inside:
        raise InputError(Fault("leads out of the scenario's root", given=given, allowed=f"{allowed}, or a root above"))
    if not is_there(file):
        raise InputError(Fault("file not found", given=given, allowed=allowed, nearest=_nearest_file(file, name)))
    return file


def require_root(root: Path, file: Path) -> Path:
    """Check that a root folder exists and contains a scenario's file.

    Returns:
        The root.

    Raises:
        InputError: the root is not a folder, or does not contain the file.
    """
    if not root.is_dir():
        raise InputError(Fault("is not a folder", "--root", repr(str(root)), "a folder that contains the scenario"))
    if not is_below(file, root):
        raise InputError(Fault("does not contain the scenario", "--root", repr(str(root)), f"a folder above {file}"))
    return root


def _nearest_file(file: Path, name: str) -> str:
    """The most similar name of a file in the same folder, in the same form."""
    try:
        beside = [other for other in itertools.islice(file.parent.iterdir(), _MOST_LOOKED_AT) if is_there(other)]
    except (OSError, ValueError):  # a missing folder, or an impossible name
        return ""
    # by stem, as most of a short name is its suffix; the same suffix is preferred
    names_by_stem = {other.stem: other.name for other in sorted(beside, key=lambda other: other.suffix == file.suffix)}
    nearest = nearest_name(file.stem[:_LONGEST_NAME], names_by_stem)
    return name.removesuffix(file.name) + names_by_stem[nearest] if nearest else ""


def read_bytes(file: Path, name: str) -> bytes:
    """Read the bytes of a file.

    Args:
        file: the file.
        name: name of the file in faults.

    Raises:
        InputError: missing, unreadable, or too large.
    """
    try:
        if file.exists() and not file.is_file() and not file.is_dir():
            raise InputError(Fault("is a device or a pipe", file=name, allowed="a file"))
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (FileNotFoundError, ValueError):  # or an impossible name
        raise InputError(Fault("file not found", file=name)) from None
    except OSError as error:
        raise InputError(Fault(f"cannot be read: {error.strerror}", file=name)) from None
    if len(data) > MAX_BYTES:
        size, most = f"{file.stat().st_size} bytes", f"at most {MAX_BYTES} bytes, {MAX_BYTES // 2**20} MiB"
        raise InputError(Fault("is too long", file=name, given=size, allowed=most))
    return data


def read_text(file: Path, name: str) -> str:
    """Read the text of a file, without a byte order mark.

    Args:
        file: the file.
        name: name of the file in faults.

    Raises:
        InputError: missing, unreadable, too large, or not UTF-8.
    """
    data = read_bytes(file, name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        given, allowed = f"byte 0x{data[error.start]:02x}", "a text in UTF-8"
        raise InputError(Fault("is not UTF-8", file=name, line=line, given=given, allowed=allowed)) from None


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file atomically: write a temporary file beside it, then rename; folders are created.

    A link remains, and its target is written. A pipe, a device, and the file of stdout or stderr are written directly.
    A new file has the permissions of the umask, an existing one keeps its permissions.

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
    except BrokenPipeError:
        pass  # the reader of the pipe has closed it and needs no more
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
    return path


def is_stdout(path: Path) -> bool:
    """True if a path is the file of stdout."""
    with contextlib.suppress(OSError):
        return _descriptor(path.stat()) == _STDOUT
    return False


def _status(path: Path) -> os.stat_result | None:
    """The status of a path's target; None if missing."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _descriptor(there: os.stat_result) -> int | None:
    """The descriptor of stdout or stderr on a file, or None."""
    for descriptor in (_STDOUT, _STDERR):
        with contextlib.suppress(OSError):  # it is closed
            if os.path.samestat(there, os.fstat(descriptor)):
                return descriptor
    return None


def _replace(target: Path, content: bytes, there: os.stat_result | None) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with unfinished.open("xb") as file:
            file.write(content)
        if there is not None:
            unfinished.chmod(stat.S_IMODE(there.st_mode))
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def require_folder(folder: Path) -> None:
    """Check that files can be written into an existing or new folder, without creating any.

    Raises:
        StoreError: it is not a folder, or cannot be written.
    """
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists() or place.is_symlink())
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror or error}") from error


def require_file(file: Path, *, makes_folder: bool = True) -> None:
    """Check that a file can be written, without creating it. Pipes and devices are not checked.

    Args:
        file: the file.
        makes_folder: True if its folder may be missing; False if that is more likely a mistake in the path.

    Raises:
        StoreError: it is a folder, or cannot be written.
    """
    if file.is_dir():
        raise StoreError(f"{file}: cannot be written: is a folder")
    if file.exists() and not file.is_file():
        return
    if not makes_folder and not file.absolute().parent.exists():
        raise StoreError(f"{file}: cannot be written: there is no folder {file.parent}; make it, or correct the path")
    require_folder(file.absolute().parent)
