"""Public names: each module says what it offers, and the package offers what it says, cheaply."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import hostsim

PACKAGE = Path(hostsim.__file__).parent
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(hostsim.__path__, "hostsim.")
    if not module.name.endswith("__main__")
)


def test_the_package_offers_exactly_what_it_says():
    """Every public name resolves, and is the object that its home module has."""
    for name in hostsim.__all__:
        assert getattr(hostsim, name) is not None
    assert sorted(hostsim.__all__) == list(hostsim.__all__)
    assert set(hostsim.__all__) <= set(dir(hostsim))


def test_names_for_type_checkers_are_the_public_names():
    """What an editor knows of the package is what is there when it runs."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {alias.name for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed == set(hostsim.__all__)


def test_an_unknown_name_is_an_attribute_error():
    """A typing error does not end in something stranger."""
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        hostsim.runn  # noqa: B018


@pytest.mark.parametrize("name", MODULES)
def test_a_module_declares_what_it_offers(name):
    """``__all__`` names things that exist; the first line of the docstring is a sentence."""
    module, file = importlib.import_module(name), PACKAGE.joinpath(*name.split(".")[1:])
    source = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")  # a compiled module has no docstring
    assert (ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or "").strip()
    if not hasattr(module, "__path__"):
        assert module.__all__, name
        assert [public for public in module.__all__ if not hasattr(module, public)] == []


@pytest.mark.parametrize("start", ["import hostsim", "import hostsim.cli.app"])
def test_importing_costs_nothing(start):
    """No library that takes long to load is touched before it is needed."""
    heavy = "{'numpy', 'pandas', 'pydantic', 'matplotlib', 'rich', 'scipy', 'pyarrow', 'simpy', 'yaml', 'jinja2'}"
    code = f"{start}\nimport sys\nprint(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
