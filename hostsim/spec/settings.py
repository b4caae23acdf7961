"""Settings by the names that administrators type, and what they resolve to.

A platform file lists every setting it knows, with default, range and meaning. One that is not listed is an error; one that
is listed but has no effect in the model (``modelled: false``) is a warning that the results carry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from hostsim.errors import Fault, nearest_name
from hostsim.spec.base import Spec
from hostsim.spec.costs import CostModel
from hostsim.units import MS, US

__all__ = ["Coalescing", "HostSettings", "PlatformSpec", "SettingSpec", "VmSettings", "host_settings", "vm_settings"]


class SettingSpec(Spec):
    """One setting of a platform."""

    default: int | str
    """Value in force when nobody sets it."""
    low: int | None = None
    """Least value, of a number."""
    high: int | None = None
    """Greatest value, of a number."""
    choices: tuple[str, ...] | None = None
    """Allowed values, of a choice."""
    unit: str = ""
    """Unit of a number, in words."""
    modelled: bool
    """False when hostsim knows the setting but nothing in the model depends on it."""
    meaning: str
    """What it does, in one line."""
    source: str
    """Where default and range come from."""

    def allowed(self) -> str:
        """The allowed values in words."""
        if self.choices is not None:
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        if self.low is None and self.high is None:
            return "text" if isinstance(self.default, str) else f"an integer {self.unit}".strip()
        low, high = ("" if end is None else str(end) for end in (self.low, self.high))
        return f"an integer {low}..{high} {self.unit}".strip()

    def read(self, value: object) -> int | str:
        """The value as the model takes it; numbers may be written as text, as in a ``.vmx`` file.

        Raises:
            ValueError: not allowed.
        """
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError("is neither a number nor text")
        if self.choices is not None:
            if str(value) not in self.choices:
                raise ValueError("is not one of the choices")
            return str(value)
        if isinstance(self.default, str) and self.low is None:
            return str(value)
        try:
            number = int(value)
        except ValueError:
            raise ValueError("is not an integer") from None
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            raise ValueError("is out of range")
        return number


class PlatformSpec(Spec):
    """A version of the hypervisor: its costs, its settings with their defaults."""

    platform: str
    """Name of the platform; nothing depends on it."""
    costs: CostModel
    advanced: dict[str, SettingSpec]
    """Advanced settings by their dotted names."""
    kernel: dict[str, SettingSpec]
    """VMkernel boot settings."""
    vmx: dict[str, SettingSpec]
    """Keys of a ``.vmx`` file; ``ethernetX.`` stands for every vNIC."""


class Coalescing(Spec):
    """When a vNIC interrupts its guest."""

    scheme: Literal["disabled", "static", "rbc"]
    """``disabled``: for every packet. ``static``: when ``depth`` packets wait or after ``timeout``. ``rbc``: at most ``rate`` a second."""
    rate: Annotated[int, Field(ge=1)]
    """Interrupts in a second, of ``rbc``."""
    depth: Annotated[int, Field(ge=1)]
    """Packets, of ``static``."""
    timeout: int
    """Longest wait in picoseconds, of ``static``."""


class HostSettings(Spec):
    """Advanced and kernel settings in force, in the model's units."""

    quantum: int
    """Longest stay of a world on a PCPU while others wait, in picoseconds (``Cpu.Quantum``)."""
    lag_quanta: int
    """Quanta of entitlement that a sleeping world may save up (``Cpu.BoundLagQuanta``)."""
    costop_threshold: int
    """Lead over the slowest sibling from which a vCPU is co-stopped, in picoseconds (``Cpu.CoschedCostopThreshold``)."""
    costart_threshold: int
    """Lead at which a co-stopped vCPU may start again, in picoseconds (``Cpu.CoschedCostartThreshold``)."""
    cosched_period: int
    """Picoseconds between two looks at the vCPUs of an SMP VM (``Cpu.CoschedPollUsec``)."""
    numa_rebalance_period: int
    """Picoseconds between two checks of the NUMA balancer (``Numa.RebalancePeriod``)."""
    numa_imbalance: int
    """Percentage points between two nodes from which the balancer moves a VM (``Numa.MigImbalanceThreshold``)."""
    port_rx_queue: int
    """Packets that wait for a vNIC's own receive context (``Net.MaxPortRxQueueLen``)."""
    poll_budget: int
    """Packets a receive context takes in one invocation (``netMaxPktsToProcess``)."""


class VmSettings(Spec):
    """``.vmx`` keys in force for the VMs of a group, in the model's units."""

    shares: Annotated[int, Field(ge=1)]
    """CPU shares of the vCPU (``sched.cpu.shares``)."""
    split_rx: bool
    """The vNIC has a receive context of its own (``ethernetX.emuRxMode``)."""
    rx_ring: Annotated[int, Field(ge=32, le=4096)]
    """Receive descriptors of the vNIC."""
    coalescing: Coalescing


_SHARES = {"low": 500, "normal": 1000, "high": 2000}
_STATIC_TIMEOUT = 4 * MS
"""Static coalescing never waits longer (`ethernetX.coalescingParams` as documented)."""


def _resolve(
    table: Mapping[str, SettingSpec], given: Mapping[str, object], path: str, faults: list[Fault], warnings: list[str]
) -> dict[str, int | str]:
    values = {name: setting.default for name, setting in table.items()}
    for name, value in given.items():
        setting = table.get(name)
        where = f"{path}.{name}"
        if setting is None:
            faults.append(
                Fault(
                    "unknown setting",
                    where,
                    repr(value),
                    "a setting the platform lists",
                    nearest_name(name, list(table)),
                )
            )
            continue
        try:
            values[name] = setting.read(value)
        except ValueError as error:
            faults.append(Fault(str(error), where, repr(value), setting.allowed()))
            continue
        if not setting.modelled and values[name] != setting.default:
            warnings.append(f"setting not modelled: {name} = {value}")
    return values


def host_settings(
    platform: PlatformSpec, advanced: Mapping[str, object], kernel: Mapping[str, object], path: str = "host"
) -> tuple[HostSettings | None, list[Fault], list[str]]:
    """The settings of a host in force.

    Args:
        platform: the platform whose defaults apply.
        advanced: what the scenario sets, by dotted name.
        kernel: what the scenario sets, by name.
        path: where these stand in the file, for faults.

    Returns:
        The settings (None when there are faults), the faults (without line), and warnings.
    """
    faults: list[Fault] = []
    warnings: list[str] = []
    adv = _resolve(platform.advanced, advanced, f"{path}.advanced", faults, warnings)
    ker = _resolve(platform.kernel, kernel, f"{path}.kernel", faults, warnings)
    if faults:
        return None, faults, warnings
    settings = HostSettings(
        quantum=int(adv["Cpu.Quantum"]) * MS,
        lag_quanta=int(adv["Cpu.BoundLagQuanta"]),
        costop_threshold=int(adv["Cpu.CoschedCostopThreshold"]) * US,
        costart_threshold=int(adv["Cpu.CoschedCostartThreshold"]) * US,
        cosched_period=int(adv["Cpu.CoschedPollUsec"]) * US,
        numa_rebalance_period=int(adv["Numa.RebalancePeriod"]) * MS,
        numa_imbalance=int(adv["Numa.MigImbalanceThreshold"]),
        port_rx_queue=int(adv["Net.MaxPortRxQueueLen"]),
        poll_budget=int(ker["netMaxPktsToProcess"]),
    )
    return settings, faults, warnings


def vm_settings(
    platform: PlatformSpec, advanced: Mapping[str, object], vmx: Mapping[str, object], guest_rx_ring: int, path: str
) -> tuple[VmSettings | None, list[Fault], list[str]]:
    """The settings of one group of VMs in force.

    Args:
        platform: the platform whose defaults apply.
        advanced: the host's own settings as the scenario gives them: defaults of its vNICs hang on them.
        vmx: what the scenario sets, by ``.vmx`` key with the vNIC's number (``ethernet0.emuRxMode``).
        guest_rx_ring: descriptors the guest's driver asks for.
        path: where the group stands in the file (``vms.receiver``), for faults.

    Returns:
        The settings (None when there are faults), the faults (without line), and warnings.
    """
    faults: list[Fault] = []
    warnings: list[str] = []
    table = {name.replace("ethernetX.", "ethernet0."): setting for name, setting in platform.vmx.items()}
    keys = _resolve(table, vmx, f"{path}.vmx", faults, warnings)
    host = _resolve(platform.advanced, advanced, "host.advanced", [], [])
    scheme = str(vmx.get("ethernet0.coalescingScheme", host["Net.CoalesceScheme"]))
    params = keys["ethernet0.coalescingParams"]
    rate, depth = int(host["Net.CoalesceRBCRate"]), 64
    if params != "" and scheme in (table["ethernet0.coalescingScheme"].choices or ()):
        where = f"{path}.vmx.ethernet0.coalescingParams"
        low, high = {"rbc": (100, 100_000), "static": (1, 64)}.get(scheme, (0, -1))
        allowed = f"with {scheme}: an integer {low}..{high}" if low <= high else f"nothing with the scheme {scheme!r}"
        try:
            number = int(params)
        except ValueError:
            faults.append(Fault("is not an integer", where, repr(params), allowed))
        else:
            if not low <= number <= high:
                faults.append(Fault("is out of range", where, repr(params), allowed))
            rate, depth = (number, depth) if scheme == "rbc" else (rate, number)
    shares = str(keys["sched.cpu.shares"])
    if shares not in _SHARES and not (shares.isdecimal() and 1 <= int(shares) <= 1_000_000):
        faults.append(
            Fault(
                "is not a number of shares",
                f"{path}.vmx.sched.cpu.shares",
                repr(shares),
                "low, normal, high or an integer 1..1000000",
            )
        )
    if faults:
        return None, faults, warnings
    return (
        VmSettings(
            shares=_SHARES.get(shares) or int(shares),
            split_rx=str(keys["ethernet0.emuRxMode"]) == "1",
            rx_ring=guest_rx_ring,
            coalescing=Coalescing.model_validate(
                {"scheme": scheme, "rate": rate, "depth": depth, "timeout": _STATIC_TIMEOUT}
            ),
        ),
        faults,
        warnings,
    )
