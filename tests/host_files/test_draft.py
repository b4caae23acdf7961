"""The draft: a scenario that loads once its unknown keys have values, and measurements for `calibrate` and `check`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml

from hostsim.errors import InputError
from hostsim.host_files.draft import Draft
from hostsim.host_files.reader import read_host_files
from hostsim.lab.calibration.measured import read_measured
from hostsim.scenario.load import load

INPUTS = Path(__file__).parent / "inputs"
ANSWERS = {
    "# unknown, required: node (": "node: 0",
    "# unknown, required: moderation (": "moderation: i40e",
    "# unknown, required: rx_ring (": "rx_ring: 512",
    "# unknown, required: model (": "model: a NIC",
    "# unknown, required: line_rate (": "line_rate: 10 Gbit/s",
    "# unknown, required: driver (": "driver: i40en",
    "# unknown, required: guest (": "guest: rhel8",
    "# unknown, required: the traffic": "stream: {kind: multicast, to: db-2, packet_size: 200 B, rate: 1 kpps}",
}


def filled(text: str) -> str:
    """A draft whose unknown keys have values, as a user would give them."""
    lines = []
    for line in text.splitlines():
        start = line.lstrip()
        answer = next((value for question, value in ANSWERS.items() if start.startswith(question)), None)
        assert answer is not None or not start.startswith("# unknown, required"), line
        lines.append(line if answer is None else line[: len(line) - len(start)] + answer)
    return "\n".join(lines)


def write(folder: Path, *names: str) -> Draft:
    draft = Draft("my-host", read_host_files(INPUTS / name for name in names))
    draft.write(folder)
    return draft


def test_a_draft_with_answers_is_a_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stated values are effective, and the measurements are its expectations."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "commands-7.txt", "esxtop.csv")
    for name in ("hardware.yaml", "scenario.yaml"):
        text = filled((tmp_path / name).read_text())
        (tmp_path / name).write_text(text.replace("driver: igc-community", "driver: i40en"))  # no platform has it
    scenario = load("scenario.yaml")
    spec, _ = scenario.spec({}, 10**12)
    assert (spec.hardware.cpu.sockets, spec.hardware.cpu.cores, spec.hardware.cpu.threads) == (2, 20, 2)
    assert list(spec.hardware.nics) == ["vmnic0", "vmnic2", "vmnic4", "vmnic5"]
    assert spec.vswitches["vSwitch6"].uplinks == ("vmnic4", "vmnic5")
    assert [(group.name, group.vcpus, group.networks) for group in spec.vms] == [("db-2", 2, ("vSwitch6",))]
    bands = {one.name: (one.band.low, one.band.high) for one in read_measured(tmp_path / "measured.csv", scenario)}
    assert bands["networld_cpu"] == (3.995, 4.005)
    assert len(bands) == 9


def test_a_draft_with_gaps_is_refused_by_its_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was guessed for them."""
    monkeypatch.chdir(tmp_path)
    draft = write(tmp_path, "commands-7.txt", "esxtop.csv")
    assert "hardware.yaml: nics.vmnic0.node" in draft.unknown
    assert "scenario.yaml: vms.db-2.guest" in draft.unknown
    with pytest.raises(InputError) as caught:
        load("scenario.yaml")
    assert "guest" in str(caught.value) or "traffic" in str(caught.value)


def test_all_that_was_read_is_a_table(tmp_path: Path) -> None:
    """By file, line and column, each with its use."""
    write(tmp_path, "nicinfo.txt", "esxtop.csv")
    with (tmp_path / "found.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows[:2]] == ["Name", "PCI Device"]
    places = [(row["file"], int(row["line"]), int(row["column"] or 0)) for row in rows]
    files = list(dict.fromkeys(file for file, _, _ in places))
    assert places == sorted(places, key=lambda place: (files.index(place[0]), *place[1:]))
    used = {row["used_for"] for row in rows}
    assert {"", "host_cpu", "nics.vmnic0.rx_ring", "network.vSwitch6.uplinks"} <= used


def test_values_that_differ_are_reported(tmp_path: Path) -> None:
    """The first is used, and both are named with their places."""
    other = tmp_path / "other.txt"
    other.write_text("NIC: vmnic0\n   RX: 4096\n   RX Mini: 0\n")
    draft = Draft("host", read_host_files([INPUTS / "nicinfo.txt", other]))
    [conflict] = draft.conflicts()
    assert conflict.startswith("nics.vmnic0.rx_ring: 1024 (")
    assert "then 4096 (" in conflict


def test_measures_that_differ_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the file with more samples are used; counters of the other file have no use in the table."""
    monkeypatch.chdir(tmp_path)
    lines = (INPUTS / "esxtop.csv").read_text().splitlines(keepends=True)
    Path("short.csv").write_text("".join(lines[:-2]))
    Path("long.csv").write_text("".join(lines))
    draft = Draft("host", read_host_files(["short.csv", "long.csv"]))
    [note] = draft.unused_measures()
    assert note.startswith("contradictory measures, those of long.csv are used, not those of short.csv: ")
    assert " guest_cpu (31.5, not " in note
    draft.write(tmp_path)
    with Path("found.csv").open() as file:
        assert {row["file"] for row in csv.DictReader(file) if row["used_for"] == "guest_cpu"} == {"long.csv"}


def test_arrivals_are_a_trace_that_a_scenario_replays(tmp_path: Path) -> None:
    """The instants of the capture, in seconds from the first."""
    from hostsim.scenario.yaml.arrival_trace import read_instants

    write(tmp_path, "tshark-fields.txt")
    assert read_instants(tmp_path / "arrivals-1.txt") == (0, 100_000_000, 100_500_000)
    assert "{process: replay, file: arrivals-1.txt}" in (tmp_path / "scenario.yaml").read_text()


def test_a_long_capture_becomes_as_much_as_a_trace_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first packets, whose number is in the draft."""
    monkeypatch.setattr("hostsim.host_files.draft.MAX_BYTES", 24)
    write(tmp_path, "tshark-fields.txt")
    assert (tmp_path / "arrivals-1.txt").read_text() == "0.000000000\n0.000100000\n"
    assert "2 packets in 0.0001 s" in (tmp_path / "scenario.yaml").read_text()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """An edited draft stays; the message names it."""
    (tmp_path / "scenario.yaml").write_text("mine")
    with pytest.raises(InputError, match=r"exists and is not overwritten; given \S+scenario.yaml"):
        write(tmp_path, "nicinfo.txt")
    assert [file.name for file in tmp_path.iterdir()] == ["scenario.yaml"]


@pytest.mark.parametrize(
    "vm", ["a: {b}", "x\\n- !!python/object", "=cmd()|'x'!A1", "\U0001f600 \u202e", "'\"#", "-", "a\nx: 1"]
)
def test_names_of_strangers_stay_names(tmp_path: Path, vm: str) -> None:
    """A VM may have any name: it is never YAML, a spreadsheet formula, or a terminal command."""
    capture, stats = tmp_path / "esxtop.csv", tmp_path / "net-stats.json"
    capture.write_text((INPUTS / "esxtop.csv").read_text().replace("db 2", vm.replace('"', '""')))
    stats.write_text((INPUTS / "net-stats.json").read_text().replace("web.01", json.dumps(vm)[1:-1]))
    own = {"count", "vcpus", "networks"}
    for file, keys in ((capture, own), (stats, own | {"rx_ring"})):
        if file == capture and "\n" in vm:
            continue  # the header of a capture is one line
        out = tmp_path / file.stem
        Draft("host", read_host_files([file])).write(out)
        scenario = yaml.safe_load((out / "scenario.yaml").read_text())
        [(_, group)] = scenario["vms"].items()
        assert set(group) == keys
        assert scenario["traffic"] is None
        with (out / "found.csv").open(newline="") as table:
            assert not any(cell[:1] in "=+@" and cell for row in csv.reader(table) for cell in row)
        for name in ("scenario.yaml", "hardware.yaml"):
            assert all(c.isprintable() or c == "\n" for c in (out / name).read_text())


def test_vms_and_switches_of_similar_names_stay_apart(tmp_path: Path) -> None:
    """A space and a hyphen are equal in the draft: the second VM gets a number, and keeps it in every file."""
    text = (INPUTS / "net-stats.json").read_text()
    web = next(line for line in text.splitlines() if '"web.01.eth0"' in line)
    other = web.replace("web.01", "web 01").replace("DvsPortset-0", "DvsPortset 0")
    file = tmp_path / "net-stats.json"
    file.write_text(text.replace(web, f'{other} "vcpu": ["1"]}},\n{web}'))
    text = Draft("host", read_host_files([file, INPUTS / "esxtop.csv", file])).scenario()
    assert "  web-01:\n    count: 1\n" in text
    assert "  web-01-2:\n    count: 1\n" in text
    assert "networks: [DvsPortset-0]" in text
    assert "networks: [DvsPortset-0-2]" in text
    assert text.count("web-01") == 2


def test_a_switch_without_uplinks_is_listed_as_unknown() -> None:
    """A VM is on it; hostsim has no switch without uplinks, so the user decides."""
    draft = Draft("host", read_host_files([INPUTS / "esxtop-two-switches.csv"]))
    assert "scenario.yaml: network.inside.uplinks" in draft.unknown
    text = draft.scenario()
    assert "  inside:\n    # unknown, required: uplinks" in text
    assert "networks: [vSwitch0, inside]" in text


def test_a_nic_has_the_name_of_a_nic(tmp_path: Path) -> None:
    """An uplink whose name would be YAML is not a NIC of the draft."""
    file = tmp_path / "net-stats.json"
    file.write_text((INPUTS / "net-stats.json").read_text().replace('"name": "vmnic5"', '"name": "x: 1\\n  y"'))
    draft = Draft("host", read_host_files([file]))
    assert yaml.safe_load(draft.hardware())["nics"] is None
    assert yaml.safe_load(draft.scenario())["network"] == {"DvsPortset-0": None}  # the switch of the VM
