"""Losses of a bridging guest come from their stated mechanisms: stops of the host, and the return of descriptors."""

from __future__ import annotations

import pytest

from hostsim.engine.record import Scalar
from tests.test_ablation import record, value

STOP = 10.8
"""Milliseconds for which the server is stopped here, longer than in the scenario: frames are then lost because the guest has no descriptors."""
STOPPED: dict[str, str] = {"hardware.firmware.stop": f"{STOP} ms"} | {
    f"hardware.nics.{nic}.rx_ring": "2048" for nic in ("vmnic0", "vmnic1")
}
EMPTIED_AT_ONCE = {
    f"platform.costs.{cost}.cycles": "0"
    for cost in ("driver_rx", "vmklinux_conversion", "switch_forward", "vnic_deliver", "vnic_hand_over")
}
"""The NetPoll empties the NIC's ring after a stop before the guest takes a frame."""
AT_ONCE = {"vms.bridge.guest.refill_part": "64"}
"""The vmxnet3 driver returns descriptors five at a time, instead of an eighth of the ring."""
CAUGHT_UP = 0.25
"""Milliseconds after a stop in which the guest takes the due ticks, and no frame."""
BETWEEN = (7 / 8 * 256 / STOP + (256 - 4 - 5) / (STOP + CAUGHT_UP)) / 2
"""Thousands of frames a second with 256 descriptors: midway between the descriptors that a vNIC surely has during a
stop if an eighth may be missing, and if only four unreturned ones and five delayed by coalescing (a depth of six less
one) may be missing.
"""


def loss(device: str, rings: int, rate: float, overrides: dict[str, str] | None = None, length: str = "10 s") -> float:
    axes: dict[str, Scalar] = {"device": device, "rings": rings, "rate": f"{rate:.3f} kpps"}
    return value(record("small-udp", axes, STOPPED | (overrides or {}), length), "loss")


@pytest.mark.parametrize(
    "rings", [128, 256, pytest.param(512, marks=pytest.mark.slow), pytest.param(1024, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(("device", "share"), [("vmxnet3", 7 / 8), ("e1000", 1.0)])
def test_the_loss_free_rate_is_what_the_descriptors_hold_in_a_stop(rings: int, device: str, share: float) -> None:
    """Descriptors that the device is sure to have, over the length of a stop, less a fifth, plus a tenth, in runs of many stops.

    What the guest takes while the NetPoll empties the NIC's ring adds to it, up to three tenths with long rings.
    """
    predicted = share * rings / STOP
    assert loss(device, rings, 0.8 * predicted, length="12 s") == 0
    assert loss(device, rings, 1.1 * predicted, EMPTIED_AT_ONCE, length="12 s") > 0
    assert loss(device, rings, 1.3 * predicted, length="12 s") > 0


def test_with_short_stops_nothing_is_lost_at_five_times_the_rate() -> None:
    """A stop of one millisecond instead of eleven."""
    assert loss("vmxnet3", 256, 100, {"hardware.firmware.stop": "1 ms"}, "6 s") == 0


def test_an_e1000_wins_by_how_its_driver_gives_descriptors_back() -> None:
    """With descriptors returned as promptly, a vmxnet3 also loses nothing; with free calls it still does."""
    assert loss("e1000", 256, BETWEEN) == 0
    assert loss("vmxnet3", 256, BETWEEN) > 0
    assert loss("vmxnet3", 256, BETWEEN, {"platform.costs.vmk_call.cycles": "0"}) > 0
    assert loss("vmxnet3", 256, BETWEEN, AT_ONCE) == 0


def test_calls_are_taken_from_vmxnet3_only_and_save_its_guest_time() -> None:
    """The throughput weight at half its range leaves at most half of them, as the guest halts meanwhile; an e1000 makes none, and is unchanged."""
    plain, weighed = (
        record("small-udp", {"device": "vmxnet3", "rate": "40 kpps", "weight": weight}, None, "2 s")
        for weight in (0, 128)
    )
    assert 0 < value(weighed, "tx_calls") <= value(plain, "tx_calls") / 2
    assert value(weighed, "guest_cpu") < value(plain, "guest_cpu")
    same = [
        record("small-udp", {"device": "e1000", "rate": "40 kpps", "weight": weight}, None, "2 s")
        for weight in (0, 128)
    ]
    assert value(same[0], "tx_calls") == 0
    assert value(same[0], "guest_cpu") == value(same[1], "guest_cpu")
