"""An EEVDF-like scheduler policy: of the vCPUs that are owed time, the one with the earliest virtual deadline goes first.

After Stoica and Abdel-Wahab, "Earliest Eligible Virtual Deadline First" (1995), as Linux has it since 6.6, with one run queue for each PCPU.
System worlds, the choice of a PCPU, balancing and co-scheduling are those of proportional share.
"""

from __future__ import annotations

from collections.abc import Sequence

from hostsim.config.field import Spec
from hostsim.config.platform import HostSettings
from hostsim.config.quantity import PositiveDuration
from hostsim.model.policy.scheduler import ProportionalShare, RunQueue, Schedulable, W
from hostsim.plugin.registry import Registry
from hostsim.units import MS


class EevdfSettings(Spec):
    """Settings of the policy."""

    slice: PositiveDuration = 3 * MS
    """Time on a PCPU that a vCPU asks for at once."""


class Eevdf(ProportionalShare):
    """Earliest eligible virtual deadline first.

    A vCPU asks for one slice after the other. Its virtual deadline is the virtual time at which it asked, and a slice over its shares;
    it is eligible while its virtual time is not beyond the average of those that want the PCPU, weighted by shares.
    """

    def __init__(self, settings: HostSettings, lead: int, own: EevdfSettings) -> None:
        super().__init__(settings, lead)
        self.quantum = self._slice = own.slice
        self._deadlines: dict[Schedulable, int] = {}

    def wake(self, world: Schedulable, vclock: int) -> None:
        """It asks for a slice."""
        super().wake(world, vclock)
        self._deadlines[world] = self._deadline(world, world.vtime)

    def migrate(self, world: Schedulable, shift: int) -> None:
        super().migrate(world, shift)
        if world in self._deadlines:
            self._deadlines[world] += shift

    def first_vcpu(self, queue: RunQueue[W], now: int) -> W:
        return self._earliest(queue.vcpus, [world.vtime for world in queue.vcpus])

    def yields(self, running: W, queue: RunQueue[W], now: int) -> bool:
        """A vCPU has its slice, or as much of it as makes it no longer eligible."""
        if running.system or queue.systems:
            return super().yields(running, queue, now)
        wanting = [running, *queue.vcpus]
        return self._earliest(wanting, [world.vtime for world in wanting]) is not running

    def preempts(self, world: W, running: W, queue: RunQueue[W], now: int) -> bool:
        """A vCPU that is eligible at once and has the earlier deadline need not wait for the batch to end."""
        if world.system:
            return super().preempts(world, running, queue, now)
        return self._earliest([running, world], [self.vtime(running, queue, now), world.vtime]) is world

    def _earliest(self, worlds: Sequence[W], vtimes: Sequence[int]) -> W:
        """Of the eligible worlds, that with the earliest deadline; the first of several."""
        total = sum(world.shares for world in worlds)
        weighted = sum(world.shares * vtime for world, vtime in zip(worlds, vtimes, strict=True))
        deadlines = self._deadlines
        eligible = []
        for world, vtime in zip(worlds, vtimes, strict=True):
            if deadlines[world] <= vtime:  # it has had its slice, and asks for another
                deadlines[world] = self._deadline(world, vtime)
            if vtime * total <= weighted:
                eligible.append(world)
        return min(eligible, key=deadlines.__getitem__)

    def _deadline(self, world: Schedulable, vtime: int) -> int:
        return vtime + self._slice * 1000 // world.shares


def register(registry: Registry) -> None:
    """Give the policy to scenarios: ``policies: {scheduler: eevdf}``."""
    registry.scheduler("eevdf", Eevdf, EevdfSettings)
