"""The hot modules compiled: a wheel brings them along, a checkout keeps them in ``build/compiled``; they are imported as long as they fit.

They fit while all sources that they were compiled from, or against, are what they were, and so is the interpreter; else the
sources themselves are imported, which give the same results and take longer. ``HOSTSIM_PURE=1`` asks for the sources in
any case. `make setup` compiles, and so does the build of a wheel, ``.ci/build_hook.py`` (docs/decisions/0039).
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
        """Tell the compiler something about a class; where there is no compiler, nothing."""
        return lambda cls: cls

    def trait(cls: type) -> type:
        """Tell the compiler that a class is a second base class of others; where there is no compiler, nothing."""
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
"""Where a wheel has its compiled modules."""
FOLDER = BUNDLED if BUNDLED.is_dir() else PACKAGE.parent / "build" / "compiled"
"""Where the compiled modules of this package are."""
PURE = "HOSTSIM_PURE"
"""Environment variable: when it is set, and not empty, nothing compiled is imported."""
DIGEST = "digest"
"""File beside the compiled modules: what they were compiled from."""

_COMPILED = ("units.py", "engine/", "model/")
_INTERPRETED = ("engine/compiled.py", "engine/record.py", "model/control/")
"""Of these, what is not: control loops are SimPy processes, which act a few times a simulated second, and read as a user's own do."""
_SEEN = ("engine/compiled.py", "errors.py", "engine/record.py", "config/", "plugin/module.py", "plugin/registry.py")


def modules(package: Path = PACKAGE) -> list[Path]:
    """Sources that are compiled."""
    interpreted = set(_sources(package, _INTERPRETED))
    found = [source for source in _sources(package, _COMPILED) if source not in interpreted]
    return [source for source in found if source.name != "__init__.py"]


def _sources(package: Path, parts: tuple[str, ...]) -> list[Path]:
    return sorted(file for file in package.rglob("*.py") if file.relative_to(package).as_posix().startswith(parts))


def covered(package: Path = PACKAGE) -> list[Path]:
    """Sources that compiled modules depend on: their own, and those of what they import."""
    return _sources(package, _COMPILED + _SEEN)


def digest(package: Path = PACKAGE, beside: Iterable[Path] = ()) -> str:
    """Hash of what compiled modules depend on: these sources, others that are compiled with them, and the interpreter."""
    found = hashlib.sha256(EXTENSION_SUFFIXES[0].encode())
    names = {source: source.relative_to(package).as_posix() for source in covered(package)}
    for source, name in {**names, **{other: other.as_posix() for other in beside}}.items():
        text = source.read_bytes()
        found.update(f"{name}\0{len(text)}\0".encode() + text)
    return found.hexdigest()


def fits(package: Path = PACKAGE, folder: Path = FOLDER, beside: Iterable[Path] = ()) -> bool:
    """True where there are compiled modules, and they were compiled from these sources for this interpreter."""
    try:
        kept = (folder / DIGEST).read_text(encoding="ascii")
    except OSError:
        return False
    return kept == digest(package, beside)


class _Finder(MetaPathFinder):
    """Finds modules in a folder of compiled ones, before anybody looks for their sources."""

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
    """Import compiled modules from now on, if they fit and nobody asked for the sources.

    Args:
        folder: where they are; modules that were imported before stay what they are.
        beside: sources of other modules that were compiled together with them.
    """
    used = [finder.folder for finder in sys.meta_path if isinstance(finder, _Finder)]
    if not os.environ.get(PURE) and folder not in used and fits(folder=folder, beside=beside):
        sys.meta_path.insert(0, _Finder(folder))


def in_use() -> bool:
    """True where hot modules are compiled ones in this process."""
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


def kind() -> str:
    """Return ``compiled`` or ``interpreted``: which of the two this process simulates with."""
    return "compiled" if in_use() else "interpreted"
