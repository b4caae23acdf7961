"""Service times that a scenario does not set: the time of a request or a packet of each application on this host."""

from __future__ import annotations

from collections.abc import Iterator

from hostsim.config.costs import Cost
from hostsim.config.host import PointSpec
from hostsim.results.results import EffectiveSetting
from hostsim.units import MS, NS, SECOND, US

__all__ = ["default_services"]


def default_services(spec: PointSpec) -> Iterator[EffectiveSetting]:
    """The default service times of traffic, as settings: the time on this host's processor, and its origin.

    Args:
        spec: a point of the scenario.
    """
    cpu = spec.hardware.cpu
    hertz = spec.costs.cycle_rate(cpu.family, cpu.hertz)
    groups = {group.name: group.guest for group in spec.vms}
    for name, flow in spec.traffic.items():
        application, what = flow.application
        if not application or flow.own_service is not None:
            continue
        guests = {groups[group].guest: groups[group] for group in flow.to}
        for guest in guests.values():
            cost: Cost = getattr(guest.applications, application)
            article = "an" if what[0] in "aeiou" else "a"
            kind = "assumed" if cost.assumed is not None else "measured"
            path = f"traffic.{name}.service" + (f" ({guest.guest})" if len(guests) > 1 else "")
            yield EffectiveSetting(
                path, _words(cost.ps(hertz)), f"{article} {what}, {kind} for {guest.guest}{_range(cost, hertz)}"
            )


def _range(cost: Cost, hertz: float) -> str:
    if cost.range is None:
        return ""
    # times are whole picoseconds, and cycles never are integers
    ends = [end if isinstance(end, int) else end * SECOND / hertz for end in cost.range]
    return f", {' to '.join(_words(round(end)) for end in ends)}"


def _words(ps: int) -> str:
    """A time in a unit that suits it, to three digits."""
    unit, name = next(((unit, name) for unit, name in ((MS, "ms"), (US, "us")) if ps >= unit), (NS, "ns"))
    return f"{ps / unit:.3g} {name}"
