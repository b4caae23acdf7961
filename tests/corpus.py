"""The corpus of faulty files: initial texts, the changes of each case, and the required messages.

A case of ``tests/corpus/GROUP.yaml`` is ``name: {change | add | text: ..., told: [...]}``: pairs of old and new text, lines to add, or a
whole file in place of the group's own. ``told`` lists all lines on stderr; lists that grow with the product are written
as words in braces. A byte that is not UTF-8 is written as ``<byte e9>``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from hostsim.scenario.shipped_data import shipped_parts
from tests.scenario.small_scenario import TEXT

FOLDER = Path(__file__).parent / "corpus"

HARDWARE = """\
hardware: box
cpu: {model: x, family: westmere-ex, sockets: 2, cores: 4, clock: 2 GHz}
nics:
  vmnic0: {model: x, line_rate: 10 Gbit/s, node: 0, rx_ring: 512, driver: ixgbe, interrupt_interval: 50 us}
"""
VMX = """\
.encoding = "UTF-8"
config.version = "8"
displayName = "web"
numvcpus = "2"
memSize = "4096"
sched.cpu.shares = "normal"
ethernet0.present = "TRUE"
ethernet0.virtualDev = "vmxnet3"
ethernet0.networkName = "VM Network"
ethernet0.generatedAddress = "00:50:56:8a:00:01"
ethernet0.coalescingScheme = "rbc"
scsi0:0.fileName = "web.vmdk"
"""
ADVANCED = """\
   Path: /Net/MaxPortRxQueueLen
   Type: integer
   Int Value: 160
   Default Int Value: 80
   Min Value: 1
   Max Value: 500
   String Value:
   Default String Value:
   Valid Characters:
   Description: Max length of the rx queue for virtual ports

   Path: /Net/CoalesceScheme
   Type: string
   Int Value: 0
   Default Int Value: 0
   String Value: rbc
   Default String Value: rbc
   Description: vNIC coalescing

   Path: /Mem/ShareScanTime
   Type: integer
   Int Value: 60
   Default Int Value: 60
"""


@dataclass(frozen=True)
class Group:
    """The initial texts of a group's cases."""

    file: str
    """The file that they change."""
    text: str
    """The group's file without a fault."""
    named_by: tuple[str, str] | None = None
    """The scenario without the file, and with it."""


GROUPS = {
    "scenario": Group("small.yaml", TEXT),
    "vmx": Group("web.vmx", VMX, ('{ethernet0.emuRxMode: "0"}', "{file: web.vmx}")),
    "settings": Group("host.txt", ADVANCED, ("vms:\n", "host: {advanced: {file: host.txt}}\nvms:\n")),
    "platform": Group("own.yaml", "platform: mine\nextends: esxi-5.0\n", ("esxi-5.0", "./own.yaml")),
    "hardware": Group("own.yaml", HARDWARE, ("dell-r810", "./own.yaml")),
    "guest": Group("own.yaml", "guest: mine\nextends: rhel6\n", ("rhel6", "./own.yaml")),
}

WORDS = {
    **{f"{{{kind}}}": ", ".join(shipped_parts(kind)) for kind in ("platforms", "hardware", "nics", "guests")},
}
"""Lists in messages that grow with the product."""


@cache
def cases(group: str) -> dict[str, dict[str, Any]]:
    """The cases of a group by name."""
    text = (FOLDER / f"{group}.yaml").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = yaml.load(text, Loader=yaml.CSafeLoader)
    return found


def write(folder: Path, group: str, case: dict[str, Any]) -> Path:
    """Writes the files of a case; returns the scenario."""
    start = GROUPS[group]
    scenario = folder / "small.yaml"
    if start.named_by is not None:
        assert start.named_by[0] in TEXT
        scenario.write_text(TEXT.replace(*start.named_by, 1), encoding="utf-8")
    text = case.get("text", start.text)
    for old, new in case.get("change", ()):
        assert old in text, old
        text = text.replace(old, new, 1)
    data = (text + case.get("add", "")).encode()
    (folder / start.file).write_bytes(re.sub(rb"<byte ([0-9a-f]{2})>", lambda m: bytes([int(m[1], 16)]), data))
    return scenario


def told(case: dict[str, Any]) -> list[str]:
    """The required lines of a case, with lists filled in."""
    lines = []
    for line in case["told"]:
        for word, text in WORDS.items():
            line = line.replace(word, text)
        lines.append(line)
    return lines
