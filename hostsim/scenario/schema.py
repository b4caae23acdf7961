"""Schema of a scenario file, key by key: the reference of its format.

These models check one file by itself. What its parts say to each other is checked in `hostsim.scenario.resolve`, where they
become a `hostsim.config.host.PointSpec`. There is no field for a cost but the service time of an application: costs belong to the platform and to guests.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, create_model, model_validator

from hostsim.config.field import Descriptors, Name, Names, SmallCount, Spec, SwitchNames, Value
from hostsim.config.nic import NicOptions, VSwitchSpec
from hostsim.config.quantity import PositiveDuration
from hostsim.plugin.module import registry_of
from hostsim.plugin.registry import DEFAULT_POLICIES, Registry
from hostsim.results.form import ExpectPart
from hostsim.scenario.choice import choice_of, traffic_of
from hostsim.scenario.expect.figure import FigurePart
from hostsim.units import MOST_REPLICATIONS, SECOND

__all__ = [
    "DEFAULT_PEER",
    "SHIPPED",
    "AxisPart",
    "HostPart",
    "PointFile",
    "PoliciesPart",
    "RunPart",
    "ScenarioFile",
    "VmGroupPart",
    "file_models",
]

Model = TypeVar("Model", bound=BaseModel)

SHIPPED = registry_of(())
"""What is there without plug-ins."""
DEFAULT_PEER = "linux"
"""The kind of peer where nothing is said."""
Length = PositiveDuration
"""Simulated time of a run."""
PartName = Annotated[
    str, Field(json_schema_extra={"x-allowed": "the name of a shipped one in text, or a path with a slash"})
]
"""What a part of the host is called."""
HardwareName = Annotated[
    str,
    Field(
        json_schema_extra={
            "x-allowed": "the name of a shipped one in text, a path with a slash, or a mapping as in a hardware file"
        }
    ),
]
"""The same of a server. A mapping is taken out before: `hostsim.scenario.component.hardware_in_place`."""
Target = Annotated[
    str, Field(json_schema_extra={"x-allowed": "a percentage of the mean, 2 %, or a quantity and abs, 0.005 % abs"})
]
"""How well a metric is to be known."""


class HostPart(Spec):
    """The host section: advanced and kernel settings by the names that administrators type."""

    advanced: dict[str, Value] = Field(default_factory=dict)
    """Advanced settings: ``Net.MaxPortRxQueueLen: 80``. ``file: host.txt`` takes them from the output of ``esxcli system settings advanced
    list``; values beside it override the file."""
    kernel: dict[str, Value] = Field(default_factory=dict)
    """VMkernel boot settings: ``netMaxPktsToProcess: 64``."""
    nics: dict[str, NicOptions] = Field(default_factory=dict)
    """Options that the drivers of physical NICs are loaded with, by NIC: ``vmnic0: {rss_rings: 4}``."""


class VmGroupPart(Spec):
    """A number of equal VMs."""

    count: Annotated[int, Field(ge=0, le=4096)] = 1
    """Number of VMs."""
    guest: PartName
    """Name of a shipped guest, or a path to a guest file."""
    networks: SwitchNames
    """The virtual switch of each vNIC: the first one is ``ethernet0``. One name may stand without a list; an empty list is no vNIC."""
    vcpus: SmallCount = 1
    """vCPUs of each VM."""
    vmx: dict[str, Value] = Field(default_factory=dict)
    """Keys of the VM's ``.vmx`` file: ``ethernet0.emuRxMode: "1"``. ``file: web.vmx`` reads a real one, with its ``numvcpus`` where the group
    says no ``vcpus``; values beside it override the file."""
    uses: tuple[Literal["vMotion", "Network I/O Control"], ...] = ()
    """What else the VMs are to be able to have. Nothing of it is simulated, but with DirectPath I/O it is refused."""
    rx_ring: Descriptors | None = None
    """Receive descriptors of each queue of its vNICs, where the guest does not ask for its driver's default."""
    tx_ring: Descriptors | None = None
    """Transmit descriptors of each queue of its vNICs, where the guest does not ask for its driver's default."""


class PoliciesPart(Spec):
    """Policies of the host in place of the shipped ones: a name, or a mapping with ``name`` and settings."""

    scheduler: choice_of(SHIPPED, "scheduler") = None  # type: ignore[valid-type]
    """CPU scheduler; ``proportional_share`` where nothing is said."""
    coalescing: choice_of(SHIPPED, "coalescing") = None  # type: ignore[valid-type]
    """Coalescing of virtual interrupts; ``by_setting`` where nothing is said: as ``Net.CoalesceScheme`` and ``ethernetX.coalescingScheme`` say."""
    steering: choice_of(SHIPPED, "steering") = None  # type: ignore[valid-type]
    """Steering of vNICs to receive queues, and of flows to their rings; ``by_setting`` where nothing is said: NetQueue, with RSS where a queue has several rings."""


class SweptPart(Spec):
    """Fewer or shorter runs of the points of the sweep on which no expectation rests."""

    length: Length | None = None
    """Simulated time of a run, warm-up included; that of all points where nothing is said."""
    replications: Annotated[int, Field(ge=1, le=MOST_REPLICATIONS)] | None = None
    """Runs of each of these points; those of all points where nothing is said."""


class QuickPart(Spec):
    """A shorter version, for a first look."""

    length: Length = Field(default_factory=lambda: 2 * SECOND)
    """Simulated time of a run, warm-up included; 2 s where nothing is said."""
    replications: Annotated[int, Field(ge=1, le=MOST_REPLICATIONS)] = 2
    """Runs of each point."""
    swept: SweptPart = Field(default_factory=SweptPart)
    """Quick runs of the points that only tables and figures show."""


class RunPart(Spec):
    """How long and how often each point is run."""

    length: Length = Field(default_factory=lambda: 3 * SECOND)
    """Simulated time of a run, warm-up included; 3 s where nothing is said."""
    replications: Annotated[int, Field(ge=1, le=MOST_REPLICATIONS)] = 5
    """Runs of each point, each with random numbers of its own. An expectation that these leave open has twice as many, and then
    four times as many (hostsim.campaign.interim_analysis); not with ``--quick`` or ``--replications``."""
    precision: dict[str, Target] = Field(default_factory=dict)
    """By metric, the greatest half-width of its 95 % interval: ``2 %`` of its mean, or ``0.005 % abs`` in the metric's own unit.
    More replications are run at each point until all are met, 30 at most; not with ``--quick`` or ``--replications``."""
    swept: SweptPart = Field(default_factory=SweptPart)
    """Full runs of the points that only tables and figures show; ``run.length`` and ``run.replications`` of ``--set`` go before it."""
    quick: QuickPart = Field(default_factory=QuickPart)
    """What ``--quick`` does instead; ``run.length`` and ``run.replications`` of ``--set`` go before it."""


class AxisPart(Spec):
    """Something that is varied."""

    set: Names
    """Dotted path of what is varied; with several, all of them move together."""
    values: Annotated[
        tuple[Value | tuple[Value, ...], ...], Field(min_length=1, json_schema_extra={"x-allowed": "a list of values"})
    ]
    """The values in the order of tables; with several paths a list for each step, or one value for all paths."""
    labels: tuple[Value, ...] = ()
    """With several paths: what each step is called wherever it is named or drawn; its values with commas where nothing is said."""
    label: str = ""
    """Label of the axis in figures and their captions: ``Receivers``; its name by default."""
    value_labels: dict[str, str] = Field(default_factory=dict)
    """Labels of its values there, by value: ``{vmnic0: 40GbE}``."""

    @model_validator(mode="after")
    def _label_each(self) -> AxisPart:
        if self.labels and len(self.set) == 1:
            raise ValueError("has labels although each step has one value|labels with several paths")
        if self.labels and len(self.labels) != len(self.values):
            raise ValueError(f"has not one label for each value|{len(self.values)} labels, or none")
        return self


class PointFile(Spec):
    """The part of a scenario file that makes a host; what a sweep may vary."""

    platform: PartName
    """Name of a shipped platform (``esxi-5.0``), or a path to a platform file."""
    hardware: HardwareName
    """Name of a shipped server, a path to a hardware file, or a mapping with the keys of one."""
    peer: PartName = DEFAULT_PEER
    """Peer of its traffic: name of a shipped kind of peer, or a path to a peer file."""
    host: HostPart = Field(default_factory=HostPart)
    """Settings of the host."""
    network: dict[Name, VSwitchSpec]
    """Virtual switches by name."""
    vms: Annotated[dict[Name, VmGroupPart], Field(min_length=1)]
    """Groups of equal VMs by name."""
    traffic: Annotated[dict[Name, traffic_of(SHIPPED)], Field(min_length=1)]  # type: ignore[valid-type]  # made from the registry
    """What comes at the host, by name."""
    policies: PoliciesPart = Field(default_factory=PoliciesPart)
    """Scheduler, coalescing and steering, where they are not the shipped ones."""
    control_loops: dict[Name, choice_of(SHIPPED, "control_loop")] = Field(default_factory=dict)  # type: ignore[valid-type]
    """Slow control loops of plug-ins by a name of your own, each as a name or as a mapping with ``name`` and settings."""


class ScenarioFile(PointFile):
    """An experiment: a host, what is varied, what is looked at, what is expected."""

    scenario: Name
    """Name of the scenario; nothing depends on it."""
    question: str
    """What the experiment answers, in one line."""
    run: RunPart = Field(default_factory=RunPart)
    """Length and number of the runs of each point."""
    sweep: dict[str, AxisPart] = Field(default_factory=dict)
    """Axes by name; crossed, the last one fastest."""
    figures: dict[Name, FigurePart] = Field(default_factory=dict)
    """Figures by name."""
    expect: tuple[ExpectPart, ...] = ()
    """What is held against the results."""


@lru_cache(maxsize=32)
def file_models(registry: Registry) -> tuple[type[PointFile], type[ScenarioFile]]:
    """The models of a scenario file, of its part that makes a host and of all of it, that know what is registered."""
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
    """A model with other annotations of some fields; all else of them is as it was."""
    fields: dict[str, Any] = {}
    for name, annotation in annotations.items():
        known = model.model_fields[name]
        default = annotation if name == "policies" else known.default_factory
        more = {"default_factory": default} if default is not None else {"default": known.default}
        fields[name] = (annotation, Field(**more))
    return create_model(model.__name__, __base__=model, __doc__=model.__doc__, __module__=__name__, **fields)
