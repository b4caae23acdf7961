"""Dense mode: dynamic host-wide performance tuning, which saves wake-ups of guests and transmit contexts while the host is full."""

from __future__ import annotations

from hostsim.engine.clock import Timer
from hostsim.model.contract import ControlLoop
from hostsim.model.host import Host
from hostsim.policy.catalogue import coalescing_scheme
from hostsim.policy.coalescing import TxCoalescing
from hostsim.policy.dense_mode import is_dense

__all__ = ["DenseMode"]


class DenseMode(ControlLoop):
    """The control loop of dense mode: retunes vNICs with default settings while the host is dense.

    The host has been in service before a run begins: the first look comes after a tenth of the period, so that little is left to
    be worked off from before it. Tuned vNICs interrupt by static coalescing then, and their transmit contexts run when the guest halts, or after a longer time.

    Attributes:
        state: 1 while that is in force.
    """

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host
        self._before, self._since = 0, host.clock.now
        self._timer = Timer(host.clock, self._check)
        if host.spec.settings.tune_dense:
            self._timer.arm(host.clock.now + host.spec.settings.tune_interval // 10)

    def _check(self, now: int) -> None:
        host, settings = self._host, self._host.spec.settings
        busy = sum(pcpu.busy(now) for pcpu in host.scheduler.pcpus)
        pcpus = len(host.scheduler.pcpus)
        utilisation = 100 * (busy - self._before) / ((now - self._since) * pcpus)
        self._before, self._since = busy, now
        dense = is_dense(
            len(host.vms),
            len(host.vcpus),
            pcpus,
            utilisation,
            vms_each=settings.tune_vms,
            vcpus_each=settings.tune_vcpus,
            least_utilisation=settings.tune_utilisation,
        )
        if dense != self.state.value:
            self.state.add(1 if dense else -1, now)
            self._apply(dense=dense, now=now)
        self._timer.arm(now + settings.tune_interval)

    def _apply(self, *, dense: bool, now: int) -> None:
        patience = self._host.spec.tuning.tx_timeout
        for vm in self._host.vms:
            for made in vm.vnics:
                settings = made.settings
                if settings.dense is None:
                    continue
                for port in made.ports:
                    port.vnic.coalesce(coalescing_scheme(settings.dense) if dense else None, now)
                for queue in made.transmits:
                    queue.coalesce(TxCoalescing(patience, in_passing=False) if dense else None)
