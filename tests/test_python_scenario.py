"""Scenarios from Python: mappings and text, options over loaded ones, and several at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import hostsim
from tests.tiny_scenario import TINY

SERVER = {
    "cpu": {"model": "8 cores", "family": "sandy-bridge", "sockets": 1, "cores": 8, "clock": "2.6 GHz", "ddio": True},
    "nics": {
        "vmnic0": {
            "model": "10 Gbit/s",
            "line_rate": "10 Gbit/s",
            "node": 0,
            "driver": "ixgbe",
            "rx_ring": 512,
            "interrupt_interval": {"value": "62 us", "assumed": "as drivers do", "range": ["40 us", "125 us"]},
            "rx_queues": 8,
        }
    },
}


def tiny() -> dict[str, Any]:
    return yaml.safe_load(TINY)  # type: ignore[no-any-return]


def points(scenario: hostsim.Scenario) -> dict[str, tuple[Any, ...]]:
    return {name: axis.values for name, axis in scenario.axes.items()}


def digest(scenario: hostsim.Scenario) -> str:
    return scenario.spec(scenario.first(), 10**12)[0].digest()


def test_mapping_text_and_file_are_the_same_host(tmp_path: Path) -> None:
    """By its hash, with paths as values, tuples and numpy numbers in the mapping."""
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    mapping = tiny()
    mapping["vms"]["receiver"] |= {"count": np.int64(1), "networks": ("vSwitch0",)}
    mapping["sweep"]["receivers"]["values"] = np.linspace(1, 2, 2)
    loaded = [hostsim.load(each) for each in (file, str(file), TINY, mapping)]
    assert len({digest(scenario) for scenario in loaded}) == 1
    assert points(loaded[3]) == points(loaded[0])


def test_hardware_stands_in_the_scenario(tmp_path: Path) -> None:
    """Like the same file: the same host, its assumed inputs, and values set by options."""
    (tmp_path / "server.yaml").write_text(yaml.safe_dump({"hardware": "server", **SERVER}))
    file = tmp_path / "tiny.yaml"
    file.write_text(yaml.safe_dump(tiny() | {"hardware": "./server.yaml"}))
    named, held = hostsim.load(file), hostsim.load(tiny() | {"hardware": SERVER})
    assert digest(held) == digest(named)
    assert [a.path for a in held.assumptions] == [a.path for a in named.assumptions]
    changes = {"hardware.cpu.clock": "3 GHz"}
    assert digest(held.with_(changes)) == digest(named.with_(changes)) != digest(held)
    assert held.with_({"hardware.cpu.clock": 3e9}).overrides == {"hardware.cpu.clock": "3000000000 Hz"}
    with pytest.raises(hostsim.InputError, match=r"hardware is part of the scenario; .*a hardware file"):
        hostsim.calibrate(held, results=tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("vms", "receiver", "count", -1), r'^scenario\["vms"\]\["receiver"\]\["count"\]: is too small; given -1'),
        (("vms", "receiver", "cuont", 1), r'^scenario\["vms"\]\["receiver"\]\["cuont"\]: unknown key.*\'count\''),
        (
            ("vms", "receiver", "vmx", {"ethernet0.a": 1}),
            r'^scenario\["vms"\]\["receiver"\]\["vmx"\]\["ethernet0.a"\]: ',
        ),
        (("sweep", "rate", "values", ["5 kpp"]), r'^scenario\["sweep"\]\["rate"\]\["values"\]\[0\]: has the unit'),
        (("hardware", {**SERVER, "cpu": {}}), r'^scenario\["hardware"\]\["cpu"\]\["model"\]: is missing'),
        (("question", float("nan")), r'^scenario\["question"\]: is not a value of a scenario; given float nan'),
        (("question", b"why"), r'^scenario\["question"\]: is not a value of a scenario'),
        (("question", "a\0"), r'^scenario\["question"\]: contains the non-printable character'),
        ((7, 7), "^scenario: key is not text; given int 7"),
    ],
)
def test_a_fault_in_a_mapping_names_its_python_path(change: tuple[Any, ...], said: str) -> None:
    """It also does for keys with dots, lists, missing keys and the hardware."""
    *path, key, value = change
    mapping = tiny()
    here = mapping
    for step in path:
        here = here[step]
    here[key] = value
    with pytest.raises(hostsim.InputError, match=said):
        hostsim.load(mapping)


def test_a_fault_in_text_names_its_line() -> None:
    """Counted from the first line of the text."""
    with pytest.raises(hostsim.InputError, match=r"(?m)^YAML text:7: vms\.receiver\.cuont: unknown key"):
        hostsim.load(TINY.replace("count: 1", "cuont: 1"))


def test_a_mapping_that_holds_itself_is_refused() -> None:
    """Like a file that is nested too deeply."""
    mapping = tiny()
    mapping["host"] = mapping
    with pytest.raises(hostsim.InputError, match=r'^scenario\["host"\]\["host"\].*: is nested too deeply'):
        hostsim.load(mapping)


def test_options_go_over_those_of_a_loaded_scenario(tmp_path: Path) -> None:
    """The later value of a path, or of the axis that varies it, counts, and the file is not read again."""
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    loaded = hostsim.load(file, {"traffic.stream.packet_size": "300 B"}, {"rate": "1 kpps"})
    file.unlink()
    more = loaded.with_(set={"vms.receiver.count": 2}, axes={"rate": [1000, 3000]})
    assert points(more) == {"receivers": (2,), "rate": ("1000 pps", "3000 pps")}
    assert more.overrides == {"traffic.stream.packet_size": "300 B", "vms.receiver.count": "2"}
    assert points(more.with_(axes={"receivers": [1, 3]}))["receivers"] == (1, 3)
    assert points(more.with_({"traffic.stream.rate": "4 kpps"}))["rate"] == ("4 kpps",)
    assert points(hostsim.load(more, axes={"receivers": 1}))["receivers"] == (1,)
    with pytest.raises(hostsim.InputError, match=r"^set\['vms.receiver.cuont'\]: there is no such path"):
        loaded.with_({"vms.receiver.cuont": 2})
    with pytest.raises(hostsim.InputError, match=r"^axes\['rat'\]: unknown axis"):
        loaded.with_(axes={"rat": 2})


def test_functions_take_mappings_and_loaded_scenarios_with_options(tmp_path: Path) -> None:
    """They take one at a time, or a list whose runs are made together, with separate results."""
    asked: dict[str, Any] = {"quick": True, "jobs": 1, "results": tmp_path}
    one = {"receivers": 1, "rate": "2 kpps"}
    loaded = hostsim.load(tiny())
    found = hostsim.run(loaded, axes=one, **asked)
    assert len(found.table) == 1
    told: list[str] = []
    several = hostsim.run(
        [loaded.with_(axes=one), loaded.with_({"traffic.stream.packet_size": "300 B"}, one), tiny()],
        axes={"rate": "2 kpps"},
        progress=lambda name, _: told.append(name),
        **asked,
    )
    assert [len(results.table) for results in several] == [1, 1, 2]
    assert several[0].table["host_cpu"].tolist() == found.table["host_cpu"].tolist()
    assert several[1].changed == {"traffic.stream.packet_size": "300 B"}
    assert {*told} == {"tiny (1)", "tiny (2)", "tiny (3)"}
    verdicts = hostsim.check(loaded, loaded.with_({"traffic.stream.packet_size": "300 B"}), tiny(), **asked)
    assert len(verdicts) == 9
    compared = hostsim.what_if(tiny(), {"receivers": 2}, axes={"rate": "2 kpps"}, **asked)
    assert compared.before.axes == ["receivers", "rate"]


def test_results_of_a_mapping_do_not_name_a_file(tmp_path: Path) -> None:
    """Saved and opened, they have the command that repeats them."""
    found = hostsim.run(tiny(), quick=True, jobs=1, axes={"receivers": 1, "rate": "2 kpps"}, results=tmp_path)
    assert found.provenance["source"] == "Python"
    found.save(tmp_path / "elsewhere")
    alone = hostsim.open_results(tmp_path / "elsewhere", results=tmp_path / "empty")
    with pytest.raises(hostsim.StoreError, match=r"`hostsim\.run` runs it again"):
        alone.records[0]
