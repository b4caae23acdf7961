"""The JSON Schema that editors get: complete, and free of what only hostsim reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hostsim.scenario.json_schema import scenario_schema
from hostsim.scenario.schema import ScenarioFile


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from nodes(value)
    elif isinstance(node, list):
        for value in node:
            yield from nodes(value)


def test_the_schema_is_strict_json_with_every_key_described() -> None:
    """Each key of a scenario file has prose, each reference its definition."""
    schema = json.loads(json.dumps(scenario_schema(), allow_nan=False))
    assert schema["properties"].keys() == ScenarioFile.model_fields.keys()
    assert [name for name, node in schema["properties"].items() if not node.get("description")] == []
    references = {node["$ref"].rpartition("/")[2] for node in nodes(schema) if isinstance(node.get("$ref"), str)}
    assert references <= schema["$defs"].keys()
    assert not any("x-allowed" in node for node in nodes(schema))


def test_the_schema_knows_names_and_assumptions() -> None:
    """Shipped parts and claims are offered, metrics are closed, an input may be written as an assumption, a cost nowhere."""
    schema = scenario_schema()
    assert "esxi-5.0" in schema["properties"]["platform"]["examples"]
    assert "loss" in schema["$defs"]["FigurePart"]["properties"]["y"]["enum"]
    assert schema["$defs"]["FigurePart"]["oneOf"] == [{"required": ["x", "y"]}, {"required": ["answers"]}]
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
    keys = {key for node in nodes(schema) for key in node.get("properties", {})}
    assert keys.isdisjoint({"cycles", "costs", "time", "fitted_to"})


def test_every_part_of_a_host_is_described() -> None:
    """Each key of NICs, switches, groups and traffic has prose."""
    definitions = scenario_schema()["$defs"]
    for part in ("NicOptions", "VSwitchSpec", "VmGroupPart", "MulticastPart", "WorkPart", "TcpStreamSpec", "HttpSpec"):
        assert [key for key, node in definitions[part]["properties"].items() if not node.get("description")] == [], part


def test_making_the_schema_leaves_the_models_alone() -> None:
    """Two calls give the same."""
    assert scenario_schema() == scenario_schema()
