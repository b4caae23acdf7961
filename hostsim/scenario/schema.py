"""Models of a scenario file, and choices by name in it: kinds of traffic, policies, control loops.

Models of choices are made from the registry, so that names from plug-ins are checked, completed and listed like shipped
ones.

These models check one file only. `hostsim.scenario.resolve` checks its parts against each other and makes a
`hostsim.config.host.PointSpec`. Only service times of applications have fields here; other costs belong to platform and guests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeVar, Union

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from hostsim.config.arrival import ArrivalKeys
from hostsim.config.field import Descriptors, Name, Names, SmallCount, Spec, SwitchNames, Value, VcpuCount
from hostsim.config.nic import NicOptions, VSwitchSpec
from hostsim.config.platform import OffloadSettings
from hostsim.config.plugin import PluginSpec
from hostsim.config.quantity import CpuAmount, CpuLimit, PositiveDuration
from hostsim.config.traffic import Traffic
from hostsim.plugin.module import registry_of
from hostsim.plugin.registry import DEFAULT_POLICIES, ROLES, Registry
from hostsim.results.expect import ExpectPart
from hostsim.scenario.expect.figure import FigurePart
from hostsim.units import MOST_REPLICATIONS, SECOND

__all__ = [
    "DEFAULT_PEER",
    "ROOT_POOL",
    "SHIPPED",
    "ArrivalsPart",
    "AxisPart",
    "HostPart",
    "PointFile",
    "PoliciesPart",
    "ResourcePoolPart",
    "RunPart",
    "ScenarioFile",
    "VmGroupPart",
    "choice_of",
    "file_models",
    "traffic_of",
]


class ArrivalsPart(ArrivalKeys):
    """The instants at which an open-loop sender puts packets on the wire."""

    file: str | None = None
    """For ``replay``: path of a text file with a time in seconds on each line, ascending. For ``profile``: path of a
    text file with two numbers on each line, a time in seconds and the arrivals per second from then on; the last line
    lasts as long as the one before it.
    """


class _ByName:
    """One of several models, selected by the name under a key; a model without other values can be given by its name alone."""

    def __init__(
        self, key: str, role_words: str, models: Mapping[str, type[BaseModel]], plugins: Iterable[PluginSpec]
    ) -> None:
        self._key, self._role_words, self._models = key, role_words, models
        loaded = ", ".join(plugin.name for plugin in plugins)
        self._plugins = f"plug-ins loaded: {loaded}" if loaded else "no plug-in is loaded"
        self._is_short = key == "name"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if not self._models:
            return core_schema.no_info_plain_validator_function(self._refuse)
        choices = {name: handler.generate_schema(model) for name, model in self._models.items()}
        union = core_schema.tagged_union_schema(choices, discriminator=self._key)
        return core_schema.no_info_before_validator_function(self._long, union) if self._is_short else union

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        if not self._models:
            return {"not": {}, "x-allowed": self._plugins}
        json_schema = handler(schema)
        extra = {"x-what": self._role_words, "x-plugins": self._plugins}
        if not self._is_short:
            return {**json_schema, **extra}
        alone = {"type": "string", "enum": list(self._models)}
        return {"anyOf": [alone, json_schema], "discriminator": json_schema["discriminator"], **extra}

    def _long(self, value: Any) -> Any:
        return {self._key: value} if isinstance(value, str) else value

    def _refuse(self, value: Any) -> Any:
        raise ValueError(f"unknown {self._role_words}|one of a plug-in; {self._plugins}")


def traffic_of(registry: Registry) -> Any:
    """The annotation of an entry under ``traffic``: any registered kind."""
    models = {name: _part(entry.settings) for name, entry in registry.of("traffic").items()}
    return Annotated[Union[tuple(models.values())], _ByName("kind", ROLES["traffic"], models, registry.plugins)]  # noqa: UP007


def choice_of(registry: Registry, role: str) -> Any:
    """The annotation of a policy or a control loop: a name, or a mapping with ``name`` and its settings."""
    models = {name: _named(name, entry.settings, ROLES[role]) for name, entry in registry.of(role).items()}
    members: Any = Union[tuple(models.values())] if models else Any  # noqa: UP007
    return Annotated[members, _ByName("name", ROLES[role], models, registry.plugins)]


def _part(spec: type[Spec]) -> type[BaseModel]:
    """A kind of traffic as written in a file: it names a file of instants, and the spec has the instants."""
    arrivals = spec.model_fields.get("arrivals")
    if not issubclass(spec, Traffic) or arrivals is None:
        return spec
    default = ArrivalsPart(process=getattr(arrivals.default, "process", "constant"))
    field = Field(default)
    name = f"{spec.__name__.removesuffix('Spec')}Part"
    return create_model(name, __base__=spec, __doc__=spec.__doc__, __module__=__name__, arrivals=(ArrivalsPart, field))


def _named(name: str, settings: type[Spec], role_words: str) -> type[BaseModel]:
    """The settings of a policy or a control loop, including its name."""
    # includes the role, as a coalescing scheme and a steering rule may have the same name
    title = "".join(word.capitalize() for word in f"{name} {role_words}".replace("-", " ").replace("_", " ").split())
    literal: Any = Literal[name]
    field: Any = Field(description=f"Name of the {role_words}.")
    doc = f"The {role_words} {name}. {settings.__doc__ if settings.model_fields else 'It has no settings.'}"
    return create_model(f"{title}Part", __base__=settings, __doc__=doc, __module__=__name__, name=(literal, field))


Model = TypeVar("Model", bound=BaseModel)

SHIPPED = registry_of(())
"""The registry without plug-ins."""
DEFAULT_PEER = "linux"
"""The default kind of peer."""
ROOT_POOL = "Resources"
"""Name of the root resource pool, which is the host, as vSphere calls it."""
Length = PositiveDuration
"""Simulated time of a run."""
PartName = Annotated[
    str, Field(json_schema_extra={"x-allowed": "the name of a shipped one as text, or a path with a slash"})
]
"""Name of a part of the host."""
HardwareName = Annotated[
    str,
    Field(
        json_schema_extra={
            "x-allowed": "the name of a shipped one as text, a path with a slash, or a mapping as in a hardware file"
        }
    ),
]
"""Name of a server; a mapping was separated before, by `hostsim.scenario.component.hardware_in_place`."""
Target = Annotated[
    str,
    Field(
        json_schema_extra={"x-allowed": "a percentage of the mean (2 %), or a quantity followed by abs (0.005 % abs)"}
    ),
]
"""Target precision of a metric."""


class HostPart(Spec):
    """The host section: advanced and kernel settings by the names that administrators use."""

    advanced: dict[str, Value] = Field(default_factory=dict)
    """Advanced settings: ``Net.MaxPortRxQueueLen: 80``. ``file: host.txt`` takes them from the output of ``esxcli system settings advanced
    list``; values beside it override the file."""
    kernel: dict[str, Value] = Field(default_factory=dict)
    """VMkernel boot settings: ``netMaxPktsToProcess: 64``."""
    nics: dict[str, NicOptions] = Field(default_factory=dict)
    """Driver options of physical NICs, by NIC: ``vmnic0: {rss_rings: 4}``."""


class VmGroupPart(Spec):
    """A number of equal VMs."""

    count: Annotated[int, Field(ge=0, le=4096)] = 1
    """Number of VMs."""
    guest: PartName
    """Name of a shipped guest, or a path to a guest file."""
    networks: SwitchNames
    """The virtual switch of each vNIC; the first is ``ethernet0``. A single name needs no list; an empty list means no vNIC."""
    vcpus: VcpuCount = 1
    """vCPUs of each VM."""
    vmx: dict[str, Value] = Field(default_factory=dict)
    """Keys of the VM's ``.vmx`` file: ``ethernet0.emuRxMode: "1"``. ``file: web.vmx`` reads a real file, with its ``numvcpus`` if the group
    has no ``vcpus``; values beside it override the file."""
    resource_pool: Name = ROOT_POOL
    """Name of the resource pool of these VMs; ``Resources``, the host itself, by default."""
    uses: tuple[
        Literal[
            "vMotion",
            "Network I/O Control",
            "Storage vMotion",
            "High Availability",
            "Fault Tolerance",
            "DRS",
            "DPM",
            "suspend",
            "snapshots",
            "hot add",
            "NetFlow",
        ],
        ...,
    ] = ()
    """Features that the VMs must support. They are not simulated; a combination with DirectPath I/O or SR-IOV is refused."""
    rx_ring: Descriptors | None = None
    """Receive descriptors of each queue of its vNICs, instead of the driver's default."""
    tx_ring: Descriptors | None = None
    """Transmit descriptors of each queue of its vNICs, instead of the driver's default."""
    offloads: OffloadSettings = OffloadSettings()
    """Offloads that the guest disables on all its NICs, as with ``ethtool -K``: ``{tso: false}``."""
    queues: SmallCount | None = None
    """Largest number of queue pairs of each of its NICs, as with ``ethtool -L``; by default the number that drivers request."""


POOL_SHARES = {"low": 2000, "normal": 4000, "high": 8000}
"""Shares of a resource pool, equal to those of a VM with four vCPUs (vSphere Resource Management, "Resource Allocation Shares")."""


def _pool_shares(value: Any) -> Any:
    if isinstance(value, str) and not value.isdecimal():
        if value.casefold() not in POOL_SHARES:
            raise ValueError("is not a number of shares|low, normal, high or an integer 1..4000000")
        return POOL_SHARES[value.casefold()]
    return int(value) if isinstance(value, str) else value


PoolShares = Annotated[
    int,
    BeforeValidator(_pool_shares),
    Field(ge=1, le=4_000_000),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": 4_000_000},
                {"type": "string", "pattern": r"^(low|normal|high|\d+)$"},
            ],
            "x-allowed": "low, normal, high or an integer 1..4000000",
        }
    ),
]
"""Shares of a resource pool."""


class ResourcePoolPart(Spec):
    """A resource pool of the host: VMs and other pools share its CPU."""

    parent: Name = ROOT_POOL
    """Name of the parent pool; ``Resources``, the host itself, by default."""
    shares: PoolShares = POOL_SHARES["normal"]
    """Shares among its siblings, both pools and VMs: ``low`` (2000), ``normal`` (4000), ``high`` (8000), or a number."""
    reservation: CpuAmount = 0
    """Guaranteed CPU: ``6 GHz``. Its VMs and pools reserve from it."""
    limit: CpuLimit = None
    """Largest CPU of all its VMs and pools together; ``unlimited`` by default."""
    expandable: bool = True
    """True if it may also reserve unreserved CPU of its parent (expandable reservation)."""


class PoliciesPart(Spec):
    """Policies of the host that replace the shipped ones: a name, or a mapping with ``name`` and settings."""

    scheduler: choice_of(SHIPPED, "scheduler") = None  # type: ignore[valid-type]
    """CPU scheduler; ``proportional_share`` by default."""
    coalescing: choice_of(SHIPPED, "coalescing") = None  # type: ignore[valid-type]
    """Coalescing of virtual interrupts; by default ``by_setting``: by ``Net.CoalesceScheme`` and ``ethernetX.coalescingScheme``."""
    steering: choice_of(SHIPPED, "steering") = None  # type: ignore[valid-type]
    """Steering of vNICs to receive queues, and of flows to their rings; by default ``by_setting``: NetQueue, with RSS for queues with several rings."""


class SweptPart(Spec):
    """Fewer or shorter runs for the points that no expectation needs."""

    length: Length | None = None
    """Simulated time of a run, including warm-up; by default that of all points."""
    replications: Annotated[int, Field(ge=1, le=MOST_REPLICATIONS)] | None = None
    """Runs of each of these points; by default those of all points."""


class QuickPart(Spec):
    """A shorter version, for a first look."""

    length: Length = Field(default_factory=lambda: 2 * SECOND)
    """Simulated time of a run, including warm-up; 2 s by default."""
    replications: Annotated[int, Field(ge=1, le=MOST_REPLICATIONS)] = 2
    """Runs of each point."""
    swept: SweptPart = Field(default_factory=SweptPart)
    """Quick runs of the points that only tables and figures use."""


class RunPart(Spec):
    """Length and number of the runs of each point."""

    length: Length = Field(default_factory=lambda: 3 * SECOND)
    """Simulated time of a run, including warm-up; 3 s by default."""
    replications: Annotated[int, Field(ge=1, le=MOST_REPLICATIONS)] = 5
    """Number of runs of each point, each with its own random numbers. An open expectation gets twice as many, then four
    times as many (hostsim.campaign.interim_analysis); not with ``--quick`` or ``--replications``.
    """
    precision: dict[str, Target] = Field(default_factory=dict)
    """By metric, the largest half-width of its 95 % interval: ``2 %`` of its mean, or ``0.005 % abs`` in the metric's own unit.
    Replications are added at each point until all are met, up to 30; not with ``--quick`` or ``--replications``."""
    swept: SweptPart = Field(default_factory=SweptPart)
    """Full runs of the points that only tables and figures use; ``run.length`` and ``run.replications`` of ``--set`` have priority."""
    quick: QuickPart = Field(default_factory=QuickPart)
    """Quick runs (``--quick``); ``run.length`` and ``run.replications`` of ``--set`` have priority."""


class AxisPart(Spec):
    """A varied parameter."""

    set: Names
    """Varied dotted path; several paths vary together."""
    values: Annotated[
        tuple[Value | tuple[Value, ...], ...], Field(min_length=1, json_schema_extra={"x-allowed": "a list of values"})
    ]
    """The values in the order of tables; with several paths a list for each step, or one value for all paths."""
    labels: tuple[Value, ...] = ()
    """With several paths: the name of each step in options, tables and figures; by default its values with commas."""
    label: str = ""
    """Label of the axis in figures and captions: ``Receivers``; its name by default."""
    value_labels: dict[str, str] = Field(default_factory=dict)
    """Labels of its values in figures, by value: ``{vmnic0: 40GbE}``."""

    @model_validator(mode="after")
    def _label_each(self) -> AxisPart:
        if self.labels and len(self.set) == 1:
            raise ValueError("has labels, but each step has one value|labels with several paths")
        if self.labels and len(self.labels) != len(self.values):
            raise ValueError(
                f"has a number of labels that differs from that of values|{len(self.values)} labels, or none"
            )
        return self


class PointFile(Spec):
    """The part of a scenario file that describes a host; a sweep can vary it."""

    platform: PartName
    """Name of a shipped platform (``esxi-5.0``), or a path to a platform file."""
    hardware: HardwareName
    """Name of a shipped server, a path to a hardware file, or a mapping with the keys of one."""
    peer: PartName = DEFAULT_PEER
    """Peer of its traffic: name of a shipped kind of peer, or path to a peer file."""
    host: HostPart = Field(default_factory=HostPart)
    """Settings of the host."""
    network: dict[Name, VSwitchSpec]
    """Virtual switches by name."""
    vms: Annotated[dict[Name, VmGroupPart], Field(min_length=1)]
    """Groups of equal VMs by name."""
    resource_pools: dict[Name, ResourcePoolPart] = Field(default_factory=dict)
    """Resource pools by name, for CPU; a group of VMs names its pool."""
    traffic: Annotated[dict[Name, traffic_of(SHIPPED)], Field(min_length=1)]  # type: ignore[valid-type]  # made from the registry
    """Traffic by name."""
    policies: PoliciesPart = Field(default_factory=PoliciesPart)
    """Scheduler, coalescing and steering instead of the shipped ones."""
    control_loops: dict[Name, choice_of(SHIPPED, "control_loop")] = Field(default_factory=dict)  # type: ignore[valid-type]
    """Control loops of plug-ins, by names that you choose; each is a name or a mapping with ``name`` and settings."""


class ScenarioFile(PointFile):
    """An experiment: a host, its sweep, figures and expectations."""

    scenario: Name
    """Name of the scenario; nothing depends on it."""
    question: str
    """The question of the experiment, in one line."""
    run: RunPart = Field(default_factory=RunPart)
    """Length and number of the runs of each point."""
    sweep: dict[str, AxisPart] = Field(default_factory=dict)
    """Axes by name. They are crossed, and the last one varies fastest."""
    figures: dict[Name, FigurePart] = Field(default_factory=dict)
    """Figures by name."""
    expect: tuple[ExpectPart, ...] = ()
    """Expectations that results are compared with."""


@lru_cache(maxsize=32)
def file_models(registry: Registry) -> tuple[type[PointFile], type[ScenarioFile]]:
    """The models of a scenario file and of its host part, with the registered names."""
    if not registry.plugins:
        return PointFile, ScenarioFile
    chosen = {role: choice_of(registry, role) for role in DEFAULT_POLICIES}
    policies = _refined(PoliciesPart, chosen)
    kinds = {
        "traffic": Annotated[dict[Name, traffic_of(registry)], Field(min_length=1)],  # type: ignore[misc]
        "policies": policies,
        "control_loops": dict[Name, choice_of(registry, "control_loop")],  # type: ignore[misc]
    }
    return _refined(PointFile, kinds), _refined(ScenarioFile, kinds)


def _refined(model: type[Model], annotations: Mapping[str, Any]) -> type[Model]:
    """A model with other annotations of some fields."""
    fields: dict[str, Any] = {}
    for name, annotation in annotations.items():
        field = model.model_fields[name]
        default = annotation if name == "policies" else field.default_factory
        more = {"default_factory": default} if default is not None else {"default": field.default}
        fields[name] = (annotation, Field(**more))
    return create_model(model.__name__, __base__=model, __doc__=model.__doc__, __module__=__name__, **fields)
