"""JSON Schemas of scenario, hardware, NIC, platform, guest and peer files, for completion and checks in editors."""

from __future__ import annotations

import copy
import functools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from hostsim.config.field import Spec
from hostsim.config.guest import GuestSpec
from hostsim.config.host import HardwareSpec
from hostsim.config.nic import NicSpec
from hostsim.config.peer import PeerSpec
from hostsim.config.platform import PlatformSpec, SettingSpec
from hostsim.plugin.registry import Registry
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.subject import OF
from hostsim.scenario.component import Parts
from hostsim.scenario.schema import SHIPPED, file_models
from hostsim.scenario.shipped_data import claims, data_root, measurements, shipped_parts
from hostsim.scenario.yaml.source_tree import SETTINGS
from hostsim.scenario.yaml.validation import schema_of

__all__ = ["COMPONENTS", "component_schema", "scenario_schema"]

COMPONENTS: Final[Mapping[str, type[Spec]]] = {
    "hardware": HardwareSpec,
    "nic": NicSpec,
    "platform": PlatformSpec,
    "guest": GuestSpec,
    "peer": PeerSpec,
}
"""Components that have files, and the models of these files."""
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_ASSUMED = {
    "type": "object",
    "description": "An input without a published value: the value used, the reason, the range of possible values, and the median of its prior if a calibration has moved the value.",
    "properties": {
        "value": {},
        "assumed": {"type": "string"},
        "range": {"type": "array", "minItems": 2},
        "prior": {},
    },
    "required": ["value", "assumed", "range"],
    "additionalProperties": False,
}
_REFERENCE = {"$ref": "#/$defs/Assumed"}
_INPUTS = (
    "VmGroupPart",
    "NicOptions",
    "VSwitchSpec",
    "ServiceSpec",
    "ArrivalsPart",
    "RunPart",
    "QuickPart",
)
"""Parts of the file, besides traffic, whose values can be assumptions."""
_WITH_ORIGIN = {"Assumed", "Cost", "Factor", "CostModel", "SettingSpec"}
"""Parts of component files whose values state an origin."""
_PREFIXES = {"ethernetX.": r"^ethernet[0-9]\.", "pciPassthruX.": r"^pciPassthru[0-9]+\."}
"""Numbered keys of ``.vmx`` files: prefix, and its regular expression."""


def scenario_schema(registry: Registry = SHIPPED) -> dict[str, Any]:
    """The schema of a scenario file, with names, values, units and meaning of all settings, and the names of shipped components,
    metrics and claims.

    Args:
        registry: kinds of traffic, policies and control loops that a file may name.
    """
    schema = copy.deepcopy(schema_of(file_models(registry)[1]))
    _entitle(schema, "scenario")
    definitions = schema["$defs"]
    (traffic,) = schema["properties"]["traffic"]["patternProperties"].values()
    kinds = [reference.rpartition("/")[2] for reference in traffic["discriminator"]["mapping"].values()]
    for part in (*_INPUTS, *kinds):
        _let_assume(definitions[part])
    top = schema["properties"]
    group = definitions["VmGroupPart"]["properties"]
    for properties, name, kind in (
        (top, "platform", "platforms"),
        (top, "hardware", "hardware"),
        (top, "peer", "peers"),
        (group, "guest", "guests"),
    ):
        properties[name] = {"description": properties[name]["description"], **_names(kind)}
    top["hardware"]["anyOf"].append(_hardware_in_place(definitions))
    for part in ("HostPart", "VmGroupPart"):
        properties = definitions[part]["properties"]
        for section in SETTINGS & properties.keys():
            _name_settings(properties[section], section)
    of_subject = {"type": "string", "pattern": f"^({'|'.join(CATALOGUE)}){OF}."}
    for key in ("y", "right", "per"):
        definitions["FigurePart"]["properties"][key]["anyOf"] = [{"enum": [*CATALOGUE, None]}, of_subject]
    definitions["FigurePart"]["oneOf"] = [{"required": keys} for keys in (["x", "y"], ["x", "columns"], ["answers"])]
    definitions["RunPart"]["properties"]["precision"]["propertyNames"] = {
        "anyOf": [{"enum": list(CATALOGUE)}, of_subject]
    }
    definitions["ExpectPart"]["properties"]["claim"]["examples"] = list(claims())
    definitions["ExpectPart"]["properties"]["measurement"]["examples"] = list(measurements())
    return _public(schema)


def component_schema(component: str) -> dict[str, Any]:
    """The schema of a component's file, one of `COMPONENTS`; one that extends another needs only the changed keys."""
    schema = copy.deepcopy(schema_of(COMPONENTS[component]))
    _entitle(schema, component)
    extendable = component != "hardware"
    for name, part in [("", schema), *schema["$defs"].items()]:
        if name not in _WITH_ORIGIN and part.get("type") == "object":
            _let_assume(part)
        if extendable:
            part["required"] = ["model" if component == "nic" else component] if part is schema else []
            _let_take_away(part)
    if extendable:
        schema["properties"]["extends"] = {
            "description": f"Name of a shipped {component}, or a path, that this one differs from.",
            **_names(f"{component}s"),
        }
    else:
        _let_name_models(schema["$defs"]["NicSpec"])
    return _public(schema)


def _let_name_models(nic: dict[str, Any]) -> None:
    """Allow a catalogue model as NIC of a server; its keys are then optional."""
    names = list(shipped_parts("nics"))
    models = [*names, *(int(name) for name in names if name.isdecimal())]
    needed = [key for key in nic["required"] if key != "model"]
    nic["required"] = ["model"]
    model = nic["properties"]["model"]
    nic["properties"]["model"] = {key: value for key, value in model.items() if key not in ("type", "anyOf")} | {
        "anyOf": [{"enum": models}, {"type": "string"}]
    }
    nic["if"] = {"properties": {"model": {"anyOf": [{"enum": models}, {"type": "string", "pattern": r"\.ya?ml$"}]}}}
    nic["else"] = {"required": needed}


def _entitle(schema: dict[str, Any], what: str) -> None:
    schema["$schema"] = _DRAFT
    schema["$id"] = f"urn:hostsim:{what}"
    schema["title"] = f"hostsim {what}"
    schema.setdefault("$defs", {})["Assumed"] = _ASSUMED


def _names(kind: str) -> dict[str, Any]:
    """The schema of the name of a shipped component, or of a file's path."""
    names = list(shipped_parts(kind))
    allowed = f"one of {', '.join(names)}, or a path with a slash"
    return {"anyOf": [{"enum": names}, {"type": "string", "pattern": r"/|\.ya?ml$", "patternErrorMessage": allowed}]}


def _hardware_in_place(definitions: dict[str, Any]) -> dict[str, Any]:
    """A reference to the schema of hardware as a mapping in the scenario, which needs no name; adds it to the definitions."""
    text = json.dumps(component_schema("hardware")).replace('"#/$defs/', '"#/$defs/hardware.')
    schema: dict[str, Any] = json.loads(text)
    definitions |= {f"hardware.{name}": part for name, part in schema.pop("$defs").items()}
    definitions["hardware"] = {name: schema[name] for name in ("type", "properties", "additionalProperties")}
    definitions["hardware"]["required"] = [name for name in schema["required"] if name != "hardware"]
    return {"$ref": "#/$defs/hardware"}


def _let_assume(part: dict[str, Any]) -> None:
    """Allow each value of a part as an assumption."""
    properties = part.get("properties", {})
    for name, value in properties.items():
        if "$ref" not in value and value.get("type") != "object":
            described = {key: value.pop(key) for key in ("description", "default", "title") if key in value}
            properties[name] = {**described, "anyOf": [value, _REFERENCE]}


def _let_take_away(part: dict[str, Any]) -> None:
    """Allow ``~`` for each entry of a mapping, which removes the entry of the extended component."""
    for value in part.get("properties", {}).values():
        if isinstance(entry := value.get("additionalProperties"), dict):
            value["additionalProperties"] = {"anyOf": [entry, {"type": "null"}]}


def _name_settings(section: dict[str, Any], kind: str) -> None:
    """Replace any key by the settings of shipped platforms."""
    section.pop("additionalProperties", None)
    section["properties"], section["patternProperties"] = {}, {}
    for name, versions in _settings(kind).items():
        schema = _setting(versions)
        prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), None)
        if prefix is None:
            section["properties"][name] = schema
        else:
            # editors complete property names only, so the keys of the first device are listed
            section["properties"][name.replace("X.", "0.", 1)] = schema
            section["patternProperties"][_PREFIXES[prefix] + re.escape(name.removeprefix(prefix)) + "$"] = schema
    if kind != "kernel":
        section["properties"]["file"] = {"type": "string", "description": "Path of a file with settings."}
    section["additionalProperties"] = False


@functools.cache
def _settings(kind: str) -> dict[str, list[SettingSpec]]:
    """The settings of shipped platforms; each is combined from all platforms that have it."""
    by_name: dict[str, list[SettingSpec]] = {}
    for spec in _platforms():
        for name, setting in getattr(spec, kind).items():
            by_name.setdefault(name, []).append(setting)
    return by_name


def _platforms() -> Iterator[PlatformSpec]:
    folder: Path = data_root() / "platforms"
    for name in shipped_parts("platforms"):
        spec = Parts(folder).platform(name, ()).spec
        assert spec is not None, name
        yield spec


def _setting(versions: list[SettingSpec]) -> dict[str, Any]:
    """The schema of a setting: all values that any platform allows."""
    first = versions[-1]
    defaults = dict.fromkeys(setting.default for setting in versions)
    unit = f" Unit: {first.unit}." if first.unit else ""
    default = " or ".join(map(str, defaults)) if list(defaults) != [""] else "empty"
    effect = "" if any(setting.modelled for setting in versions) else " Not modelled: it changes nothing."
    meaning = first.meaning[:1].upper() + first.meaning[1:].rstrip(".")
    described = {"description": f"{meaning}.{unit} Default: {default}.{effect}"}
    choices = dict.fromkeys(choice for setting in versions for choice in setting.choices or ())
    if choices:
        numbers = [int(choice) for choice in choices if choice.lstrip("-").isdigit()]
        return {**described, "anyOf": [{"enum": [*choices, *numbers]}, _REFERENCE]}
    if isinstance(first.default, str) and first.low is None:
        return {**described, "anyOf": [{"type": ["string", "integer"]}, _REFERENCE]}
    number: dict[str, Any] = {"type": "integer"}
    lows, highs = [setting.low for setting in versions], [setting.high for setting in versions]
    if None not in lows:
        number["minimum"] = min(low for low in lows if low is not None)
    if None not in highs:
        number["maximum"] = max(high for high in highs if high is not None)
    text = {"type": "string", "pattern": r"^\s*[+-]?[0-9]+\s*$"}
    return {**described, "anyOf": [number, text, _REFERENCE]}


def _public(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without keys that only hostsim uses. Descriptions of patterns remain, as some editors show them."""
    shown = {"patternErrorMessage": schema["x-allowed"]} if {"pattern", "x-allowed"} <= schema.keys() else {}
    kept = {key: value for key, value in schema.items() if key not in ("x-allowed", "x-what", "x-plugins")}
    return {key: _public_value(value) for key, value in kept.items()} | shown


def _public_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_public_value(entry) for entry in value]
    return _public(value) if isinstance(value, dict) else value
