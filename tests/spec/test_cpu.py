"""Processors of a host."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from hostsim.config.costs import CostModel
from hostsim.config.cpu import CoreComplexSpec, CpuSpec
from hostsim.lab.verification.rig import point
from hostsim.model.cost_table import CostTable
from hostsim.scenario.component import Parts
from hostsim.scenario.shipped_data import data_root


@pytest.mark.parametrize(("threads", "pcpus"), [({}, 16), ({"threads": 1}, 16), ({"threads": 2}, 32)])
def test_a_core_has_a_pcpu_for_each_hyperthread(threads: dict[str, int], pcpus: int) -> None:
    """Off unless the hardware says otherwise."""
    given = {"model": "any", "family": "any", "sockets": 2, "cores": 8, "clock": "2 GHz"}
    assert CpuSpec.model_validate(given | threads).pcpus == pcpus


EPYC = {
    "model": "any",
    "family": "zen3",
    "sockets": 2,
    "cores": 32,
    "threads": 2,
    "clock": "2.8 GHz",
    "nodes_per_socket": 4,
    "core_complex": {"cores": 8, "near": "23 ns", "far": "107 ns"},
    "memory": {"latency": "100 ns", "hop": "90 ns", "hop_in_socket": "10 ns", "channels": 2, "transfers": "3.2e9 /s"},
}
"""Two sockets with four NUMA nodes each, of eight cores, which are one core complex."""


def test_a_socket_may_have_several_numa_nodes() -> None:
    """Nodes share the cores of their socket; memory of the same socket is nearer than that of the other one."""
    cpu = CpuSpec.model_validate(EPYC)
    assert (cpu.nodes, cpu.node_cores, cpu.pcpus) == (8, 8, 128)
    assert (cpu.in_socket_ratio, cpu.remote_ratio) == (pytest.approx(1.1), pytest.approx(1.9))
    assert CpuSpec.model_validate(EPYC | {"nodes_per_socket": 1, "memory": None}).nodes == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cores": 30}, "30 cores do not divide into 4 equal NUMA nodes"),
        ({"core_complex": {"cores": 3, "near": "23 ns", "far": "107 ns"}}, "8 cores of a NUMA node do not divide into core complexes of 3"),
        ({"core_complex": {"cores": 8, "near": "23 ns", "far": "20 ns"}}, "far latency below its near latency"),
        ({"nodes_per_socket": 1}, "one NUMA node in each socket"),
        ({"all_core_turbo": "2.7 GHz"}, "all-core turbo clock below its nominal clock"),
    ],
)  # fmt: skip
def test_parts_of_a_processor_must_fit(changes: dict[str, object], message: str) -> None:
    """Each with what is allowed."""
    with pytest.raises(ValidationError, match=message):
        CpuSpec.model_validate(EPYC | changes)


def test_work_runs_at_the_all_core_turbo_clock() -> None:
    """A quarter more clock is a fifth less time for the same cycles; times independent of the clock are unchanged."""
    platform = Parts(data_root()).platform("esxi-8.0", ("platform",)).spec
    assert platform is not None
    plain = CpuSpec.model_validate(EPYC | {"clock": "2 GHz"})
    turbo = plain.model_copy(update={"all_core_turbo": 2.5e9})
    slow, fast = CostTable(platform.costs, plain), CostTable(platform.costs, turbo)
    assert fast.interrupt == pytest.approx(0.8 * slow.interrupt, abs=1)
    assert fast.vcpu_lead == slow.vcpu_lead


def test_new_keys_of_processors_leave_stored_runs_alone() -> None:
    """A server without them has the same hash as before they existed; each of them changes it."""
    spec = point("queue.yaml")
    cpu = spec.hardware.cpu
    assert "nodes_per_socket" not in spec.model_dump_json()
    hashes = {spec.digest()}
    for changes in (
        {"all_core_turbo": 2 * cpu.clock},
        {"core_complex": CoreComplexSpec(cores=1, near="1 ns", far="2 ns")},
    ):
        changed = cpu.model_copy(update=changes)
        hashes.add(spec.model_copy(update={"hardware": spec.hardware.model_copy(update={"cpu": changed})}).digest())
    assert len(hashes) == 3
    more = {**spec.costs.generations, "zen9": spec.costs.generations[cpu.family]}
    costs = spec.costs.model_copy(update={"generations": more})
    assert spec.model_copy(update={"costs": costs}).digest() != spec.digest()
    less = {name: factor for name, factor in spec.costs.generations.items() if name != "zen4"}
    costs = spec.costs.model_copy(update={"generations": less})
    assert spec.model_copy(update={"costs": costs}).digest() == spec.digest()


@pytest.mark.parametrize("value", [0.9, 2.1])
def test_two_hyperthreads_do_between_one_core_and_two(value: float) -> None:
    """A throughput outside the range is refused, with the allowed values."""
    platform = Parts(data_root()).platform("esxi", ("platform",)).spec
    assert platform is not None
    factor = platform.costs.smt_throughput.model_copy(update={"value": value})
    with pytest.raises(ValidationError, match=r"between the throughput of one core and that of two\|1\.\.2"):
        CostModel.model_validate({**dict(platform.costs), "smt_throughput": factor})
