"""No import cycles in the package: neither of imports at module level, nor closed by imports inside functions."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import hostsim

PACKAGE = Path(hostsim.__file__).parent


def module_name(source: Path, package: Path) -> str:
    parts = (package.name, *source.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def guards_types(node: ast.AST) -> bool:
    """Tell ``if TYPE_CHECKING:`` from other statements."""
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def imported(node: ast.AST, known: set[str]) -> set[str]:
    """Modules of the package that a syntax tree imports, at any depth; those for type checkers only are left out."""
    found = set()
    if isinstance(node, ast.Import):
        found |= {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom):
        names = {f"{node.module}.{alias.name}" for alias in node.names}
        found |= {name if name in known else str(node.module) for name in names}
    for child in node.orelse if guards_types(node) else ast.iter_child_nodes(node):
        found |= imported(child, known)
    return found & known


def import_graph(package: Path) -> dict[str, set[str]]:
    """Imports of each module, by name; a package is the module of its ``__init__``."""
    sources = {module_name(source, package): source for source in sorted(package.rglob("*.py"))}
    trees = {name: ast.parse(source.read_text(encoding="utf-8")) for name, source in sources.items()}
    return {name: imported(tree, set(sources)) - {name} for name, tree in trees.items()}


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """One of the cycles of a graph, its first module again at the end; empty when there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_in_a_roundabout_way():
    """A module can be read, tested and moved with what it imports, and nothing else."""
    assert cycle(import_graph(PACKAGE)) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("from planted.room.second import b\n", "import planted.first\n"),
        ("import planted.room.second\n", "def f():\n    from planted import first\n"),
        (
            "class A:\n    def f(self):\n        if self:\n            from planted.room import second\n",
            "import planted.first",
        ),
        ("from planted import room\n", "def f():\n    import planted.first as one\n"),
    ],
    ids=["run time", "late", "late in a method", "through a package"],
)
def test_a_planted_cycle_is_found(tmp_path, first, second):
    """At module level, in a function, in a method, and by way of a package's ``__init__``."""
    room = tmp_path / "planted" / "room"
    room.mkdir(parents=True)
    (tmp_path / "planted" / "__init__.py").write_text("")
    (tmp_path / "planted" / "first.py").write_text(first)
    (room / "__init__.py").write_text("from planted.room.second import b\n" if "import room" in first else "")
    (room / "second.py").write_text(second)
    found = cycle(import_graph(tmp_path / "planted"))
    assert {"planted.first", "planted.room.second"} <= set(found)


def test_imports_for_type_checkers_are_no_cycle(tmp_path):
    """Objects that know each other name each other's types; what stands under ``else`` is imported."""
    package = tmp_path / "planted"
    package.mkdir()
    (package / "one.py").write_text("from planted import two\n")
    guarded = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from planted import one\n"
    (package / "two.py").write_text(guarded)
    assert cycle(import_graph(package)) == []
    (package / "two.py").write_text(guarded.replace("import one", "import three") + "else:\n    import planted.one\n")
    assert set(cycle(import_graph(package))) == {"planted.one", "planted.two"}
