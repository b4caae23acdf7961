"""NetPoll worlds: receive contexts of the VMkernel, which poll the driver and run LRO and the virtual switch (as NAPI does)."""

from __future__ import annotations

from hostsim.engine.packet_train import Train
from hostsim.model.contract import RxPoller, TransmitQueue
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.pcpu import Node, Pcpu
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.receive.context import NetContext
from hostsim.model.receive.rx_queue import RxQueue
from hostsim.model.receive.vswitch import VSwitch
from hostsim.model.traffic.flow import Sender

__all__ = ["NetPoll"]


class NetPoll(NetContext, RxPoller):
    """The receive context of one queue of a physical NIC: polls frames in batches and runs the virtual switch on them.

    First it frees the descriptors of what the NIC has sent. It polls on as long as its budget is used up. A poll that finds the ring empty is the last: it forwards its batch, and sleeps until
    the next interrupt (docs/decisions/0078).

    Attributes:
        queue: the queue that it serves.
    """

    def __init__(
        self,
        name: str,
        node: Node,
        last: Pcpu,
        scheduler: Scheduler,
        queue: RxQueue,
        switch: VSwitch,
        costs: CostTable,
        driver: str,
        budget: int,
    ) -> None:
        super().__init__("netpoll", name, node, last, scheduler, costs, costs.interrupt)
        self._switch, self._budget = switch, budget
        self.queue = queue
        self._packet_ps = costs.rx_packet[driver]
        self._free_ps = costs.driver_tx_completion
        self._freed: list[TransmitQueue] = []
        self._armed = False
        queue.poll = self

    def interrupt(self, now: int) -> None:
        """Take the interrupt of the receive queue, on the PCPU where the context last ran."""
        self.wake(now, self.last)

    def begin(self, start: int) -> int | None:
        queue, switch, budget, packet_ps = self.queue, self._switch, self._budget, self._packet_ps
        where, memory = self.node, queue.memory
        self._scheduler.look_at_memory(start)
        end = start
        woken = self.woken
        if woken:
            self.woken = self._armed = False
            end += self.wake_ps
        elif self._armed:
            return None
        if sent := queue.clean():
            end += sent * self._free_ps
            for transmit, count in queue.mapped().items():
                end += transmit.freed(count, start)
                self._freed.append(transmit)
        at = end
        batch: list[Train[Sender]] = []
        while not self._armed:
            looked, before = end, budget
            queue.admit(looked)
            while budget and (train := queue.take_next(budget, looked)) is not None:
                budget -= train.count
                end += switch.work_ps(train, packet_ps, where, memory)
                if not (batch and batch[-1].merge(train)):
                    batch.append(train)
            queue.report_drops()
            if budget == before:  # the driver has seen the ring empty
                self._armed = True  # and wants an interrupt again, which moderation may hold back
            # Frames that come while it works belong to the same poll, as long as there is budget: it needs no event for them
            # (docs/decisions/0004).
            elif not budget or not switch.runs_on:
                break
        if not batch:
            return end - start if woken or sent else None
        return switch.receive(batch, at, packet_ps, where, memory) - start

    def end(self, now: int) -> None:
        self._switch.poll_done(now)
        if self._freed:
            freed, self._freed = self._freed, []
            for transmit in freed:
                transmit.poll_done(now)

    def has_work(self, now: int) -> bool:
        self.queue.settle(now)
        return self.woken or (not self._armed and self.queue.ring.held > 0)

    def rest(self, now: int) -> None:
        self.queue.unmask(now)
