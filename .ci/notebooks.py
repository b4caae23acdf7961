"""Execute the notebooks and store their outputs in place; with ``--check``, compare them with the stored ones.

The figure of a cell with the tag ``figure:NAME`` is also a picture for pages: ``docs/images/NAME.png``.

Runs are stored in ``build/notebooks`` and reused as long as the code is the same; the plug-ins of ``docs/examples`` are
copied there. All numbers and texts are compared, but no pictures, as these depend on fonts and on matplotlib.
"""

from __future__ import annotations

import base64
import difflib
import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from hostsim.campaign.stored_run import prunable, remove, runs_in

FOLDER = Path(__file__).parents[1] / "notebooks"
IMAGES = Path(__file__).parents[1] / "docs" / "images"
PLUGINS = Path(__file__).parents[1] / "docs" / "examples"
WORK = Path(__file__).parents[1] / "build" / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
PROGRESS = "application/x.hostsim-progress+json"
"""Kind of an output that shows progress, which differs between machines."""
SLOWEST_CELL_S = 1800
WIDEST = 200


def main(arguments: list[str]) -> int:
    """Execute the named notebooks, or all of them; returns the exit status."""
    checking = "--check" in arguments
    names = [name for name in arguments if name != "--check"]
    files = [FOLDER / f"{name}.ipynb" for name in names] or sorted(FOLDER.glob("*.ipynb"))
    different = 0
    for file in files:
        started = time.monotonic()
        kept = nbformat.read(file, as_version=4)
        made = executed(nbformat.from_dict(json.loads(json.dumps(kept))), WORK / file.stem)
        took = f"{file.name}: {time.monotonic() - started:.0f} s"
        if not checking:
            nbformat.write(made, file)
            for name, picture in figures(made):
                (IMAGES / f"{name}.png").write_bytes(picture)
            print(took, flush=True)
            continue
        changes = list(difflib.unified_diff(texts(kept), texts(made), "kept", "made", lineterm="", n=1))
        different += bool(changes)
        print("\n".join([took, *(line[:WIDEST] for line in changes)]), flush=True)
    if different:
        print(
            f"{different} notebooks no longer show what comes out; `make notebooks` writes them anew", file=sys.stderr
        )
    return 1 if different else 0


def executed(notebook: Any, folder: Path) -> Any:
    """Executes a notebook in a folder; returns it with its outputs, without parts that differ between runs."""
    folder.mkdir(parents=True, exist_ok=True)
    # messages mention runs of other code, and a notebook prints whether it wrote a file for the first time
    remove(prunable(runs_in(folder / "results"), needed=()))
    for stale in folder.iterdir():
        if stale.is_dir() and stale.name != "results":
            shutil.rmtree(stale)
        elif stale.is_file():
            stale.unlink()
    for plugin in PLUGINS.glob("*.py"):
        shutil.copy(plugin, folder)
    client = NotebookClient(
        notebook,
        timeout=SLOWEST_CELL_S,
        startup_timeout=SLOWEST_CELL_S,  # a busy machine may take minutes
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({"tags": cell.metadata.tags} if "tags" in cell.metadata else {})
        for output in cell.get("outputs", ()):
            if "metadata" in output:
                output.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            cell["outputs"] = [output for output in cell.outputs if PROGRESS not in output.get("data", {})]
    return notebook


def figures(notebook: Any) -> Iterator[tuple[str, bytes]]:
    """The figures that pages use, by name."""
    for cell in notebook.cells:
        for tag in cell.metadata.get("tags", ()):
            for output in cell.outputs:
                if "image/png" in output.get("data", {}):
                    yield tag.removeprefix("figure:"), base64.b64decode(output.data["image/png"])


def texts(notebook: Any) -> list[str]:
    """All lines in the outputs of a notebook, cell by cell; pictures only as their presence."""
    lines = []
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", ()):
            shown = {"text": output.text} if "text" in output else output.get("data", {})
            for kind, text in sorted(shown.items()):
                lines.append(f"cell {number}: {kind}")
                lines += [] if kind == "image/png" else str(text).splitlines()
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
