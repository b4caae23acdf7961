"""Instants of interrupts and wake-ups, and the names of the schemes that determine them."""

from __future__ import annotations

import pytest

from hostsim.config.platform import Coalescing
from hostsim.errors import WiringError
from hostsim.model.policy.moderation import (
    COALESCING_SCHEMES,
    CoalescingDepth,
    InterruptThrottling,
    Moderation,
    RateBoundCalls,
    coalescing_scheme,
)
from hostsim.scenario.component import Parts
from hostsim.scenario.shipped_data import data_root
from hostsim.units import MS, US


def test_interrupts_are_paced() -> None:
    """The first comes at once, the next an interval after the last."""
    moderation = Moderation(250)
    assert moderation.due(100, None) == 100
    assert moderation.due(100, 90) == 340
    assert moderation.due(900, 90) == 900


@pytest.mark.parametrize(
    ("packets", "window", "depth"),
    [(16, 4 * MS, 1), (17, 4 * MS, 2), (80, 4 * MS, 5), (10_000, 4 * MS, 40), (160, 40 * MS, 1), (200, 40 * MS, 2)],
)
def test_the_depth_is_the_packet_rate_over_the_ceiling(packets: int, window: int, depth: int) -> None:
    """4,000 interrupts per second are 16 in 4 ms; the depth is rounded up, and at most 40."""
    law = CoalescingDepth(4000, 40, 4, 4 * MS, window)
    law.count(packets, window)
    assert law.depth == depth


def test_a_low_rate_has_a_depth_of_one() -> None:
    """At a ceiling of 500 per second, four packets in 4 ms give two interrupts, and three give three."""
    law = CoalescingDepth(500, 40, 4)
    law.count(4, 4 * MS)
    assert law.depth == 2
    law.count(3, 8 * MS)
    assert law.depth == 1


def test_the_interrupts_of_an_e1000_are_at_equal_distances() -> None:
    """At 8,000 per second each comes at the earliest 125 us after the last."""
    scheme = InterruptThrottling(8000)
    assert scheme.due(5 * US) == 5 * US
    scheme.raised(5 * US, 0)
    assert (scheme.due(6 * US), scheme.due(200 * US)) == (130 * US, 200 * US)


def test_a_scheme_without_a_row_is_named_with_those_that_have_one() -> None:
    """A setting may list more names than there are schemes."""
    with pytest.raises(WiringError, match="'adapt'; allowed: disabled, static, rbc, throttled"):
        coalescing_scheme(Coalescing(scheme="adapt", rate=1, depth=1, timeout=1))


@pytest.mark.parametrize("setting", ["Net.CoalesceScheme", "ethernetX.coalescingScheme"])
def test_every_choice_of_the_platform_is_a_scheme(setting: str) -> None:
    """Every scheme that a scenario may name can be built."""
    platform = Parts(data_root()).platform("esxi", ("platform",)).spec
    choices = (platform.advanced | platform.vmx)[setting].choices
    assert set(choices or ()) == set(COALESCING_SCHEMES) - {"throttled"}  # an e1000's, which no setting names


def test_transmit_calls_restart_at_a_depth_of_one() -> None:
    """At once, and not only with the next packet."""
    calls = RateBoundCalls(MS, CoalescingDepth(4000, 4))
    calls.depth = 5
    calls.restart()
    assert calls.depth == 1
