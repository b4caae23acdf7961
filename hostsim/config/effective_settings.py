"""Effective settings: a platform's defaults, overridden by a scenario's values, in the model's units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hostsim.config.guest import GuestSpec
from hostsim.config.platform import (
    HOST_SETTINGS,
    VNICS,
    Coalescing,
    FunctionSettings,
    HostSettings,
    OffloadedCosts,
    OffloadSettings,
    PassthroughSettings,
    PlatformSpec,
    Refill,
    SettingSpec,
    VmSettings,
    VnicSettings,
)
from hostsim.errors import Fault, nearest_name
from hostsim.units import MS, SECOND, US

__all__ = ["PNIC_LRO", "PNIC_RSS", "Rings", "effective_offloads", "host_settings", "vm_settings", "vmx_table"]

PNIC_LRO = 1
"""Bit of ``ethernetX.pnicFeatures`` that requests a queue with LRO."""
PNIC_RSS = 4
"""Bit of ``ethernetX.pnicFeatures`` that requests a queue with RSS."""
_CONTEXTS: dict[int, Literal["vm", "vnic", "queue"]] = {1: "vnic", 2: "vm", 3: "queue"}
PASSTHROUGH = 4
"""Largest number of passed-through devices of a VM (ESX 4.1; "Configuring VMDirectPath I/O pass-through devices")."""
_SENSITIVITY = "sched.cpu.latencySensitivity"
_SHARES = {"low": 500, "normal": 1000, "high": 2000}
_THRESHOLD = re.compile(r"(?P<vms>\d{1,3})n (?P<vcpus>\d{1,3})n (?P<utilisation>\d{1,2}|100)")
_STATIC_DEPTH = 64
"""Default depth of static coalescing in packets (``ethernetX.coalescingParams`` as documented)."""
_MOST_FAULTS = 100
"""Largest number of reported faults of settings, as the search for nearest names takes time."""
_CORE_STATES = (
    "Power.UseCStates",
    "Power.CStateMaxLatency",
    "Power.CStateResidencyCoef",
    "Power.CStatePredictionCoef",
)
"""Settings of the custom power policy; their defaults equal the balanced policy."""
_PREDICTION_UNIT = 1 << 20
"""``Power.CStatePredictionCoef`` at which the predicted idle time is the mean; it predicts -ln(1 - p) means, where p is
the probability of an error.
"""
_WEIGHTS = 256
"""One more than the largest ``Net.vmxnetThroughputWeight``."""
_UDP_RSS_ON = 1
"""Value of ``ethernetX.udpRSS`` that includes datagram ports in the hash."""
_VIRTUAL_NUMA = 9
"""Smallest number of vCPUs of a VM with a virtual NUMA topology (default of ``numa.vcpu.min``)."""
_STATIC_TIMEOUT = 4 * MS
"""Longest wait of static coalescing (``ethernetX.coalescingParams`` as documented)."""
_LAST_DEFAULTS: dict[str, int | str] = {"Net.MaxTxCompDelay": 50, "Net.NetNetqRxDynamicLB": 1}
"""Settings that 6.5 and later do not have, with the defaults of 6.0, which these releases keep (NetQueue's balancer is
on, see ``esxcli network nic queue loadbalancer``).
"""


_Values = Mapping[str, int | str]
"""Effective settings by name."""
_Written = Mapping[str, object]
"""Settings of a scenario by name."""


def _resolve(
    table: Mapping[str, SettingSpec], written: _Written, path: str, faults: list[Fault], warnings: list[str]
) -> dict[str, int | str]:
    values = {name: setting.default for name, setting in table.items()}
    for name, value in written.items():
        if len(faults) >= _MOST_FAULTS:
            faults.append(Fault("has more faults, which are not checked", path))
            break
        setting = table.get(name)
        where = f"{path}.{name}"
        if setting is None:
            faults.append(
                Fault(
                    "unknown setting",
                    where,
                    repr(value),
                    "a setting of the platform",
                    nearest_name(name, table),
                )
            )
            continue
        try:
            values[name] = setting.read(value)
        except ValueError as error:
            nearest = nearest_name(str(value), setting.choices or ())
            faults.append(Fault(str(error), where, repr(value), setting.allowed(), nearest))
            continue
        if setting.is_missed(values[name]):
            warnings.append(f"setting not modelled: {name} = {value}")
    return values


def host_settings(
    platform: PlatformSpec, advanced: _Written, kernel: _Written
) -> tuple[HostSettings | None, list[Fault], list[str]]:
    """The effective settings of a host.

    Args:
        platform: the platform whose defaults apply.
        advanced: advanced settings of the scenario, by dotted name.
        kernel: boot settings of the scenario, by name.

    Returns:
        The settings (None with faults), the faults (without line), and warnings.
    """
    faults: list[Fault] = []
    warnings: list[str] = []
    adv = _LAST_DEFAULTS | _resolve(platform.advanced, advanced, "host.advanced", faults, warnings)
    ker = _resolve(platform.kernel, kernel, "host.kernel", faults, warnings)
    threshold = _THRESHOLD.fullmatch(str(adv["Net.NetTuneThreshold"]))
    if threshold is None:
        allowed = "two numbers with n, and percent: VMs and vCPUs for each PCPU, utilisation (1n 2n 50)"
        given = repr(adv["Net.NetTuneThreshold"])
        faults.append(Fault("is not a threshold", "host.advanced.Net.NetTuneThreshold", given, allowed))
    if faults or threshold is None:
        return None, faults, warnings

    def number(name: str) -> int:
        return int(adv[name])

    power = adv["Power.CpuPolicy"]
    use, longest, residency, prediction = (
        int(adv[name] if power == "Custom" else platform.advanced[name].default) for name in _CORE_STATES
    )
    deep = use == 1 and prediction > 0 and power != "High Performance"
    idle_latencies = platform.idle.latencies or (residency * _PREDICTION_UNIT / prediction if deep else 0.0)
    values = adv | ker
    settings = HostSettings(
        **{field: by.read(values) for field, by in HOST_SETTINGS.items()},
        mwait=number("Cpu.UseMwait") != 0,
        llc_sched=ker.get("llcSchedEnable") == "TRUE",
        deepest_exit=longest * US if deep else 0,
        idle_latencies=idle_latencies,
        split_rx_rule=platform.features.split_rx_rule if adv["Net.NetSplitRxMode"] == 1 else "",
        vnic_parallel=platform.features.vnic_parallel,
        tx_depth_cap=number("Net.CoalesceTxQDepthCap") if adv["Net.CoalesceDefaultOn"] == 1 else 1,
        rate_window=platform.coalescing.rate_window,
        tx_call_rate=max(
            1, number("Net.CoalesceRBCRate") * (_WEIGHTS - number("Net.vmxnetThroughputWeight")) // _WEIGHTS
        ),
        tune_vms=int(threshold["vms"]),
        tune_vcpus=int(threshold["vcpus"]),
        tune_utilisation=float(threshold["utilisation"]),
    )
    return settings, faults, warnings


@dataclass(frozen=True)
class Rings:
    """Ring sizes of a vNIC in descriptors from a scenario; None for the default of the guest's driver."""

    rx: int | None = None
    tx: int | None = None


def vmx_table(platform: PlatformSpec, vnics: int) -> dict[str, SettingSpec]:
    """The ``.vmx`` keys of a VM.

    Keys of ``ethernetX.`` are repeated for each vNIC, those of ``pciPassthruX.`` for each possible device.
    """
    table: dict[str, SettingSpec] = {}
    for name, setting in platform.vmx.items():
        if name.startswith(("ethernetX.", "pciPassthruX.")):
            count = vnics if name.startswith("ethernetX.") else PASSTHROUGH
            table.update({name.replace("X.", f"{index}.", 1): setting for index in range(count)})
        else:
            table[name] = setting
    return table


def vm_settings(
    platform: PlatformSpec,
    advanced: _Written,
    vmx: _Written,
    guest: GuestSpec,
    vnics: int,
    path: str,
    rings: Rings = Rings(),
    vcpus: int = 1,
) -> tuple[VmSettings | None, list[Fault], list[str]]:
    """The effective settings of a group of VMs.

    Args:
        platform: the platform whose defaults apply.
        advanced: the scenario's advanced settings of the host, on which defaults of its vNICs depend.
        vmx: settings of the scenario, by ``.vmx`` key with the vNIC's number (``ethernet0.emuRxMode``).
        guest: the guest, with the requests of its drivers.
        vnics: number of vNICs.
        path: of the group in the file (``vms.receiver``), for faults.
        rings: ring sizes of the scenario, in descriptors.
        vcpus: vCPUs of each VM, among which a number of shares is divided.

    Returns:
        The settings (None with faults), the faults (without line), and warnings.
    """
    faults: list[Fault] = []
    warnings: list[str] = []
    keys = _resolve(vmx_table(platform, vnics), vmx, f"{path}.vmx", faults, warnings)
    host = _resolve(platform.advanced, advanced, "host.advanced", [], [])
    exclusive = _exclusive(platform, keys, warnings)
    vnics_or_none = [
        _vnic(platform, host, vmx, keys, guest, rings, index, f"{path}.vmx", faults, exclusive=exclusive)
        for index in range(vnics)
    ]
    shares = str(keys["sched.cpu.shares"]).casefold()
    if shares not in _SHARES and not (shares.isdecimal() and 1 <= int(shares) <= 1_000_000):
        allowed = "low, normal, high or an integer 1..1000000"
        faults.append(Fault("is not a number of shares", f"{path}.vmx.sched.cpu.shares", repr(shares), allowed))
    nodes = [text.strip() for text in str(keys["numa.nodeAffinity"]).split(",") if text.strip()]
    if not all(text.isdecimal() for text in nodes):
        where, given = f"{path}.vmx.numa.nodeAffinity", repr(keys["numa.nodeAffinity"])
        faults.append(Fault("is not a list of nodes", where, given, "numbers of NUMA nodes with commas between"))
    affinity = _pcpus(str(keys.get("sched.cpu.affinity", "all")), f"{path}.vmx", faults)
    limit = str(keys["sched.cpu.max"])
    if limit.isdecimal() and not int(limit):
        faults.append(
            Fault(
                "is a CPU limit of 0",
                f"{path}.vmx.sched.cpu.max",
                repr(limit),
                'an integer of at least 1 MHz, or "unlimited"',
            )
        )
    passthrough = tuple(_passthrough(keys, f"{path}.vmx", faults))
    reserved, size = int(keys["sched.mem.min"]), int(keys["memSize"])
    if reserved > size:
        faults.append(
            Fault(
                "is more than the memory of the VM",
                f"{path}.vmx.sched.mem.min",
                str(reserved),
                f"an integer 0..{size} MB",
            )
        )
    if faults:
        return None, faults, warnings
    settings = VmSettings(
        reserved=reserved / size,
        passthrough=passthrough,
        exclusive=exclusive,
        shares=_SHARES.get(shares) or max(1, int(shares) // vcpus),
        cpu_reservation_mhz=int(keys["sched.cpu.min"]),
        cpu_limit_mhz=int(limit) if limit.isdecimal() else None,
        nodes=tuple(sorted({int(text) for text in nodes})),
        affinity=() if exclusive else affinity,
        prefer_ht=keys.get("numa.vcpu.preferHT") == "TRUE" or host.get("Numa.PreferHT") == 1,
        max_per_virtual_node=int(keys.get("numa.vcpu.maxPerVirtualNode", 0)) if vcpus >= _VIRTUAL_NUMA else 0,
        vnics=tuple(vnic for vnic in vnics_or_none if vnic is not None),
    )
    return settings, faults, warnings


def effective_offloads(
    guest_offloads: OffloadSettings, guest: GuestSpec, path: str
) -> tuple[OffloadedCosts | None, list[Fault]]:
    """The effective offloads of a VM; None if all are on.

    As in Linux, an offload is off without another one that it needs.

    Args:
        guest_offloads: offloads that the guest sets.
        guest: the guest.
        path: of the offloads in the file (``vms.receiver.offloads``), for faults.
    """
    if guest_offloads.is_default:
        return None, []
    faults = [
        Fault("has no cost in the guest's file", f"{path}.{key}", "False", "true, or a guest with checksum_per_byte")
        for key in ("tx_checksum", "rx_checksum")
        if not getattr(guest_offloads, key) and guest.checksum_per_byte is None
    ]
    offloads = OffloadedCosts(
        tso=guest_offloads.tso and guest_offloads.tx_checksum,
        lro=guest_offloads.lro and guest_offloads.rx_checksum,
        gro=guest_offloads.gro,
        tx_checksum=None if guest_offloads.tx_checksum else guest.checksum_per_byte,
        rx_checksum=None if guest_offloads.rx_checksum else guest.checksum_per_byte,
    )
    return offloads, faults


def _pcpus(text: str, path: str, faults: list[Fault]) -> tuple[int, ...]:
    """Numbers of PCPUs in ``sched.cpu.affinity``, such as ``0,2,4-7``; empty for ``all``."""
    if text.strip() in ("all", ""):
        return ()
    pcpus: set[int] = set()
    for piece in text.split(","):
        first, _, last = (part.strip() for part in piece.partition("-"))
        last = last or first
        if not (
            first.isdecimal() and last.isdecimal() and len(first) < 6 and len(last) < 6 and int(first) <= int(last)
        ):
            allowed = "all, or numbers of PCPUs with commas between: 0,2,4-7"
            faults.append(Fault("is not a list of PCPUs", f"{path}.sched.cpu.affinity", repr(text), allowed))
            return ()
        pcpus.update(range(int(first), int(last) + 1))
    return tuple(sorted(pcpus))


def _exclusive(platform: PlatformSpec, keys: _Values, warnings: list[str]) -> bool:
    """True if each vCPU has an exclusive PCPU; effects of degrees low and medium are not published."""
    degree = keys[_SENSITIVITY]
    modelled = platform.vmx[_SENSITIVITY].modelled
    if modelled and degree in ("low", "medium"):
        warnings.append(f"setting not modelled: {_SENSITIVITY} = {degree}")
    return modelled and degree == "high"


def _passthrough(keys: _Values, path: str, faults: list[Fault]) -> Iterator[PassthroughSettings | FunctionSettings]:
    """Passed-through NICs and functions of NICs, in the order of their numbers."""
    names: list[str] = []
    for index in range(PASSTHROUGH):
        where, name = f"{path}.pciPassthru{index}.id", str(keys[f"pciPassthru{index}.id"])
        if keys[f"pciPassthru{index}.present"] != "TRUE":
            continue
        if port := str(keys[f"pciPassthru{index}.pfId"]):
            if name:
                message = f"names a whole NIC beside pciPassthru{index}.pfId, which makes this a function of a NIC"
                faults.append(Fault(message, where, repr(name), f"nothing, or no pciPassthru{index}.pfId"))
            yield FunctionSettings(nic=port)
            continue
        if not name:
            faults.append(Fault("names no NIC to pass through", where, "''", "the name of a physical NIC"))
        elif name in names:
            faults.append(Fault("is passed through to this VM already", where, repr(name), "each NIC once"))
        names.append(name)
        yield PassthroughSettings(nic=name)


def _vnic(
    platform: PlatformSpec,
    host: _Values,
    vmx: _Written,
    keys: _Values,
    guest: GuestSpec,
    rings: Rings,
    index: int,
    path: str,
    faults: list[Fault],
    *,
    exclusive: bool,
) -> VnicSettings | None:
    """The settings of a vNIC; with high latency sensitivity no coalescing scheme holds interrupts back."""
    name = f"ethernet{index}"
    device = str(keys[f"{name}.virtualDev"])
    if device in VNICS and VNICS[device].family == "e1000":
        return _e1000(host, vmx, keys, guest, rings, index, path, faults)
    usual = host["Net.CoalesceScheme"] if host["Net.CoalesceDefaultOn"] == 1 else "disabled"
    scheme = str(vmx.get(f"{name}.coalescingScheme", usual))
    params = keys[f"{name}.coalescingParams"]
    rate, depth = int(host["Net.CoalesceRBCRate"]), _STATIC_DEPTH
    if params != "" and scheme in (platform.vmx["ethernetX.coalescingScheme"].choices or ()):
        where = f"{path}.{name}.coalescingParams"
        low, high = {"rbc": (100, 100_000), "static": (1, 64)}.get(scheme, (0, -1))
        allowed = f"with {scheme}: an integer {low}..{high}" if low <= high else f"nothing with the scheme {scheme!r}"
        try:
            value = int(params)
        except ValueError:
            faults.append(Fault("is not an integer", where, repr(params), allowed))
        else:
            if not low <= value <= high:
                faults.append(Fault("is out of range", where, repr(params), allowed))
            rate, depth = (value, depth) if scheme == "rbc" else (rate, value)
    if faults:
        return None
    scheme = "disabled" if exclusive else scheme
    own = exclusive or any(f"{name}.{key}" in vmx for key in ("coalescingScheme", "coalescingParams", "ctxPerDev"))
    coalescing = {
        "scheme": scheme,
        "rate": rate,
        "depth": depth,
        "timeout": _STATIC_TIMEOUT,
        "depth_cap": host["Net.CoalesceRxQDepthCap"],
        "low_packets": host["Net.CoalesceLowRxRate"],
        "rate_window": platform.coalescing.rate_window,
        "wait": min(round(platform.coalescing.rx_intervals * SECOND / rate), _STATIC_TIMEOUT),
        "ended_by_halt": bool(platform.coalescing.ended_by_halt),
    }
    dense = coalescing | {"scheme": "static", "depth": _STATIC_DEPTH}
    rx_ring, part = rings.rx or guest.rx_ring, guest.refill_part
    return VnicSettings(
        device=device,
        split_rx=str(keys[f"{name}.emuRxMode"]) == "1",
        split_rx_auto=f"{name}.emuRxMode" not in vmx,
        rx_ring=rx_ring,
        tx_ring=rings.tx or guest.tx_ring,
        refill=None if part is None else Refill(lot=rx_ring // part + 1, rest=False),
        tx_interrupts=guest.tx_interrupts,
        coalescing=Coalescing.model_validate(coalescing),
        queues=guest.queues,
        udp_rss=keys[f"{name}.udpRSS"] == _UDP_RSS_ON,
        rss=bool(int(keys[f"{name}.pnicFeatures"]) & PNIC_RSS) and platform.features.vnic_rss,
        dense=None if own else Coalescing.model_validate(dense),
        tx_context=_context(host, vmx, keys, name),
    )


def _e1000(
    host: _Values,
    vmx: _Written,
    keys: _Values,
    guest: GuestSpec,
    rings: Rings,
    index: int,
    path: str,
    faults: list[Fault],
) -> VnicSettings | None:
    """The settings of a device of the e1000's family, which has no queues, LRO, RSS or coalescing schemes."""
    name, driver = f"ethernet{index}", guest.e1000
    for key in ("pnicFeatures", "coalescingScheme", "coalescingParams"):
        if (key_name := f"{name}.{key}") in vmx and str(keys[key_name]) not in ("", "0"):
            message = "is not for an e1000, which has one queue, no LRO, no RSS, and its driver's coalescing"
            faults.append(Fault(message, f"{path}.{key_name}", repr(vmx[key_name]), f"with {name}.virtualDev: vmxnet3"))
    if driver is None:
        where, given = f"{path}.{name}.virtualDev", repr(vmx.get(f"{name}.virtualDev"))
        faults.append(
            Fault(f"has no driver in the guest {guest.guest!r}", where, given, '"vmxnet3", or a guest with one')
        )
    if faults or driver is None:
        return None
    scheme = "throttled" if host["Net.E1000IntrCoalesce"] == 1 else "disabled"
    return VnicSettings(
        device=str(keys[f"{name}.virtualDev"]),
        split_rx=str(keys[f"{name}.emuRxMode"]) == "1",
        rx_ring=rings.rx or driver.rx_ring,
        tx_ring=rings.tx or driver.tx_ring,
        refill=Refill(lot=driver.refill, rest=True),
        tx_interrupts=driver.tx_interrupts,
        coalescing=Coalescing.model_validate(
            {"scheme": scheme, "rate": driver.interrupt_rate, "depth": 1, "timeout": _STATIC_TIMEOUT}
        ),
        rss=False,
        dense=None,  # its driver coalesces, and no call wakes its context
        tx_context=_context(host, vmx, keys, name),
    )


def _context(host: _Values, vmx: _Written, keys: _Values, name: str) -> Literal["vm", "vnic", "queue"]:
    """The owner of a vNIC's transmit contexts: VM, vNIC or queue."""
    key = f"{name}.ctxPerDev"  # 1, 2 and 3 have the same meaning in both settings
    return _CONTEXTS[int(keys[key] if key in vmx else host["Net.NetVMTxType"])]
