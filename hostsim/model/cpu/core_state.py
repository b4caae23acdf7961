"""Core states (C-states) deeper than C1: from which idle time on a core enters them, and what it takes to leave them.

C1, which every idle PCPU is in, is left at the cost `halt_exit`.
"""

from __future__ import annotations

from hostsim.config.platform import HostSettings, IdleSpec

__all__ = ["CoreStates"]


class CoreStates:
    """The core states that the idle PCPUs of a host enter, by the time for which they are expected to be idle.

    Attributes:
        fade: idle periods over which the mean of a PCPU fades; 0 where C1 is the only state.
        least: mean idle time from which on a core enters the first of them, in picoseconds.
    """

    def __init__(self, idle: IdleSpec, settings: HostSettings, family: str) -> None:
        """Take what the processor family has, and what the power policy lets it enter."""
        latencies = sorted(idle.states.get(family, {}).values())
        self._states = [
            (round(latency * settings.idle_latencies), round(latency * idle.exit_share))
            for latency in latencies
            if latency <= settings.deepest_exit
        ]
        self.fade = idle.fade if self._states else 0
        self.least = self._states[0][0] if self._states else 0

    def exit_time(self, mean: int) -> int:
        """Return how long a core that is idle for this time on average takes to leave its state, C1 apart, in picoseconds."""
        time = 0
        for least, exit_time in self._states:
            if mean >= least:
                time = exit_time
        return time
