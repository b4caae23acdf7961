"""Firmware: the instants at which system management interrupts stop the PCPUs."""

from __future__ import annotations

import numpy as np
import pytest

from hostsim.config.host import FirmwareSpec
from hostsim.model.control.periodic import system_management_interrupts
from hostsim.model.cpu.firmware import Firmware
from hostsim.units import MS
from tests.model.small_host import bare_host


def test_stops_come_a_period_apart_give_or_take_a_tenth() -> None:
    """All of 400 intervals are within a tenth of 10 ms, early and late ones are equally frequent, and they cover the whole range."""
    scheduler = bare_host(cores=2)
    spec = FirmwareSpec.model_validate({"stop": "1 ms", "period": "10 ms"})
    firmware = Firmware(scheduler)
    scheduler.clock.start(system_management_interrupts(scheduler.clock, firmware, spec, np.random.default_rng(5)))
    begins: list[int] = []
    while len(begins) <= 400:
        scheduler.clock.advance(scheduler.clock.now + 2 * MS)
        begin = firmware.worlds[0].until - 1 * MS
        if begin >= 0 and begin not in begins[-1:]:
            begins.append(begin)
    intervals = np.diff(begins) / MS
    assert 9 <= intervals.min() < 9.1
    assert 10.9 < intervals.max() <= 11
    assert intervals.mean() == pytest.approx(10, abs=0.15)  # five standard errors
    assert all(world.used >= 399 * MS for world in firmware.worlds)
