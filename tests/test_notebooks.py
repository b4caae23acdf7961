"""Notebooks are thin, fully executed, and contain nothing of the executing machine. `make notebooks` executes them."""

from __future__ import annotations

import ast
import base64
import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
IMAGES = FOLDER.parent / "docs" / "images"
ALLOWED = {"hostsim", "matplotlib", "numpy", "pandas"}
MOST_LINES = 20
"""Lines of code in a cell, without YAML."""


def cells(file: Path, kind: str) -> list[dict]:
    return [cell for cell in json.loads(file.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def code(file: Path) -> list[str]:
    sources = ("".join(cell["source"]) for cell in cells(file, "code"))
    kept = (source for source in sources if not source.startswith("%%writefile"))
    return ["\n".join(line for line in source.splitlines() if not line.startswith("%")) for source in kept]


def test_there_is_one_for_each_story():
    """The headline experiments, a first sweep, a user's host and its calibration, and plug-ins."""
    names = {file.stem for file in NOTEBOOKS}
    experiments = {"splitrx", "dense-mode", "40gbe-numa", "80gbe-vxlan", "directpath", "latency", "small-udp"}
    assert names == experiments | {"calibration", "first-sweep", "plug-ins", "your-own-host"}


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_uses_public_names_only(file: Path):
    """No model code, and nothing that a user could not write."""
    for source in code(file):
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= ALLOWED
            elif isinstance(node, ast.ImportFrom):
                assert node.module in ALLOWED - {"hostsim"}
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")]
        assert len(source.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_was_executed_from_top_to_bottom(file: Path):
    """Outputs are stored, none of them an error or a warning, and each figure is a picture."""
    numbers = [cell["execution_count"] for cell in cells(file, "code")]
    assert numbers == list(range(1, len(numbers) + 1))
    outputs = [output for cell in cells(file, "code") for output in cell["outputs"]]
    assert [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"] == []
    assert any("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_nothing_of_a_machine_is_kept(file: Path):
    """No path, no time of day, no version of Python: the same runs give the same notebook everywhere."""
    notebook = json.loads(file.read_text(encoding="utf-8"))
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert notebook["metadata"]["language_info"] == {"name": "python"}
    assert all(cell["metadata"].keys() <= {"tags"} for cell in notebook["cells"])
    shown = [
        "".join(text)
        for cell in cells(file, "code")
        for output in cell["outputs"]
        for kind, text in {"text": output.get("text", ""), **output.get("data", {})}.items()
        if kind != "image/png"
    ]
    assert [text for text in shown if re.search(r"(?<![\w.])/(home|root|tmp|work|usr)/|object at 0x", text)] == []


def test_the_figures_of_the_pages_are_those_of_the_notebooks():
    """Each figure with a cell tag is a picture in `docs/images`, to the byte."""
    shown = [
        (tag, "".join(output["data"]["image/png"]))
        for file in NOTEBOOKS
        for cell in cells(file, "code")
        for tag in cell["metadata"].get("tags", ())
        for output in cell["outputs"]
        if "image/png" in output.get("data", {})
    ]
    figures = {f"{tag.removeprefix('figure:')}.png": base64.b64decode(picture) for tag, picture in shown}
    assert len(figures) == len(shown)
    assert {name: (IMAGES / name).read_bytes() for name in figures} == figures


def test_every_picture_is_on_a_page():
    """An unused picture is dead."""
    pages = [FOLDER.parent / "README.md", *(FOLDER.parent / "docs").rglob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [file.name for file in IMAGES.iterdir() if f"images/{file.name})" not in text] == []
