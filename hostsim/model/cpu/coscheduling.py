"""Relaxed co-scheduling: bounds the skew between the vCPUs of an SMP VM by co-stops.

A vCPU gets on while it runs; while it is READY or COSTOPPED it falls behind. Time halted counts neither way: a vCPU that
wakes starts level with the slowest of its siblings. The VM is looked at once a period, from when one of its vCPUs has to
wait until none does; a VM whose vCPUs find PCPUs at once costs no event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hostsim.engine.clock import Clock, Timer
from hostsim.model.cpu.world import World, WorldState
from hostsim.model.policy.scheduler import SchedulerPolicy

__all__ = ["Gang", "Skew"]

_RUNNING: Final = WorldState.RUNNING
_READY: Final = WorldState.READY
_SLEEPING: Final = WorldState.SLEEPING
_COSTOPPED: Final = WorldState.COSTOPPED


class Skew:
    """The skew of a vCPU: its progress relative to its siblings.

    Attributes:
        gang: its VM.
        world: the vCPU.
        lag: time by which it has fallen behind, in picoseconds, up to the last look; only differences mean something.
        woken: True when it has woken up since.
    """

    def __init__(self, gang: Gang, world: World) -> None:
        self.gang, self.world = gang, world
        self.lag = self._seen = 0
        self.woken = True

    def wake(self) -> None:
        """Forget the lag of a vCPU that wakes from its halt."""
        self.lag = 0
        self._seen = self.world.waited + self.world.costopped
        self.woken = True

    def look(self, now: int) -> None:
        """Update the lag."""
        world = self.world
        stalled = world.waited + world.costopped
        if world.state is not _RUNNING:
            stalled += now - world.stalled_since
        self.lag += stalled - self._seen
        self._seen = stalled


class Gang:
    """The gang of an SMP VM: its vCPUs, co-scheduled."""

    def __init__(self, clock: Clock, vcpus: Sequence[World], policy: SchedulerPolicy, period: int) -> None:
        self._policy, self._period = policy, period
        self._timer = Timer(clock, self._check)
        self._skews = [Skew(self, vcpu) for vcpu in vcpus]
        for skew in self._skews:
            skew.world.skew = skew

    def watch(self, now: int) -> None:
        """Schedule a check of the gang a period from now, because one of its vCPUs has to wait."""
        if self._timer.due is None:
            self._timer.arm(now + self._period)

    def _check(self, now: int) -> None:
        wanting = [skew for skew in self._skews if skew.world.state is not _SLEEPING]
        for skew in wanting:
            skew.look(now)
        slowest = max((skew.lag for skew in wanting if not skew.woken), default=0)
        for skew in wanting:
            if skew.woken:
                skew.lag += slowest
                skew.woken = False
        slowest = max((skew.lag for skew in wanting), default=0)
        for skew in wanting:
            world, lead = skew.world, slowest - skew.lag
            if world.state is _COSTOPPED:
                if self._policy.costarts(lead):
                    _start(world, now)
            elif world.state is not _SLEEPING and self._policy.costops(lead):
                _stop(world, now)
        if any(skew.world.state in (_READY, _COSTOPPED) for skew in self._skews):
            self.watch(now)


def _stop(world: World, now: int) -> None:
    if world.state is _RUNNING:
        world.last.costop(now)
        return
    world.node.withdraw(world, now)
    world.waited += now - world.stalled_since
    world.state = _COSTOPPED
    world.stalled_since = now


def _start(world: World, now: int) -> None:
    world.costopped += now - world.stalled_since
    world.node.admit(world, now, world.last)
