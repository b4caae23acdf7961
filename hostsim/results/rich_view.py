"""Rich views of values: modules of `hostsim.views`, imported when a value is displayed."""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = ["rich_view"]


def rich_view(module: str) -> ModuleType:
    """A module of `hostsim.views`.

    Values are independent of views: a run never imports plots, pages and pictures.
    """
    return importlib.import_module(f"hostsim.views.{module}")
