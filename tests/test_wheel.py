"""The wheel that a user installs: compiled with the same bytes, and pure if it cannot or should not be compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from tests.writable_copy import copy_tree

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def build(source: Path, folder: Path, python: Path | str = sys.executable, **environment: str) -> Path:
    """Build the wheel of a source tree like pip, in a separate environment."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "HOSTSIM_PURE")}
    command = [python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source]
    subprocess.run(command, check=True, env=env | environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_a_wheel_is_compiled_and_gives_the_bytes_of_the_sources(tmp_path: Path) -> None:
    """Built in an empty environment, without mypyc to fall back on, and installed into it."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    binaries = tmp_path / "venv" / "bin"
    wheel = build(ROOT, tmp_path / "wheel", binaries / "python")
    assert "none-any" not in wheel.name
    subprocess.run([binaries / "pip", "install", "--quiet", wheel], check=True)
    outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "HOSTSIM_PURE")}
    tables = []
    for pure, kind in (("", "compiled"), ("1", "interpreted")):
        env = {**outside, "HOSTSIM_PURE": pure}
        said = subprocess.run(
            [binaries / "hostsim", "--version"], check=True, env=env, cwd=tmp_path, capture_output=True, text=True
        )
        assert f"({kind}" in said.stdout
        results = tmp_path / kind
        command = [binaries / "hostsim", "run", "first-sweep", "--quick", "--results", results]
        subprocess.run(command, check=True, env=env, cwd=tmp_path, capture_output=True)
        tables.append(pd.read_parquet(results / "first-sweep" / "table.parquet").drop(columns="wall_s"))
    pd.testing.assert_frame_equal(*tables, check_exact=True)


@pytest.mark.parametrize(
    "environment", [{"HOSTSIM_PURE": "1"}, {"CC": "/there-is-no-compiler"}], ids=["asked", "no compiler"]
)
def test_a_wheel_is_pure_where_it_cannot_be_compiled_or_is_not_to_be(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    """A pure wheel serves any platform; the checkout has no compiled modules, which would be included unchanged."""
    source = tmp_path / "source"
    copy_tree(ROOT, source, ".git", ".venv", "build", "results", ".*_cache")
    wheel = build(source, tmp_path / "wheel", **environment)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not any("compiled_modules" in name for name in zipfile.ZipFile(wheel).namelist())
