"""Public names of the package: each resolves, and importing it loads no heavy library."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import hostsim

PACKAGE = Path(hostsim.__file__).parent


def test_the_package_offers_exactly_what_it_says():
    """Every public name resolves to the object of its home module."""
    for name in hostsim.__all__:
        assert getattr(hostsim, name) is not None
    assert sorted(hostsim.__all__) == list(hostsim.__all__)
    assert set(hostsim.__all__) <= set(dir(hostsim))


def test_names_for_type_checkers_are_the_public_names():
    """Names that an editor finds in the package exist at run time."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {alias.name for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed == set(hostsim.__all__)


def test_an_unknown_name_is_an_attribute_error():
    """A typing error does not cause an unrelated error."""
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        hostsim.runn  # noqa: B018


@pytest.mark.parametrize("start", ["import hostsim", "import hostsim.cli.app"])
def test_importing_costs_nothing(start):
    """No slow library is imported before it is needed."""
    heavy = "{'numpy', 'pandas', 'pydantic', 'matplotlib', 'rich', 'scipy', 'pyarrow', 'simpy', 'yaml', 'jinja2'}"
    code = f"{start}\nimport sys\nprint(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
