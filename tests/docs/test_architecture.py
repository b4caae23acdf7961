"""Pages for developers: every named file, class and function exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((DOCS / "project").glob("*.md")), *sorted((DOCS / "design").glob("*.md"))]
_NAME = re.compile(r"`([\w./-]+\.py)::([\w.]+)`")
_PATH = re.compile(r"`((?:hostsim|tests|docs|scenarios|notebooks|\.ci)/[\w./-]*)`")


def defined(tree: ast.AST, prefix: str = "") -> set[str]:
    """Names that a module defines: functions, classes with their methods and fields, constants."""
    found = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                found |= defined(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {prefix + target.id for target in targets if isinstance(target, ast.Name)}
    return found


def missing(text: str) -> list[str]:
    """Names and paths on a page that do not exist."""
    lost = []
    for file, name in _NAME.findall(text):
        if not (ROOT / file).is_file():
            lost.append(file)
        elif name not in defined(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
            lost.append(f"{file}::{name}")
    made = re.findall(r"^\+\+\+ b/(\S+)$", text, re.MULTILINE)  # by a diff of the page
    paths = [path for path in _PATH.findall(text) if not path.startswith("docs/decisions/") and path not in made]
    return lost + [path for path in paths if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_exists(page: Path) -> None:
    """Every name in a walk through the code exists."""
    assert missing(page.read_text(encoding="utf-8")) == []


def test_the_walks_name_their_steps() -> None:
    """Each numbered step of the walks names at least one file, class or function."""
    text = (DOCS / "project" / "architecture.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\d+\. .+(?:\n   .+)*", text, re.MULTILINE)
    assert len(steps) >= 25
    assert [step for step in steps if not _NAME.search(step)] == []


def test_a_name_that_is_gone_is_found() -> None:
    """A module, a class, a method, a constant and a folder."""
    page = (
        "`hostsim/nowhere.py::run`, `hostsim/campaign/pipeline.py::run_sweep`, `hostsim/campaign/pipeline.py::walk`, `hostsim/elsewhere/`, "
        "`hostsim/engine/ring.py::Ring.push`, `hostsim/engine/ring.py::Ring.pull`, `hostsim/results/metrics/catalogue.py::CATALOGUE`"
    )
    gone = [
        "hostsim/nowhere.py",
        "hostsim/campaign/pipeline.py::walk",
        "hostsim/engine/ring.py::Ring.pull",
        "hostsim/elsewhere/",
    ]
    assert missing(page) == gone
