"""The page of effects has every setting and key, and equals the output of its command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hostsim_docs.effects_page import Case, Effect, accepted, cases

import hostsim

ROOT = Path(hostsim.__file__).parent.parent
PAGE = ROOT / "docs" / "effects.md"
CASES = {case.name: case for case in cases()}


def test_every_accepted_setting_and_key_is_run() -> None:
    """None is missing, and no case is about a removed one."""
    assert set(CASES) == set(accepted())


def test_settings_are_run_at_the_ends_of_their_ranges() -> None:
    """A setting with two bounds has both, or the page says why not; a choice has two of its values."""
    for name, setting in accepted().items():
        case = CASES[name]
        if setting is None or case.why:
            continue
        if setting.choices is not None and len(setting.choices) > 1:
            assert {str(end) for end in case.ends} <= set(setting.choices), name
        elif setting.low is not None:
            assert case.ends[0] == setting.low, name
            assert setting.high is None or case.ends[-1] == setting.high, name


def test_the_page_has_a_row_for_each() -> None:
    """Rows equal the cases, so the page was written after the last case was added."""
    rows = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    names = [re.sub(r"^(host\.(advanced|kernel)\.|vms\.NAME\.vmx\.)", "", name) for name in CASES]
    assert sorted(rows) == sorted(names)


def test_a_setting_is_not_refused_for_the_server_of_its_case() -> None:
    """A platform has drivers for the NICs of each case that is run on it, so that every message is about the setting."""
    assert "driver" not in "".join(re.findall(r"\| \*(.+?)\* \|", PAGE.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("values", "differs"),
    [(((1.0, 1.2), (2.0, 2.2)), True), (((1.0, 2.1), (2.0, 2.2)), False), (((100.0, 100.1), (101.0, 101.1)), False)],
)
def test_an_effect_is_more_than_what_replications_differ_by(
    values: tuple[tuple[float, ...], ...], *, differs: bool
) -> None:
    """Runs of both ends do not overlap, and their means differ by 2 %."""
    case = Case("x", {}, "x", (0, 1), measure="throughput")
    assert Effect(case, values).passes == differs


@pytest.mark.slow
def test_the_page_is_what_its_command_writes(tmp_path: Path) -> None:
    """Each setting has the effect on the page, or the message; compiled if possible, since results are the same."""
    file = tmp_path / "effects.md"
    places = [str(ROOT), str(ROOT / "docs" / "_ext")]
    environment = {**os.environ, "HOSTSIM_PURE": "", "PYTHONPATH": os.pathsep.join(places)}
    command = [sys.executable, "-m", "hostsim_docs.effects_page", str(file)]
    done = subprocess.run(command, env=environment, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert file.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
