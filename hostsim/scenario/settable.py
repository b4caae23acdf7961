"""Paths that ``--set``, ``--axis`` and sweeps can change: of the scenario, its components, and the settings of its platform."""

from __future__ import annotations

from hostsim.config.effective_settings import vmx_table
from hostsim.config.field import Spec
from hostsim.config.guest import GuestSpec
from hostsim.config.host import HardwareSpec
from hostsim.config.peer import PeerSpec
from hostsim.config.platform import PlatformSpec
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.scenario.resolve import Resolver, split_part_path
from hostsim.scenario.schema import ScenarioFile
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.settings_file import FILE
from hostsim.scenario.yaml.source_tree import SETTINGS, Place, dotted
from hostsim.scenario.yaml.validation import schema_of, walk

__all__ = ["unsettable"]


def unsettable(
    model: type[ScenarioFile], resolver: Resolver, path: KeyPath, place: Place, roots: tuple[str, ...]
) -> Fault | None:
    """The fault of a path that cannot be changed, or None.

    Args:
        model: of the file.
        resolver: of the scenario.
        path: to change.
        place: option or line of the change.
        roots: sections that may be changed.
    """
    fault: Fault | None
    split = split_part_path(path)
    if path[0] not in roots:
        nearest = nearest_name(str(path[0]), roots)
        known = str(path[0]) in schema_of(model)["properties"]
        message = "cannot be varied" if known else "there is no such path"
        fault = Fault(message, dotted(path), allowed="a path below " + ", ".join(roots), nearest=nearest)
    elif split is None:
        fault = walk(model, resolver.tree, path)
    else:
        key, inner = split
        fault = walk(model, resolver.tree, key)
        models: dict[str, type[Spec]] = {"platform": PlatformSpec, "hardware": HardwareSpec, "peer": PeerSpec}
        part_model = models.get(str(key[-1]), GuestSpec)
        try:
            part = None if fault else resolver.part(resolver.tree, key)
        except InputError:
            part = None  # reported when the point is made
        if part is not None and not part.faults:
            fault = walk(part_model, part.tree, inner, key)
    if fault is None and len(path) > 2 and path[-2] in SETTINGS and (len(path) > 3 or path[0] == "host"):
        fault = _unknown_setting(resolver, path)
    if fault is None:
        return None
    return Fault(fault.message, fault.path, "", fault.allowed, fault.nearest, place.file, place.line)


def _unknown_setting(resolver: Resolver, path: KeyPath) -> Fault | None:
    platform = resolver.tree.get(("platform",))
    try:
        spec = resolver.parts.platform(platform, ("platform",)).spec if isinstance(platform, str) else None
    except InputError:
        return None  # reported when the point is made
    if spec is None:
        return None
    known = list(getattr(spec, str(path[-2])))
    if path[-2] == "vmx":
        networks = resolver.tree.get((*path[:-2], "networks"))
        known = list(vmx_table(spec, len(networks) if isinstance(networks, tuple) else 1))
    name = str(path[-1])
    if name in known or (name == FILE and path[-2] != "kernel"):
        return None
    return Fault(
        "unknown setting", dotted(path), allowed="a setting of the platform", nearest=nearest_name(name, known)
    )
