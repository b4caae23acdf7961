"""SVG drawing of a host: sockets, each a NUMA node, with PCPUs, VMs and worlds; below them the virtual switches and the NICs.

The SVG has its own background for light and dark pages; every text is escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import escape

if TYPE_CHECKING:
    from hostsim.notebook.host import HostView, NicView, NodeView, SwitchView

__all__ = ["draw_host"]

WIDTH, MARGIN, GAP = 780.0, 16.0, 14.0
MOST_COLUMNS = 4
"""Sockets beside each other."""
CORE, LINE, BAR, NIC = 13.0, 15.0, 27.0, 42.0
"""Side of a core, height of a line of text, of a switch, of a NIC."""
LETTER, BOLD = 5.9, 6.7
"""Width of a letter."""
INK, FAINT, PAPER = "#1c2128", "#5b6570", "#fffffe"
PCPU, VM, WORLD, SWITCH, PORT = "#cfe3f5", "#fde3cf", "#eef0f3", "#d5efe6", "#f3e2ec"
WORDS = {
    "vcpu": "vCPU",
    "netpoll": "NetPoll",
    "splitrx": "splitRx context",
    "networld": "NetWorld",
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
    place = ", ".join(f"{axis} = {value}" for axis, value in host.at.items())
    paper.text(MARGIN, 38, f"{host.scenario}{f' at {place}' if place else ''}", inside, fill=FAINT)
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
    _nics(paper, host, top + 12, left, width, bars, feet)
    down = paper.bottom + 22
    for name, words in host.traffic.items():
        paper.text(MARGIN, down, f"traffic {name}: {words}", inside, fill=FAINT)
        down += LINE
    height = paper.bottom + MARGIN - 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:.0f}" width="{WIDTH:g}" height="{height:.0f}" '
        f'style="max-width:100%;height:auto" role="img" aria-label="{escape(_said(host))}" '
        f'font-family="system-ui, sans-serif" font-size="11">'
        f'<rect width="{WIDTH:g}" height="{height:.0f}" rx="8" fill="{PAPER}"/>{"".join(paper.parts)}</svg>'
    )


def _said(host: HostView) -> str:
    vms = sum(group.count for group in host.groups)
    return f"host with {len(host.nodes)} sockets, {len(host.nics)} NIC ports and {vms} VMs"


def _socket(paper: _Paper, host: HostView, node: NodeView, x: float, y: float, width: float) -> float:
    """Draw the contents of a socket; returns the height that it needs."""
    x, inside = x + 10, width - 20
    pcpus = node.cores * node.threads
    paper.text(x, y + 18, f"socket {node.index}: {pcpus} PCPUs", inside, bold=True)
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


def _nics(
    paper: _Paper,
    host: HostView,
    y: float,
    left: list[float],
    width: float,
    bars: dict[str, float],
    feet: dict[int, float],
) -> None:
    """NICs under the socket that they are behind, each with a line to its switch, or dashed to the socket of its VM."""
    below = dict.fromkeys(range(len(left)), 0)
    seen: list[tuple[NicView, float, float]] = []
    for nic in host.nics:
        column = nic.node % len(left)
        down = y + below[column] * (NIC + 8)
        seen.append((nic, left[column], down))
        below[column] += 1
    # lines first, so that boxes of other NICs lie over them
    for place, (nic, x, down) in enumerate(seen):
        if nic.link:
            end = feet[nic.node] if nic.passed else bars[nic.link]
            paper.line(x + width - 14 - 9 * (place % 6), down, end, dashed=nic.passed)
    for nic, x, down in seen:
        paper.box(x, down, width, NIC, PORT, faint=not nic.link)
        if not nic.link:
            state = "not used"
        elif nic.passed:
            state = f"passed through to {nic.link}" if host.hypervisor else f"driven by {nic.link}"
        else:
            state = f"{nic.queues} queue{'s' if nic.queues != 1 else ''}"
        paper.text(x + 8, down + 16, f"{nic.name}: {nic.gbps:.3g} Gbit/s", width - 16, bold=bool(nic.link))
        paper.text(x + 8, down + 16 + LINE, f"{state}; {nic.model}", width - 16, fill=FAINT)
