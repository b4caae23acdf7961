"""Settings files of products in a scenario: ``vmx: {file: web.vmx}``, ``advanced: {file: settings.txt}``.

The settings of a file are merged below those of the scenario; faults and tables have the lines of the file. A name in a
product's file is never a fault: one warning lists all settings without effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hostsim.config.files import display_name, find_below, read_bytes
from hostsim.config.platform import PlatformSpec
from hostsim.errors import Fault, InputError
from hostsim.scenario.yaml.esxcli import read_advanced
from hostsim.scenario.yaml.foreign_text import decoded
from hostsim.scenario.yaml.machine import (
    FileSetting,
    FileSettings,
    Group,
    Machine,
    canonical,
    is_passed_over,
    read_vmx,
    without_effect_warning,
)
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Place, Tree, over
from hostsim.scenario.yaml.validation import MOST_FAULTS

__all__ = ["FILE", "SettingsFiles"]

FILE = "file"
"""The key for the file's name, among the settings."""
_ADVANCED: KeyPath = ("host", "advanced")
MOST_LINES_OF_A_VM = 5_000
"""Largest number of lines of a ``.vmx`` file; a real one has a few hundred."""
MOST_LINES_OF_A_LIST = 100_000
"""Largest number of lines of an ``esxcli`` list; a real one has about twenty thousand."""


class SettingsFiles:
    """The settings files of a scenario, each read once."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder, self._root = folder, root
        self._vmx: dict[Path, FileSettings] = {}
        self._advanced: dict[Path, FileSettings] = {}

    def merged_into(
        self, tree: Tree, platform: PlatformSpec, has_e1000: Callable[[str], bool]
    ) -> tuple[Tree, list[Fault], list[str]]:
        """The scenario with its settings files merged below its settings, and the faults and warnings of these files.

        Args:
            tree: the scenario; returned unchanged if it names no file.
            platform: with names and defaults of settings.
            has_e1000: whether the guest of a group of VMs has a driver for an e1000.
        """
        faults: list[Fault] = []
        warnings: list[str] = []
        if _names_file(tree.get(_ADVANCED)):
            tree = self._with_advanced(tree, platform, faults, warnings)
        groups = tree.get(("vms",))
        for name in groups if isinstance(groups, dict) else ():
            if _names_file(tree.get(("vms", name, "vmx"))):
                tree = self._with_vmx(tree, name, platform, has_e1000(name), faults, warnings)
        return tree, faults, warnings

    def with_remedy(self, fault: Fault) -> Fault:
        """A fault of a value in a file, with a hint how to replace it in the scenario; other faults are unchanged."""
        files = map(display_name, (*self._vmx, *self._advanced))
        if not fault.path.startswith(("vms.", "host.advanced.")) or fault.file not in files:
            return fault
        remedy = f"{fault.path} in the scenario has priority over the file"
        return replace(fault, allowed=f"{fault.allowed}; {remedy}" if fault.allowed else remedy)

    def _file(self, tree: Tree, path: KeyPath, faults: list[Fault]) -> Path | None:
        """The file named by the mapping at a path."""
        key = (*path, FILE)
        name = tree.get(key)
        if not isinstance(name, str):
            faults.append(tree.fault(key, "is not the path of a file", "text"))
            return None
        try:
            return find_below(name, self._folder, self._root)
        except InputError as error:
            faults += tree.located(key, error)
            return None

    def _with_advanced(self, tree: Tree, platform: PlatformSpec, faults: list[Fault], warnings: list[str]) -> Tree:
        file = self._file(tree, _ADVANCED, faults)
        if file is None:
            return _put(tree, _ADVANCED, {}, "")
        if file not in self._advanced:
            self._advanced[file] = _read(file, read_advanced, MOST_LINES_OF_A_LIST)
        (entries, file_faults), name = self._advanced[file], display_name(file)
        faults += file_faults
        spellings = {key.casefold(): key for key in platform.advanced}
        own = tree.get(_ADVANCED)
        kept: dict[str, FileSetting] = {}
        missed: list[FileSetting] = []
        for entry in entries:
            key = spellings.get(entry.name.casefold())
            if key in own:
                continue
            setting = platform.advanced[key] if key is not None else None
            value = entry.value if setting is None else canonical(setting, entry.value)
            # a list has all settings, most of them at their defaults
            if setting is None or not setting.modelled:
                if not entry.is_default and (
                    setting is None or (str(value) != str(setting.default) and is_passed_over(setting, value))
                ):
                    missed.append(entry)
            else:
                kept[str(key)] = replace(entry, value=value)
        warnings += without_effect_warning(name, missed, ())
        return _put(tree, _ADVANCED, kept, name)

    def _with_vmx(
        self,
        tree: Tree,
        group: str,
        platform: PlatformSpec,
        has_e1000: bool,
        faults: list[Fault],
        warnings: list[str],
    ) -> Tree:
        path: KeyPath = ("vms", group, "vmx")
        file = self._file(tree, path, faults)
        if file is None:
            return _put(tree, path, {}, "")
        if file not in self._vmx:
            self._vmx[file] = _read(file, read_vmx, MOST_LINES_OF_A_VM)
        (entries, file_faults), name = self._vmx[file], display_name(file)
        faults += file_faults
        networks = tree.get(("vms", group, "networks"))
        count = len(networks) if isinstance(networks, tuple) else 1
        machine = Machine.of(name, entries, Group(group, count, tree.get(path), has_e1000), platform)
        warnings += machine.warnings
        if machine.vcpus is not None and tree.get(("vms", group, "vcpus")) is None:
            place = Place(name, machine.vcpus.line)
            tree = tree.put([(("vms", group, "vcpus"), _number(machine.vcpus.value), place)])
        return _put(tree, path, machine.settings, name)


def _names_file(settings: Any) -> bool:
    return isinstance(settings, dict) and FILE in settings


def _read(file: Path, reader: Callable[[str, str], FileSettings], most: int) -> FileSettings:
    name = display_name(file)
    try:
        text = decoded(read_bytes(file, name))
    except InputError as error:
        return (), error.faults
    lines = text.count("\n")
    if lines > most:
        return (), (Fault("has too many lines", given=str(lines), allowed=f"at most {most}", file=name),)
    entries, faults = reader(text, name)
    if len(faults) > MOST_FAULTS:
        more = f"has {len(faults) - MOST_FAULTS} more faults, which are not listed"
        faults = (*faults[:MOST_FAULTS], Fault(more, file=name, line=faults[MOST_FAULTS].line))
    return entries, faults


def _number(value: int | str) -> int | str:
    """A number written as text becomes a number; other text is unchanged."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 10 else value


def _put(tree: Tree, path: KeyPath, entries: Mapping[str, FileSetting], file: str) -> Tree:
    """The tree with a file's settings merged below those at a path, without the file's name."""
    own = {key: value for key, value in tree.get(path).items() if key != FILE}
    taken = {name: entry for name, entry in entries.items() if name not in own}
    places = {(*path, name): Place(file, entry.line) for name, entry in taken.items()}
    laid = tree.put([(path, {name: entry.value for name, entry in taken.items()} | own, tree.place(path))])
    return Tree(laid.data, over(places, laid.places), laid.file)
