"""Physical NICs: the wire rate that the bus allows."""

from __future__ import annotations

import pytest

from hostsim.config.nic import NicSpec, PcieSpec


@pytest.mark.parametrize(
    ("generation", "lanes", "gbits"),
    [(1, 8, 14.63), (2, 8, 29.26), (3, 8, 57.61), (3, 16, 115.23), (4, 4, 57.61)],
)
def test_a_slot_carries_what_its_generation_and_lanes_give(generation: int, lanes: int, gbits: float) -> None:
    """The rate excludes line code and headers."""
    slot = PcieSpec.model_validate({"generation": generation, "lanes": lanes})
    assert slot.bandwidth / 1e9 == pytest.approx(gbits, abs=0.005)


@pytest.mark.parametrize(
    ("pcie", "ports", "gbits"),
    [
        (None, 2, 10.0),
        ({"generation": 2, "lanes": 8}, 2, 10.0),
        ({"generation": 1, "lanes": 8}, 2, 7.314),
        ({"generation": 1, "lanes": 8}, 1, 10.0),
    ],
)
def test_ports_share_their_slot(pcie: dict[str, int] | None, ports: int, gbits: float) -> None:
    """A port has the rate of its wire, or its share of the slot if that is lower."""
    nic = NicSpec.model_validate(
        {
            "model": "x",
            "line_rate": "10 Gbit/s",
            "node": 0,
            "rx_ring": 512,
            "driver": "ixgbe",
            "interrupt_interval": "50 us",
            "pcie": pcie,
            "ports_on_adapter": ports,
        }
    )
    assert nic.rate / 1e9 == pytest.approx(gbits, abs=0.001)
