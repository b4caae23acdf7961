"""Choices by name in scenario files: kinds of traffic, policies and control loops, each with the settings of its model.

Models are made from the registry, so that additions of plug-ins are checked, completed and listed like shipped ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, create_model
from pydantic_core import CoreSchema, core_schema

from hostsim.config.arrival import ArrivalKeys
from hostsim.config.field import Spec
from hostsim.config.plugin import PluginSpec
from hostsim.config.traffic import Traffic
from hostsim.plugin.registry import ROLES, Registry

__all__ = ["ArrivalsPart", "choice_of", "traffic_of"]


class ArrivalsPart(ArrivalKeys):
    """The instants at which an open-loop sender puts packets on the wire."""

    file: str | None = None
    """For ``replay``: path of a text file of seconds, one a line, ascending. For ``profile``: of one with two numbers a line, seconds and the arrivals in a
    second from then on; the last line holds for as long as the one before it."""


class _ByName:
    """One of several models, selected by the name under a key; a model without other values can be given by its name alone."""

    def __init__(
        self, key: str, what: str, models: Mapping[str, type[BaseModel]], plugins: Iterable[PluginSpec]
    ) -> None:
        self._key, self._what, self._models = key, what, models
        loaded = ", ".join(plugin.name for plugin in plugins)
        self._plugins = f"plug-ins loaded: {loaded}" if loaded else "no plug-in is loaded"
        self._is_short = key == "name"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if not self._models:
            return core_schema.no_info_plain_validator_function(self._refuse)
        choices = {name: handler.generate_schema(model) for name, model in self._models.items()}
        union = core_schema.tagged_union_schema(choices, discriminator=self._key)
        return core_schema.no_info_before_validator_function(self._long, union) if self._is_short else union

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        if not self._models:
            return {"not": {}, "x-allowed": self._plugins}
        made = handler(schema)
        told = {"x-what": self._what, "x-plugins": self._plugins}
        if not self._is_short:
            return {**made, **told}
        alone = {"type": "string", "enum": list(self._models)}
        return {"anyOf": [alone, made], "discriminator": made["discriminator"], **told}

    def _long(self, value: Any) -> Any:
        return {self._key: value} if isinstance(value, str) else value

    def _refuse(self, value: Any) -> Any:
        raise ValueError(f"unknown {self._what}|one of a plug-in; {self._plugins}")


def traffic_of(registry: Registry) -> Any:
    """The annotation of an entry under ``traffic``: any registered kind."""
    models = {name: _part(entry.settings) for name, entry in registry.of("traffic").items()}
    return Annotated[Union[tuple(models.values())], _ByName("kind", ROLES["traffic"], models, registry.plugins)]  # noqa: UP007


def choice_of(registry: Registry, role: str) -> Any:
    """The annotation of a policy or a control loop: a name, or a mapping with ``name`` and its settings."""
    models = {name: _named(name, entry.settings, ROLES[role]) for name, entry in registry.of(role).items()}
    members: Any = Union[tuple(models.values())] if models else Any  # noqa: UP007
    return Annotated[members, _ByName("name", ROLES[role], models, registry.plugins)]


def _part(spec: type[Spec]) -> type[BaseModel]:
    """A kind of traffic as written in a file: with a file of instants instead of the instants of the spec."""
    arrivals = spec.model_fields.get("arrivals")
    if not issubclass(spec, Traffic) or arrivals is None:
        return spec
    default = ArrivalsPart(process=getattr(arrivals.default, "process", "constant"))
    field = Field(default)
    name = f"{spec.__name__.removesuffix('Spec')}Part"
    return create_model(name, __base__=spec, __doc__=spec.__doc__, __module__=__name__, arrivals=(ArrivalsPart, field))


def _named(name: str, settings: type[Spec], what: str) -> type[BaseModel]:
    """The settings of a policy or a control loop, including its name."""
    # with the role: a coalescing scheme and a steering rule may have one name
    title = "".join(word.capitalize() for word in f"{name} {what}".replace("-", " ").replace("_", " ").split())
    literal: Any = Literal[name]
    field: Any = Field(description=f"Name of the {what}.")
    doc = f"The {what} {name}. {settings.__doc__ if settings.model_fields else 'It has no settings.'}"
    return create_model(f"{title}Part", __base__=settings, __doc__=doc, __module__=__name__, name=(literal, field))
