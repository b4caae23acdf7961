"""NUMA-aware I/O at work: VMs next to the NICs that they use, as long as networking contexts have little to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.engine.clock import Timer
from hostsim.engine.probe import Level
from hostsim.model.cpu.scheduler import Node
from hostsim.policy.placement import in_force, pulled

if TYPE_CHECKING:
    from hostsim.model.host import Host, VirtualMachine

__all__ = ["NumaIo"]


class NumaIo:
    """Looks at the networking contexts once a period and puts VMs next to their NICs, or back where they were.

    The period is that of the NetQueue balancer, which is told of NUMA I/O (``Net.NetNetqNumaIOAwareDynamicLB``).

    Attributes:
        state: 1 while the placement is in force.
    """

    __slots__ = (
        "_before",
        "_defaults",
        "_host",
        "_period",
        "_polled",
        "_seen",
        "_threshold",
        "_timer",
        "_used",
        "state",
    )

    def __init__(self, host: Host) -> None:
        self._host = host
        self._threshold = host.spec.settings.numa_io_threshold
        self._period = host.spec.netqueue.period
        self._timer = Timer(host.clock, self._look)
        self._before = 0
        self._polled: dict[Node, int] = {}
        self._used = dict.fromkeys(host.vms, 0)
        self._seen = dict.fromkeys(host.vms, 0)
        self._defaults: dict[VirtualMachine, list[Node]] = {}
        self.state = Level()
        if self._threshold and len(host.scheduler.nodes) > 1:
            self.state.add(int(in_force(0, self._threshold)), host.clock.now)
            self._timer.arm(host.clock.now + self._period)

    def _look(self, now: int) -> None:
        host = self._host
        for pcpu in host.scheduler.pcpus:
            pcpu.charge(now)
        contexts = sum(world.used for world in host.worlds() if world.system and world.kind != "firmware")
        load = 100 * (contexts - self._before) / self._period
        self._before = contexts
        holds = in_force(load, self._threshold)
        if holds != self.state.value:
            self.state.add(1 if holds else -1, now)
        if holds:
            self._pull(now)
        else:
            self._put_back(now)
        for vm in host.vms:
            self._used[vm], self._seen[vm] = vm.used(), vm.frames()
        self._timer.arm(now + self._period)

    def _pull(self, now: int) -> None:
        host = self._host
        for node in {nic.node.index: nic.node for nic in host.nics.values()}.values():
            loads = [(vm.used() - self._used[vm]) / self._period for vm in host.vms]
            away = [vm.near(node) and vm.vcpus[0].node is not node and not vm.is_bound for vm in host.vms]
            traffic = [
                vm.frames() - self._seen[vm] if is_away else 0 for vm, is_away in zip(host.vms, away, strict=True)
            ]
            here = sum(load for vm, load in zip(host.vms, loads, strict=True) if vm.vcpus[0].node is node)
            polls = sum(poll.used for poll in host.polls if poll.node is node)
            here += (polls - self._polled.get(node, 0)) / self._period
            self._polled[node] = polls
            for position in pulled(traffic, loads, len(node.pcpus) - here):
                vm = host.vms[position]
                self._defaults[vm] = [unit.worlds[0].node for unit in vm.units]
                for unit in vm.units:
                    unit.pinned = True
                    host.scheduler.rehome(unit.worlds, node, now)

    def _put_back(self, now: int) -> None:
        for vm, nodes in self._defaults.items():
            for unit, node in zip(vm.units, nodes, strict=True):
                unit.pinned = False
                self._host.scheduler.rehome(unit.worlds, node, now)
        self._defaults = {}
