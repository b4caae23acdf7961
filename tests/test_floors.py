"""The house: imports run downwards only, and each library lives on its own floors."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hostsim

PACKAGE = Path(hostsim.__file__).parent

FLOORS: dict[str, int] = {
    **dict.fromkeys(("compiled", "errors", "units", "record", "metrics", "estimate", "files", "warm_up"), 0),
    **dict.fromkeys(
        (
            "citation",
            "claim",
            "confinement",
            "expect",
            "figure",
            "integrity",
            "prediction_interval",
            "processors",
            "quantity",
            "search_answer",
        ),
        0,
    ),
    **dict.fromkeys(("spec", "plugin"), 1),
    **dict.fromkeys(("scenario", "policy", "engine"), 2),
    "model": 3,
    "campaign": 4,
    "results": 5,
    **dict.fromkeys(("plots", "report", "trace", "pipeline", "analysis", "calibration", "verification", "notebook"), 6),
    "interim_analysis": 6,
    **dict.fromkeys(("api", "caller_words", "cli", "run_option", "__init__", "__main__"), 7),
}
"""Floor of each part of the package."""

SIMULATED = {"spec", "scenario", "policy", "engine", "model", "campaign"}

BLIND: dict[str, set[str]] = {
    "scenario": {"policy", "engine"},
    "policy": {"scenario", "engine"},
    "engine": {"scenario", "policy"},
    "model": {"scenario"},
    "results": SIMULATED,
    "plots": {*SIMULATED, "report"},
    "report": SIMULATED,
}
"""Parts that a part never sees, though it stands as high or higher."""

LIBRARIES: dict[str, range | set[str]] = {
    "pydantic": {"spec", "scenario", "calibration"},
    "yaml": range(2, 3),
    "simpy": {"engine", "model"},
    "pyarrow": range(4, 8),
    "pebble": range(4, 5),
    "distributed": range(4, 5),
    "dask": range(4, 5),
    "pandas": range(5, 8),
    "xarray": {"results"},
    "matplotlib": range(6, 8),
    "jinja2": range(6, 7),
    "SALib": {"analysis"},
    "sklearn": {"calibration"},
    "perfetto": range(6, 7),
    "rich": range(7, 8),
    "typer": range(7, 8),
}
"""Floors, or parts, on which a library may be imported."""

MOST_LINES = 500


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(source: Path) -> str:
    return source.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(source: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in it the import stands; names of type checking included."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source}: imports are absolute"
            module = node.module or ""
            yield from (f"{module}.{alias.name}" for alias in node.names)


def parts_seen(source: Path) -> set[str]:
    dotted = [name.split(".") for name in imports(source)]
    return {names[1] for names in dotted if names[0] == "hostsim" and len(names) > 1 and names[1] in FLOORS}


@pytest.mark.parametrize("source", sources(), ids=lambda source: str(source.relative_to(PACKAGE)))
def test_a_module_imports_downwards_only(source):
    """What stands low can be read, tested and changed without what stands on it."""
    part = part_of(source)
    seen = parts_seen(source) - {part}
    above = {other for other in seen if FLOORS[other] > FLOORS[part]}
    assert above == set(), f"{part} is on floor {FLOORS[part]}"
    assert seen & BLIND.get(part, set()) == set(), f"{part} must not know of them"


@pytest.mark.parametrize("source", sources(), ids=lambda source: str(source.relative_to(PACKAGE)))
def test_a_library_is_imported_on_its_own_floors_only(source):
    """Replacing a library touches few modules, and start-up pays for none it does not use."""
    part = part_of(source)
    for name in {dotted.split(".")[0] for dotted in imports(source)} & LIBRARIES.keys():
        allowed = LIBRARIES[name]
        assert (part if isinstance(allowed, set) else FLOORS[part]) in allowed, f"{name} in {part}"


def test_every_part_has_a_floor():
    """A new part is given its place in the house, and no floor names a part that is not there."""
    assert {part_of(source) for source in sources()} == set(FLOORS)


def test_no_module_asks_to_be_split():
    """Modules stay short enough to be read at once."""
    long = {str(source): n for source in sources() if (n := len(source.read_text().splitlines())) > MOST_LINES}
    assert long == {}


def test_the_check_itself_sees_an_import_inside_a_function(tmp_path):
    """Late imports count: the floors are about knowledge, not about start-up."""
    source = tmp_path / "late.py"
    source.write_text("def f():\n    from hostsim import api\n    import pandas as pd\n")
    assert set(imports(source)) == {"hostsim.api", "pandas"}
    assert parts_seen(source) == {"api"}
