"""Service times of applications in guests, drawn from a random stream of their own where they are not constant."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from hostsim.config.arrival import ServiceSpec
from hostsim.config.traffic import Traffic
from hostsim.engine.arrivals import ServiceTimes
from hostsim.model.contract import Sender
from hostsim.model.host import Host
from hostsim.model.traffic.arrival_source import make_lengths

__all__ = ["constant_ps", "make_service", "read_by"]


def constant_ps(spec: ServiceSpec | None, hertz: float, default: int) -> int:
    """Return the mean service time in picoseconds: a scenario's own, or the guest's cost."""
    return default if spec is None else round(spec.mean_ps(hertz))


def make_service(
    spec: ServiceSpec | None, hertz: float, random: Callable[[], np.random.Generator], factor: float = 1.0
) -> ServiceTimes | None:
    """Return the service times of an application; None where each is the same.

    Args:
        spec: those of a scenario; None where the guest's cost counts.
        hertz: Westmere-equivalent cycles in a second.
        random: makes the application's own random stream.
        factor: number that each is multiplied by.
    """
    if spec is None or spec.is_constant:
        return None
    return ServiceTimes(make_lengths(spec, hertz, random()), factor)


def read_by(host: Host, sender: Sender, traffic: Traffic, scope: tuple[str | int, ...]) -> None:
    """Let the process that reads a sender's datagrams take the service times of its traffic, where the scenario names some.

    Args:
        host: the host.
        sender: of the datagrams.
        traffic: its spec.
        scope: of the random stream.
    """
    spec = traffic.own_service
    if spec is None:
        return
    hertz = host.spec.costs.cycle_rate(host.spec.hardware.cpu.family, host.spec.hardware.cpu.hertz)
    sender.read_ps = constant_ps(spec, hertz, 0)
    sender.reads = make_service(spec, hertz, partial(host.streams.stream, *scope))
