"""Ledger of first predictions, kept for ever: ``first.yaml`` beside the scenarios that predict.

A prediction is worth what was written down before its answer was known: the inputs in one commit, the first value in a later one. An
entry is added once and never changed, but for the note that a mechanism was changed for it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from hostsim.errors import InputError, nearest_name
from hostsim.files import display_name, read_text, write_whole
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.selection import restrict
from hostsim.scenario.shipped_data import LEDGER, measurements, shipped_parts
from hostsim.scenario.yaml.reader import read
from hostsim.scenario.yaml.source_tree import Tree
from hostsim.scenario.yaml.validation import validate
from hostsim.search_answer import Bound
from hostsim.spec.base import Spec

__all__ = ["FirstPrediction", "add", "input_files", "inputs_digest", "ledger_of", "read_ledger", "refuse_again"]

_HEAD = """\
# First predictions, by measurement (docs/guide/judge-a-claim.md). `hostsim predict --record-first` adds an entry; none is ever changed or taken away.
# `changed_for: TEXT` is written below an entry by hand when a mechanism was changed for the measurement: it is scored apart from then on.
"""


class FirstPrediction(Spec):
    """The first prediction of a measurement."""

    date: str
    inputs: str
    """Commit in which its inputs were written down."""
    digest: str
    """Of the inputs, see `inputs_digest`."""
    code: str
    """Digest of the code that ran."""
    value: float
    interval: tuple[float | None, float | None]
    """At 95 %."""
    bound: Annotated[Bound | None, Field(strict=False)] = None
    """The kind of bound, where the value is one."""
    fidelity: Literal["quick", "full"]
    seed: int
    """Root seed."""
    hostsim: str
    """Version."""
    changed_for: str = ""
    """The mechanism that was changed for this measurement since; empty where none was."""


def ledger_of(scenario: Scenario) -> Path:
    """The ledger's file of a scenario: in its own folder."""
    return scenario.file.parent / LEDGER


def read_ledger(file: Path) -> dict[str, FirstPrediction]:
    """The first predictions of a ledger by measurement; none where there is no file.

    Raises:
        InputError: an entry is of no measurement, or is not sound.
    """
    tree = _tree(file)
    found, faults = {}, []
    for name in tree.data:
        entry, wrong = validate(FirstPrediction, tree, (name,))
        if name not in measurements():
            nearest = nearest_name(name, list(measurements()))
            wrong = [tree.fault((name,), "unknown measurement", "an id of published-2.csv", nearest, given=repr(name))]
        faults += wrong
        if entry is not None:
            found[name] = entry
    if faults:
        raise InputError(faults)
    return found


def refuse_again(file: Path, names: list[str]) -> None:
    """Refuse to record measurements that the ledger has already.

    Raises:
        InputError: a fault for each, with the line of its entry.
    """
    known, tree = read_ledger(file), _tree(file)
    again = [name for name in names if name in known]
    allowed = "measurements without a first prediction"
    if faults := [
        tree.fault((name,), "has its first prediction, which is never changed", allowed, given=f"{known[name].value:g}")
        for name in again
    ]:
        raise InputError(faults)


def add(file: Path, entries: Mapping[str, FirstPrediction]) -> None:
    """Add first predictions to a ledger, behind those that it has.

    Raises:
        InputError: it has one of them already; nothing is written then.
    """
    refuse_again(file, list(entries))
    text = read_text(file, display_name(file)) if file.is_file() else _HEAD
    for name, entry in entries.items():
        # JSON's texts and lists are YAML's, and no text of digits becomes a number
        fields = entry.model_dump(mode="json", exclude_defaults=True)
        lines = [f"  {key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items()]
        text = f"{text.rstrip()}\n{name}:\n{''.join(lines)}"
    write_whole(file, text.encode())


def _tree(file: Path) -> Tree:
    """The tree of a ledger; an empty one where there is no file.

    Raises:
        InputError: it cannot be read, or is no mapping.
    """
    if not file.is_file():
        return Tree({}, {}, display_name(file))
    tree = Tree.of(file, display_name(file))
    if not isinstance(tree.data, dict):
        raise InputError(tree.fault((), "is not a ledger", "measurements with their first predictions"))
    return tree


def input_files(scenario: Scenario) -> tuple[Path, ...]:
    """The files of a scenario's inputs: its own, its servers', and those beside it that it names (arrivals, settings, guests).

    Shipped platforms and guests carry costs, are the model, and are no inputs.
    """
    servers, folder = shipped_parts("hardware"), scenario.file.parent
    found: dict[Path, None] = {}
    waiting = [scenario.file]
    while waiting:
        file = waiting.pop(0)
        if file in found:
            continue
        found[file] = None
        for text in _texts(_content(file)):
            if text in servers and file == scenario.file:  # a server's file says its own name
                waiting.append(servers[text])
            elif ("/" in text or "." in text) and _is_file(folder / text):
                waiting.append(folder / text)
    return tuple(found)


def inputs_digest(scenario: Scenario, name: str) -> str:
    """Digest of the inputs of a prediction, by meaning: comments, layout, figures and other predictions do not count.

    Args:
        scenario: the scenario.
        name: the measurement.

    Returns:
        Sixteen hexadecimal digits.
    """
    own, *others = input_files(scenario)
    needed = {entry.name for entry in restrict(scenario, [name]).expectations}
    tree = dict(_content(own))
    tree["expect"] = [entry for entry in tree["expect"] if _label(entry) in needed]
    written = {key: value for key, value in tree.items() if key not in ("question", "figures")}
    parts = [written, *((other.name, _content(other)) for other in others)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _label(entry: Mapping[str, Any]) -> str:
    return str(next(entry[key] for key in ("claim", "measurement", "name") if key in entry))


def _content(file: Path) -> Any:
    """What a file says: the tree of YAML, the hash of anything else."""
    if file.suffix in (".yaml", ".yml"):
        return read(file, display_name(file)).tree
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except (OSError, ValueError):  # a reason in words is too long for a name
        return False


def _texts(tree: Any) -> Iterator[str]:
    """Every text in a tree but keys."""
    match tree:
        case str():
            yield tree
        case dict():
            for value in tree.values():
                yield from _texts(value)
        case tuple():
            for value in tree:
                yield from _texts(value)
