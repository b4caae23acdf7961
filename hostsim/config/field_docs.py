"""Docstrings of the fields of specs, read from the sources for schemas and pages."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
import sys
from collections.abc import Mapping
from typing import Any

__all__ = ["describe", "field_docs"]


def describe(schema: dict[str, Any], model: type[Any]) -> None:
    """Add the docstrings of a model's fields to its JSON Schema, unless a field has another description."""
    docs = field_docs(model)
    for name, field in model.model_fields.items():
        entry = schema.get("properties", {}).get(field.alias or name)
        if entry is not None and name in docs:
            entry.setdefault("description", docs[name])


def field_docs(model: type[Any]) -> dict[str, str]:
    """Descriptions of the fields of a model: their own, their docstrings, or inherited ones."""
    docs: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        file = getattr(sys.modules.get(cls.__module__), "__file__", None)
        docs |= _prose(file).get(cls.__qualname__, {}) if file else {}
    own = {name: field.description for name, field in model.model_fields.items() if field.description}
    return {name: text for name, text in (docs | own).items() if name in model.model_fields}


@functools.lru_cache(maxsize=64)
def _prose(file: str) -> Mapping[str, Mapping[str, str]]:
    """The docstrings of fields by class and field, in a module."""
    docs: dict[str, dict[str, str]] = {}
    for cls in ast.parse("".join(linecache.getlines(file))).body:
        if not isinstance(cls, ast.ClassDef):
            continue
        fields = docs.setdefault(cls.name, {})
        for field, prose in itertools.pairwise(cls.body):
            match field, prose:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    fields[name] = inspect.cleandoc(text)
    return docs
