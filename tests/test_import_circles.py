"""Imports of the package have no cycles, also inside folders and functions, and for type checkers."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Return the modules of a cycle, with the first one again at its end; empty without one."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_imports_have_no_circle() -> None:
    """Everything that a module needs, also for its types, can be read before it."""
    graph = grimp.build_graph("hostsim", exclude_type_checking_imports=False, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 200
    assert circle(imports) == []


@pytest.mark.parametrize("back", [False, True])
def test_a_circle_is_found(back: bool) -> None:
    """Two modules that import each other are one cycle; a third that is only imported is not part of it."""
    assert sorted(set(circle({"a": {"b", "c"}, "b": {"a"} if back else set()}))) == (["a", "b"] if back else [])
