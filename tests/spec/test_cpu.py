"""Processors of a host."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from hostsim.config.costs import CostModel
from hostsim.config.cpu import CpuSpec
from hostsim.scenario.component import Parts
from hostsim.scenario.shipped_data import data_root


@pytest.mark.parametrize(("threads", "pcpus"), [({}, 16), ({"threads": 1}, 16), ({"threads": 2}, 32)])
def test_a_core_has_a_pcpu_for_each_hyperthread(threads: dict[str, int], pcpus: int) -> None:
    """Off unless the hardware says otherwise."""
    given = {"model": "any", "family": "any", "sockets": 2, "cores": 8, "clock": "2 GHz"}
    assert CpuSpec.model_validate(given | threads).pcpus == pcpus


@pytest.mark.parametrize("value", [0.9, 2.1])
def test_two_hyperthreads_do_between_one_core_and_two(value: float) -> None:
    """A throughput outside is refused, with what is allowed."""
    platform = Parts(data_root()).platform("esxi", ("platform",)).spec
    assert platform is not None
    factor = platform.costs.smt_throughput.model_copy(update={"value": value})
    with pytest.raises(ValidationError, match=r"no less than one and no more than two cores\|1\.\.2"):
        CostModel.model_validate({**dict(platform.costs), "smt_throughput": factor})
