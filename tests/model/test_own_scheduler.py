"""A user's scheduler policy in one file (`docs/examples/eevdf.py`), on the shipped mechanism."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.config.platform import HostSettings
from hostsim.model.policy.scheduler import PolicyMaker, ProportionalShare, Q, RunQueue, SchedulerPolicy, W
from hostsim.plugin.module import module_of
from hostsim.plugin.source import read_plugins
from hostsim.units import MS, SECOND
from tests.model.small_host import Labourer, bare_host, check_charges
from tests.model.small_runs import STREAMS, run

(EEVDF,) = read_plugins([Path(__file__).parents[2] / "docs" / "examples" / "eevdf.py"])
OWN = module_of(EEVDF)


def eevdf(settings: HostSettings, lead: int) -> SchedulerPolicy:
    return OWN.Eevdf(settings, lead, OWN.EevdfSettings())


def test_shares_divide_a_pcpu_in_slices():
    """Shares of 1:2:4 of a PCPU within one slice each, where proportional share alternates by quanta."""
    host = bare_host(free=True, policy=eevdf)
    worlds = [Labourer(host, str(shares), shares=shares) for shares in (500, 1000, 2000)]
    for world in worlds:
        world.give(*[1 * MS] * 1000)
    for until in (140, 280, 700):
        host.clock.advance(until * MS)
        check_charges(host, worlds)
        assert [7 * world.used / until for world in worlds] == pytest.approx(
            [1 * MS, 2 * MS, 4 * MS], abs=42 * MS / until
        )


def order(policy: PolicyMaker) -> list[str]:
    """Order in which vCPUs resume that wait on a PCPU for a system world."""
    host = bare_host(free=True, policy=policy)
    Labourer(host, "system", system=True).give(2 * MS)
    worlds = []
    for name, shares, used in (("behind", 500, 0), ("ahead", 1000, 4), ("heavy", 2000, 1)):
        world = Labourer(host, name, shares=shares)
        world.vtime = used * MS
        world.give(1 * MS)
        worlds.append(world)
    host.clock.advance(SECOND)
    return [world.name for world in sorted(worlds, key=lambda world: world.done)]


def test_it_changes_the_order_of_dispatches():
    """The one furthest behind has the latest deadline, because of its few shares; the one ahead becomes eligible only after the others are done."""
    assert order(ProportionalShare) == ["behind", "heavy", "ahead"]
    assert order(eevdf) == ["heavy", "behind", "ahead"]


def test_all_laws_of_a_host_hold(tmp_path: Path):
    """More vCPUs than PCPUs: nothing is lost or charged twice, and the run differs from one with proportional share."""
    usual = run(STREAMS, tmp_path)
    other = run(STREAMS + "policies: {scheduler: eevdf}\n", tmp_path, plugins=[EEVDF])
    assert other.facts["dispatches"] != usual.facts["dispatches"]


class Misfit(ProportionalShare):
    """Chooses a world that is not among the waiting ones."""

    def first_vcpu(self, queue: RunQueue[Labourer], now: int) -> Labourer:
        return Labourer(self.host, "stranger")  # type: ignore[attr-defined]


def test_a_world_that_does_not_wait_is_refused():
    """A faulty policy ends the run at its fault instead of losing a world."""
    host = bare_host(free=True, policy=Misfit)
    host.policy.host = host
    for name in "ab":
        Labourer(host, name).give(1 * MS)
    with pytest.raises(ValueError, match="not in list"):
        host.clock.advance(SECOND)


class Apart(ProportionalShare):
    """A waking vCPU goes to a PCPU without a vCPU and with the shortest queue, instead of its last PCPU."""

    def wake_queue(self, world: W, last: Q, queues: list[Q]) -> Q:
        return min(queues, key=lambda queue: (self._has_vcpu(queue), queue.queued))

    def _has_vcpu(self, queue: RunQueue[Labourer]) -> bool:
        world = queue.current()
        return world is not None and not world.system


def test_it_chooses_where_a_woken_world_waits():
    """Two busy PCPUs: a policy that considers the running worlds sends the third world to the other PCPU."""
    places = []
    for policy in (ProportionalShare, Apart):
        host = bare_host(cores=2, free=True, policy=policy)
        Labourer(host, "vcpu", pcpu=0).give(2 * MS)
        Labourer(host, "system", pcpu=1, system=True).give(3 * MS)
        Labourer(host, "woken", pcpu=0).give(1 * MS)
        places.append([pcpu.queued for pcpu in host.pcpus])
    assert places == [[1, 0], [0, 1]]
