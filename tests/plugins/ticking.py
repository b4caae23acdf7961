"""A plug-in for tests: traffic and a control loop that are SimPy processes, and a scheduler policy with a setting."""

from random import Random
from typing import Annotated, Literal

from pydantic import Field

from hostsim.config.field import Names, Spec
from hostsim.config.quantity import PositiveDuration
from hostsim.config.traffic import Sourced
from hostsim.model.policy.scheduler import ProportionalShare


class TicksSpec(Sourced):
    """A datagram at each tick."""

    kind: Literal["ticks"]
    """Name of the kind."""
    to: Names
    """Groups of VMs."""
    every: PositiveDuration
    """Time between ticks."""
    last: Annotated[int, Field(ge=1)] = 1000
    """Number of ticks; the next one raises an error."""


def ticks(env, host, peer):
    """Send a datagram to each VM at each tick."""
    for _ in range(peer.spec.last):
        yield env.timeout(peer.spec.every)
        for vm in peer.vms:
            peer.send(vm, 500)
    raise ArithmeticError("the clock has run down")


class WatchSettings(Spec):
    """Settings of the watch."""

    every: PositiveDuration
    """Time between observations."""


def watch(env, host, settings):
    """Observe the host without changing it."""
    while True:
        yield env.timeout(settings.every)


class LotterySettings(Spec):
    """Settings of the lottery."""

    tickets: Annotated[int, Field(ge=1, le=100)] = 10
    """Tickets of each world."""


class Lottery(ProportionalShare):
    """Draws the next vCPU at random."""

    def __init__(self, settings, lead, own):
        super().__init__(settings, lead)
        self.tickets = own.tickets
        self._random = Random(own.tickets)

    def first_vcpu(self, queue, now):
        return self._random.choice(queue.vcpus)


def register(registry):
    registry.traffic(TicksSpec, ticks)
    registry.control_loop("watch", watch, WatchSettings)
    registry.scheduler("lottery", Lottery, LotterySettings)
