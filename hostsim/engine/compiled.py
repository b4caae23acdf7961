"""Compiled hot modules: imported only while they match their sources.

They are in a wheel, or in ``build/compiled`` of a checkout. They match while the interpreter and all sources that they
were compiled from or against are unchanged. Otherwise the sources are imported, with the same results and longer run
times. ``HOSTSIM_PURE=1`` always imports the sources. `make setup` and the build of a wheel (``.ci/build_hook.py``)
compile (docs/decisions/0039).
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr, trait
else:

    def mypyc_attr(**_attributes: Any) -> Callable[[type], type]:
        """Attribute of a class for the compiler; without effect in the sources."""
        return lambda cls: cls

    def trait(cls: type) -> type:
        """Mark a class as second base class for the compiler; without effect in the sources."""
        return cls


__all__ = [
    "BUNDLED",
    "DIGEST",
    "FOLDER",
    "PURE",
    "covered",
    "digest",
    "fits",
    "in_use",
    "kind",
    "modules",
    "mypyc_attr",
    "trait",
    "use",
]

PACKAGE = Path(__file__).parents[1]
BUNDLED = PACKAGE / "compiled_modules"
"""Folder of compiled modules in a wheel."""
FOLDER = BUNDLED if BUNDLED.is_dir() else PACKAGE.parent / "build" / "compiled"
"""Folder of the compiled modules of this package."""
PURE = "HOSTSIM_PURE"
"""Environment variable: if set and not empty, no compiled module is imported."""
DIGEST = "digest"
"""File beside the compiled modules with the hash of their sources."""

_COMPILED = ("units.py", "engine/", "model/")
_INTERPRETED = ("engine/compiled.py", "engine/record.py", "model/control/")
"""Exceptions. Control loops are SimPy processes, which act a few times per simulated second and look like a user's."""
_SEEN = ("engine/compiled.py", "errors.py", "engine/record.py", "config/", "plugin/module.py", "plugin/registry.py")


def modules(package: Path = PACKAGE) -> list[Path]:
    """Compiled sources."""
    interpreted = set(_sources(package, _INTERPRETED))
    sources = [source for source in _sources(package, _COMPILED) if source not in interpreted]
    return [source for source in sources if source.name != "__init__.py"]


def _sources(package: Path, parts: tuple[str, ...]) -> list[Path]:
    return sorted(file for file in package.rglob("*.py") if file.relative_to(package).as_posix().startswith(parts))


def covered(package: Path = PACKAGE) -> list[Path]:
    """Sources that compiled modules depend on: their own, and those of their imports."""
    return _sources(package, _COMPILED + _SEEN)


def digest(package: Path = PACKAGE, beside: Iterable[Path] = ()) -> str:
    """Hash of all that compiled modules depend on: sources, modules beside them, and the interpreter."""
    hasher = hashlib.sha256(EXTENSION_SUFFIXES[0].encode())
    names = {source: source.relative_to(package).as_posix() for source in covered(package)}
    for source, name in {**names, **{other: other.as_posix() for other in beside}}.items():
        text = source.read_bytes()
        hasher.update(f"{name}\0{len(text)}\0".encode() + text)
    return hasher.hexdigest()


def fits(package: Path = PACKAGE, folder: Path = FOLDER, beside: Iterable[Path] = ()) -> bool:
    """True if compiled modules exist for these sources and this interpreter."""
    try:
        kept = (folder / DIGEST).read_text(encoding="ascii")
    except OSError:
        return False
    return kept == digest(package, beside)


class _Finder(MetaPathFinder):
    """Finds modules in a folder of compiled ones, before their sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._packages = {entry.name.split(".")[0] for entry in folder.iterdir()}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.split(".", maxsplit=1)[0] not in self._packages:
            return None
        file = self.folder / (fullname.replace(".", "/") + EXTENSION_SUFFIXES[0])
        return spec_from_file_location(fullname, file) if file.is_file() else None


def use(folder: Path = FOLDER, beside: Iterable[Path] = ()) -> None:
    """Import compiled modules from now on, if they match and the sources are not requested.

    Args:
        folder: of the modules; earlier imports are unchanged.
        beside: sources of other modules that were compiled with them.
    """
    used = [finder.folder for finder in sys.meta_path if isinstance(finder, _Finder)]
    if not os.environ.get(PURE) and folder not in used and fits(folder=folder, beside=beside):
        sys.meta_path.insert(0, _Finder(folder))


def in_use() -> bool:
    """True if this process uses compiled hot modules."""
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


def kind() -> str:
    """Return ``compiled`` or ``interpreted`` for this process."""
    return "compiled" if in_use() else "interpreted"
