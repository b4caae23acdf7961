"""Part files of a calibrated host: platforms, servers, peers and guests with its constants."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hostsim.config.files import display_name, write_whole
from hostsim.scenario.cost_model import Constant, part_constants
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.shipped_data import find_part
from hostsim.scenario.yaml.reader import KeyPath, write_yaml
from hostsim.scenario.yaml.source_tree import Place, Tree, dotted

__all__ = ["write_parts"]

_KINDS = {
    "platform": ("platforms", "platform"),
    "hardware": ("hardware", "hardware"),
    "peer": ("peers", "peer"),
    "vms": ("guests", "guest"),
}
"""Folder of the parts, and the key of their name, by the section of a scenario that names them."""


def write_parts(
    scenario: Scenario, members: Mapping[int, Mapping[str, float]], centre: int, folder: Path, reason: str
) -> dict[str, dict[str, Path]]:
    """Write a file for each platform, server, peer and guest of a scenario that has calibrated constants.

    A platform, guest or peer extends the one that it replaces; a server is written completely. The range of a constant contains 90 % of the
    ensemble.

    Args:
        scenario: with the parts to write.
        members: the ensemble, by number.
        centre: member with the values of the files.
        folder: with the folders ``platforms``, ``hardware``, ``peers`` and ``guests``.
        reason: for the values of constants.

    Returns:
        The files, by the path of the setting that names the part, and by its name there.
    """
    found: dict[str, dict[str, Path]] = {}
    points = [scenario.first() | {name: value} for name, axis in scenario.axes.items() for value in axis.values]
    for point in points or [scenario.first()]:
        for (key, name), constants in part_constants(scenario, point).items():
            moved = [constant for constant in constants if constant.name in members[centre]]
            if not moved or name in found.get(dotted(key), {}):
                continue
            kind, word = _KINDS[str(key[0])]
            target = folder / kind / f"{_stem(name)}.yaml"
            tree = _head(scenario, name, kind, word, target)
            for constant in moved:
                values = np.array([member[constant.name] for member in members.values()])
                tree = tree.put(_entries(constant, members[centre][constant.name], values, reason))
            text = f"# Written by hostsim calibrate for {scenario.name}.\n{write_yaml(tree.data)}"
            found.setdefault(dotted(key), {})[name] = write_whole(target, text.encode())
    return found


def _head(scenario: Scenario, name: str, kind: str, word: str, target: Path) -> Tree:
    """The head of a file: its name and the extended part, or a whole server."""
    file = find_part(kind, name, scenario.file.parent, scenario.resolver.root)
    is_path = "/" in name or name.endswith((".yaml", ".yml"))
    title = f"{_stem(name)}-calibrated"
    if kind == "hardware":
        tree = Tree.of(file, display_name(file))
        return tree.put([((word,), title, Place(display_name(target)))])
    parent = Path(os.path.relpath(file.resolve(), target.parent.resolve())).as_posix() if is_path else name
    return Tree({word: title, "extends": parent}, {}, display_name(target))


def _entries(constant: Constant, value: float, values: Any, reason: str) -> list[tuple[KeyPath, Any, Place]]:
    """The changes of a file for a constant, with the range of the ensemble."""
    value = _short(value)
    low, high = (_short(float(end)) for end in np.quantile(values, (0.05, 0.95)))
    low, high = min(low, value), max(high, value)
    if constant.written(low) == constant.written(high):
        low, high = min(*constant.ends, value), max(*constant.ends, value)
    ends = [constant.written(low), constant.written(high)]
    written = constant.written(value)
    return [
        (path, {number: written, "assumed": reason, "range": ends}, Place("")) for path, number in constant.places()
    ]


def _stem(name: str) -> str:
    """Name of the file that replaces a part: its name, with dashes for slashes of a path."""
    return name.removesuffix(".yaml").removesuffix(".yml").strip("./").replace("/", "-")


def _short(value: float) -> float:
    """Rounds to the six digits of an ensemble's file."""
    return float(f"{value:.6g}")
