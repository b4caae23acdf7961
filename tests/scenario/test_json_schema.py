"""The JSON Schema for editors: complete, and without keys that only hostsim reads."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hostsim.scenario.json_schema import COMPONENTS, component_schema, scenario_schema
from hostsim.scenario.schema import ScenarioFile
from hostsim.scenario.shipped_data import data_root, shipped, shipped_parts
from hostsim.scenario.yaml.reader import read

HERE = Path(__file__).parent
WRITTEN = [*shipped().values(), HERE.parents[1] / "docs/examples/neighbours.yaml"]
FOLDERS = {"hardware": "hardware", "nic": "nics", "platform": "platforms", "guest": "guests", "peer": "peers"}


def plain(value: Any) -> Any:
    """A YAML tree as JSON."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    return [plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def faults(schema: dict[str, Any], tree: Any) -> list[str]:
    """Path and message of everything that an editor would underline."""
    found = Draft202012Validator(schema).iter_errors(plain(tree))
    return [f"{'.'.join(map(str, fault.absolute_path))}: {fault.message}" for fault in found]


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from nodes(value)
    elif isinstance(node, list):
        for value in node:
            yield from nodes(value)


def test_the_schema_is_strict_json_with_every_key_described() -> None:
    """Each key of a scenario file has a description, each reference its definition."""
    schema = json.loads(json.dumps(scenario_schema(), allow_nan=False))
    assert schema["properties"].keys() == ScenarioFile.model_fields.keys()
    assert [name for name, node in schema["properties"].items() if not node.get("description")] == []
    references = {node["$ref"].rpartition("/")[2] for node in nodes(schema) if isinstance(node.get("$ref"), str)}
    assert references <= schema["$defs"].keys()
    assert not any("x-allowed" in node for node in nodes(schema))


def test_the_schema_knows_names_and_assumptions() -> None:
    """Shipped parts and claims are offered, metrics are closed, inputs may be assumptions, and costs occur only in service times."""
    schema = scenario_schema()
    assert "esxi-5.0" in schema["properties"]["platform"]["anyOf"][0]["enum"]
    known, of_subject = schema["$defs"]["FigurePart"]["properties"]["y"]["anyOf"]
    assert "loss" in known["enum"]
    assert re.match(of_subject["pattern"], "loss of feed")
    assert schema["$defs"]["FigurePart"]["oneOf"] == [
        {"required": keys} for keys in (["x", "y"], ["x", "columns"], ["answers"])
    ]
    inputs = {
        "MulticastPart": "rate",
        "WorkPart": "rate",
        "TcpStreamSpec": "window",
        "HttpSpec": "burst",
        "NicOptions": "interrupt_interval",
        "VmGroupPart": "tx_ring",
    }
    for part, key in inputs.items():
        assert {"$ref": "#/$defs/Assumed"} in schema["$defs"][part]["properties"][key]["anyOf"]
    parts = [part for name, part in schema["$defs"].items() if name != "ServiceSpec"]
    keys = {key for part in parts for node in nodes(part) for key in node.get("properties", {})}
    assert keys.isdisjoint({"cycles", "costs", "time"})


def test_every_part_of_a_host_is_described() -> None:
    """Each key of NICs, switches, groups and traffic has a description."""
    definitions = scenario_schema()["$defs"]
    for part in ("NicOptions", "VSwitchSpec", "VmGroupPart", "MulticastPart", "WorkPart", "TcpStreamSpec", "HttpSpec"):
        assert [key for key, node in definitions[part]["properties"].items() if not node.get("description")] == [], part


def test_making_the_schema_leaves_the_models_alone() -> None:
    """Two calls give the same."""
    assert scenario_schema() == scenario_schema()


def test_every_shipped_scenario_is_accepted() -> None:
    """The scenario of the guide is accepted, too: a copy has no errors in an editor."""
    schema = scenario_schema()
    assert {file.name: faults(schema, read(file, file.name).tree) for file in WRITTEN} == {
        file.name: [] for file in WRITTEN
    }


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_shipped_component_is_accepted(component: str) -> None:
    """Platforms and guests that only list differences from another one are accepted, too."""
    schema = component_schema(component)
    Draft202012Validator.check_schema(schema)
    for file in shipped_parts(FOLDERS[component]).values():
        assert faults(schema, read(file, file.name).tree) == [], file


SPLITRX = plain(read(data_root() / "splitrx.yaml", "splitrx.yaml").tree)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("host", "advanced", "Net.CoalesceShceme"), "rbc"),
        (("host", "advanced", "Net.CoalesceScheme"), "rbd"),
        (("host", "advanced", "Net.CoalesceRBCRate"), 1_000_000_000),
        (("host", "advanced", "Net.CoalesceRBCRate"), "many"),
        (("vms", "receiver", "vmx", "ethernet3.virtualDev"), "vmxnet9"),
        (("vms", "receiver", "vmx", "ethernet3.virtualDef"), "vmxnet3"),
        (("platform",), "esxi-5.00"),
        (("traffic", "stream", "rate"), "40 k"),
    ],
)
def test_a_typing_error_in_a_name_or_a_value_is_underlined(path: tuple[str, ...], value: object) -> None:
    """Of a setting, of a ``.vmx`` key of any device, of a platform, of a quantity."""
    tree = copy.deepcopy(SPLITRX)
    inner = tree
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = value
    assert faults(scenario_schema(), tree) != []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("host", "advanced", "Net.CoalesceRBCRate"), "8000"),
        (("host", "advanced", "file"), "host.txt"),
        (("vms", "receiver", "vmx", "ethernet3.virtualDev"), "e1000"),
        (("platform",), "parts/mine.yaml"),
        (("traffic", "stream", "rate"), {"value": "40 kpps", "assumed": "why", "range": ["30 kpps", "50 kpps"]}),
        (
            ("traffic", "stream", "rate"),
            {"value": "40 kpps", "prior": "45 kpps", "assumed": "why", "range": ["30 kpps", "50 kpps"]},
        ),
    ],
)
def test_what_hostsim_reads_is_not_underlined(path: tuple[str, ...], value: object) -> None:
    """Numbers as text, as in real files; paths; assumptions."""
    tree = copy.deepcopy(SPLITRX)
    inner = tree
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = value
    assert faults(scenario_schema(), tree) == []


def test_a_setting_says_meaning_unit_and_default() -> None:
    """The description that an editor displays beside it."""
    rate = scenario_schema()["$defs"]["HostPart"]["properties"]["advanced"]["properties"]["Net.CoalesceRBCRate"]
    assert "Default: 4000" in rate["description"]
    assert rate["anyOf"][0] == {"type": "integer", "minimum": 100, "maximum": 100_000}
