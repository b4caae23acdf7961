"""Style of figures: for paper and for colour-blind readers, written with the same bytes every time.

Series differ by colour, marker and dash together, bars by colour and hatch, so that they stay apart in grey. Text stays text in SVG.
"""

from __future__ import annotations

import io
import itertools
import sys
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
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
]

INK = "#1c2128"
"""Colour of text and axes; a page may replace it by its own."""
GRID = "#dfe3e9"
"""Colour of grid lines; a page may replace it by its own."""
PAPER = "#fffffe"
"""Colour of the inside of open markers; a page may replace it by its own."""

TITLE_POINTS, SMALL_POINTS = 9.0, 7.5
"""Sizes of letters: of titles, and of legends and names; all others have 8 points."""
LETTER_INCHES = 0.056
"""Mean width of a small letter, with some room."""

INCHES = {"column": (3.5, 2.6), "page": (7.2, 3.0)}
"""The two sizes of figures by name: 89 mm and 183 mm are the widths of a column and of a page of most journals. Legends, titles and rows of names add to the height."""

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
    "figure.dpi": 144,  # of what a notebook shows: a column is 504 pixels wide there
    "figure.figsize": INCHES["column"],
    "font.family": "sans-serif",
    "font.size": 8.0,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
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
    "text.parse_math": False,  # names are text, dollar signs included
    "xtick.color": INK,
    "ytick.color": INK,
}
"""Settings of matplotlib that hold while a figure is drawn and written; nothing outside is changed."""


KINDS = ("svg", "png", "pdf")
"""Kinds of files that a figure is saved as, the last on demand: its fonts take as long as the others together."""
_STAMPS = {"svg": ("Date", "Creator"), "png": ("Software",), "pdf": ("CreationDate", "Creator", "Producer")}
"""Metadata that would make two files of the same figure differ."""


@dataclass(frozen=True)
class Look:
    """Look of a data series: colour, marker, dash and hatch."""

    colour: str
    marker: str
    dash: str | tuple[int, tuple[float, ...]]
    is_open: bool
    """The marker is hollow."""
    hatch: str
    """Of a bar."""


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
"""Looks in the order in which series get them; see `look_of` for more. Colours after Okabe and Ito. Hatches are of straight lines only: SVG
takes 150 kB for one of dots, and again for each figure."""
_STEP = 3
"""Looks by which colours move against the rest in each further round; it has no divisor in common with their number, so that all pairs occur."""


def look_of(number: int) -> Look:
    """The look of a series by its place among them, from 0.

    After the first eight, the colours come again with another marker, dash and hatch, and in every second round with the
    markers filled the other way: 64 looks are distinct, of which no two have colour and marker, colour and dash, or
    colour and hatch in common. Then they start again.
    """
    turn, place = divmod(number % len(LOOKS) ** 2, len(LOOKS))
    other = LOOKS[(place + _STEP * turn) % len(LOOKS)]
    return replace(other, colour=LOOKS[place].colour, is_open=other.is_open != bool(turn % 2))


def house_style() -> AbstractContextManager[None]:
    """Context in which figures are drawn and written: no setting outside of it changes."""
    import matplotlib as mpl

    return mpl.rc_context(RC)


def halo(width: float) -> list[Any]:
    """Path effects of what is drawn over something else: a halo of paper."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground=PAPER)]


def backed() -> dict[str, Any]:
    """Box of paper behind a text that is written over something else; with a halo SVG would have outlines in place of the text."""
    return {"boxstyle": "square,pad=0.12", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.75}


def figure_of(axes: Axes) -> Figure:
    """The figure that axes were made for."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def shown_figure() -> Figure:
    """Make a figure: one of pyplot's where pyplot is in use, so that a notebook shows it, else a detached one."""
    from matplotlib.figure import Figure

    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    with house_style():
        made: Figure = Figure() if pyplot is None else pyplot.figure()
    return made


def as_svg(figure: Figure, *, opaque: bool = False) -> str:
    """The figure as SVG text, on white or on nothing: no date, no program name, ids that depend on the content only."""
    return _bytes(figure, "svg", opaque=opaque).decode()


def sized(figure: Figure, size: str) -> Figure:
    """The figure at the width of a ``column`` or of a ``page``."""
    figure.set_size_inches(*INCHES[size])
    return figure


def titled(figure: Figure, words: str, legend_inches: float = 0.0) -> None:
    """Write a title over the whole width of a figure, in as many lines as it needs, and make the figure higher by these.

    Args:
        figure: whose title.
        words: the title; none where they are empty.
        legend_inches: height of a legend of the whole figure, which is below the title.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    text = textwrap.fill(words, int(figure.get_figwidth() / LETTER_INCHES * SMALL_POINTS / TITLE_POINTS))
    inches = TITLE_POINTS / 72 * (1.2 * (text.count("\n") + 1) + 0.5) if words else 0.0
    height = figure.get_figheight() + inches
    figure.set_figheight(height)
    if words:
        figure.text(0.01, 1 - 0.3 * TITLE_POINTS / 72 / height, text, va="top", fontsize=TITLE_POINTS)
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0.0, 1 - inches / height), figure.transSubfigure)
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)  # by `RC`
    engine.set(rect=(0.0, 0.0, 1.0, 1 - (inches + legend_inches) / height))


def draw_legend(
    axes: Axes, handles: Sequence[Any], labels: Sequence[str], inches: float, *, spans: bool = False
) -> float:
    """Draw the legend of axes above them, in as many columns as have room.

    Args:
        axes: whose names these are.
        handles: what is named.
        labels: the names.
        inches: width that the legend may have.
        spans: other axes of the figure, to the right of these, are below it as well.

    Returns:
        Its height in inches.
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
    """Width of names in so many columns, which matplotlib fills one after the other, the first ones with one name more."""
    rows, longer = divmod(len(widths), columns)
    ends = [rows * column + min(column, longer) for column in range(columns + 1)]
    return sum(max(widths[start:end]) for start, end in itertools.pairwise(ends))


def save(figure: Figure, stem: Path, *, pdf: bool = False) -> tuple[Path, ...]:
    """Write the figure as ``stem.svg`` and as ``stem.png`` with 300 dots an inch, on white.

    Args:
        figure: the figure.
        stem: path of the files, without ending.
        pdf: write ``stem.pdf`` as well. A PDF that is there is always replaced: no file shows an earlier figure.

    Returns:
        The paths.

    Raises:
        StoreError: the folder cannot be written.
    """
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in KINDS]
    if not pdf and not files[-1].exists():
        files.pop()
    return tuple(write_whole(file, _bytes(figure, file.suffix[1:], opaque=True)) for file in files)


def _bytes(figure: Figure, kind: str, *, opaque: bool = False) -> bytes:
    buffer = io.BytesIO()
    metadata = dict.fromkeys(_STAMPS[kind])
    face = "white" if opaque else "none"
    with house_style():
        figure.savefig(buffer, format=kind, dpi=300, metadata=metadata, transparent=not opaque, facecolor=face)
    return buffer.getvalue()
