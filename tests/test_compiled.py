"""Compiled modules give the bytes of their sources, and are not used if the sources differ."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from mypy.main import process_options

from hostsim.campaign.simulate import simulate
from hostsim.engine import compiled
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity, Point, point_at
from hostsim.scenario.planner import make_plan
from hostsim.scenario.shipped_data import shipped
from hostsim.units import MS
from tests.test_determinism import corners, digest
from tests.writable_copy import copy_tree

BASELINE = Path(__file__).parent / "baseline"
TYPES = Path(__file__).parents[1] / ".ci" / "mypyc.ini"


def test_no_compiled_class_is_marked_acyclic():
    """The compiler frees a chain of objects by CPython's trash can, which writes before each object into the
    collector's header; an acyclic class has none. A transmit queue whose chain was marked so overwrote other objects
    when its host was freed.
    """
    assert [file for file in compiled.modules() if "acyclic=True" in file.read_text(encoding="utf-8")] == []


def small_points(folder: Path) -> dict[str, Point]:
    """The hosts with fingerprints, and corners of every shipped scenario."""
    found = {}
    copy_tree(BASELINE / "hardware", folder / "hardware")
    for kept in BASELINE.glob("*.yaml"):
        file = folder / kept.name
        file.write_text(yaml.safe_dump(yaml.safe_load(kept.read_text(encoding="utf-8"))["host"]), encoding="utf-8")
        found[kept.stem] = point_at(load(file), {})
    for name in shipped():
        scenario = load(name)
        for corner, axes in enumerate(corners(make_plan(scenario, Fidelity(), expectations=False))):
            found[f"{name} {corner}"] = point_at(scenario, axes)
    return found


def digests() -> dict[str, str]:
    """Hash of the stored data of short runs, by point."""
    with TemporaryDirectory() as folder:
        chosen = small_points(Path(folder))
    kinds = {kept.stem for kept in BASELINE.glob("*.yaml")}
    found = {}
    for name, point in chosen.items():
        length = 10 * MS if name in kinds else 4 * MS
        spec = point.spec.model_copy(update={"length": length})
        found[name] = digest([simulate(spec, point_id=point.id, axes=point.axes, seed=1, replication=0)])
    return found


def test_make_setup_looks_at_all_that_compiled_modules_depend_on():
    """An edit that makes them stale compiles again; otherwise the sources would run silently."""
    root = compiled.PACKAGE.parent
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    rules = subprocess.run(
        ["make", "--print-data-base", "--question", "setup"],
        cwd=root,
        env=alone,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    (rule,) = (line for line in rules.splitlines() if line.startswith("build/.compiled:"))
    watched = set(rule.split()[1:])
    files = {source.relative_to(root).as_posix() for source in compiled.covered()}
    assert files - watched == set()
    folders = {Path(file).parent.as_posix() for file in files}
    assert folders - {"hostsim", "hostsim/plugin"} <= watched, "a file that goes makes them unfit, too"


@pytest.mark.slow  # `make long-tests` runs it, in CI as well
@pytest.mark.skipif(not compiled.fits(), reason="nothing is compiled")
def test_compiled_modules_give_the_same_bytes() -> None:
    """Every kind of small host, and corners of every shipped scenario, with compiled modules and without."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.test_compiled"],
            env={**os.environ, compiled.PURE: pure},
            cwd=Path(__file__).parents[1],
            stdout=subprocess.PIPE,
            text=True,
        )
        for pure in ("", "1")
    ]
    first, second = (json.loads(process.communicate()[0]) for process in processes)
    assert (first["compiled"], second["compiled"]) == (True, False)
    assert len(first["digests"]) > len(shipped())
    assert first["digests"] == second["digests"]


def test_an_init_above_a_checkout_does_not_rename_its_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler would skip their imports, which it knows as ``hostsim.*``, and compile nothing."""
    package = tmp_path / "clone" / "hostsim"
    package.mkdir(parents=True)
    for file in (
        tmp_path / "__init__.py",
        package.parent / "__init__.py",
        package / "__init__.py",
        package / "units.py",
    ):
        file.touch()
    monkeypatch.chdir(package.parent)
    sources, _ = process_options([f"--config-file={TYPES}", "hostsim/units.py"])
    assert [source.module for source in sources] == ["hostsim.units"]


@pytest.fixture
def checkout(tmp_path: Path) -> tuple[Path, Path]:
    """A package with matching compiled modules."""
    package, folder = tmp_path / "hostsim", tmp_path / "compiled"
    for name in ("units.py", "errors.py", "engine/clock.py", "model/receive/link.py", "config/base.py", "cli/app.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("x = 1\n")
    folder.mkdir()
    (folder / compiled.DIGEST).write_text(compiled.digest(package))
    return package, folder


def test_compiled_modules_fit_their_own_sources_only(checkout: tuple[Path, Path]) -> None:
    """A change, an addition, a removal in any dependency; not in modules that only use them."""
    package, folder = checkout
    assert compiled.fits(package, folder)
    (package / "cli/app.py").write_text("x = 2\n")
    assert compiled.fits(package, folder)
    for name in ("units.py", "errors.py", "model/receive/link.py", "config/base.py"):
        (package / name).write_text("x = 2\n")
        assert not compiled.fits(package, folder), name
        (package / name).write_text("x = 1\n")
    (package / "engine/new.py").write_text("")
    assert not compiled.fits(package, folder)
    (package / "engine/new.py").unlink()
    assert compiled.fits(package, folder)
    (package / "engine/clock.py").unlink()
    assert not compiled.fits(package, folder)


def test_compiled_modules_of_another_interpreter_do_not_fit(
    checkout: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unfinished set of modules does not fit either."""
    package, folder = checkout
    monkeypatch.setattr(compiled, "EXTENSION_SUFFIXES", [".another.so"])
    assert not compiled.fits(package, folder)
    monkeypatch.undo()
    (folder / compiled.DIGEST).unlink()
    assert not compiled.fits(package, folder)


def test_what_does_not_fit_is_not_imported(checkout: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled modules are used if they match and the sources are not requested."""
    _, folder = checkout
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.setenv(compiled.PURE, "1")
    monkeypatch.setattr(compiled, "fits", lambda **_: True)
    compiled.use(folder)
    assert not compiled.in_use()
    monkeypatch.setenv(compiled.PURE, "")
    monkeypatch.setattr(compiled, "fits", lambda **_: False)
    compiled.use(folder)
    assert not compiled.in_use()
    monkeypatch.setattr(compiled, "fits", lambda **_: True)
    compiled.use(folder)
    compiled.use(folder)
    assert compiled.in_use()
    assert len(sys.meta_path) == 1


def test_what_is_compiled_beside_the_package_counts(checkout: tuple[Path, Path], tmp_path: Path) -> None:
    """Like a benchmark's own worlds: a change in them counts."""
    package, folder = checkout
    world = tmp_path / "world.py"
    world.write_text("x = 1\n")
    assert not compiled.fits(package, folder, [world])
    (folder / compiled.DIGEST).write_text(compiled.digest(package, [world]))
    assert compiled.fits(package, folder, [world])
    world.write_text("x = 2\n")
    assert not compiled.fits(package, folder, [world])


def test_the_digest_covers_whatever_compiled_modules_import() -> None:
    """They were compiled against the types of these modules, and of their imports."""
    covered = {source.relative_to(compiled.PACKAGE.parent).with_suffix("").as_posix() for source in compiled.covered()}
    for source in compiled.covered():
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hostsim."):
                assert str(node.module).replace(".", "/") in covered, source


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"compiled": compiled.in_use(), "digests": digests()}))
