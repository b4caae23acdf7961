"""Plug-ins of a point: modules of the user, and selected policies and control loops."""

from __future__ import annotations

from typing import Annotated

from pydantic import SerializeAsAny

from hostsim.config.field import UNHASHED, Spec

__all__ = ["ChoiceSpec", "NoSettings", "PluginSpec"]


class NoSettings(Spec):
    """Empty settings."""


class PluginSpec(Spec):
    """A plug-in: a Python module with a function ``register``.

    It is stored as text, so that every worker runs the same code.
    """

    name: str
    """Stem of its file, or name of its entry point."""
    digest: str
    """SHA-256 of its text: 64 hexadecimal digits."""
    version: str = ""
    """Version of its package; empty for a file."""
    source: Annotated[str, UNHASHED]
    """Text of the module."""
    file: Annotated[str, UNHASHED]
    """Name of its file in messages."""


class ChoiceSpec(Spec):
    """A policy or a control loop of a plug-in that a point selects by name."""

    name: str
    settings: SerializeAsAny[Spec]

    @property
    def own(self) -> tuple[Spec, ...]:
        """The settings as last argument of its factory; empty without settings."""
        return (self.settings,) if type(self.settings).model_fields else ()
