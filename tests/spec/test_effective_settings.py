"""Effective settings: the result of defaults and typed values, in the model's units."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from hostsim.config.effective_settings import Rings, host_settings, vm_settings
from hostsim.config.guest import GuestSpec
from hostsim.config.platform import VNICS, PlatformSpec, Refill, SettingSpec, VmSettings
from hostsim.scenario.component import Parts
from hostsim.scenario.shipped_data import data_root
from hostsim.units import MS, US


@pytest.fixture(scope="module")
def platform() -> PlatformSpec:
    spec = Parts(data_root()).platform("esxi", ("platform",)).spec
    assert spec is not None
    return spec


@pytest.fixture(scope="module")
def guest() -> GuestSpec:
    spec = Parts(data_root()).guest("rhel6", ("vms", "x", "guest")).spec
    assert spec is not None
    return spec


def test_defaults_are_those_of_the_platform(platform: PlatformSpec) -> None:
    """Nothing set, nothing warned of."""
    settings, faults, warnings = host_settings(platform, {}, {})
    assert settings is not None
    assert (settings.quantum, settings.port_rx_queue, settings.poll_budget) == (50 * MS, 80, 64)
    assert (faults, warnings) == ([], [])


def test_a_version_without_a_setting_does_what_the_last_one_did_that_had_it() -> None:
    """7.0 packs and unpacks receive queues, and completes within 50 ms; neither can be set, and its own defaults apply."""
    seven = Parts(data_root()).platform("esxi-7.0", ("platform",)).spec
    assert seven is not None
    settings, faults, _ = host_settings(seven, {}, {})
    assert settings is not None
    assert (settings.netqueue_dynamic, settings.tx_completion_delay) == (True, 50 * MS)
    assert (settings.quantum, settings.tx_poll_bound, faults) == (200 * MS, 192, [])
    _, faults, _ = host_settings(seven, {"Net.NetNetqRxDynamicLB": 0, "Net.MaxTxCompDelay": 10}, {})
    assert [fault.message for fault in faults] == ["unknown setting"] * 2


def test_settings_reach_the_model_in_its_units(platform: PlatformSpec) -> None:
    """Numbers may be written as text, as in files and command lines."""
    settings, _, _ = host_settings(
        platform, {"Cpu.Quantum": "20", "Net.MaxPortRxQueueLen": 500}, {"netMaxPktsToProcess": 32}
    )
    assert settings is not None
    assert (settings.quantum, settings.port_rx_queue, settings.poll_budget) == (20 * MS, 500, 32)


SECOND_PS = 10**12
TIMES = {
    "Cpu.Quantum": (20, "quantum", SECOND_PS // 1000),
    "Cpu.CoschedCostopThreshold": (4321, "costop_threshold", SECOND_PS // 10**6),
    "Cpu.CoschedCostartThreshold": (1234, "costart_threshold", SECOND_PS // 10**6),
    "Cpu.CoschedPollUsec": (777, "cosched_period", SECOND_PS // 10**6),
    "Cpu.HTRebalancePeriod": (7, "ht_rebalance_period", SECOND_PS // 1000),
    "Cpu.PackageRebalancePeriod": (40, "package_rebalance_period", SECOND_PS // 1000),
    "Cpu.L3RebalancePeriod": (30, "rebalance_period", SECOND_PS // 1000),
    "Numa.RebalancePeriod": (2500, "numa_rebalance_period", SECOND_PS // 1000),
    "Net.CoalesceTxTimeout": (3500, "tx_timeout", SECOND_PS // 10**6),
    "Net.MaxTxCompDelay": (15, "tx_completion_delay", SECOND_PS // 1000),
    "Net.NetTuneInterval": (90, "tune_interval", SECOND_PS),
}
"""Settings that are times: a value, the name in the model, and picoseconds in the documented unit."""


@pytest.mark.parametrize("name", TIMES)
def test_a_time_is_read_in_its_own_unit(platform: PlatformSpec, name: str) -> None:
    """It changes no other setting of the model."""
    value, of_model, unit_ps = TIMES[name]
    defaults, changed = (host_settings(platform, advanced, {})[0] for advanced in ({}, {name: value}))
    assert defaults is not None
    assert changed == defaults.model_copy(update={of_model: value * unit_ps})


def test_every_setting_that_is_a_time_is_among_them(platform: PlatformSpec) -> None:
    """By its unit; settings that are not modelled are omitted."""
    times = {name for name, of in platform.advanced.items() if of.modelled and of.unit in {"us", "ms", "s"}}
    assert times == {*TIMES, "Power.CStateMaxLatency"}


@pytest.mark.parametrize(
    ("version", "advanced", "expected"),
    [
        ("esxi", {}, (500 * US, 5 / 0.10536)),  # a wake-up comes before with a probability of 10 %
        ("esxi", {"Power.CStateMaxLatency": 100, "Power.CStateResidencyCoef": 2}, (500 * US, 5 / 0.10536)),
        ("esxi", {"Power.CpuPolicy": "Custom", "Power.CStateMaxLatency": 100}, (100 * US, 5 / 0.10536)),
        ("esxi", {"Power.CpuPolicy": "Custom", "Power.CStateResidencyCoef": 2}, (500 * US, 2 / 0.10536)),
        ("esxi", {"Power.CpuPolicy": "Custom", "Power.CStatePredictionCoef": 220_958}, (500 * US, 2.5 / 0.10536)),
        ("esxi", {"Power.CpuPolicy": "Custom", "Power.CStatePredictionCoef": 0}, (0, 0)),
        ("esxi", {"Power.CpuPolicy": "Custom", "Power.UseCStates": 0}, (0, 0)),
        ("esxi", {"Power.CpuPolicy": "High Performance"}, (0, 0)),
        ("esxi-7.0", {}, (500 * US, 5 / 0.10536)),
        ("esxi-5.5", {}, (500 * US, 5 / 0.10536)),
        ("esxi-5.1", {}, (0, 0)),
        ("esxi-5.1", {"Power.CpuPolicy": "Custom", "Power.UseCStates": 1}, (500 * US, 5 / 0.10536)),
        ("esxi-4.1", {}, (0, 0)),
        ("native", {}, (500 * US, 3)),
    ],
)
def test_core_states_follow_the_power_policy(
    version: str, advanced: dict[str, int | str], expected: tuple[int, float]
) -> None:
    """Its default by version, and its parameters, which only the custom policy uses."""
    spec = Parts(data_root()).platform(version, ("platform",)).spec
    assert spec is not None
    settings, _, _ = host_settings(spec, advanced, {})
    assert settings is not None
    assert (settings.deepest_exit, settings.idle_latencies) == pytest.approx(expected, rel=1e-4)


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
                "host.advanced.net.maxportrxqueuelen: unknown setting; given 80; allowed: a setting of the platform; "
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
    """The error has the name as typed and the platform's allowed values."""
    settings, faults, _ = host_settings(platform, advanced, {})
    assert settings is None
    assert [str(fault) for fault in faults] == [expected]


def test_a_setting_without_effect_warns_when_it_is_moved(platform: PlatformSpec) -> None:
    """Set to its default it gives no warning."""
    _, _, moved = host_settings(platform, {"Net.NetSchedCoalesceTxUsecs": 30}, {})
    _, _, same = host_settings(platform, {"Net.NetSchedCoalesceTxUsecs": 33}, {})
    assert (moved, same) == (["setting not modelled: Net.NetSchedCoalesceTxUsecs = 30"], [])


@pytest.mark.parametrize(
    ("name", "rule"),
    [("esxi-4.1", ""), ("esxi-5.0", ""), ("esxi-5.1", "vnics"), ("esxi-5.5", "vnics"), ("esxi-6.0", "multicast_rate")],
)
def test_automatic_splitrx_is_on_from_5_1_on(name: str, rule: str) -> None:
    """By the rule of the version; a vNIC with an explicit setting is unchanged."""
    spec = Parts(data_root()).platform(name, ("platform",)).spec
    assert spec is not None
    settings, off = (host_settings(spec, advanced, {})[0] for advanced in ({}, {"Net.NetSplitRxMode": 0}))
    assert settings is not None
    assert off is not None
    assert (settings.split_rx_rule, off.split_rx_rule) == (rule, "")


def test_what_the_model_behaves_as_is_for_settings_that_are_not_modelled() -> None:
    """A modelled one behaves as set."""
    with pytest.raises(ValidationError, match="is for a setting that is not modelled"):
        SettingSpec(default=1, modelled=True, behaves_as=0, meaning="a mode", source="a test")


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
    platform: PlatformSpec,
    guest: GuestSpec,
    advanced: dict[str, object],
    vmx: dict[str, object],
    expected: tuple[str, int],
) -> None:
    """Scheme and rate of coalescing."""
    settings, faults, _ = vm_settings(platform, advanced, vmx, guest, 1, "vms.x")
    assert settings is not None
    (vnic,) = settings.vnics
    assert (vnic.coalescing.scheme, vnic.coalescing.rate) == expected
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
                "vms.x.vmx.ethernet1.emuRxMode: unknown setting; given '1'; allowed: a setting of the platform; "
                "did you mean 'ethernet0.emuRxMode'?"
            ),
        ),
        (
            {"ethernet0.pnicFeatures": "2"},
            (
                "vms.x.vmx.ethernet0.pnicFeatures: is not one of the choices; given '2'; "
                'allowed: one of "0", "1", "4", "5"'
            ),
        ),
        (
            {"ethernet0.virtualDev": "e100"},
            (
                "vms.x.vmx.ethernet0.virtualDev: is not one of the choices; given 'e100'; "
                f"allowed: one of {', '.join(map(json.dumps, VNICS))}; did you mean 'e1000'?"
            ),
        ),
        *(
            (
                {"ethernet0.virtualDev": "e1000", f"ethernet0.{key}": value},
                (
                    f"vms.x.vmx.ethernet0.{key}: is not for an e1000, which has one queue, no LRO, no RSS, and its driver's "
                    f"coalescing; given {value!r}; allowed: with ethernet0.virtualDev: vmxnet3"
                ),
            )
            for key, value in (("pnicFeatures", "1"), ("pnicFeatures", "4"), ("coalescingScheme", "static"))
        ),
    ],
)
def test_bad_vmx_keys_are_faults(
    platform: PlatformSpec, guest: GuestSpec, vmx: dict[str, object], expected: str
) -> None:
    """Parameters are checked against their scheme."""
    settings, faults, _ = vm_settings(platform, {}, vmx, guest, 1, "vms.x")
    assert settings is None
    assert [str(fault) for fault in faults] == [expected]


@pytest.mark.parametrize(("written", "expected"), [("low", 500), ("normal", 1000), ("high", 2000), (1234, 1234)])
def test_shares_are_words_or_numbers(platform: PlatformSpec, guest: GuestSpec, written: object, expected: int) -> None:
    """A `.vmx` file has both forms."""
    settings, _, _ = vm_settings(platform, {}, {"sched.cpu.shares": written}, guest, 1, "vms.x")
    assert settings is not None
    assert settings.shares == expected


def test_the_receive_side_has_the_defaults_of_6_0(platform: PlatformSpec) -> None:
    """LRO, TSO and NetQueue are on, NUMA I/O is off; times are in picoseconds."""
    settings, _, _ = host_settings(platform, {}, {})
    assert settings is not None
    assert (settings.tx_poll_bound, settings.tx_timeout, settings.tx_depth_cap) == (256, 4000 * US, 40)
    assert (settings.sw_lro, settings.hw_lro, settings.lro_bytes, settings.hw_tso) == (True, True, 32_000, True)
    assert (settings.lro_threshold, settings.lro_backoff) == (4000, 8)
    assert (settings.netqueue, settings.netqueue_dynamic, settings.numa_io_threshold) == (True, True, 0)


def test_settings_of_the_receive_side_reach_the_model(platform: PlatformSpec) -> None:
    """Each of them changes its own field, without a warning."""
    advanced: dict[str, object] = {
        "Net.vNicTxPollBound": 192,
        "Net.CoalesceTxTimeout": 1000,
        "Net.CoalesceTxQDepthCap": 20,
        "Net.Vmxnet3SwLRO": 0,
        "Net.Vmxnet3HwLRO": 0,
        "Net.VmxnetLROMaxLength": 65535,
        "Net.VmxnetLROThreshold": 100,
        "Net.VmxnetLROBackoffPeriod": 4,
        "Net.UseHwTSO": 0,
        "Net.NetNetqRxDynamicLB": 0,
        "Net.NetNetqNumaIOCpuPinThreshold": 200,
    }
    settings, faults, warnings = host_settings(platform, advanced, {"netNetqueueEnabled": "FALSE"})
    assert settings is not None
    assert (settings.tx_poll_bound, settings.tx_timeout, settings.tx_depth_cap) == (192, 1000 * US, 20)
    assert (settings.sw_lro, settings.hw_lro, settings.lro_bytes, settings.hw_tso) == (False, False, 65_535, False)
    assert (settings.lro_threshold, settings.lro_backoff) == (100, 4)
    assert (settings.netqueue, settings.netqueue_dynamic, settings.numa_io_threshold) == (False, False, 200)
    assert (faults, warnings) == ([], [])


@pytest.mark.parametrize("given", [-1, 201])
def test_the_threshold_of_numa_io_is_at_most_two_cores(platform: PlatformSpec, given: int) -> None:
    """The published range is 0 to 200."""
    _, faults, _ = host_settings(platform, {"Net.NetNetqNumaIOCpuPinThreshold": given}, {})
    assert [str(fault) for fault in faults] == [
        (
            f"host.advanced.Net.NetNetqNumaIOCpuPinThreshold: is out of range; given {given}; "
            "allowed: an integer 0..200 %"
        )
    ]


def made(
    platform: PlatformSpec, guest: GuestSpec, vmx: dict[str, object], vnics: int = 1, **host: object
) -> VmSettings:
    """Settings of a group without a fault or a warning."""
    advanced = {name.replace("_", ".", 1): value for name, value in host.items()}
    settings, faults, warnings = vm_settings(platform, advanced, vmx, guest, vnics, "vms.x")
    assert (faults, warnings) == ([], [])
    assert settings is not None
    return settings


def test_every_vnic_has_its_own_keys(platform: PlatformSpec, guest: GuestSpec) -> None:
    """By number; a setting of one leaves the other at its default."""
    vmx: dict[str, object] = {"ethernet1.emuRxMode": "1", "ethernet1.coalescingParams": 8000}
    first, second = made(platform, guest, vmx, vnics=2).vnics
    assert (first.split_rx, second.split_rx) == (False, True)
    assert (first.coalescing.rate, second.coalescing.rate) == (4000, 8000)


def test_rings_are_the_guests_until_a_scenario_sets_them(platform: PlatformSpec, guest: GuestSpec) -> None:
    """For every vNIC, receive and transmit separately."""
    asked, _, _ = vm_settings(platform, {}, {}, guest, 2, "vms.x", Rings(rx=4096))
    assert asked is not None
    assert [(vnic.rx_ring, vnic.tx_ring) for vnic in made(platform, guest, {}).vnics] == [(256, 512)]
    assert [(vnic.rx_ring, vnic.tx_ring) for vnic in asked.vnics] == [(4096, 512), (4096, 512)]


@pytest.mark.parametrize(("written", "expected"), [("0", False), ("1", False), ("4", True), (5, True)])
def test_rss_is_a_bit_of_the_features_asked_for(
    platform: PlatformSpec, guest: GuestSpec, written: object, expected: bool
) -> None:
    """4 alone or with others; if the platform lacks it, the vNIC does not get it."""
    vmx = {"ethernet0.pnicFeatures": written}
    old = platform.model_copy(update={"features": platform.features.model_copy(update={"vnic_rss": False})})
    assert [made(spec, guest, vmx).vnics[0].rss for spec in (platform, old)] == [expected, False]


@pytest.mark.parametrize(
    ("vmx", "host", "expected"),
    [
        ({}, {}, "vm"),
        ({}, {"Net_NetVMTxType": 1}, "vnic"),
        ({}, {"Net_NetVMTxType": 3}, "queue"),
        ({"ethernet0.ctxPerDev": "1"}, {"Net_NetVMTxType": 3}, "vnic"),
        ({"ethernet0.ctxPerDev": "2"}, {"Net_NetVMTxType": 3}, "vm"),
    ],
)
def test_transmit_contexts_follow_the_host_until_a_vnic_says_otherwise(
    platform: PlatformSpec, guest: GuestSpec, vmx: dict[str, object], host: dict[str, object], expected: str
) -> None:
    """1, 2 and 3 have the same meaning in both places."""
    assert made(platform, guest, vmx, **host).vnics[0].tx_context == expected


@pytest.mark.parametrize(("written", "expected"), [("", ()), ("1", (1,)), ("3, 0,3", (0, 3)), (2, (2,))])
def test_nodes_are_a_list_of_numbers(
    platform: PlatformSpec, guest: GuestSpec, written: object, expected: tuple[int, ...]
) -> None:
    """In any order, each once."""
    assert made(platform, guest, {"numa.nodeAffinity": written}).nodes == expected


def test_nodes_that_are_no_numbers_are_faults(platform: PlatformSpec, guest: GuestSpec) -> None:
    """The key is reported as typed."""
    _, faults, _ = vm_settings(platform, {}, {"numa.nodeAffinity": "0,b"}, guest, 1, "vms.x")
    assert [str(fault) for fault in faults] == [
        (
            "vms.x.vmx.numa.nodeAffinity: is not a list of nodes; given '0,b'; "
            "allowed: numbers of NUMA nodes with commas between"
        )
    ]


def test_rate_based_coalescing_goes_by_the_settings_of_the_host(platform: PlatformSpec, guest: GuestSpec) -> None:
    """The cap of the depth, the low rate, and a wait of one interval of the ceiling; if off, only the vNIC's own scheme delays packets."""
    advanced: dict[str, object] = {"Net.CoalesceRxQDepthCap": 8, "Net.CoalesceLowRxRate": 2, "Net.CoalesceRBCRate": 500}
    settings, _, _ = vm_settings(platform, advanced, {}, guest, 1, "vms.x")
    assert settings is not None
    made = settings.vnics[0].coalescing
    assert (made.scheme, made.depth_cap, made.low_packets, made.wait) == ("rbc", 8, 2, 2 * MS)
    off: dict[str, object] = {"Net.CoalesceDefaultOn": 0}
    assert [
        _scheme(platform, off, guest, {}),
        _scheme(platform, off, guest, {"ethernet0.coalescingScheme": "rbc"}),
    ] == [
        "disabled",
        "rbc",
    ]
    host, _, _ = host_settings(platform, off, {})
    assert host is not None
    assert host.tx_depth_cap == 1


def _scheme(platform: PlatformSpec, advanced: dict[str, object], guest: GuestSpec, vmx: dict[str, object]) -> str:
    settings, _, _ = vm_settings(platform, advanced, vmx, guest, 1, "vms.x")
    assert settings is not None
    return settings.vnics[0].coalescing.scheme


def test_an_e1000_goes_by_its_driver(platform: PlatformSpec, guest: GuestSpec) -> None:
    """Rings, descriptors and interrupts are those of the guest's e1000 driver; without one it is refused."""
    settings, faults, _ = vm_settings(platform, {}, {"ethernet0.virtualDev": "e1000"}, guest, 1, "vms.x")
    assert (faults, settings is not None) == ([], True)
    assert settings is not None
    (vnic,) = settings.vnics
    assert (vnic.device, vnic.rx_ring, vnic.tx_ring, vnic.rss) == ("e1000", 256, 256, False)
    assert vnic.refill == Refill(lot=16, rest=True)
    assert (vnic.coalescing.scheme, vnic.coalescing.rate) == ("throttled", 8000)
    loose, _, _ = vm_settings(
        platform, {"Net.E1000IntrCoalesce": 0}, {"ethernet0.virtualDev": "e1000"}, guest, 1, "vms.x"
    )
    assert loose is not None
    assert loose.vnics[0].coalescing.scheme == "disabled"
    bare = guest.model_copy(update={"e1000": None})
    _, faults, _ = vm_settings(platform, {}, {"ethernet0.virtualDev": "e1000"}, bare, 1, "vms.x")
    assert [fault.message for fault in faults] == ["has no driver in the guest 'rhel6'"]


def test_a_part_of_the_ring_is_used_up_before_descriptors_come_back(platform: PlatformSpec, guest: GuestSpec) -> None:
    """More than an eighth of 256; at once if the guest gives no value."""
    for part, expected in ((None, None), (8, Refill(lot=33, rest=False))):
        settings, _, _ = vm_settings(platform, {}, {}, guest.model_copy(update={"refill_part": part}), 1, "vms.x")
        assert settings is not None
        assert settings.vnics[0].refill == expected


@pytest.mark.parametrize(("weight", "calls"), [(0, 4000), (128, 2000), (255, 15)])
def test_the_throughput_weight_takes_calls_away(platform: PlatformSpec, weight: int, calls: int) -> None:
    """In 256ths of those that transmit coalescing allows."""
    settings, _, _ = host_settings(platform, {"Net.vmxnetThroughputWeight": weight}, {})
    assert settings is not None
    assert settings.tx_call_rate == calls


@pytest.mark.parametrize("given", [{}, {"ethernet0.coalescingScheme": "static"}], ids=str)
def test_a_vm_that_is_sensitive_to_latency_is_not_coalesced(
    platform: PlatformSpec, guest: GuestSpec, given: dict[str, str]
) -> None:
    """For any scheme; it has exclusive PCPUs, and dynamic tuning does not change it."""
    made, faults, warnings = vm_settings(
        platform, {}, given | {"sched.cpu.latencySensitivity": "high"}, guest, 1, "vms.x"
    )
    assert made is not None
    assert (faults, warnings) == ([], [])
    assert made.exclusive
    assert (made.vnics[0].coalescing.scheme, made.vnics[0].dense) == ("disabled", None)


@pytest.mark.parametrize(("version", "degree"), [("esxi", "low"), ("esxi", "medium"), ("esxi-5.1", "high")])
def test_latency_sensitivity_has_no_effect_where_none_is_known(version: str, degree: str, guest: GuestSpec) -> None:
    """It may be set, with a warning."""
    old = Parts(data_root()).platform(version, ("platform",)).spec
    assert old is not None
    made, faults, warnings = vm_settings(old, {}, {"sched.cpu.latencySensitivity": degree}, guest, 1, "vms.x")
    assert made is not None
    assert (made.exclusive, made.vnics[0].coalescing.scheme) == (False, "rbc")
    assert (faults, warnings) == ([], [f"setting not modelled: sched.cpu.latencySensitivity = {degree}"])
