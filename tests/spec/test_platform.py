"""Settings by the names that administrators type: defaults, ranges, and availability by version."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from hostsim.config.effective_settings import host_settings
from hostsim.config.platform import NetQueueSpec, NumaIoSpec, PlatformSpec, SettingSpec
from hostsim.scenario.component import Parts
from hostsim.scenario.shipped_data import data_root, shipped_parts


@pytest.mark.parametrize("name", list(shipped_parts("platforms")))
def test_every_setting_holds_its_own_default(name: str) -> None:
    """A default that its own range refuses would be a trap."""
    platform = Parts(data_root()).platform(name, ("platform",)).spec
    assert platform is not None
    for table in (platform.advanced, platform.kernel, platform.vmx):
        for key, setting in table.items():
            assert setting.read(setting.default) == setting.default, key


@pytest.mark.parametrize(
    ("value", "error"),
    [(True, "neither a number nor text"), (None, "neither a number nor text"), (0.5, "not an integer")],
)
def test_only_integers_and_text_are_values(value: object, error: str) -> None:
    """`true` is not TRUE; a float that is an integer is one."""
    setting = SettingSpec(default=1, low=0, high=1, modelled=True, meaning="m", source="s")
    with pytest.raises(ValueError, match=error):
        setting.read(value)
    assert setting.read(1.0) == 1


def platform(name: str) -> PlatformSpec:
    spec = Parts(data_root()).platform(name, ("platform",)).spec
    assert spec is not None
    return spec


@pytest.mark.parametrize(
    ("name", "vnic_rss", "vxlan", "mlx4", "dynamic", "numa_io"),
    [
        ("esxi-5.0", False, False, "vmklinux", 0, 0),
        ("esxi-5.1", False, True, "vmklinux", 0, 0),
        ("esxi-5.5", True, True, "vmklinux", 0, 0),
        ("esxi-6.0", True, True, "native", 1, 200),
    ],
)
def test_versions_switch_features_and_defaults(
    name: str, vnic_rss: bool, vxlan: bool, mlx4: str, dynamic: int, numa_io: int
) -> None:
    """First version of each feature; Intel's driver converts in all of them, and all share the costs."""
    spec = platform(name)
    assert (spec.features.vnic_rss, spec.features.vxlan) == (vnic_rss, vxlan)
    assert spec.features.vnic_parallel == (name == "esxi-6.0")
    assert (spec.drivers["mlx4"], spec.drivers["ixgbe"], spec.drivers["bnx2x"]) == (mlx4, "vmklinux", "vmklinux")
    assert spec.advanced["Net.NetNetqRxDynamicLB"].default == dynamic
    threshold = spec.advanced["Net.NetNetqNumaIOCpuPinThreshold"]
    assert (threshold.default, threshold.high) == (0, numa_io)
    assert spec.costs == platform("esxi").costs


@pytest.mark.parametrize(
    ("section", "name", "before", "default"),
    [
        ("advanced", "Cpu.Quantum", 50, 200),
        ("advanced", "Cpu.HTWholeCoreThreshold", 200, 800),
        ("advanced", "Cpu.PackageRebalancePeriod", 20, 2000),
        ("advanced", "Cpu.HostRebalancePeriod", 100, 2000),
        ("advanced", "Net.vNicTxPollBound", 256, 192),
        ("advanced", "Net.VmxnetLroSplitBnd", 12, 64),
        ("advanced", "Numa.PageMigRateMax", 16000, 8000),
        ("advanced", "Net.NetNetqRxRebalRSSLoadThresholdPerc", None, 10),
        ("advanced", "Net.NetpollSwLRO", None, 1),
        ("advanced", "Net.NetSchedHClkMQ", None, 2),
        ("advanced", "Net.NetTxStaticRelation", None, 1),
        ("advanced", "Net.TeamingNUMAAware", None, 1),
        ("kernel", "llcSchedEnable", None, "TRUE"),
        ("kernel", "netPreemptionEnabled", None, "TRUE"),
        ("kernel", "netPollContext", 1, None),
        ("advanced", "Cpu.DefaultImpact", 30, None),
        ("advanced", "Net.CoalesceVersion", 2, None),
        ("advanced", "Net.MaxNetifRxQueueLen", 100, None),
        ("advanced", "Net.MaxTxCompDelay", 50, None),
        ("advanced", "Net.NetNetqRxDynamicLB", 1, None),
        ("advanced", "Net.NetNetqNumaIOAwareDynamicLB", 1, None),
    ],
)
def test_seven_changes_adds_and_takes_away_settings(
    section: str, name: str, before: int | None, default: int | str | None
) -> None:
    """The table of facts-modern 0, row by row, against 6.0; None is a setting that the version lacks."""
    found = [getattr(platform(version), section).get(name) for version in ("esxi-6.0", "esxi-7.0")]
    assert [setting and setting.default for setting in found] == [before, default]


def test_nothing_else_differs_between_six_and_seven_but_drivers_and_memory() -> None:
    """As many settings changed as the facts list; costs, features and thresholds are the same, and all drivers are native."""
    six, seven = platform("esxi-6.0"), platform("esxi-7.0")
    common = six.advanced.keys() & seven.advanced.keys()
    assert sum(six.advanced[name].default != seven.advanced[name].default for name in common) == 7
    assert (seven.costs, seven.netqueue) == (six.costs, six.netqueue)
    assert seven.features == six.features.model_copy(update={"most_vcpus": 768})
    assert set(seven.drivers.values()) == {"native"}
    assert seven.advanced["Net.NetNetqNumaIOCpuPinThreshold"].high == 60


@pytest.mark.parametrize(
    ("release", "changed", "gone", "new"),
    [
        ("esxi-6.5", {"Cpu.Quantum": 200, "Net.vNicTxPollBound": 192}, {"Net.MaxTxCompDelay"}, {"Net.NetpollSwLRO"}),
        ("esxi-6.7", {"Cpu.Quantum": 200, "Cpu.PackageRebalancePeriod": 20}, {"Cpu.DefaultImpact"}, {"Numa.LatencyProbePeriod"}),
        ("esxi-8.0", {"Power.CStateMaxLatency": 1000, "Cpu.PackageRebalancePeriod": 2000}, {"Cpu.CoschedExclusiveAffinity"}, {"Net.Vmxnet3RxQueueBound"}),
    ],
)  # fmt: skip
def test_a_release_is_a_delta_of_listed_settings(
    release: str, changed: dict[str, int], gone: set[str], new: set[str]
) -> None:
    """Some rows of that release's tables of settings against 6.0; costs are those of 6.0."""
    six, later = platform("esxi-6.0"), platform(release)
    assert {name: later.advanced[name].default for name in changed} == changed
    assert not gone & later.advanced.keys()
    assert new <= later.advanced.keys() - six.advanced.keys()
    assert later.costs == six.costs


@pytest.mark.parametrize(
    ("release", "knows", "most"),
    [("esxi-6.0", False, 128), ("esxi-6.5", False, 128), ("esxi-6.7", False, 256), ("esxi-7.0", True, 768), ("esxi-8.0", True, 768)],
)  # fmt: skip
def test_releases_differ_in_core_complexes_and_in_the_size_of_a_vm(release: str, knows: bool, most: int) -> None:
    """The scheduler knows several last-level caches in a node from 7.0 Update 2 on."""
    found = platform(release)
    settings, _, _ = host_settings(found, {}, {})
    assert settings is not None
    assert (settings.llc_sched, found.features.most_vcpus) == (knows, most)


def test_a_balancer_that_packs_what_it_unpacks_is_refused() -> None:
    """It would move queues back and forth forever."""
    with pytest.raises(ValidationError, match="would pack queues that it has just unpacked"):
        NetQueueSpec.model_validate(
            {"period": "100 ms", "pack_below": "90 %", "unpack_above": "90 %", "open_below": "90 %"}
        )


def test_numa_io_that_pulls_what_it_puts_back_is_refused() -> None:
    """It would move VMs back and forth forever."""
    with pytest.raises(ValidationError, match="would pull back VMs that it has just moved away"):
        NumaIoSpec.model_validate({"fill_below": "90 %", "relieve_above": "90 %", "fade": 8})
