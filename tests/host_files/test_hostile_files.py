"""Untrusted files: refused with a message if unreadable, within size limits, and without a traceback."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostsim.errors import InputError
from hostsim.host_files import esxtop, reader
from hostsim.host_files.reader import read_host_files

INPUTS = Path(__file__).parent / "inputs"
HEADER = '"(PDH-CSV 4.0) (UTC)(0)","\\\\h\\Memory\\Kernel MBytes"\n'


def archive() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("esx/commands/nicinfo.sh.txt"))
    return data.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has an unknown format"),
        (b"\0" * 1000, "has an unknown format"),
        (b"scenario: mine\n", "is YAML, which is not imported"),
        (
            b'.encoding = "UTF-8"\nnumvcpus = "2"\n',
            "is a .vmx file, which is not imported; a scenario reads it: vms: GROUP: {vmx:",
        ),
        (b"   Path: /Net/GuestIPHack\n   Type: integer\n", "a scenario reads it: host: {advanced: {file: NAME}}"),
        (
            b"structure[0].Nic.Driver.string=ixgben\n",
            "is written by esxcli --formatter; allowed: the same command without",
        ),
        (
            b'<output xmlns="http://www.vmware.com/Products/ESX/5.0/esxcli">\n<root>',
            "is written by esxcli --formatter; allowed: the same command without",
        ),
        (archive(), "is an archive; allowed: unpack it with `tar xzf`"),
        (gzip.compress(b"x" * 100, mtime=0)[:-4], "cannot be decompressed"),
        (b"\x1f\x8bnot gzip", "cannot be decompressed"),
        (HEADER.encode(), "has no samples"),
        (HEADER.replace(",", ";").encode() + b'"1";"2,5"\n', ":1: is separated by ';'; allowed: commas"),
        (b'"(PDH-CSV 4.0) (UTC)(0)","' + b"x" * 200_000, "has no header of esxtop"),
        (HEADER.encode() + b'"1","' + b"x" * 200_000 + b'"\n', "is not CSV: field larger than field limit"),
        (b'{ "sysinfo": ' + b"[" * 200_000, "is nested too deeply"),
        (b'{ "sysinfo": {}, "stats": []}', "stats: has no intervals"),
        (b'{ "sysinfo": {}, "stats": [1, null, "x"]}', "stats: has no intervals"),
        (b'{ "sysinfo": {}, \n"stats": oops', ":2: is not JSON"),
        (b"\xd4\xc3\xb2\xa1", "has no packets with a time"),
        (
            b"\xd4\xc3\xb2\xa1" + b"\0" * 20 + struct.pack("<IIII", 1, 1, 1 << 31, 60),
            "has a record that is too long, at byte 40",
        ),
        (b"\x0a\x0d\x0d\x0a" + struct.pack("<II", 4, 0x1A2B3C4D), "has a record that is too long"),
        (b"1700000000.0\n" * 3 + b"x\n", ":4: is not a time of tshark"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, content: bytes, message: str) -> None:
    """One fault, with the file."""
    file = tmp_path / "given"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_host_files([file])
    assert message in str(caught.value)
    assert "given" in str(caught.value)


def test_all_files_are_looked_at(tmp_path: Path) -> None:
    """A faulty file does not hide the fault of the next."""
    with pytest.raises(InputError) as caught:
        read_host_files([tmp_path / "absent", INPUTS / "nicinfo.txt", "/dev/zero"])
    assert [fault.message for fault in caught.value.faults] == ["file not found", "is a device or a pipe"]


def test_limits_hold_after_decompression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file may be large when decompressed."""
    monkeypatch.setattr(reader, "MAX_CAPTURE", 100_000)
    file = tmp_path / "bomb.gz"
    file.write_bytes(gzip.compress(HEADER.encode() + b'"12/11/2012 19:09:23","1.00"\n' * 50_000))
    assert file.stat().st_size < 10_000
    with pytest.raises(InputError, match="is too long"):
        read_host_files([file])


def test_text_has_the_limit_of_all_texts(tmp_path: Path) -> None:
    """4 MiB, as of scenario files."""
    file = tmp_path / "long.txt"
    file.write_bytes((INPUTS / "nicinfo.txt").read_bytes() + b"\n" * (4 << 20))
    with pytest.raises(InputError, match="is too long"):
        read_host_files([file])


@pytest.mark.parametrize(
    ("limit", "message"), [("MOST_COLUMNS", "has too many columns"), ("MOST_CELLS", "has too many samples")]
)
def test_a_capture_has_so_many_numbers_at_most(monkeypatch: pytest.MonkeyPatch, limit: str, message: str) -> None:
    """The message has the remedy."""
    monkeypatch.setattr(esxtop, limit, 20)
    with pytest.raises(InputError, match=f"{message}.*allowed: at most"):
        read_host_files([INPUTS / "esxtop.csv"])


def test_a_capture_may_be_compressed(tmp_path: Path) -> None:
    """`esxtop -b | gzip` is the usual way to take it."""
    file = tmp_path / "esxtop.csv.gz"
    file.write_bytes(gzip.compress((INPUTS / "esxtop.csv").read_bytes()))
    packed, plain = read_host_files([file]), read_host_files([INPUTS / "esxtop.csv"])
    assert [one.value for one in packed.readings] == [one.value for one in plain.readings]


def test_a_folder_gives_its_known_files(tmp_path: Path) -> None:
    """Files of the folder and of its commands are read; links, which may lead anywhere, and unknown files are ignored."""
    (tmp_path / "bundle" / "commands" / "deeper").mkdir(parents=True)
    commands = tmp_path / "bundle" / "commands"
    (commands / "nicinfo.sh.txt").write_bytes((INPUTS / "nicinfo.txt").read_bytes())
    (commands / "df.txt").write_text("Filesystem Bytes Used\n")
    (commands / "deeper" / "cpu.txt").write_bytes((INPUTS / "commands-7.txt").read_bytes())
    (commands / "link.txt").symlink_to(INPUTS / "commands-7.txt")
    found = read_host_files([tmp_path / "bundle"])
    assert {Path(one.file).name for one in found.readings} == {"nicinfo.sh.txt"}
    assert any("1 files of other formats" in note for note in found.notes)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="has no file of a known format"):
        read_host_files([tmp_path / "empty"])


SAMPLES = [file.read_bytes() for file in sorted(INPUTS.iterdir())]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    sample=st.sampled_from(SAMPLES),
    cut=st.integers(0, 4000),
    noise=st.binary(max_size=40)
    | st.sampled_from([b"\0", b'"', b"\n", b"{", b"1e999", b"-1", b"\xff\xfe", b"[" * 30, b"nan"]),
    length=st.integers(0, 60),
)
def test_damaged_files_end_with_a_fault_or_a_draft(
    tmp_path: Path, sample: bytes, cut: int, noise: bytes, length: int
) -> None:
    """For any content: no other exception, and a draft that is YAML."""
    import yaml

    from hostsim.host_files.draft import Draft

    place = cut % (len(sample) + 1)
    file = tmp_path / "damaged"
    file.write_bytes(sample[:place] + noise + sample[place + length :])
    try:
        draft = Draft("host", read_host_files([file]))
    except InputError:
        return
    assert isinstance(yaml.safe_load(draft.hardware()), dict)
    assert isinstance(yaml.safe_load(draft.scenario()), dict)
    assert all(one.half is None or one.half > 0 for one in draft.measured)
