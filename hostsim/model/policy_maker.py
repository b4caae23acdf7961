"""Makers of a host's policies: of the one that its scenario names, or of the shipped one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hostsim.config.host import PointSpec
from hostsim.errors import WiringError
from hostsim.plugin.module import registry_of

__all__ = ["policy_maker"]

T = TypeVar("T")


def policy_maker(spec: PointSpec, role: str, base: type[T], shipped: Callable[..., T]) -> Callable[..., T]:
    """Return what makes the policy of a role; it is called with what the shipped one is made of.

    Args:
        spec: the point.
        role: ``scheduler``, ``coalescing`` or ``steering``.
        base: class that every policy of the role is derived from.
        shipped: makes the shipped one.

    Raises:
        WiringError: when it is called: what the plug-in makes is none.
    """
    choice = spec.policies.get(role)
    if choice is None:
        return shipped
    factory = registry_of(spec.plugins).of(role)[choice.name].factory
    assert factory is not None  # a shipped one is no choice
    own = choice.own

    def make(*of: object) -> T:
        made = factory(*of, *own)
        if not isinstance(made, base):
            raise WiringError(f"{choice.name!r} makes no {base.__name__} but {made!r}")
        return made

    return make
