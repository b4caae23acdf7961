"""Sources of plug-ins: files by path, and modules of installed packages by entry point. Scenario files never name them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from hostsim.config.files import display_name, is_there, read_text, why_not
from hostsim.config.plugin import PluginSpec
from hostsim.errors import Fault, InputError, nearest_name

__all__ = ["GROUP", "read_plugins"]

GROUP = "hostsim.plugins"
"""Group of entry points; each names a module."""


def read_plugins(sources: Sequence[str | Path | PluginSpec]) -> tuple[PluginSpec, ...]:
    """Read plug-ins by path or entry point; a plug-in that is already read is unchanged.

    Raises:
        InputError: a missing file or entry point, or a duplicate.
    """
    plugins: list[PluginSpec] = []
    for name in sources:
        plugin = name if isinstance(name, PluginSpec) else _read(name)
        if any(plugin.digest == other.digest for other in plugins):
            raise InputError(Fault("is given twice", "--plugin", repr(str(plugin.file)), "each plug-in once"))
        plugins.append(plugin)
    return tuple(plugins)


def _read(name: str | Path) -> PluginSpec:
    file = Path(name)
    if isinstance(name, Path) or file.suffix == ".py" or len(file.parts) > 1:
        if not is_there(file):
            raise InputError(Fault(why_not(file), "--plugin", repr(str(name)), "the path of a Python file"))
        return _plugin(file.stem, file)
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in installed:
        allowed = "the path of a Python file (my_policy.py)" + "".join(f", or {other}" for other in installed)
        fault = Fault("unknown plug-in", "--plugin", repr(name), allowed, nearest_name(name, installed))
        raise InputError(fault)
    return _installed(installed[name])


def _installed(entry: EntryPoint) -> PluginSpec:
    """The plug-in of an entry point. Imports of its module are not part of it; the version of its package identifies them."""
    try:
        spec = find_spec(entry.module)
    except Exception as error:  # packages around the module may raise any exception
        reason = f"{type(error).__name__}: {error}"
        raise InputError(Fault(f"cannot be found: {reason}", "--plugin", repr(entry.name))) from None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        allowed = "an entry point that names a module of Python"
        raise InputError(Fault("is not a module with a source", "--plugin", repr(entry.name), allowed))
    return _plugin(entry.name, Path(spec.origin), "" if entry.dist is None else entry.dist.version)


def _plugin(name: str, file: Path, version: str = "") -> PluginSpec:
    source = read_text(file, display_name(file))
    digest = hashlib.sha256(source.encode()).hexdigest()
    return PluginSpec(name=name, digest=digest, version=version, source=source, file=display_name(file))
