"""PNG of a drawing of `hostsim.notebook.drawing`, for notebooks that are not trusted: JupyterLab shows no SVG of these."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree as ET

from hostsim.notebook.drawing import draw_host

if TYPE_CHECKING:
    from hostsim.notebook.host import HostView

__all__ = ["host_png"]

DPI = 144
"""Dots an inch: two for each unit of the drawing."""
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
    for place, shape in enumerate(drawing):
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
                    zorder=place,
                )
                axes.add_patch(box)
            case "line":
                style: Literal["--", "-"] = "--" if shape.get("stroke-dasharray") else "-"
                ends = [_number(shape, "x1"), _number(shape, "x2")], [_number(shape, "y1"), _number(shape, "y2")]
                axes.add_line(Line2D(*ends, color=edge, linewidth=1.2, linestyle=style, zorder=place))
            case "circle":
                axes.add_patch(
                    Circle((_number(shape, "cx"), _number(shape, "cy")), _number(shape, "r"), color=fill, zorder=place)
                )
            case "text":
                weight = "bold" if shape.get("font-weight") else "normal"
                words = shape.text or ""
                axes.text(
                    *(_number(shape, "x"), _number(shape, "y"), words),
                    color=fill,
                    fontsize=9.4,
                    weight=weight,
                    zorder=place,
                    parse_math=False,
                )
    png = io.BytesIO()
    figure.savefig(png, format="png", metadata={"Software": None})
    return png.getvalue()


def _number(shape: ET.Element, name: str) -> float:
    return float(shape.get(name, "0"))
