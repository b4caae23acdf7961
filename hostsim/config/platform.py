"""The platform: settings of a hypervisor version by the names that administrators type, and the values that they resolve to.

A platform file lists every setting it knows, with default, range and meaning. One that is not listed is an error; one that
is listed but has no effect in the model (``modelled: false``) is a warning that the results carry, where it is set to
something else than the model does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hostsim.config.costs import Cost, CostModel
from hostsim.config.field import Descriptors, Positive, SmallCount, Spec
from hostsim.config.quantity import Percent, PositiveDuration
from hostsim.units import MS, SECOND, US

__all__ = [
    "HOST_SETTINGS",
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
    "VnicSettings",
]


class SettingSpec(Spec):
    """A setting of a platform: its default, its allowed values, whether it is modelled."""

    default: int | str
    """Default value."""
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
    behaves_as: int | str | None = None
    """Value that the model does the same as, of a setting that is not modelled; its default where nothing is said."""
    meaning: str
    """What it does, in one line."""
    source: str
    """Where default and range come from."""

    @model_validator(mode="after")
    def _one_or_the_other(self) -> SettingSpec:
        if self.modelled and self.behaves_as is not None:
            raise ValueError("is for a setting that is not modelled|no behaves_as, or modelled: false")
        return self

    def is_missed(self, value: int | str) -> bool:
        """True when a host with this value, as `read` gives it, does something that the model does not."""
        return not self.modelled and value != (self.default if self.behaves_as is None else self.behaves_as)

    def allowed(self) -> str:
        """The allowed values in words."""
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


Threshold = Annotated[Percent, Field(gt=0, le=100)]
"""A share of a PCPU or of a node that a balancer acts on."""


class NetQueueSpec(Spec):
    """Thresholds of the NetQueue balancer, for packing vNICs on fewer receive queues and for unpacking them; no source is known for their values."""

    period: PositiveDuration
    """Time between two looks at the queues."""
    pack_below: Threshold
    """Share of a PCPU that the receive contexts of the queues left would use at most, for a queue to be given up."""
    unpack_above: Threshold
    """Share of a PCPU that the receive context of a queue uses, from which one of its vNICs gets another queue."""
    open_below: Threshold
    """Share of the time of the PCPUs of the NIC's NUMA node that is used, up to which a further queue is put into use."""

    @model_validator(mode="after")
    def _apart(self) -> NetQueueSpec:
        if self.pack_below >= self.unpack_above:
            raise ValueError("would pack queues that it has just unpacked|pack_below: a share below unpack_above")
        return self


class NumaIoSpec(Spec):
    """Thresholds of NUMA-aware I/O for the load of a NIC's node; no source is known."""

    fill_below: Threshold
    """Share of a node's cores that is wanted there, up to which VMs are pulled to it."""
    relieve_above: Threshold
    """Share of a node's cores that is wanted there, from which VMs that were pulled to it go back."""
    fade: Positive
    """Looks over which the mean of a load fades."""

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
    """Parameters of software LRO; no source is known."""

    sessions: SmallCount
    """Connections whose frames a receive context joins at the same time; frames of others go on by themselves."""


class CoalescingSpec(Spec):
    """Rate-based coalescing of vNICs where its documentation says nothing."""

    rate_window: PositiveDuration
    """Time over which it takes the rate of packets."""
    rx_intervals: Annotated[float, Field(ge=1, le=400)]
    """Longest wait of a received packet, in intervals between interrupts at the ceiling; never longer than the coarse timeout."""
    ended_by_halt: Annotated[int, Field(ge=0, le=1)]
    """1: a guest that halts is interrupted at once for what waits, as by static coalescing; 0: it waits as one that runs."""


class IdleSpec(Spec):
    """Core states (C-states) of idle processors, deeper than C1."""

    fade: Positive
    """Idle periods of a PCPU over which the mean of their length fades, by which the next one is predicted."""
    exit_share: Annotated[float, Field(gt=0, le=1)]
    """Share of the documented exit latency that it takes to leave a state."""
    latencies: Annotated[float, Field(gt=0)] | None = None
    """Mean idle time of a PCPU, in exit latencies, from which on a kernel without a hypervisor enters a state; else the power policy decides."""
    states: dict[str, dict[str, PositiveDuration]]
    """Exit latencies of the states of each processor family, by the state's name; a family that is not named has C1 alone."""

    def of(self, family: str) -> IdleSpec:
        """The same without the states of other families."""
        return self.model_copy(update={"states": {name: own for name, own in self.states.items() if name == family}})


class FunctionRules(Spec):
    """What one version of the hypervisor does with virtual functions of NICs (SR-IOV)."""

    beside_uplink: bool
    """A port with functions may be an uplink as well; else it is hidden from switches."""
    most: Positive
    """Functions that VMs of a host have at most: each takes three interrupt vectors."""


class FeatureSpec(Spec):
    """Features that one version of the hypervisor has and another has not."""

    vnic_rss: bool
    """A vNIC may take from several hardware queues (``ethernetX.pnicFeatures``)."""
    vnic_parallel: bool
    """Receive contexts of several hardware queues put packets on a vNIC at the same time; else one at a time, under a lock of the vNIC."""
    split_rx_rule: Literal["multicast_rate", "vnics"]
    """When automatic splitRx acts: at a rate of multicast packets, or where as many vNICs share a queue (`hostsim.model.policy.split_rx`)."""
    vxlan: bool
    """A virtual switch may put frames into VXLAN."""
    functions: FunctionRules | None = None
    """Virtual functions of NICs may be passed through (SR-IOV), by these rules; they may not where nothing is said."""
    most_vcpus: Positive = 768
    """vCPUs of a VM at most."""
    nioc: bool = True
    """A virtual switch may have Network I/O Control of version 3."""


class PlatformSpec(Spec):
    """The platform: a version of the hypervisor with its costs and the defaults of its settings."""

    platform: str
    """Name of the platform; nothing depends on it."""
    hypervisor: bool = True
    """False of a native host: one kernel has the machine to itself, its own drivers work the physical NICs, and there is nothing to set of a hypervisor."""
    features: FeatureSpec
    drivers: dict[str, Literal["vmklinux", "native"]]
    """Kind of each NIC driver: ``vmklinux`` converts each packet from a Linux driver's structures, ``native`` does not."""
    netqueue: NetQueueSpec
    lro: LroSpec
    numa_io: NumaIoSpec
    tuning: TuningSpec
    coalescing: CoalescingSpec
    idle: IdleSpec
    costs: CostModel
    advanced: dict[str, SettingSpec]
    """Advanced settings by their dotted names."""
    kernel: dict[str, SettingSpec]
    """VMkernel boot settings."""
    vmx: dict[str, SettingSpec]
    """Keys of a ``.vmx`` file; ``ethernetX.`` stands for every vNIC."""


class Coalescing(Spec):
    """Virtual interrupt coalescing of a vNIC: when it interrupts its guest."""

    scheme: str
    """``disabled``: for every packet. ``static``: when ``depth`` packets wait or after ``timeout``. ``rbc``: for so many packets that ``rate`` interrupts come
    in a second, or after ``wait``. ``throttled``: at most ``rate`` a second, at equal distances."""
    rate: Positive
    """Interrupts in a second, of ``rbc`` and ``throttled``."""
    depth: Positive
    """Packets, of ``static``."""
    timeout: int
    """Longest wait in picoseconds, of ``static``."""
    depth_cap: int = 40
    """Most packets that wait, of ``rbc`` (``Net.CoalesceRxQDepthCap``)."""
    low_packets: int = 4
    """Packets in a ``timeout`` below which ``rbc`` coalesces nothing (``Net.CoalesceLowRxRate``)."""
    rate_window: int = 4 * MS
    """Picoseconds over which ``rbc`` takes the rate of packets."""
    wait: int = 250 * US
    """Longest wait in picoseconds, of ``rbc``."""
    ended_by_halt: bool = False
    """A guest that halts ends the wait, of ``rbc``."""


TxInterrupts = Literal["all", "stopped"]
"""Transmit completions for which a guest's driver asks for an interrupt: all, or those after it has stopped its queue for want of descriptors."""


class Refill(Spec):
    """Refill of the receive ring: when a guest's driver gives descriptors back to its vNIC."""

    lot: Positive
    """Descriptors that it gives back together, once so many are used up."""
    rest: bool
    """At the end of a poll it gives back what is left; else that waits for the lot to be full."""


@dataclass(frozen=True)
class SetBy:
    """The setting that has the value of a field: a number in the setting's unit, or a choice."""

    name: str
    unit: int = 1
    """Unit of the setting in the model's units."""
    on: int | str | None = None
    """Value of the setting for which the field is True."""

    def read(self, values: Mapping[str, int | str]) -> Any:
        """The value of the field, by the values of settings."""
        value = values[self.name]
        return int(value) * self.unit if self.on is None else value == self.on


class HostSettings(Spec):
    """Effective host settings (advanced and kernel), in the model's units."""

    quantum: Annotated[int, SetBy("Cpu.Quantum", unit=MS)]
    """Longest stay of a world on a PCPU while others wait, in picoseconds."""
    lag_quanta: Annotated[int, SetBy("Cpu.BoundLagQuanta")]
    """Quanta of entitlement that a sleeping world may save up."""
    wake_reach: Annotated[int, SetBy("Cpu.WakeupMigrateIdlePcpus")] = 4
    """PCPUs looked at for an idle one when a world wakes up and its own is busy."""
    idle_reach: Annotated[int, SetBy("Cpu.PcpuMigrateIdlePcpus")] = 4
    """PCPUs looked at for waiting worlds by one that goes idle."""
    mwait: bool = True
    """Idle PCPUs monitor their run queues and need no interrupt to look at them (``Cpu.UseMwait``)."""
    deepest_exit: int = 0
    """Longest exit latency of a core state that an idle PCPU enters, in picoseconds; 0 for C1 alone (``Power.CpuPolicy``, ``Power.UseCStates``, ``Power.CStateMaxLatency``)."""
    idle_latencies: float = 0.0
    """Mean idle time of a PCPU, in exit latencies, from which on it enters a core state (``Power.CStateResidencyCoef`` over the part of the mean that ``Power.CStatePredictionCoef`` predicts)."""
    costop_threshold: Annotated[int, SetBy("Cpu.CoschedCostopThreshold", unit=US)]
    """Lead over the slowest sibling from which a vCPU is co-stopped, in picoseconds."""
    costart_threshold: Annotated[int, SetBy("Cpu.CoschedCostartThreshold", unit=US)]
    """Lead at which a co-stopped vCPU may start again, in picoseconds."""
    cosched_period: Annotated[int, SetBy("Cpu.CoschedPollUsec", unit=US)]
    """Picoseconds between two looks at the vCPUs of an SMP VM."""
    ht_rebalance_period: Annotated[int, SetBy("Cpu.HTRebalancePeriod", unit=MS)] = 5 * MS
    """Picoseconds between two looks for vCPUs that share a core while another is idle; 0 for none."""
    rebalance_period: Annotated[int, SetBy("Cpu.L3RebalancePeriod", unit=MS)]
    """Picoseconds between two checks of the balancer of a node's PCPUs, which share a cache; 0 for none."""
    llc_sched: bool = False
    """The scheduler knows several last-level caches in a NUMA node (``llcSchedEnable``)."""
    package_rebalance_period: Annotated[int, SetBy("Cpu.PackageRebalancePeriod", unit=MS)] = 20 * MS
    """Picoseconds between two looks at the NUMA nodes of NetPolls and of the VMs that they serve, and between two checks of the balancer that look beyond core complexes where
    ``llc_sched`` is off; 0 for none."""
    related_rate: Annotated[int, SetBy("Cpu.CommRateThreshold")] = 500
    """Packets a second from a NetPoll to a vNIC, from which on it is related to the vCPU there."""
    numa_rebalance_period: Annotated[int, SetBy("Numa.RebalancePeriod", unit=MS)]
    """Picoseconds between two checks of the NUMA balancer."""
    numa_imbalance: Annotated[int, SetBy("Numa.MigImbalanceThreshold")]
    """Percentage points between two nodes from which the balancer moves a VM."""
    port_rx_queue: Annotated[int, SetBy("Net.MaxPortRxQueueLen")]
    """Packets that wait for a vNIC's own receive context."""
    split_rx_rule: Literal["", "multicast_rate", "vnics"] = ""
    """When automatic splitRx acts, a feature of the platform; empty where it is off (``Net.NetSplitRxMode``)."""
    vnic_parallel: bool = True
    """Receive contexts deliver to a vNIC at the same time; else one at a time (a feature of the platform)."""
    poll_budget: Annotated[int, SetBy("netMaxPktsToProcess")]
    """Packets a receive context takes in one invocation."""
    tx_poll_bound: Annotated[int, SetBy("Net.vNicTxPollBound")]
    """Packets a transmit context takes in one poll."""
    tx_timeout: Annotated[int, SetBy("Net.CoalesceTxTimeout", unit=US)]
    """Longest wait of a packet on a transmit ring before its context is woken, in picoseconds."""
    tx_depth_cap: int
    """Most packets that a guest posts without a call (``Net.CoalesceTxQDepthCap``)."""
    tx_call_rate: int
    """Calls a second that transmit coalescing lets a vNIC make (``Net.CoalesceRBCRate``, as for receive), less those that
    ``Net.vmxnetThroughputWeight`` takes away."""
    tx_low_packets: Annotated[int, SetBy("Net.CoalesceLowTxRate")] = 4
    """Packets in ``tx_timeout`` below which transmit coalescing holds none back."""
    rate_window: int = 4 * MS
    """Picoseconds over which transmit coalescing takes the rate of packets."""
    e1000_tx_copy: Annotated[int, SetBy("Net.E1000TxCopySize")] = 2048
    """Bytes of a packet up to which an e1000's is copied out of the guest's memory."""
    vmxnet_tx_copy: Annotated[int, SetBy("Net.VmxnetTxCopySize")] = 256
    """Bytes of a packet up to which a vmxnet3's is copied out of the guest's memory."""
    defer_tx_completion: Annotated[bool, SetBy("Net.NetDeferTxCompletion", on=1)] = True
    """Transmit contexts complete what NICs have sent; else the receive contexts that free its descriptors do."""
    tx_completion_delay: Annotated[int, SetBy("Net.MaxTxCompDelay", unit=MS)] = 50 * MS
    """Longest wait of a transmit completion that nobody is in a hurry for, in picoseconds."""
    rx_copy_in_tx: Annotated[bool, SetBy("Net.NetRxCopyInTx", on=1)] = False
    """Between VMs of the host the sender's transmit context copies packets into the receiver's memory; else the receiver's own context does."""
    rx_list: Annotated[int, SetBy("Net.MaxPktRxListQueue")] = 3500
    """Packets between VMs of the host that wait for the receiver's context."""
    tso_split: Annotated[bool, SetBy("Net.VmxnetDoTsoSplit", on=1)] = True
    """Between VMs of the host a packet for TSO is delivered as two halves; else whole."""
    sw_lro: Annotated[bool, SetBy("Net.Vmxnet3SwLRO", on=1)]
    """Software LRO."""
    hw_lro: Annotated[bool, SetBy("Net.Vmxnet3HwLRO", on=1)]
    """Hardware LRO, where the NIC has it."""
    lro_bytes: Annotated[int, SetBy("Net.VmxnetLROMaxLength")]
    """Bytes of a packet that LRO makes at most."""
    lro_threshold: Annotated[int, SetBy("Net.VmxnetLROThreshold")]
    """Frames after which software LRO looks whether it pays."""
    lro_backoff: Annotated[int, SetBy("Net.VmxnetLROBackoffPeriod")]
    """Such stretches of frames for which it stays off where it does not."""
    hw_tso: Annotated[bool, SetBy("Net.UseHwTSO", on=1)]
    """Segmentation in hardware, where the NIC has it."""
    netqueue: Annotated[bool, SetBy("netNetqueueEnabled", on="TRUE")]
    """Receive queues besides the default one are used."""
    netqueue_dynamic: Annotated[bool, SetBy("Net.NetNetqRxDynamicLB", on=1)]
    """The balancer packs and unpacks receive queues."""
    tune_dense: Annotated[bool, SetBy("Net.NetTuneHostMode", on="dense")]
    """Dynamic tuning of the host is on."""
    tune_interval: Annotated[int, SetBy("Net.NetTuneInterval", unit=SECOND)]
    """Picoseconds between two checks of dynamic tuning."""
    tune_vms: int
    """VMs for each PCPU from which on it acts (``Net.NetTuneThreshold``)."""
    tune_vcpus: int
    """vCPUs for each PCPU, likewise."""
    tune_utilisation: float
    """Mean utilisation of the PCPUs in percent, likewise."""
    numa_io_threshold: Annotated[int, SetBy("Net.NetNetqNumaIOCpuPinThreshold")]
    """Load of the networking contexts, in percent of a core, below which NUMA I/O placement is active."""


HOST_SETTINGS = {
    field: by for field, info in HostSettings.model_fields.items() for by in info.metadata if isinstance(by, SetBy)
}
"""What each field of `HostSettings` is set by, but for those that several settings make."""


class VnicSettings(Spec):
    """Effective settings of one vNIC of the VMs of a group."""

    device: Literal["vmxnet3", "e1000"] = "vmxnet3"
    """What the guest sees (``ethernetX.virtualDev``)."""
    split_rx: bool
    """The vNIC has a receive context of its own (``ethernetX.emuRxMode``)."""
    split_rx_auto: bool = False
    """It gets one where the host finds that it needs one (``Net.NetSplitRxMode``): a vmxnet3 whose file says nothing of it."""
    rx_ring: Descriptors
    """Receive descriptors of each queue."""
    tx_ring: Descriptors
    """Transmit descriptors of each queue."""
    refill: Refill | None = None
    """How receive descriptors come back; each as soon as its packet is taken where nothing is said."""
    tx_interrupts: TxInterrupts = "stopped"
    """Transmit completions for which the guest's driver asks for an interrupt."""
    coalescing: Coalescing
    queues: Positive = 1
    """Pairs of queues that the guest's driver asks for at most."""
    udp_rss: bool = False
    """Ports of datagrams are hashed too, by the vNIC and by its RSS queue (``ethernetX.udpRSS``); else their addresses alone."""
    rss: bool
    """The vNIC asks for a queue with RSS (``ethernetX.pnicFeatures``, bit 4) and gets it on this platform."""
    dense: Coalescing | None
    """Its coalescing while dynamic tuning is active; None where the VM sets its coalescing, its contexts or its latency sensitivity itself, so that tuning leaves it alone."""
    tx_context: Literal["vm", "vnic", "queue"]
    """Whose transmit contexts are: the VM's, each vNIC's, each queue's (``ethernetX.ctxPerDev``, ``Net.NetVMTxType``)."""

    def queue_pairs(self, vcpus: int) -> int:
        """Number of its queue pairs in a VM with so many vCPUs: a power of two, as drivers of Linux round them down."""
        most = min(self.queues, vcpus)
        return 1 << (most.bit_length() - 1)


class PassthroughSettings(Spec):
    """Effective settings of one physical NIC that a guest's own driver works: passed through to a VM, or of a native host."""

    device: Literal["directpath"] = "directpath"
    """How it is passed through: the whole port (DirectPath I/O)."""
    nic: str
    """Name of the physical NIC (``pciPassthruX.id``)."""
    mtu: int | None = None
    """Bytes of an IP packet at most, of a NIC of a native host; that of the NIC's options (``host.nics``) where None."""


class FunctionSettings(Spec):
    """Effective settings of one virtual function of a physical NIC (SR-IOV) that is passed through to a VM."""

    device: Literal["sriov"] = "sriov"
    """How it is passed through: a function of a port that others share."""
    nic: str
    """Name of the physical NIC (``pciPassthruX.pfId``)."""
    queues: Positive = 1
    """Its queue pairs at most, those that the NIC gives a function."""
    mtu: None = None
    """Its MTU is that of the NIC's options (``host.nics``)."""


class OffloadSettings(Spec):
    """Offloads of the NICs of a VM as its guest sets them (``ethtool -K``); each is on where nothing is said."""

    tso: bool = True
    """Packets for TSO are larger than a frame; else, with GSO off as well, the stack makes each frame itself."""
    lro: bool = True
    """The host, or a NIC of the guest's own, may join received frames. A vmxnet3 without it has GRO, where the guest has any."""
    gro: bool = True
    """Drivers with GRO join the frames of a poll."""
    tx_checksum: bool = True
    """The device makes checksums; else the kernel does, byte by byte, and there is no TSO (Linux ``netdev_fix_features``)."""
    rx_checksum: bool = True
    """The device checks checksums; else the kernel does, byte by byte, and there is no LRO (Linux ``vmxnet3_fix_features``)."""

    @property
    def is_default(self) -> bool:
        """True where all are on."""
        return self == OffloadSettings()


class OffloadedCosts(Spec):
    """Effective offloads of a VM, and what the guest pays for those that are off."""

    tso: bool
    lro: bool
    gro: bool
    tx_checksum: Cost | None = None
    """Cost of the checksum of a byte sent, where the guest's kernel makes it."""
    rx_checksum: Cost | None = None
    """Cost of the checksum of a byte received, where the guest's kernel checks it."""


class VmSettings(Spec):
    """Effective settings of the VMs of a group (``.vmx`` keys), in the model's units."""

    shares: Positive
    """CPU shares of each vCPU (``sched.cpu.shares``)."""
    cpu_reservation_mhz: Annotated[int, Field(ge=0)] = 0
    """CPU that the VM is guaranteed, in MHz, all of its vCPUs together (``sched.cpu.min``)."""
    cpu_limit_mhz: Annotated[int, Field(ge=1)] | None = None
    """Most CPU that it may have, in MHz; None for no limit (``sched.cpu.max``)."""
    exclusive: bool = False
    """Each vCPU has a PCPU to itself (``sched.cpu.latencySensitivity`` high)."""
    nodes: tuple[int, ...]
    """NUMA nodes that the VM may run on (``numa.nodeAffinity``); none given is any."""
    affinity: tuple[int, ...] = ()
    """PCPUs that the VM may run on (``sched.cpu.affinity``); none given is any."""
    prefer_ht: bool = False
    """Hyperthreads count as cores when the VM is placed on NUMA nodes (``numa.vcpu.preferHT``, ``Numa.PreferHT``)."""
    max_per_virtual_node: Annotated[int, Field(ge=0)] = 0
    """Most vCPUs of a virtual NUMA node; 0 for as many as a node has cores (``numa.vcpu.maxPerVirtualNode``)."""
    reserved: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the VM's memory that is reserved (``sched.mem.min`` of ``memSize``)."""
    passthrough: tuple[PassthroughSettings | FunctionSettings, ...] = ()
    """NICs, and functions of NICs, that the guest's own drivers work, in the order of their numbers."""
    vnics: tuple[VnicSettings, ...]
    offloads: OffloadedCosts | None = None
    """Offloads of its NICs, where the guest has some of them off."""
    queues: Positive | None = None
    """Queue pairs of each of its NICs at most, where the guest sets their number (``ethtool -L``)."""

    @property
    def devices(self) -> tuple[VnicSettings | PassthroughSettings | FunctionSettings, ...]:
        """The network devices of the VM, in the order of their numbers: vNICs, then what is passed through."""
        return (*self.vnics, *self.passthrough)
