"""Names that are known and not modelled: what they would change, and the nearest that works, from one table."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hostsim.errors import Fault, InputError
from hostsim.scenario.shipped_data import data_root
from hostsim.scenario.yaml.source_tree import Tree

__all__ = ["KnownName", "explained", "known_names"]

_PLACES = (
    (re.compile(r"(.*\.)?platform(\..*)?"), "releases"),
    (re.compile(r"(.*\.)?guest(\..*)?"), "guests"),
    (re.compile(r".*\.virtualDev"), "devices"),
    (re.compile(r".*\.driver"), "drivers"),
    (re.compile(r"(.*\.)?cpu\.family"), "processors"),
    (re.compile(r"traffic\..*\.kind"), "traffic"),
)
"""Where a value is looked up, by the path of its key."""
_SETTING = re.compile(r"(?:host\.advanced|host\.kernel|vms\.[^.]+\.vmx)\.(.+)")
_NUMBERED = re.compile(r"^(ethernet|pciPassthru)\d+\.")
_RELEASE = re.compile(r"(?:esxi?|vsphere)[- ]?(\d+(?:\.\d+)*)(?:u\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class KnownName:
    """A row of the table."""

    changes: str
    """What the model would do otherwise if it had it."""
    nearest: str
    """The nearest that works."""
    source: str
    """Where the name is documented."""


@functools.cache
def known_names() -> dict[str, dict[str, KnownName]]:
    """The names by section of the table, in lower case."""
    file = data_root() / "sources" / "known_names.yaml"
    sections = Tree.of(file, file.name).data
    return {
        section: {
            name.casefold(): KnownName(row["changes"], row["nearest"], row["source"])
            for row in rows
            for name in row["names"]
        }
        for section, rows in sections.items()
    }


def explained(error: InputError) -> InputError:
    """The error with what is known of names that are not modelled, and without suggestions of another kind."""
    return InputError(map(_explained, error.faults))


def _explained(fault: Fault) -> Fault:
    if not (fault.message.startswith("unknown") or fault.message == "is not one of the choices"):
        return fault
    given = fault.given.strip("'\"")
    for section, name in _asked(fault, given):
        if (row := known_names()[section].get(name.casefold())) is not None:
            message = f"{name} is known and not modelled: it would change {row.changes}"
            if row.changes.startswith("nothing"):
                message = f"{name} is known by another name: it changes {row.changes}"
            return replace(fault, message=message, given="", allowed=row.nearest, nearest="")
    asked, suggested = _RELEASE.fullmatch(given), _RELEASE.fullmatch(fault.nearest)
    is_other = asked is not None and suggested is not None and asked[1] != suggested[1]
    if is_other:
        return replace(fault, nearest="")
    return fault


def _asked(fault: Fault, given: str) -> Iterator[tuple[str, str]]:
    """Sections of the table with the name to look up there."""
    if fault.message == "unknown setting" and (setting := _SETTING.fullmatch(fault.path)) is not None:
        yield "settings", _NUMBERED.sub(r"\1X.", setting[1])
        return
    if fault.message == "unknown key":
        yield "keys", fault.path.rpartition(".")[2]
        return
    for pattern, section in _PLACES:
        if pattern.fullmatch(fault.path):
            yield section, given
