"""View of the host at a point: as data, as an SVG drawing, and as a PNG picture."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as ET

import pandas as pd
from markupsafe import escape

from hostsim.config.host import PointSpec
from hostsim.config.quantity import common_unit
from hostsim.engine.random_stream import Streams
from hostsim.engine.record import AxisValues, Scalar
from hostsim.errors import raise_faults, unknown_name
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.results.context import owner_of
from hostsim.scenario.axis import Axis
from hostsim.scenario.option_text import option_texts
from hostsim.scenario.plan import point_at
from hostsim.scenario.scenario import Scenario

__all__ = [
    "GroupView",
    "HostView",
    "NicView",
    "NodeView",
    "SwitchView",
    "draw_host",
    "host_png",
]


WIDTH, MARGIN, GAP = 780.0, 16.0, 14.0
MOST_COLUMNS = 4
"""Number of sockets side by side."""
CORE, LINE, BAR, NIC = 13.0, 15.0, 27.0, 42.0
"""Side of a core, and heights of a line of text, a switch and a NIC."""
LETTER, BOLD = 5.9, 6.7
"""Mean width of a letter."""
INK, FAINT, PAPER = "#1c2128", "#5b6570", "#fffffe"
PCPU, VM, WORLD, SWITCH, PORT = "#cfe3f5", "#fde3cf", "#eef0f3", "#d5efe6", "#f3e2ec"
WORDS = {
    "vcpu": "vCPU",
    "netpoll": "NetPoll",
    "splitrx": "splitRx context",
    "networld": "NetWorld",
    "vmkernel": "thread",
    "firmware": "firmware",
}


class _Paper:
    """Canvas of SVG shapes, with its height."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.bottom = 0.0

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, *, faint: bool = False, round_: float = 4
    ) -> None:
        opacity = ' opacity=".45"' if faint else ""
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round_:g}" fill="{fill}" '
            f'stroke="{FAINT}" stroke-width=".8"{opacity}/>'
        )
        self.bottom = max(self.bottom, y + height)

    def text(self, x: float, y: float, text: str, width: float, *, bold: bool = False, fill: str = INK) -> None:
        letters = max(int(width / (BOLD if bold else LETTER)), 4)
        shown = text if len(text) <= letters else text[: letters - 1].rstrip() + "…"
        weight = ' font-weight="600"' if bold else ""
        hint = f"<title>{escape(text)}</title>" if shown != text else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}"{weight}>{escape(shown)}{hint}</text>')
        self.bottom = max(self.bottom, y + 4)

    def line(self, x: float, y: float, other: float, *, dashed: bool) -> None:
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{other:.1f}" stroke="{INK}" stroke-width="1.2"{dash}/>'
        )
        self.parts.append(f'<circle cx="{x:.1f}" cy="{other:.1f}" r="2.6" fill="{INK}"/>')


def draw_host(host: HostView) -> str:
    """SVG text of a host drawing."""
    paper = _Paper()
    inside = WIDTH - 2 * MARGIN
    paper.text(MARGIN, 22, f"{host.hardware}: {host.processor}, {host.clock_ghz:g} GHz", inside, bold=True)
    where = ", ".join(f"{axis} = {value}" for axis, value in host.at.items())
    paper.text(MARGIN, 38, f"{host.scenario}{f' at {where}' if where else ''}", inside, fill=FAINT)
    columns = min(len(host.nodes), MOST_COLUMNS)
    width = (inside - GAP * (columns - 1)) / columns
    left = [MARGIN + (width + GAP) * column for column in range(columns)]
    top, feet = 52.0, {}
    for start in range(0, len(host.nodes), columns):
        row = host.nodes[start : start + columns]
        height = max(_socket(_Paper(), host, node, 0.0, 0.0, width) for node in row)
        for column, node in enumerate(row):
            paper.box(left[column], top, width, height, PAPER, round_=7)
            _socket(paper, host, node, left[column], top, width)
            feet[node.index] = top + height
        top += height + GAP
    bars = {}
    for switch in host.switches:
        _switch(paper, switch, top, inside)
        bars[switch.name] = top + BAR
        top += BAR + 8
    _draw_nics(paper, host, top + 12, left, width, bars, feet)
    down = paper.bottom + 22
    for name, words in host.traffic.items():
        paper.text(MARGIN, down, f"traffic {name}: {words}", inside, fill=FAINT)
        down += LINE
    height = paper.bottom + MARGIN - 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:.0f}" width="{WIDTH:g}" height="{height:.0f}" '
        f'style="max-width:100%;height:auto" role="img" aria-label="{escape(_description(host))}" '
        f'font-family="system-ui, sans-serif" font-size="11">'
        f'<rect width="{WIDTH:g}" height="{height:.0f}" rx="8" fill="{PAPER}"/>{"".join(paper.parts)}</svg>'
    )


def _description(host: HostView) -> str:
    vms = sum(group.count for group in host.groups)
    return f"host with {len(host.nodes)} {host.node_word}s, {len(host.nics)} NIC ports and {vms} VMs"


def _socket(paper: _Paper, host: HostView, node: NodeView, x: float, y: float, width: float) -> float:
    """Draw the contents of a socket; returns the required height."""
    x, inside = x + 10, width - 20
    pcpus = node.cores * node.threads
    paper.text(x, y + 18, f"{host.node_word} {node.index}: {pcpus} PCPUs", inside, bold=True)
    y += 26
    per_row = max(int((inside + 3) / (CORE + 3)), 1)
    for core in range(node.cores):
        at, down = x + core % per_row * (CORE + 3), y + core // per_row * (CORE + 3)
        for thread in range(node.threads):
            paper.box(at + thread * CORE / node.threads, down, CORE / node.threads, CORE, PCPU, round_=1.5)
    y += -(-node.cores // per_row) * (CORE + 3) + 6
    groups = {group.name: group for group in host.groups}
    for name, count in node.vms.items():
        group = groups[name]
        paper.box(x, y, inside, 2 * LINE + 6, VM)
        paper.text(x + 7, y + 14, f"{count} × {name}", inside - 14, bold=True)
        shape = f"{group.vcpus} vCPU{'s' if group.vcpus > 1 else ''} each, {group.guest}"
        paper.text(x + 7, y + 14 + LINE, shape, inside - 14, fill=FAINT)
        y += 2 * LINE + 12
    for (kind, owner), count in sorted(node.worlds.items(), key=lambda entry: list(WORDS).index(entry[0][0])):
        word = WORDS[kind] + ("s" if count > 1 and kind != "firmware" else "")
        paper.box(x, y, inside, LINE + 3, WORLD, round_=2)
        paper.text(x + 7, y + 12.5, f"{count} {word}{f' of {owner}' if owner else ''}", inside - 14)
        y += LINE + 6
    return y + 6


def _switch(paper: _Paper, switch: SwitchView, y: float, width: float) -> None:
    paper.box(MARGIN, y, width, BAR, SWITCH)
    words = f"{switch.name}, MTU {switch.mtu}" + (", VXLAN" if switch.vxlan else "")
    paper.text(MARGIN + 10, y + 17.5, words, width / 2, bold=True)
    vnics = ", ".join(
        f"{count} vNIC{'s' if count > 1 else ''} of {group}" for group, count in switch.groups.items() if count
    )
    paper.text(MARGIN + width / 2, y + 17.5, vnics or "no vNICs", width / 2 - 10)


def _draw_nics(
    paper: _Paper,
    host: HostView,
    y: float,
    left: list[float],
    width: float,
    bars: dict[str, float],
    feet: dict[int, float],
) -> None:
    """Draw NICs below their socket, with a line to the switch or a dashed line to the VM's socket."""
    below = dict.fromkeys(range(len(left)), 0)
    drawn: list[tuple[NicView, float, float]] = []
    for nic in host.nics:
        column = nic.node % len(left)
        down = y + below[column] * (NIC + 8)
        drawn.append((nic, left[column], down))
        below[column] += 1
    # lines first, so that the boxes of NICs cover them
    for index, (nic, x, down) in enumerate(drawn):
        if nic.link:
            end = feet[nic.node] if nic.passed else bars[nic.link]
            paper.line(x + width - 14 - 9 * (index % 6), down, end, dashed=nic.passed)
    for nic, x, down in drawn:
        paper.box(x, down, width, NIC, PORT, faint=not nic.link)
        if not nic.link:
            state = "not used"
        elif nic.passed:
            state = f"passed through to {nic.link}" if host.hypervisor else f"driven by {nic.link}"
        else:
            state = f"{nic.queues} queue{'s' if nic.queues != 1 else ''}"
        paper.text(x + 8, down + 16, f"{nic.name}: {nic.gbps:.3g} Gbit/s", width - 16, bold=bool(nic.link))
        paper.text(x + 8, down + 16 + LINE, f"{state}; {nic.model}", width - 16, fill=FAINT)


DPI = 144
"""Dots per inch: two dots for each unit of the drawing."""
_SVG = "{http://www.w3.org/2000/svg}"


def host_png(host: HostView) -> bytes:
    """The drawing of a host as PNG."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle, FancyBboxPatch

    drawing = ET.fromstring(draw_host(host))  # noqa: S314  our own
    width, height = float(drawing.get("width", "0")), float(drawing.get("height", "0"))
    figure = Figure((width / 72, height / 72), dpi=DPI)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set(xlim=(0.0, width), ylim=(height, 0.0))
    for index, shape in enumerate(drawing):
        fill, edge = shape.get("fill", "black"), shape.get("stroke", "none")
        match shape.tag.removeprefix(_SVG):
            case "rect":
                curve = min(_number(shape, "rx"), _number(shape, "width") / 2, _number(shape, "height") / 2)
                box = FancyBboxPatch(
                    (_number(shape, "x") + curve, _number(shape, "y") + curve),
                    _number(shape, "width") - 2 * curve,
                    _number(shape, "height") - 2 * curve,
                    boxstyle=f"round,pad={curve},rounding_size={max(curve, 0.01)}",
                    facecolor=fill,
                    edgecolor=edge,
                    linewidth=_number(shape, "stroke-width"),
                    alpha=float(shape.get("opacity", "1")),
                    zorder=index,
                )
                axes.add_patch(box)
            case "line":
                style: Literal["--", "-"] = "--" if shape.get("stroke-dasharray") else "-"
                ends = [_number(shape, "x1"), _number(shape, "x2")], [_number(shape, "y1"), _number(shape, "y2")]
                axes.add_line(Line2D(*ends, color=edge, linewidth=1.2, linestyle=style, zorder=index))
            case "circle":
                axes.add_patch(
                    Circle((_number(shape, "cx"), _number(shape, "cy")), _number(shape, "r"), color=fill, zorder=index)
                )
            case "text":
                weight = "bold" if shape.get("font-weight") else "normal"
                words = shape.text or ""
                axes.text(
                    *(_number(shape, "x"), _number(shape, "y"), words),
                    color=fill,
                    fontsize=9.4,
                    weight=weight,
                    zorder=index,
                    parse_math=False,
                )
    png = io.BytesIO()
    figure.savefig(png, format="png", metadata={"Software": None})
    return png.getvalue()


def _number(shape: ET.Element, name: str) -> float:
    return float(shape.get(name, "0"))


@dataclass(frozen=True)
class NodeView:
    """A socket, which is a NUMA node."""

    index: int
    cores: int
    threads: int
    """PCPUs of a core."""
    vms: Mapping[str, int]
    """VMs whose first vCPU has this home, by group."""
    worlds: Mapping[tuple[str, str], int]
    """Contexts with this home, by kind and owner (group of VMs or NIC)."""


@dataclass(frozen=True)
class NicView:
    """A port of a physical NIC."""

    name: str
    model: str
    gbps: float
    """Data rate to the host in Gbit/s: the lower rate of wire and slot."""
    node: int
    queues: int
    """Receive queues that a context serves."""
    link: str
    """Switch of the uplink, or group of the VM with exclusive use; empty if unused."""
    passed: bool
    """True if the port is passed through to a VM, or driven by the kernel of a native host."""


@dataclass(frozen=True)
class SwitchView:
    """A virtual switch."""

    name: str
    uplinks: tuple[str, ...]
    mtu: int
    """Largest IP packet in bytes."""
    vxlan: bool
    groups: Mapping[str, int]
    """Connected vNICs, by group of VMs."""


@dataclass(frozen=True)
class GroupView:
    """A group of equal VMs."""

    name: str
    count: int
    vcpus: int
    guest: str


@dataclass(frozen=True, repr=False)
class HostView:
    """A host at one point of a scenario. A notebook displays it as a drawing of sockets, VMs, worlds, switches and NICs."""

    scenario: str
    at: AxisValues
    hardware: str
    processor: str
    clock_ghz: float
    node_word: str
    """Word for a NUMA node: a socket if each socket has one node."""
    nodes: tuple[NodeView, ...]
    groups: tuple[GroupView, ...]
    switches: tuple[SwitchView, ...]
    nics: tuple[NicView, ...]
    traffic: Mapping[str, str]
    """Kind and receivers of each traffic."""
    hypervisor: bool = True
    """False for a native host, whose only VM is the machine."""

    @classmethod
    def of(cls, scenario: Scenario, at: AxisValues) -> HostView:
        """The host of a scenario at a point; unnamed axes have the first value of their sweep.

        Raises:
            InputError: an unknown axis, or an impossible value.
        """
        axes = scenario.axes
        raise_faults(unknown_name("axis", "at", axis, axes) for axis in at if axis not in axes)
        values = {
            axis: scenario.axes[axis].own_value(_written(scenario.axes[axis], value)) for axis, value in at.items()
        }
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
            clock_ghz=cpu.hertz / 1e9,
            node_word="socket" if cpu.nodes_per_socket == 1 else "NUMA node",
            nodes=tuple(
                NodeView(
                    node,
                    cpu.node_cores,
                    cpu.threads,
                    {group.name: vms[node, group.name] for group in spec.vms if vms[node, group.name]},
                    {(kind, owner): count for (home, kind, owner), count in worlds.items() if home == node},
                )
                for node in range(cpu.nodes)
            ),
            groups=tuple(GroupView(g.name, g.count, g.vcpus, g.guest.guest) for g in spec.vms),
            switches=tuple(
                SwitchView(
                    name,
                    tuple(vswitch.uplinks),
                    vswitch.mtu,
                    vswitch.vxlan,
                    Counter(
                        vm.group.name
                        for vm in host.vms
                        for device in vm.devices
                        if _switch_of(spec, device.switch) == name
                    ),
                )
                for name, vswitch in spec.vswitches.items()
                if vswitch.port_group_of is None
            ),
            nics=tuple(_nics(host)),
            traffic={
                name: f"{entry.kind} to {', '.join(entry.to)}" if entry.to else entry.kind
                for name, entry in spec.traffic.items()
            },
            hypervisor=spec.hypervisor,
        )

    @property
    def worlds(self) -> pd.DataFrame:
        """Contexts by home node: columns ``node``, ``kind``, ``owner`` (group of VMs or NIC), ``count``."""
        rows = [(node.index, *key, count) for node in self.nodes for key, count in node.worlds.items()]
        return pd.DataFrame(rows, columns=["node", "kind", "owner", "count"])

    @property
    def svg(self) -> str:
        """The drawing as SVG text."""
        return draw_host(self)

    def __repr__(self) -> str:
        vms = ", ".join(f"{group.count} x {group.name}" for group in self.groups)
        return f"<Host of {self.scenario}: {self.hardware}, {len(self.nodes)} {self.node_word}s, {vms}>"

    def _repr_mimebundle_(self, **_wanted: object) -> dict[str, object]:
        """SVG, and PNG for untrusted notebooks, which display HTML as plain text."""
        return {"text/plain": repr(self), "image/svg+xml": self.svg, "image/png": host_png(self)}


def _written(axis: Axis, value: Scalar) -> Scalar:
    """A value of an axis as text, with its unit if it is a quantity."""
    return option_texts({"": value}, unit_of=lambda _: common_unit(axis.values))[""]


def _switch_of(spec: PointSpec, network: str) -> str:
    """The virtual switch of a network: its own name, or the switch of a port group."""
    return (spec.vswitches[network].port_group_of or network) if network in spec.vswitches else network


def _nics(host: Host) -> Iterable[NicView]:
    vswitches = host.spec.vswitches
    links = {uplink: vswitch.port_group_of or name for name, vswitch in vswitches.items() for uplink in vswitch.uplinks}
    passed = {device.nic.name: vm.group.name for vm in host.vms for device in vm.devices if not device.switch}
    for name, nic in host.spec.hardware.nics.items():
        port = host.nics.get(name)
        queues = len(port.queues) if port is not None else 0
        link = links.get(name) or passed.get(name, "")  # an uplink with virtual functions in VMs is drawn as an uplink
        is_passed = name in passed and name not in links
        yield NicView(name, nic.model, nic.rate / 1e9, nic.node, queues, link, is_passed)
