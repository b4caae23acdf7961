"""Files as written by products: each loads, and one warning per kind lists the settings without effect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.scenario.load import load
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.yaml.foreign_text import decoded
from hostsim.scenario.yaml.machine import _STAND_INS
from hostsim.units import SECOND

TEXT = """\
scenario: field
question: Does the file load?
platform: esxi-7.0
hardware: xeon-8160
network: {lan: {uplinks: [vmnic0]}, dmz: {uplinks: [vmnic1]}}
host: {advanced: {ADVANCED}}
vms:
  vm: {count: 1, guest: GUEST, networks: [NETWORKS], vmx: {VMX}}
traffic:
  f: {kind: tcp_stream, direction: receive, to: vm, window: 64 KiB}
"""
WINS = "in the scenario has priority over the file"


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings name files relative to the working folder."""
    monkeypatch.chdir(tmp_path)


def machine(
    content: str | bytes, own: str = "", networks: str = "lan", guest: str = "rhel7", platform: str = "esxi-7.0"
) -> Scenario:
    """A scenario with one VM from a ``.vmx`` file."""
    Path("a.vmx").write_bytes(content.encode() if isinstance(content, str) else content)
    vmx = "file: a.vmx" + (f", {own}" if own else "")
    text = TEXT.replace("ADVANCED", "").replace("GUEST", guest).replace("NETWORKS", networks).replace("VMX", vmx)
    Path("field.yaml").write_text(text.replace("esxi-7.0", platform))
    return load(Path("field.yaml"))


def settings_of(content: str | bytes, own: str = "") -> Scenario:
    """A scenario with the settings of a host from a list."""
    Path("a.txt").write_bytes(content.encode() if isinstance(content, str) else content)
    advanced = "file: a.txt" + (f", {own}" if own else "")
    text = TEXT.replace("ADVANCED", advanced).replace("GUEST", "rhel7").replace("NETWORKS", "lan").replace("VMX", "")
    Path("field.yaml").write_text(text)
    return load(Path("field.yaml"))


def vnics(scenario: Scenario) -> list[str]:
    """Device and coalescing scheme of each vNIC."""
    spec, _ = scenario.spec(scenario.first(), SECOND)
    return [f"{vnic.device} {vnic.coalescing.scheme}" for vnic in spec.vms[0].settings.vnics]


VNIC = 'ethernet0.present = "TRUE"\nethernet0.virtualDev = "vmxnet3"\n'
WARNED = {
    "cookies": (VNIC + 'cpuid.coresPerSocket.cookie = "2"\nnuma.autosize.cookie = "20022"\n', ""),
    "a note of two lines": (VNIC + 'annotation = "one|0Atwo|09three\u00a0four \u202e"\n', ""),
    "capitals": (
        VNIC.replace("vmxnet3", "VMXNET3")
        + 'sched.cpu.units = "MHZ"\nsched.cpu.shares = "NORMAL"\nsched.cpu.max = "UNLIMITED"\n',
        "",
    ),
    "names and places": (
        VNIC
        + 'ethernet0.bsdName = "en0"\nethernet0.pvnID = "x"\nethernet0.noPromisc = "FALSE"\nethernet0.limit = "-1"\n',
        "",
    ),
    "words for all": (VNIC + 'numa.nodeAffinity = "all"\nsched.mem.affinity = "all"\n', ""),
    "comments": ("#!/usr/bin/vmware\n// Network\n" + VNIC + 'memSize = "64"  # small\n', ""),
    "settings that are not modelled": (
        VNIC + 'numa.rebalance.odd = "TRUE"\nsched.mem.prealloc = "TRUE"\nsched.mem.max = "8400"\n'
        'sched.cpu.latencySensitivity.sysContexts = "2"\nethernet0.linux.odd = "1"\nsched.mem.pin = "1"\n',
        (
            "a.vmx: 6 settings have no effect, as they are not modelled: numa.rebalance.odd (line 3), sched.mem.prealloc (line 4), "
            "sched.mem.max (line 5), sched.cpu.latencySensitivity.sysContexts (line 6), ethernet0.linux.odd (line 7), sched.mem.pin (line 8)"
        ),
    ),
    "many settings": (
        VNIC + "".join(f'sched.mem.odd{number} = "1"\n' for number in range(30)),
        "a.vmx: 30 settings have no effect, as they are not modelled: "
        + ", ".join(f"sched.mem.odd{number} (line {number + 3})" for number in range(8))
        + " and 22 more",
    ),
    "mistyped": (
        VNIC + 'ethernet0.coalesingScheme = "rbc"\nmemSze = "4"\netherent1.x = "1"\n',
        (
            "a.vmx: 3 settings have no effect, as they are not modelled: ethernet0.coalesingScheme (line 3; did you mean "
            "'ethernet0.coalescingScheme'?), memSze (line 4; did you mean 'memSize'?), etherent1.x (line 5; did you mean 'ethernet1.x'?)"
        ),
    ),
    "an older scheme": (
        VNIC + 'ethernet0.coalescingScheme = "adapt"\n',
        "a.vmx: 1 setting has no effect, as it is not modelled: ethernet0.coalescingScheme (line 3)",
    ),
    "vlance": (
        VNIC.replace("vmxnet3", "vlance"),
        f"a.vmx:2: ethernet0.virtualDev = 'vlance': is not modelled, and an e1000 is simulated; vms.vm.vmx.ethernet0.virtualDev {WINS}",
    ),
    "no device": (
        'ethernet0.present = "TRUE"\n',
        (
            "a.vmx: ethernet0 has no virtualDev: ESXi makes it a flexible adapter or an e1000, and a vmxnet3 is simulated; "
            f"vms.vm.vmx.ethernet0.virtualDev {WINS}"
        ),
    ),
    "disconnected": (
        VNIC + 'ethernet0.startConnected = "FALSE"\n',
        "a.vmx:3: ethernet0 is not connected when the VM starts; it is simulated as connected, as vms.vm.networks gives it a network",
    ),
    "connected": (VNIC + 'ethernet0.startConnected = "true"\n', ""),
    "no vNIC": (
        'memSize = "512"\nethernet0.present = "FALSE"\nethernet0.virtualDev = "e1000"\n',
        "a.vmx: has no vNIC, and vms.vm.networks names 1 network: the VM gets a vNIC with default settings",
    ),
    "leftovers of a vNIC": (
        VNIC + 'ethernet1.ctxPerDev = "1"\n',
        'a.vmx: ethernet1 is left out: no line sets its ethernetX.present to "TRUE"',
    ),
    "more vNICs than networks": (
        VNIC + VNIC.replace("t0", "t1") + VNIC.replace("t0", "t2"),
        "a.vmx: ethernet1, ethernet2 are left out: vms.vm.networks names 1 network",
    ),
    "ethernet1 alone": (
        VNIC.replace("t0", "t1"),
        "a.vmx: vNICs take the networks of vms.vm in the order of their numbers: in the scenario ethernet1 is ethernet0",
    ),
    "devices": (
        VNIC + 'pciPassthru0.present = "TRUE"\npciPassthru0.id = "00000:059:00.0"\npciPassthru0.vendorId = "0x10de"\n'
        'pciPassthru1.present = "TRUE"\npciPassthru1.vgpu = "grid_p40-8q"\n'
        'pciPassthru28.present = "TRUE"\npciPassthru28.id = "00000:026:00.1"\npciPassthru28.pfId = "00000:026:00.1"\n'
        'pciPassthru28.MACAddressType = "vpx"\npciPassthru.use64bitMMIO = "TRUE"\npciPassthru2.present = "FALSE"\n',
        (
            "a.vmx: passed-through devices are not simulated, other than NICs and functions of NICs by their names: pciPassthru0 ('00000:059:00.0'), "
            "pciPassthru1 ('grid_p40-8q'), pciPassthru28 (SR-IOV, a virtual function of a NIC); vms.vm.vmx.pciPassthru0.id in the scenario "
            'names a NIC instead, pciPassthru0.present: "FALSE" leaves the device out'
        ),
    ),
}
"""Files of machines, each with its only warning."""


@pytest.mark.parametrize("name", WARNED)
def test_a_machine_loads_with_one_warning_at_most(name: str) -> None:
    """Nothing that a product writes makes a file invalid."""
    content, warning = WARNED[name]
    assert machine(content).warnings == ((warning,) if warning else ())


@pytest.mark.parametrize("version", range(7, 23))
@pytest.mark.parametrize("device", ["vmxnet3", "flexible", "vlance", "vmxnet"])
def test_machines_of_every_hardware_version_load(version: int, device: str) -> None:
    """They load with the keys that ESXi 8 writes for each."""
    scenario = machine(
        f'.encoding = "UTF-8"\nconfig.version = "8"\nvirtualHW.version = "{version}"\nnumvcpus = "2"\nmemSize = "2048"\n'
        f'sched.cpu.units = "mhz"\nethernet0.allowGuestConnectionControl = "FALSE"\nethernet0.virtualDev = "{device}"\n'
        'ethernet0.networkName = "VM Network"\nethernet0.addressType = "vpx"\nethernet0.generatedAddress = "00:50:56:a0:00:01"\n'
        'ethernet0.uptCompatibility = "TRUE"\nethernet0.present = "TRUE"\nsched.cpu.latencySensitivity = "normal"\n'
        'numa.autosize.cookie = "20012"\nnuma.autosize.vcpu.maxPerVirtualNode = "2"\ncpuid.coresPerSocket.cookie = "2"\n'
        'sched.cpu.min = "0"\nsched.cpu.shares = "normal"\nsched.mem.min = "0"\nsched.mem.minSize = "0"\nsched.mem.shares = "normal"\n'
        'guestinfo.appInfo = "{|0A|22a|22: []}"\nethernet0.pciSlotNumber = "33"\npciBridge0.pxm = "-1"\n'
    )
    assert len(scenario.warnings) == (device != "vmxnet3")
    assert vnics(scenario) == ["e1000 throttled" if device == "vlance" else "vmxnet3 rbc"]


def test_vnics_take_the_networks_in_the_order_of_their_numbers() -> None:
    """Each with its own settings; a network without a vNIC in the file gets one, and the warning says so."""
    two = VNIC.replace("t0", "t1") + 'ethernet1.coalescingScheme = "disabled"\n' + VNIC.replace("t0", "t10")
    assert vnics(machine(two, networks="lan, dmz")) == ["vmxnet3 disabled", "vmxnet3 rbc"]
    one = machine(two.replace('t10.present = "TRUE"', 't10.present = "FALSE"'), networks="lan, dmz")
    assert vnics(one) == ["vmxnet3 disabled", "vmxnet3 rbc"]
    assert one.warnings[0] == (
        "a.vmx: has 1 vNIC, and vms.vm.networks names 2 networks: each further one gets a vNIC with default settings"
    )


def test_an_e1000_is_simulated_where_the_guest_has_a_driver() -> None:
    """On an e1000, settings for a vmxnet3 are ignored like all others; on other platforms the vNIC is a vmxnet3."""
    text = VNIC.replace("vmxnet3", "vlance") + 'ethernet0.coalescingScheme = "disabled"\n'
    scenario = machine(text)
    assert vnics(scenario) == ["e1000 throttled"]
    assert [warning.partition(": ")[0] for warning in scenario.warnings] == ["a.vmx:2", "a.vmx"]
    Path("own.yaml").write_text("guest: own\nextends: rhel7\ne1000: ~\n")
    without = machine(text.replace("vlance", "e1000"), guest="./own.yaml")
    assert vnics(without) == ["vmxnet3 disabled"]
    assert without.warnings == (
        (
            "a.vmx:2: ethernet0.virtualDev = 'e1000': the guest has no driver for an e1000, and a vmxnet3 is simulated; "
            f"vms.vm.vmx.ethernet0.virtualDev {WINS}"
        ),
    )


def test_what_the_scenario_states_wins_and_silences_the_file() -> None:
    """A device, an ignored GPU, a setting without effect."""
    content = (
        VNIC.replace("vmxnet3", "vlance")
        + 'pciPassthru0.present = "TRUE"\npciPassthru0.id = "00000:059:00.0"\nsched.cpu.min = "9"\n'
    )
    own = 'ethernet0.virtualDev: vmxnet3, pciPassthru0.present: "FALSE", sched.cpu.min: 0'
    assert machine(content, own).warnings == ()
    with pytest.raises(
        InputError,
        match=r"a\.vmx:3: .*allowed: an integer 4\.\.\d+ MB; vms\.vm\.vmx\.memSize in the scenario has priority",
    ):
        machine(VNIC + 'memSize = "1"\n')
    assert machine(VNIC + 'memSize = "1"\n', "memSize: 64").warnings == ()


def test_a_nic_that_the_scenario_names_is_passed_through() -> None:
    """The file has its PCI address, which does not identify the server's NIC."""
    content = (
        VNIC
        + 'memSize = "64"\nsched.mem.min = "64"\npciPassthru0.present = "TRUE"\npciPassthru0.id = "00000:004:00.0"\n'
    )
    scenario = machine(content, "pciPassthru0.id: vmnic2")
    spec, _ = scenario.spec(scenario.first(), SECOND)
    assert [entry.nic for entry in spec.vms[0].settings.passthrough] == ["vmnic2"]
    assert scenario.warnings == ()


def test_a_name_that_a_person_types_stays_an_error() -> None:
    """It also is one beside a file; the error has the nearest name."""
    with pytest.raises(InputError, match=r"unknown setting; .*did you mean 'ethernet0\.coalescingScheme'"):
        machine(VNIC, "ethernet0.coalesingScheme: rbc")
    with pytest.raises(InputError, match=r"unknown setting; .*did you mean 'Net\.MaxPortRxQueueLen'"):
        settings_of("", "Net.MaxPortRxQueueLenght: 80")


LETTERS = {
    "windows-1252": "Zoë…",
    "GBK": "虚拟机",
    "windows-949": "가상",
    "Shift_JIS": "仮想表",
    "windows-1251": "Ж",
    "UTF-8": "ë",
}


@pytest.mark.parametrize("encoding", LETTERS)
def test_a_file_is_read_in_the_encoding_that_it_names(encoding: str) -> None:
    """Non-ASCII letters are in names and notes, which do not matter; a wrong encoding hides no key."""
    codec = encoding.replace("windows-", "cp")
    text = f'.encoding = "{encoding}"\ndisplayName = "{LETTERS[encoding]}"\n{VNIC}numvcpus = "3"\n'
    assert decoded(text.encode(codec)) == text
    scenario = machine(text.replace(f'"{encoding}"', '"UTF-8"').encode(codec))
    assert scenario.spec(scenario.first(), SECOND)[0].vms[0].vcpus == 3


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_is_read_by_its_byte_order_mark(codec: str) -> None:
    """PowerShell's ``>`` writes UTF-16; without a byte order mark, zero bytes reveal it."""
    assert machine(VNIC.replace("\n", "\r\n").encode(codec)).warnings == ()


@pytest.mark.parametrize("encoding", ["unicode_escape", "utf-7", "rot13", "no-such"])
def test_an_encoding_that_changes_plain_letters_is_not_used(encoding: str) -> None:
    """A hostile file could hide keys by it."""
    text = f'.encoding = "{encoding}"\nnumvcpus = "\\x31+AGE-"\n'
    assert decoded(text.encode()) == text


# --- lists of settings

BLOCK = """\
   Path: /Net/MaxPortRxQueueLen
   Type: integer
   Int Value: 500
   Default Int Value: 80
   Min Value: 1
   Max Value: 500
   String Value:
   Default String Value:
   Valid Characters:
   Description: Max length of the rx queue for virtual ports
   Host Specific: false
   Impact: none
"""
RECORD = {
    "DefaultIntValue": 80,
    "Description": "two\nlines",
    "IntValue": 500,
    "Path": "/Net/MaxPortRxQueueLen",
    "Type": "integer",
}
PROMPT = "[root@esx01:~] esxcli system settings advanced list -d\n"
FORMS = {
    "blocks": BLOCK,
    "a prompt and a banner": f"The time and date of this login have been sent to the system logs.\n\nNOTE: see /etc/motd\n{PROMPT}{BLOCK}{PROMPT[:15]}",
    "a prompt of PowerShell": f"PS C:\\temp> plink esx01 esxcli system settings advanced list\n{BLOCK}",
    "UTF-16": BLOCK.encode("utf-16"),
    "a description of two lines": BLOCK.replace("Max length", "Max length\nof what: may wait"),
    "a path with a hyphen": BLOCK + "\n   Path: /VSAN-iSCSI/ping.Timeout\n   Type: boolean\n",
    "csv": 'DefaultIntValue,Description,IntValue,Path,StringValue,Type,\n80,"two\nlines",500,/Net/MaxPortRxQueueLen,,integer,\n',
    "csv with a prompt": f'{PROMPT}"IntValue";"Path"\n"500";"/Net/MaxPortRxQueueLen"\n',
    "json": json.dumps([RECORD], indent=1),
    "json with a prompt": PROMPT + json.dumps([RECORD]) + "\n" + PROMPT[:15],
    "xml": '<?xml version="1.0" encoding="utf-8"?>\n<output xmlns="http://www.vmware.com/Products/ESX/5.0/esxcli">\n'
    '<root><list type="structure"><structure typeName="Option">\n<field name="IntValue"><integer>500</integer></field>'
    '<field name="Path"><string>/Net/MaxPortRxQueueLen</string></field>\n</structure></list></root></output>\n',
    "PowerCLI": '"Name","Value","Type"\n"Net.MaxPortRxQueueLen","500","VMHost"\n"Config.HostAgent.level[x].logLevel","info","VMHost"\n',
    "PowerCLI with types": '#TYPE VMware.VimAutomation.Types.AdvancedSetting\n"Id","Name","Value"\n"1","Net.MaxPortRxQueueLen","500"\n',
    "PowerCLI as JSON": '[{"Name": "Net.MaxPortRxQueueLen", "Value": 500}, {"Name": "Config.Enable", "Value": true}]',
}
"""Formats of one list, in which one setting is not at its default."""


@pytest.mark.parametrize("name", FORMS)
def test_a_list_is_read_in_each_form_that_tools_write(name: str) -> None:
    """The setting has its line; the rest of the file is ignored."""
    scenario = settings_of(FORMS[name])
    assert scenario.spec(scenario.first(), SECOND)[0].settings.port_rx_queue == 500
    origins = {row.name: (row.value, row.origin) for row in scenario.settings}
    value, origin = origins["host.advanced.Net.MaxPortRxQueueLen"]
    text = decoded(Path("a.txt").read_bytes()).splitlines()
    line = int(origin.removeprefix("a.txt:"))
    assert value == "500"
    assert (
        "500" in text[line - 1]
        or "structure typeName" in text[line - 1]
        or '"lines"' in text[line - 1]
        or name in ("csv", "json")
    )


@pytest.mark.parametrize(
    "text",
    ["", "\n", PROMPT, "[]", '<?xml version="1.0"?>\n<output><root><list type="structure"></list></root></output>'],
)
def test_a_host_at_its_defaults_has_an_empty_list(text: str) -> None:
    """``-d`` prints only changed settings: none."""
    assert settings_of(text).warnings == ()


def test_settings_of_a_host_that_are_not_modelled_are_named_in_one_warning() -> None:
    """Settings at their defaults are not listed: a list has all of them."""

    def block(name: str, value: int, default: int) -> str:
        return f"Path: /{name}\nType: integer\nInt Value: {value}\nDefault Int Value: {default}\n\n"

    text = (
        block("Net/TcpipHeapMax", 1536, 512)
        + block("Net/UseHwTSO6", 1, 1)
        + block("Net/NetSplitRxMode", 1, 1)
        + block("Net/TeamingNUMAAware", 1, 1)
        + block("Net/TcpipDefLROEnabled", 0, 1)
        + block("Mem/ShareScanTime", 1, 60)
    )
    warning = "a.txt: 2 settings have no effect, as they are not modelled: Net.TcpipHeapMax (line 3), Net.TcpipDefLROEnabled (line 23)"
    assert settings_of(text).warnings == (warning,)


def test_words_in_a_list_are_read_without_regard_to_case() -> None:
    """ESXi reads them in this way."""
    text = "Path: /Net/CoalesceScheme\nType: string\nString Value: Disabled\nDefault String Value: rbc\n"
    assert vnics(settings_of(text)) == ["vmxnet3 disabled"]


def test_a_device_of_the_platform_has_no_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new device works in files without another change."""
    monkeypatch.setitem(_STAND_INS, "e1000", "vmxnet3")
    assert vnics(machine(VNIC.replace("vmxnet3", "e1000"))) == ["e1000 throttled"]
