"""Gallery of the figures of the experiments: a page, and an SVG of each figure in the folder beside it.

``python -m hostsim_docs.gallery docs/explanation/gallery.md`` runs the missing points at quick fidelity and writes the figures, as `make gallery` does.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hostsim import api
from hostsim.config.files import write_whole
from hostsim.results.results import Results

__all__ = ["experiments", "main", "page"]

Experiment = tuple[str, str, list[str]]
"""Title, link to its page, and names of its scenarios."""
_ROW = re.compile(r"\| (?P<title>[^|`]+) \| (?P<scenarios>`[^|]+`) \| (?P<page>\{doc\}`[^`]+`) \|")
HEAD = """\
# Gallery

The figures of the published experiments, at quick fidelity, as `hostsim run NAME --quick` draws them. Points of some sweeps that no claim uses have shorter and fewer runs (`run.quick.swept` in their files). Filled marks, lines and bars are simulated, with 95 % intervals. A hollow diamond is a published value, with the accepted range as a line or an arrow; its number is in {doc}`../reference/claims`. `make gallery` writes this page.
"""


def main() -> None:
    """Draw the figures of the experiments, and write the page."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()
    pictures = given.file.parent / given.file.stem
    shutil.rmtree(pictures, ignore_errors=True)
    listed = list(experiments((given.file.parent / "experiments.md").read_text(encoding="utf-8")))
    shown: dict[str, list[tuple[str, str]]] = {}
    for name in (name for _, _, names in listed for name in names):
        shown[name] = list(_draw(api.run(name, quick=True, expectations=True, results=given.results), pictures))
    write_whole(given.file, page(listed, shown, given.file.stem).encode())


def experiments(text: str) -> Iterator[Experiment]:
    """The experiments in the table of the page that lists them."""
    for row in _ROW.finditer(text):
        yield row["title"], row["page"], re.findall(r"`([^`]+)`", row["scenarios"])


def page(listed: list[Experiment], shown: dict[str, list[tuple[str, str]]], folder: str) -> str:
    """The text of the page.

    Args:
        listed: the experiments, in their order.
        shown: file and words of each figure, by scenario.
        folder: folder of the pictures, beside the page.
    """
    parts = [HEAD]
    for title, link, names in listed:
        parts.append(f"## {title}\n\n{link}\n")
        for name in names:
            parts += [f"![{words}]({folder}/{file})\n\n*{words}* (`{name}`)\n" for file, words in shown[name]]
    return "\n".join(parts)


def _draw(found: Results, pictures: Path) -> Iterator[tuple[str, str]]:
    """Write the figures of a scenario; yields the file and the words of each. A table has no file."""
    with tempfile.TemporaryDirectory() as folder:
        found.save(folder)
        for figure in found.figures:
            drawn = Path(folder) / "figures" / f"{figure.name}.svg"
            if drawn.is_file():
                file = f"{found.scenario}-{figure.name}.svg"
                write_whole(pictures / file, drawn.read_bytes())
                yield file, figure.words


if __name__ == "__main__":
    main()
