"""Default service times of guests: `show` lists them, and a bottleneck that they cause repeats them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.scenario.load import load
from hostsim.scenario.scenario import Scenario
from hostsim.views.report.breakdown import service_notes

TEXT = """\
scenario: small
question: What happens?
platform: esxi-7.0
hardware: ./own.yaml
network: {vSwitch0: {uplinks: [vmnic0]}}
vms:
  db: {guest: rhel6, networks: [vSwitch0], vcpus: 2}
  web: {guest: rhel6, networks: [vSwitch0]}
traffic:
  orders: {kind: transactions, to: db, users: 2, request_size: 300 B, reply_size: 4 kB}
  feed: {kind: multicast, to: web, packet_size: 200 B, rate: 1 kpps}
  batch: {kind: work, to: web, rate: 1 /s, service: 1 ms}
"""
SERVER = """\
hardware: own
cpu: {model: x, family: westmere-ex, sockets: 1, cores: 4, clock: 2 GHz}
nics: {vmnic0: {model: 82599}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "own.yaml").write_text(SERVER, encoding="utf-8")
    (tmp_path / "small.yaml").write_text(TEXT, encoding="utf-8")
    return tmp_path / "small.yaml"


def services(scenario: Scenario) -> dict[str, tuple[str, str]]:
    return {s.name: (s.value, s.origin) for s in scenario.settings if ".service" in s.name}


def test_defaults_are_settings_with_their_time_on_this_host_and_their_range(file: Path) -> None:
    """Twenty million cycles of a Westmere at 2 GHz are 10 ms; a work entry has no default."""
    found = services(load(file))
    assert found["traffic.orders.service"] == ("10 ms", "a transaction, assumed for rhel6, 2.5 ms to 50 ms")
    assert found["traffic.feed.service"][1].startswith("a datagram read, assumed for rhel6, ")
    assert found["traffic.batch.service"][0] == "1 ms"


def test_a_service_time_of_the_scenario_takes_the_place_of_the_default(file: Path) -> None:
    """It has an origin like any other setting."""
    assert services(load(file, {"traffic.orders.service": "200 us"}))["traffic.orders.service"] == ("200 us", "--set")


@pytest.mark.parametrize(
    ("bottleneck", "noted"),
    [
        ("context db[0].vcpu1", ["orders"]),
        ("context web[0].vcpu0", ["feed"]),
        ("context db[0].NetWorld", []),
        ("context vmnic0.netpoll0", []),
        ("node node0", ["orders", "feed"]),
        ("wire vmnic0 receive", []),
        ("none", []),
    ],
)
def test_a_bottleneck_repeats_the_defaults_of_the_applications_behind_it(
    file: Path, bottleneck: str, noted: list[str]
) -> None:
    """The defaults are those of the VM with a full vCPU, and all of them for a node."""
    notes = list(service_notes(load(file).settings, bottleneck))
    assert [note.rpartition("set traffic.")[2].removesuffix(".service") for note in notes] == noted
    if "orders" in noted:
        assert notes[0] == (
            "a transaction takes 10 ms of a vCPU (assumed for rhel6, 2.5 ms to 50 ms): set traffic.orders.service"
        )


def test_a_service_time_of_the_scenario_is_not_repeated(file: Path) -> None:
    """Who wrote it knows it."""
    settings = load(file, {"traffic.orders.service": "200 us"}).settings
    assert list(service_notes(settings, "context db[0].vcpu1")) == []
