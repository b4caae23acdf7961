"""No verdict hangs on an assumption: every assumed value goes to both ends of its range, and the claims still hold.

Judged at the edges of the accepted bands, which takes eleven runs where the full claims take sixty: the least number of
receivers that must be free of loss, and the first that must not be.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from hostsim.campaign.simulate import simulate
from hostsim.metrics.catalogue import CATALOGUE
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from hostsim.scenario.shipped_data import claims

FREE = 0.01
"""Percent of loss below which a host counts as free of it."""
RECEIVERS = {"0": (19, 20, 21, 22), "1": (27, 28, 29, 30)}
"""By default 19 must be free of loss and 22 not; split, 27 and 30."""
UNTOUCHED = (
    "platform.netqueue.",
    "platform.costs.vxlan_decap.",
    "platform.costs.vxlan_encap.",
    "platform.costs.segment_software.",
    "platform.costs.networld_tx.",
    "platform.costs.driver_tx.",
    "platform.costs.guest_tx_packet.",
    "platform.costs.guest_ack.",
    "platform.costs.generations.",
    "vms.receiver.guest.e1000.",
)
"""Starts of the paths of what no multicast packet meets: other directions, protocols, devices and processors, queues that one stream has not."""


def ranges() -> list[tuple[str, tuple[str, str]]]:
    """Every assumed constant and input of the multicast experiment with both ends of its range, as overrides."""
    scenario = load("splitrx")
    found = [(a.path, (str(a.range[0]), str(a.range[1]))) for a in scenario.assumptions]
    for name, constant in point_at(scenario, {}).spec.costs.entries().items():
        if constant.range is None:
            continue
        key = next(key for key in ("cycles", "time", "value") if getattr(constant, key, None) is not None)
        low, high = (f"{end} ps" if key == "time" else str(end) for end in constant.range)
        found.append((f"platform.costs.{name}.{key}", (low, high)))
    return found


def assumed() -> list[tuple[str, str]]:
    """Both ends of what a multicast packet meets."""
    return [(path, end) for path, ends in ranges() if not path.startswith(UNTOUCHED) for end in ends]


def run(override: tuple[str, str], receivers: int, split: str, rate: str) -> dict[str, float]:
    path, value = override
    # a longer ring hides a small overload for longer
    length = "3 s" if path.endswith("rx_ring") else "1500 ms"
    scenario = load("splitrx", {path: value, "run.length": length})
    point = point_at(scenario, {"receivers": receivers, "split": split, "rate": rate})
    record = simulate(point.spec, point_id=point.id, axes=point.axes, seed=1, replication=0)
    return {
        name: CATALOGUE[name].evaluate(record) for name in ("loss", "host_cpu", "guest_cpu", "guest_cpu_per_10kpps")
    }


@pytest.fixture(scope="module")
def workers():
    """Both cores."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.slow
@pytest.mark.parametrize("override", assumed(), ids=" ".join)
def test_no_verdict_hangs_on_an_assumption(override: tuple[str, str], workers: ProcessPoolExecutor):
    """The value at an end of its range leaves every claim in its band."""
    asked = [(count, split, "40 kpps") for split, counts in RECEIVERS.items() for count in counts]
    asked += [(20, "1", "40 kpps"), (1, "0", "10 kpps"), (1, "0", "40 kpps"), (36, "1", "30 kpps")]
    futures = {case: workers.submit(run, override, *case) for case in asked}
    came = {case: future.result() for case, future in futures.items()}
    most = {
        split: max((n for n in counts if came[n, split, "40 kpps"]["loss"] < FREE), default=counts[0] - 1)
        for split, counts in RECEIVERS.items()
    }
    band = {name: claim.band for name, claim in claims().items()}
    assert band["splitrx.default.40k"].holds(most["0"])
    assert band["splitrx.split.40k"].holds(most["1"])
    assert band["splitrx.gain.40k"].holds(most["1"] / most["0"])
    assert came[36, "1", "30 kpps"]["loss"] < FREE
    default, split = came[20, "0", "40 kpps"], came[20, "1", "40 kpps"]
    assert band["splitrx.host_cpu"].holds(split["host_cpu"] / default["host_cpu"])
    assert band["splitrx.guest_cpu.same"].holds(split["guest_cpu"] / default["guest_cpu"])
    for rate in ("10 kpps", "40 kpps"):
        assert band["splitrx.guest_cpu"].holds(came[1, "0", rate]["guest_cpu_per_10kpps"])


def test_what_no_multicast_packet_meets_moves_nothing() -> None:
    """All of it at once, at the upper ends: the run is the same to the last count."""
    moved = {path: ends[1] for path, ends in ranges() if path.startswith(UNTOUCHED)}
    assert len(moved) > len(UNTOUCHED)
    records = []
    for overrides in ({}, moved):
        scenario = load("splitrx", {**overrides, "run.length": "300 ms"})
        point = point_at(scenario, {"receivers": 20, "split": "1", "rate": "40 kpps"})
        records.append(simulate(point.spec, point_id="same", axes=point.axes, seed=1, replication=0))
    for name, series in records[0].series.items():
        np.testing.assert_array_equal(records[1].series[name].values, series.values, err_msg=name)
