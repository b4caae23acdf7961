"""The platform: settings of a hypervisor version by their names, with defaults and meanings.

A platform file lists every known setting with default, range and meaning. An unlisted setting is an error. A listed
setting without effect in the model (``modelled: false``) gives a warning in the results if its value differs from what
the model does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from hostsim.config.costs import Cost, CostModel
from hostsim.config.field import Descriptors, Positive, SmallCount, Spec, later
from hostsim.config.quantity import Percent, PositiveDuration
from hostsim.units import MS, SECOND, US

__all__ = [
    "HOST_SETTINGS",
    "VNICS",
    "Coalescing",
    "CoalescingSpec",
    "FeatureSpec",
    "FunctionRules",
    "FunctionSettings",
    "HostSettings",
    "LroSpec",
    "NetQueueSpec",
    "NumaIoSpec",
    "OffloadSettings",
    "OffloadedCosts",
    "PassthroughSettings",
    "PlatformSpec",
    "Refill",
    "SetBy",
    "SettingSpec",
    "TuningSpec",
    "VmSettings",
    "VnicKind",
    "VnicSettings",
]


class SettingSpec(Spec):
    """A setting of a platform: default, allowed values, and whether it is modelled."""

    default: int | str
    """Default value."""
    low: int | None = None
    """Smallest value of a number."""
    high: int | None = None
    """Largest value of a number."""
    choices: tuple[str, ...] | None = None
    """Allowed values of a choice."""
    unit: str = ""
    """Unit of a number, in words."""
    modelled: bool
    """False if hostsim knows the setting but the model does not depend on it."""
    behaves_as: int | str | None = None
    """Value that the model corresponds to, for a setting that is not modelled; default: the setting's default."""
    meaning: str
    """Effect, in one line."""
    source: str
    """Source of default and range."""

    @model_validator(mode="after")
    def _one_or_the_other(self) -> SettingSpec:
        if self.modelled and self.behaves_as is not None:
            raise ValueError("is for a setting that is not modelled|no behaves_as, or modelled: false")
        return self

    def is_missed(self, value: int | str) -> bool:
        """True if a host with this value, in the form of `read`, behaves differently from the model."""
        return not self.modelled and value != (self.default if self.behaves_as is None else self.behaves_as)

    def allowed(self) -> str:
        """Return the allowed values in words."""
        if self.choices is not None:
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        if self.low is None and self.high is None:
            return "text" if isinstance(self.default, str) else f"an integer {self.unit}".strip()
        if self.low is None or self.high is None:
            return f"an integer {self.unit}".strip() + (
                f" from {self.low} on" if self.high is None else f" up to {self.high}"
            )
        return f"an integer {self.low}..{self.high} {self.unit}".strip()

    def read(self, value: object) -> int | str:
        """Return the value in the model's form; numbers may be written as text, as in a ``.vmx`` file.

        Raises:
            ValueError: the value is not allowed.
        """
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError("is neither a number nor text")
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if self.choices is not None:
            if str(value) not in self.choices:
                raise ValueError("is not one of the choices")
            return str(value)
        if isinstance(self.default, str) and self.low is None:
            return str(value)
        try:
            number = int(str(value))
        except ValueError:
            raise ValueError("is not an integer") from None
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            raise ValueError("is out of range")
        return number


Threshold = Annotated[Percent, Field(gt=0, le=100)]
"""A share of a PCPU or of a node at which a balancer acts."""


class NetQueueSpec(Spec):
    """Thresholds of the NetQueue balancer for packing and unpacking vNICs; without a known source."""

    period: PositiveDuration
    """Time between two checks of the queues."""
    pack_below: Threshold
    """Largest load of the contexts of the remaining queues, as a share of a PCPU, at which a queue is released."""
    unpack_above: Threshold
    """Load of a queue's receive context, as a share of a PCPU, from which one of its vNICs moves to another queue."""
    open_below: Threshold
    """Largest utilisation of the PCPUs of the NIC's NUMA node at which a further queue is opened."""

    @model_validator(mode="after")
    def _apart(self) -> NetQueueSpec:
        if self.pack_below >= self.unpack_above:
            raise ValueError("would pack queues that it has just unpacked|pack_below: a share below unpack_above")
        return self


class NumaIoSpec(Spec):
    """Thresholds of NUMA-aware I/O for the load of a NIC's node; without a known source."""

    fill_below: Threshold
    """Demand on a node, as a share of its cores, up to which VMs are moved to it."""
    relieve_above: Threshold
    """Demand on a node, as a share of its cores, from which VMs that were moved to it return."""
    fade: Positive
    """Number of checks over which the mean of a load decays."""

    @model_validator(mode="after")
    def _apart(self) -> NumaIoSpec:
        if self.fill_below >= self.relieve_above:
            raise ValueError("would pull back VMs that it has just moved away|fill_below: a share below relieve_above")
        return self


class TuningSpec(Spec):
    """Parameters of dynamic tuning (dense mode): its effect on regular VMs while it is active."""

    tx_timeout: PositiveDuration
    """Longest wait of a packet on a transmit ring while the guest runs."""


class LroSpec(Spec):
    """Parameters of software LRO; without a known source."""

    sessions: SmallCount
    """Connections whose frames a receive context joins simultaneously; frames of others are passed on separately."""


class CoalescingSpec(Spec):
    """Undocumented parameters of rate-based coalescing of vNICs."""

    rate_window: PositiveDuration
    """Window over which the packet rate is measured."""
    rx_intervals: Annotated[float, Field(ge=1, le=400)]
    """Longest wait of a received packet, in units of the shortest interval between interrupts; never longer than the
    coarse timeout.
    """
    ended_by_halt: Annotated[int, Field(ge=0, le=1)]
    """1: a guest that halts is interrupted immediately for waiting packets, as with static coalescing; 0: the wait
    continues.
    """


class IdleSpec(Spec):
    """Core states (C-states) of idle processors, deeper than C1."""

    fade: Positive
    """Number of idle periods of a PCPU over which their mean decays, which predicts the next one."""
    exit_share: Annotated[float, Field(gt=0, le=1)]
    """Actual exit latency as a share of the documented one."""
    latencies: Annotated[float, Field(gt=0)] | None = None
    """Mean idle time of a PCPU, in exit latencies, from which a kernel without a hypervisor enters a state; else the
    power policy determines it.
    """
    states: dict[str, dict[str, PositiveDuration]]
    """Exit latencies of the states of each processor family, by name of the state; other families have only C1."""

    def of(self, family: str) -> IdleSpec:
        """Return the spec with the states of one family only."""
        return self.model_copy(update={"states": {name: own for name, own in self.states.items() if name == family}})


class FunctionRules(Spec):
    """Rules of a hypervisor version for virtual functions of NICs (SR-IOV)."""

    beside_uplink: bool
    """True if a port with functions may also be an uplink; else it is hidden from switches."""
    most: Positive
    """Largest number of functions of all VMs of a host: each needs three interrupt vectors."""


class FeatureSpec(Spec):
    """Features that differ between versions of the hypervisor."""

    vnic_rss: bool
    """True if a vNIC may receive from several hardware queues (``ethernetX.pnicFeatures``)."""
    vnic_parallel: bool
    """True if receive contexts of several hardware queues deliver to a vNIC simultaneously; else one at a time, under a
    lock of the vNIC.
    """
    split_rx_rule: Literal["multicast_rate", "vnics"]
    """Condition for automatic splitRx: a rate of multicast packets, or a number of vNICs on a queue
    (`hostsim.model.policy.split_rx`).
    """
    vxlan: bool
    """True if a virtual switch supports VXLAN."""
    functions: FunctionRules | None = None
    """Rules for passing through virtual functions of NICs (SR-IOV); None if not supported."""
    most_vcpus: Positive = 768
    """Largest number of vCPUs of a VM."""
    nioc: bool = True
    """True if a virtual switch supports version 3 of Network I/O Control."""


class PlatformSpec(Spec):
    """The platform: a version of the hypervisor with its costs and the defaults of its settings."""

    platform: str
    """Name of the platform; without effect on results."""
    hypervisor: bool = True
    """False for a native host: its kernel runs on the machine and its drivers use the physical NICs, without settings
    of a hypervisor.
    """
    features: FeatureSpec
    drivers: dict[str, Literal["vmklinux", "native"]]
    """Kind of each NIC driver: ``vmklinux`` converts each packet from the structures of a Linux driver, ``native`` does
    not.
    """
    netqueue: NetQueueSpec
    lro: LroSpec
    numa_io: NumaIoSpec
    tuning: TuningSpec
    coalescing: CoalescingSpec
    idle: IdleSpec
    costs: CostModel
    advanced: dict[str, SettingSpec]
    """Advanced settings by dotted name."""
    kernel: dict[str, SettingSpec]
    """VMkernel boot settings."""
    vmx: dict[str, SettingSpec]
    """Keys of a ``.vmx`` file; ``ethernetX.`` means every vNIC."""


class Coalescing(Spec):
    """Virtual interrupt coalescing of a vNIC: the times at which it interrupts its guest."""

    scheme: str
    """``disabled``: for every packet. ``static``: when ``depth`` packets wait or after ``timeout``. ``rbc``: for a
    number of packets that gives ``rate`` interrupts/s, or after ``wait``. ``throttled``: at most ``rate`` interrupts/s,
    equally spaced.
    """
    rate: Positive
    """Interrupts/s, for ``rbc`` and ``throttled``."""
    depth: Positive
    """Number of packets, for ``static``."""
    timeout: int
    """Longest wait in picoseconds, for ``static``."""
    depth_cap: int = 40
    """Largest number of waiting packets, for ``rbc`` (``Net.CoalesceRxQDepthCap``)."""
    low_packets: int = 4
    """Number of packets in a ``timeout`` below which ``rbc`` does not coalesce (``Net.CoalesceLowRxRate``)."""
    rate_window: int = 4 * MS
    """Window in picoseconds over which ``rbc`` measures the packet rate."""
    wait: int = 250 * US
    """Longest wait in picoseconds, for ``rbc``."""
    ended_by_halt: bool = False
    """True if a halt of the guest ends the wait, for ``rbc``."""


TxInterrupts = Literal["all", "stopped"]
"""Transmit completions for which a guest's driver requests an interrupt: all, or those after it has stopped its queue
without free descriptors.
"""


class Refill(Spec):
    """Refill of the receive ring: the rule by which a guest's driver returns descriptors to its vNIC."""

    lot: Positive
    """Number of used descriptors that are returned together."""
    rest: bool
    """True if the rest is returned at the end of a poll; else it waits until the lot is full."""


@dataclass(frozen=True)
class SetBy:
    """The setting behind a field: a number in the setting's unit, or a choice."""

    name: str
    unit: int = 1
    """Unit of the setting in the model's units."""
    on: int | str | None = None
    """Value of the setting for which the field is True."""

    def read(self, values: Mapping[str, int | str]) -> Any:
        """Return the value of the field for given settings."""
        value = values[self.name]
        return int(value) * self.unit if self.on is None else value == self.on


class HostSettings(Spec):
    """Effective host settings (advanced and kernel), in the model's units."""

    quantum: Annotated[int, SetBy("Cpu.Quantum", unit=MS)]
    """Longest time of a world on a PCPU while others wait, in picoseconds."""
    lag_quanta: Annotated[int, SetBy("Cpu.BoundLagQuanta")]
    """Quanta of entitlement that a sleeping world may accumulate."""
    wake_reach: Annotated[int, SetBy("Cpu.WakeupMigrateIdlePcpus")] = 4
    """PCPUs that a waking world checks for an idle one if its own is busy."""
    idle_reach: Annotated[int, SetBy("Cpu.PcpuMigrateIdlePcpus")] = 4
    """PCPUs that a PCPU which becomes idle checks for waiting worlds."""
    mwait: bool = True
    """True if idle PCPUs monitor their run queues, so that a wake-up needs no interrupt (``Cpu.UseMwait``)."""
    deepest_exit: int = 0
    """Largest exit latency of the core states that an idle PCPU enters, in picoseconds; 0 for C1 only
    (``Power.CpuPolicy``, ``Power.UseCStates``, ``Power.CStateMaxLatency``).
    """
    idle_latencies: float = 0.0
    """Mean idle time of a PCPU, in exit latencies, from which it enters a core state (``Power.CStateResidencyCoef``
    over the part of the mean that ``Power.CStatePredictionCoef`` predicts).
    """
    costop_threshold: Annotated[int, SetBy("Cpu.CoschedCostopThreshold", unit=US)]
    """Lead over the slowest sibling from which a vCPU is co-stopped, in picoseconds."""
    costart_threshold: Annotated[int, SetBy("Cpu.CoschedCostartThreshold", unit=US)]
    """Lead at which a co-stopped vCPU may restart, in picoseconds."""
    cosched_period: Annotated[int, SetBy("Cpu.CoschedPollUsec", unit=US)]
    """Time between two checks of the vCPUs of an SMP VM, in picoseconds."""
    ht_rebalance_period: Annotated[int, SetBy("Cpu.HTRebalancePeriod", unit=MS)] = 5 * MS
    """Time between two checks for vCPUs that share a core while another core is idle, in picoseconds; 0 for none."""
    rebalance_period: Annotated[int, SetBy("Cpu.L3RebalancePeriod", unit=MS)]
    """Time between two checks of the balancer of a node's PCPUs, which share a cache, in picoseconds; 0 for none."""
    llc_sched: bool = False
    """True if the scheduler considers several last-level caches in a NUMA node (``llcSchedEnable``)."""
    package_rebalance_period: Annotated[int, SetBy("Cpu.PackageRebalancePeriod", unit=MS)] = 20 * MS
    """Time between two checks of the NUMA nodes of NetPolls and of the VMs that they serve, in picoseconds; without
    ``llc_sched`` also between two checks of the balancer beyond core complexes; 0 for none.
    """
    related_rate: Annotated[int, SetBy("Cpu.CommRateThreshold")] = 500
    """Packets/s from a NetPoll to a vNIC from which it is related to the vNIC's vCPU."""
    numa_rebalance_period: Annotated[int, SetBy("Numa.RebalancePeriod", unit=MS)]
    """Time between two checks of the NUMA balancer, in picoseconds."""
    numa_imbalance: Annotated[int, SetBy("Numa.MigImbalanceThreshold")]
    """Difference of utilisation between two nodes from which the balancer moves a VM, in percentage points."""
    port_rx_queue: Annotated[int, SetBy("Net.MaxPortRxQueueLen")]
    """Number of packets that may wait for a vNIC's own receive context."""
    split_rx_rule: Literal["", "multicast_rate", "vnics"] = ""
    """Condition for automatic splitRx, a feature of the platform; empty if off (``Net.NetSplitRxMode``)."""
    vnic_parallel: bool = True
    """True if receive contexts deliver to a vNIC simultaneously; else one at a time (a feature of the platform)."""
    poll_budget: Annotated[int, SetBy("netMaxPktsToProcess")]
    """Packets that a receive context takes in one invocation."""
    tx_poll_bound: Annotated[int, SetBy("Net.vNicTxPollBound")]
    """Packets that a transmit context takes in one poll."""
    tx_timeout: Annotated[int, SetBy("Net.CoalesceTxTimeout", unit=US)]
    """Longest wait of a packet on a transmit ring until its context is woken, in picoseconds."""
    tx_depth_cap: int
    """Largest number of packets that a guest posts without a call (``Net.CoalesceTxQDepthCap``)."""
    tx_call_rate: int
    """Calls/s that transmit coalescing allows a vNIC (``Net.CoalesceRBCRate``, as for receive), reduced by
    ``Net.vmxnetThroughputWeight``.
    """
    tx_low_packets: Annotated[int, SetBy("Net.CoalesceLowTxRate")] = 4
    """Number of packets in ``tx_timeout`` below which transmit coalescing holds none back."""
    rate_window: int = 4 * MS
    """Window in picoseconds over which transmit coalescing measures the packet rate."""
    e1000_tx_copy: Annotated[int, SetBy("Net.E1000TxCopySize")] = 2048
    """Largest packet of an e1000 that is copied out of guest memory, in bytes."""
    vmxnet_tx_copy: Annotated[int, SetBy("Net.VmxnetTxCopySize")] = 256
    """Largest packet of a vmxnet3 that is copied out of guest memory, in bytes."""
    defer_tx_completion: Annotated[bool, SetBy("Net.NetDeferTxCompletion", on=1)] = True
    """True if transmit contexts complete sent packets; else the receive contexts that free the NIC's descriptors do."""
    tx_completion_delay: Annotated[int, SetBy("Net.MaxTxCompDelay", unit=MS)] = 50 * MS
    """Longest wait of a transmit completion that no guest waits for, in picoseconds."""
    rx_copy_in_tx: Annotated[bool, SetBy("Net.NetRxCopyInTx", on=1)] = False
    """True if the sender's transmit context copies packets between VMs of the host into the receiver's memory; else the
    receiver's context does.
    """
    rx_list: Annotated[int, SetBy("Net.MaxPktRxListQueue")] = 3500
    """Number of packets between VMs of the host that may wait for the receiver's context."""
    tso_split: Annotated[bool, SetBy("Net.VmxnetDoTsoSplit", on=1)] = True
    """True if a TSO packet between VMs of the host is delivered as two halves; else whole."""
    sw_lro: Annotated[bool, SetBy("Net.Vmxnet3SwLRO", on=1)]
    """Software LRO."""
    hw_lro: Annotated[bool, SetBy("Net.Vmxnet3HwLRO", on=1)]
    """Hardware LRO, if the NIC supports it."""
    lro_bytes: Annotated[int, SetBy("Net.VmxnetLROMaxLength")]
    """Largest packet after LRO, in bytes."""
    lro_threshold: Annotated[int, SetBy("Net.VmxnetLROThreshold")]
    """Number of frames after which software LRO checks whether it pays."""
    lro_backoff: Annotated[int, SetBy("Net.VmxnetLROBackoffPeriod")]
    """Number of such intervals for which software LRO is off if it does not pay."""
    hw_tso: Annotated[bool, SetBy("Net.UseHwTSO", on=1)]
    """Segmentation in hardware, if the NIC supports it."""
    netqueue: Annotated[bool, SetBy("netNetqueueEnabled", on="TRUE")]
    """True if other receive queues than the default queue are used."""
    netqueue_dynamic: Annotated[bool, SetBy("Net.NetNetqRxDynamicLB", on=1)]
    """True if the balancer packs and unpacks receive queues."""
    tune_dense: Annotated[bool, SetBy("Net.NetTuneHostMode", on="dense")]
    """True if dynamic tuning of the host is on."""
    tune_interval: Annotated[int, SetBy("Net.NetTuneInterval", unit=SECOND)]
    """Time between two checks of dynamic tuning, in picoseconds."""
    tune_vms: int
    """VMs per PCPU from which dynamic tuning acts (``Net.NetTuneThreshold``)."""
    tune_vcpus: int
    """vCPUs per PCPU from which dynamic tuning acts (``Net.NetTuneThreshold``)."""
    tune_utilisation: float
    """Mean utilisation of the PCPUs in percent from which dynamic tuning acts (``Net.NetTuneThreshold``)."""
    numa_io_threshold: Annotated[int, SetBy("Net.NetNetqNumaIOCpuPinThreshold")]
    """Load of the networking contexts, in percent of a core, below which NUMA I/O placement is active."""


HOST_SETTINGS = {
    field: by for field, info in HostSettings.model_fields.items() for by in info.metadata if isinstance(by, SetBy)
}
"""Settings by field of `HostSettings`, except for fields that depend on several settings."""


@dataclass(frozen=True)
class VnicKind:
    """Properties of an emulated device that settings, checks and the model use."""

    family: Literal["vmxnet3", "e1000"]
    """Device whose settings it has, those of ``.vmx`` files, the host and the guest's driver."""
    least_ring: int
    """Smallest number of descriptors of a ring; the largest is 4096."""
    ring_step: int
    """Granularity of the number of descriptors."""
    lro: bool
    """True if its guest accepts joined frames."""
    polled: bool
    """True if a guest process may poll it."""


VNICS: Final[Mapping[str, VnicKind]] = {
    "vmxnet3": VnicKind("vmxnet3", least_ring=32, ring_step=32, lro=True, polled=True),
    "e1000": VnicKind("e1000", least_ring=80, ring_step=8, lro=False, polled=False),
}
"""Emulated devices by their name in ``ethernetX.virtualDev``."""


class VnicSettings(Spec):
    """Effective settings of a vNIC of the VMs of a group."""

    device: str = "vmxnet3"
    """Emulated device (``ethernetX.virtualDev``), one of `VNICS`."""
    split_rx: bool
    """True if the vNIC has its own receive context (``ethernetX.emuRxMode``)."""
    split_rx_auto: bool = False
    """True if the host may give it one when needed (``Net.NetSplitRxMode``): a vmxnet3 without
    ``ethernetX.emuRxMode``.
    """
    rx_ring: Descriptors
    """Receive descriptors of each queue."""
    tx_ring: Descriptors
    """Transmit descriptors of each queue."""
    refill: Refill | None = None
    """Rule for returning receive descriptors; default: each as soon as its packet is taken."""
    tx_interrupts: TxInterrupts = "stopped"
    """Transmit completions for which the guest's driver requests an interrupt."""
    coalescing: Coalescing
    queues: Positive = 1
    """Largest number of queue pairs of the guest's driver."""
    udp_rss: bool = False
    """True if the hashes of the vNIC and of its RSS queue include datagram ports (``ethernetX.udpRSS``); else addresses
    only.
    """
    rss: bool
    """True if the vNIC requests a queue with RSS (``ethernetX.pnicFeatures``, bit 4) and the platform has it."""
    dense: Coalescing | None
    """Coalescing while dynamic tuning is active; None if the VM sets coalescing, contexts or latency sensitivity,
    which exempts it.
    """
    tx_context: Literal["vm", "vnic", "queue"]
    """Owner of transmit contexts: the VM, each vNIC, or each queue (``ethernetX.ctxPerDev``, ``Net.NetVMTxType``)."""

    @property
    def kind(self) -> VnicKind:
        """Properties of the device."""
        return VNICS[self.device]

    def queue_pairs(self, vcpus: int) -> int:
        """Return the number of queue pairs in a VM.

        Args:
            vcpus: vCPUs of the VM; the number is rounded down to a power of two, as by drivers of Linux.
        """
        most = min(self.queues, vcpus)
        return 1 << (most.bit_length() - 1)


class PassthroughSettings(Spec):
    """Effective settings of a physical NIC with a guest's driver: passed through, or of a native host."""

    device: Literal["directpath"] = "directpath"
    """Kind of pass-through: the whole port (DirectPath I/O)."""
    nic: str
    """Name of the physical NIC (``pciPassthruX.id``)."""
    mtu: int | None = None
    """Largest IP packet in bytes, for a NIC of a native host; None for the MTU of the NIC's options (``host.nics``)."""


class FunctionSettings(Spec):
    """Effective settings of a virtual function (SR-IOV) that is passed through to a VM."""

    device: Literal["sriov"] = "sriov"
    """Kind of pass-through: a function of a port that others share."""
    nic: str
    """Name of the physical NIC (``pciPassthruX.pfId``)."""
    queues: Positive = 1
    """Largest number of its queue pairs, which the NIC determines."""
    mtu: None = None
    """Its MTU is that of the NIC's options (``host.nics``)."""


class OffloadSettings(Spec):
    """Offloads of the NICs of a VM as set in its guest (``ethtool -K``); all on by default."""

    tso: bool = True
    """TSO: packets may be larger than a frame; else, with GSO off as well, the stack builds each frame."""
    lro: bool = True
    """LRO: the host, or a NIC of the guest's, may join received frames. A vmxnet3 without it uses GRO, if the guest has
    it.
    """
    gro: bool = True
    """GRO: drivers with GRO join the frames of a poll."""
    tx_checksum: bool = True
    """The device computes checksums; else the kernel does, byte by byte, and TSO is off (Linux
    ``netdev_fix_features``).
    """
    rx_checksum: bool = True
    """The device verifies checksums; else the kernel does, byte by byte, and LRO is off (Linux
    ``vmxnet3_fix_features``).
    """

    @property
    def is_default(self) -> bool:
        """True if all offloads are on."""
        return self == OffloadSettings()


class OffloadedCosts(Spec):
    """Effective offloads of a VM, with the guest's costs without them."""

    tso: bool
    lro: bool
    gro: bool
    tx_checksum: Cost | None = None
    """Checksum cost of a sent byte, if the guest's kernel computes it."""
    rx_checksum: Cost | None = None
    """Checksum cost of a received byte, if the guest's kernel verifies it."""


class VmSettings(Spec):
    """Effective settings of the VMs of a group (``.vmx`` keys), in the model's units."""

    shares: Positive
    """CPU shares of each vCPU (``sched.cpu.shares``)."""
    cpu_reservation_mhz: Annotated[int, Field(ge=0)] = later(0)
    """CPU reservation of the VM in MHz, for all its vCPUs together (``sched.cpu.min``)."""
    cpu_limit_mhz: Annotated[int, Field(ge=1)] | None = later(None)
    """CPU limit of the VM in MHz; None for no limit (``sched.cpu.max``)."""
    exclusive: bool = False
    """True if each vCPU has an exclusive PCPU (``sched.cpu.latencySensitivity`` high)."""
    nodes: tuple[int, ...]
    """NUMA nodes that the VM may run on (``numa.nodeAffinity``); empty for all."""
    affinity: tuple[int, ...] = later(())
    """PCPUs that the VM may run on (``sched.cpu.affinity``); empty for all."""
    prefer_ht: bool = later(False)
    """True if hyperthreads count as cores in the NUMA placement of the VM (``numa.vcpu.preferHT``,
    ``Numa.PreferHT``).
    """
    max_per_virtual_node: Annotated[int, Field(ge=0)] = later(0)
    """Largest number of vCPUs of a virtual NUMA node; 0 for the cores of a node (``numa.vcpu.maxPerVirtualNode``)."""
    reserved: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Reserved share of the VM's memory (``sched.mem.min`` over ``memSize``)."""
    passthrough: tuple[PassthroughSettings | FunctionSettings, ...] = ()
    """Passed-through NICs and functions, in the order of their numbers."""
    vnics: tuple[VnicSettings, ...]
    offloads: OffloadedCosts | None = later(None)
    """Offloads of its NICs; None if all are on."""
    queues: Positive | None = later(None)
    """Largest number of queue pairs of each of its NICs, if the guest sets it (``ethtool -L``)."""

    @property
    def devices(self) -> tuple[VnicSettings | PassthroughSettings | FunctionSettings, ...]:
        """The network devices of the VM, in the order of their numbers: vNICs, then passed-through ones."""
        return (*self.vnics, *self.passthrough)
