"""Style of figures for print and colour-blind readers; files are byte-for-byte reproducible.

Series differ in colour, marker and dash, and bars in colour and hatch, so that they are distinct in greyscale. Text
remains text in SVG.
"""

from __future__ import annotations

import io
import itertools
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostsim.config.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "GRID",
    "INCHES",
    "INK",
    "KINDS",
    "LETTER_INCHES",
    "LOOKS",
    "PAPER",
    "SMALL_POINTS",
    "Look",
    "as_svg",
    "backed",
    "draw_legend",
    "figure_of",
    "halo",
    "house_style",
    "look_of",
    "save",
    "shown_figure",
    "sized",
    "titled",
    "untitled",
]

INK = "#1c2128"
"""Colour of text and axes; a page may replace it."""
GRID = "#dfe3e9"
"""Colour of grid lines; a page may replace it."""
PAPER = "#fffffe"
"""Colour of the inside of open markers; a page may replace it."""

TITLE_POINTS, SMALL_POINTS = 9.0, 7.5
"""Font sizes of titles, and of legends and names; all other text has 8 points."""
LETTER_INCHES = 0.056
"""Mean width of a small letter, with a margin."""

INCHES = {"column": (3.5, 2.6), "page": (7.2, 3.0)}
"""The two figure sizes by name. Most journals have columns of 89 mm and pages of 183 mm; legends, titles and rows of names add height."""

RC: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": TITLE_POINTS,
    "axes.unicode_minus": True,
    "figure.constrained_layout.use": True,
    "figure.dpi": 144,  # resolution in a notebook: a column is 504 pixels wide
    "figure.figsize": INCHES["column"],
    "font.family": "sans-serif",
    "font.size": 8.0,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.45,
    "legend.columnspacing": 1.4,
    "legend.fontsize": SMALL_POINTS,
    "legend.frameon": False,
    "legend.handletextpad": 0.5,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "savefig.transparent": True,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "hostsim",
    "text.color": INK,
    "text.parse_math": False,  # names are plain text, including dollar signs
    "xtick.color": INK,
    "ytick.color": INK,
}
"""Matplotlib settings for drawing and writing a figure; they do not change the global settings."""


DPI = 300
"""Resolution of PNG files."""
KINDS = ("svg", "png", "pdf")
"""File formats of figures. PDF is written on demand only: its fonts take as long as the other formats together."""
_STAMPS = {"svg": ("Date", "Creator"), "png": ("Software",), "pdf": ("CreationDate", "Creator", "Producer")}
"""Metadata that would make two files of the same figure different."""


@dataclass(frozen=True)
class Look:
    """Look of a data series: colour, marker, dash and hatch."""

    colour: str
    marker: str
    dash: str | tuple[int, tuple[float, ...]]
    is_open: bool
    """True for a hollow marker."""
    hatch: str
    """Hatch of a bar."""


LOOKS: tuple[Look, ...] = (
    Look("#0072b2", "o", "-", False, ""),
    Look("#d55e00", "s", (0, (5.0, 1.6)), False, "///"),
    Look("#009e73", "^", (0, (1.2, 1.4)), True, "|||"),
    Look("#b35a8f", "D", (0, (6.0, 1.6, 1.2, 1.6)), True, "\\\\\\"),
    Look("#c98a00", "v", (0, (8.0, 2.0)), False, "xxx"),
    Look("#3f95c4", "P", (0, (3.0, 1.2, 1.2, 1.2, 1.2, 1.2)), False, "---"),
    Look("#6a737d", "X", (0, (2.0, 2.0)), True, "//--"),
    Look("#7a4b2a", "*", (0, (4.0, 1.0)), False, "+++"),
)
"""Looks in the order of assignment to series; see `look_of` for more. Colours after Okabe and Ito. Hatches have
straight lines only: a dotted hatch takes 150 kB of SVG in every figure."""
_STEP = 3
"""Shift of colours against the other properties in each further round; coprime to their number, so that all pairs occur."""


def look_of(index: int) -> Look:
    """The look of a series by its index from 0. After the first eight, colours repeat with another marker, dash and
    hatch, and in every second round with the opposite marker fill. There are 64 distinct looks; no two share colour and
    marker, colour and dash, or colour and hatch. Then they repeat.
    """
    turn, step = divmod(index % len(LOOKS) ** 2, len(LOOKS))
    other = LOOKS[(step + _STEP * turn) % len(LOOKS)]
    return replace(other, colour=LOOKS[step].colour, is_open=other.is_open != bool(turn % 2))


def house_style() -> AbstractContextManager[None]:
    """Context in which figures are drawn and written; it restores all settings."""
    import matplotlib as mpl

    return mpl.rc_context(RC)


def halo(width: float) -> list[Any]:
    """Path effects of artists drawn over others: a halo in the paper's colour."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground=PAPER)]


def backed() -> dict[str, Any]:
    """Box in the paper's colour behind a text; a halo would replace the text by outlines in SVG."""
    return {"boxstyle": "square,pad=0.12", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.75}


def figure_of(axes: Axes) -> Figure:
    """The figure of axes, without subfigures."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def shown_figure() -> Figure:
    """Make a figure: one of pyplot if pyplot is in use, so that a notebook displays it, otherwise a detached one."""
    from matplotlib.figure import Figure

    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    with house_style():
        figure: Figure = Figure() if pyplot is None else pyplot.figure()
    return figure


def as_svg(figure: Figure, *, opaque: bool = False) -> str:
    """The figure as SVG text, white or transparent, without date and program name, and with content-based ids."""
    with _laid_out(figure):
        return _bytes(figure, "svg", opaque=opaque).decode()


def sized(figure: Figure, size: str) -> Figure:
    """The figure in the width of a ``column`` or a ``page``."""
    figure.set_size_inches(*INCHES[size])
    return figure


def titled(figure: Figure, words: str, legend_inches: float = 0.0) -> None:
    """Write a wrapped title over the whole width of a figure, and increase the figure's height by it.

    Args:
        figure: the figure.
        words: the title; empty for none.
        legend_inches: height of a legend of the whole figure below the title.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    text = textwrap.fill(words, int(figure.get_figwidth() / LETTER_INCHES * SMALL_POINTS / TITLE_POINTS))
    inches = _title_inches(text.count("\n") + 1 if words else 0)
    height = figure.get_figheight() + inches
    figure.set_figheight(height)
    if words:
        figure.text(0.01, 1 - 0.3 * TITLE_POINTS / 72 / height, text, va="top", fontsize=TITLE_POINTS)
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0.0, 1 - inches / height), figure.transSubfigure)
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)  # by `RC`
    engine.set(rect=(0.0, 0.0, 1.0, 1 - (inches + legend_inches) / height))


_TITLE = re.compile(r'\n  <g id="text_\d+">.*?\n  </g>', re.DOTALL)
"""The title in the SVG of a figure: the only text outside its axes and legend."""
_WHITE = re.compile(r'<path d="[^"]*" style="fill: #ffffff"/>')
"""The paper of a figure and of its axes in SVG."""
_VIEW = re.compile(r'width="[^"]*" height="[^"]*" viewBox="0 0 (\S+) (\S+)"')


def untitled(svg: str) -> tuple[str, float]:
    """An opaque SVG of a figure, transparent and without its title, for a page that has its words; with its width in inches."""
    title = _TITLE.search(svg)
    top = 72 * _title_inches(title[0].count("<text ") if title else 0)
    view = _VIEW.search(svg)
    assert view is not None  # by matplotlib
    width, height = float(view[1]), float(view[2]) - top
    cropped = f'width="{width:g}pt" height="{height:.6g}pt" viewBox="0 {top:g} {width:g} {height:.6g}"'
    text = _WHITE.sub("", _TITLE.sub("", svg, count=1)).replace(view[0], cropped, 1)
    return text, width / 72


def _title_inches(lines: int) -> float:
    """Height of a title with a number of lines, with its margin."""
    return TITLE_POINTS / 72 * (1.2 * lines + 0.5) if lines else 0.0


def draw_legend(
    axes: Axes, handles: Sequence[Any], labels: Sequence[str], inches: float, *, spans: bool = False
) -> float:
    """Draw the legend of axes above them, in as many columns as fit.

    Args:
        axes: the axes.
        handles: the legend handles.
        labels: their names.
        inches: available width.
        spans: the legend also spans the axes to the right.

    Returns:
        The height of the legend in inches.
    """
    if not handles:
        return 0.0
    labels = [textwrap.fill(label, max(int(inches / LETTER_INCHES) - 7, 20)) for label in labels]
    widths = [(max(map(len, label.split("\n"))) + 7) * LETTER_INCHES for label in labels]
    columns = next(count for count in range(len(labels), 0, -1) if count == 1 or _across(widths, count) <= inches)
    look: dict[str, Any] = {"ncols": columns, "borderpad": 0.1, "handlelength": 2.4}
    if spans:
        figure_of(axes).legend(handles, labels, loc="upper left", **look)
    else:
        above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.3}
        axes.legend(handles, labels, **above, **look)
    lines = -(-len(labels) // columns) + sum(label.count("\n") for label in labels)
    return SMALL_POINTS / 72 * (1.5 * lines + 0.6)


def _across(widths: Sequence[float], columns: int) -> float:
    """Width of names in a number of columns, which matplotlib fills in order, with one more name in the first ones."""
    rows, longer = divmod(len(widths), columns)
    ends = [rows * column + min(column, longer) for column in range(columns + 1)]
    return sum(max(widths[start:end]) for start, end in itertools.pairwise(ends))


def save(figure: Figure, stem: Path, *, pdf: bool = False) -> tuple[Path, ...]:
    """Write the figure as ``stem.svg`` and as ``stem.png`` with `DPI` dots per inch, on white.

    Args:
        figure: the figure.
        stem: path of the files, without suffix.
        pdf: also write ``stem.pdf``. An existing PDF is always replaced, so that no file shows an earlier figure.

    Returns:
        The paths.

    Raises:
        StoreError: the folder cannot be written.
    """
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in KINDS]
    if not pdf and not files[-1].exists():
        files.pop()
    with _laid_out(figure):
        return tuple(write_whole(file, _bytes(figure, file.suffix[1:], opaque=True)) for file in files)


def _bytes(figure: Figure, kind: str, *, opaque: bool = False) -> bytes:
    buffer = io.BytesIO()
    face = "white" if opaque else "none"
    figure.savefig(
        buffer,
        format=kind,
        dpi=DPI,
        metadata=dict.fromkeys(_STAMPS[kind]),
        transparent=not opaque,
        facecolor=face,
    )
    return buffer.getvalue()


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """Context in which a figure has its layout, and no layout engine: with one, matplotlib would lay it out for each file and draw it twice."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    with house_style():
        canvas, dpi, layout = figure.canvas, figure.dpi, figure.get_layout_engine()
        if layout is None:
            yield
            return
        FigureCanvasSVG(figure)
        figure.dpi = 72
        layout.execute(figure)
        figure.dpi = dpi
        try:
            # matplotlib sets the engine again after each file, by default to that of its settings
            with mpl.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
                figure.set_layout_engine()
                yield
        finally:
            figure.set_layout_engine(layout)
            figure.set_canvas(canvas)
