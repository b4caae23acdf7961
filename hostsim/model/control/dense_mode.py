"""Dense mode: dynamic tuning of the whole host, with fewer wake-ups of guests and transmit contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.model.contract import ControlLoop
from hostsim.model.host import Host
from hostsim.model.policy.dense_mode import is_dense

if TYPE_CHECKING:
    from simpy.events import ProcessGenerator

__all__ = ["DenseMode"]


class DenseMode(ControlLoop):
    """The control loop of dense mode: retunes vNICs with default settings while the host is dense.

    The host is assumed to have been in service before: the first check is after a tenth of the period, so that little
    backlog remains. Tuned vNICs have static coalescing, and their transmit contexts run when the guest halts, or after
    a longer timeout.

    Attributes:
        state: 1 while dense mode is active.
    """

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host

    def run(self) -> ProcessGenerator:
        """Check the host once per period."""
        env, settings = self._host.clock, self._host.spec.settings
        pcpus = self._host.scheduler.pcpus
        busy, wait = 0, settings.tune_interval // 10
        while True:
            yield env.timeout(wait)
            before, busy = busy, self._host.busy(env.now)
            dense = is_dense(
                len(self._host.vms),
                len(self._host.vcpus),
                len(pcpus),
                100 * (busy - before) / (wait * len(pcpus)),
                vms_each=settings.tune_vms,
                vcpus_each=settings.tune_vcpus,
                least_utilisation=settings.tune_utilisation,
            )
            if dense != self.state.value:
                self.state.add(1 if dense else -1, env.now)
                self._apply(dense=dense, now=env.now)
            wait = settings.tune_interval

    def _apply(self, *, dense: bool, now: int) -> None:
        tx_timeout = self._host.spec.tuning.tx_timeout
        for vm in self._host.vms:
            for device in vm.devices:
                device.follow_dense_mode(now, dense=dense, tx_timeout=tx_timeout)
