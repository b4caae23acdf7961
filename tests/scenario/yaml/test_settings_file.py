"""Settings from product files: a real `.vmx` file, an `esxcli` list; their values, and values beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.scenario.load import load
from hostsim.units import SECOND
from tests.corpus import ADVANCED, VMX, write
from tests.scenario.small_scenario import load_text

FILE = ('{ethernet0.emuRxMode: "0"}', "{file: web.vmx}")


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults name files relative to the working folder."""
    monkeypatch.chdir(tmp_path)


def test_a_vmx_file_sets_what_it_says(tmp_path: Path) -> None:
    """Its number of vCPUs is used, too; addresses, disks and network names are ignored; each setting has its line."""
    text = VMX + 'ethernet0.CtxPerDev = "3"\nethernet1.present = "false"\nethernet1.virtualDev = "e1000"\n'
    scenario = load(write(tmp_path, "vmx", {"text": text}))
    spec, _ = scenario.spec(scenario.first(), SECOND)
    assert (spec.vms[0].vcpus, spec.vms[0].settings.vnics[0].tx_context) == (2, "queue")
    origins = {row.name: (row.value, row.origin) for row in scenario.settings}
    assert origins["vms.receiver.vmx.ethernet0.ctxPerDev"] == ("3", "web.vmx:13")
    assert origins["vms.receiver.vcpus"] == ("2", "web.vmx:4")
    assert not any("scsi" in name or "Address" in name or "ethernet1" in name for name in origins)


def test_what_stands_in_the_scenario_goes_before_what_the_file_says(tmp_path: Path) -> None:
    """``--set`` has priority, too; an axis can vary a key of the file."""
    (tmp_path / "web.vmx").write_text(VMX + 'ethernet0.emuRxMode = "1"\n')
    own = ('{ethernet0.emuRxMode: "0"}', "{file: web.vmx, memSize: 512}\n    vcpus: 1")
    scenario = load_text(tmp_path, own, overrides={"vms.receiver.vmx.sched.cpu.shares": "high"})
    origins = {row.name: (row.value, row.origin) for row in scenario.settings}
    assert origins["vms.receiver.vmx.memSize"] == ("512", "small.yaml:12")
    assert origins["vms.receiver.vmx.sched.cpu.shares"] == ("high", "--set")
    assert origins["vms.receiver.vmx.ethernet0.emuRxMode"] == ("0, 1", "axis split")
    assert origins["vms.receiver.vcpus"][0] == "1"


def test_the_file_itself_may_be_varied(tmp_path: Path) -> None:
    """One axis, with two real virtual machines."""
    (tmp_path / "web.vmx").write_text(VMX)
    (tmp_path / "db.vmx").write_text(VMX.replace('numvcpus = "2"', 'numvcpus = "4"'))
    scenario = load_text(tmp_path, FILE, axes={"vms.receiver.vmx.file": "web.vmx, db.vmx"})
    at = scenario.first()
    files = [{**at, "vms.receiver.vmx.file": name} for name in ("web.vmx", "db.vmx")]
    assert [scenario.spec(values, SECOND)[0].vms[0].vcpus for values in files] == [2, 4]


def test_a_list_of_esxcli_sets_what_a_host_has(tmp_path: Path) -> None:
    """Network settings at their values; unknown settings at their defaults give no warning."""
    unknown = "\n   Path: /Net/TcpipHeapMax\n   Type: integer\n   Int Value: 32\n   Default Int Value: 32\n"
    scenario = load(write(tmp_path, "settings", {"text": ADVANCED + unknown}))
    assert scenario.spec(scenario.first(), SECOND)[0].settings.port_rx_queue == 160
    origins = {row.name: (row.value, row.origin) for row in scenario.settings}
    assert origins["host.advanced.Net.MaxPortRxQueueLen"] == ("160", "host.txt:3")
    assert "host.advanced.Net.TcpipHeapMax" not in origins


def test_links_do_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    """Links in an untrusted folder are not followed."""
    inside = tmp_path / "scenario"
    inside.mkdir()
    (tmp_path / "secret.vmx").write_text(VMX)
    (inside / "web.vmx").symlink_to(tmp_path / "secret.vmx")
    with pytest.raises(InputError, match="leads out of the scenario's root"):
        load_text(inside, FILE)
