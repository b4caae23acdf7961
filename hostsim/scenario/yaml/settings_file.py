"""Settings files of the trade that a scenario names: ``vmx: {file: web.vmx}``, ``advanced: {file: settings.txt}``.

What a file says is laid under what the scenario says itself, as if it stood there: faults and tables name the file's own lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from hostsim.errors import Fault, InputError
from hostsim.files import display_name, find_below, read_text
from hostsim.scenario.yaml.esxcli import read_advanced
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Place, Tree, over
from hostsim.scenario.yaml.validation import MOST_FAULTS
from hostsim.scenario.yaml.vmx import FileSetting, FileSettings, read_vmx, vnic_of
from hostsim.spec.effective_settings import vmx_table
from hostsim.spec.platform import PlatformSpec

__all__ = ["FILE", "SettingsFiles"]

FILE = "file"
"""The key that names a file, beside the settings themselves."""
_ADVANCED: KeyPath = ("host", "advanced")
MOST_LINES_OF_A_VM = 5_000
"""Longest ``.vmx`` file; a real one has a few hundred lines."""
MOST_LINES_OF_A_LIST = 100_000
"""Longest list of ``esxcli``; that of a real host has some twenty thousand lines."""


class SettingsFiles:
    """The settings files that a scenario names, each read once."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder, self._root = folder, root
        self._vmx: dict[Path, FileSettings] = {}
        self._advanced: dict[Path, FileSettings] = {}

    def merged_into(self, tree: Tree, platform: PlatformSpec) -> tuple[Tree, list[Fault]]:
        """The scenario with the settings of its files merged below its own, and the faults of these files.

        Args:
            tree: the scenario; where it names no file it comes back as it is.
            platform: whose names and defaults settings have.
        """
        faults: list[Fault] = []
        if _names_file(tree.get(_ADVANCED)):
            tree = self._with_advanced(tree, platform, faults)
        groups = tree.get(("vms",))
        for name in groups if isinstance(groups, dict) else ():
            if _names_file(tree.get(("vms", name, "vmx"))):
                tree = self._with_vmx(tree, name, platform, faults)
        return tree, faults

    def _file(self, tree: Tree, path: KeyPath, faults: list[Fault]) -> Path | None:
        """The file that the mapping at a path names."""
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

    def _with_advanced(self, tree: Tree, platform: PlatformSpec, faults: list[Fault]) -> Tree:
        file = self._file(tree, _ADVANCED, faults)
        if file is None:
            return _put(tree, _ADVANCED, {}, "")
        if file not in self._advanced:
            self._advanced[file] = _read(file, read_advanced, MOST_LINES_OF_A_LIST)
        entries, found = self._advanced[file]
        faults += found
        known = {name.casefold(): name for name in platform.advanced}
        # a setting that the platform does not know and that nobody has changed says nothing
        kept = [entry for entry in entries if entry.name.casefold() in known or not entry.is_default]
        return _put(tree, _ADVANCED, _spelled(kept, known), display_name(file))

    def _with_vmx(self, tree: Tree, group: str, platform: PlatformSpec, faults: list[Fault]) -> Tree:
        path: KeyPath = ("vms", group, "vmx")
        file = self._file(tree, path, faults)
        if file is None:
            return _put(tree, path, {}, "")
        if file not in self._vmx:
            self._vmx[file] = _read(file, read_vmx, MOST_LINES_OF_A_VM)
        (entries, found), name = self._vmx[file], display_name(file)
        faults += found
        networks = tree.get(("vms", group, "networks"))
        count = len(networks) if isinstance(networks, tuple) else 1
        kept: list[FileSetting] = []
        unconnected: dict[int, int] = {}
        for entry in entries:
            number = vnic_of(entry.name)
            if number is not None and number >= count:
                unconnected.setdefault(number, entry.line)
            elif entry.name.casefold() != "numvcpus":
                kept.append(entry)
            elif tree.get(("vms", group, "vcpus")) is None:
                tree = tree.put([(("vms", group, "vcpus"), _number(entry.value), Place(name, entry.line))])
        for number, line in unconnected.items():
            message = f"is a vNIC that vms.{group}.networks gives no virtual switch"
            allowed = f'ethernetX with X below {count}, or ethernet{number}.present = "FALSE"'
            faults.append(Fault(message, f"ethernet{number}", "", allowed, file=name, line=line))
        known = {key.casefold(): key for key in vmx_table(platform, count)}
        return _put(tree, path, _spelled(kept, known), name)


def _names_file(settings: Any) -> bool:
    return isinstance(settings, dict) and FILE in settings


def _read(file: Path, reader: Callable[[str, str], FileSettings], most: int) -> FileSettings:
    name = display_name(file)
    try:
        text = read_text(file, name)
    except InputError as error:
        return (), error.faults
    lines = text.count("\n")
    if lines > most:
        return (), (Fault("has too many lines", given=str(lines), allowed=f"at most {most}", file=name),)
    entries, faults = reader(text, name)
    if len(faults) > MOST_FAULTS:
        more = f"has {len(faults) - MOST_FAULTS} faults more, which are not listed"
        faults = (*faults[:MOST_FAULTS], Fault(more, file=name, line=faults[MOST_FAULTS].line))
    return entries, faults


def _number(value: int | str) -> int | str:
    """A number that is written as text, as all is in such a file; what is none comes back as it is."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 10 else value


def _spelled(entries: Iterable[FileSetting], known: Mapping[str, str]) -> dict[str, FileSetting]:
    """Entries by their names as the platform spells them, which are known by their lower case."""
    return {known.get(entry.name.casefold(), entry.name): entry for entry in entries}


def _put(tree: Tree, path: KeyPath, entries: Mapping[str, FileSetting], file: str) -> Tree:
    """The tree with settings of a file below those that stand at a path, and without the name of the file."""
    own = {key: value for key, value in tree.get(path).items() if key != FILE}
    taken = {name: entry for name, entry in entries.items() if name not in own}
    places = {(*path, name): Place(file, entry.line) for name, entry in taken.items()}
    laid = tree.put([(path, {name: entry.value for name, entry in taken.items()} | own, tree.place(path))])
    return Tree(laid.data, over(places, laid.places), laid.file)
