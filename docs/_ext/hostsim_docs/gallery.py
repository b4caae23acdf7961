"""Gallery of the figures of shipped scenarios: a page, and a picture of each figure beside it.

``python -m hostsim_docs.gallery docs/explanation/gallery.md`` runs what is missing and writes them, as `make gallery` does.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from hostsim import api
from hostsim.config.files import write_whole
from hostsim.results.figure import AnswersSpec, FigureSpec, TableSpec
from hostsim.results.results import Results
from hostsim.scenario.shipped_data import shipped
from hostsim.views.plots.figure import draw
from hostsim.views.plots.style import as_png, figure_of

__all__ = ["main", "page"]

DOTS_AN_INCH = 110
"""Of the pictures: a page's width has 792 pixels."""
HEAD = """\
# Gallery of figures

Every figure of the shipped scenarios, at quick fidelity, as `hostsim run NAME --quick` and `hostsim reproduce --quick` draw it, in one of two sizes: that of a column or of a page of a journal. Filled marks, lines and bars are simulated, with 95 % intervals. A hollow diamond is a published value, with the accepted range as a line or an arrow; its number is in {doc}`../reference/claims`.
"""


def main() -> None:
    """Draw the figures of all shipped scenarios, and write the page."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()
    pictures = given.file.parent / given.file.stem
    shown = []
    for name in shipped():
        found = api.run(name, expectations=True, quick=True, results=given.results)
        shown.append(found)
        for figure in _drawn(found):
            axes = draw(found.table, figure, published=found.verdicts)
            write_whole(pictures / _file(found, figure), as_png(figure_of(axes), DOTS_AN_INCH))
    write_whole(given.file, page(shown, given.file.stem).encode())
    kept = {_file(found, figure) for found in shown for figure in _drawn(found)}
    for stale in pictures.iterdir():
        if stale.name not in kept:
            stale.unlink()


def page(shown: Iterable[Results], folder: str) -> str:
    """The text of the page.

    Args:
        shown: results of the scenarios, in their order.
        folder: of the pictures, beside the page.
    """
    parts = [HEAD]
    for found in shown:
        parts.append(f"## `{found.scenario}`\n\n{found.question}\n")
        parts += [f"*{one.words}*\n\n![{one.words}]({folder}/{_file(found, one)})\n" for one in _drawn(found)]
    return "\n".join(parts)


def _drawn(found: Results) -> list[FigureSpec | AnswersSpec]:
    return [figure for figure in found.figures if not isinstance(figure, TableSpec)]


def _file(found: Results, figure: FigureSpec | AnswersSpec) -> str:
    return f"{found.scenario}-{figure.name}.png"


if __name__ == "__main__":
    main()
