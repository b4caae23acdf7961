"""When somebody is interrupted or woken, and the names of the schemes that decide on it."""

from __future__ import annotations

import pytest

from hostsim.errors import WiringError
from hostsim.policy.catalogue import COALESCING_SCHEMES, coalescing_scheme
from hostsim.policy.coalescing import Moderation
from hostsim.scenario.component import Parts
from hostsim.scenario.shipped_data import data_root
from hostsim.spec.platform import Coalescing


def test_interrupts_are_paced() -> None:
    """The first comes at once, the next an interval after the last."""
    moderation = Moderation(250)
    assert moderation.due(100, None) == 100
    assert moderation.due(100, 90) == 340
    assert moderation.due(900, 90) == 900


def test_a_scheme_without_a_row_is_named_with_those_that_have_one() -> None:
    """A setting may list more names than there are schemes."""
    with pytest.raises(WiringError, match="'adapt'; there are disabled, static, rbc"):
        coalescing_scheme(Coalescing(scheme="adapt", rate=1, depth=1, timeout=1))


@pytest.mark.parametrize("setting", ["Net.CoalesceScheme", "ethernetX.coalescingScheme"])
def test_every_choice_of_the_platform_is_a_scheme(setting: str) -> None:
    """What a scenario may write can be built."""
    platform = Parts(data_root()).platform("esxi", ("platform",)).spec
    choices = (platform.advanced | platform.vmx)[setting].choices
    assert set(choices or ()) == set(COALESCING_SCHEMES)
