"""Factories of a host's policies: the scenario's, or the shipped one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hostsim.config.host import PointSpec
from hostsim.errors import WiringError
from hostsim.plugin.module import registry_of

__all__ = ["policy_maker"]

T = TypeVar("T")


def policy_maker(spec: PointSpec, role: str, base: type[T], shipped: Callable[..., T]) -> Callable[..., T]:
    """Return the factory of the policy of a role; its arguments are those of the shipped factory.

    Args:
        spec: the point.
        role: ``scheduler``, ``coalescing`` or ``steering``.
        base: base class of all policies of the role.
        shipped: factory of the shipped policy.

    Raises:
        WiringError: raised by the factory, if the plug-in returns another type.
    """
    choice = spec.policies.get(role)
    if choice is None:
        return shipped
    factory = registry_of(spec.plugins).of(role)[choice.name].factory
    assert factory is not None  # the shipped policy needs no plug-in
    own = choice.own

    def make(*of: object) -> T:
        policy = factory(*of, *own)
        if not isinstance(policy, base):
            raise WiringError(f"{choice.name!r} returns {policy!r}, which is not of class {base.__name__}")
        return policy

    return make
