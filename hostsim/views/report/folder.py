"""Results folder with figures: the files of `hostsim.results.folder`, and figures as SVG, PNG and optional PDF."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hostsim.errors import InputError, StoreError
from hostsim.results import folder as plain
from hostsim.results.figure import Figure
from hostsim.results.integrity import confined
from hostsim.results.results import Results
from hostsim.views.plots.figure import draw
from hostsim.views.plots.style import KINDS, figure_of, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

__all__ = ["draw_figures", "drawn_figures", "save_figure", "write"]


def write(results: Results, folder: Path) -> list[Path]:
    """Write results with their figures as a folder; files of the same names are replaced.

    Returns:
        The files.

    Raises:
        StoreError: the folder cannot be written.
    """
    started = time.monotonic()
    figures = draw_figures(results, folder)
    usage = replace(results.usage, drawing_s=time.monotonic() - started)
    try:
        before = plain.read(folder).usage
    except (InputError, StoreError):
        pass  # there are no results yet, or unusable ones, which are replaced
    else:  # the same runs give the same file again
        usage = before if replace(before, drawing_s=usage.drawing_s) == usage else usage
    return plain.write(replace(results, usage=usage), folder) + figures


def draw_figures(results: Results, folder: Path, *, pdf: bool = False) -> list[Path]:
    """Draw every figure of the results into ``figures/`` below a folder, as SVG and PNG.

    Args:
        results: of the scenario.
        folder: of the results.
        pdf: also as PDF.

    Returns:
        The files.

    Raises:
        StoreError: the folder cannot be written.
    """
    files: list[Path] = []
    for figure in results.figures:
        axes = draw(results.table, figure, published=results.verdicts, with_title=True)
        files += save_figure(figure_of(axes), folder, _file_name(figure), pdf=pdf)
    return files


def save_figure(drawn: Drawn, folder: Path, name: str, *, pdf: bool = False) -> tuple[Path, ...]:
    """Write a figure into ``figures/`` below a results folder, but not through a link out of the folder.

    Raises:
        StoreError: a file leads out of the folder, or cannot be written.
    """
    for kind in KINDS:
        confined(folder, folder / "figures" / f"{name}.{kind}")
    return save(drawn, folder / "figures" / name, pdf=pdf)


def drawn_figures(results: Results, folder: Path) -> dict[str, str]:
    """The SVG text of every figure in a folder that `write` has just written, by name."""
    stems = {figure.name: folder / "figures" / _file_name(figure) for figure in results.figures}
    return {name: stem.with_name(f"{stem.name}.svg").read_text(encoding="utf-8") for name, stem in stems.items()}


def _file_name(figure: Figure) -> str:
    return re.sub(r"[^\w.-]+", "-", figure.name)
