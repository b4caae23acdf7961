"""Plug-ins of a point: the user's module, and the named choices of a point with their settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import SerializeAsAny

from hostsim.config.field import UNHASHED, Spec

__all__ = ["ChoiceSpec", "NoSettings", "PluginSpec"]


class NoSettings(Spec):
    """Empty settings."""


class PluginSpec(Spec):
    """A plug-in: one Python module with a function ``register``. It is stored as text, so that every worker runs the same."""

    name: str
    """Stem of its file, or name of its entry point."""
    digest: str
    """SHA-256 of its text: 64 hexadecimal digits."""
    version: str = ""
    """Version of its package; empty for a file."""
    source: Annotated[str, UNHASHED]
    """Its text."""
    file: Annotated[str, UNHASHED]
    """Name of its file in messages."""


class ChoiceSpec(Spec):
    """A policy or a control loop that a point chose by name."""

    name: str
    settings: SerializeAsAny[Spec]

    @property
    def own(self) -> tuple[Spec, ...]:
        """The settings as last argument of its factory; empty without settings."""
        return (self.settings,) if type(self.settings).model_fields else ()
