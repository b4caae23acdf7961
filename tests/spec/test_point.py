"""The hash of a point covers everything that a run depends on, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from hostsim.campaign.simulate import simulate
from hostsim.config.costs import Cost
from hostsim.config.host import PointSpec
from hostsim.lab.verification.rig import point
from hostsim.units import MS


def of_interrupt(spec: PointSpec, **fields: object) -> PointSpec:
    """The point with another cost of an interrupt."""
    costs = spec.costs.model_copy(update={"interrupt": spec.costs.interrupt.model_copy(update=fields)})
    return spec.model_copy(update={"costs": costs})


def renamed(spec: PointSpec) -> PointSpec:
    """The point with other data sheet names, and other sources of all costs."""
    hardware = spec.hardware
    cpu = hardware.cpu.model_copy(update={"model": "another processor"})
    nics = {name: nic.model_copy(update={"model": "another adapter"}) for name, nic in hardware.nics.items()}
    server = hardware.model_copy(update={"hardware": "another server", "cpu": cpu, "nics": nics})
    vms = tuple(
        group.model_copy(update={"guest": group.guest.model_copy(update={"guest": "another guest"})})
        for group in spec.vms
    )
    origin = {"source": None, "assumed": "for a test", "range": (0, 1), "prior": 0.5}
    costs = {
        name: value.model_copy(update=origin) for name, value in spec.costs.entries().items() if isinstance(value, Cost)
    }
    return spec.model_copy(update={"hardware": server, "vms": vms, "costs": spec.costs.model_copy(update=costs)})


def test_where_a_cost_comes_from_does_not_count() -> None:
    """Another source, prior or range: the runs are the same."""
    spec = point("stream.yaml")
    calibrated = of_interrupt(spec, source="a paper", range=(0, 1e5), prior=2.0)
    for other in (calibrated, of_interrupt(calibrated, prior=3.0), renamed(spec)):
        assert other != spec
        assert other.digest() == spec.digest()


def test_a_cost_counts() -> None:
    """One cycle more."""
    spec = point("stream.yaml")
    interrupt = spec.costs.interrupt
    assert of_interrupt(spec, cycles=(interrupt.cycles or 0) + 1, time=None).digest() != spec.digest()


@pytest.mark.parametrize("file", ["stream.yaml", "queue.yaml"])
def test_what_the_hash_leaves_out_changes_no_run(file: str) -> None:
    """With all texts changed at once, every counter is unchanged."""
    spec = point(file).model_copy(update={"length": 5 * MS})
    one, other = (simulate(each, point_id="", axes={}, seed=1, replication=0) for each in (spec, renamed(spec)))
    assert one.series.keys() == other.series.keys()
    for name, series in one.series.items():
        np.testing.assert_array_equal(other.series[name].values, series.values)
