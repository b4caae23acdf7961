"""Version of the code that a run depends on: its digest, and a file beside its runs that describes it.

The digest covers the import closure of `simulate`, hashed by meaning and not by bytes.
The closure follows all imports of the package, including those in functions, except those for type checkers. A module is hashed as
its syntax tree without comments, layout, docstrings and error texts, which change no number. Scenario files are not included: the
key of a run also has the hash of its resolved point (docs/decisions/0102).

Runs of another version are never reused, and only `hostsim.campaign.stored_run` deletes them. If only the code prevents reuse, the difference is described.

This is not the digest of compiled modules (`hostsim.engine.compiled`), nor does it distinguish compiled code from its sources: both give the same bytes.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import json
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hostsim.config.files import write_whole
from hostsim.engine import compiled
from hostsim.errors import StoreError
from hostsim.results.integrity import confined

__all__ = ["ABOUT", "CACHE", "PACKAGE", "Code", "describe", "difference", "import_closure", "read_code", "write_cache"]

PACKAGE = Path(__file__).parents[1]
CACHE = compiled.FOLDER / "source_digest.json"
"""Cached digests of modules by the hash of their bytes, as parsing all modules takes 0.1 s."""
_ROOT = "campaign/simulate"

_NO_INFLUENCE = {
    "__init__": "the package's entry: it imports names when they are first used, and no module of a run uses it",
    "engine/compiled": "compiled modules give the same bytes as their sources",
    "errors": "an error ends a run, no module of a run catches it, and a failed run never counts as finished",
    "plugin/module": "it makes modules from the texts of plug-ins, whose digests are in the point's hash",
    "pydantic": "it checks values when a scenario is loaded, and the values are in the point's hash",
    "pydantic_core": "as pydantic",
}
"""Parts of the closure that are left out, with reasons. The version of Python is also left out: runs are arithmetic of
integers and floats, with random numbers from numpy.
"""


_ERRORS = {(ast.Raise, "exc"), (ast.Assert, "msg")}
"""Fields of syntax nodes with raised exceptions."""
_IDLE = {"kind", "type_comment"}
"""Fields of syntax nodes without an effect: the prefix of a string, a type comment."""


@dataclass(frozen=True)
class Code:
    """The code that a run depends on."""

    parts: Mapping[str, str]
    """Hash of each module by its path in the package (``model/receive/pnic``), version of each library."""

    @property
    def digest(self) -> str:
        """Hash of all parts: 16 hexadecimal digits."""
        parts = "".join(f"{name}\0{digest_of_part}\0" for name, digest_of_part in sorted(self.parts.items()))
        return hashlib.sha256(parts.encode()).hexdigest()[:16]


def read_code(package: Path = PACKAGE, cache: Path = CACHE) -> Code:
    """The code of a run, from its sources, or from a cache of sources with the same bytes."""
    modules = import_closure(package, _read_cache(cache))
    libraries = {name for module in modules.values() for name in module.libraries} - _NO_INFLUENCE.keys()
    parts = {name: module.meaning for name, module in modules.items()}
    return Code(parts | {name: importlib.metadata.version(name) for name in libraries})


def write_cache(file: Path, package: Path = PACKAGE) -> None:
    """Write the cache of a package's closure, for `read_code`."""
    modules = {module.source: [module.meaning, module.imports] for module in import_closure(package).values()}
    file.write_text(json.dumps({"reader": _reader(), "modules": modules}), encoding="ascii")


def _read_cache(file: Path) -> Mapping[str, _Module]:
    """The modules of a cache by the hash of their bytes; empty if another version of this module wrote it."""
    try:
        kept = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    if kept["reader"] != _reader():
        return {}
    return {source: _Module(source, meaning, tuple(imports)) for source, (meaning, imports) in kept["modules"].items()}


def _reader() -> str:
    return _hash(Path(__file__).read_bytes())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class _Module:
    """A module of the closure."""

    source: str
    """Hash of its bytes."""
    meaning: str
    imports: tuple[str, ...]
    """Dotted names of all possible imports: modules and their members."""

    @property
    def libraries(self) -> set[str]:
        """Imported packages outside the standard library."""
        tops = {name.split(".")[0] for name in self.imports}
        return tops - sys.stdlib_module_names - {PACKAGE.name}


def import_closure(
    package: Path = PACKAGE, parsed_before: Mapping[str, _Module] | None = None
) -> Mapping[str, _Module]:
    """Modules that a run can reach, by their paths in the package, without suffix.

    Args:
        package: the package.
        parsed_before: modules that need not be parsed, by the hashes of their bytes.

    Raises:
        FileNotFoundError: the package has no sources.
    """
    modules: dict[str, _Module] = {}
    waiting, seen = [_ROOT], set(_NO_INFLUENCE)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        source = package / f"{name}.py"
        if not (name == _ROOT or source.is_file()):
            continue
        data = source.read_bytes()
        modules[name] = (parsed_before or {}).get(_hash(data)) or _parsed(data, source)
        waiting += _paths(modules[name].imports)
    return modules


def _parsed(data: bytes, source: Path) -> _Module:
    tree = _Tree()
    tree.read(ast.parse(data, source))
    meaning = _hash("".join(tree.text).encode(errors="surrogatepass"))[:12]
    return _Module(_hash(data), meaning, tuple(tree.imports))


def _paths(imports: Iterable[str]) -> Iterator[str]:
    """Possible files of imported modules: each module, and its packages."""
    for dotted in imports:
        first, *inside = dotted.split(".")
        if first == PACKAGE.name:
            for depth in range(len(inside) + 1):
                folder = "/".join(inside[:depth])
                yield folder
                yield f"{folder}/__init__".lstrip("/")


class _Tree:
    """A syntax tree as text: fields of nodes in order, without empty fields, so that all Python versions agree.

    Attributes:
        text: pieces of the text.
        imports: dotted names that are imported.
    """

    def __init__(self) -> None:
        self.text: list[str] = []
        self.imports: list[str] = []

    def read(self, node: ast.AST, is_error: bool = False) -> None:
        """Append a node and its children.

        Texts of errors, assertions and `Fault` objects are left out. Only people read them: no module of a run catches an error by
        name, and a failed run is always repeated, so that no text of different code is ever shown.

        Args:
            node: the node.
            is_error: True inside a raised error.
        """
        text = self.text
        kind = type(node)
        if is_error and _is_text(node):
            text.append("text")
            return
        if kind is ast.Import or kind is ast.ImportFrom:
            self._note(node)
        elif kind is ast.Call:
            is_error = is_error or _name(node.func) == "Fault"  # type: ignore[attr-defined]
        text.append(kind.__name__)
        text.append("(")
        for field in kind._fields:
            value = getattr(node, field)
            if isinstance(value, ast.AST):
                if field != "ctx":
                    text.append(field)
                    self.read(value, is_error or (kind, field) in _ERRORS)
            elif isinstance(value, list):
                if value:
                    text.append(field)
                    for item in _statements(value):
                        if isinstance(item, ast.AST):
                            self.read(item, is_error)
                        else:
                            text.append(repr(item))
            elif field not in _IDLE and (value is not None or kind is ast.Constant):
                text.append(f"{field}={value!r},")
        text.append(")")

    def _note(self, node: ast.AST) -> None:
        """Add the imports; they are absolute, and a name may be a module or a member of one."""
        if isinstance(node, ast.Import):
            self.imports += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            self.imports += [f"{node.module}.{alias.name}" for alias in node.names]


def _statements(items: list[object]) -> Iterator[object]:
    """Items of a field; only statements with an effect."""
    for item in items:
        if isinstance(item, ast.If) and _name(item.test) == "TYPE_CHECKING":
            yield from _statements(list(item.orelse))
        elif not (
            isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
        ):  # docstrings, prose under fields
            yield item


def _name(node: ast.AST) -> str:
    """The last name of an expression."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


ABOUT = "about.json"
"""File beside the runs of a version: versions of hostsim and Python, day of the first run, parts of the code."""
_MOST_VERSIONS, _MOST_PARTS = 3, 6
"""Largest number of items of a list in a note."""
_MOST_BYTES = 64 * 1024
"""Size limit of the file `ABOUT`; `describe` writes a tenth of it."""
_LONGEST = 80
"""Largest number of characters of a name or version in a note."""


def describe(results: Path, folder: Path, code: Code) -> None:
    """Write the description of a version's code beside its runs, unless it exists.

    Args:
        results: the results folder.
        folder: the folder of runs, below it.
        code: the code in use.

    Raises:
        StoreError: it cannot be written, or a link leads out of the results folder.
    """
    file = confined(results, folder / ABOUT)
    if file.exists():
        return
    about = {
        "hostsim": importlib.metadata.version("hostsim"),
        "python": platform.python_version(),
        "first_run": datetime.now(UTC).date().isoformat(),
        "parts": dict(sorted(code.parts.items())),
    }
    write_whole(file, (json.dumps(about, indent=1) + "\n").encode())


def difference(results: Path, folders: Sequence[Path], code: Code) -> str:
    """Describe the runs of other versions of the code, and the modules that differ.

    The files are untrusted: no link out of the results folder is followed, and text is made printable and truncated.

    Args:
        results: the results folder.
        folders: one of each version, the latest first.
        code: the code in use.
    """
    lines = [_line(results, folder, code) for folder in folders[:_MOST_VERSIONS]]
    if more := folders[_MOST_VERSIONS:]:
        runs = sum(_runs(folder) for folder in more)
        lines.append(f"{_counted(runs, 'run')} of {_counted(len(more), 'older version')}")
    return "\n".join(f"  {line}" for line in lines)


def _line(results: Path, folder: Path, code: Code) -> str:
    counted = f"{_printable(folder.name)}: {_counted(_runs(folder), 'run')}"
    try:
        about = _read(confined(results, folder / ABOUT))
        differing = ", ".join(map(_printable, _differing(about["parts"], code.parts)))
        version, day = _printable(about["hostsim"]), _printable(about["first_run"])
        return f"{counted} of hostsim {version}, the first on {day}; differs in {differing}"
    # no file, or not one written by `describe`
    except (StoreError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"{counted} of an earlier version, which did not record its modules"


def _read(file: Path) -> Any:
    """The content of a JSON file.

    Raises:
        ValueError: it is too large, or not JSON.
    """
    with file.open("rb") as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError("too large")
    return json.loads(data)


def _printable(text: Any) -> str:
    """Text without control characters, truncated to the length of a name. Raises TypeError for anything but text.

    Raises:
        TypeError: it is not text.
    """
    if not isinstance(text, str):
        raise TypeError("no text")
    return "".join(letter for letter in text if letter.isprintable())[:_LONGEST]


def _runs(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*.parquet"))


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Changed, added and removed parts, with long lists shortened."""
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    more = len(names) - _MOST_PARTS
    return [*names[:_MOST_PARTS], f"and {more} more"] if more > 0 else names


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
