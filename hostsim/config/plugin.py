"""Plug-ins of a point: the module that a user brought, and what a point chose by name with its settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import SerializeAsAny

from hostsim.config.field import UNHASHED, Spec

__all__ = ["ChoiceSpec", "NoSettings", "PluginSpec"]


class NoSettings(Spec):
    """The settings of what has none."""


class PluginSpec(Spec):
    """A plug-in: one Python module with a function ``register``. It travels as text, so that every worker runs the same."""

    name: str
    """Stem of its file, or name of its entry point."""
    digest: str
    """SHA-256 of its text: 64 hexadecimal digits."""
    version: str = ""
    """Version of the package that it was installed with; empty of a file."""
    source: Annotated[str, UNHASHED]
    """Its text."""
    file: Annotated[str, UNHASHED]
    """What messages call its file."""


class ChoiceSpec(Spec):
    """A policy or a control loop that a point chose by name."""

    name: str
    settings: SerializeAsAny[Spec]

    @property
    def own(self) -> tuple[Spec, ...]:
        """The settings as a last argument of what makes it; none where it has no settings."""
        return (self.settings,) if type(self.settings).model_fields else ()
