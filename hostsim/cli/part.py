"""Parts that a scenario names, as the command line lists, shows and copies them: servers, NICs, guests, platforms, peers, kinds of traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import typer

from hostsim.cli.output import columns
from hostsim.errors import Fault, InputError, nearest_name

__all__ = ["COMPONENTS", "LISTED", "complete_part", "copy_file", "copy_part", "list_parts", "parts_named", "show_part"]

COMPONENTS: Final = {"hardware": "hardware", "nics": "nic", "guests": "guest", "platforms": "platform", "peers": "peer"}
"""Kinds of parts with files, and the names of these files for `hostsim schema`."""
LISTED: Final = (*COMPONENTS, "traffic")
"""Kinds for `hostsim list`, beside scenarios."""
_USES: Final = {
    "hardware": "hardware: ./{file}",
    "nics": "model: {file}, of a NIC in a server's file",
    "guests": "guest: ./{file}, of a group of VMs",
    "platforms": "platform: ./{file}",
    "peers": "peer: ./{file}",
    "traffic": "an entry below traffic:",
}
"""Line of a scenario or a server that uses a copy."""


def parts_named(name: str) -> list[tuple[str, str, Path]]:
    """The shipped parts of a name, ``X710`` or with its kind ``nics/X710``: kind, name and file of each."""
    from hostsim.scenario.shipped_data import shipped_parts

    kind, slash, rest = name.partition("/")
    kinds, name = ((kind,), rest) if slash and kind in LISTED else (LISTED, name)
    return [(kind, name, files[name]) for kind in kinds if name in (files := shipped_parts(kind))]


def complete_part(incomplete: str) -> list[str]:
    """Names of shipped parts, for the completion of a shell."""
    from hostsim.scenario.shipped_data import shipped_parts

    return [name for kind in LISTED for name in shipped_parts(kind) if name.startswith(incomplete)]


def list_parts(kind: str) -> str:
    """The shipped parts of a kind as a table.

    Raises:
        InputError: an unknown kind.
    """
    from hostsim.scenario.component import Parts
    from hostsim.scenario.shipped_data import part_title, shipped_parts
    from hostsim.units import US

    if kind not in LISTED:
        known = ["scenarios", *LISTED]
        raise InputError(
            Fault("unknown kind of part", "list", repr(kind), f"one of {', '.join(known)}", nearest_name(kind, known))
        )
    parts, rows = Parts(Path()), list[Sequence[object]]()
    if kind == "hardware":
        for name in shipped_parts(kind):
            server = parts.hardware(name, (kind,)).spec
            assert server is not None
            ports = ", ".join(dict.fromkeys(nic.model for nic in server.nics.values()))
            rows.append((name, server.cpu.model, server.cpu.pcpus, f"{len(server.nics)}: {ports}"))
        return columns(("hardware", "processors", "PCPUs", "NIC ports"), rows)
    if kind == "nics":
        for name in shipped_parts(kind):
            nic = parts.nic(name).spec
            assert nic is not None
            moderation = nic.moderation if nic.interrupt_interval is None else f"{nic.interrupt_interval / US:g} us"
            drivers = ", ".join((nic.driver, *nic.other_drivers))
            rows.append((name, nic.rx_queues, nic.rx_ring, moderation, drivers, nic.model))
        return columns(("model", "rx queues", "rx ring", "moderation", "drivers", "what it is"), rows)
    rows += [(name, part_title(file)) for name, file in shipped_parts(kind).items()]
    return columns((kind.removesuffix("s") if kind != "traffic" else "kind", "what it is"), rows)


def only_part(name: str) -> tuple[str, str, Path]:
    """The shipped part of a name.

    Raises:
        InputError: parts of several kinds have it.
    """
    found = parts_named(name)
    if len(found) > 1:
        kinds = ", ".join(f"{kind}/{own}" for kind, own, _ in found)
        raise InputError(Fault("is the name of several parts", "show", repr(name), f"one of {kinds}"))
    return found[0]


def show_part(name: str) -> str:
    """A shipped part: description, file, and each value with its place; for a kind of traffic, an entry to copy."""
    from hostsim.config.files import display_name
    from hostsim.scenario.component import Parts
    from hostsim.scenario.shipped_data import part_title
    from hostsim.scenario.yaml.source_tree import dotted

    kind, own, file = only_part(name)
    if kind == "traffic":
        return file.read_text(encoding="utf-8").rstrip()
    parts = Parts(Path())
    tree = parts.nic(own).tree if kind == "nics" else getattr(parts, COMPONENTS[kind])(own, ()).tree
    rows = [(dotted(path), value, str(tree.place(path))) for path, value in _leaves(tree.data, ())]
    return f"{own}: {part_title(file)}\n{display_name(file)}\n\n" + columns(("name", "value", "origin"), rows)


def _leaves(value: Any, path: tuple[str | int, ...]) -> list[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, Mapping):
        return [leaf for key, entry in value.items() for leaf in _leaves(entry, (*path, key))]
    return [(path, ", ".join(map(str, value)) if isinstance(value, tuple) else value)] if value is not None else []


def copy_part(name: str) -> None:
    """Copy the file of a shipped part into this folder, with the schema for editors; print the file names, and the line that uses it.

    Raises:
        InputError: parts of several kinds have the name, or the file exists already.
    """
    from hostsim.cli.output import json_text
    from hostsim.config.files import write_whole
    from hostsim.scenario.json_schema import component_schema

    kind, own, file = only_part(name)
    text, target = file.read_bytes(), Path(f"{own}.yaml")
    if kind == "traffic":
        copy_file(text, target)
    else:
        schema = f"hostsim-{COMPONENTS[kind]}.schema.json"
        copy_file(f"# yaml-language-server: $schema={schema}\n".encode() + text, target)
        typer.echo(write_whole(Path(schema), json_text(component_schema(COMPONENTS[kind])).encode()))
    typer.echo(f"use it as {_USES[kind].format(file=target)}", err=True)


def copy_file(content: bytes, target: Path, option: str = "--copy") -> None:
    """Write a new file and print its name.

    Raises:
        InputError: the file exists already, or cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(content)
    except FileExistsError:
        raise InputError(
            Fault("exists already and is not overwritten", option, str(target), "a folder without this file")
        ) from None
    except OSError as error:
        raise InputError(Fault(f"cannot be written: {error.strerror}", option, str(target))) from None
    typer.echo(target)
