"""Settings by the names that administrators type: defaults, ranges, what they resolve to."""

from __future__ import annotations

import pytest

from hostsim.scenario.part import Parts
from hostsim.scenario.published import data_root
from hostsim.spec.settings import PlatformSpec, SettingSpec, host_settings, vm_settings
from hostsim.units import MS


@pytest.fixture(scope="module")
def platform() -> PlatformSpec:
    spec = Parts(data_root()).platform("esxi", ("platform",)).spec
    assert spec is not None
    return spec


def test_defaults_are_those_of_the_platform(platform: PlatformSpec) -> None:
    """Nothing set, nothing warned of."""
    settings, faults, warnings = host_settings(platform, {}, {})
    assert settings is not None
    assert (settings.quantum, settings.port_rx_queue, settings.poll_budget) == (50 * MS, 80, 64)
    assert (settings.costop_threshold, settings.costart_threshold, settings.cosched_period) == (3 * MS, 2 * MS, 1 * MS)
    assert (faults, warnings) == ([], [])


def test_settings_reach_the_model_in_its_units(platform: PlatformSpec) -> None:
    """Numbers may be written as text, as files and command lines do."""
    settings, _, _ = host_settings(
        platform, {"Cpu.Quantum": "20", "Net.MaxPortRxQueueLen": 500}, {"netMaxPktsToProcess": 32}
    )
    assert settings is not None
    assert (settings.quantum, settings.port_rx_queue, settings.poll_budget) == (20 * MS, 500, 32)


@pytest.mark.parametrize(
    ("advanced", "expected"),
    [
        (
            {"Net.MaxPortRxQueueLen": 501},
            "host.advanced.Net.MaxPortRxQueueLen: is out of range; given 501; allowed: an integer 1..500 packets",
        ),
        (
            {"Net.MaxPortRxQueueLen": "many"},
            "host.advanced.Net.MaxPortRxQueueLen: is not an integer; given 'many'; allowed: an integer 1..500 packets",
        ),
        (
            {"net.maxportrxqueuelen": 80},
            (
                "host.advanced.net.maxportrxqueuelen: unknown setting; given 80; allowed: a setting the platform lists; "
                "did you mean 'Net.MaxPortRxQueueLen'?"
            ),
        ),
        (
            {"Net.CoalesceScheme": "adapt"},
            (
                "host.advanced.Net.CoalesceScheme: is not one of the choices; given 'adapt'; "
                'allowed: one of "disabled", "static", "rbc"'
            ),
        ),
    ],
)
def test_bad_settings_are_faults(platform: PlatformSpec, advanced: dict[str, object], expected: str) -> None:
    """With the name as typed and what the platform allows."""
    settings, faults, _ = host_settings(platform, advanced, {})
    assert settings is None
    assert [str(fault) for fault in faults] == [expected]


def test_a_setting_without_effect_warns_when_it_is_moved(platform: PlatformSpec) -> None:
    """Set to its default it says nothing."""
    _, _, moved = host_settings(platform, {"Net.NetTuneInterval": 30}, {})
    _, _, same = host_settings(platform, {"Net.NetTuneInterval": 60}, {})
    assert (moved, same) == (["setting not modelled: Net.NetTuneInterval = 30"], [])


@pytest.mark.parametrize(
    ("advanced", "vmx", "expected"),
    [
        ({}, {}, ("rbc", 4000)),
        ({"Net.CoalesceRBCRate": 8000}, {}, ("rbc", 8000)),
        ({"Net.CoalesceScheme": "disabled"}, {}, ("disabled", 4000)),
        ({"Net.CoalesceScheme": "static"}, {"ethernet0.coalescingScheme": "rbc"}, ("rbc", 4000)),
        ({}, {"ethernet0.coalescingParams": "16000"}, ("rbc", 16_000)),
    ],
)
def test_a_vnic_follows_the_host_until_it_says_otherwise(
    platform: PlatformSpec, advanced: dict[str, object], vmx: dict[str, object], expected: tuple[str, int]
) -> None:
    """Scheme and rate of coalescing."""
    settings, faults, _ = vm_settings(platform, advanced, vmx, 256, "vms.x")
    assert settings is not None
    assert (settings.coalescing.scheme, settings.coalescing.rate) == expected
    assert faults == []


@pytest.mark.parametrize(
    ("vmx", "expected"),
    [
        (
            {"ethernet0.coalescingScheme": "static", "ethernet0.coalescingParams": 65},
            "vms.x.vmx.ethernet0.coalescingParams: is out of range; given '65'; allowed: with static: an integer 1..64",
        ),
        (
            {"ethernet0.coalescingScheme": "disabled", "ethernet0.coalescingParams": 4},
            "vms.x.vmx.ethernet0.coalescingParams: is out of range; given '4'; allowed: nothing with the scheme 'disabled'",
        ),
        (
            {"sched.cpu.shares": "0"},
            (
                "vms.x.vmx.sched.cpu.shares: is not a number of shares; given '0'; "
                "allowed: low, normal, high or an integer 1..1000000"
            ),
        ),
        (
            {"ethernet1.emuRxMode": "1"},
            (
                "vms.x.vmx.ethernet1.emuRxMode: unknown setting; given '1'; allowed: a setting the platform lists; "
                "did you mean 'ethernet0.emuRxMode'?"
            ),
        ),
    ],
)
def test_bad_vmx_keys_are_faults(platform: PlatformSpec, vmx: dict[str, object], expected: str) -> None:
    """Parameters are held against the scheme that they belong to."""
    settings, faults, _ = vm_settings(platform, {}, vmx, 256, "vms.x")
    assert settings is None
    assert [str(fault) for fault in faults] == [expected]


@pytest.mark.parametrize(("written", "expected"), [("low", 500), ("normal", 1000), ("high", 2000), (1234, 1234)])
def test_shares_are_words_or_numbers(platform: PlatformSpec, written: object, expected: int) -> None:
    """As in a `.vmx` file."""
    settings, _, _ = vm_settings(platform, {}, {"sched.cpu.shares": written}, 256, "vms.x")
    assert settings is not None
    assert settings.shares == expected


def test_every_setting_holds_its_own_default(platform: PlatformSpec) -> None:
    """A default that its own range refuses would be a trap."""
    for table in (platform.advanced, platform.kernel, platform.vmx):
        for name, setting in table.items():
            assert setting.read(setting.default) == setting.default, name


@pytest.mark.parametrize("value", [True, 1.5, None])
def test_only_numbers_and_text_are_values(value: object) -> None:
    """`true` is not TRUE."""
    setting = SettingSpec(default=1, low=0, high=1, modelled=True, meaning="m", source="s")
    with pytest.raises(ValueError, match="neither a number nor text"):
        setting.read(value)
