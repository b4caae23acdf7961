"""Resolution of points: from a scenario file with changed values to a `PointSpec`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hostsim.config.effective_settings import Rings, effective_offloads, host_settings, vm_settings
from hostsim.config.files import find_below
from hostsim.config.guest import GuestSpec
from hostsim.config.host import HardwareSpec, PointSpec, VmGroupSpec
from hostsim.config.nic import NicOptions, NicSpec
from hostsim.config.peer import PeerSpec
from hostsim.config.platform import FunctionSettings, HostSettings, PassthroughSettings, PlatformSpec
from hostsim.config.plugin import ChoiceSpec, PluginSpec
from hostsim.config.traffic import Traffic
from hostsim.errors import Fault, InputError
from hostsim.plugin.registry import DEFAULT_POLICIES, Registry
from hostsim.scenario.check.admission import admission_faults, pool_faults, pools
from hostsim.scenario.check.capacity import feature_warnings, load_faults, nic_faults, traffic_faults, vm_faults
from hostsim.scenario.check.effect import (
    Effects,
    assumption_warnings,
    depends_on_length,
    effects,
    extrapolation_warnings,
    side_channel_reason,
)
from hostsim.scenario.check.native import kernel_nics, native_faults
from hostsim.scenario.check.network import (
    settled,
    team_faults,
    tier_faults,
    uplink_faults,
    vm_traffic_faults,
    without_teaming,
)
from hostsim.scenario.check.reference import (
    contradictions,
    network_faults,
    passthrough_faults,
    passthrough_warnings,
    server_faults,
)
from hostsim.scenario.component import Change, Changes, Part, Parts
from hostsim.scenario.schema import DEFAULT_PEER, ROOT_POOL, SHIPPED, PointFile, file_models
from hostsim.scenario.yaml.arrival_trace import read_instants, read_profile
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.settings_file import SettingsFiles
from hostsim.scenario.yaml.source_tree import Tree, dotted, keys, show_value
from hostsim.scenario.yaml.validation import MOST_FAULTS, validate

__all__ = ["Resolution", "Resolver", "split_part_path"]


def split_part_path(path: KeyPath) -> tuple[KeyPath, KeyPath] | None:
    """Split a path into the key of a component and the path inside it; None for other paths."""
    if path[:1] in (("platform",), ("hardware",), ("peer",)) and len(path) > 1:
        return path[:1], path[1:]
    if path[:1] == ("vms",) and path[2:3] == ("guest",) and len(path) > 3:
        return path[:3], path[3:]
    return None


@dataclass(frozen=True)
class Resolution:
    """The result of resolving one point: its spec, or its faults."""

    spec: PointSpec | None
    """The spec; None if there are faults."""
    faults: tuple[Fault, ...]
    warnings: tuple[str, ...]
    """Flags of its runs."""
    effects: Effects = field(default_factory=dict)
    """Judged settings, see `hostsim.scenario.check.effect`."""
    notices: tuple[str, ...] = ()
    """Warnings, except those of settings without effect."""
    simulated: PointSpec | None = None
    """The spec with which it is run: settings without effect have their defaults."""


class Resolver:
    """Resolves points of a scenario file: from values of its axes to a spec."""

    def __init__(
        self,
        tree: Tree,
        changes: Iterable[Change],
        folder: Path,
        root: Path,
        registry: Registry = SHIPPED,
        in_place: Tree | None = None,
    ) -> None:
        """Make a resolver of a scenario; its assumptions are unwrapped.

        Args:
            tree: of the file.
            changes: changes by options, for every point.
            folder: folder that paths are relative to.
            root: folder that must contain all files.
            registry: registry with the allowed names.
            in_place: hardware that is a mapping in the scenario.
        """
        self.tree = tree
        self.registry = registry
        self.root = root
        self.parts = Parts(folder, root, in_place)
        self._folder = folder
        self._changes = tuple(changes)
        self._instants: dict[str, tuple[int, ...]] = {}
        self._profiles: dict[str, tuple[dict[str, str], ...]] = {}
        self._settings_files = SettingsFiles(folder, root)

    def with_files(self, tree: Tree, inside: Mapping[KeyPath, Changes]) -> tuple[Tree, list[Fault], list[str]]:
        """The scenario merged with its settings files, and the faults and warnings of these files.

        Args:
            tree: the scenario.
            inside: values inside its components, by key of the component.
        """

        def spec(key: KeyPath) -> Any:
            try:
                part = self.part(tree, key, inside.get(key, ()))
            except InputError:
                return None  # the component's faults are reported elsewhere
            return part and part.spec

        def has_e1000(group: str) -> bool:
            guest: GuestSpec | None = spec(("vms", group, "guest"))
            return guest is None or guest.e1000 is not None

        platform: PlatformSpec | None = spec(("platform",))
        return (tree, [], []) if platform is None else self._settings_files.merged_into(tree, platform, has_e1000)

    def with_remedy(self, fault: Fault) -> Fault:
        """A fault in a settings file with a hint how to replace the value; other faults are unchanged."""
        return self._settings_files.with_remedy(fault)

    def changed(self, changes: Iterable[Change]) -> tuple[Tree, dict[KeyPath, Changes]]:
        """The changed scenario, and the changes inside its components, by key of the component."""
        here: list[Change] = []
        inside: dict[KeyPath, Changes] = {}
        for path, value, place in (*self._changes, *changes):
            split = split_part_path(path)
            if split is None:
                here.append((path, value, place))
            else:
                key, inner = split
                inside[key] = (
                    *inside.get(key, ()),
                    (inner, value, replace(place, whole_path=place.whole_path or path)),
                )
        return (self.tree.put(here) if here else self.tree), inside

    def part_name(self, tree: Tree, key: KeyPath) -> Any:
        """The name of the component at a key, or its default."""
        name = tree.get(key)
        return DEFAULT_PEER if name is None and key == ("peer",) else name

    def part(self, tree: Tree, key: KeyPath, changes: Changes = ()) -> Part[Any] | None:
        """The component that a key names; None if the value is not text.

        Raises:
            InputError: the part does not exist; placed at the key.
        """
        name = self.part_name(tree, key)
        if not isinstance(name, str):
            return None
        parts: dict[KeyPath, Callable[[str, KeyPath, Changes], Part[Any]]] = {
            ("platform",): self.parts.platform,
            ("hardware",): self.parts.hardware,
            ("peer",): self.parts.peer,
        }
        try:
            return parts.get(key, self.parts.guest)(name, key, changes)
        except InputError as error:
            raise InputError(tree.located(key, error)) from None

    def resolve(self, changes: Iterable[Change], length_ps: int) -> Resolution:
        """Resolve one point.

        Args:
            changes: values of the axes at their paths.
            length_ps: simulated time of a run.
        """
        tree, inside = self.changed(changes)
        tree, faults, warnings = self.with_files(tree, inside)
        return _PointBuilder(self, tree, inside, faults, warnings).resolution(length_ps)

    @property
    def arrival_files(self) -> tuple[str, ...]:
        """Files of arrivals and rates that the resolved points replay, by path from the scenario's folder."""
        return (*self._instants, *self._profiles)

    def instants(self, name: str) -> tuple[int, ...]:
        """Instants of a file of arrivals in picoseconds.

        Raises:
            InputError: the file is not below the scenario's root; see `read_instants`.
        """
        if name not in self._instants:
            self._instants[name] = read_instants(find_below(name, self._folder, self.root))
        return self._instants[name]

    def profile(self, name: str) -> tuple[dict[str, str], ...]:
        """Phases of a file of rates, as written in a scenario.

        Raises:
            InputError: the file is not below the scenario's root; see `read_profile`.
        """
        if name not in self._profiles:
            self._profiles[name] = read_profile(find_below(name, self._folder, self.root))
        return self._profiles[name]


class _PointBuilder:
    """Builds one point, from a tree to a spec; collects its faults."""

    def __init__(
        self,
        resolver: Resolver,
        tree: Tree,
        inside: Mapping[KeyPath, Changes],
        faults: list[Fault],
        warnings: list[str],
    ) -> None:
        self._resolver = resolver
        self._tree = tree
        self._inside = inside
        self.faults = faults
        self._notices = warnings
        self.warnings = [*warnings]
        data = tree.data if isinstance(tree.data, dict) else {}
        data = {key: value for key, value in data.items() if key in PointFile.model_fields}
        self._registry = resolver.registry
        self._file, new_faults = validate(file_models(self._registry)[0], tree, data=data)
        self.faults += new_faults
        if self._file is not None:
            teams = list(team_faults(tree, self._file))
            self.faults += teams
            if not teams:
                self._file = self._file.model_copy(update={"network": settled(self._file.network)})
        self._vms = self._mapping(("vms",))
        self._vain: Collection[str] = ()
        """Paths of settings that are replaced by their defaults."""
        self._nics: Mapping[str, NicSpec] = {}
        """Physical NICs by name."""

    def resolution(self, length_ps: int) -> Resolution:
        platform: PlatformSpec | None = self._spec(("platform",))
        hardware: HardwareSpec | None = self._spec(("hardware",))
        if hardware is not None and platform is not None:
            hardware = hardware.with_drivers(platform.drivers)
            self._nics = hardware.nics
        threads = hardware.cpu.threads if hardware is not None else 1
        kernel = self._mapping(("host", "kernel"))
        if hardware is not None and not side_channel_reason(kernel, threads, hardware.cpu.family):
            hardware = hardware.without_hyperthreads()  # version 1 of the side-channel aware scheduler
        peer: PeerSpec | None = self._spec(("peer",))
        self.faults += network_faults(self._tree, hardware)
        if hardware is not None:
            part = self._part(("hardware",))
            self.faults += server_faults(part.tree if part else self._tree, hardware, platform)
        settings = self._host_settings(platform)
        groups = list(self._groups(platform))
        traffic = {name: flow for name in self._mapping(("traffic",)) if (flow := self._flow(name))}
        policies = self._choices(("policies",), {role: role for role in DEFAULT_POLICIES})
        loops = self._choices(("control_loops",), dict.fromkeys(self._mapping(("control_loops",)), "control_loop"))
        spec, simulated, notices, judged = None, None, self._notices, dict[str, str]()
        if self._file and platform and hardware and settings and not self.faults:
            self.faults += contradictions(self._tree, self._file, hardware, platform)
            self.faults += pool_faults(self._tree, self._file)
            self.faults += nic_faults(self._tree, self._file, hardware, platform)
            self.faults += vm_faults(self._tree, self._file, groups, hardware)
            if platform.hypervisor:
                self.faults += uplink_faults(self._tree, self._file, groups, hardware, platform)
                self.faults += passthrough_faults(self._tree, self._file, groups, hardware, platform)
            else:
                self.faults += native_faults(self._tree, self._file, groups, hardware, platform)
            if not self.faults:
                self.faults += admission_faults(self._tree, self._file, groups, hardware)
            if not self.faults:
                self.faults += traffic_faults(self._tree, self._file, groups, hardware, traffic)
            if not self.faults:
                self.faults += load_faults(self._tree, self._file, traffic, length_ps)
                groups_by_name = {group.name: group for group in groups}
                self.faults += vm_traffic_faults(self._tree, self._file, groups_by_name, hardware, traffic)
                self.faults += tier_faults(self._tree, groups_by_name, self._file.network, traffic)
            new_warnings = [*feature_warnings(self._file, platform), *passthrough_warnings(self._file)]
            if peer and platform.hypervisor:
                new_warnings += assumption_warnings(self._tree, self._file, peer, groups, traffic, settings)
            new_warnings += extrapolation_warnings(hardware, platform)
            notices += new_warnings
            self.warnings += new_warnings
        if self._file and platform and hardware and peer and settings and not self.faults:
            spec = PointSpec.model_validate(
                {
                    "hardware": hardware,
                    "hypervisor": platform.hypervisor,
                    "peer": peer,
                    "costs": platform.costs,
                    "settings": settings,
                    "nics": {name: self._file.host.nics.get(name, NicOptions()) for name in hardware.nics},
                    "drivers": platform.drivers,
                    "netqueue": platform.netqueue,
                    "lro": platform.lro,
                    "numa_io": platform.numa_io,
                    "tuning": platform.tuning,
                    "idle": platform.idle.of(hardware.cpu.family),
                    "vswitches": without_teaming(self._file.network) if platform.hypervisor else {},
                    "vms": tuple(groups),
                    "pools": tuple(pools(self._file)),
                    "traffic": traffic,
                    "length": f"{length_ps} ps",
                    "policies": policies,
                    "control_loops": loops,
                    "plugins": self._used(traffic, policies, loops),
                }
            )
            judged = effects(self._tree, self._file, platform, spec, threads)
            simulated = self._simulated(spec, judged, platform)
            for plugin in self._registry.plugins:
                unused = "" if plugin in spec.plugins else f"{plugin.file}: this plug-in is not used"
                judged[f"--plugin {plugin.file}"] = unused
        warnings = tuple(dict.fromkeys(self.warnings))
        faults = tuple(map(self._resolver.with_remedy, self.faults))
        return Resolution(spec, faults, warnings, judged, tuple(dict.fromkeys(notices)), simulated)

    def _simulated(self, spec: PointSpec, judged: Effects, platform: PlatformSpec) -> PointSpec:
        """A spec with defaults for settings without effect, so that equivalent hosts share their runs."""
        self._vain = {path for path, warning in judged.items() if warning and not depends_on_length(path)}
        if not self._vain:
            return spec
        settings = self._host_settings(platform)
        groups = tuple(self._groups(platform))
        return spec.model_copy(update={"settings": settings, "vms": groups})

    def _mapping(self, path: KeyPath) -> Mapping[str, Any]:
        value = self._tree.get(path)
        return value if isinstance(value, dict) else {}

    def _settings(self, path: KeyPath) -> Mapping[str, Any]:
        """The settings below a path, except those replaced by their defaults."""
        texts = self._mapping(path)
        if not self._vain:
            return texts
        return {name: value for name, value in texts.items() if dotted((*path, name)) not in self._vain}

    def _part(self, key: KeyPath) -> Part[Any] | None:
        try:
            return self._resolver.part(self._tree, key, self._inside.get(key, ()))
        except InputError as error:
            self.faults += error.faults
            return None

    def _spec(self, key: KeyPath) -> Any:
        part = self._part(key)
        if part is None:
            return None
        self.faults += part.faults
        return part.spec

    def _host_settings(self, platform: PlatformSpec | None) -> HostSettings | None:
        if platform is None:
            return None
        settings, faults, warnings = host_settings(
            platform, self._settings(("host", "advanced")), self._settings(("host", "kernel"))
        )
        self.faults += map(self._placed, faults)
        self.warnings += warnings
        return settings

    def _groups(self, platform: PlatformSpec | None) -> Iterator[VmGroupSpec]:
        """The valid groups of VMs. Checks stop after too many faults."""
        for name in self._vms:
            if len(self.faults) > MOST_FAULTS:
                self.faults.append(self._tree.fault(("vms",), "has more faults, which are not checked", given=""))
                return
            group = self._group(name, platform)
            if group is not None:
                yield group

    def _group(self, name: str, platform: PlatformSpec | None) -> VmGroupSpec | None:
        guest: GuestSpec | None = self._spec(("vms", name, "guest"))
        if platform is None or guest is None:
            return None
        part = self._file.vms[name] if self._file else None
        networks = self._tree.get(("vms", name, "networks"))
        settings, faults, warnings = vm_settings(
            platform,
            self._settings(("host", "advanced")),
            self._settings(("vms", name, "vmx")),
            guest,
            len(networks) if isinstance(networks, tuple) else 1,
            f"vms.{name}",
            Rings(part.rx_ring, part.tx_ring) if part else Rings(),
            part.vcpus if part else 1,
        )
        self.faults += map(self._placed, faults)
        self.warnings += warnings
        if self._file is None or part is None or settings is None:
            return None
        switches = part.networks
        if not platform.hypervisor:
            nics, switches = kernel_nics(self._file, name), ()
            settings = settings.model_copy(update={"vnics": (), "passthrough": nics})
        if any(isinstance(entry, FunctionSettings) for entry in settings.passthrough):
            settings = settings.model_copy(update={"passthrough": tuple(map(self._with_queues, settings.passthrough))})
        offloads, new_faults = effective_offloads(part.offloads, guest, f"vms.{name}.offloads")
        self.faults += map(self._placed, new_faults)
        if offloads is not None or part.queues is not None:
            settings = settings.model_copy(update={"offloads": offloads, "queues": part.queues})
        return VmGroupSpec(
            name=name,
            count=part.count,
            guest=guest,
            settings=settings,
            vcpus=part.vcpus,
            networks=switches,
            pool="" if part.resource_pool == ROOT_POOL else part.resource_pool,
        )

    def _with_queues(self, entry: PassthroughSettings | FunctionSettings) -> PassthroughSettings | FunctionSettings:
        """A virtual function with the queues that the NIC gives it."""
        if isinstance(entry, PassthroughSettings) or entry.nic not in self._nics:
            return entry
        return entry.model_copy(update={"queues": self._nics[entry.nic].function_queues})

    def _flow(self, name: str) -> Traffic | None:
        path = ("traffic", name)
        written = self._mapping(path)
        if self._is_faulty(path):
            return None
        data = dict(written)
        arrivals = dict(written.get("arrivals", {}))
        if "file" in arrivals:
            is_profile = arrivals.get("process") == "profile"
            if is_profile and "phases" in arrivals:
                self.faults.append(
                    self._tree.fault((*path, "arrivals", "file"), "cannot be combined with phases", "file or phases")
                )
                return None
            try:
                if is_profile:
                    arrivals["phases"] = self._resolver.profile(arrivals.pop("file"))
                else:
                    arrivals["timestamps_ps"] = self._resolver.instants(arrivals.pop("file"))
            except InputError as error:
                self.faults += self._tree.located((*path, "arrivals", "file"), error)
                return None
            data["arrivals"] = arrivals
        flow, faults = validate(self._registry.of("traffic")[data["kind"]].settings, self._tree, path, data)
        self.faults += faults
        return flow if isinstance(flow, Traffic) else None

    def _choices(self, path: KeyPath, roles: Mapping[str, str]) -> dict[str, ChoiceSpec]:
        """The choices by name below a path, by key, except shipped policies.

        Args:
            path: a mapping of the file.
            roles: role in which the name is registered, by key.
        """
        choices = {}
        for key, role in roles.items():
            written, here = self._tree.get((*path, key)), (*path, key)
            if written is None or self._is_faulty(here):
                continue
            data = dict(written) if isinstance(written, dict) else {"name": written}
            entry = self._registry.of(role)[data.pop("name")]
            settings, faults = validate(entry.settings, self._tree, here, data)
            self.faults += faults
            if settings is not None and entry.plugin is not None:
                choices[key] = ChoiceSpec(name=entry.name, settings=settings)
        return choices

    def _used(
        self, traffic: Mapping[str, Traffic], policies: Mapping[str, ChoiceSpec], loops: Mapping[str, ChoiceSpec]
    ) -> tuple[PluginSpec, ...]:
        """The plug-ins that a point needs; others have no effect."""
        entries = [self._registry.of("traffic")[flow.kind] for flow in traffic.values()]
        entries += [self._registry.of(role)[choice.name] for role, choice in policies.items()]
        entries += [self._registry.of("control_loop")[choice.name] for choice in loops.values()]
        used = {entry.plugin.digest for entry in entries if entry.plugin is not None}
        return tuple(plugin for plugin in self._registry.plugins if plugin.digest in used)

    def _is_faulty(self, path: KeyPath) -> bool:
        shown = dotted(path)
        return any(f.path == shown or f.path.startswith((shown + ".", shown + "[")) for f in self.faults)

    def _placed(self, fault: Fault) -> Fault:
        path = keys(fault.path)
        place = self._tree.place(path)
        given = show_value(self._tree.get(path))
        return replace(fault, given=given, file=place.file, line=place.line)
