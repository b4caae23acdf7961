"""NICs by model: keys of a server's file are merged over a catalogue model, or over a user's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.config.host import HardwareSpec, PointSpec
from hostsim.config.nic import NicSpec
from hostsim.errors import InputError
from hostsim.scenario.component import Parts
from hostsim.scenario.load import load
from hostsim.scenario.shipped_data import data_root, shipped_parts
from hostsim.scenario.yaml.reader import read
from hostsim.units import SECOND

SERVER = """\
hardware: own
cpu:
  model: x
  family: skylake-sp
  sockets: 2
  cores: 4
  clock: 2 GHz
  memory: {latency: 90 ns, hop: 50 ns, channels: 6, transfers: 2.6e9 /s}
nics:
  vmnic0: NIC
"""


def server(folder: Path, nic: str) -> HardwareSpec:
    """The server with only this NIC."""
    (folder / "own.yaml").write_text(SERVER.replace("NIC", nic), encoding="utf-8")
    part = Parts(folder).hardware("./own.yaml", ("hardware",))
    assert part.faults == ()
    assert part.spec is not None
    return part.spec


def nic_of(folder: Path, nic: str) -> NicSpec:
    return server(folder, nic).nics["vmnic0"]


@pytest.mark.parametrize("name", shipped_parts("nics"))
def test_a_model_alone_is_a_whole_nic(tmp_path: Path, name: str) -> None:
    """Rate, driver, ring and moderation are those of its file; no slot of the catalogue limits its ports."""
    nic = nic_of(tmp_path, f"{{model: {name}}}")
    of_file = Parts(tmp_path).nic(name).spec
    assert of_file is not None
    assert nic.model_dump() == of_file.model_dump()
    assert nic.rate == nic.line_rate
    assert nic.node == 0


def test_the_82599_has_the_values_of_the_shipped_server_with_one(tmp_path: Path) -> None:
    """The catalogue and an experiment's server agree, except for the driver of the newest platform."""
    shipped = Parts(tmp_path).hardware("dell-r820", ("hardware",)).spec
    assert shipped is not None
    nic = server(tmp_path, "{model: 82599}").with_drivers(["ixgbe"]).nics["vmnic0"]
    assert nic.model_dump() == shipped.nics["vmnic0"].model_dump()


def test_every_key_can_still_be_set(tmp_path: Path) -> None:
    """A value beside the model replaces the catalogue's; a moderation rule has priority over its interval."""
    nic = nic_of(tmp_path, "{model: 82599, line_rate: 1 Gbit/s, node: 1, rx_ring: 4096, moderation: ixgbe, lro: true}")
    assert (nic.line_rate, nic.node, nic.rx_ring, nic.lro) == (1e9, 1, 4096, True)
    assert (nic.moderation, nic.interrupt_interval) == ("ixgbe", None)
    assert nic.rx_queues == 8


def test_a_model_may_be_a_file_of_the_users(tmp_path: Path) -> None:
    """It may extend a catalogue model; its faults have their own lines."""
    (tmp_path / "mine.yaml").write_text("model: mine\nextends: X710\nrx_ring: 1024\n", encoding="utf-8")
    nic = nic_of(tmp_path, "{model: mine.yaml}")
    assert (nic.model, nic.rx_ring, nic.moderation) == ("mine", 1024, "i40e")
    (tmp_path / "mine.yaml").write_text("model: mine\nextends: X710\nrx_ring: 0\n", encoding="utf-8")
    (fault,) = Parts(tmp_path).hardware("./own.yaml", ("hardware",)).faults
    assert (Path(fault.file).name, fault.line, fault.path) == ("mine.yaml", 3, "nics.vmnic0.rx_ring")


SMALL = """\
scenario: small
question: What happens?
platform: esxi-7.0
hardware: ./own.yaml
network: {vSwitch0: {uplinks: [vmnic0]}}
vms: {receiver: {guest: rhel6, networks: [vSwitch0]}}
traffic: {stream: {kind: multicast, to: receiver, packet_size: 800 B, rate: 40 kpps}}
"""


def spec_of(folder: Path, overrides: dict[str, str] | None = None, axes: dict[str, str] | None = None) -> PointSpec:
    """The first point of a scenario on the server."""
    file = folder / "small.yaml"
    file.write_text(SMALL, encoding="utf-8")
    loaded = load(file, overrides, axes)
    spec = loaded.points.resolve({name: axis.values[0] for name, axis in loaded.axes.items()}, SECOND).spec
    assert spec is not None
    return spec


@pytest.mark.parametrize(("platform", "driver"), [("esxi-6.0", "ixgbe"), ("esxi-7.0", "ixgben"), ("native", "ixgbe")])
def test_a_model_has_the_driver_of_its_platform(tmp_path: Path, platform: str, driver: str) -> None:
    """The first of its drivers that the platform lists."""
    server(tmp_path, "{model: 82599}")
    spec = spec_of(tmp_path, {"platform": platform})
    assert spec.hardware.nics["vmnic0"].driver == driver
    assert spec.vms[0].count == 1  # the default


@pytest.mark.parametrize("as_axis", [False, True])
@pytest.mark.parametrize(("model", "expected"), [("82599", ("ixgben", 512)), ("E810", ("icen", 2048))])
def test_an_option_or_an_axis_chooses_the_model(
    tmp_path: Path, model: str, expected: tuple[str, int], *, as_axis: bool
) -> None:
    """It replaces all of the NIC's keys in the file except its node, so that nothing of another model remains."""
    server(tmp_path, "{model: X710, node: 1, rx_ring: 4096}")
    chosen = {"hardware.nics.vmnic0.model": model}
    nic = spec_of(tmp_path, *((None, chosen) if as_axis else (chosen, None))).hardware.nics["vmnic0"]
    assert (nic.driver, nic.rx_ring, nic.node) == (*expected, 1)


def test_an_option_beside_a_model_counts(tmp_path: Path) -> None:
    """Whichever of the two comes first."""
    server(tmp_path, "{model: X710}")
    chosen = {"hardware.nics.vmnic0.rx_ring": "4096", "hardware.nics.vmnic0.model": "E810"}
    assert spec_of(tmp_path, chosen).hardware.nics["vmnic0"].rx_ring == 4096


def test_an_option_of_an_unknown_model_is_refused(tmp_path: Path) -> None:
    """The error has the nearest option: a name from a data sheet would change nothing."""
    server(tmp_path, "{model: X710}")
    with pytest.raises(InputError, match=r"model'\]: unknown model of NIC; given 'x710'; .*did you mean 'X710'"):
        spec_of(tmp_path, {"hardware.nics.vmnic0.model": "x710"})


@pytest.mark.parametrize("name", shipped_parts("nics"))
def test_every_number_of_the_catalogue_has_its_origin(name: str) -> None:
    """A comment on its line, or an assumption with a range; words and flags need neither."""
    text = (data_root() / "nics" / f"{name}.yaml").read_text(encoding="utf-8")
    for key, value in read(data_root() / "nics" / f"{name}.yaml", name).tree.items():
        if key in ("rx_ring", "rx_queues", "interrupt_interval", "interrupt_step", "pcie") and not (
            isinstance(value, dict) and "assumed" in value
        ):
            line = next(line for line in text.splitlines() if line.startswith(f"{key}:"))
            assert "#" in line, line


def test_a_rule_beside_a_fixed_interval_is_refused() -> None:
    """It would have no effect; without the interval it has."""
    rule = {"hardware": "dell-r820", "hardware.nics.vmnic0.moderation": "ixgbe"}
    with pytest.raises(InputError, match=r"vmnic0\.moderation'\]: has no effect beside interrupt_interval"):
        load("first-sweep", overrides=rule)
    assert load("first-sweep", overrides={**rule, "hardware.nics.vmnic0.interrupt_interval": "null"})
