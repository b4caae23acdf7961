"""Provenance: every effective setting with its origin, and the default service times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hostsim.config.costs import Cost
from hostsim.config.effective_settings import vmx_table
from hostsim.config.host import PointSpec
from hostsim.config.platform import PlatformSpec, SettingSpec
from hostsim.errors import with_article
from hostsim.results.results import EffectiveSetting
from hostsim.scenario.axis import Axis
from hostsim.scenario.component import Part
from hostsim.scenario.resolve import Resolver
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import AssumedValue, Tree, dotted, leaves
from hostsim.units import MS, NS, SECOND, US

__all__ = ["default_services", "effective_settings"]

_NOT_SETTINGS = frozenset({"hardware", "guest", "peer", "model", "source", "assumed", "range", "prior"})
"""Keys of parts that contain only names or origins."""
_SECTIONS = ("platform", "hardware", "peer", "host", "network", "vms", "traffic", "policies", "control_loops", "run")


def effective_settings(
    resolver: Resolver, tree: Tree, axes: Mapping[str, Axis]
) -> tuple[tuple[EffectiveSetting, ...], tuple[AssumedValue, ...]]:
    """The effective settings of a valid scenario without its axes, and the assumed values of its components.

    Args:
        resolver: the scenario.
        tree: its file with options applied.
        axes: varied paths.
    """
    owners = {path: name for name, axis in axes.items() for path in axis.paths}
    rows: dict[str, EffectiveSetting] = {}
    assumptions: dict[str, AssumedValue] = {}

    def add(name: str, value: Any, origin: str) -> None:
        owner = owners.get(name)
        if owner is not None:
            value, origin = ", ".join(map(str, axes[owner].values)), f"axis {owner}"
        rows.setdefault(name, EffectiveSetting(name, str(value), origin))

    def add_part(key: KeyPath) -> Part[Any] | None:
        part = parts.get(key)
        if part is not None:
            assumptions.update({a.path: a for a in part.assumptions})
        return part

    _, inside = resolver.changed(())
    tree, _, _ = resolver.with_files(tree, inside)
    part_keys: list[KeyPath] = [
        ("platform",),
        ("hardware",),
        ("peer",),
        *(("vms", group, "guest") for group in tree.get(("vms",))),
    ]
    parts = {key: resolver.part(tree, key, inside.get(key, ())) for key in part_keys}
    add_part(("peer",))  # every host has the setting, even if the file does not mention it
    for section in _SECTIONS:
        for path, value in leaves(tree.get((section,)), (section,)):
            add(dotted(path), value, str(tree.place(path)))
            part = add_part(path)
            if part is not None and path != ("platform",):
                for inner, inner_value in leaves(part.tree.data, ()):
                    if inner[-1] in _NOT_SETTINGS:
                        continue
                    add(dotted((*path, *inner)), inner_value, str(part.tree.place(inner)))
    platform = parts["platform",]
    if platform is not None and platform.spec is not None:
        origin = f"{platform.spec.platform} default"
        for name, setting in _defaults(platform.spec, tree.get(("vms",))):
            add(name, setting.default if setting.default != "" else "(none)", origin)
    for path, value, place in inside.get(("platform",), ()):
        add(dotted(("platform", *path)), value, str(place))
    return tuple(rows.values()), tuple(assumptions.values())


def _defaults(platform: PlatformSpec, groups: Mapping[str, Any]) -> Iterator[tuple[str, SettingSpec]]:
    if not platform.hypervisor:
        return
    for section in ("advanced", "kernel"):
        for name, setting in getattr(platform, section).items():
            yield f"host.{section}.{name}", setting
    for group, part in groups.items():
        networks = part.get("networks")
        for name, setting in vmx_table(platform, len(networks) if isinstance(networks, tuple) else 1).items():
            yield f"vms.{group}.vmx.{name}", setting


def default_services(spec: PointSpec) -> Iterator[EffectiveSetting]:
    """The default service times of traffic, as settings: the time on this host's processor, and its origin.

    Args:
        spec: a point of the scenario.
    """
    cpu = spec.hardware.cpu
    hertz = spec.costs.cycle_rate(cpu.family, cpu.hertz)
    groups = {group.name: group.guest for group in spec.vms}
    for name, flow in spec.traffic.items():
        application, noun = flow.application
        if not application or flow.own_service is not None:
            continue
        guests = {groups[group].guest: groups[group] for group in flow.to}
        for guest in guests.values():
            cost: Cost = getattr(guest.applications, application)
            kind = "assumed" if cost.assumed is not None else "measured"
            path = f"traffic.{name}.service" + (f" ({guest.guest})" if len(guests) > 1 else "")
            yield EffectiveSetting(
                path, _words(cost.ps(hertz)), f"{with_article(noun)}, {kind} for {guest.guest}{_range(cost, hertz)}"
            )


def _range(cost: Cost, hertz: float) -> str:
    if cost.range is None:
        return ""
    # times are whole picoseconds, and cycles are never integers
    ends = [end if isinstance(end, int) else end * SECOND / hertz for end in cost.range]
    return f", {' to '.join(_words(round(end)) for end in ends)}"


def _words(ps: int) -> str:
    """A time with three digits, in a suitable unit."""
    unit, name = next(((unit, name) for unit, name in ((MS, "ms"), (US, "us")) if ps >= unit), (NS, "ns"))
    return f"{ps / unit:.3g} {name}"
