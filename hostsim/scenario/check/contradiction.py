"""Contradictions between settings of one host or VM: a least value above its greatest one, a processor that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hostsim.errors import Fault
from hostsim.scenario.schema import PointFile
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree
from hostsim.spec.host import HardwareSpec
from hostsim.spec.platform import PlatformSpec, SettingSpec

__all__ = ["contradictions"]

ORDERED = {
    "advanced": (
        ("Cpu.CoschedCostartThreshold", "Cpu.CoschedCostopThreshold"),
        ("Net.NetNetqTxPackKpps", "Net.NetNetqTxUnpackKpps"),
    ),
    "vmx": (
        ("sched.cpu.min", "sched.cpu.max"),
        ("sched.mem.min", "sched.mem.max"),
        ("sched.mem.minSize", "sched.mem.max"),
    ),
}
"""Pairs of settings of which the first is never above the second."""
_OPEN = ("unlimited", "-1")
"""What a limit says where there is none."""
_AFFINITY = "sched.cpu.affinity"
_PCPUS = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def contradictions(tree: Tree, file: PointFile, hardware: HardwareSpec, platform: PlatformSpec) -> Iterator[Fault]:
    """Settings that cannot hold together, whether or not they are modelled.

    Args:
        tree: the scenario.
        file: the same, read; each setting by itself is sound.
        hardware: the server.
        platform: whose settings and defaults apply.
    """
    yield from _in_order(tree, ("host", "advanced"), file.host.advanced, platform.advanced)
    for name, group in file.vms.items():
        path: KeyPath = ("vms", name, "vmx")
        yield from _in_order(tree, path, group.vmx, platform.vmx)
        if _AFFINITY in group.vmx and not _is_affinity(str(group.vmx[_AFFINITY]), hardware.cpu.pcpus):
            allowed = f"all, or PCPUs 0..{hardware.cpu.pcpus - 1} with commas between: 0,2,4-7"
            yield tree.fault((*path, _AFFINITY), "names PCPUs that the server does not have", allowed)


def _in_order(
    tree: Tree, path: KeyPath, written: Mapping[str, object], table: Mapping[str, SettingSpec]
) -> Iterator[Fault]:
    """Limits that are none, and pairs of which the first is above the second."""
    for name in dict.fromkeys(high for _, high in ORDERED[path[-1]] if high in written):  # type: ignore[index]
        if _number(written[name]) is None and str(written[name]) not in _OPEN:
            yield tree.fault((*path, name), "is no limit", 'a number from 0 on, or "unlimited"')
    for low, high in ORDERED[path[-1]]:  # type: ignore[index]
        if low not in table or high not in table or (low not in written and high not in written):
            continue
        least, most = (_number(written.get(name, table[name].default)) for name in (low, high))
        if least is None or most is None or least <= most:
            continue
        if low in written:
            yield tree.fault((*path, low), f"is above {high}, which is {most}", f"an integer up to {most}")
        else:
            yield tree.fault((*path, high), f"is below {low}, which is {least}", f"an integer from {least} on")


def _number(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isdecimal() and len(text) < 20 else None


def _is_affinity(text: str, pcpus: int) -> bool:
    if text.strip() == "all":
        return True
    ranges = [_PCPUS.fullmatch(piece.strip()) for piece in text.split(",")]
    return all(match is not None and int(match[1]) <= int(match[2] or match[1]) < pcpus for match in ranges)
