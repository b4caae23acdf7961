"""View of a host built for a point: sockets, VMs, switches and NICs, as data and as an SVG drawing.

It reads the built host itself, so the drawing shows what would run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from hostsim.engine.random_stream import Streams
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.notebook.drawing import draw_host
from hostsim.quantity import common_unit
from hostsim.record import AxisValues, Scalar
from hostsim.results.cpu_breakdown import owner_of
from hostsim.scenario.axis import Axis
from hostsim.scenario.option_text import option_texts
from hostsim.scenario.plan import point_at
from hostsim.scenario.scenario import Scenario

__all__ = ["GroupView", "HostView", "NicView", "NodeView", "SwitchView"]


@dataclass(frozen=True)
class NodeView:
    """A socket, which is a NUMA node."""

    index: int
    cores: int
    threads: int
    """PCPUs of a core."""
    vms: Mapping[str, int]
    """By group, VMs whose first vCPU is at home here."""
    worlds: Mapping[tuple[str, str], int]
    """By kind and owner (group of VMs or NIC), contexts that are at home here."""


@dataclass(frozen=True)
class NicView:
    """A port of a physical NIC."""

    name: str
    model: str
    gbps: float
    """Rate at which data reaches the host: the wire's, or the slot's where that is less; in Gbit/s."""
    node: int
    queues: int
    """Receive queues that somebody serves."""
    link: str
    """Switch that it is an uplink of, group of the VM that has it to itself, or empty where nobody uses it."""
    passed: bool
    """It is passed through to a VM, or driven by the kernel of a native host."""


@dataclass(frozen=True)
class SwitchView:
    """A virtual switch."""

    name: str
    uplinks: tuple[str, ...]
    mtu: int
    """Bytes of an IP packet at most."""
    vxlan: bool
    groups: Mapping[str, int]
    """By group of VMs, vNICs that are connected."""


@dataclass(frozen=True)
class GroupView:
    """A group of equal VMs."""

    name: str
    count: int
    vcpus: int
    guest: str


@dataclass(frozen=True, repr=False)
class HostView:
    """A host at one point of a scenario. A notebook shows it as a drawing of sockets, VMs, worlds, switches and NICs."""

    scenario: str
    at: AxisValues
    hardware: str
    processor: str
    clock_ghz: float
    nodes: tuple[NodeView, ...]
    groups: tuple[GroupView, ...]
    switches: tuple[SwitchView, ...]
    nics: tuple[NicView, ...]
    traffic: Mapping[str, str]
    """Kind of each traffic, and whom it goes to."""
    hypervisor: bool = True
    """False of a native host, whose only VM is the machine."""

    @classmethod
    def of(cls, scenario: Scenario, at: AxisValues) -> HostView:
        """The host of a scenario at a point; axes that are not named have the first value of their sweep.

        Raises:
            InputError: an unknown axis, or a value that cannot be.
        """
        known = list(scenario.axes)
        unknown = [axis for axis in at if axis not in known]
        if unknown:
            allowed = "one of " + ", ".join(known) if known else "nothing: the scenario sweeps nothing"
            raise InputError(Fault("unknown axis", "at", repr(a), allowed, nearest_name(a, known)) for a in unknown)
        values = {axis: scenario.axes[axis].known(_written(scenario.axes[axis], value)) for axis, value in at.items()}
        point = point_at(scenario, values)
        host = build_host(point.spec, Streams(1, 0))
        spec = point.spec
        cpu = spec.hardware.cpu
        vms = Counter((vm.vcpus[0].node.index, vm.group.name) for vm in host.vms)
        worlds = Counter((w.node.index, w.kind, owner_of(w.kind, w.name)) for w in host.worlds())
        return cls(
            scenario=scenario.name,
            at=dict(point.axes),
            hardware=spec.hardware.hardware,
            processor=cpu.model,
            clock_ghz=cpu.clock / 1e9,
            nodes=tuple(
                NodeView(
                    node,
                    cpu.cores,
                    cpu.threads,
                    {group.name: vms[node, group.name] for group in spec.vms if vms[node, group.name]},
                    {(kind, owner): count for (home, kind, owner), count in worlds.items() if home == node},
                )
                for node in range(cpu.sockets)
            ),
            groups=tuple(GroupView(g.name, g.count, g.vcpus, g.guest.guest) for g in spec.vms),
            switches=tuple(
                SwitchView(
                    name,
                    tuple(vswitch.uplinks),
                    vswitch.mtu,
                    vswitch.vxlan,
                    Counter(vm.group.name for vm in host.vms for device in vm.devices if device.switch == name),
                )
                for name, vswitch in spec.vswitches.items()
            ),
            nics=tuple(_nics(host)),
            traffic={name: f"{entry.kind} to {', '.join(entry.to)}" for name, entry in spec.traffic.items()},
            hypervisor=spec.hypervisor,
        )

    @property
    def worlds(self) -> pd.DataFrame:
        """Contexts by where they are at home: columns ``node``, ``kind``, ``owner`` (group of VMs or NIC), ``count``."""
        rows = [(node.index, *key, count) for node in self.nodes for key, count in node.worlds.items()]
        return pd.DataFrame(rows, columns=["node", "kind", "owner", "count"])

    @property
    def svg(self) -> str:
        """The drawing as SVG text."""
        return draw_host(self)

    def __repr__(self) -> str:
        vms = ", ".join(f"{group.count} x {group.name}" for group in self.groups)
        return f"<Host of {self.scenario}: {self.hardware}, {len(self.nodes)} sockets, {vms}>"

    def _repr_mimebundle_(self, **_wanted: object) -> dict[str, object]:
        """SVG, and PNG for notebooks that are not trusted; no HTML, of which these show the bare texts."""
        from hostsim.notebook.picture import host_png

        return {"text/plain": repr(self), "image/svg+xml": self.svg, "image/png": host_png(self)}


def _written(axis: Axis, value: Scalar) -> Scalar:
    """A value of an axis as text with its unit, where it is a number of an axis of quantities."""
    return option_texts({"": value}, unit_of=lambda _: common_unit(axis.values))[""]


def _nics(host: Host) -> Iterable[NicView]:
    links = {uplink: name for name, vswitch in host.spec.vswitches.items() for uplink in vswitch.uplinks}
    passed = {device.nic.name: vm.group.name for vm in host.vms for device in vm.devices if not device.switch}
    for name, nic in host.spec.hardware.nics.items():
        port = host.nics.get(name)
        queues = len(port.queues) if port is not None else 0
        link = passed.get(name, links.get(name, ""))
        yield NicView(name, nic.model, nic.rate / 1e9, nic.node, queues, link, name in passed)
