"""A root folder: files of a laboratory that are beside its scenarios instead of below them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hostsim import api
from hostsim.errors import InputError
from hostsim.scenario.load import load
from hostsim.scenario.selection import select
from tests.corpus import ADVANCED, HARDWARE, VMX
from tests.scenario.small_scenario import changed

NAMED = (
    ("dell-r810", "../hardware/box.yaml"),
    ("rhel6", "../guests/own.yaml"),
    ('{ethernet0.emuRxMode: "0"}', "{file: ../hosts/web.vmx}"),
    ("vms:\n", "host: {advanced: {file: ../hosts/host.txt}}\nvms:\n"),
    ("rate: 40 kpps", "arrivals: {process: replay, file: ../hosts/trace.txt}"),
)
"""A scenario's content, and its name for a laboratory's file."""


@pytest.fixture
def laboratory(tmp_path: Path) -> Path:
    """A scenario in ``sweeps/`` that names a file of each kind in folders beside it."""
    files = {
        "hardware/box.yaml": HARDWARE,
        "guests/own.yaml": "guest: mine\nextends: ../guests/parent.yaml\n",
        "guests/parent.yaml": "guest: parent\nextends: rhel6\n",
        "hosts/web.vmx": VMX,
        "hosts/host.txt": ADVANCED,
        "hosts/trace.txt": "0.1\n0.2\n",
        "sweeps/small.yaml": changed(*NAMED),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_files_beside_the_scenario_are_read_below_the_root(laboratory: Path) -> None:
    """Hardware, a guest and its parent, a .vmx file, a list of settings and a trace."""
    spec, _ = (scenario := load(laboratory / "sweeps/small.yaml", root=laboratory)).spec(scenario.first(), 10**12)
    assert (spec.hardware.hardware, spec.vms[0].guest.guest, spec.settings.port_rx_queue) == ("box", "mine", 160)
    assert spec.vms[0].vcpus == 2
    assert spec.traffic["stream"].arrivals.timestamps_ps == (10**11, 2 * 10**11)  # type: ignore[union-attr]


@pytest.mark.parametrize("named", NAMED, ids=[new for _, new in NAMED])
def test_the_root_is_the_folder_of_the_scenario_by_default(laboratory: Path, named: tuple[str, str]) -> None:
    """Each of the files alone is refused, with its line."""
    file = laboratory / "sweeps/small.yaml"
    file.write_text(changed(named))
    with pytest.raises(InputError, match=r"small\.yaml:\d+: .*leads out of the scenario's root.*, or a root above"):
        load(file)


def test_a_link_leads_out_of_a_root_no_more_than_out_of_a_folder(laboratory: Path) -> None:
    """A wider root is also a root."""
    box = laboratory / "hardware/box.yaml"
    (laboratory / "sweeps/box.yaml").symlink_to(box)
    (laboratory / "sweeps/small.yaml").write_text(changed(("dell-r810", "./box.yaml")))
    with pytest.raises(InputError, match="leads out"):
        load(laboratory / "sweeps/small.yaml", root=laboratory / "sweeps")
    assert load(laboratory / "sweeps/small.yaml", root=laboratory).name == "small"


@pytest.mark.parametrize(
    ("root", "message"),
    [("hardware", "root: does not contain the scenario; given"), ("nowhere", "root: is not a folder; given")],
)
def test_a_root_that_is_none_is_refused(laboratory: Path, root: str, message: str) -> None:
    """It must be a folder that contains the scenario."""
    with pytest.raises(InputError, match=message):
        load(laboratory / "sweeps/small.yaml", root=laboratory / root)


VERBS: dict[str, Callable[[Path, Path], object]] = {
    "load": lambda file, root: api.load(file, root=root),
    "select": lambda file, root: select(file, root=root),
    "sides": lambda file, root: api.sides(file, {"run.length": "2 s"}, root=root),
    "sides of a loaded one": lambda file, root: api.sides(api.load(file, root=root), {"run.length": "2 s"}),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_a_root(laboratory: Path, verb: str) -> None:
    """Commands that run something share these steps."""
    VERBS[verb](laboratory / "sweeps/small.yaml", laboratory)
