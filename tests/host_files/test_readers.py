"""Files from a host: each value with its line, measures by hand, and all other numbers listed.

The inputs are written for these tests, in the structure of files in public repositories.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from hostsim.host_files.contents import Contents
from hostsim.host_files.draft import Draft
from hostsim.host_files.reader import read_host_files

INPUTS = Path(__file__).parent / "inputs"


def read(*names: str) -> Contents:
    return read_host_files(INPUTS / name for name in names)


def drafted(contents: Contents) -> dict[str, tuple[object, int]]:
    """The first value and its line of each key of a draft."""
    keys: dict[str, tuple[object, int]] = {}
    for one in contents.readings:
        if one.given is not None:
            keys.setdefault(one.to, (one.given, one.line))
    return keys


def measured(*names: str) -> dict[str, tuple[float, float | None]]:
    return {one.metric: (round(one.value, 6), one.half) for one in Draft("host", read(*names)).measured}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "session-5.txt",
            {
                "platform": ("esxi-5.5", 2),
                "cpu.model": ("GenuineIntel family 6 model 47 stepping 2", 11),
                "cpu.family": ("westmere-ex", 8),
                "cpu.sockets": (2, 6),
                "cpu.clock": ("2.394 GHz", 12),
                "nics.vmnic2.driver": ("bnx2x", 35),
                "nics.vmnic2.rx_queues": (8, 46),
            },
        ),
        (
            "commands-7.txt",
            {
                "platform": ("esxi-7.0", 2),
                "cpu.model": ("GenuineIntel family 6 model 85 stepping 4", 11),
                "cpu.family": ("skylake-sp", 9),
                "cpu.clock": ("2.095 GHz", 12),
                "cpu.sockets": (2, 14),
                "cpu.cores": (20, 15),
                "cpu.threads": (2, 16),
                "nics.vmnic0.driver": ("i40en", 21),
                "nics.vmnic0.line_rate": ("10 Gbit/s", 21),
                "nics.vmnic0.model": ("Intel(R) Ethernet Controller X710 for 10GbE SFP+", 21),
                "mtu.vmnic0": (9000, 21),
                "nics.vmnic1.driver": ("i40en", 22),
                "nics.vmnic1.down": ("Down", 22),
                "nics.vmnic1.model": ("Intel(R) Ethernet Controller X710 for 10GbE SFP+", 22),
                "mtu.vmnic1": (1500, 22),
                "nics.vmnic2.driver": ("igc-community", 23),
                "nics.vmnic2.line_rate": ("2.5 Gbit/s", 23),
                "nics.vmnic2.model": ("Intel Corporation Ethernet Controller I226-V", 23),
                "mtu.vmnic2": (1500, 23),
            },
        ),
        (
            "nicinfo.txt",
            {
                "nics.vmnic0.driver": ("i40en", 5),
                "nics.vmnic0.line_rate": ("10 Gbit/s", 5),
                "nics.vmnic0.model": ("Intel(R) Ethernet Controller X710 for 10GbE SFP+", 5),
                "mtu.vmnic0": (9000, 5),
                "nics.vmnic0.rx_ring": (1024, 22),
            },
        ),
        ("rx-summary.txt", {"vms.web-01.rx_ring": (512, 8)}),
        (
            "net-stats.json",
            {
                "vms.web-01.networks": ("DvsPortset-0", 5),
                "vms.web-01.vcpus": (2, 5),
                "vms.web-01.rx_ring": (1024, 5),
                "traffic.web-01": ("receives 284 packets/s of 588 B, sends 189 packets/s of 174 B", 5),
                "network.DvsPortset-0.uplinks": ("vmnic5", 10),
                "nics.vmnic5.driver": ("i40en", 10),
                "nics.vmnic5.rx_queues": (9, 10),
            },
        ),
        (
            "net-stats-ens.json",
            {
                "vms.edge-1.networks": ("DvsPortset-0", 5),
                "vms.edge-1.vcpus": (4, 5),
                "vms.edge-1.rx_ring": (4096, 5),
                "traffic.edge-1": ("receives 150000 packets/s of 92 B, sends 120000 packets/s of 94 B", 5),
                "network.DvsPortset-0.uplinks": ("vmnic4", 11),
                "nics.vmnic4.driver": ("i40en_ens", 11),
                "nics.vmnic4.rx_queues": (4, 11),
            },
        ),
        (
            "nic-lists.txt",
            {
                "nics.vmnic0.driver": ("igbn", 3),
                "nics.vmnic0.line_rate": ("1 Gbit/s", 3),
                "nics.vmnic0.model": ("Intel Corporation I350 Gigabit Network Connection", 3),
                "mtu.vmnic0": (1500, 3),
                "nics.vmnic1.driver": ("i40en_ens", 4),
                "nics.vmnic1.down": ("Down", 4),
                "nics.vmnic1.model": ("Intel(R) Ethernet Connection X722 for 10GbE SFP+", 4),
                "mtu.vmnic1": (1500, 4),
                "nics.vmnic2.driver": ("be2net", 11),
                "nics.vmnic2.line_rate": ("4 Gbit/s", 11),
                "nics.vmnic2.model": ("Emulex Corporation NC553i 10Gb 2-port FlexFabric", 11),
                "mtu.vmnic2": (1500, 11),
                "nics.vmnic3.driver": ("bnx2x", 16),
                "nics.vmnic3.line_rate": ("10 Gbit/s", 16),
                "nics.vmnic3.model": ("Broadcom Corporation NetXtreme II BCM57810 10 Gigabit", 16),
                "mtu.vmnic3": (9000, 16),
            },
        ),
        (
            "esxtop-two-switches.csv",
            {
                "network.vSwitch0.uplinks": ("vmnic0", 1),
                "nics.vmnic0.line_rate": ("2.5 Gbit/s", 1),
                "nics.vmnic1.down": ("0", 1),
                "vms.relay.networks": ("vSwitch0", 1),
                "vms.relay.vcpus": (1, 1),
            },
        ),
        (
            "esxtop.csv",
            {
                "network.vSwitch6.uplinks": ("vmnic4", 1),
                "vms.db-2.networks": ("vSwitch6", 1),
                "vms.db-2.vcpus": (2, 1),
            },
        ),
    ],
)
def test_a_draft_has_what_the_file_states_with_its_line(name: str, expected: dict[str, tuple[object, int]]) -> None:
    """It has no other key: a missing value gives no key."""
    assert drafted(read(name)) == expected


def test_esxtop_gives_measures() -> None:
    """Calculated by hand from the four samples after the first: means over vCPUs, sums over contexts and uplinks, Student's interval."""
    got = measured("esxtop.csv")
    assert {metric: value for metric, (value, _) in got.items()} == {
        "host_cpu": 19.0,
        "host_used": 18.0,
        "guest_cpu": 31.5,
        "guest_ready": 3.5,
        "netpoll_cpu": 15.5,
        "busiest_netpoll": 13.5,
        "networld_cpu": 4.0,
        "rx_rate": 10.65,
        "tx_rate": 2.1015,
    }
    # 16, 18, 20, 22: deviation 2.582, over the root of 4, times 3.182 of Student
    assert got["host_used"][1] == pytest.approx(4.108, abs=0.001)
    assert got["networld_cpu"][1] == 0.005  # equal samples, written with two decimals


def test_net_stats_gives_measures() -> None:
    """Two intervals: %USED of PCPUs without the sum at the list's end, packets by the adapter's counters."""
    got = measured("net-stats.json")
    assert {metric: value for metric, (value, _) in got.items()} == {
        "guest_cpu": 60.0,
        "guest_ready": 1.25,
        "guest_costop": 0.0,
        "netpoll_cpu": 7.5,
        "busiest_netpoll": 6.0,
        "networld_cpu": 4.0,
        "host_used": 42.4625,
        "rx_rate": 4.5,
        "tx_rate": 2.5,
    }


def test_a_whole_capture_has_the_worlds_of_each_vm_in_its_group() -> None:
    """The transmit context is in its VM's group; the group's other worlds are not vCPUs, and shadows of uplinks are not uplinks."""
    got = measured("esxtop-two-switches.csv")
    assert {metric: value for metric, (value, _) in got.items()} == {
        "host_cpu": 11.0,
        "host_used": 8.0,
        "guest_cpu": 0.7,
        "guest_ready": 0.2,
        "netpoll_cpu": 0.5,
        "busiest_netpoll": 0.5,
        "networld_cpu": 0.1,
        "rx_rate": 0.12,
        "tx_rate": 0.08,
    }


def test_polling_contexts_of_the_enhanced_data_path_are_no_networlds() -> None:
    """They poll at 100 % for any load; a note says that the file has them."""
    assert measured("net-stats-ens.json")["networld_cpu"][0] == 0.02
    assert any("Enhanced Data Path" in note for note in read("net-stats-ens.json").notes)


def test_a_row_with_an_empty_cell_is_read_where_its_columns_are_known() -> None:
    """By the dashes below the headings; without them there is a note, and nothing of it is used."""
    [note] = read("nic-lists.txt").notes
    assert "nic-lists.txt:17: the cells of vusb0 cannot be separated" in note


def test_counters_without_a_use_are_kept_and_listed() -> None:
    """Every column of the capture, every number of net-stats, every line of a block, with a mark of the used ones."""
    contents = read("esxtop.csv", "net-stats.json", "nicinfo.txt")
    rows = {(one.subject, one.name): one for one in contents.readings}
    disk = rows["Virtual Disk(db 2:scsi0:0)", "Average MilliSec/Write"]
    assert (disk.value, disk.samples, disk.to, disk.column) == (117.87, 4, "", 27)
    dropped = rows["Network Port(vSwitch6:134217732:28868:db 2.eth0)", "% Received Packets Dropped"]
    assert (dropped.value, dropped.samples, dropped.to) == (0.25, 3, "")  # one cell is empty
    assert rows["Physical Cpu(_Total)", "% Util Time"].to == "host_cpu"
    assert rows["web.01.eth0", "vnic.ring2sz"].value == 256
    assert rows["hclk-sched-vmnic5", "used"].to == ""
    assert rows["vmnic5-pollWorld-1-0x430094472fc0", "used"].to == "netpoll_cpu"
    assert rows["vmnic0", "Receive FIFO errors"].value == "12"
    assert sum(one.column > 0 and one.samples > 0 for one in contents.readings) == 27


def test_a_spreadsheet_and_a_cut_off_line_do_no_harm() -> None:
    """Cells without quotes, times without seconds; an incomplete last line is reported."""
    assert measured("esxtop-from-a-spreadsheet.csv")["host_cpu"][0] == pytest.approx(24.166667)
    [note] = [note for note in read("esxtop.csv").notes if "left out, as they" in note]
    assert "esxtop.csv:7: " in note


def test_what_a_user_should_know_is_noted() -> None:
    """Turbo, a first sample since the host's start, missing vCPUs, unread sections."""
    notes = "\n".join(read("net-stats.json", "esxtop-from-a-spreadsheet.csv", "session-5.txt").notes)
    assert "above their nominal clock" in notes
    assert "not read: overhead" in notes
    assert "the first sample is left out" in notes
    assert "`esxtop -b -a` has them" in notes
    assert "`esxcli hardware cpu global get` states sockets, cores and threads" in notes


def test_cores_of_another_generation_are_unknown(tmp_path: Path) -> None:
    """An AMD processor and a family without a platform give no key: no similar one is taken."""
    text = (INPUTS / "commands-7.txt").read_text()
    for old, new in (("GenuineIntel", "AuthenticAMD"), ("Model: 85", "Model: 158")):
        file = tmp_path / "cpu.txt"
        file.write_text(text.replace(old, new))
        assert "cpu.family" not in drafted(read_host_files([file]))


def test_a_part_of_a_list_of_processors_has_no_sockets(tmp_path: Path) -> None:
    """The end of a list, as from `tail`, and its first block alone: the omitted part may belong to another socket."""
    text = (INPUTS / "session-5.txt").read_text()
    first, second = text.index("CPU:0"), text.index("CPU:1")
    for part in (text[:first] + text[second:], text[:second]):
        file = tmp_path / "cpu.txt"
        file.write_text(part)
        assert "cpu.sockets" not in drafted(read_host_files([file]))


def test_nodes_on_another_number_of_sockets_are_noted(tmp_path: Path) -> None:
    """The note has the first line that states a number of nodes, also if the first block does not state one."""
    text = (INPUTS / "session-5.txt").read_text().replace("   Node: 0\n", "")
    file = tmp_path / "cpu.txt"
    file.write_text(text)
    [note] = [note for note in read_host_files([file]).notes if "NUMA nodes" in note]
    line = text[: text.index("   Node: 1")].count("\n") + 1
    assert f"cpu.txt:{line}: number of NUMA nodes 1, of sockets 2" in note


def packets(order: str, *, magic: bytes, units: int) -> bytes:
    """A pcap file of three packets, 10 us apart, truncated to four bytes each."""
    head = magic + struct.pack(order + "HHiIII", 2, 4, 0, 0, 4, 1)
    rows = [struct.pack(order + "IIII", 1_700_000_000, n * 10 * units, 4, 60 + n) + b"abcd" for n in range(3)]
    return head + b"".join(rows)


def pcapng(order: str, *, obsolete: bool = False) -> bytes:
    """The same as pcapng, in nanoseconds, with an unknown block before the packets, which may be of the obsolete kind."""

    def block(kind: int, body: bytes) -> bytes:
        length = struct.pack(order + "I", len(body) + 12)
        return struct.pack(order + "I", kind) + length + body + length

    section = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    interface = block(
        1, struct.pack(order + "HHI", 1, 0, 4) + struct.pack(order + "HHBxxx", 9, 1, 9) + struct.pack("I", 0)
    )
    rows = []
    for n in range(3):
        time = 1_700_000_000_000_000_000 + n * 10_000
        kind, head = (2, struct.pack(order + "HH", 0, 7)) if obsolete else (6, struct.pack(order + "I", 0))
        rows.append(block(kind, head + struct.pack(order + "IIII", time >> 32, time & 0xFFFFFFFF, 4, 60 + n) + b"abcd"))
    return section + interface + block(0x0BAD, b"abcd") + b"".join(rows)


@pytest.mark.parametrize(
    "data",
    [
        packets("<", magic=b"\xd4\xc3\xb2\xa1", units=1),
        packets(">", magic=b"\xa1\xb2\xc3\xd4", units=1),
        packets("<", magic=b"\x4d\x3c\xb2\xa1", units=1000),
        packets("<", magic=b"\xd4\xc3\xb2\xa1", units=1) + b"half a record",
        pcapng("<"),
        pcapng(">"),
        pcapng("<", obsolete=True),
        pcapng(">", obsolete=True),
    ],
)
def test_captures_of_packets_give_arrivals(tmp_path: Path, data: bytes) -> None:
    """Instants to the nanosecond and sizes on the wire, in both byte orders and units; a truncated record is omitted."""
    file = tmp_path / "a.pcap"
    file.write_bytes(data)
    [arrivals] = read_host_files([file]).arrivals
    assert arrivals.instants_ns == (0, 10_000, 20_000)
    assert arrivals.octets == (60, 61, 62)


def test_times_of_tshark_give_arrivals() -> None:
    """Epochs with sizes, sorted; the packet list, whose sizes are not read."""
    fields, listed = read("tshark-fields.txt", "tshark-list.txt").arrivals
    assert fields.instants_ns == (0, 100_000, 100_500)
    assert fields.octets == (242, 60, 1514)
    assert (listed.instants_ns, listed.octets) == ((0, 100_000), ())


def test_named_fields_of_tshark_give_arrivals() -> None:
    """`-E header=y` with several fields: time and length are found by name, also after a quoted separator."""
    [arrivals] = read("tshark-header.csv").arrivals
    assert (arrivals.instants_ns, arrivals.octets) == ((0, 100_000), (242, 60))


def test_worlds_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """VMs of two folders may have the same name: both of their vCPUs count."""
    text = (INPUTS / "net-stats.json").read_text().replace("vmx-vcpu-1:web.01", "vmx-vcpu-0:web.01")
    file = tmp_path / "net-stats.json"
    file.write_text(text.replace('{"used": 50.0', '{"id": 2105236, "used": 50.0'))
    draft = Draft("host", read_host_files([file]))
    assert {one.metric: one.value for one in draft.measured}["guest_cpu"] == 60.0


def test_series_of_several_files_are_not_mixed() -> None:
    """The one with more samples is used, for any order of files."""
    for names in (("esxtop.csv", "net-stats.json"), ("net-stats.json", "esxtop.csv")):
        assert measured(*names)["guest_cpu"][0] == 31.5
        assert measured(*names)["guest_costop"][0] == 0.0


def test_correlated_samples_have_a_wider_interval() -> None:
    """Samples of a slow wave: taken as independent they would have an interval of 0.14."""
    from hostsim.host_files.contents import mean_of

    wave = np.sin(np.arange(400) * 2 * np.pi / 400) + 5
    mean, half, count = mean_of(wave, 0.005)
    assert (round(mean, 6), count) == (5.0, 400)
    assert half is not None
    assert half > 0.2
