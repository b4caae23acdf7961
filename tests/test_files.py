"""Files are written completely or not at all, special files in place; destinations are checked before the work."""

from __future__ import annotations

import os
import pty
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostsim.config.files import read_text, require_file, require_folder, write_whole
from hostsim.errors import InputError, StoreError
from tests.conftest import HANGS_S


@pytest.fixture
def umask() -> Iterator[None]:
    """Only the owner may read it."""
    former = os.umask(0o077)
    yield
    os.umask(former)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_an_existing_file_is_replaced_and_folders_are_made(tmp_path):
    """A second write leaves only the second content."""
    path = tmp_path / "a" / "b.txt"
    write_whole(path, b"first")
    assert write_whole(path, b"second").read_bytes() == b"second"
    assert [entry.name for entry in path.parent.iterdir()] == ["b.txt"]


def test_a_folder_that_cannot_be_written_is_an_error_of_the_family(tmp_path):
    """A file in place of a folder, a folder in place of a file, a link to itself: reported, not raised as an operating system's error."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path / "file" / "below", tmp_path, tmp_path / "loop"):
        with pytest.raises(StoreError, match="cannot be written"):
            write_whole(path, b"x")
    assert (tmp_path / "loop").is_symlink()


def test_the_umask_rules_new_files_and_no_others(tmp_path, umask):
    """An existing file keeps its permissions."""
    path = write_whole(tmp_path / "file", b"x")
    assert mode(path) == 0o600
    path.chmod(0o640)
    assert mode(write_whole(path, b"y")) == 0o640


def test_a_link_stays_and_its_target_is_written(tmp_path):
    """Through two links; also if the target does not exist yet."""
    (tmp_path / "there").mkdir()
    for name, content in (("old", b"first"), ("new", None)):
        target = tmp_path / "there" / name
        if content is not None:
            target.write_bytes(content)
        (tmp_path / f"{name}.1").symlink_to(Path("there") / name)
        (tmp_path / f"{name}.2").symlink_to(f"{name}.1")
        write_whole(tmp_path / f"{name}.2", b"second")
        assert target.read_bytes() == b"second"
        assert (tmp_path / f"{name}.1").is_symlink()
        assert (tmp_path / f"{name}.2").is_symlink()
    assert sorted(entry.name for entry in (tmp_path / "there").iterdir()) == ["new", "old"]


def test_a_pipe_stays_and_is_written_into(tmp_path):
    """Named, by a link, or by its descriptor as in a shell's >(...)."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "link").symlink_to(fifo)
    for path in (fifo, tmp_path / "link"):
        read: list[bytes] = []
        reader = threading.Thread(target=lambda read=read: read.append(fifo.read_bytes()), daemon=True)
        reader.start()
        write_whole(path, b"content")
        reader.join(timeout=HANGS_S)
        assert read == [b"content"]
        assert stat.S_ISFIFO(fifo.stat().st_mode)
    ours, theirs = os.pipe()
    write_whole(Path(f"/dev/fd/{theirs}"), b"content")
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        assert pipe.read() == b"content"


def test_a_device_stays_and_is_written_into(tmp_path):
    """A terminal, by a link."""
    ours, theirs = pty.openpty()
    (tmp_path / "terminal").symlink_to(os.ttyname(theirs))
    write_whole(tmp_path / "terminal", b"content")
    assert os.read(ours, 100) == b"content"
    assert stat.S_ISCHR((tmp_path / "terminal").stat().st_mode)
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("place", ["/dev/stdout", "out"])
def test_what_stdout_is_open_on_is_written_in_turn(tmp_path, place):
    """A file opened by the shell: content written before and after stays."""
    code = (
        "import sys; from pathlib import Path; from hostsim.config.files import require_file, require_folder, write_whole\n"
        f"print('before', flush=True); write_whole(Path({place!r}), b'content\\n'); print('after')"
    )
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, cwd=tmp_path, check=True)
    assert (tmp_path / "out").read_text() == "before\ncontent\nafter\n"


def test_a_pipe_is_a_destination_as_it_is() -> None:
    """An example is a shell's ``>(...)``, in a folder without write permission."""
    reading, writing = os.pipe()
    require_file(Path(f"/dev/fd/{writing}"))
    os.close(reading)
    os.close(writing)


def test_checking_a_destination_leaves_nothing_behind(tmp_path: Path) -> None:
    """Folders that are still to be made are not left behind either."""
    require_file(tmp_path / "new" / "claims.xml")
    require_folder(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path: Path) -> None:
    """Reported before the work, not after it."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="is a folder"):
        require_file(tmp_path)
    with pytest.raises(StoreError, match="cannot be written"):
        require_folder(tmp_path / "file" / "below")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a" * 300, "cannot be read: File name too long"),
        ("a/" * 3000, "File name too long"),
        ("a\0b", "file not found"),
    ],
    ids=["name", "path", "zero byte"],
)
def test_a_name_that_no_system_can_have_is_a_fault_of_the_input(tmp_path, name, said):
    """Like a missing file."""
    with pytest.raises(InputError, match=said):
        read_text(tmp_path / name, "it")
