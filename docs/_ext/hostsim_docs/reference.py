"""Sphinx extension: pages of the reference, written from the product's own schema, settings, catalogue, commands and names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hostsim_docs.interface import api_page, commands_page
from hostsim_docs.keys import parts_page, scenario_page
from hostsim_docs.markdown import linked
from hostsim_docs.settings import settings_page
from hostsim_docs.shipped import claims_page, measures_page, shipped_page, sources_page

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["PAGES", "setup", "write_pages"]

PAGES: dict[str, Callable[[], str]] = {
    "scenario-file": scenario_page,
    "part-files": parts_page,
    "settings": settings_page,
    "measures": measures_page,
    "command-line": commands_page,
    "api": api_page,
    "shipped": shipped_page,
    "claims": claims_page,
    "sources": sources_page,
}


def write_pages(folder: Path) -> list[Path]:
    """Write every page to a folder; an unchanged page keeps its modification time, so that it is not built again.

    Args:
        folder: folder of the pages; created if missing.
    """
    folder.mkdir(exist_ok=True)
    files = []
    for name, page in PAGES.items():
        file, text = folder / f"{name}.md", page()
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
        files.append(file)
    return files


def _read(_app: Sphinx, name: str, source: list[str]) -> None:
    """Use autodoc on the page of the Python interface, and link subjects of the bibliography on every page."""
    source[0] = linked(api_page(directives=True) if name == "reference/api" else source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx reads them."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / "reference"))
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    print(*write_pages(Path(sys.argv[1])), sep="\n")
