"""Service times of applications in guests, drawn from separate random streams if not constant."""

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
    """Return the mean service time in picoseconds: the scenario's, or the guest's cost."""
    return default if spec is None else round(spec.mean_ps(hertz))


def make_service(
    spec: ServiceSpec | None, hertz: float, random: Callable[[], np.random.Generator], factor: float = 1.0
) -> ServiceTimes | None:
    """Return the service times of an application; None if they are constant.

    Args:
        spec: service time of the scenario; None for the guest's cost.
        hertz: Westmere-equivalent cycles/s.
        random: creates the application's random stream.
        factor: multiplier of each service time.
    """
    if spec is None or spec.is_constant:
        return None
    return ServiceTimes(make_lengths(spec, hertz, random()), factor)


def read_by(host: Host, sender: Sender, traffic: Traffic, scope: tuple[str | int, ...]) -> None:
    """Set the reading times of a sender's datagrams, if the scenario has service times.

    Args:
        host: the host.
        sender: sender of the datagrams.
        traffic: spec of the traffic.
        scope: scope of the random stream.
    """
    spec = traffic.own_service
    if spec is None:
        return
    hertz = host.spec.costs.cycle_rate(host.spec.hardware.cpu.family, host.spec.hardware.cpu.hertz)
    sender.read_ps = constant_ps(spec, hertz, 0)
    sender.reads = make_service(spec, hertz, partial(host.streams.stream, *scope))
