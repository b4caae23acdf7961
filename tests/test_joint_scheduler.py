"""One scheduler for dense mode and splitRx: the same rules and settings in both, and the mechanism that they depend on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hostsim.campaign.simulate import simulate
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.policy.scheduler import PolicyMaker, ProportionalShare, RunQueue, W
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from hostsim.units import MS, SECOND

EXPERIMENTS = ("splitrx", "dense-medium", "dense-high")
NUMA_PERIOD = "host.advanced.Numa.RebalancePeriod"
"""Ten times as fast as ESXi's: published runs took minutes, these take seconds."""


def test_no_experiment_has_a_scheduler_of_its_own():
    """Every scheduler setting is the platform's default, except one period that is equal in all experiments;
    hyperthreads are those of the servers, one of which has none.
    """
    found = []
    for name in EXPERIMENTS:
        scenario = load(name)
        rows = [row for row in scenario.settings if row.name.startswith(("host.advanced.Cpu.", "host.advanced.Numa."))]
        assert {row.name: row.value for row in rows if row.origin.split(" ")[-1] != "default"} == {NUMA_PERIOD: "200"}
        found.append({row.name: row.value for row in rows})
        assert point_at(scenario, {}).spec.hardware.cpu.threads == (1 if name == "splitrx" else 2)
    assert found[0] == found[1] == found[2] != {}


class WithoutPreemption(ProportionalShare):
    """No world is preempted for a waking one."""

    def preempts(self, world: W, running: W, queue: RunQueue[W], now: int) -> bool:
        return False


def dispatches_per_request(vms: int, policy: PolicyMaker = ProportionalShare) -> float:
    """For dense mode's host with a fifth of its cores, by default, after a tenth of a second."""
    scenario = load("dense-high", {"hardware.cpu.cores": "2", "vms.web.count": str(vms), "run.length": "1 s"})
    host = build_host(point_at(scenario, {"vms": vms, "mode": "default"}).spec, Streams(1, 0), policy)
    counts = []
    for part in (100, 400):
        host.clock.advance(part * MS)
        counts.append((sum(pcpu.dispatches for pcpu in host.scheduler.pcpus), host.flows[0].answered))
    (dispatches, answered), (all_dispatches, all_answered) = counts
    return (all_dispatches - dispatches) / (all_answered - answered)


@pytest.mark.slow
def test_dispatches_do_not_melt_because_system_worlds_preempt():
    """From 90 % of the CPU to saturation a request takes the same number of dispatches; without preemption it takes far fewer."""
    calm, full = dispatches_per_request(46), dispatches_per_request(58)
    assert full > 0.9 * calm
    calm_uncut, full_uncut = (dispatches_per_request(vms, WithoutPreemption) for vms in (46, 58))
    assert calm_uncut < 0.6 * calm
    assert full_uncut < 0.8 * calm_uncut


@pytest.mark.slow
def test_the_numa_balancer_comes_to_the_same_at_its_own_pace():
    """268 VMs at 50 requests per second: each node has room for its own once one has moved, after 10 s with ESXi's period as after 2 s with a tenth of it."""
    late = []
    for period, length in (("200", 2.5), ("2000", 12.0)):
        scenario = load("dense-high", {NUMA_PERIOD: period, "run.length": f"{length} s"})
        axes = {"vms": 268, "mode": "default"}
        record = simulate(point_at(scenario, axes).spec, point_id="", axes=axes, seed=1, replication=0)
        tail = next(place for place, instant in enumerate(record.instants_ps) if instant > (length - 1.0) * SECOND)
        late.append(CATALOGUE["settled_response_p95"].evaluate(replace(record, cut=tail)))
    assert max(late) < 20
    assert late[0] == pytest.approx(late[1], rel=0.3)
