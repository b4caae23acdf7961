"""Keys of YAML files, from the models that read them: allowed values, default, meaning."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from hostsim.config.field_docs import field_docs
from hostsim.config.guest import GuestSpec
from hostsim.config.host import HardwareSpec
from hostsim.config.peer import PeerSpec
from hostsim.config.platform import PlatformSpec
from hostsim.config.quantity import UNITS
from hostsim.scenario.json_schema import scenario_schema
from hostsim.scenario.schema import ScenarioFile
from hostsim.scenario.yaml.validation import allowed_at
from hostsim_docs.markdown import anchor, code, prose, table

__all__ = ["Section", "parts_page", "scenario_page", "walk"]

_QUANTITY = re.compile(r"a number and a unit of (\w+), one of [^;]*?(?= or |$)")


@dataclass(frozen=True)
class Section:
    """A mapping in a file: its path, and the model that reads it."""

    path: str
    model: type[BaseModel]


def scenario_page() -> str:
    """The reference of scenario files."""
    intro = """# Scenario files

A scenario file is a YAML mapping. Unknown keys, duplicate keys and values out of range are errors. They are all reported together, each with file, line, allowed values and the nearest valid
name. `hostsim schema` prints the same reference as JSON Schema, for editors. {doc}`../guide/write-a-scenario` builds a file step by step.

`NAME` in a path is a name that you choose: letters, digits, `-` and `_`.
"""
    return intro + _quantities() + _assumptions() + _sections((ScenarioFile, "the file"), assumable=_assumable())


def parts_page() -> str:
    """The reference of the files that scenarios name."""
    intro = """# Platform, hardware, guest and peer files

A scenario names a platform, a server, guests, and optionally a kind of peer; a server can name models of NICs. Each of these parts is a file. Shipped files have names; your own files are named by their paths relative to the scenario. A platform, guest, peer or NIC with `extends: NAME`
is based on another file and needs only the keys that it changes. {doc}`../guide/add-a-device` shows how to write one. Quantities are written as in {ref}`scenario files <quantities>`, and unpublished values
as {ref}`assumptions <assumptions>`.
"""
    parts = (
        (HardwareSpec, "a hardware file"),
        (GuestSpec, "a guest file"),
        (PlatformSpec, "a platform file"),
        (PeerSpec, "a peer file"),
    )
    return intro + _sections(*parts)


def _quantities() -> str:
    rows = [[kind, ", ".join(map(code, units))] for kind, units in UNITS.items()]
    return (
        "\n(quantities)=\n\n## Quantities\n\nA quantity is a number, a space and a unit: `40 kpps`. A number without a unit is an error if the key has a unit.\n\n"
        + table(("quantity", "units"), rows)
    )


def _assumptions() -> str:
    return """
(assumptions)=

## Assumptions

Values that are marked *assumable* in the tables below may be written as `{value: 125 us, assumed: why, range: [80 us, 250 us]}` if they are not published. The range must
contain the value. `hostsim show` and reports list all assumptions.
"""


def _assumable() -> set[tuple[str, str]]:
    """Model and key of each value that may be written as an assumption."""
    definitions = scenario_schema()["$defs"]
    reference = {"$ref": "#/$defs/Assumed"}
    return {
        (model, key)
        for model, definition in definitions.items()
        for key, value in definition.get("properties", {}).items()
        if reference in value.get("anyOf", ())
    }


def _sections(*roots: tuple[type[BaseModel], str], assumable: set[tuple[str, str]] | None = None) -> str:
    """A section for each mapping of some files; a mapping with several places is described at the first."""
    sections = [section for model, name in roots for section in walk(Section(name, model))]
    seen = {section.model: section for section in reversed(sections)}
    blocks = []
    for section in sections:
        if seen[section.model] is not section:
            continue
        title = code(section.path) if " file" not in section.path else section.path.capitalize()
        rows = [
            _row(section, key, field, assumable or set(), seen) for key, field in section.model.model_fields.items()
        ]
        text = prose(inspect.getdoc(section.model) or "")
        blocks.append(
            f"\n({_target(section.model)})=\n\n## {title}\n\n{text}\n\n{table(('key', 'value', 'default', 'meaning'), rows)}"
        )
    return "".join(blocks)


def _target(model: type[BaseModel]) -> str:
    return anchor("keys", model.__name__)


def walk(section: Section) -> Iterator[Section]:
    """A section and its subsections, recursively."""
    yield section
    for key, field in section.model.model_fields.items():
        for inner, step in _models(field.annotation, f"{field.alias or key}"):
            above = "" if " file" in section.path else f"{section.path}."
            yield from walk(Section(f"{above}{step}", inner))


def _models(annotation: Any, step: str) -> Iterator[tuple[type[BaseModel], str]]:
    """Models inside an annotation, each with its path."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        kind = annotation.model_fields.get("kind")
        values = get_args(kind.annotation) if kind is not None else ()
        yield annotation, f"{step} (kind: {values[0]})" if len(values) == 1 else step
        return
    arguments = get_args(annotation)
    origin = getattr(annotation, "__origin__", None)
    if origin is dict:
        yield from _models(arguments[1], f"{step}.NAME")
    elif origin is tuple:
        yield from _models(arguments[0] if arguments else None, f"{step}[]")
    else:
        for argument in arguments:
            yield from _models(argument, step)


def _row(
    section: Section,
    key: str,
    field: FieldInfo,
    assumable: set[tuple[str, str]],
    seen: dict[type[BaseModel], Section],
) -> list[str]:
    name = field.alias or key
    inner = [model for model, _ in _models(field.annotation, "") if model in seen]
    if inner:
        links = dict.fromkeys(f"{{ref}}`{_short(seen[model].path)} <{_target(model)}>`" for model in inner)
        value = ("by its kind: " if len(links) > 2 else "") + " or ".join(links)
    else:
        value = _QUANTITY.sub(r"{ref}`\1 <quantities>`", allowed_at(section.model, (name,))) + _bounds(field)
    if (section.model.__name__, name) in assumable and _is_amount(value):
        value += " ({ref}`assumable <assumptions>`)"
    return [code(name), value, _default(field, value), prose(field_docs(section.model).get(key, ""))]


def _short(path: str) -> str:
    """Text of a link to a section; only the kind, if the section is distinguished by it."""
    kind = re.search(r"\(kind: (\w+)\)$", path)
    return kind[1] if kind else path


def _is_amount(value: str) -> bool:
    """True for a number or a quantity, as names and kinds cannot be assumptions."""
    return "quantities" in value or "an integer" in value or "a number" in value


def _bounds(field: FieldInfo) -> str:
    """A bound of a quantity that its allowed text does not contain."""
    optional = [FieldInfo.from_annotation(part) for part in get_args(field.annotation) if get_origin(part) is Annotated]
    for one in (field, *optional):
        is_quantity = any(type(entry).__name__ == "WithJsonSchema" for entry in one.metadata)
        if one.annotation in (int, float) and is_quantity and any(getattr(e, "gt", None) == 0 for e in one.metadata):
            return " above 0"
    return ""


def _default(field: FieldInfo, value: str) -> str:
    if field.is_required():
        return "**needed**"
    default = field.default
    if default is PydanticUndefined or default is None or isinstance(default, BaseModel) or default in ((), "", {}):
        return ""
    if "duration" in value and isinstance(default, int):
        return code(_duration(default))
    if "`size" in value:
        return code(f"{default} B")
    if isinstance(default, bool):
        return code(str(default).lower())
    return code(default)


def _duration(ps: int) -> str:
    for unit, size in (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3)):
        if ps and ps % size == 0:
            return f"{ps // size} {unit}"
    return f"{ps} ps"
