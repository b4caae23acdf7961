"""Hostile files: the real command refuses them with status 2, quickly, with little memory, and without side effects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenario.small_scenario import TEXT, changed

MOST_CPU_S = 2.0
"""Processor time without imports, on the machine of the fixture `slowness`."""
MOST_MIB = 200


def _many(what: str, count: int) -> str:
    return ", ".join(f"{n}{what}" for n in range(1, count + 1))


def sweep() -> str:
    """10^9 points in a few kilobytes."""
    third = f"  size: {{set: traffic.stream.packet_size, values: [{_many(' B', 1000)}]}}\nfigures:"
    rates = f"{{set: traffic.stream.rate, values: [{_many(' pps', 1000)}]}}"
    return changed(
        ("values: [1, 2]}", f"values: [{_many('', 1000)}]}}"),
        ('{set: vms.receiver.vmx.ethernet0.emuRxMode, values: ["0", "1"]}', rates),
        ("figures:", third),
    )


def quantities(count: int) -> str:
    """The given number of quantities of nearly 10,000 characters, each with its unit after many blanks and a line feed."""
    blanks = " " * 9900
    values = ", ".join(f'"{n}{blanks}x\\ny"' for n in range(count))
    return changed(("values: [1, 2]}", f"values: [{values}]}}"), ("vms.receiver.count", "traffic.stream.rate"))


LAUGHS = "\n".join(["a0: &a0 [x, x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 30))])
FILES: dict[str, tuple[str | bytes, str]] = {
    "longer than 4 MiB": (TEXT + "#" * (4 << 20), "is too long"),
    "comments of 4 MiB without end": ("#\n" * ((2 << 20) - 1) + "[", "lacks a value"),
    "aliases of aliases": (LAUGHS, "anchors are not allowed"),
    "lists in lists": ("[" * (1 << 20), "is nested too deeply"),
    "mappings in mappings": ("{a: " * (1 << 20), "is nested too deeply"),
    "a million keys": ("".join(f"k{n}: 1\n" for n in range(300_000)), "is more than the allowed number of keys"),
    "a million entries": ("- a\n" * 1_000_000, "is more than the allowed number of values"),
    "a text of megabytes": (changed(("What happens?", "x" * 4_000_000)), "is too long"),
    "a quantity of many blanks": (changed(("40 kpps", '"1' + " " * 9900 + 'x\\ny"')), "is not a rate"),
    "4 MiB of quantities of many blanks": (quantities(420), "is not a rate"),
    "UTF-16": (TEXT.encode("utf-16"), "is not UTF-8"),
    "Latin 1": (changed(("What happens?", "Qué pasa?")).encode("latin-1"), "is not UTF-8"),
    "zeros": (b"\0" * (1 << 20), "which YAML does not allow"),
    "an object": (
        changed(("count: 2", "count: !!python/object/apply:os.system ['touch run']")),
        "tags are not allowed",
    ),
    "a new object": (
        changed(("count: 2", "count: !!python/object/new:os.system ['touch run']")),
        "tags are not allowed",
    ),
    "a module": (changed(("count: 2", "count: !!python/module:antigravity")), "tags are not allowed"),
    "a million points": (
        changed(
            ("values: [1, 2]}", f"values: [{_many('', 1000)}]}}"),
            (
                '{set: vms.receiver.vmx.ethernet0.emuRxMode, values: ["0", "1"]}',
                f"{{set: traffic.stream.rate, values: [{_many(' pps', 1000)}]}}",
            ),
        ),
        "given 1000 x 1000 = 1000000; allowed: at most 10000",
    ),
    "a thousand million points": (sweep(), "given 1000 x 1000 x 1000 = 1000000000; allowed: at most 10000"),
    "4,900 values that cannot be": (changed(("[1, 2]", str(list(range(4097, 9_000))))), "which are not checked"),
    "keys that are nearly known": (
        changed(('{ethernet0.emuRxMode: "0"}', "{" + ", ".join(f"ethernet0.emuRxMod{n}: 1" for n in range(900)) + "}")),
        "has more faults, which are not checked",
    ),
    "a .vmx file of megabytes": (changed(('{ethernet0.emuRxMode: "0"}', "{file: long.vmx}")), "has too many lines"),
    "a .vmx file full of faults": (changed(('{ethernet0.emuRxMode: "0"}', "{file: bad.vmx}")), "which are not"),
    "a list of settings of megabytes": (
        changed(("vms:\n", "host: {advanced: {file: long.txt}}\nvms:\n")),
        "which are not",
    ),
    "another file as part": (changed(("rhel6", "../../../../../../../../etc/passwd")), "leads out of"),
    "the root as part": (changed(("dell-r810", "/dev/zero")), "leads out of"),
    "a part that extends itself": (changed(("esxi-5.0", "./circle.yaml")), "extends itself"),
    "a part that extends without end": (changed(("esxi-5.0", "./chain0.yaml")), "extends too many files"),
    "a pipe as part": (changed(("rhel6", "./pipe.yaml")), "file not found"),
    "a name that no system can have": (changed(("rhel6", "./" + "x" * 5000)), "file not found"),
    "a terminal's commands": (changed(("What happens?", '"\\e]0;owned\\a"')), "contains the non-printable character"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with parts that are traps."""
    (tmp_path / "circle.yaml").write_text("platform: x\nextends: ./round.yaml\n")
    (tmp_path / "round.yaml").write_text("platform: x\nextends: ./circle.yaml\n")
    for n in range(30):
        (tmp_path / f"chain{n}.yaml").write_text(f"platform: x\nextends: ./chain{n + 1}.yaml\n")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "long.vmx").write_text("".join(f'guestinfo{n}.key = "x"\n' for n in range(150_000)))
    (tmp_path / "bad.vmx").write_text(
        "".join(f'ethernet0.coalescingSchem{n} = "x"\nethernt{n} = 1\n' for n in range(2400))
    )
    settings = (
        f"Path: /Net/CoalesceSchem{n}\nType: integer\nInt Value: x\nDefault Int Value: 0\n" for n in range(15_000)
    )
    (tmp_path / "long.txt").write_text("\n".join(settings))
    return tmp_path


SERVER = """
import json, os, resource, sys
sys.argv = ["hostsim", "run", "small.yaml"]
from hostsim.__main__ import main

def answer(folder):
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        for name, stream in ("out", 1), ("err", 2):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        resource.setrlimit(resource.RLIMIT_CPU, (600, 600))  # ends one that would never
        try:
            main()
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code)  # to take all apart that was imported lasts longer than to refuse most files
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024

try:
    main()  # so that what it takes to refuse a file is imported once
except SystemExit:
    pass
for line in sys.stdin:
    print(json.dumps(answer(line.rstrip())), flush=True)
"""
"""The command's entry point in forks of a small process that has imported it: a child's memory counts in addition to that."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """A process that runs the command on the scenario of each given folder."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SERVER]
    folder, pipe = tmp_path_factory.mktemp("server"), subprocess.PIPE
    (folder / "small.yaml").write_text(changed(("rhel6", "nothing")))
    with subprocess.Popen(
        command, cwd=folder, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment, text=True
    ) as process:
        yield process
        process.stdin.close()


def refuse(server: subprocess.Popen[str], folder: Path) -> tuple[int, str, str, float, float]:
    """The command on a folder's scenario: status, stdout, stderr, processor seconds, MiB."""
    server.stdin.write(f"{folder}\n")
    server.stdin.flush()
    status, seconds, memory = json.loads(server.stdout.readline())
    told = [(folder / name).read_text() for name in ("out", "err")]
    return status, told[0], told[1], seconds, memory


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_refused_quickly_and_does_nothing(
    folder: Path, server: subprocess.Popen[str], slowness: float, name: str
) -> None:
    """Status 2, a message and no traceback; under two processor seconds and 200 MiB; no other file exists afterwards."""
    text, words = FILES[name]
    (folder / "small.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    before = sorted(folder.iterdir())
    status, said, told, seconds, memory = refuse(server, folder)
    assert (status, said) == (2, ""), told[-2000:]
    assert words in told
    assert "Traceback" not in told
    assert seconds < MOST_CPU_S * slowness
    assert memory < MOST_MIB
    assert sorted(folder.iterdir()) == sorted([*before, *(folder / name for name in ("out", "err"))])
