"""Origins: every input of a shipped scenario or server is published, with its place, or assumed with a range."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostsim.scenario.cost_model import Constant, scenario_inputs, shipped_constants
from hostsim.scenario.shipped_data import shipped, shipped_parts
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree, dotted
from tests.loaded import loaded

OWNED = {
    "traffic": (
        *(
            "port",
            "window",
            "burst",
            "delay",
            "rate",
            "interval",
            "process",
            "streams",
            "connections",
            "users",
            "objects",
        ),
        *("write_size", "think_time", "request_size", "reply_size", "peer_acks_every", "packet_size", "frame_size"),
        *("message_size", "size", "page_size", "size_spread", "mean"),
    ),
    "vms": ("count", "vcpus", "rx_ring", "tx_ring"),
    "cpu": ("threads",),
    "nics": ("rx_ring", "moderation", "interrupt_interval", "rx_queues"),
    "firmware": ("stop", "period"),
}
"""Keys of inputs by their section."""
SCENARIOS = {name: file for name, file in shipped().items() if file.parent.name != "examples"}
SERVERS = {name: file for name, file in shipped_parts("hardware").items() if name != "ideal"}


def bare_inputs(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Paths of inputs that are not written as assumptions."""
    if not isinstance(value, dict) or {"value", "assumed"} <= value.keys():
        return
    for key, entry in value.items():
        here = (*path, key)
        if not isinstance(entry, dict):
            if key in OWNED.get(str(here[0]), ()):
                yield here
        else:
            yield from bare_inputs(entry, here)


def has_source(tree: Tree, path: KeyPath, lines: list[str]) -> bool:
    """True if the line of a value, its mapping or its section has a source, or if the comment right above one of them has."""
    for depth in range(len(path), max(len(path) - 3, 0), -1):
        line = tree.places[path[:depth]].line
        assert line is not None
        above = lines[line - 2].strip() if line > 1 else ""
        if "# source:" in lines[line - 1] or (above.startswith("#") and "# source:" in above):
            return True
    return False


def unowned(file: Path) -> list[str]:
    """Bare inputs of a file without a source."""
    tree, lines = Tree.of(file, file.name), file.read_text(encoding="utf-8").splitlines()
    return [dotted(path) for path in bare_inputs(tree.data) if not has_source(tree, path, lines)]


@pytest.mark.parametrize("file", [*SCENARIOS.values(), *SERVERS.values()], ids=lambda file: file.stem)
def test_every_bare_input_names_its_source(file: Path) -> None:
    """Unpublished inputs are {value, assumed, range}."""
    assert unowned(file) == []


def test_a_bare_input_without_a_source_is_found(tmp_path: Path) -> None:
    """On its own line, above it, or beside its mapping; a sibling's source does not count."""
    file = tmp_path / "own.yaml"
    file.write_text(
        "vms:   # source: the account\n  web: {count: 2, vcpus: 1}\n"
        "traffic:\n  flow:\n    streams: 4   # source: the account\n    delay: 1 us\n"
        "    # source: the account\n    burst: 4\n    window: {value: 1 KiB, assumed: so, range: [1 KiB, 2 KiB]}\n    port: 33000\n",
        encoding="utf-8",
    )
    assert unowned(file) == ["traffic.flow.delay", "traffic.flow.port"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_senders_say_what_nobody_published_of_them(name: str) -> None:
    """Window and delay of a TCP sender, and its port where the NIC shares one vNIC's frames out by hashes of ports."""
    scenario = loaded(name)
    tree = scenario.resolver.tree
    hashed = any(nic.get("rss_rings") or nic.get("drss") for nic in (tree.get(("host", "nics")) or {}).values())
    for flow, written in tree.get(("traffic",)).items():
        if written["kind"] in ("tcp_stream", "http", "web"):
            needed = {"window", "delay", *(["port"] if hashed else [])}
            assert needed <= written.keys(), flow


@pytest.mark.parametrize("file", SERVERS.values(), ids=lambda file: file.stem)
def test_a_server_says_whether_its_hyperthreads_are_on(file: Path) -> None:
    """A default would be an invisible choice."""
    assert "threads" in Tree.of(file, file.name).data["cpu"]


def width(constant: Constant) -> float:
    low, high = constant.ends
    return high / low if low > 0 else float("inf")


def test_ranges_are_a_factor_of_two_wide_where_nothing_bounds_them() -> None:
    """For inputs of scenarios and servers, and of guests except application costs; the reason of a narrower range names the bound."""
    found = [one for name in SCENARIOS for one in scenario_inputs(loaded(name)).values() if not one.words]
    found += [one for one in shipped_constants() if one.range and one.file in {*SERVERS, *shipped_parts("guests")}]
    narrow = {one.name for one in found if width(one) < 2 and "Bounded by" not in one.text}
    assert narrow == set()
