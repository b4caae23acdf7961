"""Names that are known and not modelled: one message each, and none for what works."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.scenario.component import Parts
from hostsim.scenario.load import load
from hostsim.scenario.shipped_data import known_names, shipped_parts

TEXT = """\
scenario: small
question: What happens?
platform: esxi-7.0
hardware:
  cpu: {model: x, family: skylake-sp, sockets: 2, cores: 8, clock: 2 GHz}
  nics: {vmnic0: {model: X710, driver: i40en}}
host: {advanced: {Net.UseHwTSO: 1}}
network: {lan: {uplinks: [vmnic0], mtu: 1500}}
vms: {web: {guest: rhel8, networks: [lan], vmx: {ethernet0.virtualDev: vmxnet3}}}
traffic: {batch: {kind: work, to: web, rate: 1 /s, service: 1 ms}}
"""


def faults(old: str, new: str) -> str:
    assert old in TEXT
    with pytest.raises(InputError) as error:
        load(TEXT.replace(old, new))
    return str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "name", "nearest"),
    [
        ("esxi-7.0", "esxi-9.0", "esxi-9.0", "esxi-8.0"),
        ("rhel8", "windows2019", "windows2019", "rhel8"),
        ("vmxnet3", "pvrdma", "pvrdma", "vmxnet3"),
        ("i40en", "i40en_ens", "i40en_ens", "the driver without -ens"),
        ("skylake-sp", "zen5", "zen5", "zen4"),
        ("kind: work", "kind: iscsi", "iscsi", "vmkernel_stream"),
        ("mtu: 1500", "lacp: true", "lacp", "explicit_failover"),
        ("Net.UseHwTSO: 1", "Net.TcpipHeapMax: 1024", "Net.TcpipHeapMax", "leave it out"),
        ("ethernet0.virtualDev: vmxnet3", 'ethernet0.noPromisc: "TRUE"', "ethernetX.noPromisc", "networks of the group"),
        ("ethernet0.virtualDev: vmxnet3", 'numa.autosize.once: "FALSE"', "numa.autosize.once", "numa.nodeAffinity"),
    ],
)  # fmt: skip
def test_a_real_name_is_not_taken_for_a_typing_error(old: str, new: str, name: str, nearest: str) -> None:
    """Releases, guests, devices, drivers, processors, traffic, keys and settings."""
    message = faults(old, new)
    assert f"{name} is known and not modelled: it would change " in message
    assert nearest in message.partition("allowed: ")[2]
    assert "did you mean" not in message


@pytest.mark.parametrize(("old", "new"), [("esxi-7.0", "esxi-7.1"), ("esxi-7.0", "esxi-6.3")])
def test_nothing_is_suggested_that_only_looks_alike(old: str, new: str) -> None:
    """A release for another release."""
    assert "did you mean" not in faults(old, new)


def test_a_typing_error_still_has_its_suggestion() -> None:
    """Of a name that is in no table, and of a processor key by its meaning."""
    assert "did you mean 'rhel8'?" in faults("rhel8", "rhel88")
    assert "did you mean 'nodes_per_socket'?" in faults("cores: 8", "cores: 8, nps: 4")


def test_no_name_of_the_table_works() -> None:
    """A setting, part or kind of traffic that is accepted has left the table; each row has a source."""
    table = known_names()
    settings = set()
    for name in shipped_parts("platforms"):
        spec = Parts(Path()).platform(name, ("platform",)).spec
        assert spec is not None
        settings |= {key.casefold() for part in (spec.advanced, spec.kernel, spec.vmx) for key in part}
        assert not spec.costs.generations.keys() & table["processors"].keys()
    assert not settings & table["settings"].keys()
    for section, kind in (("releases", "platforms"), ("guests", "guests"), ("traffic", "traffic")):
        assert not shipped_parts(kind).keys() & table[section].keys()
    assert all(row.source and row.changes and row.nearest for rows in table.values() for row in rows.values())
