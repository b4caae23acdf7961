"""Validation by pydantic models, with errors as faults of the YAML file.

Allowed values are taken from the JSON Schema of the model, so that faults and editors agree.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from hostsim.config.quantity import NUMBER
from hostsim.errors import Fault, nearest_name
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import SETTINGS, Tree, dotted

__all__ = ["MOST_FAULTS", "allowed_at", "schema_of", "validate", "walk"]

Model = TypeVar("Model", bound=BaseModel)
JsonSchema = dict[str, Any]


@functools.cache
def schema_of(model: type[BaseModel]) -> JsonSchema:
    """JSON Schema of a model for input files."""
    return model.model_json_schema(mode="validation")


def _resolved(root: JsonSchema, node: JsonSchema) -> JsonSchema:
    while "$ref" in node:
        node = root["$defs"][node["$ref"].rpartition("/")[2]]
    return node


def _step(root: JsonSchema, node: JsonSchema, key: str | int) -> JsonSchema | None:
    """The schema of one entry of a mapping or list, or None."""
    node = _resolved(root, node)
    if isinstance(key, str) and key in node.get("properties", {}):
        return _resolved(root, node["properties"][key])
    if isinstance(key, str) and isinstance(node.get("additionalProperties"), dict):
        return _resolved(root, node["additionalProperties"])
    for pattern in node.get("patternProperties", {}).values():
        return _resolved(root, pattern) if isinstance(key, str) else None
    if isinstance(key, int) and node.get("type") == "array":
        fixed = node.get("prefixItems", [])
        return _resolved(root, fixed[key] if key < len(fixed) else node.get("items", {}))
    branches = (_step(root, branch, key) for branch in _branches(node))
    return next((branch for branch in branches if branch is not None), None)


def _branches(node: JsonSchema) -> list[JsonSchema]:
    """The members of a union, each by its value of the discriminating key, if there is one."""
    return [*node.get("anyOf", []), *node.get("oneOf", [])]


def _schema_of_error(root: JsonSchema, loc: KeyPath) -> JsonSchema | None:
    """The schema at pydantic's location of an error, which includes the member of a union."""
    node: JsonSchema | None = _resolved(root, root)
    for key in loc:
        if node is None:
            return None
        members = node.get("discriminator", {}).get("mapping", {})
        node = _resolved(root, {"$ref": members[key]}) if key in members else _step(root, node, key)
    return node


def _schema_at(root: JsonSchema, path: KeyPath) -> JsonSchema | None:
    node: JsonSchema | None = root
    for key in path:
        node = _step(root, node, key) if node is not None else None
    return None if node is None else _resolved(root, node)


def _words(root: JsonSchema, node: JsonSchema) -> str:
    node = _resolved(root, node)
    if "x-allowed" in node:
        return str(node["x-allowed"])
    if _branches(node):
        kinds = dict.fromkeys(_words(root, branch) for branch in _branches(node) if branch.get("type") != "null")
        if "a number" in kinds:
            kinds.pop("an integer", None)
        return " or ".join(kinds)
    choices = node.get("enum", [node["const"]] if "const" in node else [])
    if choices:
        return "one of " + ", ".join(map(str, choices)) if len(choices) > 1 else str(choices[0])
    kind = node.get("type")
    if kind in ("integer", "number"):
        return _number(node, "an integer" if kind == "integer" else "a number")
    if kind == "array":
        few, many = node.get("minItems"), node.get("maxItems")
        count = f" with {few} {'entry' if few == 1 else 'entries'}" if few is not None and few == many else ""
        inner = node["prefixItems"][0] if "prefixItems" in node else node.get("items", {})
        return f"a list{count}: {_words(root, inner)}"
    if kind == "object":
        keys = list(node.get("properties", {}))
        least = " with at least one entry" if node.get("minProperties") else ""
        return "a mapping with " + ", ".join(keys) if keys else f"a mapping{least}"
    return {"string": "text", "boolean": "true or false", "null": "nothing"}.get(str(kind), "a value")


def _number(node: JsonSchema, noun: str) -> str:
    low, high, above = node.get("minimum"), node.get("maximum"), node.get("exclusiveMinimum")
    if low is not None and high is not None:
        return f"{noun} {low}..{high}"
    if low is not None:
        return f"{noun} from {low} on"
    if above is not None:
        return f"{noun} above {above}" + ("" if high is None else f", up to {high}")
    return f"{noun} up to {high}" if high is not None else noun


def allowed_at(model: type[BaseModel], path: KeyPath) -> str:
    """The allowed values at a path of a model's file, in words; empty if none."""
    root = schema_of(model)
    node = _schema_at(root, path)
    return "" if node is None else _words(root, node)


_MESSAGES = {
    "missing": "is missing",
    "greater_than": "is too small",
    "greater_than_equal": "is too small",
    "less_than": "is too large",
    "less_than_equal": "is too large",
    "too_short": "has too few entries",
    "too_long": "has too many entries",
    "int_type": "is not an integer",
    "int_from_float": "is not an integer",
    "float_type": "is not a number",
    "bool_type": "is neither true nor false",
    "string_type": "is not text",
    "tuple_type": "is not a list",
    "dict_type": "is not a mapping",
    "model_type": "is not a mapping",
    "literal_error": "is not one of the choices",
    "string_pattern_mismatch": "is not a name",
    "union_tag_invalid": "is not one of the choices",
    "union_tag_not_found": "is missing",
}

MOST_FAULTS = 100
"""Largest number of reported faults of a file or part, as the search for nearest names takes time."""

_UNTOLD = ("union_tag_invalid", "union_tag_not_found")
"""Errors about a union's key; pydantic locates them at the union."""

_TRANSFERS = re.compile(rf"\s*{NUMBER}\s*[MG]T/s\s*")
"""A transfer rate of a bus, with the unit used in data sheets."""
_OF_A_BUS = (
    "; transfers of a bus: 1600 MT/s of memory are transfers: 1.6e9 /s, and a slot has pcie: {generation, lanes}"
)

_BOUNDS = {"greater_than": "above", "greater_than_equal": "from", "less_than": "below", "less_than_equal": "up to"}
"""Words for the bound of a quantity, whose schema type is text."""


def validate(model: type[Model], tree: Tree, at: KeyPath = (), data: Any = None) -> tuple[Model | None, list[Fault]]:
    """Validate a value with a model.

    Args:
        model: of the value.
        tree: the tree with its place, for faults.
        at: path of the value in the tree.
        data: the value, by default that of the tree.

    Returns:
        The model, or None and all faults of the value.
    """
    try:
        return model.model_validate(tree.get(at) if data is None else data), []
    except ValidationError as error:
        return None, _faults(model, tree, at, error.errors(include_url=False))


def _faults(model: type[BaseModel], tree: Tree, at: KeyPath, errors: Sequence[Any]) -> list[Fault]:
    by_path: dict[KeyPath, list[Any]] = {}
    for error in errors:
        if error["type"] == "too_short" and any(_is_inside(other["loc"], error["loc"]) for other in errors):
            continue  # pydantic counts only valid entries
        by_path.setdefault(_path(tree, at, error), []).append(error)
    listed = [_fault(model, tree, at, path, group) for path, group in itertools.islice(by_path.items(), MOST_FAULTS)]
    if len(by_path) > MOST_FAULTS:
        place = tree.place(at)
        more = f"has {len(by_path) - MOST_FAULTS} more faults, which are not listed"
        listed.append(Fault(more, dotted(at), file=place.file, line=place.line))
    return listed


def _is_inside(loc: KeyPath, outer: KeyPath) -> bool:
    return len(loc) > len(outer) and loc[: len(outer)] == outer


def _path(tree: Tree, at: KeyPath, error: Any) -> KeyPath:
    """Path of an error in the tree: pydantic's location without the names of union members and similar parts."""
    path = at
    missing = error["type"] == "missing"
    for i, key in enumerate(error["loc"]):
        last = i == len(error["loc"]) - 1
        here = tree.get(path)
        there = (isinstance(here, dict) and key in here) or (isinstance(here, tuple) and isinstance(key, int))
        if there or (missing and last):
            path = (*path, key)
    if error["type"] in _UNTOLD and not isinstance(tree.get(path), str):  # a plain text is the name
        return (*path, error["ctx"]["discriminator"].strip("'"))
    return path


def _fault(model: type[BaseModel], tree: Tree, at: KeyPath, path: KeyPath, group: Sequence[Any]) -> Fault:
    error = next((e for e in group if e["type"] == "value_error"), group[0])
    root = schema_of(model)
    inner = path[len(at) :]
    if error["type"] == "extra_forbidden":
        node = _schema_of_error(root, error["loc"][:-1]) or _schema_at(root, inner[:-1]) or {}
        allowed_keys = _properties(root, node)
        return tree.fault(
            path, "unknown key", "one of " + ", ".join(allowed_keys), nearest_name(str(path[-1]), allowed_keys)
        )
    message, allowed = _MESSAGES.get(error["type"], ""), allowed_at(model, inner)
    given, choices = None, _choices(root, _schema_at(root, inner) or {})
    if error["type"] in _UNTOLD:
        around = (_schema_at(root, keys) or {} for keys in (inner, inner[:-1]))
        union = next((node for node in around if "discriminator" in node), {})
        choices = list(union.get("discriminator", {}).get("mapping", {}))
        allowed = "one of " + ", ".join(choices)
        if error["type"] == "union_tag_invalid" and "x-what" in union:
            message, allowed = f"unknown {union['x-what']}", f"{allowed}; {union['x-plugins']}"
    if error["type"] == "value_error":
        message, _, remedy = str(error["ctx"]["error"]).partition("|")
        allowed = remedy or allowed
        if isinstance(tree.get(path), str) and _TRANSFERS.fullmatch(tree.get(path)):
            allowed += _OF_A_BUS
        given = "" if isinstance(tree.get(path), dict) else None
    elif error["type"] in _BOUNDS and isinstance(tree.get(path), str):
        allowed = f"{allowed}; {_BOUNDS[error['type']]} {next(iter(error['ctx'].values()))}"
    elif path and tree.get(path) is None and error["type"] not in ("missing", "union_tag_not_found"):
        message = "has no value"
    elif len({e["type"] for e in group}) > 1 or not message:
        message = "does not fit"
    here = tree.get(path)
    nearest = nearest_name(here, choices) if isinstance(here, str) and here not in choices else ""
    return tree.fault(path, message, allowed, nearest, given)


def _choices(root: JsonSchema, node: JsonSchema) -> list[str]:
    """The allowed texts, if they are limited."""
    branches = [_resolved(root, branch) for branch in _branches(node)]
    choices = [choice for branch in branches for choice in _choices(root, branch)]
    choices += [choice for choice in node.get("enum", [node.get("const")]) if isinstance(choice, str)]
    return list(dict.fromkeys(choices))


def _properties(root: JsonSchema, node: JsonSchema) -> list[str]:
    properties = list(node.get("properties", {}))
    for branch in _branches(node):
        properties += _properties(root, _resolved(root, branch))
    return list(dict.fromkeys(properties))


_OPEN = (*SETTINGS, "precision")
"""Mappings to which ``--set`` may add keys; their readers check the key."""
_OPTIONS: KeyPath = ("host", "nics")
"""Mappings to which keys may be added only at this path: the NICs of a hardware file are fixed."""


def walk(model: type[BaseModel], tree: Tree, path: KeyPath, shown: KeyPath = ()) -> Fault | None:
    """Follow a path through a model's file; returns the fault of an invalid path.

    Args:
        model: of the file.
        tree: of the file.
        path: keys to follow.
        shown: preceding keys in messages.
    """
    here = tree.get(path)
    if here is not None and not isinstance(here, dict):
        return None  # the value exists, so the schema, which takes 0.1 s, is not needed
    root = schema_of(model)
    node = root
    for i, key in enumerate(path):
        inner = _step(root, node, key)
        keys = _properties(root, node)
        is_open = i > 0 and (path[i - 1] in _OPEN or path[:i] == _OPTIONS)
        if inner is not None and key not in keys and not is_open:
            above = tree.get(path[:i])
            keys = list(above) if isinstance(above, dict) else []
            inner = inner if key in keys else None
        if inner is None:
            allowed = "one of " + ", ".join(keys) if keys else f"nothing below {dotted((*shown, *path[:i]))}"
            return Fault(
                "there is no such path", dotted((*shown, *path)), allowed=allowed, nearest=nearest_name(str(key), keys)
            )
        node = inner
    if isinstance(here, dict):
        allowed = "a path to one of its values" + (f", followed by one of {', '.join(here)}" if here else "")
        return Fault("is a mapping, not a value", dotted((*shown, *path)), allowed=allowed)
    return None


def in_order(faults: list[Fault], first_file: str) -> list[Fault]:
    """Sort faults without repetitions: those of the file by line, then of components, then of options."""
    unique = list(dict.fromkeys(faults))
    return sorted(unique, key=lambda f: (f.file != first_file, f.file.startswith("--"), f.file, f.line or 0))
