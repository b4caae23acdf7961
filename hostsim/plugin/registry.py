"""Registry of names in scenario files: kinds of traffic, policies and control loops, shipped or from plug-ins.

The shipped ones have names and settings here; their factories are in the model. A plug-in registers a factory as well.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hostsim.config.field import Spec
from hostsim.config.plugin import NoSettings, PluginSpec
from hostsim.config.traffic import Traffic, kind_of
from hostsim.config.workload import TRAFFIC
from hostsim.errors import Fault, InputError

__all__ = ["DEFAULT_POLICIES", "ROLES", "Registered", "Registry"]

ROLES: Final[Mapping[str, str]] = {
    "traffic": "kind of traffic",
    "scheduler": "scheduler policy",
    "coalescing": "coalescing scheme",
    "steering": "steering rule",
    "control_loop": "control loop",
}
"""Roles of registered objects, in words."""
DEFAULT_POLICIES: Final[Mapping[str, str]] = {
    "scheduler": "proportional_share",
    "coalescing": "by_setting",
    "steering": "by_setting",
}
"""The default policy of each role."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True)
class Registered:
    """A kind of traffic, a policy or a control loop under its name."""

    name: str
    settings: type[Spec]
    """Model of its settings."""
    factory: Callable[..., Any] | None = None
    """Makes it from its settings; for traffic and loops, attaches it to a host. None for a shipped one."""
    plugin: PluginSpec | None = None
    """Plug-in of its origin; None for a shipped one."""


class Registry:
    """The names that scenario files may use; a plug-in's ``register(registry)`` adds to them.

    Attributes:
        plugins: loaded plug-ins, in the given order.
    """

    def __init__(self) -> None:
        self.plugins: tuple[PluginSpec, ...] = ()
        self._entries: dict[str, dict[str, Registered]] = {role: {} for role in ROLES}
        for spec in TRAFFIC:
            self._add("traffic", kind_of(spec), spec)
        for role, name in DEFAULT_POLICIES.items():
            self._add(role, name, NoSettings)
        self._loading: PluginSpec | None = None

    def of(self, role: str) -> Mapping[str, Registered]:
        """The entries of a role of `ROLES`, by name."""
        return self._entries[role]

    def load(self, plugin: PluginSpec, register: Callable[[Registry], object]) -> None:
        """Let a plug-in register its entries."""
        self._loading = plugin
        try:
            register(self)
        finally:
            self._loading = None
        self.plugins = (*self.plugins, plugin)

    def traffic(self, spec: type[Traffic], attach: Callable[..., object]) -> None:
        """Register a kind of traffic under the name that its spec's ``kind`` gives.

        Args:
            spec: of its entry in a scenario: a class derived from `hostsim.config.traffic.Traffic`, with ``kind`` and ``to``.
            attach: called with host, name, spec, the VMs that it goes to and random streams, before time starts; or a SimPy
                process, a generator function called with environment, host and `hostsim.model.traffic.peer.Peer`, whose spec is
                derived from `hostsim.config.traffic.Sourced`.

        Raises:
            InputError: the spec is not such a class, or the name is used.
        """
        if not (isinstance(spec, type) and issubclass(spec, Traffic)):
            raise InputError(
                Fault("is not a kind of traffic", given=repr(spec), allowed="a class derived from Traffic")
            )
        if not kind_of(spec) or "to" not in spec.model_fields:
            allowed = "kind: Literal[one name], and to: Names"
            raise InputError(Fault("has no kind, or no receiver", given=spec.__name__, allowed=allowed))
        if inspect.isgeneratorfunction(attach) and not spec.closed_loop:
            raise InputError(
                Fault("is not a spec of a SimPy process", given=spec.__name__, allowed="derived from Sourced")
            )
        self._add("traffic", kind_of(spec), spec, attach)

    def scheduler(self, name: str, factory: Callable[..., object], settings: type[Spec] = NoSettings) -> None:
        """Register a scheduler policy.

        Args:
            name: in scenarios.
            factory: makes the policy of a host; often its class. Called with the arguments of the shipped one
                (`hostsim.model.policy.scheduler`), then with its settings if any.
            settings: model of its settings.

        Raises:
            InputError: the name is used, or an argument is invalid.
        """
        self._add("scheduler", name, settings, factory)

    def coalescing(self, name: str, factory: Callable[..., object], settings: type[Spec] = NoSettings) -> None:
        """Register a coalescing scheme of vNICs, as in `scheduler`; the factory makes the scheme of one receive queue."""
        self._add("coalescing", name, settings, factory)

    def steering(self, name: str, factory: Callable[..., object], settings: type[Spec] = NoSettings) -> None:
        """Register a steering rule of physical NICs, as in `scheduler`; the factory makes the rule of one port."""
        self._add("steering", name, settings, factory)

    def control_loop(self, name: str, loop: Callable[..., object], settings: type[Spec] = NoSettings) -> None:
        """Register a slow control loop: a SimPy process, called with environment, host, and its settings if any."""
        if not inspect.isgeneratorfunction(loop):
            allowed = "a function that yields events, such as env.timeout(ms(10))"
            raise InputError(Fault("is not a SimPy process", given=repr(name), allowed=allowed))
        self._add("control_loop", name, settings, loop)

    def _add(self, role: str, name: str, settings: type[Spec], factory: Callable[..., object] | None = None) -> None:
        role_words, plugin, entries = ROLES[role], self._loading if factory is not None else None, self._entries[role]
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            allowed = "letters, digits, _ and -, at most 100"
            raise InputError(Fault(f"is not a name of a {role_words}", given=repr(name), allowed=allowed))
        if not (isinstance(settings, type) and issubclass(settings, Spec)):
            allowed = "a class derived from hostsim.config.field.Spec"
            raise InputError(Fault(f"has settings that nothing checks: the {role_words} {name!r}", allowed=allowed))
        if role != "traffic" and "name" in settings.model_fields:
            raise InputError(Fault(f"has a setting called name: the {role_words} {name!r}", allowed="another word"))
        if factory is not None and not callable(factory):
            raise InputError(
                Fault(f"cannot be called: the {role_words} {name!r}", given=repr(factory), allowed="a function")
            )
        if name in entries:
            owner = entries[name].plugin
            whose = "a shipped one has this name" if owner is None else f"the plug-in {owner.name} registers it too"
            raise InputError(
                Fault(f"registers the {role_words} {name!r} a second time: {whose}", allowed="another name")
            )
        entries[name] = Registered(name, settings, factory, plugin)
