"""JSON Schema of a scenario file, for editors that complete and check while one types."""

from __future__ import annotations

import copy
from typing import Any

from hostsim.metrics.catalogue import CATALOGUE
from hostsim.plugin.registry import Registry
from hostsim.scenario.schema import SHIPPED, file_models
from hostsim.scenario.shipped_data import claims, shipped_parts
from hostsim.scenario.yaml.validation import schema_of

__all__ = ["scenario_schema"]

_ASSUMED = {
    "type": "object",
    "description": "An input that nobody published: the value that is used, why, and how far it may lie elsewhere.",
    "properties": {
        "value": {},
        "assumed": {"type": "string"},
        "range": {"type": "array", "minItems": 2},
    },
    "required": ["value", "assumed", "range"],
    "additionalProperties": False,
}
_INPUTS = (
    "VmGroupPart",
    "NicOptions",
    "VSwitchSpec",
    "ServiceSpec",
    "ArrivalsPart",
    "RunPart",
    "QuickPart",
)
"""Parts of the file whose values may be written as assumptions, beside traffic."""


def scenario_schema(registry: Registry = SHIPPED) -> dict[str, Any]:
    """The schema, with the names of shipped parts, metrics and claims as examples.

    Args:
        registry: kinds of traffic, policies and control loops that a file may name.
    """
    schema = copy.deepcopy(schema_of(file_models(registry)[1]))
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "hostsim scenario"
    definitions = schema["$defs"]
    definitions["Assumed"] = _ASSUMED
    (traffic,) = schema["properties"]["traffic"]["patternProperties"].values()
    kinds = [reference.rpartition("/")[2] for reference in traffic["discriminator"]["mapping"].values()]
    for part in (*_INPUTS, *kinds):
        properties = definitions[part]["properties"]
        for name, value in properties.items():
            if "$ref" not in value and value.get("type") != "object":
                described = {key: value.pop(key) for key in ("description", "default", "title") if key in value}
                properties[name] = {**described, "anyOf": [value, {"$ref": "#/$defs/Assumed"}]}
    top = schema["properties"]
    top["platform"]["examples"] = list(shipped_parts("platforms"))
    top["hardware"]["examples"] = list(shipped_parts("hardware"))
    top["peer"]["examples"] = list(shipped_parts("peers"))
    definitions["VmGroupPart"]["properties"]["guest"]["examples"] = list(shipped_parts("guests"))
    definitions["FigurePart"]["properties"]["y"]["enum"] = [*CATALOGUE, None]
    definitions["FigurePart"]["properties"]["right"]["enum"] = [*CATALOGUE, None]
    definitions["FigurePart"]["oneOf"] = [{"required": ["x", "y"]}, {"required": ["answers"]}]
    definitions["RunPart"]["properties"]["precision"]["propertyNames"] = {"enum": list(CATALOGUE)}
    definitions["ExpectPart"]["properties"]["claim"]["examples"] = list(claims())
    for key in ("x-allowed", "x-what", "x-plugins"):
        _drop(schema, key)
    return schema


def _drop(node: Any, key: str) -> None:
    """Drop a key that only hostsim's own texts use."""
    if isinstance(node, dict):
        node.pop(key, None)
        for value in node.values():
            _drop(value, key)
    elif isinstance(node, list):
        for value in node:
            _drop(value, key)
